//! The built binary, run as somebody would run it.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking; the setting for tests spares only test functions")]

mod bad;
mod codes;
mod conformance;
mod diff;
mod files;
mod help;
mod json;
mod limits;
mod matrix;
mod readme;
mod real;
mod repair;
mod replay;
mod run;
mod service;
mod stress;
mod text;
mod trace;
mod weakest;
