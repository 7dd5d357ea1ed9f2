//! The catalogue, by family.

use check::scenario::{Named, Property, Scenario, Verdict};

use super::page::{Line, Page, Paint, columns};
use super::signs::paint;
use crate::args::Settled;

/// The columns before everything.
const LEFT: usize = 2;

/// The view: with signs where the width is known, otherwise with words, which can be searched.
pub(crate) fn text(scenarios: &[Scenario], settled: &Settled) -> String {
    if settled.is_width_known { signs(scenarios, settled) } else { words(scenarios, settled) }
}

/// A line for each scenario, a column for each property.
fn signs(scenarios: &[Scenario], settled: &Settled) -> String {
    let mut page = Page::new(settled);
    let pitch = columns(page.signs.holds) + 1;
    stairs(&mut page, pitch);
    let cells = LEFT + pitch * Property::ALL.len() + 1;
    let ids = scenarios.iter().map(|s| columns(&s.id)).max().unwrap_or(0);
    let titles = cells + ids + 2;
    by_family(&mut page, scenarios, |page, scenario| {
        let mut line = Line::default();
        line.pad(LEFT);
        if scenario.rows.is_empty() {
            for (at, property) in Property::ALL.iter().enumerate() {
                line.pad(LEFT + pitch * at);
                match scenario.expected(*property) {
                    Some(verdict) => line.push(paint(verdict), page.signs.verdict(verdict)),
                    None => line.push(Paint::Faint, page.signs.unasked),
                }
            }
        } else {
            line.push(Paint::Plain, &brief(scenario));
        }
        line.pad(cells);
        line.push(Paint::Command, &scenario.id);
        page.hanging(line, Paint::Plain, titles, &scenario.title);
    });
    if !settled.quiet {
        page.gap();
        legend(&mut page, scenarios);
        page.prose(Paint::Faint, LEFT, "lab show NAME explains a scenario, lab check NAME checks it.");
    }
    page.finish()
}

/// The names of the properties, each above its column.
fn stairs(page: &mut Page<'_>, pitch: usize) {
    for (number, property) in Property::ALL.iter().enumerate() {
        let mut line = Line::default();
        for column in 0..number {
            line.pad(LEFT + pitch * column);
            line.push(Paint::Faint, page.signs.stem);
        }
        line.pad(LEFT + pitch * number);
        line.push(Paint::Plain, property.name());
        page.line(line);
    }
}

fn legend(page: &mut Page<'_>, scenarios: &[Scenario]) {
    let mut line = Line::default();
    line.pad(LEFT);
    line.push(Paint::Faint, "expected: ");
    for verdict in Verdict::ALL {
        if scenarios.iter().any(|s| s.expect.iter().any(|(_, v)| v == verdict)) {
            line.push(paint(*verdict), page.signs.verdict(*verdict));
            line.push(Paint::Faint, &format!(" {}   ", verdict.name()));
        }
    }
    line.push(Paint::Faint, &format!("{} nothing", page.signs.unasked));
    page.line(line);
}

/// A line for each scenario, with what it expects in words.
fn words(scenarios: &[Scenario], settled: &Settled) -> String {
    let mut page = Page::new(settled);
    let ids = scenarios.iter().map(|s| columns(&s.id)).max().unwrap_or(0);
    let titles = scenarios.iter().map(|s| columns(&page.clean(&s.title))).max().unwrap_or(0);
    by_family(&mut page, scenarios, |page, scenario| {
        let mut line = Line::default();
        line.pad(LEFT);
        line.push(Paint::Command, &scenario.id);
        line.pad(LEFT + ids + 2);
        line.push(Paint::Plain, &page.clean(&scenario.title));
        line.pad(LEFT + ids + 2 + titles + 2);
        line.push(Paint::Plain, &brief(scenario));
        page.line(line);
    });
    page.finish()
}

fn by_family(page: &mut Page<'_>, scenarios: &[Scenario], mut put: impl FnMut(&mut Page<'_>, &Scenario)) {
    let mut family = None;
    for scenario in scenarios {
        if family != Some(&scenario.family) {
            if family.is_some() {
                page.gap();
            }
            page.line(Line::of(Paint::Strong, &scenario.family));
            family = Some(&scenario.family);
        }
        put(page, scenario);
    }
}

/// What it expects, in brief.
fn brief(scenario: &Scenario) -> String {
    if !scenario.rows.is_empty() {
        return format!("sheet of {}", scenario.rows.len());
    }
    let of = |verdict: Verdict| -> Vec<&str> {
        scenario.expect.iter().filter(|(_, v)| *v == verdict).map(|(p, _)| p.name()).collect()
    };
    for verdict in [Verdict::Violated, Verdict::Vacuous, Verdict::Inconclusive] {
        let names = of(verdict);
        if !names.is_empty() {
            return format!("{}: {}", verdict.name(), names.join(", "));
        }
    }
    match of(Verdict::Holds).as_slice() {
        [] => "expects nothing".to_owned(),
        [one] => format!("{one} holds"),
        _ => "all hold".to_owned(),
    }
}
