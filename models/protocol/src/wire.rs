//! What goes over the wire, and what a core says to whoever drives it.

use crate::ids::{Fence, NodeId, Resource, Seen, Slot, Ticks, Token};

/// A command to a lock server about one entry. The TTL is that of the policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verb {
    /// `SET key token NX PX ttl`.
    SetNxPx,
    /// `SETNX key token`.
    Setnx,
    /// `SET key token XX PX ttl`.
    SetXxPx,
    /// `SET key token PX ttl`.
    SetPx,
    /// `PEXPIRE key ttl`.
    Pexpire,
    /// A script: `PEXPIRE` if the entry holds the token.
    CompareAndExtend,
    /// `GET key`.
    Get,
    /// `DEL key`.
    Del,
    /// A script: `DEL` if the entry holds the token.
    CompareAndDelete,
    /// `INCR key:fence`.
    Incr,
    /// `GET key`, by a client that wants the lock.
    Look,
    /// `SET key token PX ttl`, by a client that has read that it may.
    Claim,
    /// `DEL key`, by a client that has read that the entry has expired.
    Clear,
    /// `GETSET key token`, with the expiry in the value.
    GetSet,
    /// A script: `PEXPIRE` if the entry holds the token, `SET … PX` if there is none.
    ExtendOrCreate,
    /// A script: `SET … PX` if there is no entry or it holds the token, which adds one to its count of holds.
    Enter,
    /// A script: take one off the count of holds if the entry holds the token; `DEL` with the last.
    Exit,
    /// `SUBSCRIBE key`: to be told when somebody gives the lock back.
    Subscribe,
    /// `WAIT`: answered as soon as enough replicas have what the server has.
    Wait,
    /// `PEXPIRE key ttl`, as the second command of an acquire.
    Limit,
}

/// A request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Command {
    /// To a lock server.
    Lock {
        /// Which lock.
        resource: Resource,
        /// What to do.
        verb: Verb,
        /// The acquisition on whose behalf; whether it is sent depends on the verb.
        token: Token,
        /// Whether the script mints a fencing token if it grants the lock.
        mint: bool,
    },
    /// To the resource: read the account.
    Read {
        /// Which account.
        account: Resource,
        /// The fencing token, if reads are checked.
        fence: Option<Fence>,
    },
    /// To the resource: is this fencing token still good?
    Check {
        /// Which account.
        account: Resource,
        /// The fencing token.
        fence: Option<Fence>,
    },
    /// To the resource: write what was computed from what was seen.
    Write {
        /// Which account.
        account: Resource,
        /// The fencing token, if writes are checked.
        fence: Option<Fence>,
        /// What the read returned.
        seen: Seen,
    },
}

impl Command {
    /// The lock, or the account that it protects.
    pub fn resource(self) -> Resource {
        match self {
            Self::Lock { resource, .. } => resource,
            Self::Read { account, .. } | Self::Check { account, .. } | Self::Write { account, .. } => account,
        }
    }
}

/// An answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reply {
    /// It took effect.
    Done,
    /// It took effect, and this is the fencing token.
    Minted(Fence),
    /// A `SET` that found an entry.
    Taken {
        /// Whether that entry holds the sender's own token.
        own: bool,
        /// The fencing token that was minted with the own entry, if the script mints.
        fence: Option<Fence>,
    },
    /// There was nothing to act on: no entry, or not the sender's.
    Nothing,
    /// What `GET` or `GETSET` found.
    Entry {
        /// Whether it is the sender's own token.
        own: bool,
        /// For how long it still lives by the reader's own clock, if the value says so. Zero: it has expired.
        left: Option<Ticks>,
    },
    /// What the account holds, after a read or an accepted write.
    Account(Seen),
    /// The resource refused the write, or its fencing token.
    Stale,
    /// Not an answer: somebody gave back the lock that the client has subscribed to.
    Freed,
}

/// How an operation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Outcome {
    /// The server answered.
    Answered(Reply),
    /// It was certainly not carried out.
    Refused,
    /// It may or may not have taken effect, now or later.
    Unknown,
}

/// Where an operation goes. A core awaits at most one at each place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Place {
    /// A lock server, on behalf of one of the locks.
    Lock(Slot, NodeId),
    /// The protected resource.
    Store,
}

/// An operation: where, and which one of those that went there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OpId {
    /// Where it went.
    pub place: Place,
    /// Which round of requests it belongs to.
    pub round: u32,
    /// Which of the requests to this place in that round: the second command of two, or the same asked again.
    pub stage: u8,
}

/// What a core is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// Take the lock.
    Acquire,
    /// Give it back, or stop trying.
    Release,
    /// An operation ended.
    Settled(OpId, Outcome),
    /// A moment that the core asked for has come.
    Wake,
    /// Ask for more time now, whatever the schedule of renewals says. Without effect where nothing is held, the policy
    /// knows no renewal, or one is under way.
    Renew,
    /// Somebody gave back the lock of this slot.
    Notified(Slot),
    /// The caller gave up what it was waiting for.
    Cancel,
}

/// What a core tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice {
    /// The lock is held.
    Acquired {
        /// The fencing token, if the protocol has one.
        fence: Option<Fence>,
    },
    /// The lock is lost, for good.
    Lost,
    /// The lock is given back, as far as the client can know.
    Released,
    /// The attempts ran out.
    GaveUp,
}

/// What a core wants done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Send a command and report how it ended.
    Send {
        /// The operation.
        op: OpId,
        /// The command.
        command: Command,
    },
    /// Tell the user.
    Tell(Notice),
}

/// Where a core puts its effects. The caller owns it and carries them out in order.
pub trait Outbox {
    /// Takes one effect.
    fn push(&mut self, effect: Effect);
}
