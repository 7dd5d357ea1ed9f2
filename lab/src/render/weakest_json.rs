//! The weakest faults for programs.

use check::scenario::Named;
use check::weakest::{Break, Breaks, Edge, Formula, Law, Magnitude, Side};
use serde::Serialize;
use world::Budget;

use super::json::{Fault, SCHEMA, written};
use crate::args::WeakestArgs;
use crate::commands::weakest::{Findings, Scale};
use crate::exit::Exit;

#[derive(Serialize)]
struct Whole<'a> {
    schema: u32,
    verdict: &'static str,
    complete: bool,
    interrupted: bool,
    scenario: Subject<'a>,
    most: u8,
    drawn_from: Vec<&'static str>,
    scale: Option<Tick>,
    properties: Vec<Property>,
    undecidable: Vec<Undecidable>,
    refused: Vec<Refused<'a>>,
    checks: usize,
    states: u64,
    timing: Timing,
}

#[derive(Serialize)]
struct Subject<'a> {
    id: &'a str,
    title: &'a str,
    hash: String,
}

#[derive(Serialize)]
struct Tick {
    key: &'static str,
    ticks: u32,
    ms: u64,
}

#[derive(Serialize)]
struct Property {
    name: &'static str,
    decided: bool,
    sets: Vec<Set>,
    undecided: Vec<Vec<Fault>>,
}

#[derive(Serialize)]
struct Undecidable {
    name: &'static str,
    reason: &'static str,
}

#[derive(Serialize)]
struct Set {
    faults: Vec<Fault>,
    minimal: bool,
    magnitudes: Vec<Size>,
    steps: usize,
    strikes: Vec<Strike>,
    hash: String,
    command: String,
}

#[derive(Serialize)]
struct Size {
    fault: &'static str,
    knob: Option<&'static str>,
    side: &'static str,
    ticks: u32,
    edge: &'static str,
    ms: Option<Range>,
    law: &'static str,
    formula: Option<Shown>,
}

/// Milliseconds between which the threshold lies; null: nothing is known of that side.
#[derive(Serialize)]
struct Range {
    from: Option<u64>,
    to: Option<u64>,
}

#[derive(Serialize)]
struct Shown {
    text: String,
    terms: Vec<Term>,
    constant: i64,
    varied: Vec<&'static str>,
    scenarios: usize,
}

#[derive(Serialize)]
struct Term {
    key: &'static str,
    times: i64,
}

#[derive(Serialize)]
struct Strike {
    fault: &'static str,
    tick: u32,
}

#[derive(Serialize)]
struct Refused<'a> {
    faults: Vec<Fault>,
    reason: &'a str,
}

#[derive(Serialize)]
struct Timing {
    seconds: f64,
    threads: usize,
}

/// What was found.
pub(crate) fn json(findings: &Findings, args: &WeakestArgs) -> String {
    let (found, exit) = (&findings.found, findings.exit());
    written(&Whole {
        schema: SCHEMA,
        verdict: if exit == Exit::Holds { "known" } else { exit.word() },
        complete: found.is_complete(),
        interrupted: found.is_stopped,
        scenario: Subject {
            id: &findings.scenario.id,
            title: &findings.scenario.title,
            hash: findings.scenario.hash_text(),
        },
        most: args.most,
        drawn_from: found.kinds.iter().map(|fault| fault.name()).collect(),
        scale: findings.scale.as_ref().map(|scale| Tick { key: scale.key, ticks: scale.ticks, ms: scale.ms }),
        properties: found.properties.iter().map(|breaks| property(findings, breaks)).collect(),
        undecidable: undecidable(findings),
        refused: found.refused.iter().map(|set| Refused { faults: faults(&set.faults), reason: &set.reason }).collect(),
        checks: found.checks,
        states: found.states,
        timing: Timing { seconds: findings.elapsed.as_secs_f64(), threads: args.limits.threads.get() },
    })
}

fn undecidable(findings: &Findings) -> Vec<Undecidable> {
    let rule = |p: &check::scenario::Property| {
        let rule = findings.scenario.undecidable(*p)?;
        Some(Undecidable { name: p.name(), reason: rule.reason })
    };
    check::scenario::Property::ALL.iter().filter_map(rule).collect()
}

fn faults(budget: &Budget) -> Vec<Fault> {
    budget.kinds().map(|fault| Fault { fault: fault.name(), budget: budget.get(fault) }).collect()
}

fn property(findings: &Findings, breaks: &Breaks) -> Property {
    Property {
        name: breaks.property.name(),
        decided: breaks.is_decided() && !findings.found.is_stopped,
        sets: breaks.sets.iter().map(|one| set(findings, breaks, one)).collect(),
        undecided: breaks.undecided.iter().map(faults).collect(),
    }
}

fn set(findings: &Findings, breaks: &Breaks, set: &Break) -> Set {
    Set {
        faults: faults(&set.faults),
        minimal: set.is_minimal,
        magnitudes: set.magnitudes.iter().map(|m| size(m, findings.scale.as_ref())).collect(),
        steps: set.steps,
        strikes: set.strikes.iter().map(|(fault, tick)| Strike { fault: fault.name(), tick: *tick }).collect(),
        hash: set.scenario.hash_text(),
        command: findings.command(breaks.property, set),
    }
}

fn size(m: &Magnitude, scale: Option<&Scale>) -> Size {
    let (law, formula) = match &m.law {
        Law::NotAsked => ("not-asked", None),
        Law::Linear(formula) => ("linear", Some(shown(formula))),
        Law::Irregular => ("irregular", None),
        Law::Undecided => ("undecided", None),
    };
    Size {
        fault: m.fault.name(),
        knob: m.knob,
        side: match m.side {
            Side::Least => "least",
            Side::Greatest => "greatest",
        },
        ticks: m.ticks,
        edge: match m.edge {
            Edge::Holds => "holds",
            Edge::Mildest => "mildest",
            Edge::Undecided => "undecided",
        },
        ms: scale.map(|scale| range(m, scale)),
        law,
        formula,
    }
}

fn range(m: &Magnitude, scale: &Scale) -> Range {
    let holds = m.edge == Edge::Holds;
    match m.side {
        Side::Least => Range { from: holds.then(|| scale.of(m.ticks - 1)), to: Some(scale.of(m.ticks)) },
        Side::Greatest => Range { from: Some(scale.of(m.ticks)), to: holds.then(|| scale.of(m.ticks + 1)) },
    }
}

fn shown(formula: &Formula) -> Shown {
    Shown {
        text: formula.to_string(),
        terms: formula.terms.iter().map(|(times, key)| Term { key, times: *times }).collect(),
        constant: formula.constant,
        varied: formula.varied.clone(),
        scenarios: formula.scenarios,
    }
}
