//! `lab up`: lock servers to try things on.

use std::time::Duration;

use serde::Serialize;

use crate::args::Settled;
use crate::backend::Backend;
use crate::cli::{Format, Up, UpPersistence, UpWhat};
use crate::exit::Exit;
use crate::failure::{Failure, reason};
use crate::interrupt::Ends;
use crate::output::Output;
use crate::render::json::SCHEMA;
use crate::servers::{Options, Persistence, ServerError};

/// How often is looked whether a server has ended by itself.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// Starts servers, and stops them when it is asked to.
pub(super) fn run(up: &Up, settled: &Settled, output: &mut Output) -> Result<Exit, Failure> {
    let count = up.servers.map_or(if up.what == UpWhat::Redlock { 5 } else { 1 }, usize::from);
    let persistence = match up.persistence {
        UpPersistence::Nothing => Persistence::Nothing,
        UpPersistence::EverySecond => Persistence::EverySecond,
        UpPersistence::Always => Persistence::Always,
    };
    let runtime = runtime()?;
    runtime.block_on(async {
        let mut ends = Ends::new().map_err(|error| no_signals(&error))?;
        let mut backend = Backend::started(&Options { persistence, ..Options::default() }, count)?;
        output.put(&match up.format {
            Format::Text => text(up, &mut backend, settled),
            Format::Json => json(&mut backend),
        })?;
        let ended = async {
            loop {
                tokio::time::sleep(LOOK_EVERY).await;
                if let Some(server) = backend.own().iter_mut().find_map(|s| s.has_ended().then(|| s.port())) {
                    break server;
                }
            }
        };
        tokio::select! {
            () = ends.next() => Ok(Exit::Holds),
            port = ended => Err(Failure::input(ServerError::Ended { port }.to_string())),
        }
    })
}

/// A runtime for a command that waits for signals.
pub(super) fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::input(format!("cannot start threads: {}", reason(&error))))
}

/// That signals cannot be waited for.
pub(super) fn no_signals(error: &std::io::Error) -> Failure {
    Failure::input(format!("cannot wait for Ctrl-C: {}", reason(error)))
}

fn text(up: &Up, backend: &mut Backend, settled: &Settled) -> String {
    let urls = backend.urls().to_vec();
    let kept = match up.persistence {
        UpPersistence::Nothing => "nothing is kept on disk",
        UpPersistence::EverySecond => "written to disk once a second",
        UpPersistence::Always => "written to disk before each answer",
    };
    let is_are = if urls.len() == 1 { " is" } else { "s are" };
    let mut text = format!("{} server{is_are} up ({kept}):\n", urls.len());
    for server in backend.own() {
        text.push_str(&format!("  {}   redis-cli -p {}\n", server.url(), server.port()));
    }
    if !settled.quiet {
        let them = if urls.len() == 1 { "it" } else { "them" };
        if urls.len() == 1 {
            text.push_str(&format!("\nUse {them}:\n  lab runner --redis {}\n", urls[0]));
        }
        text.push_str(&format!("\nCtrl-C stops {them}.\n"));
    }
    text
}

fn json(backend: &mut Backend) -> String {
    #[derive(Serialize)]
    struct Started {
        schema: u32,
        servers: Vec<Server>,
    }
    #[derive(Serialize)]
    struct Server {
        url: String,
        port: u16,
        process_id: Option<u32>,
        folder: String,
    }
    let server = |server: &crate::servers::Server| Server {
        url: server.url(),
        port: server.port(),
        process_id: server.process_id(),
        folder: server.folder().to_string_lossy().into_owned(),
    };
    let servers = backend.own().iter().map(server).collect();
    // A line, for whoever reads it while the lab waits. Numbers and texts can always be written.
    serde_json::to_string(&Started { schema: SCHEMA, servers }).unwrap_or_default() + "\n"
}
