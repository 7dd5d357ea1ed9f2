//! Scenarios, the exhaustive search of their worlds, and what comes out of it.
//!
//! [`Scenario`](scenario::Scenario) says what is checked, [`check`] explores it and gives a [`Report`] with a verdict for
//! each property and a [`trace::Trace`] for each violation. [`catalogue`] holds the scenarios that come with the lab.
//!
//! [`repair`] turns knobs until what is violated holds, and [`diff`] finds the keys that make the difference between two
//! scenarios: both by running what lies near.
//!
//! This crate never reads a clock, and prints nothing.

pub mod catalogue;
mod choice;
pub mod diff;
pub mod explore;
mod model;
mod narrate;
pub mod repair;
mod report;
pub mod scenario;
mod schedules;
mod verdict;
pub mod weakest;

pub use choice::{Choice, NoChoice};
pub use model::{LockModel, Scratch};
pub use narrate::retell;
pub use report::{Ending, Engine, Interchangeable, Limits, PropertyReport, Report, States, WitnessReport};
pub use verdict::{asked, check};
