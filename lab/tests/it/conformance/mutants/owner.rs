//! Servers that are wrong about whose an entry is, or about what becomes of it.

use protocol::{Reply, Verb};

use super::super::simulated::SETS;
use super::{Mutant, after, instead};

pub(super) const MUTANTS: &[Mutant] = &[
    Mutant {
        wrong: "SET clears the owner check",
        step: |simulated, step| {
            // The mark of a crashed client, which there is none here, says that an entry was overwritten.
            let step_done = after(simulated, step, SETS, |simulated, ask, _, _| {
                if let Some(entry) = simulated.entry(ask.lock) {
                    entry.by.bereft = true;
                }
            });
            let Some(ask) = step.ask(&[Verb::CompareAndDelete]) else { return step_done };
            let is_marked = simulated.entry(ask.lock).is_some_and(|entry| entry.by.bereft);
            let Some(said) = step_done else { return step_done };
            if !is_marked || said.reply != Reply::Nothing {
                return Some(said);
            }
            Some(simulated.ask(super::Ask { verb: Verb::Del, ..ask }))
        },
    },
    Mutant {
        wrong: "SET leaves the entry to its owner",
        step: |simulated, step| {
            after(simulated, step, SETS, |simulated, ask, before, _| {
                if let (Some(entry), Some(before)) = (simulated.entry(ask.lock), before) {
                    entry.by = before.by;
                }
            })
        },
    },
    Mutant {
        wrong: "SET XX creates what is not there",
        step: |simulated, step| instead(simulated, step, &[Verb::SetXxPx], |_, ask| ask.verb = Verb::SetPx),
    },
    Mutant {
        wrong: "SET NX overwrites",
        step: |simulated, step| {
            instead(simulated, step, &[Verb::SetNxPx], |_, ask| {
                if !ask.mint {
                    ask.verb = Verb::SetPx;
                }
            })
        },
    },
    Mutant {
        wrong: "a renewal asks for no owner",
        step: |simulated, step| instead(simulated, step, &[Verb::CompareAndExtend], |_, ask| ask.verb = Verb::Pexpire),
    },
    Mutant {
        wrong: "a release asks for no owner",
        step: |simulated, step| instead(simulated, step, &[Verb::CompareAndDelete], |_, ask| ask.verb = Verb::Del),
    },
    Mutant {
        wrong: "a release asks for the client alone",
        step: |simulated, step| {
            instead(simulated, step, &[Verb::CompareAndDelete], |simulated, ask| {
                if let Some(entry) = simulated.entry(ask.lock)
                    && entry.by.client == ask.client
                {
                    ask.token = entry.by.token.0;
                }
            })
        },
    },
    Mutant {
        wrong: "a release deletes nothing",
        step: |simulated, step| {
            after(simulated, step, &[Verb::CompareAndDelete], |simulated, ask, before, _| {
                *simulated.entry(ask.lock) = before;
            })
        },
    },
    Mutant {
        wrong: "GETSET sets nothing",
        step: |simulated, step| {
            after(simulated, step, &[Verb::GetSet], |simulated, ask, before, _| {
                let entry = simulated.entry(ask.lock);
                *entry = before.or(*entry);
            })
        },
    },
    Mutant {
        wrong: "an entry that is gone is not created again",
        step: |simulated, step| {
            after(simulated, step, &[Verb::ExtendOrCreate], |simulated, ask, before, _| {
                let entry = simulated.entry(ask.lock);
                *entry = entry.filter(|_| before.is_some());
            })
        },
    },
    Mutant {
        wrong: "to extend or create overwrites a stranger's entry",
        step: |simulated, step| instead(simulated, step, &[Verb::ExtendOrCreate], |_, ask| ask.verb = Verb::SetPx),
    },
    Mutant {
        wrong: "who is let in again is not counted",
        step: |simulated, step| {
            after(simulated, step, &[Verb::Enter], |simulated, ask, before, _| {
                if let (Some(entry), Some(before)) = (simulated.entry(ask.lock), before) {
                    entry.holds = before.holds;
                }
            })
        },
    },
    Mutant {
        wrong: "everybody is let in",
        step: |simulated, step| {
            instead(simulated, step, &[Verb::Enter], |simulated, ask| {
                if let Some(entry) = simulated.entry(ask.lock) {
                    ask.client = entry.by.client;
                }
            })
        },
    },
    Mutant {
        wrong: "the first to leave frees the lock",
        step: |simulated, step| instead(simulated, step, &[Verb::Exit], |_, ask| ask.verb = Verb::CompareAndDelete),
    },
    Mutant {
        wrong: "a claim counts one hold",
        step: |simulated, step| {
            after(simulated, step, &[Verb::Claim], |simulated, ask, _, _| {
                if let Some(entry) = simulated.entry(ask.lock) {
                    entry.holds = entry.holds.min(1);
                }
            })
        },
    },
    Mutant {
        wrong: "a SET of a counted entry counts on",
        step: |simulated, step| {
            after(simulated, step, &[Verb::SetXxPx, Verb::SetPx], |simulated, ask, before, _| {
                if let (Some(entry), Some(before)) = (simulated.entry(ask.lock), before) {
                    entry.holds = entry.holds.max(before.holds);
                }
            })
        },
    },
];
