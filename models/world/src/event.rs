//! What happens within a step, for whoever wants to tell of it.

use protocol::{Command, Notice, Reply, Resource, Slot, Verb};

use crate::message::Site;
use crate::server::Acquisition;
use crate::setup::Fault;

/// Something that happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A client sent a request.
    Sent {
        /// The client.
        client: u8,
        /// To where.
        site: Site,
        /// On behalf of which lock.
        slot: Slot,
        /// The name of the message.
        tag: u32,
        /// What it asks.
        command: Command,
    },
    /// A client could not send a request: an earlier one is stuck on the connection.
    Unsent {
        /// The client.
        client: u8,
        /// To where.
        site: Site,
        /// What it would have asked.
        command: Command,
    },
    /// A server carried out a request.
    Served {
        /// Whose request.
        client: u8,
        /// Where.
        site: Site,
        /// On behalf of which lock.
        slot: Slot,
        /// The name of the request.
        tag: u32,
        /// What was asked.
        command: Command,
        /// What came of it.
        reply: Reply,
        /// The name of the reply, if anybody waits for it.
        answer: Option<u32>,
    },
    /// An answer reached its client.
    Answered {
        /// The client.
        client: u8,
        /// From where.
        site: Site,
        /// The name of the message.
        tag: u32,
        /// What it says.
        reply: Reply,
    },
    /// A message was lost.
    Lost {
        /// The name of the message.
        tag: u32,
    },
    /// A message is delayed.
    Delayed {
        /// The name of the message.
        tag: u32,
    },
    /// A request was sent again.
    Duplicated {
        /// The name of the message.
        tag: u32,
        /// The name of the copy.
        copy: u32,
    },
    /// A reply that nobody waits for any more was dropped from the world.
    Ignored {
        /// The name of the message.
        tag: u32,
    },
    /// A lock server tells a subscriber that a lock was given back.
    Published {
        /// Which server.
        node: u8,
        /// To whom.
        client: u8,
        /// On behalf of which of its locks.
        slot: Slot,
        /// The name of the message.
        tag: u32,
    },
    /// A core told its user something.
    Told {
        /// The client.
        client: u8,
        /// What.
        notice: Notice,
    },
    /// A client asked a node for a lock that another client's entry stood in the way of.
    Blocked {
        /// Who asked.
        client: u8,
        /// Whose entry it was.
        by: Acquisition,
    },
    /// A client turned down what the servers had granted, because it came too late.
    TurnedDown {
        /// Who.
        client: u8,
    },
    /// The resource accepted a write.
    Accepted {
        /// Whose.
        client: u8,
        /// Whether it was not the first of its update.
        again: bool,
    },
    /// A quorum of nodes came to hold the entry of an acquisition.
    Granted {
        /// To whom.
        to: Acquisition,
        /// Which lock.
        resource: Resource,
    },
    /// An entry reached the end of its life.
    Expired {
        /// Where.
        node: u8,
        /// Which lock.
        resource: Resource,
        /// Whose it was.
        by: Acquisition,
    },
    /// A clocked holder's deadline passed.
    Lapsed {
        /// Who.
        client: u8,
    },
    /// A fault happened.
    Fault(Fault),
}

/// Who hears of events.
pub trait Observer {
    /// Takes one event.
    fn event(&mut self, event: Event);
}

/// Things that must have happened somewhere if "holds" is to mean anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Witness {
    /// A lock was acquired.
    Acquired,
    /// A client was refused a lock that another client's entry stood in the way of.
    Contended,
    /// A lease came to its end, on a server or on its holder's clock.
    DeadlineReached,
    /// A client turned down what the servers had granted, because it came too late.
    Refused,
    /// A second write of one update was accepted.
    SecondWriteAccepted,
    /// A holder heard that its lock is lost.
    Lost,
    /// A renewal took effect.
    Renewed,
    /// A client was told that the lock it waits for was given back.
    Notified,
}

impl Witness {
    /// Its bit in a set of witnesses.
    pub fn bit(self) -> u64 {
        1 << self as u8
    }
}

/// The bit of a kind of fault in a set of witnesses: it happened.
pub fn fault_bit(fault: Fault) -> u64 {
    1 << (32 + fault as u8)
}

/// An observer that keeps only which witnesses it saw.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Witnesses(pub u64);

impl Observer for Witnesses {
    fn event(&mut self, event: Event) {
        let seen = match event {
            Event::Told { notice: Notice::Acquired { .. }, .. } => Witness::Acquired,
            Event::Told { notice: Notice::Lost, .. } => Witness::Lost,
            Event::Blocked { .. } => Witness::Contended,
            Event::Expired { .. } | Event::Lapsed { .. } => Witness::DeadlineReached,
            Event::TurnedDown { .. } => Witness::Refused,
            Event::Answered { reply: Reply::Freed, .. } => Witness::Notified,
            Event::Accepted { again: true, .. } => Witness::SecondWriteAccepted,
            Event::Served { command: Command::Lock { verb, .. }, reply: Reply::Done, .. } if renews(verb) => {
                Witness::Renewed
            }
            Event::Fault(fault) => {
                self.0 |= fault_bit(fault);
                return;
            }
            Event::Sent { .. }
            | Event::Unsent { .. }
            | Event::Served { .. }
            | Event::Answered { .. }
            | Event::Lost { .. }
            | Event::Delayed { .. }
            | Event::Duplicated { .. }
            | Event::Ignored { .. }
            | Event::Published { .. }
            | Event::Told { .. }
            | Event::Accepted { .. }
            | Event::Granted { .. } => return,
        };
        self.0 |= seen.bit();
    }
}

fn renews(verb: Verb) -> bool {
    match verb {
        Verb::SetXxPx | Verb::SetPx | Verb::Pexpire | Verb::CompareAndExtend | Verb::ExtendOrCreate => true,
        Verb::SetNxPx
        | Verb::Setnx
        | Verb::Get
        | Verb::Del
        | Verb::CompareAndDelete
        | Verb::Incr
        | Verb::Look
        | Verb::Claim
        | Verb::Clear
        | Verb::GetSet
        | Verb::Enter
        | Verb::Exit
        | Verb::Subscribe
        | Verb::Wait
        | Verb::Limit => false,
    }
}
