//! What a check comes to.

use std::num::NonZeroUsize;

use trace::Trace;
use world::Grain;

use crate::explore::Cut;
use crate::scenario::{Property, Verdict};

/// Which explorer does the search.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Engine {
    /// The one of this crate: level by level, with the shortest counterexamples, the same on any number of threads.
    #[default]
    Levels,
    /// stateright's breadth-first search: it decides only the state properties, and has its own counterexamples.
    Stateright,
}

/// How to check: with which engine, how far, and for what.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Which explorer.
    pub engine: Engine,
    /// On how many threads. Never changes what comes out.
    pub threads: NonZeroUsize,
    /// Whether states that differ in nothing but the places of processes that nobody tells apart are visited once.
    /// Never changes a verdict; the counts are then those of the classes.
    pub symmetry: bool,
    /// The most states that are visited.
    pub max_states: Option<u64>,
    /// The most steps from the beginning.
    pub max_depth: Option<u32>,
    /// The properties that are asked for. None: those that [`Report`] says are asked by default.
    pub properties: Option<Vec<Property>>,
    /// Whether to report every violating state, not only the first of each property.
    pub every_violation: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            engine: Engine::default(),
            threads: NonZeroUsize::MIN,
            symmetry: false,
            max_states: None,
            max_depth: None,
            properties: None,
            every_violation: false,
        }
    }
}

/// Why a search came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The bounded space was exhausted.
    Exhausted,
    /// `--max-states` was reached.
    MaxStates,
    /// `--max-depth` was reached.
    MaxDepth,
    /// It was stopped from outside, at a point that differs from run to run.
    Cut(Cut),
}

/// How many processes of a kind can trade places, so that a search visits one state for all orders of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interchangeable {
    /// Clients that take the same locks.
    pub clients: u8,
    /// Lock servers that nobody tells apart.
    pub nodes: u8,
}

/// How large the searched space is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct States {
    /// Different states.
    pub unique: u64,
    /// The first state, and every step that was taken from one of them.
    pub generated: u64,
    /// The most steps that are needed to reach one of them.
    pub depth: u32,
}

/// What came out for one property.
#[derive(Clone, Debug, PartialEq)]
pub struct PropertyReport {
    /// Which.
    pub property: Property,
    /// The verdict.
    pub verdict: Verdict,
    /// The shortest way to the first violation; with `every_violation`, the ways to all of them, in canonical order.
    pub traces: Vec<Trace>,
}

impl PropertyReport {
    /// The shortest counterexample.
    pub fn trace(&self) -> Option<&Trace> {
        self.traces.first()
    }
}

/// Whether something was seen without which "holds" would be empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WitnessReport {
    /// Its name: that of a [`crate::scenario::Witness`], or of a fault.
    pub name: &'static str,
    /// Whether it was reached.
    pub reached: bool,
    /// Whether "holds" needs it.
    pub required: bool,
}

/// What a check came to.
///
/// All of it but `bytes` is the same for any number of threads, on any machine, at any time, unless the search was
/// [cut](Ending::Cut).
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// The id of the scenario; of a row of a sheet, that of the sheet.
    pub id: String,
    /// The title of the scenario, or of the row.
    pub title: String,
    /// The hash of what was checked.
    pub hash: String,
    /// The faults and their budgets, in the documented order.
    pub faults: Vec<(&'static str, u8)>,
    /// How much happens in one step.
    pub grain: Grain,
    /// A verdict for each property asked for, in the documented order.
    ///
    /// The engine of stateright leaves the graph properties inconclusive.
    ///
    /// Asked for by default are all but `no-stray-grant`, which a correct lock violates under some faults and which a
    /// scenario has to name; and without the graph properties where attempts are limited.
    pub properties: Vec<PropertyReport>,
    /// The properties that would have been asked for by default but are no question here, each with the reason.
    pub undecidable: Vec<(Property, &'static str)>,
    /// What was seen on the way.
    pub witnesses: Vec<WitnessReport>,
    /// How large the space is.
    pub states: States,
    /// Which states were taken for one. None: no two, because nobody asked for it or there are none that could be.
    pub symmetry: Option<Interchangeable>,
    /// Why the search ended.
    pub ending: Ending,
    /// The probability that two different states were taken for one.
    pub collision_probability: f64,
    /// What the search occupied at its peak, roughly. Differs between numbers of threads.
    pub bytes: u64,
}

impl Report {
    /// Whether the bounded space was exhausted.
    pub fn is_complete(&self) -> bool {
        self.ending == Ending::Exhausted
    }

    /// The verdict on a property, if it was asked for.
    pub fn verdict(&self, property: Property) -> Option<Verdict> {
        self.properties.iter().find(|p| p.property == property).map(|p| p.verdict)
    }
}
