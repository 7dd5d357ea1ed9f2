//! The locks over real servers, and what networks and servers do to them.

mod cancelled;
mod errors;
mod faults;
mod many;
mod metrics;
mod proxy;
mod redlock;
mod single;
mod waiting;

use std::time::{Duration, Instant};

use lab::lock::{Lock, Locker};
use lab::servers::{Options, Persistence, Server};
use redis::Value;

use proxy::Proxy;

/// How long anything may take that will surely happen: the machine may be busy with other things.
const PATIENCE: Duration = Duration::from_secs(20);

/// A server that keeps nothing.
fn server() -> Server {
    Server::start(&Options::default()).unwrap()
}

fn persistent() -> Server {
    Server::start(&Options { persistence: Persistence::Always, ..Options::default() }).unwrap()
}

/// Some servers, each behind a proxy.
struct Stage {
    servers: Vec<Server>,
    proxies: Vec<Proxy>,
}

impl Stage {
    async fn of(count: usize) -> Self {
        Self::with((0..count).map(|_| server()).collect()).await
    }

    async fn with(servers: Vec<Server>) -> Self {
        let mut proxies = Vec::new();
        for server in &servers {
            proxies.push(Proxy::start(server.address()).await);
        }
        Self { servers, proxies }
    }

    /// Whoever takes locks through the proxies.
    fn locker(&self) -> Locker {
        let urls: Vec<String> = self.proxies.iter().map(Proxy::url).collect();
        Locker::redlock(&urls).unwrap()
    }

    /// The lock `lock` as most tests take it: with a TTL that no test outlives, and a time-out that passes quickly.
    fn lock(&self) -> Lock {
        self.locker().lock("lock").unwrap().ttl(Duration::from_secs(60)).timeout(Duration::from_millis(400))
    }

    /// Whoever takes locks without the proxies: somebody else, whom nothing holds up.
    fn somebody_else(&self) -> Locker {
        let urls: Vec<String> = self.servers.iter().map(Server::url).collect();
        Locker::redlock(&urls).unwrap()
    }

    /// How often something came to any of the proxies.
    fn asked(&self, word: &str) -> usize {
        self.proxies.iter().map(|proxy| proxy.asked(word)).sum()
    }

    fn ask(&self, server: usize, command: &[&str]) -> Value {
        ask(&self.servers[server], command)
    }

    /// The key of the lock on one of the servers.
    fn key(&self, server: usize) -> Option<String> {
        redis::from_redis_value(self.ask(server, &["GET", "lock"])).unwrap()
    }

    /// Takes a lock once and gives it back, and waits until all servers have heard of that: the connections are there then,
    /// and nothing of it is under way.
    async fn warm(&self, lock: &Lock) {
        let before: Vec<_> = self.servers.iter().map(|server| calls(server, "del")).collect();
        soon(lock.acquire()).await.unwrap().release().await.unwrap();
        let have_heard = || self.servers.iter().zip(&before).all(|(server, before)| calls(server, "del") > *before);
        until(have_heard, "it is given back everywhere").await;
    }

    /// On how many servers the lock stands.
    fn standing(&self) -> usize {
        (0..self.servers.len()).filter(|server| self.key(*server).is_some()).count()
    }

    /// Waits until the lock stands nowhere.
    async fn until_free(&self) {
        until(|| self.standing() == 0, "the lock stands nowhere").await;
    }
}

/// Asks a server directly.
fn ask(server: &Server, command: &[&str]) -> Value {
    let mut connection = redis::Client::open(server.url()).unwrap().get_connection().unwrap();
    redis::cmd(command[0]).arg(&command[1..]).query(&mut connection).unwrap()
}

/// Asks a server for a number.
fn number(server: &Server, command: &[&str]) -> i64 {
    redis::from_redis_value(ask(server, command)).unwrap()
}

/// How often a server has been asked a command, scripts included.
fn calls(server: &Server, command: &str) -> usize {
    let Value::BulkString(text) = ask(server, &["INFO", "commandstats"]) else { panic!("INFO answers with a text") };
    let text = String::from_utf8(text).unwrap();
    let calls = text.lines().find_map(|line| line.strip_prefix(&format!("cmdstat_{command}:calls=")));
    calls.map_or(0, |calls| calls.split(',').next().unwrap().parse().unwrap())
}

/// Waits until something is so. Looks at it again and again, because nobody tells.
async fn until(mut is_so: impl FnMut() -> bool, what: &str) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < PATIENCE, "waited in vain until {what}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// Waits for a future that will surely be ready.
async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, future).await.expect("it happens soon")
}
