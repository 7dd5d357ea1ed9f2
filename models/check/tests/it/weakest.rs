//! The weakest faults, held against checks that are run one by one, and against what can be worked out by thinking.

use std::num::NonZeroUsize;

use check::explore::Unwatched;
use check::scenario::{Named, Property, Scenario, Verdict};
use check::weakest::{
    Ask, Break, Breaks, Edge, Law, Magnitude, Plain, Runner, Side, Stage, Weakest, faults_text, includes,
};
use check::{Limits, Report, check, weakest};
use world::{Budget, Fault};

/// A lock that no catalogue knows.
fn parsed(lock: &str, rest: &str) -> Scenario {
    let text = format!("schema = 1\nid = \"own\"\ntitle = \"Own\"\n[lock]\n{lock}\n{rest}");
    Scenario::parse("own.toml", text.as_bytes()).unwrap_or_else(|errors| panic!("{errors}"))
}

fn budget(text: &str) -> Budget {
    let mut scenario = Scenario::new("faults", "Faults");
    scenario.set_faults(text).unwrap();
    scenario.faults
}

fn ask(most: u8, within: Option<&str>) -> Ask {
    Ask { most, within: within.map(budget), formulas: false, limits: Limits::default() }
}

fn found(scenario: &Scenario, ask: &Ask) -> Weakest {
    weakest::weakest(scenario, ask, &mut Plain).unwrap()
}

fn of(found: &Weakest, property: Property) -> &Breaks {
    found.properties.iter().find(|p| p.property == property).unwrap()
}

/// The one set of these faults that breaks a property.
#[track_caller]
fn set<'w>(found: &'w Weakest, property: Property, faults: &str) -> &'w Break {
    let wanted = budget(faults);
    let sets = || of(found, property).sets.iter();
    sets().find(|s| s.faults == wanted).unwrap_or_else(|| {
        let all: Vec<_> = sets().map(|s| faults_text(&s.faults)).collect();
        panic!("{} is not broken by {faults}, but by {all:?}", property.name())
    })
}

/// The magnitude of the first fault of a set, of which one tick less is known to hold.
#[track_caller]
fn magnitude<'w>(found: &'w Weakest, property: Property, faults: &str) -> &'w Magnitude {
    let magnitude = &set(found, property, faults).magnitudes[0];
    assert_eq!(magnitude.edge, Edge::Holds, "{faults}");
    magnitude
}

#[track_caller]
fn formula(found: &Weakest, property: Property, faults: &str) -> String {
    match &magnitude(found, property, faults).law {
        Law::Linear(formula) => formula.to_string(),
        law @ (Law::NotAsked | Law::Irregular | Law::Undecided) => panic!("{faults}: {law:?}"),
    }
}

/// A holder that never looks at its clock works for `work` ticks. Whatever makes its entry go away before it is done
/// takes the rest of its lease.
#[test]
fn the_lease_of_a_naive_holder_less_its_work_is_enough() {
    for (ttl, work) in [(3, 1), (4, 1), (4, 2), (5, 3)] {
        let scenario = parsed(&format!("ttl = {ttl}\nholder = \"naive\""), &format!("[work]\nwork = {work}\n"));
        let found = found(&scenario, &ask(1, Some("pause,jump,drift=4,restart")));
        assert!(found.is_complete());
        let ticks = |property, faults: &str| magnitude(&found, property, faults).ticks;
        for fault in ["pause", "jump"] {
            assert_eq!(ticks(Property::MutualExclusion, fault), ttl - work, "{fault}, TTL {ttl}, work {work}");
            // The rival has to have finished as well.
            assert_eq!(ticks(Property::NoStaleWrite, fault), ttl, "{fault}, TTL {ttl}, work {work}");
        }
        let drift = format!("drift={}", ttl - work);
        assert_eq!(ticks(Property::MutualExclusion, &drift), ttl - work, "TTL {ttl}, work {work}");
        // The rival comes as soon as the server is back, which has to be while the holder still works.
        assert_eq!(ticks(Property::MutualExclusion, "restart"), work, "TTL {ttl}, work {work}");
        assert_eq!(of(&found, Property::NoWrongRelease).sets, []);
    }
}

#[test]
fn formulas_say_what_thinking_says() {
    let naive = parsed("ttl = 4\nholder = \"naive\"", "[work]\nwork = 2\n");
    let ask = Ask { formulas: true, ..ask(1, Some("pause,jump,restart")) };
    let told = found(&naive, &ask);
    assert_eq!(formula(&told, Property::MutualExclusion, "pause"), "TTL - work");
    assert_eq!(formula(&told, Property::MutualExclusion, "jump"), "TTL - work");
    assert_eq!(formula(&told, Property::NoStaleWrite, "pause"), "TTL");
    assert_eq!(formula(&told, Property::MutualExclusion, "restart"), "work");
    // A clocked holder with too much to do believes until its margin, and the entry has to be gone by then.
    let clocked = parsed("ttl = 4\nmargin = 1", "[work]\nwork = 7\n");
    let told = found(&clocked, &ask);
    assert_eq!(formula(&told, Property::MutualExclusion, "jump"), "margin + 1");
    assert!(of(&told, Property::MutualExclusion).sets.iter().all(|set| set.faults != budget("pause")));
    // If it has less to do than its lease allows, but more than that for some of the numbers tried, there is no one sum.
    let between = parsed("ttl = 4\nmargin = 1", "[work]\nwork = 3\n");
    let told = found(&between, &ask);
    assert_eq!(magnitude(&told, Property::MutualExclusion, "jump").law, Law::Irregular);
}

/// Three servers: a restart without memory makes room for a second quorum, with a lease of the first still running.
#[test]
fn a_restarted_server_gives_a_quorum_away() {
    let redlock = "ttl = 2\nvisit = \"all-at-once\"";
    let ask = Ask {
        limits: Limits { properties: Some(vec![Property::MutualExclusion]), ..Limits::default() },
        ..ask(1, Some("restart"))
    };
    let forgetful = found(&parsed(redlock, "[world]\nnodes = 3\n"), &ask);
    assert_eq!(magnitude(&forgetful, Property::MutualExclusion, "restart").ticks, 1);
    let persistent = found(&parsed(redlock, "[world]\nnodes = 3\npersistence = \"always\"\n"), &ask);
    assert!(persistent.is_complete());
    assert_eq!(of(&persistent, Property::MutualExclusion).sets, []);
}

#[test]
fn a_scenario_that_is_broken_needs_no_fault() {
    let unlocked = parsed("acquire = \"unlocked\"", "");
    let found = found(&unlocked, &ask(1, None));
    let sets = &of(&found, Property::NoLostUpdate).sets;
    assert_eq!((sets.len(), sets[0].faults), (1, Budget::default()));
    assert!(found.refused.iter().any(|set| set.faults == budget("restart") && set.reason.contains("no lock server")));
}

/// The faults that a scenario has do not count, nor does what it expects.
#[test]
fn the_faults_of_the_scenario_are_left_out() {
    let with = parsed("ttl = 3\nholder = \"naive\"", "[faults]\npause = 2\n[expect]\nno-orphan = \"holds\"\n");
    let without = parsed("ttl = 3\nholder = \"naive\"", "");
    let ask = ask(1, Some("pause"));
    let sets = |scenario| found(scenario, &ask).properties.iter().map(|p| p.sets.len()).collect::<Vec<_>>();
    assert_eq!(sets(&with), sets(&without));
}

/// A bound that the scenario has already can only be lowered.
#[test]
fn a_bound_of_the_scenario_stays() {
    let scenario = parsed("ttl = 3\nholder = \"naive\"", "[world]\nlongest_pause = 2\n");
    let found = found(&scenario, &ask(1, Some("pause")));
    assert_eq!(magnitude(&found, Property::MutualExclusion, "pause").ticks, 2);
    assert_eq!(of(&found, Property::NoStaleWrite).sets, []);
}

/// Every set with so many units of the faults that the scenario allows.
fn every_set(scenario: &Scenario, most: u8) -> Vec<Budget> {
    let mut sets = vec![Budget::default()];
    for _ in 0..most {
        for set in sets.clone() {
            for fault in Fault::ALL {
                let mut more = set;
                more.set(fault, set.get(fault) + 1);
                let mut tried = scenario.clone();
                tried.faults = more;
                if tried.resolve().is_ok() && !sets.contains(&more) {
                    sets.push(more);
                }
            }
        }
    }
    sets
}

/// The whole of a check, without any short cut.
fn whole(scenario: &Scenario) -> Report {
    let report = check(scenario, &Limits::default(), &mut Unwatched).unwrap();
    assert!(report.is_complete());
    report
}

fn breaks(report: &Report, property: Property) -> bool {
    report.verdict(property) == Some(Verdict::Violated)
}

/// The reported sets are the minimal ones of all sets, each checked by itself.
fn compare_sets(scenario: &Scenario, most: u8) {
    let mut base = scenario.clone();
    base.set_faults("none").unwrap();
    let told = found(&base, &ask(most, None));
    assert!(told.is_complete());
    let sets = every_set(&base, most);
    let report = |faults: &Budget| {
        let mut scenario = base.clone();
        scenario.faults = *faults;
        whole(&scenario)
    };
    let reports: Vec<Report> = sets.iter().map(report).collect();
    for breaks_it in &told.properties {
        let property = breaks_it.property;
        let broken: Vec<Budget> =
            sets.iter().zip(&reports).filter(|(_, r)| breaks(r, property)).map(|(set, _)| *set).collect();
        let has_smaller = |set: &Budget| broken.iter().any(|other| other != set && includes(set, other));
        let mut minimal: Vec<String> = broken.iter().filter(|s| !has_smaller(s)).map(faults_text).collect();
        let is_small = |set: &&Break| Fault::ALL.iter().map(|f| set.faults.get(*f)).sum::<u8>() <= most;
        let mut ours: Vec<String> = breaks_it.sets.iter().filter(is_small).map(|s| faults_text(&s.faults)).collect();
        minimal.sort();
        ours.sort();
        assert_eq!(ours, minimal, "{}\n{}", property.name(), base.to_toml());
    }
}

#[test]
fn the_sets_are_the_minimal_ones() {
    compare_sets(&parsed("ttl = 2\nholder = \"naive\"", "[work]\nwork = 0\n"), 2);
    compare_sets(&parsed("acquire = \"setnx\"\nttl = \"none\"", "[work]\nwork = 0\n"), 2);
    compare_sets(&parsed("ttl = 2\nrelease = \"del\"", "[work]\nwork = 1\n[world]\nreplicas = 1\n"), 1);
    compare_sets(&parsed("acquire = \"unlocked\"", "[resource]\ncheck = \"compare-and-swap\"\n"), 2);
}

/// Every magnitude breaks, and one tick milder holds, in checks without any short cut.
#[test]
fn a_tick_less_is_not_enough() {
    let scenarios = [
        parsed("ttl = 3\nholder = \"naive\"", "[work]\nwork = 1\n"),
        parsed("ttl = 2\nmargin = 1", "[work]\nwork = 0\n[world]\nlatency = 1\n"),
        parsed("ttl = 3\nrenewal = \"compare-and-extend\"", "[work]\nwork = 2\n"),
    ];
    let mut measured = 0;
    for scenario in scenarios {
        let told = found(&scenario, &ask(1, None));
        for breaks_it in &told.properties {
            for set in &breaks_it.sets {
                let report = whole(&set.scenario);
                assert!(breaks(&report, breaks_it.property), "{:?}", set.set);
                for m in set.magnitudes.iter().filter(|m| m.edge == Edge::Holds) {
                    let mut milder = set.scenario.clone();
                    match (m.knob, m.side) {
                        (Some(knob), Side::Least) => milder.set(&format!("{knob}={}", m.ticks - 1)).unwrap(),
                        (Some(knob), Side::Greatest) => milder.set(&format!("{knob}={}", m.ticks + 1)).unwrap(),
                        (None, _) => milder.faults.set(m.fault, milder.faults.get(m.fault) - 1),
                    }
                    assert!(!breaks(&whole(&milder), breaks_it.property), "{m:?}");
                    measured += 1;
                }
            }
        }
    }
    assert!(measured > 20, "{measured}");
}

#[test]
fn threads_change_nothing() {
    let scenario = parsed("ttl = 3\nholder = \"naive\"", "");
    let on = |threads| {
        let limits = Limits { threads: NonZeroUsize::new(threads).unwrap(), ..Limits::default() };
        found(&scenario, &Ask { formulas: true, limits, ..ask(1, None) })
    };
    assert_eq!(on(1), on(3));
}

/// It visits fewer states and finds the same.
#[test]
fn symmetry_changes_nothing_but_the_states() {
    let scenario = parsed("ttl = 3\nholder = \"naive\"", "");
    let up_to = |symmetry| {
        let limits = Limits { symmetry, ..Limits::default() };
        found(&scenario, &Ask { formulas: true, limits, ..ask(1, None) })
    };
    let (all, classes) = (up_to(false), up_to(true));
    assert!(classes.states < all.states);
    for (all, classes) in all.properties.iter().zip(&classes.properties) {
        let told = |set: &Break| (faults_text(&set.faults), set.steps, set.magnitudes.clone());
        assert!(all.sets.iter().map(told).eq(classes.sets.iter().map(told)), "{}", all.property.name());
    }
}

#[test]
fn what_a_limit_left_open_is_not_told_as_known() {
    let scenario = parsed("ttl = 3\nholder = \"naive\"", "");
    let limited = |most| {
        let limits = Limits { max_states: Some(most), ..Limits::default() };
        let told = found(&scenario, &Ask { limits, ..ask(1, Some("pause")) });
        assert!(!told.is_complete() && !told.is_stopped);
        told
    };
    // Too few for anything.
    let few = limited(20);
    for breaks in &few.properties {
        assert_eq!(breaks.sets, [], "{}", breaks.property.name());
        assert!(breaks.undecided.contains(&Budget::default()), "{}", breaks.property.name());
    }
    // Enough to find what breaks, not to exhaust what does not.
    let some = limited(500);
    let pause = &set(&some, Property::MutualExclusion, "pause").magnitudes[0];
    assert_eq!((pause.ticks, pause.edge), (2, Edge::Undecided));
    assert!(!of(&some, Property::MutualExclusion).is_decided());
    assert_eq!(of(&some, Property::NoOrphan).undecided, [budget("pause")]);
}

/// Stops after so many checks.
struct Impatient(usize);

impl Runner for Impatient {
    fn run(&mut self, stage: Stage, scenario: &Scenario, limits: &Limits) -> Option<Report> {
        self.0 = self.0.checked_sub(1)?;
        Plain.run(stage, scenario, limits)
    }
}

#[test]
fn whoever_runs_the_checks_can_stop() {
    let scenario = parsed("ttl = 3\nholder = \"naive\"", "");
    let whole = found(&scenario, &ask(1, None));
    for checks in 0..12 {
        let told = weakest::weakest(&scenario, &ask(1, None), &mut Impatient(checks)).unwrap();
        assert!(told.is_stopped && !told.is_complete() && told.checks == checks, "{checks}");
        for (breaks, all) in told.properties.iter().zip(&whole.properties) {
            for set in &breaks.sets {
                let known = all.sets.iter().find(|s| s.faults == set.faults).unwrap();
                for (m, whole) in set.magnitudes.iter().zip(&known.magnitudes) {
                    // What is known is right, and what is not is said so.
                    assert!(m.edge == Edge::Undecided || (m.ticks, m.edge) == (whole.ticks, whole.edge));
                    let is_stronger = match m.side {
                        Side::Least => m.ticks >= whole.ticks,
                        Side::Greatest => m.ticks <= whole.ticks,
                    };
                    assert!(is_stronger, "{m:?} {whole:?}");
                }
            }
            let is_told = |set: &Break| {
                breaks.sets.iter().any(|s| s.faults == set.faults)
                    || breaks.undecided.iter().any(|open| includes(&set.faults, open))
            };
            assert!(all.sets.iter().all(is_told), "{}: what was not tried is open", breaks.property.name());
        }
    }
}
