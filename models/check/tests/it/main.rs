//! Tests of the crate as its users see it.

mod catalogue;
mod determinism;
mod engines;
mod explore;
mod limits;
mod support;
mod teeth;
