//! A clock that stands still: preloaded into a server (`LD_PRELOAD`), it shows the wall-clock time that a file says.
//!
//! A replay moves the time of each server by hand. The variable `LAB_CLOCK` names a file of [`SIZE`] bytes that the
//! replayer writes: words of eight bytes in the machine's own order,
//!
//! | word | holds |
//! |---|---|
//! | 0 | the wall clock, in microseconds since 1970: absolute, so that no real millisecond leaks in |
//! | 1 | how many times a file was brought to the disk |
//! | 2 + 2 k | the inode of a file that was brought to the disk; 0: none yet |
//! | 3 + 2 k | how long that file was when this was last asked for |
//!
//! `clock_gettime` of the wall clocks, `gettimeofday` and `time` show word 0; every other clock is left alone, so that the
//! server's own timers and time-outs run on. `fsync` and `fdatasync` do what they do, and write down how long the file
//! was when they were asked: a power loss is played by cutting the file back to that.
//!
//! Without the variable, or if the file cannot be mapped, the real clock is shown and nothing is written down.
//!
//! This is the one place with `unsafe`: it is called by C and calls C. It allocates nothing and asks nothing of the dynamic
//! linker, because an allocator may want to know the time before it can allocate. The calls that it replaces are made as
//! system calls.
#![cfg(target_os = "linux")]

use std::ffi::{c_char, c_int, c_long, c_void};
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

/// The size of the file, in bytes.
pub const SIZE: usize = 4096;

const WORDS: usize = SIZE / 8;
const NOW: usize = 0;
const SYNCS: usize = 1;
const FIRST_FILE: usize = 2;

/// The file, mapped.
type Board = [AtomicU64; WORDS];

/// Null until it was looked for; [`absent`] if there is none.
static BOARD: AtomicPtr<Board> = AtomicPtr::new(ptr::null_mut());

/// What C calls `struct timespec`.
#[repr(C)]
#[derive(Debug)]
pub struct TimeSpec {
    seconds: i64,
    nanoseconds: c_long,
}

/// What C calls `struct timeval`.
#[repr(C)]
#[derive(Debug)]
pub struct TimeVal {
    seconds: i64,
    microseconds: c_long,
}

unsafe extern "C" {
    fn syscall(number: c_long, ...) -> c_long;
    fn getenv(name: *const c_char) -> *const c_char;
    fn mmap(at: *mut c_void, length: usize, access: c_int, flags: c_int, file: c_int, offset: i64) -> *mut c_void;
    fn open(path: *const c_char, flags: c_int, ...) -> c_int;
    fn close(file: c_int) -> c_int;
}

/// Shows the time of the file for a wall clock, and the real time of any other clock.
///
/// # Safety
/// As the function of the C library: `time` points to a `struct timespec`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn clock_gettime(clock: c_int, time: *mut TimeSpec) -> c_int {
    match shown() {
        Some(micros) if is_wall(clock) => {
            // SAFETY: the caller's pointer, as C requires it.
            unsafe {
                time.write(TimeSpec {
                    seconds: (micros / MILLION) as i64,
                    nanoseconds: (micros % MILLION * 1000) as c_long,
                })
            };
            0
        }
        Some(_) | None => {
            // SAFETY: the same call with the same arguments.
            unsafe { syscall(number::CLOCK_GETTIME, c_long::from(clock), time) as c_int }
        }
    }
}

/// Shows the time of the file.
///
/// # Safety
/// As the function of the C library: `time` is null or points to a `struct timeval`. The zone is not looked at.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gettimeofday(time: *mut TimeVal, _zone: *mut c_void) -> c_int {
    let micros = shown().unwrap_or_else(real);
    if !time.is_null() {
        // SAFETY: the caller's pointer, as C requires it.
        unsafe {
            time.write(TimeVal { seconds: (micros / MILLION) as i64, microseconds: (micros % MILLION) as c_long })
        };
    }
    0
}

/// Shows the time of the file, in seconds.
///
/// # Safety
/// As the function of the C library: `time` is null or points to a `time_t`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn time(time: *mut i64) -> i64 {
    let seconds = (shown().unwrap_or_else(real) / MILLION) as i64;
    if !time.is_null() {
        // SAFETY: the caller's pointer, as C requires it.
        unsafe { time.write(seconds) };
    }
    seconds
}

/// Brings a file to the disk and writes down how long it was before.
///
/// # Safety
/// As the function of the C library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fsync(file: c_int) -> c_int {
    // SAFETY: a system call that takes a number.
    synced(file, || unsafe { syscall(number::FSYNC, c_long::from(file)) as c_int })
}

/// Brings the data of a file to the disk and writes down how long it was before.
///
/// # Safety
/// As the function of the C library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fdatasync(file: c_int) -> c_int {
    // SAFETY: a system call that takes a number.
    synced(file, || unsafe { syscall(number::FDATASYNC, c_long::from(file)) as c_int })
}

const MILLION: u64 = 1_000_000;

/// Whether a clock shows the time of the day: real time, and its coarse and its alarm variant.
fn is_wall(clock: c_int) -> bool {
    matches!(clock, 0 | 5 | 8)
}

/// The time that the file says, in microseconds.
fn shown() -> Option<u64> {
    board().map(|board| board[NOW].load(Ordering::Acquire))
}

/// The real time, in microseconds.
fn real() -> u64 {
    let mut time = TimeSpec { seconds: 0, nanoseconds: 0 };
    // SAFETY: the structure is what the system call fills.
    unsafe { syscall(number::CLOCK_GETTIME, 0 as c_long, &raw mut time) };
    time.seconds as u64 * MILLION + time.nanoseconds as u64 / 1000
}

fn synced(file: c_int, sync: impl FnOnce() -> c_int) -> c_int {
    let before = board().and_then(|board| Some((board, Status::of(file)?)));
    let result = sync();
    if let (0, Some((board, status))) = (result, before) {
        note(board, &status);
    }
    result
}

/// Writes down the length of a file. If the board is full it is left out; a server has a handful of files.
fn note(board: &Board, status: &Status) {
    for at in (FIRST_FILE..WORDS).step_by(2) {
        let found = board[at].compare_exchange(0, status.inode, Ordering::AcqRel, Ordering::Acquire);
        if found.is_ok() || found == Err(status.inode) {
            board[at + 1].store(status.size, Ordering::Release);
            break;
        }
    }
    board[SYNCS].fetch_add(1, Ordering::AcqRel);
}

/// What `statx` tells, whose layout is the same on every machine.
#[repr(C)]
struct Status {
    head: [u64; 4],
    inode: u64,
    size: u64,
    rest: [u64; 26],
}

impl Status {
    fn of(file: c_int) -> Option<Self> {
        const EMPTY_PATH: c_long = 0x1000;
        const INODE_AND_SIZE: c_long = 0x100 | 0x200;
        let mut status = Self { head: [0; 4], inode: 0, size: 0, rest: [0; 26] };
        // SAFETY: an open file by its number, an empty path, and a structure of the size that the call fills.
        let result = unsafe {
            syscall(number::STATX, c_long::from(file), c"".as_ptr(), EMPTY_PATH, INODE_AND_SIZE, &raw mut status)
        };
        (result == 0 && status.inode != 0).then_some(status)
    }
}

fn absent() -> *mut Board {
    ptr::dangling_mut()
}

fn board() -> Option<&'static Board> {
    let mut board = BOARD.load(Ordering::Acquire);
    if board.is_null() {
        // Two threads may both map it: they see the same words, and the mapping is never taken back.
        board = map().unwrap_or_else(absent);
        BOARD.store(board, Ordering::Release);
    }
    if board == absent() {
        return None;
    }
    // SAFETY: a mapping of the size of a board that is never taken back, and words that are only touched as atomics.
    Some(unsafe { &*board })
}

fn map() -> Option<*mut Board> {
    const READ_AND_WRITE: c_int = 2;
    const CLOSE_ON_EXEC: c_int = 0o2_000_000;
    const PAGES_READ_AND_WRITE: c_int = 1 | 2;
    const SHARED: c_int = 1;
    // SAFETY: calls of the C library as they are documented; the path is what the environment holds.
    unsafe {
        let path = getenv(c"LAB_CLOCK".as_ptr());
        if path.is_null() {
            return None;
        }
        let file = open(path, READ_AND_WRITE | CLOSE_ON_EXEC);
        if file < 0 {
            return None;
        }
        let board = mmap(ptr::null_mut(), SIZE, PAGES_READ_AND_WRITE, SHARED, file, 0);
        close(file);
        // What C calls MAP_FAILED.
        (board as isize != -1).then_some(board.cast())
    }
}

/// The numbers of the system calls.
#[cfg(target_arch = "x86_64")]
mod number {
    use std::ffi::c_long;

    pub(super) const CLOCK_GETTIME: c_long = 228;
    pub(super) const FSYNC: c_long = 74;
    pub(super) const FDATASYNC: c_long = 75;
    pub(super) const STATX: c_long = 332;
}

/// The numbers of the system calls.
#[cfg(target_arch = "aarch64")]
mod number {
    use std::ffi::c_long;

    pub(super) const CLOCK_GETTIME: c_long = 113;
    pub(super) const FSYNC: c_long = 82;
    pub(super) const FDATASYNC: c_long = 83;
    pub(super) const STATX: c_long = 291;
}
