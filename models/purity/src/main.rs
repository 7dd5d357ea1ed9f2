//! Whether a search comes to the same on a target that has no clock, no thread, no file and no randomness.
//!
//! Built as usual, it prints what it finds. Built with that text in the variable `PURITY_EXPECTED`, it succeeds if it
//! finds the same, to the byte: on wasm32-unknown-unknown the exit code is all that a program can say.

use std::fmt::Write;
use std::process::ExitCode;

use check::explore::Unwatched;
use check::scenario::Named;
use check::{Limits, catalogue, check};
use trace::render::json::to_json;

/// One that holds and one that is violated, both small.
const SCENARIOS: [&str; 2] = ["redlock-all-at-once", "redlock-restart"];

fn main() -> ExitCode {
    let Some(found) = SCENARIOS.iter().map(|id| tell(id)).collect::<Option<String>>() else {
        eprintln!("a scenario is missing from the catalogue, or is refused");
        return ExitCode::FAILURE;
    };
    match option_env!("PURITY_EXPECTED") {
        Some(expected) if expected.trim_end() != found.trim_end() => ExitCode::FAILURE,
        Some(_) => ExitCode::SUCCESS,
        None => {
            print!("{found}");
            ExitCode::SUCCESS
        }
    }
}

/// The counts, the verdicts and the first counterexample of a scenario of the catalogue.
fn tell(id: &str) -> Option<String> {
    let scenario = catalogue::find(id).ok()??;
    let report = check(&scenario, &Limits::default(), &mut Unwatched).ok()?;
    let mut text = format!("{id} {:?} {:?}\n", report.states, report.ending);
    for found in &report.properties {
        writeln!(text, "{} {}", found.property.name(), found.verdict.name()).ok()?;
    }
    text.extend(report.properties.iter().find_map(|found| found.trace()).map(to_json));
    Some(text)
}
