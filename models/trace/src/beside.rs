//! One schedule in two scenarios: where it violates a property, and where it does not.

use serde::{Deserialize, Serialize};

use crate::model::Trace;
use crate::step::Step;

/// Which of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Side {
    /// The first.
    Left,
    /// The second.
    Right,
}

/// The same actions in two scenarios, one of which they lead to a violation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Beside {
    /// What happens in the one scenario.
    pub left: Trace,
    /// What happens in the other.
    pub right: Trace,
    /// The side of the violation: the schedule is its shortest counterexample.
    pub violated: Side,
    /// The number of the first step that does not do the same on both sides, or that is possible on one side only.
    pub parts_at: Option<u32>,
    /// Why the schedule cannot be followed further on the side that is not violated; none if all of it can.
    pub ends: Option<String>,
}

impl Beside {
    /// Finds the step at which two traces of one schedule part.
    #[must_use]
    pub fn new(left: Trace, right: Trace, violated: Side, ends: Option<String>) -> Self {
        let alike = left.steps.iter().zip(&right.steps).take_while(|(l, r)| are_alike(l, r)).count();
        let longest = left.steps.len().max(right.steps.len());
        let parts_at = (alike < longest).then_some(alike as u32 + 1);
        Self { left, right, violated, parts_at, ends }
    }

    /// The trace of a side.
    #[must_use]
    pub fn side(&self, side: Side) -> &Trace {
        match side {
            Side::Left => &self.left,
            Side::Right => &self.right,
        }
    }
}

impl Side {
    /// The other one.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::Left => Self::Right,
            Self::Right => Self::Left,
        }
    }
}

/// Whether two steps look the same from outside. What it means for the end is not compared.
fn are_alike(left: &Step, right: &Step) -> bool {
    let Step {
        n: _,
        actor,
        kind,
        choice: _,
        action,
        fault,
        clocks: _,
        messages,
        changes,
        holding,
        paused,
        gone,
        matters: _,
    } = left;
    (actor, kind, action, fault) == (&right.actor, &right.kind, &right.action, &right.fault)
        && (messages, changes) == (&right.messages, &right.changes)
        && (holding, paused, gone) == (&right.holding, &right.paused, &right.gone)
}
