//! What the locks count, measure and tell.
//!
//! Metrics go through the facade of the crate `metrics`, because a library must not choose an exporter for its user: whoever
//! installs a recorder (Prometheus, StatsD, one of their own) gets them, everybody else pays a look at an empty place. Names
//! follow the conventions of Prometheus. After installing a recorder, [`describe`] gives it the units and the explanations.
//!
//! Every metric has two labels: `backend` is `redis` (one server) or `redlock` (several), `class` is what
//! [`Lock::class`](super::Lock::class) says. Those with an `outcome` have that as well. The key is never a label: there are
//! too many of them.
//!
//! The same is told through `tracing`, with the target `lab::lock`. What goes wrong is a warning, everything else is told at
//! debug. The key stands in a span of level debug alone, with what is not printable escaped.

use std::fmt;
use std::time::Duration;

use metrics::{Unit, counter, describe_counter, describe_histogram, histogram};
use tokio::time::Instant;
use tracing::Span;

use super::{AcquireError, Guard, Released};
use crate::nodes::Failure;

/// Histogram: from asking for a lock to having it or not. Its `outcome` is `acquired`, `taken`, `given-up` (the time was over,
/// or nobody waited any more), `unreachable`, `too-late` or `ended`.
pub const ACQUIRE_DURATION: &str = "lock_acquire_duration_seconds";

/// Counter: how often a lock was asked for, each try of one who waits counted, and each of several locks on its own.
pub const ATTEMPTS: &str = "lock_attempts_total";

/// Counter: how often somebody else was found to have the lock, or to wait for it in the same process.
pub const CONTENTION: &str = "lock_contention_total";

/// Histogram: from having a lock to giving it back or losing it.
pub const HOLD_DURATION: &str = "lock_hold_duration_seconds";

/// Counter: renewals, also those that were asked for by [`Guard::extend`]. Its `outcome` is `renewed`, `refused` or
/// `unanswered`.
pub const RENEWALS: &str = "lock_renewals_total";

/// Counter: locks that were lost while they were held.
pub const LOST: &str = "lock_lost_total";

/// Counter: locks that were given back. Its `outcome` is `freed`, `was-gone` (it had run out, or was lost) or `unanswered`
/// (too few servers answered, the TTL frees it).
pub const RELEASES: &str = "lock_releases_total";

/// Counter: requests to a server that failed. Its `outcome` is `not-sent`, `refused` or `unknown`.
pub const NODE_ERRORS: &str = "lock_node_errors_total";

/// Counter: writes that a resource refused because of their fencing token, as told by
/// [`Lock::count_rejection`](super::Lock::count_rejection).
pub const FENCING_REJECTIONS: &str = "lock_fencing_rejections_total";

/// Upper bounds in seconds that suit both histograms, for exporters that want some.
pub const BUCKETS: [f64; 14] = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

/// Gives the recorder that is installed the unit and an explanation of every metric.
pub fn describe() {
    describe_histogram!(ACQUIRE_DURATION, Unit::Seconds, "From asking for a lock to having it or not");
    describe_counter!(ATTEMPTS, Unit::Count, "How often a lock was asked for");
    describe_counter!(CONTENTION, Unit::Count, "How often somebody else was found to have the lock or to wait for it");
    describe_histogram!(HOLD_DURATION, Unit::Seconds, "From having a lock to giving it back or losing it");
    describe_counter!(RENEWALS, Unit::Count, "Renewals of a lock that is held");
    describe_counter!(LOST, Unit::Count, "Locks that were lost while they were held");
    describe_counter!(RELEASES, Unit::Count, "Locks that were given back");
    describe_counter!(NODE_ERRORS, Unit::Count, "Requests to a server that failed");
    describe_counter!(FENCING_REJECTIONS, Unit::Count, "Writes that were refused because of their fencing token");
}

/// Counts and tells what happens to one sort of locks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Meter {
    pub(super) backend: &'static str,
    pub(super) class: &'static str,
}

impl Meter {
    /// The span in which everything about one acquisition is told.
    pub(super) fn span(self, keys: &[Vec<u8>]) -> Span {
        let Self { backend, class } = self;
        tracing::debug_span!("lock", backend, class, key = %Keys(keys))
    }

    /// Somebody begins to ask for a lock.
    pub(super) fn asks(self) -> Asking {
        Asking { meter: self, begin: Instant::now(), is_over: false }
    }

    /// So many locks are asked for now.
    pub(super) fn attempts(self, count: u64) {
        if count > 0 {
            counter!(ATTEMPTS, "backend" => self.backend, "class" => self.class).increment(count);
            tracing::debug!(class = self.class, "asking for the lock");
        }
    }

    /// Somebody else is before us.
    pub(super) fn contention(self) {
        counter!(CONTENTION, "backend" => self.backend, "class" => self.class).increment(1);
        tracing::debug!(class = self.class, "somebody else has the lock");
    }

    /// The lock is held.
    pub(super) fn acquired(self, fence: Option<u64>) {
        tracing::debug!(class = self.class, fence, "acquired");
    }

    /// The lock was held for so long.
    pub(super) fn held(self, span: Duration) {
        histogram!(HOLD_DURATION, "backend" => self.backend, "class" => self.class).record(span);
    }

    /// A renewal is over.
    pub(super) fn renewal(self, outcome: &'static str) {
        self.outcome(RENEWALS, outcome);
        if outcome == "renewed" {
            tracing::debug!(class = self.class, "renewed");
        } else {
            tracing::warn!(class = self.class, backend = self.backend, outcome, "the lock was not renewed");
        }
    }

    /// The lock is lost.
    pub(super) fn lost(self, fence: Option<u64>) {
        counter!(LOST, "backend" => self.backend, "class" => self.class).increment(1);
        tracing::warn!(class = self.class, backend = self.backend, fence, "the lock is lost");
    }

    /// The lock was given back.
    pub(super) fn released(self, outcome: Option<Released>) {
        let outcome = match outcome {
            Some(Released::Freed) => "freed",
            Some(Released::WasGone) => "was-gone",
            None => "unanswered",
        };
        self.outcome(RELEASES, outcome);
        if outcome == "freed" {
            tracing::debug!(class = self.class, "released");
        } else {
            tracing::warn!(class = self.class, backend = self.backend, outcome, "the lock was not there to release");
        }
    }

    /// A server did not do what it was asked to.
    pub(super) fn node_error(self, node: u8, failure: &Failure) {
        let outcome = match failure {
            Failure::NotSent(_) => "not-sent",
            Failure::Refused(_) => "refused",
            Failure::Unknown(_) => "unknown",
        };
        self.outcome(NODE_ERRORS, outcome);
        tracing::warn!(class = self.class, backend = self.backend, node, error = %failure, "a lock server failed");
    }

    /// A resource refused a fencing token.
    pub(super) fn rejection(self, fence: Option<u64>) {
        counter!(FENCING_REJECTIONS, "backend" => self.backend, "class" => self.class).increment(1);
        tracing::warn!(class = self.class, backend = self.backend, fence, "a fencing token was refused");
    }

    fn outcome(self, name: &'static str, outcome: &'static str) {
        counter!(name, "backend" => self.backend, "class" => self.class, "outcome" => outcome).increment(1);
    }
}

/// Somebody asks for a lock. Dropped before its end: nobody waits for it any more.
pub(super) struct Asking {
    meter: Meter,
    begin: Instant,
    is_over: bool,
}

impl Asking {
    /// The answer is there.
    pub(super) fn ends(mut self, result: &Result<Guard, AcquireError>) {
        self.is_over = true;
        self.record(match result {
            Ok(_) => "acquired",
            Err(AcquireError::Taken) => "taken",
            Err(AcquireError::TimedOut { .. }) => "given-up",
            Err(AcquireError::Unreachable { .. }) => "unreachable",
            Err(AcquireError::TooLate { .. }) => "too-late",
            // Terms are looked at before anything is asked for.
            Err(AcquireError::Ended | AcquireError::Lock(_)) => "ended",
        });
    }

    fn record(&self, outcome: &'static str) {
        let Meter { backend, class } = self.meter;
        histogram!(ACQUIRE_DURATION, "backend" => backend, "class" => class, "outcome" => outcome)
            .record(self.begin.elapsed());
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        if !self.is_over {
            self.record("given-up");
        }
    }
}

/// Keys as they may be told: any bytes, on one line.
struct Keys<'a>(&'a [Vec<u8>]);

impl fmt::Display for Keys<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, key) in self.0.iter().enumerate() {
            write!(f, "{}{}", if at > 0 { ", " } else { "" }, key.escape_ascii())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::Keys;

    #[test]
    fn keys_are_told_on_one_line_whatever_they_hold() {
        let keys = [b"a\n\xff".to_vec(), b"job:7".to_vec()];
        assert_eq!(Keys(&keys).to_string(), r"a\n\xff, job:7");
    }
}
