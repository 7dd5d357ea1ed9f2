//! The simulated server and a real one are told the same, and must say and hold the same.
//!
//! What is checked is what runs, but for the servers: the checker runs a model of Redis. Here each command goes to both, and
//! after each the answers, the entries, the counters and what was published are compared. So are the words in which the
//! commands of a core go over the wire, which the checker does not run either.

mod account;
mod acknowledged;
mod boundary;
mod by_hand;
mod cluster;
mod files;
mod mutants;
mod random;
mod real;
mod seen;
mod simulated;
mod step;

use world::Persistence;

use real::Real;
use seen::{Said, Seen};
use simulated::Simulated;
use step::{Sequence, Step};

/// Where a simulated server does not do what a real one was seen to do, told as a story. None: nowhere.
fn divergence(
    sequence: &Sequence,
    persistence: Persistence,
    real: &[Seen],
    step: impl Fn(&mut Simulated, &Step) -> Option<Said>,
) -> Option<String> {
    let mut simulated = Simulated::new(sequence.dialect, persistence);
    for (index, (taken, real)) in sequence.steps.iter().zip(real).enumerate() {
        let said = step(&mut simulated, taken);
        let seen = simulated.seen(said);
        if seen != *real {
            let steps = sequence.steps[..=index].iter().map(|step| format!("\n  {step:?}")).collect::<String>();
            return Some(format!("{:?}:{steps}\nsimulated: {seen:#?}\nreal: {real:#?}", sequence.dialect));
        }
    }
    None
}

/// Asks both for the steps of a sequence.
fn compare(real: &mut Real, persistence: Persistence, sequence: &Sequence) -> Result<(), String> {
    let recorded = real.record(sequence);
    divergence(sequence, persistence, &recorded, Simulated::step).map_or(Ok(()), Err)
}
