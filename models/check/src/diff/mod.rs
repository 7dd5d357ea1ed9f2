//! What two scenarios come to, and which of the keys in which they differ make the difference.
//!
//! Scenarios between the two are run: the first with some of the keys as the second has them. A smallest set of keys for
//! which a verdict is that of the second is what makes it flip. Nothing is run twice: one exploration answers for all
//! properties, and a known way to a violation that can be gone in a scenario between saves it.
//!
//! Of a property that is violated on one side only, the shortest counterexample is followed on the other side, action by
//! action, as far as that is possible there.

mod between;
mod search;

use std::ops::ControlFlow;

use trace::Beside;

use crate::explore::{Cut, Monitor};
use crate::report::{Limits, Report};
use crate::scenario::{Difference, Property, Scenario, ScenarioErrors, Verdict};

/// Up to so many keys every set of them is tried.
pub const ALL_SETS: usize = 6;

/// Watches a comparison.
pub trait Watch: Monitor {
    /// Called before each search; may stop all of it.
    fn next(&mut self, stage: &Stage<'_>) -> ControlFlow<Cut>;
}

/// What is searched next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage<'a> {
    /// The first scenario.
    Left,
    /// The second.
    Right,
    /// One between: the first with these keys of the second.
    Between(&'a [&'a str]),
}

/// A property on both sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdicts {
    /// Which.
    pub property: Property,
    /// The verdict on the first scenario; none if it is no question there.
    pub left: Option<Verdict>,
    /// The verdict on the second.
    pub right: Option<Verdict>,
}

impl Verdicts {
    /// Both verdicts, if they are known and differ.
    fn flip(self) -> Option<(Verdict, Verdict)> {
        let (left, right) = (self.left?, self.right?);
        let is_known = left != Verdict::Inconclusive && right != Verdict::Inconclusive;
        (is_known && left != right).then_some((left, right))
    }
}

/// A property whose verdict differs.
#[derive(Clone, Debug, PartialEq)]
pub struct Flip {
    /// Which.
    pub property: Property,
    /// The verdict on the first scenario.
    pub left: Verdict,
    /// The verdict on the second.
    pub right: Verdict,
    /// The smallest sets of keys that make the difference, as places in [`Diff::keys`], in ascending order. No part of one
    /// does.
    pub keys: Vec<Vec<usize>>,
    /// Whether a set was left open that could be smaller, or another one.
    pub is_open: bool,
    /// The shortest counterexample on both sides, if the property is violated on one of them only.
    pub beside: Option<Beside>,
}

/// How the sets of keys were tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Every set, the smallest first; none that contains one that was found.
    Every,
    /// Every key alone and every two; if none of them does it, keys were taken out of all of them one by one, as long as the
    /// verdict stayed, down to one set.
    UpToTwo,
}

/// What became of the scenarios between.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// How many were searched.
    pub searched: usize,
    /// How many a known way to a violation answered for, without a search.
    pub replayed: usize,
    /// Those that are refused: the keys, as places in [`Diff::keys`], and the rule.
    pub refused: Vec<(Vec<usize>, &'static str)>,
    /// Those whose search was cut short, or not begun.
    pub open: Vec<Vec<usize>>,
}

/// What was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Diff {
    /// What the first scenario comes to.
    pub left: Report,
    /// What the second comes to.
    pub right: Report,
    /// The keys in which they differ, in the documented order: knobs, then faults.
    pub keys: Vec<Difference>,
    /// Every property that was asked of either, in the documented order.
    pub verdicts: Vec<Verdicts>,
    /// Those that differ.
    pub flips: Vec<Flip>,
    /// How the keys were tried.
    pub method: Method,
    /// What became of the scenarios between.
    pub tally: Tally,
    /// Why it was stopped early.
    pub cut: Option<Cut>,
}

impl Diff {
    /// Whether everything could be decided.
    pub fn is_known(&self) -> bool {
        let is_open = |v: &Verdicts| [v.left, v.right].contains(&Some(Verdict::Inconclusive));
        self.cut.is_none() && !self.verdicts.iter().any(is_open) && !self.flips.iter().any(|flip| flip.is_open)
    }
}

/// Compares two scenarios: files without rows, or rows of sheets.
///
/// # Errors
///
/// If one of them asks for a combination that is refused.
pub fn diff(
    left: &Scenario,
    right: &Scenario,
    limits: &Limits,
    watch: &mut impl Watch,
) -> Result<Diff, ScenarioErrors> {
    search::run(left, right, limits, watch)
}

/// The first scenario with some of the keys as the second has them; `differences` is all in which they differ.
pub fn between(left: &Scenario, right: &Scenario, differences: &[&Difference]) -> Scenario {
    let mut scenario = left.clone();
    for difference in differences {
        scenario.take(right, &difference.key);
    }
    scenario
}
