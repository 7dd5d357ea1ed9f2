//! What is asked of both servers.

use std::fmt;

use check::scenario::Scenario;
use proptest::prelude::*;
use protocol::{Acquire, Owner, Reentrance, Resource, Slot, Ticks, Token, Verb, Waiting};
use world::{Acquisition, Budget, Fault, Persistence, Setup};

/// How many clients and locks there are.
pub(crate) const CLIENTS: u8 = 3;
pub(crate) const LOCKS: u8 = 3;

/// The decisions of a policy on which it depends what a server does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// The value is the token of an acquisition.
    Plain,
    /// The value is the name of the client.
    PerClient,
    /// The value is the same for everybody.
    Constant,
    /// Whoever waits is notified.
    Notified,
    /// The owner is let in again.
    Flag,
    /// The owner is let in again, and counted.
    Counted,
    /// The owner is let in again, and counted by a `SET` without a condition; and whoever waits is notified.
    ReadThenSet,
    /// The value says when the entry ends.
    Expiring,
}

/// A sequence, told in one dialect.
#[derive(Clone, Debug)]
pub(crate) struct Sequence {
    pub(crate) dialect: Dialect,
    pub(crate) steps: Vec<Step>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// A command.
    Ask(Ask),
    /// So many ticks pass.
    Pass(u8),
    /// The server drops an entry for want of memory.
    Evict(Resource),
    /// It drops a counter.
    EvictCounter(Resource),
    /// It stops at once, and comes back with what it kept.
    Restart,
    /// A replica catches up.
    Replicate(u8),
    /// A replica takes the server's place.
    FailOver(u8),
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ask {
    pub(crate) client: u8,
    pub(crate) token: u32,
    pub(crate) lock: Resource,
    pub(crate) verb: Verb,
    pub(crate) mint: bool,
    /// The life that it gives an entry, in ticks. None: without end.
    pub(crate) lease: Option<u8>,
}

impl fmt::Debug for Ask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { client, token, lock, verb, mint, lease } = self;
        let mint = if *mint { " and mint" } else { "" };
        write!(f, "{client}.{token}: {verb:?}{mint} of lock {}, lease {lease:?}", lock.0)
    }
}

impl Ask {
    /// The acquisition on whose behalf it is sent.
    pub(crate) fn by(&self) -> Acquisition {
        Acquisition { client: self.client, slot: Slot(0), token: Token(self.token), bereft: false }
    }
}

impl Step {
    /// The command, if it is one with this verb.
    pub(crate) fn ask(&self, verbs: &[Verb]) -> Option<Ask> {
        match self {
            Self::Ask(ask) if verbs.contains(&ask.verb) => Some(*ask),
            Self::Ask(_)
            | Self::Pass(_)
            | Self::Evict(_)
            | Self::EvictCounter(_)
            | Self::Restart
            | Self::Replicate(_)
            | Self::FailOver(_) => None,
        }
    }
}

impl Dialect {
    pub(crate) const ALL: [Self; 8] = [
        Self::Plain,
        Self::PerClient,
        Self::Constant,
        Self::Notified,
        Self::Flag,
        Self::Counted,
        Self::ReadThenSet,
        Self::Expiring,
    ];

    /// A world whose one server knows no clients but those that we play.
    pub(crate) fn setup(self, persistence: Persistence) -> Setup {
        let mut setup = Scenario::new("conformance", "a server by itself").resolve().unwrap();
        setup.resources = LOCKS;
        setup.persistence = persistence;
        setup.fsync_every = Ticks(3);
        setup.replicas = 2;
        setup.faults = Budget::default();
        setup.faults.set(Fault::Restart, 200);
        setup.faults.set(Fault::Evict, 200);
        setup.faults.set(Fault::Failover, 2);
        let policy = &mut setup.policy;
        match self {
            Self::Plain => {}
            Self::PerClient => policy.owner = Owner::PerClient,
            Self::Constant => policy.owner = Owner::Constant,
            Self::Notified => policy.waiting = Waiting::Notified,
            Self::Flag => (policy.owner, policy.reentrance) = (Owner::PerClient, Reentrance::Flag),
            Self::Counted => (policy.owner, policy.reentrance) = (Owner::PerClient, Reentrance::Count),
            Self::ReadThenSet => {
                (policy.owner, policy.reentrance) = (Owner::PerClient, Reentrance::ReadThenSet);
                policy.waiting = Waiting::Notified;
            }
            Self::Expiring => policy.acquire = Acquire::GetSetTakeOver,
        }
        setup
    }

    /// The value by which an acquisition knows its own entry. Any bytes, and what looks like a number before a colon.
    pub(crate) fn token(self, by: Acquisition) -> Vec<u8> {
        let client = [by.client, b':', 0xff];
        match self.setup(Persistence::Nothing).policy.owner {
            Owner::PerAcquisition => [&client[..], b"\r\n\0", by.token.0.to_string().as_bytes()].concat(),
            Owner::PerClient => [b"7:".as_slice(), &client].concat(),
            Owner::Constant => b"locked".to_vec(),
        }
    }

    /// What is said in it.
    pub(crate) fn verbs(self) -> &'static [Verb] {
        match self {
            Self::Plain | Self::PerClient | Self::Constant | Self::Notified => PLAIN,
            Self::Flag => FLAG,
            Self::Counted | Self::ReadThenSet => COUNTED,
            Self::Expiring => EXPIRING,
        }
    }
}

/// The locks by their keys: one without a hash tag, one with, and one with braces that are none.
pub(crate) fn key(lock: Resource) -> &'static [u8] {
    let keys: [&[u8]; LOCKS as usize] = [b"lock", b"{shop}\r\n\xff\0:1", b"}{}"];
    keys[lock.0 as usize]
}

const PLAIN: &[Verb] = &[
    Verb::SetNxPx,
    Verb::SetNxPx,
    Verb::SetNxPx,
    Verb::Setnx,
    Verb::SetXxPx,
    Verb::SetPx,
    Verb::Pexpire,
    Verb::CompareAndExtend,
    Verb::CompareAndExtend,
    Verb::Get,
    Verb::Del,
    Verb::CompareAndDelete,
    Verb::CompareAndDelete,
    Verb::Incr,
    Verb::Look,
    Verb::Claim,
    Verb::Clear,
    Verb::GetSet,
    Verb::ExtendOrCreate,
    Verb::Limit,
];

const FLAG: &[Verb] = &[
    Verb::Enter,
    Verb::Enter,
    Verb::Enter,
    Verb::SetNxPx,
    Verb::CompareAndExtend,
    Verb::ExtendOrCreate,
    Verb::Pexpire,
    Verb::Get,
    Verb::CompareAndDelete,
    Verb::Del,
];

const COUNTED: &[Verb] = &[
    Verb::Enter,
    Verb::Enter,
    Verb::Enter,
    Verb::Exit,
    Verb::Exit,
    Verb::SetNxPx,
    Verb::Claim,
    Verb::SetXxPx,
    Verb::SetPx,
    Verb::CompareAndExtend,
    Verb::ExtendOrCreate,
    Verb::Pexpire,
    Verb::Get,
    Verb::CompareAndDelete,
    Verb::Del,
];

const EXPIRING: &[Verb] = &[
    Verb::Setnx,
    Verb::Setnx,
    Verb::Look,
    Verb::GetSet,
    Verb::GetSet,
    Verb::Clear,
    Verb::Get,
    Verb::Del,
    Verb::CompareAndDelete,
];

/// Which steps beside commands and the passing of time a random sequence has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Among {
    /// Evictions.
    Commands,
    /// Restarts as well.
    Restarts,
    /// Replicas as well.
    Replicas,
}

/// A sequence of up to so many steps.
pub(crate) fn sequences(among: Among, most: usize) -> impl Strategy<Value = Sequence> {
    let dice = (0..100_u8, 0..CLIENTS, 1..3_u32, 0..10_u8, any::<prop::sample::Index>(), 0..10_u8, any::<bool>());
    (0..Dialect::ALL.len(), prop::collection::vec(dice, 1..most)).prop_map(move |(dialect, rolls)| {
        let dialect = Dialect::ALL[dialect];
        let mut promoted = false;
        let steps = rolls.into_iter().map(|(kind, client, token, lock, verb, lease, mint)| {
            // Most of what happens happens to one lock.
            let lock = Resource(lock.saturating_sub(7));
            let step = match (kind, among) {
                (0..70, _) => Step::Ask(ask(dialect, client, token, lock, *verb.get(dialect.verbs()), lease, mint)),
                (70..94, _) => Step::Pass(1 + lease / 4),
                (94..96, _) => Step::Evict(lock),
                (96, _) => Step::EvictCounter(lock),
                (_, Among::Commands) => Step::Pass(1),
                (_, Among::Restarts) => Step::Restart,
                (97 | 98, Among::Replicas) if promoted => Step::Replicate(0),
                (97 | 98, Among::Replicas) => Step::Replicate(client % 2),
                (_, Among::Replicas) if promoted => Step::Pass(1),
                (_, Among::Replicas) => Step::FailOver(client % 2),
            };
            promoted |= matches!(step, Step::FailOver(_));
            step
        });
        Sequence { dialect, steps: steps.collect() }
    })
}

fn ask(dialect: Dialect, client: u8, token: u32, lock: Resource, verb: Verb, lease: u8, mint: bool) -> Ask {
    let (minted, shortened) = match verb {
        Verb::SetNxPx | Verb::Setnx => (matches!(dialect, Dialect::Plain | Dialect::PerClient), false),
        Verb::Pexpire | Verb::Limit | Verb::CompareAndExtend => (false, true),
        Verb::SetXxPx
        | Verb::SetPx
        | Verb::Get
        | Verb::Del
        | Verb::CompareAndDelete
        | Verb::Incr
        | Verb::Look
        | Verb::Claim
        | Verb::Clear
        | Verb::GetSet
        | Verb::ExtendOrCreate
        | Verb::Enter
        | Verb::Exit
        | Verb::Subscribe
        | Verb::Wait => (false, false),
    };
    // `SET` refuses to give a life of no length, `PEXPIRE` does not.
    let lease = match lease {
        0 if dialect == Dialect::Expiring => Some(1),
        0 => None,
        1 | 2 if shortened => Some(0),
        1..=9 => Some(1 + lease % 4),
        _ => None,
    };
    Ask { client, token, lock, verb, mint: mint && minted, lease }
}
