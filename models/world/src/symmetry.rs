//! Which processes can trade places, and the one world that stands for all that differ in nothing else.
//!
//! A permutation of clients that take the same locks, and of lock servers that nobody tells apart, turns every run of a
//! world into another run of the same world; all properties are about "two clients" or "a quorum", never about a certain
//! one. So a search may visit one world of each such class (C. N. Ip and D. L. Dill, "Better Verification Through
//! Symmetry"). The classes are bisimilar to the worlds, step by step and fault by fault, so that what is always still
//! possible in the one graph is always still possible in the other (E. M. Clarke, R. Enders, T. Filkorn and S. Jha,
//! "Exploiting Symmetry in Temporal Logic Model Checking").

use core::hash::{Hash, Hasher};

use alloc::vec::Vec;
use protocol::{Fence, Fencing, MAX_NODES, NodeId, Nodes, Seen, Tape, Time, Token, Visit};
use smallvec::SmallVec;

use crate::message::{Lane, Link, Links, Site};
use crate::mix::Mix;
use crate::server::Memory;
use crate::setup::{MAX_CLIENTS, Setup};
use crate::world::World;

/// Which processes of a setup can trade places.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symmetry {
    /// For each client the first one that it can trade places with.
    clients: SmallVec<[u8; MAX_CLIENTS]>,
    /// The same for the lock servers.
    nodes: SmallVec<[u8; MAX_NODES]>,
    /// Every order of the clients that keeps each in a place of its kind.
    orders: Vec<Places>,
}

/// For each place the process that comes to stand there.
type Places = SmallVec<[u8; 8]>;

impl Symmetry {
    /// The symmetry of a setup.
    pub fn of(setup: &Setup) -> Self {
        let same_clock = setup.offset.0 == 0;
        let clients = classes(setup.clients.len(), |a, b| same_clock && setup.clients[a] == setup.clients[b]);
        // Who asks one server after another begins with the first; it is also the one that counts and that notifies.
        let in_order = setup.policy.visit == Visit::InOrder;
        let counts = matches!(setup.policy.fencing, Fencing::IncrBefore | Fencing::IncrAfter);
        let is_first_special = in_order || counts || setup.policy.is_notified();
        let nodes = classes(setup.policy.nodes.into(), |_, _| !is_first_special);
        let orders = orders(&clients);
        Self { clients, nodes, orders }
    }

    /// Whether no process can trade places with any other.
    pub fn is_trivial(&self) -> bool {
        largest(&self.clients) == 1 && largest(&self.nodes) == 1
    }

    /// How many clients of the largest kind can trade places.
    pub fn clients(&self) -> u8 {
        largest(&self.clients)
    }

    /// How many lock servers of the largest kind can trade places.
    pub fn nodes(&self) -> u8 {
        largest(&self.nodes)
    }

    /// The exchanges of two neighbours, which generate all others.
    pub fn exchanges(&self) -> impl Iterator<Item = Permutation> {
        let neighbours = |classes: &[u8]| -> Vec<usize> {
            (1..classes.len()).filter(|at| classes[*at] == classes[at - 1]).collect()
        };
        let clients = neighbours(&self.clients).into_iter().map(|at| {
            let mut exchange = self.identity();
            exchange.clients.swap(at - 1, at);
            exchange
        });
        let nodes = neighbours(&self.nodes).into_iter().map(|at| {
            let mut exchange = self.identity();
            exchange.nodes.swap(at - 1, at);
            exchange
        });
        clients.chain(nodes)
    }

    fn identity(&self) -> Permutation {
        let count = |classes: &[u8]| (0..classes.len() as u8).collect();
        Permutation { clients: count(&self.clients), nodes: count(&self.nodes) }
    }
}

/// New places for clients and lock servers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Permutation {
    /// For each place the client that comes to stand there.
    clients: Places,
    /// The same for the lock servers.
    nodes: Places,
}

impl Permutation {
    fn is_identity(&self) -> bool {
        let stays = |places: &[u8]| (0..).zip(places).all(|(at, from)| at == *from);
        stays(&self.clients) && stays(&self.nodes)
    }
}

/// For each of `count` processes the first one of its kind.
fn classes<A: smallvec::Array<Item = u8>>(count: usize, same: impl Fn(usize, usize) -> bool) -> SmallVec<A> {
    (0..count).map(|of| (0..of).find(|first| same(*first, of)).unwrap_or(of) as u8).collect()
}

fn largest(classes: &[u8]) -> u8 {
    classes.iter().map(|class| classes.iter().filter(|other| *other == class).count()).max().unwrap_or(1) as u8
}

/// Every order in which each process stands in a place of its kind.
fn orders(classes: &[u8]) -> Vec<Places> {
    let mut orders = alloc::vec![Places::new()];
    for class in classes {
        let fits = |order: &Places, who: u8| !order.contains(&who) && classes[who as usize] == *class;
        orders = orders
            .iter()
            .flat_map(|order| {
                let next = (0..classes.len() as u8).filter(|who| fits(order, *who));
                next.map(|who| order.iter().copied().chain([who]).collect())
            })
            .collect();
    }
    orders
}

impl World {
    /// Gives processes new places.
    pub fn permute(&mut self, setup: &Setup, to: &Permutation) {
        let (client, node) = (inverse(&to.clients), inverse(&to.nodes));
        let (clients, mail) = (self.clients.clone(), self.mail.clone());
        for (place, from) in to.clients.iter().enumerate() {
            self.clients[place] = clients[*from as usize].clone();
            self.mail[place] = mail[*from as usize].clone();
        }
        let mut rename = Rename(&node);
        for index in 0..self.clients.len() as u8 {
            self.clients[index as usize].worker.fold(&Self::config(setup, index), &mut rename);
        }
        let before = self.nodes.clone();
        for (place, from) in to.nodes.iter().enumerate() {
            self.nodes[place] = before[*from as usize].clone();
        }
        if !self.saved.is_empty() {
            let before: SmallVec<[Memory; 3]> = SmallVec::from_slice(&self.saved);
            for (place, from) in to.nodes.iter().enumerate() {
                self.saved[place] = before[*from as usize];
            }
        }
        for entry in self.memories().flat_map(|memory| &mut memory.entries).flatten() {
            entry.by.client = client[entry.by.client as usize];
        }
        for subscribers in self.nodes.iter_mut().flat_map(|node| &mut node.subscribers) {
            let set = (0..8).filter(|bit| *subscribers & 1 << bit != 0);
            *subscribers = set.fold(0, |all, bit| all | 1 << client[bit]);
        }
        let site = |site| match site {
            Site::Node(at) => Site::Node(node[at as usize]),
            Site::Store => Site::Store,
        };
        self.permute_cuts(|link| Link { client: client[link.client as usize], site: site(link.site) });
        for (place, mail) in (0..).zip(self.mail.iter_mut()) {
            for message in mail.iter_mut() {
                message.lane = Lane { client: place, site: site(message.lane.site), ..message.lane };
            }
            // A stable sort: in a lane with an order the messages keep it.
            mail.sort_by_key(|message| message.lane);
        }
        (0..self.mail.len() as u8).for_each(|client| self.sort_lanes(setup, client));
    }

    fn permute_cuts(&mut self, moved: impl Fn(Link) -> Link) {
        let mut cuts: SmallVec<[(Link, Option<u8>); 4]> =
            self.cut_links().map(|(link, left)| (moved(link), left)).collect();
        cuts.sort_unstable();
        *self.cut = Links::default();
        cuts.iter().for_each(|(link, _)| self.cut.insert(*link));
        *self.cut_left = cuts.iter().filter_map(|(_, left)| *left).collect();
    }

    /// The links that are cut, and for how many ticks more each can stay so, where anything depends on it.
    fn cut_links(&self) -> impl Iterator<Item = (Link, Option<u8>)> {
        self.cut.iter().enumerate().map(|(at, link)| (link, self.cut_left.get(at).copied()))
    }

    /// Becomes the world that stands for all that it is the same as but for the places of processes, if it is not that
    /// one already; whether it changed. It has to be [canonical](Self::canonicalise), and stays so.
    pub fn represent(&mut self, setup: &Setup, symmetry: &Symmetry) -> bool {
        let mut rivals = self.client_orders(setup, symmetry).map(|clients| {
            let nodes = self.node_order(setup, symmetry, &clients);
            Permutation { clients, nodes }
        });
        let Some(mut best) = rivals.next() else { return false };
        let others: SmallVec<[Permutation; 1]> = rivals.collect();
        if !others.is_empty() {
            let packed = |to: &Permutation| {
                let mut world = self.clone();
                world.permute(setup, to);
                world.pack(setup)
            };
            let mut least = packed(&best);
            for other in others {
                let this = packed(&other);
                if this < least {
                    (best, least) = (other, this);
                }
            }
        }
        if best.is_identity() {
            return false;
        }
        self.permute(setup, &best);
        true
    }

    /// The orders of the clients in which, of those that can trade places, none stands before one with a lesser key.
    fn client_orders<'a>(&self, setup: &Setup, symmetry: &'a Symmetry) -> impl Iterator<Item = Places> + use<'a> {
        let keys = if symmetry.orders.len() > 1 { self.client_keys(setup) } else { [0; MAX_CLIENTS] };
        let is_sorted = move |order: &&'a Places| {
            let sorted = |at: usize| {
                let (before, here) = (order[at - 1] as usize, order[at] as usize);
                symmetry.clients[before] != symmetry.clients[here] || keys[before] <= keys[here]
            };
            (1..order.len()).all(sorted)
        };
        symmetry.orders.iter().filter(is_sorted).cloned()
    }

    /// What tells clients apart whatever the places of the lock servers.
    fn client_keys(&self, setup: &Setup) -> [u64; MAX_CLIENTS] {
        let mut keys = [0; MAX_CLIENTS];
        for (index, client) in (0..).zip(&self.clients) {
            let mut count = Count(Mix::default());
            (client.running, client.pause_left, client.grants).hash(&mut count.0);
            let mut worker = client.worker;
            worker.fold(&Self::config(setup, index), &mut count);
            keys[index as usize] = count.0.finish();
        }
        for message in self.messages() {
            let is_store = message.lane.site == Site::Store;
            let about = (is_store, message.lane.direction, message.slot, message.body, message.age);
            let key = Mix::of(&(about, message.delayed, message.awaited, message.sent));
            let sum = &mut keys[message.lane.client as usize];
            *sum = sum.wrapping_add(key);
        }
        keys
    }

    /// The order of the lock servers that belongs to an order of the clients.
    fn node_order(&self, setup: &Setup, symmetry: &Symmetry, clients: &Places) -> Places {
        let mut order: Places = (0..symmetry.nodes.len() as u8).collect();
        if largest(&symmetry.nodes) > 1 {
            let keys = self.node_keys(setup, clients);
            order.sort_by_key(|node| (symmetry.nodes[*node as usize], keys[*node as usize]));
        }
        order
    }

    /// What tells lock servers apart, given the places of the clients.
    fn node_keys(&self, setup: &Setup, clients: &Places) -> [u64; MAX_NODES] {
        let place = inverse(clients);
        let mut keys = [Mix::default(); MAX_NODES];
        let mut membership = Membership(&mut keys[..self.nodes.len()]);
        for from in clients {
            let mut worker = self.clients[*from as usize].worker;
            worker.fold(&Self::config(setup, *from), &mut membership);
        }
        let note = |key: &mut Mix, memory: &Memory| {
            for entry in &memory.entries[..setup.resources as usize] {
                let Some(entry) = entry else {
                    key.write_u64(0);
                    continue;
                };
                let by = entry.by;
                (place[by.client as usize], by.slot, by.token, by.bereft, entry.left, entry.holds).hash(key);
            }
            memory.counters[..setup.resources as usize].hash(key);
        };
        for (index, node) in self.nodes.iter().enumerate() {
            note(&mut keys[index], &node.memory);
            for client in clients {
                let subscribed = node.subscribers.map(|set| set & 1 << client != 0);
                subscribed.hash(&mut keys[index]);
            }
            node.down.hash(&mut keys[index]);
        }
        for (index, memory) in self.saved.iter().enumerate() {
            note(&mut keys[index], memory);
        }
        for (link, left) in self.cut_links() {
            if let Site::Node(node) = link.site {
                let sum = &mut keys[node as usize].0;
                *sum = sum.wrapping_add(Mix::of(&(place[link.client as usize], left)));
            }
        }
        self.note_lanes(&place, &mut keys);
        keys.map(|key| key.finish())
    }

    /// Adds to the key of each lock server what is under way to it and from it.
    fn note_lanes(&self, place: &Places, keys: &mut [Mix; MAX_NODES]) {
        let mut messages = self.messages().peekable();
        while let Some(lane) = messages.peek().map(|first| first.lane) {
            let mut key = Mix::default();
            (place[lane.client as usize], lane.direction).hash(&mut key);
            while let Some(message) = messages.next_if(|message| message.lane == lane) {
                let flags = (message.delayed, message.awaited, message.bereft, message.sent);
                (message.slot, message.body, message.age, flags).hash(&mut key);
            }
            // Lanes are added up, because the clients trade places.
            if let Site::Node(node) = lane.site {
                let sum = &mut keys[node as usize].0;
                *sum = sum.wrapping_add(key.finish());
            }
        }
    }
}

/// Of each process the place where it comes to stand.
fn inverse(places: &Places) -> Places {
    let mut inverse = places.clone();
    for (place, from) in (0..).zip(places) {
        inverse[*from as usize] = place;
    }
    inverse
}

/// Renames the lock servers in the state of a core.
struct Rename<'a>(&'a Places);

impl Tape for Rename<'_> {
    fn number(&mut self, _: &mut u32, _: u32) {}

    fn time(&mut self, _: &mut Time) {}

    fn nodes(&mut self, value: &mut Nodes) {
        let mut renamed = Nodes::NONE;
        value.iter().for_each(|node| renamed.insert(NodeId(self.0[node.0 as usize])));
        *value = renamed;
    }

    fn token(&mut self, _: &mut Token) {}

    fn fence(&mut self, _: &mut Fence) {}

    fn seen(&mut self, _: &mut Seen) {}
}

/// Notes for each lock server in which sets of a core it is.
struct Membership<'a>(&'a mut [Mix]);

impl Tape for Membership<'_> {
    fn number(&mut self, _: &mut u32, _: u32) {}

    fn time(&mut self, _: &mut Time) {}

    fn nodes(&mut self, value: &mut Nodes) {
        for (node, key) in (0..).zip(&mut *self.0) {
            key.write_u64(value.contains(NodeId(node)).into());
        }
    }

    fn token(&mut self, _: &mut Token) {}

    fn fence(&mut self, _: &mut Fence) {}

    fn seen(&mut self, _: &mut Seen) {}
}

/// Notes the state of a core, and of each set of lock servers only how many they are.
struct Count(Mix);

impl Tape for Count {
    fn number(&mut self, value: &mut u32, _: u32) {
        self.0.write_u64((*value).into());
    }

    fn time(&mut self, value: &mut Time) {
        self.0.write_u64(value.0.into());
    }

    fn nodes(&mut self, value: &mut Nodes) {
        self.0.write_u64(value.len().into());
    }

    fn token(&mut self, value: &mut Token) {
        self.0.write_u64(value.0.into());
    }

    fn fence(&mut self, value: &mut Fence) {
        self.0.write_u64(value.0.into());
    }

    fn seen(&mut self, value: &mut Seen) {
        self.0.write_u64(value.0.into());
    }
}
