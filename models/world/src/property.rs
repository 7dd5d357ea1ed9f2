//! What must hold of a state.

use protocol::{Command, Slot};

use crate::message::{Body, Site, releases};
use crate::server::Entry;
use crate::setup::Setup;
use crate::world::{Flags, Running, World};

/// Locks, as bits.
pub(crate) type Bits = u8;

/// What holds in a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Findings {
    /// Whether two clients believe at once that they hold the same lock.
    pub has_rivals: bool,
    /// Whether there is an entry that nobody is left to release.
    pub has_stray: bool,
    /// Whether the lock can be had.
    pub is_free: bool,
    /// Whether every client has made its updates, or crashed for good.
    pub is_finished: bool,
    /// What was wrong with the last step.
    pub flags: Flags,
}

impl World {
    /// What holds in this state.
    pub fn findings(&self, setup: &Setup) -> Findings {
        Findings {
            has_rivals: self.rivals(setup).is_some(),
            has_stray: self.stray(setup).is_some(),
            is_free: self.is_free(setup),
            is_finished: self.is_finished(setup),
            flags: self.flags,
        }
    }

    /// Two clients that believe at once that they hold the same lock, if there are any.
    pub fn rivals(&self, setup: &Setup) -> Option<(u8, u8)> {
        let clients = 0..self.clients.len() as u8;
        let believed = |client| self.believed(setup, client);
        clients.clone().find_map(|second| {
            let first = (0..second).find(|first| believed(*first) & believed(second) != 0)?;
            Some((first, second))
        })
    }

    /// The locks that a client believes to hold.
    pub(crate) fn believed(&self, setup: &Setup, client: u8) -> Bits {
        let held = Self::slots(setup, client).filter(|(slot, _)| self.believes(setup, client, *slot));
        held.fold(0, |bits, (_, resource)| bits | 1 << resource.0)
    }

    /// An entry that nobody is left to release: its node, and the lock. Crashed clients are excused.
    pub fn stray(&self, setup: &Setup) -> Option<(u8, u8)> {
        let nodes = 0..self.nodes.len() as u8;
        nodes.into_iter().find_map(|node| {
            let owned = |client| self.strays(setup, node, client);
            let strays = (0..self.clients.len() as u8).fold(0, |bits, client| bits | owned(client));
            (strays != 0).then(|| (node, strays.trailing_zeros() as u8))
        })
    }

    /// The locks whose entries on a node are a client's, and nobody is left to release them.
    pub(crate) fn strays(&self, setup: &Setup, node: u8, client: u8) -> Bits {
        let entries = &self.nodes[node as usize].memory.entries[..setup.resources as usize];
        let is_stray = |entry: &Entry| {
            let by = entry.by;
            let is_owned = entry.is_live() && by.client == client && !by.bereft;
            let current = || self.current(client, by.slot).is_some_and(|current| current.is(by));
            is_owned && !current() && !self.is_being_released(node, client, by.slot, by.token)
        };
        let strays = (0..).zip(entries).filter(|(_, entry)| entry.as_ref().is_some_and(is_stray));
        strays.fold(0, |bits, (resource, _): (u8, _)| bits | 1 << resource)
    }

    /// The clients of which a node has an entry that somebody has to release.
    pub(crate) fn owners(&self, setup: &Setup, node: u8) -> Bits {
        let entries = &self.nodes[node as usize].memory.entries[..setup.resources as usize];
        let owned = entries.iter().flatten().filter(|entry| entry.is_live() && !entry.by.bereft);
        owned.fold(0, |bits, entry| bits | 1 << entry.by.client)
    }

    /// Whether the lock can be had: of every lock, a quorum of nodes has no live entry.
    pub fn is_free(&self, setup: &Setup) -> bool {
        is_free(setup, (0..self.nodes.len() as u8).map(|node| self.taken(node)))
    }

    /// The locks of which a node has a live entry.
    pub(crate) fn taken(&self, node: u8) -> Bits {
        let entries = (0..).zip(&self.nodes[node as usize].memory.entries);
        let live = entries.filter(|(_, entry)| entry.is_some_and(|e| e.is_live()));
        live.fold(0, |bits, (resource, _): (u8, _)| bits | 1 << resource)
    }

    /// Whether every client has made its updates, or crashed for good.
    pub fn is_finished(&self, setup: &Setup) -> bool {
        (0..self.clients.len() as u8).all(|client| self.has_finished(setup, client))
    }

    /// Whether a client has.
    pub(crate) fn has_finished(&self, setup: &Setup, client: u8) -> bool {
        let client = &self.clients[client as usize];
        match client.running {
            Running::Crashed if !setup.rejoin => true,
            Running::Crashed | Running::Yes | Running::Paused => client.worker.is_finished(),
        }
    }

    fn is_being_released(&self, node: u8, client: u8, slot: Slot, token: protocol::Token) -> bool {
        self.mail[client as usize].iter().any(|m| {
            m.lane.site == Site::Node(node)
                && m.slot == slot
                && matches!(m.body, Body::Request { command: Command::Lock { verb, token: t, .. }, .. }
                    if t == token && releases(verb))
        })
    }
}

/// Whether of every lock a quorum of nodes has no live entry, given the locks that are taken on each.
pub(crate) fn is_free(setup: &Setup, nodes: impl Iterator<Item = Bits> + Clone) -> bool {
    (0..setup.resources).all(|resource| {
        let empty = nodes.clone().filter(|taken| taken & 1 << resource == 0).count();
        empty >= setup.policy.quorum as usize
    })
}
