//! Connections to lock servers: one for all commands, in the order in which they are sent, and one for notifications.
//!
//! The order matters: an unlock that overtook the request for the lock would leave the lock behind. So every command to a
//! server goes through one task, which hands it to one connection before it takes the next.

mod connection;
mod failure;
mod notifications;

use std::fmt;
use std::sync::Arc;

use redis::{Client, IntoConnectionInfo, Value};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Duration, Instant, timeout_at};

use crate::words::Wire;

pub use failure::Failure;
pub use notifications::Subscription;

use connection::{Connection, Request};
use notifications::Notifications;

/// How long a connection may take to be made. Commands wait for it, each for its own time.
pub const CONNECT_WITHIN: Duration = Duration::from_millis(500);

/// A lock server. Cheap to clone; the connections are made when they are needed, and made anew when they break.
#[derive(Clone)]
pub struct Node {
    address: Arc<str>,
    requests: mpsc::UnboundedSender<Request>,
    notifications: Arc<Notifications>,
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
        let client = Client::open(info)?;
        let (requests, inbox) = mpsc::unbounded_channel();
        tokio::spawn(Connection::new(client.clone(), inbox).run());
        Ok(Self { address, requests, notifications: Arc::new(Notifications::new(client)) })
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
        let (answer, heard) = oneshot::channel();
        let sent = self.requests.send(Request { wire, deadline, answer });
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

    /// Subscribes to a channel. The server has confirmed it when this is done.
    ///
    /// # Errors
    /// If the server cannot be reached, or does not confirm it until `deadline`.
    pub fn subscribe(
        &self,
        channel: Vec<u8>,
        deadline: Instant,
    ) -> impl Future<Output = Result<Subscription, Failure>> + Send + 'static {
        let notifications = Arc::clone(&self.notifications);
        async move {
            match timeout_at(deadline, notifications.subscribe(channel)).await {
                Ok(subscription) => subscription,
                Err(_) => Err(Failure::Unknown("no answer in time".to_owned())),
            }
        }
    }
}
