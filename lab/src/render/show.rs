//! A scenario explained: its file, its knobs, its pair, what it expects.

use check::scenario::{Described, Named, Scenario, Section};

use super::page::{Line, Page, Paint, is_hidden};
use super::signs::paint;
use crate::args::Settled;
use crate::quote::quoted;
use crate::target::Target;

/// The view.
pub(crate) fn text(target: &Target, pair: Option<&Scenario>, settled: &Settled) -> String {
    let mut page = Page::new(settled);
    file(&mut page, &target.text);
    if settled.quiet {
        return page.finish();
    }
    let scenario = &target.scenario;
    knobs(&mut page, scenario);
    profile_of(&mut page, scenario);
    pair_of(&mut page, scenario, pair);
    expectations(&mut page, scenario);
    page.gap();
    page.line(Line::of(Paint::Strong, "Check it:"));
    page.command(&format!("lab check {}", quoted(&target.called)));
    page.finish()
}

/// The file, with comments and headers standing back or out.
fn file(page: &mut Page<'_>, text: &str) {
    for line in text.lines() {
        let line: String = line.chars().map(|c| if is_hidden(c) && c != '\t' { '\u{fffd}' } else { c }).collect();
        let paint = match line.trim_start().chars().next() {
            Some('#') => Paint::Faint,
            Some('[') => Paint::Strong,
            Some(_) | None => Paint::Plain,
        };
        page.raw(&paint.on(page.settled.colour, &line));
        page.raw("\n");
    }
}

fn knobs(page: &mut Page<'_>, scenario: &Scenario) {
    let all = scenario.describe();
    let (defaults, turned): (Vec<_>, Vec<_>) = all.iter().partition(|knob| knob.is_default);
    page.gap();
    let is_sheet = !scenario.rows.is_empty();
    page.rule(if is_sheet { "knobs that are turned, for all rows" } else { "knobs that are turned" });
    if turned.is_empty() {
        page.prose(Paint::Faint, 2, "none");
    }
    for knob in turned {
        explained(page, knob);
    }
    page.gap();
    page.rule("knobs that are left to their default");
    for section in Section::ALL {
        let of_section: Vec<_> = defaults.iter().filter(|d| d.knob.section == section).collect();
        if of_section.is_empty() {
            continue;
        }
        if page.settled.verbose {
            of_section.into_iter().for_each(|knob| explained(page, knob));
            continue;
        }
        let head = Line::of(Paint::Faint, &format!("  [{}]", section.name()));
        let list: Vec<_> = of_section.iter().map(|d| format!("{}={}", d.knob.key, d.value.replace(' ', ""))).collect();
        page.hanging(head, Paint::Plain, 14, &list.join(" "));
    }
    if !page.settled.verbose {
        page.prose(Paint::Faint, 2, "lab show -v explains these as well.");
    }
}

fn explained(page: &mut Page<'_>, described: &Described) {
    let knob = described.knob;
    let mut line = Line::of(Paint::Plain, "  ").with(Paint::Strong, &knob.path());
    line.push(Paint::Plain, " = ");
    line.push(Paint::Command, &page.clean(&described.value));
    page.line(line);
    let says = match described.meaning {
        Some(meaning) => format!("{} {meaning}", knob.says()),
        None => knob.says().to_owned(),
    };
    page.prose(Paint::Plain, 6, &says);
}

/// The library, and where it says what each knob says.
fn profile_of(page: &mut Page<'_>, scenario: &Scenario) {
    let Some(profile) = &scenario.profile else { return };
    page.gap();
    page.rule(&format!("where {} {} says so", profile.library, profile.version));
    for said in &profile.places {
        page.line(Line::of(Paint::Plain, "  ").with(Paint::Strong, said.knob));
        page.prose(Paint::Plain, 6, &said.place);
    }
    if profile.beyond.is_empty() {
        return;
    }
    page.gap();
    page.rule("what no knob can say");
    for sentence in &profile.beyond {
        page.prose(Paint::Plain, 2, sentence);
    }
}

fn pair_of(page: &mut Page<'_>, scenario: &Scenario, pair: Option<&Scenario>) {
    let Some(id) = &scenario.pair else { return };
    page.gap();
    page.rule(&format!("its pair: {id}"));
    let Some(pair) = pair else {
        page.prose(Paint::Faint, 2, "No scenario that comes with the lab has this name.");
        return;
    };
    page.prose(Paint::Plain, 2, &pair.title);
    let differences = scenario.differences(pair);
    if differences.is_empty() {
        page.prose(Paint::Faint, 2, "It differs in no knob and no fault.");
    }
    for difference in differences {
        let mut line = Line::of(Paint::Plain, "  ").with(Paint::Strong, &difference.key);
        line.push(Paint::Plain, &format!(" is {} here and {} there", difference.left, difference.right));
        page.line(line);
    }
}

fn expectations(page: &mut Page<'_>, scenario: &Scenario) {
    page.gap();
    page.rule("what it expects");
    if scenario.rows.is_empty() {
        expected(page, scenario, 2);
    }
    for row in scenario.expand().iter().filter(|_| !scenario.rows.is_empty()) {
        page.line(Line::of(Paint::Plain, "  ").with(Paint::Strong, &page.clean(&row.title)));
        expected(page, row, 4);
    }
}

fn expected(page: &mut Page<'_>, scenario: &Scenario, indent: usize) {
    if scenario.expect.is_empty() {
        page.prose(Paint::Faint, indent, "nothing");
    }
    for (property, verdict) in &scenario.expect {
        let mut line = Line::default();
        line.pad(indent);
        line.push(paint(*verdict), page.signs.verdict(*verdict));
        line.pad(indent + 3);
        line.push(Paint::Plain, property.name());
        line.pad(indent + 3 + 18);
        line.push(paint(*verdict), verdict.name());
        page.line(line);
    }
    for witness in &scenario.witnesses {
        let text = format!("and must reach {}: {}", witness.name(), witness.says());
        page.prose(Paint::Faint, indent, &text);
    }
}
