//! The small Redlock written down once more, field by field as its documentation says it, and without a bit of packing.

use std::collections::{BTreeSet, VecDeque};

use benches::small::Small;
use check::explore::{Exploration, Options, Unwatched, explore};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    Idle,
    Asking,
    Holding,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Link {
    Quiet,
    Ask,
    Yes,
    No,
    Granted,
    Denied,
    Free,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Plain {
    phase: Vec<Phase>,
    left: Vec<u64>,
    link: Vec<Vec<Link>>,
    owner: Vec<Option<usize>>,
    life: Vec<u64>,
    restarts: u64,
}

impl Plain {
    fn new(clients: usize, nodes: usize, restarts: u64) -> Self {
        Self {
            phase: vec![Phase::Idle; clients],
            left: vec![0; clients],
            link: vec![vec![Link::Quiet; nodes]; clients],
            owner: vec![None; nodes],
            life: vec![0; nodes],
            restarts,
        }
    }

    fn successors(&self, ttl: u64) -> Vec<Self> {
        let mut all = Vec::new();
        let mut step = |change: &dyn Fn(&mut Self)| {
            let mut next = self.clone();
            change(&mut next);
            all.push(next);
        };
        let (clients, nodes) = (0..self.phase.len(), 0..self.owner.len());
        for c in clients.clone() {
            if self.phase[c] == Phase::Idle && self.link[c].iter().all(|link| *link == Link::Quiet) {
                step(&|next| {
                    next.phase[c] = Phase::Asking;
                    next.left[c] = ttl;
                    next.link[c].fill(Link::Ask);
                });
            }
            for n in nodes.clone() {
                match self.link[c][n] {
                    Link::Ask | Link::Free => step(&|next| next.serve(c, n, ttl)),
                    Link::Yes | Link::No => step(&|next| next.hear(c, n)),
                    Link::Quiet | Link::Granted | Link::Denied => {}
                }
            }
            if self.phase[c] == Phase::Holding {
                step(&|next| next.leave(c));
            }
        }
        if self.left.iter().chain(&self.life).any(|ticks| *ticks > 0) {
            step(&|next| {
                next.left.iter_mut().chain(&mut next.life).for_each(|ticks| *ticks = ticks.saturating_sub(1));
                nodes.clone().filter(|n| self.life[*n] == 1).for_each(|n| next.owner[n] = None);
            });
        }
        for n in nodes.filter(|n| self.restarts > 0 && self.owner[*n].is_some()) {
            step(&|next| {
                next.restarts -= 1;
                (next.owner[n], next.life[n]) = (None, 0);
            });
        }
        all
    }

    fn serve(&mut self, c: usize, n: usize, ttl: u64) {
        if self.link[c][n] == Link::Free {
            if self.owner[n] == Some(c) {
                (self.owner[n], self.life[n]) = (None, 0);
            }
            self.link[c][n] = Link::Quiet;
        } else if self.owner[n].is_none() {
            (self.owner[n], self.life[n]) = (Some(c), ttl);
            self.link[c][n] = Link::Yes;
        } else {
            self.link[c][n] = Link::No;
        }
    }

    fn hear(&mut self, c: usize, n: usize) {
        self.link[c][n] = if self.link[c][n] == Link::Yes { Link::Granted } else { Link::Denied };
        if self.link[c].iter().any(|link| matches!(link, Link::Ask | Link::Yes | Link::No)) {
            return;
        }
        let granted = self.link[c].iter().filter(|link| **link == Link::Granted).count();
        if granted > self.owner.len() / 2 && self.left[c] > 0 {
            self.phase[c] = Phase::Holding;
        } else {
            self.leave(c);
        }
    }

    fn leave(&mut self, c: usize) {
        self.phase[c] = Phase::Idle;
        self.left[c] = 0;
        self.link[c].fill(Link::Free);
    }

    fn is_exclusive(&self) -> bool {
        (0..self.phase.len()).filter(|c| self.phase[*c] == Phase::Holding && self.left[*c] > 0).count() <= 1
    }
}

/// States, successors, depth, and whether two clients ever hold.
fn search(clients: usize, nodes: usize, ttl: u64, restarts: u64) -> (u64, u64, u32, bool) {
    let first = Plain::new(clients, nodes, restarts);
    let (mut known, mut queue) = (BTreeSet::from([first.clone()]), VecDeque::from([(first, 0)]));
    let (mut generated, mut depth, mut breaks) = (1, 0, false);
    while let Some((state, at)) = queue.pop_front() {
        depth = at;
        breaks |= !state.is_exclusive();
        for next in state.successors(ttl) {
            generated += 1;
            if known.insert(next.clone()) {
                queue.push_back((next, at + 1));
            }
        }
    }
    (known.len() as u64, generated, depth, breaks)
}

fn packed(clients: u32, nodes: u32, ttl: u64, restarts: u64) -> (u64, u64, u32, bool) {
    let found = explore(&Small::new(clients, nodes, ttl, restarts), &Options::default(), &mut Unwatched);
    let Exploration { unique, generated, depth, violations, .. } = found;
    (unique, generated, depth, violations[0].is_some())
}

#[test]
fn the_packed_model_does_what_its_documentation_says() {
    for (clients, nodes, ttl, restarts) in [(1, 3, 3, 2), (2, 2, 3, 0), (2, 2, 2, 1), (3, 1, 3, 1), (2, 1, 3, 3)] {
        let plain = search(clients, nodes, ttl, restarts);
        assert_eq!(packed(clients as u32, nodes as u32, ttl, restarts), plain, "{clients} {nodes} {ttl} {restarts}");
    }
}

#[test]
fn a_restart_breaks_it_and_nothing_else_does() {
    assert!(!packed(2, 3, 1, 0).3);
    assert!(packed(2, 3, 1, 1).3);
    assert!(search(2, 1, 2, 1).3, "the plain one as well");
}
