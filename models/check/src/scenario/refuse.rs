//! Combinations that are refused, each with its reason.

use core::fmt;

use protocol::{
    Acquire, Conflict, Drift, Fencing, Holder, Owner, QuorumOf, Reentrance, Release, Renewal, Ticks, UnknownAcquire,
    Validity, Visit, Waiting,
};
use world::{Fault, Persistence};

use super::error::{Problem, ScenarioError};
use super::expect::{Property, Verdict, Witness};
use super::knobs::{KNOBS, Knob, Settings};
use super::names::{GrainChoice, Named, RetryKind};
use super::resolve::spares_exchanges;
use super::{Quorum, Scenario, write};

/// A combination that is refused.
pub struct Rule {
    /// Its name.
    pub id: &'static str,
    /// Why it is refused.
    pub reason: &'static str,
    /// What to do instead.
    pub instead: &'static str,
    /// The keys that clash in a scenario, the one to change first; none if the rule does not apply.
    clash: fn(&Scenario) -> Option<Vec<String>>,
}

impl fmt::Debug for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Rule({})", self.id)
    }
}

impl PartialEq for Rule {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

impl Eq for Rule {}

const LIMITED_ATTEMPTS: Rule = Rule {
    id: "limited-attempts",
    reason: "whether something is always still possible is only a question if no client runs out of attempts",
    instead: "set retry to \"fixed\", attempts and give_up_after to \"unlimited\", or expect nothing of this property",
    clash: |s| {
        let property = s.expect.iter().map(|(p, _)| *p).find(|p| p.is_about_the_graph())?;
        let limits = limits(&s.settings);
        clash(!s.is_overridden() && !limits.is_empty(), &limits).map(|mut keys| {
            keys.push(format!("expect.{}", property.name()));
            keys
        })
    },
};

/// Everything that is refused. What is wrong with one value alone is said by the form of its knob.
pub static RULES: &[Rule] = &[
    Rule {
        id: "quorum-above-nodes",
        reason: "a lock that more nodes must grant than there are can never be acquired",
        instead: "lower quorum, or raise nodes",
        clash: |s| {
            let above = matches!(s.settings.quorum, Quorum::Count(count) if count > s.settings.nodes);
            clash(above, &["quorum", "nodes"])
        },
    },
    Rule {
        id: "lease-without-ttl",
        reason: "this way to acquire tells the server an expiry, and there is none to tell",
        instead: "give a ttl, or set acquire to \"setnx\", which is the lock that never expires",
        clash: |s| clash(tells_a_ttl(&s.settings) && s.settings.ttl.is_none(), &["ttl", "acquire"]),
    },
    Rule {
        id: "renewal-without-ttl",
        reason: "a lease that never ends has nothing to renew",
        instead: "give a ttl, or set renewal to \"none\"",
        clash: |s| clash(renews(&s.settings) && s.settings.ttl.is_none(), &["renewal", "ttl"]),
    },
    Rule {
        id: "renewal-unlocked",
        reason: "without a lock there is no lease to renew",
        instead: "set renewal to \"none\", or acquire to another value than \"unlocked\"",
        clash: |s| clash(renews(&s.settings) && is_unlocked(&s.settings), &["renewal", "acquire"]),
    },
    Rule {
        id: "drift-eats-ttl",
        reason: "the drift allowance takes all of the ttl away, so every grant would be over when it begins",
        instead: "lower drift_ticks below the ttl, or raise ttl",
        clash: |s| clash(validity(&s.settings) == Some(0), &["drift_ticks", "ttl", "drift"]),
    },
    Rule {
        id: "margin-eats-validity",
        reason: "the margin takes all of the validity away, so a clocked holder could never believe that it holds the lock",
        instead: "lower margin below the ttl (less the drift allowance), or raise ttl",
        clash: |s| {
            let clocked = s.settings.holder == Holder::Clocked;
            let eaten = validity(&s.settings).is_some_and(|v| v > 0 && s.settings.margin.0 >= v);
            let drifts = s.settings.drift_ticks > Ticks(0) && s.settings.drift != Drift::Ignored;
            let keys: &[_] = if drifts { &["margin", "ttl", "drift_ticks"] } else { &["margin", "ttl"] };
            clash(clocked && eaten, keys)
        },
    },
    Rule {
        id: "retry-bounds",
        reason: "the greatest retry delay is below the first",
        instead: "raise retry_delay_max, or lower retry_delay",
        clash: |s| {
            let bounded = matches!(s.settings.retry, RetryKind::Jitter | RetryKind::Exponential);
            let below = s.settings.retry_delay_max() < s.settings.retry_delay;
            clash(bounded && below, &["retry_delay_max", "retry_delay"])
        },
    },
    Rule {
        id: "limits-without-retry",
        reason: "without a retry there is one attempt, which the other knob contradicts",
        instead: "set retry to \"fixed\", or leave attempts and give_up_after out",
        clash: |s| {
            let limits = [
                ("attempts", s.settings.attempts.is_some_and(|a| a > 1)),
                ("give_up_after", s.settings.give_up_after.is_some()),
            ];
            let (key, _) = limits.into_iter().find(|(_, is_given)| *is_given)?;
            clash(s.settings.retry == RetryKind::Nothing, &[key, "retry"])
        },
    },
    Rule {
        id: "fencing-unlocked",
        reason: "without a lock there is no grant to which a fencing token could belong",
        instead: "set fencing to \"none\", or acquire to another value than \"unlocked\"",
        clash: |s| clash(fences(&s.settings) && is_unlocked(&s.settings), &["fencing", "acquire"]),
    },
    Rule {
        id: "fencing-many-nodes",
        reason: "the greatest of several counters does not grow with every grant, so it is no fencing token",
        instead: "set nodes to 1, or fencing to \"none\"",
        clash: |s| clash(s.settings.fencing.is_counted() && s.settings.nodes > 1, &["fencing", "nodes"]),
    },
    Rule {
        id: "counter-forgotten-twice",
        reason: "tokens that are minted each time that the counter was forgotten can be equal, and the search only keeps their order",
        instead: "let it be forgotten once: by a restart (with persistence \"none\") or by an eviction",
        clash: |s| {
            let restarts = match s.settings.persistence {
                Persistence::Nothing => s.faults.get(Fault::Restart),
                Persistence::EverySecond | Persistence::Always => 0,
            };
            let evictions = s.faults.get(Fault::Evict);
            let mut keys = vec!["faults.restart", "faults.evict", "fencing", "persistence"];
            keys.retain(|key| match *key {
                "faults.restart" | "persistence" => restarts > 0,
                "faults.evict" => evictions > 0,
                _ => true,
            });
            clash(s.settings.fencing.is_counted() && restarts + evictions > 1, &keys)
        },
    },
    Rule {
        id: "counter-set-back",
        reason: "a counter that comes back as it was a while ago mints tokens a second time, and the search only keeps their order",
        instead: "leave the fault out, or set fencing to \"none\" (for a restart, persistence to \"none\" or \"always\" as well)",
        clash: |s| {
            let is_read_back = s.settings.persistence == Persistence::EverySecond && s.faults.get(Fault::Restart) > 0;
            if is_read_back {
                return clash(s.settings.fencing.is_counted(), &["faults.restart", "fencing", "persistence"]);
            }
            clash(s.settings.fencing.is_counted() && s.faults.get(Fault::Failover) > 0, &["faults.failover", "fencing"])
        },
    },
    Rule {
        id: "replicas-many-nodes",
        reason: "replicas are modelled of one master only, not of each of several nodes",
        instead: "set nodes to 1, or replicas to 0",
        clash: |s| clash(s.settings.replicas > 0 && s.settings.nodes > 1, &["replicas", "nodes"]),
    },
    Rule {
        id: "acknowledged-above-replicas",
        reason: "a grant that more replicas must acknowledge than there are never counts",
        instead: "lower acknowledged, or raise replicas",
        clash: |s| clash(s.settings.acknowledged > s.settings.replicas, &["acknowledged", "replicas"]),
    },
    Rule {
        id: "failover-above-replicas",
        reason: "each failover takes a replica, and there are not as many",
        instead: "lower faults.failover, or raise replicas",
        clash: |s| clash(s.faults.get(Fault::Failover) > s.settings.replicas, &["faults.failover", "replicas"]),
    },
    Rule {
        id: "check-without-fencing",
        reason: "the resource checks tokens, and no client has one",
        instead: "set fencing to \"with-grant\", or check to \"none\"",
        clash: |s| {
            let checks = s.settings.check.takes_tokens();
            clash(checks && !fences(&s.settings), &["check", "fencing"])
        },
    },
    Rule {
        id: "server-fault-unlocked",
        reason: "without a lock there is no lock server to which this fault could happen",
        instead: "leave the fault out, or set acquire to another value than \"unlocked\"",
        clash: |s| {
            let fault = [Fault::Restart, Fault::Jump, Fault::Failover, Fault::Evict]
                .into_iter()
                .find(|f| s.faults.get(*f) > 0)?;
            clash(is_unlocked(&s.settings), &[&format!("faults.{}", fault.name()), "acquire"])
        },
    },
    Rule {
        id: "exchange-with-latency",
        reason: "request and reply cannot be one step where messages are under way for a time",
        instead: "set grain to \"auto\", or latency to [0, 0]",
        clash: |s| clash(is_exchange(s) && s.settings.latency.greatest > Ticks(0), &["grain", "latency"]),
    },
    Rule {
        id: "exchange-with-fault",
        reason: "request and reply cannot be one step where this fault could fall between them",
        instead: "set grain to \"auto\", or leave the fault out (only \"jump\" and \"evict\" allow this grain)",
        clash: |s| {
            let fault = s.faults.kinds().find(|f| !spares_exchanges(*f))?;
            clash(is_exchange(s), &["grain", &format!("faults.{}", fault.name())])
        },
    },
    Rule {
        id: "clients-and-resources",
        reason: "there is not one list of locks for each client",
        instead: "leave clients out, or give resources as many lists",
        clash: |s| {
            let lists = s.settings.resources.as_ref().map_or(usize::from(s.settings.clients()), |r| r.0.len());
            clash(lists != usize::from(s.settings.clients()), &["clients", "resources"])
        },
    },
    Rule {
        id: "exchange-with-reentrance",
        reason: "request and reply cannot be one step where a client believes while it gives an inner hold back",
        instead: "set grain to \"auto\", or reentrance to \"none\"",
        clash: |s| clash(is_exchange(s) && reenters(&s.settings), &["grain", "reentrance"]),
    },
    Rule {
        id: "take-over-renewed",
        reason: "this lock keeps its expiry in the value, which no way to renew writes",
        instead: "set renewal to \"none\", or acquire to \"set-nx-px\"",
        clash: |s| clash(takes_over(&s.settings) && renews(&s.settings), &["renewal", "acquire"]),
    },
    Rule {
        id: "take-over-never-expires",
        reason: "this way to acquire writes an expiry into the value, and there is none to write",
        instead: "give a ttl, or set acquire to \"setnx\"",
        clash: |s| clash(takes_over(&s.settings) && s.settings.ttl.is_none(), &["ttl", "acquire"]),
    },
    Rule {
        id: "minting-without-a-script",
        reason: "a token is minted in the same script as the grant, and this way to acquire is no single script",
        instead: "set fencing to \"incr-before\" or \"incr-after\", or acquire to \"set-nx-px\"",
        clash: |s| {
            let scripted = matches!(
                s.settings.acquire,
                Acquire::SetNxPx | Acquire::Setnx | Acquire::SetnxThenExpire | Acquire::Unlocked
            );
            clash(s.settings.fencing == Fencing::WithGrant && !scripted, &["fencing", "acquire"])
        },
    },
    Rule {
        id: "minting-for-a-re-entry",
        reason: "a re-entry is no new grant, so no token can be minted with it",
        instead: "set fencing to \"none\" or \"incr-after\", or reentrance to \"none\"",
        clash: |s| clash(s.settings.fencing == Fencing::WithGrant && reenters(&s.settings), &["fencing", "reentrance"]),
    },
    Rule {
        id: "re-entry-not-recognised",
        reason: "a server knows a re-entry by the owner value, which is a new one for every acquisition",
        instead: "set owner to \"per-client\", or reentrance to \"none\"",
        clash: |s| clash(reenters(&s.settings) && s.settings.owner != Owner::PerClient, &["reentrance", "owner"]),
    },
    Rule {
        id: "re-entry-of-another-acquire",
        reason: "only the script of \"set-nx-px\" has a form that lets the owner in again",
        instead: "set acquire to \"set-nx-px\", or reentrance to \"none\"",
        clash: |s| clash(reenters(&s.settings) && s.settings.acquire != Acquire::SetNxPx, &["reentrance", "acquire"]),
    },
    Rule {
        id: "re-entry-counted-by-script",
        reason: "holds are counted, and only the script of \"compare-and-delete\" has a form that counts them down",
        instead: "set release to \"compare-and-delete\" or \"none\", or reentrance to \"flag\"",
        clash: |s| {
            let counts = s.settings.reentrance.is_counted();
            let scripted = matches!(s.settings.release, Release::CompareAndDelete | Release::Nothing);
            clash(counts && !scripted, &["release", "reentrance"])
        },
    },
    Rule {
        id: "quorum-of-two-kinds",
        reason: "a quorum of the reachable servers is more than half of them, which a number contradicts",
        instead: "set quorum to \"majority\", or quorum_of to \"all\"",
        clash: |s| {
            let is_counted = s.settings.quorum != Quorum::Majority;
            clash(is_counted && s.settings.quorum_of == QuorumOf::Reachable, &["quorum", "quorum_of"])
        },
    },
    Rule {
        id: "assumed-and-reachable",
        reason: "a server that did not answer cannot count as granted where only those count that answered",
        instead: "set unknown to another value than \"assume-held\", or quorum_of to \"all\"",
        clash: |s| {
            let assumes = s.settings.unknown == UnknownAcquire::AssumeHeld;
            clash(assumes && s.settings.quorum_of == QuorumOf::Reachable, &["unknown", "quorum_of"])
        },
    },
    Rule {
        id: "drift-of-a-time-of-day",
        reason: "the search keeps the wall clocks of clients a fixed time apart, and this lock compares what they read",
        instead: "set offset to tell how far they are apart, and leave the fault out",
        clash: |s| {
            let reads = s.settings.fencing == Fencing::ClientClock;
            let key = if reads { "fencing" } else { "acquire" };
            let compares = reads || takes_over(&s.settings);
            clash(compares && s.faults.get(Fault::Drift) > 0, &["faults.drift", key])
        },
    },
    Rule {
        id: "notified-unlocked",
        reason: "without a lock nobody waits for one",
        instead: "set waiting to \"poll\", or acquire to another value than \"unlocked\"",
        clash: |s| clash(is_notified(&s.settings) && is_unlocked(&s.settings), &["waiting", "acquire"]),
    },
    Rule {
        id: "notified-by-many-nodes",
        reason: "a lock of several servers is free when a quorum of them has no entry, which none of them can tell",
        instead: "set nodes to 1, or waiting to \"poll\"",
        clash: |s| clash(is_notified(&s.settings) && s.settings.nodes > 1, &["waiting", "nodes"]),
    },
    Rule {
        id: "notified-without-retry",
        reason: "a client that does not try again has no use for a notification",
        instead: "set retry to \"fixed\", or waiting to \"poll\"",
        clash: |s| clash(is_notified(&s.settings) && s.settings.retry == RetryKind::Nothing, &["waiting", "retry"]),
    },
    Rule {
        id: "notified-and-released",
        reason: "a client that gives everything back begins with its first lock, whose release nobody would announce",
        instead: "set conflict to \"wait\", or waiting to \"poll\"",
        clash: |s| {
            let restarts = s.settings.conflict == Conflict::ReleaseAll;
            clash(is_notified(&s.settings) && restarts, &["conflict", "waiting"])
        },
    },
    LIMITED_ATTEMPTS,
    Rule {
        id: "expected-inconclusive",
        reason: "only a limit such as --max-states makes a verdict inconclusive, and a scenario has none",
        instead: "expect \"holds\", \"violated\" or \"vacuous\"",
        clash: |s| {
            let (property, _) = s.expect.iter().find(|(_, v)| *v == Verdict::Inconclusive)?;
            clash(true, &[&format!("expect.{}", property.name())])
        },
    },
    Rule {
        id: "witness-excluded",
        reason: "the knobs exclude one of these witnesses, so every verdict would be vacuous",
        instead: "take that witness out, or change the knob that excludes it",
        clash: |s| {
            let key = s.witnesses.iter().find_map(|w| s.settings.excludes(*w))?;
            clash(!s.is_overridden(), &["witnesses", key])
        },
    },
];

impl Scenario {
    /// What is refused in it: of a sheet, in its base.
    fn refusals(&self) -> Vec<ScenarioError> {
        let refusal = |rule: &'static Rule| {
            let keys = (rule.clash)(self)?;
            let about: Vec<_> = keys.iter().map(|key| self.shown(key)).collect();
            let problem = Problem::Refused(rule);
            Some(ScenarioError { place: self.places.of(&keys), about: about.join(", "), problem })
        };
        RULES.iter().filter_map(refusal).collect()
    }

    /// Why this property cannot be decided of it, if so.
    pub fn undecidable(&self, property: Property) -> Option<&'static Rule> {
        let is_limited = property.is_about_the_graph() && !limits(&self.settings).is_empty();
        RULES.iter().find(|r| is_limited && **r == LIMITED_ATTEMPTS)
    }

    /// What is wrong with values that code, not a file, has put into the settings.
    fn misfits(&self) -> Vec<ScenarioError> {
        let misfit = |knob: &'static Knob| ScenarioError {
            place: self.places.of(&[knob.key.to_owned()]),
            about: knob.path(),
            problem: Problem::Value { expected: knob.form.to_string(), found: knob.get(&self.settings), help: None },
        };
        KNOBS.iter().filter(|k| !k.fits(&self.settings)).map(misfit).collect()
    }

    /// What is wrong with it. Nothing is computed from a value before it is known to fit.
    pub(super) fn wrong(&self) -> Vec<ScenarioError> {
        let misfits = self.misfits();
        if misfits.is_empty() { self.refusals() } else { misfits }
    }

    /// A key with its section and its value.
    fn shown(&self, key: &str) -> String {
        if let Some(knob) = KNOBS.iter().find(|k| k.key == key) {
            return format!("{} = {}", knob.path(), knob.get(&self.settings));
        }
        if key == "witnesses" {
            return format!("{key} = {}", write::witnesses(&self.witnesses));
        }
        let fault = key.strip_prefix("faults.").and_then(Fault::named).map(|f| self.faults.get(f).to_string());
        let expected = key.strip_prefix("expect.").and_then(Property::named).and_then(|p| self.expected(p));
        match fault.or(expected.map(|v| format!("\"{}\"", v.name()))) {
            Some(value) => format!("{key} = {value}"),
            None => key.to_owned(),
        }
    }
}

impl Settings {
    /// The key of a knob that makes it impossible to reach a witness, if there is one.
    pub fn excludes(&self, witness: Witness) -> Option<&'static str> {
        let unlocked = is_unlocked(self).then_some("acquire");
        match witness {
            Witness::Acquired => self.is_never_valid().then_some("ttl"),
            Witness::Lost => None,
            Witness::Contended => unlocked.or((!shares_a_lock(self)).then_some("clients")),
            Witness::DeadlineReached if tells_a_ttl(self) || takes_over(self) || renews(self) => None,
            Witness::DeadlineReached => Some(if self.ttl.is_none() { "ttl" } else { "acquire" }),
            Witness::Refused => unlocked,
            Witness::SecondWriteAccepted => (self.writes < 2).then_some("writes"),
            Witness::Renewed => (!renews(self)).then_some("renewal"),
            Witness::Notified => (!is_notified(self)).then_some("waiting"),
        }
    }
}

impl Settings {
    /// Whether every grant comes too late: its validity is no longer than the quickest way to a quorum.
    fn is_never_valid(&self) -> bool {
        let trips = match self.visit {
            Visit::InOrder => u32::from(self.policy().quorum),
            Visit::AllAtOnce => 1,
        };
        let margin = if self.holder == Holder::Clocked { self.margin.0 } else { 0 };
        let quickest = 2 * self.latency.least.0 * trips;
        let counts = self.validity == Validity::FromSending;
        counts
            && (tells_a_ttl(self) || takes_over(self))
            && validity(self).is_some_and(|ticks| ticks <= quickest + margin)
    }
}

fn clash(applies: bool, keys: &[&str]) -> Option<Vec<String>> {
    applies.then(|| keys.iter().map(|k| (*k).to_owned()).collect())
}

fn is_unlocked(settings: &Settings) -> bool {
    settings.acquire == Acquire::Unlocked
}

fn tells_a_ttl(settings: &Settings) -> bool {
    matches!(settings.acquire, Acquire::SetNxPx | Acquire::SetnxThenExpire | Acquire::GetThenSet)
}

fn renews(settings: &Settings) -> bool {
    settings.renewal != Renewal::Never
}

fn fences(settings: &Settings) -> bool {
    settings.fencing != Fencing::Nothing
}

fn takes_over(settings: &Settings) -> bool {
    matches!(settings.acquire, Acquire::GetSetTakeOver | Acquire::GetDelSetnx)
}

fn reenters(settings: &Settings) -> bool {
    settings.reentrance != Reentrance::Nothing
}

fn is_notified(settings: &Settings) -> bool {
    settings.waiting == Waiting::Notified
}

fn is_exchange(scenario: &Scenario) -> bool {
    scenario.settings.grain == GrainChoice::Exchange
}

/// The ticks for which a grant is valid at most; none if it never ends.
fn validity(settings: &Settings) -> Option<u32> {
    if is_unlocked(settings) || settings.validity == Validity::Unchecked {
        return None;
    }
    let allowance = settings.drift_ticks.0;
    settings.ttl.map(|ttl| match settings.drift {
        Drift::Subtracted => ttl.0.saturating_sub(allowance),
        Drift::Added => ttl.0.saturating_add(allowance),
        Drift::Ignored => ttl.0,
    })
}

/// The knobs that let a client run out of attempts.
fn limits(settings: &Settings) -> Vec<&'static str> {
    if is_unlocked(settings) {
        return Vec::new();
    }
    let limits = [
        ("retry", settings.retry == RetryKind::Nothing),
        ("attempts", settings.attempts.is_some()),
        ("give_up_after", settings.give_up_after.is_some()),
    ];
    limits.into_iter().filter(|(_, limits)| *limits).map(|(key, _)| key).collect()
}

/// Whether two clients want the same lock.
fn shares_a_lock(settings: &Settings) -> bool {
    let clients = settings.resources().0;
    let wants = |name: &String| clients.iter().filter(|names| names.contains(name)).count();
    clients.iter().flatten().any(|name| wants(name) > 1)
}
