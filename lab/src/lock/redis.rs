//! Carries out the operations of a core on Redis.

use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use protocol::{Command, OpId, Place, Reply, Slot, Token};
use tokio::time::Instant;

use crate::driver::{Carrier, End};
use crate::nodes::{Failure, Node};
use crate::words::{Sender, Wire, Words};

/// The servers, and how one client speaks to them.
#[derive(Debug)]
pub(crate) struct Redis {
    nodes: Arc<[Node]>,
    /// The words of each lock, by its number.
    words: Arc<[Words]>,
    /// What tells the tokens of this client from those of all others.
    name: u128,
}

impl Redis {
    pub(crate) fn new(nodes: Arc<[Node]>, words: Arc<[Words]>) -> Self {
        Self { nodes, words, name: rand::random() }
    }

    fn token(&self, slot: Slot, token: Token) -> Vec<u8> {
        format!("{:032x}-{}-{}", self.name, slot.0, token.0).into_bytes()
    }
}

impl Carrier for Redis {
    fn carry(&mut self, op: OpId, command: Command, deadline: Instant) -> BoxFuture<'static, End> {
        let (Command::Lock { resource, verb, token, mint }, Place::Lock(slot, node)) = (command, op.place) else {
            let failure = Failure::NotSent("this client has no resource".to_owned());
            return async move { End::new(op, command, Err(failure)) }.boxed();
        };
        let node = &self.nodes[usize::from(node.0)];
        let words = self.words[usize::from(resource.0)].clone();
        let token = self.token(slot, token);
        match words.wire(verb, mint, Sender { token: &token, now: 0 }) {
            Wire::Subscribe(channel) => {
                let subscription = node.subscribe(channel, deadline);
                async move {
                    match subscription.await {
                        Ok(subscription) => {
                            let end = End::new(op, command, Ok(Reply::Done));
                            End { subscription: Some(subscription), ..end }
                        }
                        Err(failure) => End::new(op, command, Err(failure)),
                    }
                }
                .boxed()
            }
            wire @ (Wire::Command(_) | Wire::Script(_)) => {
                let answer = node.send(wire, deadline);
                async move {
                    let answer = answer.await;
                    let reply = answer.and_then(|value| {
                        words
                            .reply(verb, mint, Sender { token: &token, now: 0 }, &value)
                            .map_err(|error| Failure::Unknown(error.to_string()))
                    });
                    End::new(op, command, reply)
                }
                .boxed()
            }
        }
    }
}
