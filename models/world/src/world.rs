//! The state of the world.

use alloc::vec::Vec;

use protocol::{Command, Config, Fence, Fencing, MAX_SLOTS, Reply, Resource, Slot, Ticks, Time, Token, Worker};
use smallvec::SmallVec;

use crate::action::Process;
use crate::message::{Body, Direction, Lane, Links, Message, Sent};
use crate::pack::Layout;
use crate::server::{Acquisition, Memory, Node, Replica};
use crate::setup::{Budget, Fault, MAX_CLIENTS, Network, Persistence, Promote, Setup};
use crate::store::Account;
use crate::touched::Touched;

/// Whether a client runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Running {
    /// It does.
    #[default]
    Yes,
    /// It is stopped and can be resumed.
    Paused,
    /// It has ended.
    Crashed,
}

/// A client, and what it was granted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Client {
    /// Its core.
    pub worker: Worker,
    /// Whether it runs.
    pub running: Running,
    /// For how many ticks more it can stay paused; zero where nothing depends on it.
    pub pause_left: u8,
    /// The number of the grant of each slot's acquisition; zero: none. No client sees this.
    pub grants: [u8; MAX_SLOTS],
}

/// What was wrong with the last step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags {
    /// A write was accepted that overwrote an update its writer had not seen.
    pub lost_update: bool,
    /// A write of an earlier grant was accepted after one of a later grant.
    pub stale_write: bool,
    /// A release or renewal took effect on an entry of another acquisition.
    pub wrong_release: bool,
}

/// A state of the world. Time is relative: on every client's clock it is now zero.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct World {
    /// The clients.
    pub clients: SmallVec<[Client; 2]>,
    /// The lock servers.
    pub nodes: SmallVec<[Node; 3]>,
    /// What each lock server has on disk. Empty where nothing depends on it.
    pub saved: Vec<Memory>,
    /// In how many ticks the servers next write their memory to disk; zero where nothing depends on it.
    pub until_sync: u8,
    /// The replicas of the one lock server. Empty where nothing depends on them.
    pub replicas: Vec<Replica>,
    /// The accounts of the protected resource, one for each lock.
    pub accounts: SmallVec<[Account; 2]>,
    /// The messages under way, sorted by lane; in a lane, the oldest first.
    pub messages: SmallVec<[Message; 8]>,
    /// The links that are cut.
    pub cut: Links,
    /// For how many ticks more each of them can stay cut. Empty where nothing depends on it.
    pub cut_left: SmallVec<[u8; 4]>,
    /// The faults that are left.
    pub faults: Budget,
    /// What was wrong with the last step.
    pub flags: Flags,
    /// The name of the next message. Not part of a state.
    pub next_tag: u32,
    /// What has changed since the world was the same as another one. Not part of a state.
    pub(crate) touched: Touched,
    /// How worlds of this setup are packed.
    pub(crate) layout: Layout,
}

/// How many fencing tokens were minted before the world began: more than a search mints within one, so that a counter
/// that a restart sets back does not catch up.
const FIRST_TOKENS: Fence = Fence(32);

/// What the wall clock of the first client always reads, as a fencing token: the tokens grow older instead.
///
/// Tokens that lie before it are kept by rank, right below it, and are in no danger of being minted again.
pub(crate) const WALL: Fence = Fence(1000);

impl Clone for World {
    fn clone(&self) -> Self {
        Self {
            clients: SmallVec::from_slice(&self.clients),
            nodes: SmallVec::from_slice(&self.nodes),
            saved: self.saved.clone(),
            replicas: self.replicas.clone(),
            accounts: SmallVec::from_slice(&self.accounts),
            messages: SmallVec::from_slice(&self.messages),
            cut_left: SmallVec::from_slice(&self.cut_left),
            touched: Touched::default(),
            ..*self
        }
    }
}

impl World {
    /// The world before its first step.
    pub fn new(setup: &Setup) -> Self {
        let mut world = Self { faults: setup.faults, layout: Layout::of(setup), ..Self::default() };
        for locks in &setup.clients {
            let config = Config { policy: &setup.policy, locks, wall: WALL };
            world.clients.push(Client { worker: Worker::new(&config), ..Client::default() });
        }
        let mut node = Node::default();
        if setup.policy.fencing.is_counted() {
            node.memory.counters[..setup.resources as usize].fill(FIRST_TOKENS);
        }
        world.nodes.resize(setup.policy.nodes as usize, node);
        world.save(setup);
        world.replicas.resize(world.replicas_left(setup), Replica { memory: node.memory, is_newest: false });
        world.accounts.resize(setup.resources as usize, Account::default());
        world
    }

    /// The configuration of a client.
    pub fn config(setup: &Setup, client: u8) -> Config<'_> {
        let wall = Fence(WALL.0 + setup.offset_of(client));
        Config { policy: &setup.policy, locks: &setup.clients[client as usize], wall }
    }

    /// Whether a client believes that it holds the lock of a slot.
    pub fn believes(&self, setup: &Setup, client: u8, slot: Slot) -> bool {
        let state = &self.clients[client as usize];
        state.running != Running::Crashed && state.worker.locks().believes(&Self::config(setup, client), slot, Time(0))
    }

    /// The slots of a client, and the lock of each.
    pub fn slots(setup: &Setup, client: u8) -> impl Iterator<Item = (Slot, Resource)> {
        let names = setup.clients[client as usize].as_slice();
        (0..).zip(names).map(|(slot, name)| (Slot(slot), *name))
    }

    /// The acquisition that a client's slot is at.
    pub fn current(&self, client: u8, slot: Slot) -> Option<Acquisition> {
        let token = self.clients[client as usize].worker.locks().current(slot)?;
        Some(Acquisition { client, slot, token, bereft: false })
    }

    pub(crate) fn position(&self, lane: Lane, at: u8) -> usize {
        let first = self.messages.partition_point(|m| m.lane < lane);
        first + at as usize
    }

    /// Puts a message at its place in the canonical order.
    pub(crate) fn post(&mut self, setup: &Setup, message: Message) {
        let rank = message.rank_in_lane(setup);
        let end = self
            .messages
            .partition_point(|m| m.lane < message.lane || (m.lane == message.lane && rank >= m.rank_in_lane(setup)));
        self.messages.insert(end, message);
    }

    /// Brings lanes without an order into the canonical one, after messages have changed.
    pub(crate) fn sort_lanes(&mut self, setup: &Setup) {
        match setup.network {
            Network::Fifo if setup.faults.get(Fault::Duplicate) == 0 => {}
            Network::Fifo | Network::Unordered => self.messages.sort_by_key(|m| (m.lane, m.rank_in_lane(setup))),
        }
    }

    pub(crate) fn tag(&mut self) -> u32 {
        self.next_tag += 1;
        self.next_tag
    }

    /// Renumbers acquisitions, fencing tokens and grants by rank, so that worlds that can do the same are the same.
    ///
    /// Nothing depends on more than the order of these numbers, so a world that is told of (see the narrator of the
    /// checker) can keep the numbers as they were given out.
    pub fn canonicalise(&mut self, setup: &Setup) {
        self.rank_tokens(setup);
        if setup.policy.fencing != Fencing::Nothing {
            self.rank_fences(setup);
        }
        self.rank_grants();
        self.rank_replicas();
    }

    fn rank_tokens(&mut self, setup: &Setup) {
        let mut used = [[Ranks::default(); MAX_SLOTS]; MAX_CLIENTS];
        self.each_token(|client, slot, token| used[client as usize][slot.0 as usize].note(*token));
        for (client, used) in (0..self.clients.len() as u8).zip(&mut used) {
            for (slot, _) in Self::slots(setup, client) {
                used[slot.0 as usize].note(self.clients[client as usize].worker.locks().token(slot).0);
            }
        }
        if used.iter().flatten().all(Ranks::are_dense) {
            return;
        }
        self.touched = Touched::ALL;
        self.each_token(|client, slot, token| *token = used[client as usize][slot.0 as usize].rank(*token));
        for (client, used) in (0..self.clients.len() as u8).zip(&used) {
            for (slot, _) in Self::slots(setup, client) {
                let locks = self.clients[client as usize].worker.locks_mut();
                let token = locks.token(slot);
                locks.set_token(slot, Token(used[slot.0 as usize].rank(token.0)));
            }
        }
    }

    /// Visits the number of every acquisition that is named by an entry or a message.
    fn each_token(&mut self, mut visit: impl FnMut(u8, Slot, &mut u32)) {
        let resources = self.accounts.len();
        for entry in self.memories().flat_map(|m| &mut m.entries[..resources]).flatten() {
            visit(entry.by.client, entry.by.slot, &mut entry.by.token.0);
        }
        for message in &mut self.messages {
            if let Body::Request { command: Command::Lock { token, .. }, .. } = &mut message.body {
                visit(message.lane.client, message.slot, &mut token.0);
            }
        }
    }

    /// What the servers and their replicas remember, and what they have on disk.
    pub(crate) fn memories(&mut self) -> impl Iterator<Item = &mut Memory> {
        let replicas = self.replicas.iter_mut().map(|replica| &mut replica.memory);
        self.nodes.iter_mut().map(|node| &mut node.memory).chain(&mut self.saved).chain(replicas)
    }

    /// How many replicas are left on which anything depends.
    pub(crate) fn replicas_left(&self, setup: &Setup) -> usize {
        let left = self.faults.get(Fault::Failover);
        if left == 0 && setup.policy.acknowledged == 0 {
            return 0;
        }
        setup.replicas.saturating_sub(setup.faults.get(Fault::Failover) - left).into()
    }

    /// Whether it makes a difference which replica heard of the master last.
    pub(crate) fn ranks_replicas(setup: &Setup) -> bool {
        setup.promote == Promote::MostUpToDate && setup.replicas > 1
    }

    /// Of replicas that remember the same, none is newer.
    fn rank_replicas(&mut self) {
        let Some((first, others)) = self.replicas.split_first() else { return };
        if others.iter().all(|other| other.memory == first.memory) {
            self.replicas.iter_mut().for_each(|replica| replica.is_newest = false);
        }
    }

    /// Whether a server may still come back with what it has on disk.
    pub(crate) fn needs_disk(&self, setup: &Setup) -> bool {
        setup.persistence == Persistence::EverySecond && self.faults.get(Fault::Restart) > 0
    }

    /// Lets every server write its memory to disk, if anything depends on it.
    pub(crate) fn save(&mut self, setup: &Setup) {
        self.saved.clear();
        self.until_sync = 0;
        if self.needs_disk(setup) {
            self.saved.extend(self.nodes.iter().map(|node| node.memory));
            self.until_sync = setup.fsync_every.0 as u8;
        }
    }

    /// Ranks the fencing tokens of each lock.
    fn rank_fences(&mut self, setup: &Setup) {
        for resource in (0..setup.resources).map(Resource) {
            if setup.policy.fencing == Fencing::ClientClock {
                self.rank_readings(setup, resource);
                continue;
            }
            // Zero stands before every token, and stays what it is.
            let mut used = Ranks::default();
            used.note(0);
            self.each_fence(setup, resource, |fence| used.note(fence.0));
            if !used.are_dense() {
                self.touched = Touched::ALL;
                self.each_fence(setup, resource, |fence| fence.0 = used.rank(fence.0));
            }
        }
    }

    /// Ranks the readings of wall clocks that lie so far back that no clock can read them again.
    fn rank_readings(&mut self, setup: &Setup, resource: Resource) {
        self.touched = Touched::ALL;
        let is_past = |fence: &Fence| fence.0 != 0 && *fence < WALL;
        let mut past = SmallVec::<[Fence; 16]>::new();
        self.each_fence(setup, resource, |fence| past.extend(Some(*fence).filter(is_past)));
        past.sort_unstable();
        past.dedup();
        let rank = |fence: Fence| past.iter().filter(|other| **other > fence).count() as u32;
        self.each_fence(setup, resource, |fence| {
            if is_past(fence) {
                *fence = Fence(WALL.0 - 1 - rank(*fence));
            }
        });
    }

    /// Makes room for a token right after the counter of a node.
    ///
    /// A counter that a restart has set back mints tokens that lie before all that were minted earlier. In a world that
    /// keeps tokens by rank nothing would lie between.
    pub(crate) fn make_room(&mut self, setup: &Setup, resource: Resource, node: u8) {
        let next = self.nodes[node as usize].memory.counters[resource.0 as usize].0 + 1;
        let mut taken = false;
        self.each_fence(setup, resource, |fence| taken |= fence.0 == next);
        if taken {
            self.touched = Touched::ALL;
            self.each_fence(setup, resource, |fence| fence.0 += u32::from(fence.0 >= next));
        }
    }

    fn each_fence(&mut self, setup: &Setup, resource: Resource, mut visit: impl FnMut(&mut Fence)) {
        for memory in self.memories() {
            visit(&mut memory.counters[resource.0 as usize]);
        }
        visit(&mut self.accounts[resource.0 as usize].fence);
        for (client, locks) in self.clients.iter_mut().zip(&setup.clients) {
            for (slot, name) in (0..).zip(locks.as_slice()) {
                if let Some(fence) = client.worker.locks_mut().fence_mut(Slot(slot)).filter(|_| *name == resource) {
                    visit(fence);
                }
            }
        }
        for message in &mut self.messages {
            if message.fence_is_of(setup) == resource
                && let Some(fence) = message.fence_mut()
            {
                visit(fence);
            }
        }
    }

    fn rank_grants(&mut self) {
        let mut used = Ranks::default();
        // Zero is no grant, and stays what it is.
        used.note(0);
        self.grants_in_use().for_each(|grant| used.note(grant.into()));
        let least = used.least_above_zero();
        for account in &mut self.accounts {
            if account.grant != 0 && least.is_none_or(|least| least >= account.grant.into()) {
                account.grant = 0;
            }
            used.note(account.grant.into());
        }
        if used.are_dense() {
            return;
        }
        self.touched.clients();
        let rerank = |grant: &mut u8| *grant = used.rank((*grant).into()) as u8;
        self.accounts.iter_mut().for_each(|account| rerank(&mut account.grant));
        self.clients.iter_mut().flat_map(|client| &mut client.grants).for_each(rerank);
        self.messages.iter_mut().filter_map(Message::grant_mut).for_each(rerank);
    }

    /// The numbers of the grants under which something may still be written.
    fn grants_in_use(&self) -> impl Iterator<Item = u8> {
        let held = self.clients.iter().flat_map(|client| client.grants);
        let written = self.messages.iter().filter_map(|m| match m.body {
            Body::Request { grant, .. } => Some(grant),
            Body::Reply(_) => None,
        });
        held.chain(written).filter(|grant| *grant != 0)
    }

    /// The number of the next grant.
    pub(crate) fn next_grant(&self) -> u8 {
        let accepted = self.accounts.iter().map(|a| a.grant);
        self.grants_in_use().chain(accepted).max().unwrap_or(0) + 1
    }

    /// Moves every clock by one tick, but that of a process that lags.
    pub(crate) fn pass_time(
        &mut self,
        setup: &Setup,
        lags: Option<Process>,
        mut expired: impl FnMut(u8, Resource, Acquisition),
    ) {
        self.touched = Touched::ALL;
        for (index, client) in (0..).zip(&mut self.clients) {
            if lags != Some(Process::Client(index)) {
                client.worker.rebase(Ticks(1));
            }
        }
        for index in 0..self.nodes.len() as u8 {
            self.nodes[index as usize].down = self.nodes[index as usize].down.saturating_sub(1);
            if lags != Some(Process::Node(index)) {
                self.advance(setup, index, 1, |resource, by| expired(index, resource, by));
            }
        }
        for replica in &mut self.replicas {
            replica.memory.pass_time(1, setup.policy.keeps_expiry_in_value(), |_, _| {});
        }
        for message in &mut self.messages {
            message.age = (message.age + 1).min(setup.oldest(message) as u8);
            if let Body::Reply(Reply::Entry { left: Some(left), .. }) = &mut message.body {
                left.0 = left.0.saturating_sub(1);
            }
        }
        if setup.policy.fencing == Fencing::ClientClock {
            for resource in (0..setup.resources).map(Resource) {
                self.each_fence(setup, resource, |fence| fence.0 = fence.0.saturating_sub(1));
            }
        }
        self.shorten_faults();
        self.sort_lanes(setup);
        self.sync(setup);
    }

    /// Moves the clock of one server forward. What it has on disk says when it expires, so it does so as well.
    pub(crate) fn advance(&mut self, setup: &Setup, node: u8, ticks: u8, expired: impl FnMut(Resource, Acquisition)) {
        let stays = setup.policy.keeps_expiry_in_value();
        self.touched.nodes();
        self.nodes[node as usize].memory.pass_time(ticks, stays, expired);
        if let Some(saved) = self.saved.get_mut(node as usize) {
            saved.pass_time(ticks, stays, |_, _| {});
        }
    }

    /// Moves it back.
    pub(crate) fn turn_back(&mut self, node: u8, ticks: u8) {
        self.touched.nodes();
        self.nodes[node as usize].memory.turn_back(ticks);
        if let Some(saved) = self.saved.get_mut(node as usize) {
            saved.turn_back(ticks);
        }
    }

    /// Brings the disks one tick closer to the moment at which the servers write to them.
    fn sync(&mut self, setup: &Setup) {
        if self.saved.is_empty() {
            return;
        }
        self.until_sync -= 1;
        if self.until_sync == 0 {
            self.save(setup);
        }
    }
}

impl Message {
    /// The lock whose fencing token the message can carry.
    fn fence_is_of(&self, setup: &Setup) -> Resource {
        match self.body {
            Body::Request { command, .. } => command.resource(),
            Body::Reply(_) => setup.clients[self.lane.client as usize].as_slice()[self.slot.0 as usize],
        }
    }

    fn fence_mut(&mut self) -> Option<&mut Fence> {
        match &mut self.body {
            Body::Request {
                command: Command::Read { fence, .. } | Command::Check { fence, .. } | Command::Write { fence, .. },
                ..
            } => fence.as_mut(),
            Body::Reply(Reply::Minted(fence) | Reply::Taken { fence: Some(fence), .. }) => Some(fence),
            Body::Request { command: Command::Lock { .. }, .. } | Body::Reply(_) => None,
        }
    }

    fn grant_mut(&mut self) -> Option<&mut u8> {
        match &mut self.body {
            Body::Request { grant, .. } => Some(grant),
            Body::Reply(_) => None,
        }
    }

    fn sort_key(&self) -> SortKey {
        (self.lane, self.slot, self.body, self.age, [self.delayed, self.awaited, self.bereft], self.sent)
    }

    /// Where a message stands in its lane. None: in the order in which it was sent, before all that have no order.
    fn rank_in_lane(&self, setup: &Setup) -> Option<SortKey> {
        (setup.network == Network::Unordered || self.is_copy()).then(|| self.sort_key())
    }

    /// Whether two messages differ in nothing but their name.
    pub(crate) fn same_as(&self, other: &Self) -> bool {
        self.sort_key() == other.sort_key()
    }

    pub(crate) fn is_request(&self) -> bool {
        self.lane.direction == Direction::Request
    }
}

/// All that tells two messages apart, but their names.
type SortKey = (Lane, Slot, Body, u8, [bool; 3], Sent);

/// A set of small numbers, and the rank of each in it.
#[derive(Clone, Copy, Default)]
struct Ranks(u64);

impl Ranks {
    fn note(&mut self, number: u32) {
        assert!(number < 64, "a state holds fewer than 64 numbers of a kind");
        self.0 |= 1 << number;
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
