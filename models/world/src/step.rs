//! What a step does.

use protocol::{
    Acquire, Command, Fence, Input, Notice, OpId, Outcome, Place, QuorumOf, Reply, Resource, Slot, Time, Verb, Worker,
};
use smallvec::SmallVec;

use crate::action::{Action, Process};
use crate::event::{Event, Observer};
use crate::message::{Body, Direction, Lane, Message, Sent, Site, acquires, releases};
use crate::section::Section;
use crate::server::{Acquisition, Memory, Node, Replica, Request};
use crate::setup::{Fault, Network, Persistence, Setup};
use crate::store::{OUTDATED, WRITTEN};
use crate::watched::Watched;
use crate::world::{Running, World};

/// The effects of one step of a core, kept on the stack.
#[derive(Default)]
struct Effects(SmallVec<[protocol::Effect; 8]>);

impl protocol::Outbox for Effects {
    fn push(&mut self, effect: protocol::Effect) {
        self.0.push(effect);
    }
}

impl World {
    /// Does what an action does where it takes place.
    pub(crate) fn act(&mut self, setup: &Setup, action: Action, observer: &mut impl Observer) {
        match action {
            Action::Start(client) => self.step_client(setup, client, Input::Acquire, observer),
            Action::Wake(client) => self.step_client(setup, client, Input::Wake, observer),
            Action::Deliver(lane, at) => self.deliver(setup, lane, at, observer),
            Action::Resume(client) | Action::Rejoin(client) => self.resume(client),
            Action::Heal(link) => self.heal(link),
            Action::Replicate(replica) => self.replicate(setup, replica),
            Action::Pause(client) => self.pause(setup, client),
            Action::Delay(lane, at) => self.delay(setup, lane, at, observer),
            Action::Drop(lane, at) => {
                let lost = self.take(lane, at);
                observer.event(Event::Lost { tag: lost.tag });
            }
            Action::Duplicate(lane, at) => self.duplicate(setup, lane, at, observer),
            Action::Crash(client) => self.crash(setup, client, observer),
            Action::Restart(node) => self.restart(setup, node, observer),
            Action::JumpForward(node) => {
                if setup.is_jumpy() {
                    self.advance(setup, node, setup.jump.0 as u8, observer);
                }
            }
            Action::JumpBack(node) => {
                if setup.is_jumpy() {
                    self.turn_back(node, setup.jump.0 as u8);
                }
            }
            Action::Gain(Process::Client(client)) => self.tick_clock(setup, client, observer),
            Action::Gain(Process::Node(node)) => self.advance(setup, node, 1, observer),
            Action::Cut(link) => self.cut_off(setup, link),
            Action::Failover(replica) => self.fail_over(setup, replica, observer),
            Action::Evict(node, key) => self.nodes[node as usize].memory.entries[key.0 as usize] = None,
            Action::EvictCounter(node, key) => {
                self.nodes[node as usize].memory.counters[key.0 as usize] = Fence(0);
            }
            Action::Cancel(client) => self.step_client(setup, client, Input::Cancel, observer),
            Action::CancelUnsent(client) => self.cancel_unsent(setup, client, observer),
            // They have no place of their own.
            Action::Tick | Action::Lag(_) => {}
        }
    }

    fn take(&mut self, lane: Lane, at: u8) -> Message {
        let position = self.position(lane, at);
        self.mail[lane.client as usize].remove(position)
    }

    fn delay(&mut self, setup: &Setup, lane: Lane, at: u8, observer: &mut impl Observer) {
        let position = self.position(lane, at);
        let message = &mut self.mail[lane.client as usize][position];
        message.delayed = true;
        message.age = setup.latency_greatest.0 as u8;
        observer.event(Event::Delayed { tag: message.tag });
        self.sort_lanes(setup, lane.client);
    }

    /// Puts a copy of a request under way, for whose answer nobody waits.
    fn duplicate(&mut self, setup: &Setup, lane: Lane, at: u8, observer: &mut impl Observer) {
        let tag = self.tag();
        let position = self.position(lane, at);
        let original = &mut self.mail[lane.client as usize][position];
        observer.event(Event::Duplicated { tag: original.tag, copy: tag });
        let copy = Message { age: 0, delayed: false, awaited: false, sent: Sent::Again, tag, ..*original };
        if is_write(&copy) {
            original.sent = Sent::Twice;
        }
        self.sort_lanes(setup, lane.client);
        self.post(setup, copy);
    }

    fn crash(&mut self, setup: &Setup, client: u8, observer: &mut impl Observer) {
        let state = &mut *self.clients[client as usize];
        state.running = Running::Crashed;
        state.pause_left = 0;
        state.worker.crash();
        state.grants = Default::default();
        self.mail[client as usize].iter_mut().for_each(|message| message.bereft = true);
        self.stop_awaiting(setup, client, |_| false, observer);
    }

    /// What a crash of a client means for the lock servers, their disks and their replicas.
    pub(crate) fn bereave(&mut self, section: Section, client: u8) {
        let bereave = |memory: &mut Memory| {
            for entry in memory.entries.iter_mut().flatten() {
                entry.by.bereft |= entry.by.client == client;
            }
        };
        match section {
            Section::Client(_) => {}
            Section::Node(node) => {
                let node = &mut *self.nodes[node as usize];
                bereave(&mut node.memory);
                node.subscribers.iter_mut().for_each(|clients| *clients &= !(1 << client));
            }
            Section::Rest => {
                self.saved.iter_mut().for_each(bereave);
                self.replicas.iter_mut().for_each(|replica| bereave(&mut replica.memory));
                self.rank_replicas();
            }
        }
    }

    /// A caller gives up before the client's requests have left it.
    fn cancel_unsent(&mut self, setup: &Setup, client: u8, observer: &mut impl Observer) {
        self.mail[client as usize].retain(|m| {
            let unsent = m.is_withdrawn_by(setup, client);
            if unsent {
                observer.event(Event::Lost { tag: m.tag });
            }
            !unsent
        });
        self.step_client(setup, client, Input::Cancel, observer);
    }

    fn restart(&mut self, setup: &Setup, index: u8, observer: &mut impl Observer) {
        self.spend(Fault::Restart, observer);
        let node = &mut *self.nodes[index as usize];
        match setup.persistence {
            Persistence::Nothing => *node = Node::default(),
            Persistence::EverySecond => node.memory = self.saved[index as usize],
            Persistence::Always => {}
        }
        node.down = setup.restart_delay.0 as u8;
        node.subscribers = Default::default();
        if !self.needs_disk(setup) {
            self.save(setup);
        }
    }

    fn replicate(&mut self, setup: &Setup, replica: u8) {
        let memory = self.nodes[0].memory;
        if Self::ranks_replicas(setup) {
            self.replicas.iter_mut().for_each(|other| other.is_newest = false);
        }
        self.replicas[replica as usize] = Replica { memory, is_newest: Self::ranks_replicas(setup) };
        self.rank_replicas();
    }

    /// A replica takes the place of the master, and those that are left copy all that it has.
    fn fail_over(&mut self, setup: &Setup, replica: u8, observer: &mut impl Observer) {
        self.spend(Fault::Failover, observer);
        let Replica { memory, .. } = self.replicas.remove(replica as usize);
        *self.nodes[0] = Node { memory, ..Node::default() };
        if let Some(saved) = self.saved.first_mut() {
            *saved = memory;
        }
        let left = self.replicas_left(setup);
        self.replicas.truncate(left);
        self.replicas.fill(Replica { memory, is_newest: false });
    }

    /// A client's connection to a server breaks, and with it goes what is under way on it.
    pub(crate) fn break_connection(&mut self, client: u8, node: u8, observer: &mut impl Observer) {
        self.mail[client as usize].retain(|m| {
            let breaks = m.lane.site == Site::Node(node);
            if breaks {
                observer.event(Event::Lost { tag: m.tag });
            }
            !breaks
        });
    }

    fn deliver(&mut self, setup: &Setup, lane: Lane, at: u8, observer: &mut impl Observer) {
        let message = self.take(lane, at);
        match message.body {
            Body::Request { command, grant } => self.serve(setup, message, command, grant, observer),
            Body::Reply(reply) => self.settle(setup, message, reply, observer),
        }
    }

    fn serve(&mut self, setup: &Setup, message: Message, command: Command, grant: u8, observer: &mut impl Observer) {
        let Some(reply) = self.carry_out(setup, &message, command, grant, observer) else {
            observer.event(Event::Lost { tag: message.tag });
            return;
        };
        let answer = message.awaited.then(|| self.tag());
        let Lane { client, site, .. } = message.lane;
        observer.event(Event::Served { client, site, slot: message.slot, tag: message.tag, command, reply, answer });
        let Some(tag) = answer else { return };
        let lane = Lane { direction: Direction::Reply, ..message.lane };
        let answer =
            Message { lane, body: Body::Reply(reply), age: 0, delayed: false, sent: Sent::Once, tag, ..message };
        if Self::in_one_step(setup) {
            self.settle(setup, answer, reply, observer);
        } else {
            self.post(setup, answer);
        }
    }

    /// Lets the server that a request came to carry it out. None: the server is down.
    fn carry_out(
        &mut self,
        setup: &Setup,
        message: &Message,
        command: Command,
        grant: u8,
        observer: &mut impl Observer,
    ) -> Option<Reply> {
        match (command, message.lane.site) {
            (Command::Lock { resource, verb, token, mint }, Site::Node(index)) => {
                if self.nodes[index as usize].down > 0 {
                    return None;
                }
                let Message { lane: Lane { client, .. }, slot, bereft, .. } = *message;
                let by = Acquisition { client, slot, token, bereft };
                if let Some(entry) = self.nodes[index as usize].memory.entries[resource.0 as usize]
                    && acquires(verb)
                    && entry.is_live()
                    && entry.by.client != client
                {
                    observer.event(Event::Blocked { client, by: entry.by });
                }
                if mint || verb == Verb::Incr {
                    self.make_room(setup, resource, index);
                }
                // Nobody listens any more to what was subscribed to in vain.
                if verb == Verb::Subscribe && !message.awaited {
                    return None;
                }
                let lease = setup.lease_of(client);
                let request = Request { resource, verb, mint, by, lease };
                let node = &mut *self.nodes[index as usize];
                let served = node.memory.serve(&setup.policy, request);
                if verb == Verb::Subscribe {
                    node.subscribers[resource.0 as usize] |= 1 << client;
                }
                self.flags.wrong_release |= served.wrong;
                if served.freed {
                    self.publish(setup, index, resource, observer);
                }
                if served.written {
                    self.note_grant(setup, resource, by, observer);
                }
                Some(served.reply)
            }
            (
                Command::Read { account, .. } | Command::Check { account, .. } | Command::Write { account, .. },
                Site::Store,
            ) => {
                let client = message.lane.client;
                let other = self.other_half(message);
                if let Some(original) = other.filter(|_| message.is_copy()) {
                    self.mail[client as usize][original].sent = Sent::Once;
                }
                let stored =
                    self.accounts[account.0 as usize].serve(setup.policy.program.check, setup.compare, command, grant);
                self.flags.lost_update |= stored.lost_update;
                self.flags.stale_write |= stored.stale;
                if stored.accepted {
                    let again = message.awaited && self.clients[client as usize].worker.writes_done() > 0;
                    observer.event(Event::Accepted { client, again });
                    // Of a write that was sent twice, the second to come writes what is there already.
                    if !matches!(command, Command::Write { seen: WRITTEN, .. }) {
                        self.outdate(setup, client, account, other);
                        self.overwritten = Some(account);
                    }
                }
                self.sort_lanes(setup, client);
                Some(stored.reply)
            }
            (Command::Lock { .. }, Site::Store)
            | (Command::Read { .. } | Command::Check { .. } | Command::Write { .. }, Site::Node(_)) => None,
        }
    }

    /// Tells everybody who has subscribed to it that a lock was given back.
    fn publish(&mut self, setup: &Setup, node: u8, resource: Resource, observer: &mut impl Observer) {
        let subscribers = self.nodes[node as usize].subscribers[resource.0 as usize];
        for client in (0..self.clients.len() as u8).filter(|client| subscribers & (1 << client) != 0) {
            let locks = self.clients[client as usize].worker.locks();
            let Some((slot, _)) =
                Self::slots(setup, client).find(|(slot, name)| *name == resource && locks.wants(*slot))
            else {
                continue;
            };
            if self.is_being_told(client, slot) {
                continue;
            }
            let tag = self.tag();
            observer.event(Event::Published { node, client, slot, tag });
            let lane = Lane { client, site: Site::Node(node), direction: Direction::Reply };
            let body = Body::Reply(Reply::Freed);
            let sent = Sent::Once;
            let told = Message { lane, slot, body, age: 0, delayed: false, awaited: true, bereft: false, sent, tag };
            self.post(setup, told);
        }
    }

    /// Whether a notification is on its way to a client that is as good as another one: it arrives after whatever
    /// happens now, and there are more of them than can still be lost.
    fn is_being_told(&self, client: u8, slot: Slot) -> bool {
        let same = |m: &&Message| m.is_notification() && m.lane.client == client && m.slot == slot && !m.delayed;
        self.mail[client as usize].iter().filter(same).count() > usize::from(self.faults.get(Fault::DropReply))
    }

    /// A subscription ends when the client no longer wants the lock: it closes that connection.
    fn end_subscriptions(&mut self, setup: &Setup, client: u8) {
        if !setup.policy.is_notified() {
            return;
        }
        let locks = *self.clients[client as usize].worker.locks();
        for resource in (0..setup.resources).map(Resource) {
            let wanted = Self::slots(setup, client).any(|(slot, name)| name == resource && locks.wants(slot));
            if !wanted {
                self.nodes.iter_mut().for_each(|node| node.subscribers[resource.0 as usize] &= !(1 << client));
            }
        }
    }

    /// Numbers a grant, if with this entry a quorum of the acquisition's entries stands.
    fn note_grant(&mut self, setup: &Setup, resource: Resource, by: Acquisition, observer: &mut impl Observer) {
        let Acquisition { client, slot, .. } = by;
        let is_current = self.current(client, slot).is_some_and(|current| current.is(by));
        // A client that still asks may be granted the lock anew after a gap. What a holder's renewal re-creates
        // after a gap is the old grant: the holder never heard that it had ended.
        let state = &self.clients[client as usize];
        let is_old = state.grants[slot.0 as usize] != 0 && !state.worker.locks().is_asking(slot);
        if !is_current || is_old {
            return;
        }
        let stands = |n: &&Watched<Node>| n.memory.entries[resource.0 as usize].is_some_and(|e| e.by.is(by));
        if self.nodes.iter().filter(stands).count() != setup.policy.quorum as usize {
            return;
        }
        self.grant(client, slot);
        observer.event(Event::Granted { to: by, resource });
    }

    /// Where more than half of the reachable servers can grant a lock, a grant may begin with fewer entries.
    fn note_grants_of_few(&mut self, setup: &Setup, client: u8) {
        if setup.policy.quorum_of == QuorumOf::All || setup.policy.acquire == Acquire::Unlocked {
            return;
        }
        for (slot, _) in Self::slots(setup, client) {
            if self.clients[client as usize].grants[slot.0 as usize] == 0 {
                self.grant(client, slot);
            }
        }
    }

    fn grant(&mut self, client: u8, slot: Slot) {
        self.clients[client as usize].grants[slot.0 as usize] = self.next_grant;
        self.next_grant += 1;
    }

    /// After an accepted write, what a client had read before is no longer what the account holds.
    ///
    /// But of a write that was sent twice, the second to come (`other`) writes what is there already.
    pub(crate) fn outdate(&mut self, setup: &Setup, client: u8, account: Resource, other: Option<usize>) {
        let config = Self::config(setup, client);
        if config.locks.as_slice()[Worker::account_slot(&config).0 as usize] != account {
            return;
        }
        if let Some(seen) = self.clients[client as usize].worker.seen_mut() {
            *seen = OUTDATED;
        }
        for (index, message) in self.mail[client as usize].iter_mut().enumerate() {
            match &mut message.body {
                Body::Request { command: Command::Write { seen, .. }, .. } | Body::Reply(Reply::Account(seen)) => {
                    *seen = if Some(index) == other { WRITTEN } else { OUTDATED };
                }
                Body::Request { .. } | Body::Reply(_) => {}
            }
        }
        self.sort_lanes(setup, client);
    }

    /// Of a write that was sent twice, the one that is still under way.
    ///
    /// Should there be several that ask exactly the same, it makes no difference which of them is taken for it.
    fn other_half(&self, message: &Message) -> Option<usize> {
        let wanted = match message.sent {
            Sent::Once => return None,
            Sent::Twice => Sent::Again,
            Sent::Again => Sent::Twice,
        };
        let is_other = |m: &Message| m.sent == wanted && m.lane == message.lane && m.body == message.body;
        self.mail[message.lane.client as usize].iter().position(is_other)
    }

    fn settle(&mut self, setup: &Setup, message: Message, reply: Reply, observer: &mut impl Observer) {
        let Lane { client, site, .. } = message.lane;
        let reply = setup.as_read_by(client, reply);
        observer.event(Event::Answered { client, site, tag: message.tag, reply });
        if reply == Reply::Freed {
            return self.step_client(setup, client, Input::Notified(message.slot), observer);
        }
        if let Some(op) = self.clients[client as usize].worker.awaited(message.place()) {
            self.step_client(setup, client, Input::Settled(op, Outcome::Answered(reply)), observer);
        }
    }

    /// Steps a client's core and carries out its effects.
    fn step_client(&mut self, setup: &Setup, client: u8, input: Input, observer: &mut impl Observer) {
        let config = Self::config(setup, client);
        let before = *self.clients[client as usize];
        let mut effects = Effects::default();
        self.clients[client as usize].worker.step(&config, Time(0), input, &mut effects);
        self.forget_answers(setup, client, &before.worker, observer);
        self.forget_grants(setup, client, &before.worker);
        self.end_subscriptions(setup, client);
        self.note_refusal(setup, client, &before.worker, input, observer);
        let mut unsent = SmallVec::<[OpId; 4]>::new();
        for effect in effects.0 {
            match effect {
                protocol::Effect::Tell(notice) => {
                    if let Notice::Acquired { .. } = notice {
                        self.note_grants_of_few(setup, client);
                    }
                    observer.event(Event::Told { client, notice });
                }
                protocol::Effect::Send { op, command } if self.is_stuck(setup, client, op, command) => {
                    observer.event(Event::Unsent { client, site: Site::of(op.place), command });
                    unsent.push(op);
                }
                protocol::Effect::Send { op, command } => {
                    let slot = Worker::account_slot(&config);
                    let grant = match command {
                        Command::Write { .. } => before.grants[slot.0 as usize],
                        Command::Lock { .. } | Command::Read { .. } | Command::Check { .. } => 0,
                    };
                    self.send(setup, client, op, command, grant, observer);
                }
            }
        }
        // What could not be sent has certainly not been carried out, and the core hears so at once.
        for op in unsent {
            self.step_client(setup, client, Input::Settled(op, Outcome::Refused), observer);
        }
    }

    fn send(&mut self, setup: &Setup, client: u8, op: OpId, command: Command, grant: u8, observer: &mut impl Observer) {
        let site = Site::of(op.place);
        let slot = match op.place {
            Place::Lock(slot, _) => slot,
            Place::Store => Slot(0),
        };
        let tag = self.tag();
        observer.event(Event::Sent { client, site, slot, tag, command });
        let awaited = self.clients[client as usize].worker.awaited(op.place) == Some(op);
        let lane = Lane { client, site, direction: Direction::Request };
        let body = Body::Request { command, grant };
        let sent = Sent::Once;
        let message = Message { lane, slot, body, age: 0, delayed: false, awaited, bereft: false, sent, tag };
        self.post(setup, message);
    }

    /// Whether the connection takes no new request: an earlier one of the same lock is still on its way out.
    ///
    /// A release always goes, as the last command about its acquisition; so a connection that stalls for good never
    /// holds more than a few requests.
    fn is_stuck(&self, setup: &Setup, client: u8, op: OpId, command: Command) -> bool {
        let gives_back = matches!(command, Command::Lock { verb, .. } if releases(verb));
        let passed_by = |m: &Message| m.is_copy() || m.delayed && setup.network == Network::Unordered;
        let in_the_way = |m: &Message| m.is_request() && m.place() == op.place && !passed_by(m);
        !gives_back && self.mail[client as usize].iter().any(in_the_way)
    }

    /// Marks what the core no longer waits for. A reply that nobody waits for is taken out of the world.
    fn forget_answers(&mut self, setup: &Setup, client: u8, before: &Worker, observer: &mut impl Observer) {
        let worker = self.clients[client as usize].worker;
        let still = |m: &Message| match m.is_notification() {
            true => worker.locks().wants(m.slot),
            false => worker.awaited(m.place()) == before.awaited(m.place()),
        };
        self.stop_awaiting(setup, client, still, observer);
    }

    fn stop_awaiting(
        &mut self,
        setup: &Setup,
        client: u8,
        still: impl Fn(&Message) -> bool,
        observer: &mut impl Observer,
    ) {
        self.mail[client as usize].retain(|message| {
            if !message.awaited || still(message) {
                return true;
            }
            message.awaited = false;
            if !message.is_request() {
                observer.event(Event::Ignored { tag: message.tag });
            }
            message.is_request()
        });
        self.sort_lanes(setup, client);
    }

    /// A grant ends with its acquisition.
    fn forget_grants(&mut self, setup: &Setup, client: u8, before: &Worker) {
        let state = &mut *self.clients[client as usize];
        for (slot, _) in Self::slots(setup, client) {
            if state.worker.locks().current(slot) != before.locks().current(slot) {
                state.grants[slot.0 as usize] = 0;
            }
        }
    }

    /// Notes when a client turns down what the servers granted.
    fn note_refusal(&self, setup: &Setup, client: u8, before: &Worker, input: Input, observer: &mut impl Observer) {
        let Input::Settled(OpId { place: Place::Lock(slot, _), .. }, Outcome::Answered(reply)) = input else { return };
        let locks = self.clients[client as usize].worker.locks();
        let granted = matches!(reply, Reply::Done | Reply::Minted(_));
        if granted && before.locks().is_asking(slot) && !locks.is_asking(slot) && !self.believes(setup, client, slot) {
            observer.event(Event::TurnedDown { client });
        }
    }
}

fn is_write(message: &Message) -> bool {
    matches!(message.body, Body::Request { command: Command::Write { .. }, .. })
}
