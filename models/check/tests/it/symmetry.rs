//! The catalogue up to symmetry: the same verdicts, witnesses and depths, with fewer states.

use std::num::NonZeroUsize;

use check::explore::Unwatched;
use check::scenario::{Scenario, Verdict};
use check::{Engine, Limits, Report, check};

use crate::support::{every_check, run};

/// Searches of up to this many states are compared in every test run; the others only on demand.
const FEW: u64 = 5_000;

fn limits(engine: Engine) -> Limits {
    Limits { engine, symmetry: true, threads: NonZeroUsize::new(2).unwrap(), ..Limits::default() }
}

/// What must be the same: the verdicts with the number of steps to each violation, the depth and the witnesses.
fn outcome(report: &Report) -> impl PartialEq + std::fmt::Debug + use<> {
    let verdict = |p: &check::PropertyReport| (p.property, p.verdict, p.trace().map(|trace| trace.steps.len()));
    let properties: Vec<_> = report.properties.iter().map(verdict).collect();
    (properties, report.witnesses.clone(), report.states.depth, report.ending)
}

/// How many times fewer states there are.
fn compare(scenario: &Scenario) -> f64 {
    let name = (&scenario.id, &scenario.title);
    let plain = run(scenario, 2);
    let reduced = check(scenario, &limits(Engine::Levels), &mut Unwatched).unwrap();
    assert_eq!(outcome(&reduced), outcome(&plain), "{name:?}");
    let orders = reduced.symmetry.map_or(1, |s| factorial(s.clients) * factorial(s.nodes));
    assert!(reduced.states.unique <= plain.states.unique, "{name:?}");
    assert!(reduced.states.unique * orders >= plain.states.unique, "{name:?}: more than all orders");
    let theirs = check(scenario, &limits(Engine::Stateright), &mut Unwatched).unwrap();
    assert_eq!(theirs.states.unique, reduced.states.unique, "{name:?}: stateright");
    assert_eq!(theirs.states.generated, reduced.states.generated, "{name:?}: stateright");
    for property in theirs.properties.iter().filter(|p| !p.property.is_about_the_graph()) {
        assert_eq!(Some(property.verdict), plain.verdict(property.property), "{name:?}: stateright");
        assert_eq!(property.trace().is_some(), property.verdict == Verdict::Violated, "{name:?}: stateright");
    }
    plain.states.unique as f64 / reduced.states.unique as f64
}

fn factorial(number: u8) -> u64 {
    (1..=u64::from(number)).product()
}

#[test]
fn symmetry_changes_no_verdict_of_the_small_scenarios() {
    let few = Limits { max_states: Some(FEW), ..Limits::default() };
    let is_small = |s: &Scenario| check(s, &few, &mut Unwatched).unwrap().is_complete();
    let small: Vec<_> = every_check().into_iter().filter(is_small).collect();
    let reduced = small.iter().map(compare).filter(|factor| *factor > 1.5).count();
    assert!(reduced > small.len() / 2, "only {reduced} of {} scenarios have fewer states", small.len());
}

#[test]
#[ignore = "takes minutes: the test script runs it in release mode"]
fn symmetry_changes_no_verdict_of_the_whole_catalogue() {
    every_check().iter().for_each(|scenario| {
        compare(scenario);
    });
}

/// Of three servers that are asked all at once and two clients there are twelve orders.
#[test]
fn all_orders_of_clients_and_servers_are_one_state() {
    let mut scenario = crate::support::builtin("redlock");
    scenario.set("visit=all-at-once").unwrap();
    scenario.set("nodes=3").unwrap();
    scenario.set("ttl=2").unwrap();
    scenario.set("work=0").unwrap();
    scenario.set("latency=0").unwrap();
    scenario.set_faults("none").unwrap();
    let factor = compare(&scenario);
    assert!(factor > 6.0, "{factor}");
}
