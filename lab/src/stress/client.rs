//! One life of a worker: its locks, and its accounts.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use protocol::{Command, OpId};
use tokio::time::Instant;

use super::ledger::{Ledger, Sight};
use super::marks::{Grants, Marks};
use crate::account::{Account, Answer, Holdings, Write};
use crate::driver::{Carrier, End, Redis};
use crate::nodes::{Failure, Node};
use crate::words::Wire;

/// Carries out the operations of a worker.
#[derive(Debug)]
pub(super) struct Client {
    pub(super) locks: Redis<Marks>,
    pub(super) bank: Bank,
}

impl Carrier for Client {
    fn carry(&mut self, op: OpId, command: Command, deadline: Instant) -> BoxFuture<'static, End> {
        match command {
            Command::Lock { .. } => self.locks.carry(op, command, deadline),
            Command::Read { .. } | Command::Check { .. } | Command::Write { .. } => {
                self.bank.carry(op, command, deadline)
            }
        }
    }
}

/// The accounts, as one worker sees them.
#[derive(Debug)]
pub(super) struct Bank {
    pub(super) node: Node,
    /// The account of each lock, by its number.
    pub(super) accounts: Arc<[Account]>,
    pub(super) worker: usize,
    /// Tells this life of the worker from others.
    pub(super) life: u128,
    /// How many writes it has sent.
    pub(super) sent: u64,
    /// What the account held when it was last looked at.
    pub(super) seen: Arc<Mutex<Holdings>>,
    /// The numbers of the grants under which it writes.
    pub(super) grants: Grants,
    pub(super) ledger: Arc<Ledger>,
}

impl Carrier for Bank {
    fn carry(&mut self, op: OpId, command: Command, deadline: Instant) -> BoxFuture<'static, End> {
        let number = command.resource().0;
        let account = self.accounts[usize::from(number)].clone();
        let call = match command {
            Command::Write { fence, seen, .. } => {
                self.sent += 1;
                let name = format!("{:032x}/{}", self.life, self.sent);
                let balance = locked(&self.seen).balance + 1;
                account.write(Write { fence, seen, balance, name: name.as_bytes() })
            }
            Command::Check { fence, .. } => account.check(fence),
            Command::Read { fence, .. } => account.read(fence),
            Command::Lock { .. } => {
                let failure = Failure::NotSent("an account is no lock".to_owned());
                return async move { End::new(op, command, Err(failure)) }.boxed();
            }
        };
        let answer = self.node.send(Wire::Script(call), deadline);
        let (seen, ledger, worker) = (Arc::clone(&self.seen), Arc::clone(&self.ledger), self.worker);
        let grant = self.grants[usize::from(number)].load(Ordering::Relaxed);
        async move {
            let answer = answer
                .await
                .and_then(|value| account.answer(&value).map_err(|error| Failure::Unknown(error.to_string())));
            let reply = answer.map(|answer| {
                match answer {
                    Answer::Holds(now) => *locked(&seen) = now,
                    Answer::Accepted { now, before, again } => {
                        *locked(&seen) = now;
                        if !again {
                            ledger.accepted(worker, number, now.version, grant);
                        }
                        if let Command::Write { seen, .. } = command
                            && answer.lost_update(seen)
                        {
                            ledger.sight(worker, Sight::LostUpdate { versions: (seen.0, before.version) });
                        }
                    }
                    Answer::Stale => ledger.refused(),
                    Answer::Good => {}
                }
                answer.reply()
            });
            End::new(op, command, reply)
        }
        .boxed()
    }
}

fn locked(holdings: &Mutex<Holdings>) -> std::sync::MutexGuard<'_, Holdings> {
    holdings.lock().unwrap_or_else(PoisonError::into_inner)
}
