//! Several checks, a line each.

use check::scenario::{Named, Verdict};

use super::counts::{counted, grouped, time};
use super::finish::{self, cut, expected, unreached};
use super::page::{Line, Page, Paint, columns};
use super::signs::paint;
use crate::args::{CheckArgs, Settled};
use crate::commands::check::{Findings, Plan, Run};
use crate::exit::Exit;

/// The widest name.
const NAME: usize = 40;
/// The columns of the number of states and of the time.
const STATES: usize = 10;
const TIME: usize = 6;

/// The lines, which are printed as soon as a check is done.
#[derive(Debug)]
pub(crate) struct Lines {
    name: usize,
}

impl Lines {
    /// The layout for these checks.
    pub(crate) fn new(plans: &[Plan]) -> Self {
        Self { name: plans.iter().map(|plan| columns(&plan.name())).max().unwrap_or(0).min(NAME) }
    }

    /// The line of a check.
    pub(crate) fn line(&self, run: &Run, settled: &Settled) -> String {
        let mut page = Page::new(settled);
        let worst = worst(run);
        let (sign_paint, sign) = match run.exit() {
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
        };
        let mut line = Line::default().with(sign_paint, sign);
        line.pad(if settled.ascii { 3 } else { 2 });
        let start = line.width();
        line.push(Paint::Plain, &page.clean(&run.plan.name()));
        let numbers = start + self.name;
        let states = grouped(run.report.states.unique);
        let more = if run.report.is_complete() { " " } else { "+" };
        line.push_right(Paint::Faint, &format!("{states}{more}"), numbers + 2 + STATES);
        line.push_right(Paint::Faint, &time(run.elapsed), numbers + 2 + STATES + 1 + TIME);
        let at = numbers + 2 + STATES + 1 + TIME + 2;
        let paint = if run.mismatches.is_some() { Paint::Plain } else { paint(worst) };
        // Where it does not fit beside the numbers, it stands below the name.
        let at = if at + 20 <= page.width() {
            at
        } else {
            page.line(std::mem::take(&mut line));
            start + 2
        };
        page.hanging(line, paint, at, &said(run));
        for mismatch in run.mismatches.iter().flatten() {
            let (name, found) = (mismatch.property.name(), mismatch.found.name());
            page.prose(Paint::Bad, start + 2, &format!("{name} {found}, {}", expected(mismatch)));
        }
        let missing = unreached(&run.report);
        if !missing.is_empty() && run.report.is_complete() {
            page.prose(Paint::Doubt, start + 2, &format!("never reached: {}", missing.join(", ")));
        }
        page.finish()
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
