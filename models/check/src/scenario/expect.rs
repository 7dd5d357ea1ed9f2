//! What a scenario expects: properties, verdicts and witnesses.

pub use world::Witness;

use super::names::names;

/// What a lock is held to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Property {
    /// No two clients believe at once that they hold the lock.
    MutualExclusion,
    /// No accepted update is overwritten unseen.
    NoLostUpdate,
    /// No release or renewal takes effect on another acquisition's entry.
    NoWrongRelease,
    /// No write of an earlier grant is accepted after one of a later grant.
    NoStaleWrite,
    /// No live entry of an acquisition that its client has left.
    NoStrayGrant,
    /// The lock can always become free again.
    NoOrphan,
    /// Every surviving client can always still finish.
    DeadlockFree,
}

/// What came out for a property.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verdict {
    /// It holds, and the bounded space was exhausted.
    Holds,
    /// It is violated, and there is a trace.
    Violated,
    /// A limit was hit before the space was exhausted.
    Inconclusive,
    /// It held, but a witness was never reached.
    Vacuous,
}

names! {
    Property {
        MutualExclusion = "mutual-exclusion",
            "No two clients believe at once that they hold the lock (naive or clocked, as the scenario says).";
        NoLostUpdate = "no-lost-update",
            "The resource ends as if the accepted updates had run one after another.";
        NoWrongRelease = "no-wrong-release",
            "No release or renewal takes effect on an entry that is not of the sender's acquisition.";
        NoStaleWrite = "no-stale-write",
            "Having accepted a write of one grant, the resource accepts none of an earlier grant.";
        NoStrayGrant = "no-stray-grant",
            "There is no live entry of an acquisition that its client, which has not crashed, has left without a \
             release to that server under way.";
        NoOrphan = "no-orphan", "From every reachable state the lock can become free again.";
        DeadlockFree = "deadlock-free", "From every reachable state every surviving client can still finish.";
    }
    Verdict {
        Holds = "holds", "The property holds, and the bounded space was exhausted.";
        Violated = "violated", "The property is violated, and the shortest trace shows how.";
        Inconclusive = "inconclusive", "A limit was hit before the space was exhausted.";
        Vacuous = "vacuous", "The property held, but a witness was never reached.";
    }
    Witness {
        Acquired = "acquired", "A client acquired the lock.";
        Contended = "contended", "A client was refused a lock that another client's entry stood in the way of.";
        DeadlineReached = "deadline-reached", "A lease came to its end, on a server or on its holder's clock.";
        Refused = "refused", "A client turned down what the servers had granted, because it came too late.";
        SecondWriteAccepted = "second-write-accepted", "The resource accepted a second write of one update.";
        Lost = "lost", "A holder learnt that it had lost the lock.";
        Renewed = "renewed", "A renewal took effect.";
        Notified = "notified", "A client was told that the lock it waits for was given back.";
    }
}

impl Property {
    /// Whether it says that something is always still possible (AG EF), which needs the whole reachable graph.
    pub fn is_about_the_graph(self) -> bool {
        match self {
            Self::NoOrphan | Self::DeadlockFree => true,
            Self::MutualExclusion
            | Self::NoLostUpdate
            | Self::NoWrongRelease
            | Self::NoStaleWrite
            | Self::NoStrayGrant => false,
        }
    }
}
