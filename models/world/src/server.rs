//! The lock servers: what one command does to the memory of one node, and what time does.

use protocol::{Fence, Owner, Policy, Reentrance, Reply, Resource, Slot, Ticks, Token, Verb};

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

/// More holds than this are not counted: a client nests fewer, and only lost releases leave any behind.
const MAX_HOLDS: u8 = 15;

/// A lock entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Whose it is.
    pub by: Acquisition,
    /// For how many ticks it still lives. None: for ever.
    ///
    /// Where the expiry stands in the value, by the clock that is behind all others; the entry stays when it is over.
    pub left: Option<u8>,
    /// How often its owner has taken it, where that is counted.
    pub holds: u8,
}

impl Entry {
    /// What a reader finds.
    fn read(&self, policy: &Policy, own: bool) -> Reply {
        let left = self.left.filter(|_| policy.keeps_expiry_in_value()).map(|left| Ticks(left.into()));
        Reply::Entry { own, left }
    }

    /// Whether it still keeps others out.
    pub fn is_live(&self) -> bool {
        self.left != Some(0)
    }
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
    /// The clients, as bits, that have subscribed to the notifications about each lock.
    pub subscribers: [u8; MAX_RESOURCES],
}

/// A command, and on whose behalf it comes.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// Which lock.
    pub resource: Resource,
    /// What to do.
    pub verb: Verb,
    /// Whether a fencing token is minted with a grant.
    pub mint: bool,
    /// On whose behalf.
    pub by: Acquisition,
    /// The life that it gives an entry, in ticks. None: without end.
    pub lease: Option<u8>,
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
pub struct Served {
    /// The answer.
    pub reply: Reply,
    /// Whether a release or a renewal took effect on an entry of another acquisition.
    pub wrong: bool,
    /// Whether a new entry was written.
    pub written: bool,
    /// Whether the lock was given back, of which those who have subscribed are told.
    pub freed: bool,
}

impl Served {
    fn plain(reply: Reply) -> Self {
        Self { reply, wrong: false, written: false, freed: false }
    }

    fn written(reply: Reply) -> Self {
        Self { written: true, ..Self::plain(reply) }
    }
}

impl Memory {
    /// Carries out a command, in one go as Redis does.
    ///
    /// This is the simulated server, public so that it can be held against a real one.
    pub fn serve(&mut self, policy: &Policy, request: Request) -> Served {
        let Request { resource, verb, mint, by, lease } = request;
        let index = resource.0 as usize;
        let entry = &mut self.entries[index];
        let owns = entry.is_some_and(|e| e.by.same_value(by, policy.owner));
        let counts = u8::from(policy.reentrance.is_counted());
        let new = Entry { by, left: lease, holds: counts };
        match verb {
            Verb::SetNxPx | Verb::Setnx => {
                if entry.is_some() {
                    // The last token minted is that of the entry: the script can give it again.
                    let fence = (owns && mint).then_some(self.counters[index]);
                    return Served::plain(Reply::Taken { own: owns, fence });
                }
                let timed = verb == Verb::SetNxPx || policy.keeps_expiry_in_value();
                *entry = Some(Entry { left: lease.filter(|_| timed), ..new });
                let reply = if mint { self.mint(resource) } else { Reply::Done };
                Served::written(reply)
            }
            Verb::Enter if entry.is_some() && !owns => Served::plain(Reply::Taken { own: false, fence: None }),
            Verb::Enter => {
                let Some(entry) = entry else {
                    *entry = Some(new);
                    return Served::written(Reply::Done);
                };
                entry.left = lease;
                entry.holds = (entry.holds + counts).min(MAX_HOLDS);
                Served::plain(Reply::Done)
            }
            Verb::SetXxPx if entry.is_none() => Served::plain(Reply::Nothing),
            Verb::SetXxPx | Verb::SetPx => {
                let wrong = entry.is_some_and(|e| !e.by.is(by));
                *entry = Some(new);
                Served { wrong, ..Served::written(Reply::Done) }
            }
            Verb::Claim => {
                let old = entry.filter(|_| owns && counts > 0);
                let by = old.map_or(by, |old| old.by);
                *entry = Some(Entry { by, holds: 2 * counts, ..new });
                Served { written: old.is_none(), ..Served::plain(Reply::Done) }
            }
            Verb::ExtendOrCreate if entry.is_none() => {
                *entry = Some(new);
                Served::written(Reply::Done)
            }
            Verb::CompareAndExtend | Verb::ExtendOrCreate if !owns => Served::plain(Reply::Nothing),
            Verb::Pexpire | Verb::Limit | Verb::CompareAndExtend | Verb::ExtendOrCreate => {
                let Some(found) = entry else { return Served::plain(Reply::Nothing) };
                found.left = lease;
                let nested = policy.reentrance != Reentrance::Nothing && found.by.client == by.client;
                let wrong = !nested && !found.by.is(by);
                // An expiry that is over deletes at once.
                if !found.is_live() && !policy.keeps_expiry_in_value() {
                    *entry = None;
                }
                Served { wrong, ..Served::plain(Reply::Done) }
            }
            Verb::Get | Verb::Look => match entry {
                Some(entry) => Served::plain(entry.read(policy, owns)),
                None => Served::plain(Reply::Nothing),
            },
            Verb::GetSet => {
                let left = lease.filter(|_| policy.keeps_expiry_in_value());
                let found = entry.replace(Entry { left, ..new });
                let Some(found) = found else { return Served::written(Reply::Nothing) };
                Served { written: !found.is_live(), ..Served::plain(found.read(policy, owns)) }
            }
            Verb::Clear => match entry.take() {
                Some(_) => Served::plain(Reply::Done),
                None => Served::plain(Reply::Nothing),
            },
            Verb::CompareAndDelete | Verb::Exit if !owns => Served::plain(Reply::Nothing),
            Verb::Exit if entry.is_some_and(|e| e.holds > 1) => {
                if let Some(entry) = entry {
                    entry.holds -= 1;
                }
                Served::plain(Reply::Done)
            }
            Verb::Del | Verb::CompareAndDelete | Verb::Exit => match entry.take() {
                Some(entry) => Served { wrong: !entry.by.is(by), freed: true, ..Served::plain(Reply::Done) },
                None => Served::plain(Reply::Nothing),
            },
            Verb::Incr => Served::plain(self.mint(resource)),
            Verb::Wait | Verb::Subscribe => Served::plain(Reply::Done),
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
    ///
    /// What has expired goes, but where the expiry stands in the value.
    pub(crate) fn pass_time(&mut self, ticks: u8, stays: bool, mut expired: impl FnMut(Resource, Acquisition)) {
        for (index, slot) in (0..).zip(&mut self.entries) {
            let Some(entry) = slot.as_mut().filter(|e| e.is_live()) else { continue };
            let Some(left) = &mut entry.left else { continue };
            *left = left.saturating_sub(ticks);
            if *left == 0 {
                expired(Resource(index), entry.by);
                if !stays {
                    *slot = None;
                }
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
