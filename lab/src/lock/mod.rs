//! Distributed locks over Redis, driven by the very state machines that the checker explores.
//!
//! ```no_run
//! use std::time::Duration;
//! use lab::lock::Locker;
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let locker = Locker::redis("redis://127.0.0.1:6379/")?;
//! let lock = locker.lock("invoice:17")?.ttl(Duration::from_secs(10)).renewed();
//! let guard = lock.acquire_within(Duration::from_secs(2)).await?;
//! // Work, and give the token to whoever stores the result.
//! let token = guard.fence();
//! guard.release().await?;
//! # Ok(())
//! # }
//! ```
//!
//! * [`Locker`]: the servers. [`Locker::redis`] is one server, [`Locker::redlock`] several of which a majority must agree.
//! * [`Lock`]: one lock, or several that are taken in a fixed order, and its terms: TTL, renewal, retries.
//! * [`Guard`]: a lock that is held. Dropping it gives the lock back in the background.
//!
//! What is offered here is sound: under pauses, delays and losses of messages no two clients whose guards are valid hold the
//! lock at once, as long as clocks run at about the same speed and servers do not forget (`lab check` shows what happens when
//! they do). What a holder does with a guard that has *become* invalid no lock can stop: for that there are fencing tokens.

mod error;
mod guard;
mod locker;
pub mod metrics;
mod seat;
mod terms;

pub use error::{AcquireError, ExtendError, LockError, ReleaseError, Released};
pub use guard::Guard;
pub(crate) use locker::without_password;
pub use locker::{Lock, Locker};
pub use terms::{MAX_TTL, MIN_TTL};
