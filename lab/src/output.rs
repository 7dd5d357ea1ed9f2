//! Where results and diagnostics go.

use std::io::{self, Write};

use crate::failure::{Failure, reason};

/// Stdout. Once nobody reads it any more, what is written is dropped.
#[derive(Debug, Default)]
pub(crate) struct Output {
    is_closed: bool,
}

impl Output {
    /// Writes results.
    pub(crate) fn put(&mut self, text: &str) -> Result<(), Failure> {
        if self.is_closed {
            return Ok(());
        }
        let mut stdout = io::stdout().lock();
        match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                self.is_closed = true;
                Ok(())
            }
            Err(error) => Err(Failure::input(format!("cannot write to stdout: {}", reason(&error)))),
        }
    }

    /// Whether nobody reads it any more.
    pub(crate) fn is_closed(&self) -> bool {
        self.is_closed
    }
}

/// Writes diagnostics to stderr.
pub(crate) fn tell(text: &str) {
    // There is nowhere to say that stderr is gone.
    let _ = io::stderr().lock().write_all(text.as_bytes());
}
