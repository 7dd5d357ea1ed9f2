//! Notifications of one server: one connection for all who listen.

use std::collections::HashMap;
use std::fmt;
use std::future::pending;
use std::io;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use redis::aio::{PubSub, PubSubSink, PubSubStream};
use redis::{ErrorKind, RedisResult};
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::time::{Duration, Instant, sleep_until, timeout};

use super::CONNECT_WITHIN;
use super::address::Address;

/// For how long nobody tries again to connect, at first and at most. There is always somebody who waits.
const PAUSES: (Duration, Duration) = (Duration::from_millis(10), Duration::from_secs(1));

/// What the task is asked for.
pub(super) enum Wish {
    /// To ring a bell at every notification on a channel. It is told when the server has confirmed that, or cannot.
    Join { channel: Vec<u8>, bell: Arc<Notify>, told: oneshot::Sender<()> },
    /// Not to do so any more.
    Leave { channel: Vec<u8>, bell: Arc<Notify> },
}

/// A subscription to one channel. It ends when dropped.
///
/// If the connection breaks, another one is made; and it rings then, for what was missed in between.
pub struct Subscription {
    channel: Vec<u8>,
    bell: Arc<Notify>,
    wishes: mpsc::UnboundedSender<Wish>,
}

impl fmt::Debug for Subscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Subscription").field(&String::from_utf8_lossy(&self.channel)).finish()
    }
}

impl Subscription {
    /// Asks for one, and says where it is told that the server has confirmed it.
    pub(super) fn new(wishes: &mpsc::UnboundedSender<Wish>, channel: Vec<u8>) -> (Self, oneshot::Receiver<()>) {
        let (bell, (told, heard)) = (Arc::new(Notify::new()), oneshot::channel());
        // Without the task nothing is told, and nothing rings.
        let _ = wishes.send(Wish::Join { channel: channel.clone(), bell: Arc::clone(&bell), told });
        (Self { channel, bell, wishes: wishes.clone() }, heard)
    }

    /// Waits for a notification. One that came since the last call counts.
    pub async fn notified(&self) {
        self.bell.notified().await;
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        let (channel, bell) = (std::mem::take(&mut self.channel), Arc::clone(&self.bell));
        // Without the task there is nothing to end.
        let _ = self.wishes.send(Wish::Leave { channel, bell });
    }
}

/// A channel that was subscribed to for the listeners of a number, or nothing that matters; and what came of it.
type Answered = (Option<(Vec<u8>, u64)>, RedisResult<()>);

/// Who listens to a channel.
#[derive(Default)]
struct Listeners {
    /// Tells them from those who listened to the channel before.
    number: u64,
    bells: Vec<Arc<Notify>>,
    /// Those who wait for the server's confirmation.
    untold: Vec<oneshot::Sender<()>>,
    is_confirmed: bool,
    /// Whether they went on without the server's confirmation, or it does not hold any more.
    has_missed: bool,
}

/// The task that listens to one server.
pub(super) struct Notifications {
    address: Address,
    wishes: mpsc::UnboundedReceiver<Wish>,
    channels: HashMap<Vec<u8>, Listeners>,
    line: Option<(PubSubSink, PubSubStream)>,
    connecting: Option<BoxFuture<'static, RedisResult<PubSub>>>,
    asked: FuturesUnordered<BoxFuture<'static, Answered>>,
    /// The number of the listeners who came last.
    last: u64,
    pause: Duration,
    not_before: Instant,
}

impl Notifications {
    pub(super) fn new(address: Address, wishes: mpsc::UnboundedReceiver<Wish>) -> Self {
        Self {
            address,
            wishes,
            channels: HashMap::new(),
            line: None,
            connecting: None,
            asked: FuturesUnordered::new(),
            last: 0,
            pause: PAUSES.0,
            not_before: Instant::now(),
        }
    }

    /// Runs until nobody listens any more, nor can.
    pub(super) async fn run(mut self) {
        loop {
            let is_wanted = self.line.is_none() && self.connecting.is_none() && !self.channels.is_empty();
            let (line, connecting) = (&mut self.line, &mut self.connecting);
            let message = async {
                match line {
                    Some((_, stream)) => stream.next().await,
                    None => pending().await,
                }
            };
            let connected = async {
                match connecting {
                    Some(connecting) => connecting.await,
                    None => pending().await,
                }
            };
            tokio::select! {
                message = message => match message {
                    Some(message) => self.ring(&message.get_channel::<Vec<u8>>().unwrap_or_default()),
                    None => self.lose(),
                },
                Some((asked, result)) = self.asked.next(), if !self.asked.is_empty() => self.answered(asked, &result),
                result = connected => self.connected(result),
                () = sleep_until(self.not_before), if is_wanted => {
                    self.connecting = Some(Box::pin(self.address.clone().listen()));
                }
                wish = self.wishes.recv() => match wish {
                    Some(wish) => self.obey(wish),
                    None => break,
                },
            }
        }
    }

    fn obey(&mut self, wish: Wish) {
        match wish {
            Wish::Join { channel, bell, told } => {
                self.last += 1;
                let number = self.last;
                let fresh = || Listeners { number, ..Listeners::default() };
                let listeners = self.channels.entry(channel.clone()).or_insert_with(fresh);
                listeners.bells.push(bell);
                let is_new = listeners.number == number;
                if listeners.is_confirmed {
                    // Whoever asked may have gone.
                    let _ = told.send(());
                    return;
                }
                listeners.untold.push(told);
                if is_new {
                    self.subscribe(channel);
                }
            }
            Wish::Leave { channel, bell } => {
                let Some(listeners) = self.channels.get_mut(&channel) else { return };
                listeners.bells.retain(|other| !Arc::ptr_eq(other, &bell));
                if listeners.bells.is_empty() {
                    self.channels.remove(&channel);
                    self.unsubscribe(channel);
                }
            }
        }
    }

    fn ring(&self, channel: &[u8]) {
        if let Some(listeners) = self.channels.get(channel) {
            listeners.ring();
        }
    }

    fn connected(&mut self, result: RedisResult<PubSub>) {
        self.connecting = None;
        match result {
            Ok(connection) => {
                self.pause = PAUSES.0;
                self.line = Some(connection.split());
                let channels: Vec<Vec<u8>> = self.channels.keys().cloned().collect();
                channels.into_iter().for_each(|channel| self.subscribe(channel));
            }
            Err(_) => {
                self.rest();
                for listeners in self.channels.values_mut() {
                    listeners.has_missed = true;
                    listeners.tell();
                }
            }
        }
    }

    /// The line has ended, or is as good as that.
    fn lose(&mut self) {
        self.line = None;
        self.asked.clear();
        for listeners in self.channels.values_mut() {
            (listeners.is_confirmed, listeners.has_missed) = (false, true);
        }
        self.rest();
    }

    fn rest(&mut self) {
        self.not_before = Instant::now() + self.pause;
        self.pause = (self.pause * 2).min(PAUSES.1);
    }

    /// The server has answered to a subscription, or not in time.
    fn answered(&mut self, asked: Option<(Vec<u8>, u64)>, result: &RedisResult<()>) {
        let is_broken =
            result.as_ref().is_err_and(|error| !matches!(error.kind(), ErrorKind::Server(_) | ErrorKind::Extension));
        if is_broken {
            return self.lose();
        }
        let listeners = asked.and_then(|(channel, number)| {
            self.channels.get_mut(&channel).filter(|listeners| listeners.number == number)
        });
        let Some(listeners) = listeners else { return };
        listeners.is_confirmed = result.is_ok();
        listeners.tell();
        if listeners.is_confirmed && std::mem::take(&mut listeners.has_missed) {
            listeners.ring();
        }
    }

    fn subscribe(&mut self, channel: Vec<u8>) {
        let (Some((sink, _)), Some(listeners)) = (&self.line, self.channels.get(&channel)) else { return };
        let (mut sink, number) = (sink.clone(), listeners.number);
        self.ask(async move {
            let result = in_time(sink.subscribe(channel.as_slice())).await;
            (Some((channel, number)), result)
        });
    }

    fn unsubscribe(&mut self, channel: Vec<u8>) {
        let Some((sink, _)) = &self.line else { return };
        let mut sink = sink.clone();
        self.ask(async move { (None, in_time(sink.unsubscribe(channel.as_slice())).await) });
    }

    /// Asks at once, so that what is asked later comes later.
    fn ask(&mut self, asked: impl Future<Output = Answered> + Send + 'static) {
        let mut asked: BoxFuture<'static, Answered> = Box::pin(asked);
        match asked.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(answer) => self.asked.push(Box::pin(std::future::ready(answer))),
            Poll::Pending => self.asked.push(asked),
        }
    }
}

impl Listeners {
    /// Those who wait need not wait any longer.
    fn tell(&mut self) {
        for told in self.untold.drain(..) {
            // Whoever is not there to hear it may have gone on without it.
            self.has_missed |= told.send(()).is_err();
        }
    }

    fn ring(&self) {
        self.bells.iter().for_each(|bell| bell.notify_one());
    }
}

async fn in_time(asked: impl Future<Output = RedisResult<()>>) -> RedisResult<()> {
    match timeout(CONNECT_WITHIN, asked).await {
        Ok(result) => result,
        Err(_) => Err(io::Error::from(io::ErrorKind::TimedOut).into()),
    }
}
