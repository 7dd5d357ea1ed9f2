//! The checks: each is run once, and as far as the limits go.

use std::collections::BTreeMap;

use world::{Budget, Fault};

use super::{Ask, Runner, SINGLE, STATES, Stage, faults_text};
use crate::report::{Limits, Report};
use crate::scenario::{Named, Property, Scenario, Verdict};
use trace::{StepKind, Trace};

/// What a check says of a property.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// It is violated.
    Breaks(Evidence),
    /// Every reachable state was searched, and it is not.
    Holds,
    /// A limit was hit.
    Undecided,
}

/// What the shortest counterexample shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Evidence {
    /// Its steps.
    pub(super) steps: usize,
    /// After how many ticks each fault strikes.
    pub(super) strikes: Vec<(Fault, u32)>,
    /// The ticks in all. A clock that drifts may count for one.
    ticks: u32,
}

impl Evidence {
    fn of(trace: &Trace) -> Self {
        let (mut ticks, mut strikes) = (0, Vec::new());
        for step in &trace.steps {
            let fault = step.fault.as_deref().and_then(Fault::named);
            strikes.extend(fault.map(|fault| (fault, ticks)));
            ticks += u32::from(step.kind == StepKind::Tick || fault == Some(Fault::Drift));
        }
        Self { steps: trace.steps.len(), strikes, ticks }
    }

    /// The most ticks for which a fault can have lasted.
    pub(super) fn lasts(&self, fault: Fault) -> u32 {
        let first = self.strikes.iter().find(|(struck, _)| *struck == fault).map(|(_, at)| *at);
        self.ticks - first.unwrap_or(self.ticks)
    }
}

/// How many states a check may visit, where it has no limit of its own.
#[derive(Clone, Copy, Debug)]
pub(super) enum Pool {
    /// So many for each check.
    Each,
    /// What is left for the stage, divided by the checks that are left.
    Shared { checks: usize },
    /// What is left for the stage.
    Common,
}

/// The checks that were run.
pub(super) struct Runs<'a, R> {
    runner: &'a mut R,
    limits: Limits,
    pool: Pool,
    left: u64,
    /// What is decided, by the hash of the scenario.
    known: BTreeMap<(u64, Property), Answer>,
    /// The most states that a check with these faults visited.
    largest: BTreeMap<String, u64>,
    checks: usize,
    states: u64,
    is_stopped: bool,
}

impl<'a, R: Runner> Runs<'a, R> {
    pub(super) fn new(runner: &'a mut R, ask: &Ask) -> Self {
        let limits = Limits { until_violated: true, every_violation: false, ..ask.limits.clone() };
        Self {
            runner,
            limits,
            pool: Pool::Common,
            left: STATES,
            known: BTreeMap::new(),
            largest: BTreeMap::new(),
            checks: 0,
            states: 0,
            is_stopped: false,
        }
    }

    /// Begins a stage.
    pub(super) fn begin(&mut self, pool: Pool) {
        self.pool = pool;
        self.left = STATES;
    }

    /// The number of checks and of states, and whether the runner stopped.
    pub(super) fn end(self) -> (usize, u64, bool) {
        (self.checks, self.states, self.is_stopped)
    }

    /// Whether so many states can still be visited at this stage.
    pub(super) fn has_room_for(&self, states: u64) -> bool {
        !self.is_stopped && (self.limits.max_states.is_some() || states <= self.left)
    }

    /// The most states that a check with these faults visited.
    pub(super) fn largest(&self, faults: &Budget) -> u64 {
        self.largest.get(&faults_text(faults)).copied().unwrap_or(1)
    }

    /// One check of a [shared](Pool::Shared) stage less.
    pub(super) fn skip(&mut self) {
        if let Pool::Shared { checks } = &mut self.pool {
            *checks = checks.saturating_sub(1);
        }
    }

    /// What is to be said of some properties, in their order, from one check of those that are not known yet.
    pub(super) fn ask(&mut self, stage: Stage, scenario: &Scenario, properties: &[Property]) -> Vec<Answer> {
        let hash = scenario.hash();
        let is_open = |p: &&Property| !self.known.contains_key(&(hash, **p));
        let open: Vec<Property> = properties.iter().filter(is_open).copied().collect();
        if !open.is_empty() && !self.is_stopped {
            self.run(stage, scenario, hash, open);
        }
        let answer = |p: &Property| self.known.get(&(hash, *p)).cloned().unwrap_or(Answer::Undecided);
        properties.iter().map(answer).collect()
    }

    /// The same of one property.
    pub(super) fn ask_one(&mut self, stage: Stage, scenario: &Scenario, property: Property) -> Answer {
        self.ask(stage, scenario, &[property]).pop().unwrap_or(Answer::Undecided)
    }

    fn run(&mut self, stage: Stage, scenario: &Scenario, hash: u64, open: Vec<Property>) {
        let share = match self.pool {
            Pool::Each => SINGLE,
            Pool::Shared { checks } => self.left / checks.max(1) as u64,
            Pool::Common => self.left,
        };
        let max_states = self.limits.max_states.or(Some(share.max(1)));
        let limits = Limits { max_states, properties: Some(open), ..self.limits.clone() };
        self.skip();
        let Some(report) = self.runner.run(stage, scenario, &limits) else {
            self.is_stopped = true;
            return;
        };
        self.checks += 1;
        self.states += report.states.unique;
        self.left = self.left.saturating_sub(report.states.unique);
        let largest = self.largest.entry(faults_text(&scenario.faults)).or_default();
        *largest = report.states.unique.max(*largest);
        for property in &report.properties {
            let answer = match (property.verdict, property.trace()) {
                (Verdict::Violated, Some(trace)) => Answer::Breaks(Evidence::of(trace)),
                (Verdict::Holds | Verdict::Vacuous, _) => Answer::Holds,
                (Verdict::Violated | Verdict::Inconclusive, _) => continue,
            };
            self.known.insert((hash, property.property), answer);
        }
    }
}

/// A runner that lets every check run to the end of its limits.
#[derive(Clone, Copy, Debug, Default)]
pub struct Plain;

impl Runner for Plain {
    fn run(&mut self, _: Stage, scenario: &Scenario, limits: &Limits) -> Option<Report> {
        crate::check(scenario, limits, &mut crate::explore::Unwatched).ok()
    }
}
