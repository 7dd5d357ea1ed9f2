//! Replays and walks, to read and for programs.

use check::Choice;
use check::scenario::{Named, Property};
use serde::Serialize;
use trace::Step;

use super::counts::{counted, grouped, time};
use super::json::{SCHEMA, written};
use super::page::{Line, Page, Paint};
use crate::args::Settled;
use crate::commands::conform::Conformed;
use crate::commands::replay::Replay;
use crate::exit::Exit;
use crate::replay::Ending;

/// A step that is about to be taken.
pub(crate) fn step(number: usize, told: Option<&Step>, choice: Choice, settled: &Settled) -> String {
    let mut page = Page::new(settled);
    let text = told.map_or_else(|| choice.to_string(), |step| format!("{}: {}", step.actor, step.action));
    let mut line = Line::default();
    line.push_right(Paint::Faint, &number.to_string(), 4);
    page.hanging(line, Paint::Plain, 6, &text);
    page.finish()
}

/// The view.
pub(crate) fn text(replay: &Replay, settled: &Settled) -> String {
    let mut page = Page::new(settled);
    if !settled.quiet {
        if replay.ask.watch {
            page.gap();
        }
        head(&mut page, replay);
    }
    verdict(&mut page, replay);
    if !settled.quiet {
        evidence(&mut page, replay);
    }
    page.finish()
}

fn head(page: &mut Page<'_>, replay: &Replay) {
    page.prose(Paint::Strong, 0, &format!("{} on real servers", replay.scenario.full_title()));
    let servers = counted(replay.setup.policy.nodes.into(), "redis-server");
    let with =
        if replay.ask.with.is_empty() { String::new() } else { format!(", with {}", replay.ask.with.join(", ")) };
    let says = format!("{}{with}: {servers}, clocks moved by hand", replay.property.name());
    page.prose(Paint::Plain, 0, &says);
    page.gap();
}

fn verdict(page: &mut Page<'_>, replay: &Replay) {
    let paint = match replay.exit().code() {
        0 => Paint::Good,
        code if [Exit::NotReplayable.code(), Exit::NotReproduced.code()].contains(&code) => Paint::Doubt,
        _ => Paint::Bad,
    };
    let head = Line::of(paint, replay.word());
    let total = counted(replay.total, "step");
    let says = match &replay.outcome.ending {
        _ if replay.alike < replay.done => format!("run {} came out otherwise than the first", replay.done),
        Ending::Complete => format!("{total}, and after each everything is as the model says"),
        Ending::Impossible { step, why } if !replay.ask.with.is_empty() => {
            format!("the schedule can be followed for {} of {total}: at step {step}, {why}", step - 1)
        }
        Ending::Impossible { step, why } | Ending::Diverged { step, why } => {
            format!("at step {step} of {total}: {why}")
        }
        Ending::NotReplayable { step, why } => format!("from step {step} of {total} on: {why}"),
    };
    let runs =
        if replay.done > 1 { format!(" ({} of {} runs alike)", replay.alike, replay.done) } else { String::new() };
    page.hanging(head, Paint::Plain, replay.word().len() + 2, &format!("{says}{runs}"));
}

fn evidence(page: &mut Page<'_>, replay: &Replay) {
    let own = replay.outcome.damage.iter().filter(|(property, _)| *property == replay.property);
    let others = replay
        .outcome
        .damage
        .iter()
        .filter(|(property, _)| *property != replay.property && !property.is_about_the_graph());
    for (property, says) in own.chain(others) {
        let head = Line::of(Paint::Faint, &format!("  {}", property.name()));
        page.hanging(head, Paint::Plain, 20, says);
    }
    for (holds, serial) in &replay.outcome.balances {
        if holds != serial {
            let says = format!("{holds}; one after another the accepted withdrawals would leave {serial}");
            page.hanging(Line::of(Paint::Faint, "  balance"), Paint::Plain, 20, &says);
        }
    }
    let steps = replay.outcome.steps as f64 * f64::from(replay.done);
    let rate = grouped((steps / replay.elapsed.as_secs_f64().max(0.001)) as u64);
    page.prose(Paint::Faint, 2, &format!("in {}, {rate} steps/s with the start of the servers", time(replay.elapsed)));
}

#[derive(Serialize)]
struct Whole<'a> {
    schema: u32,
    verdict: &'static str,
    scenario: Subject<'a>,
    property: &'static str,
    with: &'a [String],
    steps: usize,
    taken: usize,
    runs: u32,
    alike: u32,
    parted: Option<Parted<'a>>,
    evidence: Vec<Evidence<'a>>,
    balances: Vec<Balance>,
    seconds: f64,
}

#[derive(Serialize)]
struct Subject<'a> {
    id: &'a str,
    title: String,
    hash: String,
}

#[derive(Serialize)]
struct Parted<'a> {
    step: usize,
    why: &'a str,
}

#[derive(Serialize)]
struct Evidence<'a> {
    property: &'static str,
    says: &'a str,
}

#[derive(Serialize)]
struct Balance {
    holds: i64,
    serial: i64,
}

fn parted(ending: &Ending) -> Option<Parted<'_>> {
    match ending {
        Ending::Complete => None,
        Ending::Impossible { step, why } | Ending::Diverged { step, why } | Ending::NotReplayable { step, why } => {
            Some(Parted { step: *step, why })
        }
    }
}

/// The document of a replay.
pub(crate) fn json(replay: &Replay) -> String {
    let evidence = |(property, says): &(Property, String)| (property.name(), says.clone());
    let evidence: Vec<(&str, String)> = replay.outcome.damage.iter().map(evidence).collect();
    written(&Whole {
        schema: SCHEMA,
        verdict: replay.word(),
        scenario: Subject {
            id: &replay.scenario.id,
            title: replay.scenario.full_title(),
            hash: replay.scenario.hash_text(),
        },
        property: replay.property.name(),
        with: &replay.ask.with,
        steps: replay.total,
        taken: replay.outcome.steps,
        runs: replay.done,
        alike: replay.alike,
        parted: parted(&replay.outcome.ending),
        evidence: evidence.iter().map(|(property, says)| Evidence { property, says }).collect(),
        balances: replay
            .outcome
            .balances
            .iter()
            .map(|(holds, serial)| Balance { holds: *holds, serial: *serial })
            .collect(),
        seconds: replay.elapsed.as_secs_f64(),
    })
}

/// Walks, to read.
pub(crate) fn conformed(found: &Conformed, settled: &Settled) -> String {
    let mut page = Page::new(settled);
    let walks = counted(found.walks as usize, "walk");
    let rate = grouped((found.steps as f64 / found.elapsed.as_secs_f64().max(0.001)) as u64);
    let says = format!("{}: {walks}, {} steps, {rate} steps/s", found.called, grouped(found.steps));
    match &found.parted {
        None => {
            let is_cut = found.exit() == Exit::NotReplayable;
            let (paint, word) = if is_cut { (Paint::Doubt, "not replayable") } else { (Paint::Good, "conforms") };
            page.hanging(Line::of(paint, word), Paint::Plain, word.len() + 2, &says);
            if found.cut > 0 {
                let text =
                    format!("{} ended where real servers cannot be made to go on", counted(found.cut as usize, "walk"));
                page.prose(Paint::Doubt, 10, &text);
            }
        }
        Some((number, choices, outcome)) => {
            page.hanging(Line::of(Paint::Bad, "diverged"), Paint::Plain, 10, &says);
            let part = parted(&outcome.ending);
            let (step, why) = part.map_or((0, ""), |part| (part.step, part.why));
            page.prose(Paint::Plain, 10, &format!("walk {number} of seed {}, step {step}: {why}", found.seed));
            for (at, action) in choices.iter().take(step).enumerate() {
                let mut line = Line::default();
                line.push_right(Paint::Faint, &(at + 1).to_string(), 14);
                line.push(Paint::Plain, &format!("  {}", Choice(*action)));
                page.line(line);
            }
        }
    }
    page.finish()
}

#[derive(Serialize)]
struct Walks<'a> {
    schema: u32,
    verdict: &'static str,
    scenario: Subject<'a>,
    seed: u64,
    walks: u32,
    cut: u32,
    steps: u64,
    parted: Option<Parting<'a>>,
    seconds: f64,
}

#[derive(Serialize)]
struct Parting<'a> {
    walk: u32,
    step: usize,
    why: &'a str,
    choices: Vec<String>,
}

/// The document of walks: of a sheet, one for each row.
pub(crate) fn conformed_json(found: &[Conformed]) -> String {
    #[derive(Serialize)]
    struct Rows<'a> {
        schema: u32,
        verdict: &'static str,
        runs: Vec<Walks<'a>>,
    }
    if let [one] = found {
        return written(&walks(one));
    }
    let verdict = word(Exit::first(found.iter().map(Conformed::exit)));
    written(&Rows { schema: SCHEMA, verdict, runs: found.iter().map(walks).collect() })
}

fn word(exit: Exit) -> &'static str {
    if exit == Exit::Holds { "conforms" } else { exit.word() }
}

fn walks(found: &Conformed) -> Walks<'_> {
    let parting = found.parted.as_ref().and_then(|(walk, choices, outcome)| {
        let Parted { step, why } = parted(&outcome.ending)?;
        let choices = choices.iter().map(|action| Choice(*action).to_string()).collect();
        Some(Parting { walk: *walk, step, why, choices })
    });
    Walks {
        schema: SCHEMA,
        verdict: word(found.exit()),
        scenario: Subject {
            id: &found.scenario.id,
            title: found.scenario.full_title(),
            hash: found.scenario.hash_text(),
        },
        seed: found.seed,
        walks: found.walks,
        cut: found.cut,
        steps: found.steps,
        parted: parting,
        seconds: found.elapsed.as_secs_f64(),
    }
}
