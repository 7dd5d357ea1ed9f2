//! What a search spends its time on, piece by piece.

use std::hint::black_box;

use benches::case::World as Case;
use check::explore::{Expand, Label, Options, Sink, Successor, Unwatched, explore, fingerprint};
use check::{LockModel, Scratch};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use stateright::Model;
use world::{Packed, World};

/// How many states of Redlock each piece is done to.
const STATES: usize = 1000;

/// The first states of Redlock, in the order of the search, without the very first: there is little in those.
fn some_states(model: &LockModel) -> Vec<Packed> {
    let mut states = model.init_states();
    let mut scratch = Scratch::default();
    let mut next = 0;
    while states.len() < 4 * STATES {
        let state = states[next].clone();
        let mut keep = |_: Successor, build: &mut dyn FnMut() -> (Packed, Label)| states.push(build().0);
        model.expand(&state, &mut scratch, &mut keep);
        next += 1;
    }
    states.split_off(3 * STATES)
}

fn pieces(c: &mut Criterion) {
    let setup = Case::redlock("one pause").setup().expect("it is in the catalogue");
    let model = LockModel::new(setup.clone());
    let states = some_states(&model);
    let mut world = World::new(&setup);
    let mut worlds: Vec<_> = states
        .iter()
        .map(|state| {
            world.unpack(&setup, state);
            world.clone()
        })
        .collect();

    let mut group = c.benchmark_group("a thousand states of Redlock");
    group.throughput(Throughput::Elements(states.len() as u64));
    group.bench_function("fingerprint", |b| {
        b.iter(|| states.iter().fold(0, |all, state| all ^ model.fingerprint(black_box(state)).get()));
    });
    group.bench_function("unpack", |b| {
        b.iter(|| states.iter().for_each(|state| world.unpack(&setup, black_box(state))));
    });
    group.bench_function("clone", |b| b.iter(|| worlds.iter().for_each(|world| drop(black_box(world.clone())))));
    group.bench_function("canonicalise", |b| b.iter(|| worlds.iter_mut().for_each(|world| world.canonicalise(&setup))));
    group.bench_function("pack", |b| {
        b.iter(|| worlds.iter_mut().for_each(|world| drop(black_box(world.pack(&setup)))));
    });
    group.bench_function("label", |b| {
        b.iter(|| states.iter().fold(0, |all, state| all ^ black_box(model.label(state)).violated));
    });
    group.bench_function("expand", |b| {
        let mut scratch = Scratch::default();
        let mut forget = |_: Successor, build: &mut dyn FnMut() -> (Packed, Label)| drop(black_box(build()));
        b.iter(|| states.iter().for_each(|state| model.expand(state, &mut scratch, &mut forget)));
    });
    group.finish();
}

/// States that are numbers, each with two successors: there is nothing to a step, so what is left is the table, the
/// parents and the frontier.
struct Numbers(u64);

impl Model for Numbers {
    type State = u64;
    type Action = u64;

    fn init_states(&self) -> Vec<u64> {
        vec![0]
    }

    fn actions(&self, _: &u64, actions: &mut Vec<u64>) {
        actions.extend([1, 2]);
    }

    fn next_state(&self, state: &u64, add: u64) -> Option<u64> {
        Some((2 * state + add) % self.0)
    }
}

impl Expand for Numbers {
    type Scratch = ();

    fn expand(&self, state: &u64, (): &mut (), sink: &mut impl Sink<u64>) {
        for action in 0..2 {
            let state = (2 * state + 1 + u64::from(action)) % self.0;
            let fingerprint = fingerprint(&state);
            sink(Successor { action, fingerprint, free: true, events: 0 }, &mut || (state, Label::default()));
        }
    }

    fn label(&self, _: &u64) -> Label {
        Label::default()
    }
}

fn table(c: &mut Criterion) {
    let mut group = c.benchmark_group("table");
    for states in [10_000, 1_000_000] {
        group.sample_size(10).throughput(Throughput::Elements(states));
        group.bench_function(format!("{states} states"), |b| {
            b.iter(|| {
                let found = explore(&Numbers(states), &Options::default(), &mut Unwatched);
                assert_eq!(found.unique, states);
            });
        });
    }
    group.finish();
}

criterion_group!(benches, pieces, table);
criterion_main!(benches);
