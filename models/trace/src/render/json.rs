//! The trace as JSON: the form to keep, to send and to replay.

use std::fmt;

use serde::Deserialize;

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

/// Reads a trace.
///
/// # Errors
///
/// If it is of another version, no JSON, or no trace.
pub fn from_json(text: &str) -> Result<Trace, ReadError> {
    // The version first: under another one, complaints about single fields would mislead.
    let version: Version = serde_json::from_str(text)?;
    if version.schema != u64::from(SCHEMA) {
        return Err(ReadError::Schema { found: version.schema });
    }
    Ok(serde_json::from_str(text)?)
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
    /// It is no JSON, or a field is missing or wrong.
    Malformed {
        /// The line, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
        /// What is wrong there.
        message: String,
    },
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Schema { found } => write!(
                f,
                "the trace has schema {found}, and this program reads schema {SCHEMA}: find the trace again with its own `command`"
            ),
            Self::Malformed { line, column, message } => write!(f, "line {line}, column {column}: {message}"),
        }
    }
}

impl std::error::Error for ReadError {}

impl From<serde_json::Error> for ReadError {
    fn from(error: serde_json::Error) -> Self {
        let (line, column) = (error.line(), error.column());
        let message = error.to_string();
        let place = format!(" at line {line} column {column}");
        let message = message.strip_suffix(&place).unwrap_or(&message).to_owned();
        Self::Malformed { line, column, message }
    }
}

#[cfg(test)]
mod tests {
    use super::{ReadError, from_json, to_json};
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
        assert!(error.starts_with("line 25, column "), "{error}");
        assert!(error.contains("unknown variant `clown`"), "{error}");
        assert!(!error.contains("at line"), "{error}");
        assert!(from_json("").unwrap_err().to_string().starts_with("line 1, column 0: EOF"));
        assert!(from_json("{}").unwrap_err().to_string().contains("missing field `schema`"));
    }
}
