//! After each step: the real state, held against that of the model.

use check::scenario::Property;
use protocol::{Resource, Slot};
use redis::Value;
use world::{Entry, World};

use super::actor::token;
use super::damage::{name, text};
use super::run::{DEPOSIT, Halt, Run, WITHDRAWAL, diverged};
use super::stage::Trouble;
use crate::words::Form;

/// What is on a lock server about one lock.
struct Probe {
    value: Option<Vec<u8>>,
    /// The milliseconds that are left of it: −1 without end, −2 if there is nothing.
    left: i64,
    counter: u32,
}

impl Run<'_> {
    /// Compares everything that can be seen.
    pub(super) fn compare(&mut self) -> Result<(), Halt> {
        self.compare_clients()?;
        for node in 0..self.setup.policy.nodes {
            if self.world.nodes[usize::from(node)].down == 0 {
                self.compare_node(node)?;
            }
        }
        self.compare_accounts()?;
        self.look_for_rivals();
        self.look_for_strays()?;
        Ok(())
    }

    fn compare_clients(&self) -> Result<(), Halt> {
        for (client, actor) in (0..).zip(&self.actors) {
            let model = &self.world.clients[usize::from(client)].worker;
            let who = name(client);
            if model.doing() != actor.worker.doing() {
                return diverged(format!("{who} is {}", model.doing()), format!("it is {}", actor.worker.doing()));
            }
            if model.updates_left() != actor.worker.updates_left() {
                let (model, real) = (model.updates_left(), actor.worker.updates_left());
                return diverged(format!("{who} has {model} updates left"), format!("it has {real}"));
            }
            for (slot, _) in World::slots(self.setup, client) {
                let (model, real) = (self.world.believes(self.setup, client, slot), self.real_believes(client, slot));
                if model != real {
                    let says = |believes: bool| if believes { "believes" } else { "does not believe" };
                    let model = format!("{who} {} that it holds the lock", says(model));
                    return diverged(model, format!("it {} so", says(real)));
                }
            }
        }
        Ok(())
    }

    fn real_believes(&self, client: u8, slot: Slot) -> bool {
        self.runs(client) && self.actors[usize::from(client)].believes(self.setup, client, self.ticks, slot)
    }

    fn compare_node(&mut self, node: u8) -> Result<(), Halt> {
        let probes = self.probe(node)?;
        let memory = self.world.nodes[usize::from(node)].memory;
        for (lock, probe) in (0..).zip(probes) {
            let entry = memory.entries[usize::from(lock)];
            self.compare_entry(node, Resource(lock), entry, &probe)?;
            let counter = memory.counters[usize::from(lock)].0;
            if self.setup.policy.fencing.is_counted() && counter != probe.counter {
                let model = format!("the counter on server {} is at {counter}", node + 1);
                return diverged(model, format!("it is at {}", probe.counter));
            }
        }
        Ok(())
    }

    fn compare_entry(&self, node: u8, lock: Resource, entry: Option<Entry>, probe: &Probe) -> Result<(), Halt> {
        let (lock_name, server) = (&self.names[usize::from(lock.0)], node + 1);
        let Some(entry) = entry else {
            return match &probe.value {
                None => Ok(()),
                found => {
                    diverged(format!("{lock_name} on server {server} is free"), format!("it holds {}", text(found)))
                }
            };
        };
        let by = entry.by;
        let token = token(self.setup.policy.owner, by.client, by.slot, by.token);
        let is_in_value = self.setup.policy.keeps_expiry_in_value();
        let value = match (Form::of(&self.setup.policy), entry.left) {
            (Form::Plain, _) => token,
            (Form::Counted, _) => [format!("{}:", entry.holds).as_bytes(), &token].concat(),
            // When it ends is compared below; what is over may have been so for any time.
            (Form::Expiring, _) => match &probe.value {
                Some(found) => [before_token(found), &token].concat(),
                None => token,
            },
        };
        let left = if is_in_value { self.left_in_value(probe) } else { self.left_on_server(probe) };
        let is_same = probe.value.as_ref() == Some(&value) && left == entry.left.map(i64::from);
        if is_same {
            return Ok(());
        }
        let ticks = |left: Option<i64>| left.map_or("no end".to_owned(), |left| format!("{left} ticks left"));
        let model = format!(
            "{lock_name} on server {server} holds {}, {}",
            text(&Some(value)),
            ticks(entry.left.map(i64::from))
        );
        diverged(model, format!("it holds {}, {}", text(&probe.value), ticks(left)))
    }

    /// The ticks that are left of an entry on a server: a lease of n ticks ends a millisecond before them.
    fn left_on_server(&self, probe: &Probe) -> Option<i64> {
        match probe.left {
            ..0 => None,
            left => Some((left as u64 + 1).div_ceil(self.tick) as i64),
        }
    }

    /// The ticks that are left of an entry that says itself when it ends, by the clock that is behind all others.
    fn left_in_value(&self, probe: &Probe) -> Option<i64> {
        let expiry = Form::Expiring.read(probe.value.as_ref()?).expiry?;
        let now = self.begin + u64::from(self.ticks) * self.tick;
        Some(expiry.saturating_sub(now).div_ceil(self.tick) as i64)
    }

    fn probe(&mut self, node: u8) -> Result<Vec<Probe>, Trouble> {
        let mut pipe = redis::pipe();
        for words in &self.words {
            pipe.cmd("GET").arg(&words.names.key).cmd("PTTL").arg(&words.names.key);
            pipe.cmd("GET").arg(&words.names.fence);
        }
        let values = self.stage.node(node).pipe(&pipe)?;
        values.chunks(3).map(probed).collect()
    }

    fn compare_accounts(&mut self) -> Result<(), Halt> {
        for (lock, account) in self.accounts.clone().iter().enumerate() {
            let found: (i64, u32, Option<u32>) = account.look().query(self.stage.bank())?;
            let (_, version, fence) = found;
            if version != self.versions[lock] {
                let model = format!("the account has accepted {} writes", self.versions[lock]);
                return diverged(model, format!("it has accepted {version}"));
            }
            let greatest = self.world.accounts[lock].fence.0;
            let is_counted = self.setup.policy.fencing.is_counted();
            if is_counted && fence.unwrap_or(0) != greatest {
                let model = format!("the greatest token that the account has seen is {greatest}");
                return diverged(model, format!("it is {}", fence.unwrap_or(0)));
            }
        }
        Ok(())
    }

    /// Two clients whose cores believe at once that they hold the same lock.
    fn look_for_rivals(&mut self) {
        for lock in (0..self.names.len() as u8).map(Resource) {
            let holders: Vec<char> = (0..self.actors.len() as u8)
                .filter(|client| {
                    World::slots(self.setup, *client)
                        .any(|(slot, resource)| resource == lock && self.real_believes(*client, slot))
                })
                .map(name)
                .collect();
            if let [first, second, ..] = holders.as_slice() {
                let at = self.world.nodes.len();
                let lock_name = &self.names[usize::from(lock.0)];
                let servers = if at == 1 { "the server".to_owned() } else { format!("{at} servers") };
                let says = format!("{first} and {second} both hold {lock_name}, by what they heard of {servers}");
                self.damage.note(Property::MutualExclusion, || says);
            }
        }
    }

    /// An entry of a client that has left, and has no release under way: where the model has one, is it there?
    fn look_for_strays(&mut self) -> Result<(), Halt> {
        let Some((node, lock)) = self.world.stray(self.setup) else {
            self.damage.pass(Property::NoStrayGrant);
            return Ok(());
        };
        let key = self.words[usize::from(lock)].names.key.clone();
        let (value, left) = self.look(node, &key)?;
        let Some(owner) = self.damage.owner(node, Resource(lock)).filter(|_| value.is_some()) else {
            return Ok(());
        };
        let says = format!(
            "{} on server {} holds {} for {} ms more, and {} has left",
            self.names[usize::from(lock)],
            node + 1,
            text(&value),
            left,
            name(owner.client)
        );
        self.damage.note(Property::NoStrayGrant, || says);
        Ok(())
    }

    /// What can be seen at the end of a way on which something is no longer possible: the lock that nobody will free, the
    /// clients that are left.
    pub(crate) fn look_for_orphans(&mut self) -> Result<(), Trouble> {
        let mut taken = Vec::new();
        for node in 0..self.setup.policy.nodes {
            if self.world.nodes[usize::from(node)].down > 0 {
                continue;
            }
            for (lock, probe) in self.probe(node)?.into_iter().enumerate() {
                if probe.value.is_some() {
                    let left = if probe.left < 0 { "without end".to_owned() } else { format!("for {} ms", probe.left) };
                    let value = text(&probe.value);
                    taken.push(format!("{} on server {} holds {value} {left}", self.names[lock], node + 1));
                }
            }
        }
        let waiting: Vec<char> = (0..self.actors.len() as u8)
            .filter(|client| self.runs(*client) && !self.actors[usize::from(*client)].worker.is_finished())
            .map(name)
            .collect();
        let waiting: String = waiting.iter().map(|name| format!(" {name}")).collect();
        let says = match (taken.is_empty(), waiting.is_empty()) {
            (false, _) => format!("{}; still to finish:{waiting}", taken.join(", ")),
            (true, false) => format!("still to finish:{waiting}"),
            (true, true) => return Ok(()),
        };
        self.damage.note(Property::NoOrphan, || says.clone());
        self.damage.note(Property::DeadlockFree, || says);
        Ok(())
    }

    /// What the accounts hold at the end.
    pub(crate) fn balances(&mut self) -> Result<Vec<(i64, i64)>, Trouble> {
        let mut balances = Vec::new();
        for account in self.accounts.clone() {
            let found: (i64, u32, Option<u32>) = account.look().query(self.stage.bank())?;
            balances.push((found.0, DEPOSIT - WITHDRAWAL * i64::from(found.1)));
        }
        Ok(balances)
    }
}

/// What stands before the token in a value that says when it ends.
fn before_token(value: &[u8]) -> &[u8] {
    let end = value.iter().position(|byte| *byte == b':').map_or(0, |colon| colon + 1);
    &value[..end]
}

fn probed(values: &[Value]) -> Result<Probe, Trouble> {
    let trouble = |error: redis::ParsingError| Trouble(error.to_string());
    let [value, left, counter] = values else { return Err(Trouble("three answers were expected".to_owned())) };
    let counter: Option<u32> = redis::from_redis_value_ref(counter).map_err(trouble)?;
    Ok(Probe {
        value: redis::from_redis_value_ref(value).map_err(trouble)?,
        left: redis::from_redis_value_ref(left).map_err(trouble)?,
        counter: counter.unwrap_or(0),
    })
}
