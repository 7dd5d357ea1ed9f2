//! Drives a core over real connections: the same state machine that the checker explores.
//!
//! A core wants requests sent, moments waited for, and the ends of operations told. The [`Pilot`] does just that. It reads
//! a monotonic clock at every step and never trusts a sleep to have been as long as it was asked to be. One tick of the core
//! is a millisecond.

mod clock;
mod core;
mod pilot;
mod redis;

pub(crate) use core::{Terms, Wall};
pub(crate) use pilot::{Belief, Carrier, End, Pilot};
pub(crate) use redis::{Redis, Request, Unwatched, Watch};
