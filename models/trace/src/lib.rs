//! Counterexamples as plain data, and their renderers.
//!
//! A [`Trace`] is a scenario, a property and the steps that violate it, in strings and small numbers. Whoever finds
//! one (the checker, or a recorded run against real servers) builds it; every renderer reads nothing else. This crate
//! never sees a protocol type, never reads a clock and never touches a file.
//!
//! The road of a trace:
//!
//! 1. build a [`Trace`], the steps with [`Step::new`] and the fields that apply;
//! 2. [`cone::mark`] it, which decides what of it matters;
//! 3. hand it to a renderer: [`render::terminal::render`], [`render::json::to_json`], [`render::itf::to_itf`] or
//!    [`render::mermaid::to_mermaid`].

pub mod beside;
pub mod cone;
pub mod model;
pub mod render;
pub mod step;

pub use beside::{Beside, Side};
pub use model::{Actor, ActorKind, FaultBudget, PropertyRef, SCHEMA, ScenarioRef, Trace};
pub use step::{Change, Clock, Fate, Hop, Step, StepKind, TIME};
