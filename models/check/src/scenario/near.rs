//! Nearest words, and foreign text made fit to be shown.

/// The longest stretch of foreign text that a message repeats, in characters.
const SHOWN: usize = 60;

/// The word nearest to a misspelt one, if one is near. `-` and `_` and the case are no difference.
pub(super) fn nearest<'w>(found: &str, words: impl IntoIterator<Item = &'w str>) -> Option<&'w str> {
    if found.is_empty() || found.len() > SHOWN {
        return None;
    }
    let found = plain(found);
    // A third of the letters may be wrong, and one of two or three.
    let far = found.chars().count().div_ceil(3).min(4);
    words
        .into_iter()
        .map(|word| (strsim::damerau_levenshtein(&found, &plain(word)), word))
        .filter(|(distance, _)| *distance <= far)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, word)| word)
}

/// A name with `-`, `_` and the case made alike.
pub(super) fn plain(name: &str) -> String {
    name.trim().to_ascii_lowercase().replace('-', "_")
}

/// The name of a file, without control characters.
pub(super) fn tame(name: &str) -> String {
    name.chars().map(|c| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c }).collect()
}

/// Text in quotes, without control characters, and not too long.
pub(super) fn quoted(text: &str) -> String {
    clip(&format!("{text:?}"))
}

/// A key as a message shows it: bare if it is one, otherwise in quotes.
pub(super) fn shown_key(key: &str) -> String {
    let bare = !key.is_empty() && key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
    if bare { clip(key) } else { quoted(key) }
}

/// The text, cut off if it is too long.
pub(super) fn clip(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_near_and_another_word_is_not() {
        let words = ["ttl", "timeout", "retry_delay"];
        assert_eq!(nearest("tll", words), Some("ttl"));
        assert_eq!(nearest("Retry-Delay", words), Some("retry_delay"));
        assert_eq!(nearest("quorum", words), None);
        assert_eq!(nearest("", words), None);
        assert_eq!(nearest(&"t".repeat(10_000), words), None);
    }

    #[test]
    fn foreign_text_is_tamed() {
        assert_eq!(quoted("a\u{1b}[31m"), r#""a\u{1b}[31m""#);
        assert_eq!(clip(&"ä".repeat(100)).chars().count(), SHOWN + 1);
        assert_eq!(tame("bob's\u{1b}.toml"), "bob's\u{fffd}.toml");
        assert_eq!(shown_key("a b"), r#""a b""#);
    }
}
