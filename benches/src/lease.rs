//! The plain lease of two clients, as a [world](world::World) and as an `ActorModel` of stateright.
//!
//! Two clients, one lock server, a protected resource; `SET NX PX`, released by compare-and-delete, a holder that looks at
//! its clock; a message is under way for up to `latency` ticks, first in, first out; each client makes its updates and
//! ends. No faults.
//!
//! stateright's actors know no time: a timer that is set may fire at any moment, which breaks every lease. So that the
//! two say the same, [`Timed`] puts an `ActorModel` into a clock: a tick moves all deadlines at once, and waits until
//! what is due is done, as in the world. Then the two agree state by state, which the tests hold them to by their counts.
//!
//! What favours stateright, so that the comparison is no less than fair:
//!
//! * The clients run the same core, [`protocol::Worker`], and an actor's state is its 128 packed bits: there is nothing
//!   on the heap but what the actor framework puts there.
//! * The actor model is asked for three properties, the world for five and its two goals.
//! * The actors know nothing of faults, or of any other lock.
//!
//! The TTL is six times the latency: tight enough that a lease ends while its holder works, and wide enough that no
//! request has to wait behind an earlier one, about which an actor would have to look into the network.

use std::borrow::Cow;
use std::sync::Arc;

use protocol::{
    Command, Effect, Fence, Input, NodeId, Nodes, Outbox, Outcome, Place, Reply, Seen, Slot, Tape, Ticks, Time, Token,
    Verb, Worker,
};
use stateright::actor::{
    Actor, ActorModel, ActorModelAction, ActorModelState, Id, LossyNetwork, Network, Out, model_timeout,
};
use stateright::{Model, Property};
use world::{Setup, World};

/// How large a lease is searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// The most ticks that a message is under way.
    pub latency: u8,
    /// How many updates each client makes.
    pub updates: u8,
}

impl Size {
    /// The one that is measured.
    pub const MEASURED: Self = Self { latency: 3, updates: 3 };
    /// One that is searched in no time.
    pub const TINY: Self = Self { latency: 1, updates: 2 };

    /// The lease as a scenario.
    #[must_use]
    pub fn world(self) -> crate::case::World {
        let Self { latency, updates } = self;
        let sets = [
            "holder=clocked".to_owned(),
            format!("latency=[0, {latency}]"),
            format!("margin={latency}"),
            format!("ttl={}", 6 * latency),
            format!("updates={updates}"),
            "grain=message".to_owned(),
        ];
        let row = Some("no fault".to_owned());
        crate::case::World { id: "setnx".to_owned(), row, sets: sets.to_vec(), ..Default::default() }
    }
}

/// The lease as actors, in a clock.
#[must_use]
pub fn actors(setup: Setup) -> Timed {
    let setup = Arc::new(setup);
    let clients = (0..setup.clients.len() as u8).map(Role::Client);
    let actors = clients.chain([Role::Server, Role::Store]).map(|role| Process { setup: Arc::clone(&setup), role });
    let model =
        ActorModel::new((), ()).actors(actors).init_network(Network::new_ordered([])).lossy_network(LossyNetwork::No);
    Timed { setup, model }
}

/// An actor: its role, and what it was told to do.
#[derive(Clone, Debug)]
pub struct Process {
    setup: Arc<Setup>,
    role: Role,
}

#[derive(Clone, Copy, Debug)]
enum Role {
    Client(u8),
    Server,
    Store,
}

/// What an actor remembers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Memory {
    /// A client.
    Client {
        /// Its core, packed.
        core: u128,
        /// The number of its grant; zero: none. No client sees this.
        grant: u8,
    },
    /// The lock server: its entry, if there is one.
    Server(Option<Entry>),
    /// The resource: how many updates it has accepted, and whether one of them overwrote another unseen.
    Store {
        /// How many updates it has accepted.
        version: u32,
        /// Whether an update was lost.
        lost: bool,
        /// The latest grant of which a write was accepted; zero: of none that anybody could still fall behind.
        grant: u8,
        /// Whether a write of an earlier grant was accepted after that.
        stale: bool,
    },
}

/// An entry on the lock server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Entry {
    client: u8,
    token: Token,
    left: u32,
}

/// What goes over the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Message {
    body: Body,
    /// For how many ticks it has been under way.
    age: u8,
    /// Whether the client still waits for the answer.
    awaited: bool,
    /// For a write, which grant it was made under; zero if none. No server sees this.
    grant: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Body {
    Request(Command),
    Reply(Reply),
}

/// The age of a message that was sent in this very step.
const FRESH: u8 = u8::MAX;

/// When a client acts by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Timer {
    /// Its user asks for the lock.
    Start,
    /// Something is due by its own clock.
    Wake,
}

const SLOT: Slot = Slot(0);
const SERVER_PLACE: Place = Place::Lock(SLOT, NodeId(0));

impl Process {
    fn server(&self) -> Id {
        Id::from(self.setup.clients.len())
    }

    fn store(&self) -> Id {
        Id::from(self.setup.clients.len() + 1)
    }

    fn step(&self, client: u8, worker: &mut Worker, grant: u8, input: Input, o: &mut Out<Self>) -> Memory {
        let config = World::config(&self.setup, client);
        let mut effects = Effects::default();
        let before = worker.locks().current(SLOT);
        worker.step(&config, Time(0), input, &mut effects);
        for effect in effects.0 {
            let Effect::Send { op, command } = effect else { continue };
            let to = if op.place == Place::Store { self.store() } else { self.server() };
            let awaited = worker.awaited(op.place) == Some(op);
            let grant = if let Command::Write { .. } = command { grant } else { 0 };
            o.send(to, Message { body: Body::Request(command), age: FRESH, awaited, grant });
        }
        self.set_timers(client, worker, o);
        // A grant ends with its acquisition.
        let grant = if worker.locks().current(SLOT) == before { grant } else { 0 };
        Memory::Client { core: pack(&self.setup, client, worker), grant }
    }

    fn set_timers(&self, client: u8, worker: &Worker, o: &mut Out<Self>) {
        let is_waiting = worker.wake(&World::config(&self.setup, client)).is_some();
        for (timer, is_set) in [(Timer::Start, worker.can_start()), (Timer::Wake, is_waiting)] {
            if is_set {
                o.set_timer(timer, model_timeout());
            } else {
                o.cancel_timer(timer);
            }
        }
    }
}

impl Actor for Process {
    type Msg = Message;
    type Timer = Timer;
    type State = Memory;
    type Storage = ();
    type Random = ();

    fn on_start(&self, _: Id, _: &Option<()>, o: &mut Out<Self>) -> Memory {
        match self.role {
            Role::Client(client) => {
                let worker = Worker::new(&World::config(&self.setup, client));
                self.set_timers(client, &worker, o);
                Memory::Client { core: pack(&self.setup, client, &worker), grant: 0 }
            }
            Role::Server => Memory::Server(None),
            Role::Store => Memory::Store { version: 0, lost: false, grant: 0, stale: false },
        }
    }

    fn on_msg(&self, _: Id, state: &mut Cow<'_, Memory>, src: Id, message: Message, o: &mut Out<Self>) {
        let reply = match (**state, self.role, message.body) {
            (Memory::Client { core, grant }, Role::Client(client), Body::Reply(reply)) => {
                let mut worker = unpack(&self.setup, client, core);
                let place = if src == self.store() { Place::Store } else { SERVER_PLACE };
                if let Some(op) = worker.awaited(place) {
                    let input = Input::Settled(op, Outcome::Answered(reply));
                    *state = Cow::Owned(self.step(client, &mut worker, grant, input, o));
                }
                return;
            }
            (Memory::Server(entry), Role::Server, Body::Request(command)) => {
                let (entry, reply) = serve(&self.setup, entry, usize::from(src) as u8, command);
                *state = Cow::Owned(Memory::Server(entry));
                reply
            }
            (Memory::Store { version, lost, grant, stale }, Role::Store, Body::Request(command)) => {
                let Command::Write { seen, .. } = command else {
                    return answer(src, message, Reply::Account(Seen(version)), o);
                };
                let lost = lost || seen != Seen(version);
                let stale = stale || message.grant != 0 && message.grant < grant;
                let (version, grant) = (version + 1, grant.max(message.grant));
                *state = Cow::Owned(Memory::Store { version, lost, grant, stale });
                Reply::Account(Seen(version))
            }
            _ => return,
        };
        answer(src, message, reply, o);
    }

    fn on_timeout(&self, _: Id, state: &mut Cow<'_, Memory>, timer: &Timer, o: &mut Out<Self>) {
        let (Memory::Client { core, grant }, Role::Client(client)) = (**state, self.role) else { return };
        let input = match timer {
            Timer::Start => Input::Acquire,
            Timer::Wake => Input::Wake,
        };
        *state = Cow::Owned(self.step(client, &mut unpack(&self.setup, client, core), grant, input, o));
    }
}

fn answer(to: Id, request: Message, reply: Reply, o: &mut Out<Process>) {
    if request.awaited {
        o.send(to, Message { body: Body::Reply(reply), age: FRESH, awaited: true, grant: 0 });
    }
}

/// The two commands of the plain lease.
fn serve(setup: &Setup, entry: Option<Entry>, client: u8, command: Command) -> (Option<Entry>, Reply) {
    let Command::Lock { verb, token, .. } = command else { return (entry, Reply::Nothing) };
    let own = entry.is_some_and(|entry| (entry.client, entry.token) == (client, token));
    match (verb, entry) {
        (Verb::SetNxPx, None) => {
            let left = setup.policy.ttl.map_or(0, |ttl| ttl.0);
            (Some(Entry { client, token, left }), Reply::Done)
        }
        (Verb::SetNxPx, Some(_)) => (entry, Reply::Taken { own, fence: None }),
        (Verb::CompareAndDelete, Some(_)) if own => (None, Reply::Done),
        _ => (entry, Reply::Nothing),
    }
}

#[derive(Default)]
struct Effects(Vec<Effect>);

impl Outbox for Effects {
    fn push(&mut self, effect: Effect) {
        self.0.push(effect);
    }
}

/// An actor model in which time passes for all at once.
#[derive(Clone)]
pub struct Timed {
    setup: Arc<Setup>,
    model: ActorModel<Process>,
}

/// A step: of an actor, or of time.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// An actor gets a message, or its timer fires.
    Actor(ActorModelAction<Message, Timer, ()>),
    /// One tick passes.
    Tick,
}

type State = ActorModelState<Process>;
type Lanes = std::collections::BTreeMap<(Id, Id), std::collections::VecDeque<Message>>;

impl Model for Timed {
    type State = State;
    type Action = Step;

    fn init_states(&self) -> Vec<State> {
        self.model.init_states()
    }

    fn actions(&self, state: &State, actions: &mut Vec<Step>) {
        let mut steps = Vec::new();
        self.model.actions(state, &mut steps);
        let now = |step: &ActorModelAction<_, _, _>| match step {
            ActorModelAction::Timeout(id, Timer::Wake) => self.is_due(state, usize::from(*id), |window| window.from),
            ActorModelAction::Timeout(_, Timer::Start) | ActorModelAction::Deliver { .. } => true,
            ActorModelAction::Drop(_)
            | ActorModelAction::Crash(_)
            | ActorModelAction::Recover(_)
            | ActorModelAction::SelectRandom { .. } => false,
        };
        actions.extend(steps.into_iter().filter(now).map(Step::Actor));
        if self.can_tick(state) {
            actions.push(Step::Tick);
        }
    }

    fn next_state(&self, state: &State, step: Step) -> Option<State> {
        let Step::Actor(step) = step else { return self.tick(state) };
        let client = match &step {
            ActorModelAction::Timeout(id, _) => usize::from(*id),
            ActorModelAction::Deliver { dst, .. } => usize::from(*dst),
            ActorModelAction::Drop(_)
            | ActorModelAction::Crash(_)
            | ActorModelAction::Recover(_)
            | ActorModelAction::SelectRandom { .. } => return None,
        };
        let mut next = self.model.next_state(state, step)?;
        self.forget_answers(state, &mut next, client);
        self.note_grant(state, &mut next);
        self.rank_tokens(&mut next);
        rank_grants(&mut next);
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("mutual-exclusion", |model: &Self, state: &State| {
                let believes = |client: &u8| {
                    let worker = model.worker(state, usize::from(*client));
                    let config = World::config(&model.setup, *client);
                    worker.is_some_and(|worker| worker.locks().believes(&config, SLOT, Time(0)))
                };
                (0..model.setup.clients.len() as u8).filter(believes).count() <= 1
            }),
            Property::always("no-lost-update", |_: &Self, state: &State| {
                !state.actor_states.iter().any(|memory| matches!(**memory, Memory::Store { lost: true, .. }))
            }),
            Property::always("no-stale-write", |_: &Self, state: &State| {
                !state.actor_states.iter().any(|memory| matches!(**memory, Memory::Store { stale: true, .. }))
            }),
        ]
    }
}

impl Timed {
    fn worker(&self, state: &State, client: usize) -> Option<Worker> {
        match **state.actor_states.get(client)? {
            Memory::Client { core, .. } => Some(unpack(&self.setup, client as u8, core)),
            Memory::Server(_) | Memory::Store { .. } => None,
        }
    }

    fn is_due(&self, state: &State, client: usize, of: impl Fn(protocol::Window) -> Time) -> bool {
        let window = self.worker(state, client).and_then(|w| w.wake(&World::config(&self.setup, client as u8)));
        window.is_some_and(|window| of(window) == Time(0))
    }

    /// A tick waits for what is due, and for every message that has been under way for as long as it may.
    fn can_tick(&self, state: &State) -> bool {
        let late = |message: &Message| u32::from(message.age) >= self.setup.latency_greatest.0;
        let is_due = (0..self.setup.clients.len()).any(|client| self.is_due(state, client, |window| window.by));
        !is_due && !lanes(state).is_some_and(|lanes| lanes.values().flatten().any(late))
    }

    fn tick(&self, state: &State) -> Option<State> {
        let mut next = state.clone();
        for (index, memory) in next.actor_states.iter_mut().enumerate() {
            let after = match **memory {
                Memory::Client { core, grant } => {
                    let mut worker = unpack(&self.setup, index as u8, core);
                    worker.rebase(Ticks(1));
                    Memory::Client { core: pack(&self.setup, index as u8, &worker), grant }
                }
                Memory::Server(entry) => {
                    let older = entry.map(|entry| Entry { left: entry.left - 1, ..entry });
                    Memory::Server(older.filter(|entry| entry.left > 0))
                }
                Memory::Store { .. } => **memory,
            };
            if after != **memory {
                *memory = Arc::new(after);
            }
        }
        let lanes = lanes_mut(&mut next)?;
        lanes.values_mut().flatten().for_each(|message| message.age += 1);
        (next != *state).then_some(next)
    }

    /// What a client no longer waits for: its request is not answered, and an answer is taken out of the network.
    fn forget_answers(&self, before: &State, after: &mut State, client: usize) {
        let workers = (self.worker(before, client), self.worker(after, client));
        let stores = Id::from(self.setup.clients.len() + 1);
        let Some(lanes) = lanes_mut(after) else { return };
        if let (Some(before), Some(after)) = workers {
            let id = Id::from(client);
            for ((src, dst), lane) in lanes.iter_mut().filter(|((src, dst), _)| *src == id || *dst == id) {
                let place = if *src == stores || *dst == stores { Place::Store } else { SERVER_PLACE };
                if before.awaited(place) != after.awaited(place) {
                    lane.retain(|message| message.age == FRESH || *src == id);
                    lane.iter_mut().filter(|message| message.age != FRESH).for_each(|message| message.awaited = false);
                }
            }
        }
        lanes.retain(|_, lane| !lane.is_empty());
        lanes.values_mut().flatten().filter(|message| message.age == FRESH).for_each(|message| message.age = 0);
    }

    /// Numbers a grant, if the server has just written an entry of an acquisition that its client is still at.
    fn note_grant(&self, before: &State, after: &mut State) {
        let server = self.setup.clients.len();
        let (Memory::Server(None), Memory::Server(Some(entry))) =
            (&*before.actor_states[server], &*after.actor_states[server])
        else {
            return;
        };
        let (client, token) = (usize::from(entry.client), entry.token);
        let is_current = self.worker(after, client).is_some_and(|worker| worker.locks().current(SLOT) == Some(token));
        let mut last = 0;
        each_grant(after, |grant| last = last.max(*grant));
        if let Memory::Client { core, .. } = *after.actor_states[client]
            && is_current
        {
            after.actor_states[client] = Arc::new(Memory::Client { core, grant: last + 1 });
        }
    }

    /// Numbers the acquisitions of each client by rank: otherwise there would be no end of states.
    fn rank_tokens(&self, state: &mut State) {
        for client in 0..self.setup.clients.len() {
            let Some(mut worker) = self.worker(state, client) else { continue };
            let mut used = 1u64 << worker.locks().token(SLOT).0;
            each_token(state, client, |token| used |= 1 << token.0);
            if used & (used + 1) == 0 {
                continue;
            }
            let rank = |token: Token| Token((used & ((1 << token.0) - 1)).count_ones());
            let own = rank(worker.locks().token(SLOT));
            worker.locks_mut().set_token(SLOT, own);
            let core = pack(&self.setup, client as u8, &worker);
            if let Memory::Client { grant, .. } = *state.actor_states[client] {
                state.actor_states[client] = Arc::new(Memory::Client { core, grant });
            }
            each_token(state, client, |token| *token = rank(*token));
        }
    }
}

/// Numbers the grants by rank, and forgets the last of which a write was accepted when nobody can fall behind it.
fn rank_grants(state: &mut State) {
    let mut used = 1u64;
    let stores = state.actor_states.len() - 1;
    let Memory::Store { grant: accepted, version, lost, stale } = *state.actor_states[stores] else { return };
    if accepted != 0 {
        state.actor_states[stores] = Arc::new(Memory::Store { version, lost, grant: 0, stale });
    }
    each_grant(state, |grant| used |= 1 << *grant);
    let least = (used & !1).trailing_zeros();
    if accepted != 0 && least < u32::from(accepted) {
        used |= 1 << accepted;
        state.actor_states[stores] = Arc::new(Memory::Store { version, lost, grant: accepted, stale });
    }
    if used & (used + 1) != 0 {
        each_grant(state, |grant| *grant = (used & ((1 << *grant) - 1)).count_ones() as u8);
    }
}

/// Visits the numbers of all grants.
fn each_grant(state: &mut State, mut visit: impl FnMut(&mut u8)) {
    for memory in &mut state.actor_states {
        let mut after = **memory;
        match &mut after {
            Memory::Client { grant, .. } | Memory::Store { grant, .. } => visit(grant),
            Memory::Server(_) => continue,
        }
        if after != **memory {
            *memory = Arc::new(after);
        }
    }
    let Some(lanes) = lanes_mut(state) else { return };
    lanes.values_mut().flatten().for_each(|message| visit(&mut message.grant));
}

/// Visits the acquisitions of a client that the server or a message names.
fn each_token(state: &mut State, client: usize, mut visit: impl FnMut(&mut Token)) {
    for memory in &mut state.actor_states {
        let Memory::Server(Some(mut entry)) = **memory else { continue };
        if usize::from(entry.client) == client {
            let before = entry.token;
            visit(&mut entry.token);
            if entry.token != before {
                *memory = Arc::new(Memory::Server(Some(entry)));
            }
        }
    }
    let Some(lanes) = lanes_mut(state) else { return };
    let own = lanes.iter_mut().filter(|((src, _), _)| usize::from(*src) == client);
    for message in own.flat_map(|(_, lane)| lane) {
        if let Body::Request(Command::Lock { token, .. }) = &mut message.body {
            visit(token);
        }
    }
}

fn lanes(state: &State) -> Option<&Lanes> {
    match &state.network {
        Network::Ordered(lanes) => Some(lanes),
        Network::UnorderedDuplicating(..) | Network::UnorderedNonDuplicating(_) => None,
    }
}

fn lanes_mut(state: &mut State) -> Option<&mut Lanes> {
    match &mut state.network {
        Network::Ordered(lanes) => Some(lanes),
        Network::UnorderedDuplicating(..) | Network::UnorderedNonDuplicating(_) => None,
    }
}

fn pack(setup: &Setup, client: u8, worker: &Worker) -> u128 {
    let mut tape = Bits { bits: 0, at: 0, reads: false };
    let mut worker = *worker;
    worker.fold(&World::config(setup, client), &mut tape);
    tape.bits
}

fn unpack(setup: &Setup, client: u8, bits: u128) -> Worker {
    let config = World::config(setup, client);
    let mut worker = Worker::new(&config);
    worker.fold(&config, &mut Bits { bits, at: 0, reads: true });
    worker
}

/// A tape of 128 bits.
struct Bits {
    bits: u128,
    at: u32,
    reads: bool,
}

/// Bits of an instant: no deadline of the leases here is further ahead.
const TIME_BITS: u32 = 6;
/// Bits of a number that is kept by rank, and of a version.
const RANK_BITS: u32 = 5;

impl Tape for Bits {
    fn number(&mut self, value: &mut u32, bits: u32) {
        if self.reads {
            *value = (self.bits >> self.at) as u32 & ((1 << bits) - 1);
        } else {
            assert!(*value >> bits == 0, "a field of {bits} bits cannot hold {value}");
            self.bits |= u128::from(*value) << self.at;
        }
        self.at += bits;
        assert!(self.at <= u128::BITS, "a client takes more than 128 bits");
    }

    fn time(&mut self, value: &mut Time) {
        self.number(&mut value.0, TIME_BITS);
    }

    fn nodes(&mut self, value: &mut Nodes) {
        self.small(&mut value.0, 1);
    }

    fn token(&mut self, value: &mut Token) {
        self.number(&mut value.0, RANK_BITS);
    }

    fn fence(&mut self, value: &mut Fence) {
        self.number(&mut value.0, RANK_BITS);
    }

    fn seen(&mut self, value: &mut Seen) {
        self.number(&mut value.0, RANK_BITS);
    }
}
