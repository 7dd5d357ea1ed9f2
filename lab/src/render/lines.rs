//! Several checks, a line each.

use check::scenario::{Named, Verdict};

use super::counts::{counted, grouped, time};
use super::finish::{self, cut, mismatched, unreached};
use super::page::{Line, Page, Paint, columns, wrap};
use super::signs::paint;
use crate::args::{CheckArgs, Settled};
use crate::commands::check::{Findings, Plan, Run};
use crate::exit::Exit;

/// The least and the greatest columns of a name.
const NAME: [usize; 2] = [12, 28];
/// The columns of the number of states and of the time, with the space before each.
const STATES: usize = 13;
const TIME: usize = 8;

/// The lines, which are printed as soon as a check is done.
#[derive(Debug)]
pub(crate) struct Lines {
    name: usize,
    /// The sheet whose rows are being printed.
    sheet: Option<String>,
}

impl Lines {
    /// The layout for these checks.
    pub(crate) fn new(plans: &[Plan]) -> Self {
        let name = |plan: &Plan| match &plan.row {
            Some(row) => 2 + columns(row),
            None => columns(&plan.called),
        };
        let [least, most] = NAME;
        Self { name: plans.iter().map(name).max().unwrap_or(0).clamp(least, most), sheet: None }
    }

    /// The line of a check, below the name of its sheet if it is the first row of one.
    pub(crate) fn line(&mut self, run: &Run, settled: &Settled) -> String {
        let mut page = Page::new(settled);
        let start = if settled.ascii { 3 } else { 2 };
        let sheet = run.plan.row.as_ref().map(|_| run.plan.called.clone());
        if sheet != self.sheet {
            self.sheet = sheet;
            if let Some(sheet) = &self.sheet {
                let mut line = Line::default();
                line.pad(start);
                line.push(Paint::Strong, &page.clean(sheet));
                page.line(line);
            }
        }
        let (indent, name) = match &run.plan.row {
            Some(row) => (start + 2, page.clean(row)),
            None => (start, page.clean(&run.plan.called)),
        };
        let names = wrap(&name, start + self.name - indent);
        let at = start + self.name + 2;
        let end = page.width() - STATES - TIME;
        let verdicts = wrap(&said(run), end - at);
        let verdict_paint = if run.mismatches.is_some() { Paint::Plain } else { paint(worst(run)) };
        for row in 0..names.len().max(verdicts.len()) {
            let mut line = Line::default();
            if row == 0 {
                let (paint, sign) = sign(run, &page);
                line.push(paint, sign);
            }
            line.pad(indent);
            line.push(Paint::Plain, names.get(row).map_or("", String::as_str));
            line.pad(at);
            line.push(verdict_paint, verdicts.get(row).map_or("", String::as_str));
            if row == 0 {
                let more = if run.report.is_complete() { "" } else { "+" };
                let states = format!("{}{more}", grouped(run.report.states.unique));
                line.push_right(Paint::Faint, &states, end + STATES);
                line.push_right(Paint::Faint, &time(run.elapsed), end + STATES + TIME);
            }
            page.line(line);
        }
        for told in mismatched(run) {
            page.prose(Paint::Bad, indent, &told);
        }
        let missing = unreached(&run.report);
        if !missing.is_empty() && run.report.is_complete() {
            page.prose(Paint::Doubt, indent, &format!("never reached: {}", missing.join(", ")));
        }
        page.finish()
    }
}

/// Under `--expect`, whether it is as expected; otherwise the verdict.
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
        | Exit::Deadlock => (Paint::Bad, page.signs.violated),
    }
}

/// The verdict that says most about a check.
fn worst(run: &Run) -> Verdict {
    let has = |verdict: &Verdict| run.report.properties.iter().any(|p| p.verdict == *verdict);
    let order = [Verdict::Violated, Verdict::Inconclusive, Verdict::Vacuous];
    order.into_iter().find(has).unwrap_or(Verdict::Holds)
}

fn said(run: &Run) -> String {
    let verdict = worst(run);
    let names: Vec<_> =
        run.report.properties.iter().filter(|p| p.verdict == verdict).map(|p| p.property.name()).collect();
    if names.len() == run.report.properties.len() && names.len() > 1 {
        return format!("all {}", if verdict == Verdict::Holds { "hold" } else { verdict.name() });
    }
    match verdict {
        Verdict::Violated => format!("violated: {}", names.join(", ")),
        Verdict::Holds => format!("{} holds", names.join(", ")),
        Verdict::Inconclusive | Verdict::Vacuous => format!("{}: {}", verdict.name(), names.join(", ")),
    }
}

/// What stands below the lines.
pub(crate) fn end(findings: &Findings, args: &CheckArgs, settled: &Settled) -> String {
    let mut page = Page::new(settled);
    if settled.quiet {
        return page.finish();
    }
    let states: u64 = findings.runs.iter().map(|run| run.report.states.unique).sum();
    let elapsed = findings.runs.iter().map(|run| run.elapsed).sum();
    let (checks, threads) = (counted(findings.runs.len(), "check"), counted(args.limits.threads.get(), "thread"));
    let total = format!("{checks}, {} states, {} on {threads}", grouped(states), time(elapsed));
    page.gap();
    page.prose(Paint::Faint, 0, &total);
    let cut = findings.runs.iter().filter_map(|run| cut(&run.report, args)).next();
    if let Some(by) = cut {
        page.prose(Paint::Doubt, 0, &format!("Where a number has a +, the search was cut short by {by}."));
    }
    let wrong = findings.runs.iter().filter(|run| run.mismatches.as_ref().is_some_and(|m| !m.is_empty())).count();
    if wrong > 0 {
        let text = format!("{wrong} of {checks} not as expected.");
        page.prose(Paint::Bad, 0, &text);
    }
    if !args.expect || wrong > 0 {
        if let Some((run, p, _)) = findings.shown() {
            page.gap();
            page.line(Line::of(Paint::Strong, "How it goes, step by step:"));
            page.command(&run.plan.command(p.property));
        }
    }
    finish::end(&mut page, findings, args);
    page.finish()
}
