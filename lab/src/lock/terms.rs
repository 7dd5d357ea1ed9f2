//! The terms on which a lock is taken, and the policy that they make.

use std::time::Duration;

use protocol::{
    Acquire, Conflict, Drift, Fencing, Holder, LateAnswer, OnCancel, Order, Owner, Policy, Program, QuorumOf,
    Reentrance, RefusedRenewal, Release, ReleaseTo, Renewal, Retry, Subscribe, Ticks, TokenCheck, UnknownAcquire,
    UnsettledWrite, Validity, Visit, Waiting,
};

use super::LockError;

/// The shortest TTL: less than that passes while a message is under way.
pub const MIN_TTL: Duration = Duration::from_millis(10);

/// The longest TTL: about eleven days, so that no clock has to count beyond what it can hold.
pub const MAX_TTL: Duration = Duration::from_millis(1_000_000_000);

/// What is taken off for clocks that are read in whole milliseconds, on both sides (S. Sanfilippo, "Distributed Locks with
/// Redis"), beside one hundredth of the TTL for clocks that drift.
const GRAIN: u32 = 2;

/// How a lock is taken, held and waited for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Terms {
    pub(crate) ttl: Duration,
    pub(crate) margin: Option<Duration>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) retry: (Duration, Duration),
    pub(crate) is_renewed: bool,
    pub(crate) is_fenced: bool,
    pub(crate) is_notified: bool,
}

impl Terms {
    /// The terms of a lock on some servers of which nothing more was said.
    pub(crate) fn new(servers: usize) -> Self {
        let is_single = servers == 1;
        // A notification ends the wait on a single server; the delay is for one that gets lost.
        let retry = if is_single { (200, 400) } else { (20, 80) };
        Self {
            ttl: Duration::from_secs(10),
            margin: None,
            timeout: None,
            retry: (Duration::from_millis(retry.0), Duration::from_millis(retry.1)),
            is_renewed: false,
            is_fenced: is_single,
            is_notified: is_single,
        }
    }

    /// The policy of a core with these terms: a tick is a millisecond.
    ///
    /// # Errors
    /// If they cannot be kept.
    pub(crate) fn policy(&self, servers: u8) -> Result<Policy, LockError> {
        let ttl = ttl(self.ttl)?;
        let drift = Ticks(ttl.0 / 100 + GRAIN);
        let margin = match self.margin {
            Some(margin) => millis(margin).unwrap_or(ttl),
            None => Ticks(ttl.0 / 20),
        };
        let off = Duration::from_millis(u64::from(drift.0) + u64::from(margin.0));
        if off >= self.ttl {
            return Err(LockError::Margin { ttl: self.ttl, off });
        }
        let timeout = match self.timeout {
            Some(timeout) => millis(timeout).filter(|t| t.0 > 0).ok_or(LockError::Timeout { timeout })?,
            None => Ticks((ttl.0 / 10).clamp(5, 1000)),
        };
        let (least, greatest) = self.retry;
        let delays = || LockError::Delays { least, greatest };
        let retry = Retry::Jitter(millis(least).ok_or_else(delays)?, millis(greatest).ok_or_else(delays)?);
        if least > greatest {
            return Err(delays());
        }
        Ok(Policy {
            acquire: Acquire::SetNxPx,
            owner: Owner::PerAcquisition,
            release: Release::CompareAndDelete,
            release_to: ReleaseTo::All,
            ttl: Some(ttl),
            nodes: servers,
            quorum: servers / 2 + 1,
            quorum_of: QuorumOf::All,
            visit: Visit::AllAtOnce,
            timeout,
            validity: Validity::FromSending,
            drift: Drift::Subtracted,
            drift_ticks: drift,
            holder: Holder::Clocked,
            margin,
            unknown: if servers == 1 { UnknownAcquire::OwnValueHeld } else { UnknownAcquire::GiveUp },
            renewal: Renewal::CompareAndExtend,
            // Not a third of the TTL: with a great margin it would be over before that.
            renew_every: Ticks(((ttl.0 - drift.0 - margin.0) / 3).max(1)),
            renewals: if self.is_renewed { None } else { Some(0) },
            refused_renewal: RefusedRenewal::Lost,
            late_answer: LateAnswer::Ignored,
            acknowledged: 0,
            fencing: if self.is_fenced { Fencing::WithGrant } else { Fencing::Nothing },
            reentrance: Reentrance::Nothing,
            waiting: if self.is_notified { Waiting::Notified } else { Waiting::Poll },
            subscribe: Subscribe::BeforeTrying,
            fallback_poll: true,
            retry,
            attempts: None,
            give_up_after: None,
            order: Order::Sorted,
            conflict: Conflict::Wait,
            unsettled_write: UnsettledWrite::Waits,
            on_cancel: OnCancel::CleansUp,
            // What is done under the lock is the caller's business.
            program: Program { work: Ticks(0), writes: 1, updates: 1, check: TokenCheck::Nothing },
        })
    }
}

fn ttl(ttl: Duration) -> Result<Ticks, LockError> {
    let is_whole = ttl.subsec_nanos().is_multiple_of(1_000_000);
    if !is_whole || ttl < MIN_TTL || ttl > MAX_TTL {
        return Err(LockError::Ttl { ttl });
    }
    millis(ttl).ok_or(LockError::Ttl { ttl })
}

/// A span in ticks, if it is no longer than the longest TTL.
fn millis(span: Duration) -> Option<Ticks> {
    let millis = u32::try_from(span.as_millis()).ok()?;
    (span <= MAX_TTL).then_some(Ticks(millis))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use protocol::Ticks;

    use super::{LockError, MAX_TTL, Terms};

    fn with_ttl(ttl: Duration) -> Result<Ticks, LockError> {
        Terms { ttl, ..Terms::new(1) }.policy(1).map(|policy| policy.ttl.unwrap_or_default())
    }

    #[test]
    fn a_ttl_that_cannot_be_kept_is_refused() {
        let refused = [
            Duration::ZERO,
            Duration::from_micros(500),
            Duration::from_millis(9),
            Duration::from_micros(10_500),
            MAX_TTL + Duration::from_millis(1),
            Duration::from_millis(u64::from(u32::MAX) + 5),
            Duration::MAX,
        ];
        for ttl in refused {
            assert_eq!(with_ttl(ttl), Err(LockError::Ttl { ttl }));
        }
        assert_eq!(with_ttl(MAX_TTL), Ok(Ticks(1_000_000_000)));
    }

    #[test]
    fn a_margin_that_leaves_nothing_is_refused() {
        let ttl = Duration::from_secs(1);
        let off = |margin: u64| Terms { ttl, margin: Some(Duration::from_millis(margin)), ..Terms::new(1) }.policy(1);
        assert!(off(987).is_ok());
        let error = LockError::Margin { ttl, off: Duration::from_millis(1000) };
        assert_eq!(off(988), Err(error), "10 ms for drift and 2 for the grain of clocks are taken off as well");
        assert!(off(u64::MAX).is_err());
    }

    #[test]
    fn delays_and_time_outs_that_cannot_be_counted_are_refused() {
        let (one, two) = (Duration::from_millis(1), Duration::from_millis(2));
        assert!(Terms { retry: (two, one), ..Terms::new(1) }.policy(1).is_err());
        assert!(Terms { retry: (one, Duration::MAX), ..Terms::new(1) }.policy(1).is_err());
        assert!(Terms { timeout: Some(Duration::ZERO), ..Terms::new(1) }.policy(1).is_err());
        assert!(Terms { timeout: Some(Duration::MAX), ..Terms::new(1) }.policy(1).is_err());
    }
}
