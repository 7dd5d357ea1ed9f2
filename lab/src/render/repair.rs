//! Repairs: a line for each, with every verdict that the scenario has with it.

use check::repair::{Change, Repair, Repairs, Tally};
use check::scenario::{Named, Property, Verdict};
use check::{PropertyReport, Report};

use super::counts::{counted, grouped, time};
use super::finish::{cut, unreached};
use super::page::{Line, Page, Paint, columns};
use super::sheet::legend;
use super::table::{Table, pitch};
use crate::args::{RepairArgs, Settled};
use crate::commands::repair::{Findings, assignment};
use crate::exit::Exit;

/// The columns before the changes.
const LEFT: usize = 2;
/// The most columns of a change.
const NAME: usize = 40;
/// How many repairs of a group are shown, unless more is asked for.
const ROWS: usize = 8;
/// How many commands are shown, unless more is asked for.
const COMMANDS: usize = 4;

/// The view.
pub(crate) fn text(findings: &Findings, args: &RepairArgs, settled: &Settled) -> String {
    let mut page = Page::new(settled);
    if !settled.quiet {
        head(&mut page, findings, args);
    }
    let groups = groups(&findings.repairs);
    if !groups.is_empty() {
        table(&mut page, findings, &groups);
    }
    if settled.quiet {
        return page.finish();
    }
    if !groups.is_empty() {
        let reports: Vec<&Report> =
            findings.repairs.found.iter().map(|r| &r.report).chain([&findings.repairs.report]).collect();
        page.gap();
        legend(&mut page, &reports);
        commands(&mut page, findings, &groups);
    }
    if settled.verbose {
        explained(&mut page, &findings.repairs);
    }
    end(&mut page, findings, args);
    page.finish()
}

fn head(page: &mut Page<'_>, findings: &Findings, args: &RepairArgs) {
    let (repairs, scenario) = (&findings.repairs, &findings.plan.scenario);
    page.prose(Paint::Strong, 0, &scenario.full_title());
    if !scenario.about.is_empty() {
        page.prose(Paint::Plain, 0, &scenario.about);
    }
    page.gap();
    let faults: Vec<String> = repairs.report.faults.iter().map(|(fault, units)| format!("{fault} {units}")).collect();
    page.field("scenario", &format!("{} ({})", findings.plan.called, repairs.report.hash));
    page.field("faults", &if faults.is_empty() { "none".to_owned() } else { faults.join(", ") });
    let violated: Vec<String> = repairs.violated.iter().map(|property| violated(&repairs.report, *property)).collect();
    page.field("violated", &if violated.is_empty() { "nothing".to_owned() } else { violated.join(", ") });
    if repairs.violated.is_empty() {
        return;
    }
    page.field("tried", &tried(&repairs.singles, "single change"));
    if let Some(pairs) = &repairs.pairs {
        page.field("", &tried(pairs, "pair"));
    }
    let threads = counted(args.question.limits.threads.get(), "thread");
    page.field("time", &format!("{} on {threads}", time(findings.elapsed)));
}

fn violated(report: &Report, property: Property) -> String {
    let of = |p: &&PropertyReport| p.property == property;
    let steps = report.properties.iter().find(of).and_then(PropertyReport::trace).map(|trace| trace.steps.len());
    match steps {
        Some(steps) => format!("{} after {}", property.name(), counted(steps, "step")),
        None => property.name().to_owned(),
    }
}

/// What became of the changes, in a sentence.
fn tried(tally: &Tally, what: &str) -> String {
    let refused: usize = tally.refused.values().sum();
    let parts = [
        (tally.replayed, "ruled out by a counterexample that was known already"),
        (tally.searched, "searched"),
        (tally.same, "that make no difference"),
        (tally.needless, "that cannot help"),
        (refused, "refused"),
        (tally.untried, "not tried"),
    ];
    let parts: Vec<String> = parts
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, words)| format!("{} {words}", grouped(count as u64)))
        .collect();
    format!("{}: {}", counted(tally.total, what), parts.join(", "))
}

/// Repairs under one heading.
struct Group<'a> {
    title: String,
    rows: Vec<Row<'a>>,
}

/// A repair, and the further values of the same knobs that do the same.
struct Row<'a> {
    repair: &'a Repair,
    also: Vec<String>,
}

/// What repairs everything, then what repairs a part of it; single changes before pairs.
fn groups(repairs: &Repairs) -> Vec<Group<'_>> {
    let mut groups = Vec::new();
    for (knobs, subject) in [(1, "One change repairs"), (2, "Two changes repair")] {
        for is_all in [true, false] {
            let of = |repair: &&Repair| {
                repair.changes.len() == knobs && (repair.repairs.len() == repairs.violated.len()) == is_all
            };
            let title = match (is_all, repairs.violated.as_slice()) {
                (true, [one]) => format!("{subject} {}:", one.name()),
                (true, _) => format!("{subject} everything that is violated:"),
                (false, _) => format!("{subject} a part of it:"),
            };
            let rows = rows(repairs.found.iter().filter(of));
            if !rows.is_empty() {
                groups.push(Group { title, rows });
            }
        }
    }
    groups
}

/// A row for each repair; those that differ in a number only, and come to the same, stand behind the first of them.
fn rows<'a>(repairs: impl Iterator<Item = &'a Repair>) -> Vec<Row<'a>> {
    let mut rows: Vec<Row<'a>> = Vec::new();
    for repair in repairs {
        match rows.iter_mut().find(|row| are_alike(row.repair, repair)) {
            Some(row) => row.also.push(besides(row.repair, repair)),
            None => rows.push(Row { repair, also: Vec::new() }),
        }
    }
    rows
}

fn are_alike(one: &Repair, other: &Repair) -> bool {
    let is_number = |change: &Change| change.to.parse::<u32>().is_ok();
    let is_near = |(one, other): (&Change, &Change)| {
        one.knob == other.knob && (one.to == other.to || (is_number(one) && is_number(other)))
    };
    let verdicts = |repair: &Repair| repair.report.properties.iter().map(|p| p.verdict).collect::<Vec<_>>();
    one.changes.len() == other.changes.len()
        && one.changes.iter().zip(&other.changes).all(is_near)
        && verdicts(one) == verdicts(other)
}

/// What of a repair is not as in the one before.
fn besides(before: &Repair, repair: &Repair) -> String {
    let others = repair.changes.iter().filter(|change| !before.changes.contains(change));
    others.map(assignment).collect::<Vec<_>>().join(" ")
}

fn told(repair: &Repair) -> String {
    repair.changes.iter().map(assignment).collect::<Vec<_>>().join(" ")
}

fn shown<'a, 'g>(page: &Page<'_>, group: &'g Group<'a>) -> &'g [Row<'a>] {
    let all = page.settled.verbose || group.rows.len() <= ROWS + 1;
    if all { &group.rows } else { &group.rows[..ROWS] }
}

fn table(page: &mut Page<'_>, findings: &Findings, groups: &[Group<'_>]) {
    let repairs = &findings.repairs;
    let rows = || groups.iter().flat_map(|group| &group.rows);
    let name = rows().map(|row| columns(&told(row.repair))).max().unwrap_or(0).min(NAME);
    let is_asked = |p: &&Property| repairs.report.verdict(**p).is_some();
    let properties = Property::ALL.iter().filter(is_asked).copied().collect();
    let reports = rows().map(|row| &row.repair.report).chain([&repairs.report]);
    let pitch = reports.map(|report| pitch(report, page)).max().unwrap_or(0).max(4);
    let table = Table::fit(page, (LEFT, name), properties, pitch, &[]);
    if !page.settled.quiet {
        page.gap();
    }
    table.head(page);
    table.row(page, Line::default(), "as it is", &repairs.report, &[]);
    for group in groups {
        page.gap();
        page.line(Line::of(Paint::Strong, &group.title));
        let shown = shown(page, group);
        for row in shown {
            table.row(page, Line::default(), &told(row.repair), &row.repair.report, &[]);
            notes(page, row);
        }
        if group.rows.len() > shown.len() {
            let more = counted(group.rows.len() - shown.len(), "more");
            page.prose(Paint::Faint, LEFT, &format!("and {}, which -v lists", more.trim_end_matches('s')));
        }
    }
}

/// What a row does not show at once.
fn notes(page: &mut Page<'_>, row: &Row<'_>) {
    let names = |list: &[Property]| list.iter().map(|p| p.name()).collect::<Vec<_>>().join(", ");
    let repair = row.repair;
    if !row.also.is_empty() {
        page.prose(Paint::Faint, LEFT + 2, &format!("and so does {}", either(&row.also)));
    }
    if !repair.breaks.is_empty() {
        page.prose(Paint::Bad, LEFT + 2, &format!("but breaks {}", names(&repair.breaks)));
    }
    if !repair.unasked.is_empty() {
        let text = format!("but with limited attempts {} is no question any more", names(&repair.unasked));
        page.prose(Paint::Doubt, LEFT + 2, &text);
    }
}

fn either(values: &[String]) -> String {
    match values {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}

fn commands(page: &mut Page<'_>, findings: &Findings, groups: &[Group<'_>]) {
    let all: Vec<&Repair> = groups.iter().flat_map(|group| shown(page, group)).map(|row| row.repair).collect();
    page.gap();
    page.line(Line::of(Paint::Strong, if all.len() == 1 { "Check it:" } else { "Check them:" }));
    let most = if page.settled.verbose || all.len() <= COMMANDS + 1 { all.len() } else { COMMANDS };
    for repair in &all[..most] {
        page.command(&findings.command(repair));
    }
    if all.len() > most {
        page.prose(Paint::Faint, LEFT, "and the others alike; -v lists them");
    }
}

/// What did not count as a repair, and why.
fn explained(page: &mut Page<'_>, repairs: &Repairs) {
    let tallies = [&repairs.singles].into_iter().chain(&repairs.pairs);
    for (tally, of) in tallies.zip(["single changes", "pairs"]) {
        let is_silent = tally.refused.is_empty() && tally.vacuous.is_empty() && tally.inconclusive.is_empty();
        if is_silent {
            continue;
        }
        page.gap();
        page.line(Line::of(Paint::Strong, &format!("Of the {of}, these were no repair:")));
        for (rule, count) in &tally.refused {
            let head = Line::of(Paint::Plain, &format!("  refused {}", grouped(*count as u64)));
            page.hanging(head, Paint::Faint, 14, &reason(rule));
        }
        let lists = [
            ("vacuous", &tally.vacuous, "a witness was never reached, so that \"holds\" says nothing"),
            ("not known", &tally.inconclusive, "a limit was hit"),
        ];
        for (word, list, says) in lists {
            for changes in list {
                let told: Vec<String> = changes.iter().map(assignment).collect();
                let head = Line::of(Paint::Doubt, &format!("  {word}"));
                page.hanging(head, Paint::Faint, 14, &format!("{}: {says}", told.join(" ")));
            }
        }
    }
}

/// Why a rule refuses what it refuses.
fn reason(rule: &str) -> String {
    if rule == check::repair::NO_LOCK {
        return format!("{rule}: without a lock there is nothing to repair");
    }
    let reason = check::scenario::RULES.iter().find(|known| known.id == rule).map_or("", |known| known.reason);
    format!("{rule}: {reason}")
}

/// The last lines: what it comes to.
fn end(page: &mut Page<'_>, findings: &Findings, args: &RepairArgs) {
    let (repairs, exit) = (&findings.repairs, findings.exit());
    page.gap();
    if repairs.violated.is_empty() {
        return nothing_violated(page, findings);
    }
    for property in repairs.unrepaired() {
        let sentence = match (repairs.is_open(), &repairs.pairs) {
            (true, _) => "no repair was found yet",
            (false, Some(_)) => "no single change repairs it, and no two together",
            (false, None) => "no single change repairs it",
        };
        page.prose(Paint::Bad, 0, &format!("{}: {sentence}.", property.name()));
    }
    if !repairs.found.is_empty() {
        let text = "A repair holds under the faults of the scenario; `lab check` with --faults tells about others.";
        page.prose(Paint::Faint, 0, text);
    }
    let missing = unreached(&repairs.report);
    if !missing.is_empty() && repairs.report.is_complete() {
        let text = format!(
            "As it is, the scenario never reaches {}, and what does not either is no repair: give it more to do, such as \
             longer work.",
            missing.join(", ")
        );
        page.prose(Paint::Doubt, 0, &text);
    }
    let unheld: usize = [&repairs.singles].into_iter().chain(&repairs.pairs).map(|tally| tally.vacuous.len()).sum();
    if unheld > 0 && !page.settled.verbose {
        let text = format!("{} left nothing violated, but were never put to the test; -v lists them.", changes(unheld));
        page.prose(Paint::Doubt, 0, &text);
    }
    let open: usize = [&repairs.singles].into_iter().chain(&repairs.pairs).map(|tally| tally.inconclusive.len()).sum();
    if open > 0 {
        page.prose(Paint::Doubt, 0, &format!("{} could not be decided within the limits.", changes(open)));
    }
    if repairs.cut.is_some() {
        page.prose(Paint::Doubt, 0, "It was stopped early: there may be more repairs.");
    }
    if exit != Exit::Holds && !args.world {
        page.prose(Paint::Plain, 0, "With --world also the knobs of whoever runs the servers are turned.");
    }
    let text = match exit {
        Exit::Holds => "Everything that is violated can be repaired.".to_owned(),
        Exit::Bug
        | Exit::Usage
        | Exit::Input
        | Exit::Unexpected
        | Exit::Absent
        | Exit::Violated
        | Exit::Deadlock
        | Exit::Inconclusive
        | Exit::Different
        | Exit::Diverged
        | Exit::NotReproduced
        | Exit::NotReplayable
        | Exit::Vacuous => format!("Exit code {}: {}.", exit.code(), exit.says()),
    };
    page.prose(if exit == Exit::Holds { Paint::Good } else { Paint::Plain }, 0, &text);
}

fn changes(number: usize) -> String {
    counted(number, "change")
}

fn nothing_violated(page: &mut Page<'_>, findings: &Findings) {
    let (report, exit) = (&findings.repairs.report, findings.exit());
    let missing = unreached(report);
    let text = match (exit, cut(report)) {
        (Exit::Inconclusive, Some(by)) => {
            format!("Nothing that is violated was found, but the search was cut short by {by}: exit code 20.")
        }
        (Exit::Vacuous, _) => format!(
            "Nothing is violated, so there is nothing to repair; but never reached: {}. Exit code 21.",
            missing.join(", ")
        ),
        _ => "Nothing is violated, so there is nothing to repair.".to_owned(),
    };
    let is_fine = report.properties.iter().all(|p| p.verdict == Verdict::Holds);
    page.prose(if is_fine { Paint::Good } else { Paint::Plain }, 0, &text);
}
