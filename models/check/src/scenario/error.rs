//! What can be wrong with a scenario, and where.

use core::fmt;

use super::near::{shown_key, tame};
use super::refuse::Rule;

/// Where something was said.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The line, counted from one, if it is in a file.
    pub line: Option<usize>,
    /// The column, counted from one, where the line alone does not say it.
    pub column: Option<usize>,
    /// The name of the file, or the option of the command line.
    pub source: String,
}

impl Place {
    /// The source as a whole.
    pub(super) fn whole(source: &str) -> Self {
        Self { source: source.to_owned(), line: None, column: None }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", tame(&self.source))?;
        for number in [self.line, self.column].into_iter().flatten() {
            write!(f, ":{number}")?;
        }
        Ok(())
    }
}

/// One thing that is wrong with a scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScenarioError {
    /// Where it was said.
    pub place: Place,
    /// The key with its section, or keys with their values; empty if it is about the file.
    pub about: String,
    /// What is wrong.
    pub problem: Problem,
}

/// What is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// The file is larger than any scenario.
    TooLarge {
        /// Its size in bytes.
        bytes: usize,
        /// The greatest size.
        limit: usize,
    },
    /// The file is not text.
    NotUtf8,
    /// The file is not TOML.
    NotToml {
        /// What the parser says.
        message: String,
    },
    /// A name that nothing has.
    Unknown {
        /// What it would be the name of, such as "key".
        what: &'static str,
        /// The name.
        found: String,
        /// What to do instead.
        help: String,
    },
    /// A value that is not what it should be.
    Value {
        /// What it should be.
        expected: String,
        /// What it is.
        found: String,
        /// What to do instead, if that is known.
        help: Option<String>,
    },
    /// Something that is required is not there.
    Missing {
        /// What to add.
        help: &'static str,
    },
    /// The same was said twice.
    Twice {
        /// What was.
        found: String,
    },
    /// A combination that is refused.
    Refused(&'static Rule),
}

impl ScenarioError {
    /// What to do instead, if that is known.
    pub fn help(&self) -> Option<&str> {
        match &self.problem {
            Problem::TooLarge { .. } | Problem::NotToml { .. } | Problem::Twice { .. } => None,
            Problem::NotUtf8 => Some("save the file as UTF-8 text"),
            Problem::Unknown { help, .. } => Some(help),
            Problem::Value { help, .. } => help.as_deref(),
            Problem::Missing { help } => Some(help),
            Problem::Refused(rule) => Some(rule.instead),
        }
    }
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.place)?;
        if !self.about.is_empty() {
            write!(f, "{}: ", self.about)?;
        }
        match &self.problem {
            Problem::TooLarge { bytes, limit } => {
                write!(f, "expected a scenario file of at most {limit} bytes, found {bytes}")
            }
            Problem::NotUtf8 => write!(f, "expected UTF-8 text, found bytes that are none"),
            Problem::NotToml { message } => write!(f, "not TOML: {message}"),
            Problem::Unknown { what, found, .. } => write!(f, "unknown {what} {}", shown_key(found)),
            Problem::Value { expected, found, .. } => write!(f, "expected {expected}, found {found}"),
            Problem::Missing { .. } => write!(f, "missing"),
            Problem::Twice { found } => write!(f, "{found} stands here twice"),
            Problem::Refused(rule) => write!(f, "{}", rule.reason),
        }?;
        match self.help() {
            Some(help) => write!(f, "\n  help: {help}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for ScenarioError {}

/// Everything that is wrong with a scenario, in the order of the source. At least one error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScenarioErrors(Vec<ScenarioError>);

/// How many errors are shown.
const SHOWN: usize = 20;

impl ScenarioErrors {
    /// The errors in the order of the source, each once; none if there are none.
    pub(super) fn of(mut errors: Vec<ScenarioError>) -> Result<(), Self> {
        if errors.is_empty() {
            return Ok(());
        }
        errors.sort_by_cached_key(|e| (e.place.clone(), e.to_string()));
        errors.dedup();
        Err(Self(errors))
    }

    /// The errors.
    pub fn iter(&self) -> impl Iterator<Item = &ScenarioError> {
        self.0.iter()
    }
}

impl From<ScenarioError> for ScenarioErrors {
    fn from(error: ScenarioError) -> Self {
        Self(vec![error])
    }
}

impl fmt::Display for ScenarioErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, error) in self.0.iter().take(SHOWN).enumerate() {
            let newline = if i > 0 { "\n" } else { "" };
            write!(f, "{newline}{error}")?;
        }
        match self.0.len().checked_sub(SHOWN) {
            Some(more @ 1..) => write!(f, "\nand {more} more"),
            Some(0) | None => Ok(()),
        }
    }
}

impl std::error::Error for ScenarioErrors {}
