//! The protected resource on Redis: a bank account that a client reads, computes with and writes back, and that may look at
//! fencing tokens. The checker's `world` has the same one, without money.
//!
//! Every accepted write counts the version up, and a write names the version that its client had read: so the account can
//! say afterwards whether an update was lost, also where it refuses nothing.

mod script;

use core::fmt;

use protocol::{Fence, Reply, Seen, TokenCheck};
use redis::Value;
use world::Compare;

use crate::words::Call;

use script::{CHECK, READ, WRITE};

/// How requests about one account are spoken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// Its key.
    pub key: Vec<u8>,
    /// What it checks.
    pub check: TokenCheck,
    /// Which fencing tokens it accepts.
    pub compare: Compare,
}

/// What an account holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Holdings {
    /// The money.
    pub balance: i64,
    /// How many writes have been accepted. One that is sent again right after itself writes what is there: it counts once.
    pub version: u32,
}

/// A write.
#[derive(Clone, Copy, Debug)]
pub struct Write<'a> {
    /// The fencing token, if writes are checked.
    pub fence: Option<Fence>,
    /// The version that the client had read.
    pub seen: Seen,
    /// What it wants the account to hold.
    pub balance: i64,
    /// The name of the write: the same if it is sent twice.
    pub name: &'a [u8],
}

/// What an answer says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// What the account holds.
    Holds(Holdings),
    /// The write was accepted.
    Accepted {
        /// What the account holds now.
        now: Holdings,
        /// What it held before.
        before: Holdings,
        /// Whether what it held before was written by this very write, which was sent twice.
        again: bool,
    },
    /// The token is good.
    Good,
    /// The account refuses the token, or what the write has seen.
    Stale,
}

/// An answer that no account gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unexpected(String);

impl fmt::Display for Unexpected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the account answered with {}", self.0)
    }
}

impl core::error::Error for Unexpected {}

impl Answer {
    /// Whether the write was accepted and overwrote an update that its writer had not seen.
    pub fn lost_update(self, seen: Seen) -> bool {
        match self {
            Self::Accepted { before, again, .. } => !again && before.version != seen.0,
            Self::Holds(_) | Self::Good | Self::Stale => false,
        }
    }

    /// What it means to the core.
    pub fn reply(self) -> Reply {
        match self {
            Self::Holds(holdings) | Self::Accepted { now: holdings, .. } => Reply::Account(Seen(holdings.version)),
            Self::Good => Reply::Done,
            Self::Stale => Reply::Stale,
        }
    }
}

impl Account {
    /// Reads it.
    pub fn read(&self, fence: Option<Fence>) -> Call {
        let checked = self.check == TokenCheck::OnReadAndWrite;
        self.fenced(READ, fence, checked)
    }

    /// Asks whether a token is good.
    pub fn check(&self, fence: Option<Fence>) -> Call {
        self.fenced(CHECK, fence, true)
    }

    /// Writes it.
    pub fn write(&self, write: Write<'_>) -> Call {
        let swaps = if self.check == TokenCheck::CompareAndSwap { "1" } else { "" };
        self.fenced(WRITE, write.fence, self.check.is_atomic())
            .arg(write.seen.0.to_string())
            .arg(write.balance.to_string())
            .arg(write.name)
            .arg(swaps)
    }

    /// What it holds and the greatest token that it has seen, without a look at any token. `HMGET` of the fields.
    pub fn look(&self) -> redis::Cmd {
        redis::cmd("HMGET").arg(&self.key).arg(&["balance", "version", "fence"]).take()
    }

    /// Opens it with some money.
    pub fn open(&self, balance: i64) -> redis::Cmd {
        redis::cmd("HSET").arg(&self.key).arg("balance").arg(balance).arg("version").arg(0).take()
    }

    /// What an answer to one of these says.
    ///
    /// # Errors
    /// If no account answers so.
    pub fn answer(&self, answer: &Value) -> Result<Answer, Unexpected> {
        let unexpected = || Unexpected(format!("{answer:?}").chars().take(100).collect());
        let Value::Array(parts) = answer else { return Err(unexpected()) };
        let numbers: Option<Vec<i64>> = parts.iter().map(number).collect();
        let holdings = |balance: i64, version: i64| {
            u32::try_from(version).map(|version| Holdings { balance, version }).map_err(|_| unexpected())
        };
        match numbers.as_deref() {
            Some([0]) => Ok(Answer::Stale),
            Some([1]) => Ok(Answer::Good),
            Some([1, balance, version]) => holdings(*balance, *version).map(Answer::Holds),
            Some([1, balance, version, balance_before, version_before]) => Ok(Answer::Accepted {
                now: holdings(*balance, *version)?,
                before: holdings(*balance_before, *version_before)?,
                again: version == version_before,
            }),
            _ => Err(unexpected()),
        }
    }

    fn fenced(&self, script: &'static str, fence: Option<Fence>, checked: bool) -> Call {
        let compare = match (checked, self.compare) {
            (false, _) => "",
            (true, Compare::Greater) => ">",
            (true, Compare::GreaterOrEqual) => ">=",
        };
        let fence = fence.map_or_else(String::new, |fence| fence.0.to_string());
        Call::new(script).key(&self.key).arg(compare).arg(fence)
    }
}

fn number(value: &Value) -> Option<i64> {
    redis::from_redis_value_ref(value).ok()
}

#[cfg(test)]
mod tests;
