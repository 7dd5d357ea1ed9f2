//! What can be driven.

use std::time::{Duration, SystemTime};

use protocol::{Config, Fence, Input, LockList, Locks, Outbox, Policy, Ticks, Time, Window, Worker};

/// What does not change while a core runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Terms {
    /// What it decides. A tick is a millisecond.
    pub(crate) policy: Policy,
    /// Which locks it takes.
    pub(crate) locks: LockList,
    /// The wall clock that it reads.
    pub(crate) wall: Wall,
}

impl Terms {
    /// The terms as a core takes them now.
    pub(crate) fn config(&self) -> Config<'_> {
        Config { policy: &self.policy, locks: &self.locks, wall: self.wall.fence() }
    }
}

/// A wall clock, which a protocol may take fencing tokens from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wall {
    /// What it counts from.
    pub(crate) since: SystemTime,
    /// What it counts.
    pub(crate) unit: Duration,
    /// By how much it is ahead of the clock of this machine.
    pub(crate) ahead: Duration,
}

impl Wall {
    /// Seconds since 1970.
    pub(crate) const UNIX: Self =
        Self { since: SystemTime::UNIX_EPOCH, unit: Duration::from_secs(1), ahead: Duration::ZERO };

    /// What it reads, as a fencing token.
    fn fence(&self) -> Fence {
        let span = self.since.elapsed().unwrap_or_default() + self.ahead;
        Fence(u32::try_from(span.as_nanos() / self.unit.as_nanos().max(1)).unwrap_or(u32::MAX))
    }

    /// What it reads, in milliseconds since 1970.
    pub(crate) fn milliseconds(&self) -> u64 {
        let span = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default() + self.ahead;
        u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
    }
}

/// A state machine that takes locks.
pub(crate) trait Core {
    /// One step.
    fn step(&mut self, config: &Config<'_>, now: Time, input: Input, out: &mut impl Outbox);
    /// When it next has something to do.
    fn wake(&self, config: &Config<'_>) -> Option<Window>;
    /// Moves all deadlines to an earlier time.
    fn rebase(&mut self, by: Ticks);
    /// Its locks.
    fn locks(&self) -> &Locks;
}

impl Core for Locks {
    fn step(&mut self, config: &Config<'_>, now: Time, input: Input, out: &mut impl Outbox) {
        self.step(config, now, input, out);
    }

    fn wake(&self, config: &Config<'_>) -> Option<Window> {
        self.wake(config)
    }

    fn rebase(&mut self, by: Ticks) {
        self.rebase(by);
    }

    fn locks(&self) -> &Locks {
        self
    }
}

impl Core for Worker {
    fn step(&mut self, config: &Config<'_>, now: Time, input: Input, out: &mut impl Outbox) {
        self.step(config, now, input, out);
    }

    fn wake(&self, config: &Config<'_>) -> Option<Window> {
        self.wake(config)
    }

    fn rebase(&mut self, by: Ticks) {
        self.rebase(by);
    }

    fn locks(&self) -> &Locks {
        self.locks()
    }
}
