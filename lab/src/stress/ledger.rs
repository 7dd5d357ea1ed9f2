//! What all workers of a run write down: who holds which lock, what went wrong, what was injected, and how fast it went.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use check::scenario::Property;
use hdrhistogram::Histogram;
use tokio::time::Instant;

/// The longest time that is told apart from longer ones, in microseconds: an hour.
const LONGEST: u64 = 3_600_000_000;

/// How long a step of the time line is.
pub(crate) const STEP: Duration = Duration::from_millis(100);

/// Something that a safety property forbids.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Sight {
    /// Two workers believed to hold the same lock.
    Overlap {
        /// The one that held it already.
        other: usize,
        /// For how much longer that one believed so, if it looks at the clock.
        left: Option<Duration>,
    },
    /// A write that overwrote an update that its writer had not seen.
    LostUpdate {
        /// The version that was read, and the one that was overwritten.
        versions: (u32, u32),
    },
    /// A release or a renewal that took effect on another's entry.
    WrongRelease {
        /// Whether it was a release.
        frees: bool,
    },
    /// A write of an earlier grant that was accepted after one of a later grant.
    StaleWrite {
        /// The numbers of both grants.
        grants: (u64, u64),
    },
}

impl Sight {
    /// What forbids it.
    pub(super) fn property(&self) -> Property {
        match self {
            Self::Overlap { .. } => Property::MutualExclusion,
            Self::LostUpdate { .. } => Property::NoLostUpdate,
            Self::WrongRelease { .. } => Property::NoWrongRelease,
            Self::StaleWrite { .. } => Property::NoStaleWrite,
        }
    }

    fn says(&self, worker: usize) -> String {
        match self {
            Self::Overlap { other, left: Some(left) } => {
                format!("worker {worker} got a lock of which worker {other} had {left:.1?} left")
            }
            Self::Overlap { other, left: None } => {
                format!("worker {worker} got a lock that worker {other} believed to hold")
            }
            Self::LostUpdate { versions: (read, overwritten) } => {
                format!("worker {worker} had read version {read} of the account and overwrote version {overwritten}")
            }
            Self::WrongRelease { frees: true } => format!("worker {worker} gave back a lock that was another's"),
            Self::WrongRelease { frees: false } => format!("worker {worker} extended a lock that was another's"),
            Self::StaleWrite { grants: (own, later) } => {
                format!("worker {worker} wrote with grant {own} after a write with grant {later} had been accepted")
            }
        }
    }
}

/// A fault that was injected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Injected {
    /// A worker stopped for a while.
    Pause,
    /// A worker died.
    Kill,
    /// A lock server was killed and started again.
    Restart,
}

/// How often something was injected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Injections {
    /// All in all.
    pub(crate) all: u64,
    /// While a lease was held that it befell.
    pub(crate) in_lease: u64,
}

/// The first time that something forbidden was seen, and how often it was.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sights {
    /// How often.
    pub(crate) count: u64,
    /// The first.
    pub(crate) first: Option<(Duration, String)>,
}

/// What happened within one [`STEP`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Moment {
    /// Updates that were made.
    pub(crate) updates: u64,
    /// Faults that fell into a held lease.
    pub(crate) faults: u64,
    /// Things that a safety property forbids.
    pub(crate) sights: u64,
}

/// Sums.
#[derive(Clone, Debug)]
pub(crate) struct Sums {
    /// Updates that were made: the resource accepted the write, as far as the worker knows.
    pub(crate) updates: u64,
    /// Updates that were given up: no lock, or the resource refused the write.
    pub(crate) given_up: u64,
    /// Requests for a lock.
    pub(crate) asked: u64,
    /// Those that found it taken.
    pub(crate) taken: u64,
    /// Locks that were lost while they were held.
    pub(crate) lost: u64,
    /// Operations without an answer.
    pub(crate) unanswered: u64,
    /// Why the last of them had none.
    pub(crate) last_failure: Option<String>,
    /// Writes that the resource refused because of their token, or of what they had seen.
    pub(crate) refused: u64,
    /// How long a worker waited for the lock, in microseconds.
    pub(crate) acquire: Histogram<u64>,
    /// How long it held it, in microseconds.
    pub(crate) hold: Histogram<u64>,
    /// What was injected.
    pub(crate) injected: BTreeMap<Injected, Injections>,
    /// What was seen that a property forbids.
    pub(crate) sights: BTreeMap<Property, Sights>,
    /// The longest time without an update.
    pub(crate) longest_gap: Duration,
    /// The run, step by step.
    pub(crate) timeline: Vec<Moment>,
}

/// Whom a lock belongs to, as that one believes.
#[derive(Clone, Copy, Debug)]
struct Holder {
    worker: usize,
    lock: u8,
    since: Instant,
    /// Until when it believes so. None: until it gives the locks back.
    until: Option<Instant>,
}

/// A write that was accepted. They are in order of the versions that they made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Accepted {
    version: u32,
    grant: u64,
    worker: usize,
    at: Duration,
}

#[derive(Debug)]
struct Pages {
    sums: Sums,
    holders: Vec<Holder>,
    /// The writes to each account.
    accepted: BTreeMap<u8, Vec<Accepted>>,
    last_update: Instant,
}

/// One for all workers of a run.
#[derive(Debug)]
pub(super) struct Ledger {
    begin: Instant,
    pages: Mutex<Pages>,
}

impl Ledger {
    pub(super) fn new(begin: Instant) -> Self {
        let histogram = || {
            // Three digits up to an hour: both are within what it can do.
            let mut histogram =
                Histogram::new_with_max(LONGEST, 3).unwrap_or_else(|_| Histogram::new(3).expect("3 digits"));
            histogram.auto(true);
            histogram
        };
        let sums = Sums {
            updates: 0,
            given_up: 0,
            asked: 0,
            taken: 0,
            lost: 0,
            unanswered: 0,
            last_failure: None,
            refused: 0,
            acquire: histogram(),
            hold: histogram(),
            injected: BTreeMap::new(),
            sights: BTreeMap::new(),
            longest_gap: Duration::ZERO,
            timeline: Vec::new(),
        };
        let pages = Pages { sums, holders: Vec::new(), accepted: BTreeMap::new(), last_update: begin };
        Self { begin, pages: Mutex::new(pages) }
    }

    /// A worker believes from now on that it holds a lock, or until another moment.
    pub(super) fn holds(&self, worker: usize, lock: u8, until: Option<Instant>) {
        let now = Instant::now();
        let mut pages = self.pages();
        if let Some(holder) = pages.holders.iter_mut().find(|holder| (holder.worker, holder.lock) == (worker, lock)) {
            holder.until = until;
            return;
        }
        let believes = |holder: &&Holder| holder.until.is_none_or(|until| now < until);
        let rivals = pages.holders.iter().filter(|holder| holder.lock == lock).filter(believes);
        let overlap =
            |rival: &Holder| Sight::Overlap { other: rival.worker, left: rival.until.map(|until| until - now) };
        let rivals: Vec<Sight> = rivals.map(overlap).collect();
        pages.holders.push(Holder { worker, lock, since: now, until });
        rivals.into_iter().for_each(|sight| pages.sight(self.begin.elapsed(), worker, sight));
    }

    /// A worker no longer believes that it holds a lock.
    pub(super) fn leaves(&self, worker: usize, lock: u8) {
        self.pages().leave(|holder| (holder.worker, holder.lock) == (worker, lock));
    }

    /// A worker is no more.
    pub(super) fn ends(&self, worker: usize) {
        self.pages().leave(|holder| holder.worker == worker);
    }

    /// Something was seen.
    pub(super) fn sight(&self, worker: usize, sight: Sight) {
        self.pages().sight(self.begin.elapsed(), worker, sight);
    }

    /// A write was accepted that made a version of an account.
    pub(super) fn accepted(&self, worker: usize, account: u8, version: u32, grant: u64) {
        let at = self.begin.elapsed();
        self.pages().accepted.entry(account).or_default().push(Accepted { version, grant, worker, at });
    }

    /// A lock was asked for.
    pub(super) fn asked(&self, was_taken: bool) {
        let mut pages = self.pages();
        pages.sums.asked += 1;
        pages.sums.taken += u64::from(was_taken);
    }

    /// A worker got its locks, after so long.
    pub(super) fn acquired(&self, after: Duration) {
        self.pages().sums.acquire.saturating_record(microseconds(after));
    }

    /// An update is over.
    pub(super) fn updated(&self, was_made: bool) {
        let now = Instant::now();
        let mut pages = self.pages();
        if !was_made {
            pages.sums.given_up += 1;
            return;
        }
        let gap = now - pages.last_update;
        pages.last_update = now;
        pages.sums.longest_gap = pages.sums.longest_gap.max(gap);
        pages.sums.updates += 1;
        pages.moment(now - self.begin).updates += 1;
    }

    /// A lock was lost while it was held.
    pub(super) fn lost(&self) {
        self.pages().sums.lost += 1;
    }

    /// An operation has no answer, for this reason if one is known.
    pub(super) fn unanswered(&self, why: Option<String>) {
        let mut pages = self.pages();
        pages.sums.unanswered += 1;
        pages.sums.last_failure = why.or(pages.sums.last_failure.take());
    }

    /// The resource refused a write.
    pub(super) fn refused(&self) {
        self.pages().sums.refused += 1;
    }

    /// A fault is about to befall a worker, or all that hold a lock.
    pub(super) fn inject(&self, fault: Injected, worker: Option<usize>) {
        let now = Instant::now();
        let mut pages = self.pages();
        let befalls = |holder: &Holder| {
            worker.is_none_or(|worker| holder.worker == worker) && holder.until.is_none_or(|until| now < until)
        };
        let in_lease = u64::from(pages.holders.iter().any(befalls));
        let injections = pages.sums.injected.entry(fault).or_default();
        injections.all += 1;
        injections.in_lease += in_lease;
        pages.moment(now - self.begin).faults += in_lease;
    }

    /// The sums so far.
    pub(super) fn sums(&self) -> Sums {
        self.pages().sums.clone()
    }

    /// The sums at the end. Who wrote out of turn shows only now: the versions tell the order of the writes.
    pub(super) fn close(&self) -> Sums {
        let mut pages = self.pages();
        for (_, mut accepted) in std::mem::take(&mut pages.accepted) {
            accepted.sort_unstable();
            let mut latest = 0;
            for Accepted { grant, worker, at, .. } in accepted {
                if grant != 0 && grant < latest {
                    pages.sight(at, worker, Sight::StaleWrite { grants: (grant, latest) });
                }
                latest = latest.max(grant);
            }
        }
        let gap = pages.last_update.elapsed();
        pages.sums.longest_gap = pages.sums.longest_gap.max(gap);
        pages.sums.clone()
    }

    fn pages(&self) -> MutexGuard<'_, Pages> {
        self.pages.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pages {
    fn leave(&mut self, who: impl Fn(&Holder) -> bool) {
        let now = Instant::now();
        for holder in self.holders.extract_if(.., |holder| who(holder)) {
            let until = holder.until.map_or(now, |until| until.min(now));
            self.sums.hold.saturating_record(microseconds(until.saturating_duration_since(holder.since)));
        }
    }

    fn sight(&mut self, at: Duration, worker: usize, sight: Sight) {
        let sights = self.sums.sights.entry(sight.property()).or_default();
        sights.count += 1;
        sights.first.get_or_insert_with(|| (at, sight.says(worker)));
        self.moment(at).sights += 1;
    }

    fn moment(&mut self, at: Duration) -> &mut Moment {
        let step = (at.as_millis() / STEP.as_millis()) as usize;
        if self.sums.timeline.len() <= step {
            self.sums.timeline.resize(step + 1, Moment::default());
        }
        &mut self.sums.timeline[step]
    }
}

fn microseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use check::scenario::Property;
    use tokio::time::Instant;

    use super::{Injected, Ledger, Sums};

    fn count(sums: &Sums, property: Property) -> u64 {
        sums.sights.get(&property).map_or(0, |sights| sights.count)
    }

    #[test]
    fn whoever_gets_what_another_believes_to_hold_overlaps_with_it() {
        let now = Instant::now();
        let ledger = Ledger::new(now);
        let later = |ms: u64| Some(now + Duration::from_millis(ms));
        ledger.holds(1, 0, later(60_000));
        ledger.holds(2, 1, None);
        assert_eq!(count(&ledger.sums(), Property::MutualExclusion), 0, "they hold different locks");
        ledger.holds(3, 0, None);
        ledger.holds(3, 1, None);
        assert_eq!(count(&ledger.sums(), Property::MutualExclusion), 2);
        ledger.holds(3, 1, later(1));
        assert_eq!(count(&ledger.sums(), Property::MutualExclusion), 2, "who goes on holding is seen once");
        ledger.leaves(1, 0);
        ledger.holds(3, 0, Some(now));
        ledger.holds(1, 0, None);
        assert_eq!(count(&ledger.sums(), Property::MutualExclusion), 2, "the third no longer believes it");
        ledger.ends(3);
        assert_eq!(ledger.sums().hold.len(), 3);
    }

    #[test]
    fn a_write_of_an_earlier_grant_after_a_later_one_is_stale_in_whichever_order_it_is_told() {
        let ledger = Ledger::new(Instant::now());
        for (version, grant) in [(3, 1), (1, 1), (2, 2), (4, 2), (5, 3), (6, 0)] {
            ledger.accepted(0, 0, version, grant);
        }
        ledger.accepted(0, 1, 1, 1);
        let sums = ledger.close();
        assert_eq!(count(&sums, Property::NoStaleWrite), 1);
        let (_, first) = sums.sights[&Property::NoStaleWrite].first.clone().unwrap();
        assert_eq!(first, "worker 0 wrote with grant 1 after a write with grant 2 had been accepted");
    }

    #[test]
    fn a_fault_counts_as_in_a_lease_only_while_its_worker_believes_to_hold_one() {
        let now = Instant::now();
        let ledger = Ledger::new(now);
        ledger.inject(Injected::Pause, Some(1));
        ledger.holds(1, 0, None);
        ledger.inject(Injected::Pause, Some(1));
        ledger.inject(Injected::Pause, Some(2));
        ledger.inject(Injected::Restart, None);
        ledger.holds(1, 0, Some(now));
        ledger.inject(Injected::Pause, Some(1));
        let sums = ledger.sums();
        let pauses = sums.injected[&Injected::Pause];
        assert_eq!((pauses.all, pauses.in_lease), (4, 1));
        assert_eq!(sums.injected[&Injected::Restart].in_lease, 1);
    }
}
