//! What an entry holds.

use protocol::Policy;

use super::Sender;

/// What the value of an entry looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// `token`.
    Plain,
    /// `holds:token`: how often its owner has taken it.
    Counted,
    /// `expiry:token`: when it ends, in milliseconds by the writer's clock; the server lets it stand.
    Expiring,
}

/// An entry that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    /// The owner's token.
    pub token: &'a [u8],
    /// How often its owner has taken it, where that is counted.
    pub holds: Option<u64>,
    /// When it ends, where that is said in the value.
    pub expiry: Option<u64>,
}

impl Form {
    /// What entries look like under a policy.
    pub fn of(policy: &Policy) -> Self {
        if policy.keeps_expiry_in_value() {
            Self::Expiring
        } else if policy.reentrance.is_counted() {
            Self::Counted
        } else {
            Self::Plain
        }
    }

    /// The word for it that scripts know.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Counted | Self::Expiring => ":",
        }
    }

    /// The value of a new entry.
    pub(super) fn value(self, sender: Sender<'_>, ttl: Option<u64>, holds: u8) -> Vec<u8> {
        let prefix = match self {
            Self::Plain => String::new(),
            Self::Counted => format!("{holds}:"),
            Self::Expiring => format!("{}:", sender.now.saturating_add(ttl.unwrap_or_default())),
        };
        [prefix.as_bytes(), sender.token].concat()
    }

    /// What a value says. What we did not write is taken for a token.
    pub fn read(self, value: &[u8]) -> Entry<'_> {
        let plain = Entry { token: value, holds: None, expiry: None };
        let Some((number, token)) = self.split(value) else { return plain };
        match self {
            Self::Plain => plain,
            Self::Counted => Entry { token, holds: Some(number), expiry: None },
            Self::Expiring => Entry { token, holds: None, expiry: Some(number) },
        }
    }

    fn split(self, value: &[u8]) -> Option<(u64, &[u8])> {
        let colon = value.iter().position(|byte| *byte == b':')?;
        let number = core::str::from_utf8(&value[..colon]).ok()?.parse().ok()?;
        Some((number, &value[colon + 1..]))
    }
}
