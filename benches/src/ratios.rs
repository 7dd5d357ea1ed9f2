//! What is compared, how often, and what it should come to.

use std::io;
use std::num::NonZeroUsize;

use crate::case::{Engine, Space, World};
use crate::compare::Comparison;
use crate::lease::Size;

/// The comparisons of one kind.
#[derive(Clone, Debug)]
pub struct Group {
    /// What they compare.
    pub title: &'static str,
    /// How many times as much CPU time stateright 0.31 should take, at least.
    pub least_cpu: f64,
    /// How many times as much memory.
    pub least_memory: f64,
    /// Each space.
    pub comparisons: Vec<Comparison>,
}

/// The rows of the sheet `redlock` that are compared with stateright.
const ROWS: [&str; 6] =
    ["no fault", "one pause", "one lost reply", "one crash", "one restart", "5 nodes, TTL 2, work 0"];
/// The rows on which a second thread is tried.
const SHARED_ROWS: [&str; 3] = ["one pause", "one restart", "one delayed message"];
/// The faults that make a space of Redlock larger than ten million states.
const MANY_FAULTS: &str = "drop-request=2,drop-reply=3";

/// Compares with stateright.
///
/// # Errors
///
/// If a measurement fails, or the engines do not agree on how large a space is.
pub fn against_stateright() -> io::Result<Vec<Group>> {
    let both = [Engine::LEVELS, Engine::Stateright];
    let all = [Engine::LEVELS, Engine::Stateright, Engine::Stateright030];
    let three = [Engine::LEVELS, Engine::Stateright, Engine::GRAPH];
    let small = Comparison::run("small Redlock", &Space::SMALL, &all, 5)?;
    let rows = ROWS.iter().map(|row| Comparison::run(row, &Space::World(World::redlock(row)), &three, 3));
    let rows = rows.collect::<io::Result<_>>()?;
    let lease = Comparison::run("plain lease", &Space::Lease(Size::MEASURED), &both, 5)?;
    Ok(vec![
        Group { title: "The search alone", least_cpu: 6.0, least_memory: 3.0, comparisons: vec![small] },
        Group { title: "Redlock, the same model", least_cpu: 4.0, least_memory: 3.0, comparisons: rows },
        Group { title: "World against actors", least_cpu: 12.0, least_memory: 6.0, comparisons: vec![lease] },
    ])
}

/// One thread and two.
///
/// # Errors
///
/// If a measurement fails, or two threads do not find what one does.
pub fn threads() -> io::Result<Vec<Comparison>> {
    let two = const { NonZeroUsize::new(2).unwrap() };
    let engines = [Engine::GRAPH, Engine::Graph(two)];
    let rows = SHARED_ROWS.iter().map(|row| Comparison::run(row, &Space::World(World::redlock(row)), &engines, 3));
    let mut all = rows.collect::<io::Result<Vec<_>>>()?;
    let large = World { id: "redlock".to_owned(), faults: Some(MANY_FAULTS.to_owned()), ..World::default() };
    all.push(Comparison::run(MANY_FAULTS, &Space::World(large), &engines, 1)?);
    Ok(all)
}
