//! Real workers under a scenario's lock: the program of the checker, run by many threads against real servers, while faults
//! are injected, and everything that a safety property forbids is counted.
//!
//! Each worker is a thread with connections of its own, and drives the core that the checker explores. What it believes is
//! written down as it believes it, by the one clock of this process; whose entry a release finds is marked beside the entry,
//! and the account tells the order of the writes. So nothing that is counted depends on what a worker thinks of itself.

mod client;
mod ledger;
mod marks;
mod scale;
mod worker;

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use protocol::{Acquire, Policy, Ticks};
use redis::{Client, Commands};
use tokio::time::Instant;
use world::Setup;

use crate::account::Account;
use crate::nodes::Node;
use crate::servers::{Server, ServerError};
use crate::words::Words;

pub(crate) use ledger::{Injected, Injections, Moment, STEP, Sights, Sums};

use ledger::Ledger;
use worker::Place;

/// What is injected.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Faults {
    /// The share of the steps of a worker after which it stops for a while.
    pub(crate) pause_rate: f64,
    /// For how long at most.
    pub(crate) longest_pause: Duration,
    /// The share of the steps of a worker after which it dies.
    pub(crate) kill_rate: f64,
    /// How often a lock server is killed and started again.
    pub(crate) restart_every: Option<Duration>,
}

/// A run.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// What the workers do, and where.
    pub(crate) setup: Setup,
    /// How many there are.
    pub(crate) workers: usize,
    /// For how long.
    pub(crate) duration: Duration,
    /// The milliseconds of a tick.
    pub(crate) tick: u32,
    /// What is injected.
    pub(crate) faults: Faults,
}

impl Plan {
    /// How long a lease lasts, if it ends.
    pub(crate) fn ttl(&self) -> Option<Duration> {
        self.setup.policy.lease().map(|ttl| self.ticks(ttl))
    }

    /// A span of the scenario.
    pub(crate) fn ticks(&self, ticks: Ticks) -> Duration {
        Duration::from_millis(u64::from(ticks.0) * u64::from(self.tick))
    }
}

/// Where a run takes place.
#[derive(Clone, Debug)]
pub(crate) struct Addresses {
    /// The lock servers.
    pub(crate) locks: Vec<String>,
    /// The server that keeps the accounts.
    pub(crate) bank: String,
}

/// What came out of a run.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    /// What was counted.
    pub(crate) sums: Sums,
    /// How long it took.
    pub(crate) elapsed: Duration,
    /// By how many writes the accounts are short of what was written to them: each write adds one.
    pub(crate) short: u64,
    /// The locks that stand without end when all workers have left: which lock, on which server.
    pub(crate) orphans: Vec<(usize, usize)>,
}

/// Where the workers work.
#[derive(Debug)]
struct Site {
    addresses: Addresses,
    policy: Policy,
    words: Arc<[Words]>,
    accounts: Arc<[Account]>,
    begin: SystemTime,
    order: Order,
    grants: AtomicU64,
}

/// What says which of two grants is the earlier one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    /// The marks of the one server.
    Marks,
    /// The order in which the workers hear of their grants: of several servers nobody sees all.
    Hearing,
    /// Nothing: without a lock there are no grants.
    Nothing,
}

/// The most time that workers have to give everything back.
const LONGEST_GRACE: Duration = Duration::from_secs(5);

impl Site {
    fn new(plan: &Plan, addresses: Addresses) -> Self {
        let Setup { policy, resources, compare, .. } = &plan.setup;
        let policy = scale::scaled(policy, plan.tick);
        // So that runs at the same time on the same servers do not meet.
        let run = format!("lab:stress:{:08x}", rand::random::<u32>());
        let key = |lock: u8| format!("{run}:{lock}").into_bytes();
        let accounts = (0..*resources).map(|lock| Account {
            key: format!("{run}:{lock}:account").into_bytes(),
            check: policy.program.check,
            compare: *compare,
        });
        Self {
            policy,
            words: (0..*resources).map(|lock| Words::new(&policy, &key(lock), 1, 0)).collect(),
            accounts: accounts.collect(),
            begin: SystemTime::now(),
            order: match policy.nodes {
                _ if policy.acquire == Acquire::Unlocked => Order::Nothing,
                1 => Order::Marks,
                _ => Order::Hearing,
            },
            grants: AtomicU64::new(0),
            addresses,
        }
    }

    fn nodes(&self) -> Result<Arc<[Node]>, String> {
        self.addresses.locks.iter().map(|url| Node::new(url).map_err(|error| error.to_string())).collect()
    }

    fn bank(&self) -> Result<Node, String> {
        Node::new(&self.addresses.bank).map_err(|error| error.to_string())
    }

    fn next_grant(&self) -> u64 {
        self.grants.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// How long the workers have to give everything back.
    fn grace(&self) -> Duration {
        let ticks = self.policy.ttl.map_or(0, |ttl| ttl.0) + 2 * self.policy.timeout.0;
        Duration::from_millis((2 * ticks).into()).min(LONGEST_GRACE)
    }

    fn open(&self) -> Result<(), redis::RedisError> {
        let mut bank = Client::open(self.addresses.bank.as_str())?.get_connection()?;
        self.accounts.iter().try_for_each(|account| account.open(0).exec(&mut bank))
    }

    /// By how many writes the accounts are short.
    fn short(&self) -> Result<u64, redis::RedisError> {
        let mut bank = Client::open(self.addresses.bank.as_str())?.get_connection()?;
        let mut short = 0;
        for account in self.accounts.iter() {
            let held = redis::cmd("HMGET").arg(&account.key).arg(&["balance", "version"]).query(&mut bank)?;
            let (balance, version): (u64, u64) = held;
            short += version.saturating_sub(balance);
        }
        Ok(short)
    }

    /// The locks that stand without end. Where entries say themselves when they end, none does.
    fn orphans(&self) -> Result<Vec<(usize, usize)>, redis::RedisError> {
        let mut orphans = Vec::new();
        for (server, url) in self.addresses.locks.iter().enumerate() {
            let mut connection = Client::open(url.as_str())?.get_connection_with_timeout(LONGEST_GRACE)?;
            for (lock, words) in self.words.iter().enumerate() {
                let left: i64 = connection.pttl(&words.names.key)?;
                // −1: there is one, without an end.
                if left == -1 && !self.policy.keeps_expiry_in_value() {
                    orphans.push((lock, server));
                }
            }
        }
        Ok(orphans)
    }

    /// Removes the keys of the run.
    fn clear(&self) {
        let accounts = self.accounts.iter().map(|account| account.key.clone()).collect::<Vec<_>>();
        let locks = self.words.iter().flat_map(|words| {
            let mark = [words.names.fence.as_slice(), b":mark"].concat();
            [words.names.key.clone(), words.names.fence.clone(), mark]
        });
        let keys: Vec<Vec<u8>> = locks.chain(accounts).collect();
        let urls = self.addresses.locks.iter().chain([&self.addresses.bank]);
        for url in urls {
            // A server that does not answer any more keeps what it has, until the TTLs are over.
            let connection =
                Client::open(url.as_str()).and_then(|client| client.get_connection_with_timeout(LONGEST_GRACE));
            let _ = connection.and_then(|mut connection| connection.del::<_, ()>(&keys));
        }
    }
}

/// How often the run is looked at.
const LOOK: Duration = Duration::from_millis(20);

/// How often those who look on are told.
const TELL: Duration = Duration::from_secs(1);

/// Runs a plan. `own`: the lock servers that may be killed. `look_on` hears of the run once a second, and may end it.
///
/// # Errors
/// If a server does not answer at the beginning or the end, or cannot be started again.
pub(crate) fn run(
    plan: &Plan,
    addresses: Addresses,
    own: &mut [Server],
    mut look_on: impl FnMut(&Sums, Duration) -> ControlFlow<()>,
) -> Result<Outcome, String> {
    let site = Arc::new(Site::new(plan, addresses));
    site.open().map_err(|error| error.to_string())?;
    let begin = Instant::now();
    let ledger = Arc::new(Ledger::new(begin));
    let is_over = Arc::new(AtomicBool::new(false));
    let place = |number: usize| Place {
        number,
        site: Arc::clone(&site),
        locks: plan.setup.clients[number % plan.setup.clients.len()],
        ahead: plan.ticks(plan.setup.offset) * (number % plan.setup.clients.len()) as u32,
        faults: plan.faults,
        ledger: Arc::clone(&ledger),
        end: begin + plan.duration,
        is_over: Arc::clone(&is_over),
    };
    let places: Vec<Place> = (0..plan.workers).map(place).collect();
    let done = std::thread::scope(|scope| {
        let workers: Vec<_> = places.iter().map(|place| scope.spawn(move || worker::run(place))).collect();
        let watched = watch(plan, own, &ledger, begin, &mut look_on, || workers.iter().any(|w| w.is_finished()));
        is_over.store(true, Ordering::Relaxed);
        let ended =
            workers.into_iter().map(|worker| worker.join().unwrap_or_else(|_| Err("a worker panicked".to_owned())));
        ended.fold(Ok(()), Result::and).and(watched)
    });
    let elapsed = begin.elapsed().min(plan.duration);
    let outcome = done.and_then(|()| {
        let short = site.short().map_err(|error| error.to_string())?;
        let orphans = site.orphans().map_err(|error| error.to_string())?;
        Ok(Outcome { sums: ledger.close(), elapsed, short, orphans })
    });
    site.clear();
    outcome
}

/// Watches a run until its end, and kills servers meanwhile.
fn watch(
    plan: &Plan,
    own: &mut [Server],
    ledger: &Ledger,
    begin: Instant,
    look_on: &mut impl FnMut(&Sums, Duration) -> ControlFlow<()>,
    has_failed: impl Fn() -> bool,
) -> Result<(), String> {
    let mut told = begin;
    let mut restarted = begin;
    let end = begin + plan.duration;
    while Instant::now() < end && !has_failed() {
        std::thread::sleep(LOOK.min(end - Instant::now()));
        let now = Instant::now();
        if let Some(every) = plan.faults.restart_every
            && now - restarted >= every
            && !own.is_empty()
        {
            restarted = now;
            let server = &mut own[rand::random_range(0..own.len())];
            ledger.inject(Injected::Restart, None);
            restart(plan, server).map_err(|error| error.to_string())?;
        }
        if now - told >= TELL {
            told = now;
            if look_on(&ledger.sums(), now - begin).is_break() {
                break;
            }
        }
    }
    Ok(())
}

fn restart(plan: &Plan, server: &mut Server) -> Result<(), ServerError> {
    server.kill();
    std::thread::sleep(plan.ticks(plan.setup.restart_delay));
    server.restart()
}
