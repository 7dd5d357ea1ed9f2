//! The state of the world.

use alloc::vec::Vec;

use protocol::{Command, Config, Fence, MAX_SLOTS, Reply, Resource, Slot, Time, Worker};
use smallvec::SmallVec;

use crate::event::{Event, Observer};
use crate::message::{Body, Direction, Lane, Links, Message, Sent};
use crate::pack::Layout;
use crate::server::{Acquisition, Memory, Node, Replica};
use crate::setup::{Budget, Fault, Network, Persistence, Promote, Setup};
use crate::store::Account;
use crate::watched::Watched;

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

impl Flags {
    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            lost_update: self.lost_update | other.lost_update,
            stale_write: self.stale_write | other.stale_write,
            wrong_release: self.wrong_release | other.wrong_release,
        }
    }

    pub(crate) fn bits(self) -> u8 {
        u8::from(self.lost_update) | u8::from(self.stale_write) << 1 | u8::from(self.wrong_release) << 2
    }
}

/// A state of the world. Time is relative: on every client's clock it is now zero.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct World {
    /// The clients.
    pub clients: SmallVec<[Watched<Client>; 2]>,
    /// Of each client the messages under way to it and from it.
    pub mail: SmallVec<[Watched<Mail>; 2]>,
    /// The lock servers.
    pub nodes: SmallVec<[Watched<Node>; 3]>,
    /// What each lock server has on disk. Empty where nothing depends on it.
    pub saved: Watched<Vec<Memory>>,
    /// In how many ticks the servers next write their memory to disk; zero where nothing depends on it.
    pub until_sync: Watched<u8>,
    /// The replicas of the one lock server. Empty where nothing depends on them.
    pub replicas: Watched<Vec<Replica>>,
    /// The accounts of the protected resource, one for each lock.
    pub accounts: Watched<SmallVec<[Account; 2]>>,
    /// The links that are cut.
    pub cut: Watched<Links>,
    /// For how many ticks more each of them can stay cut. Empty where nothing depends on it.
    pub cut_left: Watched<SmallVec<[u8; 4]>>,
    /// The faults that are left.
    pub faults: Watched<Budget>,
    /// What was wrong with the last step.
    pub flags: Flags,
    /// The name of the next message. Not part of a state.
    pub next_tag: u32,
    /// The number of the next grant, while a step is taken. Not part of a state, and zero in all of them.
    pub(crate) next_grant: u8,
    /// The account that the current step has overwritten. Not part of a state, and none in all of them.
    pub(crate) overwritten: Option<Resource>,
    /// How worlds of this setup are packed.
    pub(crate) layout: Layout,
}

/// The messages to and from one client, sorted by lane; in a lane, the oldest first.
pub type Mail = SmallVec<[Message; 6]>;

/// How many fencing tokens were minted before the world began: more than a search mints within one, so that a counter
/// that a restart sets back does not catch up.
const FIRST_TOKENS: Fence = Fence(32);

/// What the wall clock of the first client always reads, as a fencing token: the tokens grow older instead.
///
/// Tokens that lie before it are kept by rank, right below it, and are in no danger of being minted again.
pub(crate) const WALL: Fence = Fence(1000);

impl World {
    /// The world before its first step.
    pub fn new(setup: &Setup) -> Self {
        let layout = Layout::of(setup);
        let mut world = Self { faults: Watched::new(setup.faults), layout, ..Self::default() };
        for locks in &setup.clients {
            let config = Config { policy: &setup.policy, locks, wall: WALL };
            world.clients.push(Watched::new(Client { worker: Worker::new(&config), ..Client::default() }));
            world.mail.push(Watched::default());
        }
        let mut node = Node::default();
        if setup.policy.fencing.is_counted() {
            node.memory.counters[..setup.resources as usize].fill(FIRST_TOKENS);
        }
        world.nodes.resize(setup.policy.nodes as usize, Watched::new(node));
        world.save(setup);
        let replicas = world.replicas_left(setup);
        world.replicas.resize(replicas, Replica { memory: node.memory, is_newest: false });
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

    /// The messages under way, sorted by lane; in a lane, the oldest first.
    pub fn messages(&self) -> impl Iterator<Item = &Message> {
        self.mail.iter().flat_map(|mail| mail.iter())
    }

    /// The place of a message among those of its client.
    pub(crate) fn position(&self, lane: Lane, at: u8) -> usize {
        let first = self.mail[lane.client as usize].partition_point(|m| m.lane < lane);
        first + at as usize
    }

    /// Puts a message at its place in the canonical order.
    pub(crate) fn post(&mut self, setup: &Setup, message: Message) {
        let rank = message.rank_in_lane(setup);
        let mail = &mut self.mail[message.lane.client as usize];
        let end = mail
            .partition_point(|m| m.lane < message.lane || (m.lane == message.lane && rank >= m.rank_in_lane(setup)));
        mail.insert(end, message);
    }

    /// Brings a client's lanes without an order into the canonical one, after messages have changed.
    pub(crate) fn sort_lanes(&mut self, setup: &Setup, client: u8) {
        match setup.network {
            Network::Fifo if setup.faults.get(Fault::Duplicate) == 0 => {}
            Network::Fifo | Network::Unordered => {
                self.mail[client as usize].sort_by_key(|m| (m.lane, m.rank_in_lane(setup)));
            }
        }
    }

    pub(crate) fn tag(&mut self) -> u32 {
        self.next_tag += 1;
        self.next_tag
    }

    /// What the servers and their replicas remember, and what they have on disk.
    pub(crate) fn memories(&mut self) -> impl Iterator<Item = &mut Memory> {
        let replicas = self.replicas.iter_mut().map(|replica| &mut replica.memory);
        self.nodes.iter_mut().map(|node| &mut node.memory).chain(self.saved.iter_mut()).chain(replicas)
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

    /// Whether a server may still come back with what it has on disk.
    pub(crate) fn needs_disk(&self, setup: &Setup) -> bool {
        setup.persistence == Persistence::EverySecond && self.faults.get(Fault::Restart) > 0
    }

    /// Lets every server write its memory to disk, if anything depends on it.
    pub(crate) fn save(&mut self, setup: &Setup) {
        self.saved.clear();
        *self.until_sync = 0;
        if self.needs_disk(setup) {
            self.saved.extend(self.nodes.iter().map(|node| node.memory));
            *self.until_sync = setup.fsync_every.0 as u8;
        }
    }

    /// Moves the clock of one server forward. What it has on disk says when it expires, so it does so as well.
    pub(crate) fn advance(&mut self, setup: &Setup, node: u8, ticks: u8, observer: &mut impl Observer) {
        let stays = setup.policy.keeps_expiry_in_value();
        let expired = |resource, by| observer.event(Event::Expired { node, resource, by });
        self.nodes[node as usize].memory.pass_time(ticks, stays, expired);
        if let Some(saved) = self.saved.get_mut(node as usize) {
            saved.pass_time(ticks, stays, |_, _| {});
        }
    }

    /// Moves it back.
    pub(crate) fn turn_back(&mut self, node: u8, ticks: u8) {
        self.nodes[node as usize].memory.turn_back(ticks);
        if let Some(saved) = self.saved.get_mut(node as usize) {
            saved.turn_back(ticks);
        }
    }

    /// Brings the disks one tick closer to the moment at which the servers write to them.
    pub(crate) fn sync(&mut self, setup: &Setup) {
        if self.saved.is_empty() {
            return;
        }
        *self.until_sync -= 1;
        if *self.until_sync == 0 {
            self.save(setup);
        }
    }
}

impl Message {
    /// The lock whose fencing token the message can carry.
    pub(crate) fn fence_is_of(&self, setup: &Setup) -> Resource {
        match self.body {
            Body::Request { command, .. } => command.resource(),
            Body::Reply(_) => setup.clients[self.lane.client as usize].as_slice()[self.slot.0 as usize],
        }
    }

    pub(crate) fn fence_mut(&mut self) -> Option<&mut Fence> {
        match &mut self.body {
            Body::Request {
                command: Command::Read { fence, .. } | Command::Check { fence, .. } | Command::Write { fence, .. },
                ..
            } => fence.as_mut(),
            Body::Reply(Reply::Minted(fence) | Reply::Taken { fence: Some(fence), .. }) => Some(fence),
            Body::Request { command: Command::Lock { .. }, .. } | Body::Reply(_) => None,
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
