//! One core and what it waits for.

use std::future::pending;

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use protocol::{
    Command, Effect, Holder, Input, Locks, Notice, OpId, Outbox, Outcome, Place, Resource, Slot, Standing, Ticks,
    Window,
};
use tokio::time::{Instant, sleep_until};

use super::clock::Clock;
use super::core::{Core, Terms};
use crate::nodes::{Failure, Subscription};

/// Whoever carries out the operations of a core.
pub(crate) trait Carrier {
    /// Begins an operation. It must have taken its place in the order of its server when this returns.
    fn carry(&mut self, op: OpId, command: Command, deadline: Instant) -> BoxFuture<'static, End>;
}

/// How an operation ended.
#[derive(Debug)]
pub(crate) struct End {
    /// Which one.
    pub(crate) op: OpId,
    /// What was asked.
    pub(crate) command: Command,
    /// What it means to the core.
    pub(crate) outcome: Outcome,
    /// Why there is no answer.
    pub(crate) failure: Option<Failure>,
    /// A subscription, if that was asked for.
    pub(crate) subscription: Option<Subscription>,
}

impl End {
    /// Of an operation that was answered, or not.
    pub(crate) fn new(op: OpId, command: Command, result: Result<protocol::Reply, Failure>) -> Self {
        let (outcome, failure) = match result {
            Ok(reply) => (Outcome::Answered(reply), None),
            Err(failure) => (failure.outcome(), Some(failure)),
        };
        Self { op, command, outcome, failure, subscription: None }
    }
}

/// What happened in a step.
#[derive(Debug, Default)]
pub(crate) struct Happened {
    /// What the core told.
    pub(crate) notices: Vec<Notice>,
    /// The operation whose end led to the step.
    pub(crate) end: Option<End>,
}

/// What a client believes of a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Belief {
    /// That it does not hold it.
    Nothing,
    /// That it holds it.
    Holds {
        /// Until when it believes so. None: until it gives it back.
        until: Option<Instant>,
    },
}

/// A core under way.
pub(crate) struct Pilot<C, R> {
    core: C,
    terms: Terms,
    clock: Clock,
    carrier: R,
    under_way: FuturesUnordered<BoxFuture<'static, End>>,
    /// The subscription of each slot that waits for its lock.
    subscriptions: Vec<(Slot, Subscription)>,
    /// The window in which the core wants to run, and the moment that was drawn from it.
    alarm: Option<(Window, Instant)>,
}

impl<C: Core, R: Carrier> Pilot<C, R> {
    pub(crate) fn new(core: C, terms: Terms, carrier: R) -> Self {
        let (clock, under_way) = (Clock::new(), FuturesUnordered::new());
        Self { core, terms, clock, carrier, under_way, subscriptions: Vec::new(), alarm: None }
    }

    /// The core.
    pub(crate) fn core(&self) -> &C {
        &self.core
    }

    /// The core, to be changed between its steps.
    pub(crate) fn core_mut(&mut self) -> &mut C {
        &mut self.core
    }

    /// Its terms.
    pub(crate) fn terms(&self) -> &Terms {
        &self.terms
    }

    /// Where its locks stand now.
    pub(crate) fn standing(&self) -> Standing {
        self.locks().standing(&self.terms.config(), self.clock.now())
    }

    /// What the client believes of each of its locks now.
    pub(crate) fn beliefs(&self) -> impl Iterator<Item = (Resource, Belief)> {
        let (config, now) = (self.terms.config(), self.clock.now());
        let margin = self.terms.policy.margin;
        let is_clocked = self.terms.policy.holder == Holder::Clocked;
        (0..).zip(self.terms.locks.as_slice()).map(move |(slot, lock)| {
            let until = self.locks().until(Slot(slot)).filter(|_| is_clocked);
            let until = until.map(|until| self.clock.instant(until.before(margin)));
            let holds = self.locks().believes(&config, Slot(slot), now);
            (*lock, if holds { Belief::Holds { until } } else { Belief::Nothing })
        })
    }

    /// When a time of the core will be.
    pub(crate) fn instant(&self, time: protocol::Time) -> Instant {
        self.clock.instant(time)
    }

    /// Gives the core an input now.
    pub(crate) fn step(&mut self, input: Input) -> Vec<Notice> {
        if let Some(by) = self.clock.set_back() {
            self.core.rebase(by);
        }
        let mut effects = Effects::default();
        let now = self.clock.now();
        self.core.step(&self.terms.config(), now, input, &mut effects);
        let mut notices = Vec::new();
        for effect in effects.0 {
            match effect {
                Effect::Tell(notice) => notices.push(notice),
                Effect::Send { op, command } => {
                    let deadline = self.clock.instant(now.after(self.patience()));
                    self.under_way.push(self.carrier.carry(op, command, deadline));
                }
            }
        }
        let locks = *self.locks();
        self.subscriptions.retain(|(slot, _)| locks.wants(*slot));
        self.set_alarm();
        notices
    }

    /// Waits for what the core waits for, and lets it take a step. May be dropped at any moment: nothing is lost.
    pub(crate) async fn happen(&mut self) -> Happened {
        let bell = async {
            match self.subscriptions.first() {
                Some((slot, subscription)) => {
                    subscription.notified().await;
                    *slot
                }
                None => pending().await,
            }
        };
        let alarm = async {
            match self.alarm {
                Some((_, moment)) => sleep_until(moment).await,
                None => pending().await,
            }
        };
        tokio::select! {
            Some(end) = self.under_way.next(), if !self.under_way.is_empty() => self.ended(end),
            slot = bell => Happened { notices: self.step(Input::Notified(slot)), end: None },
            () = alarm => Happened { notices: self.step(Input::Wake), end: None },
        }
    }

    fn ended(&mut self, mut end: End) -> Happened {
        if let (Place::Lock(slot, _), Some(subscription)) = (end.op.place, end.subscription.take())
            && self.locks().wants(slot)
        {
            self.subscriptions.push((slot, subscription));
        }
        Happened { notices: self.step(Input::Settled(end.op, end.outcome)), end: Some(end) }
    }

    fn locks(&self) -> &Locks {
        self.core.locks()
    }

    /// How long an operation may take. The core has the same limit; what ends later is nothing to it.
    fn patience(&self) -> Ticks {
        self.terms.policy.timeout
    }

    fn set_alarm(&mut self) {
        let window = self.core.wake(&self.terms.config());
        if self.alarm.map(|(window, _)| window) == window {
            return;
        }
        self.alarm = window.map(|window| {
            let drawn =
                if window.from < window.by { rand::random_range(window.from.0..=window.by.0) } else { window.by.0 };
            (window, self.clock.instant(protocol::Time(drawn)))
        });
    }
}

#[derive(Default)]
struct Effects(Vec<Effect>);

impl Outbox for Effects {
    fn push(&mut self, effect: Effect) {
        self.0.push(effect);
    }
}
