//! The lock servers: what one command does to the memory of one node, and what time does.

use protocol::{Fence, Owner, Policy, Reply, Resource, Slot, Token, Verb};

use crate::setup::MAX_RESOURCES;

/// An acquisition: whose entry an entry is. Kept beside every entry, though no server could know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Acquisition {
    /// The client.
    pub client: u8,
    /// Which of its locks.
    pub slot: Slot,
    /// The number of the acquisition.
    pub token: Token,
    /// Whether the client has crashed since.
    pub bereft: bool,
}

impl Acquisition {
    /// Whether both wrote the same owner value.
    fn same_value(self, other: Self, owner: Owner) -> bool {
        match owner {
            Owner::PerAcquisition => self.is(other),
            Owner::PerClient => self.client == other.client,
            Owner::Constant => true,
        }
    }

    /// Whether both are the same acquisition.
    pub fn is(self, other: Self) -> bool {
        (self.client, self.slot, self.token) == (other.client, other.slot, other.token)
    }
}

/// A lock entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Whose it is.
    pub by: Acquisition,
    /// For how many ticks it still lives. None: for ever.
    pub left: Option<u8>,
}

/// What a lock server remembers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// The entry of each lock.
    pub entries: [Option<Entry>; MAX_RESOURCES],
    /// The last fencing token of each lock.
    pub counters: [Fence; MAX_RESOURCES],
}

/// A lock server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Node {
    /// What it remembers.
    pub memory: Memory,
    /// For how many ticks it stays down.
    pub down: u8,
}

/// A replica of the lock server: it remembers what its master did at some moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Replica {
    /// What it remembers.
    pub memory: Memory,
    /// Whether it heard of its master later than the others did that remember something else; kept only where this
    /// decides which one is promoted.
    pub is_newest: bool,
}

/// What a command came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Served {
    pub(crate) reply: Reply,
    /// Whether a release or a renewal took effect on an entry of another acquisition.
    pub(crate) wrong: bool,
    /// Whether a new entry was written.
    pub(crate) written: bool,
}

impl Served {
    fn plain(reply: Reply) -> Self {
        Self { reply, wrong: false, written: false }
    }

    fn on(entry: Entry, by: Acquisition, reply: Reply) -> Self {
        Self { reply, wrong: !entry.by.is(by), written: false }
    }
}

impl Memory {
    /// Carries out a command, in one go as Redis does.
    pub(crate) fn serve(
        &mut self,
        policy: &Policy,
        resource: Resource,
        verb: Verb,
        mint: bool,
        by: Acquisition,
    ) -> Served {
        let index = resource.0 as usize;
        let lease = policy.ttl.map(|ttl| ttl.0 as u8);
        let entry = &mut self.entries[index];
        let owns = entry.is_some_and(|e| e.by.same_value(by, policy.owner));
        match verb {
            Verb::SetNxPx | Verb::Setnx => {
                if entry.is_some() {
                    // The last token minted is that of the entry: the script can give it again.
                    let fence = (owns && mint).then_some(self.counters[index]);
                    return Served::plain(Reply::Taken { own: owns, fence });
                }
                *entry = Some(Entry { by, left: lease.filter(|_| verb == Verb::SetNxPx) });
                let reply = if mint { self.mint(resource) } else { Reply::Done };
                Served { reply, wrong: false, written: true }
            }
            Verb::SetXxPx if entry.is_none() => Served::plain(Reply::Nothing),
            Verb::SetXxPx | Verb::SetPx => {
                let wrong = entry.is_some_and(|e| !e.by.is(by));
                *entry = Some(Entry { by, left: lease });
                Served { reply: Reply::Done, wrong, written: true }
            }
            Verb::CompareAndExtend if !owns => Served::plain(Reply::Nothing),
            Verb::Pexpire | Verb::CompareAndExtend => {
                let Some(entry) = entry else { return Served::plain(Reply::Nothing) };
                entry.left = lease;
                Served::on(*entry, by, Reply::Done)
            }
            Verb::Get => match entry {
                Some(_) => Served::plain(Reply::Entry { own: owns }),
                None => Served::plain(Reply::Nothing),
            },
            Verb::CompareAndDelete if !owns => Served::plain(Reply::Nothing),
            Verb::Del | Verb::CompareAndDelete => match entry.take() {
                Some(entry) => Served::on(entry, by, Reply::Done),
                None => Served::plain(Reply::Nothing),
            },
            Verb::Incr => Served::plain(self.mint(resource)),
            Verb::Wait => Served::plain(Reply::Done),
        }
    }

    fn mint(&mut self, resource: Resource) -> Reply {
        let counter = &mut self.counters[resource.0 as usize];
        counter.0 += 1;
        Reply::Minted(*counter)
    }

    /// Whether there is an entry that comes to an end.
    pub(crate) fn is_timed(&self) -> bool {
        self.entries.iter().flatten().any(|entry| entry.left.is_some())
    }

    /// Moves the clock by which entries expire forward.
    pub(crate) fn pass_time(&mut self, ticks: u8, mut expired: impl FnMut(Resource, Acquisition)) {
        for (index, slot) in (0..).zip(&mut self.entries) {
            let Some(entry) = slot else { continue };
            let Some(left) = &mut entry.left else { continue };
            *left = left.saturating_sub(ticks);
            if *left == 0 {
                expired(Resource(index), entry.by);
                *slot = None;
            }
        }
    }

    /// Moves it back.
    pub(crate) fn turn_back(&mut self, ticks: u8) {
        for left in self.entries.iter_mut().flatten().filter_map(|entry| entry.left.as_mut()) {
            *left = left.saturating_add(ticks);
        }
    }
}

impl Node {
    /// Whether a restart would lose nothing.
    pub(crate) fn is_blank(&self) -> bool {
        *self == Self::default()
    }
}
