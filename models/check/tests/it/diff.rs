//! Comparisons, against plain checks of everything between.

use std::num::NonZeroUsize;
use std::ops::ControlFlow;

use check::diff::{Diff, Flip, Method, Stage, Watch, between, diff};
use check::explore::{Cut, Monitor, Progress, Unwatched};
use check::scenario::{Named, Property, Scenario, Verdict};
use check::{Limits, check};
use trace::{Beside, Side};

use crate::support::{builtin, with};

/// Lets so many searches run to their end.
struct Patient(usize);

impl Monitor for Patient {
    fn progress(&mut self, _: &Progress) -> ControlFlow<Cut> {
        ControlFlow::Continue(())
    }
}

impl Watch for Patient {
    fn next(&mut self, _: &Stage<'_>) -> ControlFlow<Cut> {
        if self.0 == 0 {
            return ControlFlow::Break(Cut::Interrupted);
        }
        self.0 -= 1;
        ControlFlow::Continue(())
    }
}

fn limits(threads: usize) -> Limits {
    Limits { threads: NonZeroUsize::new(threads).unwrap(), ..Limits::default() }
}

fn own(body: &str) -> Scenario {
    Scenario::parse("own.toml", format!("id = \"own\"\ntitle = \"Own\"\n{body}").as_bytes()).unwrap()
}

fn compared(left: &Scenario, right: &Scenario) -> Diff {
    diff(left, right, &limits(1), &mut Patient(usize::MAX)).unwrap()
}

fn flip(diff: &Diff, property: Property) -> &Flip {
    diff.flips
        .iter()
        .find(|flip| flip.property == property)
        .unwrap_or_else(|| panic!("{} is the same", property.name()))
}

fn beside(diff: &Diff, property: Property) -> &Beside {
    flip(diff, property).beside.as_ref().unwrap()
}

/// The verdict on the first scenario with these keys of the second; none if it is refused or no question.
fn verdict(left: &Scenario, right: &Scenario, diff: &Diff, keys: &[usize], property: Property) -> Option<Verdict> {
    let keys: Vec<_> = keys.iter().map(|key| &diff.keys[*key]).collect();
    check(&between(left, right, &keys), &limits(1), &mut Unwatched).ok()?.verdict(property)
}

/// The sets of keys that make the difference and contain no smaller one, by plain checks of all sets.
fn by_force(left: &Scenario, right: &Scenario, diff: &Diff, flip: &Flip) -> Vec<Vec<usize>> {
    let all = diff.keys.len();
    let mut sets: Vec<Vec<usize>> =
        (1..1usize << all).map(|bits| (0..all).filter(|key| bits >> key & 1 == 1).collect()).collect();
    sets.sort_by_key(|set| (set.len(), set.clone()));
    let mut found: Vec<Vec<usize>> = Vec::new();
    for set in sets {
        let is_larger = found.iter().any(|smaller| smaller.iter().all(|key| set.contains(key)));
        if !is_larger && verdict(left, right, diff, &set, flip.property) == Some(flip.right) {
            found.push(set);
        }
    }
    found
}

const BROKEN: &str = "[lock]\nttl = 2\nholder = \"naive\"\nrelease = \"del\"\n[work]\nwork = 1\n[faults]\npause = 1\n";
const REPAIRED: &str =
    "[lock]\nttl = 3\nholder = \"clocked\"\nrelease = \"compare-and-delete\"\n[work]\nwork = 1\n[faults]\ncrash = 1\n";
const FOREVER: &str = "[lock]\nacquire = \"setnx\"\nttl = \"none\"\n[faults]\ncrash = 1\n";
const LEASED: &str = "[lock]\nacquire = \"set-nx-px\"\nttl = 3\nowner = \"per-client\"\n[faults]\ncrash = 1\n";
const CROSSED: &str =
    "[lock]\nacquire = \"setnx\"\nttl = \"none\"\n[world]\nresources = [[\"x\", \"y\"], [\"y\", \"x\"]]\n";

#[test]
fn the_smallest_sets_are_those_that_plain_checks_find() {
    let cases = [(BROKEN, REPAIRED), (REPAIRED, BROKEN), (FOREVER, LEASED), (LEASED, FOREVER)];
    for (left, right) in cases {
        let (left, right) = (own(left), own(right));
        let diff = compared(&left, &right);
        assert!(!diff.flips.is_empty() && diff.keys.len() > 2, "{:?}", diff.keys);
        assert_eq!(diff.method, Method::Every);
        for flip in &diff.flips {
            assert_eq!(flip.keys, by_force(&left, &right, &diff, flip), "{}", flip.property.name());
            assert!(!flip.is_open);
        }
        assert!(diff.is_known());
    }
}

#[test]
fn the_verdicts_are_those_of_plain_checks() {
    let (left, right) = (own(BROKEN), own(REPAIRED));
    let diff = compared(&left, &right);
    for (scenario, report) in [(&left, &diff.left), (&right, &diff.right)] {
        let mut plain = check(scenario, &limits(1), &mut Unwatched).unwrap();
        plain.bytes = report.bytes;
        assert_eq!(&plain, report);
    }
    for v in &diff.verdicts {
        assert_eq!((v.left, v.right), (diff.left.verdict(v.property), diff.right.verdict(v.property)));
        assert_eq!(v.left != v.right, diff.flips.iter().any(|flip| flip.property == v.property));
    }
}

#[test]
fn what_a_pair_teaches_is_its_one_key() {
    let diff = compared(&builtin("release-del"), &builtin("release-compare-and-delete"));
    let keys: Vec<_> = diff.keys.iter().map(|d| d.key.as_str()).collect();
    assert_eq!(keys, ["lock.release"]);
    assert_eq!(flip(&diff, Property::NoWrongRelease).keys, [[0]]);
    assert_eq!((diff.tally.searched, diff.tally.replayed), (0, 0), "there is nothing between");
}

#[test]
fn what_takes_two_keys_says_so_and_what_is_refused_between() {
    let diff = compared(&own(FOREVER), &own(LEASED));
    let keys: Vec<_> = diff.keys.iter().map(|d| d.key.as_str()).collect();
    assert_eq!(keys, ["lock.acquire", "lock.owner", "lock.ttl"]);
    assert_eq!(flip(&diff, Property::NoOrphan).keys, [[0, 2]]);
    assert!(diff.tally.refused.contains(&(vec![0], "lease-without-ttl")), "{:?}", diff.tally.refused);
}

/// The first scenario is followed as it is told, and so is the second up to the first step that it cannot take.
#[test]
fn the_same_schedule_is_shown_on_both() {
    let diff = compared(&builtin("release-del"), &builtin("release-compare-and-delete"));
    let both = beside(&diff, Property::NoWrongRelease);
    assert_eq!(both.violated, Side::Left);
    assert_eq!(
        Some(&both.left),
        diff.left
            .properties
            .iter()
            .find_map(|p| { (p.property == Property::NoWrongRelease).then(|| p.trace()).flatten() })
    );
    let parts_at = both.parts_at.unwrap() as usize;
    let action = |steps: &[trace::Step]| steps.get(parts_at - 1).map(|step| step.action.clone()).unwrap_or_default();
    assert!(action(&both.left.steps).contains("DEL lock"), "{}", action(&both.left.steps));
    assert!(action(&both.right.steps).contains("DEL lock if"), "{}", action(&both.right.steps));
    let same = |n: usize| both.left.steps[n].action == both.right.steps[n].action;
    assert!((0..parts_at - 1).all(same));
    assert!(both.right.why.is_empty());
}

#[test]
fn a_schedule_ends_where_it_cannot_be_followed() {
    let property = Property::MutualExclusion;
    let ended = |left: &Scenario, right: &Scenario| beside(&compared(left, right), property).ends.clone().unwrap();
    // Without the fault.
    let (paused, calm) =
        (own("[lock]\nholder = \"naive\"\n[faults]\npause = 1\n"), own("[lock]\nholder = \"naive\"\n"));
    assert_eq!(ended(&paused, &calm), "the fault pause is not allowed");
    // Without the client.
    let alone = own("[lock]\nholder = \"naive\"\n[world]\nclients = 1\n[faults]\npause = 1\n");
    assert_eq!(ended(&paused, &alone), "there is no client B");
    // Without the node.
    let (even, odd) =
        (builtin("redlock-even-quorum"), with("redlock-even-quorum", &["nodes=2", "quorum=2"], "crash=1"));
    let told = ended(&even, &odd);
    assert!(told.starts_with("there is no node") || told.starts_with("no message"), "{told}");
}

#[test]
fn the_way_to_where_nothing_goes_on_is_followed_as_well() {
    let diff = compared(&own(CROSSED), &own(&CROSSED.replace("[world]", "order = \"sorted\"\n[world]")));
    let both = beside(&diff, Property::DeadlockFree);
    assert_eq!(both.violated, Side::Left);
    assert!(both.left.why[0].starts_with("from here on, no way"), "{:?}", both.left.why);
    assert!(both.parts_at.is_some());
    assert_eq!(flip(&diff, Property::DeadlockFree).keys, [[0]]);
}

/// Where the one can be told in whole exchanges and the other cannot, both are told in messages.
#[test]
fn both_are_told_in_one_grain() {
    let left = own("[lock]\nholder = \"naive\"\nttl = 2\n[work]\nwork = 3\n");
    let right = own(
        "[lock]\nholder = \"naive\"\nttl = 2\nrenewal = \"compare-and-extend\"\n[work]\nwork = 3\n[faults]\npause = 1\n",
    );
    assert_ne!(left.grain(), right.grain());
    let diff = compared(&left, &right);
    assert_eq!((diff.left.grain, diff.right.grain), (world::Grain::Message, world::Grain::Message));
    assert!(diff.keys.iter().all(|d| d.key != "world.grain"), "{:?}", diff.keys);
}

/// Too many keys for every set: what is found is still a set of which no key can be left out.
#[test]
fn of_many_keys_a_set_is_found_of_which_none_can_be_left_out() {
    let plain = own("[lock]\nttl = \"none\"\nacquire = \"setnx\"\nvalidity = \"unchecked\"\n[faults]\ncrash = 1\n");
    let other = own(
        "[lock]\nttl = 4\nowner = \"per-client\"\nrelease = \"get-then-del\"\nretry_delay = 2\nunknown = \"give-up\"\n\
         visit = \"all-at-once\"\n[faults]\ncrash = 1\n",
    );
    let diff = compared(&plain, &other);
    assert!(diff.keys.len() > 6, "{:?}", diff.keys);
    assert_eq!(diff.method, Method::UpToTwo);
    for flip in &diff.flips {
        for set in &flip.keys {
            assert_eq!(verdict(&plain, &other, &diff, set, flip.property), Some(flip.right));
            for left_out in 0..set.len() {
                let mut less = set.clone();
                less.remove(left_out);
                assert_ne!(verdict(&plain, &other, &diff, &less, flip.property), Some(flip.right), "{set:?}");
            }
        }
    }
    assert!(!diff.flips.is_empty());
}

#[test]
fn what_is_equal_does_not_differ() {
    let diff = compared(&own(BROKEN), &own(BROKEN));
    assert!(diff.keys.is_empty() && diff.flips.is_empty() && diff.is_known());
    assert!(!diff.verdicts.is_empty());
}

#[test]
fn what_was_stopped_is_open() {
    let (left, right) = (own(BROKEN), own(REPAIRED));
    let none = diff(&left, &right, &limits(1), &mut Patient(0)).unwrap();
    assert!(!none.is_known() && none.cut == Some(Cut::Interrupted) && none.flips.is_empty());
    let two = diff(&left, &right, &limits(1), &mut Patient(2)).unwrap();
    assert!(!two.is_known() && !two.flips.is_empty() && !two.tally.open.is_empty());
    let cut = diff(&left, &right, &Limits { max_states: Some(50), ..limits(1) }, &mut Patient(usize::MAX)).unwrap();
    assert!(!cut.is_known());
}

#[test]
fn threads_change_nothing() {
    let of = |threads| {
        let mut found = diff(&own(BROKEN), &own(REPAIRED), &limits(threads), &mut Patient(usize::MAX)).unwrap();
        (found.left.bytes, found.right.bytes) = (0, 0);
        found
    };
    assert_eq!(of(1), of(3));
}
