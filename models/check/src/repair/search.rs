//! Tries changes, one after the other.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::ops::ControlFlow;

use protocol::Acquire;

use super::candidates::{pairs, singles};
use super::{Change, How, NO_LOCK, Pairs, Repair, Repairs, Stage, Tally, Watch, rule_of};
use crate::explore::{Cut, Monitor, Progress};
use crate::model::{LockModel, STATE_PROPERTIES};
use crate::report::{Ending, Limits, Report};
use crate::scenario::{Named, Property, Scenario, ScenarioErrors, Verdict};
use crate::schedules::Schedules;
use crate::verdict::{Searched, asked};

/// Properties that are to hold together.
type Goal = BTreeSet<Property>;

pub(super) fn run(scenario: &Scenario, how: &How, watch: &mut impl Watch) -> Result<Repairs, ScenarioErrors> {
    let model = LockModel::within(scenario.resolve()?, &how.limits);
    let mut bench = Bench::new(scenario, how, watch);
    bench.look_at(&model);
    let candidates = singles(scenario, how);
    let tried = bench.singles(&candidates);
    let open = bench.open(&tried.results, how.pairs);
    let of_pairs = (!open.is_empty()).then(|| bench.pairs(&candidates, &tried.results, &open));
    // What is found last need not be the largest.
    bench.found.sort_by_key(|repair| {
        (repair.changes.len(), repair.distance(), !repair.is_clean(), Reverse(repair.repairs.len()))
    });
    Ok(Repairs {
        report: bench.report,
        violated: bench.violated,
        found: bench.found,
        singles: tried.tally,
        pairs: of_pairs,
        cut: bench.cut,
    })
}

/// A scenario, and all that is known of its neighbours.
struct Bench<'a, W> {
    scenario: &'a Scenario,
    limits: &'a Limits,
    watch: &'a mut W,
    /// What is asked of the scenario as it is, and so of every change of it.
    asked: Vec<Property>,
    report: Report,
    violated: Vec<Property>,
    schedules: Schedules,
    /// The worlds that were looked at.
    seen: BTreeSet<String>,
    found: Vec<Repair>,
    cut: Option<Cut>,
}

/// What a change does.
enum Outcome {
    Refused(&'static str),
    Same,
    Needless,
    Replayed,
    Fails,
    Vacuous,
    Inconclusive,
    Repairs(Box<Repair>),
}

/// The single changes that were tried.
struct Singles {
    tally: Tally,
    /// What each of them repairs.
    results: Vec<Single>,
}

/// What a single change repairs.
#[derive(Clone, Debug, Default)]
struct Single {
    repairs: Goal,
    is_clean: bool,
}

impl Single {
    fn meets(&self, goal: &Goal) -> bool {
        !goal.is_empty() && goal.is_subset(&self.repairs)
    }
}

impl<'a, W: Watch> Bench<'a, W> {
    fn new(scenario: &'a Scenario, how: &'a How, watch: &'a mut W) -> Self {
        let by_default = asked(scenario, &Limits { properties: None, ..how.limits.clone() });
        let named = asked(scenario, &how.limits);
        let is_asked = |property: &Property| by_default.contains(property) || named.contains(property);
        Self {
            scenario,
            limits: &how.limits,
            watch,
            asked: Property::ALL.iter().copied().filter(is_asked).collect(),
            report: Report::of(scenario),
            violated: named,
            schedules: Schedules::default(),
            seen: BTreeSet::new(),
            found: Vec::new(),
            cut: None,
        }
    }

    /// Checks the scenario as it is.
    fn look_at(&mut self, model: &LockModel) {
        let stage = Stage { knobs: 0, number: 1, total: 1, found: 0 };
        if let ControlFlow::Break(cut) = self.watch.next(&stage) {
            self.cut = Some(cut);
            self.violated.clear();
            self.report.ending = Ending::Cut(cut);
            return;
        }
        let searched = Searched::new(self.scenario, model, &self.asked, self.limits, self.watch);
        self.seen.insert(world_of(model));
        self.learn(model, &searched);
        self.violated.retain(|property| searched.verdict(*property) == Verdict::Violated);
        self.report = searched.report(self.scenario, model, &self.asked, false);
        self.note_interruption(self.report.ending);
    }

    /// Remembers the ways to what a search found violated.
    fn learn(&mut self, model: &LockModel, searched: &Searched) {
        for property in &self.violated {
            if let Some(path) = searched.path(*property) {
                self.schedules.add(*property, model.actions_along(&path));
            }
        }
    }

    /// Whoever interrupts one search wants to see what is known, not the next one.
    fn note_interruption(&mut self, ending: Ending) {
        if ending == Ending::Cut(Cut::Interrupted) {
            self.cut = Some(Cut::Interrupted);
        }
    }

    /// Tries every single change.
    fn singles(&mut self, candidates: &[Change]) -> Singles {
        let goals: Vec<Goal> = self.violated.iter().map(|property| Goal::from([*property])).collect();
        let total = if goals.is_empty() { 0 } else { candidates.len() };
        let mut tally = Tally { total, ..Tally::default() };
        let mut results = vec![Single::default(); candidates.len()];
        for (at, change) in candidates.iter().enumerate().take(total) {
            let stage = Stage { knobs: 1, number: at + 1, total, found: self.found.len() };
            if self.is_stopped(&stage) {
                tally.untried = total - at;
                break;
            }
            let changes = vec![change.clone()];
            let outcome = self.attempt(&changes, &goals);
            if let Some(repair) = tally.count(outcome, changes) {
                results[at] = Single { repairs: repair.repairs.iter().copied().collect(), is_clean: repair.is_clean() };
                self.found.push(*repair);
            }
        }
        Singles { tally, results }
    }

    /// The goals for which two knobs are turned.
    fn open(&self, singles: &[Single], when: Pairs) -> Vec<Goal> {
        let each = self.violated.iter().map(|property| Goal::from([*property]));
        let all: Goal = self.violated.iter().copied().collect();
        let together = (all.len() > 1).then_some(all);
        let goals = each.chain(together).filter(|goal| !goal.is_empty());
        match when {
            Pairs::Needed => goals.filter(|goal| !singles.iter().any(|s| s.is_clean && s.meets(goal))).collect(),
            Pairs::Always => goals.collect(),
            Pairs::Never => Vec::new(),
        }
    }

    /// Tries every pair that could reach one of the goals.
    fn pairs(&mut self, candidates: &[Change], singles: &[Single], open: &[Goal]) -> Tally {
        let pairs = pairs(candidates);
        let mut tally = Tally { total: pairs.len(), ..Tally::default() };
        for (number, (first, second)) in pairs.iter().enumerate() {
            let stage = Stage { knobs: 2, number: number + 1, total: pairs.len(), found: self.found.len() };
            if self.is_stopped(&stage) {
                tally.untried = pairs.len() - number;
                break;
            }
            let alone = [&singles[*first], &singles[*second]];
            let is_open = |goal: &&Goal| !alone.iter().any(|single| single.is_clean && single.meets(goal));
            let goals: Vec<Goal> = open.iter().filter(is_open).cloned().collect();
            if goals.is_empty() {
                tally.needless += 1;
                continue;
            }
            let changes = vec![candidates[*first].clone(), candidates[*second].clone()];
            let outcome = self.attempt(&changes, &goals);
            if let Some(repair) = tally.count(outcome, changes)
                && goals.iter().any(|goal| is_minimal(&repair, goal, alone))
            {
                self.found.push(*repair);
            }
        }
        tally
    }

    fn is_stopped(&mut self, stage: &Stage) -> bool {
        if self.cut.is_none()
            && let ControlFlow::Break(cut) = self.watch.next(stage)
        {
            self.cut = Some(cut);
        }
        self.cut.is_some()
    }

    /// Tries a change for goals, none of which is empty.
    fn attempt(&mut self, changes: &[Change], goals: &[Goal]) -> Outcome {
        let mut scenario = self.scenario.clone();
        for change in changes {
            if let Err(errors) = scenario.set(&format!("{}={}", change.knob, change.to)) {
                return Outcome::Refused(rule_of(&errors));
            }
        }
        let model = match scenario.resolve() {
            Ok(setup) => LockModel::within(setup, self.limits),
            Err(errors) => return Outcome::Refused(rule_of(&errors)),
        };
        if takes_the_lock_away(self.scenario, &scenario) {
            return Outcome::Refused(NO_LOCK);
        }
        if !self.seen.insert(world_of(&model)) {
            return Outcome::Same;
        }
        let is_asked = |property: &Property| scenario.undecidable(*property).is_none();
        let asked: Vec<Property> = self.asked.iter().copied().filter(is_asked).collect();
        let goals: Vec<Goal> = goals.iter().filter(|goal| goal.iter().all(is_asked)).cloned().collect();
        if goals.is_empty() {
            return Outcome::Needless;
        }
        let wanted: BTreeSet<Property> = goals.iter().flatten().copied().collect();
        let refuted = self.schedules.refuted(&model, &wanted, |refuted| !any_left(&goals, refuted));
        let goals: Vec<Goal> = goals.into_iter().filter(|goal| goal.is_disjoint(&refuted)).collect();
        if goals.is_empty() {
            return Outcome::Replayed;
        }
        self.search(&scenario, &model, changes, &asked, &goals)
    }

    fn search(
        &mut self,
        scenario: &Scenario,
        model: &LockModel,
        changes: &[Change],
        asked: &[Property],
        goals: &[Goal],
    ) -> Outcome {
        let mut until = Until { watch: &mut *self.watch, goals: goals.iter().map(bits).collect(), is_over: false };
        let searched = Searched::new(scenario, model, asked, self.limits, &mut until);
        let is_over = until.is_over;
        let violated = |goal: &Goal| goal.iter().any(|property| searched.path(*property).is_some());
        if is_over || goals.iter().all(violated) {
            // How much more was seen before it was given up depends on the number of threads.
            if let Some((property, path)) = searched.first_violation(&self.violated) {
                self.schedules.add(property, model.actions_along(&path));
            }
            return Outcome::Fails;
        }
        self.learn(model, &searched);
        if !searched.is_complete() {
            self.note_interruption(searched.ending());
            return Outcome::Inconclusive;
        }
        if searched.is_empty() {
            return Outcome::Vacuous;
        }
        let report = searched.report(scenario, model, asked, false);
        Outcome::Repairs(Box::new(self.repair(changes, report)))
    }

    /// What a change repairs and breaks.
    fn repair(&self, changes: &[Change], report: Report) -> Repair {
        let was_violated = |property: &Property| self.report.verdict(*property) == Some(Verdict::Violated);
        let holds = |property: &Property| report.verdict(*property) == Some(Verdict::Holds);
        let is_broken = |p: &Property| report.verdict(*p) == Some(Verdict::Violated) && !was_violated(p);
        let repairs = self.violated.iter().copied().filter(holds).collect();
        let breaks = self.asked.iter().copied().filter(is_broken).collect();
        let unasked = self.asked.iter().copied().filter(|p| report.verdict(*p).is_none()).collect();
        Repair { changes: changes.to_vec(), repairs, breaks, unasked, report }
    }
}

/// Whether a pair does for a goal what neither of its changes does alone.
fn is_minimal(pair: &Repair, goal: &Goal, alone: [&Single; 2]) -> bool {
    let meets = goal.iter().all(|property| pair.repairs.contains(property));
    meets && (pair.is_clean() || !alone.iter().any(|single| single.meets(goal)))
}

/// Whether a change leaves nothing to repair.
fn takes_the_lock_away(before: &Scenario, after: &Scenario) -> bool {
    let is_locked = |scenario: &Scenario| scenario.settings.acquire != Acquire::Unlocked;
    is_locked(before) && !is_locked(after)
}

/// Whether a goal has no property that is known to be violated.
fn any_left(goals: &[Goal], violated: &BTreeSet<Property>) -> bool {
    goals.iter().any(|goal| goal.is_disjoint(violated))
}

/// What tells two worlds apart.
fn world_of(model: &LockModel) -> String {
    format!("{:?}", model.setup())
}

/// The properties of single states in a goal, as the bits of a label.
fn bits(goal: &Goal) -> u32 {
    let is_in = |(bit, property): (u32, &Property)| u32::from(goal.contains(property)) << bit;
    (0..).zip(&STATE_PROPERTIES).map(is_in).fold(0, |all, bit| all | bit)
}

/// Gives a search up when it can reach none of its goals any more.
struct Until<'a, W> {
    watch: &'a mut W,
    goals: Vec<u32>,
    is_over: bool,
}

impl<W: Monitor> Monitor for Until<'_, W> {
    fn progress(&mut self, progress: &Progress) -> ControlFlow<Cut> {
        self.is_over = self.goals.iter().all(|goal| goal & progress.violated != 0);
        if self.is_over { ControlFlow::Break(Cut::Interrupted) } else { self.watch.progress(progress) }
    }
}

impl Tally {
    /// Counts what a change did; gives it back if it repairs something.
    fn count(&mut self, outcome: Outcome, changes: Vec<Change>) -> Option<Box<Repair>> {
        match outcome {
            Outcome::Refused(rule) => *self.refused.entry(rule).or_default() += 1,
            Outcome::Same => self.same += 1,
            Outcome::Needless => self.needless += 1,
            Outcome::Replayed => self.replayed += 1,
            Outcome::Fails => self.searched += 1,
            Outcome::Vacuous => {
                self.searched += 1;
                self.vacuous.push(changes);
            }
            Outcome::Inconclusive => {
                self.searched += 1;
                self.inconclusive.push(changes);
            }
            Outcome::Repairs(repair) => {
                self.searched += 1;
                return Some(repair);
            }
        }
        None
    }
}
