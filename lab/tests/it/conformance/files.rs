//! The append-only files of a server, as they were when they were last written to disk.

use std::fs;
use std::path::Path;

use tempfile::TempDir;

/// Where Redis keeps them, in the folder of the server.
const FOLDER: &str = "appendonlydir";

/// Copies them to a folder of their own.
pub(crate) fn copy_of(server: &Path) -> TempDir {
    let copy = tempfile::tempdir().unwrap();
    copy_all(&server.join(FOLDER), copy.path());
    copy
}

/// Puts a copy in the place of what a server that was killed has left.
pub(crate) fn put_back(copy: &TempDir, server: &Path) {
    let folder = server.join(FOLDER);
    fs::remove_dir_all(&folder).unwrap();
    fs::create_dir(&folder).unwrap();
    copy_all(copy.path(), &folder);
}

fn copy_all(from: &Path, to: &Path) {
    for file in fs::read_dir(from).unwrap().map(Result::unwrap) {
        fs::copy(file.path(), to.join(file.file_name())).unwrap();
    }
}
