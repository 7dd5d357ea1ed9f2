//! An attempt: ask for the lock, and judge as soon as the answers allow.

use super::ask::{self, Next, Stages};
use super::hold::Hold;
use super::round::Round;
use super::{COUNTER, Change, Context, Lease, Phase, validity};
use crate::ids::{Fence, NodeId, Nodes, Ticks, Time};
use crate::policy::{Fencing, Holder, Policy, QuorumOf, Renewal, UnknownAcquire, Validity};
use crate::tape::Tape;
use crate::wire::{Outbox, Outcome, Reply, Verb};

/// An attempt under way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Seek {
    pub(super) round: Round,
    /// Of those pending, which command they have.
    pub(super) stages: Stages,
    pub(super) granted: Nodes,
    /// Asked, and not known to be without an entry of this acquisition.
    pub(super) contacted: Nodes,
    /// Asked again after an unknown result.
    pub(super) retried: Nodes,
    /// Answered. Noted only where the quorum is one of the reachable servers.
    pub(super) answered: Nodes,
    /// The end of the validity, counted from the first request.
    pub(super) expires: Option<Time>,
    pub(super) fence: Option<Fence>,
}

impl Lease {
    /// Asks for the lock.
    pub(super) fn seek<O: Outbox>(&mut self, cx: &mut Context<'_, O>, fence: Option<Fence>) -> Change {
        self.round = self.round.wrapping_add(1);
        let counts = cx.policy.validity == Validity::FromSending;
        let expires = cx.policy.lease().filter(|_| counts).map(|ttl| validity(cx.policy, cx.now, ttl));
        let (round, first) = Round::over(Nodes::first(cx.policy.nodes), cx.policy.visit);
        self.phase = Phase::Seeking(Seek { round, expires, fence, ..Seek::default() });
        self.ask(cx, first);
        Change::Nothing
    }

    /// Sends the request for the lock to some servers.
    pub(super) fn ask<O: Outbox>(&mut self, cx: &mut Context<'_, O>, nodes: Nodes) {
        let Phase::Seeking(seek) = &mut self.phase else { return };
        seek.round.ask(nodes, cx);
        seek.stages.clear(nodes);
        seek.contacted = seek.contacted.union(nodes);
        for node in nodes.iter() {
            self.send(cx, node, ask::first(cx.policy));
        }
    }

    pub(super) fn minted<O: Outbox>(&mut self, cx: &mut Context<'_, O>, outcome: Outcome) -> Change {
        match outcome {
            Outcome::Answered(Reply::Minted(fence)) => self.seek(cx, Some(fence)),
            Outcome::Answered(_) | Outcome::Refused | Outcome::Unknown => {
                self.phase = Phase::Idle;
                Change::Failed
            }
        }
    }

    pub(super) fn answered<O: Outbox>(&mut self, cx: &mut Context<'_, O>, node: NodeId, outcome: Outcome) -> Change {
        let Phase::Seeking(seek) = &mut self.phase else { return Change::Nothing };
        let stage = seek.stages.of(node);
        let asked_again = seek.retried.contains(node);
        seek.round.pending.remove(node);
        seek.stages.set(node, 0);
        match outcome {
            Outcome::Answered(Reply::Done) if stage == ask::ACKNOWLEDGING => seek.granted.insert(node),
            // The entry stands, but nobody knows whether it will outlive its server.
            _ if stage == ask::ACKNOWLEDGING => {}
            Outcome::Answered(reply) => {
                if cx.policy.quorum_of == QuorumOf::Reachable {
                    seek.answered.insert(node);
                }
                return self.heard(cx, node, ask::next(cx.policy, stage, asked_again, reply));
            }
            Outcome::Refused => {
                // Nothing can stand on a server that the request certainly never reached.
                if stage == 0 && !asked_again {
                    seek.contacted.remove(node);
                }
                // Others may be refused as well: whoever gives up before it has heard so tells them to forget what
                // they were never asked.
                if !seek.round.pending.is_empty() {
                    return Change::Nothing;
                }
            }
            Outcome::Unknown => return self.unknown(cx, Nodes::only(node), stage),
        }
        self.judge(cx)
    }

    /// Acts upon the answer of a server.
    fn heard<O: Outbox>(&mut self, cx: &mut Context<'_, O>, node: NodeId, next: Next) -> Change {
        let Phase::Seeking(seek) = &mut self.phase else { return Change::Nothing };
        let asked_again = seek.retried.contains(node);
        match next {
            Next::Granted(fence) => {
                seek.fence = fence.or(seek.fence);
                return self.stand(cx, Nodes::only(node));
            }
            // After an unknown result an own entry may stand there all the same, now or later.
            Next::Taken if asked_again => {}
            Next::Taken => seek.contacted.remove(node),
            // An entry that was taken over for nothing is not the client's to delete.
            Next::Missed if cx.policy.keeps_expiry_in_value() && !asked_again => seek.contacted.remove(node),
            Next::Missed => {}
            Next::Ask { verb, stage, fence } => {
                seek.fence = fence.or(seek.fence);
                seek.round.ask(Nodes::only(node), cx);
                seek.stages.set(node, stage);
                self.send(cx, node, verb);
                return Change::Nothing;
            }
        }
        self.judge(cx)
    }

    /// The entries of some servers are complete. They count at once, or when enough replicas have them as well.
    fn stand<O: Outbox>(&mut self, cx: &mut Context<'_, O>, nodes: Nodes) -> Change {
        let Phase::Seeking(seek) = &mut self.phase else { return Change::Nothing };
        if cx.policy.acknowledged == 0 {
            seek.granted = seek.granted.union(nodes);
            return self.judge(cx);
        }
        seek.round.ask(nodes, cx);
        for node in nodes.iter() {
            seek.stages.set(node, ask::ACKNOWLEDGING);
        }
        for node in nodes.iter() {
            self.send(cx, node, Verb::Wait);
        }
        Change::Nothing
    }

    /// All servers that have not answered in time.
    pub(super) fn overdue<O: Outbox>(&mut self, cx: &mut Context<'_, O>) -> Change {
        let Phase::Seeking(seek) = &mut self.phase else { return Change::Nothing };
        let silent = seek.round.pending;
        let (mut standing, mut acknowledging) = (Nodes::NONE, Nodes::NONE);
        for node in silent.iter() {
            match seek.stages.of(node) {
                ask::ACKNOWLEDGING => acknowledging.insert(node),
                stage if ask::stands_at(cx.policy, stage) => standing.insert(node),
                _ => {}
            }
        }
        seek.round.pending = Nodes::NONE;
        seek.stages.clear(silent);
        // The entry of a server that answered the first command stands, whatever became of the second.
        if cx.policy.acknowledged > 0 && !standing.is_empty() {
            return self.stand(cx, standing);
        }
        seek.granted = seek.granted.union(standing);
        self.unknown(cx, silent.without(standing).without(acknowledging), 0)
    }

    pub(super) fn unknown<O: Outbox>(&mut self, cx: &mut Context<'_, O>, silent: Nodes, stage: u8) -> Change {
        let Phase::Seeking(seek) = &mut self.phase else { return Change::Nothing };
        let fresh = silent.without(seek.retried);
        match cx.policy.unknown {
            _ if ask::stands_at(cx.policy, stage) => return self.stand(cx, silent),
            UnknownAcquire::AssumeHeld => seek.granted = seek.granted.union(silent),
            UnknownAcquire::GiveUp => {}
            UnknownAcquire::OwnValueHeld | UnknownAcquire::RetrySameToken | UnknownAcquire::RetryNewToken
                if fresh.is_empty() => {}
            UnknownAcquire::OwnValueHeld | UnknownAcquire::RetrySameToken | UnknownAcquire::RetryNewToken => {
                seek.retried = seek.retried.union(fresh);
                if cx.policy.unknown == UnknownAcquire::RetryNewToken {
                    self.token = self.token.next();
                }
                self.ask(cx, fresh);
                return Change::Nothing;
            }
        }
        self.judge(cx)
    }

    /// Decides as soon as the answers allow: go on, granted, or failed.
    pub(super) fn judge<O: Outbox>(&mut self, cx: &mut Context<'_, O>) -> Change {
        let Phase::Seeking(seek) = &mut self.phase else { return Change::Nothing };
        let policy = cx.policy;
        let (quorum, waits) = match policy.quorum_of {
            QuorumOf::All => (policy.quorum, seek.granted.len() < policy.quorum),
            // Who can be reached is only known when everybody has been asked.
            QuorumOf::Reachable => (seek.answered.len() / 2 + 1, seek.round.unsettled() > 0),
        };
        if seek.granted.len() + seek.round.unsettled() < quorum {
            return self.fail(cx);
        }
        if waits {
            if let Some(next) = seek.round.next() {
                self.ask(cx, next);
            }
            return Change::Nothing;
        }
        let until = match (policy.validity, policy.lease()) {
            (Validity::Unchecked, _) | (_, None) => None,
            (Validity::FromSending, Some(_)) => seek.expires,
            (Validity::FromReply, Some(ttl)) => Some(validity(policy, cx.now, ttl)),
        };
        let mut hold =
            Hold { until, fence: seek.fence, granted: seek.granted, contacted: seek.contacted, ..Hold::default() };
        if until.is_some_and(|until| cx.now >= until.before(policy.believed_margin())) {
            return self.fail(cx);
        }
        if policy.holder == Holder::Naive {
            hold.until = None;
        }
        if policy.renewal != Renewal::Never {
            hold.renew.next = (policy.renewals != Some(0)).then(|| cx.now.after(policy.renew_every));
            hold.renew.left = policy.renewals;
        }
        if policy.fencing == Fencing::ClientClock {
            hold.fence = Some(cx.wall);
        }
        if policy.fencing == Fencing::IncrAfter {
            self.round = self.round.wrapping_add(1);
            self.phase = Phase::Stamping { hold, timeout: cx.now.after(policy.timeout) };
            self.send(cx, COUNTER, Verb::Incr);
            return Change::Nothing;
        }
        self.phase = Phase::Held(hold);
        Change::Acquired
    }

    pub(super) fn stamped<O: Outbox>(&mut self, cx: &mut Context<'_, O>, outcome: Outcome) -> Change {
        let Phase::Stamping { hold, .. } = &mut self.phase else { return Change::Nothing };
        let fence = match outcome {
            Outcome::Answered(Reply::Minted(fence)) => fence,
            Outcome::Answered(_) | Outcome::Refused | Outcome::Unknown => return self.fail(cx),
        };
        if hold.belief_ends(cx.policy).is_some_and(|end| cx.now >= end) {
            return self.fail(cx);
        }
        hold.fence = Some(fence);
        self.phase = Phase::Held(core::mem::take(hold));
        Change::Acquired
    }

    pub(super) fn fail<O: Outbox>(&mut self, cx: &mut Context<'_, O>) -> Change {
        let (granted, contacted) = match &self.phase {
            Phase::Seeking(seek) => (seek.granted, seek.contacted),
            Phase::Stamping { hold, .. } => (hold.granted, hold.contacted),
            Phase::Idle
            | Phase::Subscribing { .. }
            | Phase::Minting { .. }
            | Phase::Held(_)
            | Phase::Lost(_)
            | Phase::Leaving(_) => return Change::Nothing,
        };
        self.leave(cx, granted, contacted, true)
    }
}

impl Seek {
    pub(super) fn fold(&mut self, tape: &mut impl Tape) {
        self.round.fold(tape);
        self.stages.fold(tape);
        tape.nodes(&mut self.granted);
        tape.nodes(&mut self.contacted);
        tape.nodes(&mut self.retried);
        tape.nodes(&mut self.answered);
        tape.option(&mut self.expires, |tape, t| tape.time(t));
        tape.option(&mut self.fence, |tape, f| tape.fence(f));
    }
}

impl Policy {
    /// The margin that counts when a grant is judged: a naive holder keeps none.
    fn believed_margin(&self) -> Ticks {
        match self.holder {
            Holder::Naive => Ticks(0),
            Holder::Clocked | Holder::ChecksThenActs => self.margin,
        }
    }
}
