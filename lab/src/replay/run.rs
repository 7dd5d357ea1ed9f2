//! One replay: the choices of a schedule, one after the other, in the model and on real servers.

use std::collections::{BTreeMap, VecDeque};

use check::Choice;
use protocol::{
    Acquire, Command, Effect, Fencing, Input, Outcome, Place, QuorumOf, Reply, Resource, Slot, Verb, Worker,
};
use redis::{Value, cmd};
use world::{
    Acquisition, Action, Direction, Event, Expiry, Observer, Persistence, Process, Running, Setup, Site, World,
};

use super::actor::{Actor, Answer, Letter, Request, token};
use super::damage::{Damage, Key, Sight};
use super::stage::{PATIENCE, Stage, Trouble, exchange};
use crate::account::{Account, Write};
use crate::words::{Sender, Wire, Words};

/// The milliseconds of a tick, where nothing else depends on it.
const TICK: u64 = 1000;

/// What an account holds at first.
pub(crate) const DEPOSIT: i64 = 100;

/// What a write takes from it.
pub(crate) const WITHDRAWAL: i64 = 10;

/// What is published after each release, so that whoever listens knows that there is no more to come.
const MARK: &[u8] = b"mark";

/// How a replay can end early.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Halt {
    /// The schedule cannot be followed any further: the model does not take this step here.
    Impossible(String),
    /// The model and the real run part here.
    Diverged(String),
    /// Something that real servers cannot be made to do.
    CannotBeDone(String),
    /// Something went wrong that is neither's fault.
    Trouble(Trouble),
}

impl<E: Into<Trouble>> From<E> for Halt {
    fn from(error: E) -> Self {
        Self::Trouble(error.into())
    }
}

/// What the model and the real run do not agree on.
pub(super) fn diverged<T>(model: impl std::fmt::Display, real: impl std::fmt::Display) -> Result<T, Halt> {
    Err(Halt::Diverged(format!("the model says {model}, the real run says {real}")))
}

/// A replay under way.
pub(crate) struct Run<'a> {
    pub(super) setup: &'a Setup,
    pub(super) names: &'a [String],
    pub(super) stage: &'a mut Stage,
    pub(super) world: World,
    pub(super) actors: Vec<Actor>,
    pub(super) words: Vec<Words>,
    pub(super) accounts: Vec<Account>,
    /// What is under way, by its name in the model.
    letters: BTreeMap<u32, Letter>,
    /// The milliseconds of a tick.
    pub(super) tick: u64,
    /// How many ticks have passed.
    pub(super) ticks: u32,
    /// How many writes each account has accepted in the model.
    pub(super) versions: Vec<u32>,
    /// The whole milliseconds since 1970 that all clocks showed at first.
    pub(super) begin: u64,
    pub(super) damage: Damage,
}

/// What the model says of a step, in order.
#[derive(Default)]
struct Heard(VecDeque<Event>);

impl Observer for Heard {
    fn event(&mut self, event: Event) {
        self.0.push_back(event);
    }
}

impl<'a> Run<'a> {
    /// Before the first step.
    ///
    /// # Errors
    /// If the servers cannot be made ready.
    pub(crate) fn new(setup: &'a Setup, names: &'a [String], stage: &'a mut Stage) -> Result<Self, Trouble> {
        stage.clear(setup)?;
        let tick = match setup.persistence {
            // What is brought to disk every second is so every so many ticks.
            Persistence::EverySecond => TICK / u64::from(setup.fsync_every.0.max(1)),
            Persistence::Nothing | Persistence::Always => TICK,
        };
        let world = World::new(setup);
        let words: Vec<Words> = names.iter().map(|name| Words::new(&setup.policy, name.as_bytes(), tick, 1)).collect();
        let accounts: Vec<Account> = names.iter().map(|name| account(setup, name)).collect();
        for account in &accounts {
            account.open(DEPOSIT).exec(stage.bank())?;
        }
        for node in 0..setup.policy.nodes {
            for (words, counter) in words.iter().zip(world.nodes[usize::from(node)].memory.counters) {
                if counter.0 > 0 {
                    stage.node(node).ask(cmd("SET").arg(&words.names.fence).arg(counter.0))?;
                }
            }
        }
        if setup.persistence == Persistence::EverySecond {
            stage.pulse(|_| true)?;
            stage.tick(1000, None)?;
            stage.settle(|_| true)?;
        }
        let replicas = world.replicas.len() as u8;
        (0..replicas).try_for_each(|replica| stage.replicate(replica))?;
        Ok(Self {
            actors: (0..setup.clients.len() as u8).map(|client| Actor::new(setup, client)).collect(),
            begin: stage.now(),
            versions: vec![0; names.len()],
            damage: Damage::default(),
            letters: BTreeMap::new(),
            ticks: 0,
            setup,
            names,
            stage,
            world,
            words,
            accounts,
            tick,
        })
    }

    /// One step.
    ///
    /// # Errors
    /// If the model and the real run part here, or it cannot be done.
    pub(crate) fn step(&mut self, action: Action) -> Result<(), Halt> {
        let mut possible = Vec::new();
        self.world.actions(self.setup, &mut possible);
        if !possible.contains(&action) {
            return Err(Halt::Impossible(format!("`{}` cannot happen here", Choice(action))));
        }
        let before = self.world.clone();
        let mut heard = Heard::default();
        self.world.apply(self.setup, action, &mut heard);
        self.act(action, &before, &mut heard)?;
        self.lose(&heard);
        if let Some(event) = heard.0.iter().find(|event| is_of_core(event)) {
            return diverged(format!("{event:?}"), "nothing of it");
        }
        self.compare()
    }

    fn act(&mut self, action: Action, before: &World, heard: &mut Heard) -> Result<(), Halt> {
        match action {
            Action::Start(client) => self.core(client, Input::Acquire, heard),
            Action::Wake(client) => self.core(client, Input::Wake, heard),
            Action::Cancel(client) | Action::CancelUnsent(client) => {
                self.lose(heard);
                self.core(client, Input::Cancel, heard)
            }
            Action::Deliver(lane, _) if lane.direction == Direction::Request => self.serve(heard),
            Action::Deliver(..) => self.answer(heard),
            Action::Tick => self.pass(None, before),
            Action::Lag(process) => self.pass(Some(process), before),
            Action::Gain(Process::Client(client)) => {
                self.actors[usize::from(client)].tick();
                Ok(())
            }
            Action::Gain(Process::Node(node)) => Ok(self.stage.jump(node, self.tick as i64)?),
            Action::JumpForward(node) => self.jump(node, 1),
            Action::JumpBack(node) => self.jump(node, -1),
            Action::Crash(client) => {
                let actor = &mut self.actors[usize::from(client)];
                actor.worker.crash();
                actor.listening.clear();
                self.damage.crash(client);
                Ok(())
            }
            Action::Restart(node) => {
                self.stage.kill(node)?;
                self.break_connections(node);
                if self.setup.persistence == Persistence::Nothing {
                    self.damage.forget(node);
                }
                self.come_up(node, before)
            }
            Action::Replicate(replica) => Ok(self.stage.replicate(replica)?),
            Action::Failover(replica) => {
                self.stage.fail_over(replica);
                self.break_connections(0);
                Ok(())
            }
            Action::Evict(node, key) => self.delete(node, self.words[usize::from(key.0)].names.key.clone()),
            Action::EvictCounter(node, key) => self.delete(node, self.words[usize::from(key.0)].names.fence.clone()),
            Action::Duplicate(..) => {
                for event in &heard.0 {
                    if let Event::Duplicated { tag, copy } = event
                        && let Some(letter) = self.letters.get(tag).cloned()
                    {
                        self.letters.insert(*copy, letter);
                    }
                }
                Ok(())
            }
            // These are up to the replayer alone: it steps no client that is paused, and delivers no message that is held up
            // or lost.
            Action::Resume(_)
            | Action::Rejoin(_)
            | Action::Heal(_)
            | Action::Pause(_)
            | Action::Delay(..)
            | Action::Drop(..)
            | Action::Cut(_) => Ok(()),
        }
    }

    /// Steps a core, and holds what it does against the model.
    fn core(&mut self, client: u8, input: Input, heard: &mut Heard) -> Result<(), Halt> {
        let before = self.actors[usize::from(client)].worker;
        let effects = self.actors[usize::from(client)].step(self.setup, client, self.ticks, input);
        self.hang_up(client);
        let mut unsent = Vec::new();
        for effect in effects {
            let Some(event) = heard.next_of(client) else { return diverged("nothing", format!("{effect:?}")) };
            match (effect, event) {
                (Effect::Tell(notice), Event::Told { notice: expected, .. })
                    if self.is_same_notice(notice, expected) =>
                {
                    self.note_grants_of_few(client, notice);
                }
                (Effect::Send { op, command }, Event::Unsent { command: expected, .. })
                    if self.is_same(command, expected) =>
                {
                    unsent.push(op);
                }
                (Effect::Send { op, command }, Event::Sent { site, tag, command: expected, .. })
                    if self.is_same(command, expected) && site == Site::of(op.place) =>
                {
                    let request = self.request(client, op, command, &before);
                    self.letters.insert(tag, Letter::Request(request));
                }
                (effect, event) => return diverged(format!("{event:?}"), format!("{effect:?}")),
            }
        }
        for op in unsent {
            self.core(client, Input::Settled(op, Outcome::Refused), heard)?;
        }
        Ok(())
    }

    fn note_grants_of_few(&mut self, client: u8, notice: protocol::Notice) {
        let is_of_few = self.setup.policy.quorum_of != QuorumOf::All && self.setup.policy.acquire != Acquire::Unlocked;
        if !is_of_few || !matches!(notice, protocol::Notice::Acquired { .. }) {
            return;
        }
        for (slot, _) in World::slots(self.setup, client) {
            if let Some(token) = self.actors[usize::from(client)].worker.locks().current(slot) {
                self.damage.told(client, slot, token);
            }
        }
    }

    fn request(&mut self, client: u8, op: protocol::OpId, command: Command, before: &Worker) -> Request {
        let actor = &mut self.actors[usize::from(client)];
        let (wire, by, grant) = match command {
            Command::Lock { resource, verb, token: number, mint } => {
                let slot = match op.place {
                    Place::Lock(slot, _) => slot,
                    Place::Store => Slot(0),
                };
                let token = token(self.setup.policy.owner, client, slot, number);
                let now = self.begin + u64::from(self.ticks + self.setup.offset_of(client)) * self.tick;
                let wire = self.words[usize::from(resource.0)].wire(verb, mint, Sender { token: &token, now });
                (wire, Some(Acquisition { client, slot, token: number, bereft: false }), 0)
            }
            Command::Read { account, fence } => (self.accounts[usize::from(account.0)].read(fence).into(), None, 0),
            Command::Check { account, fence } => (self.accounts[usize::from(account.0)].check(fence).into(), None, 0),
            Command::Write { account, fence, seen } => {
                actor.writes += 1;
                let name = format!("{}/{}", char::from(b'A' + client), actor.writes);
                let balance = actor.balance - WITHDRAWAL;
                let write = Write { fence, seen, balance, name: name.as_bytes() };
                let slot = Worker::account_slot(&World::config(self.setup, client));
                let grant = before.locks().current(slot).map_or(0, |token| self.damage.grant(client, slot, token));
                (self.accounts[usize::from(account.0)].write(write).into(), None, grant)
            }
        };
        Request { op, command, wire, by, grant }
    }

    /// A request comes to its server.
    fn serve(&mut self, heard: &mut Heard) -> Result<(), Halt> {
        let served = heard.0.iter().find_map(|event| {
            let Event::Served { client, site, tag, reply, answer, .. } = *event else { return None };
            Some((client, site, tag, reply, answer))
        });
        // The server is down: the model loses it, and so does a connection that is refused.
        let Some((client, site, tag, expected, answer)) = served else { return Ok(()) };
        let Some(Letter::Request(request)) = self.letters.remove(&tag) else {
            return diverged(format!("request {tag} arrives"), "there is no such request");
        };
        let (answered, keys) = match site {
            Site::Node(node) => {
                let (value, was, is) = self.ask_node(client, node, &request, heard)?;
                (Answer::Lock(value), Some((node, was, is)))
            }
            Site::Store => (Answer::Account(self.ask_account(client, &request)?), None),
        };
        let reply = self.read(client, &request, &answered, self.begin + u64::from(self.ticks) * self.tick)?;
        if !is_same_reply(reply, expected) {
            return diverged(format!("the server answers {expected:?}"), format!("{reply:?}"));
        }
        if let (Some((node, was, is)), Some(by), Command::Lock { resource, verb, .. }) =
            (keys, request.by, request.command)
        {
            let quorum = self.setup.policy.quorum;
            let nests = self.setup.policy.reentrance != protocol::Reentrance::Nothing;
            let is_done = reply == Reply::Done;
            self.damage.served(Sight { node, resource, verb, by, was, is, is_done, quorum, nests });
        }
        if let (Command::Write { account, seen, .. }, Reply::Account(_)) = (request.command, reply) {
            let is_new = matches!(answered, Answer::Account(crate::account::Answer::Accepted { again: false, .. }));
            self.versions[usize::from(account.0)] += u32::from(is_new);
            if let Answer::Account(found) = &answered {
                self.damage.write(client, account, *found, seen, request.grant);
            }
        }
        if let Some(tag) = answer {
            self.letters.insert(tag, Letter::Reply(request, answered));
        }
        // Where an exchange is one step, the answer is there at once.
        if heard.0.iter().any(|event| matches!(event, Event::Answered { .. })) { self.answer(heard) } else { Ok(()) }
    }

    fn ask_node(&mut self, client: u8, node: u8, request: &Request, heard: &Heard) -> Result<(Value, Key, Key), Halt> {
        let Command::Lock { resource, verb, .. } = request.command else {
            return diverged("a lock server is asked", "the account is");
        };
        if verb == Verb::Wait {
            let why = "a server is asked to wait for replicas that copy it only when the schedule says so";
            return Err(Halt::CannotBeDone(why.to_owned()));
        }
        let key = self.words[usize::from(resource.0)].names.key.clone();
        let was = self.look(node, &key)?;
        let answer = match &request.wire {
            wire @ Wire::Subscribe(_) => {
                let Place::Lock(slot, _) = request.op.place else { return diverged("a lock", "the account") };
                let mut line = self.stage.node(node).connect()?;
                let answer = exchange(&mut line, wire)?;
                self.actors[usize::from(client)].listening.insert((node, slot), line);
                answer
            }
            wire @ (Wire::Command(_) | Wire::Script(_)) => {
                let line = match self.actors[usize::from(client)].lines.entry(Site::Node(node)) {
                    std::collections::btree_map::Entry::Occupied(line) => line.into_mut(),
                    std::collections::btree_map::Entry::Vacant(free) => free.insert(self.stage.node(node).connect()?),
                };
                exchange(line, wire)?
            }
        };
        let is = self.look(node, &key)?;
        self.hear(node, resource, heard)?;
        Ok((answer, was, is))
    }

    fn ask_account(&mut self, client: u8, request: &Request) -> Result<crate::account::Answer, Halt> {
        let account = request.command.resource();
        let line = match self.actors[usize::from(client)].lines.entry(Site::Store) {
            std::collections::btree_map::Entry::Occupied(line) => line.into_mut(),
            std::collections::btree_map::Entry::Vacant(free) => free.insert(self.stage.connect_to_bank()?),
        };
        let value = exchange(line, &request.wire)?;
        let answer = self.accounts[usize::from(account.0)].answer(&value);
        answer.map_err(|error| Halt::Diverged(error.to_string()))
    }

    /// Takes the notifications of a release from the connections of those who listen, as many as the model says.
    fn hear(&mut self, node: u8, resource: Resource, heard: &Heard) -> Result<(), Halt> {
        let channel = self.words[usize::from(resource.0)].names.channel.clone();
        let told: Vec<(u8, Slot, u32)> = heard
            .0
            .iter()
            .filter_map(|event| {
                let Event::Published { client, slot, tag, .. } = *event else { return None };
                Some((client, slot, tag))
            })
            .collect();
        if self.actors.iter().all(|actor| actor.listening.keys().all(|(there, _)| *there != node)) {
            return if told.is_empty() { Ok(()) } else { diverged("somebody is notified", "nobody listens") };
        }
        self.stage.node(node).ask(cmd("PUBLISH").arg(&channel).arg(MARK))?;
        for (client, actor) in (0..).zip(&mut self.actors) {
            for ((_, slot), line) in actor.listening.iter_mut().filter(|((there, _), _)| *there == node) {
                let lock = self.setup.clients[usize::from(client)].as_slice()[usize::from(slot.0)];
                if lock != resource {
                    continue;
                }
                let count = notifications(line)?;
                let expected = told.iter().find(|(to, of, _)| (*to, *of) == (client, *slot));
                match (count, expected) {
                    (0, None) => {}
                    (1.., Some((_, _, tag))) => {
                        self.letters.insert(*tag, Letter::Freed(*slot));
                    }
                    // One that is as good as another that is still under way.
                    (1.., None) => {}
                    (0, Some(_)) => return diverged("a client is notified", "it is not"),
                }
            }
        }
        Ok(())
    }

    /// An answer comes to its client.
    fn answer(&mut self, heard: &mut Heard) -> Result<(), Halt> {
        let found = heard.0.iter().find_map(|event| {
            let Event::Answered { client, tag, reply, .. } = *event else { return None };
            Some((client, tag, reply))
        });
        let Some((client, tag, expected)) = found else { return Ok(()) };
        let input = match self.letters.remove(&tag) {
            Some(Letter::Freed(slot)) if expected == Reply::Freed => Input::Notified(slot),
            Some(Letter::Reply(request, answered)) => {
                let now = self.begin + u64::from(self.ticks + self.setup.offset_of(client)) * self.tick;
                let reply = self.read(client, &request, &answered, now)?;
                if !is_same_reply(reply, expected) {
                    return diverged(format!("{expected:?} is heard"), format!("{reply:?}"));
                }
                if let Answer::Account(
                    crate::account::Answer::Holds(now) | crate::account::Answer::Accepted { now, .. },
                ) = answered
                {
                    self.actors[usize::from(client)].balance = now.balance;
                }
                Input::Settled(request.op, Outcome::Answered(reply))
            }
            other => return diverged(format!("answer {tag} arrives"), format!("{other:?}")),
        };
        self.core(client, input, heard)
    }

    /// What an answer means to its client, whose wall clock reads `now`.
    fn read(&self, client: u8, request: &Request, answer: &Answer, now: u64) -> Result<Reply, Halt> {
        let (value, command) = match answer {
            Answer::Account(answer) => return Ok(answer.reply()),
            Answer::Lock(value) => (value, request.command),
        };
        let Command::Lock { resource, verb, mint, token: number } = command else {
            return diverged("a lock server answers", "the account does");
        };
        let slot = request.by.map_or(Slot(0), |by| by.slot);
        let token = token(self.setup.policy.owner, client, slot, number);
        let words = &self.words[usize::from(resource.0)];
        let reply = words.reply(verb, mint, Sender { token: &token, now }, value);
        reply.map_err(|error| Halt::Diverged(error.to_string()))
    }

    /// Takes what is lost, or what nobody waits for any more, out of the world.
    fn lose(&mut self, heard: &Heard) {
        for event in &heard.0 {
            if let Event::Lost { tag } | Event::Ignored { tag } = event {
                self.letters.remove(tag);
            }
        }
    }

    fn pass(&mut self, lags: Option<Process>, before: &World) -> Result<(), Halt> {
        let every = self.setup.fsync_every.0;
        let syncs =
            self.setup.persistence == Persistence::EverySecond && every > 0 && (self.ticks + 1).is_multiple_of(every);
        let up = |node: u8| before.nodes[usize::from(node)].down == 0;
        if syncs {
            self.stage.pulse(up)?;
        }
        let lagging_node = match lags {
            Some(Process::Node(node)) => Some(node),
            Some(Process::Client(_)) | None => None,
        };
        self.stage.tick(self.tick, lagging_node)?;
        if syncs {
            self.stage.settle(up)?;
        }
        self.ticks += 1;
        for (client, actor) in (0..).zip(&mut self.actors) {
            if lags != Some(Process::Client(client)) {
                actor.tick();
            }
        }
        (0..self.setup.policy.nodes).try_for_each(|node| self.come_up(node, before))
    }

    /// Starts a lock server again that is down no longer.
    fn come_up(&mut self, node: u8, before: &World) -> Result<(), Halt> {
        let was = before.nodes[usize::from(node)].down;
        let is = self.world.nodes[usize::from(node)].down;
        let has_just_ended = was > 0 || self.stage.has_ended(node);
        if is == 0 && has_just_ended {
            self.stage.restart(node)?;
        }
        Ok(())
    }

    fn jump(&mut self, node: u8, direction: i64) -> Result<(), Halt> {
        if self.setup.expiry == Expiry::Monotonic {
            let why = "Redis lets entries expire by its wall clock: there is no other to be had";
            return Err(Halt::CannotBeDone(why.to_owned()));
        }
        let by = i64::from(self.setup.jump.0) * self.tick as i64;
        Ok(self.stage.jump(node, direction * by)?)
    }

    fn delete(&mut self, node: u8, key: Vec<u8>) -> Result<(), Halt> {
        self.stage.node(node).ask(cmd("DEL").arg(key))?;
        Ok(())
    }

    fn break_connections(&mut self, node: u8) {
        for actor in &mut self.actors {
            actor.lines.remove(&Site::Node(node));
            actor.listening.retain(|(there, _), _| *there != node);
        }
    }

    /// Ends the subscriptions of a client that no longer wants the lock.
    fn hang_up(&mut self, client: u8) {
        let actor = &mut self.actors[usize::from(client)];
        let locks = *actor.worker.locks();
        actor.listening.retain(|(_, slot), _| locks.wants(*slot));
    }

    /// The value of a key, and what is left of its life.
    pub(super) fn look(&mut self, node: u8, key: &[u8]) -> Result<(Option<Vec<u8>>, i64), Trouble> {
        let mut pipe = redis::pipe();
        pipe.cmd("GET").arg(key).cmd("PTTL").arg(key);
        let values = self.stage.node(node).pipe(&pipe)?;
        let [value, left] = values.as_slice() else { return Err(Trouble("two answers were expected".to_owned())) };
        let value = redis::from_redis_value_ref(value).map_err(|error| Trouble(error.to_string()))?;
        let left = redis::from_redis_value_ref(left).map_err(|error| Trouble(error.to_string()))?;
        Ok((value, left))
    }

    fn is_same(&self, real: Command, model: Command) -> bool {
        // The model's wall clocks stand still, and their readings grow older.
        let is_of_clock = self.setup.policy.fencing == Fencing::ClientClock;
        let fence = |real: Option<_>, model: Option<_>| {
            if is_of_clock { real.is_some() == model.is_some() } else { real == model }
        };
        match (real, model) {
            (Command::Read { account: a, fence: f }, Command::Read { account: b, fence: g })
            | (Command::Check { account: a, fence: f }, Command::Check { account: b, fence: g })
            | (Command::Write { account: a, fence: f, .. }, Command::Write { account: b, fence: g, .. }) => {
                a == b && fence(f, g)
            }
            (real, model) => real == model,
        }
    }

    fn is_same_notice(&self, real: protocol::Notice, model: protocol::Notice) -> bool {
        use protocol::Notice::Acquired;
        match (real, model) {
            (Acquired { fence: f }, Acquired { fence: g }) if self.setup.policy.fencing == Fencing::ClientClock => {
                f.is_some() == g.is_some()
            }
            (real, model) => real == model,
        }
    }

    /// Whether a client runs.
    pub(super) fn runs(&self, client: u8) -> bool {
        self.world.clients[usize::from(client)].running != Running::Crashed
    }
}

impl Heard {
    /// The next that the core of a client did in the model.
    fn next_of(&mut self, client: u8) -> Option<Event> {
        let is_next = |event: &Event| {
            matches!(event, Event::Sent { client: of, .. } | Event::Unsent { client: of, .. } | Event::Told { client: of, .. }
                if *of == client)
        };
        let place = self.0.iter().position(is_next)?;
        self.0.remove(place)
    }
}

fn is_of_core(event: &Event) -> bool {
    matches!(event, Event::Sent { .. } | Event::Unsent { .. } | Event::Told { .. })
}

/// Whether two answers say the same. Of an account the model says only whether it has changed.
fn is_same_reply(real: Reply, model: Reply) -> bool {
    matches!((real, model), (Reply::Account(_), Reply::Account(_))) || real == model
}

/// How many notifications have come until the mark.
fn notifications(line: &mut redis::Connection) -> Result<usize, Halt> {
    line.set_read_timeout(Some(PATIENCE))?;
    let mut count = 0;
    loop {
        let message = line.recv_response()?;
        let (_, _, payload): (String, Vec<u8>, Vec<u8>) =
            redis::from_redis_value(message).map_err(|error| Trouble(error.to_string()))?;
        if payload == MARK {
            return Ok(count);
        }
        count += 1;
    }
}

fn account(setup: &Setup, name: &str) -> Account {
    Account { key: format!("{name}:account").into_bytes(), check: setup.policy.program.check, compare: setup.compare }
}
