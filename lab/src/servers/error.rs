//! Why a server does not run.

use std::fmt;

use super::PROGRAMS;

/// Why a server does not run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerError {
    /// None of the programs is installed.
    NotInstalled,
    /// The program could not be started.
    Program {
        /// Which one.
        program: String,
        /// What the system says.
        error: String,
    },
    /// There is no folder for its files.
    Folder {
        /// What the system says.
        error: String,
    },
    /// No port is free.
    NoPort,
    /// Somebody else listens on the port.
    PortTaken {
        /// Which one.
        port: u16,
    },
    /// The process ended by itself.
    EndedAtStart {
        /// Where it should have listened.
        port: u16,
        /// What it logged last.
        log: String,
    },
    /// The process does not answer.
    Silent {
        /// Where it should listen.
        port: u16,
        /// For how many seconds it was waited for.
        seconds: u64,
        /// What it logged last.
        log: String,
    },
    /// The process has ended.
    Ended {
        /// Where it listened.
        port: u16,
    },
}

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotInstalled => write!(
                f,
                "{} is not installed\n  help: as root: apt-get install redis-server (`lab doctor` shows what else is missing)",
                PROGRAMS[0]
            ),
            Self::Program { program, error } => write!(f, "cannot start {program}: {error}"),
            Self::Folder { error } => write!(f, "cannot make a temporary folder for a server: {error}"),
            Self::NoPort => write!(f, "found no free port on 127.0.0.1 for a server"),
            Self::PortTaken { port } => write!(f, "127.0.0.1:{port}: somebody else listens there"),
            Self::EndedAtStart { port, log } => {
                write!(f, "the server for 127.0.0.1:{port} ended at its start{}", Log(log))
            }
            Self::Silent { port, seconds, log } => {
                write!(f, "the server at 127.0.0.1:{port} has not answered within {seconds} s{}", Log(log))
            }
            Self::Ended { port } => write!(f, "the server at 127.0.0.1:{port} has ended"),
        }
    }
}

impl std::error::Error for ServerError {}

/// The last lines of a log, under a message.
struct Log<'a>(&'a str);

impl fmt::Display for Log<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str(", and has logged nothing");
        }
        f.write_str("; its log ends with:")?;
        self.0.lines().try_for_each(|line| write!(f, "\n  | {line}"))
    }
}
