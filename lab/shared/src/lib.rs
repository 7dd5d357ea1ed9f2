//! What the threads of a lock share: the task that drives a lock, whoever holds its guard, and those who wait for the same
//! lock in the same process.
//!
//! * [`Tenure`]: until when a lock is held, with which fencing token, whether it is lost, and who ends it.
//! * [`Queue`]: of those who want the same lock, one asks the servers, the others wait here for their turn.
//!
//! There is no runtime, no clock and no connection here, so that the tests can let [loom] try every interleaving
//! (`RUSTFLAGS="--cfg loom" cargo test -p lock-shared --release`).
//!
//! # What loom does not model
//!
//! * Time. It shows that a deadline is never seen before its token; that a holder stops in time is shown by the checker and
//!   by the tests with real servers.
//! * The runtime's scheduler: tasks are threads here, a waker is a flag, and every wake-up leads to a poll.
//! * Reorderings beyond those of the C11 model that it implements: `SeqCst` accesses count as acquire and release (nothing
//!   here needs more), and loads do not see values from the future.
//! * More than a few threads and steps: each test is bounded, and within its bound it is exhaustive.
//!
//! [loom]: https://docs.rs/loom

mod queue;
mod sync;
mod tenure;

pub use queue::{Queue, Ticket};
pub use tenure::{End, Tenure};
