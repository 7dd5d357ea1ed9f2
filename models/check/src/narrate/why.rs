//! The facts that contradict a property, in its last state.

use protocol::{Holder, Resource, Slot};
use world::{Event, Node, Running, Setup, Site, Watched, World};

use super::Telling;
use super::ledger::{DEPOSIT, WITHDRAWAL};
use super::words::Words;
use crate::scenario::Property;

/// The lock that two clients believe to hold at once.
pub(crate) fn disputed(world: &World, setup: &Setup) -> Option<Resource> {
    let (first, second) = world.rivals(setup)?;
    let held = |client: u8| {
        World::slots(setup, client)
            .filter(|(slot, _)| world.believes(setup, client, *slot))
            .map(|(_, resource)| resource)
            .collect::<Vec<_>>()
    };
    let others = held(second);
    held(first).into_iter().find(|resource| others.contains(resource))
}

/// Why the last state violates a property, and the actors that it is about.
pub(crate) fn why(telling: &Telling<'_>, property: Property) -> (Vec<String>, Vec<String>) {
    match property {
        Property::MutualExclusion => telling.two_holders(),
        Property::NoLostUpdate => telling.lost_update(),
        Property::NoWrongRelease => telling.wrong_release(),
        Property::NoStaleWrite => telling.stale_write(),
        Property::NoStrayGrant => telling.stray_grant(),
        Property::NoOrphan => {
            telling.stuck("no way without a further fault leads to a state in which the lock is free")
        }
        Property::DeadlockFree => {
            telling.stuck("no way without a further fault leads to a state in which every surviving client is finished")
        }
    }
}

impl Telling<'_> {
    fn two_holders(&self) -> (Vec<String>, Vec<String>) {
        let setup = self.model.setup();
        let Some((first, second)) = self.world.rivals(setup) else { return (Vec::new(), Vec::new()) };
        let lock = disputed(&self.world, setup);
        let mut facts = vec![self.belief(first, lock), self.belief(second, lock)];
        facts.extend(lock.map(|lock| self.entries(lock)));
        (facts, vec![Words::client(first), Words::client(second)])
    }

    fn belief(&self, client: u8, lock: Option<Resource>) -> String {
        let setup = self.model.setup();
        let slot = World::slots(setup, client).find(|(_, r)| Some(*r) == lock).map_or(Slot(0), |(slot, _)| slot);
        let locks = self.world.clients[usize::from(client)].worker.locks();
        let token = self.words.token(client, slot, locks.token(slot));
        let until = match (setup.policy.holder, locks.until(slot)) {
            (Holder::Naive | Holder::ChecksThenActs, _) => "until it gives it back".to_owned(),
            (Holder::Clocked, None) => "for good".to_owned(),
            (Holder::Clocked, Some(until)) => {
                format!("until tick {}", self.clock_of(client) + i64::from(until.before(setup.policy.margin).0))
            }
        };
        let name = lock.map_or("the lock", |lock| self.words.lock(lock));
        format!("client {} believes that it holds {name} (as {token}), {until}", Words::client(client))
    }

    /// What the servers hold of a lock.
    fn entries(&self, lock: Resource) -> String {
        let entry = |(index, node): (u8, &Watched<Node>)| {
            let site = self.words.site_name(Site::Node(index));
            format!("{site}: {}", self.words.entry(node.memory.entries[usize::from(lock.0)]))
        };
        let all: Vec<_> = (0..).zip(&self.world.nodes).map(entry).collect();
        format!("what the servers hold of {} at tick {}: {}", self.words.lock(lock), self.ticks, all.join(", "))
    }

    fn lost_update(&self) -> (Vec<String>, Vec<String>) {
        let Some(last) = self.ledger.accepted.last() else { return (Vec::new(), Vec::new()) };
        let computed_from = last.left + WITHDRAWAL;
        let writes = self.ledger.accepted.iter().filter(|w| w.account == last.account && !w.again).count() as i64;
        let facts = vec![
            format!(
                "client {} computed {} from a balance of {computed_from}, but when its write came the balance was {}",
                Words::client(last.client),
                last.left,
                last.found,
            ),
            format!(
                "the resource has accepted {writes} × {WITHDRAWAL} from {DEPOSIT}, which leaves {}; the balance is {}",
                DEPOSIT - writes * WITHDRAWAL,
                last.left,
            ),
        ];
        (facts, self.writers())
    }

    /// Everybody who has written, and the resource.
    fn writers(&self) -> Vec<String> {
        let mut writers: Vec<_> = self.ledger.accepted.iter().map(|w| Words::client(w.client)).collect();
        writers.sort_unstable();
        writers.dedup();
        writers.push(self.words.site(Site::Store));
        writers
    }

    fn stale_write(&self) -> (Vec<String>, Vec<String>) {
        let Some(last) = self.ledger.accepted.last() else { return (Vec::new(), Vec::new()) };
        let account = self.words.account(last.account);
        let facts = vec![
            format!("the resource accepts a write of {account} by client {}", Words::client(last.client)),
            "the lock had been granted again since that client's grant, and a write of the later grant was accepted \
             before"
                .to_owned(),
        ];
        (facts, self.writers())
    }

    fn wrong_release(&self) -> (Vec<String>, Vec<String>) {
        let served = self.events.iter().find_map(|event| {
            let Event::Served { client, site: site @ Site::Node(node), tag, command, .. } = *event else { return None };
            Some((client, site, node, tag, command))
        });
        let Some((client, site, node, tag, protocol::Command::Lock { resource, .. })) = served else {
            return (Vec::new(), Vec::new());
        };
        let Some(entry) = self.before.nodes[usize::from(node)].memory.entries[usize::from(resource.0)] else {
            return (Vec::new(), Vec::new());
        };
        let (sender, owner) = (Words::client(client), Words::client(entry.by.client));
        let acquisition = if sender == owner { "a later acquisition of its own" } else { "the acquisition" };
        let facts = vec![
            format!(
                "{} of client {sender} took effect on {}",
                self.ledger.text(tag, &self.words),
                self.words.site_name(site),
            ),
            if sender == owner {
                format!("the entry there was of {acquisition} ({})", self.words.owner(entry.by))
            } else {
                format!("the entry there was of {acquisition} {} of client {owner}", self.words.owner(entry.by))
            },
        ];
        (facts, vec![sender, owner, self.words.site(site)])
    }

    fn stray_grant(&self) -> (Vec<String>, Vec<String>) {
        let Some((node, resource)) = self.world.stray(self.model.setup()) else { return (Vec::new(), Vec::new()) };
        let Some(entry) = self.world.nodes[usize::from(node)].memory.entries[usize::from(resource)] else {
            return (Vec::new(), Vec::new());
        };
        let client = Words::client(entry.by.client);
        let site = self.words.site_name(Site::Node(node));
        let frees = match entry.left {
            None => "nothing will ever free it".to_owned(),
            Some(left) => format!("only its TTL frees it, in {left} ticks"),
        };
        let facts = vec![
            format!("{site} holds the entry {} of client {client}", self.words.entry(Some(entry))),
            format!("client {client} is done with that acquisition, and no release to {site} is under way"),
            frees,
        ];
        (facts, vec![client, self.words.site(Site::Node(node))])
    }

    fn stuck(&self, claim: &str) -> (Vec<String>, Vec<String>) {
        let setup = self.model.setup();
        let from = if self.is_beginning { "from the very beginning" } else { "from here on" };
        let mut facts = vec![format!("{from}, {claim}")];
        for lock in (0..setup.resources).map(Resource) {
            facts.push(self.entries(lock));
        }
        let mut culprits = Vec::new();
        for client in 0..self.world.clients.len() as u8 {
            let state = &self.world.clients[usize::from(client)];
            let wants = World::slots(setup, client).find(|(slot, _)| state.worker.locks().wants(*slot));
            let seeking =
                wants.map_or_else(String::new, |(_, lock)| format!(", waiting for {}", self.words.lock(lock)));
            facts.push(format!(
                "client {} is {}{seeking}",
                Words::client(client),
                self.client_state(&self.world, client)
            ));
            if state.running == Running::Crashed || !state.worker.is_finished() {
                culprits.push(Words::client(client));
            }
        }
        (facts, culprits)
    }
}
