//! What keeps the lab from doing what it was asked.

use std::io;
use std::path::Path;

use check::scenario::ScenarioErrors;

use crate::args::Settled;
use crate::exit::Exit;
use crate::render::Paint;

/// How many messages are shown.
const SHOWN: usize = 20;

/// Why nothing came of it. The messages may have further lines, with help.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// Flags that are wrong, or contradict one another.
    Usage(Vec<String>),
    /// A bad file, or one that cannot be read or written.
    Input(Vec<String>),
    /// A bug of ours.
    Bug(String),
}

impl Failure {
    /// One message about the flags.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::Usage(vec![message.into()])
    }

    /// One message about a file.
    pub(crate) fn input(message: impl Into<String>) -> Self {
        Self::Input(vec![message.into()])
    }

    /// An operation on a file that failed.
    pub(crate) fn io(verb: &str, path: &Path, error: &io::Error) -> Self {
        Self::input(format!("cannot {verb} {}: {}", shown(&path.to_string_lossy()), reason(error)))
    }

    /// What is wrong with a scenario: usage if it was said on the command line.
    ///
    /// `named` is the flag whose value was passed on as `--set`, if there was one: the place that the user knows.
    pub(crate) fn scenario(errors: &ScenarioErrors, named: Option<(&str, &str)>) -> Self {
        let is_option = |source: &str| source.starts_with("--");
        let message = |error: &check::scenario::ScenarioError| {
            let text = error.to_string();
            match named {
                Some((flag, key)) if error.place.source == "--set" && error.about.starts_with(key) => {
                    text.replacen("--set", flag, 1)
                }
                Some(_) | None => text,
            }
        };
        let messages: Vec<String> = errors.iter().map(message).collect();
        if errors.iter().any(|error| is_option(&error.place.source)) {
            Self::Usage(messages)
        } else {
            Self::Input(messages)
        }
    }

    /// Both; the more urgent kind counts.
    pub(crate) fn and(self, other: Self) -> Self {
        let kind = self.exit().min(other.exit());
        let mut messages = self.into_messages();
        for message in other.into_messages() {
            if !messages.contains(&message) {
                messages.push(message);
            }
        }
        if kind == Exit::Bug {
            Self::Bug(messages.join("\n"))
        } else if kind == Exit::Usage {
            Self::Usage(messages)
        } else {
            Self::Input(messages)
        }
    }

    /// What it comes to.
    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::Usage(_) => Exit::Usage,
            Self::Input(_) => Exit::Input,
            Self::Bug(_) => Exit::Bug,
        }
    }

    /// The messages.
    pub(crate) fn messages(&self) -> Vec<String> {
        self.clone().into_messages()
    }

    fn into_messages(self) -> Vec<String> {
        match self {
            Self::Usage(messages) | Self::Input(messages) => messages,
            Self::Bug(message) => vec![message],
        }
    }

    /// Tells it on stderr.
    pub(crate) fn report(&self, settled: &Settled) {
        let colour = settled.colour_on_stderr;
        let mut text = String::new();
        let messages = self.messages();
        for message in messages.iter().take(SHOWN) {
            let label = if matches!(self, Self::Bug(_)) { "bug" } else { "error" };
            text.push_str(&Paint::Bad.on(colour, &format!("{label}:")));
            text.push_str(&format!(" {message}\n"));
        }
        if messages.len() > SHOWN {
            text.push_str(&format!("and {} more\n", messages.len() - SHOWN));
        }
        if let Self::Bug(_) = self {
            text.push_str(
                "  This is a bug of the lab, not of what it was asked to check. Please report it with the\n  \
                 command line, and the output under RUST_BACKTRACE=1.\n",
            );
        }
        crate::output::tell(&text);
    }
}

/// What the system says, without its number.
pub(crate) fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    match text.split_once(" (os error") {
        Some((text, _)) => text.to_lowercase(),
        None => text,
    }
}

/// A name that somebody gave, without control characters, and not too long.
pub(crate) fn shown(name: &str) -> String {
    let mut text: String =
        name.chars().take(200).map(|c| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c }).collect();
    if name.chars().nth(200).is_some() {
        text.push('…');
    }
    text
}
