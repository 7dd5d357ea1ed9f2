//! A lock that is held.

use std::future::poll_fn;
use std::sync::Arc;

use shared::{End, Tenure};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Duration, Instant};

use super::seat::Order;
use super::{ExtendError, ReleaseError, Released};

/// A lock that is held. Dropping it gives the lock back in the background, without blocking.
#[derive(Debug)]
pub struct Guard {
    tenure: Arc<Tenure>,
    origin: Instant,
    margin: Duration,
    orders: mpsc::UnboundedSender<Order>,
}

impl Guard {
    pub(super) fn new(
        tenure: Arc<Tenure>,
        origin: Instant,
        margin: Duration,
        orders: mpsc::UnboundedSender<Order>,
    ) -> Self {
        Self { tenure, origin, margin, orders }
    }

    /// The fencing token: greater than that of every earlier holder. None with several servers, see
    /// [`Locker::redlock`](super::Locker::redlock), or if the lock is `unfenced`.
    pub fn fence(&self) -> Option<u64> {
        self.tenure.fence()
    }

    /// When the lock ends, unless it is extended before. Its loss is told a margin earlier.
    pub fn valid_until(&self) -> Instant {
        self.origin + Duration::from_millis(self.tenure.until().unwrap_or(0))
    }

    /// Whether the lock is held now, with the margin left. A look at a clock and at memory: nobody is asked.
    pub fn is_valid(&self) -> bool {
        self.tenure.end().is_none() && Instant::now() + self.margin < self.valid_until()
    }

    /// Ready when the lock is lost: when a renewal is refused, at once; when none is answered, or none is asked for, a margin
    /// before its end.
    pub async fn lost(&self) {
        poll_fn(|cx| self.tenure.poll_end(cx)).await;
    }

    /// Asks for more time: a TTL from now. Says until when the lock lasts then.
    ///
    /// Dropping the future changes nothing: the question is on its way.
    ///
    /// # Errors
    /// If the lock is lost, or too few servers answer; in the second case it is held for as long as it was before.
    pub async fn extend(&self) -> Result<Instant, ExtendError> {
        let (answer, heard) = oneshot::channel();
        self.orders.send(Order::Extend(answer)).map_err(|_| ExtendError::Lost)?;
        heard.await.unwrap_or(Err(ExtendError::Lost))?;
        Ok(self.valid_until())
    }

    /// Gives the lock back, and waits until a majority of the servers has said so. Dropping the future does not take the
    /// release back.
    ///
    /// # Errors
    /// If too few servers answer.
    pub async fn release(self) -> Result<Released, ReleaseError> {
        self.tenure.finish(End::Released);
        let (answer, heard) = oneshot::channel();
        if self.orders.send(Order::Release(Some(answer))).is_err() {
            return Ok(Released::WasGone);
        }
        heard.await.unwrap_or(Err(ReleaseError::Unanswered))
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.tenure.finish(End::Dropped);
        // After a release it is an order too many, and does nothing. Without a driver nobody is left to renew.
        let _ = self.orders.send(Order::Release(None));
    }
}
