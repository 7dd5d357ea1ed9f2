//! `lab repair`: the knobs to turn so that what is violated holds.

use std::time::Duration;

use check::PropertyReport;
use check::repair::{Change, How, Repair, Repairs, repair};
use check::scenario::{Property, Verdict};

use super::attend::Attendant;
use super::check::{Plan, typed};
use super::one::one;
use crate::args::{RepairArgs, Settled};
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
    /// What is to be repaired.
    pub(crate) plan: Plan,
    /// What repairs it.
    pub(crate) repairs: Repairs,
    /// The properties that were named; none: all that are violated.
    pub(crate) named: Option<Vec<Property>>,
    /// How long it took.
    pub(crate) elapsed: Duration,
}

impl Findings {
    /// The command that checks a repair.
    pub(crate) fn command(&self, repair: &Repair) -> String {
        let set: String =
            repair.changes.iter().map(|change| format!(" --set {}", quoted(&assignment(change)))).collect();
        self.plan.command_with(&set)
    }

    /// The properties that were asked for, with their verdicts on the scenario as it is.
    fn asked(&self) -> impl Iterator<Item = (Property, Verdict)> {
        let is_asked = |p: &&PropertyReport| self.named.as_ref().is_none_or(|named| named.contains(&p.property));
        self.repairs.report.properties.iter().filter(is_asked).map(|p| (p.property, p.verdict))
    }

    /// What it comes to: with a repair for everything that is violated the errand is done.
    pub(crate) fn exit(&self) -> Exit {
        let left: Vec<Property> = self.repairs.unrepaired().collect();
        let is_known = self.asked().all(|(_, verdict)| verdict != Verdict::Inconclusive);
        match (left.is_empty(), self.repairs.is_open()) {
            (false, false) => Exit::of_verdicts(left.into_iter().map(|property| (property, Verdict::Violated))),
            (false, true) => Exit::Inconclusive,
            (true, _) if !is_known || (self.repairs.violated.is_empty() && self.repairs.cut.is_some()) => {
                Exit::Inconclusive
            }
            (true, _) if self.repairs.violated.is_empty() => Exit::of_verdicts(self.asked()),
            (true, _) => Exit::Holds,
        }
    }
}

/// A change as it is typed after `--set`.
pub(crate) fn assignment(change: &Change) -> String {
    format!("{}={}", change.knob, typed(&change.to))
}

/// Looks for repairs and shows them.
pub(crate) fn run(args: &RepairArgs, settled: &Settled, output: &mut Output) -> Result<Exit, Failure> {
    let question = &args.question;
    let plan = one(&args.target, &question.changes, question.limits.properties.as_deref())?;
    interrupt::listen(true);
    let how = How { limits: question.limits.clone(), world: args.world, pairs: args.pairs };
    let mut attendant = Attendant::new(plan.name(), question, settled);
    let repairs = repair(&plan.scenario, &how, &mut attendant);
    let elapsed = attendant.end();
    let repairs = repairs.map_err(|errors| Failure::scenario(&errors, None))?;
    let findings = Findings { plan, repairs, named: question.limits.properties.clone(), elapsed };
    output.put(&match question.format {
        Format::Text => render::repair::text(&findings, args, settled),
        Format::Json => render::repair_json::json(&findings, args),
    })?;
    Ok(findings.exit())
}
