//! The mermaid and ITF renderers: snapshots to look at, and what holds for every trace.

use std::collections::BTreeSet;

use serde_json::Value;
use trace::render::itf::to_itf;
use trace::render::json::from_json;
use trace::render::mermaid::to_mermaid;
use trace::{Actor, ActorKind, Change, Clock, Fate, Hop, Step, StepKind, Trace};

use crate::samples::{five_nodes, lost_update, pause, restart};

/// A counterexample that the checker found: Redlock, one restart.
fn found() -> Trace {
    from_json(include_str!("../data/redlock-restart.json")).unwrap()
}

fn all() -> [Trace; 5] {
    [pause(), restart(), lost_update(), five_nodes(), found()]
}

/// Texts that mean something to one of the languages, or to a terminal.
const HOSTILE: [&str; 16] = [
    "",
    " ",
    "end",
    "a;b\nend\nalt x",
    "#59; #quot; #",
    "%%{init: {\"theme\": \"dark\"}}%%",
    "\"quoted\" 'and' `ticked`",
    "<script>alert(1)</script> <br/>",
    "wrap: style x:#a; classDef y:#b;",
    "A->>B: forged",
    "participant B as C",
    "\u{1b}[2J\u{9b}31m\u{7f}\u{202e}\u{0}",
    "{\"#bigint\": \"1\"}",
    "$$x^2$$ \\n \\",
    "日本語 e\u{301} ﬂ°°60¶ß",
    "@{ \"type\": \"database\" }",
];

/// A trace with a hostile text wherever there is a text.
fn hostile(text: &str) -> Trace {
    let mut trace = five_nodes();
    for field in [
        &mut trace.id,
        &mut trace.scenario.id,
        &mut trace.scenario.title,
        &mut trace.scenario.hash,
        &mut trace.property.name,
        &mut trace.property.says,
        &mut trace.grain,
        &mut trace.command,
        &mut trace.actors[1].name,
    ] {
        text.clone_into(field);
    }
    trace.why.push(text.into());
    trace.actors.push(Actor { id: text.into(), name: text.into(), kind: ActorKind::Server });
    trace.actors.push(Actor { id: text.into(), name: "its double".into(), kind: ActorKind::Server });
    for step in &mut trace.steps {
        step.action = text.into();
        step.fault = step.fault.as_ref().map(|_| text.into());
        step.holding.push(text.into());
        step.holding.push("A".into());
        step.gone.push(text.into());
        step.messages.iter_mut().for_each(|hop| hop.text = text.into());
    }
    let mut step = Step::new(99, text, StepKind::Request, text);
    step.messages.push(Hop { id: 7, from: text.into(), to: "A".into(), text: text.into(), fate: Fate::Delivered });
    step.messages.push(Hop { id: 7, from: "nobody".into(), to: text.into(), text: text.into(), fate: Fate::Refused });
    step.clocks.push(Clock { actor: text.into(), time: i64::MIN });
    let [actor, field, before, after] = [text; 4].map(String::from);
    step.changes.push(Change { actor, field, before, after });
    trace.steps.push(step);
    trace
}

#[test]
fn mermaid_of_a_pause() {
    insta::assert_snapshot!(to_mermaid(&pause()));
}

#[test]
fn mermaid_of_a_restart() {
    insta::assert_snapshot!(to_mermaid(&restart()));
}

#[test]
fn mermaid_of_a_lost_update() {
    insta::assert_snapshot!(to_mermaid(&lost_update()));
}

#[test]
fn mermaid_of_everything_that_can_go_wrong() {
    insta::assert_snapshot!(to_mermaid(&five_nodes()));
}

#[test]
fn mermaid_of_a_trace_that_was_found() {
    insta::assert_snapshot!(to_mermaid(&found()));
}

#[test]
fn itf_of_a_lost_update() {
    insta::assert_snapshot!(to_itf(&lost_update()));
}

#[test]
fn itf_of_a_trace_that_was_found() {
    insta::assert_snapshot!(to_itf(&found()));
}

/// The statements of a diagram, each checked as far as its head goes, which no text of a trace gets into.
fn assert_mermaid(trace: &Trace) {
    let text = to_mermaid(trace);
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("sequenceDiagram"));
    let mut names = BTreeSet::new();
    let mut active: Vec<&str> = Vec::new();
    for line in lines {
        let statement = line.strip_prefix("    ").unwrap_or_else(|| panic!("{line}"));
        assert!(!statement.chars().any(trace::render::text::is_hidden), "{line:?}");
        let (word, rest) = statement.split_once(' ').unwrap();
        match word {
            "title" => {}
            "participant" => {
                let name = rest.split(' ').next().unwrap();
                assert!(name.chars().all(|c| c.is_ascii_alphanumeric()), "{line}");
                assert!(names.insert(name.to_lowercase()), "{line}");
            }
            "activate" => {
                assert!(!active.contains(&rest), "{line}");
                active.push(rest);
            }
            "deactivate" => {
                assert!(active.contains(&rest), "{line}");
                active.retain(|name| *name != rest);
            }
            _ => {
                let (head, label) = statement.split_once(": ").unwrap();
                let head = head.strip_prefix("Note over ").unwrap_or(head);
                let arrow = ["-->>", "->>", "--)", "--x", "-x", ","].iter().find(|arrow| head.contains(*arrow));
                let ends = arrow.map_or(vec![head], |arrow| head.split(arrow).collect());
                assert!(ends.iter().all(|name| names.contains(&name.to_lowercase())), "{line}");
                assert_label(label);
            }
        }
    }
    assert!(active.is_empty(), "{active:?}");
}

/// Nothing of the language stands in it but entities and line breaks.
fn assert_label(label: &str) {
    let bare = label.replace("<br/>", " ");
    assert!(!bare.contains(['<', '>', '"', '%', '&', '$', '{', '}', '\\']), "{label}");
    let mut rest = bare.as_str();
    while let Some(at) = rest.find(['#', ';']) {
        let entity = &rest[at..];
        let end = entity.find(';').unwrap_or_else(|| panic!("{label}"));
        assert!(end > 1 && entity[1..end].bytes().all(|b| b.is_ascii_digit()), "{label}");
        rest = &entity[end + 1..];
    }
}

#[test]
fn no_text_gets_out_of_its_label() {
    all().iter().for_each(assert_mermaid);
    HOSTILE.iter().for_each(|text| assert_mermaid(&hostile(text)));
    let mut trace = lost_update();
    trace.actors.clear();
    assert_mermaid(&trace);
    trace.steps.clear();
    assert_mermaid(&trace);
}

/// What the format asks for, of a value of any type.
fn assert_value(value: &Value) {
    let object = match value {
        Value::Null => panic!("null is no value of ITF"),
        Value::Number(number) => panic!("{number}: an integer has to be a #bigint"),
        Value::Bool(_) | Value::String(_) => return,
        Value::Array(items) => return items.iter().for_each(assert_value),
        Value::Object(object) => object,
    };
    let Some(tag) = object.keys().find(|key| key.starts_with('#')) else {
        return object.values().for_each(assert_value);
    };
    assert_eq!(object.len(), 1, "{value}");
    match tag.as_str() {
        "#bigint" => {
            let digits = object[tag].as_str().unwrap();
            let digits = digits.strip_prefix('-').unwrap_or(digits);
            assert!(!digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()), "{value}");
        }
        "#set" => {
            let members = object[tag].as_array().unwrap();
            members.iter().for_each(assert_value);
            assert_distinct(members.iter());
        }
        "#map" => {
            let pairs = object[tag].as_array().unwrap();
            assert!(pairs.iter().all(|pair| pair.as_array().unwrap().len() == 2), "{value}");
            pairs.iter().for_each(assert_value);
            assert_distinct(pairs.iter().map(|pair| &pair[0]));
        }
        other => panic!("there is no {other} in ITF"),
    }
}

fn assert_distinct<'a>(values: impl Iterator<Item = &'a Value>) {
    let texts: Vec<String> = values.map(Value::to_string).collect();
    assert_eq!(texts.len(), texts.iter().collect::<BTreeSet<_>>().len(), "{texts:?}");
}

fn assert_itf(trace: &Trace) -> Value {
    let text = to_itf(trace);
    assert!(text.chars().all(|c| c == '\n' || !trace::render::text::is_hidden(c)), "{text:?}");
    let itf: Value = serde_json::from_str(&text).unwrap();
    let vars: BTreeSet<&str> = itf["vars"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
    let types: BTreeSet<&str> = itf["#meta"]["varTypes"].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(vars, types);
    let states = itf["states"].as_array().unwrap();
    assert_eq!(states.len(), trace.steps.len() + 1);
    for (index, state) in states.iter().enumerate() {
        let object = state.as_object().unwrap();
        assert_eq!(object["#meta"]["index"], index);
        let keys: BTreeSet<&str> = object.keys().map(String::as_str).filter(|key| *key != "#meta").collect();
        assert_eq!(keys, vars);
        object.iter().filter(|(key, _)| *key != "#meta").for_each(|(_, value)| assert_value(value));
    }
    itf
}

#[test]
fn every_state_of_itf_has_all_variables() {
    for trace in &all() {
        assert_itf(trace);
    }
    for text in HOSTILE {
        assert_itf(&hostile(text));
    }
    let mut trace = lost_update();
    trace.actors.clear();
    trace.steps.clear();
    assert_itf(&trace);
}

/// The value of a key in a map.
fn get<'a>(map: &'a Value, key: &str) -> &'a Value {
    let pairs = map["#map"].as_array().unwrap();
    &pairs.iter().find(|pair| pair[0] == key).unwrap_or_else(|| panic!("{map} has no {key}"))[1]
}

#[test]
fn the_states_of_itf_are_what_the_steps_add_up_to() {
    let itf = assert_itf(&pause());
    let state = |n: usize| &itf["states"][n];
    let under_way = |n: usize| -> Vec<&str> {
        let messages = state(n)["messages"]["#set"].as_array().unwrap();
        messages.iter().map(|message| message["id"]["#bigint"].as_str().unwrap()).collect()
    };
    assert_eq!(get(get(&state(0)["fields"], "node1"), "lock"), "free", "before its first change");
    assert_eq!(get(get(&state(3)["fields"], "node1"), "lock"), "a1 (3 left)");
    assert_eq!(get(get(&state(14)["fields"], "A"), "standing"), "holding", "what changed long ago");
    assert_eq!(
        [under_way(0), under_way(2), under_way(3), under_way(6)],
        [vec![], vec!["1", "2"], vec!["2", "3"], vec![]]
    );
    assert_eq!(get(&state(0)["clocks"], "A")["#bigint"], "0", "the first step moves no clock");
    assert_eq!(get(&state(8)["clocks"], "A")["#bigint"], "1");
    assert_eq!(state(14)["believes"]["#set"].as_array().unwrap().len(), 2);
    assert_eq!(state(7)["fault"], "pause");
    let delayed = assert_itf(&five_nodes());
    let message = &delayed["states"][6]["messages"]["#set"][0];
    assert_eq!((&message["id"]["#bigint"], &message["delayed"]), (&"3".into(), &true.into()));
}

#[test]
fn a_first_step_that_moves_clocks_leaves_the_time_before_it_open() {
    let mut trace = pause();
    trace.steps.drain(..7);
    assert_eq!(trace.steps[0].kind, StepKind::Tick);
    let itf = assert_itf(&trace);
    assert_eq!(itf["states"][0]["clocks"]["#map"], serde_json::json!([]));
}
