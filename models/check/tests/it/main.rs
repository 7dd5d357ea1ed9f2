//! Tests of the crate as its users see it.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod catalogue;
mod determinism;
mod diff;
mod draw;
mod engines;
mod explore;
mod extremes;
mod limits;
mod mutation;
mod oracle;
mod repair;
mod support;
mod symmetry;
mod teeth;
