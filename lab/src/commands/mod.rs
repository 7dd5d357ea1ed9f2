//! What each command does.

mod attend;
pub(crate) mod check;
pub(crate) mod conform;
pub(crate) mod diff;
mod doctor;
mod list;
pub(crate) mod matrix;
mod one;
pub(crate) mod repair;
pub(crate) mod replay;
mod runner;
mod show;
pub(crate) mod stress;
mod trace;
mod up;
pub(crate) mod weakest;

use clap::CommandFactory;

use crate::args::{CheckArgs, DiffArgs, MatrixArgs, RepairArgs, Settled, WeakestArgs};
use crate::cli::{Cli, Command, Format, MatrixFormat};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Output;

/// Runs a command.
pub(crate) fn run(command: Command, settled: &Settled, output: &mut Output) -> Result<Exit, Failure> {
    match command {
        Command::List(list) => list::run(&list, settled, output),
        Command::Show(show) => show::run(&show, settled, output),
        Command::Check(raw) => {
            let format = raw.format;
            let done = CheckArgs::new(*raw).and_then(|args| check::run(&args, settled, output));
            done.inspect_err(|failure| check::explain(failure, format, output))
        }
        Command::Matrix(raw) => {
            let is_json = raw.format == MatrixFormat::Json;
            let done = matrix::run(&MatrixArgs::new(*raw), settled, output);
            let format = if is_json { Format::Json } else { Format::Text };
            done.inspect_err(|failure| check::explain(failure, format, output))
        }
        Command::Weakest(raw) => {
            let args = WeakestArgs::new(*raw);
            let done = weakest::run(&args, settled, output);
            done.inspect_err(|failure| check::explain(failure, args.format, output))
        }
        Command::Repair(raw) => {
            let format = raw.format;
            let done = repair::run(&RepairArgs::new(*raw), settled, output);
            done.inspect_err(|failure| check::explain(failure, format, output))
        }
        Command::Diff(raw) => {
            let format = raw.format;
            let done = diff::run(&DiffArgs::new(*raw), settled, output);
            done.inspect_err(|failure| check::explain(failure, format, output))
        }
        Command::Stress(raw) => {
            let format = raw.format;
            let done = stress::run(*raw, settled, output);
            done.inspect_err(|failure| check::explain(failure, format, output))
        }
        Command::Replay(raw) => {
            let format = raw.format;
            let done = replay::run(&raw, settled, output);
            done.inspect_err(|failure| check::explain(failure, format, output))
        }
        Command::Conform(raw) => {
            let format = raw.format;
            let done = conform::run(&raw, settled, output);
            done.inspect_err(|failure| check::explain(failure, format, output))
        }
        Command::Up(raw) => {
            let done = up::run(&raw, settled, output);
            done.inspect_err(|failure| check::explain(failure, raw.format, output))
        }
        Command::Doctor(raw) => doctor::run(&raw, settled, output),
        Command::Runner(raw) => runner::run(raw, output),
        Command::Trace(raw) => trace::run(raw, settled, output),
        Command::Completions { shell } => {
            let mut text = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "lab", &mut text);
            output.put(&String::from_utf8_lossy(&text))?;
            Ok(Exit::Holds)
        }
        Command::Man { command } => {
            output.put(&manual(command.as_deref()))?;
            Ok(Exit::Holds)
        }
    }
}

/// The man page of a command, or of all.
fn manual(command: Option<&str>) -> String {
    let mut all = Cli::command();
    all.build();
    let page = command.and_then(|name| all.find_subcommand(name).cloned()).unwrap_or(all);
    let mut text = Vec::new();
    // Nothing can go wrong with writing into memory.
    let _ = clap_mangen::Man::new(page).render(&mut text);
    String::from_utf8_lossy(&text).into_owned()
}
