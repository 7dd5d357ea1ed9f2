//! A sheet: a row for each check, a column for each property, then the counterexample that it teaches.

use check::PropertyReport;
use check::scenario::{Named, Property, Verdict};

use super::counts::{counted, grouped, time};
use super::finish::{self, cut, is_chance, mismatched, unreached};
use super::page::{Line, Page, Paint, columns, wrap};
use super::signs::paint;
use crate::args::{CheckArgs, Settled};
use crate::commands::check::{Findings, Run};

/// The columns before the table.
const LEFT: usize = 2;
/// The least columns of a title.
const TITLE: usize = 12;
/// The columns of a time.
const TIME: usize = 6;

/// The view.
pub(crate) fn text(findings: &Findings, args: &CheckArgs, settled: &Settled) -> String {
    let mut page = Page::new(settled);
    if !settled.quiet && let Some(sheet) = &findings.sheet {
        page.prose(Paint::Strong, 0, &sheet.title);
        if !sheet.about.is_empty() {
            page.prose(Paint::Plain, 0, &sheet.about);
        }
        page.gap();
    }
    Table::new(findings, args, &page).put(&mut page);
    if settled.quiet {
        return page.finish();
    }
    legend(&mut page, findings);
    notes(&mut page, findings, args);
    total(&mut page, findings, args);
    if let Some((_, _, trace)) = findings.shown() {
        page.gap();
        page.rule("the shortest counterexample of the first violation");
        page.gap();
        page.raw(&finish::trace(trace, settled));
    }
    finish::others(&mut page, findings);
    finish::end(&mut page, findings, args);
    page.finish()
}

/// A column of numbers.
struct Numbers {
    head: &'static str,
    cells: Vec<String>,
    width: usize,
}

impl Numbers {
    fn new(head: &'static str, least: usize, cells: Vec<String>) -> Self {
        let width = cells.iter().map(|cell| columns(cell)).max().unwrap_or(0).max(head.len()).max(least);
        Self { head, cells, width }
    }
}

/// The table as it is laid out.
struct Table<'a> {
    runs: &'a [Run],
    properties: Vec<Property>,
    /// The columns of a title, and of a property with the space behind it.
    title: usize,
    pitch: usize,
    numbers: Vec<Numbers>,
}

impl<'a> Table<'a> {
    fn new(findings: &'a Findings, args: &CheckArgs, page: &Page<'_>) -> Self {
        let runs = &findings.runs;
        let is_asked = |p: &Property| runs.iter().any(|run| run.report.verdict(*p).is_some());
        let properties: Vec<_> = Property::ALL.iter().copied().filter(is_asked).collect();
        let cells = runs.iter().flat_map(|run| &run.report.properties).map(|p| columns(&cell(p, page)) + 2);
        let pitch = cells.max().unwrap_or(0).max(4);
        let more = |run: &Run| if cut(&run.report, args).is_some() { "+" } else { "" };
        let states = runs.iter().map(|run| format!("{}{}", grouped(run.report.states.unique), more(run))).collect();
        let depths = runs.iter().map(|run| run.report.states.depth.to_string()).collect();
        let times = runs.iter().map(|run| time(run.elapsed)).collect();
        let mut numbers = vec![
            Numbers::new("states", 0, states),
            Numbers::new("depth", 0, depths),
            Numbers::new("time", TIME, times),
        ];
        let longest = runs.iter().map(|run| columns(&page.clean(&run.report.title))).max().unwrap_or(0);
        let wanted = longest.clamp(TITLE, 30);
        let beside = |numbers: &[Numbers], pitch: usize| {
            let numbers: usize = numbers.iter().map(|n| n.width + 2).sum();
            LEFT + 2 + pitch * properties.len() + numbers
        };
        let mut pitch = pitch;
        // The depth goes first, then the spaces between the columns, then the other numbers.
        let room = |numbers: &[Numbers], pitch: usize| page.width().saturating_sub(beside(numbers, pitch));
        if room(&numbers, pitch) < wanted.min(18) && room(&numbers, pitch - 1) >= TITLE {
            pitch -= 1;
        }
        for column in [1, 1, 0] {
            if room(&numbers, pitch) < TITLE {
                numbers.remove(column);
            }
        }
        let title = wanted.min(room(&numbers, pitch).max(TITLE));
        Self { runs, properties, title, pitch, numbers }
    }

    fn put(&self, page: &mut Page<'_>) {
        self.head(page);
        for at in 0..self.runs.len() {
            self.row(page, at);
        }
    }

    /// The column at which the properties begin.
    fn left(&self) -> usize {
        LEFT + self.title + 2
    }

    /// The names of the properties as stairs, each above its column.
    fn head(&self, page: &mut Page<'_>) {
        for (number, property) in self.properties.iter().enumerate() {
            let mut line = self.stems(page, number);
            line.push(Paint::Plain, property.name());
            page.line(line);
        }
        let mut line = self.stems(page, self.properties.len());
        let mut end = self.left() + self.pitch * self.properties.len() - 2;
        for numbers in &self.numbers {
            end += 2 + numbers.width;
            line.push_right(Paint::Faint, numbers.head, end);
        }
        page.line(line);
    }

    fn stems(&self, page: &Page<'_>, number: usize) -> Line {
        let mut line = Line::default();
        for column in 0..number {
            line.pad(self.left() + self.pitch * column);
            line.push(Paint::Faint, page.signs.stem);
        }
        line.pad(self.left() + self.pitch * number);
        line
    }

    fn row(&self, page: &mut Page<'_>, at: usize) {
        let run = &self.runs[at];
        let titles = wrap(&page.clean(&run.report.title), self.title);
        for (number, title) in titles.iter().enumerate() {
            let mut line = Line::default();
            line.pad(LEFT);
            line.push(Paint::Plain, title);
            if number == 0 {
                self.cells(page, run, &mut line);
                let mut end = self.left() + self.pitch * self.properties.len() - 2;
                for numbers in &self.numbers {
                    end += 2 + numbers.width;
                    line.push_right(Paint::Faint, &numbers.cells[at], end);
                }
            }
            page.line(line);
        }
    }

    fn cells(&self, page: &Page<'_>, run: &Run, line: &mut Line) {
        for (column, property) in self.properties.iter().enumerate() {
            line.pad(self.left() + self.pitch * column);
            match run.report.properties.iter().find(|p| p.property == *property) {
                Some(p) => line.push(paint(p.verdict), &cell(p, page)),
                None => line.push(Paint::Faint, page.signs.unasked),
            }
        }
    }
}

/// The sign of a verdict, with the number of steps of the shortest trace.
fn cell(p: &PropertyReport, page: &Page<'_>) -> String {
    let sign = page.signs.verdict(p.verdict);
    match p.trace() {
        Some(trace) => format!("{sign} {}", trace.steps.len()),
        None => sign.to_owned(),
    }
}

/// The signs that the table uses.
fn legend(page: &mut Page<'_>, findings: &Findings) {
    let reports = || findings.runs.iter().map(|run| &run.report);
    let has = |verdict| reports().any(|report| report.properties.iter().any(|p| p.verdict == verdict));
    let most = reports().map(|report| report.properties.len()).max();
    let entries = [
        (Verdict::Holds, "holds"),
        (Verdict::Violated, "n  violated, after n steps at the soonest"),
        (Verdict::Inconclusive, "not known"),
        (Verdict::Vacuous, "vacuous"),
    ];
    let mut line = Line::default();
    line.pad(LEFT);
    let entries = entries.into_iter().filter(|(verdict, _)| has(*verdict));
    let mut entries: Vec<_> = entries.map(|(v, words)| (paint(v), page.signs.verdict(v), words)).collect();
    if reports().any(|report| Some(report.properties.len()) != most) {
        entries.push((Paint::Faint, page.signs.unasked, "not asked"));
    }
    for (paint, sign, words) in entries {
        if line.width() > LEFT {
            line.push(Paint::Plain, "   ");
        }
        line.push(paint, sign);
        line.push(Paint::Faint, &format!(" {words}"));
    }
    page.gap();
    page.line(line);
}

/// What a sign alone does not say.
fn notes(page: &mut Page<'_>, findings: &Findings, args: &CheckArgs) {
    for run in &findings.runs {
        let title = &run.report.title;
        if let Some(by) = cut(&run.report, args) {
            let chance = if is_chance(&run.report) { ", at a point that differs from run to run" } else { "" };
            page.prose(Paint::Doubt, LEFT, &format!("{title}: cut short by {by}{chance}; there are more states"));
        }
        let missing = unreached(&run.report);
        if !missing.is_empty() && run.report.is_complete() {
            page.prose(Paint::Doubt, LEFT, &format!("{title}: never reached {}", missing.join(", ")));
        }
        for told in mismatched(run) {
            page.prose(Paint::Bad, LEFT, &format!("{title}: {told}"));
        }
    }
}

fn total(page: &mut Page<'_>, findings: &Findings, args: &CheckArgs) {
    let states: u64 = findings.runs.iter().map(|run| run.report.states.unique).sum();
    let elapsed = findings.runs.iter().map(|run| run.elapsed).sum();
    let (checks, threads) = (counted(findings.runs.len(), "check"), counted(args.limits.threads.get(), "thread"));
    let states = grouped(states);
    page.prose(Paint::Faint, LEFT, &format!("{checks}, {states} states, {} on {threads}", time(elapsed)));
}
