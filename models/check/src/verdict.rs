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
    let model = LockModel::new(scenario.resolve()?);
    let asked = asked(scenario, limits);
    Ok(match limits.engine {
        Engine::Levels => by_levels(scenario, &model, &asked, limits, monitor),
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

fn by_levels(
    scenario: &Scenario,
    model: &LockModel,
    asked: &[Property],
    limits: &Limits,
    monitor: &mut impl Monitor,
) -> Report {
    let goal = |property: &Property| GRAPH_PROPERTIES.iter().position(|p| p == property);
    let goals = asked.iter().filter_map(goal).fold(0, |bits, goal| bits | 1 << goal);
    let options = explore::Options {
        threads: limits.threads,
        max_states: limits.max_states,
        max_depth: limits.max_depth,
        goals,
        every_violation: limits.every_violation,
        enough: if limits.until_violated && goals == 0 { bits_of(asked) } else { 0 },
    };
    let exploration = explore(model, &options, monitor);
    let witnesses = witnesses(scenario, exploration.events);
    let empty = witnesses.iter().any(|w| w.required && !w.reached);
    let complete = exploration.end == End::Exhausted;
    let judge = |property: Property| {
        let found = violations(&exploration, property, limits.every_violation);
        let traces: Vec<_> =
            found.iter().map(|id| narrate(scenario, model, property, &exploration.path(*id))).collect();
        PropertyReport { property, verdict: verdict(!traces.is_empty(), complete, empty), traces }
    };
    Report {
        properties: asked.iter().copied().map(judge).collect(),
        witnesses,
        states: States { unique: exploration.unique, generated: exploration.generated, depth: exploration.depth },
        ending: ending(exploration.end),
        collision_probability: exploration.collision_probability(),
        bytes: exploration.bytes,
        ..heading(scenario)
    }
}

/// The bits of properties of single states.
fn bits_of(asked: &[Property]) -> u32 {
    let bit = |property: &Property| STATE_PROPERTIES.iter().position(|p| p == property);
    asked.iter().filter_map(bit).fold(0, |bits, bit| bits | 1 << bit)
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
        End::Enough => Ending::Enough,
        End::Cut(cut) => Ending::Cut(cut),
    }
}

/// A report that says only what was checked.
fn heading(scenario: &Scenario) -> Report {
    Report {
        id: scenario.id.clone(),
        title: scenario.title.clone(),
        hash: scenario.hash_text(),
        faults: scenario.faults.kinds().map(|f| (f.name(), scenario.faults.get(f))).collect(),
        grain: scenario.grain(),
        properties: Vec::new(),
        undecidable: undecidable(scenario),
        witnesses: Vec::new(),
        states: States::default(),
        ending: Ending::Exhausted,
        collision_probability: 0.0,
        bytes: 0,
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
        let path = found.get(property.name()).map(|path| path.clone().into_actions());
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
        ending,
        ..heading(scenario)
    }
}
