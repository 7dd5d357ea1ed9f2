//! The built binary, run as somebody would run it.

mod bad;
mod codes;
mod files;
mod help;
mod json;
mod limits;
mod run;
mod text;
