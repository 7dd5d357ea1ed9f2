//! The parts of a step, each of which looks at few sections of the world.

use protocol::Resource;
use smallvec::SmallVec;

use crate::action::{Action, Process};
use crate::event::{Event, Observer};
use crate::message::{Direction, Lane, Site};
use crate::section::{Section, Sections};
use crate::setup::{Fault, Setup};
use crate::world::{Flags, World};

/// A part of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Part {
    /// A unit of the budget is spent.
    Spend(Fault),
    /// What happens where the action takes place.
    Act(Action),
    /// One tick, for everybody or for everybody but one process.
    Tick(Section, Option<Process>),
    /// A section hears that a client has crashed.
    Bereave(Section, u8),
    /// A client's connection to a lock server breaks.
    Break(u8, u8),
    /// What a client has read of an account is no longer what it holds.
    Outdate(u8, Resource),
}

/// The parts of a step, in their order.
pub(crate) type Parts = SmallVec<[Part; 14]>;

impl Part {
    /// The parts of an action.
    pub(crate) fn all_of(setup: &Setup, action: Action) -> Parts {
        let spent = action.fault().filter(|fault| !decides_what_is_kept(*fault));
        let mut parts: Parts = spent.map(Self::Spend).into_iter().collect();
        let clients = 0..setup.clients.len() as u8;
        match action {
            Action::Tick => parts.extend(in_time(setup).map(|section| Self::Tick(section, None))),
            Action::Lag(process) => parts.extend(in_time(setup).map(|section| Self::Tick(section, Some(process)))),
            Action::Crash(client) => {
                parts.push(Self::Act(action));
                let others = Section::all(setup).filter(|section| !matches!(section, Section::Client(_)));
                parts.extend(others.map(|section| Self::Bereave(section, client)));
            }
            Action::Restart(node) => {
                parts.push(Self::Act(action));
                parts.extend(clients.map(|client| Self::Break(client, node)));
            }
            Action::Failover(_) => {
                parts.push(Self::Act(action));
                parts.extend(clients.map(|client| Self::Break(client, 0)));
            }
            Action::Start(_)
            | Action::Wake(_)
            | Action::Deliver(..)
            | Action::Resume(_)
            | Action::Rejoin(_)
            | Action::Heal(_)
            | Action::Replicate(_)
            | Action::Pause(_)
            | Action::Delay(..)
            | Action::Drop(..)
            | Action::Duplicate(..)
            | Action::JumpForward(_)
            | Action::JumpBack(_)
            | Action::Gain(_)
            | Action::Cut(_)
            | Action::Evict(..)
            | Action::EvictCounter(..)
            | Action::Cancel(_)
            | Action::CancelUnsent(_) => parts.push(Self::Act(action)),
        }
        parts
    }

    /// The parts that follow when a client has overwritten an account.
    pub(crate) fn after_write(setup: &Setup, by: Action, account: Resource) -> impl Iterator<Item = Self> + use<> {
        let writer = if let Action::Deliver(lane, _) = by { Some(lane.client) } else { None };
        (0..setup.clients.len() as u8)
            .filter(move |client| Some(*client) != writer)
            .map(move |client| Self::Outdate(client, account))
    }

    /// The sections that the part looks at, as a rule; and those that it looks at where these are not enough.
    pub(crate) fn sections(self, nodes: Sections) -> (Sections, Option<Sections>) {
        let section = match self {
            Self::Spend(_) => Section::Rest,
            Self::Act(action) => return sections_of(action, nodes),
            Self::Tick(section, _) | Self::Bereave(section, _) => section,
            Self::Break(client, _) | Self::Outdate(client, _) => Section::Client(client),
        };
        (Sections::only(section), None)
    }
}

/// Whether on what is left of these faults depends what of disks and replicas is kept: they are spent by whoever still
/// needs what is there.
fn decides_what_is_kept(fault: Fault) -> bool {
    matches!(fault, Fault::Restart | Fault::Failover)
}

/// All sections in the order in which time comes to them: what a server writes to its disk has come to its end before.
fn in_time(setup: &Setup) -> impl Iterator<Item = Section> + use<> {
    let (clients, nodes) = (setup.clients.len() as u8, setup.policy.nodes);
    (0..nodes).map(Section::Node).chain([Section::Rest]).chain((0..clients).map(Section::Client))
}

fn sections_of(action: Action, nodes: Sections) -> (Sections, Option<Sections>) {
    let client = |client| Sections::only(Section::Client(client));
    let node = |node| Sections::only(Section::Node(node));
    let rest = Sections::only(Section::Rest);
    match action {
        // A grant begins when the entry stands on a quorum of the nodes.
        Action::Deliver(Lane { client: from, site: Site::Node(to), direction: Direction::Request }, _) => {
            (client(from).and(node(to)), Some(client(from).and(nodes)))
        }
        Action::Deliver(Lane { client: from, site: Site::Store, direction: Direction::Request }, _) => {
            (client(from).and(rest), None)
        }
        // Who no longer wants a lock ends the subscription on every node that notifies.
        Action::Start(by)
        | Action::Wake(by)
        | Action::Deliver(Lane { client: by, .. }, _)
        | Action::Cancel(by)
        | Action::CancelUnsent(by) => (client(by), Some(client(by).and(nodes))),
        Action::Resume(of)
        | Action::Rejoin(of)
        | Action::Pause(of)
        | Action::Delay(Lane { client: of, .. }, _)
        | Action::Drop(Lane { client: of, .. }, _)
        | Action::Duplicate(Lane { client: of, .. }, _)
        | Action::Crash(of)
        | Action::Gain(Process::Client(of)) => (client(of), None),
        Action::Restart(of) | Action::JumpForward(of) | Action::JumpBack(of) | Action::Gain(Process::Node(of)) => {
            (node(of).and(rest), None)
        }
        Action::Replicate(_) | Action::Failover(_) => (node(0).and(rest), None),
        Action::Evict(of, _) | Action::EvictCounter(of, _) => (node(of), None),
        Action::Heal(_) | Action::Cut(_) | Action::Tick | Action::Lag(_) => (rest, None),
    }
}

impl World {
    /// Carries out an action that [`actions`](Self::actions) listed.
    pub fn apply(&mut self, setup: &Setup, action: Action, observer: &mut impl Observer) {
        let next_grant = self.grant_after_all(setup);
        self.begin_step(next_grant);
        for part in Part::all_of(setup, action) {
            self.carry(setup, part, observer);
        }
        if let Some(account) = self.overwritten.take() {
            for part in Part::after_write(setup, action, account) {
                self.carry(setup, part, observer);
            }
        }
        self.next_grant = 0;
    }

    /// Gets ready for a step: nothing is wrong with it yet.
    pub(crate) fn begin_step(&mut self, next_grant: u8) {
        self.flags = Flags::default();
        self.overwritten = None;
        self.next_grant = next_grant;
    }

    /// Carries out a part of a step.
    pub(crate) fn carry(&mut self, setup: &Setup, part: Part, observer: &mut impl Observer) {
        match part {
            Part::Spend(fault) => self.spend(fault, observer),
            Part::Act(action) => self.act(setup, action, observer),
            Part::Tick(section, lags) => self.tick(setup, section, lags, observer),
            Part::Bereave(section, client) => self.bereave(section, client),
            Part::Break(client, node) => self.break_connection(client, node, observer),
            Part::Outdate(client, account) => self.outdate(setup, client, account, None),
        }
    }

    /// Spends a unit of the budget.
    pub(crate) fn spend(&mut self, fault: Fault, observer: &mut impl Observer) {
        let left = self.faults.get(fault) - 1;
        self.faults.set(fault, left);
        observer.event(Event::Fault(fault));
    }
}
