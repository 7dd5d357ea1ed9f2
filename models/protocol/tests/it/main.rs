//! The lock protocols, step by step: a client is driven by hand, and what it says is compared word for word.

mod harness;

mod fencing;
mod laws;
mod multilock;
mod program;
mod quorum;
mod renewal;
mod retry;
mod single;
mod validity;
