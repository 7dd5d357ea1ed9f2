//! `lab diff`: which verdicts differ between two scenarios, and which keys make the difference.

use std::time::Duration;

use check::diff::{Diff, between, diff};
use check::scenario::{Difference, Named, Property, Scenario, ScenarioErrors};

use super::attend::Attendant;
use super::check::{Plan, all_of, typed};
use super::one::one;
use crate::args::{Changes, DiffArgs, Settled};
use crate::cli::Format;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::interrupt;
use crate::output::Output;
use crate::quote::quoted;
use crate::render;

/// What was found.
#[derive(Clone, Debug)]
pub(crate) struct Findings {
    /// The first and the second scenario.
    pub(crate) plans: [Plan; 2],
    /// What they come to.
    pub(crate) diff: Diff,
    /// How long it took.
    pub(crate) elapsed: Duration,
}

impl Findings {
    /// What it comes to.
    pub(crate) fn exit(&self) -> Exit {
        match (self.diff.is_known(), self.diff.flips.is_empty()) {
            (false, _) => Exit::Inconclusive,
            (true, true) => Exit::Holds,
            (true, false) => Exit::Different,
        }
    }

    /// The command that checks a property of the first scenario with some of the keys as the second has them.
    pub(crate) fn command(&self, keys: &[usize], property: Property) -> String {
        let keys: Vec<&Difference> = keys.iter().map(|key| &self.diff.keys[*key]).collect();
        let mut more = String::new();
        for knob in keys.iter().filter(|d| !d.key.starts_with("faults.")) {
            let key = knob.key.rsplit('.').next().unwrap_or_default();
            more.push_str(&format!(" --set {}", quoted(&format!("{key}={}", typed(&knob.right)))));
        }
        let [left, right] = &self.plans;
        if keys.iter().any(|d| d.key.starts_with("faults.")) {
            return left.command_under(&between(&left.scenario, &right.scenario, &keys), &more, property);
        }
        format!("{} --property {}", left.command_with(&more), property.name())
    }
}

/// What is wrong with a change of the second scenario is told of its own flag.
fn understood(with: &Changes) -> Result<(), Failure> {
    let mut blank = Scenario::new("with", "with");
    let named = |errors: &ScenarioErrors, flag: &str| match Failure::scenario(errors, None) {
        Failure::Usage(messages) => {
            Failure::Usage(messages.into_iter().map(|message| message.replacen(flag, "--with", 1)).collect())
        }
        failure @ (Failure::Input(_) | Failure::Bug(_)) => failure,
    };
    for assignment in &with.set {
        blank.set(assignment).map_err(|errors| named(&errors, "--set"))?;
    }
    match &with.faults {
        // Of `--faults`, `--with-faults` is left.
        Some(faults) => blank.set_faults(faults).map_err(|errors| named(&errors, "-")),
        None => Ok(()),
    }
}

/// Compares and shows it.
pub(crate) fn run(args: &DiffArgs, settled: &Settled, output: &mut Output) -> Result<Exit, Failure> {
    let question = &args.question;
    let [first, second] = &args.targets;
    understood(&args.with)?;
    let asked = question.limits.properties.as_deref();
    let changed = question.changes.and(&args.with);
    let both = [(first, &question.changes), (second, &changed)];
    let plans = all_of(both.into_iter().map(|(called, changes)| one(called, changes, asked)))?;
    let Ok(plans) = <[Plan; 2]>::try_from(plans) else {
        return Err(Failure::Bug("of two scenarios there were not two".to_owned()));
    };
    interrupt::listen(true);
    let name = format!("{} and {}", plans[0].name(), plans[1].name());
    let mut attendant = Attendant::new(name, question, settled);
    let [left, right] = &plans;
    let found = diff(&left.scenario, &right.scenario, &question.limits, &mut attendant);
    let elapsed = attendant.end();
    let mut diff = found.map_err(|errors| Failure::scenario(&errors, None))?;
    // Both are told in one grain, which need not be that of either alone.
    let grain = if left.scenario.grain() == right.scenario.grain() { "" } else { " --grain message" };
    for flip in &mut diff.flips {
        if let Some(beside) = &mut flip.beside {
            beside.left.command = left.command(flip.property) + grain;
            beside.right.command = right.command(flip.property) + grain;
        }
    }
    let findings = Findings { plans, diff, elapsed };
    output.put(&match question.format {
        Format::Text => render::diff::text(&findings, args, settled),
        Format::Json => render::diff_json::json(&findings, args),
    })?;
    Ok(findings.exit())
}
