//! What a world is made of, beside the policy of its clients.

use alloc::vec::Vec;

use protocol::{LockList, Policy, Reply, Ticks};

/// The largest number of clients.
pub const MAX_CLIENTS: usize = 4;

/// The largest number of different locks, each with an account of its own that it protects.
pub const MAX_RESOURCES: usize = 4;

/// In which order the messages of one connection and direction arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Network {
    /// First in, first out. A delayed message holds back what is behind it, as a TCP segment does.
    Fifo,
    /// In any order, as over several connections. A delayed message holds back nothing.
    Unordered,
}

/// What a lock server remembers over a restart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Persistence {
    /// Nothing.
    Nothing,
    /// What it had when it last wrote its memory to disk, as it does from time to time.
    EverySecond,
    /// Everything that it acknowledged.
    Always,
}

/// By which clock a lock server lets its entries expire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expiry {
    /// Its wall clock, which somebody may set.
    Wall,
    /// A monotonic clock, which nobody sets.
    Monotonic,
}

/// Which replica takes the place of a master that is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Promote {
    /// Any.
    Any,
    /// One of those that have heard most of the master.
    MostUpToDate,
}

/// Which fencing tokens the resource accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compare {
    /// Only tokens greater than the greatest seen.
    Greater,
    /// Tokens greater than or equal to the greatest seen.
    GreaterOrEqual,
}

/// How much happens in one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grain {
    /// A request and its reply are delivered in steps of their own.
    Message,
    /// A request is delivered, carried out and answered, and the answer received, in one step.
    Exchange,
}

/// A kind of fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fault {
    /// One client stops until it is resumed.
    Pause,
    /// One message may stay under way beyond its bound.
    Delay,
    /// One request is lost.
    DropRequest,
    /// One reply is lost.
    DropReply,
    /// One request is sent again by the client library.
    Duplicate,
    /// One client ends.
    Crash,
    /// One lock server stops and comes back.
    Restart,
    /// The wall clock of one lock server moves.
    Jump,
    /// One clock gains or loses one tick.
    Drift,
    /// One link is cut until it is healed.
    Partition,
    /// The master is lost, and a replica promoted.
    Failover,
    /// One key is dropped for want of memory.
    Evict,
    /// A caller gives up one operation at an await point.
    Cancel,
}

impl Fault {
    /// All kinds, in the documented order.
    pub const ALL: [Self; 13] = [
        Self::Pause,
        Self::Delay,
        Self::DropRequest,
        Self::DropReply,
        Self::Duplicate,
        Self::Crash,
        Self::Restart,
        Self::Jump,
        Self::Drift,
        Self::Partition,
        Self::Failover,
        Self::Evict,
        Self::Cancel,
    ];
}

/// How many units of each kind of fault there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Budget([u8; Fault::ALL.len()]);

impl Budget {
    /// The units of a kind.
    pub fn get(&self, fault: Fault) -> u8 {
        self.0[fault as usize]
    }

    /// Sets the units of a kind.
    pub fn set(&mut self, fault: Fault, units: u8) {
        self.0[fault as usize] = units;
    }

    /// The kinds with at least one unit, in the documented order.
    pub fn kinds(&self) -> impl Iterator<Item = Fault> {
        Fault::ALL.into_iter().filter(|f| self.get(*f) > 0)
    }
}

/// A world before its first step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setup {
    /// What the clients decide, all alike.
    pub policy: Policy,
    /// The locks of each client.
    pub clients: Vec<LockList>,
    /// How many different locks there are.
    pub resources: u8,
    /// The least number of ticks that a message is under way.
    pub latency_least: Ticks,
    /// The greatest, which only a delay lifts.
    pub latency_greatest: Ticks,
    /// In which order messages arrive.
    pub network: Network,
    /// What a restart leaves.
    pub persistence: Persistence,
    /// How often a server writes its memory to disk, if it does so from time to time.
    pub fsync_every: Ticks,
    /// How long a restart takes.
    pub restart_delay: Ticks,
    /// How many replicas the one lock server has.
    pub replicas: u8,
    /// Which of them takes its place.
    pub promote: Promote,
    /// By how much a wall clock jumps, forward or back.
    pub jump: Ticks,
    /// By which clock entries expire.
    pub expiry: Expiry,
    /// By how much the wall clock of each client is ahead of that of the client before.
    pub offset: Ticks,
    /// For how many ticks a pause lasts at most; none: until somebody ends it.
    pub longest_pause: Option<Ticks>,
    /// For how many ticks a delayed message stays under way beyond its bound at most; none: until it arrives.
    pub longest_delay: Option<Ticks>,
    /// For how many ticks a link is cut at most; none: until somebody heals it.
    pub longest_partition: Option<Ticks>,
    /// Whether a crashed client starts again, without memory.
    pub rejoin: bool,
    /// Which fencing tokens the resource accepts.
    pub compare: Compare,
    /// How much happens in one step.
    pub grain: Grain,
    /// The faults that may happen.
    pub faults: Budget,
}

impl Setup {
    /// By how much the wall clock of a client is ahead of that of the first.
    pub fn offset_of(&self, client: u8) -> u32 {
        self.offset.0 * u32::from(client)
    }

    /// Whether the entries of a lock server notice that its wall clock jumps.
    pub(crate) fn is_jumpy(&self) -> bool {
        self.expiry == Expiry::Wall && !self.policy.keeps_expiry_in_value()
    }

    /// The life that a client's commands give an entry: on the server, or in the value as its own clock tells it.
    pub(crate) fn lease_of(&self, client: u8) -> Option<u8> {
        let offset = if self.policy.keeps_expiry_in_value() { self.offset_of(client) } else { 0 };
        self.policy.ttl.map(|ttl| (ttl.0 + offset) as u8)
    }

    /// An answer, with the expiry that it carries as the client's own clock tells it.
    pub(crate) fn as_read_by(&self, client: u8, reply: Reply) -> Reply {
        match reply {
            Reply::Entry { own, left: Some(left) } => {
                Reply::Entry { own, left: Some(Ticks(left.0.saturating_sub(self.offset_of(client)))) }
            }
            Reply::Done
            | Reply::Minted(_)
            | Reply::Taken { .. }
            | Reply::Nothing
            | Reply::Entry { left: None, .. }
            | Reply::Account(_)
            | Reply::Stale
            | Reply::Freed => reply,
        }
    }
}
