//! Repairs for programs.

use std::collections::BTreeMap;

use check::Report;
use check::explore::Cut;
use check::repair::{Change, Repair, Tally};
use check::scenario::Named;
use serde::Serialize;

use super::json::{Fault, SCHEMA, States, written};
use crate::args::RepairArgs;
use crate::commands::check::typed;
use crate::commands::repair::Findings;
use crate::exit::Exit;

#[derive(Serialize)]
struct Whole<'a> {
    schema: u32,
    verdict: &'static str,
    complete: bool,
    cut_by: Option<&'static str>,
    scenario: Subject<'a>,
    violated: Vec<&'static str>,
    unrepaired: Vec<&'static str>,
    repairs: Vec<Shown<'a>>,
    singles: Counts<'a>,
    pairs: Option<Counts<'a>>,
    timing: Timing,
}

/// A scenario and what it comes to.
#[derive(Serialize)]
pub(super) struct Subject<'a> {
    name: &'a str,
    row: Option<&'a str>,
    title: &'a str,
    hash: &'a str,
    faults: Vec<Fault>,
    #[serde(flatten)]
    outcome: Outcome,
}

/// What a check comes to.
#[derive(Serialize)]
pub(super) struct Outcome {
    verdict: &'static str,
    complete: bool,
    cut_by: Option<&'static str>,
    properties: Vec<Decided>,
    states: States,
}

#[derive(Serialize)]
struct Decided {
    name: &'static str,
    verdict: &'static str,
    steps: Option<usize>,
}

#[derive(Serialize)]
struct Shown<'a> {
    changes: Vec<Turned>,
    repairs: Vec<&'static str>,
    breaks: Vec<&'static str>,
    unasked: Vec<&'static str>,
    hash: &'a str,
    #[serde(flatten)]
    outcome: Outcome,
    command: String,
}

#[derive(Serialize)]
struct Turned {
    knob: &'static str,
    from: String,
    to: String,
    distance: u32,
}

#[derive(Serialize)]
struct Counts<'a> {
    total: usize,
    replayed: usize,
    searched: usize,
    same: usize,
    needless: usize,
    refused: &'a BTreeMap<&'static str, usize>,
    untried: usize,
    vacuous: Vec<Vec<Turned>>,
    inconclusive: Vec<Vec<Turned>>,
}

/// Everything that may differ between two runs.
#[derive(Serialize)]
pub(super) struct Timing {
    pub(super) seconds: f64,
    pub(super) threads: usize,
}

/// The repairs.
pub(crate) fn json(findings: &Findings, args: &RepairArgs) -> String {
    let repairs = &findings.repairs;
    let exit = findings.exit();
    let is_repaired = exit == Exit::Holds && !repairs.violated.is_empty();
    written(&Whole {
        schema: SCHEMA,
        verdict: if is_repaired { "repaired" } else { exit.word() },
        complete: repairs.report.is_complete() && !repairs.is_open(),
        cut_by: repairs.cut.map(cut_by),
        scenario: subject(&findings.plan, &repairs.report),
        violated: names(&repairs.violated),
        unrepaired: names(&repairs.unrepaired().collect::<Vec<_>>()),
        repairs: repairs.found.iter().map(|repair| shown(findings, repair)).collect(),
        singles: counts(&repairs.singles),
        pairs: repairs.pairs.as_ref().map(counts),
        timing: Timing { seconds: findings.elapsed.as_secs_f64(), threads: args.question.limits.threads.get() },
    })
}

/// Why something was stopped from outside.
pub(super) fn cut_by(cut: Cut) -> &'static str {
    match cut {
        Cut::Time => "within",
        Cut::Memory => "memory",
        Cut::Interrupted => "Ctrl-C",
    }
}

/// What was checked, and what it comes to.
pub(super) fn subject<'a>(plan: &'a crate::commands::check::Plan, report: &'a Report) -> Subject<'a> {
    let budget = &plan.scenario.faults;
    Subject {
        name: &plan.called,
        row: plan.row.as_deref(),
        title: &report.title,
        hash: &report.hash,
        faults: budget.kinds().map(|fault| Fault { fault: fault.name(), budget: budget.get(fault) }).collect(),
        outcome: outcome(report),
    }
}

fn outcome(report: &Report) -> Outcome {
    let decided = |p: &check::PropertyReport| Decided {
        name: p.property.name(),
        verdict: p.verdict.name(),
        steps: p.trace().map(|trace| trace.steps.len()),
    };
    Outcome {
        verdict: Exit::of(report).word(),
        complete: report.is_complete(),
        cut_by: super::cut(report).map(|by| by.trim_start_matches("--")),
        properties: report.properties.iter().map(decided).collect(),
        states: States::of(report.states),
    }
}

fn names(properties: &[check::scenario::Property]) -> Vec<&'static str> {
    properties.iter().map(|property| property.name()).collect()
}

fn shown<'a>(findings: &'a Findings, repair: &'a Repair) -> Shown<'a> {
    Shown {
        changes: turned(&repair.changes),
        repairs: names(&repair.repairs),
        breaks: names(&repair.breaks),
        unasked: names(&repair.unasked),
        hash: &repair.report.hash,
        outcome: outcome(&repair.report),
        command: findings.command(repair),
    }
}

fn turned(changes: &[Change]) -> Vec<Turned> {
    let turned = |change: &Change| Turned {
        knob: change.knob,
        from: typed(&change.from),
        to: typed(&change.to),
        distance: change.distance,
    };
    changes.iter().map(turned).collect()
}

fn counts(tally: &Tally) -> Counts<'_> {
    let lists = |list: &[Vec<Change>]| list.iter().map(|changes| turned(changes)).collect();
    Counts {
        total: tally.total,
        replayed: tally.replayed,
        searched: tally.searched,
        same: tally.same,
        needless: tally.needless,
        refused: &tally.refused,
        untried: tally.untried,
        vacuous: lists(&tally.vacuous),
        inconclusive: lists(&tally.inconclusive),
    }
}
