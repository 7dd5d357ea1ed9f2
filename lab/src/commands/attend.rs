//! Watches many searches one after the other.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use check::explore::{Cut, Monitor, Progress};
use check::{diff, repair};

use crate::args::{Question, Settled};
use crate::interrupt::is_interrupted;
use crate::monitor::Watch;

/// Watches all searches of a command.
#[derive(Debug)]
pub(super) struct Attendant {
    name: String,
    watch: Watch,
    within: Option<Duration>,
    started: Instant,
}

impl Attendant {
    /// Begins to watch.
    pub(super) fn new(name: String, question: &Question, settled: &Settled) -> Self {
        let label = settled.progress.then(|| name.clone());
        let watch = Watch::new(label, question.timeout, question.memory);
        Self { name, watch, within: question.within, started: Instant::now() }
    }

    /// The time since it began; what it showed is erased.
    pub(super) fn end(self) -> Duration {
        self.watch.end();
        self.started.elapsed()
    }

    fn is_over(&self) -> bool {
        self.within.is_some_and(|most| self.started.elapsed() > most)
    }

    /// Before another search.
    fn before(&mut self, label: &str) -> ControlFlow<Cut> {
        if is_interrupted() {
            return ControlFlow::Break(Cut::Interrupted);
        }
        if self.is_over() {
            return ControlFlow::Break(Cut::Time);
        }
        self.watch.again(&format!("{}: {label}", self.name));
        ControlFlow::Continue(())
    }
}

impl Monitor for Attendant {
    fn progress(&mut self, progress: &Progress) -> ControlFlow<Cut> {
        if self.is_over() { ControlFlow::Break(Cut::Time) } else { self.watch.progress(progress) }
    }
}

impl repair::Watch for Attendant {
    fn next(&mut self, stage: &repair::Stage) -> ControlFlow<Cut> {
        let what = match stage.knobs {
            0 => return self.before("as it is"),
            1 => "change",
            _ => "pair",
        };
        let repair::Stage { number, total, found, .. } = stage;
        self.before(&format!("{what} {number} of {total}, {found} found"))
    }
}

impl diff::Watch for Attendant {
    fn next(&mut self, stage: &diff::Stage<'_>) -> ControlFlow<Cut> {
        match stage {
            diff::Stage::Left => self.before("A"),
            diff::Stage::Right => self.before("B"),
            diff::Stage::Between(keys) => self.before(&format!("A with {}", keys.join(", "))),
        }
    }
}
