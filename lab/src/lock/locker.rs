//! The servers, and the locks on them.

use std::collections::HashMap;
use std::fmt;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use protocol::{LockList, MAX_NODES, MAX_SLOTS, Order, Resource, Waiting};
use shared::{Queue, Ticket};

use super::metrics::Meter;
use super::seat::{self, Asked};
use super::terms::Terms;
use super::{AcquireError, Guard, LockError};
use crate::driver::{self, Redis, Unwatched, Wall};
use crate::nodes::Node;
use crate::words::Words;

/// Those of this process who want the same lock: one of them asks the servers.
type Queues = Mutex<HashMap<Vec<Vec<u8>>, Weak<Queue>>>;

/// Lock servers. Cheap to clone.
#[derive(Clone)]
pub struct Locker {
    nodes: Arc<[Node]>,
    queues: Arc<Queues>,
}

impl fmt::Debug for Locker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Locker").field("nodes", &self.nodes).finish_non_exhaustive()
    }
}

impl Locker {
    /// One server. Nothing is connected yet.
    ///
    /// # Errors
    /// If the URL is none.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn redis(url: &str) -> Result<Self, LockError> {
        Self::redlock(&[url])
    }

    /// Several independent servers, of which a majority must grant a lock (Redlock).
    ///
    /// There is no fencing token: each server could count on its own, but the largest of the counters that a majority shows
    /// is not monotonic. With counters at 5, 1 and 1 one majority mints 6, and the next, of the other two, 2.
    ///
    /// # Errors
    /// If a URL is none, or there is none, or more than seven, or one of them twice.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn redlock(urls: &[impl AsRef<str>]) -> Result<Self, LockError> {
        if urls.is_empty() || urls.len() > MAX_NODES {
            return Err(LockError::Servers { count: urls.len(), most: MAX_NODES });
        }
        let mut nodes: Vec<Node> = Vec::new();
        for url in urls {
            let url = url.as_ref();
            let node = Node::new(url)
                .map_err(|error| LockError::Address { url: without_password(url), error: error.to_string() })?;
            if nodes.iter().any(|other| other.address() == node.address()) {
                return Err(LockError::Twice { url: without_password(url) });
            }
            nodes.push(node);
        }
        Ok(Self { nodes: nodes.into(), queues: Arc::default() })
    }

    /// The lock of a key: any bytes but none.
    ///
    /// # Errors
    /// If the key is empty.
    pub fn lock(&self, key: impl AsRef<[u8]>) -> Result<Lock, LockError> {
        self.locks(&[key])
    }

    /// The locks of several keys, held together or not at all. They are taken in the order of their bytes, whatever order
    /// they are given in, so that no two clients wait for each other.
    ///
    /// # Errors
    /// If there is no key, more than three, an empty one, or one twice.
    pub fn locks(&self, keys: &[impl AsRef<[u8]>]) -> Result<Lock, LockError> {
        if keys.is_empty() || keys.len() > MAX_SLOTS {
            return Err(LockError::Keys { count: keys.len(), most: MAX_SLOTS });
        }
        let mut keys: Vec<Vec<u8>> = keys.iter().map(|key| key.as_ref().to_vec()).collect();
        keys.sort_unstable();
        if keys.iter().any(Vec::is_empty) {
            return Err(LockError::EmptyKey);
        }
        if let Some(twice) = keys.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(LockError::SameKey { key: String::from_utf8_lossy(&twice[0]).into_owned() });
        }
        Ok(Lock { terms: Terms::new(self.nodes.len()), locker: self.clone(), keys, class: "default" })
    }

    fn queue(&self, keys: &[Vec<u8>]) -> Arc<Queue> {
        let mut queues = self.queues.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(queue) = queues.get(keys).and_then(Weak::upgrade) {
            return queue;
        }
        queues.retain(|_, queue| queue.strong_count() > 0);
        let queue = Arc::new(Queue::new());
        queues.insert(keys.to_vec(), Arc::downgrade(&queue));
        queue
    }
}

/// A URL as it may be shown.
pub(crate) fn without_password(url: &str) -> String {
    match (url.split_once("://"), url.rsplit_once('@')) {
        (Some((scheme, _)), Some((_, rest))) => format!("{scheme}://{rest}"),
        _ => url.to_owned(),
    }
}

/// A lock and its terms. Cheap to clone, and as often to be taken as one likes.
#[derive(Clone, Debug)]
pub struct Lock {
    locker: Locker,
    keys: Vec<Vec<u8>>,
    terms: Terms,
    class: &'static str,
}

impl Lock {
    /// How long the lock lasts without a renewal. Ten seconds, if nothing is said.
    #[must_use]
    pub fn ttl(mut self, ttl: Duration) -> Self {
        self.terms.ttl = ttl;
        self
    }

    /// How long before its end a guard stops being valid: the time that a last request needs to arrive. A twentieth of the
    /// TTL, if nothing is said.
    #[must_use]
    pub fn margin(mut self, margin: Duration) -> Self {
        self.terms.margin = Some(margin);
        self
    }

    /// How long a server is waited for. A tenth of the TTL, but at most a second, if nothing is said.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.terms.timeout = Some(timeout);
        self
    }

    /// How long to wait before another try, at least and at most; the delay is drawn from between. On a single server this
    /// is only for the case that a notification is lost.
    #[must_use]
    pub fn retry(mut self, least: Duration, greatest: Duration) -> Self {
        self.terms.retry = (least, greatest);
        self
    }

    /// The lock is renewed for as long as its guard lives, each time a third of its TTL, less the margin, has passed. A
    /// refused renewal is final.
    #[must_use]
    pub fn renewed(mut self) -> Self {
        self.terms.is_renewed = true;
        self
    }

    /// No fencing token is minted.
    #[must_use]
    pub fn unfenced(mut self) -> Self {
        self.terms.is_fenced = false;
        self
    }

    /// Waiting is by polling alone, without a subscription to notifications.
    #[must_use]
    pub fn polled(mut self) -> Self {
        self.terms.is_notified = false;
        self
    }

    /// What sort of lock it is, for [metrics](super::metrics). Not its key: there are too many of them.
    #[must_use]
    pub fn class(mut self, class: &'static str) -> Self {
        self.class = class;
        self
    }

    /// Whether the terms can be kept, without asking for the lock.
    ///
    /// # Errors
    /// If they cannot.
    pub fn check_terms(&self) -> Result<(), LockError> {
        self.driven(true).map(|_| ())
    }

    /// Waits for the lock, for as long as it takes.
    ///
    /// # Errors
    /// If the terms cannot be kept, or a grant comes so late that nothing is left of it.
    pub async fn acquire(&self) -> Result<Guard, AcquireError> {
        self.ask(false).await
    }

    /// Waits for the lock, but not longer than this.
    ///
    /// # Errors
    /// As [`Lock::acquire`], and if the time is over.
    pub async fn acquire_within(&self, limit: Duration) -> Result<Guard, AcquireError> {
        match tokio::time::timeout(limit, self.acquire()).await {
            Ok(result) => result,
            Err(_) => Err(AcquireError::TimedOut { waited: limit }),
        }
    }

    /// Tries once.
    ///
    /// # Errors
    /// As [`Lock::acquire`], and if somebody else has the lock, or too few servers answer.
    pub async fn try_acquire(&self) -> Result<Guard, AcquireError> {
        self.ask(true).await
    }

    /// Counts that a resource refused the fencing token of one of these locks: for whoever writes under the lock, since
    /// the lock itself never hears of it. See [`metrics::FENCING_REJECTIONS`](super::metrics::FENCING_REJECTIONS).
    pub fn count_rejection(&self, fence: Option<u64>) {
        self.meter().rejection(fence);
    }

    async fn ask(&self, once: bool) -> Result<Guard, AcquireError> {
        let terms = self.driven(once).map_err(AcquireError::Lock)?;
        let asking = self.meter().asks();
        let result = self.ask_on(terms, once).await;
        asking.ends(&result);
        result
    }

    async fn ask_on(&self, terms: driver::Terms, once: bool) -> Result<Guard, AcquireError> {
        let meter = self.meter();
        let ticket = Arc::new(Ticket::draw(&self.locker.queue(&self.keys)));
        if !ticket.is_first() {
            meter.contention();
            if once {
                return Err(AcquireError::Taken);
            }
        }
        // Dropped here, the ticket leaves the queue, and nobody has asked any server.
        poll_fn(|cx| ticket.poll_turn(cx)).await;
        let asked = |terms: driver::Terms| {
            let (nodes, words) = (Arc::clone(&self.locker.nodes), self.words(&terms));
            let redis = Redis::new(nodes, words, terms.policy.owner, Unwatched);
            Asked { terms, redis, ticket: Arc::clone(&ticket), meter, span: meter.span(&self.keys) }
        };
        if self.terms.is_notified && !once {
            // Most locks are free: a subscription is for those that are not. It then stands before the next try.
            let first = self.driven(true).map_err(AcquireError::Lock)?;
            match seat::take(asked(first)).await {
                Err(AcquireError::Taken | AcquireError::Unreachable { .. }) => {}
                result => return result,
            }
        }
        seat::take(asked(terms)).await
    }

    fn meter(&self) -> Meter {
        let backend = if self.locker.nodes.len() == 1 { "redis" } else { "redlock" };
        Meter { backend, class: self.class }
    }

    /// The terms as a core takes them, for one try or for as many as it takes.
    fn driven(&self, once: bool) -> Result<driver::Terms, LockError> {
        let mut policy = self.terms.policy(self.locker.nodes.len() as u8)?;
        if once {
            policy.attempts = Some(1);
            policy.waiting = Waiting::Poll;
        }
        let names: Vec<Resource> = (0..self.keys.len() as u8).map(Resource).collect();
        let count = self.keys.len();
        let locks = LockList::new(&names, Order::Sorted).ok_or(LockError::Keys { count, most: MAX_SLOTS })?;
        Ok(driver::Terms { policy, locks, wall: Wall::UNIX })
    }

    fn words(&self, terms: &driver::Terms) -> Arc<[Words]> {
        self.keys.iter().map(|key| Words::new(&terms.policy, key, 1, 0)).map(notifying).collect()
    }
}

/// A release always tells whoever listens: not only who waits as this client does.
fn notifying(words: Words) -> Words {
    Words { notifies: true, ..words }
}

#[cfg(test)]
mod tests {
    use super::{LockError, Locker, without_password};

    #[tokio::test]
    async fn what_is_no_lock_is_refused() {
        let none: [&str; 0] = [];
        assert_eq!(Locker::redlock(&none).unwrap_err(), LockError::Servers { count: 0, most: 7 });
        let twice = ["redis://127.0.0.1:1/", "redis://:secret@127.0.0.1:1/0"];
        assert_eq!(Locker::redlock(&twice).unwrap_err().to_string().split(' ').next(), Some("redis://127.0.0.1:1/0"));
        assert!(matches!(Locker::redis("http://x"), Err(LockError::Address { .. })));
        let locker = Locker::redis("redis://127.0.0.1:1/").unwrap();
        assert_eq!(locker.lock("").unwrap_err(), LockError::EmptyKey);
        assert_eq!(locker.locks(&["b", "a", "b"]).unwrap_err(), LockError::SameKey { key: "b".into() });
        assert!(matches!(locker.locks(&["a", "b", "c", "d"]), Err(LockError::Keys { .. })));
    }

    #[test]
    fn passwords_are_never_shown() {
        assert_eq!(without_password("redis://me:pass@word@host:1/"), "redis://host:1/");
        assert_eq!(without_password("redis://host:1/"), "redis://host:1/");
    }
}
