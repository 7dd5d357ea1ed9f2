//! `lab conform`: random walks of the model, on real servers as well.

use std::time::{Duration, Instant};

use check::scenario::Scenario;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use world::{Action, Setup, Witnesses, World};

use super::check::Plan;
use super::one::one;
use crate::args::{Changes, Settled};
use crate::cli::{self, Format};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::interrupt;
use crate::output::{Output, tell};
use crate::render;
use crate::replay::{Ending, Outcome, Stage, replay};
use crate::target::Target;

/// What came of the walks.
#[derive(Clone, Debug)]
pub(crate) struct Conformed {
    pub(crate) called: String,
    pub(crate) scenario: Scenario,
    pub(crate) seed: u64,
    /// How many walks were taken, and how many of them ended early because real servers cannot be made to go on.
    pub(crate) walks: u32,
    pub(crate) cut: u32,
    pub(crate) steps: u64,
    /// The walk on which the model and the servers part: its number, its choices, and what came of it.
    pub(crate) parted: Option<(u32, Vec<Action>, Outcome)>,
    pub(crate) elapsed: Duration,
}

impl Conformed {
    /// What it comes to.
    pub(crate) fn exit(&self) -> Exit {
        match &self.parted {
            Some(_) => Exit::Diverged,
            None if self.cut == self.walks && self.walks > 0 => Exit::NotReplayable,
            None => Exit::Holds,
        }
    }
}

/// Takes the walks.
pub(super) fn run(raw: &cli::Conform, settled: &Settled, output: &mut Output) -> Result<Exit, Failure> {
    let faults = (!raw.faults.is_empty()).then(|| raw.faults.join(","));
    let changes = Changes { set: raw.set.clone(), faults, ..Changes::default() };
    let plans = plans(&raw.target, &changes)?;
    interrupt::listen(true);
    let mut all = Vec::new();
    for plan in plans {
        let conformed = conform(&plan.name(), &plan.scenario, raw, settled)?;
        if raw.format == Format::Text {
            output.put(&render::replay::conformed(&conformed, settled))?;
        }
        all.push(conformed);
        if interrupt::is_interrupted() {
            break;
        }
    }
    if raw.format == Format::Json {
        output.put(&render::replay::conformed_json(&all))?;
    }
    Ok(Exit::first(all.iter().map(Conformed::exit)))
}

/// What is walked through: of a sheet, all its rows.
fn plans(called: &str, changes: &Changes) -> Result<Vec<Plan>, Failure> {
    let rows = match Target::find(called) {
        Ok(target) if changes.faults.is_none() => target.scenario.rows.len(),
        Ok(_) | Err(_) => 0,
    };
    if rows == 0 {
        return one(called, changes, None).map(|plan| vec![plan]);
    }
    (1..=rows).map(|row| one(&format!("{called}#{row}"), changes, None)).collect()
}

fn conform(called: &str, scenario: &Scenario, raw: &cli::Conform, settled: &Settled) -> Result<Conformed, Failure> {
    let setup = scenario.resolve().map_err(|errors| Failure::scenario(&errors, None))?;
    let failed = |trouble: crate::replay::Trouble| Failure::input(trouble.to_string());
    let names = scenario.resource_names();
    let mut stage = Stage::new(&setup).map_err(failed)?;
    let began = Instant::now();
    let mut told = began;
    let mut conformed = Conformed {
        called: called.to_owned(),
        scenario: scenario.clone(),
        seed: raw.seed,
        walks: 0,
        cut: 0,
        steps: 0,
        parted: None,
        elapsed: Duration::ZERO,
    };
    for number in 0..raw.walks {
        if interrupt::is_interrupted() {
            break;
        }
        let choices = walk(&setup, &mut StdRng::seed_from_u64(raw.seed.wrapping_add(number.into())), raw.steps);
        let outcome = replay(&setup, &names, &choices, &mut stage, |_, _| {}).map_err(failed)?;
        conformed.walks += 1;
        conformed.steps += outcome.steps as u64;
        match outcome.ending {
            Ending::Complete => {}
            Ending::NotReplayable { .. } => conformed.cut += 1,
            Ending::Diverged { .. } | Ending::Impossible { .. } => {
                conformed.parted = Some((number, choices, outcome));
                break;
            }
        }
        if settled.progress && told.elapsed() > Duration::from_secs(1) {
            told = Instant::now();
            tell(&format!("\r\u{1b}[K{called}  {} walks, {} steps", conformed.walks, conformed.steps));
        }
    }
    if settled.progress {
        tell("\r\u{1b}[K");
    }
    conformed.elapsed = began.elapsed();
    Ok(conformed)
}

/// A random walk of the model: each step is drawn from all that can happen.
pub(crate) fn walk(setup: &Setup, random: &mut StdRng, most: u32) -> Vec<Action> {
    let mut world = World::new(setup);
    let (mut walk, mut possible) = (Vec::new(), Vec::new());
    for _ in 0..most {
        possible.clear();
        world.actions(setup, &mut possible);
        // Time alone may pass for ever: there is nothing else to do.
        if possible.is_empty() || possible == [Action::Tick] && world.is_finished(setup) {
            break;
        }
        let action = possible[random.random_range(0..possible.len())];
        world.apply(setup, action, &mut Witnesses::default());
        walk.push(action);
    }
    walk
}
