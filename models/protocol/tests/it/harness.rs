//! A client that is driven by hand: whoever writes a test plays the servers, the network and the clock.

use protocol::{
    Acquire, Command, Config, Conflict, Drift, Effect, Fence, Fencing, Holder, Input, LateAnswer, LockList, Locks,
    NodeId, Notice, OnCancel, OpId, Order, Outbox, Outcome, Owner, Place, Policy, Program, QuorumOf, Reentrance,
    RefusedRenewal, Release, ReleaseTo, Renewal, Reply, Resource, Retry, Slot, Standing, Subscribe, Ticks, Time,
    TokenCheck, UnknownAcquire, UnsettledWrite, Validity, Verb, Visit, Waiting, Window, Worker,
};

/// A sound lock on one server: what every test departs from.
pub(crate) const BASE: Policy = Policy {
    acquire: Acquire::SetNxPx,
    owner: Owner::PerAcquisition,
    release: Release::CompareAndDelete,
    release_to: ReleaseTo::All,
    ttl: Some(Ticks(10)),
    nodes: 1,
    quorum: 1,
    quorum_of: QuorumOf::All,
    visit: Visit::InOrder,
    timeout: Ticks(3),
    validity: Validity::FromSending,
    drift: Drift::Subtracted,
    drift_ticks: Ticks(0),
    holder: Holder::Clocked,
    margin: Ticks(0),
    unknown: UnknownAcquire::OwnValueHeld,
    renewal: Renewal::Never,
    renew_every: Ticks(4),
    renewals: None,
    refused_renewal: RefusedRenewal::Lost,
    late_answer: LateAnswer::Ignored,
    acknowledged: 0,
    fencing: Fencing::Nothing,
    reentrance: Reentrance::Nothing,
    waiting: Waiting::Poll,
    subscribe: Subscribe::BeforeTrying,
    fallback_poll: true,
    retry: Retry::Fixed(Ticks(2)),
    attempts: None,
    give_up_after: None,
    order: Order::AsGiven,
    conflict: Conflict::Wait,
    unsettled_write: UnsettledWrite::Waits,
    on_cancel: OnCancel::CleansUp,
    program: Program { work: Ticks(1), writes: 1, updates: 2, check: TokenCheck::Nothing },
};

/// What the client's wall clock reads.
pub(crate) const WALL: Fence = Fence(1000);

/// The same lock on three servers, two of which must grant it.
pub(crate) const REDLOCK: Policy = Policy { nodes: 3, quorum: 2, ..BASE };

/// What a server answers that does not set an entry because another one stands there.
pub(crate) const TAKEN: Reply = Reply::Taken { own: false, fence: None };

/// What it answers if that entry holds the sender's own token.
pub(crate) const OWN: Reply = Reply::Taken { own: true, fence: None };

/// Either of the two cores.
pub(crate) trait Core: Clone {
    fn new(config: &Config<'_>) -> Self;
    fn step(&mut self, config: &Config<'_>, now: Time, input: Input, out: &mut impl Outbox);
    fn wake(&self, config: &Config<'_>) -> Option<Window>;
    fn awaited(&self, place: Place) -> Option<OpId>;
    fn locks(&self) -> &Locks;
}

impl Core for Locks {
    fn new(_: &Config<'_>) -> Self {
        Self::default()
    }

    fn step(&mut self, config: &Config<'_>, now: Time, input: Input, out: &mut impl Outbox) {
        Self::step(self, config, now, input, out);
    }

    fn wake(&self, config: &Config<'_>) -> Option<Window> {
        Self::wake(self, config)
    }

    fn awaited(&self, place: Place) -> Option<OpId> {
        match place {
            Place::Lock(slot, node) => Self::awaited(self, slot, node),
            Place::Store => None,
        }
    }

    fn locks(&self) -> &Locks {
        self
    }
}

impl Core for Worker {
    fn new(config: &Config<'_>) -> Self {
        Self::new(config)
    }

    fn step(&mut self, config: &Config<'_>, now: Time, input: Input, out: &mut impl Outbox) {
        Self::step(self, config, now, input, out);
    }

    fn wake(&self, config: &Config<'_>) -> Option<Window> {
        Self::wake(self, config)
    }

    fn awaited(&self, place: Place) -> Option<OpId> {
        Self::awaited(self, place)
    }

    fn locks(&self) -> &Locks {
        Self::locks(self)
    }
}

/// Collects effects.
#[derive(Default)]
pub(crate) struct Effects(pub(crate) Vec<Effect>);

impl Outbox for Effects {
    fn push(&mut self, effect: Effect) {
        self.0.push(effect);
    }
}

/// A core, its configuration and its clock.
pub(crate) struct Client<C> {
    pub(crate) core: C,
    policy: Policy,
    list: LockList,
    now: Time,
}

/// What a step said, in words.
pub(crate) type Said = Vec<String>;

/// Nothing.
pub(crate) const NOTHING: [&str; 0] = [];

/// The locks of a client that takes the one lock x.
pub(crate) fn locks(policy: Policy) -> Client<Locks> {
    Client::new(policy, &[0])
}

/// A client with a program that it runs under the one lock x.
pub(crate) fn worker(policy: Policy) -> Client<Worker> {
    Client::new(policy, &[0])
}

impl<C: Core> Client<C> {
    /// A client that takes these locks: 0 is x, 1 is y, 2 is z.
    pub(crate) fn new(policy: Policy, names: &[u8]) -> Self {
        let names: Vec<_> = names.iter().map(|name| Resource(*name)).collect();
        let list = LockList::new(&names, policy.order).expect("from one to three locks");
        let core = C::new(&Config { policy: &policy, locks: &list, wall: WALL });
        Self { core, policy, list, now: Time(0) }
    }

    /// Sets the clock. Nothing happens by itself.
    pub(crate) fn at(&mut self, now: u32) -> &mut Self {
        assert!(now >= self.now.0, "time does not go back");
        self.now = Time(now);
        self
    }

    pub(crate) fn step(&mut self, input: Input) -> Said {
        let mut out = Effects::default();
        let config = Config { policy: &self.policy, locks: &self.list, wall: WALL };
        self.core.step(&config, self.now, input, &mut out);
        out.0.iter().map(words).collect()
    }

    pub(crate) fn acquire(&mut self) -> Said {
        self.step(Input::Acquire)
    }

    pub(crate) fn release(&mut self) -> Said {
        self.step(Input::Release)
    }

    pub(crate) fn wake(&mut self) -> Said {
        self.step(Input::Wake)
    }

    /// A server answers what the client awaits from it.
    pub(crate) fn answers(&mut self, node: u8, reply: Reply) -> Said {
        self.settles(0, node, Outcome::Answered(reply))
    }

    pub(crate) fn settles(&mut self, slot: u8, node: u8, outcome: Outcome) -> Said {
        let op = self.awaited(slot, node).expect("an operation is awaited");
        self.step(Input::Settled(op, outcome))
    }

    /// The resource answers.
    pub(crate) fn store(&mut self, outcome: Outcome) -> Said {
        let op = self.core.awaited(Place::Store).expect("an operation on the resource is awaited");
        self.step(Input::Settled(op, outcome))
    }

    pub(crate) fn awaited(&self, slot: u8, node: u8) -> Option<OpId> {
        self.core.awaited(Place::Lock(Slot(slot), NodeId(node)))
    }

    /// The nodes from which the lock of a slot awaits an answer.
    pub(crate) fn awaits(&self, slot: u8) -> Vec<u8> {
        (0..self.policy.nodes).filter(|node| self.awaited(slot, *node).is_some()).collect()
    }

    pub(crate) fn standing(&self) -> Standing {
        self.core.locks().standing(&Config { policy: &self.policy, locks: &self.list, wall: WALL }, self.now)
    }

    pub(crate) fn holds(&self) -> bool {
        matches!(self.standing(), Standing::Holding { .. })
    }

    /// When the lock of a slot ends by the client's own clock.
    pub(crate) fn until(&self, slot: u8) -> Option<u32> {
        self.core.locks().until(Slot(slot)).map(|t| t.0)
    }

    /// The moments between which the client wants to be woken.
    pub(crate) fn wakes(&self) -> Option<(u32, u32)> {
        self.core.wake(&Config { policy: &self.policy, locks: &self.list, wall: WALL }).map(|w| (w.from.0, w.by.0))
    }
}

/// A client that has just been granted the lock by its one server, in the tick in which it asked.
pub(crate) fn holder(policy: Policy) -> Client<Locks> {
    let mut client = locks(policy);
    client.acquire();
    assert_eq!(client.answers(0, Reply::Done), ["Acquired"]);
    client
}

pub(crate) fn words(effect: &Effect) -> String {
    match *effect {
        Effect::Tell(Notice::Acquired { fence: Some(Fence(fence)) }) => format!("Acquired with token {fence}"),
        Effect::Tell(Notice::Acquired { fence: None }) => "Acquired".to_owned(),
        Effect::Tell(Notice::Lost) => "Lost".to_owned(),
        Effect::Tell(Notice::Released) => "Released".to_owned(),
        Effect::Tell(Notice::GaveUp) => "GaveUp".to_owned(),
        Effect::Send { op: OpId { place: Place::Lock(slot, node), .. }, command } => {
            format!("node {}: {}", node.0, command_words(slot, &command))
        }
        Effect::Send { op: OpId { place: Place::Store, .. }, command } => {
            format!("store: {}", command_words(Slot(0), &command))
        }
    }
}

fn command_words(slot: Slot, command: &Command) -> String {
    let name = |resource: Resource| char::from(b'x' + resource.0);
    let with = |fence: Option<Fence>| fence.map(|f| format!(" with token {}", f.0)).unwrap_or_default();
    match *command {
        Command::Lock { resource, verb, token, mint } => {
            let key = name(resource);
            let own = format!("{}{}", char::from(b'a' + slot.0), token.0);
            let said = match verb {
                Verb::SetNxPx => format!("SET {key} {own} NX PX"),
                Verb::Setnx => format!("SETNX {key} {own}"),
                Verb::SetXxPx => format!("SET {key} {own} XX PX"),
                Verb::SetPx => format!("SET {key} {own} PX"),
                Verb::Pexpire | Verb::Limit => format!("PEXPIRE {key}"),
                Verb::CompareAndExtend => format!("PEXPIRE {key} if {own}"),
                Verb::Get => format!("GET {key}"),
                Verb::Del => format!("DEL {key}"),
                Verb::CompareAndDelete => format!("DEL {key} if {own}"),
                Verb::Look => format!("look: GET {key}"),
                Verb::Claim => format!("claim: SET {key} {own}"),
                Verb::Clear => format!("clear: DEL {key}"),
                Verb::GetSet => format!("GETSET {key} {own}"),
                Verb::ExtendOrCreate => format!("PEXPIRE {key} if {own}, SET if gone"),
                Verb::Enter => format!("enter {key} as {own}"),
                Verb::Exit => format!("exit {key} if {own}"),
                Verb::Subscribe => format!("SUBSCRIBE {key}"),
                Verb::Incr => format!("INCR {key}:fence"),
                Verb::Wait => "WAIT".to_owned(),
            };
            if mint { format!("{said} and mint") } else { said }
        }
        Command::Read { account, fence } => format!("READ {}{}", name(account), with(fence)),
        Command::Check { account, fence } => format!("CHECK {}{}", name(account), with(fence)),
        Command::Write { account, fence, seen } => {
            format!("WRITE {} after {}{}", name(account), seen.0, with(fence))
        }
    }
}
