//! Several engines on one space, turn by turn, and the ratios between them.

use std::io;

use crate::case::{Counts, Engine, Space};
use crate::child::{Measured, measure};

/// The runs of one engine on one space.
#[derive(Clone, Debug)]
pub struct Runs {
    /// Who searched.
    pub engine: Engine,
    /// What each run took, in the order in which they were made.
    pub runs: Vec<Measured>,
}

/// The runs of several engines on one space: the first of each, then the second of each, and so on, so that whatever
/// else happens on the machine meets all of them alike.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// How it is called.
    pub title: String,
    /// How large the space is, as all engines agree.
    pub counts: Counts,
    /// The engines, ours first.
    pub engines: Vec<Runs>,
}

/// A middle value, and how far the others are from it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The median.
    pub median: f64,
    /// The least.
    pub least: f64,
    /// The greatest.
    pub greatest: f64,
}

impl Spread {
    /// The spread of some numbers, of which there is at least one.
    #[must_use]
    pub fn of(mut numbers: Vec<f64>) -> Self {
        numbers.sort_by(f64::total_cmp);
        let middle = numbers.len() / 2;
        let median = match numbers.len() % 2 {
            0 => f64::midpoint(numbers[middle - 1], numbers[middle]),
            _ => numbers[middle],
        };
        Self { median, least: numbers[0], greatest: numbers[numbers.len() - 1] }
    }
}

impl Runs {
    /// The spread of what each run took.
    #[must_use]
    pub fn spread(&self, of: impl Fn(&Measured) -> f64) -> Spread {
        Spread::of(self.runs.iter().map(of).collect())
    }
}

impl Comparison {
    /// Measures each engine so many times. The counts come first: if they differ, there is nothing to compare.
    ///
    /// # Errors
    ///
    /// If a run fails, or two of them do not agree on how large the space is.
    pub fn run(title: &str, space: &Space, engines: &[Engine], times: usize) -> io::Result<Self> {
        let mut runs: Vec<_> = engines.iter().map(|engine| Runs { engine: *engine, runs: Vec::new() }).collect();
        let mut counts = None;
        for _ in 0..times {
            for Runs { engine, runs } in &mut runs {
                let measured = measure(space, *engine)?;
                eprintln!("  {space}, {engine}: {:.2} s CPU, {} MiB", measured.cpu, measured.bytes >> 20);
                let expected = *counts.get_or_insert(measured.counts);
                if measured.counts != expected {
                    let found = measured.counts;
                    return Err(io::Error::other(format!("{engine} on {space}: {found:?} instead of {expected:?}")));
                }
                runs.push(measured);
            }
        }
        let counts = counts.ok_or_else(|| io::Error::other("nothing was measured"))?;
        Ok(Self { title: title.to_owned(), counts, engines: runs })
    }

    /// How many times as much the engine at this place took as the first, round by round.
    #[must_use]
    pub fn ratio(&self, engine: usize, of: impl Fn(&Measured) -> f64) -> Spread {
        let pairs = self.engines[engine].runs.iter().zip(&self.engines[0].runs);
        Spread::of(pairs.map(|(other, ours)| of(other) / of(ours)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_in_the_middle() {
        assert_eq!(Spread::of(vec![3.0, 1.0, 2.0]), Spread { median: 2.0, least: 1.0, greatest: 3.0 });
        assert_eq!(Spread::of(vec![4.0, 1.0]), Spread { median: 2.5, least: 1.0, greatest: 4.0 });
    }

    #[test]
    fn ratios_are_of_the_same_round() {
        let counts = Counts { unique: 1, generated: 1, depth: 0 };
        let run = |cpu| Measured { counts, cpu, wall: cpu, bytes: 1 };
        let runs = |engine, cpu: [f64; 3]| Runs { engine, runs: cpu.map(run).to_vec() };
        let engines = vec![runs(Engine::LEVELS, [1.0, 2.0, 4.0]), runs(Engine::Stateright, [6.0, 10.0, 24.0])];
        let comparison = Comparison { title: String::new(), counts, engines };
        assert_eq!(comparison.ratio(1, |m| m.cpu), Spread { median: 6.0, least: 5.0, greatest: 6.0 });
    }
}
