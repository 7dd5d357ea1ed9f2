//! What can be driven.

use protocol::{Config, Fence, Input, LockList, Locks, Outbox, Policy, Ticks, Time, Window, Worker};

/// What does not change while a core runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Terms {
    /// What it decides.
    pub(crate) policy: Policy,
    /// Which locks it takes.
    pub(crate) locks: LockList,
}

impl Terms {
    /// The terms as a core takes them. `wall`: what the wall clock reads, as a fencing token.
    pub(crate) fn config(&self, wall: Fence) -> Config<'_> {
        Config { policy: &self.policy, locks: &self.locks, wall }
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
