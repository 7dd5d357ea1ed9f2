//! The catalogue against its own expectations, and its state counts.

use std::collections::BTreeSet;
use std::fmt::Write;

use check::catalogue;
use check::scenario::{Named, Scenario, Verdict};

use crate::support::{builtin, every_check, run, verdicts};

/// The sheets whose rows take seconds each.
const LARGE: [&str; 5] = ["redlock", "multilock", "profile:node-redlock", "profile:redsync", "profile:rslock"];

#[test]
fn the_catalogue_comes_out_as_expected() {
    insta::assert_snapshot!(table(|scenario| !LARGE.contains(&scenario.id.as_str())));
}

#[test]
#[ignore = "takes a minute: the test script runs it in release mode"]
fn the_large_sheets_come_out_as_expected() {
    insta::assert_snapshot!(table(|scenario| LARGE.contains(&scenario.id.as_str())));
}

/// The catalogue in a table that is reviewed when it changes: a change of the encoding, of the semantics or of a
/// scenario moves a number here. Every verdict is also held against what the scenario's file expects.
fn table(wanted: impl Fn(&Scenario) -> bool) -> String {
    let mut table = String::new();
    let mut wrong = String::new();
    for scenario in every_check().into_iter().filter(wanted) {
        let report = run(&scenario, 2);
        let states = report.states;
        let title = if builtin(&scenario.id).rows.is_empty() { "" } else { &*scenario.title };
        let line = format!(
            "{:<27} {:<30} {:>8} {:>9} {:>3}",
            scenario.id, title, states.unique, states.generated, states.depth
        );
        writeln!(table, "{line}  {}", verdicts(&report)).unwrap();
        for (property, expected) in &scenario.expect {
            let found = report.verdict(*property);
            if found != Some(*expected) {
                let found = found.map_or("not asked", Verdict::name);
                writeln!(wrong, "{} ({}): {} is {found}", scenario.id, scenario.title, property.name()).unwrap();
            }
        }
    }
    assert!(wrong.is_empty(), "not as expected:\n{wrong}");
    table
}

#[test]
fn every_scenario_file_is_in_the_catalogue() {
    let names = |folder: &str| -> Vec<String> {
        let entries = std::fs::read_dir(format!("{}/{folder}", env!("CARGO_MANIFEST_DIR"))).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    };
    let profiles = names("profiles").into_iter().map(|name| format!("profile:{name}"));
    let files: BTreeSet<_> = names("catalogue").into_iter().chain(profiles).collect();
    let listed: BTreeSet<_> = catalogue::ids().map(|id| format!("{id}.toml")).collect();
    assert_eq!(files, listed);
}

#[test]
fn every_scenario_says_what_it_is() {
    for scenario in catalogue::all().unwrap() {
        assert_eq!(catalogue::text(&scenario.id).map(|text| text.contains(&scenario.id)), Some(true));
        assert!(scenario.source.is_some(), "{} does not say where it was first described", scenario.id);
        let sentences = scenario.about.matches(['.', '?']).count();
        assert!((1..=4).contains(&sentences), "{}: {}", scenario.id, scenario.about);
        for check in scenario.expand() {
            assert!(check.expect.len() >= 6, "{} ({}) expects too little", check.id, check.title);
            check.resolve().unwrap();
        }
    }
}

/// What makes the difference between a broken lock and its repair must be one decision, or nothing is learnt from it.
#[test]
fn the_halves_of_a_pair_differ_in_one_key_and_in_a_verdict() {
    for scenario in catalogue::all().unwrap() {
        let Some(other) = scenario.pair.as_deref().map(builtin) else { continue };
        let keys: Vec<_> = scenario.differences(&other).into_iter().map(|d| d.key).collect();
        assert_eq!(keys.len(), 1, "{} and {} differ in {keys:?}", scenario.id, other.id);
        assert_ne!(scenario.expect, other.expect, "{} and {} expect the same", scenario.id, other.id);
    }
}

#[test]
fn every_family_stands_together() {
    let families: Vec<_> = catalogue::all().unwrap().into_iter().map(|s| s.family).collect();
    let mut runs = families.clone();
    runs.dedup();
    let distinct: BTreeSet<_> = families.into_iter().collect();
    assert_eq!(runs.len(), distinct.len(), "a family is split: {runs:?}");
}

#[test]
fn the_rows_of_the_matrix_are_scenarios_without_faults() {
    let mut labels = BTreeSet::new();
    for (label, id) in catalogue::matrix() {
        assert!(labels.insert(label), "{label} stands there twice");
        let mut scenario = builtin(id);
        scenario.set_faults("none").unwrap();
        scenario.resolve().unwrap();
    }
}
