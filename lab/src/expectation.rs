//! What came out against what was expected.

use check::Report;
use check::scenario::{Property, Scenario, Verdict};

use crate::exit::Exit;

/// A property whose verdict is not the one that was expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mismatch {
    /// Which.
    pub(crate) property: Property,
    /// What was expected; of a property that is not mentioned nothing, and any verdict but a violation is fine.
    pub(crate) expected: Option<Verdict>,
    /// What came out.
    pub(crate) found: Verdict,
}

impl Mismatch {
    /// What it comes to: an unexpected violation, an absent one, or else as the verdict.
    pub(crate) fn exit(self) -> Exit {
        match (self.expected, self.found) {
            (_, Verdict::Violated) => Exit::Unexpected,
            (_, Verdict::Inconclusive) => Exit::Inconclusive,
            (Some(Verdict::Violated), Verdict::Holds | Verdict::Vacuous) => Exit::Absent,
            (_, Verdict::Holds | Verdict::Vacuous) => Exit::Vacuous,
        }
    }
}

/// The properties that were asked for and came out otherwise, in the documented order.
pub(crate) fn mismatches(scenario: &Scenario, report: &Report) -> Vec<Mismatch> {
    let compare = |p: &check::PropertyReport| {
        let expected = scenario.expected(p.property);
        let is_fine = match expected {
            Some(expected) => p.verdict == expected,
            None => p.verdict != Verdict::Violated,
        };
        (!is_fine).then_some(Mismatch { property: p.property, expected, found: p.verdict })
    };
    report.properties.iter().filter_map(compare).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mismatch_has_its_code() {
        let code = |expected, found| Mismatch { property: Property::NoOrphan, expected, found }.exit().code();
        assert_eq!(code(None, Verdict::Violated), 31);
        assert_eq!(code(Some(Verdict::Holds), Verdict::Violated), 31);
        assert_eq!(code(Some(Verdict::Vacuous), Verdict::Violated), 31);
        assert_eq!(code(Some(Verdict::Violated), Verdict::Holds), 30);
        assert_eq!(code(Some(Verdict::Violated), Verdict::Vacuous), 30);
        assert_eq!(code(Some(Verdict::Violated), Verdict::Inconclusive), 20);
        assert_eq!(code(Some(Verdict::Holds), Verdict::Inconclusive), 20);
        assert_eq!(code(Some(Verdict::Holds), Verdict::Vacuous), 21);
        assert_eq!(code(Some(Verdict::Vacuous), Verdict::Holds), 21);
    }
}
