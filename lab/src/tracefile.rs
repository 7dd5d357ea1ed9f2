//! Traces in files: read from what `lab check` wrote, written in any form.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use check::scenario::{Named, Property};
use serde::Deserialize;
use serde::de::IgnoredAny;
use trace::Trace;
use trace::render::json::{ReadError, accept, from_json, parse};
use trace::render::text::clean;

use crate::failure::{Failure, shown};
use crate::render::json::SCHEMA;

/// The most bytes that are read: room for thousands of traces.
const MAX_BYTES: u64 = 64 << 20;
/// The most characters of a message that may quote the file.
const MESSAGE: usize = 300;

/// The form of a trace in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TraceForm {
    /// As on a terminal, without colours.
    Text,
    /// JSON.
    Json,
    /// JSON in Apalache's Informal Trace Format.
    Itf,
    /// A sequence diagram in mermaid's language.
    Mermaid,
}

/// A file for a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TraceFile {
    /// Its path.
    pub(crate) path: PathBuf,
    /// What is written into it.
    pub(crate) form: TraceForm,
}

impl TraceForm {
    /// The endings of file names, the longest first.
    const ENDINGS: [(&str, Self); 5] = [
        (".itf.json", Self::Itf),
        (".json", Self::Json),
        (".txt", Self::Text),
        (".mmd", Self::Mermaid),
        (".mermaid", Self::Mermaid),
    ];

    fn of(name: &str) -> Option<Self> {
        let name = name.to_lowercase();
        Self::ENDINGS.iter().find(|(ending, _)| name.ends_with(ending)).map(|(_, form)| *form)
    }
}

impl TraceFile {
    /// The file of a flag, in the form that it asks for or that the name ends with. What can be known to fail is told
    /// before there is anything to write.
    pub(crate) fn new(flag: &str, path: PathBuf, form: Option<TraceForm>) -> Result<Self, Failure> {
        let name = shown(&path.to_string_lossy());
        let Some(form) = form.or_else(|| TraceForm::of(&path.to_string_lossy())) else {
            return Err(Failure::usage(format!(
                "{flag}: expected a file that ends in .txt, .json, .itf.json, .mmd or .mermaid, found {name}"
            )));
        };
        let folder = path.parent().filter(|folder| *folder != Path::new(""));
        if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
            let folder = shown(&folder.to_string_lossy());
            return Err(Failure::input(format!("{flag}: cannot write {name}: there is no folder {folder}")));
        }
        if path.is_dir() {
            return Err(Failure::input(format!("{flag}: cannot write {name}: it is a folder")));
        }
        Ok(Self { path, form })
    }

    /// Writes it.
    pub(crate) fn write(&self, text: &str) -> Result<(), Failure> {
        fs::write(&self.path, text).map_err(|error| Failure::io("write", &self.path, &error))
    }
}

/// A trace that was read.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    /// The trace.
    pub(crate) trace: Trace,
    /// How many others of the file could have been meant.
    pub(crate) others: usize,
}

/// Reads a trace, or the first of a report that `lab check --format json` printed; with a property, the first of it.
pub(crate) fn read(called: &str, property: Option<Property>) -> Result<Found, Failure> {
    let name = if called == "-" { "stdin".to_owned() } else { shown(called) };
    let text = text(called, &name)?;
    let kind: Kind = parse(&text).map_err(|error| no_json(&name, &error))?;
    if kind.is_report() {
        return from_report(&text, &name, property);
    }
    if let Some(hint) = kind.is_no_trace() {
        return Err(Failure::input(format!("{name}: expected a trace, found {hint}")));
    }
    let trace = from_json(&text).map_err(|error| told(&name, &error))?;
    match property.filter(|property| property.name() != trace.property.name) {
        Some(property) => Err(missing(&name, property, [trace.property.name.as_str()].into_iter())),
        None => Ok(Found { trace, others: 0 }),
    }
}

/// What is in the file, or comes from stdin.
fn text(called: &str, name: &str) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    let read = if called == "-" {
        io::stdin().lock().take(MAX_BYTES + 1).read_to_end(&mut bytes)
    } else {
        let path = Path::new(called);
        if path.is_dir() {
            return Err(Failure::input(format!("cannot read {name}: it is a folder, not a trace")));
        }
        File::open(path).and_then(|file| file.take(MAX_BYTES + 1).read_to_end(&mut bytes))
    };
    read.map_err(|error| Failure::io("read", Path::new(name), &error))?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(Failure::input(format!("{name}: expected a trace of at most {MAX_BYTES} bytes, found more")));
    }
    String::from_utf8(bytes).map_err(|error| {
        let good = error.utf8_error().valid_up_to();
        let line = 1 + error.as_bytes()[..good].iter().filter(|byte| **byte == b'\n').count();
        Failure::input(format!("{name}:{line}: expected UTF-8 text, found bytes that are none"))
    })
}

/// The keys by which kinds of JSON are told apart.
#[derive(Deserialize)]
#[serde(expecting = "an object: a trace, or a report of `lab check`")]
struct Kind {
    steps: Option<IgnoredAny>,
    properties: Option<IgnoredAny>,
    runs: Option<IgnoredAny>,
    columns: Option<IgnoredAny>,
    states: Option<IgnoredAny>,
    vars: Option<IgnoredAny>,
    scenarios: Option<IgnoredAny>,
    errors: Option<IgnoredAny>,
}

impl Kind {
    fn is_report(&self) -> bool {
        self.steps.is_none() && (self.properties.is_some() || self.runs.is_some())
    }

    /// What it is instead of a trace, if that is known, with help.
    fn is_no_trace(&self) -> Option<&'static str> {
        let kinds = [
            (self.steps.is_some(), None),
            (
                self.states.is_some() && self.vars.is_some(),
                Some(
                    "the Informal Trace Format, which is written but not read\n  help: write the trace with \
                     --trace-out FILE.json",
                ),
            ),
            (
                self.columns.is_some(),
                Some("a matrix\n  help: it has no traces: run the `command` of a cell with --trace-out FILE.json"),
            ),
            (
                self.scenarios.is_some(),
                Some("a list of scenarios\n  help: `lab check NAME --trace-out FILE.json` writes a trace"),
            ),
            (self.errors.is_some(), Some("the report of a check that failed\n  help: its `errors` say why")),
        ];
        kinds.into_iter().find(|(is, _)| *is).and_then(|(_, hint)| hint)
    }
}

#[derive(Deserialize)]
struct Report {
    #[serde(default)]
    properties: Vec<Judged>,
    #[serde(default)]
    runs: Vec<Run>,
}

#[derive(Deserialize)]
struct Run {
    properties: Vec<Judged>,
}

#[derive(Deserialize)]
struct Judged {
    trace: Option<Trace>,
}

fn from_report(text: &str, name: &str, property: Option<Property>) -> Result<Found, Failure> {
    #[derive(Deserialize)]
    struct Version {
        schema: u64,
    }
    // The version first: under another one, complaints about single fields would mislead.
    let Version { schema } = parse(text).map_err(|error| told(name, &error))?;
    if schema != u64::from(SCHEMA) {
        return Err(Failure::input(format!(
            "{name}: schema: expected a report of schema {SCHEMA}, found {schema}\n  help: check again with this lab"
        )));
    }
    let Report { properties, runs } = parse(text).map_err(|error| told(name, &error))?;
    let judged = properties.into_iter().chain(runs.into_iter().flat_map(|run| run.properties));
    let all: Vec<Trace> = judged.filter_map(|judged| judged.trace).collect();
    let is_meant = |trace: &Trace| property.is_none_or(|property| property.name() == trace.property.name);
    let others = all.iter().filter(|trace| is_meant(trace)).count().saturating_sub(1);
    if let Some(trace) = all.iter().find(|trace| is_meant(trace)) {
        let trace = accept(trace.clone()).map_err(|error| told(name, &error))?;
        return Ok(Found { trace, others });
    }
    match property {
        Some(property) => Err(missing(name, property, all.iter().map(|trace| trace.property.name.as_str()))),
        None => Err(Failure::input(format!("{name}: a report without a trace: nothing in it is violated"))),
    }
}

fn missing<'a>(name: &str, property: Property, there: impl Iterator<Item = &'a str>) -> Failure {
    let mut names: Vec<&str> = there.collect();
    names.dedup();
    let there = if names.is_empty() { "none".to_owned() } else { shown(&names.join(", ")) };
    Failure::input(format!(
        "{name}: --property {}: there is no trace of it\n  help: it has traces of: {there}",
        property.name()
    ))
}

/// What is wrong with the file, with its place as compilers write it.
fn told(name: &str, error: &ReadError) -> Failure {
    let text = match error {
        ReadError::Schema { .. } | ReadError::Actors { .. } => format!("{name}: {error}"),
        ReadError::Malformed { line, column, key, message } => {
            let key = if key.is_empty() { String::new() } else { format!("{}: ", brief(key)) };
            format!("{name}:{line}:{column}: {key}{}", brief(message))
        }
    };
    Failure::input(text)
}

/// What is wrong with a file that may never have been a trace.
fn no_json(name: &str, error: &ReadError) -> Failure {
    match told(name, error) {
        Failure::Input(messages) => Failure::Input(
            messages
                .iter()
                .map(|message| {
                    format!("{message}\n  help: a trace is what `lab check NAME --trace-out FILE.json` writes")
                })
                .collect(),
        ),
        failure @ (Failure::Usage(_) | Failure::Bug(_)) => failure,
    }
}

/// Text that may quote the file, as it may go to a terminal.
fn brief(text: &str) -> String {
    let mut brief: String = clean(text, false).chars().take(MESSAGE).collect();
    if text.chars().nth(MESSAGE).is_some() {
        brief.push('…');
    }
    brief
}

#[cfg(test)]
mod tests {
    use super::TraceForm;

    #[test]
    fn the_name_of_a_file_says_its_form() {
        let cases = [
            ("a.txt", Some(TraceForm::Text)),
            ("a.JSON", Some(TraceForm::Json)),
            ("a.itf.json", Some(TraceForm::Itf)),
            ("x/a.MMD", Some(TraceForm::Mermaid)),
            ("a.mermaid", Some(TraceForm::Mermaid)),
            ("a.svg", None),
            ("json", None),
        ];
        for (name, form) in cases {
            assert_eq!(TraceForm::of(name), form, "{name}");
        }
    }
}
