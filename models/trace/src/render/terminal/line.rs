//! A line of painted text.

use crate::render::text::columns;

/// What a piece of a line is, which decides its colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Paint {
    #[default]
    Plain,
    /// A title.
    Strong,
    /// There if you look for it.
    Faint,
    /// A client that believes it holds the lock.
    Hold,
    /// One of several such clients, and what is violated.
    Clash,
    /// A message under way.
    Arrow,
    /// A fault and what it left behind.
    Fault,
}

impl Paint {
    /// The parameters of "select graphic rendition". Only the eight basic colours, which every theme makes legible.
    fn sgr(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Strong => "1",
            Self::Faint => "2",
            Self::Hold => "1;32",
            Self::Clash => "1;31",
            Self::Arrow => "36",
            Self::Fault => "33",
        }
    }
}

/// Pieces of text side by side.
#[derive(Default)]
pub(super) struct Line {
    pieces: Vec<(Paint, String)>,
}

impl Line {
    /// A line of one piece.
    pub(super) fn of(paint: Paint, text: &str) -> Self {
        let mut line = Self::default();
        line.push(paint, text);
        line
    }

    /// Adds text at the end.
    pub(super) fn push(&mut self, paint: Paint, text: &str) {
        match self.pieces.last_mut() {
            Some((last, piece)) if *last == paint => piece.push_str(text),
            _ => self.pieces.push((paint, text.to_owned())),
        }
    }

    /// Adds spaces until the line is `width` columns wide.
    pub(super) fn pad(&mut self, width: usize) {
        let used: usize = self.pieces.iter().map(|(_, text)| columns(text)).sum();
        self.push(Paint::Plain, &" ".repeat(width.saturating_sub(used)));
    }

    /// Writes the line, without spaces at its end.
    pub(super) fn write(mut self, colour: bool, out: &mut String) {
        while let Some((_, text)) = self.pieces.last_mut() {
            text.truncate(text.trim_end().len());
            if !text.is_empty() {
                break;
            }
            self.pieces.pop();
        }
        for (paint, text) in &self.pieces {
            let sgr = paint.sgr();
            // A space looks the same in every colour.
            if colour && !sgr.is_empty() && !text.trim().is_empty() {
                out.push_str(&format!("\u{1b}[{sgr}m{text}\u{1b}[0m"));
            } else {
                out.push_str(text);
            }
        }
        out.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::{Line, Paint};

    #[test]
    fn colour_changes_nothing_but_the_colour() {
        let write = |colour| {
            let mut line = Line::of(Paint::Fault, "!");
            line.push(Paint::Plain, " a");
            line.pad(6);
            line.push(Paint::Faint, "b");
            line.pad(20);
            let mut out = String::new();
            line.write(colour, &mut out);
            out
        };
        assert_eq!(write(false), "! a   b\n");
        assert_eq!(write(true), "\u{1b}[33m!\u{1b}[0m a   \u{1b}[2mb\u{1b}[0m\n");
    }
}
