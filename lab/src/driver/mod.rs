//! Drives a core over real connections: the same state machine that the checker explores.
//!
//! A core wants requests sent, moments waited for, and the ends of operations told. The [`Pilot`] does just that. It reads
//! a monotonic clock at every step and never trusts a sleep to have been as long as it was asked to be. One tick of the core
//! is a millisecond.

mod clock;
mod core;
mod pilot;

pub(crate) use core::{Core, Terms};
pub(crate) use pilot::{Carrier, End, Happened, Pilot};
