//! The small numbers of the protocols, each a type of its own.

/// A span of time, in ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticks(pub u32);

/// An instant on the clock of one client, in ticks.
///
/// Only deadlines are ever kept, so whoever drives a core may count from wherever it likes, and a checker may
/// [rebase](crate::Worker::rebase) so that "now" is always zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub u32);

impl Time {
    /// The instant `span` later.
    pub fn after(self, span: Ticks) -> Self {
        Self(self.0.saturating_add(span.0))
    }

    /// The instant `span` earlier, or the beginning of time.
    pub fn before(self, span: Ticks) -> Self {
        Self(self.0.saturating_sub(span.0))
    }
}

/// The largest number of lock servers that one lock can use.
pub const MAX_NODES: usize = 7;

/// The largest number of locks that one client nests.
pub const MAX_SLOTS: usize = 3;

/// A lock server, counted from zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u8);

/// The place of a lock in the list of locks that a client takes, counted from zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot(pub u8);

/// A lock by its name: the key on the servers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Resource(pub u8);

/// The number of an acquisition of one client and slot; a new attempt with a new token is a new acquisition.
///
/// A driver turns it into the owner token that it sends, by joining it to a random name of the process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Token(pub u32);

impl Token {
    /// The token of the next acquisition.
    pub fn next(self) -> Self {
        Self(self.0.wrapping_add(1))
    }
}

/// A fencing token: grows with every grant. Zero stands before the first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fence(pub u32);

/// What a read of the protected resource returned, as far as the core needs to know it.
///
/// A driver keeps the balance (or its version) here; a checker only whether it is still current.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Seen(pub u32);

/// A set of lock servers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Nodes(pub u8);

impl Nodes {
    /// No node.
    pub const NONE: Self = Self(0);

    /// The first `count` nodes.
    pub fn first(count: u8) -> Self {
        debug_assert!(count as usize <= MAX_NODES);
        Self(((1_u16 << count) - 1) as u8)
    }

    /// The set of one node.
    pub fn only(node: NodeId) -> Self {
        Self(1 << node.0)
    }

    /// Whether the node is in the set.
    pub fn contains(self, node: NodeId) -> bool {
        self.0 & (1 << node.0) != 0
    }

    /// Puts the node into the set.
    pub fn insert(&mut self, node: NodeId) {
        self.0 |= 1 << node.0;
    }

    /// Takes the node out of the set.
    pub fn remove(&mut self, node: NodeId) {
        self.0 &= !(1 << node.0);
    }

    /// How many nodes are in the set.
    pub fn len(self) -> u8 {
        self.0.count_ones() as u8
    }

    /// Whether the set is empty.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The lowest node of the set, as a set.
    pub fn lowest(self) -> Self {
        Self(self.0 & self.0.wrapping_neg())
    }

    /// The nodes of this set that are not in the other.
    pub fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// The nodes of either set.
    pub fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The nodes in ascending order.
    pub fn iter(self) -> impl Iterator<Item = NodeId> {
        (0..8).filter(move |n| self.0 & (1 << n) != 0).map(NodeId)
    }
}
