//! A search that was cut off never says "holds".

use std::ops::ControlFlow;

use check::explore::{Cut, Progress, Unwatched};
use check::scenario::{Property, Verdict};
use check::{Ending, Limits, check};

use crate::support::builtin;

#[test]
fn a_search_that_was_cut_off_is_inconclusive() {
    let scenario = builtin("redlock-clocked");
    for limits in
        [Limits { max_states: Some(100), ..Limits::default() }, Limits { max_depth: Some(10), ..Limits::default() }]
    {
        let report = check(&scenario, &limits, &mut Unwatched).unwrap();
        assert!(!report.is_complete());
        assert!(report.properties.iter().all(|p| p.verdict == Verdict::Inconclusive), "{:?}", report.properties);
    }
}

#[test]
fn a_violation_found_before_the_cut_counts() {
    let scenario = builtin("redlock-restart");
    let limits = Limits { max_depth: Some(13), ..Limits::default() };
    let report = check(&scenario, &limits, &mut Unwatched).unwrap();
    assert_eq!(report.ending, Ending::MaxDepth);
    assert_eq!(report.verdict(Property::MutualExclusion), Some(Verdict::Violated));
    assert_eq!(report.verdict(Property::NoLostUpdate), Some(Verdict::Inconclusive));
}

#[test]
fn a_limit_that_is_not_reached_changes_nothing() {
    let scenario = builtin("release-del");
    let free = check(&scenario, &Limits::default(), &mut Unwatched).unwrap();
    let exact =
        Limits { max_states: Some(free.states.unique), max_depth: Some(free.states.depth + 1), ..Limits::default() };
    let limited = check(&scenario, &exact, &mut Unwatched).unwrap();
    assert_eq!(limited.ending, Ending::Exhausted);
    assert_eq!(limited.properties, free.properties);
}

#[test]
fn whoever_watches_can_stop_the_search() {
    let scenario = builtin("redlock-clocked");
    let mut stop = |progress: &Progress| {
        if progress.depth > 5 { ControlFlow::Break(Cut::Interrupted) } else { ControlFlow::Continue(()) }
    };
    let report = check(&scenario, &Limits::default(), &mut stop).unwrap();
    assert_eq!(report.ending, Ending::Cut(Cut::Interrupted));
    assert!(report.states.unique > 1);
    assert_eq!(report.verdict(Property::MutualExclusion), Some(Verdict::Inconclusive));
}
