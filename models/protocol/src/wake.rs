//! When a core wants to run.

use crate::ids::Time;

/// A span in which a core wants to be woken: at any moment from its beginning, and by its end at the latest.
///
/// The two are the same but for a jittered delay: a driver draws a moment, a checker tries them all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// The earliest moment.
    pub from: Time,
    /// The latest.
    pub by: Time,
}

impl Window {
    /// The moment itself.
    pub fn at(moment: Time) -> Self {
        Self { from: moment, by: moment }
    }
}

/// The earlier of two wake-ups, either of which may not exist.
pub(crate) fn earlier(a: Option<Window>, b: Option<Window>) -> Option<Window> {
    match (a, b) {
        (Some(a), Some(b)) => Some(Window { from: a.from.min(b.from), by: a.by.min(b.by) }),
        (a, None) => a,
        (None, b) => b,
    }
}
