//! The explorer on a space large enough for threads to meet in it, against stateright's own search.

use std::hash::{Hash, Hasher};
use std::num::NonZeroUsize;

use check::explore::{End, Expand, Exploration, Label, Options, StateId, Unwatched, explore, states_along};
use stateright::{Checker, Model, Property};

/// Counters side by side: each may advance unless it is too far ahead of the next, or fall back by two.
#[derive(Clone)]
struct Counters {
    number: u16,
    base: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Packed(u64);

impl Hash for Packed {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        hasher.write_u64(self.0);
    }
}

impl Packed {
    const fn get(&self, counter: u16) -> u64 {
        self.0 >> (8 * counter) & 0xff
    }

    fn sum(&self) -> u64 {
        self.0.to_le_bytes().into_iter().map(u64::from).sum()
    }
}

const UNEVEN: fn(&Counters, &Packed) -> bool = |counters, state| state.sum() != counters.base * 2;
const UNDER: fn(&Counters, &Packed) -> bool = |counters, state| state.get(0) < counters.base - 1;

impl Model for Counters {
    type State = Packed;
    type Action = u16;

    fn init_states(&self) -> Vec<Packed> {
        vec![Packed(0), Packed(1), Packed(0x0202)]
    }

    fn actions(&self, _: &Packed, actions: &mut Vec<u16>) {
        actions.extend(0..self.number * 2);
    }

    fn next_state(&self, state: &Packed, action: u16) -> Option<Packed> {
        let counter = action / 2;
        let (mine, next) = (state.get(counter), state.get((counter + 1) % self.number));
        let moved = if action.is_multiple_of(2) {
            (mine + 1 < self.base && mine <= next + 3).then(|| mine + 1)?
        } else {
            (mine >= 2 && next > 0).then(|| mine - 2)?
        };
        Some(Packed(state.0 & !(0xff << (8 * counter)) | moved << (8 * counter)))
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("uneven", UNEVEN),
            Property::always("under", UNDER),
            // stateright stops when every property has its discovery.
            Property::always("true", |_, _| true),
        ]
    }
}

impl Expand for Counters {
    type Scratch = ();

    fn label(&self, state: &Packed) -> Label {
        Label {
            violated: u32::from(!UNEVEN(self, state)) | u32::from(!UNDER(self, state)) << 1,
            goals: u8::from(state.0 == 0) | u8::from(state.get(0) == self.base - 1) << 1,
        }
    }
}

const COUNTERS: Counters = Counters { number: 5, base: 9 };

fn run(threads: usize, options: &Options) -> Exploration {
    let options = Options { threads: NonZeroUsize::new(threads).expect("a thread"), ..options.clone() };
    explore(&COUNTERS, &options, &mut Unwatched)
}

/// Everything that a run may say, in one comparable value.
fn everything(exploration: &Exploration) -> String {
    let paths = |ids: &[Option<StateId>]| {
        let found = ids.iter().flatten().map(|&id| exploration.path(id));
        found.collect::<Vec<_>>()
    };
    format!(
        "{} {} {} {:?} {:?} {:?} {:?}",
        exploration.unique,
        exploration.generated,
        exploration.depth,
        exploration.end,
        paths(&exploration.violations),
        paths(&exploration.stuck),
        exploration.every_violation().collect::<Vec<_>>(),
    )
}

#[test]
fn threads_never_change_the_result() {
    let all = Options { every_violation: true, ..Options::default() };
    let cases = [
        all.clone(),
        Options { goals: 0b11, ..all.clone() },
        Options { max_states: Some(31_234), ..all.clone() },
        Options { max_depth: Some(17), ..all },
    ];
    for options in cases {
        let one = everything(&run(1, &options));
        for threads in [2, 3, 8] {
            assert_eq!(everything(&run(threads, &options)), one, "{options:?}");
        }
    }
}

#[test]
fn stateright_counts_and_judges_alike() {
    let ours = run(2, &Options::default());
    let theirs = COUNTERS.checker().spawn_bfs().join();
    assert_eq!(ours.end, End::Exhausted);
    assert_eq!(ours.unique, theirs.unique_state_count() as u64);
    assert_eq!(ours.generated, theirs.state_count() as u64);
    for (property, name) in ["uneven", "under"].into_iter().enumerate() {
        assert!(ours.violations[property].is_some(), "{name}");
        assert!(theirs.discovery(name).is_some(), "{name}");
    }
}

#[test]
fn a_counterexample_leads_where_it_says() {
    let exploration = run(2, &Options::default());
    let path = exploration.path(exploration.violations[1].unwrap());
    let walk = states_along(&COUNTERS, &path).unwrap();
    let Some((_, state)) = walk.steps.last() else {
        panic!("no initial state violates anything");
    };
    assert!(!UNDER(&COUNTERS, state));
    // None before the last does.
    let before = &walk.steps[..walk.steps.len() - 1];
    assert!(before.iter().all(|(_, state)| UNDER(&COUNTERS, state)));
}

#[test]
fn exactly_the_size_of_the_space_is_no_limit() {
    let all = run(1, &Options::default());
    let limited = |most| run(2, &Options { max_states: Some(most), ..Options::default() });
    assert_eq!(everything(&limited(all.unique)), everything(&all));
    assert_eq!(limited(all.unique - 1).end, End::MaxStates);
}
