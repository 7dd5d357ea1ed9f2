//! Whether goals stay reachable from everywhere (AG EF), decided on the whole graph of free steps.

use super::blocks::Blocks;
use super::{GOALS, StateId};

/// The free steps between states, by the number of the state where they begin, and the goals reached in each state.
#[derive(Default)]
pub(super) struct Graph {
    goals: Blocks<u8>,
    degrees: Blocks<u16>,
    targets: Blocks<u32>,
}

impl Graph {
    /// Adds the next state in the order of numbers.
    pub(super) fn push_state(&mut self, goals: u8) {
        self.goals.push(goals);
    }

    /// Adds the steps of the next states in the order of numbers: how many each has, and where they lead.
    pub(super) fn push_steps(&mut self, degrees: &[u16], targets: &[u32]) {
        self.degrees.extend(degrees.iter().copied());
        self.targets.extend(targets.iter().copied());
    }

    pub(super) fn bytes(&self) -> u64 {
        self.goals.bytes() + self.degrees.bytes() + self.targets.bytes()
    }

    /// For each goal in `asked`, the first state from which it cannot be reached; and the most bytes occupied meanwhile.
    ///
    /// Goals are handed back over the steps in sweeps, by falling and by rising numbers in turn, until nothing changes:
    /// as many sweeps as a way to a goal has turns in its numbers, and those are few. After `sweeps` of them the reversed
    /// graph of what is left finishes in linear time whatever the graph.
    pub(super) fn stuck(self, asked: u8, sweeps: usize) -> ([Option<StateId>; GOALS], u64) {
        let mut reached = self.goals.iter().map(|goals| goals & asked).collect::<Vec<_>>();
        let mut bytes = self.bytes() + reached.capacity() as u64;
        let is_done = (0..sweeps).any(|sweep| !self.sweep(&mut reached, asked, sweep % 2 == 0));
        if !is_done {
            let incoming = self.reverse(&reached, asked);
            bytes += incoming.bytes();
            incoming.search(&mut reached);
        }
        let stuck = std::array::from_fn(|goal| {
            let bit = asked & (1 << goal);
            let first = reached.iter().position(|reached| bit & !reached != 0)?;
            Some(StateId(first as u32))
        });
        (stuck, bytes)
    }

    /// Hands goals from every state to those before it, once; whether that changed anything.
    fn sweep(&self, reached: &mut [u8], asked: u8, falling: bool) -> bool {
        let mut is_changed = false;
        let mut visit = |state: usize, begin: usize, degree: u16| {
            let before = reached[state];
            if before == asked {
                return;
            }
            let targets = begin..begin + usize::from(degree);
            let all = targets.fold(before, |all, at| all | reached[self.targets.get(at) as usize]);
            reached[state] = all;
            is_changed |= all != before;
        };
        if falling {
            let mut end = self.targets.len();
            for (state, degree) in self.degrees.iter().enumerate().rev() {
                end -= usize::from(degree);
                visit(state, end, degree);
            }
        } else {
            let mut begin = 0;
            for (state, degree) in self.degrees.iter().enumerate() {
                visit(state, begin, degree);
                begin += usize::from(degree);
            }
        }
        is_changed
    }

    /// The steps from states that lack a goal, by where they lead.
    fn reverse(&self, reached: &[u8], asked: u8) -> Incoming {
        // ends[s] is first where the sources of s begin, and moves to where they end as they are put there.
        let mut ends = vec![0usize; reached.len()];
        self.steps_of_lacking(reached, asked, |_, target| ends[target] += 1);
        let mut total = 0;
        for end in &mut ends {
            total += std::mem::replace(end, total);
        }
        let mut sources = vec![0u32; total];
        self.steps_of_lacking(reached, asked, |source, target| {
            sources[ends[target]] = source;
            ends[target] += 1;
        });
        Incoming { ends, sources }
    }

    fn steps_of_lacking(&self, reached: &[u8], asked: u8, mut step: impl FnMut(u32, usize)) {
        let mut begin = 0;
        for ((source, degree), &reached) in (0..).zip(self.degrees.iter()).zip(reached) {
            let end = begin + usize::from(degree);
            if reached != asked {
                (begin..end).for_each(|at| step(source, self.targets.get(at) as usize));
            }
            begin = end;
        }
    }
}

/// Where the steps that lead to each state begin.
struct Incoming {
    ends: Vec<usize>,
    sources: Vec<u32>,
}

impl Incoming {
    fn sources(&self, state: u32) -> &[u32] {
        let state = state as usize;
        let begin = if state == 0 { 0 } else { self.ends[state - 1] };
        &self.sources[begin..self.ends[state]]
    }

    fn search(&self, reached: &mut [u8]) {
        let goals = (0u32..).zip(&*reached).filter(|&(_, &reached)| reached != 0);
        let mut pending = goals.map(|(state, _)| state).collect::<Vec<_>>();
        while let Some(state) = pending.pop() {
            let from_here = reached[state as usize];
            for &source in self.sources(state) {
                let there = &mut reached[source as usize];
                if *there | from_here != *there {
                    *there |= from_here;
                    pending.push(source);
                }
            }
        }
    }

    fn bytes(&self) -> u64 {
        (self.ends.len() * size_of::<usize>() + self.sources.len() * size_of::<u32>()) as u64
    }
}
