//! One connection, and what is owed on it.

use std::collections::{HashSet, VecDeque};
use std::task::{Context, Poll, Waker};

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesOrdered;
use redis::aio::MultiplexedConnection;
use redis::{Cmd, RedisResult, Value};
use tokio::time::{Duration, Instant};

use super::Bearing;
use super::connection::Request;
use crate::words::{By, Call, Wire};

/// For how long at least nothing is heard on a connection that is silent, however short the time-outs of commands are.
const SILENT_FOR: Duration = Duration::from_millis(200);

/// How many commands may be owed on a connection. A server that is behind by more is not asked anything new.
const MOST_OWED: usize = 10_000;

/// A connection that has just been made, and what has to run for it.
pub(super) type Open = (MultiplexedConnection, BoxFuture<'static, ()>);

/// A command that has been answered, or never will be.
pub(super) struct Sent {
    pub(super) request: Request,
    pub(super) result: RedisResult<Value>,
}

/// One connection. Commands are answered in the order in which they are sent.
pub(super) struct Line {
    connection: MultiplexedConnection,
    /// Reads and writes; none when the connection has ended.
    driver: Option<BoxFuture<'static, ()>>,
    replies: FuturesOrdered<BoxFuture<'static, Sent>>,
    /// What is owed, the oldest first.
    owed: VecDeque<Owed>,
    /// The scripts whose texts have been sent.
    told: HashSet<String>,
    /// When something was last heard.
    heard: Instant,
}

/// A command that is not answered yet.
struct Owed {
    bearing: Bearing,
    /// When it is overdue.
    due: Instant,
    /// What frees an entry may have to be sent elsewhere as well.
    wire: Option<Wire>,
}

impl Line {
    pub(super) fn new((connection, driver): Open) -> Self {
        let (replies, owed) = (FuturesOrdered::new(), VecDeque::new());
        Self { connection, driver: Some(driver), replies, owed, told: HashSet::new(), heard: Instant::now() }
    }

    /// Sends a command. It has its place when this returns: the connection takes commands in the order in which they are
    /// first polled.
    ///
    /// A script is sent as a text the first time: the server may have been restarted, and if it has to say so first, what is
    /// sent in between comes before the script.
    pub(super) fn send(&mut self, request: Request, by: By) {
        let by = match &request.wire {
            Wire::Script(call) if self.told.insert(call.hash()) => By::Text,
            Wire::Command(_) | Wire::Script(_) | Wire::Subscribe(_) => by,
        };
        let now = Instant::now();
        let wire = matches!(request.bearing, Bearing::Frees { .. }).then(|| request.wire.clone());
        let due = request.deadline.max(now + SILENT_FOR);
        self.owed.push_back(Owed { bearing: request.bearing.clone(), due, wire });
        let (mut connection, command) = (self.connection.clone(), command(&request.wire, by));
        let mut reply: BoxFuture<'static, Sent> = Box::pin(async move {
            let result = connection.send_packed_command(&command).await;
            Sent { request, result }
        });
        let reply = match reply.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(sent) => Box::pin(std::future::ready(sent)),
            Poll::Pending => reply,
        };
        self.replies.push_back(reply);
    }

    /// The next command that is answered, or never will be.
    pub(super) fn poll_sent(&mut self, cx: &mut Context<'_>) -> Poll<Option<Sent>> {
        let sent = self.replies.poll_next_unpin(cx);
        if let Poll::Ready(Some(Sent { result, .. })) = &sent {
            self.owed.pop_front();
            if result.is_ok() {
                self.heard = Instant::now();
            }
        }
        sent
    }

    /// Ready once, when the connection has ended.
    pub(super) fn poll_closed(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Some(driver) = &mut self.driver else { return Poll::Pending };
        let ended = driver.as_mut().poll(cx);
        if ended.is_ready() {
            self.driver = None;
        }
        ended
    }

    /// Whether too much is owed for anything new.
    pub(super) fn is_full(&self) -> bool {
        self.owed.len() >= MOST_OWED
    }

    pub(super) fn is_open(&self) -> bool {
        self.driver.is_some()
    }

    /// Whether something is not answered yet.
    pub(super) fn is_owed(&self) -> bool {
        !self.owed.is_empty()
    }

    /// Whether a command is overdue, and nothing has been heard for a while.
    pub(super) fn is_silent(&self, now: Instant) -> bool {
        self.heard + SILENT_FOR <= now && self.owed.iter().any(|owed| owed.due <= now)
    }

    /// When it counts as silent because of a command that frees an entry, if that still has a point then.
    pub(super) fn is_missed_at(&self) -> Option<Instant> {
        let (now, heard) = (Instant::now(), self.heard + SILENT_FOR);
        let missed = |owed: &Owed| owed.bearing.lasts(owed.due.max(now)).then(|| owed.due.max(heard));
        self.owed.iter().filter_map(missed).min()
    }

    /// Whether a command that may put an entry of this key is not answered yet.
    pub(super) fn may_put(&self, key: &[u8]) -> bool {
        self.owed.iter().any(|owed| matches!(&owed.bearing, Bearing::Puts { key: put } if put == key))
    }

    /// Whether any command about the entry of this key is not answered yet.
    pub(super) fn is_asked_about(&self, key: &[u8]) -> bool {
        self.owed.iter().any(|owed| owed.bearing.key() == Some(key))
    }

    /// The commands that free entries and are not answered yet.
    pub(super) fn unanswered_frees(&self) -> Vec<Request> {
        let request = |owed: &Owed| {
            let (wire, bearing) = (owed.wire.clone()?, owed.bearing.clone());
            Some(Request { wire, bearing, deadline: owed.due, answer: None, again: true })
        };
        self.owed.iter().filter_map(request).collect()
    }
}

fn command(wire: &Wire, by: By) -> Cmd {
    match wire {
        Wire::Command(command) => command.clone(),
        Wire::Script(call) => Call::command(call, by),
        Wire::Subscribe(channel) => redis::cmd("SUBSCRIBE").arg(channel).take(),
    }
}
