//! What a client is: its locks, and the program that it runs under them.
//!
//! The program reads an account, computes, and writes the result back. Under several locks it works on the account
//! of the least of them.

use crate::ids::{Fence, NodeId, Resource, Seen, Slot, Ticks, Time};
use crate::locks::{Config, Locks, Standing};
use crate::policy::{Holder, OnCancel, TokenCheck, UnsettledWrite};
use crate::tape::{Tape, rebase};
use crate::wake::{Window, earlier};
use crate::wire::{Command, Effect, Input, Notice, OpId, Outbox, Outcome, Place, Reply};

/// The state of one client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Worker {
    locks: Locks,
    job: Job,
    /// Tells the operations on the resource apart.
    round: u32,
    updates_left: u8,
    /// Whether the program ends as soon as its own write is settled.
    quits: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Job {
    #[default]
    Idle,
    Reading {
        timeout: Time,
    },
    Working {
        seen: Seen,
        until: Time,
        written: u8,
    },
    /// The clock has been looked at, and the write comes next.
    Deciding {
        seen: Seen,
        written: u8,
    },
    Checking {
        seen: Seen,
        timeout: Time,
        written: u8,
    },
    Writing {
        timeout: Time,
        written: u8,
    },
}

impl Worker {
    /// A client before its first update.
    pub fn new(config: &Config<'_>) -> Self {
        Self { updates_left: config.policy.program.updates, ..Self::default() }
    }

    /// One step. `Input::Acquire` starts the next update, if the client is at rest and one is left.
    pub fn step(&mut self, config: &Config<'_>, now: Time, input: Input, out: &mut impl Outbox) {
        match input {
            Input::Acquire if !self.can_start() => {}
            Input::Release => {
                self.drive(config, now, None, out);
                self.quit(config, now, out);
            }
            Input::Settled(op @ OpId { place: Place::Store, .. }, outcome) => {
                // The clock comes first here as well.
                self.drive(config, now, None, out);
                if self.awaited_from_store() == Some(op) {
                    self.store_answered(config, now, outcome, out);
                }
            }
            Input::Wake => {
                self.drive(config, now, Some(Input::Wake), out);
                self.work(config, now, out);
            }
            Input::Cancel => {
                self.drive(config, now, None, out);
                self.cancel(config, now, out);
            }
            Input::Acquire | Input::Renew | Input::Settled(..) | Input::Notified(_) => {
                self.drive(config, now, Some(input), out)
            }
        }
    }

    /// When the client next has something to do.
    pub fn wake(&self, config: &Config<'_>) -> Option<Window> {
        let job = match &self.job {
            Job::Idle => None,
            Job::Reading { timeout } | Job::Checking { timeout, .. } | Job::Writing { timeout, .. } => Some(*timeout),
            Job::Working { until, .. } => Some(*until),
            Job::Deciding { .. } => Some(Time(0)),
        };
        earlier(job.map(Window::at), self.locks.wake(config))
    }

    /// Whether the client is at rest and has an update left to make.
    pub fn can_start(&self) -> bool {
        self.updates_left > 0 && self.is_at_rest()
    }

    /// Whether the client neither does nor waits for anything.
    pub fn is_at_rest(&self) -> bool {
        self.job == Job::Idle && self.locks.is_idle()
    }

    /// Whether it changes anything that the caller gives up what it waits for.
    pub fn can_be_cancelled(&self, config: &Config<'_>) -> bool {
        match config.policy.on_cancel {
            OnCancel::CleansUp => self.job != Job::Idle && !self.quits || self.locks.is_wanted(),
            OnCancel::Forgets => self.job != Job::Idle || !self.locks.is_idle(),
        }
    }

    /// Whether all updates have been made.
    pub fn is_finished(&self) -> bool {
        self.updates_left == 0
    }

    /// Gives a client as many updates to make as it had at first, for a driver that lets it run on.
    pub fn go_on(&mut self, config: &Config<'_>) {
        self.updates_left = config.policy.program.updates;
    }

    /// How many updates are left to make.
    pub fn updates_left(&self) -> u8 {
        self.updates_left
    }

    /// The client ends: only the number of updates that it has still to make outlives it.
    pub fn crash(&mut self) {
        self.job = Job::Idle;
        self.quits = false;
        self.locks.forget();
    }

    /// The client's locks.
    pub fn locks(&self) -> &Locks {
        &self.locks
    }

    /// The client's locks, for a checker that keeps numbers by rank.
    pub fn locks_mut(&mut self) -> &mut Locks {
        &mut self.locks
    }

    /// How many writes of the update under way have been accepted, as far as the client knows.
    pub fn writes_done(&self) -> u8 {
        match self.job {
            Job::Idle | Job::Reading { .. } => 0,
            Job::Working { written, .. }
            | Job::Deciding { written, .. }
            | Job::Checking { written, .. }
            | Job::Writing { written, .. } => written,
        }
    }

    /// What the program is doing, in a word.
    pub fn doing(&self) -> &'static str {
        match self.job {
            Job::Idle => "nothing",
            Job::Reading { .. } => "reading",
            Job::Working { .. } => "working",
            Job::Deciding { .. } => "about to write",
            Job::Checking { .. } => "checking",
            Job::Writing { .. } => "writing",
        }
    }

    /// What the program has read and not yet written back, for a checker that keeps numbers by rank.
    pub fn seen_mut(&mut self) -> Option<&mut Seen> {
        match &mut self.job {
            Job::Working { seen, .. } | Job::Deciding { seen, .. } | Job::Checking { seen, .. } => Some(seen),
            Job::Idle | Job::Reading { .. } | Job::Writing { .. } => None,
        }
    }

    /// The operation that is awaited at a place.
    pub fn awaited(&self, place: Place) -> Option<OpId> {
        match place {
            Place::Store => self.awaited_from_store(),
            Place::Lock(slot, node) => self.awaited_from(slot, node),
        }
    }

    /// Moves all deadlines as time passes. What is due stays due.
    pub fn rebase(&mut self, by: Ticks) {
        self.locks.rebase(by);
        match &mut self.job {
            Job::Idle | Job::Deciding { .. } => {}
            Job::Reading { timeout } | Job::Checking { timeout, .. } | Job::Writing { timeout, .. } => {
                rebase(timeout, by)
            }
            Job::Working { until, .. } => rebase(until, by),
        }
    }

    /// Lays the state on a tape.
    pub fn fold(&mut self, config: &Config<'_>, tape: &mut impl Tape) {
        tape.small(&mut self.updates_left, 3);
        self.locks.fold(config, tape);
        let before = self.job.tag();
        let mut tag = before;
        tape.small(&mut tag, 3);
        if tag != before {
            self.job = Job::blank(tag);
        }
        match &mut self.job {
            Job::Idle => {}
            Job::Reading { timeout } => tape.time(timeout),
            Job::Working { seen, until: moment, written } | Job::Checking { seen, timeout: moment, written } => {
                tape.seen(seen);
                tape.time(moment);
                tape.small(written, 2);
            }
            Job::Deciding { seen, written } => {
                tape.seen(seen);
                tape.small(written, 2);
            }
            Job::Writing { timeout, written } => {
                tape.time(timeout);
                tape.small(written, 2);
                return tape.flag(&mut self.quits);
            }
        }
        self.quits = false;
    }

    /// The slot whose account the program works on: the least of the names.
    pub fn account_slot(config: &Config<'_>) -> Slot {
        let names = config.locks.as_slice();
        let least = (0..names.len()).min_by_key(|slot| names[*slot]).unwrap_or(0);
        Slot(least as u8)
    }

    fn account(config: &Config<'_>) -> Resource {
        config.locks.as_slice()[Self::account_slot(config).0 as usize]
    }

    fn awaited_from(&self, slot: Slot, node: NodeId) -> Option<OpId> {
        self.locks.awaited(slot, node)
    }

    fn awaited_from_store(&self) -> Option<OpId> {
        let stage = match &self.job {
            Job::Idle | Job::Working { .. } | Job::Deciding { .. } => return None,
            Job::Reading { .. } => 0,
            Job::Checking { .. } => 1,
            Job::Writing { .. } => 2,
        };
        Some(OpId { place: Place::Store, round: self.round, stage })
    }

    /// Passes an input to the locks (or only the time), and acts upon what they tell.
    fn drive(&mut self, config: &Config<'_>, now: Time, input: Option<Input>, out: &mut impl Outbox) {
        let mut hear = Hear { out, notice: None };
        match input {
            Some(input) => self.locks.step(config, now, input, &mut hear),
            None => self.locks.look_at_clock(config, now, &mut hear),
        }
        match hear.notice {
            None | Some(Notice::Released) => {}
            Some(Notice::Acquired { .. }) => self.read(config, now, out),
            Some(Notice::Lost) => self.quit(config, now, out),
            Some(Notice::GaveUp) => self.updates_left = self.updates_left.saturating_sub(1),
        }
    }

    fn fence(&self, config: &Config<'_>) -> Option<Fence> {
        self.locks.fence(Self::account_slot(config))
    }

    fn read(&mut self, config: &Config<'_>, now: Time, out: &mut impl Outbox) {
        let fence = self.fence(config).filter(|_| config.policy.program.check == TokenCheck::OnReadAndWrite);
        self.job = Job::Reading { timeout: now.after(config.policy.timeout) };
        self.send(Command::Read { account: Self::account(config), fence }, out);
    }

    /// Computes, if that takes time, and then writes.
    fn compute(&mut self, config: &Config<'_>, now: Time, seen: Seen, written: u8, out: &mut impl Outbox) {
        self.job = Job::Working { seen, until: now.after(config.policy.program.work), written };
        self.work(config, now, out);
    }

    /// Does what the program has to do at its own moments.
    fn work(&mut self, config: &Config<'_>, now: Time, out: &mut impl Outbox) {
        match self.job {
            Job::Idle => {}
            Job::Reading { timeout } | Job::Checking { timeout, .. } | Job::Writing { timeout, .. } => {
                if now >= timeout {
                    self.store_answered(config, now, Outcome::Unknown, out);
                }
            }
            Job::Working { until, .. } if now < until => {}
            Job::Working { .. } if !self.still_holds(config, now) => self.end(config, now, out),
            Job::Working { .. } if config.policy.holder == Holder::ChecksThenActs && self.is_late(config, now) => {
                self.end(config, now, out);
            }
            Job::Working { seen, written, .. } if config.policy.holder == Holder::ChecksThenActs => {
                self.job = Job::Deciding { seen, written };
            }
            Job::Working { seen, written, .. } | Job::Deciding { seen, written }
                if config.policy.program.check == TokenCheck::CheckThenWrite =>
            {
                self.job = Job::Checking { seen, timeout: now.after(config.policy.timeout), written };
                self.send(Command::Check { account: Self::account(config), fence: self.fence(config) }, out);
            }
            Job::Working { seen, written, .. } | Job::Deciding { seen, written } => {
                let checked = config.policy.program.check.is_atomic();
                self.write(config, now, seen, written, checked, out);
            }
        }
    }

    fn write(&mut self, config: &Config<'_>, now: Time, seen: Seen, written: u8, checked: bool, out: &mut impl Outbox) {
        let fence = self.fence(config).filter(|_| checked);
        self.job = Job::Writing { timeout: now.after(config.policy.timeout), written };
        self.send(Command::Write { account: Self::account(config), fence, seen }, out);
        let last = written + 1 == config.policy.program.writes;
        if last && config.policy.unsettled_write == UnsettledWrite::AtOnce {
            self.drive(config, now, Some(Input::Release), out);
        }
    }

    fn send(&mut self, command: Command, out: &mut impl Outbox) {
        self.round = self.round.wrapping_add(1);
        if let Some(op) = self.awaited_from_store() {
            out.push(Effect::Send { op, command });
        }
    }

    fn store_answered(&mut self, config: &Config<'_>, now: Time, outcome: Outcome, out: &mut impl Outbox) {
        match (self.job, outcome) {
            (Job::Reading { .. }, Outcome::Answered(Reply::Account(seen))) => {
                if self.still_holds(config, now) {
                    self.compute(config, now, seen, 0, out);
                } else {
                    self.end(config, now, out);
                }
            }
            (Job::Checking { seen, written, .. }, Outcome::Answered(Reply::Done)) => {
                if self.still_holds(config, now) {
                    self.write(config, now, seen, written, false, out);
                } else {
                    self.end(config, now, out);
                }
            }
            (Job::Writing { written, .. }, Outcome::Answered(Reply::Account(seen))) => {
                if written + 1 == config.policy.program.writes {
                    self.updates_left = self.updates_left.saturating_sub(1);
                    self.end(config, now, out);
                } else if self.still_holds(config, now) && !self.quits {
                    self.compute(config, now, seen, written + 1, out);
                } else {
                    self.end(config, now, out);
                }
            }
            (Job::Writing { .. }, Outcome::Unknown) if config.policy.unsettled_write == UnsettledWrite::Waits => {
                // The write may still arrive: an unlock that overtakes it would lose an update. The TTL frees the lock.
                self.job = Job::Idle;
                self.quits = false;
                self.locks.abandon(config, now, out);
            }
            (Job::Idle | Job::Working { .. } | Job::Deciding { .. }, _) => {}
            (Job::Reading { .. } | Job::Checking { .. } | Job::Writing { .. }, _) => self.end(config, now, out),
        }
    }

    /// The lock is lost, or the user wants it given back: at once, or when the own write is settled.
    fn quit(&mut self, config: &Config<'_>, now: Time, out: &mut impl Outbox) {
        let writing = matches!(self.job, Job::Writing { .. });
        match config.policy.unsettled_write {
            UnsettledWrite::Waits if writing => self.quits = true,
            UnsettledWrite::AtOnce if writing => self.drive(config, now, Some(Input::Release), out),
            UnsettledWrite::Waits | UnsettledWrite::AtOnce => self.end(config, now, out),
        }
    }

    /// The caller gave up what it was waiting for. The update is still to be made.
    fn cancel(&mut self, config: &Config<'_>, now: Time, out: &mut impl Outbox) {
        match config.policy.on_cancel {
            OnCancel::CleansUp => self.quit(config, now, out),
            OnCancel::Forgets => {
                self.job = Job::Idle;
                self.quits = false;
                self.drive(config, now, Some(Input::Cancel), out);
            }
        }
    }

    /// Ends the program, well or not, and gives the locks back.
    fn end(&mut self, config: &Config<'_>, now: Time, out: &mut impl Outbox) {
        self.job = Job::Idle;
        self.quits = false;
        self.drive(config, now, Some(Input::Release), out);
    }

    /// Whether a lease has come to its end by the client's own clock, whatever it believes.
    fn is_late(&self, config: &Config<'_>, now: Time) -> bool {
        let slots = (0..config.locks.as_slice().len() as u8).map(Slot);
        let ends = slots.filter_map(|slot| self.locks.until(slot));
        ends.map(|until| until.before(config.policy.margin)).any(|end| now >= end)
    }

    /// Whether the client may go on with its program: it holds the locks, or knows no better.
    fn still_holds(&self, config: &Config<'_>, now: Time) -> bool {
        matches!(self.locks.standing(config, now), Standing::Holding { .. })
    }
}

impl Job {
    fn tag(&self) -> u8 {
        match self {
            Self::Idle => 0,
            Self::Reading { .. } => 1,
            Self::Working { .. } => 2,
            Self::Checking { .. } => 3,
            Self::Writing { .. } => 4,
            Self::Deciding { .. } => 5,
        }
    }

    fn blank(tag: u8) -> Self {
        match tag {
            1 => Self::Reading { timeout: Time::default() },
            2 => Self::Working { seen: Seen::default(), until: Time::default(), written: 0 },
            3 => Self::Checking { seen: Seen::default(), timeout: Time::default(), written: 0 },
            4 => Self::Writing { timeout: Time::default(), written: 0 },
            5 => Self::Deciding { seen: Seen::default(), written: 0 },
            _ => Self::Idle,
        }
    }
}

/// An outbox that passes requests on and listens to what is told.
struct Hear<'a, O: Outbox> {
    out: &'a mut O,
    notice: Option<Notice>,
}

impl<O: Outbox> Outbox for Hear<'_, O> {
    fn push(&mut self, effect: Effect) {
        if let Effect::Tell(notice) = effect {
            self.notice = Some(notice);
        }
        self.out.push(effect);
    }
}
