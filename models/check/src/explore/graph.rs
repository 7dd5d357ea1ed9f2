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
    pub(super) fn stuck(self, asked: u8) -> ([Option<StateId>; GOALS], u64) {
        let forward = self.bytes();
        let (goals, incoming) = self.reverse();
        let mut reached = vec![false; incoming.ends.len()];
        let mut pending = Vec::new();
        let stuck = std::array::from_fn(|goal| {
            if asked & (1 << goal) == 0 {
                return None;
            }
            reached.fill(false);
            for (state, at) in (0u32..).zip(goals.iter()) {
                if at & (1 << goal) != 0 {
                    reached[state as usize] = true;
                    pending.push(state);
                }
            }
            while let Some(state) = pending.pop() {
                for &source in incoming.sources(state) {
                    if !std::mem::replace(&mut reached[source as usize], true) {
                        pending.push(source);
                    }
                }
            }
            (0..)
                .zip(&reached)
                .find(|&(_, &reached)| !reached)
                .map(|(state, _)| StateId(state))
        });
        let searching = reached.capacity() + pending.capacity() * size_of::<u32>();
        (
            stuck,
            incoming.bytes() + goals.bytes() + forward.max(searching as u64),
        )
    }

    fn reverse(self) -> (Blocks<u8>, Incoming) {
        // ends[s] is first where the sources of s begin, and moves to where they end as they are put there.
        let mut ends = vec![0usize; self.goals.iter().count()];
        self.targets
            .iter()
            .for_each(|target| ends[target as usize] += 1);
        let mut total = 0;
        for end in &mut ends {
            total += std::mem::replace(end, total);
        }
        let mut sources = vec![0u32; total];
        let mut targets = self.targets.iter();
        for (source, degree) in (0..).zip(self.degrees.iter()) {
            for target in targets.by_ref().take(degree.into()) {
                let place = &mut ends[target as usize];
                sources[*place] = source;
                *place += 1;
            }
        }
        (self.goals, Incoming { ends, sources })
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

    fn bytes(&self) -> u64 {
        (self.ends.len() * size_of::<usize>() + self.sources.len() * size_of::<u32>()) as u64
    }
}
