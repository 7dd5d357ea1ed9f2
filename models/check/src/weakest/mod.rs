//! The smallest sets of faults that break each property, each fault as small as can be.
//!
//! Everything is found by running: a set of faults breaks a property if a check of the scenario with these faults finds
//! a violation, and it is minimal if the checks with all smaller sets were exhausted and found none. How large a fault
//! has to be is found in the same way, by turning the knob of its magnitude until the violation is gone; and so is how
//! that depends on the numbers of the scenario, by changing them.
//!
//! Nothing here runs a check by itself: a [`Runner`] does, which may show progress, set limits or stop.

mod dial;
mod formula;
mod measure;
mod runs;
mod sets;

use world::{Budget, Fault};

use crate::report::{Limits, Report};
use crate::scenario::{Named, Property, Scenario, ScenarioErrors};
use crate::verdict::asked;

pub use formula::{Formula, Law, TICKS, number};
pub use measure::{Edge, Magnitude, Side};
pub use sets::{Refused, includes};

pub use runs::Plain;
use runs::{Pool, Runs};
use sets::Sets;

/// What is asked for.
#[derive(Clone, Debug)]
pub struct Ask {
    /// The most units of faults in a set. Of `drift` alone, more are tried.
    pub most: u8,
    /// Sets are drawn from these faults; none: from all that the scenario allows.
    pub within: Option<Budget>,
    /// Whether magnitudes are put in terms of the scenario's numbers.
    pub formulas: bool,
    /// How each check is run, and which properties are asked for.
    ///
    /// Without `max_states`, a check of at most one fault visits no more than [`SINGLE`], and the checks of any other stage
    /// share [`STATES`] between them.
    pub limits: Limits,
}

/// How many states the checks of one stage visit in all, unless each has a limit of its own.
pub const STATES: u64 = 12_000_000;

/// How many states a check of a set of at most one fault visits, unless it has another limit.
pub const SINGLE: u64 = 3_000_000;

/// What a check is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Whether a set of faults breaks something.
    Set {
        /// Which of the sets of its size it is, from 1.
        number: usize,
        /// How many sets there are of its size.
        of: usize,
    },
    /// How small the faults of a set can be.
    Magnitude,
    /// How that depends on the numbers of the scenario.
    Formula,
}

/// Carries out checks.
pub trait Runner {
    /// Checks a scenario; none if nothing more is to be run.
    fn run(&mut self, stage: Stage, scenario: &Scenario, limits: &Limits) -> Option<Report>;
}

/// What was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Weakest {
    /// Each property that was asked for, in the documented order.
    pub properties: Vec<Breaks>,
    /// The sets that the scenario refuses.
    pub refused: Vec<Refused>,
    /// The faults from which sets were drawn, in the documented order.
    pub kinds: Vec<Fault>,
    /// How many checks were run.
    pub checks: usize,
    /// How many states they visited.
    pub states: u64,
    /// Whether the runner stopped it.
    pub is_stopped: bool,
}

/// What breaks a property.
#[derive(Clone, Debug, PartialEq)]
pub struct Breaks {
    /// The property.
    pub property: Property,
    /// The sets that break it and have no smaller set that is known to: the smaller sets first, then in the documented
    /// order of faults.
    pub sets: Vec<Break>,
    /// The sets of which it is not known whether they break it; no smaller set is known to.
    pub undecided: Vec<Budget>,
}

/// A set of faults that breaks a property.
#[derive(Clone, Debug, PartialEq)]
pub struct Break {
    /// The faults.
    pub faults: Budget,
    /// Whether every smaller set is known not to break it.
    pub is_minimal: bool,
    /// The magnitude of each fault that has one, in the documented order.
    pub magnitudes: Vec<Magnitude>,
    /// The scenario with these faults, as small as can be: checking it shows the counterexample.
    pub scenario: Scenario,
    /// What was set in it, as `knob=value`.
    pub set: Vec<String>,
    /// How many steps the shortest counterexample of that scenario has.
    pub steps: usize,
    /// After how many ticks each fault strikes in it, in order.
    pub strikes: Vec<(Fault, u32)>,
}

impl Breaks {
    /// Whether everything about it is known.
    pub fn is_decided(&self) -> bool {
        let is_measured = |set: &Break| set.magnitudes.iter().all(|m| m.edge != Edge::Undecided);
        self.undecided.is_empty() && self.sets.iter().all(|set| set.is_minimal && is_measured(set))
    }
}

impl Weakest {
    /// Whether everything that was asked for is known, formulas aside.
    pub fn is_complete(&self) -> bool {
        !self.is_stopped && self.properties.iter().all(Breaks::is_decided)
    }
}

/// Finds the weakest faults that break a scenario: a file without rows, or one row of a sheet. Its own faults are
/// left out of account.
///
/// # Errors
///
/// If the scenario is refused without any fault.
pub fn weakest(scenario: &Scenario, ask: &Ask, runner: &mut impl Runner) -> Result<Weakest, ScenarioErrors> {
    let mut base = scenario.clone();
    base.set_faults("none")?;
    base.resolve()?;
    let asked = asked(&base, &ask.limits);
    let mut runs = Runs::new(runner, ask);
    let mut sets = Sets::new(&base, ask, asked);
    for size in 0..=ask.most {
        let level = sets.level(size);
        runs.begin(if size > 1 { Pool::Shared { checks: level.len() } } else { Pool::Each });
        sets.try_all(&mut runs, &level);
        finish(&mut runs, &mut sets, ask);
    }
    runs.begin(Pool::Common);
    sets.drift_further(&mut runs);
    finish(&mut runs, &mut sets, ask);
    let (checks, states, is_stopped) = runs.end();
    Ok(Weakest { properties: sets.properties, refused: sets.refused, kinds: sets.kinds, checks, states, is_stopped })
}

/// Measures what has no measure yet.
fn finish(runs: &mut Runs<'_, impl Runner>, sets: &mut Sets, ask: &Ask) {
    runs.begin(Pool::Common);
    let fresh = sets.fresh();
    for (faults, broken) in &fresh {
        for property in broken {
            let measured = measure::measure(runs, &sets.base, *faults, *property, broken);
            sets.put(*faults, *property, measured);
        }
    }
    if !ask.formulas {
        return;
    }
    runs.begin(Pool::Common);
    for (faults, broken) in &fresh {
        for property in broken {
            let magnitudes = sets.get(*faults, *property).map(|set| set.magnitudes.clone()).unwrap_or_default();
            let laws = formula::laws(runs, &sets.base, *faults, *property, broken, &magnitudes);
            if let Some(set) = sets.get(*faults, *property) {
                set.magnitudes.iter_mut().zip(laws).for_each(|(magnitude, law)| magnitude.law = law);
            }
        }
    }
}

/// The scenario with these faults.
fn with(base: &Scenario, faults: Budget) -> Scenario {
    let mut scenario = base.clone();
    scenario.faults = faults;
    scenario
}

/// Sets a knob that takes this value.
fn set(scenario: &mut Scenario, key: &str, value: u32) -> bool {
    scenario.set(&format!("{key}={value}")).is_ok()
}

/// How the faults of a set are written on a command line: `pause=1,jump=1`, or `none`.
pub fn faults_text(faults: &Budget) -> String {
    let parts: Vec<String> = faults.kinds().map(|f| format!("{}={}", f.name(), faults.get(f))).collect();
    if parts.is_empty() { "none".to_owned() } else { parts.join(",") }
}
