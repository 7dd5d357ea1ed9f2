//! What the flags mean, together and in this surrounding.

use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::num::NonZeroUsize;
use std::time::Duration;

use check::Limits;
use check::repair::Pairs;
use check::scenario::{Named, Property};
use clap::ColorChoice;
use redis::IntoConnectionInfo;

use crate::cache::Use;
use crate::cli::{self, Format, Globals, MatrixFormat, When};
use crate::failure::Failure;
use crate::quote::quoted;
use crate::tracefile::TraceFile;

/// The columns where there is no terminal.
const WIDTH: usize = 80;
/// Lines that are longer are hard to read.
const WIDEST: usize = 100;
/// A sheet has room for its columns.
const NARROWEST: usize = 60;

/// How everything is printed.
#[derive(Clone, Debug)]
pub(crate) struct Settled {
    /// The columns.
    pub(crate) width: usize,
    /// Whether somebody said how wide lines may be: a terminal, or a flag.
    pub(crate) is_width_known: bool,
    /// Whether results have colours.
    pub(crate) colour: bool,
    /// Whether diagnostics have colours.
    pub(crate) colour_on_stderr: bool,
    /// Whether only ASCII is used.
    pub(crate) ascii: bool,
    /// Whether only the verdicts are printed.
    pub(crate) quiet: bool,
    /// Whether more is printed.
    pub(crate) verbose: bool,
    /// Whether progress is shown.
    pub(crate) progress: bool,
}

impl Settled {
    /// From the flags, the environment and the terminal.
    pub(crate) fn new(globals: &Globals) -> Self {
        let stderr = io::stderr().is_terminal();
        let terminal = terminal_size::terminal_size_of(io::stdout()).map(|(width, _)| usize::from(width.0));
        let width = globals.width.map(usize::from).or(terminal.map(|width| width.clamp(NARROWEST, WIDEST)));
        let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let is_dumb = set("TERM").is_some_and(|term| term == "dumb");
        let colour = |is_terminal: bool| match globals.color {
            When::Always => true,
            When::Never => false,
            When::Auto if set("NO_COLOR").is_some() => false,
            When::Auto if set("CLICOLOR_FORCE").is_some_and(|value| value != "0") => true,
            When::Auto if set("CLICOLOR").is_some_and(|value| value == "0") => false,
            When::Auto => is_terminal && !is_dumb,
        };
        Self {
            width: width.unwrap_or(WIDTH),
            is_width_known: width.is_some(),
            colour: colour(io::stdout().is_terminal()),
            colour_on_stderr: colour(stderr),
            ascii: globals.ascii,
            quiet: globals.quiet,
            verbose: globals.verbose,
            progress: stderr && !is_dumb && !globals.quiet,
        }
    }
}

/// The arguments of `lab check`.
#[derive(Clone, Debug)]
pub(crate) struct CheckArgs {
    /// The scenarios; none: all of the catalogue.
    pub(crate) targets: Vec<String>,
    /// What is changed in them.
    pub(crate) changes: Changes,
    /// How to check.
    pub(crate) limits: Limits,
    /// How long at most.
    pub(crate) timeout: Option<Duration>,
    /// With how much memory at most.
    pub(crate) memory: Option<u64>,
    /// Whether to compare with what is expected.
    pub(crate) expect: bool,
    /// The form of the output.
    pub(crate) format: Format,
    /// Where the trace is written.
    pub(crate) trace_out: Option<TraceFile>,
    /// Whether it is replayed.
    pub(crate) replay: bool,
}

/// The arguments of `lab matrix`.
#[derive(Clone, Debug)]
pub(crate) struct MatrixArgs {
    /// The scenarios; none: those of the catalogue's matrix.
    pub(crate) targets: Vec<String>,
    /// `--set`, in order.
    pub(crate) set: Vec<String>,
    /// `--faults`; none: one of each.
    pub(crate) faults: Option<String>,
    /// On how many threads.
    pub(crate) threads: NonZeroUsize,
    /// The most states of each check.
    pub(crate) max_states: Option<u64>,
    /// The most steps of each check.
    pub(crate) max_depth: Option<u32>,
    /// How long each check takes at most.
    pub(crate) timeout: Option<Duration>,
    /// With how much memory at most.
    pub(crate) memory: Option<u64>,
    /// What is done with results that were kept.
    pub(crate) cache: Use,
    /// The form of the output.
    pub(crate) format: MatrixFormat,
}

impl MatrixArgs {
    /// From the flags.
    pub(crate) fn new(raw: cli::Matrix) -> Self {
        Self {
            targets: raw.targets,
            set: raw.set,
            faults: joined(&raw.faults),
            threads: raw.search.threads.unwrap_or_else(processors),
            max_states: raw.search.max_states,
            max_depth: raw.search.max_depth,
            timeout: raw.search.timeout,
            memory: raw.search.memory,
            cache: match (raw.no_cache, raw.refresh) {
                (true, _) => Use::Off,
                (false, true) => Use::Refresh,
                (false, false) => Use::Full,
            },
            format: raw.format,
        }
    }
}

/// What is asked of a scenario, or of two.
#[derive(Clone, Debug)]
pub(crate) struct Question {
    /// What is changed in the scenarios.
    pub(crate) changes: Changes,
    /// How each is checked, and for what.
    pub(crate) limits: Limits,
    /// How long each check takes at most.
    pub(crate) timeout: Option<Duration>,
    /// With how much memory at most.
    pub(crate) memory: Option<u64>,
    /// How long all of it takes at most.
    pub(crate) within: Option<Duration>,
    /// The form of the output.
    pub(crate) format: Format,
}

impl Question {
    fn new(asked: cli::Asked, search: &cli::Search, within: Option<Duration>, format: Format) -> Self {
        let limits = Limits {
            threads: search.threads.unwrap_or_else(processors),
            max_states: search.max_states,
            max_depth: search.max_depth,
            properties: sorted(asked.property),
            ..Limits::default()
        };
        let changes = Changes { set: asked.set, faults: joined(&asked.faults), grain: None };
        Self { changes, limits, timeout: search.timeout, memory: search.memory, within, format }
    }
}

/// The arguments of `lab repair`.
#[derive(Clone, Debug)]
pub(crate) struct RepairArgs {
    /// The scenario.
    pub(crate) target: String,
    /// What is asked of it.
    pub(crate) question: Question,
    /// Whether the knobs of the operator are turned as well.
    pub(crate) world: bool,
    /// When two knobs are turned at once.
    pub(crate) pairs: Pairs,
}

impl RepairArgs {
    /// From the flags.
    pub(crate) fn new(raw: cli::Repair) -> Self {
        Self {
            question: Question::new(raw.asked, &raw.search, raw.within, raw.format),
            target: raw.target,
            world: raw.world,
            pairs: match raw.pairs {
                cli::PairsWhen::Needed => Pairs::Needed,
                cli::PairsWhen::Always => Pairs::Always,
                cli::PairsWhen::Never => Pairs::Never,
            },
        }
    }
}

/// The arguments of `lab diff`.
#[derive(Clone, Debug)]
pub(crate) struct DiffArgs {
    /// The two scenarios.
    pub(crate) targets: [String; 2],
    /// What is changed in the second one only.
    pub(crate) with: Changes,
    /// What is asked of them.
    pub(crate) question: Question,
}

impl DiffArgs {
    /// From the flags.
    pub(crate) fn new(raw: cli::Diff) -> Self {
        let right = raw.right.unwrap_or_else(|| raw.left.clone());
        Self {
            targets: [raw.left, right],
            with: Changes { set: raw.with, faults: joined(&raw.with_faults), grain: None },
            question: Question::new(raw.asked, &raw.search, raw.within, raw.format),
        }
    }
}

/// Properties in the documented order, each once; none: nobody named one.
fn sorted(mut properties: Vec<Property>) -> Option<Vec<Property>> {
    properties.sort();
    properties.dedup();
    (!properties.is_empty()).then_some(properties)
}

/// Several lists of faults as one; none: nobody gave one.
fn joined(faults: &[String]) -> Option<String> {
    (!faults.is_empty()).then(|| faults.join(","))
}

/// The arguments of `lab weakest`.
#[derive(Clone, Debug)]
pub(crate) struct WeakestArgs {
    /// The scenario.
    pub(crate) target: String,
    /// What is changed in it.
    pub(crate) changes: Changes,
    /// The faults to draw from; none: all.
    pub(crate) faults: Option<String>,
    /// The most faults in a set.
    pub(crate) most: u8,
    /// Whether formulas are looked for.
    pub(crate) formulas: bool,
    /// How to check.
    pub(crate) limits: Limits,
    /// How long each check takes at most.
    pub(crate) timeout: Option<Duration>,
    /// With how much memory at most.
    pub(crate) memory: Option<u64>,
    /// How long some numbers are in milliseconds.
    pub(crate) ms: Vec<String>,
    /// The form of the output.
    pub(crate) format: Format,
}

impl WeakestArgs {
    /// From the flags.
    pub(crate) fn new(raw: cli::Weakest) -> Self {
        let mut properties = raw.property;
        properties.sort();
        properties.dedup();
        Self {
            target: raw.target,
            changes: Changes { set: raw.set, ..Changes::default() },
            faults: (!raw.faults.is_empty()).then(|| raw.faults.join(",")),
            most: raw.most,
            formulas: !raw.no_formula,
            limits: Limits {
                threads: raw.search.threads.unwrap_or_else(processors),
                // No verdict depends on it, and more can be decided.
                symmetry: true,
                max_states: raw.search.max_states,
                max_depth: raw.search.max_depth,
                properties: (!properties.is_empty()).then_some(properties),
                ..Limits::default()
            },
            timeout: raw.search.timeout,
            memory: raw.search.memory,
            ms: raw.ms,
            format: raw.format,
        }
    }
}

/// As many threads as there are processors.
pub(crate) fn processors() -> NonZeroUsize {
    std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN)
}

/// What the command line changes in a scenario.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Changes {
    /// `--set`, in order.
    pub(crate) set: Vec<String>,
    /// `--faults`.
    pub(crate) faults: Option<String>,
    /// `--grain`.
    pub(crate) grain: Option<&'static str>,
}

impl CheckArgs {
    /// From the flags.
    pub(crate) fn new(raw: cli::Check) -> Result<Self, Failure> {
        let engine = match raw.engine {
            cli::Engine::Levels => check::Engine::Levels,
            cli::Engine::Stateright => check::Engine::Stateright,
        };
        if engine == check::Engine::Stateright {
            refuse_for_stateright(&raw)?;
        }
        let threads = raw.search.threads.unwrap_or_else(processors);
        let limits = Limits {
            engine,
            threads,
            symmetry: raw.symmetry,
            max_states: raw.search.max_states,
            max_depth: raw.search.max_depth,
            properties: sorted(raw.property),
            every_violation: raw.all_violations,
            until_violated: false,
        };
        let grain = raw.grain.map(|grain| match grain {
            cli::Grain::Auto => "auto",
            cli::Grain::Message => "message",
            cli::Grain::Exchange => "exchange",
        });
        Ok(Self {
            targets: raw.targets,
            changes: Changes { set: raw.set, faults: joined(&raw.faults), grain },
            limits,
            timeout: raw.search.timeout,
            memory: raw.search.memory,
            expect: raw.expect,
            format: raw.format,
            trace_out: raw.trace_out.map(|path| TraceFile::new("--trace-out", path, None)).transpose()?,
            replay: raw.replay,
        })
    }
}

impl Changes {
    /// These changes, and others after them.
    pub(crate) fn and(&self, later: &Self) -> Self {
        let set = self.set.iter().chain(&later.set).cloned().collect();
        Self { set, faults: later.faults.clone().or_else(|| self.faults.clone()), grain: later.grain.or(self.grain) }
    }

    /// The flags that say the same.
    pub(crate) fn flags(&self) -> String {
        let set = self.set.iter().map(|assignment| format!(" --set {}", quoted(assignment)));
        let faults = self.faults.iter().map(|faults| format!(" --faults {}", quoted(faults)));
        let grain = self.grain.iter().map(|grain| format!(" --grain {grain}"));
        set.chain(faults).chain(grain).collect()
    }
}

/// What stateright's search cannot do.
fn refuse_for_stateright(raw: &cli::Check) -> Result<(), Failure> {
    if let Some(property) = raw.property.iter().find(|property| Property::is_about_the_graph(**property)) {
        return Err(Failure::usage(format!(
            "--engine stateright: it cannot decide {}, which needs the whole graph\n  help: use --engine levels",
            property.name()
        )));
    }
    let flags = [
        ("--timeout", raw.search.timeout.is_some()),
        ("--memory", raw.search.memory.is_some()),
        ("--all-violations", raw.all_violations),
    ];
    match flags.into_iter().find(|(_, is_given)| *is_given) {
        Some((flag, _)) => Err(Failure::usage(format!(
            "--engine stateright: it does not know {flag}\n  help: use --engine levels, or leave {flag} out"
        ))),
        None => Ok(()),
    }
}

/// What clap is told about colours: it prints before the flags are known.
pub(crate) fn colour_of_clap(arguments: &[OsString]) -> ColorChoice {
    let arguments: Vec<_> = arguments.iter().map(|argument| argument.to_string_lossy()).collect();
    let values = arguments.iter().enumerate().filter_map(|(at, argument)| match argument.as_ref() {
        "--color" | "--colour" => arguments.get(at + 1).map(AsRef::as_ref),
        argument => argument.strip_prefix("--color=").or_else(|| argument.strip_prefix("--colour=")),
    });
    match { values }.next_back() {
        Some("always") => ColorChoice::Always,
        Some("never") => ColorChoice::Never,
        Some(_) | None => ColorChoice::Auto,
    }
}

/// A time such as `10`, `10s`, `2m`, `1.5h` or `500ms`.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let expected = || "expected a time such as 10s, 2m or 1h".to_owned();
    let (number, unit) = split(text);
    let seconds = match unit {
        "" | "s" => 1.0,
        "ms" => 0.001,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return Err(expected()),
    };
    let seconds = number.parse::<f64>().map_err(|_| expected())? * seconds;
    let duration = Duration::try_from_secs_f64(seconds).map_err(|_| expected())?;
    if duration.is_zero() { Err("expected a time of more than nothing".to_owned()) } else { Ok(duration) }
}

/// A share such as `0.01` or `1%`.
pub(crate) fn rate(text: &str) -> Result<f64, String> {
    let expected = || "expected a share from 0 to 1, such as 0.01 or 1%".to_owned();
    let (number, scale) = match text.trim().strip_suffix('%') {
        Some(number) => (number.trim_end(), 0.01),
        None => (text.trim(), 1.0),
    };
    let share = number.parse::<f64>().map_err(|_| expected())? * scale;
    if (0.0..=1.0).contains(&share) { Ok(share) } else { Err(expected()) }
}

/// The address of a Redis server as a URL, from a URL or from `host:port`.
pub(crate) fn address(text: &str) -> Result<String, String> {
    let expected = || "expected an address such as redis://127.0.0.1:6379/ or 127.0.0.1:6379".to_owned();
    let url = if text.contains("://") { text.to_owned() } else { format!("redis://{text}/") };
    match url.as_str().into_connection_info() {
        // Without a host the client would take it as one of this machine.
        Ok(info) if !info.addr().to_string().starts_with(':') => Ok(url),
        Ok(_) => Err(expected()),
        Err(error) => Err(format!("{}: {error}", expected())),
    }
}

/// How often something may happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rate {
    /// So many times at once; none: as often as one likes.
    pub(crate) count: Option<u32>,
    /// In so long.
    pub(crate) within: Duration,
}

/// A rate such as `30/1m` or `none`.
pub(crate) fn pace(text: &str) -> Result<Rate, String> {
    if text == "none" {
        return Ok(Rate { count: None, within: Duration::from_secs(1) });
    }
    let expected = || "expected a rate such as 30/1m or 5/10s, or none".to_owned();
    let (count, within) = text.split_once('/').ok_or_else(expected)?;
    let count = count.parse().ok().filter(|count| (1..=1_000_000).contains(count)).ok_or_else(expected)?;
    let within = duration(within).ok().filter(|within| *within <= Duration::from_secs(86_400));
    Ok(Rate { count: Some(count), within: within.ok_or_else(expected)? })
}

/// A number of bytes such as `1000000`, `500M` or `2G`, in powers of 1024.
pub(crate) fn bytes(text: &str) -> Result<u64, String> {
    let expected = || "expected a number of bytes such as 500M or 2G".to_owned();
    let (number, unit) = split(text);
    let unit = unit.to_ascii_lowercase();
    let unit = unit.strip_suffix("ib").or_else(|| unit.strip_suffix('b')).unwrap_or(&unit);
    let power = ["", "k", "m", "g", "t"].iter().position(|known| *known == unit).ok_or_else(expected)?;
    let number = number.parse::<f64>().map_err(|_| expected())?;
    let bytes = number * 1024f64.powi(power as i32);
    // 2^53: the greatest up to which every number of bytes is exact.
    if !(1.0..=9_007_199_254_740_992.0).contains(&bytes) {
        return Err(expected());
    }
    Ok(bytes as u64)
}

/// A number and its unit.
fn split(text: &str) -> (&str, &str) {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    (number, unit.trim_start())
}

#[cfg(test)]
mod tests {
    use super::{address, bytes, duration, rate};
    use std::time::Duration;

    #[test]
    fn shares_are_numbers_or_percentages() {
        assert_eq!(["0", "1", "0.25", "25%", "100 %"].map(rate), [0.0, 1.0, 0.25, 0.25, 1.0].map(Ok));
        for text in ["", "%", "-0.1", "1.1", "101%", "NaN", "inf", "many"] {
            assert!(rate(text).is_err(), "{text}");
        }
    }

    #[test]
    fn times_have_units() {
        let good = [("10", 10_000), ("10s", 10_000), ("2m", 120_000), ("1.5 h", 5_400_000), ("500ms", 500)];
        for (text, milliseconds) in good {
            assert_eq!(duration(text), Ok(Duration::from_millis(milliseconds)), "{text}");
        }
        for text in ["", "s", "-1", "0", "1d", "1.2.3", "NaN", "inf", "99999999999999999999999999h"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn addresses_are_urls_or_a_host_and_a_port() {
        for text in ["redis://127.0.0.1:6379/", "redis://me:pass@host:1/2", "redis+unix:///run/redis.sock"] {
            assert_eq!(address(text).as_deref(), Ok(text));
        }
        assert_eq!(address("127.0.0.1:6379").as_deref(), Ok("redis://127.0.0.1:6379/"));
        assert_eq!(address("cache").as_deref(), Ok("redis://cache/"));
        for text in ["", ":6379", "http://host/", "host:port", "127.0.0.1:99999"] {
            assert!(address(text).is_err(), "{text}");
        }
    }

    #[test]
    fn bytes_have_units() {
        let good = [("1000", 1000), ("1k", 1024), ("500M", 500 << 20), ("2GiB", 2 << 30), ("1.5g", 3 << 29)];
        for (text, number) in good {
            assert_eq!(bytes(text), Ok(number), "{text}");
        }
        for text in ["", "G", "-1", "0", "2X", "1e9", "999999999T"] {
            assert!(bytes(text).is_err(), "{text}");
        }
    }
}
