//! The changes to try.

use super::{Change, How};
use crate::scenario::{KNOBS, Scenario};

/// Every single change, in the documented order of the knobs; the nearest value of each first.
pub(super) fn singles(scenario: &Scenario, how: &How) -> Vec<Change> {
    let of = |knob: &'static crate::scenario::Knob| {
        let from = knob.get(&scenario.settings);
        knob.others(&scenario.settings).into_iter().map(move |other| Change {
            knob: knob.key,
            from: from.clone(),
            to: other.value,
            distance: other.distance,
        })
    };
    KNOBS.iter().filter(|knob| how.turns(knob)).flat_map(of).collect()
}

/// Every two of them that turn different knobs, the smallest together first.
pub(super) fn pairs(singles: &[Change]) -> Vec<(usize, usize)> {
    let mut pairs: Vec<(usize, usize)> = (0..singles.len())
        .flat_map(|first| (first + 1..singles.len()).map(move |second| (first, second)))
        .filter(|(first, second)| singles[*first].knob != singles[*second].knob)
        .collect();
    pairs.sort_by_key(|(first, second)| singles[*first].distance + singles[*second].distance);
    pairs
}
