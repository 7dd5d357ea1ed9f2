//! What can be seen of a server, simulated or real.

use std::fmt;

use protocol::Reply;

/// What a step came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    /// The answer to a command.
    pub(crate) said: Option<Said>,
    /// What is there of each lock.
    pub(crate) locks: Vec<Found>,
    /// How many keys there are beside the locks' entries and counters.
    pub(crate) others: i64,
}

/// The answer to a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Said {
    pub(crate) reply: Reply,
    /// How often the subscribers were told that a lock is free.
    pub(crate) freed: usize,
}

/// What there is of a lock.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) entry: Option<Value>,
    /// The last fencing token. Zero: there is no counter.
    pub(crate) counter: u32,
    /// Whether the counter comes to an end by itself.
    pub(crate) counter_ends: bool,
}

/// An entry.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Value {
    pub(crate) token: Vec<u8>,
    pub(crate) holds: Option<u64>,
    /// For how many ticks the server keeps it. None: for ever.
    pub(crate) left: Option<u32>,
    /// For how many ticks it keeps others out by its own words.
    pub(crate) says: Option<u32>,
}

impl fmt::Debug for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.entry {
            Some(Value { token, holds, left, says }) => {
                write!(f, "{:?}", token.escape_ascii().to_string())?;
                write!(f, ", holds {holds:?}, left {left:?}, says {says:?}")?;
            }
            None => write!(f, "no entry")?,
        }
        write!(f, "; counter {}", self.counter)?;
        if self.counter_ends { write!(f, ", which expires") } else { Ok(()) }
    }
}
