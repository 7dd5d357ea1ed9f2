//! How fast the checker is, how much memory it takes, and how it compares with stateright.
//!
//! [`small`] is a model that costs next to nothing by itself, so that the searches are compared; [`lease`] is a lease of
//! the world written again for stateright's actors; [`case`] names what is measured and runs it. The binary measures each
//! in a process of its own and writes `benches/results/`.

pub mod case;
pub mod child;
pub mod compare;
pub mod growth;
pub mod lease;
pub mod plot;
pub mod ratios;
pub mod report;
pub mod small;
pub mod usage;
