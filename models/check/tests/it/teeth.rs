//! Every property can fail: a sound lock is broken in one named way, and that property is violated, with what follows
//! from it and nothing else.

use check::scenario::Property::{
    self, DeadlockFree, MutualExclusion, NoLostUpdate, NoOrphan, NoStaleWrite, NoStrayGrant, NoWrongRelease,
};
use check::scenario::{Named, Verdict};
use check::{Limits, check};

use crate::support::{violated, with};
use check::explore::Unwatched;

/// A scenario that is sound as it stands, a knob that breaks it, and what that violates.
struct Break {
    sound: &'static str,
    sets: &'static [&'static str],
    faults: &'static str,
    by: &'static str,
    breaks: Property,
    /// That property, and what follows.
    violates: &'static [Property],
}

const BREAKS: &[Break] = &[
    // Two believe: so both may write, and the second overwrites the first.
    Break {
        sound: "redlock-odd-quorum",
        sets: &[],
        faults: "crash=1",
        by: "quorum=2",
        breaks: MutualExclusion,
        violates: &[MutualExclusion, NoLostUpdate, NoStaleWrite],
    },
    // Two believe, but the resource bars the earlier one.
    Break {
        sound: "fencing-reads-too",
        sets: &["holder=clocked", "validity=from-sending"],
        faults: "pause=1",
        by: "holder=naive",
        breaks: MutualExclusion,
        violates: &[MutualExclusion],
    },
    // Nobody believes twice, and an update is lost all the same.
    Break {
        sound: "patient-release",
        sets: &[],
        faults: "",
        by: "unsettled_write=at-once",
        breaks: NoLostUpdate,
        violates: &[NoLostUpdate, NoStaleWrite],
    },
    // A deleted entry lets the next client in while its owner still works. And a GET that comes too late to be followed
    // by its DEL leaves the entry behind.
    Break {
        sound: "setnx-with-ttl",
        sets: &["ttl=3", "margin=2", "holder=clocked", "fencing=with-grant", "check=on-read-and-write"],
        faults: "delay=1",
        by: "release=get-then-del",
        breaks: NoWrongRelease,
        violates: &[MutualExclusion, NoWrongRelease, NoStrayGrant],
    },
    // The lock is as it was; only the resource accepts what it should refuse.
    Break {
        sound: "fencing-reads-too",
        sets: &["holder=clocked", "validity=from-sending"],
        faults: "delay=1",
        by: "check=check-then-write",
        breaks: NoStaleWrite,
        violates: &[NoLostUpdate, NoStaleWrite],
    },
    Break {
        sound: "lost-reply-unlock-all",
        sets: &[],
        faults: "drop-reply=1",
        by: "release_to=believed",
        breaks: NoStrayGrant,
        violates: &[NoStrayGrant],
    },
    // Without a TTL nobody ever gets past the entry of the crashed client.
    Break {
        sound: "setnx-with-ttl",
        sets: &[],
        faults: "crash=1",
        by: "acquire=setnx",
        breaks: NoOrphan,
        violates: &[NoOrphan, DeadlockFree],
    },
    // The lock becomes free again and again, and yet nobody finishes.
    Break {
        sound: "fencing-greater-or-equal",
        sets: &[],
        faults: "",
        by: "compare=greater",
        breaks: DeadlockFree,
        violates: &[DeadlockFree],
    },
];

#[test]
fn every_property_can_fail_alone() {
    for broken in BREAKS {
        let all = Limits { properties: Some(Property::ALL.to_vec()), ..Limits::default() };
        let mut scenario = with(broken.sound, broken.sets, broken.faults);
        let before = check(&scenario, &all, &mut Unwatched).unwrap();
        scenario.set(broken.by).unwrap();
        let after = check(&scenario, &all, &mut Unwatched).unwrap();
        let new: Vec<_> = violated(&after).into_iter().filter(|p| !violated(&before).contains(p)).collect();
        assert_eq!(new, broken.violates, "{} with {}", broken.sound, broken.by);
        assert!(before.verdict(broken.breaks) == Some(Verdict::Holds), "{} is not sound", broken.sound);
    }
    for property in Property::ALL {
        assert!(BREAKS.iter().any(|b| b.breaks == *property), "{} cannot fail", property.name());
    }
}

/// A fault, a check that is free of a violation without it, and what it violates there.
struct Strike {
    scenario: &'static str,
    sets: &'static [&'static str],
    others: &'static str,
    fault: &'static str,
    violates: Property,
}

const STRIKES: &[Strike] = &[
    Strike { scenario: "duplicate-release-del", sets: &[], others: "", fault: "duplicate=1", violates: NoWrongRelease },
    // A copy of a write comes after the next holder's write.
    Strike {
        scenario: "duplicate-release-script",
        sets: &["latency=1", "ttl=6", "margin=1"],
        others: "",
        fault: "duplicate=1",
        violates: NoLostUpdate,
    },
    Strike { scenario: "drift-ignored", sets: &[], others: "pause=1", fault: "drift=1", violates: MutualExclusion },
    Strike { scenario: "redlock-partition", sets: &[], others: "", fault: "partition=1", violates: NoLostUpdate },
    Strike { scenario: "failover-asynchronous", sets: &[], others: "", fault: "failover=1", violates: MutualExclusion },
    // A release that was not replicated.
    Strike { scenario: "failover-most-up-to-date", sets: &[], others: "", fault: "failover=1", violates: NoStrayGrant },
    Strike { scenario: "evict-unchecked", sets: &[], others: "crash=1", fault: "evict=1", violates: NoStaleWrite },
    Strike {
        scenario: "redlock-restart-every-second",
        sets: &[],
        others: "",
        fault: "restart=1",
        violates: MutualExclusion,
    },
];

#[test]
fn every_fault_of_the_servers_and_the_network_strikes() {
    let all = Limits { properties: Some(Property::ALL.to_vec()), ..Limits::default() };
    for strike in STRIKES {
        let violates = |faults: &str| {
            let scenario = with(strike.scenario, strike.sets, faults);
            violated(&check(&scenario, &all, &mut Unwatched).unwrap()).contains(&strike.violates)
        };
        assert!(!violates(strike.others), "{} is violated without {}", strike.scenario, strike.fault);
        let faults = format!("{},{}", strike.others, strike.fault);
        assert!(violates(&faults), "{} is not violated with {}", strike.scenario, strike.fault);
    }
}
