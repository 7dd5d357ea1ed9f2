//! The protected resource: the simulated account, and the scripts of the real one.

use lab::account::{self, Answer};
use lab::servers::{Options, Server};
use lab::words::By;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use protocol::{Command, Fence, Reply, Resource, Seen, TokenCheck};
use redis::{Connection, cmd};
use world::{CURRENT, Compare, OUTDATED, WRITTEN};

use super::random::{Seeds, runner};

const CLIENTS: usize = 3;

/// What a client asks of the account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verb {
    Read,
    Check,
    /// From what it has read last.
    Write,
    /// Its last write again, as a client library would that has not heard the answer.
    Again,
}

#[derive(Clone, Copy, Debug)]
struct Step {
    client: usize,
    verb: Verb,
    fence: Option<Fence>,
}

/// What can be seen: the answer to the core, whether an update was lost, and the greatest token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Came {
    reply: Reply,
    lost: bool,
    greatest: Fence,
}

/// What a client knows.
#[derive(Clone, Copy, Debug)]
struct Client<W> {
    seen: Seen,
    sent: Option<W>,
}

#[derive(Clone, Copy, Debug)]
struct Sent {
    fence: Option<Fence>,
    seen: Seen,
    name: u32,
}

struct Real<'a> {
    account: account::Account,
    connection: &'a mut Connection,
    clients: [Client<Sent>; CLIENTS],
    names: u32,
}

impl<'a> Real<'a> {
    fn new(connection: &'a mut Connection, check: TokenCheck, compare: Compare) -> Self {
        let account = account::Account { key: b"account\0".to_vec(), check, compare };
        cmd("FLUSHALL").exec(connection).unwrap();
        account.open(0).exec(connection).unwrap();
        Self { account, connection, clients: [Client { seen: Seen(0), sent: None }; CLIENTS], names: 0 }
    }

    fn write(&mut self, sent: Sent) -> (Answer, bool) {
        let Sent { fence, seen, name } = sent;
        let write = account::Write { fence, seen, balance: 0, name: &name.to_be_bytes() };
        let answer = self.ask(&self.account.write(write));
        (answer, answer.lost_update(seen))
    }

    fn ask(&mut self, call: &lab::words::Call) -> Answer {
        self.account.answer(&call.command(By::Text).query(self.connection).unwrap()).unwrap()
    }

    fn step(&mut self, Step { client, verb, fence }: Step) -> Came {
        let known = self.clients[client];
        let (answer, lost) = match verb {
            Verb::Read => (self.ask(&self.account.read(fence)), false),
            Verb::Check => (self.ask(&self.account.check(fence)), false),
            Verb::Write => {
                self.names += 1;
                let sent = Sent { fence, seen: known.seen, name: self.names };
                self.clients[client].sent = Some(sent);
                self.write(sent)
            }
            Verb::Again => known.sent.map_or((Answer::Good, false), |sent| self.write(sent)),
        };
        let mut reply = answer.reply();
        if let Reply::Account(seen) = &mut reply {
            if verb != Verb::Again {
                self.clients[client].seen = *seen;
            }
            // The world says only that it is what is there.
            *seen = CURRENT;
        }
        let (_, _, greatest): (i64, u32, Option<u32>) = self.account.look().query(self.connection).unwrap();
        Came { reply, lost, greatest: Fence(greatest.unwrap_or(0)) }
    }
}

struct Simulated {
    account: world::Account,
    check: TokenCheck,
    compare: Compare,
    clients: [Client<(Option<Fence>, Seen)>; CLIENTS],
}

impl Simulated {
    fn serve(&mut self, command: Command) -> (Reply, bool) {
        let stored = self.account.serve(self.check, self.compare, command, 0);
        (stored.reply, stored.lost_update)
    }

    /// Writes, and lets everybody fall behind who has not seen it, as a step of the world does.
    fn write(&mut self, client: usize, fence: Option<Fence>, seen: Seen) -> (Reply, bool) {
        let came = self.serve(Command::Write { account: Resource(0), fence, seen });
        if came.0 == Reply::Stale || seen == WRITTEN {
            return came;
        }
        for (index, other) in self.clients.iter_mut().enumerate() {
            other.seen = OUTDATED;
            if let Some((_, seen)) = &mut other.sent {
                *seen = if index == client { WRITTEN } else { OUTDATED };
            }
        }
        came
    }

    fn step(&mut self, Step { client, verb, fence }: Step) -> Came {
        let account = Resource(0);
        let known = self.clients[client];
        let (reply, lost) = match verb {
            Verb::Read => self.serve(Command::Read { account, fence }),
            Verb::Check => self.serve(Command::Check { account, fence }),
            Verb::Write => {
                self.clients[client].sent = Some((fence, known.seen));
                self.write(client, fence, known.seen)
            }
            Verb::Again => known.sent.map_or((Reply::Done, false), |(fence, seen)| self.write(client, fence, seen)),
        };
        if let (Reply::Account(seen), true) = (reply, verb != Verb::Again) {
            self.clients[client].seen = seen;
        }
        Came { reply, lost, greatest: self.account.fence }
    }
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let verb = prop::sample::select(&[Verb::Read, Verb::Read, Verb::Write, Verb::Write, Verb::Check, Verb::Again][..]);
    let step = (0..CLIENTS, verb, prop::option::weighted(0.8, 1..14_u32));
    let step = step.prop_map(|(client, verb, fence)| Step { client, verb, fence: fence.map(Fence) });
    prop::collection::vec(step, 1..40)
}

const CHECKS: [TokenCheck; 5] = [
    TokenCheck::Nothing,
    TokenCheck::OnWrite,
    TokenCheck::OnReadAndWrite,
    TokenCheck::CheckThenWrite,
    TokenCheck::CompareAndSwap,
];

/// Where a simulated account, perhaps one that does one thing wrong, differs from the real one. None: nowhere.
fn difference(mut cases: TestRunner, simulated_step: impl Fn(&mut Simulated, Step) -> Came) -> Option<String> {
    let server = Server::start(&Options::default()).unwrap();
    let connection = redis::Client::open(server.url()).unwrap().get_connection().unwrap();
    let connection = std::cell::RefCell::new(connection);
    let compare = prop::sample::select(&[Compare::Greater, Compare::GreaterOrEqual][..]);
    let knobs = (prop::sample::select(&CHECKS[..]), compare, steps());
    let told = cases.run(&knobs, |(check, compare, steps)| {
        let mut connection = connection.borrow_mut();
        let mut real = Real::new(&mut connection, check, compare);
        let clients = [Client { seen: CURRENT, sent: None }; CLIENTS];
        let mut simulated = Simulated { account: world::Account::default(), check, compare, clients };
        for step in steps {
            prop_assert_eq!(
                simulated_step(&mut simulated, step),
                real.step(step),
                "{:?}, {:?}, {:?}",
                step,
                check,
                compare
            );
        }
        Ok(())
    });
    told.err().map(|error| error.to_string())
}

#[test]
fn accounts() {
    assert_eq!(difference(runner(400, Seeds::Kept), Simulated::step), None);
}

type Wrong = fn(&mut Simulated, Step) -> Came;

const MUTANTS: [(&str, Wrong); 5] = [
    ("it takes tokens that are equal", |simulated, step| {
        simulated.compare = Compare::GreaterOrEqual;
        simulated.step(step)
    }),
    ("it remembers the last token and not the greatest", |simulated, step| {
        let came = simulated.step(step);
        if let (Some(fence), Reply::Stale) = (step.fence, came.reply) {
            simulated.account.fence = fence;
        }
        came
    }),
    ("it lets in who has no token", |simulated, step| {
        simulated.step(Step { fence: step.fence.or(Some(simulated.account.fence)), ..step })
    }),
    ("it does not know a write that is sent again", |simulated, step| {
        for (_, seen) in simulated.clients.iter_mut().filter_map(|client| client.sent.as_mut()) {
            *seen = if *seen == WRITTEN { OUTDATED } else { *seen };
        }
        simulated.step(step)
    }),
    ("it overlooks that an update was lost", |simulated, step| Came { lost: false, ..simulated.step(step) }),
];

#[test]
fn wrong_accounts_are_found_out() {
    for (wrong, step) in MUTANTS {
        assert!(difference(runner(400, Seeds::Forgotten), step).is_some(), "not found out: {wrong}");
    }
}
