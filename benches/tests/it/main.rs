//! Counts first: what is compared has to be the same.

mod counts;
mod plain;
