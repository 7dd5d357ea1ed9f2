//! The renderers, on traces made by hand.

mod samples;
mod terminal;
