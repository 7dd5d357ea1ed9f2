//! What a thread does on its own: list the successors of a chunk of states and sort out the known ones.

use std::hash::Hash;
use std::hint::black_box;
use std::num::NonZeroU64;

use super::table::{Table, UNNUMBERED};
use super::{Expand, Label, Successor};

/// Successors are looked up this many at a time, so that the reads of memory overlap.
pub(super) const LOOK_UPS: usize = 64;
/// Stands for no step in [`Found::step`].
const NO_STEP: u32 = u32::MAX;

/// What one thread found behind a chunk of states.
pub(super) struct Output<S> {
    /// The successors that were not in the table, in canonical order: where they come from, and the states themselves.
    pub(super) found: Vec<Found>,
    pub(super) states: Vec<S>,
    /// The free steps of the chunk, if they are kept, and how many each state has.
    pub(super) targets: Vec<u32>,
    pub(super) degrees: Vec<u16>,
    pub(super) generated: u64,
    pub(super) events: u64,
}

/// What a thread keeps from chunk to chunk. It takes chunks in their order only.
pub(super) struct Worker<M: Expand> {
    scratch: M::Scratch,
    recent: Recent,
    /// Successors that wait for their look-up, and the states of those that are not known to be old.
    waiting: Vec<Waiting>,
    states: Vec<M::State>,
}

pub(super) struct Found {
    pub(super) fingerprint: NonZeroU64,
    pub(super) parent: u32,
    pub(super) action: u16,
    pub(super) label: Label,
    /// Where in `targets` the number of this state is missing.
    pub(super) step: u32,
}

struct Waiting {
    fingerprint: NonZeroU64,
    parent: u32,
    action: u16,
    label: Label,
    free: bool,
    known: Option<u32>,
}

impl<S> Default for Output<S> {
    fn default() -> Self {
        Self {
            found: Vec::new(),
            states: Vec::new(),
            targets: Vec::new(),
            degrees: Vec::new(),
            generated: 0,
            events: 0,
        }
    }
}

impl<S> Output<S> {
    fn clear(&mut self) {
        self.found.clear();
        self.states.clear();
        self.targets.clear();
        self.degrees.clear();
        self.generated = 0;
        self.events = 0;
    }

    pub(super) fn bytes(&self) -> u64 {
        (self.states.capacity() * size_of::<S>()
            + self.found.capacity() * size_of::<Found>()
            + self.targets.capacity() * size_of::<u32>()
            + self.degrees.capacity() * size_of::<u16>()) as u64
    }
}

impl<M: Expand> Worker<M> {
    pub(super) fn bytes(&self) -> u64 {
        (self.states.capacity() * size_of::<M::State>()
            + self.waiting.capacity() * size_of::<Waiting>()
            + size_of_val(&*self.recent.fingerprints)
            + size_of_val(&self.recent.numbers[..])
            + M::bytes(&self.scratch)) as u64
    }
}

impl<M: Expand> Worker<M>
where
    M::State: Hash,
{
    pub(super) fn new(numbered: bool) -> Self {
        Self { scratch: M::Scratch::default(), recent: Recent::new(numbered), waiting: Vec::new(), states: Vec::new() }
    }

    /// Lists the successors of a chunk of states and keeps those that are not in the table.
    pub(super) fn expand(
        &mut self,
        model: &M,
        table: &Table,
        chunk: &[M::State],
        first: u32,
        output: &mut Output<M::State>,
    ) {
        output.clear();
        let keeps_steps = table.is_numbered();
        output.degrees.resize(if keeps_steps { chunk.len() } else { 0 }, 0);
        for (parent, state) in (first..).zip(chunk) {
            let mut take = |successor: Successor, build: &mut dyn FnMut() -> (M::State, Label)| {
                output.generated += 1;
                output.events |= successor.events;
                let fingerprint = successor.fingerprint;
                let known = self.recent.get(fingerprint);
                let mut holds = Label::default();
                if known.is_none() {
                    let (state, label) = build();
                    holds = label;
                    self.states.push(state);
                } else if !keeps_steps {
                    return;
                }
                if !keeps_steps {
                    // If it is new, this thread has just found it, and nothing that it finds later comes before that.
                    self.recent.put(fingerprint, UNNUMBERED);
                }
                self.waiting.push(Waiting {
                    fingerprint,
                    parent,
                    action: successor.action,
                    label: holds,
                    free: successor.free,
                    known,
                });
            };
            model.expand(state, &mut self.scratch, &mut take);
            if self.waiting.len() >= LOOK_UPS {
                self.look_up(table, first, output);
            }
        }
        self.look_up(table, first, output);
    }

    fn look_up(&mut self, table: &Table, first: u32, output: &mut Output<M::State>) {
        let unknown = self.waiting.iter().filter(|waiting| waiting.known.is_none());
        black_box(unknown.fold(0, |all, waiting| all ^ table.touch(waiting.fingerprint)));
        let mut states = self.states.drain(..);
        for waiting in self.waiting.drain(..) {
            let Waiting { fingerprint, parent, action, label, free, mut known } = waiting;
            let state = if known.is_none() { states.next() } else { None };
            if known.is_none() {
                known = table.get(fingerprint);
                if let Some(number) = known {
                    self.recent.put(fingerprint, number);
                }
            }
            let mut step = NO_STEP;
            // A step to where it began is on no way to anywhere else.
            if let Some(degree) = output.degrees.get_mut((parent - first) as usize)
                && free
                && known != Some(parent)
            {
                *degree += 1;
                step = output.targets.len() as u32;
                output.targets.push(known.unwrap_or(UNNUMBERED));
            }
            if let (None, Some(state)) = (known, state) {
                output.found.push(Found { fingerprint, parent, action, label, step });
                output.states.push(state);
            }
        }
    }
}

/// Some of the states that a thread has met last: steps that commute lead to the same state again soon, and this fits in
/// a cache that is nearer than the table.
struct Recent {
    fingerprints: Box<[u64; Self::SLOTS]>,
    numbers: Vec<u32>,
}

impl Recent {
    const SLOTS: usize = 1 << 13;

    fn new(numbered: bool) -> Self {
        Self { fingerprints: Box::new([0; Self::SLOTS]), numbers: vec![0; if numbered { Self::SLOTS } else { 0 }] }
    }

    #[inline]
    fn get(&self, fingerprint: NonZeroU64) -> Option<u32> {
        let slot = Self::slot(fingerprint);
        let is_there = self.fingerprints[slot] == fingerprint.get();
        is_there.then(|| self.numbers.get(slot).copied().unwrap_or(UNNUMBERED))
    }

    #[inline]
    fn put(&mut self, fingerprint: NonZeroU64, number: u32) {
        let slot = Self::slot(fingerprint);
        self.fingerprints[slot] = fingerprint.get();
        if let Some(there) = self.numbers.get_mut(slot) {
            *there = number;
        }
    }

    #[inline]
    const fn slot(fingerprint: NonZeroU64) -> usize {
        fingerprint.get() as usize % Self::SLOTS
    }
}
