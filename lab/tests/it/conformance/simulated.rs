//! The server that the checker runs.

use protocol::{Fence, Resource, Verb};
use world::{Action, Entry, Event, Memory, Observer, Persistence, Request, Setup, World};

use super::seen::{Found, Said, Seen, Value};
use super::step::{Ask, Dialect, LOCKS, Step};

/// Hears nothing.
struct Deaf;

impl Observer for Deaf {
    fn event(&mut self, _: Event) {}
}

pub(crate) struct Simulated {
    pub(crate) dialect: Dialect,
    pub(crate) setup: Setup,
    pub(crate) world: World,
}

impl Simulated {
    pub(crate) fn new(dialect: Dialect, persistence: Persistence) -> Self {
        let setup = dialect.setup(persistence);
        let world = World::new(&setup);
        Self { dialect, setup, world }
    }

    /// Takes a step.
    pub(crate) fn step(&mut self, step: &Step) -> Option<Said> {
        match *step {
            Step::Ask(ask) => return Some(self.ask(ask)),
            Step::Pass(ticks) => (0..ticks).for_each(|_| self.apply(Action::Tick)),
            Step::Evict(lock) => self.apply(Action::Evict(0, lock)),
            Step::EvictCounter(lock) => self.apply(Action::EvictCounter(0, lock)),
            Step::Restart => self.apply(Action::Restart(0)),
            Step::Replicate(replica) => self.apply(Action::Replicate(replica)),
            Step::FailOver(replica) => self.apply(Action::Failover(replica)),
        }
        None
    }

    pub(crate) fn ask(&mut self, ask: Ask) -> Said {
        let request = Request { resource: ask.lock, verb: ask.verb, mint: ask.mint, by: ask.by(), lease: ask.lease };
        let policy = self.setup.policy;
        let served = self.memory().serve(&policy, request);
        let is_told = served.freed && policy.is_notified();
        Said { reply: served.reply, freed: usize::from(is_told) }
    }

    pub(crate) fn memory(&mut self) -> &mut Memory {
        &mut self.world.nodes[0].memory
    }

    pub(crate) fn entry(&mut self, lock: Resource) -> &mut Option<Entry> {
        &mut self.memory().entries[lock.0 as usize]
    }

    pub(crate) fn counter(&mut self, lock: Resource) -> &mut Fence {
        &mut self.memory().counters[lock.0 as usize]
    }

    /// What a reader finds, without a look at what it does.
    pub(crate) fn owns(&mut self, ask: Ask) -> bool {
        let found = *self.entry(ask.lock);
        found.is_some_and(|entry| self.dialect.token(entry.by) == self.dialect.token(ask.by()))
    }

    pub(crate) fn apply(&mut self, action: Action) {
        self.world.apply(&self.setup, action, &mut Deaf);
    }

    /// What there is to see.
    pub(crate) fn seen(&mut self, said: Option<Said>) -> Seen {
        let locks = (0..LOCKS).map(|lock| self.found(Resource(lock))).collect();
        Seen { said, locks, others: 0 }
    }

    fn found(&mut self, lock: Resource) -> Found {
        let (dialect, policy) = (self.dialect, self.setup.policy);
        let entry = self.entry(lock).map(|entry| {
            let left = entry.left.map(u32::from);
            let says = policy.keeps_expiry_in_value();
            Value {
                token: dialect.token(entry.by),
                holds: policy.reentrance.is_counted().then_some(entry.holds.into()),
                left: left.filter(|_| !says),
                says: left.filter(|_| says),
            }
        });
        Found { entry, counter: self.counter(lock).0, counter_ends: false }
    }
}

/// The verbs that overwrite an entry with a `SET`.
pub(crate) const SETS: &[Verb] = &[Verb::SetXxPx, Verb::SetPx, Verb::Claim];
