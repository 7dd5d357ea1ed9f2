//! Simulated servers that are wrong in one way each. The comparison must find out every one of them.
//!
//! A mutant stands around the simulated server and changes what one kind of step does.

mod expiry;
mod owner;
mod reply;
mod server;

use proptest::strategy::{Strategy, ValueTree};
use protocol::Verb;
use world::{Entry, Persistence};

use super::by_hand::stories;
use super::divergence;
use super::random::{Seeds, runner};
use super::real::Real;
use super::seen::{Said, Seen};
use super::simulated::Simulated;
use super::step::{Among, Ask, Sequence, Step, sequences};

/// What is wrong, and how a step is taken by the server that does it.
pub(crate) struct Mutant {
    pub(crate) wrong: &'static str,
    pub(crate) step: fn(&mut Simulated, &Step) -> Option<Said>,
}

/// Takes a step as it should be, and changes what came of a command.
fn after(
    simulated: &mut Simulated,
    step: &Step,
    verbs: &[Verb],
    change: impl FnOnce(&mut Simulated, Ask, Option<Entry>, &mut Said),
) -> Option<Said> {
    let Some(ask) = step.ask(verbs) else { return simulated.step(step) };
    let before = *simulated.entry(ask.lock);
    let mut said = simulated.ask(ask);
    change(simulated, ask, before, &mut said);
    Some(said)
}

/// Takes another command for the one that was sent.
fn instead(
    simulated: &mut Simulated,
    step: &Step,
    verbs: &[Verb],
    change: impl FnOnce(&mut Simulated, &mut Ask),
) -> Option<Said> {
    let Some(mut ask) = step.ask(verbs) else { return simulated.step(step) };
    change(simulated, &mut ask);
    Some(simulated.ask(ask))
}

/// What a real server did, once for all mutants.
struct Recorded {
    title: String,
    persistence: Persistence,
    sequence: Sequence,
    seen: Vec<Seen>,
}

/// How many random sequences there are beside those written by hand.
const RANDOM: u32 = 150;
const RANDOM_TITLE: &str = "random sequence";

fn recorded() -> Vec<Recorded> {
    let by_hand = stories().into_iter().map(|story| (story.title.to_owned(), story.persistence, story.sequence));
    let mut dice = runner(RANDOM, Seeds::Forgotten);
    let random = (0..RANDOM).map(|number| {
        let sequence = sequences(Among::Commands, 60).new_tree(&mut dice).unwrap().current();
        (format!("{RANDOM_TITLE} {number}"), Persistence::Nothing, sequence)
    });
    let all: Vec<_> = by_hand.chain(random).collect();
    let mut recorded = Vec::new();
    for wanted in [Persistence::Nothing, Persistence::Always, Persistence::EverySecond] {
        let mut real = Real::start(wanted);
        for (title, persistence, sequence) in all.iter().filter(|(_, persistence, _)| *persistence == wanted).cloned() {
            let promotes = sequence.steps.iter().any(|step| matches!(step, Step::FailOver(_)));
            if promotes {
                real = Real::start(wanted);
            }
            let seen = real.record(&sequence);
            recorded.push(Recorded { title, persistence, sequence, seen });
        }
    }
    recorded
}

/// By which sequences a server is found out.
fn caught_by(recorded: &[Recorded], step: fn(&mut Simulated, &Step) -> Option<Said>) -> Vec<&str> {
    let differs = |Recorded { persistence, sequence, seen, .. }: &&Recorded| {
        divergence(sequence, *persistence, seen, step).is_some()
    };
    recorded.iter().filter(differs).map(|recorded| recorded.title.as_str()).collect()
}

#[test]
fn every_mutant_is_found_out() {
    let recorded = recorded();
    assert_eq!(caught_by(&recorded, Simulated::step), Vec::<&str>::new(), "the server without a mutation is right");
    let mut told = String::new();
    for Mutant { wrong, step } in
        [expiry::MUTANTS, owner::MUTANTS, reply::MUTANTS, server::MUTANTS].into_iter().flatten()
    {
        let caught = caught_by(&recorded, *step);
        let first = caught.first().unwrap_or_else(|| panic!("not found out: {wrong}"));
        told += &format!("{wrong}\n  by: {first}\n");
        // The random sequences have no restarts and no replicas.
        let is_about_commands = !server::MUTANTS.iter().any(|other| other.wrong == *wrong);
        let is_met = caught.iter().any(|title| title.starts_with(RANDOM_TITLE));
        assert!(is_met || !is_about_commands, "found out by hand alone: {wrong}");
    }
    insta::assert_snapshot!(told);
}
