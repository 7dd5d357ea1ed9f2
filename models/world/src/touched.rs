//! Which parts of a world have changed since it was the same as another one.
//!
//! A step changes little. A search that takes many steps from one world puts back and packs only what each of them has
//! changed. Whatever changes a client or a lock server has to say so; what changes with nearly every step (messages,
//! the resource, faults and flags) is always taken as changed.

use crate::setup::MAX_CLIENTS;
use crate::world::World;

/// Clients, as bits, and the lock servers, as one more bit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Touched(u8);

const NODES: u8 = 1 << MAX_CLIENTS;

impl Touched {
    /// Everything.
    pub(crate) const ALL: Self = Self(u8::MAX);

    pub(crate) fn client(&mut self, client: u8) {
        self.0 |= 1 << client;
    }

    pub(crate) fn clients(&mut self) {
        self.0 |= NODES - 1;
    }

    pub(crate) fn nodes(&mut self) {
        self.0 |= NODES;
    }

    pub(crate) fn has_client(self, client: u8) -> bool {
        self.0 & 1 << client != 0
    }

    pub(crate) fn has_nodes(self) -> bool {
        self.0 & NODES != 0
    }
}

impl World {
    /// Becomes the same as another world of the same setup.
    pub fn restore_all(&mut self, from: &Self) {
        self.touched = Touched::ALL;
        self.restore(from);
    }

    /// Becomes the same as another world, the one that it was the same as when this or
    /// [`restore_all`](Self::restore_all) was last called.
    pub fn restore(&mut self, from: &Self) {
        let touched = core::mem::take(&mut self.touched);
        for (index, (client, before)) in (0..).zip(self.clients.iter_mut().zip(&from.clients)) {
            if touched.has_client(index) {
                *client = *before;
            }
        }
        if touched.has_nodes() {
            self.nodes.copy_from_slice(&from.nodes);
        }
        self.saved.clone_from(&from.saved);
        self.replicas.clone_from(&from.replicas);
        self.accounts.copy_from_slice(&from.accounts);
        self.messages.clear();
        self.messages.extend_from_slice(&from.messages);
        self.cut_left.clear();
        self.cut_left.extend_from_slice(&from.cut_left);
        self.until_sync = from.until_sync;
        self.cut = from.cut;
        self.faults = from.faults;
        self.flags = from.flags;
        self.next_tag = from.next_tag;
    }
}
