//! What is printed. A view reads what was found, and decides nothing.

mod answer;
mod counts;
pub(crate) mod diff;
pub(crate) mod diff_json;
mod finish;
pub(crate) mod json;
pub(crate) mod lines;
pub(crate) mod list;
pub(crate) mod matrix;
pub(crate) mod matrix_json;
mod page;
pub(crate) mod repair;
pub(crate) mod repair_json;
pub(crate) mod replay;
pub(crate) mod sheet;
pub(crate) mod show;
mod signs;
pub(crate) mod single;
pub(crate) mod stress;
pub(crate) mod stress_json;
pub(crate) mod stress_plot;
mod table;
pub(crate) mod trace;
pub(crate) mod weakest;
pub(crate) mod weakest_json;

pub(crate) use counts::grouped;
pub(crate) use finish::{cut, unreached};
pub(crate) use page::Paint;
