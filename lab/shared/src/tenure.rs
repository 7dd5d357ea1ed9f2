//! One tenure of a lock.

use std::fmt;
use std::task::{Context, Poll, Waker};

use crate::sync::{AtomicU8, AtomicU64, Mutex, Ordering, lock};

/// One tenure of a lock, from its grant to its end.
///
/// The driver writes, everybody reads. Times are milliseconds since an origin that both know.
pub struct Tenure {
    /// When it ends by itself; 0: not granted. Written after the fence: whoever sees this sees that.
    until: AtomicU64,
    /// The fencing token; 0: none.
    fence: AtomicU64,
    end: AtomicU8,
    /// Those who want to hear of the loss.
    listeners: Mutex<Vec<Waker>>,
}

/// How a tenure ended. The first who says so decides, and it stays so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum End {
    /// The holder asked for the release.
    Released = 1,
    /// The holder dropped its guard.
    Dropped = 2,
    /// The driver found that the lock is lost.
    Lost = 3,
}

/// The end of a tenure that goes on.
const NOT_ENDED: u8 = 0;

impl End {
    fn from(number: u8) -> Option<Self> {
        [Self::Released, Self::Dropped, Self::Lost].into_iter().find(|end| *end as u8 == number)
    }
}

impl Default for Tenure {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Tenure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tenure")
            .field("until", &self.until())
            .field("fence", &self.fence())
            .field("end", &self.end())
            .finish()
    }
}

impl Tenure {
    /// One that is not granted yet.
    pub fn new() -> Self {
        Self {
            until: AtomicU64::new(0),
            fence: AtomicU64::new(0),
            end: AtomicU8::new(NOT_ENDED),
            listeners: Mutex::new(Vec::new()),
        }
    }

    /// Grants it, with a fencing token if there is one. Whoever sees the grant sees the token.
    pub fn grant(&self, until: u64, fence: Option<u64>) {
        self.fence.store(fence.unwrap_or(0), Ordering::Relaxed);
        self.until.store(until, Ordering::Release);
    }

    /// Prolongs it. A renewal never shortens it.
    pub fn prolong(&self, until: u64) {
        self.until.fetch_max(until, Ordering::AcqRel);
    }

    /// When it ends by itself. None: not granted.
    pub fn until(&self) -> Option<u64> {
        Some(self.until.load(Ordering::Acquire)).filter(|until| *until != 0)
    }

    /// Its fencing token.
    pub fn fence(&self) -> Option<u64> {
        self.until()?;
        Some(self.fence.load(Ordering::Relaxed)).filter(|fence| *fence != 0)
    }

    /// How it ended, if it has.
    pub fn end(&self) -> Option<End> {
        End::from(self.end.load(Ordering::Acquire))
    }

    /// Whether the lock is held at `now`.
    pub fn is_valid(&self, now: u64) -> bool {
        self.end().is_none() && self.until().is_some_and(|until| now < until)
    }

    /// Ends it. Says whether this was the first who said so: who was must carry it out, everybody else has nothing to do.
    pub fn finish(&self, how: End) -> bool {
        let first = self.end.compare_exchange(NOT_ENDED, how as u8, Ordering::AcqRel, Ordering::Acquire).is_ok();
        if first {
            let listeners = std::mem::take(&mut *lock(&self.listeners));
            listeners.into_iter().for_each(Waker::wake);
        }
        first
    }

    /// Ready when it has ended, however that was.
    pub fn poll_end(&self, cx: &mut Context<'_>) -> Poll<End> {
        if let Some(end) = self.end() {
            return Poll::Ready(end);
        }
        let mut listeners = lock(&self.listeners);
        if !listeners.iter().any(|waker| waker.will_wake(cx.waker())) {
            listeners.push(cx.waker().clone());
        }
        drop(listeners);
        // It may have ended before the waker was there to be woken.
        self.end().map_or(Poll::Pending, Poll::Ready)
    }
}
