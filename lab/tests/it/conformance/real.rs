//! A real server.
//!
//! Its time is moved without waiting: what is left of every expiry is shortened. A tick is an hour, so that the time that a
//! run takes makes no difference to what is left in ticks.

use std::time::Duration;

use lab::servers::{Options, Persistence as Files, Server};
use lab::words::{By, Form, Sender, Wire, Words};
use protocol::Resource;
use redis::{Cmd, Connection, cmd, pipe};
use tempfile::TempDir;
use world::{Persistence, Setup};

use super::files;
use super::seen::{Found, Said, Seen, Value};
use super::step::{Ask, Dialect, LOCKS, Sequence, Step, key};

/// The milliseconds of a tick.
const TICK: u64 = 3_600_000;

/// What the clients' clocks read at the beginning.
const BEGIN: u64 = 1_000_000_000_000;

/// How long an answer may take on a machine that is busy with other things.
const PATIENCE: Duration = Duration::from_secs(20);

/// What is published after each command, so that whoever listens knows that there is no more to come.
const MARK: &str = "mark";

/// A server, two servers that can copy it, and somebody who has subscribed to all locks.
pub(crate) struct Real {
    persistence: Persistence,
    server: Server,
    connection: Connection,
    listener: Connection,
    replicas: Vec<Replica>,
    dialect: Dialect,
    setup: Setup,
    /// Ticks since the beginning.
    now: u64,
    /// The files as they were when the server last wrote them to disk, and when that was.
    saved: Option<(TempDir, u64)>,
}

/// A server that has copied another one, and is left alone since.
struct Replica {
    server: Server,
    connection: Connection,
}

impl Real {
    /// A server that keeps what it should over a restart. The simulated disk that is written from time to time is a copy
    /// of the files of a server that writes always.
    pub(crate) fn start(persistence: Persistence) -> Self {
        let server = Server::start(&options(persistence)).unwrap();
        let connection = connect(&server);
        let dialect = Dialect::Plain;
        let listener = listen(&server);
        let setup = dialect.setup(persistence);
        Self { persistence, server, connection, listener, replicas: Vec::new(), dialect, setup, now: 0, saved: None }
    }

    /// Takes the steps of a sequence on an empty server, and tells what was seen after each.
    pub(crate) fn record(&mut self, sequence: &Sequence) -> Vec<Seen> {
        self.begin(sequence);
        let all = sequence.steps.iter().map(|step| {
            let said = self.step(step);
            self.seen(said)
        });
        all.collect()
    }

    fn begin(&mut self, sequence: &Sequence) {
        let copies = sequence.steps.iter().any(|step| matches!(step, Step::Replicate(_) | Step::FailOver(_)));
        self.dialect = sequence.dialect;
        self.setup = sequence.dialect.setup(self.persistence);
        self.now = 0;
        cmd("FLUSHALL").exec(&mut self.connection).unwrap();
        cmd("SCRIPT").arg("FLUSH").exec(&mut self.connection).unwrap();
        if copies {
            self.replicas.resize_with(self.setup.replicas.into(), Replica::start);
            self.replicas.iter_mut().for_each(|replica| cmd("FLUSHALL").exec(&mut replica.connection).unwrap());
        }
        self.save();
    }

    fn step(&mut self, step: &Step) -> Option<Said> {
        match *step {
            Step::Ask(ask) => return Some(self.ask(ask)),
            Step::Pass(ticks) => (0..ticks).for_each(|_| self.tick()),
            Step::Evict(lock) => self.delete(key(lock)),
            Step::EvictCounter(lock) => self.delete(&self.words(lock, None).names.fence),
            Step::Restart => self.restart(),
            Step::Replicate(index) => self.replicas[usize::from(index)].copy(&self.server),
            Step::FailOver(index) => self.fail_over(index.into()),
        }
        None
    }

    /// How commands about a lock are spoken. A lease of n ticks is over a millisecond earlier on a real server.
    fn words(&self, lock: Resource, lease: Option<u8>) -> Words {
        let mut words = Words::new(&self.setup.policy, key(lock), TICK, 1);
        words.ttl = lease.map(|ticks| (u64::from(ticks) * TICK).saturating_sub(1));
        words
    }

    fn ask(&mut self, ask: Ask) -> Said {
        let words = self.words(ask.lock, ask.lease);
        let token = self.dialect.token(ask.by());
        let sender = Sender { token: &token, now: BEGIN + self.now * TICK };
        let answer = match words.wire(ask.verb, ask.mint, sender) {
            Wire::Command(command) => self.query(&command),
            Wire::Script(call) => match self.query(&call.command(By::Hash)) {
                Err(error) if error.code() == Some("NOSCRIPT") => self.query(&call.command(By::Text)),
                answer => answer,
            },
            Wire::Subscribe(_) => panic!("subscriptions are not asked for here"),
        };
        let answer = answer.unwrap_or_else(|error| panic!("{ask:?}: {error}"));
        let reply = words.reply(ask.verb, ask.mint, sender, &answer).unwrap_or_else(|error| panic!("{ask:?}: {error}"));
        Said { reply, freed: self.heard() }
    }

    fn query(&mut self, command: &Cmd) -> redis::RedisResult<redis::Value> {
        command.query(&mut self.connection)
    }

    /// How often it was told since the last command that a lock is free.
    fn heard(&mut self) -> usize {
        cmd("PUBLISH").arg(MARK).arg("").exec(&mut self.connection).unwrap();
        let mut count = 0;
        loop {
            let message: (String, Vec<u8>, Vec<u8>) =
                redis::from_redis_value(self.listener.recv_response().unwrap()).unwrap();
            if message.1 == MARK.as_bytes() {
                return count;
            }
            count += 1;
        }
    }

    fn delete(&mut self, key: &[u8]) {
        cmd("DEL").arg(key).exec(&mut self.connection).unwrap();
    }

    fn tick(&mut self) {
        self.now += 1;
        let keys = self.keys();
        for connection in self.replicas.iter_mut().map(|replica| &mut replica.connection).chain([&mut self.connection])
        {
            shorten(connection, &keys, 1);
        }
        let every = u64::from(self.setup.fsync_every.0);
        if self.now.is_multiple_of(every) {
            self.save();
        }
    }

    fn keys(&self) -> Vec<Vec<u8>> {
        let names = (0..LOCKS).map(|lock| self.words(Resource(lock), None).names);
        names.flat_map(|names| [names.key, names.fence]).collect()
    }

    /// Notes what is on disk now, where a restart loses what came after.
    fn save(&mut self) {
        if self.persistence == Persistence::EverySecond {
            self.saved = Some((files::copy_of(self.server.folder()), self.now));
        }
    }

    fn restart(&mut self) {
        self.server.kill();
        if let Some((saved, _)) = &self.saved {
            files::put_back(saved, self.server.folder());
        }
        self.server.restart().unwrap();
        self.reconnect();
        let since = self.saved.as_ref().map_or(0, |(_, at)| self.now - at);
        let keys = self.keys();
        shorten(&mut self.connection, &keys, since);
    }

    /// The server is lost, a replica takes its place, and those that are left copy it.
    fn fail_over(&mut self, index: usize) {
        let Replica { server, .. } = self.replicas.remove(index);
        self.server = server;
        self.reconnect();
        self.replicas.iter_mut().for_each(|replica| replica.copy(&self.server));
    }

    fn reconnect(&mut self) {
        self.connection = connect(&self.server);
        self.listener = listen(&self.server);
    }

    fn seen(&mut self, said: Option<Said>) -> Seen {
        let locks: Vec<Found> = (0..LOCKS).map(|lock| self.found(Resource(lock))).collect();
        let known = locks.iter().map(|lock| i64::from(lock.entry.is_some()) + i64::from(lock.counter > 0)).sum::<i64>();
        let keys: i64 = cmd("DBSIZE").query(&mut self.connection).unwrap();
        Seen { said, locks, others: keys - known }
    }

    fn found(&mut self, lock: Resource) -> Found {
        let names = self.words(lock, None).names;
        let mut look = pipe();
        look.cmd("GET").arg(&names.key).cmd("PTTL").arg(&names.key);
        look.cmd("GET").arg(&names.fence).cmd("PTTL").arg(&names.fence);
        let (value, left, counter, counter_left): (Option<Vec<u8>>, i64, Option<u32>, i64) =
            look.query(&mut self.connection).unwrap();
        let left = u64::try_from(left).ok().map(|left| left.div_ceil(TICK) as u32);
        let clock = BEGIN + self.now * TICK;
        let entry = value.map(|value| {
            let entry = Form::of(&self.setup.policy).read(&value);
            let says = entry.expiry.map(|expiry| expiry.saturating_sub(clock).div_ceil(TICK) as u32);
            Value { token: entry.token.to_vec(), holds: entry.holds, left, says }
        });
        Found { entry, counter: counter.unwrap_or(0), counter_ends: counter_left >= 0 }
    }
}

impl Replica {
    fn start() -> Self {
        let server = Server::start(&Options::default()).unwrap();
        let connection = connect(&server);
        Self { server, connection }
    }

    /// Copies all that a server has, and hears no more from it then.
    fn copy(&mut self, master: &Server) {
        cmd("REPLICAOF").arg("127.0.0.1").arg(master.port()).exec(&mut self.connection).unwrap();
        let begin = std::time::Instant::now();
        while !self.has_copied() {
            assert!(begin.elapsed() < PATIENCE, "a replica has not copied its master");
        }
        cmd("REPLICAOF").arg("NO").arg("ONE").exec(&mut self.connection).unwrap();
    }

    fn has_copied(&mut self) -> bool {
        let said: String = cmd("INFO").arg("replication").query(&mut self.connection).unwrap();
        said.contains("master_link_status:up")
    }
}

/// Takes so many ticks off what is left of each expiry. What has none left is deleted by that.
fn shorten(connection: &mut Connection, keys: &[Vec<u8>], ticks: u64) {
    for key in keys {
        let left: i64 = cmd("PTTL").arg(key).query(connection).unwrap();
        if left >= 0 {
            let left = left - (ticks * TICK) as i64;
            cmd("PEXPIRE").arg(key).arg(left).exec(connection).unwrap();
        }
    }
}

fn options(persistence: Persistence) -> Options {
    let persistence = match persistence {
        Persistence::Nothing => Files::Nothing,
        Persistence::EverySecond | Persistence::Always => Files::Always,
    };
    Options { persistence, ..Options::default() }
}

fn connect(server: &Server) -> Connection {
    let connection = redis::Client::open(server.url()).unwrap().get_connection().unwrap();
    connection.set_read_timeout(Some(PATIENCE)).unwrap();
    connection
}

fn listen(server: &Server) -> Connection {
    let mut connection = connect(server);
    let freed = (0..LOCKS).map(|lock| lab::words::Names::of(key(Resource(lock))).channel);
    for channel in freed.chain([MARK.as_bytes().to_vec()]) {
        connection.send_packed_command(&cmd("SUBSCRIBE").arg(channel).get_packed_command()).unwrap();
        connection.recv_response().unwrap();
    }
    connection
}
