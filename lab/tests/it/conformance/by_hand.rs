//! Sequences written by hand.
