//! What must hold of a state.

use protocol::{Command, Slot};

use crate::message::{Body, Site, releases};
use crate::server::{Entry, Node};
use crate::setup::Setup;
use crate::world::{Running, World};

impl World {
    /// Two clients that believe at once that they hold the same lock, if there are any.
    pub fn rivals(&self, setup: &Setup) -> Option<(u8, u8)> {
        let mut holders = [None; crate::setup::MAX_RESOURCES];
        for client in 0..self.clients.len() as u8 {
            for (slot, resource) in Self::slots(setup, client) {
                if !self.believes(setup, client, slot) {
                    continue;
                }
                match holders[resource.0 as usize] {
                    Some(first) if first != client => return Some((first, client)),
                    Some(_) | None => holders[resource.0 as usize] = Some(client),
                }
            }
        }
        None
    }

    /// An entry that nobody is left to release: its node, and the lock. Crashed clients are excused.
    pub fn stray(&self) -> Option<(u8, u8)> {
        for (node, state) in (0..).zip(&self.nodes) {
            for (resource, entry) in (0..).zip(&state.memory.entries[..self.accounts.len()]) {
                let Some(entry) = entry.filter(Entry::is_live) else { continue };
                let by = entry.by;
                let current = self.current(by.client, by.slot).is_some_and(|c| c.is(by));
                if !by.bereft && !current && !self.is_being_released(node, by.client, by.slot, by.token) {
                    return Some((node, resource));
                }
            }
        }
        None
    }

    /// Whether the lock can be had: of every lock, a quorum of nodes has no live entry.
    pub fn is_free(&self, setup: &Setup) -> bool {
        (0..setup.resources as usize).all(|resource| {
            let taken = |n: &&Node| n.memory.entries[resource].is_some_and(|e| e.is_live());
            let empty = self.nodes.iter().filter(|n| !taken(n)).count();
            empty >= setup.policy.quorum as usize
        })
    }

    /// Whether every client has made its updates, or crashed for good.
    pub fn is_finished(&self, setup: &Setup) -> bool {
        self.clients.iter().all(|client| match client.running {
            Running::Crashed if !setup.rejoin => true,
            Running::Crashed | Running::Yes | Running::Paused => client.worker.is_finished(),
        })
    }

    fn is_being_released(&self, node: u8, client: u8, slot: Slot, token: protocol::Token) -> bool {
        self.messages.iter().any(|m| {
            m.lane.client == client
                && m.lane.site == Site::Node(node)
                && m.slot == slot
                && matches!(m.body, Body::Request { command: Command::Lock { verb, token: t, .. }, .. }
                    if t == token && releases(verb))
        })
    }
}
