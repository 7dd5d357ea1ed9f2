//! An attempt: ask for the lock, and judge as soon as the answers allow.

use super::hold::Hold;
use super::round::Round;
use super::{COUNTER, Change, Context, Lease, Phase, validity};
use crate::ids::{Fence, NodeId, Nodes, Ticks, Time};
use crate::policy::{Acquire, Fencing, Holder, Policy, Renewal, UnknownAcquire, Validity};
use crate::tape::Tape;
use crate::wire::{Outbox, Outcome, Reply, Verb};

/// An attempt under way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Seek {
    pub(super) round: Round,
    /// Of those pending, the ones that have the second command.
    pub(super) second: Nodes,
    /// Of those pending, the ones that have an entry and are asked whether their replicas have it.
    pub(super) acks: Nodes,
    pub(super) granted: Nodes,
    /// Asked, and not known to be without an entry of this acquisition.
    pub(super) contacted: Nodes,
    /// Asked again after an unknown result.
    pub(super) retried: Nodes,
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
        let verb = match cx.policy.acquire {
            Acquire::Setnx | Acquire::SetnxThenExpire => Verb::Setnx,
            Acquire::SetNxPx | Acquire::Unlocked => Verb::SetNxPx,
        };
        let Phase::Seeking(seek) = &mut self.phase else { return };
        seek.round.ask(nodes, cx);
        seek.contacted = seek.contacted.union(nodes);
        for node in nodes.iter() {
            self.send(cx, node, verb);
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
        let (second, acknowledges) = (seek.second.contains(node), seek.acks.contains(node));
        seek.round.pending.remove(node);
        seek.second.remove(node);
        seek.acks.remove(node);
        match outcome {
            Outcome::Answered(Reply::Done) if acknowledges => seek.granted.insert(node),
            // The entry stands, but nobody knows whether it will outlive its server.
            _ if acknowledges => {}
            Outcome::Answered(Reply::Done) if second => return self.stand(cx, Nodes::only(node)),
            Outcome::Answered(Reply::Done) => return self.granted(cx, node, None),
            Outcome::Answered(Reply::Minted(fence)) => return self.granted(cx, node, Some(fence)),
            Outcome::Answered(Reply::Taken { own, fence }) => {
                let asked_again = seek.retried.contains(node);
                if own && asked_again && cx.policy.unknown == UnknownAcquire::OwnValueHeld {
                    return self.granted(cx, node, fence);
                }
                // After an unknown result an own entry may stand there all the same, now or later.
                if !asked_again {
                    seek.contacted.remove(node);
                }
            }
            Outcome::Answered(Reply::Nothing | Reply::Entry { .. } | Reply::Account(_) | Reply::Stale) => {}
            Outcome::Refused => {
                // Nothing can stand on a server that the request certainly never reached.
                if !second && !seek.retried.contains(node) {
                    seek.contacted.remove(node);
                }
            }
            Outcome::Unknown => return self.unknown(cx, Nodes::only(node), second),
        }
        self.judge(cx)
    }

    /// A server has an entry of this acquisition. It counts when the entry has its TTL as well.
    pub(super) fn granted<O: Outbox>(&mut self, cx: &mut Context<'_, O>, node: NodeId, fence: Option<Fence>) -> Change {
        let Phase::Seeking(seek) = &mut self.phase else { return Change::Nothing };
        seek.fence = fence.or(seek.fence);
        if cx.policy.acquire == Acquire::SetnxThenExpire {
            seek.round.ask(Nodes::only(node), cx);
            seek.second.insert(node);
            self.send(cx, node, Verb::Pexpire);
            return Change::Nothing;
        }
        self.stand(cx, Nodes::only(node))
    }

    /// The entries of some servers are complete. They count at once, or when enough replicas have them as well.
    pub(super) fn stand<O: Outbox>(&mut self, cx: &mut Context<'_, O>, nodes: Nodes) -> Change {
        let Phase::Seeking(seek) = &mut self.phase else { return Change::Nothing };
        if cx.policy.acknowledged == 0 {
            seek.granted = seek.granted.union(nodes);
            return self.judge(cx);
        }
        seek.round.ask(nodes, cx);
        seek.acks = seek.acks.union(nodes);
        for node in nodes.iter() {
            self.send(cx, node, Verb::Wait);
        }
        Change::Nothing
    }

    /// All servers that have not answered in time.
    pub(super) fn overdue<O: Outbox>(&mut self, cx: &mut Context<'_, O>) -> Change {
        let Phase::Seeking(seek) = &mut self.phase else { return Change::Nothing };
        let (silent, second, acks) = (seek.round.pending, seek.second, seek.acks);
        seek.round.pending = Nodes::NONE;
        seek.second = Nodes::NONE;
        seek.acks = Nodes::NONE;
        // The entry of a server that answered the first command stands, whatever became of the second.
        if cx.policy.acknowledged > 0 && !second.is_empty() {
            return self.stand(cx, second);
        }
        seek.granted = seek.granted.union(second);
        self.unknown(cx, silent.without(second).without(acks), false)
    }

    pub(super) fn unknown<O: Outbox>(&mut self, cx: &mut Context<'_, O>, silent: Nodes, second: bool) -> Change {
        let Phase::Seeking(seek) = &mut self.phase else { return Change::Nothing };
        let fresh = silent.without(seek.retried);
        match cx.policy.unknown {
            _ if second => return self.stand(cx, silent),
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
        if seek.granted.len() + seek.round.unsettled() < policy.quorum {
            return self.fail(cx);
        }
        if seek.granted.len() < policy.quorum {
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
        if policy.renewal != Renewal::Never && policy.renewals != Some(0) {
            hold.renew.next = Some(cx.now.after(policy.renew_every));
            hold.renew.left = policy.renewals;
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
            Phase::Idle | Phase::Minting { .. } | Phase::Held(_) | Phase::Lost(_) | Phase::Leaving(_) => {
                return Change::Nothing;
            }
        };
        self.leave(cx, granted, contacted, true)
    }
}

impl Seek {
    /// Which of the commands to a server is pending.
    pub(super) fn stage(&self, node: NodeId) -> u8 {
        let (second, retried) = (self.second.contains(node), self.retried.contains(node));
        u8::from(second) + 2 * u8::from(retried) + 4 * u8::from(self.acks.contains(node))
    }

    pub(super) fn fold(&mut self, tape: &mut impl Tape) {
        self.round.fold(tape);
        tape.nodes(&mut self.second);
        tape.nodes(&mut self.acks);
        tape.nodes(&mut self.granted);
        tape.nodes(&mut self.contacted);
        tape.nodes(&mut self.retried);
        tape.option(&mut self.expires, |tape, t| tape.time(t));
        tape.option(&mut self.fence, |tape, f| tape.fence(f));
    }
}

impl Policy {
    /// The margin that counts when a grant is judged: a naive holder keeps none.
    fn believed_margin(&self) -> Ticks {
        match self.holder {
            Holder::Naive => Ticks(0),
            Holder::Clocked => self.margin,
        }
    }
}
