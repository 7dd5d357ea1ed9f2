//! The states of each section, each kept once.

use alloc::vec::Vec;
use core::hash::Hasher;

use hashbrown::HashTable;
use smallvec::SmallVec;

use super::outcomes::Outcome;
use crate::mix::Mix;
use crate::numbers::Numbers;
use crate::pack::Words;
use crate::property::Bits;
use crate::section::{SECTIONS, Section};
use crate::setup::Setup;
use crate::world::World;

/// The state of a section.
pub(super) struct Piece {
    pub(super) words: Words,
    /// What its words count in the hash of a state.
    pub(super) hash: u64,
    /// The numbers that occur in it, by their own number.
    pub(super) numbers: u32,
    /// The latest grant that occurs in it.
    pub(super) latest_grant: u8,
    pub(super) traits: Traits,
    /// What came of tasks that may look at this section, and perhaps at one other: as many as one finds at a glance.
    known: SmallVec<[Known; AT_A_GLANCE]>,
}

/// What came of a task that may look at a section and at another one with this number.
#[derive(Clone, Copy)]
struct Known {
    task: u32,
    other: u32,
    outcome: Outcome,
}

/// More outcomes than this are not found at a glance, and have no room of their own on the heap: many small pieces of it
/// that stay would keep the large ones apart that a search frees.
const AT_A_GLANCE: usize = 8;

impl Piece {
    #[inline]
    pub(super) fn known(&self, task: u32, other: u32) -> Option<Outcome> {
        self.known.iter().find(|known| known.task == task && known.other == other).map(|known| known.outcome)
    }

    /// Keeps an outcome, if there is room for it.
    pub(super) fn remember(&mut self, task: u32, other: u32, outcome: Outcome) -> bool {
        let has_room = self.known.len() < AT_A_GLANCE;
        if has_room {
            self.known.push(Known { task, other, outcome });
        }
        has_room
    }
}

/// What a section adds to what holds in a state.
#[derive(Clone, Copy, Default)]
pub(super) struct Traits {
    /// The locks that the client believes to hold.
    pub(super) believed: Bits,
    /// The nodes to or from which something of the client is under way.
    pub(super) busy: Bits,
    /// Whether the client has made its updates.
    pub(super) has_finished: bool,
    /// The locks that are taken on the node.
    pub(super) taken: Bits,
    /// The clients whose entries somebody has to release.
    pub(super) owners: Bits,
}

impl Traits {
    fn of(world: &World, setup: &Setup, section: Section) -> Self {
        match section {
            Section::Rest => Self::default(),
            Section::Client(client) => Self {
                believed: world.believed(setup, client),
                busy: world.busy_nodes(client),
                has_finished: world.has_finished(setup, client),
                ..Self::default()
            },
            Section::Node(node) => {
                Self { taken: world.taken(node), owners: world.owners(setup, node), ..Self::default() }
            }
        }
    }
}

/// The states of all sections.
#[derive(Default)]
pub(super) struct Pieces {
    pools: [Pool; SECTIONS],
    numbers: Vec<Numbers>,
    numbers_index: HashTable<u32>,
}

#[derive(Default)]
struct Pool {
    index: HashTable<u32>,
    pieces: Vec<Piece>,
}

impl Pool {
    fn find(&self, words: &[u64]) -> Option<u32> {
        self.index.find(hash(words), |id| are_same(&self.pieces[*id as usize].words, words, 0)).copied()
    }

    fn push(&mut self, piece: Piece) -> u32 {
        let Self { index, pieces } = self;
        let id = pieces.len() as u32;
        let own = hash(&piece.words);
        if pieces.len() == pieces.capacity() {
            // By a quarter: what is empty costs memory.
            pieces.reserve_exact(pieces.len() / 4 + 32);
        }
        pieces.push(piece);
        index.insert_unique(own, id, |id| hash(&pieces[*id as usize].words));
        id
    }
}

impl Pieces {
    /// How many states of a section there are at most.
    pub(super) fn most(&self) -> usize {
        self.pools.iter().map(|pool| pool.pieces.len()).max().unwrap_or(0)
    }

    pub(super) fn bytes(&self) -> usize {
        let of_pool = |pool: &Pool| pool.pieces.capacity() * size_of::<Piece>() + pool.index.allocation_size();
        self.pools.iter().map(of_pool).sum::<usize>()
            + self.numbers.capacity() * size_of::<Numbers>()
            + self.numbers_index.allocation_size()
    }

    /// The state of the section with this number.
    #[inline]
    pub(super) fn get(&self, section: usize, id: u32) -> &Piece {
        &self.pools[section].pieces[id as usize]
    }

    pub(super) fn get_mut(&mut self, section: usize, id: u32) -> &mut Piece {
        &mut self.pools[section].pieces[id as usize]
    }

    /// Whether a state of a section has these words, but for some bits of the first.
    #[inline]
    pub(super) fn is(&self, section: usize, id: u32, words: &[u64], ignored: u64) -> bool {
        let piece = self.pools[section].pieces.get(id as usize);
        piece.is_some_and(|piece| are_same(&piece.words, words, ignored))
    }

    pub(super) fn find(&self, section: usize, words: &[u64]) -> Option<u32> {
        self.pools[section].find(words)
    }

    /// Keeps a section of the world, in which these numbers occur, and gives its number.
    pub(super) fn keep(
        &mut self,
        world: &mut World,
        setup: &Setup,
        section: Section,
        numbers: Numbers,
        hash_words: impl Fn(&[u64]) -> u64,
    ) -> u32 {
        let words = world.pack_section(setup, section);
        if let Some(id) = self.find(section.number(), &words) {
            return id;
        }
        let piece = Piece {
            hash: section.at_its_place(hash_words(&words)),
            latest_grant: numbers.latest_grant(),
            numbers: self.number_of(numbers),
            traits: Traits::of(world, setup, section),
            known: SmallVec::new(),
            words,
        };
        self.pools[section.number()].push(piece)
    }

    /// The numbers with this number.
    pub(super) fn numbers(&self, number: u32) -> &Numbers {
        &self.numbers[number as usize]
    }

    pub(super) fn number_of(&mut self, numbers: Numbers) -> u32 {
        let all = &mut self.numbers;
        let own = Mix::of(&numbers);
        if let Some(number) = self.numbers_index.find(own, |number| all[*number as usize] == numbers) {
            return *number;
        }
        let number = all.len() as u32;
        all.push(numbers);
        self.numbers_index.insert_unique(own, number, |number| Mix::of(&all[*number as usize]));
        number
    }
}

fn hash(words: &[u64]) -> u64 {
    let mut mix = Mix::default();
    words.iter().for_each(|word| mix.write_u64(*word));
    mix.finish()
}

/// Whether words are the same but for some bits of the first. They are few: one by one is quicker than a comparison of
/// memory.
#[inline]
fn are_same(some: &[u64], others: &[u64], mut ignored: u64) -> bool {
    some.len() == others.len()
        && some.iter().zip(others).all(|(one, other)| (one ^ other) & !core::mem::take(&mut ignored) == 0)
}
