//! What a profile comes to: with which settings a library survives which faults. Computed from the runs of its sheet.

use check::PropertyReport;
use check::scenario::{Named, Verdict};

use super::page::{Line, Page, Paint};
use crate::commands::check::{Findings, Run};

/// Puts a paragraph for each of the settings, which are what the titles of the rows have before their colon.
pub(super) fn put(page: &mut Page<'_>, findings: &Findings) {
    let Some(profile) = findings.sheet.as_ref().and_then(|sheet| sheet.profile.as_ref()) else { return };
    page.gap();
    page.rule(&format!("can I use {}?", profile.library));
    for settings in settings(&findings.runs) {
        let rows: Vec<_> = findings.runs.iter().filter(|run| split(run).0 == settings).collect();
        page.line(Line::of(Paint::Strong, settings));
        let (held, rest): (Vec<&Run>, Vec<&Run>) = rows.into_iter().partition(|run| holds(run));
        if !held.is_empty() {
            let faults: Vec<_> = held.iter().map(|run| split(run).1).collect();
            page.prose(Paint::Good, 2, &format!("everything holds under: {}", faults.join(", ")));
        }
        for run in rest {
            page.prose(Paint::Bad, 2, &format!("{}: {}", split(run).1, broken(run)));
        }
    }
    for sentence in &profile.beyond {
        page.prose(Paint::Faint, 0, &format!("Beyond the knobs: {sentence}"));
    }
}

/// The settings in the order of the rows, each once.
fn settings(runs: &[Run]) -> Vec<&str> {
    let mut all: Vec<&str> = Vec::new();
    for run in runs {
        let (settings, _) = split(run);
        if !all.contains(&settings) {
            all.push(settings);
        }
    }
    all
}

/// The settings and the faults of a row.
fn split(run: &Run) -> (&str, &str) {
    run.report.title.split_once(": ").unwrap_or(("as it stands", &run.report.title))
}

fn holds(run: &Run) -> bool {
    run.report.properties.iter().all(|p| p.verdict == Verdict::Holds)
}

/// The properties that do not hold, by verdict.
fn broken(run: &Run) -> String {
    let of = |verdict: Verdict| {
        let is_so = |p: &&PropertyReport| p.verdict == verdict;
        let names: Vec<_> = run.report.properties.iter().filter(is_so).map(|p| p.property).collect();
        let names: Vec<_> = names.into_iter().map(Named::name).collect();
        (!names.is_empty()).then(|| format!("{} {}", names.join(", "), verdict.name()))
    };
    let parts: Vec<_> =
        [Verdict::Violated, Verdict::Inconclusive, Verdict::Vacuous].into_iter().filter_map(of).collect();
    parts.join("; ")
}
