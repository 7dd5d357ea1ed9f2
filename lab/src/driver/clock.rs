//! The clock of one core.

use protocol::{Ticks, Time};
use tokio::time::{Duration, Instant};

/// From this reading on the clock is set back, long before a reading would not fit any more (after 49 days).
const LATE: u32 = 1 << 30;

/// Milliseconds since an origin.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    origin: Instant,
}

impl Clock {
    pub(super) fn new() -> Self {
        Self { origin: Instant::now() }
    }

    pub(super) fn now(&self) -> Time {
        let millis = self.origin.elapsed().as_millis();
        Time(u32::try_from(millis).unwrap_or(u32::MAX))
    }

    /// When the clock will show a time.
    pub(super) fn instant(&self, time: Time) -> Instant {
        self.origin + Duration::from_millis(time.0.into())
    }

    /// Moves the origin if the clock has run for very long, and says by how much: all deadlines have to follow.
    pub(super) fn set_back(&mut self) -> Option<Ticks> {
        let by = self.now().0.checked_sub(LATE)?;
        self.origin += Duration::from_millis(by.into());
        Some(Ticks(by))
    }
}
