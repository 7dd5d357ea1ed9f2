//! Repairs, against plain checks of every change.

use std::num::NonZeroUsize;
use std::ops::ControlFlow;

use check::explore::{Cut, Monitor, Progress, Unwatched};
use check::repair::{Change, How, Pairs, Repair, Repairs, Stage, Watch, repair};
use check::scenario::{Hand, KNOBS, Named, Property, Scenario, Verdict};
use check::{Limits, Report, catalogue, check};
use world::Setup;

use crate::support::{builtin, every_check, violated};

/// Lets everything run to its end.
struct Patient;

impl Monitor for Patient {
    fn progress(&mut self, _: &Progress) -> ControlFlow<Cut> {
        ControlFlow::Continue(())
    }
}

impl Watch for Patient {
    fn next(&mut self, _: &Stage) -> ControlFlow<Cut> {
        ControlFlow::Continue(())
    }
}

/// Stops before the change with this number.
struct Until(usize);

impl Monitor for Until {
    fn progress(&mut self, _: &Progress) -> ControlFlow<Cut> {
        ControlFlow::Continue(())
    }
}

impl Watch for Until {
    fn next(&mut self, stage: &Stage) -> ControlFlow<Cut> {
        let is_over = stage.knobs == 1 && stage.number >= self.0;
        if is_over { ControlFlow::Break(Cut::Interrupted) } else { ControlFlow::Continue(()) }
    }
}

fn how(pairs: Pairs, threads: usize) -> How {
    let limits = Limits { threads: NonZeroUsize::new(threads).unwrap(), ..Limits::default() };
    How { limits, world: false, pairs }
}

fn own(body: &str) -> Scenario {
    Scenario::parse("own.toml", format!("id = \"own\"\ntitle = \"Own\"\n{body}").as_bytes()).unwrap()
}

fn repaired(scenario: &Scenario, pairs: Pairs) -> Repairs {
    repair(scenario, &how(pairs, 1), &mut Patient).unwrap()
}

fn told(changes: &[Change]) -> String {
    let told: Vec<_> = changes.iter().map(|c| format!("{}={}", c.knob, c.to.replace('"', ""))).collect();
    told.join(" ")
}

fn names(list: &[Property]) -> String {
    list.iter().map(|p| p.name()).collect::<Vec<_>>().join(", ")
}

/// What a repair does, in a line.
fn line(repair: &Repair) -> String {
    let breaks = if repair.breaks.is_empty() { String::new() } else { format!("; breaks {}", names(&repair.breaks)) };
    let unasked = if repair.unasked.is_empty() { "" } else { "; limits attempts" };
    format!("{}: {}{breaks}{unasked}", told(&repair.changes), names(&repair.repairs))
}

fn lines(repairs: &Repairs) -> Vec<String> {
    repairs.found.iter().map(line).collect()
}

fn has(repairs: &Repairs, expected: &str) -> bool {
    lines(repairs).iter().any(|line| line == expected)
}

fn checked(scenario: &Scenario) -> Report {
    let limits = Limits { threads: NonZeroUsize::MIN, ..Limits::default() };
    check(scenario, &limits, &mut Unwatched).unwrap()
}

/// A change, and the scenario with it.
type Changed = (Vec<Change>, Scenario);

/// Every change of one knob of the lock or the resource, whether it is refused or not.
fn singles(scenario: &Scenario) -> Vec<Change> {
    let mut all = Vec::new();
    for knob in KNOBS.iter().filter(|knob| knob.hand == Hand::Author) {
        let from = knob.get(&scenario.settings);
        for other in knob.others(&scenario.settings) {
            all.push(Change { knob: knob.key, from: from.clone(), to: other.value, distance: other.distance });
        }
    }
    all
}

fn with(scenario: &Scenario, changes: &[Change]) -> Option<Scenario> {
    let mut changed = scenario.clone();
    for change in changes {
        changed.set(&format!("{}={}", change.knob, change.to)).ok()?;
    }
    changed.resolve().ok()?;
    let is_locked = changed.settings.acquire != protocol::Acquire::Unlocked;
    is_locked.then_some(changed)
}

/// What plain checks say of changes, each world once: as a line for each that repairs something.
fn by_force(scenario: &Scenario, candidates: impl Iterator<Item = Vec<Change>>) -> Vec<Repair> {
    let before = checked(scenario);
    let broken = violated(&before);
    let mut seen: Vec<Setup> = vec![scenario.resolve().unwrap()];
    let mut found = Vec::new();
    let changed = candidates.filter_map(|changes| Some((changes.clone(), with(scenario, &changes)?)));
    for (changes, scenario) in changed.collect::<Vec<Changed>>() {
        let setup = scenario.resolve().unwrap();
        if seen.contains(&setup) {
            continue;
        }
        seen.push(setup);
        let report = checked(&scenario);
        let repairs: Vec<_> = broken.iter().copied().filter(|p| report.verdict(*p) == Some(Verdict::Holds)).collect();
        if repairs.is_empty() {
            continue;
        }
        let breaks = violated(&report).into_iter().filter(|p| !broken.contains(p)).collect();
        let asked = before.properties.iter().map(|p| p.property);
        let unasked = asked.filter(|p| report.verdict(*p).is_none()).collect();
        found.push(Repair { changes, repairs, breaks, unasked, report });
    }
    found
}

fn sorted(mut lines: Vec<String>) -> Vec<String> {
    lines.sort();
    lines
}

/// Scenarios that only this test knows, each broken in another way.
const BROKEN: [&str; 6] = [
    "[lock]\nttl = 2\nholder = \"naive\"\nrelease = \"del\"\n[work]\nwork = 3\n",
    "[lock]\nacquire = \"setnx\"\nholder = \"naive\"\n[faults]\ncrash = 1\n",
    "[lock]\nholder = \"naive\"\nfencing = \"with-grant\"\n[faults]\npause = 1\n",
    "[lock]\nvalidity = \"from-reply\"\nttl = 3\n[world]\nlatency = [0, 1]\n",
    "[lock]\nacquire = \"setnx\"\nttl = \"none\"\nconflict = \"wait\"\n[world]\nresources = [[\"x\", \"y\"], [\"y\", \"x\"]]\n",
    "[lock]\nacquire = \"get-then-set\"\nttl = 4\n",
];

#[test]
fn single_changes_are_those_that_plain_checks_find() {
    for body in BROKEN {
        let scenario = own(body);
        let found = repaired(&scenario, Pairs::Never);
        assert!(!found.violated.is_empty(), "nothing is violated:\n{body}");
        let all = singles(&scenario);
        assert_eq!(found.singles.total, all.len());
        let expected = by_force(&scenario, all.into_iter().map(|change| vec![change]));
        let expected: Vec<_> = expected.iter().map(line).collect();
        assert_eq!(sorted(lines(&found)), sorted(expected), "{body}");
        assert_eq!(found.pairs, None);
    }
}

/// The same for two knobs at once, where only what no single change does as well is listed.
#[test]
#[ignore = "takes a while: the test script runs it in release mode"]
fn pairs_are_those_that_plain_checks_find() {
    for body in [PAIRED, BROKEN[0], BROKEN[1]] {
        let scenario = own(body);
        let found = repaired(&scenario, Pairs::Always);
        let all = singles(&scenario);
        let of = |change: &Change| vec![change.clone()];
        let alone = by_force(&scenario, all.iter().map(of));
        let mut pairs: Vec<Vec<Change>> = Vec::new();
        for (at, first) in all.iter().enumerate() {
            let others = all[at + 1..].iter().filter(|second| second.knob != first.knob);
            pairs.extend(others.map(|second| vec![first.clone(), second.clone()]));
        }
        pairs.sort_by_key(|pair| pair.iter().map(|change| change.distance).sum::<u32>());
        assert_eq!(found.pairs.as_ref().unwrap().total, pairs.len());
        // A pair that makes the world of a single change is none.
        let both = by_force(&scenario, all.iter().map(of).chain(pairs));
        let broken = violated(&checked(&scenario));
        let mut goals: Vec<Vec<Property>> = broken.iter().map(|property| vec![*property]).collect();
        goals.push(broken);
        let meets = |repair: &Repair, goal: &[Property]| goal.iter().all(|p| repair.repairs.contains(p));
        let is_listed = |pair: &&Repair| {
            goals.iter().any(|goal| {
                let parts = alone.iter().filter(|single| pair.changes.contains(&single.changes[0]));
                let does_as_well = |single: &Repair| meets(single, goal) && (single.is_clean() || !pair.is_clean());
                meets(pair, goal) && !parts.into_iter().any(does_as_well)
            })
        };
        let expected = both.iter().filter(|repair| repair.changes.len() == 2).filter(is_listed).map(line).collect();
        let found: Vec<_> = found.found.iter().filter(|repair| repair.changes.len() == 2).map(line).collect();
        assert_eq!(sorted(found), sorted(expected), "{body}");
    }
}

/// Two knobs are needed: without a TTL no other way to acquire is allowed, and with one SETNX never uses it.
const PAIRED: &str = "[lock]\nacquire = \"setnx\"\nttl = \"none\"\n[faults]\ncrash = 1\n";

#[test]
fn what_no_single_change_repairs_a_pair_does() {
    let found = repaired(&own(PAIRED), Pairs::Needed);
    assert_eq!(names(&found.violated), "no-orphan, deadlock-free");
    assert!(found.found.iter().all(|repair| repair.changes.len() == 2), "{:?}", lines(&found));
    assert!(has(&found, "acquire=set-nx-px ttl=3: no-orphan, deadlock-free"), "{:?}", lines(&found));
    assert_eq!(found.unrepaired().count(), 0);
    let alone = repaired(&own(PAIRED), Pairs::Never);
    assert!(alone.found.is_empty() && alone.pairs.is_none());
    assert_eq!(alone.unrepaired().count(), 2);
}

#[test]
fn what_the_textbooks_advise_is_found_by_running() {
    let cases = [
        // Whoever deletes looks whose entry it is.
        (
            "[lock]\nttl = 2\nholder = \"naive\"\nrelease = \"del\"\n[work]\nwork = 3\n",
            "release=compare-and-delete: no-wrong-release",
        ),
        // Of four servers two are no majority.
        (
            "[lock]\nquorum = 2\n[world]\nnodes = 4\n[faults]\ncrash = 1\n",
            "quorum=3: mutual-exclusion, no-lost-update, no-stale-write",
        ),
        // Everybody takes the locks in the same order.
        (BROKEN[4], "order=sorted: no-orphan, deadlock-free"),
        // A holder looks at its clock.
        (
            "[lock]\nholder = \"naive\"\n[faults]\npause = 1\n",
            "holder=clocked: mutual-exclusion, no-lost-update, no-stale-write",
        ),
        // A renewal that was refused is no renewal.
        (
            "[lock]\nrenewal = \"set-nx-px\"\nrefused_renewal = \"ignored\"\n[faults]\npause = 1\n",
            "refused_renewal=lost: mutual-exclusion, no-lost-update",
        ),
    ];
    for (body, expected) in cases {
        let found = repaired(&own(body), Pairs::Never);
        assert!(has(&found, expected), "{expected}\n{body}\n{}", lines(&found).join("\n"));
    }
}

/// A server that forgets everything keeps no lock, whatever its clients do.
const FORGETFUL: &str = "[faults]\nrestart = 1\n";

#[test]
fn what_cannot_be_repaired_is_not() {
    let only = |property| Limits { properties: Some(vec![property]), ..how(Pairs::Never, 1).limits };
    let limits = only(Property::MutualExclusion);
    let scenario = own(FORGETFUL);
    let found = repair(&scenario, &How { limits: limits.clone(), ..how(Pairs::Never, 1) }, &mut Patient).unwrap();
    assert_eq!(found.violated, [Property::MutualExclusion]);
    assert!(found.found.is_empty() && !found.is_open(), "{:?}", lines(&found));
    // Those who run the server can help.
    let found = repair(&scenario, &How { limits, world: true, pairs: Pairs::Never }, &mut Patient).unwrap();
    assert!(has(&found, "persistence=always: mutual-exclusion"), "{:?}", lines(&found));
}

#[test]
fn a_lock_that_holds_needs_no_repair() {
    let found = repaired(&own("[faults]\ncrash = 1\n"), Pairs::Always);
    assert!(found.violated.is_empty() && found.found.is_empty() && found.pairs.is_none());
    assert_eq!((found.singles.total, found.singles.searched), (0, 0));
}

#[test]
fn what_a_repair_breaks_is_said() {
    let found = repaired(&own("[lock]\nholder = \"naive\"\n[faults]\npause = 1\n"), Pairs::Never);
    let line = "acquire=setnx: mutual-exclusion, no-lost-update, no-stale-write; breaks no-orphan, deadlock-free";
    assert!(has(&found, line), "{}", lines(&found).join("\n"));
}

#[test]
fn the_smallest_repairs_come_first() {
    for body in BROKEN {
        let found = repaired(&own(body), Pairs::Needed).found;
        let size = |repair: &Repair| (repair.changes.len(), repair.distance(), !repair.is_clean());
        assert!(found.is_sorted_by_key(size), "{body}");
    }
}

/// Nothing vacuous is a repair: a TTL that outlasts the work is never put to the test.
#[test]
fn what_was_never_put_to_the_test_is_no_repair() {
    let found = repaired(&own(BROKEN[0]), Pairs::Never);
    assert!(found.singles.vacuous.iter().any(|changes| told(changes) == "ttl=4"), "{:?}", found.singles.vacuous);
    assert!(!lines(&found).iter().any(|line| line.starts_with("ttl=4")));
}

#[test]
fn every_change_is_accounted_for() {
    for body in BROKEN {
        let found = repaired(&own(body), Pairs::Needed);
        for tally in [&found.singles].into_iter().chain(&found.pairs) {
            let refused: usize = tally.refused.values().sum();
            let all = refused + tally.same + tally.needless + tally.replayed + tally.searched + tally.untried;
            assert_eq!(all, tally.total, "{tally:?}");
            assert!(tally.replayed > 0, "no way was gone again: {tally:?}");
        }
    }
}

#[test]
fn threads_change_nothing() {
    for scenario in [own(BROKEN[0]), own(BROKEN[3]), builtin("redlock-even-quorum")] {
        let of = |threads| {
            let mut found = repair(&scenario, &how(Pairs::Needed, threads), &mut Patient).unwrap();
            found.found.iter_mut().map(|r| &mut r.report).chain([&mut found.report]).for_each(|r| r.bytes = 0);
            found
        };
        assert_eq!(of(1), of(3));
    }
}

#[test]
fn what_was_found_before_it_was_stopped_is_kept() {
    let scenario = own(BROKEN[0]);
    let all = repaired(&scenario, Pairs::Needed);
    let some = repair(&scenario, &how(Pairs::Needed, 1), &mut Until(40)).unwrap();
    assert_eq!((some.cut, some.singles.untried), (Some(Cut::Interrupted), all.singles.total - 39));
    assert!(some.is_open() && !some.found.is_empty());
    assert!(some.found.iter().all(|repair| all.found.contains(repair)));
}

#[test]
fn a_limit_is_never_a_repair() {
    let limits = Limits { max_states: Some(1_500), ..how(Pairs::Never, 1).limits };
    let found = repair(
        &own("[lock]\nholder = \"naive\"\n[faults]\npause = 1\n"),
        &How { limits, ..how(Pairs::Never, 1) },
        &mut Patient,
    )
    .unwrap();
    assert!(found.is_open() && !found.singles.inconclusive.is_empty());
    assert!(found.found.iter().all(|repair| repair.report.is_complete()));
}

/// Of every pair of the catalogue that differs in a knob of the lock, the broken half is repaired by the other half's value.
#[test]
#[ignore = "takes minutes: the test script runs it in release mode"]
fn the_broken_half_of_every_pair_is_repaired_by_the_other() {
    let mut seen = 0;
    for broken in catalogue::all().unwrap() {
        let Some(other) = broken.pair.as_deref().map(builtin) else { continue };
        let [difference] = broken.differences(&other).try_into().unwrap();
        let Some(knob) = KNOBS.iter().find(|knob| knob.path() == difference.key && knob.hand == Hand::Author) else {
            continue;
        };
        let [broken] = <[Scenario; 1]>::try_from(broken.expand()).unwrap();
        let reports = [checked(&broken), checked(&other)];
        let fixed: Vec<Property> = violated(&reports[0])
            .into_iter()
            .filter(|property| reports[1].verdict(*property) == Some(Verdict::Holds))
            .collect();
        let is_near = knob.others(&broken.settings).iter().any(|value| value.value == difference.right);
        if fixed.is_empty() || !is_near || other.settings.acquire == protocol::Acquire::Unlocked {
            continue;
        }
        let found = repaired(&broken, Pairs::Never);
        let change = format!("{}={}", knob.key, difference.right.replace('"', ""));
        let repairs = found.found.iter().find(|repair| told(&repair.changes) == change);
        assert_eq!(repairs.map(|repair| &repair.repairs), Some(&fixed), "{}: {change}", broken.id);
        seen += 1;
    }
    assert!(seen > 25, "{seen}");
    // Rows of sheets are repaired as well.
    let row = every_check().into_iter().find(|s| s.id == "multilock" && !violated(&checked(s)).is_empty()).unwrap();
    assert!(!repaired(&row, Pairs::Never).found.is_empty());
}
