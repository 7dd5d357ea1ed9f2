//! The real clients of a replay: each the core of the model, stepped by the replayer, with connections of its own.

use std::collections::BTreeMap;

use protocol::{Command, Config, Effect, Fence, Input, OpId, Outbox, Owner, Slot, Ticks, Time, Token, Worker};
use redis::{Connection, Value};
use world::{Acquisition, Setup, Site, World};

/// What the clock of a client reads at first. Not zero: nobody may think that it is.
const FIRST: Time = Time(1000);

/// A client.
pub(super) struct Actor {
    pub(super) worker: Worker,
    /// What its own clock reads, in ticks.
    pub(super) now: Time,
    /// Its connection to each site, once it has one.
    pub(super) lines: BTreeMap<Site, Connection>,
    /// Its connections for notifications: to which server, for which of its locks.
    pub(super) listening: BTreeMap<(u8, Slot), Connection>,
    /// The balance that it read or wrote last.
    pub(super) balance: i64,
    /// How many writes it has sent.
    pub(super) writes: u32,
}

/// What is under way.
#[derive(Clone, Debug)]
pub(super) enum Letter {
    /// A request that its client has sent, and that no server has seen.
    Request(Request),
    /// An answer that its client has not seen.
    Reply(Request, Answer),
    /// A notification for one of the client's locks.
    Freed(Slot),
}

/// A request.
#[derive(Clone, Debug)]
pub(super) struct Request {
    pub(super) op: OpId,
    pub(super) command: Command,
    pub(super) wire: crate::words::Wire,
    /// On whose behalf: nothing that a server sees.
    pub(super) by: Option<Acquisition>,
    /// Of a write: the number of the grant that it was made under.
    pub(super) grant: u32,
}

/// What a server answered.
#[derive(Clone, Debug)]
pub(super) enum Answer {
    /// A lock server.
    Lock(Value),
    /// The account.
    Account(crate::account::Answer),
}

/// The effects of one step of a core.
#[derive(Default)]
struct Effects(Vec<Effect>);

impl Outbox for Effects {
    fn push(&mut self, effect: Effect) {
        self.0.push(effect);
    }
}

impl Actor {
    pub(super) fn new(setup: &Setup, client: u8) -> Self {
        Self {
            worker: Worker::new(&World::config(setup, client)),
            now: FIRST,
            lines: BTreeMap::new(),
            listening: BTreeMap::new(),
            balance: 0,
            writes: 0,
        }
    }

    /// One step of its core. `ticks`: how many have passed, by which its wall clock is later than at first.
    pub(super) fn step(&mut self, setup: &Setup, client: u8, ticks: u32, input: Input) -> Vec<Effect> {
        let config = config(setup, client, ticks);
        let mut effects = Effects::default();
        self.worker.step(&config, self.now, input, &mut effects);
        effects.0
    }

    /// Whether it believes that it holds the lock of a slot.
    pub(super) fn believes(&self, setup: &Setup, client: u8, ticks: u32, slot: Slot) -> bool {
        self.worker.locks().believes(&config(setup, client, ticks), slot, self.now)
    }

    pub(super) fn tick(&mut self) {
        self.now = self.now.after(Ticks(1));
    }
}

/// The configuration of a client whose wall clock runs: that of the model stands still, and its readings grow older.
fn config(setup: &Setup, client: u8, ticks: u32) -> Config<'_> {
    let config = World::config(setup, client);
    Config { wall: Fence(config.wall.0 + ticks), ..config }
}

/// What an acquisition writes into its entry.
pub(super) fn token(owner: Owner, client: u8, slot: Slot, token: Token) -> Vec<u8> {
    let name = char::from(b'a' + client);
    match owner {
        Owner::PerAcquisition if slot == Slot(0) => format!("{name}{}", token.0).into_bytes(),
        Owner::PerAcquisition => format!("{name}{}.{}", token.0, slot.0).into_bytes(),
        Owner::PerClient => vec![name as u8],
        Owner::Constant => b"locked".to_vec(),
    }
}
