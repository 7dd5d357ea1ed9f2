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
use core::hash::{Hash, Hasher};

use hashbrown::HashTable;
use protocol::{Fencing, Resource};

use crate::action::{Action, order_actions};
use crate::event::Witnesses;
use crate::mix::Mix;
use crate::numbers::{Numbers, Ranking};
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
    ids: [u32; SECTIONS],
    flags: Flags,
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

/// The steps of a setup, as far as they are known.
pub struct Steps {
    /// Where they are worked out.
    world: World,
    all: Sections,
    nodes: Sections,
    hash: fn(&[u64]) -> u64,
    pools: [Pool; SECTIONS],
    numbers: Vec<Numbers>,
    numbers_index: HashTable<u32>,
    outcomes: Outcomes,
    at: Place,
    next_grant: u8,
}

/// A section that is kept.
struct Piece {
    words: Words,
    hash: u64,
    /// The numbers that occur in it, by their own number.
    numbers: u32,
    traits: Traits,
}

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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Task {
    /// A part of a step, if the next grant has this number.
    Take(Part, u8),
    /// The ranks of the numbers in a section, among those of the whole world.
    Rank(Section, u32),
    /// What can happen in a section, if there is traffic to it.
    List(Section, bool),
    /// Whether a node has an entry of a client that nobody is left to release.
    Stray(u8, u8),
}

/// What came of it.
#[derive(Clone, Copy)]
enum Outcome {
    /// It looks at more sections than these.
    LooksFurther,
    /// The sections have changed.
    Changed { ids: u32, witnesses: Witnesses, flags: Flags, overwritten: Option<Resource> },
    /// These actions are possible, and a tick perhaps not.
    Actions { from: u32, to: u32, is_due: bool },
    /// A question is answered.
    Answer(bool),
}

/// An outcome, and on what it depends.
struct Entry {
    task: Task,
    sections: Sections,
    /// Where the numbers of these sections begin.
    ids: u32,
    outcome: Outcome,
}

#[derive(Default)]
struct Outcomes {
    index: HashTable<u32>,
    entries: Vec<Entry>,
    ids: Vec<u32>,
    actions: Vec<Action>,
}

impl Steps {
    /// No steps of this setup yet. The function hashes the words of a section.
    pub fn new(setup: &Setup, hash: fn(&[u64]) -> u64) -> Self {
        Self {
            world: World::new(setup),
            all: Sections::all(setup),
            nodes: Sections::nodes(setup),
            hash,
            pools: Default::default(),
            numbers: Vec::new(),
            numbers_index: HashTable::new(),
            outcomes: Outcomes::default(),
            at: Place { ids: [0; SECTIONS], flags: Flags::default() },
            next_grant: 1,
        }
    }

    /// How many bytes are kept at hand.
    pub fn bytes(&self) -> usize {
        let pools = self.pools.iter().map(|pool| pool.pieces.capacity() * size_of::<Piece>() + pool.index.capacity() * 5);
        let outcomes = &self.outcomes;
        pools.sum::<usize>()
            + self.numbers.capacity() * size_of::<Numbers>()
            + outcomes.index.capacity() * 5
            + outcomes.entries.capacity() * size_of::<Entry>()
            + outcomes.ids.capacity() * size_of::<u32>()
            + outcomes.actions.capacity() * size_of::<Action>()
    }

    /// Goes to a state, from which steps can then be taken.
    pub fn enter(&mut self, setup: &Setup, state: &Packed) -> Place {
        if self.outcomes.entries.len() > MOST || self.pools.iter().any(|pool| pool.pieces.len() > MOST) {
            *self = Self::new(setup, self.hash);
        }
        self.at.flags = state.flags();
        for (section, words) in self.all.iter().zip(state.sections()) {
            self.at.ids[section.number()] = self.enter_section(setup, section, words);
        }
        self.next_grant = self.numbers_of(&self.at).next_grant();
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
        if let Some(id) = pool.find(words) {
            return id;
        }
        self.world.unpack_section(setup, section, words);
        let numbers = self.numbers_in(setup, section);
        self.keep(setup, section, numbers)
    }

    /// Lists what can happen next, in ascending order.
    pub fn actions(&mut self, setup: &Setup, out: &mut Vec<Action>) {
        let busy = self.pieces(&self.at).fold(0, |bits, piece| bits | piece.traits.busy);
        let mut can_tick = true;
        for section in self.all.iter() {
            let has_traffic = matches!(section, Section::Node(node) if busy & 1 << node != 0);
            let few = Sections::only(section).with(Section::Rest);
            let at = self.at;
            let listed = [few, few.and(self.nodes)]
                .into_iter()
                .map(|sections| self.work_out(setup, Task::List(section, has_traffic), sections, &at))
                .find(|outcome| !matches!(outcome, Outcome::LooksFurther));
            let Some(Outcome::Actions { from, to, is_due }) = listed else {
                out.clear();
                self.load(setup, &at);
                return self.world.actions(setup, out);
            };
            can_tick &= !is_due;
            out.extend_from_slice(&self.outcomes.actions[from as usize..to as usize]);
        }
        order_actions(can_tick, out);
    }

    /// Takes a step. None: it changes nothing.
    pub fn take(&mut self, setup: &Setup, action: Action) -> Option<Step> {
        let step = self.take_in_parts(setup, action).unwrap_or_else(|| self.take_as_a_whole(setup, action));
        (step.to != self.at).then_some(step)
    }

    fn take_in_parts(&mut self, setup: &Setup, action: Action) -> Option<Step> {
        // Readings of wall clocks are ranked by those of all sections.
        if setup.policy.fencing == Fencing::ClientClock {
            return None;
        }
        let mut step = Step { to: Place { flags: Flags::default(), ..self.at }, witnesses: Witnesses::default() };
        let mut written = None;
        for part in Part::all_of(setup, action) {
            let overwritten = self.take_part(setup, part, &mut step)?;
            written = written.or(overwritten);
        }
        if let Some(account) = written {
            for part in Part::after_write(setup, action, account) {
                self.take_part(setup, part, &mut step)?;
            }
        }
        self.canonicalise(setup, &mut step.to)?;
        Some(step)
    }

    /// Takes a part of a step, and gives the account that it overwrites. None: it is not known what it looks at.
    fn take_part(&mut self, setup: &Setup, part: Part, step: &mut Step) -> Option<Option<Resource>> {
        let task = Task::Take(part, self.next_grant);
        let (few, more) = part.sections(self.nodes);
        let mut sections = few;
        let mut outcome = self.work_out(setup, task, sections, &step.to);
        if let (Outcome::LooksFurther, Some(more)) = (outcome, more) {
            sections = more;
            outcome = self.work_out(setup, task, sections, &step.to);
        }
        let Outcome::Changed { ids, witnesses, flags, overwritten } = outcome else { return None };
        self.change(&mut step.to, sections, ids);
        step.to.flags = step.to.flags.and(flags);
        step.witnesses.0 |= witnesses.0;
        Some(overwritten)
    }

    fn change(&self, place: &mut Place, sections: Sections, ids: u32) {
        for (section, id) in sections.iter().zip(&self.outcomes.ids[ids as usize..]) {
            place.ids[section.number()] = *id;
        }
    }

    /// Renumbers by rank. None: it is not known how.
    fn canonicalise(&mut self, setup: &Setup, place: &mut Place) -> Option<()> {
        let (before, after) = (&self.at, &*place);
        let number = |place: &Place, section: Section| self.piece(place, section).numbers;
        if self.all.iter().all(|section| number(before, section) == number(after, section)) {
            return Some(());
        }
        let numbers = self.numbers_of(place);
        if numbers.are_ranks() {
            return Some(());
        }
        let numbers = self.number_of(numbers);
        for section in self.all.iter() {
            let outcome = self.work_out(setup, Task::Rank(section, numbers), Sections::only(section), place);
            let Outcome::Changed { ids, .. } = outcome else { return None };
            self.change(place, Sections::only(section), ids);
        }
        Some(())
    }

    fn take_as_a_whole(&mut self, setup: &Setup, action: Action) -> Step {
        let at = self.at;
        self.load(setup, &at);
        let mut witnesses = Witnesses::default();
        self.world.apply(setup, action, &mut witnesses);
        self.world.canonicalise(setup);
        let mut to = Place { flags: self.world.flags, ..self.at };
        for section in self.all.iter() {
            let numbers = self.numbers_in(setup, section);
            to.ids[section.number()] = self.keep(setup, section, numbers);
        }
        Step { to, witnesses }
    }

    /// What came of a task that may look at these sections.
    fn work_out(&mut self, setup: &Setup, task: Task, sections: Sections, place: &Place) -> Outcome {
        let hash = Outcomes::hash(&task, sections, place);
        if let Some(outcome) = self.outcomes.find(hash, &task, sections, place) {
            return outcome;
        }
        self.load(setup, place);
        let outcome = self.carry_out(setup, task, sections);
        self.outcomes.remember(hash, task, sections, place, outcome);
        outcome
    }

    fn carry_out(&mut self, setup: &Setup, task: Task, sections: Sections) -> Outcome {
        let mut witnesses = Witnesses::default();
        let first = self.outcomes.actions.len();
        let outcome = match task {
            Task::Take(part, next_grant) => {
                self.world.begin_step(next_grant);
                self.world.carry(setup, part, &mut witnesses);
                let (flags, overwritten) = (self.world.flags, self.world.overwritten);
                Outcome::Changed { ids: 0, witnesses, flags, overwritten }
            }
            Task::Rank(section, numbers) => {
                let mut ranking = Ranking::of(self.numbers[numbers as usize]);
                self.world.number(setup, section, &mut ranking);
                Outcome::Changed { ids: 0, witnesses, flags: Flags::default(), overwritten: None }
            }
            Task::List(section, has_traffic) => {
                let mut actions = Vec::new();
                self.world.actions_at(setup, section, has_traffic, &mut actions);
                self.outcomes.actions.append(&mut actions);
                let is_due = self.world.is_due(setup, section);
                Outcome::Actions { from: first as u32, to: self.outcomes.actions.len() as u32, is_due }
            }
            Task::Stray(node, client) => Outcome::Answer(self.world.strays(setup, node, client) != 0),
        };
        if !sections.has_all(self.world.looked_at()) {
            self.outcomes.actions.truncate(first);
            return Outcome::LooksFurther;
        }
        let Outcome::Changed { witnesses, flags, overwritten, .. } = outcome else { return outcome };
        match self.keep_all(setup, sections) {
            Some(ids) => Outcome::Changed { ids, witnesses, flags, overwritten },
            None => Outcome::LooksFurther,
        }
    }

    /// Keeps these sections of the world, and gives where their numbers begin. None: they cannot be packed.
    fn keep_all(&mut self, setup: &Setup, sections: Sections) -> Option<u32> {
        let mut ids = [0; SECTIONS];
        for section in sections.iter() {
            let numbers = self.numbers_in(setup, section);
            if !numbers.fit(RANK_BITS) {
                return None;
            }
            ids[section.number()] = self.keep(setup, section, numbers);
        }
        let first = self.outcomes.ids.len() as u32;
        self.outcomes.ids.extend(sections.iter().map(|section| ids[section.number()]));
        Some(first)
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
        let numbers = self.number_of(numbers);
        let traits = self.world.traits(setup, section);
        let hash = (self.hash)(&words);
        self.pools[section.number()].push(Piece { words, hash, numbers, traits })
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

    /// The hashes of its sections, and what was wrong with the last step as one more.
    pub fn hashes(&self, place: &Place) -> impl Iterator<Item = u64> {
        let flags = u64::from(place.flags.bits());
        self.pieces(place).map(|piece| piece.hash).chain([flags])
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
                match self.work_out(setup, Task::Stray(node, client), sections, place) {
                    Outcome::Answer(is_stray) => is_stray,
                    _ => false,
                }
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
        let is_it = |id: &u32| self.pieces[*id as usize].words[..] == *words;
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

impl Outcomes {
    fn hash(task: &Task, sections: Sections, place: &Place) -> u64 {
        let mut mix = Mix::default();
        task.hash(&mut mix);
        sections.iter().for_each(|section| mix.write_u32(place.ids[section.number()]));
        mix.finish()
    }

    fn find(&self, hash: u64, task: &Task, sections: Sections, place: &Place) -> Option<Outcome> {
        let is_it = |at: &u32| {
            let entry = &self.entries[*at as usize];
            let ids = self.ids_of(entry);
            entry.task == *task
                && entry.sections == sections
                && sections.iter().zip(ids).all(|(section, id)| place.ids[section.number()] == *id)
        };
        let at = self.index.find(hash, is_it)?;
        Some(self.entries[*at as usize].outcome)
    }

    fn ids_of(&self, entry: &Entry) -> &[u32] {
        &self.ids[entry.ids as usize..]
    }

    fn remember(&mut self, hash: u64, task: Task, sections: Sections, place: &Place, outcome: Outcome) {
        let ids = self.ids.len() as u32;
        self.ids.extend(sections.iter().map(|section| place.ids[section.number()]));
        let at = self.entries.len() as u32;
        self.entries.push(Entry { task, sections, ids, outcome });
        let rehash = |at: &u32| {
            let entry = &self.entries[*at as usize];
            let mut mix = Mix::default();
            entry.task.hash(&mut mix);
            let count = entry.sections.iter().count();
            self.ids[entry.ids as usize..][..count].iter().for_each(|id| mix.write_u32(*id));
            mix.finish()
        };
        self.index.insert_unique(hash, at, rehash);
    }
}
