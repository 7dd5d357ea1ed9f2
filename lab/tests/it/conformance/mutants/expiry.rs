//! Servers that are wrong about time.

use protocol::{Resource, Verb};
use world::Action;

use super::super::simulated::SETS;
use super::super::step::{LOCKS, Step};
use super::{Mutant, after, instead};

/// The verbs that give an entry a life.
const TIMED: &[Verb] = &[
    Verb::SetNxPx,
    Verb::SetXxPx,
    Verb::SetPx,
    Verb::Pexpire,
    Verb::CompareAndExtend,
    Verb::Claim,
    Verb::ExtendOrCreate,
    Verb::Enter,
    Verb::Limit,
];

const PEXPIRES: &[Verb] = &[Verb::Pexpire, Verb::CompareAndExtend, Verb::Limit];

pub(super) const MUTANTS: &[Mutant] = &[
    Mutant {
        wrong: "a lease ends a tick late",
        step: |simulated, step| {
            instead(simulated, step, TIMED, |_, ask| ask.lease = ask.lease.map(|lease| lease + u8::from(lease > 0)))
        },
    },
    Mutant {
        wrong: "a lease ends a tick early",
        step: |simulated, step| {
            instead(simulated, step, TIMED, |_, ask| ask.lease = ask.lease.map(|lease| lease.saturating_sub(1).max(1)))
        },
    },
    Mutant {
        wrong: "no time passes",
        step: |simulated, step| if matches!(step, Step::Pass(_)) { None } else { simulated.step(step) },
    },
    Mutant {
        wrong: "what has expired stays for a reader",
        step: |simulated, step| {
            let before = *simulated.memory();
            let said = simulated.step(step);
            if matches!(step, Step::Pass(_)) {
                for lock in (0..LOCKS).map(Resource) {
                    let lapsed = before.entries[lock.0 as usize].filter(|entry| entry.left == Some(1));
                    let now = simulated.entry(lock);
                    *now = now.or(lapsed);
                }
            }
            said
        },
    },
    Mutant {
        wrong: "SET XX keeps the TTL",
        step: |simulated, step| {
            after(simulated, step, &[Verb::SetXxPx], |simulated, ask, before, _| {
                if let (Some(entry), Some(before)) = (simulated.entry(ask.lock), before) {
                    entry.left = before.left;
                }
            })
        },
    },
    Mutant {
        wrong: "SET without a TTL keeps the one that there was",
        step: |simulated, step| {
            after(simulated, step, SETS, |simulated, ask, before, _| {
                if let (Some(entry), Some(before), None) = (simulated.entry(ask.lock), before, ask.lease) {
                    entry.left = before.left;
                }
            })
        },
    },
    Mutant {
        wrong: "SET NX gives the own entry its whole life again",
        step: |simulated, step| {
            after(simulated, step, &[Verb::SetNxPx], |simulated, ask, _, _| {
                if simulated.owns(ask)
                    && let Some(entry) = simulated.entry(ask.lock)
                {
                    entry.left = ask.lease;
                }
            })
        },
    },
    Mutant {
        wrong: "SETNX gives a TTL",
        step: |simulated, step| instead(simulated, step, &[Verb::Setnx], |_, ask| ask.verb = Verb::SetNxPx),
    },
    Mutant {
        wrong: "PEXPIRE with no time left does nothing",
        step: |simulated, step| {
            after(simulated, step, PEXPIRES, |simulated, ask, before, _| {
                if ask.lease == Some(0) {
                    *simulated.entry(ask.lock) = before;
                }
            })
        },
    },
    Mutant {
        wrong: "PEXPIRE with no time left leaves a dead entry",
        step: |simulated, step| {
            after(simulated, step, PEXPIRES, |simulated, ask, before, _| {
                let entry = simulated.entry(ask.lock);
                if entry.is_none() && ask.lease == Some(0) {
                    *entry = before.map(|entry| world::Entry { left: Some(0), ..entry });
                }
            })
        },
    },
    Mutant {
        wrong: "PEXPIRE never shortens",
        step: |simulated, step| {
            after(simulated, step, PEXPIRES, |simulated, ask, before, _| {
                let entry = simulated.entry(ask.lock);
                if before.is_some_and(|before| before.left > ask.lease) {
                    *entry = before;
                }
            })
        },
    },
    Mutant {
        wrong: "GETSET gives a TTL",
        step: |simulated, step| {
            after(simulated, step, &[Verb::GetSet], |simulated, ask, _, _| {
                if let Some(entry) = simulated.entry(ask.lock) {
                    entry.left = ask.lease;
                }
            })
        },
    },
    Mutant {
        wrong: "GETSET keeps the TTL",
        step: |simulated, step| {
            after(simulated, step, &[Verb::GetSet], |simulated, ask, before, _| {
                let is_in_value = simulated.setup.policy.keeps_expiry_in_value();
                if let (Some(entry), Some(before), false) = (simulated.entry(ask.lock), before, is_in_value) {
                    entry.left = before.left;
                }
            })
        },
    },
    Mutant {
        wrong: "the owner's script says that it extends, and does not",
        step: |simulated, step| {
            after(simulated, step, &[Verb::CompareAndExtend], |simulated, ask, before, _| {
                *simulated.entry(ask.lock) = before;
            })
        },
    },
    Mutant {
        wrong: "who is let in again gets no more time",
        step: |simulated, step| {
            after(simulated, step, &[Verb::Enter], |simulated, ask, before, _| {
                if let (Some(entry), Some(before)) = (simulated.entry(ask.lock), before) {
                    entry.left = before.left;
                }
            })
        },
    },
    Mutant {
        wrong: "who leaves once gets more time",
        step: |simulated, step| {
            after(simulated, step, &[Verb::Exit], |simulated, ask, _, said| {
                if let (Some(entry), protocol::Reply::Done) = (simulated.entry(ask.lock), said.reply) {
                    entry.left = Some(9);
                }
            })
        },
    },
    Mutant {
        wrong: "an entry whose value says that it is over goes",
        step: |simulated, step| {
            let said = simulated.step(step);
            for lock in (0..LOCKS).map(Resource) {
                let entry = simulated.entry(lock);
                *entry = entry.filter(world::Entry::is_live);
            }
            said
        },
    },
    Mutant {
        wrong: "a counter expires with its entry",
        step: |simulated, step| {
            let before = *simulated.memory();
            let said = simulated.step(step);
            for lock in (0..LOCKS).map(Resource) {
                let lapsed = matches!(step, Step::Pass(_)) && before.entries[lock.0 as usize].is_some();
                if lapsed && simulated.entry(lock).is_none() {
                    simulated.apply(Action::EvictCounter(0, lock));
                }
            }
            said
        },
    },
];
