//! Every counterexample of the catalogue, on real servers.

use check::scenario::{Property, Scenario, Verdict};
use check::{Choice, Limits, catalogue, check};
use trace::Trace;
use world::Action;

use super::{Ending, Outcome, Stage, Trouble, replay};

/// The most states of a check: more takes long, and another scenario shows the same.
const MAX_STATES: u64 = 300_000;

/// The counterexamples of a scenario, and of each row of a sheet.
fn counterexamples() -> Vec<(String, Scenario, Property, Vec<Action>)> {
    let mut all = Vec::new();
    for id in catalogue::ids() {
        for scenario in catalogue::find(id).unwrap().unwrap().expand() {
            let violated = scenario.expect.iter().any(|(_, verdict)| *verdict == Verdict::Violated);
            if !violated {
                continue;
            }
            let limits = Limits { max_states: Some(MAX_STATES), ..Limits::default() };
            let Ok(report) = check(&scenario, &limits, &mut check::explore::Unwatched) else { continue };
            for found in &report.properties {
                if let Some(trace) = found.trace() {
                    all.push((format!("{id}: {}", scenario.title), scenario.clone(), found.property, choices(trace)));
                }
            }
        }
    }
    all
}

fn choices(trace: &Trace) -> Vec<Action> {
    trace.steps.iter().map(|step| step.choice.parse::<Choice>().unwrap().0).collect()
}

fn replayed(scenario: &Scenario, choices: &[Action], stage: &mut Option<Stage>) -> Result<Outcome, Trouble> {
    let setup = scenario.resolve().unwrap();
    let stage = match stage {
        Some(stage) => stage,
        None => stage.insert(Stage::new(&setup)?),
    };
    replay(&setup, &scenario.resource_names(), choices, stage, |_, _| {})
}

#[test]
fn every_counterexample_of_the_catalogue_happens() {
    let mut stage = None;
    let (mut reproduced, mut wrong) = (0, Vec::new());
    for (title, scenario, property, choices) in counterexamples() {
        let outcome = match replayed(&scenario, &choices, &mut stage) {
            Ok(outcome) => outcome,
            Err(trouble) => {
                wrong.push(format!("{title}: {property:?}: trouble: {trouble}"));
                stage = None;
                continue;
            }
        };
        match (&outcome.ending, outcome.evidence(property)) {
            (Ending::Complete, Some(_)) => reproduced += 1,
            (Ending::NotReplayable { why, .. }, _) => println!("{title}: {property:?}: not replayable: {why}"),
            (ending, evidence) => wrong.push(format!("{title}: {property:?}: {ending:?}, {evidence:?}")),
        }
    }
    println!("{reproduced} reproduced");
    assert_eq!(wrong, Vec::<String>::new(), "{reproduced} were reproduced");
    assert!(reproduced > 100);
}
