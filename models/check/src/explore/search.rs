//! The search itself: blocks of the frontier are expanded in any order and entered in canonical order.

use std::hash::Hash;
use std::hint::black_box;
use std::num::NonZeroU64;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;

use super::blocks::Blocks;
use super::fingerprint;
use super::graph::Graph;
use super::table::{Table, UNNUMBERED};
use super::{
    End, Expand, Exploration, GOALS, Label, Monitor, Options, PROPERTIES, Progress, StateId,
    Successor,
};

/// Successors are looked up this many at a time, so that the reads of memory overlap.
const LOOK_UPS: usize = 64;
/// Stands for no step in [`Found::step`].
const FB: u32 = 10;
const NO_STEP: u32 = u32::MAX;

/// How the work is cut up. It never changes the result.
#[derive(Clone, Copy)]
pub(super) struct Grain {
    /// States that are expanded before the monitor is asked again, and between two meetings of the threads.
    pub(super) block: usize,
    /// States that one thread expands at a time.
    pub(super) chunk: usize,
    /// Blocks smaller than this are not worth waking a thread for.
    pub(super) shared_from: usize,
}

impl Grain {
    pub(super) fn of(options: &Options) -> Self {
        let threads = options.threads.get().min(64);
        Self {
            block: 4096 * threads,
            chunk: 256,
            shared_from: 1024,
        }
    }
}

pub(super) fn run<M>(
    model: &M,
    options: &Options,
    grain: Grain,
    monitor: &mut impl Monitor,
) -> Exploration
where
    M: Expand + Sync,
    M::State: Hash + Send + Sync,
{
    let mut search = Search::new(model, options, grain);
    let mut outputs = Vec::new();
    let end = match search.levels(&mut outputs, monitor) {
        ControlFlow::Continue(()) => End::Exhausted,
        ControlFlow::Break(end) => end,
    };
    drop(outputs);
    search.finish(end)
}

struct Search<'a, M: Expand> {
    model: &'a M,
    options: &'a Options,
    grain: Grain,
    limit: u32,
    table: Table,
    graph: Option<Graph>,
    parents: Blocks<u32>,
    actions: Blocks<u16>,
    initial: u32,
    unique: u32,
    generated: u64,
    events: u64,
    depth: u32,
    violations: [Option<StateId>; PROPERTIES],
    violating: Vec<(StateId, u32)>,
    next: Frontier<M::State>,
    peak: u64,
}

/// What one thread found behind a chunk of states.
struct Output<S> {
    /// The successors that were not in the table, in canonical order: where they come from, and the states themselves.
    found: Vec<Found>,
    states: Vec<S>,
    /// The free steps of the chunk, if they are kept, and how many each state has.
    targets: Vec<u32>,
    degrees: Vec<u16>,
    generated: u64,
    events: u64,
    scratch: Vec<Seen>,
    scratch_states: Vec<S>,
    filter: Vec<u64>,
}

struct Found {
    fingerprint: NonZeroU64,
    parent: u32,
    action: u16,
    label: Label,
    /// Where in `targets` the number of this state is missing.
    step: u32,
}

struct Seen {
    fingerprint: NonZeroU64,
    parent: u32,
    action: u16,
    free: bool,
}

impl<'a, M> Search<'a, M>
where
    M: Expand + Sync,
    M::State: Hash + Send + Sync,
{
    fn new(model: &'a M, options: &'a Options, grain: Grain) -> Self {
        let graph = (options.goals != 0).then(Graph::default);
        // The last two numbers stand for no step and for no number.
        let limit = options.max_states.map_or(u32::MAX - 1, |most| {
            u32::try_from(most).map_or(u32::MAX - 1, |most| most.min(u32::MAX - 1))
        });
        Self {
            model,
            options,
            grain,
            limit,
            table: Table::new(graph.is_some()),
            graph,
            parents: Blocks::default(),
            actions: Blocks::default(),
            initial: 0,
            unique: 0,
            generated: 0,
            events: 0,
            depth: 0,
            violations: [None; PROPERTIES],
            violating: Vec::new(),
            next: Frontier::default(),
            peak: 0,
        }
    }

    fn levels(
        &mut self,
        outputs: &mut Vec<Output<M::State>>,
        monitor: &mut impl Monitor,
    ) -> ControlFlow<End> {
        self.start()?;
        let mut first = 0;
        for depth in 0.. {
            let level = self.next.take();
            if level.is_empty() {
                break;
            }
            let is_last = self.options.max_depth == Some(depth);
            let before = (self.generated, self.events);
            let mut blocks = level.into_iter();
            while let Some(block) = blocks.next() {
                let ahead = blocks.as_slice();
                self.report(depth, first, &block, ahead, outputs, monitor)?;
                let went = self.block(&block, first, depth, is_last, outputs);
                if went == ControlFlow::Break(End::MaxDepth) {
                    (self.generated, self.events) = before;
                }
                went?;
                first += block.len() as u32;
                self.next.recycle(block);
            }
        }
        ControlFlow::Continue(())
    }

    fn start(&mut self) -> ControlFlow<End> {
        for (index, state) in (0..).zip(self.model.init_states()) {
            if !self.model.within_boundary(&state) {
                continue;
            }
            self.generated += 1;
            let fingerprint = fingerprint(&state);
            if self.table.get(fingerprint).is_some() {
                continue;
            }
            if self.unique == self.limit {
                return ControlFlow::Break(End::MaxStates);
            }
            self.table.insert(fingerprint, self.unique);
            self.enter(index, self.model.label(&state), state);
            self.initial = self.unique;
        }
        ControlFlow::Continue(())
    }

    fn report(
        &mut self,
        depth: u32,
        first: u32,
        block: &Vec<M::State>,
        ahead: &[Vec<M::State>],
        outputs: &[Output<M::State>],
        monitor: &mut impl Monitor,
    ) -> ControlFlow<End> {
        let states = block.capacity() + ahead.iter().map(Vec::capacity).sum::<usize>();
        let bytes = self.bytes()
            + (states * size_of::<M::State>()) as u64
            + outputs.iter().map(Output::bytes).sum::<u64>();
        self.peak = self.peak.max(bytes);
        let progress = Progress {
            depth,
            unique: self.unique.into(),
            generated: self.generated,
            queue: (self.unique - first).into(),
            bytes,
        };
        match monitor.progress(&progress) {
            ControlFlow::Continue(()) => ControlFlow::Continue(()),
            ControlFlow::Break(cut) => ControlFlow::Break(End::Cut(cut)),
        }
    }

    /// Expands a block of states, the first of which has the number `first`.
    fn block(
        &mut self,
        block: &[M::State],
        first: u32,
        depth: u32,
        is_last: bool,
        outputs: &mut Vec<Output<M::State>>,
    ) -> ControlFlow<End> {
        let chunk = self.grain.chunk;
        let firsts = (first..).step_by(chunk);
        let is_shared = self.options.threads > NonZeroUsize::MIN
            && block.len() >= self.grain.shared_from
            && cfg!(feature = "threads");
        let needed = if is_shared {
            block.len().div_ceil(chunk)
        } else {
            1
        };
        if outputs.len() < needed {
            outputs.resize_with(needed, Output::default);
        }
        if is_shared {
            self.expand_shared(block, first, outputs);
        }
        for (index, (states, first)) in block.chunks(chunk).zip(firsts).enumerate() {
            let output = if is_shared {
                &mut outputs[index]
            } else {
                &mut outputs[0]
            };
            if !is_shared {
                output.expand(self.model, &self.table, states, first, self.graph.is_some());
            }
            if is_last && !output.found.is_empty() {
                return ControlFlow::Break(End::MaxDepth);
            }
            self.commit(states, first, depth, output)?;
        }
        ControlFlow::Continue(())
    }

    #[cfg(feature = "threads")]
    fn expand_shared(&self, block: &[M::State], first: u32, outputs: &mut [Output<M::State>]) {
        use std::sync::{Mutex, PoisonError};

        let chunks = block
            .chunks(self.grain.chunk)
            .zip((first..).step_by(self.grain.chunk));
        let helpers = (outputs.len() - 1).min(self.options.threads.get() - 1);
        let jobs = Mutex::new(chunks.zip(outputs));
        let work = || {
            loop {
                let job = jobs.lock().unwrap_or_else(PoisonError::into_inner).next();
                let Some(((states, first), output)) = job else {
                    return;
                };
                output.expand(self.model, &self.table, states, first, self.graph.is_some());
            }
        };
        std::thread::scope(|scope| {
            for _ in 0..helpers {
                // Without another thread, this one does it all.
                if std::thread::Builder::new()
                    .spawn_scoped(scope, work)
                    .is_err()
                {
                    break;
                }
            }
            work();
        });
    }

    #[cfg(not(feature = "threads"))]
    fn expand_shared(&self, _: &[M::State], _: u32, _: &mut [Output<M::State>]) {}

    /// Numbers what is new behind a chunk, in canonical order.
    fn commit(
        &mut self,
        chunk: &[M::State],
        first: u32,
        depth: u32,
        output: &mut Output<M::State>,
    ) -> ControlFlow<End> {
        let mut ahead = 0;
        for (index, (found, state)) in output.found.iter().zip(output.states.drain(..)).enumerate()
        {
            if index == ahead {
                let group = &output.found[index..output.found.len().min(index + LOOK_UPS)];
                black_box(
                    group
                        .iter()
                        .fold(0, |all, f| all ^ self.table.touch(f.fingerprint)),
                );
                ahead = index + LOOK_UPS;
            }
            let number = if self.unique < self.limit {
                self.table.insert(found.fingerprint, self.unique)
            } else if let Some(number) = self.table.get(found.fingerprint) {
                Some(number)
            } else {
                self.recount(chunk, first, found);
                return ControlFlow::Break(End::MaxStates);
            };
            if let Some(target) = output.targets.get_mut(found.step as usize) {
                *target = number.unwrap_or(self.unique);
            }
            if number.is_none() {
                self.depth = depth + 1;
                self.actions.push(found.action);
                self.enter(found.parent, found.label, state);
            }
        }
        self.generated += output.generated;
        self.events |= output.events;
        if let Some(graph) = &mut self.graph {
            graph.push_steps(&output.degrees, &output.targets);
        }
        ControlFlow::Continue(())
    }

    fn enter(&mut self, parent: u32, label: Label, state: M::State) {
        self.parents.push(parent);
        self.next.push(state, self.grain.block);
        if let Some(graph) = &mut self.graph {
            graph.push_state(label.goals);
        }
        if label.violated != 0 {
            self.violated(label.violated);
        }
        self.unique += 1;
    }

    fn violated(&mut self, violated: u32) {
        let id = StateId(self.unique);
        for (property, first) in self.violations.iter_mut().enumerate() {
            if violated & (1 << property) != 0 {
                first.get_or_insert(id);
            }
        }
        if self.options.every_violation {
            self.violating.push((id, violated));
        }
    }

    /// Counts the steps of a chunk up to the one that found no room: which others were expanded along with it depends on
    /// the number of threads.
    fn recount(&mut self, chunk: &[M::State], first: u32, last: &Found) {
        for (number, state) in (first..=last.parent).zip(chunk) {
            self.model.expand(state, &mut |successor| {
                if number < last.parent || successor.action <= last.action {
                    self.generated += 1;
                    self.events |= successor.events;
                }
            });
        }
    }

    fn bytes(&self) -> u64 {
        self.table.bytes()
            + self.parents.bytes()
            + self.actions.bytes()
            + self.graph.as_ref().map_or(0, Graph::bytes)
            + self.next.bytes()
            + (self.violating.capacity() * size_of::<(StateId, u32)>()) as u64
    }

    fn finish(mut self, end: End) -> Exploration {
        self.peak = self.peak.max(self.bytes());
        let mut stuck = [None; GOALS];
        if let (End::Exhausted, Some(graph)) = (end, self.graph.take()) {
            // The table is not needed any more; the parents are.
            self.table = Table::new(false);
            self.next = Frontier::default();
            let kept = self.bytes();
            let (found, bytes) = graph.stuck(self.options.goals);
            stuck = found;
            self.peak = self.peak.max(kept + bytes);
        }
        Exploration {
            unique: self.unique.into(),
            generated: self.generated,
            depth: self.depth,
            end,
            events: self.events,
            violations: self.violations,
            stuck,
            bytes: self.peak,
            violating: self.violating,
            initial: self.initial,
            parents: self.parents,
            actions: self.actions,
        }
    }
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
            scratch: Vec::new(),
            scratch_states: Vec::new(),
            filter: vec![0; 1 << FB],
        }
    }
}

impl<S: Hash> Output<S> {
    /// Lists the successors of a chunk of states and keeps those that are not in the table.
    fn expand<M: Expand<State = S>>(
        &mut self,
        model: &M,
        table: &Table,
        chunk: &[S],
        first: u32,
        keeps_steps: bool,
    ) {
        self.found.clear();
        self.states.clear();
        self.targets.clear();
        self.degrees.clear();
        self.degrees
            .resize(if keeps_steps { chunk.len() } else { 0 }, 0);
        self.generated = 0;
        self.events = 0;
        for (parent, state) in (first..).zip(chunk) {
            model.expand(state, &mut |successor: Successor<S>| {
                self.generated += 1;
                self.events |= successor.events;
 let fp = fingerprint(&successor.state); let f = &mut self.filter[(fp.get() & ((1<<FB)-1)) as usize]; if *f == fp.get() { return } *f = fp.get();
                self.scratch.push(Seen {
                    fingerprint: fingerprint(&successor.state),
                    parent,
                    action: successor.action,
                    free: successor.free,
                });
                self.scratch_states.push(successor.state);
            });
            if self.scratch.len() >= LOOK_UPS {
                self.look_up(model, table, first);
            }
        }
        self.look_up(model, table, first);
    }

    fn look_up<M: Expand<State = S>>(&mut self, model: &M, table: &Table, first: u32) {
        black_box(
            self.scratch
                .iter()
                .fold(0, |all, seen| all ^ table.touch(seen.fingerprint)),
        );
        for (seen, state) in self.scratch.drain(..).zip(self.scratch_states.drain(..)) {
            let known = table.get(seen.fingerprint);
            let mut step = NO_STEP;
            // A step to where it began is on no way to anywhere else.
            if let Some(degree) = self.degrees.get_mut((seen.parent - first) as usize)
                && seen.free
                && known != Some(seen.parent)
            {
                *degree += 1;
                step = self.targets.len() as u32;
                self.targets.push(known.unwrap_or(UNNUMBERED));
            }
            if known.is_none() {
                self.found.push(Found {
                    fingerprint: seen.fingerprint,
                    parent: seen.parent,
                    action: seen.action,
                    label: model.label(&state),
                    step,
                });
                self.states.push(state);
            }
        }
    }
}

impl<S> Output<S> {
    fn bytes(&self) -> u64 {
        let states = self.states.capacity() + self.scratch_states.capacity();
        (states * size_of::<S>()
            + self.found.capacity() * size_of::<Found>()
            + self.scratch.capacity() * size_of::<Seen>()
            + self.targets.capacity() * size_of::<u32>()
            + self.degrees.capacity() * size_of::<u16>()) as u64
    }
}

/// The states of one level, in blocks that are given back as soon as they are expanded.
struct Frontier<S> {
    blocks: Vec<Vec<S>>,
    spare: Option<Vec<S>>,
}

impl<S> Default for Frontier<S> {
    fn default() -> Self {
        Self {
            blocks: Vec::new(),
            spare: None,
        }
    }
}

impl<S> Frontier<S> {
    fn push(&mut self, state: S, block: usize) {
        match self.blocks.last_mut() {
            Some(last) if last.len() < block => last.push(state),
            _ => {
                let mut fresh = self.spare.take().unwrap_or_default();
                fresh.push(state);
                self.blocks.push(fresh);
            }
        }
    }

    fn take(&mut self) -> Vec<Vec<S>> {
        std::mem::take(&mut self.blocks)
    }

    fn recycle(&mut self, mut block: Vec<S>) {
        block.clear();
        self.spare = Some(block);
    }

    fn bytes(&self) -> u64 {
        let states = self
            .blocks
            .iter()
            .chain(&self.spare)
            .map(Vec::capacity)
            .sum::<usize>();
        (states * size_of::<S>()) as u64
    }
}
