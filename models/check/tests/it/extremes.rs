//! Any value of any knob: a scenario is refused for a reason that is written down, or it can be searched.

use std::cell::RefCell;
use std::collections::BTreeMap;

use check::explore::Unwatched;
use check::scenario::{Named, Problem, Property, RULES, SCHEMA, Scenario, ScenarioErrors, Verdict, Witness};
use check::{Limits, check};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use world::{Action, Setup, Witnesses, World};

use crate::draw::{Draw, Size, full_draws, plain, runner, value};

/// The rules by which something is refused. Everything else that could be wrong with it is none of the draws' doing.
fn cited(errors: &ScenarioErrors, told: &str) -> Vec<&'static str> {
    let rule = |problem: &Problem| match problem {
        Problem::Refused(rule) if RULES.contains(rule) => rule.id,
        Problem::Refused(_)
        | Problem::TooLarge { .. }
        | Problem::NotUtf8
        | Problem::NotToml { .. }
        | Problem::Unknown { .. }
        | Problem::Value { .. }
        | Problem::Missing { .. }
        | Problem::Twice { .. } => panic!("not for a rule: {errors}\n{told}"),
    };
    errors.iter().map(|error| rule(&error.problem)).collect()
}

/// The file that says what was drawn, and expects something of it.
fn file(draw: &Draw, expect: &BTreeMap<&str, &str>, witnesses: &[&str]) -> String {
    let head = format!("schema = {SCHEMA}\nid = \"drawn\"\ntitle = \"Drawn\"\nwitnesses = {witnesses:?}\n");
    let knobs = draw.knobs.iter().map(|(k, number)| format!("{} = {}\n", k.path(), value(k, *number, Size::Full)));
    let faults = draw.faults.iter().map(|(fault, units)| format!("faults.{} = {units}\n", fault.name()));
    let expect = expect.iter().map(|(property, verdict)| format!("expect.{property} = {verdict:?}\n"));
    head + &knobs.chain(faults).chain(expect).collect::<String>()
}

fn expectations() -> impl Strategy<Value = BTreeMap<&'static str, &'static str>> {
    let property = select(Property::ALL).prop_map(Named::name);
    proptest::collection::btree_map(property, select(Verdict::ALL).prop_map(Named::name), 0..2)
}

fn witnesses() -> impl Strategy<Value = Vec<&'static str>> {
    vec(select(Witness::ALL).prop_map(Named::name), 0..2)
}

#[test]
fn what_is_refused_is_refused_by_a_rule() {
    let counts = RefCell::new(RULES.iter().map(|rule| (rule.id, 0)).collect::<BTreeMap<_, _>>());
    let accepted = RefCell::new(0);
    let outcome = runner(3_000).run(&(full_draws(), expectations(), witnesses()), |(draw, expect, witnesses)| {
        let text = file(&draw, &expect, &witnesses);
        let (read, made) = (Scenario::parse("drawn", text.as_bytes()), draw.scenario(Size::Full));
        let (read, made) = (read.and_then(|scenario| scenario.resolve()), made.resolve());
        // A file says more than the knobs, so it can be refused for more; what it describes is the same.
        let by_knobs = made.as_ref().err().map_or_else(Vec::new, |errors| cited(errors, &text));
        let by_file = read.as_ref().err().map_or_else(Vec::new, |errors| cited(errors, &text));
        prop_assert!(by_knobs.iter().all(|rule| by_file.contains(rule)), "{by_knobs:?}, {by_file:?}: {text}");
        if let Ok(setup) = &read {
            prop_assert_eq!(Some(setup), made.as_ref().ok());
            *accepted.borrow_mut() += 1;
        }
        let mut counts = counts.borrow_mut();
        by_file.into_iter().for_each(|rule| *counts.entry(rule).or_default() += 1);
        Ok(())
    });
    outcome.unwrap_or_else(|failure| panic!("{failure}"));
    eprintln!("{} accepted, {:?}", accepted.borrow(), counts.borrow());
}

/// Takes steps at random, and packs every state: a field that is too narrow for what it has to hold panics.
fn walk(setup: &Setup, choices: &[u16]) {
    let mut world = World::new(setup);
    let mut actions: Vec<Action> = Vec::new();
    for choice in choices {
        actions.clear();
        world.actions(setup, &mut actions);
        let Some(action) = actions.get(usize::from(*choice) % actions.len().max(1)) else { return };
        world.apply(setup, *action, &mut Witnesses::default());
        world.canonicalise(setup);
        let packed = world.pack(setup);
        let mut unpacked = World::new(setup);
        unpacked.unpack(setup, &packed);
        assert_eq!(unpacked.pack(setup), packed, "a state does not come out as it was put in");
    }
}

/// As many clients, servers and locks as there can be, and messages that all stay under way while their senders go on.
#[test]
fn the_fullest_world_fits() {
    let mut scenario = plain();
    let knobs = ["nodes=7", "latency=[29, 29]", "timeout=1", "visit=all-at-once", "unknown=assume-held", "ttl=60"];
    let lists = r#"resources=[["a", "b", "c"], ["a", "b", "c"], ["a", "b", "c"], ["a", "b", "c"]]"#;
    knobs.into_iter().chain([lists]).for_each(|knob| scenario.set(knob).unwrap());
    let setup = scenario.resolve().unwrap();
    let mut world = World::new(&setup);
    let mut most = 0;
    for _ in 0..400 {
        let mut actions = Vec::new();
        world.actions(&setup, &mut actions);
        world.apply(&setup, actions[0], &mut Witnesses::default());
        world.canonicalise(&setup);
        let packed = world.pack(&setup);
        let mut unpacked = World::new(&setup);
        unpacked.unpack(&setup, &packed);
        assert_eq!(unpacked.pack(&setup), packed);
        most = most.max(world.messages().count());
    }
    let places = 4 * 7 * 3;
    assert!(most > 2 * places, "only {most} messages were under way");
}

/// So many accepted scenarios are searched for a while, and walked through further than the search comes.
fn search_what_is_accepted(cases: u32, steps: usize) {
    let strategy = (full_draws(), vec(any::<u16>(), steps));
    let outcome = runner(cases).run(&strategy, |(draw, choices)| {
        let (scenario, _) = draw.accepted(plain(), Size::Full);
        let limits = Limits { max_states: Some(300), properties: Some(Property::ALL.to_vec()), ..Limits::default() };
        let report = check(&scenario, &limits, &mut Unwatched).unwrap();
        let holds = report.properties.iter().any(|p| p.verdict == Verdict::Holds);
        prop_assert!(report.is_complete() || !holds, "cut off, and it holds: {}", scenario.to_toml());
        let setup = scenario.resolve().unwrap();
        let told = scenario.to_toml();
        let walked = std::panic::catch_unwind(|| walk(&setup, &choices));
        prop_assert!(walked.is_ok(), "a walk ends badly: {told}");
        Ok(())
    });
    outcome.unwrap_or_else(|failure| panic!("{failure}"));
}

#[test]
fn what_is_accepted_can_be_searched() {
    search_what_is_accepted(300, 400);
}

#[test]
#[ignore = "takes a minute: the test script runs it in release mode"]
fn what_is_accepted_can_be_searched_for_longer() {
    search_what_is_accepted(5_000, 1_500);
}
