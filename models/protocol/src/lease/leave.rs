//! A release, or the clean-up after an attempt that failed.

use super::round::Round;
use super::{Change, Context, Lease, Phase};
use crate::ids::{NodeId, Nodes};
use crate::policy::{Policy, Release, ReleaseTo};
use crate::tape::Tape;
use crate::wire::{Outbox, Outcome, Reply, Verb};

/// A release, or the clean-up after a failed attempt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Leave {
    pub(super) round: Round,
    pub(super) second: Nodes,
    /// Whether this cleans up after an attempt that failed.
    pub(super) failed: bool,
}

impl Lease {
    /// Tells the servers that the lock is given back, or cleaned up.
    pub(super) fn leave<O: Outbox>(
        &mut self,
        cx: &mut Context<'_, O>,
        granted: Nodes,
        contacted: Nodes,
        failed: bool,
    ) -> Change {
        let Some(verb) = release_verb(cx.policy) else { return self.left_behind(failed) };
        let all = match cx.policy.release_to {
            ReleaseTo::All => contacted,
            ReleaseTo::Believed => granted,
        };
        if all.is_empty() {
            return self.left_behind(failed);
        }
        self.round = self.round.wrapping_add(1);
        let (round, first) = Round::over(all, cx.policy.visit);
        self.phase = Phase::Leaving(Leave { round, second: Nodes::NONE, failed });
        self.tell(cx, first, verb);
        Change::Nothing
    }

    /// Sends the (first) command of a release to some servers.
    pub(super) fn tell<O: Outbox>(&mut self, cx: &mut Context<'_, O>, nodes: Nodes, verb: Verb) {
        let Phase::Leaving(leave) = &mut self.phase else { return };
        leave.round.ask(nodes, cx);
        for node in nodes.iter() {
            self.send(cx, node, verb);
        }
    }

    pub(super) fn left<O: Outbox>(&mut self, cx: &mut Context<'_, O>, node: NodeId, outcome: Outcome) -> Change {
        let Phase::Leaving(leave) = &mut self.phase else { return Change::Nothing };
        let owned = matches!(outcome, Outcome::Answered(Reply::Entry { own: true, .. }));
        if owned && !leave.second.contains(node) {
            leave.second.insert(node);
            leave.round.ask(Nodes::only(node), cx);
            self.send(cx, node, Verb::Del);
            return Change::Nothing;
        }
        leave.round.pending.remove(node);
        leave.second.remove(node);
        self.go_on_leaving(cx)
    }

    /// What is not answered in time is left to the TTL.
    pub(super) fn unheard<O: Outbox>(&mut self, cx: &mut Context<'_, O>) -> Change {
        let Phase::Leaving(leave) = &mut self.phase else { return Change::Nothing };
        leave.round.pending = Nodes::NONE;
        leave.second = Nodes::NONE;
        self.go_on_leaving(cx)
    }

    pub(super) fn go_on_leaving<O: Outbox>(&mut self, cx: &mut Context<'_, O>) -> Change {
        let Phase::Leaving(leave) = &mut self.phase else { return Change::Nothing };
        let failed = leave.failed;
        if let Some(next) = leave.round.next() {
            if let Some(verb) = release_verb(cx.policy) {
                self.tell(cx, next, verb);
            }
            return Change::Nothing;
        }
        if leave.round.unsettled() > 0 { Change::Nothing } else { self.left_behind(failed) }
    }

    pub(super) fn left_behind(&mut self, failed: bool) -> Change {
        self.phase = Phase::Idle;
        if failed { Change::Failed } else { Change::Released }
    }
}

impl Leave {
    pub(super) fn fold(&mut self, tape: &mut impl Tape) {
        self.round.fold(tape);
        tape.nodes(&mut self.second);
        tape.flag(&mut self.failed);
    }
}

/// The (first) command of a release.
fn release_verb(policy: &Policy) -> Option<Verb> {
    match policy.release {
        Release::CompareAndDelete if policy.reentrance.is_counted() => Some(Verb::Exit),
        Release::CompareAndDelete => Some(Verb::CompareAndDelete),
        Release::GetThenDel => Some(Verb::Get),
        Release::Del => Some(Verb::Del),
        Release::Nothing => None,
    }
}
