//! The same bytes for any number of threads.

use std::num::NonZeroUsize;

use check::explore::Unwatched;
use check::scenario::Scenario;
use check::{Ending, Limits, Report, check};
use trace::render::json::to_json;

use crate::support::{builtin, with};

/// Everything that must not depend on the number of threads, as text.
fn bytes(scenario: &Scenario, limits: &Limits) -> String {
    let report = check(scenario, limits, &mut Unwatched).unwrap();
    let traces: String = report.properties.iter().filter_map(|p| p.trace()).map(to_json).collect();
    let Report { bytes: _, .. } = report;
    format!("{:?}\n{traces}", Report { bytes: 0, ..report })
}

fn same_on_all_threads(scenario: &Scenario, limits: &Limits) {
    let on = |threads: usize| {
        let limits = Limits { threads: NonZeroUsize::new(threads).unwrap(), ..limits.clone() };
        bytes(scenario, &limits)
    };
    let one = on(1);
    for threads in [2, 3, 8] {
        assert!(one == on(threads), "{} differs on {threads} threads", scenario.id);
    }
}

#[test]
fn a_report_is_the_same_on_any_number_of_threads() {
    for id in ["redlock-restart", "redlock-naive", "pause-and-delay", "fencing-check-then-write", "multilock-opposite"]
    {
        same_on_all_threads(&builtin(id), &Limits::default());
    }
    same_on_all_threads(&with("redlock", &[], ""), &Limits::default());
}

#[test]
fn a_limit_cuts_at_the_same_point_on_any_number_of_threads() {
    let scenario = builtin("redlock-restart");
    for most in [1, 2, 1_000, 4_321, 11_000] {
        same_on_all_threads(&scenario, &Limits { max_states: Some(most), ..Limits::default() });
    }
    for most in [0, 1, 12, 13, 30] {
        same_on_all_threads(&scenario, &Limits { max_depth: Some(most), ..Limits::default() });
    }
}

#[test]
fn every_violation_comes_in_the_same_order() {
    let limits = Limits { every_violation: true, ..Limits::default() };
    same_on_all_threads(&builtin("release-del"), &limits);
}

/// A property does not get another counterexample because another one is asked for as well.
#[test]
fn a_counterexample_does_not_depend_on_what_else_is_asked() {
    let scenario = builtin("redlock-restart");
    let all = check(&scenario, &Limits::default(), &mut Unwatched).unwrap();
    assert_eq!(all.ending, Ending::Exhausted);
    for property in &all.properties {
        let limits = Limits { properties: Some(vec![property.property]), ..Limits::default() };
        let alone = check(&scenario, &limits, &mut Unwatched).unwrap();
        assert_eq!(alone.properties, std::slice::from_ref(property));
        assert_eq!(alone.states, all.states);
    }
}
