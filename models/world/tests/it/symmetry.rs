//! Processes that can trade places: every step commutes with the exchange.

use proptest::prelude::*;
use world::{Action, Fault, Packed, Permutation, Setup, Symmetry, Witnesses, World};

use crate::laws::{actions, bytes, canonical, packed, thorough, walk};

fn exchanged(world: &World, setup: &Setup, exchange: &Permutation) -> World {
    let mut world = world.clone();
    world.permute(setup, exchange);
    world
}

fn represented(world: &World, setup: &Setup, symmetry: &Symmetry) -> World {
    let mut world = world.clone();
    world.represent(setup, symmetry);
    world
}

/// Everything that a property asks, without names of processes.
fn asked(world: &World, setup: &Setup) -> impl PartialEq + std::fmt::Debug + use<> {
    let rivals = world.rivals(setup).is_some();
    (rivals, world.stray(setup).is_some(), world.is_free(setup), world.is_finished(setup), world.flags)
}

/// Where every step leads, what it witnesses and what fault it is; each world in the places that `exchange` gives.
fn steps(world: &World, setup: &Setup, exchange: Option<&Permutation>) -> Vec<(Packed, u64, Option<Fault>)> {
    let step = |action: Action| {
        let (mut next, mut seen) = (world.clone(), Witnesses::default());
        next.apply(setup, action, &mut seen);
        next.canonicalise(setup);
        if let Some(exchange) = exchange {
            next.permute(setup, exchange);
        }
        (next.pack(setup), seen.0, action.fault())
    };
    let mut steps: Vec<_> = actions(world, setup).into_iter().map(step).collect();
    steps.sort();
    steps
}

fn check(setup: &Setup, world: &World, symmetry: &Symmetry) -> Result<(), TestCaseError> {
    let representative = represented(world, setup, symmetry);
    let state = packed(&representative, setup);
    prop_assert_eq!(&packed(&represented(&representative, setup, symmetry), setup), &state);
    prop_assert_eq!(&packed(&canonical(&representative, setup), setup), &state);
    for exchange in symmetry.exchanges() {
        let other = exchanged(world, setup, &exchange);
        prop_assert_eq!(packed(&canonical(&other, setup), setup), packed(&other, setup), "{:?}", exchange);
        prop_assert_eq!(packed(&exchanged(&other, setup, &exchange), setup), packed(world, setup));
        prop_assert_eq!(asked(&other, setup), asked(world, setup));
        prop_assert_eq!(steps(&other, setup, None), steps(world, setup, Some(&exchange)), "{:?}", exchange);
        prop_assert_eq!(&packed(&represented(&other, setup, symmetry), setup), &state, "{:?}", exchange);
    }
    Ok(())
}

proptest! {
    #![proptest_config(thorough())]

    /// Whatever can happen in a world can happen in the one with exchanged places, with the same faults, witnesses and
    /// violations, and both have the same representative.
    #[test]
    fn every_step_commutes_with_every_exchange(bytes in bytes()) {
        walk(&bytes, |setup, _, _, next| check(setup, next, &Symmetry::of(setup)))?;
    }
}

/// Without this the law would say little.
#[test]
fn processes_that_differ_keep_their_places() {
    let symmetry = |lines: &[&str]| {
        let symmetry = Symmetry::of(&crate::knobs::setup(lines.iter().copied()));
        (symmetry.clients(), symmetry.nodes(), symmetry.is_trivial())
    };
    assert_eq!(symmetry(&["clients 3"]), (3, 1, false));
    assert_eq!(symmetry(&["clients 2", "nodes 3"]), (2, 1, false));
    assert_eq!(symmetry(&["clients 2", "nodes 3", "visit all-at-once"]), (2, 3, false));
    assert_eq!(symmetry(&["clients 2", "offset 1"]), (1, 1, true));
}
