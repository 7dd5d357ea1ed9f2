//! Messages under way.

use protocol::{Command, OnCancel, Place, Reply, Slot, Verb};

use crate::setup::Setup;

/// Where a message goes to or comes from, on the far side of a client: a lock server, or the resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Site {
    /// A lock server.
    Node(u8),
    /// The protected resource.
    Store,
}

impl Site {
    /// The site of a place.
    pub fn of(place: Place) -> Self {
        match place {
            Place::Lock(_, node) => Self::Node(node.0),
            Place::Store => Self::Store,
        }
    }
}

/// Both directions of the connection between a client and a site.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Link {
    /// The client.
    pub client: u8,
    /// The far side.
    pub site: Site,
}

/// The number of the resource among the sites of a client, after those of the lock servers.
const STORE: u8 = 7;

/// How many sites one client is linked to at most.
const SITES: u8 = STORE + 1;

impl Link {
    fn bit(self) -> u32 {
        let site = match self.site {
            Site::Node(node) => node,
            Site::Store => STORE,
        };
        1 << (self.client * SITES + site)
    }
}

/// A set of links.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Links(pub(crate) u32);

impl Links {
    /// Whether the link is in the set.
    pub fn contains(self, link: Link) -> bool {
        self.0 & link.bit() != 0
    }

    pub(crate) fn insert(&mut self, link: Link) {
        self.0 |= link.bit();
    }

    pub(crate) fn remove(&mut self, link: Link) {
        self.0 &= !link.bit();
    }

    /// The links in ascending order.
    pub fn iter(self) -> impl Iterator<Item = Link> {
        (0..u32::BITS as u8).filter(move |bit| self.0 & 1 << bit != 0).map(|bit| {
            let site = bit % SITES;
            Link { client: bit / SITES, site: if site == STORE { Site::Store } else { Site::Node(site) } }
        })
    }
}

const _: () = assert!(protocol::MAX_NODES <= STORE as usize, "a node must not be taken for the resource");
const _: () = assert!(crate::setup::MAX_CLIENTS * SITES as usize <= 32, "every link has its bit");

/// Which way a message travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Direction {
    /// From a client.
    Request,
    /// To a client.
    Reply,
}

/// One direction of the connection between a client and a site.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lane {
    /// The client.
    pub client: u8,
    /// The far side.
    pub site: Site,
    /// Which way.
    pub direction: Direction,
}

impl Lane {
    /// The link that it is a direction of.
    pub fn link(self) -> Link {
        Link { client: self.client, site: self.site }
    }
}

/// Whether a request was sent once, or is one of two that ask the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Sent {
    /// Once; or nothing depends on whether it was sent again.
    #[default]
    Once,
    /// It is a write that was sent again, and the copy is still under way.
    Twice,
    /// It is the copy. It goes its own way, outside the order of its lane, and nobody waits for its answer.
    Again,
}

/// What a message says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Body {
    /// A request.
    Request {
        /// What is asked.
        command: Command,
        /// For a write, which grant it was made under; zero if none. No server sees this.
        grant: u8,
    },
    /// An answer.
    Reply(Reply),
}

/// A message under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Message {
    /// Where it travels.
    pub lane: Lane,
    /// On behalf of which of the client's locks.
    pub slot: Slot,
    /// What it says.
    pub body: Body,
    /// For how many ticks it has been under way, as far as the bounds of the latency tell them apart.
    pub age: u8,
    /// Whether it may stay under way beyond the bound.
    pub delayed: bool,
    /// Whether the client still waits for the answer.
    pub awaited: bool,
    /// Whether its client has crashed since.
    pub bereft: bool,
    /// Whether it was sent once, or is one of two.
    pub sent: Sent,
    /// Its name in a trace. Not part of a state.
    pub tag: u32,
}

impl Message {
    /// The place of the operation that the message belongs to.
    pub fn place(&self) -> Place {
        match self.lane.site {
            Site::Node(node) => Place::Lock(self.slot, protocol::NodeId(node)),
            Site::Store => Place::Store,
        }
    }

    /// Whether it tells its client that a lock was given back, unasked.
    pub fn is_notification(&self) -> bool {
        self.body == Body::Reply(Reply::Freed)
    }

    /// Whether it is a request that a client has not sent yet when its caller gives up: what is done in the background
    /// goes on.
    pub(crate) fn is_withdrawn_by(&self, setup: &Setup, client: u8) -> bool {
        let in_background = setup.policy.on_cancel == OnCancel::CleansUp && self.verb().is_some_and(releases);
        self.lane.client == client && self.is_request() && self.awaited && !in_background
    }

    /// Whether it was sent again by the client library.
    pub fn is_copy(&self) -> bool {
        self.sent == Sent::Again
    }

    /// The verb, if this is a request to a lock server.
    pub fn verb(&self) -> Option<Verb> {
        match self.body {
            Body::Request { command: Command::Lock { verb, .. }, .. } => Some(verb),
            Body::Request { command: Command::Read { .. } | Command::Check { .. } | Command::Write { .. }, .. }
            | Body::Reply(_) => None,
        }
    }
}

/// Whether a command gives a lock back, or is part of doing so.
pub(crate) fn releases(verb: Verb) -> bool {
    match verb {
        Verb::Get | Verb::Del | Verb::CompareAndDelete | Verb::Exit => true,
        Verb::SetNxPx
        | Verb::Setnx
        | Verb::SetXxPx
        | Verb::SetPx
        | Verb::Pexpire
        | Verb::Limit
        | Verb::CompareAndExtend
        | Verb::Incr
        | Verb::Look
        | Verb::Claim
        | Verb::Clear
        | Verb::GetSet
        | Verb::ExtendOrCreate
        | Verb::Enter
        | Verb::Subscribe
        | Verb::Wait => false,
    }
}

/// Whether a command asks for a lock, and is refused if somebody has it.
pub(crate) fn acquires(verb: Verb) -> bool {
    match verb {
        Verb::SetNxPx | Verb::Setnx | Verb::Look | Verb::GetSet | Verb::Enter => true,
        Verb::SetXxPx
        | Verb::SetPx
        | Verb::Pexpire
        | Verb::Limit
        | Verb::CompareAndExtend
        | Verb::Incr
        | Verb::Get
        | Verb::Del
        | Verb::CompareAndDelete
        | Verb::Claim
        | Verb::Clear
        | Verb::ExtendOrCreate
        | Verb::Exit
        | Verb::Subscribe
        | Verb::Wait => false,
    }
}
