//! The locks of one client, taken one inside the other. A single lock is the case of one.

use crate::ids::{Fence, MAX_SLOTS, NodeId, Slot, Ticks, Time, Token};
use crate::lease::{Change, Context, Lease};
use crate::policy::{Conflict, LockList, OnCancel, Policy, Retry, Subscribe};
use crate::tape::{Tape, rebase, rebase_option};
use crate::wake::{Window, earlier};
use crate::wire::{Effect, Input, Notice, OpId, Outbox, Outcome, Place};

/// What does not change while a client runs: its policy and its list of locks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config<'a> {
    /// What it decides.
    pub policy: &'a Policy,
    /// Which locks it takes.
    pub locks: &'a LockList,
    /// What its wall clock reads now, for a protocol that makes fencing tokens of that.
    pub wall: Fence,
}

/// Where a client stands with its locks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It neither has nor wants any.
    Free,
    /// It is trying.
    Seeking,
    /// It holds them all.
    Holding {
        /// When the first of them ends, on the client's own clock. None: never, as far as it knows.
        until: Option<Time>,
        /// The fencing token of the first lock.
        fence: Option<Fence>,
    },
    /// It has lost them, or is giving them back.
    Leaving,
}

/// The state of the locks of one client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Locks {
    leases: [Lease; MAX_SLOTS],
    phase: Phase,
    attempts: u8,
    give_up_at: Option<Time>,
    /// Whether the server will tell when somebody gives back the lock that the client wants.
    subscribed: bool,
    /// Whether it has told so since the last try began.
    notified: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Phase {
    #[default]
    Idle,
    /// Trying for the lock of a slot, holding those before it.
    Seeking(u8),
    /// Asking to be told when the lock of a slot is given back.
    Subscribing(u8),
    /// Waiting to be told so.
    Listening(u8),
    /// Waiting to try again for the lock of a slot.
    Waiting {
        slot: u8,
        from: Time,
        by: Time,
    },
    /// Giving everything back, to begin anew.
    Unwinding,
    /// Giving everything back, having run out of attempts.
    GivingUp,
    Held,
    Lost,
    Leaving,
    /// Leaving everything to the TTL.
    Dormant {
        until: Time,
    },
}

/// The greatest number of doublings of an exponential delay: more would not fit.
const MAX_DOUBLINGS: u8 = 31;

impl Locks {
    /// One step: the clock is looked at first, then the input.
    ///
    /// `now` must not go back between steps but for a [`rebase`](Self::rebase). The effects go to `out` in the order
    /// in which they are to be carried out.
    pub fn step(&mut self, config: &Config<'_>, now: Time, input: Input, out: &mut impl Outbox) {
        self.look_at_clock(config, now, out);
        match input {
            Input::Acquire => self.acquire(config, now, out),
            Input::Release => self.release(config, now, out),
            Input::Settled(op, outcome) => self.settled(config, now, op, outcome, out),
            Input::Wake => self.wake_up(config, now, out),
            Input::Renew => self.renew(config, now, out),
            Input::Notified(slot) => self.told(config, now, slot, out),
            Input::Cancel => self.cancel(config, now, out),
        }
    }

    /// Leaves the locks to their TTL, without a word to the servers, and stays at rest until it has surely passed.
    pub fn abandon(&mut self, config: &Config<'_>, now: Time, out: &mut impl Outbox) {
        match config.policy.lease() {
            None => {
                self.forget();
                out.push(Effect::Tell(Notice::Released));
            }
            Some(ttl) => {
                for lease in &mut self.leases {
                    lease.lie_low();
                }
                self.phase = Phase::Dormant { until: now.after(ttl) };
            }
        }
    }

    /// Forgets the locks, as a crash does. The servers hear nothing.
    pub fn forget(&mut self) {
        for lease in &mut self.leases {
            lease.forget();
        }
        self.rest();
    }

    /// When the locks next have something to do.
    pub fn wake(&self, config: &Config<'_>) -> Option<Window> {
        let waiting = match self.phase {
            Phase::Dormant { until } => Some(Window::at(until)),
            Phase::Waiting { from, by, .. } => Some(Window { from, by }),
            Phase::Listening(_) => self.give_up_at.map(Window::at),
            Phase::Idle
            | Phase::Seeking(_)
            | Phase::Subscribing(_)
            | Phase::Unwinding
            | Phase::GivingUp
            | Phase::Held
            | Phase::Lost
            | Phase::Leaving => None,
        };
        self.leases_in_use(config).fold(waiting, |first, lease| earlier(first, lease.next_wake(config.policy)))
    }

    /// Where the client stands at `now`.
    pub fn standing(&self, config: &Config<'_>, now: Time) -> Standing {
        match self.phase {
            Phase::Idle => Standing::Free,
            Phase::Seeking(_)
            | Phase::Subscribing(_)
            | Phase::Listening(_)
            | Phase::Waiting { .. }
            | Phase::Unwinding
            | Phase::GivingUp => Standing::Seeking,
            Phase::Held if self.leases_in_use(config).all(|l| l.believes(config.policy, now)) => Standing::Holding {
                until: self.leases_in_use(config).filter_map(Lease::until).min(),
                fence: self.leases[0].fence(),
            },
            Phase::Held | Phase::Lost | Phase::Leaving | Phase::Dormant { .. } => Standing::Leaving,
        }
    }

    /// Whether the client neither has nor wants any lock.
    pub fn is_idle(&self) -> bool {
        self.phase == Phase::Idle
    }

    /// Whether the client is trying for a lock or holds it, and is not on the way of giving it back.
    pub fn is_wanted(&self) -> bool {
        match self.phase {
            Phase::Seeking(_)
            | Phase::Subscribing(_)
            | Phase::Listening(_)
            | Phase::Waiting { .. }
            | Phase::Unwinding
            | Phase::Held
            | Phase::Lost => true,
            Phase::Idle | Phase::GivingUp | Phase::Leaving | Phase::Dormant { .. } => false,
        }
    }

    /// Whether the client believes at `now` that it holds the lock of a slot.
    pub fn believes(&self, config: &Config<'_>, slot: Slot, now: Time) -> bool {
        self.phase != Phase::Lost && self.leases[slot.0 as usize].believes(config.policy, now)
    }

    /// Whether a renewal is under way, for any of the locks.
    pub fn is_renewing(&self) -> bool {
        self.leases.iter().any(Lease::is_renewing)
    }

    /// Whether the lock of a slot is being asked for.
    pub fn is_asking(&self, slot: Slot) -> bool {
        self.leases[slot.0 as usize].is_seeking()
    }

    /// The acquisition that a slot is at, if it is at one.
    pub fn current(&self, slot: Slot) -> Option<Token> {
        self.leases[slot.0 as usize].current()
    }

    /// The operation that a slot awaits from a server.
    pub fn awaited(&self, slot: Slot, node: NodeId) -> Option<OpId> {
        self.leases[slot.0 as usize].awaited(slot, node)
    }

    /// Whether the client is trying for the lock of a slot, or waits to try again.
    pub fn wants(&self, slot: Slot) -> bool {
        match self.phase {
            Phase::Seeking(at) | Phase::Subscribing(at) | Phase::Listening(at) | Phase::Waiting { slot: at, .. } => {
                at == slot.0
            }
            Phase::Idle
            | Phase::Unwinding
            | Phase::GivingUp
            | Phase::Held
            | Phase::Lost
            | Phase::Leaving
            | Phase::Dormant { .. } => false,
        }
    }

    /// When the lock of a slot ends, on the client's own clock. None: not held, or never as far as it knows.
    pub fn until(&self, slot: Slot) -> Option<Time> {
        self.leases[slot.0 as usize].until()
    }

    /// The fencing token of a slot.
    pub fn fence(&self, slot: Slot) -> Option<Fence> {
        self.leases[slot.0 as usize].fence()
    }

    /// The number of the last acquisition of a slot.
    pub fn token(&self, slot: Slot) -> Token {
        self.leases[slot.0 as usize].token()
    }

    /// Renumbers the last acquisition of a slot, for a checker that keeps numbers by rank.
    pub fn set_token(&mut self, slot: Slot, token: Token) {
        self.leases[slot.0 as usize].set_token(token);
    }

    /// The fencing token of a slot, wherever its lease stands, for a checker that keeps numbers by rank.
    pub fn fence_mut(&mut self, slot: Slot) -> Option<&mut Fence> {
        self.leases[slot.0 as usize].fence_mut()
    }

    /// Moves all deadlines as time passes. What is due stays due.
    pub fn rebase(&mut self, by: Ticks) {
        for lease in &mut self.leases {
            lease.rebase(by);
        }
        rebase_option(&mut self.give_up_at, by);
        if let Phase::Waiting { from, by: latest, .. } = &mut self.phase {
            rebase(from, by);
            rebase(latest, by);
        }
        if let Phase::Dormant { until } = &mut self.phase {
            rebase(until, by);
        }
    }

    /// Lays the state on a tape.
    pub fn fold(&mut self, config: &Config<'_>, tape: &mut impl Tape) {
        let (mut tag, mut slot) = self.phase.tag();
        tape.small(&mut tag, 4);
        tape.small(&mut slot, 2);
        if (tag, slot) != self.phase.tag() {
            self.phase = Phase::blank(tag, slot);
        }
        if let Phase::Waiting { from, by, .. } = &mut self.phase {
            tape.time(from);
            tape.time(by);
        }
        if let Phase::Dormant { until } = &mut self.phase {
            tape.time(until);
        }
        for lease in &mut self.leases[..config.locks.as_slice().len()] {
            lease.fold(tape);
        }
        if config.policy.counts_attempts() {
            tape.small(&mut self.attempts, 8);
        }
        if config.policy.is_notified() {
            tape.flag(&mut self.subscribed);
            tape.flag(&mut self.notified);
        }
        if config.policy.give_up_after.is_some() {
            tape.option(&mut self.give_up_at, |tape, t| tape.time(t));
        }
    }

    fn leases_in_use<'a>(&'a self, config: &'a Config<'_>) -> impl Iterator<Item = &'a Lease> {
        self.leases.iter().take(config.locks.as_slice().len())
    }

    fn acquire(&mut self, config: &Config<'_>, now: Time, out: &mut impl Outbox) {
        if self.phase != Phase::Idle {
            return;
        }
        self.give_up_at = config.policy.give_up_after.map(|span| now.after(span));
        self.attempts = 0;
        self.seek(config, now, 0, out);
    }

    /// Tries for the lock of a slot, or subscribes first.
    fn seek(&mut self, config: &Config<'_>, now: Time, slot: u8, out: &mut impl Outbox) {
        let first = config.policy.is_notified() && config.policy.subscribe == Subscribe::BeforeTrying;
        if first && !self.subscribed {
            self.subscribe(config, now, slot, out)
        } else {
            self.ask(config, now, slot, out)
        }
    }

    fn subscribe(&mut self, config: &Config<'_>, now: Time, slot: u8, out: &mut impl Outbox) {
        self.phase = Phase::Subscribing(slot);
        self.notified = false;
        self.leases[slot as usize].subscribe(&mut context(config, now, Slot(slot), out));
    }

    fn ask(&mut self, config: &Config<'_>, now: Time, slot: u8, out: &mut impl Outbox) {
        self.phase = Phase::Seeking(slot);
        self.notified = false;
        let change = self.leases[slot as usize].begin(&mut context(config, now, Slot(slot), out));
        self.changed(config, now, slot, change, out);
    }

    fn release(&mut self, config: &Config<'_>, now: Time, out: &mut impl Outbox) {
        match self.phase {
            Phase::Idle | Phase::Leaving | Phase::Dormant { .. } => {}
            Phase::Seeking(_)
            | Phase::Subscribing(_)
            | Phase::Listening(_)
            | Phase::Waiting { .. }
            | Phase::Unwinding
            | Phase::GivingUp
            | Phase::Held
            | Phase::Lost => {
                self.give_back(config, now, Phase::Leaving, out);
            }
        }
    }

    /// The caller gave up what it was waiting for.
    fn cancel(&mut self, config: &Config<'_>, now: Time, out: &mut impl Outbox) {
        match config.policy.on_cancel {
            OnCancel::CleansUp => self.release(config, now, out),
            OnCancel::Forgets if self.phase == Phase::Idle => {}
            OnCancel::Forgets => {
                self.forget();
                out.push(Effect::Tell(Notice::Released));
            }
        }
    }

    /// Somebody gave back the lock of a slot.
    fn told(&mut self, config: &Config<'_>, now: Time, slot: Slot, out: &mut impl Outbox) {
        match self.phase {
            Phase::Listening(at) | Phase::Waiting { slot: at, .. } if at == slot.0 && self.subscribed => {
                self.seek(config, now, at, out);
            }
            Phase::Seeking(at) | Phase::Subscribing(at) => self.notified |= at == slot.0,
            Phase::Listening(_)
            | Phase::Waiting { .. }
            | Phase::Idle
            | Phase::Unwinding
            | Phase::GivingUp
            | Phase::Held
            | Phase::Lost
            | Phase::Leaving
            | Phase::Dormant { .. } => {}
        }
    }

    fn settled(&mut self, config: &Config<'_>, now: Time, op: OpId, outcome: Outcome, out: &mut impl Outbox) {
        let Place::Lock(slot, _) = op.place else { return };
        if usize::from(slot.0) >= config.locks.as_slice().len() {
            return;
        }
        let change = self.leases[slot.0 as usize].settled(&mut context(config, now, slot, out), op, outcome);
        self.changed(config, now, slot.0, change, out);
    }

    fn wake_up(&mut self, config: &Config<'_>, now: Time, out: &mut impl Outbox) {
        if let Phase::Dormant { until } = self.phase {
            if now >= until {
                self.forget();
                out.push(Effect::Tell(Notice::Released));
            }
            return;
        }
        for slot in 0..config.locks.as_slice().len() as u8 {
            let change = self.leases[slot as usize].wake(&mut context(config, now, Slot(slot), out));
            self.changed(config, now, slot, change, out);
        }
        if let Phase::Waiting { slot, from, .. } = self.phase
            && now >= from
        {
            self.seek(config, now, slot, out);
        }
        if matches!(self.phase, Phase::Listening(_)) && self.give_up_at.is_some_and(|end| now >= end) {
            self.give_back(config, now, Phase::GivingUp, out);
        }
    }

    fn renew(&mut self, config: &Config<'_>, now: Time, out: &mut impl Outbox) {
        if self.phase != Phase::Held {
            return;
        }
        for slot in 0..config.locks.as_slice().len() as u8 {
            self.leases[slot as usize].renew(&mut context(config, now, Slot(slot), out));
        }
    }

    pub(crate) fn look_at_clock(&mut self, config: &Config<'_>, now: Time, out: &mut impl Outbox) {
        for slot in 0..config.locks.as_slice().len() as u8 {
            let change = self.leases[slot as usize].lapse(config.policy, now);
            self.changed(config, now, slot, change, out);
        }
    }

    /// Acts upon what became of one lease.
    fn changed(&mut self, config: &Config<'_>, now: Time, slot: u8, change: Change, out: &mut impl Outbox) {
        match change {
            Change::Nothing => {}
            Change::Acquired if usize::from(slot) + 1 < config.locks.as_slice().len() => {
                self.subscribed = false;
                self.seek(config, now, slot + 1, out);
            }
            Change::Acquired => {
                self.phase = Phase::Held;
                self.attempts = 0;
                self.give_up_at = None;
                self.subscribed = false;
                self.notified = false;
                out.push(Effect::Tell(Notice::Acquired { fence: self.leases[0].fence() }));
            }
            Change::Failed => self.failed(config, now, slot, out),
            Change::Lost => self.lost(config, now, out),
            Change::Released => self.rest_if_done(config, now, out),
            Change::Subscribed => self.subscribed(config, now, slot, out),
        }
    }

    fn subscribed(&mut self, config: &Config<'_>, now: Time, slot: u8, out: &mut impl Outbox) {
        self.subscribed = true;
        match config.policy.subscribe {
            Subscribe::BeforeTrying => self.ask(config, now, slot, out),
            Subscribe::AfterTrying => self.listen(config, now, slot, out),
        }
    }

    fn failed(&mut self, config: &Config<'_>, now: Time, slot: u8, out: &mut impl Outbox) {
        match self.phase {
            // Without a subscription nobody would tell: what is left is to poll.
            Phase::Subscribing(_) if config.policy.subscribe == Subscribe::AfterTrying => {
                return self.wait(config, now, slot);
            }
            Phase::Seeking(_) | Phase::Subscribing(_) => {}
            // The clean-up of an attempt that was broken off.
            Phase::Idle
            | Phase::Listening(_)
            | Phase::Waiting { .. }
            | Phase::Unwinding
            | Phase::GivingUp
            | Phase::Held
            | Phase::Lost
            | Phase::Leaving
            | Phase::Dormant { .. } => return self.rest_if_done(config, now, out),
        }
        if self.attempt_was_the_last(config, now) {
            return self.give_back(config, now, Phase::GivingUp, out);
        }
        match config.policy.conflict {
            Conflict::Wait if !config.policy.is_notified() => self.wait(config, now, slot),
            Conflict::Wait if self.subscribed => self.listen(config, now, slot, out),
            Conflict::Wait if config.policy.subscribe == Subscribe::AfterTrying => {
                self.subscribe(config, now, slot, out);
            }
            Conflict::Wait => self.wait(config, now, slot),
            Conflict::ReleaseAll => self.give_back(config, now, Phase::Unwinding, out),
        }
    }

    /// Counts a failed attempt, and says whether there is none left.
    fn attempt_was_the_last(&mut self, config: &Config<'_>, now: Time) -> bool {
        if config.policy.counts_attempts() {
            self.attempts = self.attempts.saturating_add(1).min(config.policy.most_attempts());
        }
        config.policy.attempts.is_some_and(|most| self.attempts >= most)
            || self.give_up_at.is_some_and(|end| now >= end)
            || config.policy.retry == Retry::Never
    }

    fn lost(&mut self, config: &Config<'_>, now: Time, out: &mut impl Outbox) {
        match self.phase {
            Phase::Held => {
                self.phase = Phase::Lost;
                out.push(Effect::Tell(Notice::Lost));
            }
            Phase::Seeking(_) | Phase::Subscribing(_) | Phase::Listening(_) | Phase::Waiting { .. } => {
                let is_last = self.attempt_was_the_last(config, now);
                self.give_back(config, now, if is_last { Phase::GivingUp } else { Phase::Unwinding }, out);
            }
            Phase::Idle | Phase::Unwinding | Phase::GivingUp | Phase::Lost | Phase::Leaving | Phase::Dormant { .. } => {
            }
        }
    }

    /// Waits to be told that the lock was given back. If that was told already, it tries at once.
    fn listen(&mut self, config: &Config<'_>, now: Time, slot: u8, out: &mut impl Outbox) {
        if self.notified {
            return self.seek(config, now, slot, out);
        }
        if config.policy.fallback_poll { self.wait(config, now, slot) } else { self.phase = Phase::Listening(slot) }
    }

    fn wait(&mut self, config: &Config<'_>, now: Time, slot: u8) {
        let (from, by) = match config.policy.retry {
            Retry::Never => (Ticks(0), Ticks(0)),
            Retry::Fixed(delay) => (delay, delay),
            Retry::Jitter(least, most) => (least, most),
            Retry::Exponential(first, most) => {
                let doublings = self.attempts.saturating_sub(1).min(MAX_DOUBLINGS);
                let delay = Ticks(first.0.saturating_mul(1 << doublings).min(most.0));
                (delay, delay)
            }
        };
        self.phase = Phase::Waiting { slot, from: now.after(from), by: now.after(by) };
    }

    /// Gives back whatever is held or asked for, in one go.
    fn give_back(&mut self, config: &Config<'_>, now: Time, then: Phase, out: &mut impl Outbox) {
        self.phase = then;
        self.subscribed = false;
        self.notified = false;
        self.rest_if_done(config, now, out);
    }

    /// Gives back every lock that is not given back yet, but one that the client has taken twice only after the later.
    fn release_leases(&mut self, config: &Config<'_>, now: Time, out: &mut impl Outbox) {
        let names = config.locks.as_slice();
        let is_next = |leases: &[Lease; MAX_SLOTS], slot: &usize| {
            let waits_for = |later: usize| names[later] == names[*slot] && !leases[later].is_idle();
            let rests = leases[*slot].is_idle() || leases[*slot].is_leaving();
            !rests && !(*slot + 1..names.len()).any(waits_for)
        };
        while let Some(slot) = (0..names.len()).find(|slot| is_next(&self.leases, slot)) {
            // What comes at once is noted by the caller, when all slots have been told.
            let _ = self.leases[slot].release(&mut context(config, now, Slot(slot as u8), out));
        }
    }

    /// Goes on from a phase of giving back when nothing is left to wait for.
    fn rest_if_done(&mut self, config: &Config<'_>, now: Time, out: &mut impl Outbox) {
        if matches!(self.phase, Phase::Unwinding | Phase::GivingUp | Phase::Leaving) {
            self.release_leases(config, now, out);
        }
        if !self.leases.iter().all(Lease::is_idle) {
            return;
        }
        match self.phase {
            Phase::Unwinding => self.wait(config, now, 0),
            Phase::GivingUp => {
                self.rest();
                out.push(Effect::Tell(Notice::GaveUp));
            }
            Phase::Leaving => {
                self.rest();
                out.push(Effect::Tell(Notice::Released));
            }
            Phase::Idle
            | Phase::Seeking(_)
            | Phase::Subscribing(_)
            | Phase::Listening(_)
            | Phase::Waiting { .. }
            | Phase::Held
            | Phase::Lost
            | Phase::Dormant { .. } => {}
        }
    }

    fn rest(&mut self) {
        self.subscribed = false;
        self.notified = false;
        self.phase = Phase::Idle;
        self.attempts = 0;
        self.give_up_at = None;
    }
}

impl Phase {
    fn tag(&self) -> (u8, u8) {
        match self {
            Self::Idle => (0, 0),
            Self::Seeking(slot) => (1, *slot),
            Self::Waiting { slot, .. } => (2, *slot),
            Self::Unwinding => (3, 0),
            Self::GivingUp => (4, 0),
            Self::Held => (5, 0),
            Self::Lost => (6, 0),
            Self::Leaving => (7, 0),
            Self::Dormant { .. } => (8, 0),
            Self::Subscribing(slot) => (9, *slot),
            Self::Listening(slot) => (10, *slot),
        }
    }

    fn blank(tag: u8, slot: u8) -> Self {
        match tag {
            1 => Self::Seeking(slot),
            2 => Self::Waiting { slot, from: Time::default(), by: Time::default() },
            3 => Self::Unwinding,
            4 => Self::GivingUp,
            5 => Self::Held,
            6 => Self::Lost,
            7 => Self::Leaving,
            8 => Self::Dormant { until: Time::default() },
            9 => Self::Subscribing(slot),
            10 => Self::Listening(slot),
            _ => Self::Idle,
        }
    }
}

impl Policy {
    /// Whether the number of failed attempts has any influence.
    fn counts_attempts(&self) -> bool {
        self.attempts.is_some() || matches!(self.retry, Retry::Exponential(..))
    }

    /// From where on one more failed attempt changes nothing.
    fn most_attempts(&self) -> u8 {
        let doublings = match self.retry {
            Retry::Exponential(first, most) => (0..MAX_DOUBLINGS).find(|n| first.0.saturating_mul(1 << n) >= most.0),
            Retry::Never | Retry::Fixed(_) | Retry::Jitter(..) => Some(0),
        };
        self.attempts.unwrap_or(0).max(doublings.unwrap_or(MAX_DOUBLINGS) + 1)
    }
}

fn context<'a, O: Outbox>(config: &'a Config<'_>, now: Time, slot: Slot, out: &'a mut O) -> Context<'a, O> {
    let resource = config.locks.as_slice()[slot.0 as usize];
    Context { policy: config.policy, now, wall: config.wall, slot, resource, out }
}
