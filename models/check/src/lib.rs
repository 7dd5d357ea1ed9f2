//! Scenarios, the exhaustive search of their worlds, and what comes out of it.
//!
//! [`Scenario`](scenario::Scenario) says what is checked, [`check`] explores it and gives a [`Report`] with a verdict for
//! each property and a [`trace::Trace`] for each violation. [`catalogue`] holds the scenarios that come with the lab.
//!
//! This crate never reads a clock, and prints nothing.

pub mod catalogue;
pub mod explore;
mod model;
mod narrate;
mod report;
pub mod scenario;
mod verdict;
pub mod weakest;

pub use model::LockModel;
pub use report::{Ending, Engine, Limits, PropertyReport, Report, States, WitnessReport};
pub use verdict::{asked, check};
