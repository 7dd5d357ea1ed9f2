//! Text in terminal columns: how wide it is, what of it may be shown, where it breaks.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The columns that a character takes in a terminal. Combining marks take none, East Asian wide characters two.
pub(super) fn columns_of(c: char) -> usize {
    c.width().unwrap_or(0)
}

/// The columns that a text takes in a terminal.
pub fn columns(text: &str) -> usize {
    text.width()
}

/// The text as it may go to a terminal: one line, no control characters, nothing that turns the direction of writing,
/// and if asked for, nothing but ASCII.
pub fn clean(text: &str, ascii: bool) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_whitespace() {
            out.push(' ');
        } else if is_hidden(c) {
            out.push(if ascii { '?' } else { '\u{fffd}' });
        } else if ascii && !c.is_ascii() {
            out.push_str(spelled(c));
        } else {
            out.push(c);
        }
    }
    out
}

/// Whether a character steers a terminal, or cannot be seen.
pub fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(u32::from(c), 0xad | 0x61c | 0x200b..=0x200f | 0x202a..=0x202e | 0x2060..=0x206f | 0xfeff)
}

fn spelled(c: char) -> &'static str {
    match c {
        '→' => "->",
        '←' => "<-",
        '↔' => "<->",
        '–' | '—' | '‐' | '‑' | '−' | '─' => "-",
        '…' => "...",
        '‘' | '’' => "'",
        '“' | '”' => "\"",
        '·' | '•' => "*",
        '×' => "x",
        '≤' => "<=",
        '≥' => ">=",
        '≠' => "!=",
        '±' => "+-",
        _ => "?",
    }
}

/// Breaks a text at spaces into lines of at most `width` columns; a word that is longer breaks where it must.
/// An empty text is one empty line. Names such as `client A`, `node 12` and `PX 3` stay together.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut units: Vec<String> = Vec::new();
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        match units.last_mut() {
            Some(unit) if leans(word) && columns(unit) + 1 + columns(word) <= width => {
                unit.push(' ');
                unit.push_str(word);
            }
            _ => units.push(word.to_owned()),
        }
    }
    fill(units.iter().map(String::as_str), width)
}

/// Breaks a text like [`wrap`], but none of the commands in it, if they are short enough to be read in one piece.
pub(super) fn wrap_around(text: &str, commands: &[String], width: usize) -> Vec<String> {
    // No cleaned text has one.
    const BOUND: &str = "\u{a0}";
    let mut text = text.to_owned();
    for command in commands.iter().filter(|command| command.contains(' ') && columns(command) * 2 <= width) {
        text = text.replace(command.as_str(), &command.replace(' ', BOUND));
    }
    wrap(&text, width).into_iter().map(|line| line.replace(BOUND, " ")).collect()
}

/// Whether a word should not begin a line: a single letter or sign, or a number.
fn leans(word: &str) -> bool {
    let bare = word.trim_end_matches(|c: char| c.is_ascii_punctuation());
    columns(bare) <= 1 || bare.chars().all(|c| c.is_ascii_digit())
}

/// Breaks a shell command into lines of at most `width` columns that can be pasted: at spaces outside quotes, with
/// a backslash at the end of each line but the last.
pub(super) fn wrap_command(command: &str, width: usize) -> Vec<String> {
    if columns(command) <= width {
        return vec![command.to_owned()];
    }
    let mut words = Vec::new();
    let (mut start, mut quote, mut escaped) = (0, None, false);
    for (at, c) in command.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if quote != Some('\'') => escaped = true,
            '\'' | '"' if quote.is_none() => quote = Some(c),
            _ if quote == Some(c) => quote = None,
            ' ' if quote.is_none() => {
                words.push(&command[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    words.push(&command[start..]);
    let mut lines = fill(words.into_iter().filter(|word| !word.is_empty()), width.saturating_sub(2));
    let last = lines.len() - 1;
    for line in &mut lines[..last] {
        line.push_str(" \\");
    }
    lines
}

fn fill<'a>(words: impl Iterator<Item = &'a str>, width: usize) -> Vec<String> {
    // Two columns hold any single character.
    let width = width.max(2);
    let mut lines = vec![String::new()];
    let mut used = 0;
    for word in words {
        let wide = columns(word);
        if used > 0 && used + 1 + wide <= width {
            push(&mut lines, " ");
            used += 1;
        } else if used > 0 {
            lines.push(String::new());
            used = 0;
        }
        for c in word.chars() {
            if used + columns_of(c) > width {
                lines.push(String::new());
                used = 0;
            }
            push(&mut lines, c.encode_utf8(&mut [0; 4]));
            used += columns_of(c);
        }
    }
    lines
}

fn push(lines: &mut [String], text: &str) {
    if let Some(line) = lines.last_mut() {
        line.push_str(text);
    }
}

#[cfg(test)]
mod tests {
    use super::{clean, columns, wrap, wrap_around, wrap_command};

    #[test]
    fn lines_break_at_spaces_and_are_full() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("one  two", 80), ["one two"]);
        assert_eq!(wrap("", 10), [""]);
    }

    #[test]
    fn a_name_stays_together_where_it_can() {
        assert_eq!(wrap("to client A, node 12", 11), ["to", "client A,", "node 12"]);
        assert_eq!(wrap("x 1 2 3 4", 5), ["x 1 2", "3 4"]);
    }

    #[test]
    fn a_short_command_is_not_broken() {
        let commands = ["SET lock a1 NX".to_owned(), String::new()];
        assert_eq!(
            wrap_around("A sends SET lock a1 NX, that is all", &commands, 28),
            ["A sends SET lock a1 NX, that", "is all"]
        );
        assert_eq!(wrap_around("client A sends SET lock a1 NX", &commands, 28), ["client A sends", "SET lock a1 NX"]);
        assert_eq!(wrap_around("client A sends SET lock a1 NX", &commands, 20), ["client A sends SET", "lock a1 NX"]);
    }

    #[test]
    fn a_word_that_is_too_long_breaks_where_it_must() {
        assert_eq!(wrap("ab abcdefgh ij", 4), ["ab", "abcd", "efgh", "ij"]);
        assert_eq!(wrap("日本語", 5), ["日本", "語"]);
    }

    #[test]
    fn wide_and_combining_characters_are_counted_as_terminals_do() {
        assert_eq!(columns("日本"), 4);
        assert_eq!(columns("e\u{301}"), 1);
        assert_eq!(columns("● → ┃"), 5);
    }

    #[test]
    fn nothing_reaches_the_terminal_that_could_steer_it() {
        assert_eq!(clean("a\u{1b}[31m\tb\nc\u{202e}", false), "a\u{fffd}[31m b c\u{fffd}");
        assert_eq!(clean("free → a1 … ž", true), "free -> a1 ... ?");
    }

    #[test]
    fn a_wrapped_command_can_be_pasted() {
        assert_eq!(wrap_command("lab check redlock", 20), ["lab check redlock"]);
        assert_eq!(
            wrap_command("lab check 'my lock.toml' --set a=1", 26),
            ["lab check 'my lock.toml' \\", "--set a=1"]
        );
    }
}
