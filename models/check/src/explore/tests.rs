//! Graphs small enough to see what must come out. `random` compares many more with a naive oracle.

mod random;

use std::num::NonZeroUsize;
use std::ops::ControlFlow;

use stateright::{Model, Property};

use super::search::{self, Grain};
use super::*;

/// A graph whose states are the indices of its nodes and whose actions are the indices of a node's edges.
#[derive(Clone, Debug, Default)]
struct Graph {
    starts: Vec<u8>,
    nodes: Vec<Node>,
}

#[derive(Clone, Debug, Default)]
struct Node {
    edges: Vec<Edge>,
    label: Label,
}

#[derive(Clone, Debug)]
struct Edge {
    /// An action without a target is disabled.
    to: Option<u8>,
    free: bool,
    events: u64,
}

impl Graph {
    fn new<const N: usize>(starts: &[u8], edges: [&[u8]; N]) -> Self {
        let nodes = edges
            .map(|targets| Node { edges: targets.iter().map(|&to| Edge::to(to)).collect(), label: Label::default() });
        Self { starts: starts.to_vec(), nodes: nodes.to_vec() }
    }

    fn violated(mut self, node: usize, property: u32) -> Self {
        self.nodes[node].label.violated |= 1 << property;
        self
    }

    fn goal(mut self, node: usize) -> Self {
        self.nodes[node].label.goals = 1;
        self
    }

    fn explore(&self, options: &Options) -> Exploration {
        explore(self, options, &mut Unwatched)
    }

    fn stuck(&self) -> Option<Path> {
        let exploration = self.explore(&Options { goals: 1, ..Options::default() });
        assert_eq!(exploration.end, End::Exhausted);
        exploration.stuck[0].map(|id| exploration.path(id))
    }
}

impl Edge {
    fn to(to: u8) -> Self {
        Self { to: Some(to), free: true, events: 0 }
    }
}

impl Model for Graph {
    type State = u8;
    type Action = usize;

    fn init_states(&self) -> Vec<u8> {
        self.starts.clone()
    }

    fn actions(&self, &state: &u8, actions: &mut Vec<usize>) {
        actions.extend(0..self.nodes[usize::from(state)].edges.len());
    }

    fn next_state(&self, &state: &u8, action: usize) -> Option<u8> {
        self.nodes[usize::from(state)].edges[action].to
    }

    fn properties(&self) -> Vec<Property<Self>> {
        fn holds<const PROPERTY: u32>(graph: &Graph, &state: &u8) -> bool {
            graph.nodes[usize::from(state)].label.violated & (1 << PROPERTY) == 0
        }
        vec![
            Property::always("0", holds::<0>),
            Property::always("1", holds::<1>),
            Property::always("2", holds::<2>),
            // stateright stops as soon as every property has its discovery.
            Property::always("true", |_, _| true),
        ]
    }
}

impl Expand for Graph {
    type Scratch = ();

    fn expand(&self, &state: &u8, (): &mut (), sink: &mut impl Sink<u8>) {
        for (action, edge) in (0..).zip(&self.nodes[usize::from(state)].edges) {
            if let Some(state) = edge.to {
                let fingerprint = fingerprint(&state);
                let successor = Successor { action, fingerprint, free: edge.free, events: edge.events };
                sink(successor, &mut || (state, self.label(&state)));
            }
        }
    }

    fn label(&self, &state: &u8) -> Label {
        self.nodes[usize::from(state)].label
    }
}

fn path(start: usize, actions: &[u16]) -> Path {
    Path { start, actions: actions.to_vec() }
}

fn first(exploration: &Exploration, property: usize) -> Option<Path> {
    exploration.violations[property].map(|id| exploration.path(id))
}

#[test]
fn the_counterexample_is_the_shortest_and_then_the_least() {
    // 5 is two steps away by 1 and by 2, and three steps by 3 and 4.
    let graph = Graph::new(&[0], [&[3, 2, 1], &[5], &[0, 5], &[4], &[5], &[]]).violated(5, 0);
    let exploration = graph.explore(&Options::default());
    assert_eq!(first(&exploration, 0), Some(path(0, &[1, 1])));
    assert_eq!((exploration.unique, exploration.generated, exploration.depth), (6, 9, 2));
}

#[test]
fn another_property_never_changes_a_counterexample() {
    let alone = Graph::new(&[0], [&[1, 2], &[3], &[3, 4], &[], &[0]]).violated(4, 0);
    let both = alone.clone().violated(0, 1).violated(1, 1).violated(2, 1);
    let (alone, both) = (alone.explore(&Options::default()), both.explore(&Options::default()));
    assert_eq!(first(&alone, 0), Some(path(0, &[1, 1])));
    assert_eq!(first(&both, 0), first(&alone, 0));
    assert_eq!(first(&both, 1), Some(path(0, &[])));
    assert_eq!((both.unique, both.generated), (alone.unique, alone.generated));
}

#[test]
fn every_violation_is_kept_only_if_asked_for() {
    let graph = Graph::new(&[0], [&[1, 2], &[], &[]]).violated(1, 2).violated(2, 0).violated(2, 2);
    let options = Options { every_violation: true, ..Options::default() };
    let violations = graph.explore(&options).every_violation().collect::<Vec<_>>();
    assert_eq!(violations, [(StateId(1), 0b100), (StateId(2), 0b101)]);
    assert_eq!(graph.explore(&Options::default()).every_violation().count(), 0);
}

#[test]
fn a_cycle_that_never_reaches_the_goal_is_found() {
    assert_eq!(Graph::new(&[0], [&[1, 2], &[2], &[3], &[2], &[]]).goal(1).stuck(), Some(path(0, &[1])));
    assert_eq!(Graph::new(&[0], [&[1], &[0]]).stuck(), Some(path(0, &[])));
    assert_eq!(Graph::new(&[0], [&[1], &[2], &[0]]).goal(1).stuck(), None);
}

#[test]
fn a_successor_equal_to_its_state_is_one_state_and_no_way_out() {
    let graph = Graph::new(&[0], [&[0, 1], &[1]]).goal(0);
    let exploration = graph.explore(&Options::default());
    assert_eq!((exploration.unique, exploration.generated, exploration.depth), (2, 4, 1));
    assert_eq!(graph.stuck(), Some(path(0, &[1])));
}

#[test]
fn the_order_of_edges_at_a_join_decides_no_verdict() {
    // 3 is reached by 1 and by 2; only from 3 on there is a way to the goal, or none.
    for edges in [[1, 2], [2, 1]] {
        let graph = Graph::new(&[0], [&edges, &[3], &[3], &[4], &[]]);
        assert_eq!(graph.clone().goal(4).stuck(), None);
        assert_eq!(graph.clone().goal(3).stuck(), Some(path(0, &[0, 0, 0])));
    }
}

#[test]
fn a_fault_is_no_way_to_the_goal() {
    let mut graph = Graph::new(&[0], [&[1], &[2], &[]]).goal(2);
    graph.nodes[1].edges[0].free = false;
    assert_eq!(graph.stuck(), Some(path(0, &[])));
    let mut graph = graph.goal(0);
    graph.nodes[1].edges.push(Edge::to(0));
    assert_eq!(graph.stuck(), None);
}

#[test]
fn initial_states_may_be_several_and_the_same() {
    let graph = Graph::new(&[2, 0, 2, 1], [&[2], &[3], &[0], &[]]).violated(3, 0).violated(1, 1);
    let exploration = graph.explore(&Options::default());
    assert_eq!((exploration.unique, exploration.generated, exploration.depth), (4, 7, 1));
    assert_eq!(first(&exploration, 0), Some(path(3, &[0])));
    assert_eq!(first(&exploration, 1), Some(path(3, &[])));
    assert_eq!(graph.goal(3).stuck(), Some(path(0, &[])));
}

#[test]
fn nothing_to_explore() {
    let exploration = Graph::default().explore(&Options { goals: 1, ..Options::default() });
    assert_eq!((exploration.unique, exploration.end), (0, End::Exhausted));
    assert_eq!(exploration.stuck, [None; GOALS]);
}

#[test]
fn exactly_as_many_states_as_allowed_is_exhausted() {
    let graph = Graph::new(&[0], [&[1, 0, 2], &[2, 0], &[1, 3], &[0]]).goal(0);
    let explore = |most| graph.explore(&Options { max_states: Some(most), goals: 1, ..Options::default() });
    let full = explore(4);
    assert_eq!((full.unique, full.generated, full.end), (4, 9, End::Exhausted));
    let cut = explore(3);
    assert_eq!((cut.unique, cut.generated, cut.end), (3, 8, End::MaxStates));
    assert_eq!(explore(1).generated, 2);
    assert_eq!(explore(0).end, End::MaxStates);
}

#[test]
fn the_last_level_decides_whether_the_depth_was_a_limit() {
    let graph = Graph::new(&[0], [&[1], &[2], &[0, 1, 2]]).violated(2, 0);
    let explore = |most| graph.explore(&Options { max_depth: Some(most), ..Options::default() });
    let cut = explore(1);
    assert_eq!((cut.unique, cut.generated, cut.depth, cut.end), (2, 2, 1, End::MaxDepth));
    assert_eq!(first(&cut, 0), None);
    let full = explore(2);
    assert_eq!((full.unique, full.generated, full.depth, full.end), (3, 6, 2, End::Exhausted));
    assert_eq!(first(&full, 0), Some(path(0, &[0, 0])));
    assert_eq!(explore(0).end, End::MaxDepth);
}

#[test]
fn a_limit_that_is_hit_in_the_last_level_leaves_the_goals_open() {
    // 1 is stuck, but as long as there may be more behind 2, nobody knows.
    let graph = Graph::new(&[0], [&[1], &[2], &[3], &[3]]).goal(0);
    let explore = |limits: Options| {
        let exploration = graph.explore(&Options { goals: 1, ..limits });
        (exploration.end, exploration.stuck[0].map(|id| exploration.path(id)))
    };
    let states = |most| explore(Options { max_states: Some(most), ..Options::default() });
    let depth = |most| explore(Options { max_depth: Some(most), ..Options::default() });
    let decided = (End::Exhausted, Some(path(0, &[0])));
    assert_eq!((states(3), states(4)), ((End::MaxStates, None), decided.clone()));
    assert_eq!((depth(2), depth(3)), ((End::MaxDepth, None), decided));
}

#[test]
fn no_level_is_expanded_once_enough_was_found() {
    let graph = Graph::new(&[0], [&[1], &[2], &[3], &[4], &[]]).violated(1, 0).violated(2, 1);
    let explore = |enough| {
        let exploration = graph.explore(&Options { enough, ..Options::default() });
        (exploration.unique, exploration.end, first(&exploration, 0).is_some(), first(&exploration, 1).is_some())
    };
    assert_eq!(explore(0b01), (2, End::Enough, true, false));
    assert_eq!(explore(0b11), (3, End::Enough, true, true));
    assert_eq!(explore(0b111), (5, End::Exhausted, true, true));
    assert_eq!(explore(0), (5, End::Exhausted, true, true));
}

#[test]
fn the_monitor_stops_it_and_what_was_found_counts() {
    let graph = Graph::new(&[0], [&[1], &[2], &[3], &[]]).violated(1, 0).violated(3, 1);
    let mut seen = Vec::new();
    let options = Options { goals: 1, ..Options::default() };
    let exploration = explore(&graph, &options, &mut |p: &Progress| {
        seen.push((p.depth, p.unique, p.generated, p.queue));
        assert!(p.bytes > 0);
        if p.depth == 2 { ControlFlow::Break(Cut::Memory) } else { ControlFlow::Continue(()) }
    });
    assert_eq!(seen, [(0, 1, 1, 1), (1, 2, 2, 1), (2, 3, 3, 1)]);
    assert_eq!(exploration.end, End::Cut(Cut::Memory));
    assert_eq!(first(&exploration, 0), Some(path(0, &[0])));
    assert_eq!(exploration.violations[1], None);
    assert_eq!(exploration.stuck, [None; GOALS]);
}

#[test]
fn states_along_a_path_are_those_of_the_model() {
    let graph = Graph::new(&[1, 0], [&[1, 2], &[], &[3], &[]]);
    let Walk { start, steps } = states_along(&graph, &path(1, &[1, 0])).unwrap();
    let steps = steps.iter().map(|(step, state)| (step.action, *state)).collect::<Vec<_>>();
    assert_eq!((start, steps), (0, vec![(1, 2), (0, 3)]));
    assert!(states_along(&graph, &path(1, &[2])).is_none());
    assert!(states_along(&graph, &path(2, &[])).is_none());
}

#[test]
fn the_chance_of_a_collision_is_the_birthday_bound() {
    let exploration = Graph::new(&[0], [&[1], &[2], &[3], &[]]).explore(&Options::default());
    assert_eq!(exploration.collision_probability(), 16.0 / 2f64.powi(65));
}
