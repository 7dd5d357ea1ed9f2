//! What the tests share.

use std::num::NonZeroUsize;

use check::explore::Unwatched;
use check::scenario::{Named, Property, Scenario, Verdict};
use check::{Limits, Report, catalogue, check};

/// A scenario of the catalogue.
pub(crate) fn builtin(id: &str) -> Scenario {
    catalogue::find(id).unwrap().unwrap_or_else(|| panic!("there is no scenario {id}"))
}

/// A scenario of the catalogue with some knobs set.
pub(crate) fn with(id: &str, sets: &[&str], faults: &str) -> Scenario {
    let mut scenario = builtin(id);
    for set in sets {
        scenario.set(set).unwrap();
    }
    scenario.set_faults(faults).unwrap();
    scenario
}

/// Every check of the catalogue: every scenario, and every row of every sheet.
pub(crate) fn every_check() -> Vec<Scenario> {
    catalogue::all().unwrap().iter().flat_map(Scenario::expand).collect()
}

/// What a check comes to, on as many threads.
pub(crate) fn run(scenario: &Scenario, threads: usize) -> Report {
    let limits = Limits { threads: NonZeroUsize::new(threads).unwrap(), ..Limits::default() };
    check(scenario, &limits, &mut Unwatched).unwrap_or_else(|errors| panic!("{}: {errors}", scenario.id))
}

/// The verdicts of a report but "holds", in a line.
pub(crate) fn verdicts(report: &Report) -> String {
    let told = |property: &check::PropertyReport| {
        let steps = property.trace().map_or_else(String::new, |trace| format!(" in {}", trace.steps.len()));
        (property.verdict != Verdict::Holds)
            .then(|| format!("{} {}{steps}", property.property.name(), property.verdict.name()))
    };
    let all: Vec<_> = report.properties.iter().filter_map(told).collect();
    if all.is_empty() { "all hold".to_owned() } else { all.join(", ") }
}

/// The properties that a report says are violated.
pub(crate) fn violated(report: &Report) -> Vec<Property> {
    report.properties.iter().filter(|p| p.verdict == Verdict::Violated).map(|p| p.property).collect()
}
