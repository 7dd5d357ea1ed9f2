//! The servers that a command works on: those that somebody named, or some of our own.

use std::collections::BTreeSet;
use std::time::Duration;

use redis::{Client, ConnectionLike, IntoConnectionInfo, RedisResult};

use crate::cli;
use crate::failure::Failure;
use crate::lock::without_password;
use crate::servers::{Options, Server, ServerError};

/// How long a server that somebody named may take to answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// The first version with `SET … NX GET`, which the words of the locks need.
const OLDEST: u32 = 7;

/// Servers that answer, or did so a moment ago. Our own are stopped when this is dropped.
#[derive(Debug)]
pub(crate) struct Backend {
    urls: Vec<String>,
    own: Vec<Server>,
}

impl Backend {
    /// So many servers: those of `--redis`, if it was given, or else that many of our own, which keep nothing on disk.
    ///
    /// # Errors
    /// If another number of servers was named, one of them twice, one does not answer or is too old, or one of our own cannot
    /// be started.
    pub(crate) fn of(servers: &cli::Servers, count: usize) -> Result<Self, Failure> {
        let backend = Self::unasked(servers, count)?;
        if backend.own.is_empty() {
            backend.urls.iter().try_for_each(|url| ask(url))?;
        }
        Ok(backend)
    }

    /// The same without asking servers that somebody named whether they are there.
    ///
    /// # Errors
    /// As [`Backend::of`], but for servers that do not answer.
    pub(crate) fn unasked(servers: &cli::Servers, count: usize) -> Result<Self, Failure> {
        if servers.redis.is_empty() {
            return Self::started(&Options::default(), count);
        }
        let named = servers.redis.len();
        if named != count {
            let plural = if count == 1 { "" } else { "es" };
            return Err(Failure::usage(format!("--redis: expected {count} address{plural}, found {named}")));
        }
        let mut seen = BTreeSet::new();
        for url in &servers.redis {
            let place = url.as_str().into_connection_info().map(|info| info.addr().to_string()).unwrap_or_default();
            if !seen.insert(place) {
                let url = without_password(url);
                return Err(Failure::usage(format!(
                    "--redis: {url} was given twice: one server must not count as two"
                )));
            }
        }
        Ok(Self { urls: servers.redis.clone(), own: Vec::new() })
    }

    /// So many servers of our own.
    ///
    /// # Errors
    /// If one cannot be started.
    pub(crate) fn started(options: &Options, count: usize) -> Result<Self, Failure> {
        let own: Result<Vec<_>, ServerError> = (0..count).map(|_| Server::start(options)).collect();
        let own = own.map_err(|error| Failure::input(error.to_string()))?;
        Ok(Self { urls: own.iter().map(Server::url).collect(), own })
    }

    /// Their addresses, as clients write them.
    pub(crate) fn urls(&self) -> &[String] {
        &self.urls
    }

    /// Those that are our own: none if `--redis` was given. Only these can be frozen or killed.
    pub(crate) fn own(&mut self) -> &mut [Server] {
        &mut self.own
    }
}

/// Asks a server that somebody named whether it is there, and new enough.
fn ask(url: &str) -> Result<(), Failure> {
    let version = version(url).map_err(|error| {
        let url = without_password(url);
        Failure::input(format!("{url} does not answer: {error}\n  help: without --redis the lab starts its own"))
    })?;
    match version {
        Some(version) if major(&version).is_some_and(|major| major < OLDEST) => {
            let url = without_password(url);
            Err(Failure::input(format!("{url} is Redis {version}: expected {OLDEST}.0 or later")))
        }
        Some(_) | None => Ok(()),
    }
}

/// What a server says that it is, if it says so.
fn version(url: &str) -> RedisResult<Option<String>> {
    let mut connection = Client::open(url)?.get_connection_with_timeout(PATIENCE)?;
    connection.set_read_timeout(Some(PATIENCE))?;
    connection.req_command(&redis::cmd("PING"))?;
    // Somebody who may not ask for this can still take locks.
    let info: RedisResult<String> = redis::cmd("INFO").arg("server").query(&mut connection);
    Ok(info.ok().and_then(|info| {
        let line = info.lines().find_map(|line| line.strip_prefix("redis_version:"));
        line.map(|version| version.trim().to_owned())
    }))
}

fn major(version: &str) -> Option<u32> {
    version.split('.').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::Backend;
    use crate::cli::Servers;
    use crate::exit::Exit;
    use crate::servers::{Options, Server};

    fn named(urls: &[&str]) -> Servers {
        Servers { redis: urls.iter().map(|url| (*url).to_owned()).collect() }
    }

    #[test]
    fn without_a_name_it_starts_its_own() {
        let mut backend = Backend::of(&Servers::default(), 2).unwrap();
        assert_eq!((backend.urls().len(), backend.own().len()), (2, 2));
    }

    #[test]
    fn servers_that_are_named_are_asked() {
        let mut server = Server::start(&Options::default()).unwrap();
        let url = server.url();
        let mut backend = Backend::of(&named(&[&url]), 1).unwrap();
        assert_eq!(backend.urls(), std::slice::from_ref(&url));
        assert!(backend.own().is_empty());
        server.kill();
        let failure = Backend::of(&named(&[&url]), 1).unwrap_err();
        assert_eq!(failure.exit(), Exit::Input);
        assert!(failure.messages()[0].starts_with(&format!("{url} does not answer: ")), "{failure:?}");
        assert!(Backend::unasked(&named(&[&url]), 1).is_ok());
    }

    #[test]
    fn a_wrong_number_of_servers_is_refused_and_a_password_never_shown() {
        let url = "redis://127.0.0.1:1/";
        let failure = Backend::of(&named(&[url]), 5).unwrap_err();
        assert_eq!(failure.messages(), ["--redis: expected 5 addresses, found 1"]);
        let failure = Backend::of(&named(&[url, "redis://:secret@127.0.0.1:1/"]), 2).unwrap_err();
        assert_eq!(failure.exit(), Exit::Usage);
        assert!(failure.messages()[0].starts_with("--redis: redis://127.0.0.1:1/ was given twice"), "{failure:?}");
    }
}
