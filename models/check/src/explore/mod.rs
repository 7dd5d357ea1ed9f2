//! Exhaustive exploration of a [`Model`]: breadth first, level by level, on any number of threads.
//!
//! The result is a function of the model and the limits alone. States are numbered level by level and, within a level,
//! by the number of the state from which they were first reached and the index of the action that led there. What is
//! reported first therefore has the fewest steps, and among those the least sequence of actions. Threads share only the
//! work that has no order: they list successors and look them up in a table that nobody changes meanwhile; new states
//! are then numbered in that order by one thread.
//!
//! A state is known by its [`fingerprint`] and a step by a parent and the index of an action: full states live on the
//! frontier only. Two states with one fingerprint count as one; [`Exploration::collision_probability`] says how likely
//! it is that there were any.
//!
//! This module knows no property, no clock and no limit but of states and depth: a [`Monitor`] may stop the
//! exploration for any other reason, and such an end is the only thing that may differ from run to run.

mod blocks;
mod fingerprint;
mod frontier;
mod graph;
mod search;
mod table;
#[cfg(test)]
mod tests;
mod worker;

use std::hash::Hash;
use std::num::{NonZeroU64, NonZeroUsize};
use std::ops::ControlFlow;

use stateright::Model;

pub use fingerprint::{Fingerprinter, fingerprint};

use blocks::Blocks;

/// How many properties a [`Label`] can tell apart.
pub const PROPERTIES: usize = u32::BITS as usize;
/// How many goals a [`Label`] can tell apart.
pub const GOALS: usize = u8::BITS as usize;

/// A model that lists the successors of a state and says what holds there.
pub trait Expand: Model {
    /// What expansions keep at hand from one to the next, each thread its own.
    type Scratch: Default + Send;

    /// Gives every step from `state` to `sink`, by increasing [`Successor::action`]: the documented order of actions.
    /// With it goes a function that gives the state where it leads, and what holds there ([`label`](Self::label)); it is
    /// asked for new states only, and once.
    ///
    /// States outside the boundary of the model are not successors. A model that can list all steps at once should
    /// do so; the default takes [`Model::actions`] and [`Model::next_state`], and every step as free and uneventful.
    ///
    /// # Panics
    ///
    /// The default panics if a state has more than 65,535 actions.
    fn expand(&self, state: &Self::State, _: &mut Self::Scratch, sink: &mut impl Sink<Self::State>)
    where
        Self::State: Hash,
    {
        let mut actions = Vec::new();
        self.actions(state, &mut actions);
        assert!(actions.len() <= usize::from(u16::MAX), "a state has {} actions, more than 65,535", actions.len());
        for (action, step) in (0..).zip(actions) {
            let Some(state) = self.next_state(state, step) else {
                continue;
            };
            if self.within_boundary(&state) {
                let fingerprint = self.fingerprint(&state);
                let successor = Successor { action, fingerprint, free: true, events: 0 };
                let mut next = Some(state);
                sink(successor, &mut || {
                    let state = next.take().expect("a state is asked for once");
                    let label = self.label(&state);
                    (state, label)
                });
            }
        }
    }

    /// By what a state is known. It depends on nothing but the state, and two states have the same only by chance.
    fn fingerprint(&self, state: &Self::State) -> NonZeroU64
    where
        Self::State: Hash,
    {
        fingerprint(state)
    }

    /// What holds in `state`. It depends on nothing but the state.
    fn label(&self, state: &Self::State) -> Label;

    /// How many bytes are kept at hand.
    fn bytes(_: &Self::Scratch) -> usize {
        0
    }
}

/// Takes steps, each with a function that gives the state where it leads and what holds there.
pub trait Sink<S>: FnMut(Successor, &mut dyn FnMut() -> (S, Label)) {}

impl<S, F: FnMut(Successor, &mut dyn FnMut() -> (S, Label))> Sink<S> for F {}

/// One step from a state.
#[derive(Clone, Copy, Debug)]
pub struct Successor {
    /// The index of the action in the order of the actions of the state. Indices may be left out.
    pub action: u16,
    /// By what the state is known where the step leads.
    pub fingerprint: NonZeroU64,
    /// Whether a way to a goal may use this step: `false` for a fault.
    pub free: bool,
    /// What the step witnesses, a bit each.
    pub events: u64,
}

/// What holds in a state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Label {
    /// Bit `i` is set if property `i` is violated here.
    pub violated: u32,
    /// Bit `g` is set if goal `g` is reached here.
    pub goals: u8,
}

/// What to explore, and how far.
#[derive(Clone, Debug)]
pub struct Options {
    /// How many threads expand states, the calling one included. It never changes the result.
    pub threads: NonZeroUsize,
    /// The most states that are numbered.
    pub max_states: Option<u64>,
    /// States that are this many steps away from an initial state are not expanded.
    pub max_depth: Option<u32>,
    /// The goals that must stay reachable from everywhere, a bit each. Without any, no steps are kept.
    pub goals: u8,
    /// Keep every violating state, not only the first of each property.
    pub every_violation: bool,
    /// Once each of these properties is violated somewhere, a bit each, no further level is expanded. None: all levels.
    pub enough: u32,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            threads: NonZeroUsize::MIN,
            max_states: None,
            max_depth: None,
            goals: 0,
            every_violation: false,
            enough: 0,
        }
    }
}

/// Watches an exploration and may stop it.
pub trait Monitor {
    /// Called again and again on the calling thread, while there are states to expand.
    fn progress(&mut self, progress: &Progress) -> ControlFlow<Cut>;
}

impl<F: FnMut(&Progress) -> ControlFlow<Cut>> Monitor for F {
    fn progress(&mut self, progress: &Progress) -> ControlFlow<Cut> {
        self(progress)
    }
}

/// A [`Monitor`] that lets the exploration run to its end.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unwatched;

impl Monitor for Unwatched {
    fn progress(&mut self, _: &Progress) -> ControlFlow<Cut> {
        ControlFlow::Continue(())
    }
}

/// How far an exploration has come.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// The depth of the states that are being expanded.
    pub depth: u32,
    /// As in [`Exploration::unique`].
    pub unique: u64,
    /// As in [`Exploration::generated`].
    pub generated: u64,
    /// States that are not expanded yet.
    pub queue: u64,
    /// Bit `i` is set if a numbered state violates property `i`.
    pub violated: u32,
    /// What is occupied now, counted as for [`Exploration::bytes`].
    pub bytes: u64,
}

/// Why a [`Monitor`] stopped an exploration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// It took too long.
    Time,
    /// It took too much memory.
    Memory,
    /// Somebody asked for it.
    Interrupted,
}

/// Why an exploration ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Every reachable state was expanded.
    Exhausted,
    /// There are more states than [`Options::max_states`].
    MaxStates,
    /// There are states beyond [`Options::max_depth`].
    MaxDepth,
    /// Everything that was to be found was found: see [`Options::enough`]. There may be more states.
    Enough,
    /// The monitor stopped it.
    Cut(Cut),
}

/// The number of a state in canonical order: level by level, then by parent, then by action.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StateId(u32);

impl StateId {
    /// The number itself, from 0.
    #[must_use]
    pub const fn number(self) -> u32 {
        self.0
    }
}

/// A way from an initial state.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Path {
    /// The index of the initial state in [`Model::init_states`].
    pub start: usize,
    /// The [`Successor::action`] of each step.
    pub actions: Vec<u16>,
}

/// What an exploration found.
pub struct Exploration {
    /// Distinct states, the initial ones included.
    pub unique: u64,
    /// Initial states plus successors of expanded states, each as often as it occurred.
    ///
    /// At [`End::MaxStates`], those up to and with the first state that had no room, in canonical order; at
    /// [`End::MaxDepth`], no successor of the last level.
    pub generated: u64,
    /// The greatest number of steps that a numbered state is away from the initial states.
    pub depth: u32,
    /// Why it ended.
    pub end: End,
    /// Everything that the generated steps witnessed.
    pub events: u64,
    /// The first state that violates each property, also if the exploration was cut short later.
    pub violations: [Option<StateId>; PROPERTIES],
    /// For each goal asked for, the first state from which free steps do not lead to it. Known only at
    /// [`End::Exhausted`]: `None` at any other end decides nothing.
    pub stuck: [Option<StateId>; GOALS],
    /// The most that table, parents, steps and frontier occupied, without what states own on the heap. Unlike everything
    /// else here it depends on the number of threads.
    pub bytes: u64,
    violating: Vec<(StateId, u32)>,
    initial: u32,
    // Of an initial state, its index in `Model::init_states`.
    parents: Blocks<u32>,
    actions: Blocks<u16>,
}

impl Exploration {
    /// The canonical way to a state: the fewest steps, and among those the least by start and actions.
    ///
    /// # Panics
    ///
    /// Panics if the state is one of another exploration and too high a number for this one.
    #[must_use]
    pub fn path(&self, id: StateId) -> Path {
        let StateId(mut number) = id;
        let mut actions = Vec::new();
        while number >= self.initial {
            actions.push(self.actions.get((number - self.initial) as usize));
            number = self.parents.get(number as usize);
        }
        actions.reverse();
        Path { start: self.parents.get(number as usize) as usize, actions }
    }

    /// The violating states in order, each with its [`Label::violated`], if [`Options::every_violation`] asked for them.
    pub fn every_violation(&self) -> impl Iterator<Item = (StateId, u32)> {
        self.violating.iter().copied()
    }

    /// The greatest possible probability that any two states had the same fingerprint (the birthday bound).
    #[must_use]
    pub fn collision_probability(&self) -> f64 {
        let states = self.unique as f64;
        states * states / 2f64.powi(65)
    }
}

/// Explores everything that the model can reach within the limits.
pub fn explore<M>(model: &M, options: &Options, monitor: &mut impl Monitor) -> Exploration
where
    M: Expand + Sync,
    M::State: Hash + Send + Sync,
{
    search::run(model, options, search::Grain::of(options), monitor)
}

/// The states along a [`Path`].
#[derive(Clone, Debug)]
pub struct Walk<S> {
    /// The initial state.
    pub start: S,
    /// Each step, with the state where it leads.
    pub steps: Vec<(Successor, S)>,
}

/// Walks along a path; `None` if the model has no such path.
pub fn states_along<M: Expand>(model: &M, path: &Path) -> Option<Walk<M::State>>
where
    M::State: Hash,
{
    let start = model.init_states().into_iter().nth(path.start)?;
    let mut steps: Vec<(Successor, M::State)> = Vec::with_capacity(path.actions.len());
    let mut scratch = M::Scratch::default();
    for &action in &path.actions {
        let from = steps.last().map_or(&start, |(_, state)| state);
        let mut taken = None;
        let mut take = |successor: Successor, build: &mut dyn FnMut() -> (M::State, Label)| {
            if successor.action == action {
                taken = Some((successor, build().0));
            }
        };
        model.expand(from, &mut scratch, &mut take);
        steps.push(taken?);
    }
    Some(Walk { start, steps })
}
