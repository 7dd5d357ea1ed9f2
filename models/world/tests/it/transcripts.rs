//! Runs the transcripts of `tests/data`. `UPDATE=1` writes what they print now.
//!
//! A transcript begins with a comment, which says what it teaches, and the lines of its `setup`. Then come blocks:
//! commands, a line of dashes, and what they print.
//!
//! * `actions` lists what can happen, in the documented order;
//! * `do ACTION` carries out one of these, and prints the events, the lines of the state that have changed, and what
//!   is wrong (`!!`); `ok` if none of these can be seen;
//! * `state` prints the state.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

use world::{Action, Event, Observer, Setup, World};

use crate::{knobs, words};

const DASHES: &str = "----";

#[derive(Default)]
struct Events(Vec<Event>);

impl Observer for Events {
    fn event(&mut self, event: Event) {
        self.0.push(event);
    }
}

struct Transcript {
    setup: Setup,
    world: World,
    /// What each message says, by its name.
    messages: BTreeMap<u32, String>,
}

impl Transcript {
    fn new(setup: Setup) -> Self {
        let world = World::new(&setup);
        Self { setup, world, messages: BTreeMap::new() }
    }

    fn command(&mut self, line: &str) -> Vec<String> {
        match line.split_once(' ') {
            None if line == "actions" => {
                let said = |a: Action| match words::moved(&self.world, a) {
                    Some(message) => format!("{}: {message}", words::action(a)),
                    None => words::action(a),
                };
                self.actions().into_iter().map(said).collect()
            }
            None if line == "state" => {
                let mut lines = words::state(&self.world, &self.setup);
                lines.extend(words::wire(&self.world, &self.setup));
                lines
            }
            Some(("do", action)) => self.carry_out(action),
            Some(_) | None => panic!("no command is called {line:?}"),
        }
    }

    fn actions(&self) -> Vec<Action> {
        let mut actions = Vec::new();
        self.world.actions(&self.setup, &mut actions);
        actions
    }

    fn carry_out(&mut self, words: &str) -> Vec<String> {
        let Some(action) = self.actions().into_iter().find(|a| words::action(*a) == words) else {
            return vec![format!("{words}: cannot happen now")];
        };
        let before = words::state(&self.world, &self.setup);
        let mut events = Events::default();
        self.world.apply(&self.setup, action, &mut events);
        let mut lines = Vec::new();
        for event in events.0 {
            self.note(event);
            lines.push(words::event(event, |tag| self.messages.get(&tag).cloned().unwrap_or_default()));
        }
        let after = words::state(&self.world, &self.setup);
        lines.extend(before.iter().zip(&after).filter(|(b, a)| b != a).map(|(_, a)| format!("  {a}")));
        lines.extend(words::wrong(&self.world, &self.setup));
        if lines.is_empty() {
            lines.push("ok".to_owned());
        }
        lines
    }

    fn note(&mut self, event: Event) {
        match event {
            Event::Sent { client, slot, tag, command, .. } => {
                self.messages.insert(tag, words::command(client, slot, &command));
            }
            Event::Duplicated { tag, copy } => {
                let said = self.messages.get(&tag).cloned().unwrap_or_default();
                self.messages.insert(copy, said);
            }
            Event::Served { client, reply, answer: Some(tag), .. } => {
                self.messages.insert(tag, format!("{} to {}", words::reply(reply), words::client(client)));
            }
            Event::Served { .. }
            | Event::Unsent { .. }
            | Event::Answered { .. }
            | Event::Lost { .. }
            | Event::Delayed { .. }
            | Event::Ignored { .. }
            | Event::Published { .. }
            | Event::Told { .. }
            | Event::Blocked { .. }
            | Event::TurnedDown { .. }
            | Event::Accepted { .. }
            | Event::Granted { .. }
            | Event::Expired { .. }
            | Event::Lapsed { .. }
            | Event::Fault(_) => {}
        }
    }
}

/// The transcript as it should be: everything but the output is kept as it is.
fn run(text: &str) -> String {
    let knobs = text.lines().filter_map(|line| line.strip_prefix("setup "));
    let mut transcript = Transcript::new(knobs::setup(knobs));
    let mut written = String::new();
    let mut output = Vec::new();
    let mut is_output = false;
    for line in text.lines() {
        if line == DASHES {
            is_output = true;
            let _ = writeln!(written, "{DASHES}");
            for line in output.drain(..) {
                let _ = writeln!(written, "{line}");
            }
            continue;
        }
        if line.is_empty() {
            is_output = false;
        }
        if is_output {
            continue;
        }
        let _ = writeln!(written, "{line}");
        if !line.is_empty() && !line.starts_with('#') && !line.starts_with("setup ") {
            output.extend(transcript.command(line));
        }
    }
    assert!(output.is_empty(), "the last commands have no {DASHES}");
    written
}

/// The lines of both, those that differ marked as in a diff.
fn differences(found: &str, wanted: &str) -> String {
    let (wanted, found): (Vec<_>, Vec<_>) = (wanted.lines().collect(), found.lines().collect());
    let same_before = wanted.iter().zip(&found).take_while(|(a, b)| a == b).count();
    let longest = wanted.len().min(found.len()) - same_before;
    let same_after = wanted.iter().rev().zip(found.iter().rev()).take(longest).take_while(|(a, b)| a == b).count();
    let mut text = String::new();
    let context = same_before.saturating_sub(3);
    for line in &wanted[context..same_before] {
        let _ = writeln!(text, "  {line}");
    }
    for line in &wanted[same_before..wanted.len() - same_after] {
        let _ = writeln!(text, "- {line}");
    }
    for line in &found[same_before..found.len() - same_after] {
        let _ = writeln!(text, "+ {line}");
    }
    text
}

fn files(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(folder);
    let entries = fs::read_dir(&folder).expect("the folder of the transcripts can be read");
    let mut files: Vec<_> = entries.map(|entry| entry.expect("an entry can be read").path()).collect();
    files.sort();
    files
}

/// Where the transcripts of a folder and what is printed differ; nothing if they are to be updated.
fn check(folder: &str, update: bool) -> String {
    let mut failed = String::new();
    let files = files(folder);
    assert!(!files.is_empty());
    for path in files {
        let text = fs::read_to_string(&path).expect("a transcript can be read");
        assert!(text.starts_with("# "), "{} begins with what it teaches", path.display());
        let found = run(&text);
        if found == text {
            continue;
        }
        if update {
            fs::write(&path, &found).expect("a transcript can be written");
        } else {
            let name = path.file_name().unwrap_or_default().display();
            let _ = writeln!(failed, "{name}:\n{}", differences(&found, &text));
        }
    }
    failed
}

#[test]
fn transcripts() {
    let failed = check("data", env::var_os("UPDATE").is_some());
    assert!(failed.is_empty(), "- expected, + found; UPDATE=1 accepts what is found\n\n{failed}");
}

#[test]
fn a_difference_shows_what_surrounds_it() {
    assert_eq!(differences("a\nb\nx\nd\n", "a\nb\nc\nd\n"), "  a\n  b\n- c\n+ x\n");
    assert_eq!(differences("a\n", "a\nb\n"), "  a\n- b\n");
}
