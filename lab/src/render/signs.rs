//! The signs of the views, in Unicode and in ASCII.

use check::scenario::Verdict;

use super::page::Paint;

/// What a view draws with.
pub(super) struct Signs {
    pub(super) holds: &'static str,
    pub(super) violated: &'static str,
    pub(super) inconclusive: &'static str,
    pub(super) vacuous: &'static str,
    /// Of a cell whose verdicts are vacuous.
    pub(super) untested: &'static str,
    pub(super) unasked: &'static str,
    /// From the name of a column down to the column.
    pub(super) stem: &'static str,
    pub(super) rule: &'static str,
}

const UNICODE: Signs = Signs {
    holds: "✓",
    violated: "✗",
    inconclusive: "?",
    vacuous: "○",
    untested: "~",
    unasked: "·",
    stem: "│",
    rule: "─",
};

const ASCII: Signs = Signs {
    holds: "ok",
    violated: "X",
    inconclusive: "?",
    vacuous: "o",
    untested: "~",
    unasked: "-",
    stem: "|",
    rule: "-",
};

impl Signs {
    pub(super) fn of(ascii: bool) -> &'static Self {
        if ascii { &ASCII } else { &UNICODE }
    }

    pub(super) fn verdict(&self, verdict: Verdict) -> &'static str {
        match verdict {
            Verdict::Holds => self.holds,
            Verdict::Violated => self.violated,
            Verdict::Inconclusive => self.inconclusive,
            Verdict::Vacuous => self.vacuous,
        }
    }
}

/// The colour of a verdict.
pub(super) fn paint(verdict: Verdict) -> Paint {
    match verdict {
        Verdict::Holds => Paint::Good,
        Verdict::Violated => Paint::Bad,
        Verdict::Inconclusive | Verdict::Vacuous => Paint::Doubt,
    }
}
