//! Ctrl-C: the first ends the search, the second the program.

use std::sync::atomic::{AtomicBool, Ordering};

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
