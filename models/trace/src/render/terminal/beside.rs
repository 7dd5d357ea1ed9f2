//! One schedule in two scenarios: what is alike once, and from where they part, side by side.

use super::line::{Line, Paint};
use super::signs::Signs;
use super::{MIN_WIDTH, Style};
use crate::beside::{Beside, Side};
use crate::model::Trace;
use crate::render::text::{clean, columns, wrap};
use crate::step::Step;

/// The columns between the two sides.
const BETWEEN: usize = 3;

/// The two traces as lines of text, each with a newline at its end. The labels are short names of the two sides.
#[must_use]
pub fn render(beside: &Beside, labels: [&str; 2], style: &Style) -> String {
    let mut page = Page::new(beside, style);
    page.alike(labels);
    page.apart(labels);
    page.out
}

struct Page<'a> {
    beside: &'a Beside,
    style: &'a Style,
    signs: &'static Signs,
    width: usize,
    /// The columns of a step's number, of a tick, and of those who believe that they hold the lock.
    number: usize,
    tick: usize,
    holds: usize,
    out: String,
}

/// What stands in one half of a row.
type Half = (Paint, String, Vec<String>);

impl<'a> Page<'a> {
    fn new(beside: &'a Beside, style: &'a Style) -> Self {
        let steps = || beside.left.steps.iter().chain(&beside.right.steps);
        let number = steps().map(|step| step.n.to_string().len()).max().unwrap_or(0).max(4);
        let tick = steps().filter_map(Step::time).map(|time| time.to_string().len()).max().unwrap_or(0).max(4);
        let holds = steps().map(|step| columns(&holders(step))).max().unwrap_or(0).max(5);
        let signs = Signs::of(style.ascii);
        Self { beside, style, signs, width: style.width.max(MIN_WIDTH), number, tick, holds, out: String::new() }
    }

    fn put(&mut self, line: Line) {
        line.write(self.style.colour, &mut self.out);
    }

    fn clean(&self, text: &str) -> String {
        clean(text, self.style.ascii)
    }

    /// How many steps do the same on both sides.
    fn common(&self) -> usize {
        self.beside.parts_at.map_or(self.beside.left.steps.len(), |n| n as usize - 1)
    }

    /// The steps that do the same, once.
    fn alike(&mut self, labels: [&str; 2]) {
        let common = self.common();
        if common == 0 {
            return;
        }
        let at = 1 + self.number + 2 + self.tick + 2 + self.holds + 2;
        let text = match self.beside.parts_at {
            Some(_) => format!("Alike in {} and {}:", labels[0], labels[1]),
            None => format!("All of it is alike in {} and {}:", labels[0], labels[1]),
        };
        for text in wrap(&self.clean(&text), self.width) {
            self.put(Line::of(Paint::Strong, &text));
        }
        let mut head = Line::of(Paint::Faint, &self.numbers("step", "tick"));
        head.push(Paint::Faint, "  holds");
        self.put(head);
        for step in &self.beside.left.steps[..common] {
            let tick = step.time().map(|time| time.to_string()).unwrap_or_default();
            let mut line = Line::of(paint(step, Paint::Faint), &self.marked(step, &tick));
            line.push(Paint::Hold, &format!("  {}", holders(step)));
            let mut line = Some(line);
            for text in wrap(&self.clean(&step.action), self.width - at) {
                let mut line = line.take().unwrap_or_default();
                line.pad(at);
                line.push(paint(step, Paint::Plain), &text);
                self.put(line);
            }
        }
    }

    fn numbers(&self, number: &str, tick: &str) -> String {
        format!(" {number:>wide$}  {tick:>narrow$}", wide = self.number, narrow = self.tick)
    }

    /// The numbers of a step, with the mark of a fault.
    fn marked(&self, step: &Step, tick: &str) -> String {
        let numbers = self.numbers(&step.n.to_string(), tick);
        if step.fault.is_some() { format!("{}{}", self.signs.fault, &numbers[1..]) } else { numbers }
    }

    /// The columns of each side from where they part.
    fn half(&self) -> usize {
        (self.width - (1 + self.number + 2) - BETWEEN) / 2
    }

    /// The steps from where they part, side by side.
    fn apart(&mut self, labels: [&str; 2]) {
        let Some(at) = self.beside.parts_at else { return };
        if self.common() > 0 {
            self.put(Line::default());
        }
        let text = format!("From step {at} on they differ:");
        self.put(Line::of(Paint::Strong, &text));
        let room = self.half();
        let is_one = self.beside.left.scenario.title == self.beside.right.scenario.title;
        let title = |label: &str, trace: &Trace| match is_one {
            true => vec![label.to_owned()],
            false => wrap(&format!("{label}: {}", self.clean(&trace.scenario.title)), room),
        };
        let titles = [title(labels[0], &self.beside.left), title(labels[1], &self.beside.right)];
        self.row("step", titles.map(|lines| Some((Paint::Strong, String::new(), lines))), None);
        let longest = self.beside.left.steps.len().max(self.beside.right.steps.len());
        let mut is_over = false;
        for index in self.common()..longest {
            let step = |trace: &'a Trace| trace.steps.get(index);
            let both = [step(&self.beside.left), step(&self.beside.right)];
            let Some(any) = both.iter().flatten().next() else { break };
            let halves = [Side::Left, Side::Right].map(|side| {
                let step = both[side as usize];
                match step {
                    Some(step) => Some(self.told(step)),
                    None if is_over => None,
                    None => Some(self.end_of_schedule()),
                }
            });
            is_over |= both.iter().any(Option::is_none);
            self.row(&any.n.to_string(), halves, any.fault.as_ref().map(|_| self.signs.fault));
        }
        self.verdict(!is_over);
    }

    fn told(&self, step: &Step) -> Half {
        let text = wrap(&self.clean(&step.action), self.half() - self.holds - 1);
        (paint(step, Paint::Plain), holders(step), text)
    }

    /// That the schedule ends on the side that is not violated, and why.
    fn end_of_schedule(&self) -> Half {
        let why = self.beside.ends.as_deref().unwrap_or("the schedule ends");
        let text = wrap(&self.clean(&format!("not possible here: {why}")), self.half() - self.holds - 1);
        (Paint::Strong, String::new(), text)
    }

    /// What the last step comes to.
    fn verdict(&mut self, is_followed: bool) {
        let property = &self.beside.left.property.name;
        let halves = [Side::Left, Side::Right].map(|side| {
            let (paint, text) = if side == self.beside.violated {
                (Paint::Clash, format!("{} {property} violated", self.signs.lost))
            } else if is_followed {
                (Paint::Hold, format!("{property} is not violated here"))
            } else {
                return None;
            };
            Some((paint, String::new(), wrap(&self.clean(&text), self.half() - self.holds - 1)))
        });
        self.row("", halves, None);
    }

    /// A row of both sides.
    fn row(&mut self, number: &str, halves: [Option<Half>; 2], mark: Option<char>) {
        let left = 1 + self.number + 2;
        let lines = halves.iter().flatten().map(|(_, _, text)| text.len()).max().unwrap_or(0);
        let is_title = number == "step";
        for at in 0..lines {
            let number = if at == 0 { number } else { "" };
            let mark = mark.filter(|_| at == 0).unwrap_or(' ');
            let mut line = Line::of(Paint::Faint, &format!("{mark}{number:>wide$}", wide = self.number));
            for (side, half) in halves.iter().enumerate() {
                let begins = left + side * (self.half() + BETWEEN);
                line.pad(begins);
                let Some((paint, holds, text)) = half else { continue };
                if at == 0 {
                    line.push(Paint::Hold, holds);
                }
                if !is_title {
                    line.pad(begins + self.holds + 1);
                }
                line.push(*paint, text.get(at).map_or("", String::as_str));
            }
            self.put(line);
        }
    }
}

/// Those who believe after a step that they hold the lock.
fn holders(step: &Step) -> String {
    step.holding.join("+")
}

fn paint(step: &Step, plain: Paint) -> Paint {
    if step.fault.is_some() { Paint::Fault } else { plain }
}
