//! A sheet: a row for each check, a column for each property, then the counterexample that it teaches.

use std::collections::BTreeSet;

use check::Report;
use check::scenario::{Property, Verdict};

use super::answer;
use super::counts::{counted, grouped, time};
use super::finish::{self, cut, is_chance, is_cut, mismatched, unreached};
use super::page::{Line, Page, Paint, columns};
use super::signs::paint;
use super::table::{Table, pitch};
use crate::args::{CheckArgs, Settled};
use crate::commands::check::{Findings, Run};

/// The columns before the table.
const LEFT: usize = 2;
/// The most columns of a title.
const TITLE: usize = 32;
/// The columns of a time.
const TIME: usize = 6;

/// The view.
pub(crate) fn text(findings: &Findings, args: &CheckArgs, settled: &Settled) -> String {
    let mut page = Page::new(settled);
    if !settled.quiet
        && let Some(sheet) = &findings.sheet
    {
        page.prose(Paint::Strong, 0, &sheet.title);
        if !sheet.about.is_empty() {
            page.prose(Paint::Plain, 0, &sheet.about);
        }
        page.gap();
    }
    table(&mut page, findings);
    if settled.quiet {
        return page.finish();
    }
    page.gap();
    let reports: Vec<&Report> = findings.runs.iter().map(|run| &run.report).collect();
    legend(&mut page, &reports);
    notes(&mut page, findings);
    total(&mut page, findings, args);
    answer::put(&mut page, findings);
    if let Some((_, _, trace)) = findings.shown() {
        page.gap();
        page.rule("the shortest counterexample of the first violation");
        page.gap();
        finish::put_trace(&mut page, trace);
    }
    finish::others(&mut page, findings);
    finish::end(&mut page, findings, args, true);
    page.finish()
}

fn table(page: &mut Page<'_>, findings: &Findings) {
    let runs = &findings.runs;
    let is_asked = |p: &Property| runs.iter().any(|run| run.report.verdict(*p).is_some());
    let properties: Vec<_> = check::scenario::Named::ALL.iter().copied().filter(is_asked).collect();
    let states = |run: &Run| {
        let more = if is_cut(&run.report) { "+" } else { "" };
        format!("{}{more}", grouped(run.report.states.unique))
    };
    let depth = |run: &Run| run.report.states.depth.to_string();
    let widest = |text: &dyn Fn(&Run) -> usize| runs.iter().map(text).max().unwrap_or(0);
    let title = widest(&|run| columns(&page.clean(&run.report.title))).min(TITLE);
    let numbers = [
        ("states", widest(&|run| columns(&states(run))).max(6)),
        ("depth", widest(&|run| columns(&depth(run))).max(5)),
        ("time", TIME),
    ];
    let pitch = widest(&|run| pitch(&run.report, page)).max(4);
    let table = Table::fit(page, (LEFT, title), properties, pitch, &numbers);
    table.head(page);
    for run in runs {
        let numbers = [("states", states(run)), ("depth", depth(run)), ("time", time(run.elapsed))];
        table.row(page, Line::default(), &run.report.title, &run.report, &numbers);
    }
}

/// The signs that a table of these uses.
pub(super) fn legend(page: &mut Page<'_>, reports: &[&Report]) {
    let has = |verdict| reports.iter().any(|report| report.properties.iter().any(|p| p.verdict == verdict));
    let most = reports.iter().map(|report| report.properties.len()).max();
    let entries = [
        (Verdict::Holds, "holds"),
        (Verdict::Violated, "n  violated, after n steps at the soonest"),
        (Verdict::Inconclusive, "not known"),
        (Verdict::Vacuous, "vacuous"),
    ];
    let entries = entries.into_iter().filter(|(verdict, _)| has(*verdict));
    let mut entries: Vec<_> = entries.map(|(v, words)| (paint(v), page.signs.verdict(v), words)).collect();
    if reports.iter().any(|report| Some(report.properties.len()) != most) {
        entries.push((Paint::Faint, page.signs.unasked, "not asked"));
    }
    page.entries(LEFT, &entries);
}

/// What a sign alone does not say.
fn notes(page: &mut Page<'_>, findings: &Findings) {
    let cut_by: BTreeSet<_> = findings.runs.iter().filter_map(|run| cut(&run.report)).collect();
    for by in cut_by {
        let cut: Vec<&Run> = findings.runs.iter().filter(|run| cut(&run.report) == Some(by)).collect();
        let titles: Vec<&str> = cut.iter().map(|run| run.report.title.as_str()).collect();
        let is_chance = cut.iter().any(|run| is_chance(&run.report));
        let chance = if is_chance { ", at a point that differs from run to run" } else { "" };
        let text = format!("cut short by {by}{chance}, and there are more states: {}", titles.join("; "));
        page.prose(Paint::Doubt, LEFT, &text);
    }
    for run in &findings.runs {
        let title = &run.report.title;
        let missing = unreached(&run.report);
        if !missing.is_empty() && run.report.is_complete() {
            page.prose(Paint::Doubt, LEFT, &format!("{title}: never reached {}", missing.join(", ")));
        }
        for told in mismatched(run) {
            page.prose(Paint::Bad, LEFT, &format!("{title}: {told}"));
        }
    }
}

/// How much was searched in all.
pub(super) fn total(page: &mut Page<'_>, findings: &Findings, args: &CheckArgs) {
    let states: u64 = findings.runs.iter().map(|run| run.report.states.unique).sum();
    let elapsed = findings.runs.iter().map(|run| run.elapsed).sum();
    let (checks, threads) = (counted(findings.runs.len(), "check"), counted(args.limits.threads.get(), "thread"));
    let up_to = if args.limits.symmetry { " up to symmetry" } else { "" };
    let states = grouped(states);
    page.prose(Paint::Faint, LEFT, &format!("{checks}, {states} states{up_to}, {} on {threads}", time(elapsed)));
}
