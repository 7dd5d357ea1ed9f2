//! The search itself: blocks of the frontier are expanded in any order and entered in canonical order.

use std::hash::Hash;
use std::hint::black_box;
use std::ops::ControlFlow;
use std::sync::{Mutex, PoisonError};
use std::thread::Builder;

use super::blocks::Blocks;
use super::frontier::Frontier;
use super::graph::Graph;
use super::table::Table;
use super::worker::{Found, LOOK_UPS, Output, Worker};
use super::{End, Expand, Exploration, GOALS, Label, Monitor, Options, PROPERTIES, Progress, StateId, Successor};

/// One thread numbers the states: more than this would only wait for it.
const MOST_THREADS: usize = 64;

/// How the work is cut up. It never changes the result.
#[derive(Clone, Copy)]
pub(super) struct Grain {
    /// States that are expanded before the monitor is asked again, and between two meetings of the threads.
    pub(super) block: usize,
    /// States that one thread expands at a time.
    pub(super) chunk: usize,
    /// Blocks smaller than this are not worth waking a thread for.
    pub(super) shared_from: usize,
    /// Sweeps over the graph before it is reversed.
    pub(super) sweeps: usize,
}

impl Grain {
    pub(super) fn of(options: &Options) -> Self {
        let threads = options.threads.get().min(MOST_THREADS);
        Self { block: 4096 * threads, chunk: 256, shared_from: 1024, sweeps: 16 }
    }
}

pub(super) fn run<M>(model: &M, options: &Options, grain: Grain, monitor: &mut impl Monitor) -> Exploration
where
    M: Expand + Sync,
    M::State: Hash + Send + Sync,
{
    let mut search = Search::new(model, options, grain);
    let mut team = Team::new(options);
    let end = match search.levels(&mut team, monitor) {
        ControlFlow::Continue(()) => End::Exhausted,
        ControlFlow::Break(end) => end,
    };
    drop(team);
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

/// The threads' own memory, and where they put what they find: one place for each chunk of a block.
struct Team<M: Expand> {
    workers: Vec<Worker<M>>,
    outputs: Vec<Output<M::State>>,
}

impl<'a, M> Search<'a, M>
where
    M: Expand + Sync,
    M::State: Hash + Send + Sync,
{
    fn new(model: &'a M, options: &'a Options, grain: Grain) -> Self {
        let graph = (options.goals != 0).then(Graph::default);
        // The last two numbers stand for no step and for no number.
        let limit = options
            .max_states
            .map_or(u32::MAX - 1, |most| u32::try_from(most).map_or(u32::MAX - 1, |most| most.min(u32::MAX - 1)));
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

    fn levels(&mut self, team: &mut Team<M>, monitor: &mut impl Monitor) -> ControlFlow<End> {
        self.start()?;
        let mut first = 0;
        for depth in 0.. {
            let level = self.next.take();
            if level.is_empty() {
                break;
            }
            if self.has_enough() {
                return ControlFlow::Break(End::Enough);
            }
            let is_last = self.options.max_depth == Some(depth);
            let before = (self.generated, self.events);
            let mut blocks = level.into_iter();
            while let Some(block) = blocks.next() {
                let ahead = blocks.as_slice();
                self.report(depth, first, &block, ahead, team, monitor)?;
                let went = self.block(&block, first, depth, is_last, team);
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

    /// Whether everything was found that was to be found.
    fn has_enough(&self) -> bool {
        let enough = self.options.enough;
        let found = |bit: usize| enough >> bit & 1 == 0 || self.violations[bit].is_some();
        enough != 0 && (0..PROPERTIES).all(found)
    }

    fn start(&mut self) -> ControlFlow<End> {
        for (index, state) in (0..).zip(self.model.init_states()) {
            if !self.model.within_boundary(&state) {
                continue;
            }
            self.generated += 1;
            let fingerprint = self.model.fingerprint(&state);
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
        team: &Team<M>,
        monitor: &mut impl Monitor,
    ) -> ControlFlow<End> {
        let states = block.capacity() + ahead.iter().map(Vec::capacity).sum::<usize>();
        let bytes = self.bytes() + (states * size_of::<M::State>()) as u64 + team.bytes();
        self.peak = self.peak.max(bytes);
        let progress = Progress {
            depth,
            unique: self.unique.into(),
            generated: self.generated,
            queue: (self.unique - first).into(),
            violated: (0..).zip(&self.violations).fold(0, |bits, (bit, seen)| bits | u32::from(seen.is_some()) << bit),
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
        team: &mut Team<M>,
    ) -> ControlFlow<End> {
        let Team { workers, outputs } = team;
        let size = self.grain.chunk;
        let is_shared = workers.len() > 1 && block.len() >= self.grain.shared_from;
        let needed = if is_shared { block.len().div_ceil(size) } else { 1 };
        if outputs.len() < needed {
            outputs.resize_with(needed, Output::default);
        }
        if is_shared {
            self.expand_shared(block, first, workers, outputs);
        }
        for (index, (chunk, first)) in block.chunks(size).zip((first..).step_by(size)).enumerate() {
            let output = &mut outputs[if is_shared { index } else { 0 }];
            if !is_shared {
                workers[0].expand(self.model, &self.table, chunk, first, output);
            }
            if is_last && !output.found.is_empty() {
                return ControlFlow::Break(End::MaxDepth);
            }
            self.commit(chunk, first, depth, output)?;
        }
        ControlFlow::Continue(())
    }

    fn expand_shared(
        &self,
        block: &[M::State],
        first: u32,
        workers: &mut [Worker<M>],
        outputs: &mut [Output<M::State>],
    ) {
        let size = self.grain.chunk;
        let chunks = block.chunks(size).zip((first..).step_by(size));
        let jobs = Mutex::new(chunks.zip(outputs));
        let work = |worker: &mut Worker<M>| {
            loop {
                let job = jobs.lock().unwrap_or_else(PoisonError::into_inner).next();
                let Some(((chunk, first), output)) = job else {
                    return;
                };
                worker.expand(self.model, &self.table, chunk, first, output);
            }
        };
        let work = &work;
        let Some((own, helpers)) = workers.split_first_mut() else {
            return;
        };
        std::thread::scope(|scope| {
            for helper in helpers {
                // If no other thread can be had, this one does it all.
                let spawned = Builder::new().spawn_scoped(scope, move || work(helper));
                if spawned.is_err() {
                    break;
                }
            }
            work(own);
        });
    }

    /// Numbers what is new behind a chunk, in canonical order.
    fn commit(
        &mut self,
        chunk: &[M::State],
        first: u32,
        depth: u32,
        output: &mut Output<M::State>,
    ) -> ControlFlow<End> {
        let mut ahead = 0;
        for (index, (found, state)) in output.found.iter().zip(output.states.drain(..)).enumerate() {
            if index == ahead {
                let group = &output.found[index..output.found.len().min(index + LOOK_UPS)];
                black_box(group.iter().fold(0, |all, f| all ^ self.table.touch(f.fingerprint)));
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
        let mut scratch = M::Scratch::default();
        for (number, state) in (first..=last.parent).zip(chunk) {
            let mut count = |successor: Successor, _: &mut dyn FnMut() -> (M::State, Label)| {
                if number < last.parent || successor.action <= last.action {
                    self.generated += 1;
                    self.events |= successor.events;
                }
            };
            self.model.expand(state, &mut scratch, &mut count);
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
            let (found, bytes) = graph.stuck(self.options.goals, self.grain.sweeps);
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

impl<M: Expand> Team<M>
where
    M::State: Hash,
{
    fn new(options: &Options) -> Self {
        let threads = if cfg!(feature = "threads") { options.threads.get() } else { 1 };
        Self {
            workers: (0..threads.min(MOST_THREADS)).map(|_| Worker::new(options.goals != 0)).collect(),
            outputs: Vec::new(),
        }
    }

    fn bytes(&self) -> u64 {
        self.workers.iter().map(Worker::bytes).sum::<u64>() + self.outputs.iter().map(Output::bytes).sum::<u64>()
    }
}
