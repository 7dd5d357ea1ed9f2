//! A step by its choice alone, as a word for a machine: `deliver A node1 request 0`.
//!
//! Everything else that a trace says of a step follows from the choice. Whoever follows a schedule again, in another world
//! or on real servers, takes nothing but this.

use core::fmt;
use core::str::FromStr;

use protocol::Resource;
use world::{Action, Direction, Lane, Link, Process, Site};

/// What happens in a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice(pub Action);

/// Words that are no choice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoChoice(String);

impl fmt::Display for NoChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected a choice such as `start A`, `tick` or `deliver A node1 request 0`, found `{}`", self.0)
    }
}

impl core::error::Error for NoChoice {}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = verb(self.0);
        match self.0 {
            Action::Tick => f.write_str(verb),
            Action::Start(client)
            | Action::Wake(client)
            | Action::Resume(client)
            | Action::Rejoin(client)
            | Action::Pause(client)
            | Action::Crash(client)
            | Action::Cancel(client)
            | Action::CancelUnsent(client) => write!(f, "{verb} {}", name(client)),
            Action::Deliver(lane, at)
            | Action::Delay(lane, at)
            | Action::Drop(lane, at)
            | Action::Duplicate(lane, at) => {
                let Lane { client, site, direction } = lane;
                write!(f, "{verb} {} {} {} {at}", name(client), Far(site), way(direction))
            }
            Action::Heal(link) | Action::Cut(link) => write!(f, "{verb} {} {}", name(link.client), Far(link.site)),
            Action::Restart(node) | Action::JumpForward(node) | Action::JumpBack(node) => {
                write!(f, "{verb} {}", Far(Site::Node(node)))
            }
            Action::Gain(Process::Client(client)) | Action::Lag(Process::Client(client)) => {
                write!(f, "{verb} {}", name(client))
            }
            Action::Gain(Process::Node(node)) | Action::Lag(Process::Node(node)) => {
                write!(f, "{verb} {}", Far(Site::Node(node)))
            }
            Action::Replicate(replica) | Action::Failover(replica) => write!(f, "{verb} {replica}"),
            Action::Evict(node, key) | Action::EvictCounter(node, key) => {
                write!(f, "{verb} {} {}", Far(Site::Node(node)), key.0)
            }
        }
    }
}

impl FromStr for Choice {
    type Err = NoChoice;

    fn from_str(text: &str) -> Result<Self, NoChoice> {
        let words: Vec<&str> = text.split(' ').collect();
        read(&words).map(Self).ok_or_else(|| NoChoice(text.chars().take(60).collect()))
    }
}

fn verb(action: Action) -> &'static str {
    match action {
        Action::Start(_) => "start",
        Action::Wake(_) => "wake",
        Action::Deliver(..) => "deliver",
        Action::Tick => "tick",
        Action::Resume(_) => "resume",
        Action::Rejoin(_) => "rejoin",
        Action::Heal(_) => "heal",
        Action::Replicate(_) => "replicate",
        Action::Pause(_) => "pause",
        Action::Delay(..) => "delay",
        Action::Drop(..) => "drop",
        Action::Duplicate(..) => "duplicate",
        Action::Crash(_) => "crash",
        Action::Restart(_) => "restart",
        Action::JumpForward(_) => "jump-forward",
        Action::JumpBack(_) => "jump-back",
        Action::Gain(_) => "gain",
        Action::Lag(_) => "lag",
        Action::Cut(_) => "cut",
        Action::Failover(_) => "failover",
        Action::Evict(..) => "evict",
        Action::EvictCounter(..) => "evict-counter",
        Action::Cancel(_) => "cancel",
        Action::CancelUnsent(_) => "cancel-unsent",
    }
}

fn read(words: &[&str]) -> Option<Action> {
    match *words {
        ["start", who] => client(who).map(Action::Start),
        ["wake", who] => client(who).map(Action::Wake),
        ["deliver", who, far, way, at] => message(who, far, way, at).map(|(lane, at)| Action::Deliver(lane, at)),
        ["tick"] => Some(Action::Tick),
        ["resume", who] => client(who).map(Action::Resume),
        ["rejoin", who] => client(who).map(Action::Rejoin),
        ["heal", who, far] => link(who, far).map(Action::Heal),
        ["replicate", replica] => replica.parse().ok().map(Action::Replicate),
        ["pause", who] => client(who).map(Action::Pause),
        ["delay", who, far, way, at] => message(who, far, way, at).map(|(lane, at)| Action::Delay(lane, at)),
        ["drop", who, far, way, at] => message(who, far, way, at).map(|(lane, at)| Action::Drop(lane, at)),
        ["duplicate", who, far, way, at] => message(who, far, way, at).map(|(lane, at)| Action::Duplicate(lane, at)),
        ["crash", who] => client(who).map(Action::Crash),
        ["restart", far] => node(far).map(Action::Restart),
        ["jump-forward", far] => node(far).map(Action::JumpForward),
        ["jump-back", far] => node(far).map(Action::JumpBack),
        ["gain", who] => process(who).map(Action::Gain),
        ["lag", who] => process(who).map(Action::Lag),
        ["cut", who, far] => link(who, far).map(Action::Cut),
        ["failover", replica] => replica.parse().ok().map(Action::Failover),
        ["evict", far, key] => Some(Action::Evict(node(far)?, Resource(key.parse().ok()?))),
        ["evict-counter", far, key] => Some(Action::EvictCounter(node(far)?, Resource(key.parse().ok()?))),
        ["cancel", who] => client(who).map(Action::Cancel),
        ["cancel-unsent", who] => client(who).map(Action::CancelUnsent),
        _ => None,
    }
}

fn name(client: u8) -> char {
    char::from(b'A' + client)
}

fn client(word: &str) -> Option<u8> {
    match word.as_bytes() {
        [letter @ b'A'..=b'Z'] => Some(letter - b'A'),
        _ => None,
    }
}

fn node(word: &str) -> Option<u8> {
    word.strip_prefix("node")?.parse::<u8>().ok()?.checked_sub(1)
}

fn site(word: &str) -> Option<Site> {
    if word == "store" { Some(Site::Store) } else { node(word).map(Site::Node) }
}

fn process(word: &str) -> Option<Process> {
    client(word).map(Process::Client).or_else(|| node(word).map(Process::Node))
}

fn link(who: &str, far: &str) -> Option<Link> {
    Some(Link { client: client(who)?, site: site(far)? })
}

fn message(who: &str, far: &str, way: &str, at: &str) -> Option<(Lane, u8)> {
    let direction = match way {
        "request" => Direction::Request,
        "reply" => Direction::Reply,
        _ => return None,
    };
    Some((Lane { client: client(who)?, site: site(far)?, direction }, at.parse().ok()?))
}

fn way(direction: Direction) -> &'static str {
    match direction {
        Direction::Request => "request",
        Direction::Reply => "reply",
    }
}

/// The far side of a link.
struct Far(Site);

impl fmt::Display for Far {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Site::Node(node) => write!(f, "node{}", node + 1),
            Site::Store => f.write_str("store"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_choice_is_read_as_it_is_written() {
        let lane = |site, direction| Lane { client: 1, site, direction };
        let to_node = lane(Site::Node(2), Direction::Request);
        let from_store = lane(Site::Store, Direction::Reply);
        let actions = [
            (Action::Start(0), "start A"),
            (Action::Wake(1), "wake B"),
            (Action::Deliver(to_node, 0), "deliver B node3 request 0"),
            (Action::Deliver(from_store, 4), "deliver B store reply 4"),
            (Action::Tick, "tick"),
            (Action::Resume(0), "resume A"),
            (Action::Rejoin(0), "rejoin A"),
            (Action::Heal(to_node.link()), "heal B node3"),
            (Action::Replicate(1), "replicate 1"),
            (Action::Pause(3), "pause D"),
            (Action::Delay(to_node, 1), "delay B node3 request 1"),
            (Action::Drop(from_store, 0), "drop B store reply 0"),
            (Action::Duplicate(to_node, 0), "duplicate B node3 request 0"),
            (Action::Crash(0), "crash A"),
            (Action::Restart(0), "restart node1"),
            (Action::JumpForward(1), "jump-forward node2"),
            (Action::JumpBack(1), "jump-back node2"),
            (Action::Gain(Process::Client(0)), "gain A"),
            (Action::Lag(Process::Node(0)), "lag node1"),
            (Action::Cut(from_store.link()), "cut B store"),
            (Action::Failover(0), "failover 0"),
            (Action::Evict(0, Resource(1)), "evict node1 1"),
            (Action::EvictCounter(2, Resource(0)), "evict-counter node3 0"),
            (Action::Cancel(0), "cancel A"),
            (Action::CancelUnsent(2), "cancel-unsent C"),
        ];
        for (action, text) in actions {
            assert_eq!(Choice(action).to_string(), text);
            assert_eq!(text.parse(), Ok(Choice(action)));
        }
    }

    #[test]
    fn anything_else_is_refused() {
        for text in
            ["", "start", "start a", "start A ", "start AB", "restart node0", "deliver A node1 answer 0", "tick 1"]
        {
            assert_eq!(text.parse::<Choice>(), Err(NoChoice(text.to_owned())), "{text}");
        }
    }
}
