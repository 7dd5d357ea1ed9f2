//! The scenarios between two, and what is known of them.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use super::{Stage, Tally, Watch, between};
use crate::explore::Cut;
use crate::model::LockModel;
use crate::repair::rule_of;
use crate::report::{Ending, Limits};
use crate::scenario::{Difference, Property, Scenario, Verdict};
use crate::schedules::Schedules;
use crate::verdict::{Searched, asked};

/// Whether a scenario between has a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Yes,
    No,
    /// It was not decided.
    Open,
}

/// What is known of a scenario between.
enum Known {
    Refused,
    /// Ways that were found elsewhere violate these; it was not searched.
    Violates(BTreeSet<Property>),
    /// Every verdict.
    All(BTreeMap<Property, Verdict>),
}

/// The scenarios between two.
pub(super) struct Between<'a, W> {
    pub(super) left: &'a Scenario,
    pub(super) right: &'a Scenario,
    pub(super) keys: &'a [Difference],
    /// The properties whose verdicts differ.
    pub(super) flips: BTreeSet<Property>,
    pub(super) limits: &'a Limits,
    pub(super) watch: &'a mut W,
    pub(super) schedules: Schedules,
    pub(super) tally: Tally,
    pub(super) cut: Option<Cut>,
    known: BTreeMap<Vec<usize>, Known>,
}

impl<'a, W: Watch> Between<'a, W> {
    pub(super) fn new(
        (left, right): (&'a Scenario, &'a Scenario),
        keys: &'a [Difference],
        limits: &'a Limits,
        watch: &'a mut W,
    ) -> Self {
        Self {
            left,
            right,
            keys,
            flips: BTreeSet::new(),
            limits,
            watch,
            schedules: Schedules::default(),
            tally: Tally::default(),
            cut: None,
            known: BTreeMap::new(),
        }
    }

    /// Whether the first scenario with these keys of the second has this verdict.
    pub(super) fn has(&mut self, keys: &[usize], property: Property, verdict: Verdict) -> Answer {
        if !self.known.contains_key(keys) {
            self.meet(keys);
        }
        if let Some(Known::Violates(violated)) = self.known.get(keys)
            && !violated.contains(&property)
        {
            self.tally.replayed -= 1;
            self.search(keys);
        }
        let found = match self.known.get(keys) {
            Some(Known::Refused) => return Answer::No,
            Some(Known::Violates(violated)) => violated.contains(&property).then_some(Verdict::Violated),
            // Of what is no question there the verdict is no other one's.
            Some(Known::All(verdicts)) => match verdicts.get(&property) {
                None => return Answer::No,
                Some(found) => Some(*found),
            },
            None => None,
        };
        match found {
            None | Some(Verdict::Inconclusive) => Answer::Open,
            Some(found) if found == verdict => Answer::Yes,
            Some(_) => Answer::No,
        }
    }

    fn scenario(&self, keys: &[usize]) -> Scenario {
        let differences: Vec<_> = keys.iter().map(|key| &self.keys[*key]).collect();
        between(self.left, self.right, &differences)
    }

    /// Looks at it for the first time.
    fn meet(&mut self, keys: &[usize]) {
        let scenario = self.scenario(keys);
        let model = match scenario.resolve() {
            Ok(setup) => LockModel::within(setup, self.limits),
            Err(errors) => {
                self.tally.refused.push((keys.to_vec(), rule_of(&errors)));
                self.known.insert(keys.to_vec(), Known::Refused);
                return;
            }
        };
        let refuted = self.schedules.refuted(&model, &self.flips, |refuted| *refuted == self.flips);
        if refuted.is_empty() {
            self.search(keys);
        } else {
            self.tally.replayed += 1;
            self.known.insert(keys.to_vec(), Known::Violates(refuted));
        }
    }

    fn search(&mut self, keys: &[usize]) {
        let scenario = self.scenario(keys);
        let Ok(setup) = scenario.resolve() else { return };
        let model = LockModel::within(setup, self.limits);
        let names: Vec<&str> = keys.iter().map(|key| self.keys[*key].key.as_str()).collect();
        if self.cut.is_none()
            && let ControlFlow::Break(cut) = self.watch.next(&Stage::Between(&names))
        {
            self.cut = Some(cut);
        }
        if self.cut.is_some() {
            self.known.remove(keys);
            self.note_open(keys);
            return;
        }
        let asked = asked(&scenario, self.limits);
        let searched = Searched::new(&scenario, &model, &asked, self.limits, self.watch);
        self.tally.searched += 1;
        for property in &self.flips {
            if let Some(path) = searched.path(*property) {
                self.schedules.add(*property, model.actions_along(&path));
            }
        }
        if !searched.is_complete() {
            self.note_open(keys);
        }
        let verdicts = asked.iter().map(|property| (*property, searched.verdict(*property))).collect();
        self.known.insert(keys.to_vec(), Known::All(verdicts));
        if searched.ending() == Ending::Cut(Cut::Interrupted) {
            self.cut = Some(Cut::Interrupted);
        }
    }

    fn note_open(&mut self, keys: &[usize]) {
        if !self.tally.open.iter().any(|open| open == keys) {
            self.tally.open.push(keys.to_vec());
        }
    }
}
