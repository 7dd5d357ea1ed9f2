//! A world as a model for a search.

use stateright::{Model, Property as Claim};
use world::{Action, Packed, Setup, Witnesses, World};

use crate::explore::{Expand, Label, Successor};
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
}

impl LockModel {
    /// The model of a setup.
    pub fn new(setup: Setup) -> Self {
        Self { setup }
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
            Property::NoStrayGrant => world.stray().is_some(),
            Property::NoOrphan | Property::DeadlockFree => false,
        }
    }

    fn satisfies(&self, packed: &Packed, property: Property) -> bool {
        !self.violates(&World::unpack(&self.setup, packed), property)
    }

    /// The packed world that an action leads to; none if it changes nothing.
    fn follow(&self, world: &World, packed: &Packed, action: Action, seen: &mut Witnesses) -> Option<Packed> {
        let mut next = world.clone();
        next.apply(&self.setup, action, seen);
        next.canonicalise(&self.setup);
        let next = next.pack(&self.setup);
        (next != *packed).then_some(next)
    }
}

impl Model for LockModel {
    type State = Packed;
    type Action = Action;

    fn init_states(&self) -> Vec<Packed> {
        let mut world = World::new(&self.setup);
        world.canonicalise(&self.setup);
        vec![world.pack(&self.setup)]
    }

    fn actions(&self, state: &Packed, actions: &mut Vec<Action>) {
        World::unpack(&self.setup, state).actions(&self.setup, actions);
    }

    fn next_state(&self, state: &Packed, action: Action) -> Option<Packed> {
        self.follow(&World::unpack(&self.setup, state), state, action, &mut Witnesses::default())
    }

    fn properties(&self) -> Vec<Claim<Self>> {
        vec![
            Claim::always("mutual-exclusion", |m, s| m.satisfies(s, Property::MutualExclusion)),
            Claim::always("no-lost-update", |m, s| m.satisfies(s, Property::NoLostUpdate)),
            Claim::always("no-wrong-release", |m, s| m.satisfies(s, Property::NoWrongRelease)),
            Claim::always("no-stale-write", |m, s| m.satisfies(s, Property::NoStaleWrite)),
            Claim::always("no-stray-grant", |m, s| m.satisfies(s, Property::NoStrayGrant)),
            // stateright stops as soon as every claim has its discovery; this one has none.
            Claim::always("the whole space is searched", |_, _| true),
        ]
    }
}

impl Expand for LockModel {
    fn expand(&self, state: &Packed, sink: &mut impl FnMut(Successor<Packed>)) {
        let world = World::unpack(&self.setup, state);
        let mut actions = Vec::with_capacity(16);
        world.actions(&self.setup, &mut actions);
        for (index, action) in (0..).zip(actions) {
            let mut seen = Witnesses::default();
            if let Some(next) = self.follow(&world, state, action, &mut seen) {
                let free = action.fault().is_none();
                sink(Successor { action: index, state: next, free, events: seen.0 });
            }
        }
    }

    fn label(&self, state: &Packed) -> Label {
        let world = World::unpack(&self.setup, state);
        let mut label = Label::default();
        for (bit, property) in STATE_PROPERTIES.iter().enumerate() {
            label.violated |= u32::from(self.violates(&world, *property)) << bit;
        }
        label.goals = u8::from(world.is_free(&self.setup)) | u8::from(world.is_finished(&self.setup)) << 1;
        label
    }
}
