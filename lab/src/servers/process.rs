//! One run of a server process.

use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::options::LOG;
use super::{Options, PROGRAMS, ServerError};

/// How long a server may take to answer, on a machine that is busy with other things.
const PATIENCE: Duration = Duration::from_secs(20);

/// How long it may take to end when it is asked to.
const FAREWELL: Duration = Duration::from_secs(5);

const PAUSE: Duration = Duration::from_millis(3);

/// How many lines of a log are shown.
const LINES: usize = 8;

/// A server process, and a shell that ends it when the lab is gone.
#[derive(Debug)]
pub(super) struct Process {
    server: Child,
    /// Waits for the end of its input, which we hold open: the system closes it however we end.
    watcher: Option<Child>,
}

impl Process {
    pub(super) fn start(options: &Options, port: u16, folder: &Path) -> Result<Self, ServerError> {
        let mut process = Self { server: spawn(options, port, folder)?, watcher: None };
        process.watcher = Some(watch(process.id(), folder)?);
        process.wait_for_answer(port, folder)?;
        Ok(process)
    }

    pub(super) fn id(&self) -> u32 {
        self.server.id()
    }

    pub(super) fn has_ended(&mut self) -> bool {
        !matches!(self.server.try_wait(), Ok(None))
    }

    pub(super) fn freeze(&self) -> Result<(), ServerError> {
        self.signal(Signal::SIGSTOP)
    }

    pub(super) fn thaw(&self) -> Result<(), ServerError> {
        self.signal(Signal::SIGCONT)
    }

    pub(super) fn shut_down(mut self) {
        let begin = Instant::now();
        if self.signal(Signal::SIGTERM).is_ok() {
            while !self.has_ended() && begin.elapsed() < FAREWELL {
                sleep(PAUSE);
            }
        }
    }

    fn signal(&self, signal: Signal) -> Result<(), ServerError> {
        let program = format!("process {}", self.id());
        kill(Pid::from_raw(self.id() as i32), signal)
            .map_err(|error| ServerError::Program { program, error: error.to_string() })
    }

    fn wait_for_answer(&mut self, port: u16, folder: &Path) -> Result<(), ServerError> {
        let begin = Instant::now();
        loop {
            if self.has_ended() {
                let log = last_lines(folder);
                let taken = log.contains("Address already in use");
                return Err(if taken {
                    ServerError::PortTaken { port }
                } else {
                    ServerError::EndedAtStart { port, log }
                });
            }
            if answers(port) {
                return Ok(());
            }
            if begin.elapsed() > PATIENCE {
                return Err(ServerError::Silent { port, seconds: PATIENCE.as_secs(), log: last_lines(folder) });
            }
            sleep(PAUSE);
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // The watcher first: once the server is reaped, its number may be another process's.
        for child in self.watcher.as_mut().into_iter().chain([&mut self.server]) {
            // It may have ended already; then there is nothing to do.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn spawn(options: &Options, port: u16, folder: &Path) -> Result<Child, ServerError> {
    for program in PROGRAMS {
        let mut command = Command::new(program);
        options.arm(&mut command, port, folder);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
        match command.spawn() {
            Ok(child) => return Ok(child),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(ServerError::Program { program: program.to_owned(), error: error.to_string() }),
        }
    }
    Err(ServerError::NotInstalled)
}

/// Starts the shell that ends the server, and removes its folder, when the lab is gone.
///
/// Both are in process groups of their own: Ctrl-C on a terminal goes to the whole group of the lab, which decides itself
/// when its servers end.
fn watch(id: u32, folder: &Path) -> Result<Child, ServerError> {
    // The server may write a last time while its folder is emptied.
    let script = r#"read -r _; kill -9 "$1"; rm -rf "$2" || { sleep 1; rm -rf "$2"; }"#;
    Command::new("sh")
        .args(["-c", script, "watch", &id.to_string()])
        .arg(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
        .map_err(|error| ServerError::Program { program: "sh".to_owned(), error: error.to_string() })
}

/// Whether there is a server that is ready: one that is still loading is not, one that wants a password is.
fn answers(port: u16) -> bool {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let Ok(mut stream) = TcpStream::connect_timeout(&address, PATIENCE) else { return false };
    let mut answer = [0; 16];
    let asked = stream.set_read_timeout(Some(PATIENCE)).and_then(|()| stream.write_all(b"PING\r\n"));
    let Ok(length) = asked.and_then(|()| stream.read(&mut answer)) else { return false };
    answer[..length].starts_with(b"+PONG") || answer[..length].starts_with(b"-NOAUTH")
}

fn last_lines(folder: &Path) -> String {
    let log = fs::read_to_string(folder.join(LOG)).unwrap_or_default();
    let lines: Vec<&str> = log.lines().collect();
    lines[lines.len().saturating_sub(LINES)..].join("\n")
}
