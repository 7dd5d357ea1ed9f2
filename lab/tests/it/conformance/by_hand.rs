//! Sequences written by hand, in `by_hand.txt`: what is asked; the answers of the real server are in the snapshot.
//!
//! `A2 SetNxPx+ 3 @1`: the second acquisition of the client A asks for a `SetNxPx` that mints, with a lease of three ticks,
//! on lock 1. `-` is a lease without end.

use protocol::{Resource, Verb};
use world::Persistence;

use super::real::Real;
use super::seen::Seen;
use super::step::{Ask, CLIENTS, Dialect, Sequence, Step};
use super::{Simulated, divergence};

/// A sequence and how it is called.
pub(crate) struct Story {
    pub(crate) title: &'static str,
    pub(crate) persistence: Persistence,
    pub(crate) sequence: Sequence,
    lines: Vec<&'static str>,
}

pub(crate) fn stories() -> Vec<Story> {
    include_str!("by_hand.txt").split("\n\n").map(story).collect()
}

fn story(text: &'static str) -> Story {
    let mut lines = text.trim().lines();
    let title = lines.next().and_then(|line| line.strip_prefix("# ")).unwrap();
    let dialect = lines.next().unwrap();
    let dialect = *Dialect::ALL.iter().find(|known| format!("{known:?}") == dialect).unwrap();
    let (knobs, lines): (Vec<_>, Vec<_>) = lines.partition(|line| line.starts_with("persistence "));
    let persistence = match knobs.as_slice() {
        [] | ["persistence nothing"] => Persistence::Nothing,
        ["persistence always"] => Persistence::Always,
        ["persistence every-second"] => Persistence::EverySecond,
        other => panic!("{other:?}"),
    };
    let steps = lines.iter().map(|line| step(line)).collect();
    Story { title, persistence, sequence: Sequence { dialect, steps }, lines }
}

fn step(line: &str) -> Step {
    let words: Vec<_> = line.split(' ').collect();
    match words.as_slice() {
        ["pass", ticks] => Step::Pass(ticks.parse().unwrap()),
        ["evict", "counter", lock] => Step::EvictCounter(Resource(lock.parse().unwrap())),
        ["evict", lock] => Step::Evict(Resource(lock.parse().unwrap())),
        ["restart"] => Step::Restart,
        ["replicate", replica] => Step::Replicate(replica.parse().unwrap()),
        ["fail", "over", replica] => Step::FailOver(replica.parse().unwrap()),
        [who, what, rest @ ..] => Step::Ask(ask(who, what, rest)),
        other => panic!("{other:?}"),
    }
}

fn ask(who: &str, what: &str, rest: &[&str]) -> Ask {
    let (client, token) = who.split_at(1);
    let client = client.as_bytes()[0] - b'A';
    assert!(client < CLIENTS, "{who}");
    let (verb, mint) = what.strip_suffix('+').map_or((what, false), |verb| (verb, true));
    let verb = Dialect::ALL.iter().flat_map(|dialect| dialect.verbs()).find(|known| format!("{known:?}") == verb);
    let (locks, leases): (Vec<&str>, Vec<&str>) = rest.iter().partition(|word| word.starts_with('@'));
    Ask {
        client,
        token: if token.is_empty() { 1 } else { token.parse().unwrap() },
        lock: Resource(locks.first().map_or(0, |lock| lock[1..].parse().unwrap())),
        verb: *verb.unwrap_or_else(|| panic!("{what}")),
        mint,
        lease: leases.first().filter(|lease| **lease != "-").map(|lease| lease.parse().unwrap()),
    }
}

/// The answers beside the steps.
fn told(story: &Story, real: &[Seen]) -> String {
    let line = |(line, seen): (&&str, &Seen)| {
        let Some(said) = seen.said else { return format!("  {line}\n") };
        let freed = if said.freed > 0 { ", and it is told that the lock is free" } else { "" };
        format!("  {line:<24} {:?}{freed}\n", said.reply)
    };
    let steps: String = story.lines.iter().zip(real).map(line).collect();
    format!("{} ({:?}, persistence: {:?})\n{steps}\n", story.title, story.sequence.dialect, story.persistence)
}

#[test]
fn sequences_written_by_hand() {
    let mut text = String::new();
    for persistence in [Persistence::Nothing, Persistence::Always, Persistence::EverySecond] {
        let mut real = Real::start(persistence);
        for story in stories().iter().filter(|story| story.persistence == persistence) {
            // A promotion leaves another server behind.
            if story.sequence.steps.iter().any(|step| matches!(step, Step::FailOver(_))) {
                real = Real::start(persistence);
            }
            let recorded = real.record(&story.sequence);
            let differs = divergence(&story.sequence, persistence, &recorded, Simulated::step);
            assert_eq!(differs, None, "{}", story.title);
            text += &told(story, &recorded);
        }
    }
    insta::assert_snapshot!(text);
}

#[test]
fn every_verb_is_said_by_hand() {
    let said: Vec<Verb> = stories()
        .iter()
        .flat_map(|story| &story.sequence.steps)
        .filter_map(|step| if let Step::Ask(ask) = step { Some(ask.verb) } else { None })
        .collect();
    for verb in Dialect::ALL.iter().flat_map(|dialect| dialect.verbs()) {
        assert!(said.contains(verb), "{verb:?}");
    }
}
