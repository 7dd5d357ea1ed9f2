//! Connections to lock servers: one for all commands, in the order in which they are sent, and one for notifications.
//!
//! The order matters: an unlock that overtook the request for the lock would leave the lock behind. So every command to a
//! server goes through one task, which hands it to one connection before it takes the next.

mod address;
mod connection;
mod failure;
mod line;
mod notifications;

use std::fmt;
use std::sync::Arc;

use redis::{IntoConnectionInfo, Value};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Duration, Instant, timeout_at};

use crate::words::Wire;

pub use failure::Failure;
pub use notifications::Subscription;

use address::Address;
use connection::{Connection, Request};
use notifications::{Notifications, Wish};

/// How long a connection may take to be made. Commands wait for it, each for its own time.
pub const CONNECT_WITHIN: Duration = Duration::from_secs(1);

/// What a command does to the entry of a lock, as far as its place among other commands depends on it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Bearing {
    /// Nothing of the kind.
    #[default]
    Nothing,
    /// It puts an entry.
    Puts {
        /// The key of the entry.
        key: Vec<u8>,
    },
    /// It deletes the entry that an earlier command may have put, and no other: it can be sent as often as one likes.
    Frees {
        /// The key of the entry.
        key: Vec<u8>,
        /// From then on there is no entry without it.
        until: Instant,
    },
}

impl Bearing {
    fn key(&self) -> Option<&[u8]> {
        match self {
            Self::Nothing => None,
            Self::Puts { key } | Self::Frees { key, .. } => Some(key),
        }
    }

    /// Whether it has a point though nobody waits for its answer.
    fn lasts(&self, now: Instant) -> bool {
        matches!(self, Self::Frees { until, .. } if now < *until)
    }
}

/// A lock server. Cheap to clone; the connections are made when they are needed, and made anew when they break.
#[derive(Clone)]
pub struct Node {
    address: Arc<str>,
    requests: mpsc::UnboundedSender<Request>,
    wishes: mpsc::UnboundedSender<Wish>,
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Node").field(&self.address).finish()
    }
}

impl Node {
    /// The server of a URL such as `redis://127.0.0.1:6379/`. Nothing is connected yet.
    ///
    /// # Errors
    /// If it is no URL of a Redis server.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn new(url: &str) -> Result<Self, redis::RedisError> {
        let info = url.into_connection_info()?;
        let address: Arc<str> = info.addr().to_string().into();
        let target = Address::new(info);
        let (requests, inbox) = mpsc::unbounded_channel();
        tokio::spawn(Connection::new(target.clone(), inbox).run());
        let (wishes, wished) = mpsc::unbounded_channel();
        tokio::spawn(Notifications::new(target, wished).run());
        Ok(Self { address, requests, wishes })
    }

    /// Where it is, without a password.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Sends a command and waits for its answer, until `deadline` at most.
    ///
    /// The command has taken its place in the order when this returns for the first time, and is sent even if the future is
    /// dropped.
    pub fn send(&self, wire: Wire, deadline: Instant) -> impl Future<Output = Result<Value, Failure>> + Send + 'static {
        self.send_about(Bearing::Nothing, wire, deadline)
    }

    /// As [`send`](Self::send), a command about the entry of a lock. One that frees it is sent again when a connection
    /// breaks, or stays silent, until it is answered or has no point any more, whoever waits for it.
    pub fn send_about(
        &self,
        bearing: Bearing,
        wire: Wire,
        deadline: Instant,
    ) -> impl Future<Output = Result<Value, Failure>> + Send + 'static {
        let (answer, heard) = oneshot::channel();
        let sent = self.requests.send(Request { wire, bearing, deadline, answer: Some(answer), again: false });
        async move {
            if sent.is_err() {
                return Err(Failure::NotSent("the runtime is shutting down".to_owned()));
            }
            match timeout_at(deadline, heard).await {
                Ok(Ok(answer)) => answer,
                Ok(Err(_)) => Err(Failure::Unknown("the runtime is shutting down".to_owned())),
                Err(_) => Err(Failure::Unknown("no answer in time".to_owned())),
            }
        }
    }

    /// Subscribes to a channel. It is ready when the server has confirmed it, and at `deadline`, or when the server cannot
    /// be reached, without that: the subscription is made as soon as it can be, and rings then for what was missed.
    pub fn subscribe(
        &self,
        channel: Vec<u8>,
        deadline: Instant,
    ) -> impl Future<Output = Subscription> + Send + 'static {
        let (subscription, told) = Subscription::new(&self.wishes, channel);
        async move {
            // Whoever has not been told in time goes on all the same.
            let _ = timeout_at(deadline, told).await;
            subscription
        }
    }
}
