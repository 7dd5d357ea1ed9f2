//! The catalogue, by family.

use check::scenario::{Named, Scenario, Verdict};

use super::page::{Line, Page, Paint, columns, wrap};
use crate::args::Settled;

/// The view. Where nobody says how wide a line may be, every scenario is one line.
pub(crate) fn text(scenarios: &[Scenario], settled: &Settled) -> String {
    let mut page = Page::new(settled);
    let widest = |text: &dyn Fn(&Scenario) -> String| scenarios.iter().map(|s| columns(&text(s))).max().unwrap_or(0);
    let ids = widest(&|s| s.id.clone());
    let titles = widest(&|s| page.clean(&s.title));
    let left = 2 + ids + 2;
    let (titles, rest) = if settled.is_width_known {
        let both = page.width().saturating_sub(left + 2);
        let rest = widest(&|s| brief(s).1).min((both / 2).max(20));
        (titles.min(both.saturating_sub(rest).max(20)), rest)
    } else {
        (titles, usize::MAX)
    };
    let mut family = None;
    for scenario in scenarios {
        if family != Some(&scenario.family) {
            if family.is_some() {
                page.gap();
            }
            page.line(Line::of(Paint::Strong, &scenario.family));
            family = Some(&scenario.family);
        }
        let (paint, verdict) = brief(scenario);
        let titled = wrap(&page.clean(&scenario.title), titles);
        let verdict = wrap(&verdict, rest);
        for at in 0..titled.len().max(verdict.len()) {
            let mut line = Line::default();
            line.pad(2);
            line.push(Paint::Command, if at == 0 { &scenario.id } else { "" });
            line.pad(left);
            line.push(Paint::Plain, titled.get(at).map_or("", String::as_str));
            line.pad(left + titles + 2);
            line.push(paint, verdict.get(at).map_or("", String::as_str));
            page.line(line);
        }
    }
    if settled.is_width_known && !settled.quiet {
        page.gap();
        page.prose(Paint::Faint, 0, "lab show NAME explains a scenario, lab check NAME checks it.");
    }
    page.finish()
}

/// What it expects, in brief.
fn brief(scenario: &Scenario) -> (Paint, String) {
    if !scenario.rows.is_empty() {
        return (Paint::Strong, format!("sheet of {}", scenario.rows.len()));
    }
    let of = |verdict| {
        let names: Vec<_> = scenario.expect.iter().filter(|(_, v)| *v == verdict).map(|(p, _)| p.name()).collect();
        names.join(", ")
    };
    let (violated, vacuous) = (of(Verdict::Violated), of(Verdict::Vacuous));
    if !violated.is_empty() {
        (Paint::Bad, format!("violated: {violated}"))
    } else if !vacuous.is_empty() {
        (Paint::Doubt, format!("vacuous: {vacuous}"))
    } else if scenario.expect.is_empty() {
        (Paint::Faint, "expects nothing".to_owned())
    } else {
        let all = if scenario.expect.len() == 1 { of(Verdict::Holds) + " holds" } else { "all hold".to_owned() };
        (Paint::Good, all)
    }
}
