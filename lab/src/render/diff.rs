//! Two scenarios: where they differ, what that changes, and one schedule on both.

use check::diff::{Diff, Flip, Method, Verdicts};
use check::scenario::{Named, Property, Verdict};
use check::{PropertyReport, Report};
use trace::Side;
use trace::render::terminal::{Style, beside};

use super::counts::{counted, grouped, time};
use super::page::{Line, Page, Paint, columns, wrap};
use super::signs::paint;
use crate::args::{DiffArgs, Settled};
use crate::commands::diff::Findings;
use crate::exit::Exit;

/// How the two are called.
const LABELS: [&str; 2] = ["A", "B"];
/// The columns before everything.
const LEFT: usize = 2;
/// How many scenarios between are named, unless more is asked for.
const NAMED: usize = 3;

/// The view.
pub(crate) fn text(findings: &Findings, args: &DiffArgs, settled: &Settled) -> String {
    let mut page = Page::new(settled);
    let diff = &findings.diff;
    if !settled.quiet {
        head(&mut page, findings, args);
        keys(&mut page, diff);
    }
    verdicts(&mut page, diff);
    if settled.quiet {
        return page.finish();
    }
    let mut is_shown = false;
    for flip in &diff.flips {
        page.gap();
        flipped(&mut page, findings, flip);
        if let Some(both) = flip.beside.as_ref().filter(|_| !is_shown || settled.verbose) {
            schedule(&mut page, both);
            is_shown = true;
        }
    }
    notes(&mut page, diff);
    end(&mut page, findings);
    page.finish()
}

fn head(page: &mut Page<'_>, findings: &Findings, args: &DiffArgs) {
    // Where their grains differ, both are searched in the finer one.
    let [left, right] = &findings.plans;
    let grain = if left.scenario.grain() == right.scenario.grain() { "" } else { " --grain message" };
    for ((label, plan), report) in LABELS.iter().zip(&findings.plans).zip([&findings.diff.left, &findings.diff.right]) {
        let head = Line::of(Paint::Plain, "  ").with(Paint::Strong, label);
        page.hanging(head, Paint::Strong, 5, &plan.scenario.full_title());
        let states = format!("{} states", grouped(report.states.unique));
        let cut = super::cut(report).map_or_else(String::new, |by| format!(", cut short by {by}"));
        page.prose(Paint::Faint, 5, &format!("{}{grain} ({}), {states}{cut}", plan.called, report.hash));
    }
    let tally = &findings.diff.tally;
    let between = match (tally.searched, tally.replayed) {
        (0, 0) => String::new(),
        (searched, 0) => format!("{} between; ", counted(searched, "scenario")),
        (searched, replayed) => format!(
            "{} between, {replayed} answered by a counterexample that was known already; ",
            counted(searched + replayed, "scenario")
        ),
    };
    let threads = counted(args.question.limits.threads.get(), "thread");
    page.prose(Paint::Faint, 5, &format!("{between}{} on {threads}", time(findings.elapsed)));
    page.gap();
}

/// Two columns of values behind a column of names.
struct Columns {
    name: usize,
    value: usize,
}

impl Columns {
    fn new<'t>(page: &Page<'_>, rows: impl Iterator<Item = (&'t str, [&'t str; 2])> + Clone) -> Self {
        let name = rows.clone().map(|(name, _)| columns(name)).max().unwrap_or(0);
        let value = rows.map(|(_, values)| columns(values[0])).max().unwrap_or(0).max(6);
        let room = page.width().saturating_sub(LEFT + name + 2) / 2;
        Self { name, value: value.min(room.saturating_sub(2)) }
    }

    /// The column at which a side begins.
    fn at(&self, side: usize) -> usize {
        LEFT + self.name + 2 + side * (self.value + 2)
    }

    fn head(&self, page: &mut Page<'_>) {
        let mut line = Line::default();
        for (side, label) in LABELS.iter().enumerate() {
            line.pad(self.at(side));
            line.push(Paint::Strong, label);
        }
        page.line(line);
    }

    fn row(&self, page: &mut Page<'_>, name: (Paint, &str), values: [(Paint, &str); 2]) {
        let rooms = [self.value, page.width().saturating_sub(self.at(1))];
        let cells = [0, 1].map(|side| wrap(&page.clean(values[side].1), rooms[side].max(6)));
        for row in 0..cells.iter().map(Vec::len).max().unwrap_or(0) {
            let mut line = Line::default();
            line.pad(LEFT);
            line.push(name.0, if row == 0 { name.1 } else { "" });
            for (side, cell) in cells.iter().enumerate() {
                line.pad(self.at(side));
                line.push(values[side].0, cell.get(row).map_or("", String::as_str));
            }
            page.line(line);
        }
    }
}

fn keys(page: &mut Page<'_>, diff: &Diff) {
    if diff.keys.is_empty() {
        page.prose(Paint::Plain, 0, "They differ in no knob and no fault.");
        page.gap();
        return;
    }
    page.line(Line::of(Paint::Strong, "Where they differ"));
    let layout = Columns::new(page, diff.keys.iter().map(|d| (d.key.as_str(), [d.left.as_str(), d.right.as_str()])));
    layout.head(page);
    for difference in &diff.keys {
        let values = [(Paint::Command, difference.left.as_str()), (Paint::Command, difference.right.as_str())];
        layout.row(page, (Paint::Plain, &difference.key), values);
    }
    page.gap();
}

fn verdicts(page: &mut Page<'_>, diff: &Diff) {
    if !page.settled.quiet {
        page.line(Line::of(Paint::Strong, "What they come to"));
    }
    let told: Vec<(&Verdicts, [String; 2])> = diff
        .verdicts
        .iter()
        .map(|v| (v, [said(page, &diff.left, v.property, v.left), said(page, &diff.right, v.property, v.right)]))
        .collect();
    let rows = told.iter().map(|(v, [left, right])| (v.property.name(), [left.as_str(), right.as_str()]));
    let layout = Columns::new(page, rows);
    layout.head(page);
    for (verdicts, [left, right]) in &told {
        let is_flip = diff.flips.iter().any(|flip| flip.property == verdicts.property);
        let colour = |verdict: Option<Verdict>| verdict.map_or(Paint::Faint, paint);
        let name = if is_flip { Paint::Strong } else { Paint::Plain };
        let right = if is_flip { format!("{right}, which differs") } else { right.clone() };
        let values = [(colour(verdicts.left), left.as_str()), (colour(verdicts.right), right.as_str())];
        layout.row(page, (name, verdicts.property.name()), values);
    }
}

fn said(page: &Page<'_>, report: &Report, property: Property, verdict: Option<Verdict>) -> String {
    let Some(verdict) = verdict else { return format!("{} not asked", page.signs.unasked) };
    let sign = page.signs.verdict(verdict);
    let of = |p: &&PropertyReport| p.property == property;
    match report.properties.iter().find(of).and_then(PropertyReport::trace) {
        Some(trace) => format!("{sign} after {}", counted(trace.steps.len(), "step")),
        None => format!("{sign} {}", verdict.name()),
    }
}

/// A verdict that differs, and why.
fn flipped(page: &mut Page<'_>, findings: &Findings, flip: &Flip) {
    let (name, diff) = (flip.property.name(), &findings.diff);
    page.rule(&format!("{name}: A {}, B {}", flip.left.name(), flip.right.name()));
    let open = if flip.is_open { " (as far as it is known)" } else { "" };
    match flip.keys.as_slice() {
        [] => page.prose(Paint::Plain, 0, "No key makes the difference: the two are to be put to different tests."),
        [one] if one.len() == diff.keys.len() && one.len() > 1 => {
            page.prose(Paint::Plain, 0, &format!("It takes all of the keys{open}: {}.", list(diff, one)));
        }
        [one] => {
            let is_only = diff.keys.len() == 1;
            let subject = if is_only { "The one key makes" } else { "This makes" };
            page.prose(Paint::Plain, 0, &format!("{subject} the difference{open}: {}.", list(diff, one)));
        }
        several => {
            page.prose(Paint::Plain, 0, &format!("Each of these makes the difference{open}:"));
            for keys in several {
                page.prose(Paint::Plain, LEFT, &list(diff, keys));
            }
        }
    }
    let commands = flip.keys.iter().filter(|keys| keys.len() < diff.keys.len() || diff.keys.len() == 1);
    for keys in commands {
        page.command(&findings.command(keys, flip.property));
    }
}

/// Keys with the values that they have in the second scenario.
fn list(diff: &Diff, keys: &[usize]) -> String {
    let told = |key: &usize| format!("{} = {}", diff.keys[*key].key, diff.keys[*key].right);
    keys.iter().map(told).collect::<Vec<_>>().join(" and ")
}

/// One schedule on both sides.
fn schedule(page: &mut Page<'_>, both: &trace::Beside) {
    let label = |side: Side| LABELS[side as usize];
    let (violated, other) = (label(both.violated), label(both.violated.other()));
    page.gap();
    let text = format!("The shortest counterexample of {violated}, and the same actions in {other}:");
    page.prose(Paint::Strong, 0, &text);
    page.gap();
    let settled = page.settled;
    let style = Style { width: settled.width, colour: settled.colour, ascii: settled.ascii, changes: settled.verbose };
    let text = beside::render(both, LABELS, &style);
    page.raw(&text);
    let trace = both.side(both.violated);
    if !trace.why.is_empty() {
        page.gap();
        page.prose(Paint::Strong, 0, &format!("Why {violated} violates {}:", trace.property.name));
        for fact in &trace.why {
            let mut head = Line::default();
            head.pad(LEFT);
            head.push(Paint::Faint, "-");
            page.hanging(head, Paint::Plain, LEFT + 2, fact);
        }
    }
}

/// What is not known, or not asked.
fn notes(page: &mut Page<'_>, diff: &Diff) {
    let told: Vec<&Flip> = diff.flips.iter().filter(|flip| flip.beside.is_some()).skip(1).collect();
    let mut notes: Vec<(Paint, String)> = Vec::new();
    if !told.is_empty() && !page.settled.verbose {
        let names: Vec<&str> = told.iter().map(|flip| flip.property.name()).collect();
        notes.push((Paint::Faint, format!("-v shows the schedules of the others as well: {}.", names.join(", "))));
    }
    if diff.method == Method::UpToTwo && !diff.flips.is_empty() {
        let text = "Of so many keys each was tried alone and with each other one. Where neither makes the difference, keys \
                    were taken out of all of them one by one: of what is left none can be missing, but other sets may do \
                    it as well.";
        notes.push((Paint::Faint, text.to_owned()));
    }
    for (keys, rule) in diff.tally.refused.iter().take(if page.settled.verbose { usize::MAX } else { NAMED }) {
        notes.push((Paint::Faint, format!("Refused: A with {} ({rule}).", list(diff, keys))));
    }
    let hidden = diff.tally.refused.len().saturating_sub(NAMED);
    if hidden > 0 && !page.settled.verbose {
        notes.push((Paint::Faint, format!("And {} more refused, which -v lists.", grouped(hidden as u64))));
    }
    if !diff.tally.open.is_empty() {
        notes.push((Paint::Doubt, format!("Not decided: {} between.", counted(diff.tally.open.len(), "scenario"))));
    }
    if diff.cut.is_some() {
        notes.push((Paint::Doubt, "It was stopped early: this is what is known.".to_owned()));
    }
    if !notes.is_empty() {
        page.gap();
    }
    for (paint, text) in notes {
        page.prose(paint, 0, &text);
    }
}

/// The last line: what it comes to.
fn end(page: &mut Page<'_>, findings: &Findings) {
    page.gap();
    let exit = findings.exit();
    let text = match exit {
        Exit::Holds => "Every verdict is the same.".to_owned(),
        Exit::Different => {
            let (flips, all) = (findings.diff.flips.len(), findings.diff.verdicts.len());
            format!("{flips} of {} differ{}. Exit code 10.", counted(all, "verdict"), if flips == 1 { "s" } else { "" })
        }
        Exit::Bug
        | Exit::Usage
        | Exit::Input
        | Exit::Unexpected
        | Exit::Absent
        | Exit::Violated
        | Exit::Deadlock
        | Exit::Inconclusive
        | Exit::Diverged
        | Exit::NotReproduced
        | Exit::NotReplayable
        | Exit::Vacuous => format!("Exit code {}: {}.", exit.code(), exit.says()),
    };
    page.prose(if exit == Exit::Holds { Paint::Good } else { Paint::Plain }, 0, &text);
}
