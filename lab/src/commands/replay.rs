//! `lab replay`: makes a counterexample happen on real servers.

use std::time::{Duration, Instant};

use check::scenario::{Named, Property, Scenario};
use check::{Choice, retell};
use trace::{Step, Trace};
use world::{Action, Setup};

use crate::args::Settled;
use crate::cli::{self, Format};
use crate::exit::Exit;
use crate::failure::{Failure, shown};
use crate::interrupt;
use crate::output::Output;
use crate::render;
use crate::replay::{Ending, Outcome, Stage, Trouble};
use crate::tracefile::read;

/// How a trace is replayed.
#[derive(Clone, Debug)]
pub(crate) struct Ask {
    /// What is turned.
    pub(crate) with: Vec<String>,
    /// How often.
    pub(crate) runs: u32,
    /// Whether each step is told.
    pub(crate) watch: bool,
}

impl Default for Ask {
    fn default() -> Self {
        Self { with: Vec::new(), runs: 1, watch: false }
    }
}

/// A replay that was done.
#[derive(Clone, Debug)]
pub(crate) struct Replay {
    pub(crate) scenario: Scenario,
    pub(crate) setup: Setup,
    pub(crate) property: Property,
    /// How many there are in the trace.
    pub(crate) total: usize,
    pub(crate) ask: Ask,
    /// The first run that is not like the others, or the last.
    pub(crate) outcome: Outcome,
    /// How many runs were done, and how many came out like the first.
    pub(crate) done: u32,
    pub(crate) alike: u32,
    pub(crate) elapsed: Duration,
}

impl Replay {
    /// What it comes to.
    pub(crate) fn exit(&self) -> Exit {
        let evidence = self.outcome.evidence(self.property);
        match (&self.outcome.ending, evidence) {
            _ if self.alike < self.done => Exit::Diverged,
            (Ending::Diverged { .. }, _) => Exit::Diverged,
            (Ending::NotReplayable { .. }, _) => Exit::NotReplayable,
            (_, Some(_)) if !self.ask.with.is_empty() => Exit::Violated,
            (_, None) if !self.ask.with.is_empty() => Exit::Holds,
            (Ending::Impossible { .. }, _) => Exit::Diverged,
            (Ending::Complete, Some(_)) => Exit::Holds,
            (Ending::Complete, None) => Exit::NotReproduced,
        }
    }

    /// The word for what it comes to.
    pub(crate) fn word(&self) -> &'static str {
        let exit = self.exit();
        match (exit == Exit::Holds, self.ask.with.is_empty()) {
            (true, true) => "reproduced",
            (true, false) => "harmless",
            (false, _) => exit.word(),
        }
    }
}

/// Replays a trace from a file.
pub(super) fn run(raw: &cli::Replay, settled: &Settled, output: &mut Output) -> Result<Exit, Failure> {
    let found = read(&raw.file, raw.property)?;
    let ask = Ask { with: raw.with.clone(), runs: raw.runs, watch: raw.watch && raw.format == Format::Text };
    interrupt::listen(true);
    let replay = replay(&found.trace, &ask, settled, output)?;
    output.put(&match raw.format {
        Format::Text => render::replay::text(&replay, settled),
        Format::Json => render::replay::json(&replay),
    })?;
    Ok(replay.exit())
}

/// Replays a trace.
///
/// # Errors
/// If it is no trace that can be replayed, or a server fails.
pub(crate) fn replay(trace: &Trace, ask: &Ask, settled: &Settled, output: &mut Output) -> Result<Replay, Failure> {
    let (mut scenario, property) = subject(trace)?;
    let choices = choices(trace)?;
    for assignment in &ask.with {
        scenario.set(assignment).map_err(|errors| Failure::scenario(&errors, Some(("--with", ""))))?;
    }
    let setup = scenario.resolve().map_err(|errors| Failure::scenario(&errors, None))?;
    let steps = retell(&scenario, &choices).map_err(|errors| Failure::scenario(&errors, None))?;
    let began = Instant::now();
    let part = if ask.with.is_empty() { parting(&trace.steps, &steps) } else { None };
    let (outcome, done, alike) = match part {
        Some(ending) => (Outcome { ending, steps: 0, damage: Vec::new(), balances: Vec::new() }, 1, 1),
        None => repeated(&scenario, &setup, &choices, &steps, ask, settled, output)?,
    };
    let (elapsed, total, ask) = (began.elapsed(), choices.len(), ask.clone());
    Ok(Replay { scenario, setup, property, total, ask, outcome, done, alike, elapsed })
}

fn repeated(
    scenario: &Scenario,
    setup: &Setup,
    choices: &[Action],
    steps: &[Step],
    ask: &Ask,
    settled: &Settled,
    output: &mut Output,
) -> Result<(Outcome, u32, u32), Failure> {
    let names = scenario.resource_names();
    let mut stage = Stage::new(setup).map_err(failed)?;
    let mut first: Option<Outcome> = None;
    let (mut done, mut alike) = (0, 0);
    while done < ask.runs && !(done > 0 && interrupt::is_interrupted()) {
        let mut told = Ok(());
        let look_on = |number: usize, choice: Choice| {
            if ask.watch && told.is_ok() {
                told = output.put(&render::replay::step(number, steps.get(number - 1), choice, settled));
            }
        };
        let outcome = crate::replay::replay(setup, &names, choices, &mut stage, look_on).map_err(failed)?;
        told?;
        done += 1;
        let is_alike = first.as_ref().is_none_or(|first| *first == outcome);
        alike += u32::from(is_alike);
        match is_alike {
            true => first = Some(outcome),
            false => return Ok((outcome, done, alike)),
        }
    }
    first.map(|outcome| (outcome, done, alike)).ok_or_else(|| Failure::Bug("nothing was replayed".to_owned()))
}

/// Where a trace is not as the model tells it.
fn parting(written: &[Step], told: &[Step]) -> Option<Ending> {
    let written = written.iter().map(|step| Step { matters: true, ..step.clone() });
    let mut told = told.iter().map(|step| Step { matters: true, ..step.clone() });
    for (number, written) in (1..).zip(written) {
        let why = match told.next() {
            Some(told) if told == written => continue,
            Some(told) => format!("the trace says `{}`, the model says `{}`", shown(&written.action), told.action),
            None => format!("the trace says `{}`, which cannot happen here", shown(&written.action)),
        };
        return Some(Ending::Diverged { step: number, why });
    }
    None
}

/// The scenario and the property of a trace.
fn subject(trace: &Trace) -> Result<(Scenario, Property), Failure> {
    let name = &trace.scenario.id;
    if trace.scenario.toml.is_empty() {
        return Err(Failure::input(format!(
            "{}: the trace does not carry its scenario\n  help: write it anew with this lab: {}",
            shown(name),
            shown(&trace.command)
        )));
    }
    let scenario = Scenario::parse(name, trace.scenario.toml.as_bytes());
    let scenario = scenario.map_err(|errors| Failure::scenario(&errors, None))?;
    if scenario.hash_text() != trace.scenario.hash {
        return Err(Failure::input(format!(
            "{}: the scenario in the trace has the hash {}, and the trace names {}",
            shown(name),
            scenario.hash_text(),
            shown(&trace.scenario.hash)
        )));
    }
    let property = Property::named(&trace.property.name)
        .ok_or_else(|| Failure::input(format!("{}: unknown property {}", shown(name), shown(&trace.property.name))))?;
    Ok((scenario, property))
}

fn choices(trace: &Trace) -> Result<Vec<Action>, Failure> {
    let choices = trace.steps.iter().enumerate().map(|(at, step)| {
        let choice = step.choice.parse::<Choice>();
        choice.map(|choice| choice.0).map_err(|error| Failure::input(format!("steps[{at}].choice: {error}")))
    });
    choices.collect()
}

fn failed(trouble: Trouble) -> Failure {
    Failure::input(trouble.to_string())
}
