//! The protected resource: the simulated account, and the scripts of the real one.

use lab::account::{self, Answer, Write};
use lab::servers::{Options, Server};
use lab::words::By;
use proptest::prelude::*;
use protocol::{Command, Fence, Reply, Resource, Seen, TokenCheck};
use redis::{Connection, cmd};
use world::{CURRENT, Compare, OUTDATED, Stored};

use super::random::runner;

/// What a client asks of the account.
#[derive(Clone, Copy, Debug)]
enum Step {
    Read {
        fence: Option<u32>,
    },
    Check {
        fence: Option<u32>,
    },
    /// Writes what was computed from the version that was there so many writes ago.
    Write {
        fence: Option<u32>,
        behind: u32,
    },
}

/// What can be seen of an answer: what it says to the core, and whether an update was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Came {
    reply: Reply,
    accepted: bool,
    lost: bool,
    greatest: Fence,
}

const CHECKS: [TokenCheck; 5] = [
    TokenCheck::Nothing,
    TokenCheck::OnWrite,
    TokenCheck::OnReadAndWrite,
    TokenCheck::CheckThenWrite,
    TokenCheck::CompareAndSwap,
];

struct Real {
    account: account::Account,
    connection: Connection,
    version: u32,
    writes: u32,
}

impl Real {
    fn new(connection: Connection) -> Self {
        let account = account::Account { key: b"account\0".to_vec(), check: CHECKS[0], compare: Compare::Greater };
        Self { account, connection, version: 0, writes: 0 }
    }

    fn begin(&mut self, check: TokenCheck, compare: Compare) {
        (self.account.check, self.account.compare, self.version) = (check, compare, 0);
        cmd("FLUSHALL").exec(&mut self.connection).unwrap();
        self.account.open(0).exec(&mut self.connection).unwrap();
    }

    fn step(&mut self, step: Step) -> Came {
        let seen = self.version;
        let (call, seen) = match step {
            Step::Read { fence } => (self.account.read(fence.map(Fence)), seen),
            Step::Check { fence } => (self.account.check(fence.map(Fence)), seen),
            Step::Write { fence, behind } => {
                let seen = seen.saturating_sub(behind);
                self.writes += 1;
                let name = self.writes.to_be_bytes();
                let write = Write { fence: fence.map(Fence), seen: Seen(seen), balance: 0, name: &name };
                (self.account.write(write), seen)
            }
        };
        let answer = self.account.answer(&call.command(By::Text).query(&mut self.connection).unwrap()).unwrap();
        let (accepted, lost) = match answer {
            Answer::Accepted { now, before, .. } => {
                self.version = now.version;
                (true, before.version != seen)
            }
            Answer::Holds(_) | Answer::Good | Answer::Stale => (false, false),
        };
        let (_, _, greatest): (i64, u32, Option<u32>) = self.account.look().query(&mut self.connection).unwrap();
        Came { reply: current(answer.reply(), self.version), accepted, lost, greatest: Fence(greatest.unwrap_or(0)) }
    }
}

/// A reply as the world tells it: the world only knows whether what was read is what is there.
fn current(reply: Reply, version: u32) -> Reply {
    if reply == Reply::Account(Seen(version)) { Reply::Account(CURRENT) } else { reply }
}

fn simulated(account: &mut world::Account, check: TokenCheck, compare: Compare, version: u32, step: Step) -> Came {
    let resource = Resource(0);
    let command = match step {
        Step::Read { fence } => Command::Read { account: resource, fence: fence.map(Fence) },
        Step::Check { fence } => Command::Check { account: resource, fence: fence.map(Fence) },
        Step::Write { fence, behind } => {
            let seen = if behind == 0 || version == 0 { CURRENT } else { OUTDATED };
            Command::Write { account: resource, fence: fence.map(Fence), seen }
        }
    };
    let Stored { reply, accepted, lost_update, .. } = account.serve(check, compare, command, 0);
    Came { reply, accepted, lost: lost_update, greatest: account.fence }
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let fence = || prop::option::weighted(0.8, 1..14_u32);
    let step = prop_oneof![
        fence().prop_map(|fence| Step::Read { fence }),
        fence().prop_map(|fence| Step::Check { fence }),
        (fence(), 0..3_u32).prop_map(|(fence, behind)| Step::Write { fence, behind }),
    ];
    prop::collection::vec(step, 1..30)
}

#[test]
fn accounts() {
    let server = Server::start(&Options::default()).unwrap();
    let connection = redis::Client::open(server.url()).unwrap().get_connection().unwrap();
    let real = std::cell::RefCell::new(Real::new(connection));
    let knobs = (prop::sample::select(&CHECKS[..]), any::<bool>(), steps());
    let told = runner(500).run(&knobs, |(check, strict, steps)| {
        let compare = if strict { Compare::Greater } else { Compare::GreaterOrEqual };
        let mut real = real.borrow_mut();
        real.begin(check, compare);
        let mut account = world::Account::default();
        for step in steps {
            let version = real.version;
            let came = simulated(&mut account, check, compare, version, step);
            prop_assert_eq!(came, real.step(step), "{:?} under {:?} {:?}", step, check, compare);
        }
        Ok(())
    });
    told.unwrap_or_else(|error| panic!("{error}"));
}
