//! The scenarios that come with the lab. They are files like any other, embedded in the binary.

use crate::scenario::{Scenario, ScenarioErrors};

/// Embeds the files of these ids.
macro_rules! files {
    ($($id:literal)+) => { &[$(($id, include_str!(concat!("../catalogue/", $id, ".toml")))),+] };
}

/// Embeds the profiles of these libraries.
macro_rules! profiles {
    ($($id:literal)+) => {
        &[$((concat!("profile:", $id), include_str!(concat!("../profiles/", $id, ".toml")))),+]
    };
}

/// The profiles of libraries in use, as they are listed.
const PROFILES: &[(&str, &str)] = profiles! {
    "redis-py"
    "shedlock"
    "redisson"
    "redlock-py"
    "redlock-rb"
    "node-redlock"
    "redsync"
    "rslock"
};

/// The files, by family and in the order in which they are listed.
const FILES: &[(&str, &str)] = files! {
    "lost-update"
    "lost-update-locked"
    "lost-update-compare-and-swap"
    "setnx"
    "setnx-no-ttl"
    "setnx-then-expire"
    "setnx-with-ttl"
    "release-del"
    "release-constant-token"
    "release-compare-and-delete"
    "release-get-then-del"
    "release-in-one-script"
    "release-client-token"
    "release-acquisition-token"
    "pause-naive"
    "pause-clocked"
    "pause-and-delay"
    "validity-from-reply"
    "validity-from-sending"
    "lost-reply"
    "lost-reply-own-value"
    "lost-reply-unlock-all"
    "assume-held"
    "ask-again"
    "late-set"
    "late-set-one-connection"
    "early-release"
    "patient-release"
    "clock-jump"
    "clock-jump-wall"
    "clock-jump-monotonic"
    "drift-ignored"
    "drift-allowed"
    "duplicate-release-del"
    "duplicate-release-script"
    "get-then-set"
    "get-then-set-atomic"
    "take-over-get-del-setnx"
    "take-over-getset"
    "take-over-clocks-apart"
    "take-over-clocks-together"
    "pause-check-then-act"
    "renew-set-nx"
    "renew-set-nx-lost"
    "renew-expire"
    "renew-set-xx"
    "renew-set"
    "renew-compare-and-extend"
    "renew-revived"
    "renew-lapse-final"
    "renew-after-conflict"
    "renew-wins-again"
    "renew-refused-is-final"
    "redlock"
    "redlock-even-quorum"
    "redlock-odd-quorum"
    "redlock-three-clients"
    "redlock-all-at-once"
    "redlock-restart"
    "redlock-restart-five"
    "redlock-restart-persistent"
    "redlock-restart-every-second"
    "redlock-restart-delayed"
    "redlock-jump"
    "redlock-jump-wall"
    "redlock-jump-monotonic"
    "redlock-partition"
    "redlock-naive"
    "redlock-clocked"
    "redlock-naive-delay"
    "redlock-unlock-believed"
    "redlock-unlock-all"
    "redlock-unchecked-validity"
    "redlock-checked-validity"
    "redlock-drift-added"
    "redlock-drift-subtracted"
    "redlock-short-ttl"
    "redlock-quorum-reachable"
    "redlock-quorum-all"
    "multilock"
    "multilock-opposite"
    "multilock-sorted"
    "multilock-release-all"
    "multilock-ttl"
    "relock"
    "fencing"
    "fencing-check-then-write"
    "fencing-atomic-write"
    "fencing-reads-too"
    "fencing-incr-before"
    "fencing-incr-after"
    "fencing-strictly-greater"
    "fencing-greater-or-equal"
    "evict-unchecked"
    "evict-checked"
    "pause-check-then-act-fenced"
    "pause-check-then-act-unchecked"
    "fencing-client-clock"
    "fencing-server-counter"
    "compare-and-swap"
    "failover-asynchronous"
    "failover-acknowledged"
    "failover-any"
    "failover-most-up-to-date"
    "failover-renewed"
    "reentrant-flag"
    "reentrant-count"
    "reentrant-read-then-set"
    "reentrant-in-one-script"
    "notified-late-subscription"
    "notified-early-subscription"
    "notified-expiry"
    "notified-fallback-poll"
    "notified-lost"
    "notified-lost-fallback-poll"
    "cancelled-release-forgets"
    "cancelled-cleans-up"
    "cancelled-acquire-forgets"
    "cancelled-acquire-cleans-up"
    "cancelled-holder-releases"
    "cancelled-holder-waits"
};

/// The rows of the lock safety matrix: a name to read, and the scenario whose knobs it has; of its faults and rows nothing
/// is taken. Each is small enough to be searched under every fault in seconds.
const MATRIX: &[(&str, &str)] = &[
    ("no lock", "lost-update"),
    ("SETNX", "setnx-no-ttl"),
    ("SETNX, then PEXPIRE", "setnx-then-expire"),
    ("SET NX PX, naive", "pause-naive"),
    ("SET NX PX, clocked", "pause-clocked"),
    ("SET NX PX, renewed", "renew-compare-and-extend"),
    ("fencing of writes", "fencing-atomic-write"),
    ("fencing of reads too", "fencing-reads-too"),
    ("Redlock, naive", "redlock-naive"),
    ("Redlock, clocked", "redlock-clocked"),
    ("Redlock, persistent", "redlock-restart-persistent"),
    ("two locks, any order", "multilock-opposite"),
    ("two locks, sorted", "multilock-sorted"),
];

/// The rows of the lock safety matrix: a name to read, and the id of the scenario whose knobs it has.
pub fn matrix() -> impl Iterator<Item = (&'static str, &'static str)> {
    MATRIX.iter().copied()
}

/// All scenarios, by family and in the order in which they are listed.
///
/// # Errors
///
/// If an embedded file is not a scenario, which a test rules out.
pub fn all() -> Result<Vec<Scenario>, ScenarioErrors> {
    files().map(|(id, text)| parse(id, text)).collect()
}

/// The scenario of an id.
///
/// # Errors
///
/// As for [`all`].
pub fn find(id: &str) -> Result<Option<Scenario>, ScenarioErrors> {
    files().find(|(known, _)| *known == id).map(|(id, text)| parse(id, text)).transpose()
}

/// The ids of all scenarios, in the order in which they are listed.
pub fn ids() -> impl Iterator<Item = &'static str> {
    files().map(|(id, _)| id)
}

/// The text of the file of an id.
pub fn text(id: &str) -> Option<&'static str> {
    files().find(|(known, _)| *known == id).map(|(_, text)| text)
}

fn files() -> impl Iterator<Item = (&'static str, &'static str)> {
    FILES.iter().chain(PROFILES).copied()
}

fn parse(id: &str, text: &str) -> Result<Scenario, ScenarioErrors> {
    Scenario::parse(&format!("{id}.toml"), text.as_bytes())
}
