//! The same model through other searches: stateright's engine, and the other grain.

use std::num::NonZeroUsize;

use check::explore::Unwatched;
use check::scenario::{Scenario, Verdict};
use check::{Engine, Limits, check};
use world::Grain;

use crate::support::{every_check, run, violated};

/// Searches of up to this many states are compared in every test run; the others only on demand.
const FEW: u64 = 30_000;

fn compare_with_stateright(scenario: &Scenario) {
    let ours = run(scenario, 2);
    let limits = Limits { engine: Engine::Stateright, threads: NonZeroUsize::new(2).unwrap(), ..Limits::default() };
    let theirs = check(scenario, &limits, &mut Unwatched).unwrap();
    let name = (&scenario.id, &scenario.title);
    assert_eq!(ours.states.unique, theirs.states.unique, "{name:?}: unique states");
    assert_eq!(ours.states.generated, theirs.states.generated, "{name:?}: generated states");
    assert_eq!(ours.witnesses, theirs.witnesses, "{name:?}");
    for property in &theirs.properties {
        // The properties of the graph are beyond it, and it has to say so.
        let expected = match property.property.is_about_the_graph() {
            true => Some(Verdict::Inconclusive),
            false => ours.verdict(property.property),
        };
        assert_eq!(Some(property.verdict), expected, "{name:?}: {:?}", property.property);
    }
}

#[test]
fn stateright_agrees_on_the_small_scenarios() {
    let few = Limits { max_states: Some(FEW), ..Limits::default() };
    let is_small = |s: &Scenario| check(s, &few, &mut Unwatched).unwrap().is_complete();
    let small: Vec<_> = every_check().into_iter().filter(is_small).collect();
    assert!(small.len() > 50, "only {} scenarios are small", small.len());
    small.iter().for_each(compare_with_stateright);
}

#[test]
#[ignore = "takes minutes: the test script runs it in release mode"]
fn stateright_agrees_on_the_whole_catalogue() {
    every_check().iter().for_each(compare_with_stateright);
}

/// Where nothing can fall between a request and its reply, telling them apart changes how many states there are, and
/// nothing else.
#[test]
fn the_grain_changes_no_verdict() {
    let mut compared = 0;
    for scenario in every_check() {
        if scenario.grain() != Grain::Exchange {
            continue;
        }
        let coarse = run(&scenario, 2);
        if coarse.states.unique > FEW {
            continue;
        }
        let mut message = scenario.clone();
        message.set("grain=message").unwrap();
        let fine = run(&message, 2);
        assert_eq!(violated(&coarse), violated(&fine), "{}", scenario.id);
        assert!(coarse.states.unique <= fine.states.unique, "{}", scenario.id);
        compared += 1;
    }
    assert!(compared >= 10, "only {compared} scenarios were compared");
}
