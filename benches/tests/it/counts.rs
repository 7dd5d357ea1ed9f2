//! Every engine finds the same states, the same successors and the same depth.

use std::num::NonZeroUsize;

use benches::case::{Counts, Engine, Space, World, prepare};
use benches::lease::Size;

const TWO: NonZeroUsize = NonZeroUsize::new(2).unwrap();

fn counts(space: &Space, engine: Engine) -> Counts {
    let search = prepare(space, engine).unwrap_or_else(|error| panic!("{engine} on {space}: {error}"));
    search()
}

fn all_agree(space: &Space, engines: &[Engine], expected: Counts) {
    for engine in engines {
        assert_eq!(counts(space, *engine), expected, "{engine} on {space}");
    }
}

const SMALL_ENGINES: [Engine; 4] = [Engine::LEVELS, Engine::Levels(TWO), Engine::Stateright, Engine::Stateright030];
const WORLD_ENGINES: [Engine; 4] = [Engine::LEVELS, Engine::GRAPH, Engine::Graph(TWO), Engine::Stateright];

#[test]
fn of_the_tiny_small_redlock() {
    all_agree(&Space::TINY, &SMALL_ENGINES, Counts { unique: 98_018, generated: 459_078, depth: 27 });
}

#[test]
fn of_the_tiny_lease_as_world_and_as_actors() {
    let space = Space::Lease(Size::TINY);
    all_agree(&space, &WORLD_ENGINES, Counts { unique: 11_257, generated: 23_635, depth: 50 });
}

#[test]
#[ignore = "millions of states: the test script runs it in release mode"]
fn of_the_small_redlock_that_is_measured() {
    all_agree(&Space::SMALL, &SMALL_ENGINES, Counts { unique: 1_467_614, generated: 6_945_238, depth: 30 });
}

#[test]
#[ignore = "hundreds of thousands of states: the test script runs it in release mode"]
fn of_the_lease_that_is_measured() {
    let space = Space::Lease(Size::MEASURED);
    all_agree(&space, &WORLD_ENGINES, Counts { unique: 598_888, generated: 1_476_496, depth: 86 });
}

#[test]
#[ignore = "hundreds of thousands of states: the test script runs it in release mode"]
fn of_redlock_itself() {
    let space = Space::World(World::redlock("no fault"));
    all_agree(&space, &WORLD_ENGINES, Counts { unique: 127_110, generated: 300_997, depth: 55 });
}

#[test]
fn what_an_engine_cannot_search_is_refused() {
    let error = prepare(&Space::Lease(Size::TINY), Engine::Stateright030).err().unwrap();
    assert_eq!(error.to_string(), "stateright-0.30 has only the small model");
    let error = prepare(&Space::World(World::redlock("no such row")), Engine::LEVELS).err().unwrap();
    assert_eq!(error.to_string(), "redlock has no row \"no such row\"");
}
