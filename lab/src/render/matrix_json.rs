//! The lock safety matrix for programs.

use check::scenario::{Named, Property, Verdict};
use serde::Serialize;

use super::json::{Fault, SCHEMA, States, written};
use crate::args::MatrixArgs;
use crate::commands::matrix::{Cell, Column, Judged, Matrix, Outcome, Row};
use crate::exit::Exit;

#[derive(Serialize)]
struct Whole<'a> {
    schema: u32,
    verdict: &'static str,
    complete: bool,
    columns: Vec<Option<Fault>>,
    rows: Vec<Protocol<'a>>,
    timing: Timing,
}

#[derive(Serialize)]
struct Protocol<'a> {
    label: &'a str,
    name: &'a str,
    scenario: Subject<'a>,
    undecidable: Vec<Undecidable>,
    cells: Vec<Shown<'a>>,
}

#[derive(Serialize)]
struct Subject<'a> {
    id: &'a str,
    title: &'a str,
    hash: String,
    clients: u8,
    nodes: u8,
    ttl: Option<u32>,
    latency: [u32; 2],
    work: u32,
}

#[derive(Serialize)]
struct Undecidable {
    name: &'static str,
    reason: &'static str,
}

#[derive(Serialize)]
struct Shown<'a> {
    fault: Option<Fault>,
    hash: String,
    verdict: &'static str,
    complete: bool,
    cut_by: Option<&'static str>,
    reason: Option<&'a str>,
    help: Option<&'a str>,
    properties: Vec<Decided>,
    unreached: &'a [String],
    states: Option<States>,
    command: &'a str,
    cached: bool,
    timing: Option<Seconds>,
}

#[derive(Serialize)]
struct Decided {
    name: &'static str,
    verdict: &'static str,
    steps: Option<usize>,
}

#[derive(Serialize)]
struct Seconds {
    seconds: f64,
}

#[derive(Serialize)]
struct Timing {
    seconds: f64,
    threads: usize,
}

/// The matrix.
pub(crate) fn json(matrix: &Matrix, args: &MatrixArgs) -> String {
    let exit = matrix.exit();
    let is_complete = matrix.not_run() == 0 && matrix.judged().all(|judged| judged.cut_by.is_none());
    written(&Whole {
        schema: SCHEMA,
        verdict: if exit == Exit::Holds { "known" } else { exit.word() },
        complete: is_complete,
        columns: matrix.columns.iter().map(|column| fault(*column)).collect(),
        rows: matrix.rows.iter().map(protocol).collect(),
        timing: Timing {
            seconds: matrix.judged().map(|judged| judged.elapsed.as_secs_f64()).sum(),
            threads: args.threads.get(),
        },
    })
}

fn fault(column: Column) -> Option<Fault> {
    column.map(|(fault, budget)| Fault { fault: fault.name(), budget })
}

fn protocol(row: &Row) -> Protocol<'_> {
    let (scenario, settings) = (&row.scenario, &row.scenario.settings);
    let undecidable = |p: &Property| {
        let rule = scenario.undecidable(*p)?;
        Some(Undecidable { name: p.name(), reason: rule.reason })
    };
    Protocol {
        label: &row.label,
        name: &row.called,
        scenario: Subject {
            id: &scenario.id,
            title: &scenario.title,
            hash: scenario.hash_text(),
            clients: settings.clients(),
            nodes: settings.nodes,
            ttl: settings.ttl.map(|ttl| ttl.0),
            latency: [settings.latency.least.0, settings.latency.greatest.0],
            work: settings.work.0,
        },
        undecidable: Property::ALL.iter().filter_map(undecidable).collect(),
        cells: row.cells.iter().map(shown).collect(),
    }
}

fn shown(cell: &Cell) -> Shown<'_> {
    let open = Shown {
        fault: fault(cell.column),
        hash: cell.scenario.hash_text(),
        verdict: "not-run",
        complete: false,
        cut_by: None,
        reason: None,
        help: None,
        properties: Vec::new(),
        unreached: &[],
        states: None,
        command: &cell.command,
        cached: false,
        timing: None,
    };
    match &cell.outcome {
        Outcome::NotRun => open,
        Outcome::Refused { reason, help } => {
            Shown { verdict: "refused", reason: Some(reason), help: help.as_deref(), ..open }
        }
        Outcome::Judged(judged) => of(judged, open),
    }
}

fn of<'a>(judged: &'a Judged, open: Shown<'a>) -> Shown<'a> {
    let decided = |(property, verdict, steps): &(Property, Verdict, Option<usize>)| Decided {
        name: property.name(),
        verdict: verdict.name(),
        steps: *steps,
    };
    Shown {
        verdict: judged.exit().word(),
        complete: judged.cut_by.is_none(),
        cut_by: judged.cut_by.map(|by| by.trim_start_matches("--")),
        properties: judged.properties.iter().map(decided).collect(),
        unreached: &judged.unreached,
        states: Some(States::of(judged.states)),
        cached: judged.is_cached,
        timing: Some(Seconds { seconds: judged.elapsed.as_secs_f64() }),
        ..open
    }
}
