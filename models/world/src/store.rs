//! The protected resource: accounts that are read and written, and may check fencing tokens.

use protocol::{Command, Fence, Reply, Seen, TokenCheck};

use crate::setup::Compare;

/// What a read returned and is still what the account holds.
pub const CURRENT: Seen = Seen(0);

/// What a read returned and has been overwritten since.
pub const OUTDATED: Seen = Seen(1);

/// What the account holds is what this very write has written: it was sent twice, and the other one came first.
pub const WRITTEN: Seen = Seen(2);

/// One account.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// The greatest fencing token seen.
    pub fence: Fence,
    /// The latest grant of which a write was accepted; zero: of none that anybody could still fall behind.
    pub grant: u8,
}

/// What a request to the resource came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stored {
    /// The answer.
    pub reply: Reply,
    /// Whether a write was accepted.
    pub accepted: bool,
    /// Whether it overwrote an update that its writer had not seen.
    pub lost_update: bool,
    /// Whether its grant is earlier than one of which a write had been accepted.
    pub stale: bool,
}

impl Account {
    /// Carries out a request in one go.
    ///
    /// This is the simulated account, public so that it can be held against a real one.
    pub fn serve(&mut self, check: TokenCheck, compare: Compare, command: Command, grant: u8) -> Stored {
        let (fence, is_checked) = match command {
            Command::Read { fence, .. } => (fence, check == TokenCheck::OnReadAndWrite),
            Command::Check { fence, .. } => (fence, true),
            Command::Write { fence, .. } => (fence, check.is_atomic()),
            Command::Lock { .. } => (None, false),
        };
        let refused = Stored { reply: Reply::Stale, accepted: false, lost_update: false, stale: false };
        if is_checked && !self.admits(compare, fence) {
            return refused;
        }
        match command {
            Command::Read { .. } => Stored { reply: Reply::Account(CURRENT), ..refused },
            Command::Write { seen, .. } if check == TokenCheck::CompareAndSwap && seen != CURRENT => refused,
            Command::Check { .. } | Command::Lock { .. } => Stored { reply: Reply::Done, ..refused },
            Command::Write { seen, .. } => {
                let stale = grant != 0 && grant < self.grant;
                self.grant = self.grant.max(grant);
                Stored { reply: Reply::Account(CURRENT), accepted: true, lost_update: seen == OUTDATED, stale }
            }
        }
    }

    /// Checks a fencing token and remembers the greatest. Who has none is not admitted.
    fn admits(&mut self, compare: Compare, fence: Option<Fence>) -> bool {
        let Some(fence) = fence else { return false };
        let admitted = match compare {
            Compare::Greater => fence > self.fence,
            Compare::GreaterOrEqual => fence >= self.fence,
        };
        self.fence = self.fence.max(fence);
        admitted
    }
}
