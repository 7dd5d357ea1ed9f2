//! What stands above and below the steps.

use std::collections::BTreeSet;

use super::lanes::Lanes;
use super::line::{Line, Paint};
use super::signs::Signs;
use super::{KEYS, Page};
use crate::model::{ActorKind, Trace};
use crate::render::text::{columns, wrap, wrap_command};
use crate::step::{Fate, Step, StepKind};

/// The scenario, the property, the numbers and the legend.
pub(super) fn head(page: &mut Page<'_>) {
    let trace = page.trace;
    title(page, &trace.scenario.title);
    page.gap();
    row(page, "violates", Paint::Clash, &trace.property.name);
    row(page, "", Paint::Plain, &trace.property.says);
    let shown = if page.style.colour { "faint" } else { "in parentheses" };
    let (all, mattering) = (trace.steps.len(), trace.mattering());
    let count = if all == 0 {
        "none: the beginning violates it".to_owned()
    } else if mattering == all {
        format!("all {all} steps matter")
    } else {
        format!("{mattering} of {all} steps matter; the others are {shown}")
    };
    row(page, "steps", Paint::Plain, &count);
    row(page, "grain", Paint::Plain, &grain(&trace.grain));
    let faults: Vec<String> =
        trace.scenario.faults.iter().map(|fault| format!("{} {}", fault.fault, fault.budget)).collect();
    row(page, "faults", Paint::Plain, &if faults.is_empty() { "none".to_owned() } else { faults.join(", ") });
    if all > 0 {
        let lanes = who(&page.lanes);
        row(page, "lanes", Paint::Plain, &lanes);
        legend(page);
    }
    page.gap();
}

/// The facts, and how to find the trace again.
pub(super) fn foot(page: &mut Page<'_>) {
    let trace = page.trace;
    if !trace.why.is_empty() {
        page.gap();
        title(page, &format!("Why it violates {}:", trace.property.name));
    }
    for fact in &trace.why {
        let bullet = format!("  {} ", page.signs.bullet);
        hanging(page, Paint::Plain, &bullet, fact);
    }
    page.gap();
    title(page, &format!("Find it again (trace {}):", trace.id));
    for text in wrap_command(&page.clean(&trace.command), page.width - 2) {
        page.put(Line::of(Paint::Plain, &format!("  {text}")));
    }
}

fn title(page: &mut Page<'_>, text: &str) {
    for text in wrap(&page.clean(text), page.width) {
        page.put(Line::of(Paint::Strong, &text));
    }
}

fn row(page: &mut Page<'_>, key: &str, paint: Paint, text: &str) {
    let text = page.clean(text);
    for (number, text) in wrap(&text, page.width - KEYS).iter().enumerate() {
        let mut line = Line::of(Paint::Faint, "  ");
        line.push(Paint::Faint, if number == 0 { key } else { "" });
        line.pad(KEYS);
        line.push(paint, text);
        page.put(line);
    }
}

/// A text whose further lines stand below its first, behind the bullet.
fn hanging(page: &mut Page<'_>, paint: Paint, bullet: &str, text: &str) {
    let indent = columns(bullet);
    let text = page.clean(text);
    for (number, text) in wrap(&text, page.width - indent).iter().enumerate() {
        let mut line = Line::of(Paint::Faint, if number == 0 { bullet } else { "" });
        line.pad(indent);
        line.push(paint, text);
        page.put(line);
    }
}

fn grain(grain: &str) -> String {
    match grain {
        "message" => "message: a request and its reply are steps of their own".to_owned(),
        "exchange" => "exchange: a command and its reply are one step".to_owned(),
        other => other.to_owned(),
    }
}

/// The lanes in words; those whose names differ in nothing but the label together.
fn who(lanes: &Lanes<'_>) -> String {
    let mut groups: Vec<(String, String)> = Vec::new();
    for (label, actor) in lanes.labelled() {
        let name = actor.name.strip_suffix(label).unwrap_or(&actor.name).trim_end();
        match groups.last_mut() {
            Some((labels, last)) if last == name => labels.push_str(&format!(" {label}")),
            _ => groups.push((label.to_string(), name.to_owned())),
        }
    }
    let plural = |labels: &str| if labels.contains(' ') { "s" } else { "" };
    let groups: Vec<String> =
        groups.iter().map(|(labels, name)| format!("{labels} {name}{}", plural(labels))).collect();
    groups.join(", ")
}

/// The signs that this trace uses, packed into as few lines as their columns allow.
fn legend(page: &mut Page<'_>) {
    let mut entries = entries(page.trace, page.signs);
    if page.trace.steps.iter().any(|step| step.fault.is_some()) {
        entries.push(("!".to_owned(), "a fault"));
    }
    let mut lines: Vec<Vec<(String, &str)>> = vec![Vec::new()];
    let mut used = KEYS;
    for (sign, words) in entries {
        let wide = columns(&sign) + 1 + columns(words);
        if used > KEYS && used + wide > page.width {
            lines.push(Vec::new());
            used = KEYS;
        }
        used += wide + 2;
        if let Some(line) = lines.last_mut() {
            line.push((sign, words));
        }
    }
    for (number, entries) in lines.into_iter().enumerate() {
        let mut line = Line::of(Paint::Faint, if number == 0 { "  signs" } else { "" });
        line.pad(KEYS);
        for (at, (sign, words)) in entries.into_iter().enumerate() {
            line.push(Paint::Plain, if at == 0 { "" } else { "  " });
            line.push(Paint::Strong, &sign);
            line.push(Paint::Plain, &format!(" {words}"));
        }
        page.put(line);
    }
}

fn entries(trace: &Trace, signs: &Signs) -> Vec<(String, &'static str)> {
    let steps = &trace.steps;
    let some = |test: &dyn Fn(&Step) -> bool| steps.iter().any(test);
    let fate = |fate| steps.iter().flat_map(|step| &step.messages).any(|hop| hop.fate == fate);
    let rests = |step: &Step, id: &String| step.paused.contains(id) && !step.gone.contains(id);
    let arrow = |end: char| format!("{}{}{end}", signs.origin, signs.shaft);
    let both = format!("{}{}{}", signs.head[0], signs.shaft, signs.head[1]);
    let clients = trace.actors.iter().any(|actor| actor.kind == ActorKind::Client);
    [
        (clients && some(&|step| !step.holding.is_empty()), signs.holding.to_string(), "believes it holds the lock"),
        (
            some(&|step| step.holding.iter().any(|id| rests(step, id))),
            signs.paused_holding.to_string(),
            "believes so, paused",
        ),
        (some(&|step| step.paused.iter().any(|id| !step.holding.contains(id))), signs.paused.to_string(), "paused"),
        (some(&|step| !step.gone.is_empty()), signs.gone.to_string(), "is down"),
        (fate(Fate::Sent), format!("{}{}", signs.acts, signs.sends), "sends"),
        (some(&|step| step.kind != StepKind::Exchange && delivers(step)), arrow(signs.head[1]), "arrives"),
        (some(&|step| step.kind == StepKind::Exchange), both, "asks and is answered"),
        (fate(Fate::Ignored), arrow(signs.ignored[1]), "arrives, ignored"),
        (fate(Fate::Lost), arrow(signs.lost), "lost"),
        (fate(Fate::Delayed), arrow(signs.delayed), "delayed"),
        (fate(Fate::Refused), arrow(signs.refused), "refused"),
    ]
    .into_iter()
    .filter_map(|(used, sign, words)| used.then_some((sign, words)))
    .chain(faults(trace, signs))
    .collect()
}

fn delivers(step: &Step) -> bool {
    step.messages.iter().any(|hop| hop.fate == Fate::Delivered)
}

/// The signs of the faults that strike an actor; those that strike a message show in its arrow.
fn faults(trace: &Trace, signs: &Signs) -> BTreeSet<(String, &'static str)> {
    let of = |step: &Step| {
        let sign = signs.actor(step);
        let words = [
            (signs.pause, "is paused"),
            (signs.crash, "goes down"),
            (signs.restart, "comes back"),
            (signs.clock, "its clock is off"),
        ];
        words.into_iter().find(|&(known, _)| known == sign).map(|(_, words)| (sign.to_string(), words))
    };
    trace.steps.iter().filter(|step| step.messages.is_empty()).filter_map(of).collect()
}
