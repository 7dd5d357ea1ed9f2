//! Exit codes, and which of several counts.

use check::Report;
use check::scenario::{Property, Verdict};

/// What a run of the program comes to, the most urgent first: of several, the least counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Exit {
    /// A bug of ours.
    Bug,
    /// Wrong flags.
    Usage,
    /// A file that is bad, or cannot be read or written.
    Input,
    /// Under `--expect`: a violation that is not expected.
    Unexpected,
    /// Under `--expect`: an expected violation is absent.
    Absent,
    /// Of `lab replay` and `lab conform`: the model and the real run part.
    Diverged,
    /// A safety property is violated.
    Violated,
    /// `no-orphan` or `deadlock-free` is violated.
    Deadlock,
    /// A limit was hit.
    Inconclusive,
    /// Of `lab diff`: a verdict differs.
    Different,
    /// Of `lab replay`: all steps were taken, and nothing came of it.
    NotReproduced,
    /// Of `lab replay`: real servers cannot be made to do it.
    NotReplayable,
    /// A witness was never reached.
    Vacuous,
    /// Everything asked for holds.
    Holds,
}

impl Exit {
    /// What the verdicts of a report come to.
    pub(crate) fn of(report: &Report) -> Self {
        Self::of_verdicts(report.properties.iter().map(|p| (p.property, p.verdict)))
    }

    /// What verdicts come to.
    pub(crate) fn of_verdicts(verdicts: impl Iterator<Item = (Property, Verdict)>) -> Self {
        Self::first(verdicts.map(|(property, verdict)| match verdict {
            Verdict::Holds => Self::Holds,
            Verdict::Violated if property.is_about_the_graph() => Self::Deadlock,
            Verdict::Violated => Self::Violated,
            Verdict::Inconclusive => Self::Inconclusive,
            Verdict::Vacuous => Self::Vacuous,
        }))
    }

    /// The most urgent of several.
    pub(crate) fn first(exits: impl IntoIterator<Item = Self>) -> Self {
        exits.into_iter().min().unwrap_or(Self::Holds)
    }

    /// The number that the process ends with.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Bug => 70,
            Self::Usage => 2,
            Self::Input => 1,
            Self::Unexpected => 31,
            Self::Absent => 30,
            Self::Diverged => 40,
            Self::NotReproduced => 41,
            Self::NotReplayable => 42,
            Self::Violated => 12,
            Self::Deadlock => 11,
            Self::Inconclusive => 20,
            Self::Different => 10,
            Self::Vacuous => 21,
            Self::Holds => 0,
        }
    }

    /// The word for it in JSON.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Bug => "bug",
            Self::Usage => "usage",
            Self::Input => "error",
            Self::Unexpected => "unexpected",
            Self::Absent => "absent",
            Self::Diverged => "diverged",
            Self::NotReproduced => "not-reproduced",
            Self::NotReplayable => "not-replayable",
            Self::Violated => "violated",
            Self::Deadlock => "deadlock",
            Self::Inconclusive => "inconclusive",
            Self::Different => "different",
            Self::Vacuous => "vacuous",
            Self::Holds => "holds",
        }
    }

    /// What it means, in a sentence.
    pub(crate) fn says(self) -> &'static str {
        match self {
            Self::Bug => "a bug of the lab",
            Self::Usage => "wrong usage",
            Self::Input => "input, output or a bad file",
            Self::Unexpected => "there is a violation that is not expected",
            Self::Absent => "an expected violation is absent",
            Self::Diverged => "the model and the real run part",
            Self::NotReproduced => "all steps were taken, and nothing came of it",
            Self::NotReplayable => "real servers cannot be made to do it",
            Self::Violated => "a safety property is violated",
            Self::Deadlock => "the lock can stay taken, or a client stuck, for ever",
            Self::Inconclusive => "not everything that was asked for could be decided",
            Self::Different => "a verdict differs",
            Self::Vacuous => "nothing is violated, but a witness was never reached",
            Self::Holds => "everything asked for holds",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Exit;

    #[test]
    fn the_first_that_applies_counts() {
        let order = [70, 2, 1, 31, 30, 40, 12, 11, 20, 10, 41, 42, 21, 0];
        let all = [
            Exit::Holds,
            Exit::Vacuous,
            Exit::Different,
            Exit::Inconclusive,
            Exit::Deadlock,
            Exit::Violated,
            Exit::NotReplayable,
            Exit::NotReproduced,
            Exit::Diverged,
            Exit::Absent,
            Exit::Unexpected,
            Exit::Input,
            Exit::Usage,
            Exit::Bug,
        ];
        let mut sorted = all;
        sorted.sort();
        assert_eq!(sorted.map(Exit::code), order);
        assert_eq!(Exit::first(all), Exit::Bug);
        assert_eq!(Exit::first([]), Exit::Holds);
    }
}
