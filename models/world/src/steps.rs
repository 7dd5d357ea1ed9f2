//! Steps that are worked out once.
//!
//! A world has many states, but each of its sections has few, and a part of a step looks at few sections. So what a part
//! makes of the sections that it looks at is worked out once and remembered; most steps of a search are then a few
//! look-ups. The sections that a part looks at are not declared but observed (see [`Watched`](crate::Watched)): where it
//! looks at more than is taken for granted, the step is taken in the world as a whole.
//!
//! Sections are kept once each, as in the collapse compression of SPIN (G. J. Holzmann, "State Compression in SPIN"), and
//! steps are remembered by projection, as in LTSmin (S. Blom, J. van de Pol and M. Weber, "LTSmin: Distributed and Symbolic
//! Reachability").

use alloc::vec::Vec;
use core::hash::Hasher;

use hashbrown::HashTable;
use protocol::{Fencing, Resource};
use smallvec::SmallVec;

use crate::action::Action;
use crate::event::Witnesses;
use crate::mix::Mix;
use crate::numbers::{Numbers, Ranking};
use crate::outcomes::{Effect, Key, NONE, Outcome, Outcomes};
use crate::pack::{Packed, RANK_BITS, Words};
use crate::part::Part;
use crate::property::{Bits, is_free};
use crate::section::{SECTIONS, Section, Sections};
use crate::setup::Setup;
use crate::world::{Flags, World};

/// More sections, or more outcomes, than this are not remembered at a time.
const MOST: usize = 1 << 18;

/// A state, by the numbers of its sections. It means something to the [`Steps`] that it is from, and only until they
/// [enter](Steps::enter) another state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    pub(crate) ids: [u32; SECTIONS],
    /// The sum of their hashes.
    hash: u64,
    flags: Flags,
    /// Whether other numbers occur than where the step began.
    is_renumbered: bool,
}

/// A step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Where it leads.
    pub to: Place,
    /// What it witnesses.
    pub witnesses: Witnesses,
}

/// What holds in a state, beside what was wrong with the last step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Findings {
    /// Whether two clients believe at once that they hold the same lock.
    pub has_rivals: bool,
    /// Whether there is an entry that nobody is left to release.
    pub has_stray: bool,
    /// Whether the lock can be had.
    pub is_free: bool,
    /// Whether every client has made its updates, or crashed for good.
    pub is_finished: bool,
    /// What was wrong with the last step.
    pub flags: Flags,
}

impl World {
    /// What holds in this state.
    pub fn findings(&self, setup: &Setup) -> Findings {
        Findings {
            has_rivals: self.rivals(setup).is_some(),
            has_stray: self.stray(setup).is_some(),
            is_free: self.is_free(setup),
            is_finished: self.is_finished(setup),
            flags: self.flags,
        }
    }
}

/// Something that can happen next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Move {
    /// What.
    pub action: Action,
    /// Which of the plans.
    pub(crate) plan: u32,
}

/// A list of moves. It means something to the [`Steps`] that it is from, and only until they enter another state.
#[derive(Clone, Copy, Debug)]
pub struct Moves(u32);

/// The steps of a setup, as far as they are known.
pub struct Steps {
    /// Where they are worked out.
    world: World,
    all: Sections,
    nodes: Sections,
    active: Sections,
    hash: fn(&[u64]) -> u64,
    pools: [Pool; SECTIONS],
    numbers: Vec<Numbers>,
    numbers_index: HashTable<u32>,
    plans: Vec<Plan>,
    plans_index: HashTable<u32>,
    parts: Vec<Part>,
    outcomes: Outcomes,
    /// Where steps begin; there, the number of the next grant, and the nodes to or from which something is under way.
    at: Place,
    next_grant: u8,
    busy: Bits,
}

/// The parts of an action, and what each looks at.
struct Plan {
    action: Action,
    parts: SmallVec<[Planned; 2]>,
}

#[derive(Clone, Copy)]
struct Planned {
    /// Its number among all parts.
    part: u32,
    few: Sections,
    more: Option<Sections>,
}

/// A section that is kept.
struct Piece {
    words: Words,
    hash: u64,
    /// The numbers that occur in it, by their own number.
    numbers: u32,
    /// The latest grant that occurs in it.
    latest_grant: u8,
    traits: Traits,
    /// What came of tasks that may look at this section, and perhaps at one other: as many as one finds at a glance.
    known: SmallVec<[Known; 5]>,
}

/// What came of a task that may look at a section and at another one with this number.
#[derive(Clone, Copy)]
struct Known {
    task: u32,
    other: u32,
    outcome: Outcome,
}

/// More than so many outcomes are not found at a glance.
const AT_A_GLANCE: usize = 16;

/// What a section adds to the [`Findings`].
#[derive(Clone, Copy, Default)]
struct Traits {
    /// The locks that the client believes to hold.
    believed: Bits,
    /// The nodes to or from which something of the client is under way.
    busy: Bits,
    /// Whether the client has made its updates.
    has_finished: bool,
    /// The locks that are taken on the node.
    taken: Bits,
    /// The clients whose entries somebody has to release.
    owners: Bits,
}

/// The states of one section.
#[derive(Default)]
struct Pool {
    index: HashTable<u32>,
    pieces: Vec<Piece>,
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
        debug_assert!(major < 1 << 21, "tasks have numbers of 21 bits");
        major << 11 | u32::from(minor) << 3 | kind
    }
}

impl Steps {
    /// No steps of this setup yet. The function hashes the words of a section.
    pub fn new(setup: &Setup, hash: fn(&[u64]) -> u64) -> Self {
        Self {
            world: World::new(setup),
            all: Sections::all(setup),
            nodes: Sections::nodes(setup),
            active: World::active_sections(setup),
            hash,
            pools: Default::default(),
            numbers: Vec::new(),
            numbers_index: HashTable::new(),
            plans: Vec::new(),
            plans_index: HashTable::new(),
            parts: Vec::new(),
            outcomes: Outcomes::default(),
            at: Place { ids: [0; SECTIONS], hash: 0, flags: Flags::default(), is_renumbered: false },
            next_grant: 1,
            busy: 0,
        }
    }

    /// How many bytes are kept at hand.
    pub fn bytes(&self) -> usize {
        let pool = |pool: &Pool| pool.pieces.capacity() * size_of::<Piece>() + pool.index.allocation_size();
        self.pools.iter().map(pool).sum::<usize>()
            + self.numbers.capacity() * size_of::<Numbers>()
            + self.numbers_index.allocation_size()
            + self.plans.capacity() * size_of::<Plan>()
            + self.outcomes.bytes()
    }

    /// Goes to a state, from which steps can then be taken.
    pub fn enter(&mut self, setup: &Setup, state: &Packed) -> Place {
        if self.outcomes.len() > MOST || self.pools.iter().any(|pool| pool.pieces.len() > MOST) {
            *self = Self::new(setup, self.hash);
        }
        self.at.flags = state.flags();
        self.at.hash = 0;
        self.busy = 0;
        let mut latest_grant = 0;
        for (section, words) in self.all.iter().zip(state.sections()) {
            let id = self.enter_section(setup, section, words);
            self.at.ids[section.number()] = id;
            let piece = &self.pools[section.number()].pieces[id as usize];
            self.at.hash = self.at.hash.wrapping_add(piece.hash);
            self.busy |= piece.traits.busy;
            latest_grant = latest_grant.max(piece.latest_grant);
        }
        self.next_grant = latest_grant + 1;
        self.at
    }

    fn enter_section(&mut self, setup: &Setup, section: Section, words: &[u64]) -> u32 {
        let mut copy;
        let words = if section == Section::Rest {
            copy = Words::from_slice(words);
            copy[0] = Packed::without_flags(copy[0]);
            &copy[..]
        } else {
            words
        };
        let pool = &self.pools[section.number()];
        // Often it is the same as in the state before.
        let before = self.at.ids[section.number()];
        if pool.pieces.get(before as usize).is_some_and(|piece| are_same(&piece.words, words)) {
            return before;
        }
        if let Some(id) = pool.find(words) {
            return id;
        }
        self.world.unpack_section(setup, section, words);
        let numbers = self.numbers_in(setup, section);
        self.keep(setup, section, numbers)
    }

    /// Lists what can happen next, in ascending order of the actions.
    pub fn moves(&mut self, setup: &Setup) -> Moves {
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
        let list = self.outcomes.list_of(merged);
        self.outcomes.remember(key, Outcome::Moves { list, is_due: !can_tick });
        Moves(list)
    }

    /// One of the moves.
    pub fn next_move(&self, moves: Moves, index: usize) -> Option<Move> {
        self.outcomes.list(moves.0).get(index).copied()
    }

    fn moves_at(&mut self, setup: &Setup, section: Section, has_traffic: bool) -> Option<(u32, bool)> {
        let at = self.at;
        let few = Sections::only(section).with(Section::Rest);
        [few, few.and(self.nodes)].into_iter().find_map(|sections| {
            match self.work_out(setup, Task::List(section, has_traffic), sections, &at) {
                Outcome::Moves { list, is_due } => Some((list, is_due)),
                _ => None,
            }
        })
    }

    /// Brings the moves in all sections into ascending order.
    fn merge(&mut self, setup: &Setup, lists: &[u32], can_tick: bool) -> Vec<Move> {
        let mut moves: Vec<_> = lists.iter().flat_map(|list| self.outcomes.list(*list)).copied().collect();
        if can_tick {
            moves.push(self.moved(setup, Action::Tick));
        } else {
            moves.retain(|other| !matches!(other.action, Action::Lag(_)));
        }
        moves.sort_unstable();
        moves
    }

    fn moves_of_the_whole(&mut self, setup: &Setup) -> Moves {
        let at = self.at;
        self.load(setup, &at);
        let mut actions = Vec::new();
        self.world.actions(setup, &mut actions);
        let moves = actions.into_iter().map(|action| self.moved(setup, action)).collect();
        Moves(self.outcomes.list_of(moves))
    }

    fn moved(&mut self, setup: &Setup, action: Action) -> Move {
        let hash = Mix::of(&action);
        if let Some(plan) = self.plans_index.find(hash, |plan| self.plans[*plan as usize].action == action) {
            return Move { action, plan: *plan };
        }
        let parts = Part::all_of(setup, action).into_iter().map(|part| self.planned(part)).collect();
        let plan = self.plans.len() as u32;
        self.plans.push(Plan { action, parts });
        self.plans_index.insert_unique(hash, plan, |plan| Mix::of(&self.plans[*plan as usize].action));
        Move { action, plan }
    }

    fn planned(&mut self, part: Part) -> Planned {
        let (few, more) = part.sections(self.nodes);
        let known = self.parts.iter().position(|other| *other == part);
        let number = known.unwrap_or_else(|| {
            self.parts.push(part);
            self.parts.len() - 1
        });
        Planned { part: number as u32, few, more }
    }

    /// Takes a step. None: it changes nothing.
    pub fn take(&mut self, setup: &Setup, what: Move) -> Option<Step> {
        let step = self.take_in_parts(setup, what).unwrap_or_else(|| self.take_as_a_whole(setup, what.action));
        (step.to != self.at).then_some(step)
    }

    fn take_in_parts(&mut self, setup: &Setup, what: Move) -> Option<Step> {
        // Readings of wall clocks are ranked by those of all sections.
        if setup.policy.fencing == Fencing::ClientClock {
            return None;
        }
        let mut step = Step { to: Place { flags: Flags::default(), ..self.at }, witnesses: Witnesses::default() };
        let mut overwritten = None;
        for index in 0..self.plans[what.plan as usize].parts.len() {
            let planned = self.plans[what.plan as usize].parts[index];
            overwritten = overwritten.or(self.take_part(setup, planned, &mut step)?);
        }
        if let Some(account) = overwritten {
            for part in Part::after_write(setup, what.action, account) {
                let planned = self.planned(part);
                self.take_part(setup, planned, &mut step)?;
            }
        }
        if step.to.is_renumbered {
            self.canonicalise(setup, &mut step.to)?;
        }
        Some(step)
    }

    /// Takes a part of a step, and gives the account that it overwrites. None: it is not known what it looks at.
    fn take_part(&mut self, setup: &Setup, planned: Planned, step: &mut Step) -> Option<Option<Resource>> {
        let task = Task::Take(planned.part, self.next_grant);
        let mut sections = planned.few;
        let mut outcome = self.work_out(setup, task, sections, &step.to);
        if let (Outcome::LooksFurther, Some(more)) = (outcome, planned.more) {
            sections = more;
            outcome = self.work_out(setup, task, sections, &step.to);
        }
        let Outcome::Changed { to, effect } = outcome else { return None };
        self.change(&mut step.to, sections, to);
        let effect = self.outcomes.effect(effect);
        step.to.flags = step.to.flags.and(effect.flags);
        step.witnesses.0 |= effect.witnesses.0;
        Some(effect.overwritten)
    }

    /// Puts other sections in their places.
    fn change(&self, place: &mut Place, sections: Sections, to: u32) {
        if sections.len() == 1 {
            return sections.iter().for_each(|section| self.change_one(place, section, to));
        }
        for (section, new) in sections.iter().zip(self.outcomes.ids(to)) {
            self.change_one(place, section, *new);
        }
    }

    fn change_one(&self, place: &mut Place, section: Section, new: u32) {
        let (old, pool) = (&mut place.ids[section.number()], &self.pools[section.number()]);
        if *old != new {
            let (before, after) = (&pool.pieces[*old as usize], &pool.pieces[new as usize]);
            place.hash = place.hash.wrapping_sub(before.hash).wrapping_add(after.hash);
            place.is_renumbered |= before.numbers != after.numbers;
            *old = new;
        }
    }

    /// Renumbers by rank. None: it is not known how.
    fn canonicalise(&mut self, setup: &Setup, place: &mut Place) -> Option<()> {
        place.is_renumbered = false;
        let numbers = self.numbers_of(place);
        if numbers.are_ranks() {
            return Some(());
        }
        let numbers = self.number_of(numbers);
        for section in self.all.iter() {
            let outcome = self.work_out(setup, Task::Rank(section, numbers), Sections::only(section), place);
            let Outcome::Changed { to, .. } = outcome else { return None };
            self.change_one(place, section, to);
        }
        place.is_renumbered = false;
        Some(())
    }

    fn take_as_a_whole(&mut self, setup: &Setup, action: Action) -> Step {
        let at = self.at;
        self.load(setup, &at);
        let mut witnesses = Witnesses::default();
        self.world.apply(setup, action, &mut witnesses);
        self.world.canonicalise(setup);
        let mut to = Place { hash: 0, flags: self.world.flags, ..self.at };
        for section in self.all.iter() {
            let numbers = self.numbers_in(setup, section);
            to.ids[section.number()] = self.keep(setup, section, numbers);
        }
        to.hash = self.pieces(&to).fold(0, |sum, piece| sum.wrapping_add(piece.hash));
        Step { to, witnesses }
    }

    /// What came of a task that may look at these sections.
    #[inline]
    fn work_out(&mut self, setup: &Setup, task: Task, sections: Sections, place: &Place) -> Outcome {
        let code = task.code();
        let Some((home, other)) = sections.home() else {
            let key = self.outcomes.key(code, sections, place);
            return match self.outcomes.find(&key) {
                Some(outcome) => outcome,
                None => self.work_out_anew(setup, task, sections, place, None, key),
            };
        };
        let other = other.map_or(NONE, |other| place.ids[other.number()]);
        let piece = self.piece(place, home);
        if let Some(known) = piece.known.iter().find(|known| known.task == code && known.other == other) {
            return known.outcome;
        }
        let key = self.outcomes.key(code, sections, place);
        if piece_is_full(self.piece(place, home))
            && let Some(outcome) = self.outcomes.find(&key)
        {
            return outcome;
        }
        self.work_out_anew(setup, task, sections, place, Some((home, other)), key)
    }

    #[cold]
    fn work_out_anew(
        &mut self,
        setup: &Setup,
        task: Task,
        sections: Sections,
        place: &Place,
        home: Option<(Section, u32)>,
        key: Key,
    ) -> Outcome {
        self.load(setup, place);
        let outcome = self.carry_out(setup, task, sections);
        if let Some((home, other)) = home {
            let piece = &mut self.pools[home.number()].pieces[place.ids[home.number()] as usize];
            if !piece_is_full(piece) {
                piece.known.push(Known { task: key.task, other, outcome });
                return outcome;
            }
        }
        self.outcomes.remember(key, outcome);
        outcome
    }

    fn carry_out(&mut self, setup: &Setup, task: Task, sections: Sections) -> Outcome {
        let mut witnesses = Witnesses::default();
        let mut actions = Vec::new();
        let mut is_due = false;
        let mut answer = false;
        match task {
            Task::Take(part, next_grant) => {
                self.world.begin_step(next_grant);
                self.world.carry(setup, self.parts[part as usize], &mut witnesses);
            }
            Task::Rank(section, numbers) => {
                self.world.begin_step(self.next_grant);
                self.world.number(setup, section, &mut Ranking::of(self.numbers[numbers as usize]));
            }
            Task::List(section, has_traffic) => {
                self.world.actions_at(setup, section, has_traffic, &mut actions);
                is_due = self.world.is_due(setup, section);
            }
            Task::Stray(node, client) => answer = self.world.strays(setup, node, client) != 0,
            // It looks at no world.
            Task::Merge(_) => return Outcome::LooksFurther,
        }
        if !sections.has_all(self.world.looked_at()) {
            return Outcome::LooksFurther;
        }
        match task {
            Task::Take(..) | Task::Rank(..) => {
                let (flags, overwritten) = (self.world.flags, self.world.overwritten);
                let Some(to) = self.keep_all(setup, sections) else { return Outcome::LooksFurther };
                let effect = self.outcomes.number_of_effect(Effect { witnesses, flags, overwritten });
                Outcome::Changed { to, effect }
            }
            Task::List(..) => {
                let moves: Vec<_> = actions.into_iter().map(|action| self.moved(setup, action)).collect();
                Outcome::Moves { list: self.outcomes.list_of(moves), is_due }
            }
            Task::Stray(..) | Task::Merge(_) => Outcome::Answer(answer),
        }
    }

    /// Keeps these sections of the world, and gives the number of the one, or where their numbers begin. None: they cannot
    /// be packed.
    fn keep_all(&mut self, setup: &Setup, sections: Sections) -> Option<u32> {
        let mut ids = SmallVec::<[u32; SECTIONS]>::new();
        for section in sections.iter() {
            let numbers = self.numbers_in(setup, section);
            if !numbers.fit(RANK_BITS) {
                return None;
            }
            ids.push(self.keep(setup, section, numbers));
        }
        match ids[..] {
            [id] => Some(id),
            _ => Some(self.outcomes.remember_ids(&ids)),
        }
    }

    /// Makes the world the one at a place.
    fn load(&mut self, setup: &Setup, place: &Place) {
        for section in self.all.iter() {
            let piece = &self.pools[section.number()].pieces[place.ids[section.number()] as usize];
            self.world.unpack_section(setup, section, &piece.words);
        }
        self.world.forget_looks();
    }

    fn numbers_in(&mut self, setup: &Setup, section: Section) -> Numbers {
        let mut numbers = Numbers::default();
        self.world.number(setup, section, &mut numbers);
        numbers
    }

    /// Keeps a section of the world, in which these numbers occur, and gives its number.
    fn keep(&mut self, setup: &Setup, section: Section, numbers: Numbers) -> u32 {
        let words = self.world.pack_section(setup, section);
        if let Some(id) = self.pools[section.number()].find(&words) {
            return id;
        }
        let latest_grant = numbers.latest_grant();
        let numbers = self.number_of(numbers);
        let traits = self.world.traits(setup, section);
        let hash = section.at_its_place((self.hash)(&words));
        self.pools[section.number()].push(Piece { words, hash, numbers, latest_grant, traits, known: SmallVec::new() })
    }

    fn number_of(&mut self, numbers: Numbers) -> u32 {
        let all = &mut self.numbers;
        let hash = Mix::of(&numbers);
        if let Some(number) = self.numbers_index.find(hash, |number| all[*number as usize] == numbers) {
            return *number;
        }
        let number = all.len() as u32;
        all.push(numbers);
        self.numbers_index.insert_unique(hash, number, |number| Mix::of(&all[*number as usize]));
        number
    }

    fn numbers_of(&self, place: &Place) -> Numbers {
        let mut numbers = Numbers::default();
        self.pieces(place).for_each(|piece| numbers.and(&self.numbers[piece.numbers as usize]));
        numbers
    }

    fn piece(&self, place: &Place, section: Section) -> &Piece {
        &self.pools[section.number()].pieces[place.ids[section.number()] as usize]
    }

    fn pieces(&self, place: &Place) -> impl Iterator<Item = &Piece> + Clone {
        let place = *place;
        self.all.iter().map(move |section| self.piece(&place, section))
    }

    /// The state at a place, packed.
    pub fn packed(&self, place: &Place) -> Packed {
        Packed::of(place.flags, self.pieces(place).map(|piece| &piece.words[..]))
    }

    /// By what the state is known, as [`Packed::hash_sections`] gives it.
    pub fn hash_at(&self, place: &Place) -> u64 {
        place.hash.wrapping_add(u64::from(place.flags.bits()))
    }

    /// What holds there. Without `strays` nobody asks for these, and none are looked for.
    pub fn findings(&mut self, setup: &Setup, place: &Place, strays: bool) -> Findings {
        let mut believed = 0;
        let mut has_rivals = false;
        let mut is_finished = true;
        let clients = setup.clients.len() as u8;
        for client in 0..clients {
            let traits = self.piece(place, Section::Client(client)).traits;
            has_rivals |= believed & traits.believed != 0;
            believed |= traits.believed;
            is_finished &= traits.has_finished;
        }
        let taken = self.nodes.iter().map(|node| self.piece(place, node).traits.taken);
        Findings {
            has_rivals,
            is_free: is_free(setup, taken),
            is_finished,
            flags: place.flags,
            has_stray: strays && self.has_stray(setup, place),
        }
    }

    fn has_stray(&mut self, setup: &Setup, place: &Place) -> bool {
        (0..setup.policy.nodes).any(|node| {
            let owners = self.piece(place, Section::Node(node)).traits.owners;
            let mut clients = (0..setup.clients.len() as u8).filter(|client| owners & 1 << client != 0);
            clients.any(|client| {
                let sections = Sections::only(Section::Node(node)).with(Section::Client(client));
                matches!(self.work_out(setup, Task::Stray(node, client), sections, place), Outcome::Answer(true))
            })
        })
    }
}

impl World {
    fn traits(&self, setup: &Setup, section: Section) -> Traits {
        match section {
            Section::Rest => Traits::default(),
            Section::Client(client) => Traits {
                believed: self.believed(setup, client),
                busy: self.busy_nodes(client),
                has_finished: self.has_finished(setup, client),
                ..Traits::default()
            },
            Section::Node(node) => {
                Traits { taken: self.taken(node), owners: self.owners(setup, node), ..Traits::default() }
            }
        }
    }
}

impl Pool {
    fn find(&self, words: &[u64]) -> Option<u32> {
        let is_it = |id: &u32| are_same(&self.pieces[*id as usize].words, words);
        self.index.find(Self::hash(words), is_it).copied()
    }

    fn push(&mut self, piece: Piece) -> u32 {
        let id = self.pieces.len() as u32;
        let hash = Self::hash(&piece.words);
        self.pieces.push(piece);
        self.index.insert_unique(hash, id, |id| Self::hash(&self.pieces[*id as usize].words));
        id
    }

    fn hash(words: &[u64]) -> u64 {
        let mut mix = Mix::default();
        words.iter().for_each(|word| mix.write_u64(*word));
        mix.finish()
    }
}

/// Whether words are the same. They are few: one by one is quicker than a comparison of memory.
fn are_same(some: &[u64], others: &[u64]) -> bool {
    some.len() == others.len() && some.iter().zip(others).all(|(one, other)| one == other)
}

fn piece_is_full(piece: &Piece) -> bool {
    piece.known.len() >= AT_A_GLANCE
}
