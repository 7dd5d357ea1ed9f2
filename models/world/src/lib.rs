//! The world that lock protocols live in: clients, lock servers, the protected resource, the network between them, a
//! clock for each process, and a budget of faults.
//!
//! Three things are kept apart: what the servers granted, what each client believes, and what the resource accepted.
//! Time is relative and clamped, numbers that only ever grow are kept by rank, so the space of states is finite without
//! a horizon. Everything that can happen is an [`Action`]; [`World::actions`] lists them, [`World::apply`] carries
//! one out, [`World::pack`] makes of the result a few words of bits. [`Steps`] is the quick road to the same: it remembers
//! what steps come to, section by section.
//!
//! This crate never searches, never reads a file, and never names a scenario.
#![no_std]

extern crate alloc;

mod action;
mod duration;
mod event;
mod message;
mod mix;
mod numbers;
mod pack;
mod part;
mod property;
mod section;
mod server;
mod setup;
mod step;
mod steps;
mod store;
mod symmetry;
mod tick;
mod watched;
mod world;

pub use action::{Action, Process};
pub use event::{Event, Observer, Witness, Witnesses, fault_bit};
pub use message::{Body, Direction, Lane, Link, Links, Message, Sent, Site};
pub use pack::Packed;
pub use property::Findings;
pub use server::{Acquisition, Entry, Memory, Node, Replica, Request, Served};
pub use setup::*;
pub use steps::{Move, Moves, Steps};
pub use store::{Account, CURRENT, OUTDATED, Stored, WRITTEN};
pub use symmetry::{Permutation, Symmetry};
pub use watched::Watched;
pub use world::{Client, Flags, Mail, Running, World};
