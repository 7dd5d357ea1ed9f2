//! One worker: a thread of its own, which lives, pauses, dies and lives again.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use protocol::{Command, Input, LockList, Notice, Outcome, Reply, Ticks, Verb, Worker};
use tokio::time::{Instant, timeout_at};

use super::client::{Bank, Client};
use super::ledger::{Injected, Ledger};
use super::marks::{Grants, Marks};
use super::{Faults, Order, Site};
use crate::driver::{Belief, End, Pilot, Redis, Terms, Wall};

/// What a worker needs to know.
pub(super) struct Place {
    pub(super) number: usize,
    pub(super) site: Arc<Site>,
    pub(super) locks: LockList,
    /// By how much its wall clock is ahead.
    pub(super) ahead: Duration,
    pub(super) faults: Faults,
    pub(super) ledger: Arc<Ledger>,
    pub(super) end: Instant,
    /// Ends the run before its time.
    pub(super) is_over: Arc<AtomicBool>,
}

/// How a life ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Stopped,
    Killed,
}

/// How often those who wait look whether the run is over.
const LOOK: Duration = Duration::from_millis(50);

/// Runs until the end.
///
/// # Errors
/// If there is no runtime to be had, or an address is none.
pub(super) fn run(place: &Place) -> Result<(), String> {
    loop {
        // Each life has its own connections, as a process has.
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| format!("a worker could not begin: {error}"))?;
        let fate = runtime.block_on(live(place))?;
        place.ledger.ends(place.number);
        runtime.shutdown_background();
        if fate == Fate::Stopped {
            return Ok(());
        }
    }
}

async fn live(place: &Place) -> Result<Fate, String> {
    Life::new(place)?.run().await
}

struct Life<'a> {
    place: &'a Place,
    pilot: Pilot<Worker, Client>,
    /// When it asked for them.
    asked: Option<Instant>,
    updates_left: u8,
    grants: Grants,
    is_leaving: bool,
}

impl<'a> Life<'a> {
    fn new(place: &'a Place) -> Result<Self, String> {
        let Place { number: worker, site, locks, ahead, ledger, .. } = place;
        let wall = Wall { since: site.begin, unit: Duration::from_millis(1), ahead: *ahead };
        let terms = Terms { policy: site.policy, locks: *locks, wall };
        let grants: Grants = site.words.iter().map(|_| AtomicU64::new(0)).collect();
        let life = rand::random();
        let marks = Marks {
            worker: *worker,
            life,
            policy: site.policy,
            words: Arc::clone(&site.words),
            wall,
            ledger: Arc::clone(ledger),
            grants: (site.order == Order::Marks).then(|| Arc::clone(&grants)),
        };
        let bank = Bank {
            node: site.bank()?,
            accounts: Arc::clone(&site.accounts),
            worker: *worker,
            life,
            sent: 0,
            seen: Arc::default(),
            grants: Arc::clone(&grants),
            ledger: Arc::clone(ledger),
        };
        let redis = Redis::new(site.nodes()?, Arc::clone(&site.words), site.policy.owner, marks);
        let core = Worker::new(&terms.config());
        let updates_left = core.updates_left();
        let pilot = Pilot::new(core, terms, Client { locks: redis, bank });
        Ok(Self { place, pilot, asked: None, updates_left, grants, is_leaving: false })
    }

    async fn run(mut self) -> Result<Fate, String> {
        loop {
            if self.is_over() && self.pilot.core().is_at_rest() || self.is_overdue() {
                return Ok(Fate::Stopped);
            }
            if self.pilot.core().is_at_rest() {
                self.begin();
            } else if self.is_over() && !self.is_leaving {
                self.is_leaving = true;
                let notices = self.pilot.step(Input::Release);
                self.tell(&notices);
            } else if let Ok(happened) = timeout_at(Instant::now() + LOOK, self.pilot.happen()).await {
                if let Some(end) = &happened.end {
                    self.note(end);
                }
                self.tell(&happened.notices);
                if self.suffer().await == Some(Injected::Kill) {
                    return Ok(Fate::Killed);
                }
            }
        }
    }

    fn begin(&mut self) {
        if !self.pilot.core().can_start() {
            let terms = self.pilot.terms().clone();
            self.pilot.core_mut().go_on(&terms.config());
            self.updates_left = self.pilot.core().updates_left();
        }
        // Who takes a lock for granted without having heard so has no number.
        self.grants.iter().for_each(|grant| grant.store(0, Ordering::Relaxed));
        self.asked = Some(Instant::now());
        let notices = self.pilot.step(Input::Acquire);
        self.tell(&notices);
    }

    /// Writes down what follows from a step. Nothing of what the step wants sent has left yet: this thread has not waited.
    fn tell(&mut self, notices: &[Notice]) {
        let ledger = &self.place.ledger;
        for notice in notices {
            match notice {
                Notice::Acquired { .. } => {
                    if let Some(asked) = self.asked.take() {
                        ledger.acquired(asked.elapsed());
                    }
                    if self.place.site.order == Order::Hearing {
                        let number = self.place.site.next_grant();
                        self.grants.iter().for_each(|grant| grant.store(number, Ordering::Relaxed));
                    }
                }
                Notice::Lost => ledger.lost(),
                Notice::GaveUp | Notice::Released => {}
            }
        }
        for (lock, belief) in self.pilot.beliefs() {
            match belief {
                Belief::Holds { until } => ledger.holds(self.place.number, lock.0, until),
                Belief::Nothing => ledger.leaves(self.place.number, lock.0),
            }
        }
        let left = self.pilot.core().updates_left();
        // Who gives up has an update less to make as well.
        if left < self.updates_left {
            ledger.updated(!notices.contains(&Notice::GaveUp));
        }
        self.updates_left = left;
    }

    fn note(&self, end: &End) {
        let ledger = &self.place.ledger;
        if let Command::Lock { verb: Verb::SetNxPx | Verb::Setnx | Verb::Look | Verb::Enter, .. } = end.command {
            ledger.asked(match end.outcome {
                Outcome::Answered(Reply::Taken { own, .. }) => !own,
                Outcome::Answered(Reply::Entry { own, left }) => !own && left != Some(Ticks(0)),
                Outcome::Answered(_) | Outcome::Refused | Outcome::Unknown => false,
            });
        }
        if !matches!(end.outcome, Outcome::Answered(_)) {
            ledger.unanswered(end.failure.as_ref().map(ToString::to_string));
        }
    }

    /// What is injected now, if anything is. A pause stops this thread and all that it drives, as a process that the
    /// system, a garbage collector or a debugger stops.
    ///
    /// It begins when all that the last step wants sent is on its way: a request that leaves late is another fault (a delay),
    /// of which the checker is not asked.
    async fn suffer(&self) -> Option<Injected> {
        let Place { number, faults, ledger, .. } = self.place;
        let dies = rand::random_bool(faults.kill_rate);
        if !dies && !rand::random_bool(faults.pause_rate) {
            return None;
        }
        // The tasks that send are ready and run before this one does again. Answers wait from then on.
        tokio::time::sleep(Duration::from_millis(1)).await;
        let fault = if dies { Injected::Kill } else { Injected::Pause };
        ledger.inject(fault, Some(*number));
        if fault == Injected::Pause {
            std::thread::sleep(faults.longest_pause.mul_f64(rand::random()));
        }
        Some(fault)
    }

    fn is_over(&self) -> bool {
        Instant::now() >= self.place.end || self.place.is_over.load(Ordering::Relaxed)
    }

    /// Whether the worker had enough time to give everything back.
    fn is_overdue(&self) -> bool {
        Instant::now() >= self.place.end + self.place.site.grace()
    }
}
