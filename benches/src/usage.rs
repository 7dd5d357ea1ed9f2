//! What this process has used so far.
//!
//! CPU time, because wall-clock time is that of everything else on the machine as well. The peak of the resident set
//! rather than a counting allocator: the peak includes what the allocator itself wastes, which is what a machine has to
//! have, and it needs no unsafe code. It never falls, so each search gets a process of its own.

use std::fs::read_to_string;
use std::io;

use nix::sys::resource::{UsageWho, getrusage};

/// User and system time of all threads of this process, in seconds.
///
/// # Errors
///
/// If the system does not tell.
pub fn cpu_seconds() -> io::Result<f64> {
    let usage = getrusage(UsageWho::RUSAGE_SELF)?;
    let times = [usage.user_time(), usage.system_time()];
    Ok(times.iter().map(|time| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6).sum())
}

/// The most memory that this process ever had resident, in bytes.
///
/// Not `ru_maxrss` of `getrusage`: a process inherits that from the one that started it.
///
/// # Errors
///
/// If this is not Linux, or `/proc` is not mounted.
pub fn peak_bytes() -> io::Result<u64> {
    let status = read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.trim().strip_suffix("kB")).and_then(|number| number.trim().parse().ok());
    let kilobytes: u64 = kilobytes.ok_or_else(|| io::Error::other("/proc/self/status has no VmHWM in kB"))?;
    Ok(kilobytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_and_memory_grow_with_work() {
        let (seconds, bytes) = (cpu_seconds().unwrap(), peak_bytes().unwrap());
        let mut filled = vec![1u64; 8 << 20];
        let mut rounds = 0;
        // Other tests run in this process as well, so the time alone may be theirs.
        while rounds < 3 || cpu_seconds().unwrap() < seconds + 0.01 {
            std::hint::black_box(&mut filled).iter_mut().for_each(|n| *n = n.wrapping_mul(3));
            rounds += 1;
        }
        assert_eq!(filled[0], 3u64.wrapping_pow(rounds));
        assert!(peak_bytes().unwrap() > bytes + (32 << 20), "64 MiB are resident");
    }
}
