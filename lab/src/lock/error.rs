//! What can go wrong with a lock.

use std::fmt;
use std::time::Duration;

use super::terms::{MAX_TTL, MIN_TTL};

/// A lock that cannot be had as it is described.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LockError {
    /// An address that is none.
    Address {
        /// What was given.
        url: String,
        /// What is wrong with it.
        error: String,
    },
    /// The same server was given twice: it would count twice in a majority.
    Twice {
        /// Which one.
        url: String,
    },
    /// No server, or too many.
    Servers {
        /// How many were given.
        count: usize,
        /// The most that there can be.
        most: usize,
    },
    /// No key, or too many.
    Keys {
        /// How many were given.
        count: usize,
        /// The most that there can be.
        most: usize,
    },
    /// A key without a byte.
    EmptyKey,
    /// The same key twice in a list.
    SameKey {
        /// Which one.
        key: String,
    },
    /// A TTL that Redis cannot keep, or clocks cannot count.
    Ttl {
        /// What was asked for.
        ttl: Duration,
    },
    /// A TTL of which nothing is left when the margin and the allowance for drift are taken off.
    Margin {
        /// The TTL.
        ttl: Duration,
        /// What is taken off.
        off: Duration,
    },
    /// Retry delays in the wrong order, or longer than clocks can count.
    Delays {
        /// The least.
        least: Duration,
        /// The greatest.
        greatest: Duration,
    },
    /// A server time-out of zero, or longer than clocks can count.
    Timeout {
        /// What was asked for.
        timeout: Duration,
    },
}

impl fmt::Display for LockError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address { url, error } => {
                write!(f, "{url}: expected an address such as redis://127.0.0.1:6379/: {error}")
            }
            Self::Twice { url } => write!(f, "{url} was given twice: one server must not count as two"),
            Self::Servers { count, most } => write!(f, "expected from one to {most} servers, found {count}"),
            Self::Keys { count, most } => write!(f, "expected from one to {most} keys, found {count}"),
            Self::EmptyKey => f.write_str("expected a key, found an empty one"),
            Self::SameKey { key } => write!(f, "the key {key} was given twice: nobody can take the same lock twice"),
            Self::Ttl { ttl } => {
                write!(f, "expected a TTL from {MIN_TTL:?} to {MAX_TTL:?}, in whole milliseconds, found {ttl:?}")
            }
            Self::Margin { ttl, off } => write!(
                f,
                "a TTL of {ttl:?} is too short: {off:?} are taken off for the margin and for clocks that drift\n  help: a \
                 longer TTL, or a smaller margin"
            ),
            Self::Delays { least, greatest } => {
                write!(f, "expected retry delays from the least to the greatest, found {least:?} to {greatest:?}")
            }
            Self::Timeout { timeout } => {
                write!(f, "expected a server time-out from 1ms to {MAX_TTL:?}, found {timeout:?}")
            }
        }
    }
}

impl std::error::Error for LockError {}

/// Why a lock was not acquired. Whatever stands on the servers is being cleaned up in the background.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AcquireError {
    /// The lock cannot be had on these terms.
    Lock(LockError),
    /// Somebody else has it.
    Taken,
    /// It did not become free in time.
    TimedOut {
        /// For how long it was tried.
        waited: Duration,
    },
    /// Too few servers answered.
    Unreachable {
        /// What was heard last from one that did not.
        why: String,
    },
    /// The servers granted it, but so late that nothing was left of it.
    TooLate {
        /// The TTL.
        ttl: Duration,
    },
    /// The runtime is shutting down.
    Ended,
}

impl fmt::Display for AcquireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lock(error) => error.fmt(f),
            Self::Taken => f.write_str("somebody else has the lock"),
            Self::TimedOut { waited } => write!(f, "the lock did not become free within {waited:?}"),
            Self::Unreachable { why } => write!(f, "too few servers answered: {why}"),
            Self::TooLate { ttl } => write!(
                f,
                "the servers took so long to grant the lock that nothing was left of its TTL of {ttl:?}\n  help: a TTL \
                 several times as long as a round trip"
            ),
            Self::Ended => f.write_str("the runtime is shutting down"),
        }
    }
}

impl std::error::Error for AcquireError {}

/// Why a lock was not extended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExtendError {
    /// It is lost, for good.
    Lost,
    /// Too few servers answered. It is still held until the guard's [`valid_until`](super::Guard::valid_until).
    Unanswered,
}

impl fmt::Display for ExtendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Lost => "the lock is lost",
            Self::Unanswered => "too few servers answered: the lock is held for as long as it was before",
        })
    }
}

impl std::error::Error for ExtendError {}

/// What a release found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Released {
    /// The lock was still this guard's, and is free now.
    Freed,
    /// It had run out before, or been lost.
    WasGone,
}

/// Why it is not known whether a lock is free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReleaseError {
    /// Too few servers answered. Its TTL frees it at the latest.
    Unanswered,
}

impl fmt::Display for ReleaseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unanswered => f.write_str("too few servers answered: the lock is free when its TTL has passed"),
        }
    }
}

impl std::error::Error for ReleaseError {}
