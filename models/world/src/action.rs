//! What can happen next, in the documented order.

use alloc::vec::Vec;

use protocol::{Command, Fence, Resource, Ticks, Time, Verb};

use crate::message::{Body, Direction, Lane, Link, Message, Sent, Site};
use crate::server::{Memory, Node, Replica};
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
        self.client_actions(setup, out);
        self.arrivals(setup, out);
        if self.can_tick(setup) {
            out.push(Action::Tick);
        }
        self.returns(setup, out);
        out.extend(self.cut.iter().map(Action::Heal));
        self.catch_ups(out);
        self.pauses(setup, out);
        if self.faults.get(Fault::Delay) > 0 {
            // Before its bound a message is free to stay under way as it is.
            self.each_movable(setup, |m| self.is_overdue(setup, m), |lane, at| out.push(Action::Delay(lane, at)));
        }
        // A copy that is lost leaves what there was before it was sent, with fewer faults to come. On a cut link a message
        // can be lost or sent again as anywhere; to be delayed it has no need.
        let can_be_lost = |m: &Message| self.faults.get(loss_of(m)) > 0 && !m.is_copy();
        self.each_movable(setup, can_be_lost, |lane, at| out.push(Action::Drop(lane, at)));
        if self.faults.get(Fault::Duplicate) > 0 {
            let is_asked = |m: &Message| m.is_request() && m.awaited && m.sent == Sent::Once;
            self.each_movable(setup, is_asked, |lane, at| out.push(Action::Duplicate(lane, at)));
        }
        self.crashes(out);
        self.server_faults(setup, out);
        self.drifts(setup, out);
        self.cuts(setup, out);
        if self.faults.get(Fault::Failover) > 0 {
            let fit = self.distinct_replicas().filter(|(_, replica)| !self.is_outdone(replica));
            out.extend(fit.map(|(index, _)| Action::Failover(index)));
        }
        self.evictions(setup, out);
        self.cancellations(setup, out);
    }

    fn client_actions(&self, setup: &Setup, out: &mut Vec<Action>) {
        for (index, client) in (0..).zip(&self.clients) {
            if client.running == Running::Yes && client.worker.can_start() {
                out.push(Action::Start(index));
            }
        }
        for (index, client) in (0..).zip(&self.clients) {
            let due = client.worker.wake(&Self::config(setup, index)).is_some_and(|w| w.from == Time(0));
            if client.running == Running::Yes && due {
                out.push(Action::Wake(index));
            }
        }
    }

    fn arrivals(&self, setup: &Setup, out: &mut Vec<Action>) {
        let ripe = |m: &Message| u32::from(m.age) >= setup.latency_least.0 && self.can_receive(setup, m);
        self.each_movable(setup, ripe, |lane, at| out.push(Action::Deliver(lane, at)));
    }

    fn returns(&self, setup: &Setup, out: &mut Vec<Action>) {
        for (index, client) in (0..).zip(&self.clients) {
            if client.running == Running::Paused {
                out.push(Action::Resume(index));
            }
        }
        for (index, client) in (0..).zip(&self.clients) {
            if client.running == Running::Crashed && setup.rejoin {
                out.push(Action::Rejoin(index));
            }
        }
    }

    /// A pause means that something due is not done. A client with nothing due is free to do nothing as it is.
    fn pauses(&self, setup: &Setup, out: &mut Vec<Action>) {
        if self.faults.get(Fault::Pause) == 0 {
            return;
        }
        for (index, client) in (0..).zip(&self.clients) {
            let held_up = || {
                let mut found = false;
                let for_it = |m: &Message| m.lane.client == index && !m.is_request() && self.is_overdue(setup, m);
                self.each_movable(setup, for_it, |_, _| found = true);
                found
            };
            if client.running == Running::Yes && (self.must_wake(setup, index) || held_up()) {
                out.push(Action::Pause(index));
            }
        }
    }

    fn crashes(&self, out: &mut Vec<Action>) {
        if self.faults.get(Fault::Crash) == 0 {
            return;
        }
        for (index, client) in (0..).zip(&self.clients) {
            let is_over = client.worker.is_finished() && client.worker.locks().is_idle();
            if client.running != Running::Crashed && !is_over {
                out.push(Action::Crash(index));
            }
        }
    }

    fn server_faults(&self, setup: &Setup, out: &mut Vec<Action>) {
        if self.faults.get(Fault::Restart) > 0 {
            for (index, node) in (0..).zip(&self.nodes) {
                let keeps = match setup.persistence {
                    Persistence::EverySecond => self.saved.get(index as usize) == Some(&node.memory),
                    Persistence::Nothing | Persistence::Always => node.is_blank(),
                };
                let idle = setup.restart_delay == Ticks(0) && keeps && !self.has_traffic(index);
                if node.down == 0 && !idle {
                    out.push(Action::Restart(index));
                }
            }
        }
        if self.faults.get(Fault::Jump) == 0 {
            return;
        }
        out.extend(self.timed_nodes().map(Action::JumpForward));
        out.extend(self.timed_nodes().map(Action::JumpBack));
    }

    /// The lock servers whose clock makes a difference: an entry there, or on disk, comes to an end.
    fn timed_nodes(&self) -> impl Iterator<Item = u8> {
        let on_disk = |index: u8| self.saved.get(index as usize).is_some_and(|memory| memory.is_timed());
        let timed = move |(index, node): (u8, &Node)| (node.memory.is_timed() || on_disk(index)).then_some(index);
        (0..).zip(&self.nodes).filter_map(timed)
    }

    fn drifts(&self, setup: &Setup, out: &mut Vec<Action>) {
        if self.faults.get(Fault::Drift) == 0 {
            return;
        }
        let waits = |client: u8| {
            let state = &self.clients[client as usize];
            state.running != Running::Crashed && state.worker.wake(&Self::config(setup, client)).is_some()
        };
        let clients = (0..self.clients.len() as u8).filter(|client| waits(*client));
        // What is due has to be done before the clock moves on, as before a tick.
        out.extend(clients.clone().filter(|c| !self.must_wake(setup, *c)).map(|c| Action::Gain(Process::Client(c))));
        out.extend(self.timed_nodes().map(|node| Action::Gain(Process::Node(node))));
        if self.can_tick(setup) {
            out.extend(clients.map(|client| Action::Lag(Process::Client(client))));
            out.extend(self.timed_nodes().map(|node| Action::Lag(Process::Node(node))));
        }
    }

    /// A cut means that a message at its bound does not arrive. Before that a message is free to stay under way as it is,
    /// so a link that is cut earlier can as well be cut when the first message on it has come to its bound, and one that
    /// is healed before need not have been cut at all.
    fn cuts(&self, setup: &Setup, out: &mut Vec<Action>) {
        if self.faults.get(Fault::Partition) == 0 {
            return;
        }
        // The two directions of a link lie side by side.
        let cut = |lane: Lane, _| {
            let action = Action::Cut(lane.link());
            if out.last() != Some(&action) {
                out.push(action);
            }
        };
        self.each_movable(setup, |m| self.is_overdue(setup, m), cut);
    }

    /// The replicas; of those that remember the same, the first.
    fn distinct_replicas(&self) -> impl Iterator<Item = (u8, &Replica)> {
        let is_first = |(index, replica): &(u8, &Replica)| {
            self.replicas[..*index as usize].iter().all(|other| other.memory != replica.memory)
        };
        (0..).zip(&self.replicas).filter(is_first)
    }

    /// Whether a replica is passed over, because another one has heard more of the master.
    fn is_outdone(&self, replica: &Replica) -> bool {
        self.replicas.iter().any(|other| other.is_newest && other.memory != replica.memory)
    }

    /// A replica may catch up at any moment: it is told of what the master did, but nobody waits for it to hear.
    fn catch_ups(&self, out: &mut Vec<Action>) {
        let Some(master) = self.nodes.first().filter(|node| node.down == 0) else { return };
        let behind = self.distinct_replicas().filter(|(_, replica)| replica.memory != master.memory);
        out.extend(behind.map(|(index, _)| Action::Replicate(index)));
    }

    fn evictions(&self, setup: &Setup, out: &mut Vec<Action>) {
        if self.faults.get(Fault::Evict) == 0 {
            return;
        }
        let up = || (0..).zip(&self.nodes).filter(|(_, node)| node.down == 0);
        let keys = || (0..setup.resources).map(Resource);
        for (index, node) in up() {
            let stands = |key: &Resource| node.memory.entries[key.0 as usize].is_some();
            out.extend(keys().filter(stands).map(|key| Action::Evict(index, key)));
        }
        if !setup.policy.fencing.is_counted() {
            return;
        }
        for (index, node) in up() {
            let counts = |key: &Resource| node.memory.counters[key.0 as usize] != Fence(0);
            out.extend(keys().filter(counts).map(|key| Action::EvictCounter(index, key)));
        }
    }

    /// A caller can give up at every point where the client waits for something, unless that changes nothing.
    fn cancellations(&self, setup: &Setup, out: &mut Vec<Action>) {
        if self.faults.get(Fault::Cancel) == 0 {
            return;
        }
        let cancels = |client: &u8| {
            let state = &self.clients[*client as usize];
            state.running == Running::Yes && state.worker.can_be_cancelled(&Self::config(setup, *client))
        };
        let unsent = |client: &u8| self.messages.iter().any(|m| m.is_withdrawn_by(setup, *client));
        let clients = 0..self.clients.len() as u8;
        out.extend(clients.clone().filter(cancels).map(Action::Cancel));
        out.extend(clients.filter(cancels).filter(unsent).map(Action::CancelUnsent));
    }

    fn has_traffic(&self, node: u8) -> bool {
        self.messages.iter().any(|m| m.lane.site == Site::Node(node))
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

    /// A tick waits for everything that has to happen before it: that is what it means that the timing holds.
    fn can_tick(&self, setup: &Setup) -> bool {
        let is_due = || (0..self.clients.len() as u8).any(|client| self.must_wake(setup, client));
        if self.must_end_fault(setup) || is_due() {
            return false;
        }
        let mut overdue = false;
        self.each_movable(setup, |m| self.is_overdue(setup, m), |_, _| overdue = true);
        !overdue
    }

    /// Whether a client has something to do that cannot wait.
    fn must_wake(&self, setup: &Setup, client: u8) -> bool {
        let state = &self.clients[client as usize];
        state.running == Running::Yes
            && state.worker.wake(&Self::config(setup, client)).is_some_and(|w| w.by == Time(0))
    }

    /// Whether a message has to arrive before time can pass.
    fn is_overdue(&self, setup: &Setup, message: &Message) -> bool {
        let at_bound = setup.bound_of(message).is_some_and(|bound| u32::from(message.age) >= bound);
        at_bound && self.can_receive(setup, message)
    }

    /// Calls `each` for every message that can move by itself and that `admits` takes: on a first-in-first-out lane
    /// the head and the copies, elsewhere every message; of messages that are equal only the first.
    fn each_movable(&self, setup: &Setup, admits: impl Fn(&Message) -> bool, mut each: impl FnMut(Lane, u8)) {
        let mut at = 0;
        for (index, message) in self.messages.iter().enumerate() {
            let before = index.checked_sub(1).map(|i| &self.messages[i]);
            let lane_goes_on = before.is_some_and(|b| b.lane == message.lane);
            at = if lane_goes_on { at + 1 } else { 0 };
            let blocked = lane_goes_on && setup.network == Network::Fifo && !message.is_copy();
            let twin = before.is_some_and(|b| b.same_as(message));
            if !blocked && !twin && admits(message) {
                each(message.lane, at);
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
