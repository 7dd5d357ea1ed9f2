//! What can happen next, in the documented order.

use alloc::vec::Vec;

use protocol::{Command, Fence, Resource, Ticks, Time, Verb};

use crate::message::{Body, Direction, Lane, Link, Message, Sent, Site};
use crate::section::{Section, Sections};
use crate::server::{Memory, Replica};
use crate::setup::{Fault, Grain, Network, Persistence, Setup};
use crate::world::{Running, World};

/// Whose clock a clock is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Process {
    /// A client's.
    Client(u8),
    /// A lock server's.
    Node(u8),
}

/// A step.
///
/// The order of the variants, and of the fields in them, is the documented order of actions: of all shortest
/// counterexamples the one that is least in this order is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Action {
    /// A client's user asks for the lock.
    Start(u8),
    /// A client does what is due by its own clock.
    Wake(u8),
    /// A message arrives: the one at this position of its lane.
    Deliver(Lane, u8),
    /// One tick passes, for everybody.
    Tick,
    /// A paused client goes on.
    Resume(u8),
    /// A crashed client starts again, without memory.
    Rejoin(u8),
    /// A link that was cut carries messages again.
    Heal(Link),
    /// A replica catches up with its master.
    Replicate(u8),
    /// A client stops until it is resumed.
    Pause(u8),
    /// A message may stay under way beyond its bound.
    Delay(Lane, u8),
    /// A message is lost.
    Drop(Lane, u8),
    /// A request is sent again.
    Duplicate(Lane, u8),
    /// A client ends.
    Crash(u8),
    /// A lock server stops and comes back.
    Restart(u8),
    /// The wall clock of a lock server moves forward.
    JumpForward(u8),
    /// The wall clock of a lock server moves back.
    JumpBack(u8),
    /// A clock gains a tick on all others.
    Gain(Process),
    /// One tick passes, for everybody but one clock.
    Lag(Process),
    /// A link carries no messages until it is healed.
    Cut(Link),
    /// The master is lost, and a replica takes its place.
    Failover(u8),
    /// A lock server drops the entry of a lock.
    Evict(u8, Resource),
    /// A lock server drops the counter of a lock's fencing tokens.
    EvictCounter(u8, Resource),
    /// A client's caller gives up what it waits for.
    Cancel(u8),
    /// The same, before what the client had to say has left it.
    CancelUnsent(u8),
}

impl Action {
    /// The fault that this action spends, if any. Resuming and starting again are none.
    pub fn fault(self) -> Option<Fault> {
        match self {
            Self::Start(_) | Self::Wake(_) | Self::Deliver(..) | Self::Tick | Self::Resume(_) | Self::Rejoin(_) => None,
            Self::Heal(_) | Self::Replicate(_) => None,
            Self::Pause(_) => Some(Fault::Pause),
            Self::Delay(..) => Some(Fault::Delay),
            Self::Drop(Lane { direction: Direction::Request, .. }, _) => Some(Fault::DropRequest),
            Self::Drop(Lane { direction: Direction::Reply, .. }, _) => Some(Fault::DropReply),
            Self::Duplicate(..) => Some(Fault::Duplicate),
            Self::Crash(_) => Some(Fault::Crash),
            Self::Restart(_) => Some(Fault::Restart),
            Self::JumpForward(_) | Self::JumpBack(_) => Some(Fault::Jump),
            Self::Gain(_) | Self::Lag(_) => Some(Fault::Drift),
            Self::Cut(_) => Some(Fault::Partition),
            Self::Failover(_) => Some(Fault::Failover),
            Self::Evict(..) | Self::EvictCounter(..) => Some(Fault::Evict),
            Self::Cancel(_) | Self::CancelUnsent(_) => Some(Fault::Cancel),
        }
    }
}

impl World {
    /// Lists what can happen next, in ascending order.
    pub fn actions(&self, setup: &Setup, out: &mut Vec<Action>) {
        let sections = Self::active_sections(setup);
        for section in sections.iter() {
            let has_traffic = self.has_traffic(section);
            self.actions_at(setup, section, has_traffic, out);
        }
        let can_tick = sections.iter().all(|section| !self.is_due(setup, section));
        if can_tick {
            out.push(Action::Tick);
        } else {
            out.retain(|action| !matches!(action, Action::Lag(_)));
        }
        out.sort_unstable();
    }

    /// Lists what can happen in a section, in ascending order; ticks without any regard to the others.
    pub(crate) fn actions_at(&self, setup: &Setup, section: Section, has_traffic: bool, out: &mut Vec<Action>) {
        let first = out.len();
        match section {
            Section::Rest => self.actions_of_rest(out),
            Section::Client(client) => self.actions_of_client(setup, client, out),
            Section::Node(node) => self.actions_of_node(setup, node, has_traffic, out),
        }
        out[first..].sort_unstable();
    }

    /// The sections in which anything can ever happen, or be due.
    pub(crate) fn active_sections(setup: &Setup) -> Sections {
        let may = |faults: &[Fault]| faults.iter().any(|fault| setup.faults.get(*fault) > 0);
        let is_active = |section: &Section| match section {
            Section::Rest => setup.replicas > 0 || may(&[Fault::Partition]),
            Section::Client(_) => true,
            Section::Node(_) => may(&[Fault::Restart, Fault::Jump, Fault::Drift, Fault::Evict]),
        };
        Section::all(setup).filter(is_active).collect()
    }

    /// Whether something is under way to or from a lock server.
    fn has_traffic(&self, section: Section) -> bool {
        let Section::Node(node) = section else { return false };
        (0..self.mail.len() as u8).any(|client| self.busy_nodes(client) & 1 << node != 0)
    }

    /// The lock servers, as bits, to or from which something of a client is under way.
    pub(crate) fn busy_nodes(&self, client: u8) -> u8 {
        let bit = |m: &Message| match m.lane.site {
            Site::Node(node) => 1 << node,
            Site::Store => 0,
        };
        self.mail[client as usize].iter().fold(0, |bits, message| bits | bit(message))
    }

    fn actions_of_client(&self, setup: &Setup, index: u8, out: &mut Vec<Action>) {
        let client = &*self.clients[index as usize];
        let wake = client.worker.wake(&Self::config(setup, index));
        let runs = client.running == Running::Yes;
        if runs && client.worker.can_start() {
            out.push(Action::Start(index));
        }
        if runs && wake.is_some_and(|w| w.from == Time(0)) {
            out.push(Action::Wake(index));
        }
        match client.running {
            Running::Yes => {}
            Running::Paused => out.push(Action::Resume(index)),
            Running::Crashed if setup.rejoin => out.push(Action::Rejoin(index)),
            Running::Crashed => {}
        }
        self.each_movable(setup, index, |message, lane, at| self.actions_of_message(setup, message, lane, at, out));
        self.faults_of_client(setup, index, out);
    }

    /// What can happen to a message that can move.
    fn actions_of_message(&self, setup: &Setup, message: &Message, lane: Lane, at: u8, out: &mut Vec<Action>) {
        if u32::from(message.age) >= setup.latency_least.0 && self.can_receive(setup, message) {
            out.push(Action::Deliver(lane, at));
        }
        let may = |fault| self.faults.get(fault) > 0;
        let is_overdue = || self.is_overdue(setup, message);
        // Before its bound a message is free to stay under way as it is.
        if may(Fault::Delay) && is_overdue() {
            out.push(Action::Delay(lane, at));
        }
        // A copy that is lost leaves what there was before it was sent, with fewer faults to come. On a cut link a message
        // can be lost or sent again as anywhere; to be delayed it has no need.
        if may(loss_of(message)) && !message.is_copy() {
            out.push(Action::Drop(lane, at));
        }
        if may(Fault::Duplicate) && message.is_request() && message.awaited && message.sent == Sent::Once {
            out.push(Action::Duplicate(lane, at));
        }
        // A cut means that a message at its bound does not arrive. Before that a message is free to stay under way as it
        // is, so a link that is cut earlier can as well be cut when the first message on it has come to its bound, and one
        // that is healed before need not have been cut at all.
        let cut = Action::Cut(lane.link());
        if may(Fault::Partition) && is_overdue() && !out.contains(&cut) {
            out.push(cut);
        }
    }

    fn faults_of_client(&self, setup: &Setup, index: u8, out: &mut Vec<Action>) {
        let may = |fault| self.faults.get(fault) > 0;
        let client = &*self.clients[index as usize];
        // A pause means that something due is not done. A client with nothing due is free to do nothing as it is.
        let is_held_up = || self.must_wake(setup, index) || self.has_overdue(setup, index, Direction::Reply);
        if may(Fault::Pause) && client.running == Running::Yes && is_held_up() {
            out.push(Action::Pause(index));
        }
        let is_over = client.worker.is_finished() && client.worker.locks().is_idle();
        if may(Fault::Crash) && client.running != Running::Crashed && !is_over {
            out.push(Action::Crash(index));
        }
        let waits = || client.worker.wake(&Self::config(setup, index)).is_some();
        if may(Fault::Drift) && client.running != Running::Crashed && waits() {
            // What is due has to be done before the clock moves on, as before a tick.
            if !self.must_wake(setup, index) {
                out.push(Action::Gain(Process::Client(index)));
            }
            out.push(Action::Lag(Process::Client(index)));
        }
        // A caller can give up at every point where the client waits for something, unless that changes nothing.
        let cancels = || client.worker.can_be_cancelled(&Self::config(setup, index));
        if may(Fault::Cancel) && client.running == Running::Yes && cancels() {
            out.push(Action::Cancel(index));
            if self.mail[index as usize].iter().any(|m| m.is_withdrawn_by(setup, index)) {
                out.push(Action::CancelUnsent(index));
            }
        }
    }

    fn actions_of_node(&self, setup: &Setup, index: u8, has_traffic: bool, out: &mut Vec<Action>) {
        let may = |fault| self.faults.get(fault) > 0;
        let node = &*self.nodes[index as usize];
        if may(Fault::Restart) {
            let keeps = match setup.persistence {
                Persistence::EverySecond => self.saved.get(index as usize) == Some(&node.memory),
                Persistence::Nothing | Persistence::Always => node.is_blank(),
            };
            let idle = setup.restart_delay == Ticks(0) && keeps && !has_traffic;
            if node.down == 0 && !idle {
                out.push(Action::Restart(index));
            }
        }
        if may(Fault::Jump) && self.is_timed(index) {
            out.extend([Action::JumpForward(index), Action::JumpBack(index)]);
        }
        if may(Fault::Drift) && self.is_timed(index) {
            out.extend([Action::Gain(Process::Node(index)), Action::Lag(Process::Node(index))]);
        }
        if may(Fault::Evict) && node.down == 0 {
            let keys = || (0..setup.resources).map(Resource);
            let stands = |key: &Resource| node.memory.entries[key.0 as usize].is_some();
            out.extend(keys().filter(stands).map(|key| Action::Evict(index, key)));
            let counts = |key: &Resource| node.memory.counters[key.0 as usize] != Fence(0);
            let counted = keys().filter(|key| setup.policy.fencing.is_counted() && counts(key));
            out.extend(counted.map(|key| Action::EvictCounter(index, key)));
        }
    }

    /// Whether the clock of a lock server makes a difference: an entry there, or on disk, comes to an end.
    fn is_timed(&self, node: u8) -> bool {
        let on_disk = || self.saved.get(node as usize).is_some_and(|memory| memory.is_timed());
        self.nodes[node as usize].memory.is_timed() || on_disk()
    }

    fn actions_of_rest(&self, out: &mut Vec<Action>) {
        out.extend(self.cut.iter().map(Action::Heal));
        if self.replicas.is_empty() {
            return;
        }
        // A replica may catch up at any moment: it is told of what the master did, but nobody waits for it to hear.
        if let Some(master) = self.nodes.first().filter(|node| node.down == 0) {
            let behind = self.distinct_replicas().filter(|(_, replica)| replica.memory != master.memory);
            out.extend(behind.map(|(index, _)| Action::Replicate(index)));
        }
        if self.faults.get(Fault::Failover) > 0 {
            let fit = self.distinct_replicas().filter(|(_, replica)| !self.is_outdone(replica));
            out.extend(fit.map(|(index, _)| Action::Failover(index)));
        }
    }

    /// The replicas; of those that remember the same, the first.
    fn distinct_replicas(&self) -> impl Iterator<Item = (u8, &Replica)> {
        let is_first = |(index, replica): &(u8, &Replica)| {
            self.replicas[..*index as usize].iter().all(|other| other.memory != replica.memory)
        };
        (0..).zip(self.replicas.iter()).filter(is_first)
    }

    /// Whether a replica is passed over, because another one has heard more of the master.
    fn is_outdone(&self, replica: &Replica) -> bool {
        self.replicas.iter().any(|other| other.is_newest && other.memory != replica.memory)
    }

    /// Whether the message's link carries messages, and the far end takes them in.
    fn can_receive(&self, setup: &Setup, message: &Message) -> bool {
        if self.cut.contains(message.lane.link()) {
            return false;
        }
        match message.lane.direction {
            Direction::Request => self.is_answerable(setup, message),
            Direction::Reply => self.clients[message.lane.client as usize].running == Running::Yes,
        }
    }

    /// Whether the server would answer a request: a `WAIT` only when enough replicas have the entry that it has. When
    /// nobody waits for the answer any more, the time of the `WAIT` itself is over as well.
    fn is_answerable(&self, setup: &Setup, message: &Message) -> bool {
        let Body::Request { command: Command::Lock { resource, verb: Verb::Wait, .. }, .. } = message.body else {
            return true;
        };
        let entry = |memory: &Memory| memory.entries[resource.0 as usize];
        let has_it =
            |replica: &&Replica| self.nodes.first().is_some_and(|n| entry(&n.memory) == entry(&replica.memory));
        let count = self.replicas.iter().filter(has_it).count();
        !message.awaited || count >= setup.policy.acknowledged.into()
    }

    /// Whether something has to happen in a section before time can pass: that is what it means that the timing holds.
    pub(crate) fn is_due(&self, setup: &Setup, section: Section) -> bool {
        let is_due = match section {
            Section::Client(client) => {
                let overdue = |direction| self.has_overdue(setup, client, direction);
                self.must_wake(setup, client) || overdue(Direction::Request) || overdue(Direction::Reply)
            }
            Section::Rest | Section::Node(_) => false,
        };
        is_due || self.must_end_fault(setup, section)
    }

    /// Whether a client has something to do that cannot wait.
    fn must_wake(&self, setup: &Setup, client: u8) -> bool {
        let state = &self.clients[client as usize];
        state.running == Running::Yes
            && state.worker.wake(&Self::config(setup, client)).is_some_and(|w| w.by == Time(0))
    }

    /// Whether a message from a client, or to it, has to arrive before time can pass.
    fn has_overdue(&self, setup: &Setup, client: u8, direction: Direction) -> bool {
        let mut found = false;
        self.each_movable(setup, client, |message, lane, _| {
            found |= lane.direction == direction && self.is_overdue(setup, message);
        });
        found
    }

    fn is_overdue(&self, setup: &Setup, message: &Message) -> bool {
        let at_bound = setup.bound_of(message).is_some_and(|bound| u32::from(message.age) >= bound);
        at_bound && self.can_receive(setup, message)
    }

    /// Calls `each` for every message of a client that can move by itself: on a first-in-first-out lane the head and the
    /// copies, elsewhere every message; of messages that are equal only the first.
    fn each_movable(&self, setup: &Setup, client: u8, mut each: impl FnMut(&Message, Lane, u8)) {
        let mail = &*self.mail[client as usize];
        let mut at = 0;
        for (index, message) in mail.iter().enumerate() {
            let before = index.checked_sub(1).map(|i| &mail[i]);
            let lane_goes_on = before.is_some_and(|b| b.lane == message.lane);
            at = if lane_goes_on { at + 1 } else { 0 };
            let blocked = lane_goes_on && setup.network == Network::Fifo && !message.is_copy();
            let twin = before.is_some_and(|b| b.same_as(message));
            if !blocked && !twin {
                each(message, message.lane, at);
            }
        }
    }

    /// Whether an exchange is one step here.
    pub(crate) fn in_one_step(setup: &Setup) -> bool {
        setup.grain == Grain::Exchange
    }
}

fn loss_of(message: &Message) -> Fault {
    match message.lane.direction {
        Direction::Request => Fault::DropRequest,
        Direction::Reply => Fault::DropReply,
    }
}
