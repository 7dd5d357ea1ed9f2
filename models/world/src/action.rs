//! What can happen next, in the documented order.

use alloc::vec::Vec;

use protocol::{Ticks, Time};

use crate::message::{Direction, Lane, Message, Site};
use crate::setup::{Fault, Grain, Network, Setup};
use crate::world::{Running, World};

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
    /// A client stops until it is resumed.
    Pause(u8),
    /// A message may stay under way beyond its bound.
    Delay(Lane, u8),
    /// A message is lost.
    Drop(Lane, u8),
    /// A client ends.
    Crash(u8),
    /// A lock server stops and comes back.
    Restart(u8),
    /// The wall clock of a lock server moves forward.
    JumpForward(u8),
    /// The wall clock of a lock server moves back.
    JumpBack(u8),
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
            Self::Pause(_) => Some(Fault::Pause),
            Self::Delay(..) => Some(Fault::Delay),
            Self::Drop(Lane { direction: Direction::Request, .. }, _) => Some(Fault::DropRequest),
            Self::Drop(Lane { direction: Direction::Reply, .. }, _) => Some(Fault::DropReply),
            Self::Crash(_) => Some(Fault::Crash),
            Self::Restart(_) => Some(Fault::Restart),
            Self::JumpForward(_) | Self::JumpBack(_) => Some(Fault::Jump),
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
        self.pauses(setup, out);
        if self.faults.get(Fault::Delay) > 0 {
            // Before its bound a message is free to stay under way as it is.
            self.each_movable(setup, |m| self.is_overdue(setup, m), |lane, at| out.push(Action::Delay(lane, at)));
        }
        self.each_movable(setup, |m| self.faults.get(loss_of(m)) > 0, |lane, at| out.push(Action::Drop(lane, at)));
        self.crashes(out);
        self.server_faults(setup, out);
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
        let ripe = |m: &Message| u32::from(m.age) >= setup.latency_least.0 && self.can_receive(m);
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
                let idle = setup.restart_delay == Ticks(0) && node.is_blank() && !self.has_traffic(index);
                if node.down == 0 && !idle {
                    out.push(Action::Restart(index));
                }
            }
        }
        if self.faults.get(Fault::Jump) == 0 {
            return;
        }
        let timed = |index: usize| self.nodes[index].entries.iter().flatten().any(|e| e.left.is_some());
        let nodes = 0..self.nodes.len();
        out.extend(nodes.clone().filter(|n| timed(*n)).map(|n| Action::JumpForward(n as u8)));
        out.extend(nodes.filter(|n| timed(*n)).map(|n| Action::JumpBack(n as u8)));
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
        let unsent =
            |client: &u8| self.messages.iter().any(|m| m.lane.client == *client && m.is_request() && m.awaited);
        let clients = 0..self.clients.len() as u8;
        out.extend(clients.clone().filter(cancels).map(Action::Cancel));
        out.extend(clients.filter(cancels).filter(unsent).map(Action::CancelUnsent));
    }

    fn has_traffic(&self, node: u8) -> bool {
        self.messages.iter().any(|m| m.lane.site == Site::Node(node))
    }

    /// Whether the far end of a message's lane takes messages in.
    fn can_receive(&self, message: &Message) -> bool {
        match message.lane.direction {
            Direction::Request => true,
            Direction::Reply => self.clients[message.lane.client as usize].running == Running::Yes,
        }
    }

    /// A tick waits for everything that has to happen before it: that is what it means that the timing holds.
    fn can_tick(&self, setup: &Setup) -> bool {
        if (0..self.clients.len() as u8).any(|client| self.must_wake(setup, client)) {
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
        !message.delayed && u32::from(message.age) >= setup.latency_greatest.0 && self.can_receive(message)
    }

    /// Calls `each` for every message that can move by itself and that `admits` takes: on a first-in-first-out lane
    /// the head, elsewhere every message but those that are equal to the one before.
    fn each_movable(&self, setup: &Setup, admits: impl Fn(&Message) -> bool, mut each: impl FnMut(Lane, u8)) {
        let mut at = 0;
        for (index, message) in self.messages.iter().enumerate() {
            let before = index.checked_sub(1).map(|i| &self.messages[i]);
            let lane_goes_on = before.is_some_and(|b| b.lane == message.lane);
            at = if lane_goes_on { at + 1 } else { 0 };
            let blocked = lane_goes_on && setup.network == Network::Fifo;
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
