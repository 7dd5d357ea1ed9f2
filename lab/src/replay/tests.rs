//! Every counterexample of the catalogue, on real servers.

use check::scenario::{Property, Scenario, Verdict};
use check::{Choice, Limits, catalogue, check};
use rand::SeedableRng;
use rand::rngs::StdRng;
use trace::Trace;
use world::Action;

use super::run::{Halt, Run};
use super::{Ending, Outcome, Stage, Trouble, replay};
use crate::commands::conform::walk;

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

/// Stages by need, so that servers are started once for all that they can serve.
#[derive(Default)]
struct Stages(Option<Stage>);

impl Stages {
    fn replay(&mut self, scenario: &Scenario, choices: &[Action]) -> Result<Outcome, Trouble> {
        let setup = scenario.resolve().unwrap();
        let stage = match &mut self.0 {
            Some(stage) => stage,
            None => self.0.insert(Stage::new(&setup)?),
        };
        replay(&setup, &scenario.resource_names(), choices, stage, |_, _| {})
    }
}

/// How often each counterexample is replayed.
fn runs() -> usize {
    std::env::var("LAB_REPLAYS").ok().and_then(|runs| runs.parse().ok()).unwrap_or(10)
}

#[test]
#[ignore = "takes a while: the test script runs it in release mode"]
fn every_counterexample_of_the_catalogue_happens() {
    let mut stages = Stages::default();
    let (mut reproduced, mut wrong) = (0, Vec::new());
    for (title, scenario, property, choices) in counterexamples() {
        for run in 1..=runs() {
            let outcome = stages.replay(&scenario, &choices).unwrap();
            match (&outcome.ending, outcome.evidence(property)) {
                (Ending::Complete, Some(_)) => reproduced += 1,
                // A real replica copies when it likes.
                (Ending::NotReplayable { .. }, _) if scenario.settings.acknowledged > 0 => {}
                (ending, evidence) => wrong.push(format!("{title}: {property:?}, run {run}: {ending:?}, {evidence:?}")),
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new(), "{reproduced} were reproduced");
    assert!(reproduced > 400 * runs(), "{reproduced}");
}

#[test]
#[ignore = "takes a while: the test script runs it in release mode"]
fn the_schedule_of_the_broken_half_does_no_harm_to_the_other() {
    let mut stages = Stages::default();
    let mut attacked = 0;
    for (title, broken, property, choices) in counterexamples() {
        let Some(other) = broken.pair.as_deref().and_then(|id| catalogue::find(id).unwrap()) else { continue };
        if !other.rows.is_empty() || other.expected(property) != Some(Verdict::Holds) || property.is_about_the_graph() {
            continue;
        }
        let outcome = stages.replay(&other, &choices).unwrap();
        assert!(!matches!(outcome.ending, Ending::Diverged { .. }), "{title}, in {}: {outcome:?}", other.id);
        assert_eq!(outcome.evidence(property), None, "{title}, in {}: {outcome:?}", other.id);
        attacked += 1;
    }
    assert!(attacked > 10, "{attacked}");
}

#[test]
#[ignore = "takes a while: the test script runs it in release mode"]
fn random_walks_of_the_catalogue_conform() {
    let mut stages = Stages::default();
    let mut steps = 0;
    for id in catalogue::ids() {
        for scenario in catalogue::find(id).unwrap().unwrap().expand() {
            let setup = scenario.resolve().unwrap();
            for seed in 0..5 {
                let walk = walk(&setup, &mut StdRng::seed_from_u64(seed), 40);
                let outcome = stages.replay(&scenario, &walk).unwrap();
                let is_bad = matches!(outcome.ending, Ending::Diverged { .. } | Ending::Impossible { .. });
                assert!(!is_bad, "{id}: {}, seed {seed}: {outcome:?}", scenario.title);
                steps += outcome.steps;
            }
        }
    }
    assert!(steps > 10_000, "{steps}");
}

/// Some of each kind, quickly: one server and several, a pause, a restart with and without a disk, a notification.
#[test]
fn counterexamples_happen() {
    let mut stages = Stages::default();
    let some =
        ["pause-naive", "release-del", "redlock-restart", "clock-jump", "lost-reply", "notified-lost", "failover"];
    let mut seen = 0;
    for id in some {
        let Some(scenario) = catalogue::find(id).unwrap() else { continue };
        let Some(scenario) = scenario.expand().into_iter().next() else { continue };
        let limits = Limits { max_states: Some(MAX_STATES), ..Limits::default() };
        let report = check(&scenario, &limits, &mut check::explore::Unwatched).unwrap();
        for found in &report.properties {
            let Some(trace) = found.trace() else { continue };
            let outcome = stages.replay(&scenario, &choices(trace)).unwrap();
            assert_eq!(outcome.ending, Ending::Complete, "{id}, {:?}: {outcome:?}", found.property);
            assert!(outcome.evidence(found.property).is_some(), "{id}, {:?}: {outcome:?}", found.property);
            seen += 1;
        }
    }
    assert!(seen >= 8, "{seen}");
}

/// What a power loss leaves depends on when a server brings its file to disk, which it does beside all else.
#[test]
fn a_power_loss_leaves_the_same_every_time() {
    let mut stages = Stages::default();
    let scenario = catalogue::find("redlock-restart-every-second").unwrap().unwrap();
    let limits = Limits { max_states: Some(MAX_STATES), ..Limits::default() };
    let report = check(&scenario, &limits, &mut check::explore::Unwatched).unwrap();
    let found = report.properties.iter().find(|p| p.trace().is_some()).unwrap();
    let choices = choices(found.trace().unwrap());
    for run in 0..50 {
        let outcome = stages.replay(&scenario, &choices).unwrap();
        assert_eq!(outcome.ending, Ending::Complete, "run {run}: {outcome:?}");
    }
}

/// A simulated server that is wrong in one way must be found out by what is compared: here the real one is.
#[test]
fn a_server_that_is_not_as_the_model_says_is_found_out() {
    let scenario = catalogue::find("pause-naive").unwrap().unwrap();
    let report = check(&scenario, &Limits::default(), &mut check::explore::Unwatched).unwrap();
    let choices = choices(report.properties.iter().find_map(|p| p.trace()).unwrap());
    let setup = scenario.resolve().unwrap();
    let names = scenario.resource_names();
    let mut stage = Stage::new(&setup).unwrap();
    let tampered: [&[&str]; 4] = [
        &["DEL", "lock"],
        &["PEXPIRE", "lock", "1500"],
        &["PERSIST", "lock"],
        &["SET", "lock", "somebody else", "KEEPTTL"],
    ];
    for command in tampered {
        let mut run = Run::new(&setup, &names, &mut stage).unwrap();
        run.step(choices[0]).unwrap();
        run.step(choices[1]).unwrap();
        let mut tamper = redis::cmd(command[0]);
        tamper.arg(&command[1..]);
        run.stage.node(0).ask(&tamper).unwrap();
        assert!(matches!(run.step(choices[2]), Err(Halt::Diverged(_))), "{command:?}");
    }
}
