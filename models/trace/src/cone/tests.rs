//! Two clients, a third that plays no part, two servers.

use super::mark;
use crate::model::{Actor, ActorKind, PropertyRef, SCHEMA, ScenarioRef, Trace};
use crate::step::{Change, Fate, Hop, Step, StepKind, TIME};

fn actor(id: &str, kind: ActorKind) -> Actor {
    Actor { id: id.into(), name: id.into(), kind }
}

fn step(actor: &str, kind: StepKind, messages: &[(u32, &str, &str, Fate)], changed: &[&str]) -> Step {
    let mut step = Step::new(0, actor, kind, "does something");
    for &(id, from, to, fate) in messages {
        step.messages.push(Hop { id, from: from.into(), to: to.into(), text: String::new(), fate });
    }
    for &actor in changed {
        let field = "lock".into();
        step.changes.push(Change { actor: actor.into(), field, before: "free".into(), after: "taken".into() });
    }
    step
}

fn marked(culprits: &[&str], steps: Vec<Step>) -> Vec<bool> {
    let mut trace = Trace {
        schema: SCHEMA,
        id: "t".into(),
        scenario: ScenarioRef {
            id: "s".into(),
            title: "s".into(),
            hash: "0".into(),
            toml: String::new(),
            faults: Vec::new(),
        },
        property: PropertyRef { name: "p".into(), says: "p".into() },
        grain: "message".into(),
        command: "lab check s".into(),
        actors: vec![
            actor("A", ActorKind::Client),
            actor("B", ActorKind::Client),
            actor("C", ActorKind::Client),
            actor("node1", ActorKind::Server),
            actor("node2", ActorKind::Server),
        ],
        steps,
        why: Vec::new(),
        culprits: culprits.iter().map(|&id| id.into()).collect(),
    };
    mark(&mut trace);
    trace.steps.iter().map(|step| step.matters).collect()
}

use Fate::{Delayed, Delivered, Ignored, Lost, Refused, Sent};
use StepKind::{Exchange, Fault, Reply, Request, Start, Tick};

#[test]
fn a_reply_draws_in_the_server_and_the_request() {
    let matters = marked(
        &["A"],
        vec![
            step("A", Start, &[(1, "A", "node1", Sent)], &[]),
            step("node1", Request, &[(1, "A", "node1", Delivered), (2, "node1", "A", Sent)], &["node1"]),
            step("A", Reply, &[(2, "node1", "A", Delivered)], &[]),
        ],
    );
    assert_eq!(matters, [true, true, true]);
}

#[test]
fn a_third_client_on_another_server_plays_no_part() {
    let matters = marked(
        &["A"],
        vec![
            step("C", Start, &[(1, "C", "node2", Sent)], &[]),
            step("A", Start, &[(2, "A", "node1", Sent)], &[]),
            step("node2", Request, &[(1, "C", "node2", Delivered), (3, "node2", "C", Sent)], &["node2"]),
            step("node1", Request, &[(2, "A", "node1", Delivered), (4, "node1", "A", Sent)], &["node1"]),
            step("C", Reply, &[(3, "node2", "C", Delivered)], &[]),
            step("A", Reply, &[(4, "node1", "A", Delivered)], &[]),
        ],
    );
    assert_eq!(matters, [false, true, false, true, false, true]);
}

#[test]
fn a_third_client_that_is_refused_plays_no_part() {
    let matters = marked(
        &["A"],
        vec![
            step("C", Start, &[(1, "C", "node1", Sent)], &[]),
            step("node1", Request, &[(1, "C", "node1", Delivered), (2, "node1", "C", Sent)], &[]),
            step("C", Exchange, &[(5, "C", "node1", Delivered), (6, "node1", "C", Delivered)], &[]),
            step("A", Exchange, &[(3, "A", "node1", Delivered), (4, "node1", "A", Delivered)], &["node1"]),
        ],
    );
    assert_eq!(matters, [false, false, false, true]);
}

#[test]
fn who_wrote_what_a_culprit_read_plays_a_part() {
    let matters = marked(
        &["A"],
        vec![
            step("C", Start, &[(1, "C", "node1", Sent)], &[]),
            step("node1", Request, &[(1, "C", "node1", Delivered), (2, "node1", "C", Sent)], &["node1"]),
            step("C", Reply, &[(2, "node1", "C", Delivered)], &[]),
            step("A", Exchange, &[(3, "A", "node1", Delivered), (4, "node1", "A", Delivered)], &[]),
        ],
    );
    assert_eq!(matters, [true, true, false, true], "the answer to C came to nothing that A saw");
}

#[test]
fn what_comes_after_the_last_use_of_a_server_does_not_matter() {
    let matters = marked(
        &["A"],
        vec![
            step("A", Exchange, &[(1, "A", "node1", Delivered), (2, "node1", "A", Delivered)], &["node1"]),
            step("C", Exchange, &[(3, "C", "node1", Delivered), (4, "node1", "C", Delivered)], &["node1"]),
        ],
    );
    assert_eq!(matters, [true, false]);
}

#[test]
fn every_tick_matters_and_draws_nobody_in() {
    let matters = marked(
        &["A"],
        vec![
            step("C", Exchange, &[(1, "C", "node2", Delivered), (2, "node2", "C", Delivered)], &["node2"]),
            step(TIME, Tick, &[], &["node2"]),
            step("A", Start, &[], &[]),
            step(TIME, Tick, &[], &[]),
        ],
    );
    assert_eq!(matters, [false, true, true, true]);
}

#[test]
fn a_fault_matters_with_whom_it_strikes() {
    let matters = marked(
        &["A"],
        vec![
            step("A", Fault, &[], &[]),
            step("C", Fault, &[], &[]),
            step("node1", Fault, &[], &[]),
            step("A", Exchange, &[(1, "A", "node1", Delivered), (2, "node1", "A", Delivered)], &[]),
            step("node1", Fault, &[], &[]),
        ],
    );
    assert_eq!(matters, [true, false, true, true, false]);
}

#[test]
fn a_lost_message_matters_if_somebody_wanted_would_have_had_it() {
    let lost = |culprit| {
        marked(
            &[culprit],
            vec![step("C", Start, &[(1, "C", "node2", Sent)], &[]), step("C", Fault, &[(1, "C", "node2", Lost)], &[])],
        )
    };
    assert_eq!(lost("node2"), [true, true]);
    assert_eq!(lost("C"), [true, true]);
    assert_eq!(lost("A"), [false, false]);
}

#[test]
fn a_delayed_message_matters_if_it_is_wanted_later() {
    let matters = marked(
        &["node1"],
        vec![
            step("A", Start, &[(1, "A", "node1", Sent)], &[]),
            step("A", Fault, &[(1, "A", "node1", Delayed)], &[]),
            step("C", Start, &[(2, "C", "node2", Sent)], &[]),
            step("C", Fault, &[(2, "C", "node2", Delayed)], &[]),
            step("node1", Request, &[(1, "A", "node1", Delivered)], &["node1"]),
        ],
    );
    assert_eq!(matters, [true, true, false, false, true]);
}

#[test]
fn an_ignored_reply_draws_nobody_in() {
    let matters = marked(
        &["A"],
        vec![
            step("A", Start, &[(1, "A", "node2", Sent)], &[]),
            step("node2", Request, &[(1, "A", "node2", Delivered), (2, "node2", "A", Sent)], &["node2"]),
            step("A", Reply, &[(2, "node2", "A", Ignored)], &[]),
        ],
    );
    assert_eq!(matters, [true, false, false]);
}

#[test]
fn marking_twice_is_marking_once() {
    let steps = vec![step("C", Start, &[], &[]), step("A", Start, &[], &[])];
    let mut again = steps.clone();
    again[1].matters = false;
    assert_eq!(marked(&["A"], steps), marked(&["A"], again));
}

#[test]
fn who_finds_nobody_goes_on_differently() {
    let matters = marked(
        &["A"],
        vec![
            step("node1", Fault, &[], &["node1"]),
            step("A", Start, &[(1, "A", "node1", Sent)], &[]),
            step("node1", Request, &[(1, "A", "node1", Refused)], &[]),
            step("C", Start, &[(2, "C", "node1", Sent)], &[]),
            step("node1", Request, &[(2, "C", "node1", Refused)], &[]),
        ],
    );
    assert_eq!(matters, [true, true, true, false, false]);
}
