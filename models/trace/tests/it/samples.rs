//! Traces made by hand, each marked.

use trace::{
    Actor, ActorKind, Change, Clock, Fate, FaultBudget, Hop, PropertyRef, SCHEMA, ScenarioRef, Step, StepKind, TIME,
    Trace, cone,
};

/// A trace under construction: it numbers the steps, and keeps what lasts from one to the next.
pub(crate) struct Story {
    trace: Trace,
    tick: i64,
    holding: Vec<String>,
    paused: Vec<String>,
    gone: Vec<String>,
}

impl Story {
    pub(crate) fn new(id: &str, title: &str, property: [&str; 2], clients: &str, nodes: u32) -> Self {
        let mut actors: Vec<Actor> = clients
            .chars()
            .map(|c| Actor { id: c.into(), name: format!("client {c}"), kind: ActorKind::Client })
            .collect();
        actors.extend((1..=nodes).map(|n| Actor {
            id: format!("node{n}"),
            name: format!("node {n}"),
            kind: ActorKind::Server,
        }));
        actors.push(Actor { id: "store".into(), name: "the resource".into(), kind: ActorKind::Resource });
        Self {
            trace: Trace {
                schema: SCHEMA,
                id: "7f3a91".into(),
                scenario: ScenarioRef {
                    id: id.into(),
                    title: title.into(),
                    hash: "c0ffee".into(),
                    toml: String::new(),
                    faults: Vec::new(),
                },
                property: PropertyRef { name: property[0].into(), says: property[1].into() },
                grain: "message".into(),
                command: format!("lab check {id} --property {}", property[0]),
                actors,
                steps: Vec::new(),
                why: Vec::new(),
                culprits: Vec::new(),
            },
            tick: 0,
            holding: Vec::new(),
            paused: Vec::new(),
            gone: Vec::new(),
        }
    }

    pub(crate) fn step(&mut self, actor: &str, kind: StepKind, action: &str) -> &mut Self {
        let mut step = Step::new(self.trace.steps.len() as u32 + 1, actor, kind, action);
        self.tick += i64::from(kind == StepKind::Tick);
        step.clocks = self.trace.actors.iter().map(|a| Clock { actor: a.id.clone(), time: self.tick }).collect();
        step.holding.clone_from(&self.holding);
        step.paused.clone_from(&self.paused);
        step.gone.clone_from(&self.gone);
        self.trace.steps.push(step);
        self
    }

    pub(crate) fn tick(&mut self, action: &str) -> &mut Self {
        self.step(TIME, StepKind::Tick, action)
    }

    fn last(&mut self) -> &mut Step {
        self.trace.steps.last_mut().expect("a step came first")
    }

    pub(crate) fn hop(&mut self, id: u32, from: &str, to: &str, text: &str, fate: Fate) -> &mut Self {
        self.last().messages.push(Hop { id, from: from.into(), to: to.into(), text: text.into(), fate });
        self
    }

    pub(crate) fn change(&mut self, actor: &str, field: &str, before: &str, after: &str) -> &mut Self {
        let change = Change { actor: actor.into(), field: field.into(), before: before.into(), after: after.into() };
        self.last().changes.push(change);
        self
    }

    pub(crate) fn fault(&mut self, name: &str) -> &mut Self {
        self.last().fault = Some(name.into());
        self.trace.scenario.faults.push(FaultBudget { fault: name.into(), budget: 1 });
        self
    }

    pub(crate) fn holding(&mut self, ids: &[&str]) -> &mut Self {
        self.holding = ids.iter().map(|&id| id.into()).collect();
        self.last().holding = self.holding.clone();
        self
    }

    pub(crate) fn paused(&mut self, ids: &[&str]) -> &mut Self {
        self.paused = ids.iter().map(|&id| id.into()).collect();
        self.last().paused = self.paused.clone();
        self
    }

    pub(crate) fn gone(&mut self, ids: &[&str]) -> &mut Self {
        self.gone = ids.iter().map(|&id| id.into()).collect();
        self.last().gone = self.gone.clone();
        self
    }

    pub(crate) fn end(&mut self, culprits: &[&str], why: &[&str]) -> Trace {
        self.trace.culprits = culprits.iter().map(|&id| id.into()).collect();
        self.trace.why = why.iter().map(|&fact| fact.into()).collect();
        cone::mark(&mut self.trace);
        self.trace.clone()
    }
}

use Fate::{Delayed, Delivered, Lost, Refused, Sent};
use StepKind::{Exchange, Fault, Rejoin, Reply, Request, Resume, Start, Wake};

const MUTEX: [&str; 2] = ["mutual-exclusion", "no two clients believe at once that they hold the lock"];

/// A holder sleeps past its TTL on a single node, and does not look at its clock when it wakes.
pub(crate) fn pause() -> Trace {
    let mut s = Story::new("setnx-px-pause", "SET NX PX, and a holder that sleeps past its TTL", MUTEX, "AB", 1);
    s.step("A", Start, "client A asks for the lock and sends SET lock a1 NX PX 3 to node 1");
    s.hop(1, "A", "node1", "SET lock a1 NX PX 3", Sent).change("A", "attempt", "idle", "seeking");
    s.step("B", Start, "client B asks for the lock and sends SET lock b1 NX PX 3 to node 1");
    s.hop(2, "B", "node1", "SET lock b1 NX PX 3", Sent);
    s.step("node1", Request, "node 1 sets lock to a1 for 3 ticks and answers OK");
    s.hop(1, "A", "node1", "SET lock a1 NX PX 3", Delivered).hop(3, "node1", "A", "OK", Sent);
    s.change("node1", "lock", "free", "a1 (3 left)");
    s.step("node1", Request, "node 1 refuses b1: lock is a1's");
    s.hop(2, "B", "node1", "SET lock b1 NX PX 3", Delivered).hop(4, "node1", "B", "nil", Sent);
    s.step("A", Reply, "client A learns that it holds the lock");
    s.hop(3, "node1", "A", "OK", Delivered).holding(&["A"]).change("A", "standing", "seeking", "holding");
    s.step("B", Reply, "client B learns that it was refused, and will try again in 3 ticks");
    s.hop(4, "node1", "B", "nil", Delivered);
    s.step("A", Fault, "client A pauses").fault("pause").paused(&["A"]);
    s.tick("one tick passes").change("node1", "lock", "a1 (3 left)", "a1 (2 left)");
    s.tick("one tick passes").change("node1", "lock", "a1 (2 left)", "a1 (1 left)");
    s.tick("one tick passes; the lock on node 1 expires").change("node1", "lock", "a1 (1 left)", "free");
    s.step("B", Wake, "client B tries again and sends SET lock b2 NX PX 3 to node 1");
    s.hop(5, "B", "node1", "SET lock b2 NX PX 3", Sent);
    s.step("node1", Request, "node 1 sets lock to b2 for 3 ticks and answers OK");
    s.hop(5, "B", "node1", "SET lock b2 NX PX 3", Delivered).hop(6, "node1", "B", "OK", Sent);
    s.change("node1", "lock", "free", "b2 (3 left)");
    s.step("A", Resume, "client A goes on, as if no time had passed").paused(&[]);
    s.step("B", Reply, "client B learns that it holds the lock");
    s.hop(6, "node1", "B", "OK", Delivered).holding(&["A", "B"]);
    s.end(
        &["A", "B"],
        &[
            "client A believes that it holds the lock (token a1), although its entry on node 1 expired at tick 3",
            "client B believes that it holds the lock (token b2), and node 1 agrees with it",
        ],
    )
}

/// Redlock on three nodes, one of which restarts without its memory; a third client is at the wrong nodes.
pub(crate) fn restart() -> Trace {
    let mut s = Story::new("redlock-restart", "Redlock: a node restarts and has forgotten its grant", MUTEX, "ABC", 3);
    let set = |token: &str| format!("SET lock {token} NX PX 9");
    s.step("C", Start, "client C asks for the lock and sends SET lock c1 NX PX 9 to node 3");
    s.hop(1, "C", "node3", &set("c1"), Sent);
    s.step("A", Start, "client A asks for the lock and sends SET lock a1 NX PX 9 to node 1");
    s.hop(2, "A", "node1", &set("a1"), Sent);
    s.step("C", Fault, "the request of client C to node 3 is lost").fault("drop-request");
    s.hop(1, "C", "node3", &set("c1"), Lost);
    s.step("node1", Request, "node 1 sets lock to a1 and answers OK");
    s.hop(2, "A", "node1", &set("a1"), Delivered).hop(3, "node1", "A", "OK", Sent);
    s.change("node1", "lock", "free", "a1 (9 left)");
    s.step("A", Reply, "client A counts node 1, and sends SET lock a1 NX PX 9 to node 2");
    s.hop(3, "node1", "A", "OK", Delivered).hop(4, "A", "node2", &set("a1"), Sent);
    s.step("node2", Request, "node 2 sets lock to a1 and answers OK");
    s.hop(4, "A", "node2", &set("a1"), Delivered).hop(5, "node2", "A", "OK", Sent);
    s.change("node2", "lock", "free", "a1 (9 left)");
    s.step("A", Reply, "client A has 2 of 3 nodes: it holds the lock until tick 9");
    s.hop(5, "node2", "A", "OK", Delivered).holding(&["A"]);
    s.step("C", Start, "client C asks again and sends SET lock c2 NX PX 9 to node 1");
    s.hop(6, "C", "node1", &set("c2"), Sent);
    s.step("node1", Request, "node 1 refuses c2: lock is a1's");
    s.hop(6, "C", "node1", &set("c2"), Delivered).hop(7, "node1", "C", "nil", Sent);
    s.step("node2", Fault, "node 2 stops").fault("restart").gone(&["node2"]);
    s.change("node2", "lock", "a1 (9 left)", "free");
    s.step("B", Start, "client B asks for the lock and sends SET lock b1 NX PX 9 to node 2");
    s.hop(8, "B", "node2", &set("b1"), Sent);
    s.step("B", Reply, "client B learns that nobody listens at node 2");
    s.hop(8, "B", "node2", &set("b1"), Refused);
    s.tick("one tick passes").change("node1", "lock", "a1 (9 left)", "a1 (8 left)");
    s.step("node2", Rejoin, "node 2 is back, without its memory").gone(&[]);
    s.step("B", Wake, "client B tries again and sends SET lock b2 NX PX 9 to node 2");
    s.hop(9, "B", "node2", &set("b2"), Sent);
    s.step("node2", Request, "node 2 sets lock to b2 and answers OK");
    s.hop(9, "B", "node2", &set("b2"), Delivered).hop(10, "node2", "B", "OK", Sent);
    s.change("node2", "lock", "free", "b2 (9 left)");
    s.step("B", Reply, "client B counts node 2, and sends SET lock b2 NX PX 9 to node 3");
    s.hop(10, "node2", "B", "OK", Delivered).hop(11, "B", "node3", &set("b2"), Sent);
    s.step("node3", Request, "node 3 sets lock to b2 and answers OK");
    s.hop(11, "B", "node3", &set("b2"), Delivered).hop(12, "node3", "B", "OK", Sent);
    s.change("node3", "lock", "free", "b2 (9 left)");
    s.step("C", Reply, "client C learns that it was refused, and gives up");
    s.hop(7, "node1", "C", "nil", Delivered);
    s.step("B", Reply, "client B has 2 of 3 nodes: it holds the lock until tick 10");
    s.hop(12, "node3", "B", "OK", Delivered).holding(&["A", "B"]);
    s.end(
        &["A", "B"],
        &[
            "client A believes that it holds the lock (token a1) until tick 9: nodes 1 and 2 granted it",
            "client B believes that it holds the lock (token b2) until tick 10: nodes 2 and 3 granted it",
            "node 2 granted both: it restarted in between and kept nothing",
        ],
    )
}

/// Two clients update the resource without any lock.
pub(crate) fn lost_update() -> Trace {
    let says = "the resource ends as if the accepted updates had run one after another";
    let mut s = Story::new("no-lock", "A read-modify-write without a lock", ["no-lost-update", says], "AB", 0);
    let ask = |s: &mut Story, id, client: &str, text: &str, answer: &str, action: &str| {
        s.step(client, Exchange, action);
        s.hop(id, client, "store", text, Delivered).hop(id + 1, "store", client, answer, Delivered);
    };
    ask(&mut s, 1, "A", "GET balance", "100", "client A reads the balance: 100");
    ask(&mut s, 3, "B", "GET balance", "100", "client B reads the balance: 100");
    ask(&mut s, 5, "A", "SET balance 110", "OK", "client A writes 110");
    s.change("store", "balance", "100", "110").change("A", "updates left", "1", "0");
    ask(&mut s, 7, "B", "SET balance 110", "OK", "client B writes 110, over a value that it never read");
    s.change("store", "balance", "110", "110").change("B", "updates left", "1", "0");
    let mut trace = s.end(&["store"], &["two updates of +10 were accepted, and the balance is 110 instead of 120"]);
    trace.grain = "exchange".into();
    trace
}

/// Eight lanes, and most of what can happen to a message or an actor.
pub(crate) fn five_nodes() -> Trace {
    let mut s = Story::new("redlock-5", "Redlock on five nodes, and everything that can go wrong", MUTEX, "AB", 5);
    s.step("A", Start, "client A asks for the lock and sends SET lock a1 NX PX 12 to all five nodes");
    for node in 1..=5 {
        s.hop(node, "A", &format!("node{node}"), "SET lock a1 NX PX 12", Sent);
    }
    for node in [1, 2, 5] {
        let name = format!("node{node}");
        s.step(&name, Request, &format!("node {node} sets lock to a1 and answers OK"));
        s.hop(node, "A", &name, "SET lock a1 NX PX 12", Delivered).hop(node + 5, &name, "A", "OK", Sent);
        s.change(&name, "lock", "free", "a1 (12 left)");
    }
    s.step("A", Fault, "client A's request to node 4 is lost").fault("drop-request");
    s.hop(4, "A", "node4", "SET lock a1 NX PX 12", Lost);
    s.step("A", Fault, "client A's request to node 3 is delayed beyond its bound").fault("delay");
    s.hop(3, "A", "node3", "SET lock a1 NX PX 12", Delayed);
    for node in [1, 2, 5] {
        let name = format!("node{node}");
        let action = format!("client A counts node {node}");
        let holds = "client A has 3 of 5 nodes: it holds the lock until tick 12";
        s.step("A", Reply, if node == 5 { holds } else { &action });
        s.hop(node + 5, &name, "A", "OK", Delivered);
    }
    s.holding(&["A"]);
    s.step("node5", Fault, "the wall clock of node 5 jumps ahead by 12 ticks: its entry expires").fault("jump");
    s.change("node5", "lock", "a1 (12 left)", "free");
    s.step("A", Fault, "client A pauses").fault("pause").paused(&["A"]);
    s.tick("one tick passes");
    s.step("B", Exchange, "client B reads the resource, which it may do at any time, and finds 100");
    s.hop(21, "B", "store", "GET balance", Delivered).hop(22, "store", "B", "100", Delivered);
    s.step("node1", Fault, "node 1 stops").fault("restart").gone(&["node1"]);
    s.step("B", Exchange, "client B has 3 of 5 nodes, the last of them node 5: it holds the lock until tick 13");
    s.hop(23, "B", "node5", "SET lock b1 NX PX 12", Delivered).hop(24, "node5", "B", "OK", Delivered);
    s.change("node5", "lock", "free", "b1 (12 left)").holding(&["A", "B"]);
    s.end(&["A", "B"], &["client A believes that it holds the lock until tick 12", "so does client B until tick 13"])
}
