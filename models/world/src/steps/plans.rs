//! What can happen next, and the parts of each action.

use alloc::vec::Vec;

use hashbrown::HashTable;
use smallvec::SmallVec;

use crate::action::Action;
use crate::mix::Mix;
use crate::part::Part;
use crate::section::{Reach, Sections};
use crate::setup::Setup;

/// Something that can happen next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Move {
    /// What.
    pub action: Action,
    /// Which of the plans.
    pub(super) plan: u32,
}

/// A part of an action.
#[derive(Clone, Copy)]
pub(super) struct Planned {
    /// Its number among all parts.
    pub(super) part: u32,
    /// What it looks at, as a rule.
    pub(super) few: Reach,
    /// What it looks at where that is not enough.
    pub(super) more: Option<Reach>,
}

/// The parts of the actions that have occurred.
#[derive(Default)]
pub(super) struct Plans {
    plans: Vec<Plan>,
    index: HashTable<u32>,
    /// They are few: as many as there are actions and sections.
    parts: Vec<Part>,
}

struct Plan {
    action: Action,
    parts: SmallVec<[Planned; 2]>,
}

impl Plans {
    pub(super) fn bytes(&self) -> usize {
        self.plans.capacity() * size_of::<Plan>() + self.parts.capacity() * size_of::<Part>()
    }

    pub(super) fn part(&self, number: u32) -> Part {
        self.parts[number as usize]
    }

    /// One of the parts of a move.
    #[inline]
    pub(super) fn planned(&self, what: Move, index: usize) -> Option<Planned> {
        self.plans[what.plan as usize].parts.get(index).copied()
    }

    /// An action and its plan.
    pub(super) fn plan(&mut self, setup: &Setup, nodes: Sections, action: Action) -> Move {
        let hash = Mix::of(&action);
        if let Some(plan) = self.index.find(hash, |plan| self.plans[*plan as usize].action == action) {
            return Move { action, plan: *plan };
        }
        let parts = Part::all_of(setup, action).into_iter().map(|part| self.plan_part(nodes, part)).collect();
        let plan = self.plans.len() as u32;
        self.plans.push(Plan { action, parts });
        self.index.insert_unique(hash, plan, |plan| Mix::of(&self.plans[*plan as usize].action));
        Move { action, plan }
    }

    pub(super) fn plan_part(&mut self, nodes: Sections, part: Part) -> Planned {
        let (few, more) = part.sections(nodes);
        let known = self.parts.iter().position(|other| *other == part);
        let number = known.unwrap_or_else(|| {
            self.parts.push(part);
            self.parts.len() - 1
        });
        Planned { part: number as u32, few: Reach::of(few), more: more.map(Reach::of) }
    }
}
