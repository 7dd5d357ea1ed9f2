//! What became of a command that was not answered, and what that means to a core: the one place where errors of the client
//! are turned into outcomes.

use std::fmt;

use protocol::Outcome;
use redis::{ErrorKind, RedisError};

/// Why a command has no answer that it could have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// It never left: there was no connection.
    NotSent(String),
    /// The server refused it, and did nothing.
    Refused(String),
    /// It may or may not have been carried out, now or later.
    Unknown(String),
}

impl Failure {
    /// What it means to a core.
    pub fn outcome(&self) -> Outcome {
        match self {
            Self::NotSent(_) | Self::Refused(_) => Outcome::Refused,
            Self::Unknown(_) => Outcome::Unknown,
        }
    }

    /// Of an error when the connection was made: nothing was sent on it.
    pub(super) fn of_connecting(error: &RedisError) -> Self {
        Self::NotSent(error.to_string())
    }

    /// Of an error when a command was sent on a connection that had been made.
    ///
    /// An error that the server answers with (`LOADING`, `READONLY`, `OOM`, `WRONGTYPE`, `NOAUTH`, …) means that it did
    /// nothing: our scripts do what can fail before they change anything. Whatever happens to the connection may happen
    /// before or after the server has read the command, and nobody can tell.
    pub(super) fn of_command(error: &RedisError) -> Self {
        let text = error.to_string();
        let is_answer = matches!(error.kind(), ErrorKind::Server(_) | ErrorKind::Extension);
        if is_answer { Self::Refused(text) } else { Self::Unknown(text) }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotSent(why) => write!(f, "not sent: {why}"),
            Self::Refused(why) => write!(f, "refused: {why}"),
            Self::Unknown(why) => write!(f, "result unknown: {why}"),
        }
    }
}

impl std::error::Error for Failure {}
