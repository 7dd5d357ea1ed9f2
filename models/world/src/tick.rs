//! What time does to each section of a world.

use protocol::{Fence, Fencing, Reply, Resource, Ticks};

use crate::action::Process;
use crate::event::{Event, Observer};
use crate::message::Body;
use crate::numbers::Numbering;
use crate::section::Section;
use crate::setup::Setup;
use crate::world::World;

impl World {
    /// Moves the clocks of a section by one tick, but that of a process that lags.
    pub(crate) fn tick(
        &mut self,
        setup: &Setup,
        section: Section,
        lags: Option<Process>,
        observer: &mut impl Observer,
    ) {
        match section {
            Section::Rest => self.tick_rest(setup, lags),
            Section::Client(client) => self.tick_client(setup, client, lags, observer),
            Section::Node(node) => self.tick_node(setup, node, lags, observer),
        }
        if setup.policy.fencing == Fencing::ClientClock {
            self.number(setup, section, &mut Older);
        }
    }

    fn tick_rest(&mut self, setup: &Setup, lags: Option<Process>) {
        let stays = setup.policy.keeps_expiry_in_value();
        for (index, saved) in (0..).zip(self.saved.iter_mut()) {
            if lags != Some(Process::Node(index)) {
                saved.pass_time(1, stays, |_, _| {});
            }
        }
        for replica in self.replicas.iter_mut() {
            replica.memory.pass_time(1, stays, |_, _| {});
        }
        self.rank_replicas();
        self.cut_left.iter_mut().for_each(|left| *left = left.saturating_sub(1));
        self.sync(setup);
    }

    fn tick_client(&mut self, setup: &Setup, client: u8, lags: Option<Process>, observer: &mut impl Observer) {
        if lags != Some(Process::Client(client)) {
            self.tick_clock(setup, client, observer);
        }
        let state = &mut self.clients[client as usize];
        state.pause_left = state.pause_left.saturating_sub(1);
        for message in self.mail[client as usize].iter_mut() {
            message.age = (message.age + 1).min(setup.oldest(message) as u8);
            if let Body::Reply(Reply::Entry { left: Some(left), .. }) = &mut message.body {
                left.0 = left.0.saturating_sub(1);
            }
        }
        self.sort_lanes(setup, client);
    }

    /// Moves the clock of a client by one tick.
    pub(crate) fn tick_clock(&mut self, setup: &Setup, client: u8, observer: &mut impl Observer) {
        let believes = |world: &Self| Self::slots(setup, client).any(|(slot, _)| world.believes(setup, client, slot));
        let before = believes(self);
        self.clients[client as usize].worker.rebase(Ticks(1));
        if before && !believes(self) {
            observer.event(Event::Lapsed { client });
        }
    }

    fn tick_node(&mut self, setup: &Setup, index: u8, lags: Option<Process>, observer: &mut impl Observer) {
        let node = &mut *self.nodes[index as usize];
        node.down = node.down.saturating_sub(1);
        if lags != Some(Process::Node(index)) {
            let expired = |resource: Resource, by| observer.event(Event::Expired { node: index, resource, by });
            node.memory.pass_time(1, setup.policy.keeps_expiry_in_value(), expired);
        }
    }
}

/// Moves the readings of wall clocks into the past: the clocks themselves always read the same.
struct Older;

impl Numbering for Older {
    fn fence(&mut self, _: Resource, fence: &mut Fence) {
        fence.0 = fence.0.saturating_sub(1);
    }
}
