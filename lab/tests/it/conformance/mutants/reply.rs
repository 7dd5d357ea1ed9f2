//! Servers that do right and say something else, or mint wrong tokens.

use protocol::{Fence, Reply, Ticks, Verb};

use super::{Mutant, after};

const GRANTS: &[Verb] = &[Verb::SetNxPx, Verb::Setnx];

pub(super) const MUTANTS: &[Mutant] = &[
    Mutant {
        wrong: "a refusal does not know the own entry",
        step: |simulated, step| {
            after(simulated, step, GRANTS, |_, _, _, said| {
                if let Reply::Taken { own, .. } = &mut said.reply {
                    *own = false;
                }
            })
        },
    },
    Mutant {
        wrong: "a refusal takes every entry for the own",
        step: |simulated, step| {
            after(simulated, step, GRANTS, |_, _, _, said| {
                if let Reply::Taken { own, .. } = &mut said.reply {
                    *own = true;
                }
            })
        },
    },
    Mutant {
        wrong: "a refusal mints a token",
        step: |simulated, step| {
            after(simulated, step, GRANTS, |simulated, ask, _, said| {
                if ask.mint && matches!(said.reply, Reply::Taken { .. }) {
                    simulated.counter(ask.lock).0 += 1;
                }
            })
        },
    },
    Mutant {
        wrong: "a grant gives the last token again",
        step: |simulated, step| {
            after(simulated, step, GRANTS, |simulated, ask, _, said| {
                if let Reply::Minted(fence) = &mut said.reply {
                    fence.0 = fence.0.saturating_sub(1).max(1);
                    *simulated.counter(ask.lock) = *fence;
                }
            })
        },
    },
    Mutant {
        wrong: "the own entry is told the next token",
        step: |simulated, step| {
            after(simulated, step, GRANTS, |_, _, _, said| {
                if let Reply::Taken { fence: Some(fence), .. } = &mut said.reply {
                    fence.0 += 1;
                }
            })
        },
    },
    Mutant {
        wrong: "the own entry is told no token",
        step: |simulated, step| {
            after(simulated, step, GRANTS, |_, _, _, said| {
                if let Reply::Taken { fence, .. } = &mut said.reply {
                    *fence = None;
                }
            })
        },
    },
    Mutant {
        wrong: "INCR tells what there was before",
        step: |simulated, step| {
            after(simulated, step, &[Verb::Incr], |_, _, _, said| {
                if let Reply::Minted(fence) = &mut said.reply {
                    fence.0 -= 1;
                }
            })
        },
    },
    Mutant {
        wrong: "DEL takes the counter with it",
        step: |simulated, step| {
            after(simulated, step, &[Verb::Del, Verb::CompareAndDelete], |simulated, ask, _, said| {
                if said.reply == Reply::Done {
                    *simulated.counter(ask.lock) = Fence(0);
                }
            })
        },
    },
    Mutant {
        wrong: "PEXPIRE of nothing says that it is done",
        step: |simulated, step| {
            after(simulated, step, &[Verb::Pexpire, Verb::Limit], |_, _, _, said| said.reply = Reply::Done)
        },
    },
    Mutant {
        wrong: "SET XX of nothing says that it is done",
        step: |simulated, step| after(simulated, step, &[Verb::SetXxPx], |_, _, _, said| said.reply = Reply::Done),
    },
    Mutant {
        wrong: "DEL of nothing says that it is done",
        step: |simulated, step| {
            after(simulated, step, &[Verb::Del, Verb::Clear], |_, _, _, said| said.reply = Reply::Done)
        },
    },
    Mutant {
        wrong: "a release of nothing says that it is done",
        step: |simulated, step| {
            after(simulated, step, &[Verb::CompareAndDelete, Verb::Exit], |_, _, _, said| said.reply = Reply::Done)
        },
    },
    Mutant {
        wrong: "GET takes every entry for the own",
        step: |simulated, step| {
            after(simulated, step, &[Verb::Get, Verb::Look], |_, _, _, said| {
                if let Reply::Entry { own, .. } = &mut said.reply {
                    *own = true;
                }
            })
        },
    },
    Mutant {
        wrong: "GETSET tells of the entry that it has just set",
        step: |simulated, step| {
            after(simulated, step, &[Verb::GetSet], |_, _, _, said| {
                if let Reply::Entry { own, .. } = &mut said.reply {
                    *own = true;
                }
            })
        },
    },
    Mutant {
        wrong: "an expiry in the value is over a tick early",
        step: |simulated, step| {
            after(simulated, step, &[Verb::Look, Verb::Get, Verb::GetSet], |_, _, _, said| {
                if let Reply::Entry { left: Some(left), .. } = &mut said.reply {
                    *left = Ticks(left.0.saturating_sub(1));
                }
            })
        },
    },
    Mutant {
        wrong: "nobody is told of a release",
        step: |simulated, step| {
            after(simulated, step, &[Verb::Del, Verb::CompareAndDelete, Verb::Exit], |_, _, _, said| said.freed = 0)
        },
    },
    Mutant {
        wrong: "all are told of a release that frees nothing",
        step: |simulated, step| {
            after(simulated, step, &[Verb::CompareAndDelete, Verb::Exit], |simulated, _, _, said| {
                said.freed = usize::from(simulated.setup.policy.is_notified());
            })
        },
    },
    Mutant {
        wrong: "all are told of an entry that a waiting client clears",
        step: |simulated, step| {
            after(simulated, step, &[Verb::Clear], |simulated, _, before, said| {
                said.freed = usize::from(before.is_some() && simulated.setup.policy.is_notified());
            })
        },
    },
];
