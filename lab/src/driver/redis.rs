//! Carries out the operations of a core on Redis.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use protocol::{Command, OpId, Owner, Place, Resource, Slot, Token, Verb};
use redis::Value;
use tokio::sync::Notify;
use tokio::time::{Duration, Instant};

use super::{Carrier, End};
use crate::nodes::{Bearing, Failure, Node};
use crate::words::{Sender, Wire, Words};

/// The servers, and how one client speaks to them.
#[derive(Debug)]
pub(crate) struct Redis<W> {
    nodes: Arc<[Node]>,
    /// The words of each lock, by its number.
    words: Arc<[Words]>,
    owner: Owner,
    /// What tells the tokens of this client from those of all others.
    name: u128,
    watch: W,
    /// Of each slot, the release that was begun last.
    releases: Vec<(Slot, Token, Arc<Release>)>,
}

/// A release of one lock on several servers.
#[derive(Debug, Default)]
struct Release {
    sent: AtomicUsize,
    answered: AtomicUsize,
    bell: Notify,
}

impl Release {
    /// Ready when a majority of `nodes` servers has answered; if fewer were asked, when no more than a minority has yet to.
    /// What is sent to the rest stays on its way.
    async fn wait_for_most(&self, nodes: usize) {
        let (minority, majority) = ((nodes - 1) / 2, nodes / 2 + 1);
        loop {
            let heard = self.bell.notified();
            tokio::pin!(heard);
            heard.as_mut().enable();
            let sent = self.sent.load(Ordering::Relaxed);
            let enough = if sent >= majority { majority } else { sent.saturating_sub(minority) };
            if self.answered.load(Ordering::Relaxed) >= enough {
                return;
            }
            heard.await;
        }
    }

    fn note_answer(&self) {
        self.answered.fetch_add(1, Ordering::Relaxed);
        self.bell.notify_waiters();
    }
}

/// A request about a lock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request {
    /// Which lock.
    pub(crate) resource: Resource,
    /// What is asked.
    pub(crate) verb: Verb,
    /// On behalf of which acquisition: its slot, and its number there.
    pub(crate) by: (Slot, Token),
}

/// Whoever looks on as requests are sent and answered.
pub(crate) trait Watch {
    /// Looks at one answer.
    type Look: FnOnce(Value) -> Value + Send + 'static;

    /// Before a request is sent: it may be sent in other words, whose answer the look turns into that to the first ones.
    fn look(&mut self, request: Request, wire: Wire) -> (Wire, Self::Look);

    /// What the wall clock of the client reads, in milliseconds since 1970.
    fn now(&self) -> u64;
}

/// Nobody looks on.
#[derive(Debug)]
pub(crate) struct Unwatched;

impl Watch for Unwatched {
    type Look = fn(Value) -> Value;

    fn look(&mut self, _: Request, wire: Wire) -> (Wire, Self::Look) {
        (wire, std::convert::identity)
    }

    fn now(&self) -> u64 {
        0
    }
}

impl<W> Redis<W> {
    pub(crate) fn new(nodes: Arc<[Node]>, words: Arc<[Words]>, owner: Owner, watch: W) -> Self {
        Self { nodes, words, owner, name: rand::random(), watch, releases: Vec::new() }
    }

    fn token(&self, slot: Slot, token: Token) -> Vec<u8> {
        let name = self.name;
        match self.owner {
            Owner::PerAcquisition => format!("{name:032x}-{}-{}", slot.0, token.0).into_bytes(),
            Owner::PerClient => format!("{name:032x}").into_bytes(),
            Owner::Constant => b"locked".to_vec(),
        }
    }

    /// The release of an acquisition, on one more server. A minority that is silent is not waited for.
    fn release(&mut self, slot: Slot, token: Token) -> Arc<Release> {
        self.releases.retain(|(other, last, _)| *other != slot || *last == token);
        let release = match self.releases.iter().find(|(other, ..)| *other == slot) {
            Some((.., release)) => Arc::clone(release),
            None => {
                let release = Arc::default();
                self.releases.push((slot, token, Arc::clone(&release)));
                release
            }
        };
        release.sent.fetch_add(1, Ordering::Relaxed);
        release
    }

    /// What a command does to the entry of a lock. Where tokens are used more than once, a release that is sent twice could
    /// free what was taken in between.
    fn bearing(&self, verb: Verb, words: &Words, deadline: Instant) -> Bearing {
        let (key, ttl) = (words.names.key.clone(), words.ttl);
        match (verb, ttl) {
            (Verb::SetNxPx | Verb::Setnx, _) => Bearing::Puts { key },
            (Verb::CompareAndDelete, Some(ttl)) if self.owner == Owner::PerAcquisition => {
                Bearing::Frees { key, until: deadline + Duration::from_millis(ttl) }
            }
            _ => Bearing::Nothing,
        }
    }
}

impl<W: Watch> Carrier for Redis<W> {
    fn carry(&mut self, op: OpId, command: Command, deadline: Instant) -> BoxFuture<'static, End> {
        let (Command::Lock { resource, verb, token: number, mint }, Place::Lock(slot, node)) = (command, op.place)
        else {
            let failure = Failure::NotSent("this client has no resource".to_owned());
            return async move { End::new(op, command, Err(failure)) }.boxed();
        };
        let node = &self.nodes[usize::from(node.0)];
        let words = self.words[usize::from(resource.0)].clone();
        let (token, now) = (self.token(slot, number), self.watch.now());
        // An expiry that is written must not come before its writer's own deadline, which is up to a millisecond later.
        let wire = match words.wire(verb, mint, Sender { token: &token, now: now + 1 }) {
            Wire::Subscribe(channel) => {
                let subscription = node.subscribe(channel, deadline);
                return async move {
                    let end = End::new(op, command, Ok(protocol::Reply::Done));
                    End { subscription: Some(subscription.await), ..end }
                }
                .boxed();
            }
            wire @ (Wire::Command(_) | Wire::Script(_)) => wire,
        };
        let (wire, look) = self.watch.look(Request { resource, verb, by: (slot, number) }, wire);
        let bearing = self.bearing(verb, &words, deadline);
        let answer = node.send_about(bearing.clone(), wire, deadline);
        let nodes = self.nodes.len();
        let release = matches!(bearing, Bearing::Frees { .. }).then(|| self.release(slot, number));
        async move {
            let answer = match release {
                None => answer.await,
                Some(release) => tokio::select! {
                    biased;
                    answer = answer => {
                        if answer.is_ok() {
                            release.note_answer();
                        }
                        answer
                    }
                    () = release.wait_for_most(nodes), if nodes > 2 => {
                        Err(Failure::Unknown("all others have answered".to_owned()))
                    }
                },
            };
            let reply = answer.and_then(|value| {
                words
                    .reply(verb, mint, Sender { token: &token, now }, &look(value))
                    .map_err(|error| Failure::Unknown(error.to_string()))
            });
            End::new(op, command, reply)
        }
        .boxed()
    }
}
