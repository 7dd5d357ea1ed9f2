//! The lock safety matrix: a row for each protocol, a column for each fault, in each cell what breaks.

use std::ops::Range;

use check::scenario::{Named, Property, Scenario, Verdict};

use super::counts::{counted, grouped, time};
use super::page::{Line, Page, Paint, columns, wrap_name};
use super::signs::Signs;
use crate::args::{MatrixArgs, Settled};
use crate::commands::matrix::{Cell, Column, Judged, Matrix, Outcome, Row, column_name};
use crate::exit::Exit;

/// The columns before the table.
const LEFT: usize = 2;
/// The most columns of a label.
const LABEL: usize = 26;
/// What stands in the cell of a fault that is refused.
const REFUSED: &str = "n/a";

/// What it is.
const INTRODUCTION: &str = "What breaks if a fault strikes at any moment, once unless its column says more. Every cell is an exhaustive search.";

/// The view.
pub(crate) fn text(matrix: &Matrix, args: &MatrixArgs, settled: &Settled) -> String {
    let mut page = Page::new(settled);
    if !settled.quiet {
        page.prose(Paint::Strong, 0, "The lock safety matrix");
        page.prose(Paint::Plain, 0, INTRODUCTION);
        page.prose(Paint::Plain, 0, &numbers(matrix));
        page.gap();
    }
    table(&mut page, matrix);
    if settled.quiet {
        return page.finish();
    }
    page.gap();
    legend(&mut page, matrix);
    notes(&mut page, matrix);
    total(&mut page, matrix, args);
    if settled.verbose {
        matrix.rows.iter().for_each(|row| explained(&mut page, row));
    }
    end(&mut page, matrix);
    page.finish()
}

/// The letter of a property that is violated.
pub(super) fn letter(property: Property) -> &'static str {
    match property {
        Property::MutualExclusion => "M",
        Property::NoLostUpdate => "U",
        Property::NoWrongRelease => "W",
        Property::NoStaleWrite => "S",
        Property::NoStrayGrant => "G",
        Property::NoOrphan => "O",
        Property::DeadlockFree => "D",
    }
}

/// What stands in a cell: in pieces, for their colours.
fn pieces(outcome: &Outcome, signs: &Signs) -> Vec<(Paint, &'static str)> {
    let judged = match outcome {
        Outcome::Refused { .. } => return vec![(Paint::Faint, REFUSED)],
        Outcome::NotRun => return vec![(Paint::Doubt, signs.inconclusive)],
        Outcome::Judged(judged) => judged,
    };
    let violated = judged.properties.iter().filter(|(_, verdict, _)| *verdict == Verdict::Violated);
    let mut pieces: Vec<_> = violated.map(|(property, _, _)| (Paint::Bad, letter(*property))).collect();
    if judged.has(Verdict::Inconclusive) {
        pieces.push((Paint::Doubt, signs.inconclusive));
    }
    if judged.has(Verdict::Vacuous) {
        pieces.push((Paint::Doubt, signs.untested));
    }
    if pieces.is_empty() {
        pieces.push((Paint::Good, signs.holds));
    }
    pieces
}

fn sign(outcome: &Outcome, signs: &Signs) -> String {
    pieces(outcome, signs).into_iter().map(|(_, sign)| sign).collect()
}

/// The numbers that the protocols have in common, or their range.
fn numbers(matrix: &Matrix) -> String {
    let range = |number: &dyn Fn(&Scenario) -> u32, what: &str| {
        let all = || matrix.rows.iter().map(|row| number(&row.scenario));
        let (least, most) = (all().min().unwrap_or(0), all().max().unwrap_or(0));
        let plural = if most == 1 { "" } else { "s" };
        if least == most { format!("{most} {what}{plural}") } else { format!("{least} to {most} {what}{plural}") }
    };
    let clients = range(&|s| s.settings.clients().into(), "client");
    let nodes = range(&|s| s.settings.nodes.into(), "lock server");
    let latency = range(&|s| s.settings.latency.greatest.0, "tick");
    format!("{clients}, {nodes}, each message under way for at most {latency}.")
}

/// The table, in as many bands as the width asks for.
fn table(page: &mut Page<'_>, matrix: &Matrix) {
    let label = |row: &Row| columns(&page.clean(&row.label));
    let labels = matrix.rows.iter().map(label).max().unwrap_or(0).min(LABEL);
    let widths: Vec<usize> = (0..matrix.columns.len())
        .map(|at| matrix.rows.iter().map(|row| columns(&sign(&row.cells[at].outcome, page.signs))).max().unwrap_or(1))
        .collect();
    let layout = |gap: usize| Layout { labels, widths: &widths, gap };
    let wide = layout(2);
    let (layout, bands) = match wide.bands(page, &matrix.columns) {
        bands if bands.len() <= 1 => (wide, bands),
        _ => {
            let narrow = layout(1);
            let bands = narrow.bands(page, &matrix.columns);
            (narrow, bands)
        }
    };
    for (number, band) in bands.into_iter().enumerate() {
        if number > 0 {
            page.gap();
        }
        layout.head(page, &matrix.columns, &band);
        for row in &matrix.rows {
            layout.row(page, row, &band);
        }
    }
}

/// Where everything stands.
struct Layout<'a> {
    /// The columns of the labels.
    labels: usize,
    /// The columns of each fault.
    widths: &'a [usize],
    /// The columns between two faults.
    gap: usize,
}

impl Layout<'_> {
    /// The column at which a fault of a band begins.
    fn at(&self, band: &Range<usize>, column: usize) -> usize {
        let before: usize = self.widths[band.start..column].iter().map(|width| width + self.gap).sum();
        LEFT + self.labels + 2 + before
    }

    /// As many faults side by side as fit with their names, again and again.
    fn bands(&self, page: &Page<'_>, all: &[Column]) -> Vec<Range<usize>> {
        let mut bands: Vec<Range<usize>> = Vec::new();
        for (at, column) in all.iter().enumerate() {
            let fits = |band: &Range<usize>| {
                let wide = columns(&column_name(*column)).max(self.widths[at]);
                self.at(band, at) + wide <= page.width()
            };
            match bands.last_mut() {
                Some(band) if fits(band) => band.end = at + 1,
                Some(_) | None => bands.push(at..at + 1),
            }
        }
        bands
    }

    /// The names of the faults as stairs, each above its column.
    fn head(&self, page: &mut Page<'_>, all: &[Column], band: &Range<usize>) {
        for named in band.clone() {
            let mut line = Line::default();
            for column in band.start..named {
                line.pad(self.at(band, column));
                line.push(Paint::Faint, page.signs.stem);
            }
            line.pad(self.at(band, named));
            line.push(Paint::Plain, &column_name(all[named]));
            page.line(line);
        }
    }

    fn row(&self, page: &mut Page<'_>, row: &Row, band: &Range<usize>) {
        for (number, label) in wrap_name(&page.clean(&row.label), self.labels).iter().enumerate() {
            let mut line = Line::default();
            line.pad(LEFT);
            line.push(Paint::Plain, label);
            for column in band.clone().filter(|_| number == 0) {
                line.pad(self.at(band, column));
                for (paint, sign) in pieces(&row.cells[column].outcome, page.signs) {
                    line.push(paint, sign);
                }
            }
            page.line(line);
        }
    }
}

/// The properties that any cell was asked for, in the documented order.
fn asked(matrix: &Matrix) -> Vec<Property> {
    let is_asked = |p: &Property| matrix.judged().any(|judged| judged.properties.iter().any(|(q, _, _)| q == p));
    Property::ALL.iter().copied().filter(is_asked).collect()
}

/// The signs that the matrix uses, with what they mean.
fn signs(matrix: &Matrix, signs: &Signs) -> Vec<(Paint, &'static str, &'static str)> {
    let has = |verdict| matrix.judged().any(|judged| judged.has(verdict));
    let mut entries = vec![(Paint::Good, signs.holds, "every property holds")];
    if has(Verdict::Vacuous) {
        entries.push((Paint::Doubt, signs.untested, "what is not violated was never put to the test"));
    }
    if has(Verdict::Inconclusive) || matrix.not_run() > 0 {
        entries.push((Paint::Doubt, signs.inconclusive, "not known"));
    }
    let cells = || matrix.rows.iter().flat_map(|row| &row.cells);
    if cells().any(|cell| matches!(cell.outcome, Outcome::Refused { .. })) {
        entries.push((Paint::Faint, REFUSED, "the combination is refused"));
    }
    entries
}

fn legend(page: &mut Page<'_>, matrix: &Matrix) {
    page.entries(LEFT, &signs(matrix, page.signs));
    page.prose(Paint::Faint, LEFT, "A letter is a property that is violated:");
    let letters: Vec<_> = asked(matrix).into_iter().map(|p| (Paint::Bad, letter(p), p.name())).collect();
    page.entries(LEFT, &letters);
}

/// What a sign alone does not say.
fn notes(page: &mut Page<'_>, matrix: &Matrix) {
    for row in &matrix.rows {
        let undecidable: Vec<_> =
            Property::ALL.iter().filter_map(|p| Some((p, row.scenario.undecidable(*p)?))).collect();
        if let Some((_, rule)) = undecidable.first() {
            let names: Vec<&str> = undecidable.iter().map(|(p, _)| p.name()).collect();
            let text = format!("{}: not asked: {}: {}", row.label, names.join(", "), rule.reason);
            page.prose(Paint::Doubt, LEFT, &text);
        }
        for cell in &row.cells {
            if let Outcome::Judged(Judged { cut_by: Some(by), .. }) = &cell.outcome {
                let text =
                    format!("{}, {}: cut short by {by}, there are more states", row.label, column_name(cell.column));
                page.prose(Paint::Doubt, LEFT, &text);
            }
        }
    }
}

fn total(page: &mut Page<'_>, matrix: &Matrix, args: &MatrixArgs) {
    let states: u64 = matrix.judged().map(|judged| judged.states.unique).sum();
    let elapsed = matrix.judged().map(|judged| judged.elapsed).sum();
    let cached = matrix.judged().filter(|judged| judged.is_cached).count();
    let checks = counted(matrix.judged().count(), "check");
    let kept = if cached > 0 { format!(" ({cached} of them computed by an earlier run)") } else { String::new() };
    let threads = counted(args.threads.get(), "thread");
    let text = format!("{checks}{kept}, {} states, {} on {threads}", grouped(states), time(elapsed));
    page.prose(Paint::Faint, LEFT, &text);
}

/// A protocol with its numbers, and every cell in words.
fn explained(page: &mut Page<'_>, row: &Row) {
    page.gap();
    let title = if row.label == row.called { row.label.clone() } else { format!("{}: {}", row.label, row.called) };
    page.prose(Paint::Strong, 0, &title);
    page.prose(Paint::Plain, LEFT, &row.scenario.title);
    let settings = &row.scenario.settings;
    let ttl = settings.ttl.map_or("no TTL".to_owned(), |ttl| format!("TTL {}", ttl.0));
    let numbers = format!(
        "{}, {}, {ttl}, latency {} to {}, work {}; hash {}",
        counted(settings.clients().into(), "client"),
        counted(settings.nodes.into(), "node"),
        settings.latency.least.0,
        settings.latency.greatest.0,
        settings.work.0,
        row.scenario.hash_text()
    );
    page.prose(Paint::Faint, LEFT, &numbers);
    for cell in &row.cells {
        let mut head = Line::default();
        head.pad(LEFT);
        head.push(Paint::Plain, &column_name(cell.column));
        head.pad(LEFT + 14);
        for (paint, sign) in pieces(&cell.outcome, page.signs) {
            head.push(paint, sign);
        }
        page.hanging(head, Paint::Faint, LEFT + 14 + 8, &told(&cell.outcome));
    }
}

fn told(outcome: &Outcome) -> String {
    let judged = match outcome {
        Outcome::Refused { reason, .. } => return reason.clone(),
        Outcome::NotRun => return "not begun".to_owned(),
        Outcome::Judged(judged) => judged,
    };
    let steps = |(property, _, steps): &(Property, Verdict, Option<usize>)| {
        Some(format!("{} after {}", letter(*property), counted((*steps)?, "step")))
    };
    let mut parts: Vec<String> = judged.properties.iter().filter_map(steps).collect();
    if !judged.unreached.is_empty() && judged.cut_by.is_none() {
        parts.push(format!("never reached: {}", judged.unreached.join(", ")));
    }
    parts.push(format!("{} states", grouped(judged.states.unique)));
    parts.extend(judged.cut_by.map(|by| format!("cut short by {by}")));
    parts.extend(judged.is_cached.then(|| "cached".to_owned()));
    parts.join("; ")
}

/// A cell to begin with: the first that a fault breaks, or else the first that is broken.
fn lesson(matrix: &Matrix) -> Option<&Cell> {
    let is_broken = |cell: &&Cell| match &cell.outcome {
        Outcome::Judged(judged) => judged.has(Verdict::Violated),
        Outcome::Refused { .. } | Outcome::NotRun => false,
    };
    let by_a_fault = matrix.rows.iter().filter(|row| !row.cells.first().iter().any(is_broken));
    let mut cells = by_a_fault.flat_map(|row| &row.cells).filter(is_broken);
    cells.next().or_else(|| matrix.rows.iter().flat_map(|row| &row.cells).find(is_broken))
}

/// The last lines: where to go from here, and what is missing.
fn end(page: &mut Page<'_>, matrix: &Matrix) {
    if let Some(cell) = lesson(matrix) {
        page.gap();
        page.line(Line::of(Paint::Strong, "A cell, step by step:"));
        page.command(&cell.command);
    }
    if matrix.not_run() > 0 {
        page.gap();
        page.prose(Paint::Doubt, 0, &format!("Interrupted: {} not begun.", counted(matrix.not_run(), "check")));
    }
    let exit = matrix.exit();
    if exit != Exit::Holds {
        page.gap();
        page.prose(Paint::Plain, 0, &format!("Exit code {}: {}.", exit.code(), exit.says()));
    }
}

/// A table in Markdown, with its legend.
pub(crate) fn markdown(matrix: &Matrix) -> String {
    let page_signs = Signs::of(false);
    let names: Vec<String> = matrix.columns.iter().map(|column| column_name(*column)).collect();
    let mut text = format!("| | {} |\n|---|{}\n", names.join(" | "), "---|".repeat(names.len()));
    for row in &matrix.rows {
        let cell = |cell: &Cell| sign(&cell.outcome, page_signs);
        let cells: Vec<String> = row.cells.iter().map(cell).collect();
        text.push_str(&format!("| {} | {} |\n", plain(&row.label), cells.join(" | ")));
    }
    let entries = |entries: Vec<(Paint, &'static str, &'static str)>| {
        let entries: Vec<String> = entries.into_iter().map(|(_, sign, words)| format!("{sign} {words}")).collect();
        entries.join(" · ")
    };
    let letters = asked(matrix).into_iter().map(|p| (Paint::Bad, letter(p), p.name())).collect();
    text.push_str(&format!("\n{}.\n", entries(signs(matrix, page_signs))));
    text.push_str(&format!("A letter is a property that is violated: {}.\n", entries(letters)));
    text.push_str(&format!("{INTRODUCTION} {}\n", numbers(matrix)));
    text
}

/// Foreign text in a cell of a Markdown table.
fn plain(text: &str) -> String {
    let mut out = String::new();
    for c in super::page::clean(text, false).chars() {
        if "\\`*_{}[]<>()#+!|&~$:@".contains(c) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use check::scenario::{Named, Property};
    use world::Fault;

    use super::{Layout, letter, plain};
    use crate::args::Settled;
    use crate::commands::matrix::Column;
    use crate::render::page::{Page, columns};

    fn of_width(width: usize) -> Settled {
        Settled {
            width,
            is_width_known: true,
            colour: false,
            colour_on_stderr: false,
            ascii: false,
            quiet: false,
            verbose: false,
            progress: false,
        }
    }

    #[test]
    fn every_property_has_a_letter_of_its_own() {
        let letters: BTreeSet<_> = Property::ALL.iter().map(|p| letter(*p)).collect();
        assert_eq!(letters.len(), Property::ALL.len());
    }

    #[test]
    fn as_many_faults_stand_side_by_side_as_fit() {
        // More faults than there are, and as wide as cells get.
        let all: Vec<Column> = (0..20).map(|at| Some((Fault::ALL[at % Fault::ALL.len()], 2))).collect();
        let widths = [6; 20];
        for width in [60, 80, 100] {
            for gap in [1, 2] {
                let settled = of_width(width);
                let mut page = Page::new(&settled);
                let layout = Layout { labels: 26, widths: &widths, gap };
                let bands = layout.bands(&page, &all);
                assert!(bands.len() > 1 && bands.iter().all(|band| !band.is_empty()));
                let joined: Vec<usize> = bands.iter().cloned().flatten().collect();
                assert_eq!(joined, (0..20).collect::<Vec<_>>(), "every fault stands once, in order");
                bands.iter().for_each(|band| layout.head(&mut page, &all, band));
                assert!(page.finish().lines().all(|line| columns(line) <= width));
            }
        }
    }

    #[test]
    fn thirteen_columns_of_three_letters_fit_side_by_side() {
        let settled = of_width(80);
        let all: Vec<Column> = [None].into_iter().chain((1..13).map(|at| Some((Fault::ALL[at], 1)))).collect();
        let layout = Layout { labels: 20, widths: &[3; 13], gap: 1 };
        assert_eq!(layout.bands(&Page::new(&settled), &all).len(), 1);
    }

    #[test]
    fn a_label_stays_in_its_cell() {
        assert_eq!(plain("./a|b\n<i>`x`"), "./a\\|b \\<i\\>\\`x\\`");
    }
}
