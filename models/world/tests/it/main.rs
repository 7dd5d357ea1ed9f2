//! The world, step by step: transcripts that read as documentation, and laws that hold on random walks.

mod laws;
mod random;
