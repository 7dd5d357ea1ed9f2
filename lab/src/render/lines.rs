//! Several checks: a line each, printed as soon as it is done.

use check::Report;
use check::scenario::{Named, Property};

use super::counts::{counted, grouped, time};
use super::finish::{self, cut, is_cut, mismatched, unreached};
use super::page::{Line, Page, Paint, columns};
use super::sheet::{legend, total};
use super::table::{Numbers, Table};
use crate::args::{CheckArgs, Settled};
use crate::commands::check::{Findings, Plan, Run};
use crate::exit::Exit;

/// The columns before the names: those of a sign.
const LEFT: usize = 3;
/// The most columns of a name.
const NAME: usize = 32;
/// What a verdict has room for, before anything is known of it: a sign, two digits, a space.
const PITCH: usize = 5;
/// The columns of numbers.
const NUMBERS: [Numbers; 2] = [("states", 9), ("time", 6)];

/// The lines as they are laid out.
#[derive(Debug)]
pub(crate) struct Lines {
    table: Table,
    /// The sheet whose rows are being printed.
    sheet: Option<String>,
}

impl Lines {
    /// The layout for these checks, and its head.
    pub(crate) fn new(plans: &[Plan], args: &CheckArgs, settled: &Settled) -> (Self, String) {
        let mut page = Page::new(settled);
        let name = |plan: &Plan| match &plan.row {
            Some(row) => 2 + columns(row),
            None => columns(&plan.called),
        };
        let names = plans.iter().map(name).max().unwrap_or(0).min(NAME);
        let is_asked = |p: &&Property| plans.iter().any(|plan| asks(plan, **p, args));
        let properties = Property::ALL.iter().filter(is_asked).copied().collect();
        let table = Table::fit(&page, (LEFT, names), properties, PITCH, &NUMBERS);
        table.head(&mut page);
        (Self { table, sheet: None }, page.finish())
    }

    /// The line of a check, below the name of its sheet if it is the first row of one.
    pub(crate) fn line(&mut self, run: &Run, settled: &Settled) -> String {
        let mut page = Page::new(settled);
        let sheet = run.plan.row.as_ref().map(|_| run.plan.called.clone());
        if sheet != self.sheet {
            self.sheet = sheet;
            if let Some(sheet) = &self.sheet {
                let mut line = Line::default();
                line.pad(LEFT);
                line.push(Paint::Strong, &page.clean(sheet));
                page.line(line);
            }
        }
        let mut first = Line::default();
        if run.mismatches.is_some() {
            let (paint, sign) = sign(run, &page);
            first.push(paint, sign);
        }
        let name = match &run.plan.row {
            Some(row) => {
                first.pad(LEFT + 2);
                row
            }
            None => &run.plan.called,
        };
        let more = if is_cut(&run.report) { "+" } else { "" };
        let states = format!("{}{more}", grouped(run.report.states.unique));
        self.table.row(&mut page, first, name, &run.report, &[("states", states), ("time", time(run.elapsed))]);
        for told in mismatched(run) {
            page.prose(Paint::Bad, LEFT + 4, &told);
        }
        let missing = unreached(&run.report);
        if !missing.is_empty() && run.report.is_complete() {
            page.prose(Paint::Doubt, LEFT + 4, &format!("never reached: {}", missing.join(", ")));
        }
        page.finish()
    }
}

/// Whether a check gives a verdict on a property.
fn asks(plan: &Plan, property: Property, args: &CheckArgs) -> bool {
    let scenario = &plan.scenario;
    let is_wanted = match &args.limits.properties {
        Some(named) => named.contains(&property),
        None => property != Property::NoStrayGrant || scenario.expected(property).is_some(),
    };
    let is_known = args.limits.engine == check::Engine::Levels || !property.is_about_the_graph();
    is_wanted && is_known && scenario.undecidable(property).is_none()
}

/// Whether a check is as expected.
fn sign(run: &Run, page: &Page<'_>) -> (Paint, &'static str) {
    match run.exit() {
        Exit::Holds => (Paint::Good, page.signs.holds),
        Exit::Vacuous => (Paint::Doubt, page.signs.vacuous),
        Exit::Inconclusive => (Paint::Doubt, page.signs.inconclusive),
        Exit::Bug
        | Exit::Usage
        | Exit::Input
        | Exit::Unexpected
        | Exit::Absent
        | Exit::Violated
        | Exit::Deadlock
        | Exit::Different
        | Exit::Diverged
        | Exit::NotReproduced
        | Exit::NotReplayable => (Paint::Bad, page.signs.violated),
    }
}

/// What stands below the lines.
pub(crate) fn end(findings: &Findings, args: &CheckArgs, settled: &Settled) -> String {
    let mut page = Page::new(settled);
    if settled.quiet {
        return page.finish();
    }
    page.gap();
    let reports: Vec<&Report> = findings.runs.iter().map(|run| &run.report).collect();
    legend(&mut page, &reports);
    if let Some(by) = findings.runs.iter().find_map(|run| cut(&run.report)) {
        page.prose(Paint::Doubt, 2, &format!("A + behind a number: cut short by {by}, there are more states"));
    }
    total(&mut page, findings, args);
    let wrong = findings.runs.iter().filter(|run| run.mismatches.as_ref().is_some_and(|m| !m.is_empty())).count();
    if wrong > 0 {
        let text = format!("{wrong} of {} not as expected.", counted(findings.runs.len(), "check"));
        page.gap();
        page.prose(Paint::Bad, 0, &text);
    }
    if let Some((run, p, _)) = findings.shown() {
        page.gap();
        page.line(Line::of(Paint::Strong, "The first of them, step by step:"));
        page.command(&run.plan.command(p.property));
    }
    finish::end(&mut page, findings, args, false);
    page.finish()
}
