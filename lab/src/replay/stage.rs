//! The real servers of a replay, and their clocks.

use std::fmt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use redis::{Cmd, Connection, RedisResult, Value, cmd};
use world::{Persistence, Setup};

use super::board::{Board, Library};
use crate::servers::{self, Options, Server, ServerError};
use crate::words::{By, Wire};

/// What the clocks show at first, in milliseconds since 1970: a whole second, long ago, and the same in every run.
const BEGIN: u64 = 1_000_000_000_000;

/// How long something may take that a server surely does, on a machine that is busy with other things.
pub(super) const PATIENCE: Duration = Duration::from_secs(20);

/// The key that is written when there is nothing else to bring to disk.
const PULSE: &str = "lab:replay:pulse";

/// What keeps a replay from going on, though neither the model nor the servers are wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Trouble(pub(crate) String);

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<std::io::Error> for Trouble {
    fn from(error: std::io::Error) -> Self {
        Self(error.to_string())
    }
}

impl From<redis::RedisError> for Trouble {
    fn from(error: redis::RedisError) -> Self {
        Self(error.to_string())
    }
}

impl From<ServerError> for Trouble {
    fn from(error: ServerError) -> Self {
        Self(error.to_string())
    }
}

/// What the servers of a stage must be like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Kind {
    persistence: Persistence,
    nodes: u8,
    replicas: u8,
}

/// The servers. One stage serves many replays, one after the other.
pub(crate) struct Stage {
    kind: Kind,
    library: Library,
    nodes: Vec<Host>,
    replicas: Vec<Host>,
    bank: Server,
    bank_line: Connection,
    /// What all clocks show that nothing has befallen.
    now: u64,
}

/// A lock server.
pub(super) struct Host {
    server: Server,
    board: Board,
    /// What its clock shows.
    now: u64,
    /// For those who look at it, past all clients.
    line: Option<Connection>,
}

impl Host {
    fn start(library: &mut Library, now: u64, persistence: Persistence) -> Result<Self, Trouble> {
        let board = library.board(now)?;
        let persistence = match persistence {
            Persistence::Nothing => servers::Persistence::Nothing,
            Persistence::EverySecond => servers::Persistence::EverySecond,
            Persistence::Always => servers::Persistence::Always,
        };
        let server = Server::start(&Options { persistence, clock: Some(board.clock()), ..Options::default() })?;
        let mut host = Self { server, board, now, line: None };
        // What is due by the clock is looked at often, so that nobody waits for it for long.
        host.ask(cmd("CONFIG").arg("SET").arg("hz").arg("500"))?;
        Ok(host)
    }

    fn show(&mut self, now: u64) -> Result<(), Trouble> {
        self.now = now;
        self.board.show(now)?;
        Ok(())
    }

    pub(super) fn ask(&mut self, command: &Cmd) -> Result<Value, Trouble> {
        let line = match &mut self.line {
            Some(line) => line,
            None => self.line.insert(connect(&self.server)?),
        };
        Ok(command.query(line)?)
    }

    pub(super) fn pipe(&mut self, pipe: &redis::Pipeline) -> Result<Vec<Value>, Trouble> {
        let line = match &mut self.line {
            Some(line) => line,
            None => self.line.insert(connect(&self.server)?),
        };
        Ok(pipe.query(line)?)
    }

    /// A connection of a client.
    pub(super) fn connect(&self) -> Result<Connection, Trouble> {
        connect(&self.server)
    }

    fn kill(&mut self) {
        self.line = None;
        self.server.kill();
    }

    /// The file to which what is written is appended.
    fn log(&self) -> Result<PathBuf, Trouble> {
        let folder = self.server.folder().join("appendonlydir");
        let files = std::fs::read_dir(&folder)?.filter_map(Result::ok).map(|entry| entry.path());
        files
            .filter(|path| path.to_string_lossy().ends_with(".incr.aof"))
            .max()
            .ok_or_else(|| Trouble(format!("there is no append-only file in {}", folder.display())))
    }

    /// Writes something that is brought to disk when the next second begins, not before.
    ///
    /// A server brings to disk what it has when the second has changed since it last did so, and remembers only when it had
    /// something. So the first write may go to disk at once; the second one, in the same second, waits for the next.
    fn pulse(&mut self) -> Result<(), Trouble> {
        for number in 0..2 {
            self.ask(cmd("SET").arg(PULSE).arg(number))?;
            self.until_quiet()?;
        }
        Ok(())
    }

    /// Waits until nothing is on its way to the file or to the disk.
    fn until_quiet(&mut self) -> Result<(), Trouble> {
        let begin = Instant::now();
        loop {
            let answer = self.ask(cmd("INFO").arg("persistence"))?;
            let text = redis::from_redis_value::<String>(answer).map_err(|error| Trouble(error.to_string()))?;
            let is_none = |key: &str| text.lines().any(|line| line == format!("{key}:0"));
            if is_none("aof_pending_bio_fsync") && is_none("aof_buffer_length") {
                return Ok(());
            }
            in_time(begin)?;
        }
    }

    /// Waits until all that was written is on disk, and nothing more is on its way there.
    fn settle(&mut self) -> Result<(), Trouble> {
        let log = self.log()?;
        let begin = Instant::now();
        while self.board.length_on_disk(&log)? != Some(std::fs::metadata(&log)?.len()) {
            in_time(begin)?;
            // It is asked, because it looks at its clock when it is.
            self.ask(&cmd("PING"))?;
        }
        self.until_quiet()
    }

    /// Cuts off what was not on disk yet.
    fn lose_power(&mut self) -> Result<(), Trouble> {
        let log = self.log()?;
        self.kill();
        let length = self.board.length_on_disk(&log)?.unwrap_or(0);
        std::fs::File::options().write(true).open(&log)?.set_len(length)?;
        Ok(())
    }
}

fn in_time(begin: Instant) -> Result<(), Trouble> {
    if begin.elapsed() > PATIENCE {
        return Err(Trouble("a server did not bring its append-only file to disk in time".to_owned()));
    }
    Ok(())
}

fn connect(server: &Server) -> Result<Connection, Trouble> {
    let connection = redis::Client::open(server.url())?.get_connection_with_timeout(PATIENCE)?;
    connection.set_read_timeout(Some(PATIENCE))?;
    Ok(connection)
}

/// Sends what goes over the wire, and reads the answer. A script that the server does not know is sent as text.
pub(super) fn exchange(line: &mut Connection, wire: &Wire) -> RedisResult<Value> {
    match wire {
        Wire::Command(command) => command.query(line),
        Wire::Script(call) => match call.command(By::Hash).query(line) {
            Err(error) if error.code() == Some("NOSCRIPT") => call.command(By::Text).query(line),
            answer => answer,
        },
        Wire::Subscribe(channel) => cmd("SUBSCRIBE").arg(channel).query(line),
    }
}

impl Stage {
    /// A stage for a setup.
    ///
    /// # Errors
    /// If a server cannot be started, or shown a clock.
    pub(crate) fn new(setup: &Setup) -> Result<Self, Trouble> {
        let mut library = Library::new()?;
        let kind = kind(setup);
        let mut host = |persistence| Host::start(&mut library, BEGIN, persistence);
        let nodes = (0..kind.nodes).map(|_| host(kind.persistence)).collect::<Result<_, _>>()?;
        let replicas = (0..kind.replicas).map(|_| host(Persistence::Nothing)).collect::<Result<_, _>>()?;
        let bank = Server::start(&Options::default())?;
        let bank_line = connect(&bank)?;
        Ok(Self { kind, library, nodes, replicas, bank, bank_line, now: BEGIN })
    }

    /// Gets ready for another replay: nothing is left of the one before. The clocks go on from a whole second, because
    /// a server that was shown an earlier time would bring nothing to disk for long.
    ///
    /// # Errors
    /// As [`Stage::new`].
    pub(crate) fn clear(&mut self, setup: &Setup) -> Result<(), Trouble> {
        if kind(setup) != self.kind {
            *self = Self::new(setup)?;
        }
        while self.nodes.len() < usize::from(self.kind.nodes) {
            self.nodes.push(Host::start(&mut self.library, self.now, self.kind.persistence)?);
        }
        while self.replicas.len() < usize::from(self.kind.replicas) {
            self.replicas.push(Host::start(&mut self.library, self.now, Persistence::Nothing)?);
        }
        let latest = self.nodes.iter().chain(&self.replicas).map(|host| host.now).max().unwrap_or(self.now);
        self.now = (latest.max(self.now) / 1000 + 2) * 1000;
        for host in self.nodes.iter_mut().chain(&mut self.replicas) {
            if host.server.has_ended() {
                host.server.restart()?;
            }
            host.show(self.now)?;
            let mut all = redis::pipe();
            all.cmd("FLUSHALL").cmd("CLIENT").arg("KILL").arg("TYPE").arg("pubsub");
            host.pipe(&all)?;
        }
        cmd("FLUSHALL").exec(&mut self.bank_line)?;
        Ok(())
    }

    /// What the clocks show that nothing has befallen, in milliseconds since 1970.
    pub(super) fn now(&self) -> u64 {
        self.now
    }

    pub(super) fn node(&mut self, index: u8) -> &mut Host {
        &mut self.nodes[usize::from(index)]
    }

    pub(super) fn bank(&mut self) -> &mut Connection {
        &mut self.bank_line
    }

    /// A connection of a client to the accounts.
    pub(super) fn connect_to_bank(&self) -> Result<Connection, Trouble> {
        connect(&self.bank)
    }

    /// Moves all clocks forward, but that of one lock server.
    pub(super) fn tick(&mut self, ms: u64, lags: Option<u8>) -> Result<(), Trouble> {
        self.now += ms;
        for (index, host) in (0..).zip(self.nodes.iter_mut()) {
            if lags != Some(index) {
                host.show(host.now + ms)?;
            }
        }
        self.replicas.iter_mut().try_for_each(|host| host.show(host.now + ms))
    }

    /// Moves the clock of one lock server, forward or back.
    pub(super) fn jump(&mut self, node: u8, ms: i64) -> Result<(), Trouble> {
        let host = self.node(node);
        host.show(host.now.saturating_add_signed(ms))
    }

    /// Writes something, so that all lock servers bring what they have to disk when their clocks move, and not before.
    pub(super) fn pulse(&mut self, up: impl Fn(u8) -> bool) -> Result<(), Trouble> {
        for (_, host) in (0..).zip(self.nodes.iter_mut()).filter(|(index, _)| up(*index)) {
            host.pulse()?;
        }
        Ok(())
    }

    /// Waits until all that the lock servers have is on disk.
    pub(super) fn settle(&mut self, up: impl Fn(u8) -> bool) -> Result<(), Trouble> {
        for (_, host) in (0..).zip(self.nodes.iter_mut()).filter(|(index, _)| up(*index)) {
            host.settle()?;
        }
        Ok(())
    }

    /// Kills a lock server. What it had not brought to disk is lost, as with the power.
    pub(super) fn kill(&mut self, node: u8) -> Result<(), Trouble> {
        let loses = self.kind.persistence == Persistence::EverySecond;
        let host = self.node(node);
        if loses {
            return host.lose_power();
        }
        host.kill();
        Ok(())
    }

    /// Whether a lock server has been killed.
    pub(super) fn has_ended(&mut self, node: u8) -> bool {
        self.node(node).server.has_ended()
    }

    /// Starts it again.
    pub(super) fn restart(&mut self, node: u8) -> Result<(), Trouble> {
        let host = self.node(node);
        host.server.restart()?;
        host.ask(cmd("CONFIG").arg("SET").arg("hz").arg("500"))?;
        Ok(())
    }

    /// A replica copies all that the one lock server has, and is left alone again.
    pub(super) fn replicate(&mut self, replica: u8) -> Result<(), Trouble> {
        let port = self.nodes[0].server.port();
        let host = &mut self.replicas[usize::from(replica)];
        host.ask(cmd("REPLICAOF").arg("127.0.0.1").arg(port))?;
        let begin = Instant::now();
        loop {
            let here = info(host, "slave_repl_offset")?;
            let there = info(&mut self.nodes[0], "master_repl_offset")?;
            if status(host)? && here >= there {
                break;
            }
            if begin.elapsed() > PATIENCE {
                return Err(Trouble("a replica did not catch up in time".to_owned()));
            }
        }
        host.ask(cmd("REPLICAOF").arg("NO").arg("ONE"))?;
        Ok(())
    }

    /// The one lock server is lost, and a replica takes its place.
    pub(super) fn fail_over(&mut self, replica: u8) {
        self.nodes[0].kill();
        self.nodes[0] = self.replicas.remove(usize::from(replica));
    }
}

fn kind(setup: &Setup) -> Kind {
    let replicas = if setup.faults.get(world::Fault::Failover) > 0 { setup.replicas } else { 0 };
    Kind { persistence: setup.persistence, nodes: setup.policy.nodes, replicas }
}

/// Whether a replica follows its server.
fn status(host: &mut Host) -> Result<bool, Trouble> {
    Ok(replication(host)?.lines().any(|line| line == "master_link_status:up"))
}

fn info(host: &mut Host, key: &str) -> Result<u64, Trouble> {
    let text = replication(host)?;
    let value = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'));
    Ok(value.and_then(|value| value.parse().ok()).unwrap_or(0))
}

fn replication(host: &mut Host) -> Result<String, Trouble> {
    let answer = host.ask(cmd("INFO").arg("replication"))?;
    Ok(redis::from_redis_value::<String>(answer).map_err(|error| Trouble(error.to_string()))?.replace('\r', ""))
}
