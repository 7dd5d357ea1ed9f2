//! Lock protocols as sans-IO state machines.
//!
//! Each core is written once. The checker runs it against simulated servers under every interleaving; a driver runs it
//! against real ones. A core never sees a clock, a socket, a random number or an error: time is an argument, results
//! are inputs, and what is to be done goes to an [`Outbox`] that the caller owns.
//!
//! * [`Locks`]: the locks of one client, each on a quorum of servers (a single server is a quorum of one), nested.
//! * [`Worker`]: the locks and the program that runs under them.
//! * [`Policy`]: every decision that a lock protocol takes, sound or not.
//!
//! This crate never names a scenario, a server, a client library or a clock.
#![no_std]

mod ids;
mod lease;
mod locks;
mod policy;
mod tape;
mod wake;
mod wire;
mod worker;

pub use ids::*;
pub use locks::{Config, Locks, Standing};
pub use policy::*;
pub use tape::Tape;
pub use wake::Window;
pub use wire::*;
pub use worker::Worker;
