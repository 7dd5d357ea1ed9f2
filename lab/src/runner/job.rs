//! One run of a job.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use protocol::{Fence, Seen, TokenCheck};
use tokio::time::Instant;
use world::Compare;

use super::{LONGEST_NAME, PATIENCE, Phase, Shared, limit};
use crate::account::{Account, Answer, Write};
use crate::lock::{AcquireError, Guard, Lock};
use crate::nodes::Failure;
use crate::words::{Call, Wire};

/// A job.
#[derive(Clone, Debug)]
pub(super) struct Job {
    name: String,
}

/// What came of asking for a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Done {
    /// It ran.
    Ran {
        /// The fencing token of the run.
        fence: u64,
        /// How often the job has run, this time counted.
        runs: i64,
    },
    /// No job is called so.
    NoName,
    /// It runs already.
    Taken {
        /// How long the lock of that run lasts, if it is not renewed. None: nobody knows.
        left: Option<Duration>,
    },
    /// It was asked for too often.
    TooOften {
        /// How long to wait.
        wait: Duration,
    },
    /// The lock was lost, and the work cancelled.
    Lost,
    /// The work was done, but the record refused its result: somebody else had the lock since.
    Stale,
    /// The service ends, and the work was cancelled.
    Cancelled,
    /// The service ends, and nothing was begun.
    Ending,
    /// The server does not answer, or not as it should.
    Unreachable(String),
    /// A bug of ours.
    Bug,
}

impl Done {
    /// The word for it, in answers, metrics and the log.
    pub(super) fn word(&self) -> &'static str {
        match self {
            Self::Ran { .. } => "ran",
            Self::NoName => "no-name",
            Self::Taken { .. } => "taken",
            Self::TooOften { .. } => "too-often",
            Self::Lost => "lost",
            Self::Stale => "stale",
            Self::Cancelled => "cancelled",
            Self::Ending => "ending",
            Self::Unreachable(_) => "unreachable",
            Self::Bug => "bug",
        }
    }
}

impl fmt::Display for Done {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ran { .. } => f.write_str("the job has run"),
            Self::NoName => write!(f, "expected a job's name: 1 to {LONGEST_NAME} of the characters a-z A-Z 0-9 . _ -"),
            Self::Taken { .. } => f.write_str("the job runs already"),
            Self::TooOften { .. } => f.write_str("the job was asked for too often"),
            Self::Lost => {
                f.write_str("the lock was lost while the job ran: the work was cancelled, nothing was recorded")
            }
            Self::Stale => {
                f.write_str("somebody else had the lock before the result could be recorded: it was refused")
            }
            Self::Cancelled => f.write_str("the runner ends: the work was cancelled, nothing was recorded"),
            Self::Ending => f.write_str("the runner ends: nothing new is begun"),
            Self::Unreachable(why) => write!(f, "Redis: {why}"),
            Self::Bug => f.write_str("a bug of the runner"),
        }
    }
}

impl From<Failure> for Done {
    fn from(failure: Failure) -> Self {
        Self::Unreachable(failure.to_string())
    }
}

impl Job {
    /// The job of a name, if it is one.
    pub(super) fn named(name: &str) -> Option<Self> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
        let is_name = (1..=LONGEST_NAME).contains(&name.len()) && name.chars().all(is_plain);
        is_name.then(|| Self { name: name.to_owned() })
    }

    /// The key of its lock.
    fn key(&self) -> Vec<u8> {
        format!("job:{}", self.name).into_bytes()
    }

    /// The key of something beside it, which a cluster keeps on the same server.
    fn beside(&self, what: &str) -> Vec<u8> {
        format!("{{job:{}}}:{what}", self.name).into_bytes()
    }

    /// Runs it, if it may.
    pub(super) async fn run(self, shared: Arc<Shared>) -> Done {
        let _alive = shared.alive.clone();
        let job = self.name.as_str();
        tracing::info!(job, "attempt");
        let done = match self.attempt(&shared).await {
            Ok(done) | Err(done) => done,
        };
        match &done {
            Done::Ran { fence, runs } => tracing::info!(job, fence, runs, "completed"),
            Done::Taken { left } => {
                tracing::info!(job, remaining_ms = left.map(|left| left.as_millis() as u64), "contention");
            }
            Done::TooOften { wait } => tracing::info!(job, wait_ms = wait.as_millis() as u64, "too often"),
            Done::Cancelled | Done::Ending => tracing::warn!(job, "{done}"),
            Done::Lost | Done::Stale | Done::Unreachable(_) | Done::NoName | Done::Bug => {
                tracing::error!(job, "{done}")
            }
        }
        done
    }

    async fn attempt(&self, shared: &Shared) -> Result<Done, Done> {
        if let Some(wait) = limit::wait(&shared.node, &self.beside("rate"), shared.settings.rate).await? {
            return Ok(Done::TooOften { wait });
        }
        let lock = shared.locker.lock(self.key()).map_err(|error| Done::Unreachable(error.to_string()))?;
        let lock = lock.ttl(shared.settings.ttl).renewed().class("job");
        let guard = match lock.try_acquire().await {
            Ok(guard) => guard,
            Err(AcquireError::Taken) => return Ok(Done::Taken { left: self.left(shared).await? }),
            Err(error) => return Err(Done::Unreachable(error.to_string())),
        };
        tracing::info!(job = self.name, fence = guard.fence(), "lock acquired");
        let done = self.under_lock(shared, &lock, &guard).await;
        match guard.release().await {
            Ok(outcome) => tracing::info!(job = self.name, ?outcome, "lock released"),
            Err(error) => tracing::warn!(job = self.name, %error, "lock not released"),
        }
        done
    }

    /// The work, and its result: read at the beginning and written at the end, so that a second run in between would show.
    async fn under_lock(&self, shared: &Shared, lock: &Lock, guard: &Guard) -> Result<Done, Done> {
        let Some(fence) = guard.fence() else { return Err(Done::Bug) };
        let token = u32::try_from(fence).map(Fence).map_err(|_| Done::Bug)?;
        let record =
            Account { key: self.beside("record"), check: TokenCheck::OnReadAndWrite, compare: Compare::GreaterOrEqual };
        let refused = || {
            lock.count_rejection(Some(fence));
            Done::Stale
        };
        let read = self.ask(shared, &record, record.read(Some(token))).await?;
        let Answer::Holds(before) = read else { return Err(refused()) };
        let mut phase = shared.phase.clone();
        tokio::select! {
            biased;
            () = guard.lost() => return Err(Done::Lost),
            // The sender lives as long as the service does.
            _ = phase.wait_for(|phase| *phase == Phase::Cancels) => return Err(Done::Cancelled),
            () = tokio::time::sleep(shared.settings.work) => {}
        }
        if !guard.is_valid() {
            return Err(Done::Lost);
        }
        let name = format!("{}-{fence}", self.name);
        let seen = Seen(before.version);
        let runs = before.balance + 1;
        let write = record.write(Write { fence: Some(token), seen, balance: runs, name: name.as_bytes() });
        match self.ask(shared, &record, write).await? {
            Answer::Accepted { .. } => Ok(Done::Ran { fence, runs }),
            Answer::Holds(_) | Answer::Good | Answer::Stale => Err(refused()),
        }
    }

    async fn ask(&self, shared: &Shared, record: &Account, call: Call) -> Result<Answer, Done> {
        let answer = shared.node.send(Wire::Script(call), Instant::now() + PATIENCE).await?;
        record.answer(&answer).map_err(|error| Done::Unreachable(error.to_string()))
    }

    /// How long the lock of whoever runs the job lasts.
    async fn left(&self, shared: &Shared) -> Result<Option<Duration>, Done> {
        let command = redis::cmd("PTTL").arg(self.key()).take();
        let answer = shared.node.send(Wire::Command(command), Instant::now() + PATIENCE).await?;
        let left: Option<i64> = redis::from_redis_value(answer).ok();
        // Below -1 it has been given back meanwhile, and -1 is a lock that no runner has set.
        Ok(left.filter(|left| *left != -1).map(|left| Duration::from_millis(left.max(0).unsigned_abs())))
    }
}

#[cfg(test)]
mod tests {
    use super::Job;

    #[test]
    fn names_are_plain_and_short() {
        for name in ["42", "nightly-report", "a.b_C", &"x".repeat(64)] {
            assert!(Job::named(name).is_some(), "{name}");
        }
        for name in ["", " ", "a b", "a/b", "{a}", "ä", "a\n", "a:b", &"x".repeat(65)] {
            assert!(Job::named(name).is_none(), "{name}");
        }
    }
}
