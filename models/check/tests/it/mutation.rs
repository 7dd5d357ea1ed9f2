//! Every "holds" against its mutants: each knob flipped to its unsound neighbour.
//!
//! A flip that is caught shows that the verdict depends on that knob. A flip that survives says that here nothing
//! needs the knob, and the test finds out what would: it looks for one more thing, a fault or a harder world, under
//! which the original still holds and the mutant does not.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::num::NonZeroUsize;

use check::explore::Unwatched;
use check::scenario::{Named, Property, Scenario, Verdict};
use check::{Limits, States, check};

use crate::support::every_check;

/// A knob and the value next to the sound ones. Each is a decision that somebody has taken in earnest.
const FLIPS: [&str; 27] = [
    "acquire=get-then-set",
    "acquire=setnx-then-expire",
    "owner=constant",
    "release=get-then-del",
    "release=del",
    "release_to=believed",
    "quorum=1",
    "quorum_of=reachable",
    "validity=from-reply",
    "validity=unchecked",
    "holder=naive",
    "margin=0",
    "unknown=assume-held",
    "renewal=set-px",
    "refused_renewal=ignored",
    "late_answer=revives",
    "check=none",
    "compare=greater",
    "reentrance=flag",
    "subscribe=after-trying",
    "fallback_poll=false",
    "order=as-given",
    "conflict=wait",
    "unsettled_write=at-once",
    "on_cancel=forgets",
    "network=unordered",
    "acknowledged=0",
];

/// What may have to be there for a flip to matter.
const STRESSES: [Stress; 13] = [
    Stress { says: "a longer latency", sets: &["latency=[0, 1]"], faults: "" },
    Stress { says: "longer work", sets: &["work=3"], faults: "" },
    Stress { says: "a second update", sets: &["updates=2"], faults: "" },
    Stress { says: "a second write", sets: &["writes=2"], faults: "" },
    Stress { says: "a pause", sets: &[], faults: "pause=1" },
    Stress { says: "a delay", sets: &[], faults: "delay=1" },
    Stress { says: "a lost request", sets: &[], faults: "drop-request=1" },
    Stress { says: "a lost reply", sets: &[], faults: "drop-reply=1" },
    Stress { says: "a crash", sets: &[], faults: "crash=1" },
    Stress { says: "a cancelled call", sets: &[], faults: "cancel=1" },
    Stress { says: "a restart", sets: &[], faults: "restart=1" },
    Stress { says: "a second update and a delay", sets: &["updates=2"], faults: "delay=1" },
    Stress { says: "longer work and a pause", sets: &["work=3"], faults: "pause=1" },
];

struct Stress {
    says: &'static str,
    sets: &'static [&'static str],
    faults: &'static str,
}

/// In larger spaces it is not asked what a survivor would take: the sheets have small scenarios of the same locks.
const MOST: u64 = 1_500;

/// The same of the halves of pairs, each of which is there for one knob.
const MOST_OF_A_HALF: u64 = 9_000;

/// Where a mutant of a small scenario is given up: what was violated until then counts, nothing else.
const LIMIT: u64 = 12_000;

/// What a check came to.
#[derive(Clone)]
struct Outcome {
    holds: Vec<Property>,
    violated: Vec<Property>,
    states: States,
}

/// What checks came to, by what they say: the same harder world is asked for again and again.
#[derive(Default)]
struct Known(BTreeMap<String, Option<Outcome>>);

impl Known {
    fn outcome(&mut self, scenario: &Scenario) -> Option<Outcome> {
        self.0.entry(scenario.canonical()).or_insert_with(|| outcome(scenario)).clone()
    }

    /// The properties that hold of the one and are violated of the other.
    fn broken(&mut self, sound: &Scenario, mutant: &Scenario) -> Vec<Property> {
        let Some(sound) = self.outcome(sound).filter(|sound| !sound.holds.is_empty()) else { return Vec::new() };
        let Some(mutant) = self.outcome(mutant) else { return Vec::new() };
        mutant.violated.into_iter().filter(|property| sound.holds.contains(property)).collect()
    }

    /// Why a mutant survives, and whether the knob is needed in a harder world.
    fn reason(&mut self, scenario: &Scenario, flip: &str) -> (String, bool) {
        let mut is_used = self.is_used(scenario, flip);
        for stress in &STRESSES {
            let Some(harder) = stressed(scenario, stress) else { continue };
            let Some(mutant) = mutant(&harder, flip) else { continue };
            let caught = self.broken(&harder, &mutant);
            if !caught.is_empty() {
                return (format!("survives; with {} it breaks {}", stress.says, names(&caught)), true);
            }
            is_used |= self.is_used(&harder, flip);
        }
        let reason = match is_used {
            true => "survives: what it leaves out, another knob makes good",
            false => "survives: nothing here asks for it, the states are the same",
        };
        (reason.to_owned(), false)
    }

    /// Whether the flip makes any difference to the states.
    fn is_used(&mut self, scenario: &Scenario, flip: &str) -> bool {
        let mutant = mutant(scenario, flip).and_then(|mutant| self.outcome(&mutant));
        mutant.map(|m| m.states) != self.outcome(scenario).map(|o| o.states)
    }
}

fn outcome(scenario: &Scenario) -> Option<Outcome> {
    let limits = Limits { max_states: Some(LIMIT), threads: NonZeroUsize::MIN, ..Limits::default() };
    let report = check(scenario, &limits, &mut Unwatched).ok()?;
    let of = |verdict| report.properties.iter().filter(|p| p.verdict == verdict).map(|p| p.property).collect();
    Some(Outcome { holds: of(Verdict::Holds), violated: of(Verdict::Violated), states: report.states })
}

/// The mutant, if the flip changes anything and is not refused.
fn mutant(scenario: &Scenario, flip: &str) -> Option<Scenario> {
    let mut mutant = scenario.clone();
    mutant.set(flip).ok()?;
    mutant.resolve().ok()?;
    (mutant.canonical() != scenario.canonical()).then_some(mutant)
}

fn stressed(scenario: &Scenario, stress: &Stress) -> Option<Scenario> {
    let mut stressed = scenario.clone();
    for set in stress.sets {
        stressed.set(set).ok()?;
    }
    if !stress.faults.is_empty() {
        let kept = scenario.faults.kinds().filter(|fault| !stress.faults.starts_with(fault.name()));
        let kept: Vec<_> = kept.map(|fault| format!("{}={}", fault.name(), scenario.faults.get(fault))).collect();
        let all = kept.into_iter().chain([stress.faults.to_owned()]).collect::<Vec<_>>().join(",");
        stressed.set_faults(&all).ok()?;
    }
    stressed.resolve().ok()?;
    (stressed.canonical() != scenario.canonical()).then_some(stressed)
}

fn names(properties: &[Property]) -> String {
    properties.iter().map(|p| p.name()).collect::<Vec<_>>().join(", ")
}

/// What became of the flips of one check.
struct Told {
    text: String,
    caught: usize,
    survivors: usize,
    /// The flips that were caught, at once or in a harder world.
    needed: Vec<&'static str>,
}

/// Flips every knob of a check that finds something to hold.
fn flips_of(scenario: &Scenario) -> Option<Told> {
    let holds = |(_, verdict): &(Property, Verdict)| *verdict == Verdict::Holds;
    let held: Vec<_> = scenario.expect.iter().filter(|e| holds(e)).map(|(property, _)| *property).collect();
    if held.is_empty() {
        return None;
    }
    let is_small = is_small(scenario);
    let text = format!("{} ({})\n", scenario.id, scenario.title);
    let mut told = Told { text, caught: 0, survivors: 0, needed: Vec::new() };
    let mut known = Known::default();
    for flip in FLIPS {
        let Some(mutant) = mutant(scenario, flip) else { continue };
        let violated = known.outcome(&mutant).map(|mutant| mutant.violated).unwrap_or_default();
        let caught: Vec<_> = violated.into_iter().filter(|property| held.contains(property)).collect();
        let line = if !caught.is_empty() {
            told.caught += 1;
            told.needed.push(flip);
            format!("breaks {}", names(&caught))
        } else {
            told.survivors += 1;
            let (reason, is_needed) = match is_small {
                true => known.reason(scenario, flip),
                false => (format!("survives its first {LIMIT} states; the small scenarios tell why"), false),
            };
            told.needed.extend(is_needed.then_some(flip));
            reason
        };
        writeln!(told.text, "  {flip:<28} {line}").unwrap();
    }
    Some(told)
}

fn is_small(scenario: &Scenario) -> bool {
    let most = if scenario.pair.is_some() { MOST_OF_A_HALF } else { MOST };
    let limits = Limits { max_states: Some(most), threads: NonZeroUsize::MIN, ..Limits::default() };
    check(scenario, &limits, &mut Unwatched).unwrap().is_complete()
}

/// One line for each flip of each "holds": what caught it, or what it would take.
#[test]
#[ignore = "takes minutes: the test script runs it in release mode"]
fn each_knob_is_needed_somewhere() {
    let checks = every_check();
    let threads = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let share = |first: usize| -> Vec<(usize, Told)> {
        let mine = checks.iter().enumerate().skip(first).step_by(threads);
        mine.filter_map(|(at, scenario)| Some((at, flips_of(scenario)?))).collect()
    };
    let mut all: Vec<(usize, Told)> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|first| scope.spawn(move || share(first))).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    all.sort_by_key(|(at, _)| *at);
    for flip in FLIPS {
        assert!(all.iter().any(|(_, told)| told.needed.contains(&flip)), "{flip} is needed nowhere");
    }
    let caught: usize = all.iter().map(|(_, told)| told.caught).sum();
    let survivors: usize = all.iter().map(|(_, told)| told.survivors).sum();
    let text: String = all.into_iter().map(|(_, told)| told.text).collect();
    insta::assert_snapshot!(format!("{caught} caught, {survivors} survive\n\n{text}"));
}
