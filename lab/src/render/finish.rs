//! What the views have in common: how a search ended, the trace, the other counterexamples, the exit code.

use check::explore::Cut;
use check::scenario::{Named, Witness};
use check::{Ending, Report};
use trace::Trace;
use world::Fault;

use super::counts::counted;
use super::page::{Line, Page, Paint};
use crate::args::{CheckArgs, Settled};
use crate::commands::check::{Findings, Run};
use crate::exit::Exit;
use crate::expectation::Mismatch;
use crate::tracefile::TraceForm;

/// How many commands are shown, unless more is asked for.
const COMMANDS: usize = 8;

/// The trace as a view shows it.
pub(super) fn trace(trace: &Trace, settled: &Settled) -> String {
    super::trace::written(trace, TraceForm::Text, settled, settled.colour)
}

/// The trace that a view shows, and the command that makes it happen.
pub(super) fn put_trace(page: &mut Page<'_>, shown: &Trace) {
    page.raw(&trace(shown, page.settled));
    page.gap();
    page.prose(Paint::Faint, 0, "Make it happen on real servers:");
    page.command(&format!("{} --replay", shown.command));
}

/// Whether a search was cut short.
pub(super) fn is_cut(report: &Report) -> bool {
    !report.is_complete()
}

/// What cut a search short; none if nothing did.
pub(crate) fn cut(report: &Report) -> Option<&'static str> {
    match report.ending {
        Ending::Exhausted | Ending::Enough => None,
        Ending::MaxStates => Some("--max-states"),
        Ending::MaxDepth => Some("--max-depth"),
        Ending::Cut(Cut::Time) => Some("--timeout"),
        Ending::Cut(Cut::Memory) => Some("--memory"),
        Ending::Cut(Cut::Interrupted) => Some("Ctrl-C"),
    }
}

/// Whether what was found depends on when the search was cut.
pub(super) fn is_chance(report: &Report) -> bool {
    matches!(report.ending, Ending::Cut(_))
}

/// The required witnesses that were never reached.
pub(crate) fn unreached(report: &Report) -> Vec<&'static str> {
    report.witnesses.iter().filter(|w| w.required && !w.reached).map(|w| w.name).collect()
}

/// What a witness says.
pub(super) fn witness_says(name: &str) -> String {
    match (Witness::named(name), Fault::named(name)) {
        (Some(witness), _) => witness.says().to_owned(),
        (None, Some(_)) => "The fault happened.".to_owned(),
        (None, None) => String::new(),
    }
}

/// What was expected instead.
pub(super) fn expected(mismatch: &Mismatch) -> String {
    match mismatch.expected {
        Some(verdict) => format!("expected {}", verdict.name()),
        None => "no violation expected".to_owned(),
    }
}

/// Where a check is not as expected, properties of the same kind together.
pub(super) fn mismatched(run: &Run) -> Vec<String> {
    let mut groups: Vec<(&Mismatch, Vec<&str>)> = Vec::new();
    for mismatch in run.mismatches.iter().flatten() {
        let is_alike = |other: &Mismatch| (other.expected, other.found) == (mismatch.expected, mismatch.found);
        match groups.iter_mut().find(|(other, _)| is_alike(other)) {
            Some((_, names)) => names.push(mismatch.property.name()),
            None => groups.push((mismatch, vec![mismatch.property.name()])),
        }
    }
    let told = |(m, names): (&Mismatch, Vec<&str>)| format!("{} {}, {}", names.join(", "), m.found.name(), expected(m));
    groups.into_iter().map(told).collect()
}

/// The commands that show the counterexamples that are not shown.
pub(super) fn others(page: &mut Page<'_>, findings: &Findings) {
    let shown = findings.shown().map(|(run, p, _)| (std::ptr::from_ref(run), p.property));
    let commands: Vec<String> = findings
        .runs
        .iter()
        .flat_map(|run| run.violated().map(move |(p, _)| (run, p.property)))
        .filter(|(run, property)| shown != Some((std::ptr::from_ref(*run), *property)))
        .map(|(run, property)| run.plan.command(property))
        .collect();
    if commands.is_empty() {
        return;
    }
    page.gap();
    let title = match (shown.is_some(), commands.len()) {
        (true, 1) => "The other counterexample:".to_owned(),
        (true, more) => format!("The other {}:", counted(more, "counterexample")),
        (false, 1) => "The counterexample:".to_owned(),
        (false, more) => format!("The {}:", counted(more, "counterexample")),
    };
    page.line(Line::of(Paint::Strong, &title));
    let most = if page.settled.verbose || commands.len() <= COMMANDS + 1 { commands.len() } else { COMMANDS };
    for command in &commands[..most] {
        page.command(command);
    }
    if commands.len() > most {
        let text = format!("and {} more, which -v lists", commands.len() - most);
        page.prose(Paint::Faint, 2, &text);
    }
}

/// The last lines: what it comes to.
pub(super) fn end(page: &mut Page<'_>, findings: &Findings, args: &CheckArgs, is_trace_shown: bool) {
    let exit = findings.exit;
    if let Some(plan) = findings.not_run.first() {
        page.gap();
        let text =
            format!("Interrupted: {} not begun, from {} on.", counted(findings.not_run.len(), "check"), plan.name());
        page.prose(Paint::Doubt, 0, &text);
    }
    page.gap();
    let code = format!("Exit code {}: {}", exit.code(), exit.says());
    let text = match exit {
        Exit::Holds if args.expect => as_expected(&findings.runs),
        Exit::Holds => "Everything asked for holds, in every reachable state.".to_owned(),
        Exit::Violated | Exit::Deadlock => match lesson(findings, is_trace_shown) {
            Some(lesson) => format!("{code}. {lesson}"),
            None => format!("{code}."),
        },
        Exit::Bug
        | Exit::Usage
        | Exit::Input
        | Exit::Unexpected
        | Exit::Absent
        | Exit::Inconclusive
        | Exit::Different
        | Exit::Diverged
        | Exit::NotReproduced
        | Exit::NotReplayable
        | Exit::Vacuous => format!("{code}."),
    };
    let paint = if exit == Exit::Holds { Paint::Good } else { Paint::Plain };
    page.prose(paint, 0, &text);
}

fn as_expected(runs: &[Run]) -> String {
    match runs.len() {
        1 => "All as expected.".to_owned(),
        number => format!("All {number} checks are as expected."),
    }
}

/// That the violations are those that the scenario is there to show.
fn lesson(findings: &Findings, is_trace_shown: bool) -> Option<String> {
    let (run, p, _) = findings.shown()?;
    if !run.teaches(p.property) {
        return None;
    }
    let is_all = findings.runs.iter().all(|run| run.violated().all(|(p, _)| run.teaches(p.property)));
    let number: usize = findings.runs.iter().map(|run| run.violated().count()).sum();
    let text = match (is_all, number, is_trace_shown) {
        (true, 1, true) => "The scenario expects it: this is the counterexample that it teaches.",
        (true, _, true) => {
            "The scenario expects every one of these violations: the counterexample above is the one that it teaches."
        }
        (true, _, false) => "Every violation is one that its scenario expects.",
        (false, _, true) => "The scenario expects the one above: it is the counterexample that it teaches.",
        (false, _, false) => return None,
    };
    Some(text.to_owned())
}
