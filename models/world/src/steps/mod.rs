//! Steps that are worked out once.
//!
//! A world has many states, but each of its sections has few, and a part of a step looks at few sections. So what a part
//! makes of the sections that it looks at is worked out once and remembered; most steps of a search are then a few
//! look-ups. The sections that a part looks at are not taken on trust but observed (see [`Watched`](crate::Watched)):
//! where it looks at more than was expected, the step is taken in the world as a whole.
//!
//! Sections are kept once each, as in the collapse compression of SPIN (G. J. Holzmann, "State Compression in SPIN"), and
//! steps are remembered by projection, as in LTSmin (S. Blom, J. van de Pol and M. Weber, "LTSmin: Distributed and Symbolic
//! Reachability").

mod outcomes;
mod pieces;
mod plans;

use alloc::vec::Vec;
use core::num::Wrapping;

use protocol::{Fencing, Resource};
use smallvec::SmallVec;

pub use plans::Move;

use crate::action::Action;
use crate::event::Witnesses;
use crate::numbers::{Numbers, Ranking};
use crate::pack::{Packed, RANK_BITS, Words};
use crate::part::Part;
use crate::property::{Bits, Findings, is_free};
use crate::section::{Home, Reach, SECTIONS, Section, Sections};
use crate::setup::Setup;
use crate::world::{Flags, World};
use outcomes::{Effect, NONE, Outcome, Outcomes};
use pieces::{Piece, Pieces};
use plans::{Planned, Plans};

/// More states of one section, or more outcomes, than this are not remembered at a time.
const MOST: usize = 1 << 18;

/// A list of moves. It means something to the [`Steps`] that it is from, and only until they enter another state.
#[derive(Clone, Copy, Debug)]
pub struct Moves(u32);

/// The steps of a setup, as far as they are known, and a place among its states: the one that was
/// [entered](Self::enter), or the one where the last step from there [led](Self::take).
pub struct Steps {
    /// Where what is not known is worked out.
    world: World,
    all: SmallVec<[Section; SECTIONS]>,
    /// Their numbers.
    order: SmallVec<[u8; SECTIONS]>,
    nodes: Sections,
    /// The sections in which anything can happen.
    active: Sections,
    hash: fn(&[u64]) -> u64,
    pieces: Pieces,
    plans: Plans,
    outcomes: Outcomes,
    entered: Place,
    /// The number of the next grant, and the nodes to or from which something is under way, in the state that was entered.
    next_grant: u8,
    busy: Bits,
    place: Place,
}

/// A state, by the numbers of the states of its sections.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Place {
    ids: [u32; SECTIONS],
    /// The sum of their hashes.
    hash: u64,
    flags: Flags,
    /// Whether other numbers occur than where the step began.
    is_renumbered: bool,
}

/// What is worked out once.
#[derive(Clone, Copy)]
enum Task {
    /// A part of a step, if the next grant has this number.
    Take(u32, u8),
    /// The ranks of the numbers in a section, among those of the whole world.
    Rank(Section, u32),
    /// What can happen in a section, if there is traffic to it.
    List(Section, bool),
    /// The order of what can happen in all sections, if a tick can.
    Merge(bool),
    /// Whether a node has an entry of a client that nobody is left to release.
    Stray(u8, u8),
}

impl Task {
    /// A number that no other task has.
    fn code(self) -> u32 {
        let (kind, major, minor) = match self {
            Self::Take(part, next_grant) => (0, part, next_grant),
            Self::Rank(section, numbers) => (1, numbers, section.number() as u8),
            Self::List(section, has_traffic) => (2, section.number() as u32, has_traffic.into()),
            Self::Merge(can_tick) => (3, can_tick.into(), 0),
            Self::Stray(node, client) => (4, node.into(), client),
        };
        debug_assert!(major < 1 << 21, "parts and numbers have numbers of 21 bits");
        major << 11 | u32::from(minor) << 3 | kind
    }
}

impl Steps {
    /// No steps of this setup yet. The function hashes the words of a section.
    pub fn new(setup: &Setup, hash: fn(&[u64]) -> u64) -> Self {
        Self {
            world: World::new(setup),
            all: Section::all(setup).collect(),
            order: Section::all(setup).map(|section| section.number() as u8).collect(),
            nodes: Sections::nodes(setup),
            active: World::active_sections(setup),
            hash,
            pieces: Pieces::default(),
            plans: Plans::default(),
            outcomes: Outcomes::default(),
            entered: Place::default(),
            next_grant: 1,
            busy: 0,
            place: Place::default(),
        }
    }

    /// How many bytes are kept at hand.
    pub fn bytes(&self) -> usize {
        self.pieces.bytes() + self.plans.bytes() + self.outcomes.bytes()
    }

    /// Goes to a state.
    pub fn enter(&mut self, setup: &Setup, state: &Packed) {
        if self.outcomes.len().max(self.pieces.most()) > MOST {
            *self = Self::new(setup, self.hash);
        }
        self.entered.flags = state.flags();
        let (mut hash, mut busy, mut latest_grant) = (Wrapping(0), 0, 0);
        for (index, words) in state.sections().enumerate() {
            let id = self.enter_section(setup, index, words);
            let section = usize::from(self.order[index]);
            let piece = self.pieces.get(section, id);
            self.entered.ids[section] = id;
            hash += Wrapping(piece.hash);
            busy |= piece.traits.busy;
            latest_grant = latest_grant.max(piece.latest_grant);
        }
        self.entered.hash = hash.0;
        self.next_grant = latest_grant + 1;
        self.busy = busy;
        self.place = self.entered;
    }

    #[inline]
    fn enter_section(&mut self, setup: &Setup, index: usize, words: &[u64]) -> u32 {
        let section = usize::from(self.order[index]);
        let before = self.entered.ids[section];
        let ignored = if index == 0 { Packed::FLAGS } else { 0 };
        // Often it is the same as in the state before.
        if self.pieces.is(section, before, words, ignored) {
            return before;
        }
        self.enter_another(setup, self.all[index], words, ignored)
    }

    fn enter_another(&mut self, setup: &Setup, section: Section, words: &[u64], ignored: u64) -> u32 {
        if words[0] & ignored != 0 {
            let mut copy = Words::from_slice(words);
            copy[0] &= !ignored;
            return self.enter_another(setup, section, &copy, 0);
        }
        if let Some(id) = self.pieces.find(section.number(), words) {
            return id;
        }
        self.world.unpack_section(setup, section, words);
        let numbers = self.numbers_in(setup, section);
        self.pieces.keep(&mut self.world, setup, section, numbers, self.hash)
    }

    /// Lists what can happen next in the state that was entered, in ascending order of the actions.
    pub fn moves(&mut self, setup: &Setup) -> Moves {
        self.place = self.entered;
        let mut lists = SmallVec::<[u32; SECTIONS]>::new();
        let mut can_tick = true;
        for section in self.active.iter() {
            let has_traffic = matches!(section, Section::Node(node) if self.busy & 1 << node != 0);
            let Some((list, is_due)) = self.moves_at(setup, section, has_traffic) else {
                return self.moves_of_the_whole(setup);
            };
            lists.push(list);
            can_tick &= !is_due;
        }
        let key = self.outcomes.key_of(Task::Merge(can_tick).code(), &lists);
        if let Some(Outcome::Moves { list, .. }) = self.outcomes.find(&key) {
            return Moves(list);
        }
        let merged = self.merge(setup, &lists, can_tick);
        let list = self.outcomes.list_of(&merged);
        self.outcomes.remember(key, Outcome::Moves { list, is_due: !can_tick });
        Moves(list)
    }

    /// One of the moves.
    #[inline]
    pub fn next_move(&self, moves: Moves, index: usize) -> Option<Move> {
        self.outcomes.list(moves.0).get(index).copied()
    }

    fn moves_at(&mut self, setup: &Setup, section: Section, has_traffic: bool) -> Option<(u32, bool)> {
        let task = Task::List(section, has_traffic);
        let mut outcome = self.work_out(setup, task, Reach::with_rest(section));
        if outcome == Outcome::LooksFurther {
            let more = Sections::only(section).with(Section::Rest).and(self.nodes);
            outcome = self.work_out(setup, task, Reach::of(more));
        }
        match outcome {
            Outcome::Moves { list, is_due } => Some((list, is_due)),
            Outcome::LooksFurther | Outcome::Changed { .. } | Outcome::Answer(_) => None,
        }
    }

    /// Brings the moves in all sections into ascending order.
    fn merge(&mut self, setup: &Setup, lists: &[u32], can_tick: bool) -> Vec<Move> {
        let mut moves: Vec<_> = lists.iter().flat_map(|list| self.outcomes.list(*list)).copied().collect();
        if can_tick {
            moves.push(self.plans.plan(setup, self.nodes, Action::Tick));
        } else {
            moves.retain(|other| !matches!(other.action, Action::Lag(_)));
        }
        moves.sort_unstable();
        moves
    }

    fn moves_of_the_whole(&mut self, setup: &Setup) -> Moves {
        self.load(setup);
        let mut actions = Vec::new();
        self.world.actions(setup, &mut actions);
        Moves(self.list_of(setup, actions))
    }

    fn list_of(&mut self, setup: &Setup, actions: Vec<Action>) -> u32 {
        let plan = |action| self.plans.plan(setup, self.nodes, action);
        let moves: Vec<_> = actions.into_iter().map(plan).collect();
        self.outcomes.list_of(&moves)
    }

    /// Takes a step from the state that was entered. None: it changes nothing.
    pub fn take(&mut self, setup: &Setup, what: Move) -> Option<Witnesses> {
        let witnesses = match self.take_in_parts(setup, what) {
            Some(witnesses) => witnesses,
            None => self.take_as_a_whole(setup, what.action),
        };
        let changes = self.place.hash != self.entered.hash || self.place != self.entered;
        changes.then_some(witnesses)
    }

    /// None: it is not known what some part looks at.
    fn take_in_parts(&mut self, setup: &Setup, what: Move) -> Option<Witnesses> {
        // Readings of wall clocks are ranked by those of all sections.
        if setup.policy.fencing == Fencing::ClientClock {
            return None;
        }
        self.place = self.entered;
        self.place.flags = Flags::default();
        let mut witnesses = Witnesses::default();
        let mut overwritten = None;
        let mut index = 0;
        while let Some(planned) = self.plans.planned(what, index) {
            overwritten = overwritten.or(self.take_part(setup, planned, &mut witnesses)?);
            index += 1;
        }
        if let Some(account) = overwritten {
            for part in Part::after_write(setup, what.action, account) {
                let planned = self.plans.plan_part(self.nodes, part);
                self.take_part(setup, planned, &mut witnesses)?;
            }
        }
        if self.place.is_renumbered {
            self.canonicalise(setup)?;
        }
        Some(witnesses)
    }

    /// Takes a part of a step, and gives the account that it overwrites.
    fn take_part(&mut self, setup: &Setup, planned: Planned, witnesses: &mut Witnesses) -> Option<Option<Resource>> {
        let task = Task::Take(planned.part, self.next_grant);
        let mut reach = planned.few;
        let mut outcome = self.work_out(setup, task, reach);
        if let (Outcome::LooksFurther, Some(more)) = (outcome, planned.more) {
            reach = more;
            outcome = self.work_out(setup, task, reach);
        }
        let Outcome::Changed { to, effect } = outcome else { return None };
        self.change(reach, to);
        let effect = self.outcomes.effect(effect);
        self.place.flags = self.place.flags.and(effect.flags);
        witnesses.0 |= effect.witnesses.0;
        Some(effect.overwritten)
    }

    /// Puts other states of sections in their places.
    #[inline]
    fn change(&mut self, reach: Reach, to: u32) {
        if let Home::One(section) = reach.home {
            return self.change_one(section.into(), to);
        }
        for (at, section) in (to..).zip(reach.sections.iter()) {
            self.change_one(section.number(), self.outcomes.id(at));
        }
    }

    #[inline]
    fn change_one(&mut self, section: usize, new: u32) {
        let old = self.place.ids[section];
        if old == new {
            return;
        }
        let (before, after) = (self.pieces.get(section, old), self.pieces.get(section, new));
        self.place.hash = self.place.hash.wrapping_sub(before.hash).wrapping_add(after.hash);
        self.place.is_renumbered |= before.numbers != after.numbers;
        self.place.ids[section] = new;
    }

    /// Renumbers by rank.
    fn canonicalise(&mut self, setup: &Setup) -> Option<()> {
        let mut numbers = Numbers::default();
        self.pieces_at(&self.place).for_each(|piece| numbers.and(self.pieces.numbers(piece.numbers)));
        if !numbers.are_ranks() {
            let numbers = self.pieces.number_of(numbers);
            for index in 0..self.all.len() {
                let section = self.all[index];
                let outcome = self.work_out(setup, Task::Rank(section, numbers), Reach::only(section));
                let Outcome::Changed { to, .. } = outcome else { return None };
                self.change_one(section.number(), to);
            }
        }
        self.place.is_renumbered = false;
        Some(())
    }

    fn take_as_a_whole(&mut self, setup: &Setup, action: Action) -> Witnesses {
        self.place = self.entered;
        self.load(setup);
        let mut witnesses = Witnesses::default();
        self.world.apply(setup, action, &mut witnesses);
        self.world.canonicalise(setup);
        self.place = Place { flags: self.world.flags, ..Place::default() };
        for section in self.all.clone() {
            let numbers = self.numbers_in(setup, section);
            let id = self.pieces.keep(&mut self.world, setup, section, numbers, self.hash);
            self.place.ids[section.number()] = id;
            self.place.hash = self.place.hash.wrapping_add(self.pieces.get(section.number(), id).hash);
        }
        witnesses
    }

    /// What came of a task that may look at these sections.
    #[inline]
    fn work_out(&mut self, setup: &Setup, task: Task, reach: Reach) -> Outcome {
        let Some((home, id, other)) = self.home(reach) else { return self.look_up(setup, task, reach) };
        match self.pieces.get(home, id).known(task.code(), other) {
            Some(outcome) => outcome,
            None => self.look_up(setup, task, reach),
        }
    }

    /// The section with which an outcome is kept, its state, and that of the other section.
    #[inline]
    fn home(&self, reach: Reach) -> Option<(usize, u32, u32)> {
        let (home, other) = match reach.home {
            Home::One(home) => (usize::from(home), NONE),
            Home::Two(home, other) => (usize::from(home), self.place.ids[usize::from(other)]),
            Home::Apart => return None,
        };
        Some((home, self.place.ids[home], other))
    }

    /// The same, if it is not kept with a section.
    fn look_up(&mut self, setup: &Setup, task: Task, reach: Reach) -> Outcome {
        let key = self.outcomes.key(task.code(), reach.sections, &self.place.ids);
        if let Some(outcome) = self.outcomes.find(&key) {
            return outcome;
        }
        self.load(setup);
        let outcome = self.carry_out(setup, task, reach.sections);
        let is_kept = self
            .home(reach)
            .is_some_and(|(home, id, other)| self.pieces.get_mut(home, id).remember(task.code(), other, outcome));
        if !is_kept {
            self.outcomes.remember(key, outcome);
        }
        outcome
    }

    fn carry_out(&mut self, setup: &Setup, task: Task, sections: Sections) -> Outcome {
        let mut witnesses = Witnesses::default();
        match task {
            Task::Take(part, next_grant) => {
                self.world.begin_step(next_grant);
                self.world.carry(setup, self.plans.part(part), &mut witnesses);
                self.changed(setup, sections, witnesses)
            }
            Task::Rank(section, numbers) => {
                self.world.begin_step(self.next_grant);
                self.world.number(setup, section, &mut Ranking::of(*self.pieces.numbers(numbers)));
                self.changed(setup, sections, witnesses)
            }
            Task::List(section, has_traffic) => {
                let mut actions = Vec::new();
                self.world.actions_at(setup, section, has_traffic, &mut actions);
                let is_due = self.world.is_due(setup, section);
                if !sections.has_all(self.world.looked_at()) {
                    return Outcome::LooksFurther;
                }
                Outcome::Moves { list: self.list_of(setup, actions), is_due }
            }
            Task::Stray(node, client) => {
                let has_strays = self.world.strays(setup, node, client) != 0;
                if sections.has_all(self.world.looked_at()) {
                    Outcome::Answer(has_strays)
                } else {
                    Outcome::LooksFurther
                }
            }
            // It looks at lists, not at the world.
            Task::Merge(_) => Outcome::LooksFurther,
        }
    }

    /// What has become of these sections, if nobody has looked at others.
    fn changed(&mut self, setup: &Setup, sections: Sections, witnesses: Witnesses) -> Outcome {
        if !sections.has_all(self.world.looked_at()) {
            return Outcome::LooksFurther;
        }
        let (flags, overwritten) = (self.world.flags, self.world.overwritten);
        let effect = self.outcomes.number_of_effect(Effect { witnesses, flags, overwritten });
        let mut ids = SmallVec::<[u32; SECTIONS]>::new();
        for section in sections.iter() {
            let numbers = self.numbers_in(setup, section);
            if !numbers.fit(RANK_BITS) {
                return Outcome::LooksFurther;
            }
            ids.push(self.pieces.keep(&mut self.world, setup, section, numbers, self.hash));
        }
        let to = match ids[..] {
            [id] => id,
            _ => self.outcomes.remember_ids(&ids),
        };
        Outcome::Changed { to, effect }
    }

    /// Makes the world the one at this place.
    fn load(&mut self, setup: &Setup) {
        for section in &self.all {
            let piece = self.pieces.get(section.number(), self.place.ids[section.number()]);
            self.world.unpack_section(setup, *section, &piece.words);
        }
        self.world.forget_looks();
    }

    fn numbers_in(&mut self, setup: &Setup, section: Section) -> Numbers {
        let mut numbers = Numbers::default();
        self.world.number(setup, section, &mut numbers);
        numbers
    }

    fn pieces_at<'a>(&'a self, place: &'a Place) -> impl Iterator<Item = &'a Piece> + Clone {
        self.order.iter().map(|section| self.pieces.get(usize::from(*section), place.ids[usize::from(*section)]))
    }

    /// The state at this place, packed.
    pub fn packed(&self) -> Packed {
        Packed::of(self.place.flags, self.pieces_at(&self.place).map(|piece| &piece.words[..]))
    }

    /// By what the state at this place is known, as [`Packed::hash_sections`] gives it.
    #[inline]
    pub fn hash(&self) -> u64 {
        self.place.hash.wrapping_add(u64::from(self.place.flags.bits()))
    }

    /// What holds at this place. Without `strays` nobody asks for these, and none are looked for.
    pub fn findings(&mut self, setup: &Setup, strays: bool) -> Findings {
        let mut believed = 0;
        let mut has_rivals = false;
        let mut is_finished = true;
        for client in 0..setup.clients.len() as u8 {
            let traits = self.piece(Section::Client(client)).traits;
            has_rivals |= believed & traits.believed != 0;
            believed |= traits.believed;
            is_finished &= traits.has_finished;
        }
        let taken = self.nodes.iter().map(|node| self.piece(node).traits.taken);
        let is_free = is_free(setup, taken);
        let has_stray = strays && self.has_stray(setup);
        Findings { has_rivals, has_stray, is_free, is_finished, flags: self.place.flags }
    }

    fn has_stray(&mut self, setup: &Setup) -> bool {
        (0..setup.policy.nodes).any(|node| {
            let owners = self.piece(Section::Node(node)).traits.owners;
            let mut clients = (0..setup.clients.len() as u8).filter(|client| owners & 1 << client != 0);
            clients.any(|client| {
                let reach = Reach::both(Section::Client(client), Section::Node(node));
                self.work_out(setup, Task::Stray(node, client), reach) == Outcome::Answer(true)
            })
        })
    }

    fn piece(&self, section: Section) -> &Piece {
        self.pieces.get(section.number(), self.place.ids[section.number()])
    }
}
