//! The task that drives one acquisition, from the first request until everything is given back.

use std::sync::Arc;
use std::time::Duration;

use protocol::{Command, Input, Locks, NodeId, Notice, OpId, Outcome, Place, Reply, Slot, Standing, Token, Verb};
use shared::{Tenure, Ticket};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use tracing::{Instrument, Span};

use super::metrics::Meter;
use super::{AcquireError, ExtendError, Guard, ReleaseError, Released};
use crate::driver::{End, Pilot, Redis, Terms, Unwatched};

/// What the holder of a guard wants.
#[derive(Debug)]
pub(super) enum Order {
    /// More time.
    Extend(oneshot::Sender<Result<(), ExtendError>>),
    /// The end. Who wants to know what came of it listens.
    Release(Option<oneshot::Sender<Result<Released, ReleaseError>>>),
}

/// What is asked for.
pub(super) struct Asked {
    pub(super) terms: Terms,
    pub(super) redis: Redis<Unwatched>,
    pub(super) ticket: Arc<Ticket>,
    pub(super) meter: Meter,
    pub(super) span: Span,
}

/// Asks for a lock. If the future is dropped, whatever has been asked for is given back in the background.
pub(super) async fn take(asked: Asked) -> Result<Guard, AcquireError> {
    let (answer, heard) = oneshot::channel();
    let span = asked.span.clone();
    tokio::spawn(Seat::new(asked, answer).run().instrument(span));
    heard.await.unwrap_or(Err(AcquireError::Ended))
}

/// An acquisition under way.
struct Seat {
    pilot: Pilot<Locks, Redis<Unwatched>>,
    origin: Instant,
    tenure: Arc<Tenure>,
    orders: mpsc::UnboundedReceiver<Order>,
    /// For the guard.
    sender: Option<mpsc::UnboundedSender<Order>>,
    /// Who waits for the lock.
    asking: Option<oneshot::Sender<Result<Guard, AcquireError>>>,
    /// Who waits for more time.
    extending: Vec<oneshot::Sender<Result<(), ExtendError>>>,
    /// The renewal under way that was begun for them: of each slot, its round and how many servers have granted it. Whether
    /// the lock lasts longer than before does not tell: a clock may not have moved in between.
    extension: Option<Vec<(Option<u32>, usize)>>,
    /// The acquisition of each slot, to tell one attempt from the next.
    attempt: Vec<Token>,
    heard: Heard,
    leaving: Leaving,
    /// Given up as soon as the lock is free again: the next may ask for it.
    ticket: Option<Arc<Ticket>>,
    /// Since when the lock is held.
    since: Option<Instant>,
    /// The renewal under way, whoever wanted it.
    renewal: Option<Renewal>,
    meter: Meter,
}

/// A renewal under way.
struct Renewal {
    /// Until when the lock lasted when it began.
    lasted: Option<Instant>,
    /// How many servers have carried it out.
    done: usize,
    /// Whether one has refused it.
    is_refused: bool,
}

/// What the servers answered to the last attempt.
#[derive(Debug, Default)]
struct Heard {
    taken: bool,
    granted: bool,
    /// By how many servers the request was certainly not carried out.
    refused: usize,
    failure: Option<String>,
}

/// What they answered to the release.
#[derive(Default)]
struct Leaving {
    has_begun: bool,
    /// Whether it is of a lock that was held, and has not been counted.
    was_held: bool,
    listener: Option<oneshot::Sender<Result<Released, ReleaseError>>>,
    freed: usize,
    gone: usize,
}

impl Seat {
    fn new(asked: Asked, asking: oneshot::Sender<Result<Guard, AcquireError>>) -> Self {
        let Asked { terms, redis, ticket, meter, span: _ } = asked;
        let (sender, orders) = mpsc::unbounded_channel();
        Self {
            pilot: Pilot::new(Locks::default(), terms, redis),
            origin: Instant::now(),
            tenure: Arc::new(Tenure::new()),
            orders,
            sender: Some(sender),
            asking: Some(asking),
            extending: Vec::new(),
            extension: None,
            attempt: Vec::new(),
            heard: Heard::default(),
            leaving: Leaving::default(),
            ticket: Some(ticket),
            since: None,
            renewal: None,
            meter,
        }
    }

    async fn run(mut self) {
        self.step(Input::Acquire);
        while !self.pilot.core().is_idle() {
            tokio::select! {
                biased;
                Some(order) = self.orders.recv() => self.obey(order),
                () = abandoned(&mut self.asking) => self.give_up(),
                happened = self.pilot.happen() => {
                    if let Some(end) = &happened.end {
                        self.note(end);
                    }
                    self.tell(happened.notices);
                }
            }
        }
        self.finish();
    }

    fn obey(&mut self, order: Order) {
        match order {
            Order::Extend(answer) => {
                self.extending.push(answer);
                self.extend();
            }
            Order::Release(listener) => {
                if listener.is_some() {
                    self.leaving.listener = listener;
                }
                self.leave();
            }
        }
    }

    /// Answers those who wait for more time if the renewal that was begun for them is over, and begins one if there was none.
    fn extend(&mut self) {
        if self.extending.is_empty() || self.pilot.core().is_renewing() {
            return;
        }
        if self.extension.is_some() {
            return self.answer_extending();
        }
        self.extension = Some(Vec::new());
        let notices = self.pilot.step(Input::Renew);
        let core = self.pilot.core();
        let nodes = || (0..self.pilot.terms().policy.nodes).map(NodeId);
        let round = |slot| nodes().find_map(|node| core.awaited(slot, node)).map(|op| op.round);
        self.extension = Some(self.slots().map(|slot| (round(slot), 0)).collect());
        self.tell(notices);
    }

    fn leave(&mut self) {
        if !self.leaving.has_begun {
            self.leaving.has_begun = true;
            self.leaving.was_held = self.tenure.until().is_some();
            self.meter_hold();
            self.step(Input::Release);
        }
    }

    /// Nobody waits for the lock any more.
    fn give_up(&mut self) {
        self.asking = None;
        self.leave();
    }

    fn step(&mut self, input: Input) {
        let notices = self.pilot.step(input);
        self.tell(notices);
    }

    /// Forgets what was heard of the attempt before, if another one has begun.
    fn tell_attempts_apart(&mut self) {
        let core = self.pilot.core();
        let attempt: Vec<Token> = self.slots().map(|slot| core.token(slot)).collect();
        if attempt != self.attempt {
            let before = self.attempt.iter().copied().chain(std::iter::repeat(Token::default()));
            self.meter.attempts(attempt.iter().zip(before).filter(|(now, before)| *now != before).count() as u64);
            self.attempt = attempt;
            self.heard = Heard::default();
        }
    }

    /// Tells on what the core tells, and what follows from where it stands now.
    fn tell(&mut self, notices: Vec<Notice>) {
        for notice in notices {
            match notice {
                Notice::Acquired { fence } => self.acquired(fence.map(|fence| fence.0.into())),
                Notice::Lost => {
                    self.meter_hold();
                    self.meter.lost(self.tenure.fence());
                    self.tenure.finish(shared::End::Lost);
                    self.ticket = None;
                    self.answer_extending();
                }
                Notice::GaveUp => self.refuse(),
                Notice::Released => {}
            }
        }
        self.tell_attempts_apart();
        self.meter_renewal();
        if let Some(until) = self.until() {
            self.tenure.prolong(self.millis(until));
        }
        self.extend();
        self.judge_attempt();
    }

    fn acquired(&mut self, fence: Option<u64>) {
        let Some(until) = self.until() else { return };
        self.tenure.grant(self.millis(until), fence);
        self.since = Some(Instant::now());
        self.meter.acquired(fence);
        let (Some(sender), Some(asking)) = (self.sender.take(), self.asking.take()) else { return };
        let margin = Duration::from_millis(self.pilot.terms().policy.margin.0.into());
        let guard = Guard::new(Arc::clone(&self.tenure), self.origin, margin, sender);
        // If nobody waits any more, the guard is dropped with what could not be sent, and that gives the lock back.
        let _ = asking.send(Ok(guard));
    }

    /// Tells as soon as it is certain that an attempt has failed that is not followed by another one; the clean-up goes on
    /// behind it.
    fn judge_attempt(&mut self) {
        let policy = &self.pilot.terms().policy;
        let once = policy.attempts == Some(1);
        let is_hopeless = once && self.heard.refused > usize::from(policy.nodes - policy.quorum);
        if self.asking.is_none() || self.is_asking() && !is_hopeless || self.leaving.has_begun {
            return;
        }
        let has_asked = self.heard.taken || self.heard.granted || self.heard.failure.is_some();
        let too_late = self.heard.granted && !self.heard.taken && self.heard.failure.is_none() && self.is_cleaning_up();
        if has_asked && (once || too_late) {
            self.refuse();
            self.leave();
        }
    }

    fn is_asking(&self) -> bool {
        let core = self.pilot.core();
        matches!(self.pilot.standing(), Standing::Holding { .. }) || self.slots().any(|slot| core.is_asking(slot))
    }

    /// Whether an attempt has failed and is being cleaned up.
    fn is_cleaning_up(&self) -> bool {
        let core = self.pilot.core();
        let is_cleaned_up = |slot| core.wants(slot) && core.current(slot).is_some() && !core.is_asking(slot);
        self.slots().any(is_cleaned_up)
    }

    fn refuse(&mut self) {
        let Some(asking) = self.asking.take() else { return };
        // The clean-up comes before whatever the next one sends.
        self.ticket = None;
        let ttl = Duration::from_millis(self.pilot.terms().policy.ttl.map_or(0, |ttl| ttl.0.into()));
        let error = match std::mem::take(&mut self.heard) {
            Heard { taken: true, .. } => AcquireError::Taken,
            Heard { failure: Some(why), .. } => AcquireError::Unreachable { why },
            Heard { granted: true, .. } => AcquireError::TooLate { ttl },
            Heard { .. } => AcquireError::Ended,
        };
        // Whoever asked may have gone.
        let _ = asking.send(Err(error));
    }

    fn answer_extending(&mut self) {
        let quorum = usize::from(self.pilot.terms().policy.quorum);
        let extension = self.extension.take().unwrap_or_default();
        let is_granted = !extension.is_empty() && extension.iter().all(|(_, granted)| *granted >= quorum);
        let result = match self.until() {
            None => Err(ExtendError::Lost),
            Some(_) if is_granted => Ok(()),
            Some(_) => Err(ExtendError::Unanswered),
        };
        for listener in self.extending.drain(..) {
            let _ = listener.send(result);
        }
    }

    /// Notes what a server answered.
    fn note(&mut self, end: &End) {
        let (Place::Lock(_, node), Command::Lock { verb, .. }) = (end.op.place, end.command) else { return };
        if let Some(failure) = &end.failure {
            self.meter.node_error(node.0, failure);
        }
        match (verb, end.outcome) {
            (Verb::SetNxPx, Outcome::Answered(Reply::Taken { own: false, .. })) => {
                if !self.heard.taken {
                    self.meter.contention();
                }
                self.heard.taken = true;
            }
            (Verb::SetNxPx, Outcome::Answered(_)) => self.heard.granted = true,
            (Verb::CompareAndExtend, Outcome::Answered(reply)) => {
                if reply == Reply::Done {
                    self.note_extension(end.op);
                }
                if let Some(renewal) = &mut self.renewal {
                    renewal.done += usize::from(reply == Reply::Done);
                    renewal.is_refused |= reply == Reply::Nothing;
                }
            }
            (Verb::CompareAndDelete, outcome) if self.leaving.has_begun => self.leaving.note(outcome),
            _ => {}
        }
        if (verb, end.outcome) == (Verb::SetNxPx, Outcome::Refused) {
            self.heard.refused += 1;
        }
        if let (Verb::SetNxPx | Verb::Subscribe, Some(failure)) = (verb, &end.failure) {
            self.heard.failure = Some(failure.to_string());
        }
        if self.leaving.is_certain(self.quorum()) {
            self.ticket = None;
            let quorum = self.quorum();
            self.leaving.answer(self.meter, quorum);
        }
    }

    /// Notes for how long the lock was held, if it was.
    fn meter_hold(&mut self) {
        if let Some(since) = self.since.take() {
            self.meter.held(since.elapsed());
        }
    }

    /// Notes that a renewal has begun, or what came of it.
    fn meter_renewal(&mut self) {
        if self.pilot.core().is_renewing() {
            if self.renewal.is_none() {
                self.renewal = Some(Renewal { lasted: self.until(), done: 0, is_refused: false });
            }
            return;
        }
        let Some(renewal) = self.renewal.take() else { return };
        let until = self.until();
        // Within the millisecond of the grant there is nothing to gain.
        let is_granted = until > renewal.lasted || (until.is_some() && renewal.done >= self.quorum());
        if is_granted {
            self.meter.renewal("renewed");
        } else if renewal.is_refused {
            self.meter.renewal("refused");
        } else if !self.leaving.has_begun {
            self.meter.renewal("unanswered");
        }
    }

    fn note_extension(&mut self, op: OpId) {
        let Place::Lock(slot, _) = op.place else { return };
        let renewed = self.extension.as_mut().and_then(|extension| extension.get_mut(usize::from(slot.0)));
        if let Some((_, granted)) = renewed.filter(|(round, _)| *round == Some(op.round)) {
            *granted += 1;
        }
    }

    fn slots(&self) -> impl Iterator<Item = Slot> + use<> {
        (0..self.pilot.terms().locks.as_slice().len() as u8).map(Slot)
    }

    fn finish(mut self) {
        self.refuse();
        self.answer_extending();
        self.leaving.answer(self.meter, self.quorum());
    }

    fn until(&self) -> Option<Instant> {
        match self.pilot.standing() {
            Standing::Holding { until, .. } => until.map(|until| self.pilot.instant(until)),
            Standing::Free | Standing::Seeking | Standing::Leaving => None,
        }
    }

    /// How many answers to a release are enough. With several locks they are counted together.
    fn quorum(&self) -> usize {
        usize::from(self.pilot.terms().policy.quorum) * self.pilot.terms().locks.as_slice().len()
    }

    /// Since the origin, as a tenure counts.
    fn millis(&self, moment: Instant) -> u64 {
        moment.duration_since(self.origin).as_millis() as u64
    }
}

impl Leaving {
    fn note(&mut self, outcome: Outcome) {
        match outcome {
            Outcome::Answered(Reply::Done) => self.freed += 1,
            Outcome::Answered(_) => self.gone += 1,
            Outcome::Refused | Outcome::Unknown => {}
        }
    }

    /// Whether enough servers have answered, on every lock of a list.
    fn is_certain(&self, quorum: usize) -> bool {
        self.has_begun && self.freed + self.gone >= quorum
    }

    fn answer(&mut self, meter: Meter, quorum: usize) {
        let result = match self.freed {
            _ if self.freed + self.gone < quorum => Err(ReleaseError::Unanswered),
            0 => Ok(Released::WasGone),
            _ => Ok(Released::Freed),
        };
        // What goes on behind the answer is not another release.
        if std::mem::take(&mut self.was_held) {
            meter.released(result.ok());
        }
        if let Some(listener) = self.listener.take() {
            let _ = listener.send(result);
        }
    }
}

/// Ready when nobody waits for the lock any more, though nobody has it yet.
async fn abandoned(asking: &mut Option<oneshot::Sender<Result<Guard, AcquireError>>>) {
    match asking {
        Some(asking) => asking.closed().await,
        None => std::future::pending().await,
    }
}
