//! Sequences that nobody has thought of.

use proptest::prelude::*;
use proptest::test_runner::{FileFailurePersistence, RngSeed, TestCaseError, TestRunner};
use world::Persistence;

use super::compare;
use super::real::Real;
use super::step::{Among, sequences};

/// What becomes of the seed of a case that fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seeds {
    /// It is kept in a file beside this one, and tried first from then on.
    Kept,
    /// Nothing: the case should fail.
    Forgotten,
}

/// Runs the same cases in every run, unless `PROPTEST_RNG_SEED` or `PROPTEST_CASES` asks for others.
pub(crate) fn runner(cases: u32, seeds: Seeds) -> TestRunner {
    let usual = ProptestConfig::default();
    let rng_seed = match usual.rng_seed {
        RngSeed::Random => RngSeed::Fixed(5),
        fixed @ RngSeed::Fixed(_) => fixed,
    };
    let cases = if std::env::var_os("PROPTEST_CASES").is_some() { usual.cases } else { cases };
    let file = (seeds == Seeds::Kept).then_some(FileFailurePersistence::WithSource("seeds"));
    TestRunner::new(ProptestConfig {
        cases,
        rng_seed,
        source_file: Some(file!()),
        failure_persistence: file.map(|file| Box::new(file) as _),
        max_shrink_iters: 300,
        ..usual
    })
}

fn agree(persistence: Persistence, among: Among, cases: u32, most: usize) {
    let real = std::cell::RefCell::new(Real::start(persistence));
    let told = runner(cases, Seeds::Kept).run(&sequences(among, most), |sequence| {
        compare(&mut real.borrow_mut(), persistence, &sequence).map_err(TestCaseError::fail)
    });
    told.unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn commands_and_time() {
    agree(Persistence::Nothing, Among::Commands, 1000, 60);
}

#[test]
fn restarts_without_persistence() {
    agree(Persistence::Nothing, Among::Restarts, 100, 30);
}

#[test]
fn restarts_with_persistence() {
    agree(Persistence::Always, Among::Restarts, 100, 30);
}

#[test]
fn restarts_with_a_disk_that_is_written_from_time_to_time() {
    agree(Persistence::EverySecond, Among::Restarts, 100, 30);
}

#[test]
fn promotions_of_replicas() {
    agree(Persistence::Nothing, Among::Replicas, 60, 40);
}
