//! The world, step by step: transcripts that read as documentation, and laws that hold on random walks.

mod knobs;
mod laws;
mod random;
mod symmetry;
mod transcripts;
mod words;
