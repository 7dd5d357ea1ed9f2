//! The trace for a terminal: a lane for every actor, a row for every step.
//!
//! A row has the step's number, the tick, the lanes and the action in words. What does not matter stands back (faint, or
//! its number in parentheses); a fault stands out (coloured, or `!` before its number). A client's lane is thick while
//! it believes that it holds the lock: a violation of mutual exclusion is two thick lanes side by side.

pub mod beside;
mod frame;
mod lanes;
mod line;
mod signs;

use lanes::Lanes;
use line::{Line, Paint};
use signs::Signs;

use crate::model::Trace;
use crate::render::text::{clean, columns, wrap, wrap_around};
use crate::step::{Step, StepKind};

/// The least width. A narrower terminal gets lines of this width.
pub const MIN_WIDTH: usize = 40;

/// The column at which the values of the header begin.
const KEYS: usize = 12;
/// The least columns of text beside the lanes; where there are fewer, the text stands below them.
const TEXT: usize = 20;

/// How to render.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Style {
    /// The columns of the terminal. No line is wider, down to [`MIN_WIDTH`].
    pub width: usize,
    /// Whether to use colours, as ANSI escape sequences.
    pub colour: bool,
    /// Whether to use nothing but ASCII characters.
    pub ascii: bool,
    /// Whether to show below each action the fields that changed.
    pub changes: bool,
}

impl Default for Style {
    /// 80 columns of plain text, Unicode, without the changed fields.
    fn default() -> Self {
        Self { width: 80, colour: false, ascii: false, changes: false }
    }
}

/// The trace as lines of text, each with a newline at its end.
#[must_use]
pub fn render(trace: &Trace, style: &Style) -> String {
    let mut page = Page::new(trace, style);
    frame::head(&mut page);
    if !trace.steps.is_empty() {
        page.heading();
    }
    for step in &trace.steps {
        page.step(step);
    }
    page.end();
    frame::foot(&mut page);
    page.out
}

/// What is written so far, and what every part of it has to know.
struct Page<'a> {
    trace: &'a Trace,
    style: &'a Style,
    signs: &'static Signs,
    lanes: Lanes<'a>,
    width: usize,
    /// The columns of a step's number in parentheses, and of a tick.
    numbers: [usize; 2],
    out: String,
}

impl<'a> Page<'a> {
    fn new(trace: &'a Trace, style: &'a Style) -> Self {
        let signs = Signs::of(style.ascii);
        let number = trace.steps.iter().map(|step| step.n.to_string().len() + 2).max();
        let tick = trace.steps.iter().filter_map(Step::time).map(|time| time.to_string().len()).max();
        Self {
            trace,
            style,
            signs,
            lanes: Lanes::new(trace, signs),
            width: style.width.max(MIN_WIDTH),
            numbers: [number.unwrap_or(0).max(4), tick.unwrap_or(0).max(4)],
            out: String::new(),
        }
    }

    fn clean(&self, text: &str) -> String {
        clean(text, self.style.ascii)
    }

    fn put(&mut self, line: Line) {
        line.write(self.style.colour, &mut self.out);
    }

    fn gap(&mut self) {
        self.put(Line::default());
    }

    /// The column at which the lanes begin.
    fn left(&self) -> usize {
        1 + self.numbers[0] + 1 + self.numbers[1] + 2
    }

    /// The column at which the text begins, and whether it stands beside the lanes.
    fn text(&self) -> (usize, bool) {
        let beside = self.left() + self.lanes.width() + 2;
        if beside + TEXT <= self.width { (beside, true) } else { (self.left().min(self.width - TEXT), false) }
    }

    /// The heading of the columns.
    fn heading(&mut self) {
        let mut line = Line::of(Paint::Faint, &self.numbered("step", "tick"));
        line.pad(self.left());
        if self.lanes_fit() {
            self.lanes.head(&mut line);
        }
        self.put(line);
    }

    fn lanes_fit(&self) -> bool {
        self.left() + self.lanes.width() <= self.width
    }

    fn numbered(&self, number: &str, tick: &str) -> String {
        let [wide, narrow] = self.numbers;
        // The column of the closing parenthesis stays free behind a number that has none.
        let number = if number.ends_with(')') { number.to_owned() } else { format!("{number} ") };
        format!("{number:>wide$} {tick:>narrow$}", wide = wide + 1)
    }

    fn step(&mut self, step: &Step) {
        let words = match (step.matters, step.fault.is_some()) {
            (false, _) => Paint::Faint,
            (true, true) => Paint::Fault,
            (true, false) => Paint::Plain,
        };
        let parentheses = !step.matters && !self.style.colour;
        let number = if parentheses { format!("({})", step.n) } else { step.n.to_string() };
        let tick = step.time().map(|time| time.to_string()).unwrap_or_default();
        let mut line = Line::default();
        let numbers = self.numbered(&number, &tick);
        let numbers = if step.fault.is_some() { format!("!{}", &numbers[1..]) } else { numbers };
        line.push(if step.fault.is_some() && step.matters { Paint::Fault } else { Paint::Faint }, &numbers);
        let mut text: Vec<(Paint, String)> = self.action(step, words);
        if self.style.changes {
            text.extend(self.changes(step));
        }
        self.rows(step, line, text);
    }

    /// A first row with what happens, and a row for each further line of text.
    fn rows(&mut self, step: &Step, mut line: Line, text: Vec<(Paint, String)>) {
        let (at, beside) = self.text();
        line.pad(self.left());
        if self.lanes_fit() {
            self.lanes.step(step, &mut line);
        }
        // Between two lines of one sentence a rule would look like a part of it.
        let ruled = step.kind == StepKind::Tick && beside && text.len() == 1;
        let mut first = Some(line);
        if !beside && let Some(line) = first.take() {
            self.put(line);
        }
        for (paint, text) in text {
            let mut line = first.take().unwrap_or_else(|| {
                let mut line = Line::default();
                if beside {
                    line.pad(self.left());
                    self.lanes.rest(step, &mut line);
                }
                line
            });
            line.pad(at);
            line.push(paint, &text);
            if ruled {
                self.rule(&mut line, at + columns(&text));
            }
            self.put(line);
        }
    }

    /// The rule of a tick, from behind its text to the edge.
    fn rule(&self, line: &mut Line, from: usize) {
        if from + 2 < self.width {
            line.push(Paint::Plain, " ");
            line.push(Paint::Faint, &self.signs.tick.to_string().repeat(self.width - from - 1));
        }
    }

    fn action(&self, step: &Step, paint: Paint) -> Vec<(Paint, String)> {
        let width = self.width - self.text().0;
        let commands: Vec<String> = step.messages.iter().map(|hop| self.clean(&hop.text)).collect();
        let lines = wrap_around(&self.clean(&step.action), &commands, width);
        lines.into_iter().map(|line| (paint, line)).collect()
    }

    fn changes(&self, step: &Step) -> Vec<(Paint, String)> {
        let mut lines = Vec::new();
        for change in &step.changes {
            let name = self.trace.actor(&change.actor).map_or(&change.actor, |actor| &actor.name);
            let becomes = self.signs.becomes;
            let text = format!("{name} {}: {} {becomes} {}", change.field, change.before, change.after);
            let text = wrap(&self.clean(&text), self.width - self.text().0 - 2);
            lines.extend(text.into_iter().enumerate().map(|(number, line)| {
                let bullet = if number == 0 { self.signs.dot } else { ' ' };
                (Paint::Faint, format!("{bullet} {line}"))
            }));
        }
        lines
    }

    /// The lanes as they end, and what is wrong with them.
    fn end(&mut self) {
        let Some(step) = self.trace.steps.last() else { return };
        let (at, beside) = self.text();
        let text = format!("{} violated", self.trace.property.name);
        for (number, text) in wrap(&self.clean(&text), self.width - at - 2).into_iter().enumerate() {
            let mut line = Line::default();
            if beside {
                line.pad(self.left());
                self.lanes.rest(step, &mut line);
            }
            line.pad(at);
            let mark = if number == 0 { self.signs.lost } else { ' ' };
            line.push(Paint::Clash, &format!("{mark} {text}"));
            self.put(line);
        }
    }
}
