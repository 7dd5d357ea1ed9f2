//! Words as a shell reads them.

/// The word, in quotes if the shell would read it as anything else.
pub(crate) fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=,:+@%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn only_what_needs_quotes_has_them() {
        assert_eq!(quoted("faults/pause=1"), "faults/pause=1");
        assert_eq!(quoted("my lock.toml"), "'my lock.toml'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted(""), "''");
        assert_eq!(quoted("[[\"a\"]]"), "'[[\"a\"]]'");
    }
}
