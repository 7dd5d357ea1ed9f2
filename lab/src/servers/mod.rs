//! Real lock servers for commands and tests: started on loopback, on a free port, in a folder of their own, and stopped
//! again, whatever happens to the lab.
//!
//! ```no_run
//! use lab::servers::{Options, Server};
//!
//! let server = Server::start(&Options::default())?;
//! println!("redis-cli -p {}", server.port());
//! # Ok::<(), lab::servers::ServerError>(())
//! ```

mod error;
mod options;
mod port;
mod process;

use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::TempDir;

pub use error::ServerError;
pub use options::{Clock, Options, Persistence};

use process::Process;

/// The programs that can be the server, the first that is there.
pub const PROGRAMS: [&str; 2] = ["redis-server", "valkey-server"];

/// How often another port is tried when somebody else has taken the one that was free a moment ago.
const PORTS_TRIED: usize = 5;

/// A server process of our own. Dropping it ends the process and removes its folder.
///
/// If the lab is killed, the process ends as well.
#[derive(Debug)]
pub struct Server {
    process: Option<Process>,
    port: u16,
    folder: TempDir,
    options: Options,
}

impl Server {
    /// Starts a server and waits until it answers.
    ///
    /// # Errors
    /// If no program is installed, the process ends by itself, or does not answer in time.
    pub fn start(options: &Options) -> Result<Self, ServerError> {
        let folder = tempfile::Builder::new()
            .prefix("lock-lab-")
            .tempdir()
            .map_err(|error| ServerError::Folder { error: error.to_string() })?;
        let mut tried = 0;
        loop {
            let port = port::free()?;
            tried += 1;
            match Process::start(options, port, folder.path()) {
                Ok(process) => return Ok(Self { process: Some(process), port, folder, options: options.clone() }),
                Err(ServerError::PortTaken { .. }) if tried < PORTS_TRIED => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        SocketAddr::from((Ipv4Addr::LOCALHOST, self.port))
    }

    /// The port that it listens on.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The address as clients write it, with the password if there is one.
    pub fn url(&self) -> String {
        let password = self.options.password.as_ref().map_or_else(String::new, |password| format!(":{password}@"));
        format!("redis://{password}{}/", self.address())
    }

    /// The id of the process, if it has not been killed.
    pub fn process_id(&self) -> Option<u32> {
        self.process.as_ref().map(Process::id)
    }

    /// Where it keeps its files.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// What it has logged.
    pub fn log(&self) -> PathBuf {
        self.folder.path().join(options::LOG)
    }

    /// Kills it at once (SIGKILL), as a crash of the machine would, but what it wrote to its files stays there.
    pub fn kill(&mut self) {
        self.process = None;
    }

    /// Starts it again after it was killed or shut down, on the same port and with the files that it left.
    ///
    /// # Errors
    /// As [`Server::start`].
    pub fn restart(&mut self) -> Result<(), ServerError> {
        self.kill();
        self.process = Some(Process::start(&self.options, self.port, self.folder.path())?);
        Ok(())
    }

    /// Stops it from running (SIGSTOP): its connections stay, and nothing is answered.
    ///
    /// # Errors
    /// If it has ended.
    pub fn freeze(&self) -> Result<(), ServerError> {
        self.running()?.freeze()
    }

    /// Lets it run again (SIGCONT): what has come meanwhile is answered now.
    ///
    /// # Errors
    /// If it has ended.
    pub fn thaw(&self) -> Result<(), ServerError> {
        self.running()?.thaw()
    }

    /// Asks it to end (SIGTERM), and waits for that.
    pub fn shut_down(&mut self) {
        if let Some(process) = self.process.take() {
            process.shut_down();
        }
    }

    /// Whether the process has ended, by itself or because it was killed.
    pub fn has_ended(&mut self) -> bool {
        self.process.as_mut().is_none_or(Process::has_ended)
    }

    /// A plain connection to it.
    ///
    /// # Errors
    /// If it does not accept one within the time.
    pub fn connect(&self, within: Duration) -> std::io::Result<TcpStream> {
        TcpStream::connect_timeout(&self.address(), within)
    }

    fn running(&self) -> Result<&Process, ServerError> {
        self.process.as_ref().ok_or(ServerError::Ended { port: self.port })
    }
}

#[cfg(test)]
mod tests {
    use super::{Options, Persistence, Server};

    #[test]
    fn a_server_answers_and_is_gone_when_dropped() {
        let server = Server::start(&Options::default()).unwrap();
        let (id, folder) = (server.process_id().unwrap(), server.folder().to_owned());
        assert!(server.connect(std::time::Duration::from_secs(5)).is_ok());
        drop(server);
        assert!(!folder.exists());
        assert!(!std::path::Path::new(&format!("/proc/{id}/exe")).exists());
    }

    #[test]
    fn what_was_written_stays_over_a_restart_only_with_persistence() {
        for (persistence, stays) in [(Persistence::Nothing, false), (Persistence::Always, true)] {
            let mut server = Server::start(&Options { persistence, ..Options::default() }).unwrap();
            let ask = |server: &Server, command: &[&str]| {
                let mut connection = redis::Client::open(server.url()).unwrap().get_connection().unwrap();
                redis::cmd(command[0]).arg(&command[1..]).query::<Option<String>>(&mut connection).unwrap()
            };
            ask(&server, &["SET", "a", "1"]);
            server.kill();
            assert!(server.has_ended());
            server.restart().unwrap();
            assert_eq!(ask(&server, &["GET", "a"]).is_some(), stays, "{persistence:?}");
        }
    }
}
