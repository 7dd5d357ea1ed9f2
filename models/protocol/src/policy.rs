//! What a lock is made of: one enum for each decision that a lock protocol takes.
//!
//! The decisions are orthogonal. No protocol has a name here: SETNX locking, Redlock, a multi-lock and a fenced
//! lock are values of [`Policy`], and so is each of their mistakes.

use crate::ids::{MAX_SLOTS, Resource, Ticks};

/// How a client asks a lock server for the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acquire {
    /// It does not ask: there is no lock.
    Unlocked,
    /// `SET key token NX PX ttl`: entry and expiry in one command.
    SetNxPx,
    /// `SETNX key token`: an entry that never expires.
    Setnx,
    /// `SETNX key token`, then `PEXPIRE key ttl` as a command of its own.
    SetnxThenExpire,
    /// `GET key`, and if there is nothing, `SET key token PX ttl`.
    GetThenSet,
    /// `SETNX` with the expiry in the value; an entry that says it has expired is taken over by `GETSET`.
    GetSetTakeOver,
    /// `GET`, `DEL` of an entry whose value says that it has expired, `SETNX` with the expiry in the value.
    GetDelSetnx,
}

/// What a client writes into the entry to know its own again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// A value that no other acquisition uses.
    PerAcquisition,
    /// The client's name: the same for all acquisitions of one client.
    PerClient,
    /// The same value for everybody.
    Constant,
}

/// How a client gives the lock back to a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Release {
    /// One script: delete the entry if it holds the own token.
    CompareAndDelete,
    /// `GET`, compare in the client, `DEL`: three steps.
    GetThenDel,
    /// `DEL`, whoever owns the entry.
    Del,
    /// Not at all: the TTL frees the lock.
    Nothing,
}

/// Which servers hear of a release, or of the clean-up after a failed acquire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReleaseTo {
    /// Every server that may have an entry.
    All,
    /// Only the servers that answered that they granted the lock.
    Believed,
}

/// How a holder asks for more time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Renewal {
    /// It does not.
    Never,
    /// One script: extend the entry if it holds the own token.
    CompareAndExtend,
    /// `PEXPIRE key ttl`, whoever owns the entry.
    Expire,
    /// `SET key token NX PX ttl`, which is refused while the entry stands.
    SetNxPx,
    /// `SET key token XX PX ttl`, which overwrites whichever entry stands.
    SetXxPx,
    /// `SET key token PX ttl`, which overwrites, and creates anew what is gone.
    SetPx,
    /// One script: extend the entry if it holds the own token, create it anew if it is gone.
    ExtendOrCreate,
}

/// What a holder makes of a refused renewal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefusedRenewal {
    /// The lock is lost, for good.
    Lost,
    /// The answer is not looked at: any answer counts as more time.
    Ignored,
    /// The holder believes on, as long as it did before, and asks again when the next renewal is due.
    TriedAgain,
}

/// What an answer does that comes when its lease has lapsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LateAnswer {
    /// Nothing: a lapse is final.
    Ignored,
    /// It revives the lapsed belief.
    Revives,
}

/// From when a client counts the validity of a grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Validity {
    /// From the moment it sent the (first) request.
    FromSending,
    /// From the moment the (last) reply came.
    FromReply,
    /// It does not look at the time at all: what is granted stays granted.
    Unchecked,
}

/// What a client does with the allowance for clocks that drift.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drift {
    /// Takes it off the validity.
    Subtracted,
    /// Adds it to the validity.
    Added,
    /// Leaves it out.
    Ignored,
}

/// What a holder believes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holder {
    /// That it holds the lock until it releases it; it has no eye on the clock.
    Naive,
    /// That it holds the lock until its own clock reaches the deadline less the margin.
    Clocked,
    /// That it holds the lock until it releases it; but before each write it looks at the clock, and then writes.
    /// These are two steps.
    ChecksThenActs,
}

/// What a client makes of a request for the lock whose result it does not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnknownAcquire {
    /// Asks once more, and takes an entry with the own token for a grant.
    OwnValueHeld,
    /// Asks once more with the same token, and takes any entry for a refusal.
    RetrySameToken,
    /// Asks once more with a new token.
    RetryNewToken,
    /// Counts that server as not granted.
    GiveUp,
    /// Counts that server as granted.
    AssumeHeld,
}

/// In which order the servers are asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Visit {
    /// One after another; the next when the one before has answered or timed out.
    InOrder,
    /// All at once.
    AllAtOnce,
}

/// Where the fencing token comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fencing {
    /// There is none.
    Nothing,
    /// Minted by the server in the same script as the grant.
    WithGrant,
    /// `INCR` by the client before it asks for the lock.
    IncrBefore,
    /// `INCR` by the client after it was granted the lock.
    IncrAfter,
    /// What the client's own wall clock reads when it is granted the lock.
    ClientClock,
}

impl Fencing {
    /// Whether the server counts it up.
    pub fn is_counted(self) -> bool {
        match self {
            Self::WithGrant | Self::IncrBefore | Self::IncrAfter => true,
            Self::Nothing | Self::ClientClock => false,
        }
    }
}

/// When a client tries again after a failed attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// Never: one attempt.
    Never,
    /// After a fixed delay.
    Fixed(Ticks),
    /// After any delay between two bounds (a window; the driver draws, the checker tries all).
    Jitter(Ticks, Ticks),
    /// After a delay that doubles from the first bound up to the second.
    Exponential(Ticks, Ticks),
}

/// In which order a client takes several locks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// As its list has them.
    AsGiven,
    /// Sorted by name.
    Sorted,
}

/// What a client does when one of several locks is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conflict {
    /// Keeps what it has and tries again for the one that is missing.
    Wait,
    /// Gives back what it has, then begins anew.
    ReleaseAll,
}

/// What a client does about its lock while a write of its own is unsettled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnsettledWrite {
    /// It waits for the result before it releases, and leaves the lock to its TTL if none comes.
    Waits,
    /// It releases at once.
    AtOnce,
}

/// What the protected resource checks; the program under the lock has to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenCheck {
    /// Not at all.
    Nothing,
    /// Atomically with each write.
    OnWrite,
    /// Atomically with each read and each write.
    OnReadAndWrite,
    /// As a request of its own, before a write that is not checked.
    CheckThenWrite,
    /// Not at all, but a write is refused if the account has changed since it was read.
    CompareAndSwap,
}

impl TokenCheck {
    /// Whether tokens are looked at where a write is carried out.
    pub fn is_atomic(self) -> bool {
        match self {
            Self::OnWrite | Self::OnReadAndWrite => true,
            Self::Nothing | Self::CheckThenWrite | Self::CompareAndSwap => false,
        }
    }

    /// Whether tokens are looked at at all.
    pub fn takes_tokens(self) -> bool {
        match self {
            Self::OnWrite | Self::OnReadAndWrite | Self::CheckThenWrite => true,
            Self::Nothing | Self::CompareAndSwap => false,
        }
    }
}

/// Of which servers a quorum must grant the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuorumOf {
    /// Of all.
    All,
    /// Of those that answered: more than half of them.
    Reachable,
}

/// What becomes of an acquire of a lock that the same client holds already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reentrance {
    /// It is refused as anybody's would be.
    Nothing,
    /// It is granted, and the first release frees the lock.
    Flag,
    /// It is granted and counted, and the last release frees the lock.
    Count,
    /// It is counted, but the client reads that the entry is its own, and then sets it without a condition.
    ReadThenSet,
}

impl Reentrance {
    /// Whether the entry says how often its owner has taken it.
    pub fn is_counted(self) -> bool {
        match self {
            Self::Count | Self::ReadThenSet => true,
            Self::Nothing | Self::Flag => false,
        }
    }
}

/// How a client that was refused learns that it should try again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waiting {
    /// It tries again after a delay.
    Poll,
    /// The server notifies those who subscribed when somebody gives the lock back.
    Notified,
}

/// When a client subscribes to notifications.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subscribe {
    /// Before it tries.
    BeforeTrying,
    /// After it was refused; it then waits without another try.
    AfterTrying,
}

/// What a cancelled operation leaves behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnCancel {
    /// The lock is given back in the background.
    CleansUp,
    /// Whatever stands on the servers is forgotten.
    Forgets,
}

/// The program that a client runs under the lock: read the account, compute, write it back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Program {
    /// How long it computes between the read and each write.
    pub work: Ticks,
    /// How many writes one update makes, all under the same acquisition.
    pub writes: u8,
    /// How many updates the client makes, each under an acquisition of its own.
    pub updates: u8,
    /// What the resource checks.
    pub check: TokenCheck,
}

/// Everything that a client decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// How it asks for the lock.
    pub acquire: Acquire,
    /// What it writes into the entry.
    pub owner: Owner,
    /// How it gives the lock back.
    pub release: Release,
    /// Which servers hear of that.
    pub release_to: ReleaseTo,
    /// How long a lease lasts. None: for ever.
    pub ttl: Option<Ticks>,
    /// How many lock servers there are.
    pub nodes: u8,
    /// How many of them must grant the lock.
    pub quorum: u8,
    /// Of which servers that is; if of the reachable ones, the number above only says when a lock counts as taken.
    pub quorum_of: QuorumOf,
    /// In which order they are asked.
    pub visit: Visit,
    /// How long the client waits for a reply before the result is unknown.
    pub timeout: Ticks,
    /// From when the validity counts.
    pub validity: Validity,
    /// What is done with the drift allowance.
    pub drift: Drift,
    /// The drift allowance.
    pub drift_ticks: Ticks,
    /// What a holder believes.
    pub holder: Holder,
    /// How long before its deadline a clocked holder stops believing.
    pub margin: Ticks,
    /// What an unknown result of a request for the lock means.
    pub unknown: UnknownAcquire,
    /// How a holder asks for more time.
    pub renewal: Renewal,
    /// How long after a grant or a renewal it does so.
    pub renew_every: Ticks,
    /// How often it does so. None: without limit.
    pub renewals: Option<u8>,
    /// What a refused renewal means.
    pub refused_renewal: RefusedRenewal,
    /// What an answer does that comes after the lapse.
    pub late_answer: LateAnswer,
    /// By how many replicas of its server a grant or a renewal has to be acknowledged before it counts.
    pub acknowledged: u8,
    /// Where the fencing token comes from.
    pub fencing: Fencing,
    /// What becomes of an acquire of a lock that the client holds already.
    pub reentrance: Reentrance,
    /// How the client learns that it should try again.
    pub waiting: Waiting,
    /// When it subscribes to notifications.
    pub subscribe: Subscribe,
    /// Whether it also tries again after a delay if no notification comes.
    pub fallback_poll: bool,
    /// When to try again.
    pub retry: Retry,
    /// How many attempts an acquire has. None: without limit.
    pub attempts: Option<u8>,
    /// How long an acquire goes on trying. None: without limit.
    pub give_up_after: Option<Ticks>,
    /// In which order several locks are taken.
    pub order: Order,
    /// What happens when one of them is taken.
    pub conflict: Conflict,
    /// What happens to the lock while an own write is unsettled.
    pub unsettled_write: UnsettledWrite,
    /// What a cancelled operation leaves behind.
    pub on_cancel: OnCancel,
    /// What is done under the lock.
    pub program: Program,
}

impl Policy {
    /// The TTL that the entry has, on the server or in its value: SETNX has none to tell.
    pub fn lease(&self) -> Option<Ticks> {
        match self.acquire {
            Acquire::SetNxPx
            | Acquire::SetnxThenExpire
            | Acquire::GetThenSet
            | Acquire::GetSetTakeOver
            | Acquire::GetDelSetnx => self.ttl,
            Acquire::Unlocked | Acquire::Setnx => None,
        }
    }

    /// Whether the entry says itself when it expires, and stays where it is when it has.
    pub fn keeps_expiry_in_value(&self) -> bool {
        match self.acquire {
            Acquire::GetSetTakeOver | Acquire::GetDelSetnx => true,
            Acquire::Unlocked | Acquire::SetNxPx | Acquire::Setnx | Acquire::SetnxThenExpire | Acquire::GetThenSet => {
                false
            }
        }
    }

    /// Whether a waiting client is notified.
    pub fn is_notified(&self) -> bool {
        self.waiting == Waiting::Notified
    }

    /// Whether attempts never run out, so that a client that waits can wait for ever.
    pub fn waits_without_limit(&self) -> bool {
        self.retry != Retry::Never && self.attempts.is_none() && self.give_up_after.is_none()
    }
}

/// The locks that one client takes, in the order of its list. At least one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LockList {
    names: [Resource; MAX_SLOTS],
    len: u8,
}

impl LockList {
    /// The list of these locks, or none if there is no lock or more than [`MAX_SLOTS`].
    pub fn new(names: &[Resource], order: Order) -> Option<Self> {
        if names.is_empty() || names.len() > MAX_SLOTS {
            return None;
        }
        let mut list = Self { names: [Resource::default(); MAX_SLOTS], len: names.len() as u8 };
        list.names[..names.len()].copy_from_slice(names);
        if order == Order::Sorted {
            list.names[..names.len()].sort_unstable();
        }
        Some(list)
    }

    /// The locks in the order in which they are taken.
    pub fn as_slice(&self) -> &[Resource] {
        &self.names[..self.len as usize]
    }
}
