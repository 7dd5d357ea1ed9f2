//! An explorer that is slow and obvious.
//!
//! It works on whole worlds and on nothing but their public face: no packed states, no fingerprints, no levels of its
//! own making, no threads. A state is known by the text that says everything about it, a property is decided as its
//! definition reads.

use std::collections::BTreeMap;

use check::explore::Path;
use check::scenario::Property;
use world::{Action, Setup, Witnesses, World};

/// How the numbers in a state are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Numbers {
    /// By rank, as in the search.
    ByRank,
    /// As they were given out, so that there is no end of states where anything is asked for again and again.
    AsGivenOut,
}

/// Everything that a world can reach, or as much as was asked for.
pub(crate) struct Naive<'a> {
    setup: &'a Setup,
    numbers: Numbers,
    pub(crate) states: Vec<State>,
    /// The places of the states by the text that says everything.
    known: BTreeMap<String, usize>,
    /// Whether every state was expanded, and nothing lies beyond.
    pub(crate) is_exhausted: bool,
}

/// A state.
pub(crate) struct State {
    pub(crate) world: World,
    /// The least of the shortest ways to it.
    pub(crate) path: Vec<Action>,
    /// What can happen in it.
    pub(crate) steps: Vec<Step>,
}

/// A step that changes something.
pub(crate) struct Step {
    pub(crate) action: Action,
    pub(crate) to: usize,
    /// What is witnessed on the way, as bits.
    pub(crate) seen: u64,
}

impl<'a> Naive<'a> {
    /// Explores as many whole levels as hold no more than `states` states, and no state of more than `depth` steps.
    pub(crate) fn explore(setup: &'a Setup, numbers: Numbers, states: usize, depth: usize) -> Self {
        let mut naive = Self { setup, numbers, states: Vec::new(), known: BTreeMap::new(), is_exhausted: false };
        let beginning = naive.named(World::new(setup));
        naive.enter(beginning, Vec::new());
        for level in 0..depth {
            let before = naive.states.len();
            let here: Vec<_> = (0..before).filter(|s| naive.states[*s].path.len() == level).collect();
            for from in &here {
                naive.expand(*from);
                if naive.states.len() > states {
                    naive.take_back(&here, before);
                    return naive;
                }
            }
            if naive.states.len() == before {
                naive.is_exhausted = true;
                return naive;
            }
        }
        naive
    }

    /// A world with its numbers as they are kept, and the text that says everything about it.
    fn named(&self, mut world: World) -> (World, String) {
        match self.numbers {
            Numbers::ByRank => world.canonicalise(self.setup),
            Numbers::AsGivenOut => {}
        }
        let text = everything(&world);
        (world, text)
    }

    /// The place of a state to which a path leads.
    fn enter(&mut self, (world, text): (World, String), path: Vec<Action>) -> usize {
        let place = *self.known.entry(text).or_insert(self.states.len());
        match self.states.get_mut(place) {
            None => self.states.push(State { world, path, steps: Vec::new() }),
            Some(known) if (path.len(), &path) < (known.path.len(), &known.path) => known.path = path,
            Some(_) => {}
        }
        place
    }

    fn expand(&mut self, from: usize) {
        let (world, path) = (self.states[from].world.clone(), self.states[from].path.clone());
        let before = everything(&world);
        for action in self.actions(&world) {
            let mut seen = Witnesses::default();
            let mut next = world.clone();
            next.apply(self.setup, action, &mut seen);
            let next = self.named(next);
            // What changes nothing is no step.
            if next.1 != before {
                let path = path.iter().copied().chain([action]).collect();
                let to = self.enter(next, path);
                self.states[from].steps.push(Step { action, to, seen: seen.0 });
            }
        }
    }

    /// Forgets the steps from `here`, and the states that were found by them.
    fn take_back(&mut self, here: &[usize], before: usize) {
        self.states.truncate(before);
        self.known.retain(|_, place| *place < before);
        here.iter().for_each(|state| self.states[*state].steps.clear());
    }

    fn actions(&self, world: &World) -> Vec<Action> {
        let mut actions = Vec::new();
        world.actions(self.setup, &mut actions);
        actions
    }

    /// The actions of a path that is given by their places in the lists of what can happen.
    pub(crate) fn along(&self, path: &Path) -> Vec<Action> {
        let mut world = World::new(self.setup);
        let mut taken = Vec::new();
        for index in &path.actions {
            let action = self.actions(&world)[usize::from(*index)];
            world.apply(self.setup, action, &mut Witnesses::default());
            taken.push(action);
        }
        taken
    }

    /// The most steps that a state needs.
    pub(crate) fn depth(&self) -> usize {
        self.states.iter().map(|state| state.path.len()).max().unwrap_or(0)
    }

    /// The first state, and every step that was taken.
    pub(crate) fn generated(&self) -> usize {
        1 + self.states.iter().map(|state| state.steps.len()).sum::<usize>()
    }

    /// What was witnessed anywhere, as bits.
    pub(crate) fn seen(&self) -> u64 {
        self.states.iter().flat_map(|state| &state.steps).fold(0, |all, step| all | step.seen)
    }

    /// Whether something is wrong in a state.
    pub(crate) fn violates(&self, world: &World, property: Property) -> bool {
        match property {
            Property::MutualExclusion => world.rivals(self.setup).is_some(),
            Property::NoLostUpdate => world.flags.lost_update,
            Property::NoWrongRelease => world.flags.wrong_release,
            Property::NoStaleWrite => world.flags.stale_write,
            Property::NoStrayGrant => world.stray(self.setup).is_some(),
            // Of a single state there is nothing to say.
            Property::NoOrphan | Property::DeadlockFree => false,
        }
    }

    /// Whether a state is what has to stay possible.
    fn is_goal(&self, world: &World, property: Property) -> bool {
        match property {
            Property::NoOrphan => world.is_free(self.setup),
            Property::DeadlockFree => world.is_finished(self.setup),
            Property::MutualExclusion
            | Property::NoLostUpdate
            | Property::NoWrongRelease
            | Property::NoStaleWrite
            | Property::NoStrayGrant => true,
        }
    }

    /// Whether there is a way to the goal on which all steps are allowed.
    fn leads_to_goal(&self, from: usize, property: Property, allowed: fn(Action) -> bool) -> bool {
        let mut been = vec![false; self.states.len()];
        let mut pending = vec![from];
        while let Some(place) = pending.pop() {
            let state = &self.states[place];
            if self.is_goal(&state.world, property) {
                return true;
            }
            if !std::mem::replace(&mut been[place], true) {
                let allowed = state.steps.iter().filter(|step| allowed(step.action));
                pending.extend(allowed.map(|step| step.to));
            }
        }
        false
    }

    /// Whether there is a state from which only a fault leads to the goal.
    pub(crate) fn waits_for_a_fault(&self, property: Property) -> bool {
        let waits =
            |place| !self.leads_to_goal(place, property, is_free) && self.leads_to_goal(place, property, |_| true);
        self.is_exhausted && (0..self.states.len()).any(waits)
    }

    /// The ways to all states where a property is violated, the shortest and then the least first.
    ///
    /// What is possible from a state is known only if the search was exhausted.
    pub(crate) fn violations(&self, property: Property) -> Vec<&[Action]> {
        let places = 0..self.states.len();
        let mut paths: Vec<_> = if property.is_about_the_graph() {
            let stuck = places.filter(|place| self.is_exhausted && !self.leads_to_goal(*place, property, is_free));
            stuck.map(|place| self.states[place].path.as_slice()).collect()
        } else {
            let wrong = self.states.iter().filter(|state| self.violates(&state.world, property));
            wrong.map(|state| state.path.as_slice()).collect()
        };
        paths.sort_by_key(|path| (path.len(), *path));
        paths
    }

    /// The least of the shortest ways to every state, by the text that the state has if its numbers are kept by rank.
    pub(crate) fn paths_by_rank(&self) -> BTreeMap<String, &[Action]> {
        let mut paths: BTreeMap<_, &[Action]> = BTreeMap::new();
        for state in &self.states {
            let mut ranked = state.world.clone();
            ranked.canonicalise(self.setup);
            let path = paths.entry(everything(&ranked)).or_insert(&state.path);
            if (state.path.len(), state.path.as_slice()) < (path.len(), path) {
                *path = &state.path;
            }
        }
        paths
    }
}

/// Whether something happens without a fault.
fn is_free(action: Action) -> bool {
    action.fault().is_none()
}

/// All that a world is, as text, but for the names of its messages and of the operations in its cores: these are never
/// compared but for being the same.
fn everything(world: &World) -> String {
    let mut nameless = world.clone();
    nameless.next_tag = 0;
    nameless.mail.iter_mut().flat_map(|mail| mail.iter_mut()).for_each(|message| message.tag = 0);
    let text = format!("{nameless:?}");
    let mut pieces = text.split("round: ");
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.fold(first, |all, piece| all + "round: " + piece.trim_start_matches(|c: char| c.is_ascii_digit()))
}
