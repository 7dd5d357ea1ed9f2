//! A path through a world, told in the words of the protocol.
//!
//! The world is run again along the path, this time with every number as it was given out (the search keeps tokens
//! and grants by rank), and with an eye on what happens within each step.

mod changes;
mod dates;
mod ledger;
mod missing;
mod sentence;
mod why;
mod words;

use trace::{Actor, ActorKind, Clock, FaultBudget, PropertyRef, ScenarioRef, Step, StepKind, Trace};
use world::{Action, Direction, Event, Grain, Observer, Process, Running, Site, World};

use crate::catalogue;
use crate::choice::Choice;
use crate::explore::{Path, fingerprint};
use crate::model::LockModel;
use crate::scenario::{Named, Property, Scenario, ScenarioErrors};

use changes::changes;
use dates::dated_event;
use ledger::Ledger;
use sentence::{hops, sentence};
use words::Words;

/// The trace of a path as the explorer gives it.
pub(crate) fn narrate(scenario: &Scenario, model: &LockModel, property: Property, path: &Path) -> Trace {
    narrate_actions(scenario, model, property, &model.actions_along(path))
}

/// The trace of a path given by its actions.
pub(crate) fn narrate_actions(scenario: &Scenario, model: &LockModel, property: Property, actions: &[Action]) -> Trace {
    let mut telling = Telling::new(model, Words::new(scenario, model.setup()));
    let steps = (1..).zip(actions).map(|(n, action)| telling.step(n, *action)).collect();
    let (why, culprits) = why::why(&telling, property);
    let mut trace = Trace { steps, why, culprits, ..blank(scenario, &telling, property, actions) };
    trace::cone::mark(&mut trace);
    trace
}

/// The trace of actions that were possible in another world, as far as they are in this one, and why no further. It ends
/// in no violation that anybody knows of, so every step matters and nothing says why.
pub(crate) fn follow(
    scenario: &Scenario,
    model: &LockModel,
    property: Property,
    actions: &[Action],
) -> (Trace, Option<String>) {
    let mut telling = Telling::new(model, Words::new(scenario, model.setup()));
    let (mut steps, mut ends) = (Vec::new(), None);
    for (n, action) in (1..).zip(actions) {
        let mut possible = Vec::new();
        telling.world.actions(model.setup(), &mut possible);
        if !possible.contains(action) {
            ends = Some(telling.missing(*action));
            break;
        }
        steps.push(telling.step(n, *action));
    }
    let trace = blank(scenario, &telling, property, &actions[..steps.len()]);
    (Trace { steps, ..trace }, ends)
}

/// The steps of some actions as a trace tells them, as far as they are possible: what a trace must say that has these
/// choices. Which of them matter is left open.
///
/// # Errors
/// If the scenario is none that can be explored.
pub fn retell(scenario: &Scenario, actions: &[Action]) -> Result<Vec<Step>, ScenarioErrors> {
    let model = LockModel::new(scenario.resolve()?);
    // The property plays no part in what the steps are.
    let (trace, _) = follow(scenario, &model, Property::MutualExclusion, actions);
    Ok(trace.steps)
}

/// A trace without steps.
fn blank(scenario: &Scenario, telling: &Telling<'_>, property: Property, actions: &[Action]) -> Trace {
    let budget =
        |fault: world::Fault| FaultBudget { fault: fault.name().to_owned(), budget: scenario.faults.get(fault).into() };
    Trace {
        schema: trace::SCHEMA,
        id: format!("{:012x}", fingerprint(&(scenario.hash(), property, actions)).get() >> 16),
        scenario: ScenarioRef {
            id: scenario.id.clone(),
            title: scenario.full_title(),
            hash: scenario.hash_text(),
            toml: scenario.to_toml(),
            faults: scenario.faults.kinds().map(budget).collect(),
        },
        property: PropertyRef { name: property.name().to_owned(), says: property.says().to_owned() },
        grain: grain(telling.model).to_owned(),
        command: command(scenario, property),
        actors: telling.words.actors(telling.model.setup()),
        steps: Vec::new(),
        why: Vec::new(),
        culprits: Vec::new(),
    }
}

fn grain(model: &LockModel) -> &'static str {
    match model.setup().grain {
        Grain::Message => "message",
        Grain::Exchange => "exchange",
    }
}

/// The command that finds the trace again.
fn command(scenario: &Scenario, property: Property) -> String {
    let mut words = format!("lab check {}", scenario.id);
    if let Ok(Some(base)) = catalogue::find(&scenario.id) {
        for difference in base.differences(scenario) {
            let is_knob = crate::scenario::Knob::named(&difference.key).is_some();
            if is_knob {
                let value = difference.right.replace('"', "");
                words += &format!(" --set '{}={value}'", difference.key);
            }
        }
    }
    let faults: Vec<_> = scenario.faults.kinds().map(|f| format!("{}={}", f.name(), scenario.faults.get(f))).collect();
    if !faults.is_empty() {
        words += &format!(" --faults {}", faults.join(","));
    }
    words + &format!(" --property {}", property.name())
}

/// The events of one step, in order.
#[derive(Default)]
pub(crate) struct Events(pub(crate) Vec<Event>);

impl Observer for Events {
    fn event(&mut self, event: Event) {
        self.0.push(event);
    }
}

/// A world that is being told of.
pub(crate) struct Telling<'a> {
    model: &'a LockModel,
    words: Words,
    before: World,
    world: World,
    ledger: Ledger,
    /// How many ticks have passed.
    ticks: i64,
    /// How far each server's wall clock is off.
    jumps: Vec<i64>,
    /// How far each client's clock is off.
    drifts: Vec<i64>,
    /// What happened in the last step.
    events: Vec<Event>,
    /// Whether no step has been told of yet.
    is_beginning: bool,
}

impl<'a> Telling<'a> {
    fn new(model: &'a LockModel, words: Words) -> Self {
        let world = World::new(model.setup());
        let (jumps, drifts) = (vec![0; world.nodes.len()], vec![0; world.clients.len()]);
        let ledger = Ledger::new(model.setup());
        Self {
            model,
            words,
            before: world.clone(),
            world,
            ledger,
            ticks: 0,
            jumps,
            drifts,
            events: Vec::new(),
            is_beginning: true,
        }
    }

    fn step(&mut self, n: u32, action: Action) -> Step {
        let setup = self.model.setup();
        let mut events = Events::default();
        self.is_beginning = false;
        self.before = self.world.clone();
        self.world.apply(setup, action, &mut events);
        self.events = events.0.into_iter().map(|event| dated_event(setup, event, self.ticks)).collect();
        let ledger_before = self.ledger.balances();
        for event in &self.events {
            self.ledger.note(event);
        }
        match action {
            Action::Tick => self.ticks += 1,
            Action::JumpForward(node) => self.jumps[usize::from(node)] += i64::from(setup.jump.0),
            Action::JumpBack(node) => self.jumps[usize::from(node)] -= i64::from(setup.jump.0),
            Action::Gain(process) => *self.drift(process) += 1,
            Action::Lag(process) => {
                self.ticks += 1;
                *self.drift(process) -= 1;
            }
            Action::Start(_)
            | Action::Wake(_)
            | Action::Deliver(..)
            | Action::Resume(_)
            | Action::Rejoin(_)
            | Action::Heal(_)
            | Action::Replicate(_)
            | Action::Pause(_)
            | Action::Delay(..)
            | Action::Drop(..)
            | Action::Duplicate(..)
            | Action::Crash(_)
            | Action::Restart(_)
            | Action::Cut(_)
            | Action::Failover(_)
            | Action::Evict(..)
            | Action::EvictCounter(..) => {}
            Action::Cancel(_) | Action::CancelUnsent(_) => {}
        }
        let mut step = Step::new(n, self.actor(action), kind(action, setup.grain), sentence(self, action));
        step.choice = Choice(action).to_string();
        step.fault = action.fault().map(|fault| fault.name().to_owned());
        step.clocks = self.clocks(&step.actor);
        step.messages = hops(self);
        step.changes = changes(self, action, &ledger_before);
        step.holding = self.holding();
        step.paused = self.clients_that_are(Running::Paused);
        step.gone = self.clients_that_are(Running::Crashed);
        let down = (0..).zip(&self.world.nodes).filter(|(_, node)| node.down > 0);
        step.gone.extend(down.map(|(index, _)| self.words.site(Site::Node(index))));
        step
    }

    /// The id of the actor of an action.
    fn actor(&self, action: Action) -> String {
        match action {
            Action::Tick => trace::TIME.to_owned(),
            Action::Start(client)
            | Action::Wake(client)
            | Action::Resume(client)
            | Action::Rejoin(client)
            | Action::Pause(client)
            | Action::Crash(client)
            | Action::Cancel(client)
            | Action::CancelUnsent(client) => Words::client(client),
            Action::Deliver(lane, _) => match (lane.direction, self.model.setup().grain) {
                (Direction::Request, Grain::Message) => self.words.site(lane.site),
                (Direction::Request, Grain::Exchange) | (Direction::Reply, _) => Words::client(lane.client),
            },
            Action::Heal(link) | Action::Cut(link) => Words::client(link.client),
            Action::Gain(process) | Action::Lag(process) => self.words.process(process),
            Action::Delay(lane, _) | Action::Drop(lane, _) | Action::Duplicate(lane, _) => match lane.direction {
                Direction::Request => Words::client(lane.client),
                Direction::Reply => self.words.site(lane.site),
            },
            Action::Replicate(_) | Action::Failover(_) => self.words.site(Site::Node(0)),
            Action::Restart(node)
            | Action::JumpForward(node)
            | Action::JumpBack(node)
            | Action::Evict(node, _)
            | Action::EvictCounter(node, _) => self.words.site(Site::Node(node)),
        }
    }

    /// How far the clock of a process is off.
    fn drift(&mut self, process: Process) -> &mut i64 {
        match process {
            Process::Client(client) => &mut self.drifts[usize::from(client)],
            Process::Node(node) => &mut self.jumps[usize::from(node)],
        }
    }

    /// What a client's clock shows.
    fn clock_of(&self, client: u8) -> i64 {
        self.ticks + self.drifts[usize::from(client)]
    }

    /// What every clock shows, the actor's first.
    fn clocks(&self, actor: &str) -> Vec<Clock> {
        let clients = (0..self.world.clients.len() as u8).map(|c| (Words::client(c), self.clock_of(c)));
        let nodes = (0..).zip(&self.jumps).map(|(n, jump)| (self.words.site(Site::Node(n)), self.ticks + jump));
        let store = std::iter::once((self.words.site(Site::Store), self.ticks));
        let mut clocks: Vec<_> = clients.chain(nodes).chain(store).map(|(actor, time)| Clock { actor, time }).collect();
        clocks.sort_by_key(|clock| clock.actor != actor);
        clocks
    }

    /// The clients that believe they hold a lock; if one is in dispute, that one.
    fn holding(&self) -> Vec<String> {
        let setup = self.model.setup();
        let disputed = why::disputed(&self.world, setup);
        let believes = |client: &u8| {
            World::slots(setup, *client)
                .filter(|(_, resource)| disputed.is_none_or(|d| d == *resource))
                .any(|(slot, _)| self.world.believes(setup, *client, slot))
        };
        (0..self.world.clients.len() as u8).filter(believes).map(Words::client).collect()
    }

    fn clients_that_are(&self, running: Running) -> Vec<String> {
        let clients = (0..).zip(&self.world.clients);
        clients.filter(|(_, c)| c.running == running).map(|(index, _)| Words::client(index)).collect()
    }
}

fn kind(action: Action, grain: Grain) -> StepKind {
    match action {
        Action::Start(_) => StepKind::Start,
        Action::Wake(_) => StepKind::Wake,
        Action::Deliver(lane, _) => match (lane.direction, grain) {
            (Direction::Request, Grain::Exchange) => StepKind::Exchange,
            (Direction::Request, Grain::Message) => StepKind::Request,
            (Direction::Reply, _) => StepKind::Reply,
        },
        Action::Tick => StepKind::Tick,
        Action::Resume(_) => StepKind::Resume,
        Action::Rejoin(_) => StepKind::Rejoin,
        Action::Heal(_) => StepKind::Heal,
        Action::Replicate(_) => StepKind::Replicate,
        Action::Pause(_)
        | Action::Delay(..)
        | Action::Drop(..)
        | Action::Duplicate(..)
        | Action::Crash(_)
        | Action::Restart(_)
        | Action::JumpForward(_)
        | Action::JumpBack(_)
        | Action::Gain(_)
        | Action::Lag(_)
        | Action::Cut(_)
        | Action::Failover(_)
        | Action::Evict(..)
        | Action::EvictCounter(..) => StepKind::Fault,
        Action::Cancel(_) | Action::CancelUnsent(_) => StepKind::Fault,
    }
}

impl Words {
    fn actors(&self, setup: &world::Setup) -> Vec<Actor> {
        let clients = (0..setup.clients.len() as u8).map(|client| Actor {
            id: Self::client(client),
            name: format!("client {}", Self::client(client)),
            kind: ActorKind::Client,
        });
        let locked = setup.policy.acquire != protocol::Acquire::Unlocked;
        let nodes = (0..setup.policy.nodes).filter(|_| locked).map(|node| Actor {
            id: self.site(Site::Node(node)),
            name: self.site_name(Site::Node(node)),
            kind: ActorKind::Server,
        });
        let store = Actor { id: self.site(Site::Store), name: self.site_name(Site::Store), kind: ActorKind::Resource };
        clients.chain(nodes).chain(std::iter::once(store)).collect()
    }
}
