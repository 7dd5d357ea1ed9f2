//! `lab weakest`: the smallest faults that break a lock.

use std::time::{Duration, Instant};

use check::scenario::{Named, Property, Scenario};
use check::weakest::{Ask, Break, Runner, Stage, TICKS, Weakest, faults_text, number, weakest};
use check::{Limits, Report};
use world::Budget;

use crate::args::{Settled, WeakestArgs};
use crate::cli::Format;
use crate::exit::Exit;
use crate::failure::{Failure, shown};
use crate::interrupt;
use crate::monitor::Watch;
use crate::output::Output;
use crate::quote::quoted;
use crate::render;
use crate::target::Target;

/// What was found, and of what.
#[derive(Clone, Debug)]
pub(crate) struct Findings {
    /// What the scenario was called by.
    pub(crate) called: String,
    /// The flags that change it.
    flags: String,
    /// The scenario without faults.
    pub(crate) scenario: Scenario,
    /// What was found.
    pub(crate) found: Weakest,
    /// How long a tick is.
    pub(crate) scale: Option<Scale>,
    /// How long it took.
    pub(crate) elapsed: Duration,
}

impl Findings {
    /// The command that shows the counterexample of a set.
    pub(crate) fn command(&self, property: Property, set: &Break) -> String {
        let knobs: String = set.set.iter().map(|knob| format!(" --set {}", quoted(knob))).collect();
        let faults = faults_text(&set.scenario.faults);
        let (called, flags) = (quoted(&self.called), &self.flags);
        format!("lab check {called}{flags}{knobs} --faults {faults} --property {}", property.name())
    }

    /// Whether everything is known: that a lock breaks is what it was asked for.
    pub(crate) fn exit(&self) -> Exit {
        if self.found.is_complete() { Exit::Holds } else { Exit::Inconclusive }
    }
}

/// How long a tick is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Scale {
    /// The number of the scenario that was told in milliseconds.
    pub(crate) key: &'static str,
    /// How many ticks it is.
    pub(crate) ticks: u32,
    /// How many milliseconds it is.
    pub(crate) ms: u64,
}

impl Scale {
    /// So many ticks in milliseconds, rounded.
    pub(crate) fn of(&self, ticks: u32) -> u64 {
        let (ms, of) = (u128::from(self.ms) * u128::from(ticks), u128::from(self.ticks));
        u64::try_from((ms + of / 2) / of).unwrap_or(u64::MAX)
    }
}

/// Finds them and shows them.
pub(crate) fn run(args: &WeakestArgs, settled: &Settled, output: &mut Output) -> Result<Exit, Failure> {
    let mut target = Target::find(&args.target)?;
    target.change(&args.changes)?;
    let mut scenario = target.scenario;
    let within = args.faults.as_deref().map(budget).transpose()?;
    scenario.set_faults("none").map_err(|errors| Failure::scenario(&errors, None))?;
    scenario.resolve().map_err(|errors| Failure::scenario(&errors, None))?;
    let scale = scale(args, &scenario)?;
    let ask = Ask { most: args.most, within, formulas: args.formulas, limits: args.limits.clone() };
    interrupt::listen(true);
    let began = Instant::now();
    let mut runner = Watched { args, settled, failure: None };
    let found = weakest(&scenario, &ask, &mut runner).map_err(|errors| Failure::scenario(&errors, None))?;
    if let Some(failure) = runner.failure {
        return Err(failure);
    }
    let flags = args.changes.flags();
    let findings = Findings { called: args.target.clone(), flags, scenario, found, scale, elapsed: began.elapsed() };
    output.put(&match args.format {
        Format::Text => render::weakest::text(&findings, args, settled),
        Format::Json => render::weakest_json::json(&findings, args),
    })?;
    Ok(findings.exit())
}

/// Faults as somebody wrote them.
fn budget(text: &str) -> Result<Budget, Failure> {
    let mut asked = Scenario::new("faults", "faults");
    asked.set_faults(text).map_err(|errors| Failure::scenario(&errors, None))?;
    Ok(asked.faults)
}

/// How long a tick is, if somebody said so.
fn scale(args: &WeakestArgs, scenario: &Scenario) -> Result<Option<Scale>, Failure> {
    let mut scales = Vec::new();
    for text in &args.ms {
        scales.push(one_scale(text, scenario)?);
    }
    let Some(first) = scales.first().cloned() else { return Ok(None) };
    let is_other =
        |s: &&Scale| u128::from(s.ms) * u128::from(first.ticks) != u128::from(first.ms) * u128::from(s.ticks);
    if let Some(other) = scales.iter().find(is_other) {
        return Err(Failure::usage(format!(
            "--ms: a tick cannot be {} ms by {} and {} ms by {}\n  help: leave one of them out, or change the ticks \
             with --set",
            first.of(1),
            first.key,
            other.of(1),
            other.key
        )));
    }
    Ok(Some(first))
}

fn one_scale(text: &str, scenario: &Scenario) -> Result<Scale, Failure> {
    let said = shown(text);
    let Some((key, ms)) = text.split_once('=') else {
        return Err(Failure::usage(format!("--ms: expected KEY=MS such as TTL=30000, found {said}")));
    };
    let wanted = key.trim().to_lowercase().replace('-', "_");
    let Some(key) = TICKS.into_iter().find(|known| *known == wanted) else {
        let near = TICKS.into_iter().min_by_key(|known| strsim::damerau_levenshtein(known, &wanted));
        return Err(Failure::usage(format!(
            "--ms: unknown number {}\n  help: did you mean {}? The numbers in ticks are {}",
            shown(key),
            near.unwrap_or("ttl"),
            TICKS.join(", ")
        )));
    };
    let ms = ms.trim().replace('_', "").parse::<u64>().ok().filter(|ms| *ms > 0);
    let Some(ms) = ms else {
        return Err(Failure::usage(format!("--ms: {key}: expected a number of milliseconds from 1, found {said}")));
    };
    match number(&scenario.settings, key) {
        Some(ticks) if ticks > 0 => Ok(Scale { key, ticks, ms }),
        Some(_) | None => Err(Failure::usage(format!(
            "--ms: {key} is {} in this scenario, which is no length\n  help: name another number, such as TTL=30000",
            number(&scenario.settings, key).map_or("unlimited".to_owned(), |ticks| ticks.to_string())
        ))),
    }
}

/// Runs checks, and watches them.
struct Watched<'a> {
    args: &'a WeakestArgs,
    settled: &'a Settled,
    failure: Option<Failure>,
}

impl Runner for Watched<'_> {
    fn run(&mut self, stage: Stage, scenario: &Scenario, limits: &Limits) -> Option<Report> {
        if interrupt::is_interrupted() || self.failure.is_some() {
            return None;
        }
        let faults = render::weakest::named(&scenario.faults, self.settled.ascii);
        let label = match stage {
            Stage::Set { number, of } => format!("[{number}/{of}] {faults}"),
            Stage::Magnitude => format!("how small: {faults}"),
            Stage::Formula => format!("by which formula: {faults}"),
        };
        let mut watch = Watch::new(self.settled.progress.then_some(label), self.args.timeout, self.args.memory);
        let report = check::check(scenario, limits, &mut watch);
        watch.end();
        match report {
            Ok(report) => Some(report),
            Err(errors) => {
                self.failure = Some(Failure::Bug(errors.to_string()));
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Scale;

    #[test]
    fn ticks_are_rounded_to_milliseconds() {
        let scale = Scale { key: "ttl", ticks: 3, ms: 10_000 };
        assert_eq!([0, 1, 2, 3, 4].map(|ticks| scale.of(ticks)), [0, 3333, 6667, 10_000, 13_333]);
    }
}
