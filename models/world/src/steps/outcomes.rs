//! What is remembered of steps.

use alloc::vec::Vec;
use core::hash::Hasher;

use hashbrown::HashTable;
use protocol::Resource;
use smallvec::SmallVec;

use super::plans::Move;
use crate::event::Witnesses;
use crate::mix::Mix;
use crate::section::{SECTIONS, Sections};
use crate::world::Flags;

/// What came of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// It looks at more sections than these.
    LooksFurther,
    /// The sections have changed.
    Changed {
        /// The new number of the one section; of several, where their numbers begin.
        to: u32,
        /// The number of what else came of it.
        effect: u16,
    },
    /// These moves are possible, and a tick perhaps not.
    Moves { list: u32, is_due: bool },
    /// A question is answered.
    Answer(bool),
}

/// What came of a part of a step beside other sections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Effect {
    pub(super) witnesses: Witnesses,
    pub(super) flags: Flags,
    pub(super) overwritten: Option<Resource>,
}

/// A task, and what the sections are that it may look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) task: u32,
    pub(super) ids: [u32; FEW],
}

/// So many numbers are part of a key. More have one number of their own.
pub(super) const FEW: usize = 3;

/// Stands for no number.
pub(super) const NONE: u32 = u32::MAX;

/// Stands for no number where the first one is that of many.
const MANY: u32 = u32::MAX - 1;

/// A table that grows is copied: in so many pieces it is never copied as a whole.
const TABLES: usize = 64;

pub(super) struct Outcomes {
    known: [HashTable<(Key, Outcome)>; TABLES],
    effects: Vec<Effect>,
    ids: Vec<u32>,
    /// Lists of more than a few numbers, by where they begin and end in `ids`.
    many: HashTable<Span>,
    moves: Vec<Move>,
    /// The lists of moves.
    lists: Vec<Span>,
    lists_index: HashTable<u32>,
}

/// Where something begins and ends in a longer list.
#[derive(Clone, Copy)]
struct Span(u32, u32);

impl Span {
    fn of<T>(self, all: &[T]) -> &[T] {
        &all[self.0 as usize..self.1 as usize]
    }

    /// Adds to the longer list.
    fn add<T: Copy>(all: &mut Vec<T>, some: &[T]) -> Self {
        let first = all.len() as u32;
        all.extend_from_slice(some);
        Self(first, all.len() as u32)
    }
}

impl Default for Outcomes {
    fn default() -> Self {
        Self {
            known: [const { HashTable::new() }; TABLES],
            effects: Vec::new(),
            ids: Vec::new(),
            many: HashTable::new(),
            moves: Vec::new(),
            lists: Vec::new(),
            lists_index: HashTable::new(),
        }
    }
}

impl Outcomes {
    pub(super) fn len(&self) -> usize {
        self.known.iter().map(HashTable::len).sum()
    }

    pub(super) fn bytes(&self) -> usize {
        self.known.iter().map(HashTable::allocation_size).sum::<usize>()
            + self.effects.capacity() * size_of::<Effect>()
            + self.many.allocation_size()
            + self.lists_index.allocation_size()
            + self.ids.capacity() * size_of::<u32>()
            + self.moves.capacity() * size_of::<Move>()
            + self.lists.capacity() * size_of::<Span>()
    }

    /// The key of a task that may look at these sections.
    #[inline]
    pub(super) fn key(&mut self, task: u32, sections: Sections, place: &[u32; SECTIONS]) -> Key {
        if sections.len() > FEW {
            let ids: SmallVec<[u32; SECTIONS]> = sections.iter().map(|section| place[section.number()]).collect();
            return self.key_of(task, &ids);
        }
        let mut ids = [NONE; FEW];
        for (id, section) in ids.iter_mut().zip(sections.iter()) {
            *id = place[section.number()];
        }
        Key { task, ids }
    }

    /// The key of a task on which these numbers have some bearing.
    pub(super) fn key_of(&mut self, task: u32, numbers: &[u32]) -> Key {
        if numbers.len() > FEW {
            let own = self.number_of(numbers);
            return Key { task, ids: [own, MANY, MANY] };
        }
        let mut ids = [NONE; FEW];
        ids[..numbers.len()].copy_from_slice(numbers);
        Key { task, ids }
    }

    /// The number of a list of numbers: where it begins.
    fn number_of(&mut self, numbers: &[u32]) -> u32 {
        let own = hash(numbers);
        let ids = &mut self.ids;
        if let Some(known) = self.many.find(own, |known| known.of(ids) == numbers) {
            return known.0;
        }
        let span = Span::add(ids, numbers);
        self.many.insert_unique(own, span, |known| hash(known.of(ids)));
        span.0
    }

    #[inline]
    pub(super) fn find(&self, key: &Key) -> Option<Outcome> {
        let hash = key.hash();
        self.known[table_of(hash)].find(hash, |(known, _)| known == key).map(|(_, outcome)| *outcome)
    }

    pub(super) fn remember(&mut self, key: Key, outcome: Outcome) {
        let hash = key.hash();
        self.known[table_of(hash)].insert_unique(hash, (key, outcome), |(key, _)| key.hash());
    }

    /// Keeps an effect, and gives its number. They are few.
    pub(super) fn number_of_effect(&mut self, effect: Effect) -> u16 {
        let known = self.effects.iter().position(|other| *other == effect);
        let number = known.unwrap_or_else(|| {
            self.effects.push(effect);
            self.effects.len() - 1
        });
        number as u16
    }

    pub(super) fn effect(&self, number: u16) -> &Effect {
        &self.effects[usize::from(number)]
    }

    /// Keeps numbers of sections, and gives where they begin.
    pub(super) fn remember_ids(&mut self, ids: &[u32]) -> u32 {
        Span::add(&mut self.ids, ids).0
    }

    pub(super) fn id(&self, at: u32) -> u32 {
        self.ids[at as usize]
    }

    /// Keeps a list of moves, and gives its number.
    pub(super) fn list_of(&mut self, moves: &[Move]) -> u32 {
        let hash = |moves: &[Move]| {
            let mut mix = Mix::default();
            moves.iter().for_each(|what| mix.write_u32(what.plan));
            mix.finish()
        };
        let (all, lists) = (&mut self.moves, &mut self.lists);
        let own = hash(moves);
        if let Some(list) = self.lists_index.find(own, |list| lists[*list as usize].of(all) == moves) {
            return *list;
        }
        let list = lists.len() as u32;
        lists.push(Span::add(all, moves));
        self.lists_index.insert_unique(own, list, |list| hash(lists[*list as usize].of(all)));
        list
    }

    #[inline]
    pub(super) fn list(&self, list: u32) -> &[Move] {
        self.lists[list as usize].of(&self.moves)
    }
}

impl Key {
    #[inline]
    fn hash(&self) -> u64 {
        let [a, b, c] = self.ids.map(u64::from);
        let mut mix = Mix::default();
        mix.write_u64(u64::from(self.task) << 32 | a);
        mix.write_u64(b << 32 | c);
        mix.finish()
    }
}

/// The bits in the middle: the tables themselves use those at both ends.
fn table_of(hash: u64) -> usize {
    (hash >> 40) as usize % TABLES
}

fn hash(numbers: &[u32]) -> u64 {
    let mut mix = Mix::default();
    numbers.iter().for_each(|number| mix.write_u32(*number));
    mix.finish()
}
