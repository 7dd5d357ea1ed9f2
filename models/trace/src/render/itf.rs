//! The trace in the Informal Trace Format of Apalache (JSON), which ITF viewers and model-based test harnesses read.
//!
//! The format is that of Apalache's ADR 15: an object with `#meta`, `vars` and `states`; integers are
//! `{"#bigint": "7"}`, sets `{"#set": […]}`, maps `{"#map": [[key, value], …]}` and records plain objects.
//!
//! An ITF trace is a list of states, ours a list of steps. The first state is the one before the first step, then there
//! is one after each step; so there is one state more than there are steps. Everything in a state is put together from
//! what the steps say:
//!
//! | variable | type | what it is |
//! |---|---|---|
//! | `step` | `Int` | the number of the step that led here; 0 in the first state |
//! | `actor`, `kind`, `action`, `fault` | `Str` | of that step; empty in the first state, `fault` also without one |
//! | `matters` | `Bool` | whether that step lies in the [causal cone](crate::cone) |
//! | `clocks` | `Str -> Int` | the time on each clock |
//! | `believes` | `Set(Str)` | the clients that believe that they hold the lock |
//! | `paused`, `gone` | `Set(Str)` | the actors that are paused, and that are crashed or down |
//! | `fields` | `Str -> (Str -> Str)` | for each actor its fields that change anywhere in the trace, with their values |
//! | `messages` | `Set({id: Int, …})` | the messages under way |
//!
//! A trace does not say what its clocks showed before the first step. They are taken to show what they show after it,
//! unless that step may have moved one (a tick or a fault): then the first state knows no clock.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::json::escaped;
use crate::model::Trace;
use crate::step::{Fate, Step, StepKind};

/// The variables of every state, each with its type as Apalache writes types.
const VARIABLES: [(&str, &str); 12] = [
    ("step", "Int"),
    ("actor", "Str"),
    ("kind", "Str"),
    ("action", "Str"),
    ("fault", "Str"),
    ("matters", "Bool"),
    ("clocks", "Str -> Int"),
    ("believes", "Set(Str)"),
    ("paused", "Set(Str)"),
    ("gone", "Set(Str)"),
    ("fields", "Str -> (Str -> Str)"),
    ("messages", "Set({ id: Int, from: Str, to: Str, text: Str, delayed: Bool })"),
];

/// Writes the trace as ITF: a line for each state, with a newline at the end.
#[must_use]
pub fn to_itf(trace: &Trace) -> String {
    let vars = VARIABLES.map(|(name, _)| name);
    let mut text =
        format!("{{\n  \"#meta\": {},\n  \"vars\": {},\n  \"states\": [", line(&Meta::of(trace)), line(&vars));
    let mut now = Now::before(trace);
    text.push_str(&format!("\n    {}", line(&State::of(0, None, &now))));
    for (index, step) in (1..).zip(&trace.steps) {
        now.take(step);
        text.push_str(&format!(",\n    {}", line(&State::of(index, Some(step), &now))));
    }
    text.push_str("\n  ]\n}\n");
    escaped(&text)
}

fn line(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("ITF has string keys only")
}

#[derive(Serialize)]
struct Meta<'a> {
    format: &'static str,
    #[serde(rename = "format-description")]
    format_description: &'static str,
    description: String,
    property: &'a str,
    scenario: &'a str,
    hash: &'a str,
    command: &'a str,
    #[serde(rename = "varTypes")]
    var_types: BTreeMap<&'static str, &'static str>,
}

impl<'a> Meta<'a> {
    fn of(trace: &'a Trace) -> Self {
        Self {
            format: "ITF",
            format_description: "https://apalache-mc.org/docs/adr/015adr-trace.html",
            description: format!("{}: violates {}", trace.scenario.title, trace.property.name),
            property: &trace.property.name,
            scenario: &trace.scenario.id,
            hash: &trace.scenario.hash,
            command: &trace.command,
            var_types: VARIABLES.into(),
        }
    }
}

#[derive(Serialize)]
struct State<'a> {
    #[serde(rename = "#meta")]
    meta: Index,
    step: Int,
    actor: &'a str,
    kind: Kind,
    action: &'a str,
    fault: &'a str,
    matters: bool,
    clocks: Map<&'a str, Int>,
    believes: Set<&'a str>,
    paused: Set<&'a str>,
    gone: Set<&'a str>,
    fields: Map<&'a str, Map<&'a str, &'a str>>,
    messages: Set<&'a Message<'a>>,
}

/// A string in every state.
#[derive(Serialize)]
#[serde(untagged)]
enum Kind {
    Step(StepKind),
    Beginning(&'static str),
}

#[derive(Serialize)]
struct Index {
    index: usize,
}

#[derive(Serialize)]
struct Int {
    #[serde(rename = "#bigint")]
    digits: String,
}

#[derive(Serialize)]
struct Set<T> {
    #[serde(rename = "#set")]
    members: Vec<T>,
}

#[derive(Serialize)]
struct Map<K, V> {
    #[serde(rename = "#map")]
    pairs: Vec<(K, V)>,
}

#[derive(Serialize)]
struct Message<'a> {
    id: Int,
    from: &'a str,
    to: &'a str,
    text: &'a str,
    delayed: bool,
}

impl<'a> State<'a> {
    /// The state that a step led to; without a step, the first.
    fn of(index: usize, step: Option<&'a Step>, now: &'a Now<'a>) -> Self {
        Self {
            meta: Index { index },
            step: int(step.map_or(0, |step| step.n)),
            actor: step.map_or("", |step| &step.actor),
            kind: step.map_or(Kind::Beginning(""), |step| Kind::Step(step.kind)),
            action: step.map_or("", |step| &step.action),
            fault: step.and_then(|step| step.fault.as_deref()).unwrap_or_default(),
            matters: step.is_some_and(|step| step.matters),
            clocks: Map { pairs: now.clocks.iter().map(|(actor, time)| (*actor, int(*time))).collect() },
            believes: set(step.map_or(&[], |step| &step.holding)),
            paused: set(step.map_or(&[], |step| &step.paused)),
            gone: set(step.map_or(&[], |step| &step.gone)),
            fields: Map {
                pairs: now.fields.iter().map(|(actor, fields)| (*actor, Map { pairs: pairs(fields) })).collect(),
            },
            messages: Set { members: now.messages.values().collect() },
        }
    }
}

fn int(number: impl Into<i64>) -> Int {
    Int { digits: number.into().to_string() }
}

fn set(ids: &[String]) -> Set<&str> {
    // A set has each member once, whatever the trace says.
    let members: BTreeSet<&str> = ids.iter().map(String::as_str).collect();
    Set { members: members.into_iter().collect() }
}

fn pairs<'a>(fields: &BTreeMap<&'a str, &'a str>) -> Vec<(&'a str, &'a str)> {
    fields.iter().map(|(field, value)| (*field, *value)).collect()
}

/// What lasts from one step to the next.
struct Now<'a> {
    clocks: BTreeMap<&'a str, i64>,
    fields: BTreeMap<&'a str, BTreeMap<&'a str, &'a str>>,
    messages: BTreeMap<u32, Message<'a>>,
}

impl<'a> Now<'a> {
    /// Before the first step.
    fn before(trace: &'a Trace) -> Self {
        let mut fields: BTreeMap<&str, BTreeMap<&str, &str>> =
            trace.actors.iter().map(|actor| (actor.id.as_str(), BTreeMap::new())).collect();
        for change in trace.steps.iter().flat_map(|step| &step.changes) {
            fields.entry(&change.actor).or_default().entry(&change.field).or_insert(&change.before);
        }
        let mut now = Self { clocks: BTreeMap::new(), fields, messages: BTreeMap::new() };
        if let Some(first) = trace.steps.first().filter(|step| !moves_clocks(step)) {
            now.set_clocks(first);
        }
        now
    }

    /// After a step.
    fn take(&mut self, step: &'a Step) {
        self.set_clocks(step);
        for change in &step.changes {
            self.fields.entry(&change.actor).or_default().insert(&change.field, &change.after);
        }
        for hop in &step.messages {
            match hop.fate {
                Fate::Sent | Fate::Delayed => {
                    let delayed = hop.fate == Fate::Delayed;
                    let message = Message { id: int(hop.id), from: &hop.from, to: &hop.to, text: &hop.text, delayed };
                    self.messages.insert(hop.id, message);
                }
                Fate::Delivered | Fate::Lost | Fate::Ignored | Fate::Refused => {
                    self.messages.remove(&hop.id);
                }
            }
        }
    }

    fn set_clocks(&mut self, step: &'a Step) {
        self.clocks.extend(step.clocks.iter().map(|clock| (clock.actor.as_str(), clock.time)));
    }
}

fn moves_clocks(step: &Step) -> bool {
    match step.kind {
        StepKind::Tick | StepKind::Fault => true,
        StepKind::Start
        | StepKind::Wake
        | StepKind::Request
        | StepKind::Reply
        | StepKind::Exchange
        | StepKind::Resume
        | StepKind::Rejoin
        | StepKind::Heal
        | StepKind::Replicate => false,
    }
}
