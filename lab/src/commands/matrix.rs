//! `lab matrix`: protocols against faults, each cell a check.

use std::time::Duration;

use check::explore::Cut;
use check::scenario::{Named, Problem, Property, Scenario, ScenarioErrors, Verdict};
use check::{Ending, Limits, Report, States, catalogue};
use world::Fault;

use super::check::all_of;
use crate::args::{Changes, MatrixArgs, Settled};
use crate::cache::{Cache, Kept};
use crate::cli::MatrixFormat;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::interrupt;
use crate::monitor::Watch;
use crate::output::Output;
use crate::quote::quoted;
use crate::render;
use crate::target::Target;

/// The protocols, the faults and what was found.
#[derive(Clone, Debug)]
pub(crate) struct Matrix {
    /// The faults; none: no fault.
    pub(crate) columns: Vec<Column>,
    /// The protocols.
    pub(crate) rows: Vec<Row>,
}

/// A fault and its budget; none: no fault.
pub(crate) type Column = Option<(Fault, u8)>;

/// A protocol.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    /// How it is shown.
    pub(crate) label: String,
    /// What it was called by.
    pub(crate) called: String,
    /// The scenario without faults.
    pub(crate) scenario: Scenario,
    /// A cell for each column.
    pub(crate) cells: Vec<Cell>,
}

/// A protocol under a fault.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    /// The fault.
    pub(crate) column: Column,
    /// What is checked.
    pub(crate) scenario: Scenario,
    /// The command that checks it.
    pub(crate) command: String,
    /// What came out.
    pub(crate) outcome: Outcome,
}

/// What came out of a cell.
#[derive(Clone, Debug)]
pub(crate) enum Outcome {
    /// The scenario refuses the fault.
    Refused {
        /// Why.
        reason: String,
        /// What to do instead, if that is known.
        help: Option<String>,
    },
    /// It was checked.
    Judged(Judged),
    /// It was not begun.
    NotRun,
}

/// The verdicts of a check.
#[derive(Clone, Debug)]
pub(crate) struct Judged {
    /// Each property with its verdict and, if it is violated, the steps of the shortest trace.
    pub(crate) properties: Vec<(Property, Verdict, Option<usize>)>,
    /// The size of the space.
    pub(crate) states: States,
    /// The required witnesses that were never reached.
    pub(crate) unreached: Vec<String>,
    /// What cut the search short.
    pub(crate) cut_by: Option<&'static str>,
    /// Whether it was read from the cache.
    pub(crate) is_cached: bool,
    /// How long it took.
    pub(crate) elapsed: Duration,
}

impl Judged {
    fn of(report: &Report, elapsed: Duration) -> Self {
        let property = |p: &check::PropertyReport| (p.property, p.verdict, p.trace().map(|trace| trace.steps.len()));
        Self {
            properties: report.properties.iter().map(property).collect(),
            states: report.states,
            unreached: render::unreached(report).into_iter().map(str::to_owned).collect(),
            cut_by: render::cut(report),
            is_cached: false,
            elapsed,
        }
    }

    fn kept(kept: Kept) -> Option<Self> {
        Some(Self {
            properties: kept.verdicts()?,
            states: kept.states(),
            unreached: kept.unreached,
            cut_by: None,
            is_cached: true,
            elapsed: Duration::ZERO,
        })
    }

    /// What the verdicts come to.
    pub(crate) fn exit(&self) -> Exit {
        Exit::of_verdicts(self.properties.iter().map(|(property, verdict, _)| (*property, *verdict)))
    }

    /// Whether some property has this verdict.
    pub(crate) fn has(&self, verdict: Verdict) -> bool {
        self.properties.iter().any(|(_, v, _)| *v == verdict)
    }
}

impl Matrix {
    /// The checks that were done.
    pub(crate) fn judged(&self) -> impl Iterator<Item = &Judged> {
        self.rows.iter().flat_map(|row| &row.cells).filter_map(|cell| match &cell.outcome {
            Outcome::Judged(judged) => Some(judged),
            Outcome::Refused { .. } | Outcome::NotRun => None,
        })
    }

    /// How many cells were not begun.
    pub(crate) fn not_run(&self) -> usize {
        let cells = self.rows.iter().flat_map(|row| &row.cells);
        cells.filter(|cell| matches!(cell.outcome, Outcome::NotRun)).count()
    }

    /// Whether every cell is known: it is a survey, so a violation is what it was asked for.
    pub(crate) fn exit(&self) -> Exit {
        let is_open = self.not_run() > 0 || self.judged().any(|judged| judged.has(Verdict::Inconclusive));
        if is_open { Exit::Inconclusive } else { Exit::Holds }
    }
}

/// Computes the matrix and shows it.
pub(crate) fn run(args: &MatrixArgs, settled: &Settled, output: &mut Output) -> Result<Exit, Failure> {
    let columns = columns(args)?;
    let mut matrix = Matrix { rows: rows(args, &columns)?, columns };
    let mut cache = Cache::open(args.cache, settled.quiet);
    interrupt::listen(true);
    let total = matrix.rows.iter().map(|row| row.cells.len()).sum::<usize>();
    let mut number = 0;
    for row in &mut matrix.rows {
        for cell in &mut row.cells {
            number += 1;
            if let Outcome::NotRun = cell.outcome {
                if interrupt::is_interrupted() {
                    continue;
                }
                let label = format!("[{number}/{total}] {}, {}", row.label, column_name(cell.column));
                cell.outcome = Outcome::Judged(judged(&cell.scenario, label, args, settled, &mut cache)?);
            }
        }
    }
    output.put(&match args.format {
        MatrixFormat::Text => render::matrix::text(&matrix, args, settled),
        MatrixFormat::Markdown => render::matrix::markdown(&matrix),
        MatrixFormat::Json => render::matrix_json::json(&matrix, args),
    })?;
    Ok(matrix.exit())
}

/// The name of a column: `pause`, or `pause=2`.
pub(crate) fn column_name(column: Column) -> String {
    match column {
        None => "no fault".to_owned(),
        Some((fault, 1)) => fault.name().to_owned(),
        Some((fault, budget)) => format!("{}={budget}", fault.name()),
    }
}

/// No fault, then every fault there is, or those asked for.
fn columns(args: &MatrixArgs) -> Result<Vec<Column>, Failure> {
    let faults: Vec<Column> = match &args.faults {
        None => Fault::ALL.into_iter().map(|fault| Some((fault, 1))).collect(),
        Some(text) => {
            let mut asked = Scenario::new("faults", "faults");
            asked.set_faults(text).map_err(|errors| Failure::scenario(&errors, None))?;
            asked.faults.kinds().map(|fault| Some((fault, asked.faults.get(fault)))).collect()
        }
    };
    Ok([None].into_iter().chain(faults).collect())
}

/// The protocols, with everything that is wrong with any of them.
fn rows(args: &MatrixArgs, columns: &[Column]) -> Result<Vec<Row>, Failure> {
    let built_in = catalogue::matrix().map(|(label, id)| (label.to_owned(), id.to_owned()));
    let named = args.targets.iter().map(|called| (called.clone(), called.clone()));
    let called: Vec<(String, String)> = if args.targets.is_empty() { built_in.collect() } else { named.collect() };
    all_of(called.into_iter().map(|(label, called)| row(label, called, args, columns)))
}

fn row(label: String, called: String, args: &MatrixArgs, columns: &[Column]) -> Result<Row, Failure> {
    let mut target = Target::find(&called)?;
    let changes = Changes { set: args.set.clone(), ..Changes::default() };
    target.change(&changes)?;
    let mut scenario = target.scenario;
    scenario.set_faults("none").map_err(|errors| Failure::scenario(&errors, None))?;
    // What is refused without any fault is no fault's doing.
    scenario.resolve().map_err(|errors| match Failure::scenario(&errors, None) {
        Failure::Usage(messages) => {
            Failure::Usage(messages.into_iter().map(|m| format!("{}: {m}", crate::failure::shown(&called))).collect())
        }
        failure @ (Failure::Input(_) | Failure::Bug(_)) => failure,
    })?;
    let flags = changes.flags();
    let cells = columns.iter().map(|column| cell(*column, &scenario, &called, &flags)).collect::<Result<_, _>>()?;
    Ok(Row { label, called, scenario, cells })
}

fn cell(column: Column, base: &Scenario, called: &str, flags: &str) -> Result<Cell, Failure> {
    let faults = match column {
        None => "none".to_owned(),
        Some((fault, budget)) => format!("{}={budget}", fault.name()),
    };
    let mut scenario = base.clone();
    scenario.set_faults(&faults).map_err(|errors| Failure::scenario(&errors, None))?;
    let outcome = scenario.resolve().err().map_or(Outcome::NotRun, |errors| refused(&errors));
    let command = format!("lab check {}{flags} --faults {faults}", quoted(called));
    Ok(Cell { column, scenario, command, outcome })
}

fn refused(errors: &ScenarioErrors) -> Outcome {
    let reason = errors.iter().next().map_or_else(String::new, |error| match &error.problem {
        Problem::Refused(rule) => rule.reason.to_owned(),
        Problem::TooLarge { .. }
        | Problem::NotUtf8
        | Problem::NotToml { .. }
        | Problem::Unknown { .. }
        | Problem::Value { .. }
        | Problem::Missing { .. }
        | Problem::Twice { .. } => error.to_string(),
    });
    let help = errors.iter().next().and_then(|error| error.help()).map(str::to_owned);
    Outcome::Refused { reason, help }
}

/// What is kept of a cell, or a check.
fn judged(
    scenario: &Scenario,
    label: String,
    args: &MatrixArgs,
    settled: &Settled,
    cache: &mut Cache,
) -> Result<Judged, Failure> {
    if let Some(judged) = cache.get(scenario).and_then(Judged::kept) {
        return Ok(judged);
    }
    let mut watch = Watch::new(settled.progress.then_some(label), args.timeout, args.memory);
    let limits =
        Limits { threads: args.threads, max_states: args.max_states, max_depth: args.max_depth, ..Limits::default() };
    let report = check::check(scenario, &limits, &mut watch);
    let elapsed = watch.end();
    let report = report.map_err(|errors| Failure::scenario(&errors, None))?;
    let judged = Judged::of(&report, elapsed);
    match report.ending {
        Ending::Exhausted => {
            cache.put(scenario, Kept::new(&judged.properties, judged.states, &judged.unreached));
        }
        Ending::Enough
        | Ending::MaxStates
        | Ending::MaxDepth
        | Ending::Cut(Cut::Time | Cut::Memory | Cut::Interrupted) => {}
    }
    Ok(judged)
}
