//! A table of verdicts: a row for each check, a column for each property.

use check::scenario::{Named, Property};
use check::{PropertyReport, Report};

use super::page::{Line, Page, Paint, columns, wrap_name};
use super::signs::paint;

/// The least columns of a title.
const TITLE: usize = 12;
/// The columns of a title for which other columns make room.
const READABLE: usize = 20;

/// A column of numbers: its head, and its columns.
pub(super) type Numbers = (&'static str, usize);

/// The layout.
#[derive(Clone, Debug)]
pub(super) struct Table {
    /// The columns before the titles, and of the titles.
    left: usize,
    title: usize,
    properties: Vec<Property>,
    /// The columns of a property with the space behind it.
    pitch: usize,
    numbers: Vec<Numbers>,
}

impl Table {
    /// A table that fits the page. Where there is little room the last columns of numbers stand closer or go.
    pub(super) fn fit(
        page: &Page<'_>,
        (left, title): (usize, usize),
        properties: Vec<Property>,
        pitch: usize,
        numbers: &[Numbers],
    ) -> Self {
        let mut table = Self { left, title: title.max(TITLE), properties, pitch, numbers: numbers.to_vec() };
        let wanted = table.title.min(READABLE);
        let title = table.title;
        let room = |table: &Self| page.width().saturating_sub(table.right() - table.title);
        if room(&table) < wanted {
            table.pitch -= 1;
        }
        while room(&table) < wanted.min(15) && !table.numbers.is_empty() {
            // The depth is the first to go.
            let at = table.numbers.iter().position(|(head, _)| *head == "depth").unwrap_or(table.numbers.len() - 1);
            table.numbers.remove(at);
        }
        table.title = title.min(room(&table)).max(TITLE);
        table
    }

    /// The column at which the properties begin.
    fn cells(&self) -> usize {
        self.left + self.title + 2
    }

    /// The column at which the numbers begin.
    fn ends(&self) -> usize {
        self.cells() + self.pitch * self.properties.len() - 2
    }

    /// The column at which the table ends, its head included.
    fn right(&self) -> usize {
        let name = |(at, property): (usize, &Property)| self.cells() + self.pitch * at + property.name().len();
        let names = self.properties.iter().enumerate().map(name).max().unwrap_or(0);
        names.max(self.ends() + self.numbers.iter().map(|(_, width)| 2 + width).sum::<usize>())
    }

    /// The names of the properties as stairs, each above its column.
    pub(super) fn head(&self, page: &mut Page<'_>) {
        for (number, property) in self.properties.iter().enumerate() {
            let mut line = self.stems(page, number);
            line.push(Paint::Plain, property.name());
            page.line(line);
        }
        if self.numbers.is_empty() {
            return;
        }
        let mut line = self.stems(page, self.properties.len());
        let mut end = self.ends();
        for (head, width) in &self.numbers {
            end += 2 + width;
            line.push_right(Paint::Faint, head, end);
        }
        page.line(line);
    }

    fn stems(&self, page: &Page<'_>, number: usize) -> Line {
        let mut line = Line::default();
        for column in 0..number {
            line.pad(self.cells() + self.pitch * column);
            line.push(Paint::Faint, page.signs.stem);
        }
        line.pad(self.cells() + self.pitch * number);
        line
    }

    /// A row. The numbers are looked up by their heads.
    pub(super) fn row(
        &self,
        page: &mut Page<'_>,
        mut first: Line,
        title: &str,
        report: &Report,
        numbers: &[(&'static str, String)],
    ) {
        let indent = first.width().max(self.left);
        let titles = wrap_name(&page.clean(title), self.left + self.title - indent);
        for (number, title) in titles.iter().enumerate() {
            let mut line = std::mem::take(&mut first);
            line.pad(indent);
            line.push(Paint::Plain, title);
            if number == 0 {
                self.verdicts(page, report, &mut line);
                let mut end = self.ends();
                for (head, width) in &self.numbers {
                    end += 2 + width;
                    let value = numbers.iter().find(|(name, _)| name == head).map_or("", |(_, value)| value);
                    line.push_right(Paint::Faint, value, end);
                }
            }
            page.line(line);
        }
    }

    fn verdicts(&self, page: &Page<'_>, report: &Report, line: &mut Line) {
        for (column, property) in self.properties.iter().enumerate() {
            line.pad(self.cells() + self.pitch * column);
            match report.properties.iter().find(|p| p.property == *property) {
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

/// The columns that the verdicts of a report need, with the space behind them.
pub(super) fn pitch(report: &Report, page: &Page<'_>) -> usize {
    report.properties.iter().map(|p| columns(&cell(p, page)) + 2).max().unwrap_or(0)
}
