//! `lab doctor`: what can run here.

use std::fs;
use std::process::Command;

use nix::sys::resource::{Resource, getrlimit};
use serde::Serialize;

use crate::args::Settled;
use crate::cli::{Doctor, Format};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Output;
use crate::render::Paint;
use crate::render::json::SCHEMA;
use crate::replay;
use crate::servers::{Options, PROGRAMS, Server};

/// So many open files are enough for every command with its default settings.
const FILES: u64 = 1024;

/// The names of the looks, in the order in which they are shown.
const NAME_COLUMNS: usize = 16;

/// How a look came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum State {
    /// As it should be.
    Ok,
    /// Not there, and some commands can do less without it.
    Absent,
    /// Not there, and commands with servers need it.
    Missing,
}

/// One look.
#[derive(Debug, Serialize)]
struct Look {
    name: &'static str,
    state: State,
    /// What was found.
    found: String,
    /// What it is for.
    purpose: &'static str,
    /// The line that mends it, as root.
    install: Option<&'static str>,
}

/// Looks at everything.
pub(super) fn run(doctor: &Doctor, settled: &Settled, output: &mut Output) -> Result<Exit, Failure> {
    let looks = [program(), server(), client(), clock(), files(), machine()];
    let exit = if looks.iter().any(|look| look.state == State::Missing) { Exit::Input } else { Exit::Holds };
    output.put(&match doctor.format {
        Format::Text => text(&looks, settled),
        Format::Json => json(&looks, exit),
    })?;
    Ok(exit)
}

fn program() -> Look {
    let found = PROGRAMS.iter().find_map(|program| version(program).map(|version| format!("{program} {version}")));
    let major = |found: &str| found.rsplit(' ').next()?.split('.').next()?.parse::<u32>().ok();
    let (state, found, install) = match found {
        Some(found) if major(&found).is_some_and(|major| major < 7) => {
            (State::Missing, format!("{found}, which is too old: 7.0 or later is needed"), None)
        }
        Some(found) => (State::Ok, found, None),
        None => {
            (State::Missing, "neither redis-server nor valkey-server".to_owned(), Some("apt-get install redis-server"))
        }
    };
    Look { name: "lock server", state, found, purpose: "up, stress, replay, conform, runner", install }
}

fn server() -> Look {
    let (state, found) = match Server::start(&Options::default()) {
        Ok(server) => (State::Ok, format!("one started on {}, answered and stopped", server.address())),
        Err(error) => (State::Missing, error.to_string().lines().next().unwrap_or_default().to_owned()),
    };
    Look { name: "on loopback", state, found, purpose: "up, stress, replay, conform, runner", install: None }
}

fn client() -> Look {
    let (state, found, install) = match version("redis-cli").or_else(|| version("valkey-cli")) {
        Some(version) => (State::Ok, format!("redis-cli {version}"), None),
        None => (State::Absent, "no redis-cli".to_owned(), Some("apt-get install redis-tools")),
    };
    Look { name: "client", state, found, purpose: "a look at a server by hand", install }
}

fn clock() -> Look {
    let (state, found) = match replay::try_clock() {
        Ok(()) => (State::Ok, "a server can be shown a clock that is moved by hand".to_owned()),
        Err(why) => (State::Absent, why.lines().next().unwrap_or_default().to_owned()),
    };
    Look { name: "clock", state, found, purpose: "replay, conform", install: None }
}

fn files() -> Look {
    let (state, found) = match getrlimit(Resource::RLIMIT_NOFILE) {
        Ok((soft, _)) if soft >= FILES => (State::Ok, format!("{soft} at once")),
        Ok((soft, _)) => (State::Absent, format!("{soft} at once, fewer than {FILES}: ulimit -n {FILES}")),
        Err(error) => (State::Absent, error.to_string()),
    };
    Look { name: "open files", state, found, purpose: "stress with many workers", install: None }
}

fn machine() -> Look {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let memory = fs::read_to_string("/proc/meminfo").ok().and_then(|info| {
        let line = info.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
        line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok()
    });
    let memory = memory.map_or_else(String::new, |kib| format!(", {:.1} GiB of memory", kib as f64 / 1_048_576.0));
    let plural = if cores == 1 { "" } else { "s" };
    let found = format!("{cores} core{plural}{memory}");
    Look { name: "machine", state: State::Ok, found, purpose: "check, matrix", install: None }
}

/// What a program says of its version, if it is installed.
fn version(program: &str) -> Option<String> {
    let output = Command::new(program).arg("--version").output().ok().filter(|output| output.status.success())?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    // Servers say v=8.0.2, clients say it alone.
    let word = text.split_whitespace().find_map(|word| {
        let word = word.strip_prefix("v=").unwrap_or(word);
        word.starts_with(|c: char| c.is_ascii_digit()).then(|| word.to_owned())
    });
    Some(word.unwrap_or_else(|| "of an unknown version".to_owned()))
}

fn text(looks: &[Look], settled: &Settled) -> String {
    let mut text = String::new();
    for look in looks {
        let (paint, word) = match look.state {
            State::Ok => (Paint::Good, "ok     "),
            State::Absent => (Paint::Faint, "absent "),
            State::Missing => (Paint::Bad, "missing"),
        };
        text.push_str(&format!("{}  {:NAME_COLUMNS$}{}\n", paint.on(settled.colour, word), look.name, look.found));
        if look.state != State::Ok {
            text.push_str(&format!("         {:NAME_COLUMNS$}for: {}\n", "", look.purpose));
        }
    }
    let lines: Vec<_> = looks.iter().filter_map(|look| look.install).collect();
    if !lines.is_empty() {
        text.push_str("\nTo install the rest, as root:\n");
        lines.iter().for_each(|line| text.push_str(&format!("  {line}\n")));
    }
    if !settled.quiet {
        let is_complete = looks.iter().all(|look| look.state != State::Missing);
        text.push_str(if is_complete {
            "\nAll that is needed is there.\n"
        } else {
            "\nCommands that only search, such as check and matrix, need none of it.\n"
        });
    }
    text
}

fn json(looks: &[Look], exit: Exit) -> String {
    #[derive(Serialize)]
    struct Found<'a> {
        schema: u32,
        complete: bool,
        looks: &'a [Look],
    }
    let found = Found { schema: SCHEMA, complete: exit == Exit::Holds, looks };
    // Texts can always be written.
    serde_json::to_string_pretty(&found).unwrap_or_default() + "\n"
}
