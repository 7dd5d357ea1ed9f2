//! The causal cone: which steps of a trace matter for its end.
//!
//! A violation is about some actors, the culprits. A step matters if what it did could have reached the state of a
//! culprit after the last step, along messages and through the state of servers: the happens-before relation, walked
//! backwards. The other steps can be struck out, and what is left still explains the end.
//!
//! From the last step to the first, with a set of *wanted* actors (whose state after this step is part of the
//! explanation) and a set of *wanted* messages (which a later step of the explanation received), a step matters if
//!
//! * it wrote the state of a wanted actor, or
//! * it sent a wanted message, or
//! * it lost or delayed a message that is wanted or that a wanted actor sent or should have received: what did not
//!   arrive is part of the explanation too, or
//! * it is a tick. Every deadline depends on all of them.
//!
//! A step *writes* the actors that its changes name. A client that acts is written even if no change says so, since
//! its program moved on; so is whoever a fault strikes, who comes back, or who learns that nobody took its message. A server that answers without a change is
//! only *read*: a refused `SET … NX` of a third client does not draw that client in.
//!
//! With a step that matters, everybody whom it wrote or read becomes wanted, and so does every message that it
//! received or struck. A tick draws nobody in, and an ignored message neither its sender nor its receiver.

use std::collections::BTreeSet;

use crate::model::{ActorKind, Trace};
use crate::step::{Fate, Hop, Step, StepKind};

/// Sets [`Step::matters`] of every step. See the [module](self) for what it means.
pub fn mark(trace: &mut Trace) {
    let clients: BTreeSet<String> =
        trace.actors.iter().filter(|actor| actor.kind == ActorKind::Client).map(|actor| actor.id.clone()).collect();
    let mut wanted = Wanted { actors: trace.culprits.iter().cloned().collect(), messages: BTreeSet::new() };
    for step in trace.steps.iter_mut().rev() {
        let touched = Touched::by(step, &clients);
        step.matters = step.kind == StepKind::Tick || wanted.any(step, &touched);
        if step.matters && step.kind != StepKind::Tick {
            wanted.take(step, touched);
        }
    }
}

/// What the explanation needs before the steps that were already visited.
struct Wanted {
    actors: BTreeSet<String>,
    messages: BTreeSet<u32>,
}

impl Wanted {
    fn any(&self, step: &Step, touched: &Touched) -> bool {
        touched.written.iter().any(|id| self.actors.contains(id)) || step.messages.iter().any(|hop| self.hop(hop))
    }

    fn hop(&self, hop: &Hop) -> bool {
        match hop.fate {
            Fate::Sent => self.messages.contains(&hop.id),
            Fate::Lost | Fate::Delayed => {
                self.messages.contains(&hop.id) || self.actors.contains(&hop.from) || self.actors.contains(&hop.to)
            }
            // These end a message: a later step cannot have wanted it, and what they did is in the state of an actor.
            Fate::Delivered | Fate::Ignored | Fate::Refused => false,
        }
    }

    fn take(&mut self, step: &Step, touched: Touched) {
        self.actors.extend(touched.written);
        self.actors.extend(touched.read);
        for hop in &step.messages {
            match hop.fate {
                Fate::Delivered | Fate::Refused | Fate::Lost | Fate::Delayed => {
                    self.messages.insert(hop.id);
                }
                Fate::Sent | Fate::Ignored => {}
            }
        }
    }
}

/// The actors that a step has to do with.
struct Touched {
    /// Whose state it may have changed.
    written: BTreeSet<String>,
    /// Whose state it depended on.
    read: BTreeSet<String>,
}

impl Touched {
    fn by(step: &Step, clients: &BTreeSet<String>) -> Self {
        let mut written: BTreeSet<String> = step.changes.iter().map(|change| change.actor.clone()).collect();
        let mut read = BTreeSet::new();
        if acts(step) {
            let strikes = matches!(step.kind, StepKind::Fault | StepKind::Resume | StepKind::Rejoin | StepKind::Heal);
            if strikes || clients.contains(&step.actor) {
                written.insert(step.actor.clone());
            }
            read.insert(step.actor.clone());
        }
        for hop in &step.messages {
            match hop.fate {
                Fate::Delivered => {
                    read.insert(hop.to.clone());
                }
                Fate::Refused => {
                    read.insert(hop.to.clone());
                    written.insert(hop.from.clone());
                }
                Fate::Sent | Fate::Lost | Fate::Delayed | Fate::Ignored => {}
            }
        }
        Self { written, read }
    }
}

/// Whether the step is its actor's own: not one of the network's, nor the arrival of what nobody needed.
fn acts(step: &Step) -> bool {
    let only = |dead: &[Fate]| !step.messages.is_empty() && step.messages.iter().all(|hop| dead.contains(&hop.fate));
    let of_the_network = step.kind == StepKind::Fault && only(&[Fate::Lost, Fate::Delayed]);
    let of_no_use = step.changes.is_empty() && only(&[Fate::Ignored]);
    !of_the_network && !of_no_use
}

#[cfg(test)]
mod tests;
