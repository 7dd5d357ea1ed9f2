//! The renderers, on traces made by hand.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking; the setting for tests spares only test functions")]

mod beside;
mod diagrams;
mod samples;
mod terminal;
