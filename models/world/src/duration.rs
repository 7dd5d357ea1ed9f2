//! How long a fault lasts that comes to an end: a pause, a partition, a delay.
//!
//! Where the setup gives a greatest duration, a tick waits for the end of a fault that has lasted as long.

use protocol::Ticks;

use crate::message::{Link, Message};
use crate::section::Section;
use crate::setup::{Fault, Setup};
use crate::world::{Running, World};

impl World {
    pub(crate) fn pause(&mut self, setup: &Setup, client: u8) {
        let state = &mut self.clients[client as usize];
        state.running = Running::Paused;
        state.pause_left = setup.longest_pause.map_or(0, |most| most.0 as u8);
    }

    pub(crate) fn resume(&mut self, client: u8) {
        let state = &mut self.clients[client as usize];
        state.running = Running::Yes;
        state.pause_left = 0;
    }

    pub(crate) fn cut_off(&mut self, setup: &Setup, link: Link) {
        self.cut.insert(link);
        if let Some(most) = setup.longest_partition {
            let at = self.rank_of_cut(link);
            self.cut_left.insert(at, most.0 as u8);
        }
    }

    pub(crate) fn heal(&mut self, link: Link) {
        let at = self.rank_of_cut(link);
        self.cut.remove(link);
        if at < self.cut_left.len() {
            self.cut_left.remove(at);
        }
    }

    /// The place of a link among those that are cut.
    fn rank_of_cut(&self, link: Link) -> usize {
        self.cut.iter().take_while(|other| *other < link).count()
    }

    /// Whether a pause or a partition has lasted as long as it can.
    pub(crate) fn must_end_fault(&self, setup: &Setup, section: Section) -> bool {
        match section {
            Section::Client(client) => {
                let client = &self.clients[client as usize];
                setup.longest_pause.is_some() && client.running == Running::Paused && client.pause_left == 0
            }
            Section::Rest => self.cut_left.contains(&0),
            Section::Node(_) => false,
        }
    }
}

impl Setup {
    /// The age at which a message has to arrive; none if it may stay under way for ever.
    pub(crate) fn bound_of(&self, message: &Message) -> Option<u32> {
        if message.delayed {
            self.longest_delay.map(|most| self.latency_greatest.0 + most.0)
        } else {
            Some(self.latency_greatest.0)
        }
    }

    /// The age beyond which nothing depends on how old a message is.
    pub(crate) fn oldest(&self, message: &Message) -> u32 {
        self.bound_of(message).unwrap_or(self.latency_greatest.0)
    }

    /// The greatest age of any message.
    pub(crate) fn greatest_age(&self) -> u32 {
        let delays = self.longest_delay.filter(|_| self.faults.get(Fault::Delay) > 0);
        self.latency_greatest.0 + delays.unwrap_or(Ticks(0)).0
    }
}
