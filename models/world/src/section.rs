//! The sections of a world: pieces that most steps leave as they are, and do not even look at.

use protocol::MAX_NODES;
use smallvec::SmallVec;

use crate::setup::{MAX_CLIENTS, Setup};
use crate::world::World;

/// A piece of a world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Section {
    /// The resource, the faults that are left, the links that are cut, disks and replicas.
    Rest,
    /// A client, and the messages under way to it and from it.
    Client(u8),
    /// A lock server.
    Node(u8),
}

// Two odd numbers without a pattern: the golden ratio, and the square root of three.
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
const PLACE: u64 = 0xbb67_ae85_84ca_a73b;

/// How many sections a world has at most.
pub(crate) const SECTIONS: usize = FIRST_NODE as usize + MAX_NODES;

const FIRST_CLIENT: u8 = 1;
const FIRST_NODE: u8 = FIRST_CLIENT + MAX_CLIENTS as u8;

impl Section {
    /// All sections of a world of this setup, in the order in which they are packed.
    pub(crate) fn all(setup: &Setup) -> impl Iterator<Item = Self> + use<> {
        let (clients, nodes) = (setup.clients.len() as u8, setup.policy.nodes);
        [Self::Rest].into_iter().chain((0..clients).map(Self::Client)).chain((0..nodes).map(Self::Node))
    }

    /// Its number among all that there can be.
    pub(crate) fn number(self) -> usize {
        usize::from(match self {
            Self::Rest => 0,
            Self::Client(client) => FIRST_CLIENT + client,
            Self::Node(node) => FIRST_NODE + node,
        })
    }

    /// What the hash of its words counts at its place.
    ///
    /// The counts of all sections are added up, so they must not be multiples of the hashes: with those, two sections
    /// that trade their contents can count as much as before. This permutes the numbers, at each place in another way.
    pub(crate) fn at_its_place(self, hash: u64) -> u64 {
        let mixed = (hash ^ (self.number() as u64 + 1).wrapping_mul(PLACE)).wrapping_mul(FACTOR);
        (mixed ^ mixed >> 32).wrapping_mul(PLACE)
    }

    fn numbered(number: u8) -> Self {
        match number {
            0 => Self::Rest,
            FIRST_CLIENT..FIRST_NODE => Self::Client(number - FIRST_CLIENT),
            _ => Self::Node(number - FIRST_NODE),
        }
    }
}

/// A set of sections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Sections(u16);

const _: () = assert!(SECTIONS <= u16::BITS as usize, "every section has its bit");

impl Sections {
    pub(crate) fn nodes(setup: &Setup) -> Self {
        (0..setup.policy.nodes).map(Section::Node).collect()
    }

    pub(crate) fn only(section: Section) -> Self {
        Self(1 << section.number())
    }

    pub(crate) fn with(self, section: Section) -> Self {
        self.and(Self::only(section))
    }

    pub(crate) fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(crate) fn has_all(self, others: Self) -> bool {
        others.0 & !self.0 == 0
    }

    pub(crate) fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    pub(crate) fn iter(self) -> Members {
        Members(self.0)
    }
}

/// The sections that a task may look at, and where among them its outcome is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reach {
    pub(crate) sections: Sections,
    pub(crate) home: Home,
}

/// Where the outcome of a task is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Home {
    /// With the one section that it looks at.
    One(u8),
    /// With the first of two.
    Two(u8, u8),
    /// With none of them: they are too many.
    Apart,
}

impl Reach {
    pub(crate) fn of(sections: Sections) -> Self {
        let numbers: SmallVec<[u8; SECTIONS]> = sections.iter().map(|section| section.number() as u8).collect();
        // Of the rest there are few states: it keeps nothing that others can keep.
        let home = match numbers[..] {
            [only] => Home::One(only),
            [0, other] => Home::Two(other, 0),
            [first, other] => Home::Two(first, other),
            _ => Home::Apart,
        };
        Self { sections, home }
    }
}

impl Reach {
    pub(crate) fn only(section: Section) -> Self {
        Self { sections: Sections::only(section), home: Home::One(section.number() as u8) }
    }

    pub(crate) fn both(home: Section, other: Section) -> Self {
        let sections = Sections::only(home).with(other);
        Self { sections, home: Home::Two(home.number() as u8, other.number() as u8) }
    }

    pub(crate) fn with_rest(section: Section) -> Self {
        if section == Section::Rest { Self::only(section) } else { Self::both(section, Section::Rest) }
    }
}

/// The sections of a set, in their order.
#[derive(Clone)]
pub(crate) struct Members(u16);

impl Iterator for Members {
    type Item = Section;

    #[inline]
    fn next(&mut self) -> Option<Section> {
        let number = (self.0 != 0).then(|| self.0.trailing_zeros() as u8)?;
        self.0 &= self.0 - 1;
        Some(Section::numbered(number))
    }
}

impl FromIterator<Section> for Sections {
    fn from_iter<I: IntoIterator<Item = Section>>(sections: I) -> Self {
        sections.into_iter().fold(Self::default(), Self::with)
    }
}

impl World {
    /// Forgets that anybody has looked at anything.
    pub(crate) fn forget_looks(&mut self) {
        self.clients.iter_mut().for_each(|client| client.forget());
        self.mail.iter_mut().for_each(|mail| mail.forget());
        self.nodes.iter_mut().for_each(|node| node.forget());
        self.saved.forget();
        self.until_sync.forget();
        self.replicas.forget();
        self.accounts.forget();
        self.cut.forget();
        self.cut_left.forget();
        self.faults.forget();
    }

    /// The sections that somebody has looked at since.
    pub(crate) fn looked_at(&self) -> Sections {
        let clients = (0..).zip(self.clients.iter().zip(&self.mail));
        let clients = clients.filter(|(_, (client, mail))| client.is_seen() || mail.is_seen());
        let nodes = (0..).zip(&self.nodes).filter(|(_, node)| node.is_seen());
        let rest = self.saved.is_seen()
            || self.until_sync.is_seen()
            || self.replicas.is_seen()
            || self.accounts.is_seen()
            || self.cut.is_seen()
            || self.cut_left.is_seen()
            || self.faults.is_seen();
        let sections =
            clients.map(|(index, _)| Section::Client(index)).chain(nodes.map(|(index, _)| Section::Node(index)));
        sections.chain(rest.then_some(Section::Rest)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_that_trade_their_contents_count_something_else() {
        let counts = |contents: [u64; 4]| {
            (0..)
                .map(Section::Node)
                .zip(contents)
                .fold(0, |sum: u64, (node, hash)| sum.wrapping_add(node.at_its_place(hash)))
        };
        let (a, b) = (0x1234_5678_9abc_def0, 0x0fed_cba9_8765_4321);
        assert_ne!(counts([a, b, b, a]), counts([b, a, a, b]));
        assert_ne!(counts([a, b, a, b]), counts([b, a, b, a]));
        assert_ne!(counts([a, a, b, b]), counts([b, b, a, a]));
    }
}
