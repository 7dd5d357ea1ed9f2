//! The trace as JSON: the form to keep, to send and to replay.

use std::fmt;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::text::is_hidden;
use crate::model::{SCHEMA, Trace};

/// Writes the trace, indented, its keys in the order of the fields, with a newline at the end.
#[must_use]
pub fn to_json(trace: &Trace) -> String {
    let mut text = serde_json::to_string_pretty(trace).expect("a trace has string keys only");
    text.push('\n');
    escaped(&text)
}

/// JSON in which no character steers a terminal: what JSON lets stand as it is, is escaped, and still says the same.
pub(super) fn escaped(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        // The layout has newlines; in a string they are escaped already.
        if c != '\n' && is_hidden(c) {
            out.push_str(&format!("\\u{:04x}", u32::from(c)));
        } else {
            out.push(c);
        }
    }
    out
}

/// The most actors that a trace has: what renderers do for each lane of each step stays within bounds.
pub const MAX_ACTORS: usize = 256;

/// Reads a trace.
///
/// # Errors
///
/// If it is of another version, no JSON, or no trace.
pub fn from_json(text: &str) -> Result<Trace, ReadError> {
    // The version first: under another one, complaints about single fields would mislead.
    let Version { schema } = parse(text)?;
    if schema != u64::from(SCHEMA) {
        return Err(ReadError::Schema { found: schema });
    }
    accept(parse(text)?)
}

/// A trace that was read as a part of something else, if it is one that this program can show.
///
/// # Errors
///
/// If it is of another version, or has more than [`MAX_ACTORS`] actors.
pub fn accept(trace: Trace) -> Result<Trace, ReadError> {
    if trace.schema != SCHEMA {
        return Err(ReadError::Schema { found: trace.schema.into() });
    }
    if trace.actors.len() > MAX_ACTORS {
        return Err(ReadError::Actors { found: trace.actors.len() });
    }
    Ok(trace)
}

/// Reads JSON of any kind.
///
/// # Errors
///
/// [`ReadError::Malformed`] if it is no JSON, or not of this kind.
pub fn parse<T: DeserializeOwned>(text: &str) -> Result<T, ReadError> {
    let mut json = serde_json::Deserializer::from_str(text);
    let value = serde_path_to_error::deserialize(&mut json).map_err(|error| {
        let key = error.path().to_string();
        ReadError::at(if key == "." { String::new() } else { key }, &error.into_inner())
    })?;
    json.end().map_err(|error| ReadError::at(String::new(), &error))?;
    Ok(value)
}

#[derive(Deserialize)]
struct Version {
    schema: u64,
}

/// Why a text is not a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReadError {
    /// It was written under another version than [`SCHEMA`].
    Schema {
        /// The version that it says.
        found: u64,
    },
    /// It has more actors than [`MAX_ACTORS`].
    Actors {
        /// How many.
        found: usize,
    },
    /// It is no JSON, or a field is missing or wrong.
    Malformed {
        /// The line, from 1.
        line: usize,
        /// The column, from 1; 0 for an end of the text where there should be more.
        column: usize,
        /// The key, such as `steps[3].actor`; empty if it is about the whole text.
        key: String,
        /// What is wrong there.
        message: String,
    },
}

impl ReadError {
    fn at(key: String, error: &serde_json::Error) -> Self {
        let (line, column) = (error.line(), error.column());
        let message = error.to_string();
        let place = format!(" at line {line} column {column}");
        let message = message.strip_suffix(&place).unwrap_or(&message).to_owned();
        Self::Malformed { line, column, key, message }
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Schema { found } => write!(
                f,
                "the trace has schema {found}, and this program reads schema {SCHEMA}: find the trace again with its own `command`"
            ),
            Self::Actors { found } => write!(f, "actors: expected at most {MAX_ACTORS}, found {found}"),
            Self::Malformed { line, column, key, message } if key.is_empty() => {
                write!(f, "line {line}, column {column}: {message}")
            }
            Self::Malformed { line, column, key, message } => {
                write!(f, "line {line}, column {column}: {key}: {message}")
            }
        }
    }
}

impl std::error::Error for ReadError {}

#[cfg(test)]
mod tests {
    use super::{MAX_ACTORS, ReadError, from_json, to_json};
    use crate::model::{Actor, ActorKind, FaultBudget, PropertyRef, SCHEMA, ScenarioRef, Trace};
    use crate::step::{Step, StepKind};

    fn sample() -> Trace {
        Trace {
            schema: SCHEMA,
            id: "x1".into(),
            scenario: ScenarioRef {
                id: "setnx".into(),
                title: "SETNX".into(),
                hash: "abc".into(),
                toml: "schema = 1\n".into(),
                faults: vec![FaultBudget { fault: "crash".into(), budget: 1 }],
            },
            property: PropertyRef { name: "no-orphan".into(), says: "the lock can become free".into() },
            grain: "message".into(),
            command: "lab check setnx".into(),
            actors: vec![Actor { id: "A".into(), name: "client A".into(), kind: ActorKind::Client }],
            steps: vec![Step::new(1, "A", StepKind::Start, "client A asks for the lock")],
            why: vec!["nobody is left to release it".into()],
            culprits: vec!["A".into()],
        }
    }

    #[test]
    fn what_is_written_can_be_read() {
        let text = to_json(&sample());
        assert!(text.ends_with("}\n") && !text.ends_with("\n\n"));
        assert_eq!(from_json(&text), Ok(sample()));
    }

    #[test]
    fn no_character_steers_the_terminal_and_none_is_lost() {
        let mut trace = sample();
        trace.id = "a\u{1b}[31m\u{9b}31m\u{7f}\u{202e}\n\tb é 日".into();
        let text = to_json(&trace);
        assert!(text.chars().all(|c| c == '\n' || !super::is_hidden(c)), "{text:?}");
        assert_eq!(from_json(&text), Ok(trace));
    }

    #[test]
    fn another_version_is_refused_before_its_fields_are_read() {
        let error = from_json("{\"schema\": 7, \"who\": 1}").unwrap_err();
        assert_eq!(error, ReadError::Schema { found: 7 });
        assert!(error.to_string().contains("schema 7"));
    }

    #[test]
    fn an_error_names_its_place_once() {
        let text = to_json(&sample()).replace("\"client\"", "\"clown\"");
        let error = from_json(&text).unwrap_err().to_string();
        assert!(error.starts_with("line 26, column "), "{error}");
        assert!(error.contains(": actors[0].kind: unknown variant `clown`"), "{error}");
        assert!(!error.contains("at line"), "{error}");
        assert!(from_json("").unwrap_err().to_string().starts_with("line 1, column 0: EOF"));
        assert!(from_json("{}").unwrap_err().to_string().contains("missing field `schema`"));
        let text = to_json(&sample());
        assert!(from_json(&format!("{text}x")).unwrap_err().to_string().contains("trailing characters"));
        for end in 0..text.len() - 1 {
            assert!(matches!(from_json(&text[..end]), Err(ReadError::Malformed { .. })), "{end}");
        }
        assert!(from_json(&"[".repeat(100_000)).unwrap_err().to_string().starts_with("line 1, column "));
    }

    #[test]
    fn nobody_has_thousands_of_lanes() {
        let mut trace = sample();
        trace.actors = vec![trace.actors[0].clone(); MAX_ACTORS + 1];
        assert_eq!(from_json(&to_json(&trace)), Err(ReadError::Actors { found: MAX_ACTORS + 1 }));
    }
}
