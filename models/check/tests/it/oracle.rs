//! The whole of the search against a naive one, on random scenarios.

mod naive;

use std::cell::RefCell;
use std::num::NonZeroUsize;

use check::explore::{Exploration, Options, Path, Unwatched, explore};
use check::scenario::{Named, Property, Scenario, Verdict, Witness};
use check::{Ending, Limits, LockModel, Report, WitnessReport, check};
use proptest::prelude::*;
use proptest::sample::select;
use world::{Action, Fault, Setup, fault_bit};

use crate::draw::{Size, draws, plain, runner};
use crate::support::every_check;

use naive::{Naive, Numbers};

/// The properties about single states, or about the graph.
fn properties(about_the_graph: bool) -> impl Iterator<Item = Property> {
    Property::ALL.iter().copied().filter(move |p| p.is_about_the_graph() == about_the_graph)
}

/// Everything that a report says about the space and that the definitions decide.
#[derive(Debug, PartialEq)]
struct Outcome {
    unique: usize,
    generated: usize,
    depth: usize,
    ending: Ending,
    /// The verdicts, and how many steps the counterexample has.
    verdicts: Vec<(Property, Verdict, Option<usize>)>,
    witnesses: Vec<WitnessReport>,
}

impl Outcome {
    fn of(report: &Report) -> Self {
        let steps = |p: &check::PropertyReport| p.trace().map(|trace| trace.steps.len());
        Self {
            unique: report.states.unique as usize,
            generated: report.states.generated as usize,
            depth: report.states.depth as usize,
            ending: report.ending,
            verdicts: report.properties.iter().map(|p| (p.property, p.verdict, steps(p))).collect(),
            witnesses: report.witnesses.clone(),
        }
    }

    fn expected(scenario: &Scenario, naive: &Naive<'_>) -> Self {
        let witnesses = witnesses(scenario, naive.seen());
        let is_empty = witnesses.iter().any(|w| w.required && !w.reached);
        let verdict = |property: Property| {
            let shortest = naive.violations(property).first().map(|path| path.len());
            let verdict = if shortest.is_some() {
                Verdict::Violated
            } else if !naive.is_exhausted {
                Verdict::Inconclusive
            } else if is_empty {
                Verdict::Vacuous
            } else {
                Verdict::Holds
            };
            (property, verdict, shortest)
        };
        let decidable = Property::ALL.iter().filter(|p| scenario.undecidable(**p).is_none());
        Self {
            unique: naive.states.len(),
            generated: naive.generated(),
            depth: naive.depth(),
            ending: if naive.is_exhausted { Ending::Exhausted } else { Ending::MaxDepth },
            verdicts: decidable.map(|p| verdict(*p)).collect(),
            witnesses,
        }
    }
}

/// The witnesses that were reached and those that have to be: every fault, and what each scenario has to reach unless
/// its knobs exclude it.
fn witnesses(scenario: &Scenario, seen: u64) -> Vec<WitnessReport> {
    let standard = [Witness::Acquired, Witness::Contended, Witness::DeadlineReached];
    let knobs = &scenario.settings;
    let events = Witness::ALL.iter().map(|w| {
        let reached = seen & w.bit() != 0;
        assert!(
            !(reached && knobs.excludes(*w).is_some()),
            "{} is excluded, and reached: {}",
            w.name(),
            scenario.to_toml()
        );
        WitnessReport { name: w.name(), reached, required: standard.contains(w) && knobs.excludes(*w).is_none() }
    });
    let possible = Fault::ALL.into_iter().filter(|fault| scenario.faults.get(*fault) > 0);
    let faults = possible.map(|f| WitnessReport { name: f.name(), reached: seen & fault_bit(f) != 0, required: true });
    events.chain(faults).collect()
}

/// Every counterexample, by its actions.
#[derive(Debug, PartialEq)]
struct Counterexamples {
    /// Of the properties about single states, to every violating state.
    states: Vec<Vec<Vec<Action>>>,
    /// Of those about the graph, to the first stuck state.
    graph: Vec<Option<Vec<Action>>>,
}

impl Counterexamples {
    fn of(exploration: &Exploration, naive: &Naive<'_>) -> Self {
        let along = |path: Path| naive.along(&path);
        let all = |bit: usize| {
            let violating = exploration.every_violation().filter(|(_, bits)| bits & (1 << bit) != 0);
            violating.map(|(id, _)| along(exploration.path(id))).collect()
        };
        Self {
            states: (0..properties(false).count()).map(all).collect(),
            graph: (0..properties(true).count())
                .map(|goal| exploration.stuck[goal].map(|id| along(exploration.path(id))))
                .collect(),
        }
    }

    fn expected(naive: &Naive<'_>) -> Self {
        let all = |property| naive.violations(property).into_iter().map(<[Action]>::to_vec).collect();
        let first = |property| naive.violations(property).first().map(|path| path.to_vec());
        Self { states: properties(false).map(all).collect(), graph: properties(true).map(first).collect() }
    }
}

/// Holds what the search says of a scenario against what the definitions say, as deep as they are worked out.
fn compare(scenario: &Scenario, setup: &Setup, naive: &Naive<'_>) -> Outcome {
    let told = scenario.to_toml();
    let expected = Outcome::expected(scenario, naive);
    let max_depth = if naive.is_exhausted { None } else { Some(naive.depth() as u32) };
    for threads in [1, 3].map(|threads| NonZeroUsize::new(threads).unwrap()) {
        let all = Some(Property::ALL.to_vec());
        let limits = Limits { threads, max_depth, properties: all, ..Limits::default() };
        let report = check(scenario, &limits, &mut Unwatched).unwrap();
        assert_eq!(Outcome::of(&report), expected, "{told}");
        let goals = (1 << properties(true).count()) - 1;
        let options = Options { threads, max_depth, goals, every_violation: true, ..Options::default() };
        let exploration = explore(&LockModel::new(setup.clone()), &options, &mut Unwatched);
        assert_eq!(Counterexamples::of(&exploration, naive), Counterexamples::expected(naive), "{told}");
    }
    expected
}

/// Holds a search that keeps numbers by rank against one that keeps them as they were given out: at every depth they
/// have met the same states, on the same ways, and said the same of them.
fn compare_numbers(scenario: &Scenario, setup: &Setup, states: usize) {
    /// No deeper, so that no more tokens are given out than a state has ranks for.
    const DEEPEST: usize = 25;
    let told = scenario.to_toml();
    let given_out = Naive::explore(setup, Numbers::AsGivenOut, states, DEEPEST);
    let by_rank = Naive::explore(setup, Numbers::ByRank, usize::MAX, given_out.depth());
    assert_eq!(given_out.paths_by_rank(), by_rank.paths_by_rank(), "{told}");
    for property in properties(false) {
        let first = |naive: &Naive<'_>| naive.violations(property).first().map(|path| path.to_vec());
        assert_eq!(first(&given_out), first(&by_rank), "{}\n{told}", property.name());
    }
}

/// What the cases had in them: a comparison in which nothing ever happens says little.
#[derive(Debug, Default)]
struct Tally {
    cases: usize,
    values: usize,
    left_out: usize,
    exhausted: usize,
    states: usize,
    verdicts: Vec<(Property, Verdict)>,
    faults: Vec<Fault>,
    /// In how many a fault would help where nothing else does.
    waiting: usize,
}

impl Tally {
    fn note(&mut self, scenario: &Scenario, outcome: &Outcome, naive: &Naive<'_>) {
        self.waiting += usize::from(properties(true).any(|property| naive.waits_for_a_fault(property)));
        self.cases += 1;
        self.exhausted += usize::from(outcome.ending == Ending::Exhausted);
        self.states += outcome.unique;
        self.verdicts.extend(outcome.verdicts.iter().map(|(property, verdict, _)| (*property, *verdict)));
        self.faults.extend(scenario.faults.kinds());
    }

    fn count(&self, about_the_graph: bool, verdict: Verdict) -> usize {
        let counts = |found: &&(Property, Verdict)| found.0.is_about_the_graph() == about_the_graph;
        self.verdicts.iter().filter(counts).filter(|found| found.1 == verdict).count()
    }

    /// Whether there was enough of everything.
    fn is_telling(&self) {
        let told = format!("{} cases, {} exhausted, {} states", self.cases, self.exhausted, self.states);
        eprintln!("{told}; {} of {} values left out", self.left_out, self.values);
        assert!(self.left_out * 5 < self.values, "{} of {} values were refused", self.left_out, self.values);
        assert!(self.exhausted * 3 > self.cases, "only {told}");
        for (about_the_graph, verdict) in
            [false, true].into_iter().flat_map(|graph| Verdict::ALL.iter().map(move |v| (graph, *v)))
        {
            let count = self.count(about_the_graph, verdict);
            eprintln!("{} {count}, {}", verdict.name(), if about_the_graph { "of the graph" } else { "of states" });
            assert!(count * 20 > self.cases, "only {count} times {}", verdict.name());
        }
        eprintln!("{} wait for a fault", self.waiting);
        assert!(self.waiting * 50 > self.cases, "only {} wait for a fault", self.waiting);
        for fault in Fault::ALL {
            let count = self.faults.iter().filter(|f| **f == fault).count();
            assert!(count * 200 > self.cases, "{} happened in only {count} of {told}", fault.name());
        }
    }
}

/// What is drawn upon: nothing, one of the catalogue's checks, or a lock that is left behind for good.
fn bases() -> impl Strategy<Value = Scenario> {
    let mut told = every_check();
    for scenario in &mut told {
        scenario.expect.clear();
        scenario.witnesses.clear();
    }
    let mut left_behind = plain();
    left_behind.set("acquire=setnx").unwrap();
    left_behind.set_faults("crash=1,restart=1").unwrap();
    prop_oneof![6 => Just(plain()), 2 => select(told), 1 => Just(left_behind)]
}

/// How much of a space the naive search works out: all of it if the space is small, and otherwise the beginning.
fn share(scenario: &Scenario, states: usize) -> usize {
    let limits = Limits { max_states: Some(states as u64), ..Limits::default() };
    let is_small = check(scenario, &limits, &mut Unwatched).unwrap().is_complete();
    if is_small { states } else { states / 8 }
}

/// Compares on random scenarios: all of a space with no more than so many states, and of others the beginning.
fn compare_on_random_scenarios(cases: u32, states: usize) {
    let tally = RefCell::new(Tally::default());
    let outcome = runner(cases).run(&(bases(), draws(0..12, 0..3, 2)), |(base, draw)| {
        let (scenario, left_out) = draw.accepted(base, Size::Small);
        let setup = scenario.resolve().unwrap();
        let naive = Naive::explore(&setup, Numbers::ByRank, share(&scenario, states), usize::MAX);
        let outcome = compare(&scenario, &setup, &naive);
        compare_numbers(&scenario, &setup, states / 4);
        let mut tally = tally.borrow_mut();
        tally.values += draw.knobs.len() + draw.faults.len();
        tally.left_out += left_out;
        tally.note(&scenario, &outcome, &naive);
        Ok(())
    });
    outcome.unwrap_or_else(|failure| panic!("{failure}"));
    tally.borrow().is_telling();
}

#[test]
fn the_search_finds_what_the_definitions_say() {
    compare_on_random_scenarios(300, 2_000);
}

#[test]
#[ignore = "takes a minute: the test script runs it in release mode"]
fn the_search_finds_what_the_definitions_say_on_larger_spaces() {
    compare_on_random_scenarios(600, 4_000);
}
