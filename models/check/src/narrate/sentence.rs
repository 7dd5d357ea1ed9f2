//! One sentence for each step, and its messages.

use protocol::{Command, Notice, Standing, Time, Verb};
use trace::{Fate, Hop};
use world::{Action, Direction, Event, Expiry, Lane, Link, Persistence, Site, World};

use super::Telling;
use super::words::Words;

/// What happened, in words.
pub(crate) fn sentence(telling: &Telling<'_>, action: Action) -> String {
    let client = |client: u8| format!("client {}", Words::client(client));
    let node = |node: u8| telling.words.site_name(Site::Node(node));
    match action {
        Action::Start(c) => format!("{} asks for the lock{}", client(c), telling.consequences()),
        Action::Wake(c) => format!("{} {}{}", client(c), telling.reason_to_wake(), telling.consequences()),
        Action::Deliver(lane, _) => telling.delivery(lane),
        Action::Tick => format!("a tick passes{}", telling.endings()),
        Action::Resume(c) => format!("{} goes on, as if nothing had happened", client(c)),
        Action::Rejoin(c) => format!("{} starts again, without memory", client(c)),
        Action::Heal(link) => format!("the link between {} is healed", telling.ends(link)),
        Action::Replicate(r) => format!("{} catches up with {}", telling.replica(r), node(0)),
        Action::Pause(c) => format!("{} stops, without knowing it: a long pause", client(c)),
        Action::Delay(lane, _) => format!("{} is held up on its way {}", telling.cargo(), telling.route(lane)),
        Action::Drop(lane, _) => format!("{} is lost on its way {}", telling.cargo(), telling.route(lane)),
        Action::Duplicate(lane, _) => {
            format!("the client library sends {} again {}", telling.cargo(), telling.route(lane))
        }
        Action::Crash(c) => format!("{} crashes", client(c)),
        Action::Restart(n) => format!("{} restarts{}", node(n), telling.memory(n)),
        Action::JumpForward(n) => {
            format!(
                "the wall clock of {} jumps {} ticks ahead{}{}",
                node(n),
                telling.model.setup().jump.0,
                telling.unmoved(),
                telling.endings()
            )
        }
        Action::JumpBack(n) => {
            let (jump, unmoved) = (telling.model.setup().jump.0, telling.unmoved());
            format!("the wall clock of {} jumps {jump} ticks back{unmoved}", node(n))
        }
        Action::Gain(p) => {
            format!("the clock of {} gains a tick{}", telling.words.process_name(p), telling.endings())
        }
        Action::Lag(p) => {
            let whose = telling.words.process_name(p);
            format!("a tick passes that the clock of {whose} does not see{}", telling.endings())
        }
        Action::Cut(link) => format!("the link between {} is cut", telling.ends(link)),
        Action::Failover(r) => {
            format!("{} is lost, and {} takes its place{}", node(0), telling.replica(r), telling.unheard())
        }
        Action::Evict(n, key) => {
            let owner = telling.before.nodes[usize::from(n)].memory.entries[usize::from(key.0)];
            let entry = owner.map_or_else(|| "an entry".to_owned(), |entry| telling.words.owner(entry.by));
            format!("{} runs out of memory and drops {entry}", node(n))
        }
        Action::EvictCounter(n, key) => {
            let lock = telling.words.lock(key);
            format!("{} runs out of memory and drops the counter {lock}:token", node(n))
        }
        Action::Cancel(c) => format!("the caller of {} gives up waiting{}", client(c), telling.consequences()),
        Action::CancelUnsent(c) => format!(
            "the caller of {} gives up waiting, before {} was sent{}",
            client(c),
            telling.cargo(),
            telling.consequences()
        ),
    }
}

/// The messages of the last step.
pub(crate) fn hops(telling: &Telling<'_>) -> Vec<Hop> {
    let hop = |tag: u32, fate: Fate| {
        let told = telling.ledger.told(tag)?;
        let (client, site) = (Words::client(told.client), telling.words.site(told.site));
        let (from, to) = if told.reply.is_none() { (client, site) } else { (site, client) };
        Some(Hop { id: tag, from, to, text: telling.ledger.text(tag, &telling.words), fate })
    };
    let mut hops = Vec::new();
    for event in &telling.events {
        let (tag, fate) = match *event {
            Event::Sent { tag, .. } => (tag, Fate::Sent),
            Event::Lost { tag } => (tag, Fate::Lost),
            Event::Delayed { tag } => (tag, Fate::Delayed),
            Event::Published { tag, .. } => (tag, Fate::Sent),
            Event::Duplicated { copy, .. } => (copy, Fate::Sent),
            Event::Ignored { tag } => (tag, Fate::Ignored),
            Event::Served { tag, answer, .. } => {
                hops.extend(hop(tag, Fate::Delivered));
                hops.extend(answer.and_then(|answer| hop(answer, Fate::Sent)));
                continue;
            }
            Event::Answered { tag, .. } => {
                // Sent and received within an exchange.
                hops.retain(|h: &Hop| h.id != tag);
                (tag, Fate::Delivered)
            }
            Event::Unsent { client, site, command } => {
                hops.push(Hop {
                    id: 0,
                    from: Words::client(client),
                    to: telling.words.site(site),
                    text: telling.words.command(client, protocol::Slot(0), command, 0, &telling.ledger),
                    fate: Fate::Refused,
                });
                continue;
            }
            Event::Told { .. }
            | Event::Blocked { .. }
            | Event::TurnedDown { .. }
            | Event::Accepted { .. }
            | Event::Granted { .. }
            | Event::Expired { .. }
            | Event::Lapsed { .. }
            | Event::Fault(_) => continue,
        };
        hops.extend(hop(tag, fate));
    }
    hops
}

impl Telling<'_> {
    /// A request or an answer that arrived.
    fn delivery(&self, lane: Lane) -> String {
        let mut parts = Vec::new();
        for event in &self.events {
            if let Event::Served { site, tag, command, reply, .. } = *event {
                parts.push(format!(
                    "{} carries out {}: {}",
                    self.words.site_name(site),
                    self.ledger.text(tag, &self.words),
                    self.words.reply(Some(command), reply, self.read_tag(tag), &self.ledger),
                ));
            }
            if let Event::Answered { client, site, tag, .. } = *event {
                let (client, site) = (Words::client(client), self.words.site_name(site));
                parts.push(match parts.is_empty() {
                    true => format!("client {client} hears {} from {site}", self.ledger.text(tag, &self.words)),
                    false => format!("client {client} hears it"),
                });
            }
            if let Event::Published { node, client, .. } = *event {
                let (client, site) = (Words::client(client), self.words.site_name(Site::Node(node)));
                parts.push(format!("{site} notifies client {client}"));
            }
            if let Event::Lost { .. } = *event {
                let why = if self.is_down(lane.site) { "is down" } else { "has nobody to answer any more" };
                parts.push(format!("{} {why}, and {} is lost", self.words.site_name(lane.site), self.cargo()));
            }
        }
        parts.join("; ") + &self.consequences()
    }

    fn is_down(&self, site: Site) -> bool {
        match site {
            Site::Node(node) => self.world.nodes[usize::from(node)].down > 0,
            Site::Store => false,
        }
    }

    /// The tag under which the amount of an answer is known.
    fn read_tag(&self, request: u32) -> u32 {
        let answers = |event: &Event| {
            let Event::Served { tag, answer, .. } = *event else { return None };
            answer.filter(|_| tag == request)
        };
        self.events.iter().find_map(answers).unwrap_or(request)
    }

    /// What the client was told and what it sends, as the rest of a sentence.
    fn consequences(&self) -> String {
        let mut parts = Vec::new();
        for event in &self.events {
            let Event::Told { client, notice } = *event else { continue };
            parts.push(match notice {
                Notice::Acquired { fence } => {
                    let token = fence.map_or_else(String::new, |f| format!(" with token {}", f.0));
                    format!("holds the lock{token}{}", self.until(client))
                }
                Notice::Lost => "has lost the lock".to_owned(),
                Notice::Released => "has given the lock back".to_owned(),
                Notice::GaveUp => "gives up".to_owned(),
            });
        }
        if self.events.iter().any(|event| matches!(event, Event::TurnedDown { .. })) {
            parts.push("turns the grant down, because it came too late".to_owned());
        }
        let mut sent: Vec<(String, Vec<String>)> = Vec::new();
        for event in &self.events {
            let Event::Sent { site, tag, .. } = *event else { continue };
            let (text, to) = (self.ledger.text(tag, &self.words), self.words.site_name(site));
            match sent.iter_mut().find(|(known, _)| *known == text) {
                Some((_, sites)) => sites.push(to),
                None => sent.push((text, vec![to])),
            }
        }
        parts.extend(sent.into_iter().map(|(text, sites)| format!("sends {text} to {}", sites.join(" and "))));
        if self.events.iter().any(|event| matches!(event, Event::Unsent { .. })) {
            parts.push("cannot send: an earlier request is stuck".to_owned());
        }
        match parts.split_last() {
            None => String::new(),
            Some((last, [])) => format!(" and {last}"),
            Some((last, rest)) => format!(", {} and {last}", rest.join(", ")),
        }
    }

    /// Until when a client that was just granted the lock believes that it holds it.
    fn until(&self, client: u8) -> String {
        let setup = self.model.setup();
        let config = World::config(setup, client);
        let locks = self.world.clients[usize::from(client)].worker.locks();
        match locks.standing(&config, Time(0)) {
            Standing::Holding { until: Some(until), .. } => {
                let end = self.clock_of(client) + i64::from(until.before(setup.policy.margin).0);
                format!(" until tick {end}")
            }
            Standing::Holding { until: None, .. } | Standing::Free | Standing::Seeking | Standing::Leaving => {
                String::new()
            }
        }
    }

    /// Why a client woke, as far as what followed tells.
    fn reason_to_wake(&self) -> &'static str {
        let told = |notice: Notice| {
            self.events.iter().any(|event| matches!(*event, Event::Told { notice: n, .. } if n == notice))
        };
        if told(Notice::Lost) {
            return "finds that its time is up";
        }
        if told(Notice::GaveUp) {
            return "has tried long enough";
        }
        let sent = self.events.iter().find_map(|event| {
            let Event::Sent { command, .. } = *event else { return None };
            Some(command)
        });
        match sent {
            Some(Command::Lock { verb, .. }) => match verb {
                Verb::SetNxPx
                | Verb::Setnx
                | Verb::Incr
                | Verb::Look
                | Verb::Claim
                | Verb::Limit
                | Verb::Clear
                | Verb::GetSet
                | Verb::Enter
                | Verb::Subscribe => {
                    if self.was_silent() {
                        "has waited in vain"
                    } else {
                        "tries again"
                    }
                }
                Verb::SetXxPx | Verb::SetPx | Verb::Pexpire | Verb::CompareAndExtend | Verb::ExtendOrCreate => "renews",
                Verb::Get | Verb::Del | Verb::CompareAndDelete | Verb::Exit => "has waited in vain for an answer",
                Verb::Wait => "has waited in vain",
            },
            Some(Command::Write { .. } | Command::Check { .. }) => "has done its work",
            Some(Command::Read { .. }) | None => "stops waiting for an answer",
        }
    }

    /// Whether the client that acts was still waiting for an answer before the step.
    fn was_silent(&self) -> bool {
        self.events.iter().any(|event| matches!(event, Event::Ignored { .. }))
            || self.before.messages().any(|m| m.awaited && self.acts(m.lane.client))
    }

    fn acts(&self, client: u8) -> bool {
        self.events.iter().any(|event| matches!(*event, Event::Sent { client: c, .. } if c == client))
    }

    /// What came to its end with the time.
    fn endings(&self) -> String {
        let mut parts = Vec::new();
        for event in &self.events {
            if let Event::Expired { node, by, .. } = *event {
                let site = self.words.site_name(Site::Node(node));
                parts.push(format!("{} expires on {site}", self.words.owner(by)));
            }
            if let Event::Lapsed { client } = *event {
                parts.push(format!("client {} no longer believes that it holds the lock", Words::client(client)));
            }
        }
        if parts.is_empty() { String::new() } else { format!("; {}", parts.join("; ")) }
    }

    /// The message that a fault befell.
    fn cargo(&self) -> String {
        let tag = self.events.iter().find_map(|event| {
            let (Event::Lost { tag } | Event::Delayed { tag } | Event::Duplicated { tag, .. }) = *event else {
                return None;
            };
            Some(tag)
        });
        tag.map_or_else(
            || "a message".to_owned(),
            |tag| match self.ledger.told(tag) {
                Some(told) if told.reply.is_some() => {
                    format!("the answer ({})", self.ledger.text(tag, &self.words))
                }
                Some(_) | None => self.ledger.text(tag, &self.words),
            },
        )
    }

    fn route(&self, lane: Lane) -> String {
        let (client, site) = (Words::client(lane.client), self.words.site_name(lane.site));
        match lane.direction {
            Direction::Request => format!("from client {client} to {site}"),
            Direction::Reply => format!("from {site} to client {client}"),
        }
    }

    /// The two ends of a link.
    fn ends(&self, link: Link) -> String {
        format!("client {} and {}", Words::client(link.client), self.words.site_name(link.site))
    }

    /// What a replica is called.
    fn replica(&self, index: u8) -> String {
        match self.before.replicas.len() {
            1 => "its replica".to_owned(),
            _ => format!("its replica {}", index + 1),
        }
    }

    /// What the promoted replica had not heard of.
    fn unheard(&self) -> String {
        let entries = |world: &World| world.nodes.first().map_or([None; world::MAX_RESOURCES], |n| n.memory.entries);
        let lost = entries(&self.before).into_iter().zip(entries(&self.world)).filter(|(was, is)| was != is);
        let parts: Vec<_> = lost
            .map(|(was, is)| match (was, is) {
                (Some(was), None) => format!("which has not heard of {}", self.words.owner(was.by)),
                (_, Some(is)) => format!("which still has {}", self.words.entry(Some(is))),
                (None, None) => String::new(),
            })
            .collect();
        if parts.is_empty() { String::new() } else { format!(", {}", parts.join(" and ")) }
    }

    /// What a jump of the wall clock does not move.
    fn unmoved(&self) -> &'static str {
        match self.model.setup().expiry {
            Expiry::Wall => "",
            Expiry::Monotonic => ", but its entries expire by another clock",
        }
    }

    fn memory(&self, node: u8) -> &'static str {
        let memory = |world: &World| world.nodes[usize::from(node)].memory;
        if memory(&self.before) == memory(&self.world) {
            return "";
        }
        match self.model.setup().persistence {
            Persistence::Nothing | Persistence::Always => ", and has forgotten everything",
            Persistence::EverySecond => ", and remembers what it had last written to disk",
        }
    }
}
