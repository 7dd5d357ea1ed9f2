//! A small Redlock in one machine word, for comparing searches and nothing else.
//!
//! What costs time in a check of the real world is mostly the world. Here a step is a few shifts, so that what is
//! measured is the search itself; and the model is small enough to be written again for other checkers, state by state.
//!
//! # What it says
//!
//! There are `clients` clients, `nodes` lock servers, leases of `ttl` ticks, and `restarts` restarts that may happen. A
//! quorum is `nodes / 2 + 1` servers. A state is
//!
//! * for each client `c`: `phase[c]`, one of *idle*, *asking*, *holding*, and `left[c]` in `0..=ttl`, the ticks until its
//!   lock ends by its own clock;
//! * for each client `c` and node `n`: `link[c][n]`, one of *quiet*; *ask*, a request on its way; *yes* and *no*, an
//!   answer on its way; *granted* and *denied*, an answer that was heard; *free*, a release on its way, which is not
//!   answered;
//! * for each node `n`: `owner[n]`, a client or nobody, and `life[n]` in `0..=ttl`, the ticks until the entry expires;
//! * `restarts`, those that are left.
//!
//! In the beginning everybody is idle, every link quiet, no node has an owner, `left` and `life` are 0. A step is one of
//! these, each whole and in one go:
//!
//! * **start** `c`, if it is idle and all its links are quiet: it is asking, `left[c] = ttl`, all its links are *ask*.
//! * **serve** `(c, n)`, if `link[c][n]` is *ask*: if the node has no owner, `owner[n] = c`, `life[n] = ttl`, and the link
//!   is *yes*; otherwise it is *no*. If `link[c][n]` is *free*: if `owner[n]` is `c`, the node has no owner and
//!   `life[n] = 0`; the link is *quiet*.
//! * **hear** `(c, n)`, if `link[c][n]` is *yes* or *no*: it is *granted* or *denied*. If that was the last answer (no link
//!   of `c` is *ask*, *yes* or *no* any more): if at least a quorum of its links are *granted* and `left[c] > 0`, it is
//!   holding; otherwise it gives up, that is, it does what a client does that leaves.
//! * **leave** `c`, if it is holding: it is idle, `left[c] = 0`, and all its links are *free*.
//! * **tick**, if some `left` or `life` is above 0: each `left` and `life` above 0 is one less; a node whose `life` has
//!   become 0 has no owner.
//! * **restart** `n`, if `restarts > 0` and the node has an owner: it has none, `life[n] = 0`, one restart less is left.
//!
//! `mutual-exclusion`: at most one client is holding with `left > 0`. It holds without restarts, since an entry is never
//! gone before the lock of its client has ended, and breaks with one.
//!
//! Messages take any time, and clients any time to act, so ticks and steps interleave freely. Clients go on for ever, so
//! there is no deadlock and no end.

use check::explore::{Expand, Label, Sink, Successor, fingerprint};

/// What the model is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Small {
    clients: u32,
    nodes: u32,
    ttl: u64,
    restarts: u64,
    /// The lowest bit of each client's phase.
    phases: u64,
    /// The lowest bit of each node's owner.
    owners: u64,
    /// The lowest bit of each link.
    links: u64,
}

/// A state, packed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct State(u64);

/// A step, in the order in which steps are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A client asks all nodes.
    Start(u32),
    /// A node takes in a client's message.
    Serve(u32, u32),
    /// A client takes in a node's answer.
    Hear(u32, u32),
    /// A holder releases.
    Leave(u32),
    /// Time passes.
    Tick,
    /// A node forgets.
    Restart(u32),
}

// How it is packed, from the lowest bit: for each client its phase and what is left of its lock, for each node its owner
// and the life of its entry, the links, the restarts. Most of what a step does it does to all fields of a kind at once.

const LINK_BITS: u32 = 3;
/// Of phases, owners, numbers of ticks and restarts.
const FIELD_BITS: u32 = 2;
const MOST: u64 = (1 << FIELD_BITS) - 1;

// A client that holds is the only one whose phase has the upper bit.
const IDLE: u64 = 0b00;
const ASKING: u64 = 0b01;
const HOLDING: u64 = 0b10;

// Where anything but a release is on its way, the third bit is not set and one of the others is. Answers have the second.
const ASK: u64 = 0b001;
const YES: u64 = 0b010;
const NO: u64 = 0b011;
const GRANTED: u64 = 0b100;
const DENIED: u64 = 0b101;
const FREE: u64 = 0b110;
const QUIET: u64 = 0b000;

/// The greatest number of clients, which also have to fit beside nobody as owners.
pub const MAX_CLIENTS: u32 = MOST as u32;

impl Small {
    /// The model of these sizes.
    ///
    /// # Panics
    ///
    /// If a state of that size does not fit into 64 bits, or a number not into its field: at most 3 clients, ticks and
    /// restarts.
    #[must_use]
    pub fn new(clients: u32, nodes: u32, ttl: u64, restarts: u64) -> Self {
        assert!((1..=MAX_CLIENTS).contains(&clients) && (1..=MOST).contains(&ttl) && restarts <= MOST);
        let bits = 2 * FIELD_BITS * (clients + nodes) + LINK_BITS * clients * nodes + FIELD_BITS;
        assert!(nodes >= 1 && bits <= u64::BITS, "a state takes {bits} bits, more than 64");
        let mut model = Self { clients, nodes, ttl, restarts, phases: 0, owners: 0, links: 0 };
        model.phases = (0..clients).fold(0, |all, client| all | 1 << model.phase_at(client));
        model.owners = (0..nodes).fold(0, |all, node| all | 1 << model.owner_at(node));
        model.links = (0..clients * nodes).fold(0, |all, link| all | 1 << (model.link_at(0, 0) + LINK_BITS * link));
        model
    }

    /// The first state.
    #[must_use]
    pub fn initial(&self) -> State {
        let mut state = State::default();
        state.put(self.restarts_at(), FIELD_BITS, self.restarts);
        state
    }

    /// Lists the steps that are possible, in their order.
    #[inline]
    pub fn steps(&self, state: State, mut step: impl FnMut(Step)) {
        for client in 0..self.clients {
            if state.field(self.phase_at(client)) == IDLE && state.0 & self.links_of(client) == 0 {
                step(Step::Start(client));
            }
        }
        let (low, middle, high) = self.link_bits(state);
        let asks = low & !middle & !high;
        let frees = !low & middle & high;
        self.each_link(asks | frees, |client, node| step(Step::Serve(client, node)));
        self.each_link(middle & !high, |client, node| step(Step::Hear(client, node)));
        for client in 0..self.clients {
            if state.field(self.phase_at(client)) == HOLDING {
                step(Step::Leave(client));
            }
        }
        if self.running(state) != 0 {
            step(Step::Tick);
        }
        if state.field(self.restarts_at()) > 0 {
            let owned = |node: &u32| state.field(self.owner_at(*node)) > 0;
            (0..self.nodes).filter(owned).for_each(|node| step(Step::Restart(node)));
        }
    }

    /// Where a step leads.
    #[inline]
    #[must_use]
    pub fn after(&self, mut state: State, step: Step) -> State {
        match step {
            Step::Start(client) => {
                state.put(self.phase_at(client), FIELD_BITS, ASKING);
                state.put(self.left_at(client), FIELD_BITS, self.ttl);
                self.put_links(&mut state, client, ASK);
            }
            Step::Serve(client, node) => self.serve(&mut state, client, node),
            Step::Hear(client, node) => self.hear(&mut state, client, node),
            Step::Leave(client) => self.leave(&mut state, client),
            Step::Tick => self.tick(&mut state),
            Step::Restart(node) => {
                self.clear(&mut state, node);
                state.put(self.restarts_at(), FIELD_BITS, state.field(self.restarts_at()) - 1);
            }
        }
        state
    }

    /// Whether at most one client holds the lock.
    #[inline]
    #[must_use]
    pub fn is_exclusive(&self, state: State) -> bool {
        let holds = (state.0 >> 1) & (state.0 >> 2 | state.0 >> 3) & self.phases;
        holds & holds.wrapping_sub(1) == 0
    }

    #[inline]
    fn serve(&self, state: &mut State, client: u32, node: u32) {
        let (at, owner) = (self.link_at(client, node), state.field(self.owner_at(node)));
        let me = u64::from(client) + 1;
        let answer = match (state.get(at, LINK_BITS), owner) {
            (ASK, 0) => {
                state.put(self.owner_at(node), FIELD_BITS, me);
                state.put(self.life_at(node), FIELD_BITS, self.ttl);
                YES
            }
            (ASK, _) => NO,
            (_, owner) => {
                if owner == me {
                    self.clear(state, node);
                }
                QUIET
            }
        };
        state.put(at, LINK_BITS, answer);
    }

    #[inline]
    fn hear(&self, state: &mut State, client: u32, node: u32) {
        let at = self.link_at(client, node);
        let heard = if state.get(at, LINK_BITS) == YES { GRANTED } else { DENIED };
        state.put(at, LINK_BITS, heard);
        let (low, middle, high) = self.link_bits(*state);
        let own = self.links_of(client);
        if (low | middle) & !high & own != 0 {
            return;
        }
        let granted = (high & !low & own).count_ones();
        if granted > self.nodes / 2 && state.field(self.left_at(client)) > 0 {
            state.put(self.phase_at(client), FIELD_BITS, HOLDING);
        } else {
            self.leave(state, client);
        }
    }

    #[inline]
    fn leave(&self, state: &mut State, client: u32) {
        state.put(self.phase_at(client), FIELD_BITS, IDLE);
        state.put(self.left_at(client), FIELD_BITS, 0);
        self.put_links(state, client, FREE);
    }

    #[inline]
    fn tick(&self, state: &mut State) {
        state.0 -= self.running(*state);
        let dead = self.owners & !(state.0 >> 2 | state.0 >> 3);
        state.0 &= !(dead * MOST);
    }

    #[inline]
    fn clear(&self, state: &mut State, node: u32) {
        state.put(self.owner_at(node), 2 * FIELD_BITS, 0);
    }

    /// The lowest bit of each `left` and `life` that is above 0.
    #[inline]
    const fn running(&self, state: State) -> u64 {
        let clocks = (self.phases | self.owners) << FIELD_BITS;
        (state.0 | state.0 >> 1) & clocks
    }

    /// The bits of every link, each at its lowest.
    #[inline]
    const fn link_bits(&self, state: State) -> (u64, u64, u64) {
        (state.0 & self.links, state.0 >> 1 & self.links, state.0 >> 2 & self.links)
    }

    /// All bits of the links of a client.
    #[inline]
    const fn links_of(&self, client: u32) -> u64 {
        ((1 << (LINK_BITS * self.nodes)) - 1) << self.link_at(client, 0)
    }

    #[inline]
    fn put_links(&self, state: &mut State, client: u32, link: u64) {
        let own = self.links_of(client);
        state.0 = state.0 & !own | ((self.links & own) * link);
    }

    /// Calls `each` for the links whose lowest bits are given, in the order of clients and nodes.
    #[inline]
    fn each_link(&self, mut lowest: u64, mut each: impl FnMut(u32, u32)) {
        while lowest != 0 {
            let link = (lowest.trailing_zeros() - self.link_at(0, 0)) / LINK_BITS;
            // A division by what is no constant is slower than all of the rest.
            let client = (1..self.clients).filter(|client| link >= client * self.nodes).count() as u32;
            each(client, link - client * self.nodes);
            lowest &= lowest - 1;
        }
    }

    // Where each field begins: phases and deadlines, owners and lives, links, restarts.

    #[inline]
    const fn phase_at(&self, client: u32) -> u32 {
        2 * FIELD_BITS * client
    }

    #[inline]
    const fn left_at(&self, client: u32) -> u32 {
        self.phase_at(client) + FIELD_BITS
    }

    #[inline]
    const fn owner_at(&self, node: u32) -> u32 {
        2 * FIELD_BITS * (self.clients + node)
    }

    #[inline]
    const fn life_at(&self, node: u32) -> u32 {
        self.owner_at(node) + FIELD_BITS
    }

    #[inline]
    const fn link_at(&self, client: u32, node: u32) -> u32 {
        self.owner_at(self.nodes) + LINK_BITS * (client * self.nodes + node)
    }

    #[inline]
    const fn restarts_at(&self) -> u32 {
        self.link_at(self.clients, 0)
    }
}

impl State {
    #[inline]
    const fn get(self, at: u32, bits: u32) -> u64 {
        self.0 >> at & ((1 << bits) - 1)
    }

    #[inline]
    const fn field(self, at: u32) -> u64 {
        self.get(at, FIELD_BITS)
    }

    #[inline]
    const fn put(&mut self, at: u32, bits: u32, value: u64) {
        self.0 = self.0 & !(((1 << bits) - 1) << at) | value << at;
    }
}

/// The model for both releases of stateright, whose traits have the same name and the same methods.
macro_rules! model_of {
    ($stateright:ident) => {
        impl $stateright::Model for Small {
            type State = State;
            type Action = Step;

            fn init_states(&self) -> Vec<State> {
                vec![self.initial()]
            }

            fn actions(&self, state: &State, actions: &mut Vec<Step>) {
                self.steps(*state, |step| actions.push(step));
            }

            fn next_state(&self, state: &State, step: Step) -> Option<State> {
                Some(self.after(*state, step))
            }

            fn properties(&self) -> Vec<$stateright::Property<Self>> {
                let mut claims =
                    vec![$stateright::Property::always("mutual-exclusion", |m: &Self, s| m.is_exclusive(*s))];
                if self.restarts > 0 {
                    // stateright stops as soon as every claim has its discovery; this one has none.
                    claims.push($stateright::Property::always("the whole space is searched", |_, _| true));
                }
                claims
            }
        }
    };
}

model_of!(stateright);
model_of!(stateright_030);

impl Expand for Small {
    type Scratch = ();

    fn expand(&self, state: &State, (): &mut (), sink: &mut impl Sink<State>) {
        let mut action = 0;
        self.steps(*state, |step| {
            let next = self.after(*state, step);
            let successor = Successor { action, fingerprint: fingerprint(&next), free: true, events: 0 };
            sink(successor, &mut || (next, self.label(&next)));
            action += 1;
        });
    }

    fn label(&self, state: &State) -> Label {
        Label { violated: u32::from(!self.is_exclusive(*state)), goals: 0 }
    }
}
