//! The binary `lab`. All of it is in the library beside it.

use std::process::ExitCode;

fn main() -> ExitCode {
    lab::run(std::env::args_os().collect())
}
