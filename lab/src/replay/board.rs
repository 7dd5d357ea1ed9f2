//! The clock of one server, moved by hand.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::servers::{Clock, Options, Server};

/// What is preloaded into servers; empty where it cannot be.
const LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/liblock_clock.so"));

/// The size of the file that the clock shows, as the library has it.
const SIZE: u64 = 4096;

/// The words of the file: when it is, and from where on what was brought to disk is told.
const NOW: u64 = 0;
const FIRST_FILE: u64 = 2;

/// The library on disk, for all servers of a stage.
#[derive(Debug)]
pub(super) struct Library {
    folder: TempDir,
    next: u32,
}

impl Library {
    /// # Errors
    /// If it cannot be written, or there is none for this system.
    pub(super) fn new() -> io::Result<Self> {
        if LIBRARY.is_empty() {
            return Err(io::Error::new(io::ErrorKind::Unsupported, "clocks can be moved by hand on Linux only"));
        }
        let folder = tempfile::Builder::new().prefix("lock-lab-clock-").tempdir()?;
        std::fs::write(folder.path().join("clock.so"), LIBRARY)?;
        Ok(Self { folder, next: 0 })
    }

    /// A new clock that shows a time, in milliseconds since 1970.
    pub(super) fn board(&mut self, now: u64) -> io::Result<Board> {
        self.next += 1;
        let path = self.folder.path().join(format!("board-{}", self.next));
        let file = File::options().read(true).write(true).create(true).truncate(true).open(&path)?;
        file.set_len(SIZE)?;
        let board = Board { file, path, library: self.folder.path().join("clock.so") };
        board.show(now)?;
        Ok(board)
    }
}

/// A clock.
#[derive(Debug)]
pub(super) struct Board {
    file: File,
    path: PathBuf,
    library: PathBuf,
}

/// Tries whether a server shows the clock that it is given.
///
/// # Errors
/// If it does not, or there is none: why.
pub(crate) fn try_clock() -> Result<(), String> {
    const SHOWN: u64 = 1_000_000_000;
    let board = Library::new().and_then(|mut library| Ok((library.board(SHOWN * 1000)?, library)));
    let (board, _library) = board.map_err(|error| error.to_string())?;
    let server = Server::start(&Options { clock: Some(board.clock()), ..Options::default() });
    let server = server.map_err(|error| error.to_string())?;
    let time = || -> redis::RedisResult<(u64, u64)> {
        redis::cmd("TIME").query(&mut redis::Client::open(server.url())?.get_connection()?)
    };
    match time() {
        Ok((SHOWN, _)) => Ok(()),
        Ok(_) => Err("a server does not look at the clock that it is given".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

impl Board {
    /// As a server is started with it.
    pub(super) fn clock(&self) -> Clock {
        Clock { library: self.library.clone(), board: self.path.clone() }
    }

    /// Shows a time, in milliseconds since 1970.
    pub(super) fn show(&self, now: u64) -> io::Result<()> {
        self.file.write_all_at(&(now * 1000).to_ne_bytes(), NOW * 8)
    }

    /// How long a file was when it was last brought to disk. None: it never was.
    pub(super) fn length_on_disk(&self, file: &Path) -> io::Result<Option<u64>> {
        let inode = std::fs::metadata(file)?.ino();
        for word in (FIRST_FILE..SIZE / 8).step_by(2) {
            match self.word(word)? {
                0 => break,
                found if found == inode => return self.word(word + 1).map(Some),
                _ => {}
            }
        }
        Ok(None)
    }

    fn word(&self, number: u64) -> io::Result<u64> {
        let mut bytes = [0; 8];
        self.file.read_exact_at(&mut bytes, number * 8)?;
        Ok(u64::from_ne_bytes(bytes))
    }
}
