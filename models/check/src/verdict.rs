//! From a scenario to a report.

use stateright::{Checker, Model};
use world::fault_bit;

use crate::explore::{self, End, Exploration, Monitor, StateId, explore};
use crate::model::{GRAPH_PROPERTIES, LockModel, STATE_PROPERTIES};
use crate::narrate::{narrate, narrate_actions};
use crate::report::{Ending, Engine, Limits, PropertyReport, Report, States, WitnessReport};
use crate::scenario::{Named, Property, Scenario, ScenarioErrors, Verdict, Witness};

/// Checks one scenario: a file without rows, or one row of a sheet.
///
/// # Errors
///
/// If the scenario asks for a combination that is refused.
pub fn check(scenario: &Scenario, limits: &Limits, monitor: &mut impl Monitor) -> Result<Report, ScenarioErrors> {
    let asked = asked(scenario, limits);
    let model = LockModel::within(scenario.resolve()?, limits).asking(&asked);
    Ok(match limits.engine {
        Engine::Levels => {
            let searched = Searched::new(scenario, &model, &asked, limits, monitor);
            searched.report(scenario, &model, &asked, limits.every_violation)
        }
        Engine::Stateright => by_stateright(scenario, model, &asked, limits),
    })
}

/// The properties that [`check`] gives a verdict on, in the documented order.
pub fn asked(scenario: &Scenario, limits: &Limits) -> Vec<Property> {
    let wanted = |property: &Property| match &limits.properties {
        Some(named) => named.contains(property),
        None => *property != Property::NoStrayGrant || scenario.expected(*property).is_some(),
    };
    let possible = |property: &Property| scenario.undecidable(*property).is_none();
    Property::ALL.iter().copied().filter(wanted).filter(possible).collect()
}

/// The properties that are no question for a scenario.
fn undecidable(scenario: &Scenario) -> Vec<(Property, &'static str)> {
    let rule = |property: &Property| scenario.undecidable(*property).map(|rule| (*property, rule.reason));
    Property::ALL.iter().filter_map(rule).collect()
}

/// A search that came to its end, before anybody is told of it.
pub(crate) struct Searched {
    exploration: Exploration,
    witnesses: Vec<WitnessReport>,
}

impl Searched {
    /// Searches level by level.
    pub(crate) fn new(
        scenario: &Scenario,
        model: &LockModel,
        asked: &[Property],
        limits: &Limits,
        monitor: &mut impl Monitor,
    ) -> Self {
        let goal = |property: &Property| GRAPH_PROPERTIES.iter().position(|p| p == property);
        let goals = asked.iter().filter_map(goal).fold(0, |bits, goal| bits | 1 << goal);
        let options = explore::Options {
            threads: limits.threads,
            max_states: limits.max_states,
            max_depth: limits.max_depth,
            goals,
            every_violation: limits.every_violation,
        };
        let exploration = explore(model, &options, monitor);
        let witnesses = witnesses(scenario, exploration.events);
        Self { exploration, witnesses }
    }

    /// Whether every reachable state was searched.
    pub(crate) fn is_complete(&self) -> bool {
        self.exploration.end == End::Exhausted
    }

    /// Whether a witness that is required was never reached.
    pub(crate) fn is_empty(&self) -> bool {
        self.witnesses.iter().any(|w| w.required && !w.reached)
    }

    /// The verdict on one of the properties that were asked for.
    pub(crate) fn verdict(&self, property: Property) -> Verdict {
        verdict(self.path(property).is_some(), self.is_complete(), self.is_empty())
    }

    /// The shortest way to a violation.
    pub(crate) fn path(&self, property: Property) -> Option<explore::Path> {
        violations(&self.exploration, property, false).first().map(|id| self.exploration.path(*id))
    }

    /// The first violation of any of these properties, of those of single states if there is one: where a search is
    /// given up as soon as it has seen one, it is the same on any number of threads.
    pub(crate) fn first_violation(&self, of: &[Property]) -> Option<(Property, explore::Path)> {
        let first =
            |property: &Property| Some((violations(&self.exploration, *property, false).first().copied()?, *property));
        let all = || of.iter().filter_map(first);
        let of_states = all().filter(|(_, property)| !property.is_about_the_graph()).min();
        let (id, property) = of_states.or_else(|| all().min())?;
        Some((property, self.exploration.path(id)))
    }

    /// Why it ended.
    pub(crate) fn ending(&self) -> Ending {
        ending(self.exploration.end)
    }

    /// How large the space is.
    fn states(&self) -> States {
        let Exploration { unique, generated, depth, .. } = self.exploration;
        States { unique, generated, depth }
    }

    /// All of it, told.
    pub(crate) fn report(self, scenario: &Scenario, model: &LockModel, asked: &[Property], every: bool) -> Report {
        let judge = |property: Property| {
            let found = violations(&self.exploration, property, every);
            let told = |id: &StateId| narrate(scenario, model, property, &self.exploration.path(*id));
            let traces: Vec<_> = found.iter().map(told).collect();
            PropertyReport { property, verdict: self.verdict(property), traces }
        };
        Report {
            properties: asked.iter().copied().map(judge).collect(),
            states: self.states(),
            symmetry: model.interchangeable(),
            ending: self.ending(),
            collision_probability: self.exploration.collision_probability(),
            bytes: self.exploration.bytes,
            witnesses: self.witnesses,
            ..Report::of(scenario)
        }
    }
}

/// Violated beats everything, a search that was cut off beats "holds", and so does one that never saw what it had to.
fn verdict(violated: bool, complete: bool, empty: bool) -> Verdict {
    match (violated, complete, empty) {
        (true, _, _) => Verdict::Violated,
        (false, false, _) => Verdict::Inconclusive,
        (false, true, true) => Verdict::Vacuous,
        (false, true, false) => Verdict::Holds,
    }
}

/// The states that violate a property: the first, or all of them.
fn violations(exploration: &Exploration, property: Property, every: bool) -> Vec<StateId> {
    if let Some(goal) = GRAPH_PROPERTIES.iter().position(|p| *p == property) {
        return exploration.stuck[goal].into_iter().collect();
    }
    let Some(bit) = STATE_PROPERTIES.iter().position(|p| *p == property) else { return Vec::new() };
    if !every {
        return exploration.violations[bit].into_iter().collect();
    }
    exploration.every_violation().filter(|(_, bits)| bits & (1 << bit) != 0).map(|(id, _)| id).collect()
}

fn ending(end: End) -> Ending {
    match end {
        End::Exhausted => Ending::Exhausted,
        End::MaxStates => Ending::MaxStates,
        End::MaxDepth => Ending::MaxDepth,
        End::Cut(cut) => Ending::Cut(cut),
    }
}

impl Report {
    /// A report that says only what is checked.
    pub(crate) fn of(scenario: &Scenario) -> Self {
        Self {
            id: scenario.id.clone(),
            title: scenario.title.clone(),
            hash: scenario.hash_text(),
            faults: scenario.faults.kinds().map(|f| (f.name(), scenario.faults.get(f))).collect(),
            grain: scenario.grain(),
            properties: Vec::new(),
            undecidable: undecidable(scenario),
            witnesses: Vec::new(),
            states: States::default(),
            symmetry: None,
            ending: Ending::Exhausted,
            collision_probability: 0.0,
            bytes: 0,
        }
    }
}

/// The witnesses that every scenario must reach unless its knobs exclude them.
const STANDARD: [Witness; 3] = [Witness::Acquired, Witness::Contended, Witness::DeadlineReached];

fn witnesses(scenario: &Scenario, events: u64) -> Vec<WitnessReport> {
    let plain = Witness::ALL.iter().map(|witness| {
        let standard = STANDARD.contains(witness) && scenario.settings.excludes(*witness).is_none();
        WitnessReport {
            name: witness.name(),
            reached: events & witness.bit() != 0,
            required: standard || scenario.witnesses.contains(witness),
        }
    });
    let faults = scenario.faults.kinds().map(|fault| WitnessReport {
        name: fault.name(),
        reached: events & fault_bit(fault) != 0,
        required: true,
    });
    plain.chain(faults).collect()
}

/// Runs stateright's breadth-first search over the same model. Nobody can watch it.
fn by_stateright(scenario: &Scenario, model: LockModel, asked: &[Property], limits: &Limits) -> Report {
    let mut builder = model.clone().checker().threads(limits.threads.get());
    if let Some(most) = limits.max_depth.and_then(|d| std::num::NonZeroUsize::new(d as usize + 1)) {
        builder = builder.target_max_depth(most.get());
    }
    if let Some(most) = limits.max_states {
        builder = builder.target_state_count(usize::try_from(most).unwrap_or(usize::MAX));
    }
    let checker = builder.spawn_bfs().join();
    let found = checker.discoveries();
    // stateright does not say whether it hit a limit, so a limit that was given counts as hit.
    let ending = match (limits.max_states, limits.max_depth) {
        (Some(_), _) => Ending::MaxStates,
        (None, Some(_)) => Ending::MaxDepth,
        (None, None) => Ending::Exhausted,
    };
    let witnesses = witnesses(scenario, model.seen());
    let empty = witnesses.iter().any(|w| w.required && !w.reached);
    let judge = |property: Property| {
        let path = found.get(property.name()).map(|path| model.unpermuted(&path.clone().into_actions()));
        let traces: Vec<_> = path.iter().map(|actions| narrate_actions(scenario, &model, property, actions)).collect();
        let decides = !property.is_about_the_graph() && ending == Ending::Exhausted;
        PropertyReport { property, verdict: verdict(!traces.is_empty(), decides, empty), traces }
    };
    Report {
        properties: asked.iter().copied().map(judge).collect(),
        witnesses,
        states: States {
            unique: checker.unique_state_count() as u64,
            generated: checker.state_count() as u64,
            depth: checker.max_depth().saturating_sub(1) as u32,
        },
        symmetry: model.interchangeable(),
        ending,
        ..Report::of(scenario)
    }
}
