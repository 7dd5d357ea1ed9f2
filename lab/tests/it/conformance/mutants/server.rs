//! Servers that are wrong about what outlives them.

use world::{Action, Memory, Node};

use super::super::step::Step;
use super::Mutant;

pub(super) const MUTANTS: &[Mutant] = &[
    Mutant {
        wrong: "what is not persisted outlives a restart",
        step: |simulated, step| {
            let before = *simulated.memory();
            let said = simulated.step(step);
            if *step == Step::Restart {
                *simulated.memory() = before;
            }
            said
        },
    },
    Mutant {
        wrong: "only the counters outlive a restart",
        step: |simulated, step| {
            let before = *simulated.memory();
            let said = simulated.step(step);
            if *step == Step::Restart {
                *simulated.memory() = Memory { counters: before.counters, ..Memory::default() };
            }
            said
        },
    },
    Mutant {
        wrong: "a restart forgets what was persisted",
        step: |simulated, step| {
            let said = simulated.step(step);
            if *step == Step::Restart {
                *simulated.world.nodes[0] = Node::default();
            }
            said
        },
    },
    Mutant {
        wrong: "what is on disk does not expire",
        step: |simulated, step| {
            let Step::Pass(ticks) = *step else { return simulated.step(step) };
            for _ in 0..ticks {
                let before = simulated.world.saved.clone();
                let syncs = *simulated.world.until_sync == 1;
                simulated.apply(Action::Tick);
                if !syncs {
                    simulated.world.saved = before;
                }
            }
            None
        },
    },
    Mutant {
        wrong: "a disk is written a tick late",
        step: |simulated, step| {
            let before = *simulated.world.until_sync;
            let said = simulated.step(step);
            if matches!(step, Step::Pass(_)) && before == 1 {
                let memories = std::mem::take(&mut *simulated.world.saved);
                simulated.world.saved.extend(memories.iter().map(|_| Memory::default()));
            }
            said
        },
    },
    Mutant {
        wrong: "a replica has what its master had last",
        step: |simulated, step| {
            if let Step::FailOver(replica) = *step {
                simulated.apply(Action::Replicate(replica));
            }
            simulated.step(step)
        },
    },
    Mutant {
        wrong: "a replica knows no counters",
        step: |simulated, step| {
            let said = simulated.step(step);
            if let Step::FailOver(_) = step {
                simulated.memory().counters = Memory::default().counters;
            }
            said
        },
    },
    Mutant {
        wrong: "entries do not expire on a replica",
        step: |simulated, step| {
            let before = simulated.world.replicas.clone();
            let said = simulated.step(step);
            if matches!(step, Step::Pass(_)) {
                simulated.world.replicas = before;
            }
            said
        },
    },
    Mutant {
        wrong: "the other replicas keep what they had from the old master",
        step: |simulated, step| {
            let before = simulated.world.replicas.clone();
            let said = simulated.step(step);
            if let Step::FailOver(replica) = *step {
                let left = before.iter().enumerate().filter(|(index, _)| *index != usize::from(replica));
                let left: Vec<_> = left.map(|(_, replica)| *replica).collect();
                *simulated.world.replicas = left;
            }
            said
        },
    },
];
