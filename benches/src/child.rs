//! One measurement, in a process of its own.

use std::env;
use std::io;
use std::process::Command;
use std::time::Instant;

use crate::case::{Counts, Engine, Space, prepare};
use crate::usage::{cpu_seconds, peak_bytes};

/// The first word of the command line of a process that measures.
pub const MEASURE: &str = "measure";

/// What a search took.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// How large the space is.
    pub counts: Counts,
    /// User and system time of all threads, in seconds.
    pub cpu: f64,
    /// Time that went by, in seconds.
    pub wall: f64,
    /// The peak of the resident set, less that before the search, in bytes.
    pub bytes: u64,
}

impl Measured {
    /// Bytes for each different state.
    #[must_use]
    pub fn bytes_per_state(&self) -> f64 {
        self.bytes as f64 / self.counts.unique as f64
    }

    fn to_line(self) -> String {
        let Self { counts: Counts { unique, generated, depth }, cpu, wall, bytes } = self;
        format!("{unique} {generated} {depth} {cpu} {wall} {bytes}")
    }

    fn from_line(line: &str) -> Option<Self> {
        let words: Vec<_> = line.split_whitespace().collect();
        let [unique, generated, depth, cpu, wall, bytes] = words.try_into().ok()?;
        let counts =
            Counts { unique: unique.parse().ok()?, generated: generated.parse().ok()?, depth: depth.parse().ok()? };
        Some(Self { counts, cpu: cpu.parse().ok()?, wall: wall.parse().ok()?, bytes: bytes.parse().ok()? })
    }
}

/// Measures a search in this process, which has done nothing else yet, and prints it for [`measure`].
///
/// # Errors
///
/// If the search cannot be prepared, or the system does not tell what it took.
pub fn measure_here(space: &Space, engine: Engine) -> io::Result<()> {
    let search = prepare(space, engine)?;
    let (bytes, cpu, start) = (peak_bytes()?, cpu_seconds()?, Instant::now());
    let counts = search();
    let (wall, cpu) = (start.elapsed().as_secs_f64(), cpu_seconds()? - cpu);
    let bytes = peak_bytes()? - bytes;
    println!("{}", Measured { counts, cpu, wall, bytes }.to_line());
    Ok(())
}

/// Measures a search in a process of its own.
///
/// # Errors
///
/// If the process cannot be started, or fails.
pub fn measure(space: &Space, engine: Engine) -> io::Result<Measured> {
    let mut command = Command::new(env::current_exe()?);
    command.arg(MEASURE).arg(engine.to_string()).args(space.words());
    let output = command.output()?;
    let line = String::from_utf8_lossy(&output.stdout);
    let measured = Measured::from_line(&line).filter(|_| output.status.success());
    measured.ok_or_else(|| {
        io::Error::other(format!("{engine} on {space}: {}", String::from_utf8_lossy(&output.stderr).trim_end()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_leads_back() {
        let counts = Counts { unique: 12, generated: 34, depth: 5 };
        let measured = Measured { counts, cpu: 0.125, wall: 1e-7, bytes: 678 };
        assert_eq!(Measured::from_line(&measured.to_line()), Some(measured));
        assert_eq!(Measured::from_line("1 2 3"), None);
    }
}
