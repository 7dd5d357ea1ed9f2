//! A world as a model for a search.

use std::hash::Hasher as _;
use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use stateright::{Model, Property as Claim};
use world::{Action, Findings, Flags, Packed, Setup, Steps, Symmetry, Witnesses, World};

use crate::explore::{Expand, Fingerprinter, Label, Path, Sink, Successor, fingerprint};
use crate::report::{Interchangeable, Limits};
use crate::scenario::Property;

/// The properties that are about single states, in the order of their bits in a label.
pub(crate) const STATE_PROPERTIES: [Property; 5] = [
    Property::MutualExclusion,
    Property::NoLostUpdate,
    Property::NoWrongRelease,
    Property::NoStaleWrite,
    Property::NoStrayGrant,
];

/// The properties that are about the graph: that a goal stays reachable. In the order of their bits in a label.
pub(crate) const GRAPH_PROPERTIES: [Property; 2] = [Property::NoOrphan, Property::DeadlockFree];

/// A world as a model: the same for the explorer of this crate and for those of stateright.
#[derive(Clone, Debug)]
pub struct LockModel {
    setup: Setup,
    /// The properties of single states that are looked at, a bit each.
    asked: u32,
    /// Which worlds are taken for one. None: no two.
    symmetry: Option<Symmetry>,
    /// The world before its first step.
    beginning: World,
    /// The witnesses of all steps that [`Model::next_state`] was asked for: other engines have no word for them.
    seen: Arc<AtomicU64>,
}

impl LockModel {
    /// The model of a setup.
    pub fn new(setup: Setup) -> Self {
        let beginning = World::new(&setup);
        Self { setup, asked: u32::MAX, symmetry: None, beginning, seen: Arc::default() }
    }

    /// The same model, of which only these properties are asked.
    #[must_use]
    pub fn asking(self, properties: &[Property]) -> Self {
        let is_asked = |(_, property): &(u32, &Property)| properties.contains(property);
        let asked = (0..).zip(&STATE_PROPERTIES).filter(is_asked).fold(0, |bits, (bit, _)| bits | 1 << bit);
        Self { asked, ..self }
    }

    /// The model of a setup, up to symmetry if these limits say so.
    pub(crate) fn within(setup: Setup, limits: &Limits) -> Self {
        let model = Self::new(setup);
        if limits.symmetry { model.up_to_symmetry() } else { model }
    }

    /// The same model, with one state for all that differ in nothing but the places of processes that nobody tells apart.
    #[must_use]
    pub fn up_to_symmetry(self) -> Self {
        let symmetry = Some(Symmetry::of(&self.setup)).filter(|symmetry| !symmetry.is_trivial());
        Self { symmetry, ..self }
    }

    /// Which processes may trade places, if states are told apart up to symmetry.
    pub(crate) fn interchangeable(&self) -> Option<Interchangeable> {
        let symmetry = self.symmetry.as_ref()?;
        Some(Interchangeable { clients: symmetry.clients(), nodes: symmetry.nodes() })
    }

    /// The witnesses of all steps that an engine took through [`Model::next_state`].
    pub(crate) fn seen(&self) -> u64 {
        self.seen.load(Ordering::Relaxed)
    }

    /// What the world is made of.
    pub fn setup(&self) -> &Setup {
        &self.setup
    }

    /// Whether a property of single states is violated.
    pub(crate) fn violates(&self, world: &World, property: Property) -> bool {
        match property {
            Property::MutualExclusion => world.rivals(&self.setup).is_some(),
            Property::NoLostUpdate => world.flags.lost_update,
            Property::NoWrongRelease => world.flags.wrong_release,
            Property::NoStaleWrite => world.flags.stale_write,
            Property::NoStrayGrant => world.stray(&self.setup).is_some(),
            Property::NoOrphan | Property::DeadlockFree => false,
        }
    }

    fn satisfies(&self, packed: &Packed, property: Property) -> bool {
        let flags = packed.flags();
        match property {
            Property::NoLostUpdate => !flags.lost_update,
            Property::NoWrongRelease => !flags.wrong_release,
            Property::NoStaleWrite => !flags.stale_write,
            Property::MutualExclusion | Property::NoStrayGrant | Property::NoOrphan | Property::DeadlockFree => {
                !self.violates(&self.unpack(packed), property)
            }
        }
    }

    pub(crate) fn unpack(&self, packed: &Packed) -> World {
        let mut world = self.beginning.clone();
        world.unpack(&self.setup, packed);
        world
    }

    /// Makes of a world the one that stands for it, and gives that one packed.
    fn represent(&self, world: &mut World, packed: Packed) -> Packed {
        match &self.symmetry {
            Some(symmetry) if world.represent(&self.setup, symmetry) => world.pack(&self.setup),
            Some(_) | None => packed,
        }
    }

    /// The actions of a path that the explorer found.
    pub(crate) fn actions_along(&self, path: &Path) -> Vec<Action> {
        let mut state = self.first();
        let mut taken = Vec::new();
        for index in &path.actions {
            let mut actions = Vec::new();
            self.actions(&state, &mut actions);
            let action = actions[usize::from(*index)];
            state = self.next_state(&state, action).expect("a step on a path changes something");
            taken.push(action);
        }
        self.unpermuted(&taken)
    }

    /// The actions of a run whose worlds are represented by those along a path.
    ///
    /// A step of a representative is a step of every world that it stands for, but for the names of the processes: so
    /// the first action that leads to the next representative will do.
    pub(crate) fn unpermuted(&self, actions: &[Action]) -> Vec<Action> {
        if self.symmetry.is_none() {
            return actions.to_vec();
        }
        let plain = Self { symmetry: None, ..self.clone() };
        let (mut representative, mut state) = (self.first(), plain.first());
        let mut taken = Vec::with_capacity(actions.len());
        for action in actions {
            let target = self.next_state(&representative, *action).expect("a step on a path changes something");
            let mut possible = Vec::new();
            plain.actions(&state, &mut possible);
            let step = possible.iter().find_map(|action| {
                let next = plain.next_state(&state, *action)?;
                (self.representative(&next) == target).then_some((*action, next))
            });
            let (action, next) = step.expect("what a representative can do, every world can that it stands for");
            taken.push(action);
            (representative, state) = (target, next);
        }
        taken
    }

    /// The state that stands for one.
    fn representative(&self, packed: &Packed) -> Packed {
        self.represent(&mut self.unpack(packed), packed.clone())
    }

    fn first(&self) -> Packed {
        let mut world = self.beginning.clone();
        world.canonicalise(&self.setup);
        self.representative(&world.pack(&self.setup))
    }

    fn label_of(&self, found: &Findings) -> Label {
        let Flags { lost_update, stale_write, wrong_release } = found.flags;
        let violated = [found.has_rivals, lost_update, wrong_release, stale_write, found.has_stray];
        let bits = (0..).zip(violated).fold(0, |bits, (bit, is_violated)| bits | u32::from(is_violated) << bit);
        Label { violated: bits & self.asked, goals: u8::from(found.is_free) | u8::from(found.is_finished) << 1 }
    }

    fn asks(&self, property: Property) -> bool {
        STATE_PROPERTIES.iter().position(|other| *other == property).is_some_and(|bit| self.asked & 1 << bit != 0)
    }
}

fn hash_section(words: &[u64]) -> u64 {
    let mut hasher = Fingerprinter::default();
    words.iter().for_each(|word| hasher.write_u64(*word));
    hasher.finish()
}

impl Model for LockModel {
    type State = Packed;
    type Action = Action;

    fn init_states(&self) -> Vec<Packed> {
        vec![self.first()]
    }

    fn actions(&self, state: &Packed, actions: &mut Vec<Action>) {
        self.unpack(state).actions(&self.setup, actions);
    }

    fn next_state(&self, state: &Packed, action: Action) -> Option<Packed> {
        let mut seen = Witnesses::default();
        let mut world = self.unpack(state);
        world.apply(&self.setup, action, &mut seen);
        world.canonicalise(&self.setup);
        self.seen.fetch_or(seen.0, Ordering::Relaxed);
        let next = world.pack(&self.setup);
        (next != *state).then(|| self.represent(&mut world, next))
    }

    fn properties(&self) -> Vec<Claim<Self>> {
        let claims: [Claim<Self>; 5] = [
            Claim::always("mutual-exclusion", |m, s| m.satisfies(s, Property::MutualExclusion)),
            Claim::always("no-lost-update", |m, s| m.satisfies(s, Property::NoLostUpdate)),
            Claim::always("no-wrong-release", |m, s| m.satisfies(s, Property::NoWrongRelease)),
            Claim::always("no-stale-write", |m, s| m.satisfies(s, Property::NoStaleWrite)),
            Claim::always("no-stray-grant", |m, s| m.satisfies(s, Property::NoStrayGrant)),
        ];
        let is_asked = |(bit, _): &(u32, Claim<Self>)| self.asked & 1 << bit != 0;
        // stateright stops as soon as every claim has its discovery; this one has none.
        let whole = Claim::always("the whole space is searched", |_, _| true);
        (0..).zip(claims).filter(is_asked).map(|(_, claim)| claim).chain([whole]).collect()
    }
}

/// What is kept from one expansion to the next.
#[derive(Default)]
pub struct Scratch {
    steps: Option<Steps>,
}

impl Expand for LockModel {
    type Scratch = Scratch;

    fn expand(&self, state: &Packed, scratch: &mut Scratch, sink: &mut impl Sink<Packed>) {
        let steps = scratch.steps.get_or_insert_with(|| Steps::new(&self.setup, hash_section));
        steps.enter(&self.setup, state);
        let moves = steps.moves(&self.setup);
        for index in 0.. {
            let Some(what) = steps.next_move(moves, index.into()) else { break };
            let Some(witnesses) = steps.take(&self.setup, what) else { continue };
            let mut fingerprint = fingerprint(&steps.hash());
            let mut representative = None;
            if self.symmetry.is_some() {
                let next = self.representative(&steps.packed());
                fingerprint = self.fingerprint(&next);
                representative = Some(next);
            }
            let free = what.action.fault().is_none();
            sink(Successor { action: index, fingerprint, free, events: witnesses.0 }, &mut || {
                let label = self.label_of(&steps.findings(&self.setup, self.asks(Property::NoStrayGrant)));
                (representative.take().unwrap_or_else(|| steps.packed()), label)
            });
        }
    }

    fn fingerprint(&self, state: &Packed) -> NonZeroU64 {
        fingerprint(&state.hash_sections(&self.setup, hash_section))
    }

    fn label(&self, state: &Packed) -> Label {
        self.label_of(&self.unpack(state).findings(&self.setup))
    }

    fn bytes(scratch: &Scratch) -> usize {
        scratch.steps.as_ref().map_or(0, Steps::bytes)
    }
}
