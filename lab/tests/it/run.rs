//! Runs the binary, and makes what it prints comparable.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};

/// What came of a run.
pub(crate) struct Done {
    /// The exit code; none if a signal ended it.
    pub(crate) code: Option<i32>,
    /// Stdout.
    pub(crate) out: String,
    /// Stderr.
    pub(crate) err: String,
}

impl Done {
    /// Stdout, if the exit code is this one and stderr is empty.
    #[track_caller]
    pub(crate) fn ok(self, code: i32) -> String {
        assert_eq!(self.code, Some(code), "stdout:\n{}\nstderr:\n{}", self.out, self.err);
        assert_eq!(self.err, "");
        self.out
    }

    /// Stderr, if the exit code is this one and stdout is empty.
    #[track_caller]
    pub(crate) fn failed(self, code: i32) -> String {
        assert_eq!(self.code, Some(code), "stdout:\n{}\nstderr:\n{}", self.out, self.err);
        assert_eq!(self.out, "");
        self.err
    }
}

/// A command in an environment that is the same everywhere, in the folder with the test files.
pub(crate) fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lab"));
    for variable in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COLUMNS", "RUST_BACKTRACE"] {
        command.env_remove(variable);
    }
    // No test reads what another run has kept, unless it says so.
    command.env("LAB_CACHE", "").env("XDG_CACHE_HOME", "").env("HOME", "");
    command.args(arguments).current_dir(data());
    command
}

/// Runs it.
pub(crate) fn lab(arguments: &[&str]) -> Done {
    done(&command(arguments).output().unwrap())
}

/// What came of it, as text.
pub(crate) fn done(output: &Output) -> Done {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    Done { code: output.status.code(), out: text(&output.stdout), err: text(&output.stderr) }
}

/// The folder with the test files.
pub(crate) fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data")
}

/// A folder of its own for a test, deleted at its end.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("lab-it-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// Writes a file into it and gives its path.
    pub(crate) fn file(&self, name: &str, bytes: impl AsRef<[u8]>) -> String {
        let path = self.0.join(name);
        std::fs::write(&path, bytes).unwrap();
        path.to_str().unwrap().to_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What is left over is in the folder for temporary files.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Snapshots without what differs between two runs.
pub(crate) fn stable(test: impl FnOnce()) {
    let mut settings = insta::Settings::clone_current();
    settings.add_filter(r" *(\x1b\[2m)?\b\d+(\.\d)? (ms|s|min|h)\b", "$1 [time]");
    settings.add_filter(r" *(\x1b\[2m)\d+(\.\d)? (ms|s|min|h)\b", "$1 [time]");
    settings.add_filter(r"[\d,]+ states/s", "[rate] states/s");
    settings.add_filter(r"(memory +)\d+ \w+ at", "$1[bytes] at");
    settings.add_filter(r"/[^\s]*/lab-it-[\d-]+", "[folder]");
    settings.add_filter(r#""(seconds|states_per_second|bytes)": [\d.e-]+"#, r#""$1": "[redacted]""#);
    settings.bind(test);
}
