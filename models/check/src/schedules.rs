//! Ways to violations, gone again in other worlds.
//!
//! A way that can be gone in another world too, and that ends badly there as well, proves a violation without a search:
//! every step of it is one that the world takes, and the state where it ends is looked at as a search would.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;

use stateright::Model;
use world::{Action, Packed, Witnesses, World};

use crate::explore::{End, Expand, Label, Options, Sink, Unwatched, explore};
use crate::model::{GRAPH_PROPERTIES, LockModel, STATE_PROPERTIES};
use crate::scenario::Property;

/// How many ways are remembered: those that were of use last.
const WAYS: usize = 32;

/// How many states are looked at from the end of a way, for a property of the graph.
const STATES_BEHIND: u64 = 20_000;

/// A way that ended in a violation.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Way {
    actions: Vec<Action>,
    /// Whether it led to where something is no longer possible.
    is_stuck: bool,
}

/// The ways that are known, those that were of use last first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Schedules {
    ways: Vec<Way>,
}

impl Schedules {
    /// Remembers a way to a violation.
    pub(crate) fn add(&mut self, property: Property, actions: Vec<Action>) {
        let way = Way { actions, is_stuck: property.is_about_the_graph() };
        if !self.ways.contains(&way) {
            self.ways.insert(0, way);
            self.ways.truncate(WAYS);
        }
    }

    /// The properties, of those wanted, that the known ways prove violated. `enough` says when no more is needed.
    pub(crate) fn refuted(
        &mut self,
        model: &LockModel,
        wanted: &BTreeSet<Property>,
        enough: impl Fn(&BTreeSet<Property>) -> bool,
    ) -> BTreeSet<Property> {
        let mut refuted = BTreeSet::new();
        for at in 0..self.ways.len() {
            let before = refuted.len();
            refuted.extend(self.ways[at].violates(model, wanted));
            if refuted.len() > before {
                self.ways[..=at].rotate_right(1);
            }
            if enough(&refuted) {
                break;
            }
        }
        refuted
    }
}

impl Way {
    /// The properties that it violates in this world. A step that is not possible here is left out.
    fn violates(&self, model: &LockModel, wanted: &BTreeSet<Property>) -> BTreeSet<Property> {
        let setup = model.setup();
        let mut violated = BTreeSet::new();
        let mut world = World::new(setup);
        world.canonicalise(setup);
        let mut possible = Vec::new();
        for action in &self.actions {
            possible.clear();
            world.actions(setup, &mut possible);
            if !possible.contains(action) {
                continue;
            }
            world.apply(setup, *action, &mut Witnesses::default());
            world.canonicalise(setup);
            let is_violated = |property: &&Property| model.violates(&world, **property);
            violated.extend(STATE_PROPERTIES.iter().filter(|p| wanted.contains(p)).filter(is_violated));
        }
        let of_the_graph: Vec<_> = GRAPH_PROPERTIES.iter().filter(|p| wanted.contains(p)).collect();
        if self.is_stuck && !of_the_graph.is_empty() {
            let stuck = stuck_behind(model, world.pack(setup));
            violated.extend(of_the_graph.into_iter().filter(|p| stuck.contains(p)));
        }
        violated
    }
}

/// The properties of the graph that are violated somewhere behind a state, as far as that is quickly seen.
fn stuck_behind(model: &LockModel, start: Packed) -> Vec<Property> {
    let goals = (1 << GRAPH_PROPERTIES.len()) - 1;
    let options = Options { threads: NonZeroUsize::MIN, max_states: Some(STATES_BEHIND), goals, ..Options::default() };
    let exploration = explore(&Behind { model, start }, &options, &mut Unwatched);
    if exploration.end != End::Exhausted {
        return Vec::new();
    }
    let is_stuck = |(goal, _): &(usize, &Property)| exploration.stuck[*goal].is_some();
    GRAPH_PROPERTIES.iter().enumerate().filter(is_stuck).map(|(_, property)| *property).collect()
}

/// The part of a model that is reachable from a state.
struct Behind<'a> {
    model: &'a LockModel,
    start: Packed,
}

impl Model for Behind<'_> {
    type State = Packed;
    type Action = Action;

    fn init_states(&self) -> Vec<Packed> {
        vec![self.start.clone()]
    }

    fn actions(&self, state: &Packed, actions: &mut Vec<Action>) {
        self.model.actions(state, actions);
    }

    fn next_state(&self, state: &Packed, action: Action) -> Option<Packed> {
        self.model.next_state(state, action)
    }
}

impl Expand for Behind<'_> {
    type Scratch = <LockModel as Expand>::Scratch;

    fn expand(&self, state: &Packed, scratch: &mut Self::Scratch, sink: &mut impl Sink<Packed>) {
        self.model.expand(state, scratch, sink);
    }

    fn label(&self, state: &Packed) -> Label {
        self.model.label(state)
    }
}
