//! Requests to several servers.

use super::Context;
use crate::ids::{Nodes, Time};
use crate::policy::Visit;
use crate::tape::Tape;
use crate::wire::Outbox;

/// Requests to several servers, sent all at once or one after another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Round {
    /// Asked and not answered.
    pub(super) pending: Nodes,
    /// Still to be asked.
    pub(super) waiting: Nodes,
    /// When what is pending counts as unknown.
    pub(super) timeout: Time,
}

impl Round {
    /// A round over a set of servers, and the first of them to ask.
    pub(super) fn over(nodes: Nodes, visit: Visit) -> (Self, Nodes) {
        let first = match visit {
            Visit::AllAtOnce => nodes,
            Visit::InOrder => nodes.lowest(),
        };
        (Self { waiting: nodes.without(first), ..Self::default() }, first)
    }

    /// Notes that servers are asked now.
    pub(super) fn ask<O: Outbox>(&mut self, nodes: Nodes, cx: &Context<'_, O>) {
        self.pending = self.pending.union(nodes);
        self.timeout = cx.now.after(cx.policy.timeout);
    }

    /// The next server to ask, if nothing is pending and one is left.
    pub(super) fn next(&mut self) -> Option<Nodes> {
        if !self.pending.is_empty() || self.waiting.is_empty() {
            return None;
        }
        let next = self.waiting.lowest();
        self.waiting = self.waiting.without(next);
        Some(next)
    }

    /// How many servers have not settled.
    pub(super) fn unsettled(&self) -> u8 {
        self.pending.len() + self.waiting.len()
    }

    pub(super) fn fold(&mut self, tape: &mut impl Tape) {
        tape.nodes(&mut self.pending);
        tape.nodes(&mut self.waiting);
        if self.pending.is_empty() {
            self.timeout = Time::default();
        } else {
            tape.time(&mut self.timeout);
        }
    }
}
