//! The words of scenario files: one name and one sentence for every value that is a word.

use protocol::{
    Acquire, Conflict, Drift, Fencing, Holder, LateAnswer, OnCancel, Order, Owner, QuorumOf, Reentrance,
    RefusedRenewal, Release, ReleaseTo, Renewal, Subscribe, TokenCheck, UnknownAcquire, UnsettledWrite, Validity,
    Visit, Waiting,
};
use world::{Compare, Expiry, Fault, Network, Persistence, Promote};

/// A word of a scenario file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Word {
    /// How it is written.
    pub name: &'static str,
    /// What it means, in one sentence.
    pub says: &'static str,
}

/// An enum whose variants have a name and a sentence each.
pub trait Named: Copy + Eq + 'static {
    /// All variants, in the documented order.
    const ALL: &'static [Self];
    /// Their words, in the same order.
    const WORDS: &'static [Word];

    /// The word of this variant.
    fn word(self) -> &'static Word;

    /// How it is written.
    fn name(self) -> &'static str {
        self.word().name
    }

    /// What it means, in one sentence.
    fn says(self) -> &'static str {
        self.word().says
    }

    /// The variant that is written so.
    fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|v| v.name() == name)
    }
}

/// Names the variants of enums. A variant that is left out does not compile.
macro_rules! names {
    ($($name:ident { $($variant:ident = $word:literal, $says:literal;)+ })+) => {$(
        impl $crate::scenario::names::Named for $name {
            const ALL: &'static [Self] = &[$(Self::$variant),+];
            const WORDS: &'static [$crate::scenario::names::Word] =
                &[$($crate::scenario::names::Word { name: $word, says: $says }),+];

            fn word(self) -> &'static $crate::scenario::names::Word {
                match self {
                    $(Self::$variant => {
                        const WORD: $crate::scenario::names::Word =
                            $crate::scenario::names::Word { name: $word, says: $says };
                        &WORD
                    })+
                }
            }
        }
    )+};
}
pub(super) use names;

/// When a client tries again after a failed attempt; the delays are knobs of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetryKind {
    /// Never.
    Nothing,
    /// After the delay.
    Fixed,
    /// After any delay between the two bounds.
    Jitter,
    /// After a delay that doubles up to the greatest.
    Exponential,
}

/// How much happens in one step, or that the checker decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GrainChoice {
    /// The coarsest grain that the scenario allows.
    Auto,
    /// Request and reply are steps of their own.
    Message,
    /// Request and reply are one step.
    Exchange,
}

names! {
    Acquire {
        Unlocked = "unlocked", "The client does not ask: there is no lock.";
        SetNxPx = "set-nx-px", "`SET key token NX PX ttl`: entry and expiry in one command.";
        Setnx = "setnx", "`SETNX key token`: an entry that never expires on the server, whatever the ttl.";
        SetnxThenExpire = "setnx-then-expire", "`SETNX key token`, then `PEXPIRE key ttl` as a command of its own.";
        GetThenSet = "get-then-set", "`GET key`, and if there is nothing, `SET key token PX ttl`.";
        GetSetTakeOver = "getset-take-over",
            "`SETNX` with the expiry in the value; an entry that says it has expired is taken over by `GETSET`.";
        GetDelSetnx = "get-del-setnx",
            "`GET`, `DEL` of an entry whose value says that it has expired, `SETNX` with the expiry in the value.";
    }
    Owner {
        PerAcquisition = "per-acquisition", "A value that no other acquisition uses.";
        PerClient = "per-client", "The client's name, the same for all its acquisitions.";
        Constant = "constant", "The same value for everybody.";
    }
    Release {
        CompareAndDelete = "compare-and-delete", "One script deletes the entry if it holds the own token.";
        GetThenDel = "get-then-del", "`GET`, a comparison in the client, `DEL`: three steps.";
        Del = "del", "`DEL`, whoever owns the entry.";
        Nothing = "none", "Not at all: the TTL frees the lock.";
    }
    ReleaseTo {
        All = "all", "Every server that may have an entry.";
        Believed = "believed", "Only the servers that answered that they granted the lock.";
    }
    Visit {
        InOrder = "in-order", "One after another, the next when the one before has answered or timed out.";
        AllAtOnce = "all-at-once", "All at once.";
    }
    Validity {
        FromSending = "from-sending", "From the moment that the first request was sent.";
        FromReply = "from-reply", "From the moment that the last reply came.";
        Unchecked = "unchecked", "The client does not look at the time: what is granted stays granted.";
    }
    Drift {
        Subtracted = "subtracted", "The allowance is taken off the validity.";
        Added = "added", "The allowance is added to the validity.";
        Ignored = "ignored", "The allowance is left out.";
    }
    Holder {
        Clocked = "clocked", "A holder believes until its own clock reaches the deadline less the margin.";
        Naive = "naive", "A holder believes until it releases the lock; it has no eye on the clock.";
        ChecksThenActs = "checks-then-acts",
            "A holder believes until it releases the lock; before each write it looks at the clock, and then writes: two steps.";
    }
    UnknownAcquire {
        OwnValueHeld = "own-value-held", "The client asks once more and takes an entry with its own token for a grant.";
        RetrySameToken = "retry-same-token", "It asks once more with the same token and takes any entry for a refusal.";
        RetryNewToken = "retry-new-token", "It asks once more with a new token.";
        GiveUp = "give-up", "It counts that server as not granted.";
        AssumeHeld = "assume-held", "It counts that server as granted.";
    }
    Renewal {
        Never = "none", "A holder does not ask for more time.";
        CompareAndExtend = "compare-and-extend", "One script extends the entry if it holds the own token.";
        Expire = "expire", "`PEXPIRE key ttl`, whoever owns the entry.";
        SetNxPx = "set-nx-px", "`SET key token NX PX ttl`, which is refused while the entry stands.";
        SetXxPx = "set-xx-px", "`SET key token XX PX ttl`, which overwrites whichever entry stands.";
        SetPx = "set-px", "`SET key token PX ttl`, which overwrites, and creates anew what is gone.";
        ExtendOrCreate = "extend-or-create",
            "One script extends the entry if it holds the own token, and creates it anew if it is gone.";
    }
    RefusedRenewal {
        Lost = "lost", "The lock is lost, for good.";
        Ignored = "ignored", "The answer is not looked at: any answer counts as more time.";
        TriedAgain = "tried-again",
            "The holder believes on, as long as it did before, and asks again when the next renewal is due.";
    }
    LateAnswer {
        Ignored = "ignored", "Nothing: a lapse is final.";
        Revives = "revives", "It revives the lapsed belief.";
    }
    Fencing {
        Nothing = "none", "There is no fencing token.";
        WithGrant = "with-grant", "The server mints it in the same script as the grant.";
        IncrBefore = "incr-before", "The client draws it by `INCR` before it asks for the lock.";
        IncrAfter = "incr-after", "The client draws it by `INCR` after it was granted the lock.";
        ClientClock = "client-clock", "It is what the client's own wall clock reads when it is granted the lock.";
    }
    QuorumOf {
        All = "all", "Of all servers.";
        Reachable = "reachable", "Of those that answered: more than half of them.";
    }
    Reentrance {
        Nothing = "none", "It is refused as anybody's would be.";
        Flag = "flag", "It is granted, and the first release frees the lock.";
        Count = "count", "It is granted and counted, and the last release frees the lock.";
        ReadThenSet = "read-then-set",
            "It is counted, but the client reads that the entry is its own, and then sets it without a condition.";
    }
    Waiting {
        Poll = "poll", "It tries again after a delay.";
        Notified = "notified", "The server notifies those who subscribed when somebody gives the lock back.";
    }
    Subscribe {
        BeforeTrying = "before-trying", "Before it tries.";
        AfterTrying = "after-trying", "After it was refused; it then waits without another try.";
    }
    OnCancel {
        CleansUp = "cleans-up", "The lock is given back in the background.";
        Forgets = "forgets", "Whatever stands on the servers is forgotten.";
    }
    RetryKind {
        Nothing = "none", "Never: one attempt.";
        Fixed = "fixed", "After `retry_delay` ticks.";
        Jitter = "jitter", "After any number of ticks from `retry_delay` to `retry_delay_max`.";
        Exponential = "exponential", "After `retry_delay` ticks, then twice as many each time, up to `retry_delay_max`.";
    }
    Order {
        AsGiven = "as-given", "In the order of the client's own list.";
        Sorted = "sorted", "Sorted by name, the same for everybody.";
    }
    Conflict {
        Wait = "wait", "The client keeps what it has and tries again for the lock that is missing.";
        ReleaseAll = "release-all", "The client gives back what it has and begins anew.";
    }
    UnsettledWrite {
        Waits = "waits", "The client waits for the result before it releases; if none comes, the TTL frees the lock.";
        AtOnce = "at-once", "The client releases at once.";
    }
    TokenCheck {
        Nothing = "none", "The resource does not look at tokens.";
        OnWrite = "on-write", "Atomically with each write.";
        OnReadAndWrite = "on-read-and-write", "Atomically with each read and each write.";
        CheckThenWrite = "check-then-write", "As a request of its own, before a write that is not checked.";
        CompareAndSwap = "compare-and-swap",
            "Not tokens, but versions: a write is refused if the account has changed since it was read.";
    }
    Compare {
        Greater = "greater", "Only tokens greater than the greatest seen are accepted.";
        GreaterOrEqual = "greater-or-equal", "Tokens greater than or equal to the greatest seen are accepted.";
    }
    Network {
        Fifo = "fifo", "First in, first out, as on one TCP connection.";
        Unordered = "unordered", "In any order, as over several connections.";
    }
    Persistence {
        Nothing = "none", "A restarted server remembers nothing.";
        EverySecond = "every-second",
            "A restarted server remembers what it had when it last wrote to disk, every `fsync_every` ticks.";
        Always = "always", "A restarted server remembers everything that it acknowledged.";
    }
    Promote {
        Any = "any", "Any replica takes the place of a master that is lost.";
        MostUpToDate = "most-up-to-date", "A replica takes its place that has heard most of the master.";
    }
    Expiry {
        Wall = "wall", "Entries expire by the wall clock of their server, which can jump.";
        Monotonic = "monotonic", "Entries expire by a clock that nobody can set.";
    }
    GrainChoice {
        Auto = "auto", "An exchange is one step where nothing can fall between a request and its reply.";
        Message = "message", "Request and reply are steps of their own.";
        Exchange = "exchange", "Request and reply are one step.";
    }
    Fault {
        Pause = "pause", "One client stops until it is resumed.";
        Delay = "delay", "One message may stay under way beyond its bound.";
        DropRequest = "drop-request", "One request is lost.";
        DropReply = "drop-reply", "One reply is lost.";
        Duplicate = "duplicate", "One request is sent again by the client library.";
        Crash = "crash", "One client ends; with `rejoin` it starts again without memory.";
        Restart = "restart", "One lock server stops and comes back with what it kept.";
        Jump = "jump", "The wall clock of one lock server moves by `jump` ticks.";
        Drift = "drift", "The clock of one client or lock server gains or loses one tick.";
        Partition = "partition", "The link between one client and one server is cut until it is healed.";
        Failover = "failover", "The master is lost, and one of its replicas promoted.";
        Evict = "evict", "One lock server drops one key for want of memory.";
        Cancel = "cancel", "A caller gives up one operation at an await point.";
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_named_in_the_order_of_the_world() {
        assert_eq!(Fault::ALL.as_slice(), <Fault as Named>::ALL);
    }

    #[test]
    fn a_name_leads_back_to_its_variant() {
        for value in Renewal::ALL {
            assert_eq!(Renewal::named(value.name()), Some(*value));
        }
        assert_eq!(Renewal::named("never"), None);
    }
}
