//! How a server is started.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The name of the log file in the folder of a server.
pub(super) const LOG: &str = "server.log";

/// What a server is started with. By default it keeps nothing on disk and asks for no password.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// What it brings to disk.
    pub persistence: Persistence,
    /// The password that it asks for.
    pub password: Option<String>,
    /// The port on loopback of the master that it copies.
    pub replica_of: Option<u16>,
    /// The most memory that it takes, in bytes; more is refused (`noeviction`).
    pub max_memory: Option<u64>,
    /// Whether it runs as a node of a cluster. It has no slots until it is given some.
    pub cluster: bool,
    /// A clock that it is shown instead of the real one.
    pub clock: Option<Clock>,
}

/// What a server brings to disk, by its append-only file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Persistence {
    /// Nothing.
    #[default]
    Nothing,
    /// Everything, about once a second (`appendfsync everysec`).
    EverySecond,
    /// Everything before it answers (`appendfsync always`).
    Always,
}

/// A wall clock that somebody else moves: the shim of `lab/clock` and the file that it shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clock {
    /// The library that is preloaded.
    pub library: PathBuf,
    /// The file with the time.
    pub board: PathBuf,
}

impl Options {
    /// The arguments and the environment of a server process.
    pub(super) fn arm(&self, command: &mut Command, port: u16, folder: &Path) {
        let port = port.to_string();
        command.args(["--bind", "127.0.0.1", "--port", &port, "--save", "", "--daemonize", "no"]);
        command.arg("--dir").arg(folder).args(["--logfile", LOG, "--repl-diskless-sync-delay", "0"]);
        // What was appended last may have been cut off, that is what a replay does to it.
        command.args(["--aof-load-truncated", "yes", "--auto-aof-rewrite-percentage", "0"]);
        match self.persistence {
            Persistence::Nothing => command.args(["--appendonly", "no"]),
            Persistence::EverySecond => command.args(["--appendonly", "yes", "--appendfsync", "everysec"]),
            Persistence::Always => command.args(["--appendonly", "yes", "--appendfsync", "always"]),
        };
        if let Some(password) = &self.password {
            command.arg("--requirepass").arg(password).arg("--masterauth").arg(password);
        }
        if let Some(master) = self.replica_of {
            command.args(["--replicaof", "127.0.0.1", &master.to_string()]);
        }
        if let Some(bytes) = self.max_memory {
            command.args(["--maxmemory", &bytes.to_string(), "--maxmemory-policy", "noeviction"]);
        }
        if self.cluster {
            command.args(["--cluster-enabled", "yes"]);
        }
        if let Some(clock) = &self.clock {
            command.env("LD_PRELOAD", &clock.library).env("LAB_CLOCK", &clock.board);
        }
    }
}
