//! What a step changed.

use protocol::{Resource, Standing, Time};
use trace::Change;
use world::{Action, Client, Running, Site, World};

use super::Telling;
use super::dates::dated;
use super::words::Words;

/// The fields that the last step changed, client by client, then server by server.
pub(crate) fn changes(telling: &Telling<'_>, action: Action, balances: &[i64]) -> Vec<Change> {
    let mut list = Vec::new();
    let mut note = |actor: String, field: String, before: String, after: String| {
        if before != after {
            list.push(Change { actor, field, before, after });
        }
    };
    let (before, after) = (&telling.before, &telling.world);
    for client in 0..after.clients.len() as u8 {
        let state = |world: &World| telling.client_state(world, client);
        note(Words::client(client), "state".to_owned(), state(before), state(after));
        let doing = |world: &World| world.clients[usize::from(client)].worker.doing().to_owned();
        note(Words::client(client), "program".to_owned(), doing(before), doing(after));
    }
    for (index, (old, new)) in (0..).zip(before.nodes.iter().zip(&after.nodes)) {
        for resource in 0..telling.model.setup().resources {
            let (was, is) = (old.memory.entries[usize::from(resource)], new.memory.entries[usize::from(resource)]);
            // That time runs out is no change worth telling, until it has run out.
            if is_passing(action) && was.map(|e| e.by) == is.map(|e| e.by) {
                continue;
            }
            let field = telling.words.lock(Resource(resource)).to_owned();
            note(telling.words.site(Site::Node(index)), field, telling.words.entry(was), telling.words.entry(is));
            let counters = (old.memory.counters[usize::from(resource)], new.memory.counters[usize::from(resource)]);
            let field = format!("{}:token", telling.words.lock(Resource(resource)));
            note(telling.words.site(Site::Node(index)), field, counters.0.0.to_string(), counters.1.0.to_string());
        }
        for resource in 0..telling.model.setup().resources {
            let subscribed = |node: &world::Node| {
                let clients = node.subscribers[usize::from(resource)];
                (0..8).filter(|client| clients & (1 << client) != 0).map(Words::client).collect::<Vec<_>>().join(" ")
            };
            let field = format!("{} subscribers", telling.words.lock(Resource(resource)));
            note(telling.words.site(Site::Node(index)), field, subscribed(old), subscribed(new));
        }
        let up = |down: u8| if down == 0 { "up" } else { "down" }.to_owned();
        note(telling.words.site(Site::Node(index)), "state".to_owned(), up(old.down), up(new.down));
    }
    if before.replicas.len() == after.replicas.len() {
        for (number, (old, new)) in (1..).zip(before.replicas.iter().zip(after.replicas.iter())) {
            for resource in (0..telling.model.setup().resources).map(Resource) {
                let entry = |replica: &world::Replica| replica.memory.entries[usize::from(resource.0)];
                if is_passing(action) && entry(old).map(|e| e.by) == entry(new).map(|e| e.by) {
                    continue;
                }
                let field = format!("replica {number} {}", telling.words.lock(resource));
                let (was, is) = (telling.words.entry(entry(old)), telling.words.entry(entry(new)));
                note(telling.words.site(Site::Node(0)), field, was, is);
            }
        }
    }
    for (index, (was, is)) in (0..).zip(balances.iter().zip(telling.ledger.balances())) {
        let field = telling.words.account(Resource(index));
        note(telling.words.site(Site::Store), field, was.to_string(), is.to_string());
        let (old, new) = (before.accounts[usize::from(index)], after.accounts[usize::from(index)]);
        let before = telling.ticks - i64::from(action == Action::Tick);
        let token = |fence, ticks| dated(telling.model.setup(), fence, ticks).0.to_string();
        let field = "greatest token".to_owned();
        note(telling.words.site(Site::Store), field, token(old.fence, before), token(new.fence, telling.ticks));
    }
    list
}

/// Whether all that the action does to most entries is to bring their end closer.
fn is_passing(action: Action) -> bool {
    matches!(action, Action::Tick | Action::Lag(_))
}

impl Telling<'_> {
    /// Where a client stands.
    pub(crate) fn client_state(&self, world: &World, client: u8) -> String {
        let state: &Client = &world.clients[usize::from(client)];
        let config = World::config(self.model.setup(), client);
        let standing = match state.worker.locks().standing(&config, Time(0)) {
            Standing::Free if state.worker.is_finished() => "finished",
            Standing::Free => "free",
            Standing::Seeking => "seeking",
            Standing::Holding { .. } => "holding",
            Standing::Leaving => "leaving",
        };
        match state.running {
            Running::Yes => standing.to_owned(),
            Running::Paused => format!("{standing}, paused"),
            Running::Crashed => "crashed".to_owned(),
        }
    }
}
