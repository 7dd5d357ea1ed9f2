//! Ctrl-C: the first ends the search, the second the program.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::output::tell;

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// The exit code of a program that Ctrl-C ended: 128 and the number of the signal.
const ENDED: i32 = 130;

/// Whether Ctrl-C was pressed since [`listen`].
pub(crate) fn is_interrupted() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}

/// From now on Ctrl-C no longer ends the program at once, unless the search cannot be stopped.
pub(crate) fn listen(is_stoppable: bool) {
    // Without a handler Ctrl-C ends the program, which is no reason not to begin.
    let _ = ctrlc::set_handler(move || {
        if !is_stoppable || INTERRUPTED.swap(true, Ordering::Relaxed) {
            std::process::exit(ENDED);
        }
        tell("\nInterrupted: here is what was explored so far. Ctrl-C again ends at once.\n");
    });
}

/// The signals that ask a service to end.
pub(crate) struct Ends {
    interrupt: Signal,
    terminate: Signal,
    hang_up: Signal,
}

impl Ends {
    /// From now on they no longer end the program.
    ///
    /// # Errors
    /// If the system refuses that.
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }

    /// Waits for the next one.
    pub(crate) async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            _ = self.hang_up.recv() => {}
        }
    }
}
