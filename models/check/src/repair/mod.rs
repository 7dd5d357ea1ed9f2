//! Which changes of a few knobs make a violated property hold. By running every one of them.
//!
//! A change is tried on the scenario as it is: one knob is given another value (see [`Knob::others`]), or two are. It
//! repairs a property only if the property **holds** afterwards: the whole space was searched, and every witness reached.
//! What was known of earlier changes is used again: the ways to violations that were found are gone first in the changed
//! world, and where one of them still ends badly, nothing is searched; a search that can only confirm that nothing is
//! repaired is given up; one exploration answers for all properties; and of changes that make the same world only the
//! smallest is looked at.
//!
//! Pairs are searched for every goal that no single change reaches without breaking something else. The goals are each
//! violated property, and all of them at once.

mod candidates;
mod search;

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use crate::explore::{Cut, Monitor};
use crate::report::{Limits, Report};
use crate::scenario::{Hand, Knob, Problem, Property, Scenario, ScenarioErrors};

/// The name under which [`Tally::refused`] counts the changes that take the lock away: without a lock nobody waits for
/// one, which repairs a deadlock, and the lock not at all.
pub const NO_LOCK: &str = "no-lock";

/// How repairs are looked for.
#[derive(Clone, Debug)]
pub struct How {
    /// The limits of each check. Its properties are those that are to be repaired; none: all that are violated.
    pub limits: Limits,
    /// Whether the knobs of whoever runs the lock servers are turned as well. Those that nobody can turn never are, and
    /// no fault is ever taken away.
    pub world: bool,
    /// When two knobs are turned at once.
    pub pairs: Pairs,
}

/// When two knobs are turned at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pairs {
    /// For what no single change repairs without breaking something else.
    #[default]
    Needed,
    /// Also for the rest.
    Always,
    /// Never.
    Never,
}

impl How {
    /// Whether a knob may be turned.
    pub fn turns(&self, knob: &Knob) -> bool {
        match knob.hand {
            Hand::Author => true,
            Hand::Operator => self.world,
            Hand::Nobody => false,
        }
    }
}

/// Watches the search for repairs.
pub trait Watch: Monitor {
    /// Called before each change is tried; may stop all of it.
    fn next(&mut self, stage: &Stage) -> ControlFlow<Cut>;
}

/// How far the search for repairs has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stage {
    /// How many knobs are turned at once; none: the scenario is checked as it is.
    pub knobs: usize,
    /// The number of the change, from 1.
    pub number: usize,
    /// How many there are.
    pub total: usize,
    /// How many repairs were found so far.
    pub found: usize,
}

/// One knob with another value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The knob.
    pub knob: &'static str,
    /// The value in the scenario, as TOML.
    pub from: String,
    /// The other value.
    pub to: String,
    /// How large the change is: for numbers the difference, for everything else 1.
    pub distance: u32,
}

/// Changes that make at least one violated property hold.
#[derive(Clone, Debug, PartialEq)]
pub struct Repair {
    /// The changes: one or two.
    pub changes: Vec<Change>,
    /// The violated properties that hold now, in the documented order.
    pub repairs: Vec<Property>,
    /// The properties that were not violated, and are now.
    pub breaks: Vec<Property>,
    /// The properties that are no question any more, because the change limits the attempts.
    pub unasked: Vec<Property>,
    /// What the changed scenario comes to.
    pub report: Report,
}

impl Repair {
    /// Whether nothing else is lost.
    pub fn is_clean(&self) -> bool {
        self.breaks.is_empty() && self.unasked.is_empty()
    }

    /// How large the changes are together.
    pub fn distance(&self) -> u32 {
        self.changes.iter().map(|change| change.distance).sum()
    }
}

/// What became of the changes that were tried.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// How many changes there are.
    pub total: usize,
    /// How often each rule refused one.
    pub refused: BTreeMap<&'static str, usize>,
    /// How many make no other world than a smaller change, or none at all.
    pub same: usize,
    /// How many could repair nothing that is still open.
    pub needless: usize,
    /// How many a known way to a violation ruled out, without a search.
    pub replayed: usize,
    /// How many were searched.
    pub searched: usize,
    /// Those that hold, but never reached a witness.
    pub vacuous: Vec<Vec<Change>>,
    /// Those whose search was cut short.
    pub inconclusive: Vec<Vec<Change>>,
    /// How many were not tried, because somebody stopped it.
    pub untried: usize,
}

/// What was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Repairs {
    /// What the scenario comes to as it is.
    pub report: Report,
    /// The properties to repair, in the documented order: those that are violated, of those that were asked for.
    pub violated: Vec<Property>,
    /// What repairs them: by the number of knobs, the size of the change, whether it breaks nothing else, how much it
    /// repairs, and then the documented order of the knobs and the nearness of their values.
    pub found: Vec<Repair>,
    /// What became of the single changes.
    pub singles: Tally,
    /// What became of the pairs; none if none were needed, or wanted.
    pub pairs: Option<Tally>,
    /// Why it was stopped early.
    pub cut: Option<Cut>,
}

impl Repairs {
    /// The repairs of a property.
    pub fn of(&self, property: Property) -> impl Iterator<Item = &Repair> {
        self.found.iter().filter(move |repair| repair.repairs.contains(&property))
    }

    /// The violated properties that nothing repairs.
    pub fn unrepaired(&self) -> impl Iterator<Item = Property> {
        self.violated.iter().copied().filter(|property| self.of(*property).next().is_none())
    }

    /// Whether something was left open that could hide a repair.
    pub fn is_open(&self) -> bool {
        let is_open = |tally: &Tally| tally.untried > 0 || !tally.inconclusive.is_empty();
        self.cut.is_some() || is_open(&self.singles) || self.pairs.as_ref().is_some_and(is_open)
    }
}

/// Looks for the changes that repair what a scenario violates: a file without rows, or one row of a sheet.
///
/// # Errors
///
/// If the scenario as it is asks for a combination that is refused.
pub fn repair(scenario: &Scenario, how: &How, watch: &mut impl Watch) -> Result<Repairs, ScenarioErrors> {
    search::run(scenario, how, watch)
}

/// The name of a rule, of those that refuse a scenario; of several, the first.
pub(crate) fn rule_of(errors: &ScenarioErrors) -> &'static str {
    let rule = |problem: &Problem| match problem {
        Problem::Refused(rule) => Some(rule.id),
        Problem::TooLarge { .. }
        | Problem::NotUtf8
        | Problem::NotToml { .. }
        | Problem::Unknown { .. }
        | Problem::Value { .. }
        | Problem::Missing { .. }
        | Problem::Twice { .. } => None,
    };
    errors.iter().find_map(|error| rule(&error.problem)).unwrap_or("value")
}
