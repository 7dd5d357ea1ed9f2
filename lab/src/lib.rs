//! Lock Lab on the command line: lists, explains and checks lock scenarios.
//!
//! [`run`] is the whole program. The road of `lab check`: raw flags (`cli`) → resolved arguments (`args`) → scenarios
//! (`target`) → planned checks and their reports (`commands::check`) → a view of them (`render`) and an exit code
//! (`exit`). Results go to stdout, everything else to stderr.
//!
//! # Exit codes
//!
//! | code | meaning |
//! |---|---|
//! | 0 | everything asked for holds, exhaustively, and every witness was reached; with `--expect`: all as expected |
//! | 11 | the lock can stay taken for ever, or a client stuck: `no-orphan` or `deadlock-free` is violated |
//! | 12 | a safety property is violated |
//! | 20 | inconclusive: a limit was hit |
//! | 10 | of `lab diff`: a verdict differs |
//! | 21 | vacuous: nothing is violated, but a witness was never reached |
//! | 30 | with `--expect`: an expected violation is absent |
//! | 31 | with `--expect`: there is a violation that is not expected |
//! | 1 | input, output or a bad file |
//! | 2 | wrong usage |
//! | 70 | a bug of the lab |
//! | 130 | ended by a second Ctrl-C |
//!
//! Of several, the first that applies of 70, 2, 1, 12, 11, 20, 21, 0; with `--expect`, of 70, 2, 1, 31, 30, 20, 21, 0:
//! a violation that nobody expected is the more urgent news.
//!
//! `lab matrix` and `lab weakest` are surveys, not checks: 0 if everything is known, 20 if something is not.
//!
//! `lab repair` ends with 0 if everything that is violated can be repaired, with 12 or 11 if something cannot, and with 20
//! if that is not known; `lab diff` with 0 if all verdicts are the same, 10 if not, and 20 if that is not known.
//!
//! `lab replay` ends with 0 if the counterexample was reproduced (with `--with`: if the schedule does no harm, or else with 12), 40
//! if the model and the real run part, 41 if nothing came of it, and 42 if real servers cannot be made to do it; `lab conform` with
//! 0, 40 or 42.
//!
//! `lab stress` ends with 0 if nothing was seen that a safety property forbids, with 12 if something was (11 if a lock stands for ever when
//! all have left), with 31 if it was
//! something that the checker says cannot be, with 21 if no fault fell into a held lease, and with 20 if nothing was seen but
//! the checker could not decide everything.
//!
//! `lab up` and `lab runner` end with 0 when they are asked to end, `lab doctor` with 0 if all that is needed is there, and 1
//! if something is missing.
//!
//! The JSON that `--format json` prints is described in `lab/SCHEMA.md`.

pub mod account;
mod args;
mod backend;
mod cache;
mod cli;
mod commands;
mod driver;
mod exit;
mod expectation;
mod failure;
mod guard;
mod interrupt;
pub mod lock;
mod monitor;
pub mod nodes;
mod output;
mod quote;
mod render;
mod replay;
mod runner;
pub mod servers;
mod stress;
mod target;
mod tracefile;
pub mod words;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory, FromArgMatches};

use crate::args::Settled;
use crate::cli::Cli;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Output;

/// Runs the command line, the name of the program included, and gives the exit code.
///
/// Never panics: a panic inside becomes the exit code 70.
pub fn run(arguments: Vec<OsString>) -> ExitCode {
    let command = Cli::command().color(args::colour_of_clap(&arguments));
    let cli = match command.try_get_matches_from(arguments).and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(cli) => cli,
        Err(error) => return misread(&error),
    };
    let settled = Settled::new(&cli.globals);
    let mut output = Output::default();
    let done = guard::guarded(|| commands::run(cli.command, &settled, &mut output));
    let exit = match done.unwrap_or_else(|bug| Err(Failure::Bug(bug))) {
        Ok(exit) => exit,
        Err(failure) => {
            failure.report(&settled);
            failure.exit()
        }
    };
    ExitCode::from(exit.code())
}

/// What clap says: help and version on stdout, errors on stderr.
fn misread(error: &clap::Error) -> ExitCode {
    // Nobody is there to read it if it cannot be printed.
    let _ = error.print();
    let was_asked = matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
    ExitCode::from(if was_asked { Exit::Holds } else { Exit::Usage }.code())
}
