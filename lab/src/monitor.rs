//! Watches a search: shows how far it has come, and stops it in time.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use check::explore::{Cut, Monitor, Progress};
use trace::render::text::columns;

use crate::interrupt::is_interrupted;
use crate::output::tell;
use crate::render::grouped;

/// How often progress is shown.
const EVERY: Duration = Duration::from_secs(1);

/// Erases the line of a terminal and goes to its beginning.
const ERASE: &str = "\r\u{1b}[K";

/// Watches one search.
#[derive(Debug)]
pub(crate) struct Watch {
    /// What stands before the numbers; none: nothing is shown.
    label: Option<String>,
    timeout: Option<Duration>,
    memory: Option<u64>,
    started: Instant,
    last: Instant,
    /// The states at `last`.
    generated: u64,
    is_shown: bool,
}

impl Watch {
    /// Begins to watch.
    pub(crate) fn new(label: Option<String>, timeout: Option<Duration>, memory: Option<u64>) -> Self {
        let now = Instant::now();
        Self { label, timeout, memory, started: now, last: now, generated: 0, is_shown: false }
    }

    /// Begins with another search, without waiting longer for the next line of progress.
    pub(crate) fn again(&mut self, label: &str) {
        if let Some(shown) = &mut self.label {
            label.clone_into(shown);
        }
        self.started = Instant::now();
        self.generated = 0;
    }

    /// The time since it began; what it showed is erased.
    pub(crate) fn end(self) -> Duration {
        if self.is_shown {
            tell(ERASE);
        }
        self.started.elapsed()
    }

    fn show(&mut self, progress: &Progress, now: Instant) {
        let Some(label) = &self.label else { return };
        let rate = progress.generated.saturating_sub(self.generated) as f64 / (now - self.last).as_secs_f64();
        let numbers = format!(
            "depth {}, {} states, {} queued, {}/s",
            progress.depth,
            grouped(progress.unique),
            grouped(progress.queue),
            grouped(rate as u64)
        );
        let width = terminal_size::terminal_size_of(std::io::stderr()).map_or(80, |(width, _)| usize::from(width.0));
        // A line that the terminal breaks could not be erased, so the label gives way.
        let room = width.saturating_sub(columns(&numbers) + 3);
        let label: String = if columns(label) <= room { label.clone() } else { label.chars().take(room).collect() };
        let line: String = format!("{label}  {numbers}").chars().take(width.saturating_sub(1)).collect();
        tell(&format!("{ERASE}{line}"));
        self.is_shown = true;
    }
}

impl Monitor for Watch {
    fn progress(&mut self, progress: &Progress) -> ControlFlow<Cut> {
        if is_interrupted() {
            return ControlFlow::Break(Cut::Interrupted);
        }
        if self.memory.is_some_and(|most| progress.bytes > most) {
            return ControlFlow::Break(Cut::Memory);
        }
        let now = Instant::now();
        if self.timeout.is_some_and(|most| now - self.started > most) {
            return ControlFlow::Break(Cut::Time);
        }
        if now - self.last >= EVERY {
            self.show(progress, now);
            self.last = now;
            self.generated = progress.generated;
        }
        ControlFlow::Continue(())
    }
}
