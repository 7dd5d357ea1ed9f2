//! Notifications of one server: one connection for all who listen.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::StreamExt;
use redis::Client;
use redis::aio::{PubSubSink, PubSubStream};
use tokio::sync::{Mutex as AsyncMutex, Notify};
use tokio::task::JoinHandle;

use super::Failure;

type Listeners = Mutex<HashMap<Vec<u8>, Vec<Arc<Notify>>>>;

/// Who listens to which channel of a server.
pub(super) struct Notifications {
    client: Client,
    line: AsyncMutex<Option<Line>>,
    listeners: Arc<Listeners>,
}

/// An open connection for notifications, and the task that reads them.
struct Line {
    sink: PubSubSink,
    reader: JoinHandle<()>,
}

impl Drop for Line {
    fn drop(&mut self) {
        self.reader.abort();
    }
}

/// A subscription to one channel. It ends when dropped.
///
/// A notification can be lost, with the connection for instance: whoever waits for one looks from time to time itself.
pub struct Subscription {
    channel: Vec<u8>,
    bell: Arc<Notify>,
    notifications: Arc<Notifications>,
}

impl fmt::Debug for Subscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Subscription").field(&String::from_utf8_lossy(&self.channel)).finish()
    }
}

impl Subscription {
    /// Waits for a notification. One that came since the last call counts.
    pub async fn notified(&self) {
        self.bell.notified().await;
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        let is_last = self.notifications.leave(&self.channel, &self.bell);
        // Without a runtime the connection is gone as well.
        if let (true, Ok(runtime)) = (is_last, tokio::runtime::Handle::try_current()) {
            let (notifications, channel) = (Arc::clone(&self.notifications), std::mem::take(&mut self.channel));
            runtime.spawn(async move { notifications.unsubscribe(&channel).await });
        }
    }
}

impl Notifications {
    pub(super) fn new(client: Client) -> Self {
        Self { client, line: AsyncMutex::new(None), listeners: Arc::default() }
    }

    pub(super) async fn subscribe(self: Arc<Self>, channel: Vec<u8>) -> Result<Subscription, Failure> {
        let mut line = self.line.lock().await;
        if line.as_ref().is_none_or(|line| line.reader.is_finished()) {
            *line = Some(self.open().await?);
        }
        let Some(Line { sink, .. }) = line.as_mut() else {
            return Err(Failure::NotSent("there is no connection".to_owned()));
        };
        if let Err(error) = sink.subscribe(channel.as_slice()).await {
            *line = None;
            return Err(Failure::of_command(&error));
        }
        let bell = Arc::new(Notify::new());
        self.enter(&channel, &bell);
        drop(line);
        Ok(Subscription { channel, bell, notifications: self })
    }

    async fn open(&self) -> Result<Line, Failure> {
        let connection = self.client.get_async_pubsub().await.map_err(|error| Failure::of_connecting(&error))?;
        let (mut sink, stream) = connection.split();
        // Whoever listened on the connection before goes on listening on this one.
        let channels: Vec<Vec<u8>> = self.locked().keys().cloned().collect();
        for channel in channels {
            sink.subscribe(channel.as_slice()).await.map_err(|error| Failure::of_connecting(&error))?;
        }
        Ok(Line { sink, reader: tokio::spawn(ring(stream, Arc::clone(&self.listeners))) })
    }

    async fn unsubscribe(&self, channel: &[u8]) {
        let mut line = self.line.lock().await;
        let is_wanted = self.locked().contains_key(channel);
        if let (false, Some(Line { sink, .. })) = (is_wanted, line.as_mut())
            && sink.unsubscribe(channel).await.is_err()
        {
            *line = None;
        }
    }

    fn enter(&self, channel: &[u8], bell: &Arc<Notify>) {
        self.locked().entry(channel.to_vec()).or_default().push(Arc::clone(bell));
    }

    /// Says whether nobody listens to the channel any more.
    fn leave(&self, channel: &[u8], bell: &Arc<Notify>) -> bool {
        let mut listeners = self.locked();
        let Some(bells) = listeners.get_mut(channel) else { return false };
        bells.retain(|other| !Arc::ptr_eq(other, bell));
        let is_last = bells.is_empty();
        if is_last {
            listeners.remove(channel);
        }
        is_last
    }

    fn locked(&self) -> std::sync::MutexGuard<'_, HashMap<Vec<u8>, Vec<Arc<Notify>>>> {
        self.listeners.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Rings whoever listens, until the connection ends.
async fn ring(mut stream: PubSubStream, listeners: Arc<Listeners>) {
    while let Some(message) = stream.next().await {
        let channel: Vec<u8> = message.get_channel().unwrap_or_default();
        let listeners = listeners.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bells) = listeners.get(&channel) {
            bells.iter().for_each(|bell| bell.notify_one());
        }
    }
}
