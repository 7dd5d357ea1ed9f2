//! Numbers that only ever grow, kept by rank: of acquisitions, fencing tokens and grants.

use protocol::{Command, Fence, Fencing, MAX_SLOTS, Resource, Slot, Token};
use smallvec::SmallVec;

use crate::message::Body;
use crate::section::Section;
use crate::server::Memory;
use crate::setup::{MAX_CLIENTS, MAX_RESOURCES, Setup};
use crate::world::{WALL, World};

/// Visits the numbers of a section.
pub(crate) trait Numbering {
    /// The number of an acquisition of a client's slot.
    fn token(&mut self, _client: u8, _slot: Slot, _token: &mut u32) {}
    /// A fencing token of a lock.
    fn fence(&mut self, _resource: Resource, _fence: &mut Fence) {}
    /// The number of a grant under which something may still be written. Zero is none.
    fn grant(&mut self, _grant: &mut u8) {}
    /// The number of the latest grant of which a write was accepted. Zero is none.
    fn accepted(&mut self, _grant: &mut u8) {}
}

impl World {
    /// Renumbers acquisitions, fencing tokens and grants by rank, so that worlds that can do the same are the same.
    ///
    /// Nothing depends on more than the order of these numbers, so a world that is told of (see the narrator of the
    /// checker) can keep the numbers as they were given out.
    pub fn canonicalise(&mut self, setup: &Setup) {
        let mut numbers = Numbers::default();
        self.number_all(setup, &mut numbers);
        if !numbers.are_ranks() {
            self.number_all(setup, &mut Ranking::of(numbers));
        }
        if setup.policy.fencing == Fencing::ClientClock {
            (0..setup.resources).for_each(|resource| self.rank_readings(setup, Resource(resource)));
        }
        self.rank_replicas();
    }

    /// Visits the numbers of every section.
    pub(crate) fn number_all(&mut self, setup: &Setup, visitor: &mut impl Numbering) {
        Section::all(setup).for_each(|section| self.number(setup, section, visitor));
    }

    /// Visits the numbers of a section.
    pub(crate) fn number(&mut self, setup: &Setup, section: Section, visitor: &mut impl Numbering) {
        match section {
            Section::Rest => self.number_rest(setup, visitor),
            Section::Client(client) => self.number_client(setup, client, visitor),
            Section::Node(node) => number_memory(&mut self.nodes[node as usize].memory, setup, visitor),
        }
    }

    fn number_rest(&mut self, setup: &Setup, visitor: &mut impl Numbering) {
        for memory in self.saved.iter_mut().chain(self.replicas.iter_mut().map(|replica| &mut replica.memory)) {
            number_memory(memory, setup, visitor);
        }
        for (resource, account) in (0..).map(Resource).zip(self.accounts.iter_mut()) {
            visitor.fence(resource, &mut account.fence);
            visitor.accepted(&mut account.grant);
        }
    }

    fn number_client(&mut self, setup: &Setup, client: u8, visitor: &mut impl Numbering) {
        let state = &mut *self.clients[client as usize];
        for (slot, resource) in Self::slots(setup, client) {
            let locks = state.worker.locks_mut();
            let Token(mut token) = locks.token(slot);
            visitor.token(client, slot, &mut token);
            locks.set_token(slot, Token(token));
            if let Some(fence) = locks.fence_mut(slot) {
                visitor.fence(resource, fence);
            }
            visitor.grant(&mut state.grants[slot.0 as usize]);
        }
        for message in self.mail[client as usize].iter_mut() {
            let resource = message.fence_is_of(setup);
            if let Some(fence) = message.fence_mut() {
                visitor.fence(resource, fence);
            }
            let Body::Request { command, grant } = &mut message.body else { continue };
            visitor.grant(grant);
            if let Command::Lock { token, .. } = command {
                visitor.token(client, message.slot, &mut token.0);
            }
        }
    }

    /// Ranks the readings of wall clocks that lie so far back that no clock can read them again.
    fn rank_readings(&mut self, setup: &Setup, of: Resource) {
        let mut past = Past { of, fences: SmallVec::new() };
        self.number_all(setup, &mut past);
        past.fences.sort_unstable();
        past.fences.dedup();
        self.number_all(setup, &mut PastRanking(past));
    }

    /// Makes room for a token right after the counter of a node.
    ///
    /// A counter that a restart has set back mints tokens that lie before all that were minted earlier. In a world that
    /// keeps tokens by rank nothing would lie between.
    pub(crate) fn make_room(&mut self, setup: &Setup, of: Resource, node: u8) {
        let next = self.nodes[node as usize].memory.counters[of.0 as usize].0 + 1;
        let mut lookout = Lookout { of, next, is_taken: false };
        self.number_all(setup, &mut lookout);
        if lookout.is_taken {
            self.number_all(setup, &mut Room { of, next });
        }
    }

    /// The number of the next grant.
    pub(crate) fn grant_after_all(&mut self, setup: &Setup) -> u8 {
        let mut latest = Latest(0);
        self.number_all(setup, &mut latest);
        latest.0 + 1
    }

    /// Of replicas that remember the same, none is newer.
    pub(crate) fn rank_replicas(&mut self) {
        let Some((first, others)) = self.replicas.split_first() else { return };
        if others.iter().all(|other| other.memory == first.memory) {
            self.replicas.iter_mut().for_each(|replica| replica.is_newest = false);
        }
    }
}

fn number_memory(memory: &mut Memory, setup: &Setup, visitor: &mut impl Numbering) {
    for index in 0..setup.resources as usize {
        if let Some(entry) = &mut memory.entries[index] {
            visitor.token(entry.by.client, entry.by.slot, &mut entry.by.token.0);
        }
        visitor.fence(Resource(index as u8), &mut memory.counters[index]);
    }
}

/// The numbers that occur in some sections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Numbers {
    tokens: [[Ranks; MAX_SLOTS]; MAX_CLIENTS],
    fences: [Ranks; MAX_RESOURCES],
    grants: Ranks,
    accepted: Ranks,
}

impl Numbers {
    /// The numbers that occur in the one or the other.
    pub(crate) fn and(&mut self, other: &Self) {
        for (ranks, others) in self.tokens.as_flattened_mut().iter_mut().zip(other.tokens.as_flattened()) {
            ranks.0 |= others.0;
        }
        for (ranks, others) in self.fences.iter_mut().zip(&other.fences) {
            ranks.0 |= others.0;
        }
        self.grants.0 |= other.grants.0;
        self.accepted.0 |= other.accepted.0;
    }

    /// Whether every number of these sections, all of a world, is its own rank.
    pub(crate) fn are_ranks(&self) -> bool {
        let dense =
            self.tokens.as_flattened().iter().chain(&self.fences).fold(true, |all, ranks| all & ranks.are_dense());
        dense && self.accepted == self.relevant() && self.grants_in_use().are_dense()
    }

    /// Whether all fit into so many bits.
    pub(crate) fn fit(&self, bits: u32) -> bool {
        let all = self.tokens.as_flattened().iter().chain(&self.fences).chain([&self.grants, &self.accepted]);
        all.fold(0, |all, ranks| all | ranks.0) >> (1u32 << bits) == 0
    }

    /// The latest grant; zero if there is none.
    pub(crate) fn latest_grant(&self) -> u8 {
        (u64::BITS - (self.grants.0 | self.accepted.0).leading_zeros()).saturating_sub(1) as u8
    }

    /// Of the grants that were accepted, those that anybody can still fall behind.
    fn relevant(&self) -> Ranks {
        match self.grants.least_above_zero() {
            Some(least) => Ranks(self.accepted.0 & !((2 << least) - 1)),
            None => Ranks(0),
        }
    }

    fn grants_in_use(&self) -> Ranks {
        Ranks(1 | self.grants.0 | self.relevant().0)
    }
}

impl Numbering for Numbers {
    fn token(&mut self, client: u8, slot: Slot, token: &mut u32) {
        self.tokens[client as usize][slot.0 as usize].note(*token);
    }

    fn fence(&mut self, resource: Resource, fence: &mut Fence) {
        // Zero stands before every token, and stays what it is. Readings of wall clocks are ranked in another way.
        if fence.0 != 0 && fence.0 < WALL.0 / 2 {
            let ranks = &mut self.fences[resource.0 as usize];
            ranks.note(0);
            ranks.note(fence.0);
        }
    }

    fn grant(&mut self, grant: &mut u8) {
        if *grant != 0 {
            self.grants.note((*grant).into());
        }
    }

    fn accepted(&mut self, grant: &mut u8) {
        if *grant != 0 {
            self.accepted.note((*grant).into());
        }
    }
}

/// Puts the rank in the place of every number.
pub(crate) struct Ranking {
    numbers: Numbers,
    grants: Ranks,
    relevant: Ranks,
}

impl Ranking {
    /// Among the numbers of a whole world.
    pub(crate) fn of(numbers: Numbers) -> Self {
        Self { numbers, grants: numbers.grants_in_use(), relevant: numbers.relevant() }
    }
}

impl Numbering for Ranking {
    fn token(&mut self, client: u8, slot: Slot, token: &mut u32) {
        *token = self.numbers.tokens[client as usize][slot.0 as usize].rank(*token);
    }

    fn fence(&mut self, resource: Resource, fence: &mut Fence) {
        if fence.0 < WALL.0 / 2 {
            fence.0 = self.numbers.fences[resource.0 as usize].rank(fence.0);
        }
    }

    fn grant(&mut self, grant: &mut u8) {
        *grant = self.grants.rank((*grant).into()) as u8;
    }

    fn accepted(&mut self, grant: &mut u8) {
        let stays = *grant != 0 && self.relevant.has((*grant).into());
        *grant = if stays { self.grants.rank((*grant).into()) as u8 } else { 0 };
    }
}

/// The readings of wall clocks that lie in the past.
struct Past {
    of: Resource,
    fences: SmallVec<[Fence; 16]>,
}

fn is_past(fence: Fence) -> bool {
    fence.0 != 0 && fence < WALL
}

impl Numbering for Past {
    fn fence(&mut self, resource: Resource, fence: &mut Fence) {
        if resource == self.of && is_past(*fence) {
            self.fences.push(*fence);
        }
    }
}

/// Puts them by rank right before the present.
struct PastRanking(Past);

impl Numbering for PastRanking {
    fn fence(&mut self, resource: Resource, fence: &mut Fence) {
        if resource == self.0.of && is_past(*fence) {
            let later = self.0.fences.iter().filter(|other| **other > *fence).count() as u32;
            *fence = Fence(WALL.0 - 1 - later);
        }
    }
}

/// Looks whether a fencing token occurs anywhere.
struct Lookout {
    of: Resource,
    next: u32,
    is_taken: bool,
}

impl Numbering for Lookout {
    fn fence(&mut self, resource: Resource, fence: &mut Fence) {
        self.is_taken |= resource == self.of && fence.0 == self.next;
    }
}

/// Moves a fencing token and all after it.
struct Room {
    of: Resource,
    next: u32,
}

impl Numbering for Room {
    fn fence(&mut self, resource: Resource, fence: &mut Fence) {
        if resource == self.of && fence.0 >= self.next {
            fence.0 += 1;
        }
    }
}

/// The latest grant.
struct Latest(u8);

impl Numbering for Latest {
    fn grant(&mut self, grant: &mut u8) {
        self.0 = self.0.max(*grant);
    }

    fn accepted(&mut self, grant: &mut u8) {
        self.0 = self.0.max(*grant);
    }
}

/// A set of small numbers, and the rank of each in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Ranks(u64);

impl Ranks {
    fn note(&mut self, number: u32) {
        assert!(number < 64, "a state holds fewer than 64 numbers of a kind");
        self.0 |= 1 << number;
    }

    fn has(self, number: u32) -> bool {
        self.0 >> number & 1 != 0
    }

    fn are_dense(&self) -> bool {
        self.0 & (self.0 + 1) == 0
    }

    fn least_above_zero(&self) -> Option<u32> {
        let above = self.0 & !1;
        (above != 0).then(|| above.trailing_zeros())
    }

    fn rank(&self, number: u32) -> u32 {
        (self.0 & ((1 << number) - 1)).count_ones()
    }
}
