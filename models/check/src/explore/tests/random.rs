//! Random graphs against an oracle that enumerates paths, for every way to cut up the work; and against stateright.

use std::collections::{BTreeMap, BTreeSet};

use proptest::collection::vec;
use proptest::option::weighted;
use proptest::prelude::*;
use stateright::Checker;

use super::*;

/// What the definitions say, computed in the most literal way.
struct Oracle<'a> {
    graph: &'a Graph,
    /// Every reachable state with its shortest and then least path, in the order of these.
    order: Vec<(usize, Path, u8)>,
}

impl<'a> Oracle<'a> {
    fn new(graph: &'a Graph) -> Self {
        let mut least: BTreeMap<u8, Path> = BTreeMap::new();
        let mut paths = (0..).zip(&graph.starts).map(|(i, &s)| (path(i, &[]), s)).collect::<Vec<_>>();
        // All paths that are no longer than the graph is big, whether they run in circles or not.
        for _ in 0..graph.nodes.len() {
            let known = least.clone();
            for (path, state) in &paths {
                if known.contains_key(state) {
                    continue;
                }
                let best = least.entry(*state).or_insert_with(|| path.clone());
                *best = best.clone().min(path.clone());
            }
            paths = paths
                .iter()
                .flat_map(|(path, s)| {
                    successors(graph, *s)
                        .map(|(action, _, to)| {
                            let mut longer = path.clone();
                            longer.actions.push(action);
                            (longer, to)
                        })
                        .collect::<Vec<_>>()
                })
                .collect();
        }
        let mut order = least.into_iter().map(|(s, path)| (path.actions.len(), path, s)).collect::<Vec<_>>();
        order.sort();
        Self { graph, order }
    }

    fn first(&self, mut wanted: impl FnMut(u8) -> bool) -> Option<Path> {
        self.order.iter().find(|entry| wanted(entry.2)).map(|entry| entry.1.clone())
    }

    fn violations(&self, states: usize) -> Vec<Option<Path>> {
        let numbered = self.order[..states].iter().map(|entry| entry.2).collect::<BTreeSet<_>>();
        (0..3)
            .map(|property| self.first(|s| numbered.contains(&s) && self.label(s).violated & (1 << property) != 0))
            .collect()
    }

    fn stuck(&self, goal: u32) -> Option<Path> {
        self.first(|state| {
            let mut reached = BTreeSet::from([state]);
            while let Some(next) = reached
                .iter()
                .flat_map(|&s| successors(self.graph, s).collect::<Vec<_>>())
                .find(|(_, edge, to)| edge.free && !reached.contains(to))
            {
                reached.insert(next.2);
            }
            reached.iter().all(|&s| self.label(s).goals & (1 << goal) == 0)
        })
    }

    fn label(&self, state: u8) -> Label {
        self.graph.nodes[usize::from(state)].label
    }

    /// Initial states and successors in canonical order, up to the first that is none of the first `states`; and what
    /// they witness.
    fn generated(&self, states: usize) -> (u64, u64) {
        let numbered = self.order[..states].iter().map(|entry| entry.2).collect::<BTreeSet<_>>();
        let starts = self.graph.starts.iter().map(|&s| (s, 0));
        let steps = self.order.iter().flat_map(|entry| {
            successors(self.graph, entry.2).map(|(_, edge, to)| (to, edge.events)).collect::<Vec<_>>()
        });
        let (mut generated, mut events) = (0, 0);
        for (state, event) in starts.chain(steps) {
            generated += 1;
            events |= event;
            if !numbered.contains(&state) {
                break;
            }
        }
        (generated, events)
    }

    fn depth(&self, states: usize) -> u32 {
        self.order[..states].last().map_or(0, |entry| entry.0 as u32)
    }
}

fn successors(graph: &Graph, state: u8) -> impl Iterator<Item = (u16, &Edge, u8)> {
    let edges = (0..).zip(&graph.nodes[usize::from(state)].edges);
    edges.filter_map(|(action, edge)| edge.to.map(|to| (action, edge, to)))
}

/// Everything that must not depend on how the work is cut up.
#[derive(Debug, PartialEq)]
struct Outcome {
    unique: u64,
    generated: u64,
    depth: u32,
    end: End,
    events: u64,
    violations: Vec<Option<Path>>,
    stuck: Vec<Option<Path>>,
}

impl Outcome {
    fn of(exploration: &Exploration) -> Self {
        let paths = |ids: &[Option<StateId>]| ids.iter().map(|id| id.map(|id| exploration.path(id))).collect();
        Self {
            unique: exploration.unique,
            generated: exploration.generated,
            depth: exploration.depth,
            end: exploration.end,
            events: exploration.events,
            violations: paths(&exploration.violations[..3]),
            stuck: paths(&exploration.stuck[..2]),
        }
    }
}

const GRAINS: [(usize, usize, usize, usize); 5] =
    [(1, 1, 1, 0), (2, 1, 1, 1), (3, 2, 1, 2), (7, 3, 1, 3), (5, 5, 9, 9)];

fn check(graph: &Graph, options: &Options, expected: &Outcome) -> Result<(), TestCaseError> {
    prop_assert_eq!(&Outcome::of(&explore(graph, options, &mut Unwatched)), expected);
    for threads in [1, 2, 3, 8] {
        for (block, chunk, shared_from, sweeps) in GRAINS {
            let grain = Grain { block, chunk, shared_from, sweeps };
            let options = Options { threads: NonZeroUsize::new(threads).unwrap(), ..options.clone() };
            let exploration = search::run(graph, &options, grain, &mut Unwatched);
            prop_assert_eq!(&Outcome::of(&exploration), expected);
        }
    }
    Ok(())
}

fn graphs() -> impl Strategy<Value = Graph> {
    (1..9u8).prop_flat_map(|size| {
        let edge = (weighted(0.9, 0..size), prop::bool::weighted(0.7), 0..6u32).prop_map(|(to, free, event)| Edge {
            to,
            free,
            events: 1 << event >> 1,
        });
        let label = (0..16u32, 0..10u8).prop_map(|(violated, goals)| Label {
            violated: violated.saturating_sub(8),
            goals: goals.saturating_sub(6),
        });
        let node = (vec(edge, 0..4), label).prop_map(|(edges, label)| Node { edges, label });
        (vec(0..size, 0..4), vec(node, usize::from(size))).prop_map(|(starts, nodes)| Graph { starts, nodes })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn the_result_is_what_the_definitions_say(graph in graphs()) {
        let oracle = Oracle::new(&graph);
        let states = oracle.order.len();
        let (generated, events) = oracle.generated(states);
        let expected = Outcome {
            unique: states as u64,
            generated,
            depth: oracle.depth(states),
            end: End::Exhausted,
            events,
            violations: oracle.violations(states),
            stuck: vec![oracle.stuck(0), oracle.stuck(1)],
        };
        let options = Options { goals: 0b11, ..Options::default() };
        check(&graph, &options, &expected)?;
        let expected = Outcome { stuck: vec![None, None], ..expected };
        check(&graph, &Options::default(), &expected)?;
    }

    #[test]
    fn the_limit_of_states_cuts_in_canonical_order(graph in graphs(), most in 0..9usize) {
        let oracle = Oracle::new(&graph);
        let states = oracle.order.len().min(most);
        let is_cut = states < oracle.order.len();
        let (generated, events) = oracle.generated(states);
        let expected = Outcome {
            unique: states as u64,
            generated,
            depth: oracle.depth(states),
            end: if is_cut { End::MaxStates } else { End::Exhausted },
            events,
            violations: oracle.violations(states),
            stuck: vec![if is_cut { None } else { oracle.stuck(0) }, None],
        };
        let options = Options { max_states: Some(most as u64), goals: 1, ..Options::default() };
        check(&graph, &options, &expected)?;
    }

    #[test]
    fn the_limit_of_depth_cuts_between_levels(graph in graphs(), most in 0..6u32) {
        let oracle = Oracle::new(&graph);
        let states = oracle.order.iter().filter(|entry| entry.0 <= most as usize).count();
        let is_cut = states < oracle.order.len();
        let inner = oracle.order.iter().filter(|entry| !is_cut || entry.0 < most as usize);
        let steps = inner.flat_map(|entry| successors(&graph, entry.2)).collect::<Vec<_>>();
        let expected = Outcome {
            unique: states as u64,
            generated: (graph.starts.len() + steps.len()) as u64,
            depth: oracle.depth(states),
            end: if is_cut { End::MaxDepth } else { End::Exhausted },
            events: steps.iter().fold(0, |all, step| all | step.1.events),
            violations: oracle.violations(states),
            stuck: vec![if is_cut { None } else { oracle.stuck(0) }, None],
        };
        let options = Options { max_depth: Some(most), goals: 1, ..Options::default() };
        check(&graph, &options, &expected)?;
    }

    #[test]
    fn every_path_leads_to_its_state(graph in graphs()) {
        let oracle = Oracle::new(&graph);
        let exploration = graph.explore(&Options::default());
        for (number, (_, path, state)) in (0..).zip(&oracle.order) {
            prop_assert_eq!(&exploration.path(StateId(number)), path);
            let Walk { start, steps } = states_along(&graph, path).unwrap();
            prop_assert_eq!(steps.last().map_or(start, |(_, state)| *state), *state);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn stateright_counts_and_judges_alike(graph in graphs()) {
        // stateright expands the same initial state twice.
        let mut graph = graph;
        graph.starts.sort_unstable();
        graph.starts.dedup();
        prop_assume!(!graph.starts.is_empty());
        let ours = graph.explore(&Options::default());
        let default = explore(&ByActions(graph.clone()), &Options::default(), &mut Unwatched);
        prop_assert_eq!(
            Outcome { events: ours.events, ..Outcome::of(&default) },
            Outcome::of(&ours)
        );
        let theirs = graph.checker().spawn_bfs().join();
        prop_assert_eq!(ours.unique, theirs.unique_state_count() as u64);
        prop_assert_eq!(ours.generated, theirs.state_count() as u64);
        for (property, name) in ["0", "1", "2"].into_iter().enumerate() {
            prop_assert_eq!(
                ours.violations[property].is_some(),
                theirs.discovery(name).is_some()
            );
        }
    }
}

/// A graph that has nothing but what stateright asks for.
struct ByActions(Graph);

impl Model for ByActions {
    type State = u8;
    type Action = usize;

    fn init_states(&self) -> Vec<u8> {
        self.0.init_states()
    }

    fn actions(&self, state: &u8, actions: &mut Vec<usize>) {
        self.0.actions(state, actions);
    }

    fn next_state(&self, state: &u8, action: usize) -> Option<u8> {
        self.0.next_state(state, action)
    }
}

impl Expand for ByActions {
    type Scratch = ();

    fn label(&self, state: &u8) -> Label {
        self.0.label(state)
    }
}
