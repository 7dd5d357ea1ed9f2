//! Lines of painted text, and a page of them.

pub(super) use trace::render::text::{clean, columns, is_hidden, wrap};

use super::signs::Signs;
use crate::args::Settled;

/// What a piece of a line is, which decides its colour. Only the eight basic colours, which every theme makes legible.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Paint {
    /// Text.
    #[default]
    Plain,
    /// A title.
    Strong,
    /// There if you look for it.
    Faint,
    /// It holds.
    Good,
    /// It is violated.
    Bad,
    /// It is not known.
    Doubt,
    /// Something to type.
    Command,
}

impl Paint {
    /// The parameters of "select graphic rendition".
    fn sgr(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Strong => "1",
            Self::Faint => "2",
            Self::Good => "32",
            Self::Bad => "1;31",
            Self::Doubt => "33",
            Self::Command => "36",
        }
    }

    /// The text, painted if there are colours.
    pub(crate) fn on(self, colour: bool, text: &str) -> String {
        // A space looks the same in every colour.
        if colour && self != Self::Plain && !text.trim().is_empty() {
            format!("\u{1b}[{}m{text}\u{1b}[0m", self.sgr())
        } else {
            text.to_owned()
        }
    }
}

/// Pieces of text side by side.
#[derive(Clone, Debug, Default)]
pub(super) struct Line {
    pieces: Vec<(Paint, String)>,
}

impl Line {
    /// A line of one piece.
    pub(super) fn of(paint: Paint, text: &str) -> Self {
        Self::default().with(paint, text)
    }

    /// The line with more text at its end.
    pub(super) fn with(mut self, paint: Paint, text: &str) -> Self {
        self.push(paint, text);
        self
    }

    /// Adds text at the end.
    pub(super) fn push(&mut self, paint: Paint, text: &str) {
        self.pieces.push((paint, text.to_owned()));
    }

    /// Adds spaces until the line is `width` columns wide.
    pub(super) fn pad(&mut self, width: usize) {
        let missing = width.saturating_sub(self.width());
        self.push(Paint::Plain, &" ".repeat(missing));
    }

    /// Adds text that ends at column `end`.
    pub(super) fn push_right(&mut self, paint: Paint, text: &str, end: usize) {
        self.pad(end.saturating_sub(columns(text)));
        self.push(paint, text);
    }

    /// The columns that it takes.
    pub(super) fn width(&self) -> usize {
        self.pieces.iter().map(|(_, text)| columns(text)).sum()
    }

    /// The line as text, without spaces at its end.
    fn write(mut self, colour: bool, out: &mut String) {
        while let Some((_, text)) = self.pieces.last_mut() {
            text.truncate(text.trim_end().len());
            if !text.is_empty() {
                break;
            }
            self.pieces.pop();
        }
        for (paint, text) in &self.pieces {
            out.push_str(&paint.on(colour, text));
        }
        out.push('\n');
    }
}

/// What is written so far, and how.
pub(super) struct Page<'a> {
    pub(super) settled: &'a Settled,
    pub(super) signs: &'static Signs,
    out: String,
}

impl<'a> Page<'a> {
    pub(super) fn new(settled: &'a Settled) -> Self {
        Self { settled, signs: Signs::of(settled.ascii), out: String::new() }
    }

    /// The columns.
    pub(super) fn width(&self) -> usize {
        self.settled.width
    }

    /// What was written.
    pub(super) fn finish(self) -> String {
        self.out
    }

    /// Text that is laid out already.
    pub(super) fn raw(&mut self, text: &str) {
        self.out.push_str(text);
    }

    /// A line.
    pub(super) fn line(&mut self, line: Line) {
        line.write(self.settled.colour, &mut self.out);
    }

    /// An empty line.
    pub(super) fn gap(&mut self) {
        self.out.push('\n');
    }

    /// Foreign text as it may go to a terminal: one line, no control characters, ASCII if asked for.
    pub(super) fn clean(&self, text: &str) -> String {
        clean(text, self.settled.ascii)
    }

    /// A text that is broken at spaces, each line behind `indent` columns.
    pub(super) fn prose(&mut self, paint: Paint, indent: usize, text: &str) {
        self.hanging(Line::default(), paint, indent, text);
    }

    /// A text behind a head, its further lines below its first, at column `at`.
    pub(super) fn hanging(&mut self, head: Line, paint: Paint, at: usize, text: &str) {
        let mut head = Some(head);
        for text in wrap(&self.clean(text), self.width().saturating_sub(at)) {
            let mut line = head.take().unwrap_or_default();
            line.pad(at);
            line.push(paint, &text);
            self.line(line);
        }
    }

    /// Signs with what they mean, side by side.
    pub(super) fn entries(&mut self, indent: usize, entries: &[(Paint, &str, &str)]) {
        let mut line = Line::default();
        line.pad(indent);
        for (paint, sign, words) in entries {
            if line.width() > indent {
                line.push(Paint::Plain, "   ");
            }
            if line.width() + columns(sign) + 1 + columns(words) > self.width() && line.width() > indent {
                self.line(std::mem::take(&mut line));
                line.pad(indent);
            }
            line.push(*paint, sign);
            line.push(Paint::Faint, &format!(" {words}"));
        }
        self.line(line);
    }

    /// A key and its value.
    pub(super) fn field(&mut self, key: &str, value: &str) {
        self.hanging(Line::of(Paint::Faint, &format!("  {key}")), Paint::Plain, 12, value);
    }

    /// A line across the page with a title in it.
    pub(super) fn rule(&mut self, title: &str) {
        let title = self.clean(title);
        let rule = |columns: usize| self.signs.rule.repeat(columns);
        let mut line = Line::of(Paint::Faint, &rule(2)).with(Paint::Strong, &format!(" {title} "));
        let rest = self.width().saturating_sub(line.width());
        line.push(Paint::Faint, &rule(rest));
        self.line(line);
    }

    /// A command to type. It is never broken, so that it can be copied.
    pub(super) fn command(&mut self, command: &str) {
        let line = Line::of(Paint::Plain, "  ").with(Paint::Command, &clean(command, false));
        self.line(line);
    }
}

/// Breaks a name like a text, or if it is one word, behind a `-` or `/`.
pub(super) fn wrap_name(name: &str, width: usize) -> Vec<String> {
    if name.contains(' ') || columns(name) <= width {
        return wrap(name, width);
    }
    let mut lines: Vec<String> = vec![String::new()];
    for part in name.split_inclusive(['-', '/']) {
        match lines.last_mut() {
            Some(line) if line.is_empty() || columns(line) + columns(part) <= width => line.push_str(part),
            _ => lines.push(part.to_owned()),
        }
    }
    lines.iter().flat_map(|line| wrap(line, width)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_at_spaces_and_never_overflow() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("", 7), [""]);
        assert_eq!(wrap("abcdef", 4), ["abcd", "ef"]);
        assert_eq!(wrap("日本語", 4), ["日本", "語"]);
        assert_eq!(wrap_name("redlock-restart", 12), ["redlock-", "restart"]);
        assert_eq!(wrap_name("one restart", 6), ["one", "restar", "t"]);
    }

    #[test]
    fn foreign_text_cannot_steer_the_terminal() {
        assert_eq!(clean("a\u{1b}[31m\nb\u{202e}", false), "a\u{fffd}[31m b\u{fffd}");
        assert_eq!(clean("a → ü…", true), "a -> ?...");
    }

    #[test]
    fn a_line_pads_and_paints() {
        let mut line = Line::of(Paint::Bad, "✗");
        line.pad(4);
        line.push_right(Paint::Plain, "7", 8);
        let mut out = String::new();
        line.write(true, &mut out);
        assert_eq!(out, "\u{1b}[1;31m✗\u{1b}[0m      7\n");
    }
}
