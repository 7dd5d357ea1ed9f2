//! A grant: hold it, renew it, lose it.

use super::round::Round;
use super::{Change, Context, Lease, Phase, validity};
use crate::ids::{Fence, NodeId, Nodes, Ticks, Time};
use crate::policy::{Holder, LateAnswer, Policy, QuorumOf, RefusedRenewal, Renewal, Validity};
use crate::tape::{Tape, rebase, rebase_option};
use crate::wire::{Outbox, Outcome, Reply, Verb};

/// A grant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Hold {
    pub(super) until: Option<Time>,
    pub(super) fence: Option<Fence>,
    pub(super) granted: Nodes,
    pub(super) contacted: Nodes,
    pub(super) renew: Renew,
}

/// The renewals of a grant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Renew {
    pub(super) next: Option<Time>,
    pub(super) left: Option<u8>,
    pub(super) round: Round,
    /// Of those pending, the ones that have extended the lease and are asked whether their replicas have it.
    pub(super) acks: Nodes,
    pub(super) extended: Nodes,
    pub(super) refused: Nodes,
    pub(super) expires: Option<Time>,
}

impl Lease {
    /// What a holder has to do when it is woken: renew, or note that a renewal was not answered.
    pub(super) fn keep<O: Outbox>(&mut self, cx: &mut Context<'_, O>) -> Change {
        let Phase::Held(hold) = &mut self.phase else { return Change::Nothing };
        let renew = &mut hold.renew;
        if renew.is_under_way() {
            if cx.now >= renew.round.timeout {
                renew.round.pending = Nodes::NONE;
                renew.acks = Nodes::NONE;
                return self.go_on_renewing(cx);
            }
            return Change::Nothing;
        }
        if renew.next.is_some_and(|next| cx.now >= next) {
            self.renew(cx);
        }
        Change::Nothing
    }

    /// Asks for more time, if that is not being done already.
    pub(crate) fn renew<O: Outbox>(&mut self, cx: &mut Context<'_, O>) {
        let Phase::Held(hold) = &mut self.phase else { return };
        let renew = &mut hold.renew;
        if renew.is_under_way() || cx.policy.renewal == Renewal::Never {
            return;
        }
        let (round, first) = Round::over(hold.contacted, cx.policy.visit);
        renew.next = None;
        renew.left = renew.left.map(|left| left.saturating_sub(1));
        renew.round = round;
        renew.expires = cx.policy.ttl.map(|ttl| validity(cx.policy, cx.now, ttl));
        self.round = self.round.wrapping_add(1);
        self.extend(cx, first);
    }

    /// Sends a renewal to some servers.
    pub(super) fn extend<O: Outbox>(&mut self, cx: &mut Context<'_, O>, nodes: Nodes) {
        let verb = match cx.policy.renewal {
            Renewal::Never => return,
            Renewal::CompareAndExtend => Verb::CompareAndExtend,
            Renewal::Expire => Verb::Pexpire,
            Renewal::SetNxPx => Verb::SetNxPx,
            Renewal::SetXxPx => Verb::SetXxPx,
            Renewal::SetPx => Verb::SetPx,
            Renewal::ExtendOrCreate => Verb::ExtendOrCreate,
        };
        let Phase::Held(hold) = &mut self.phase else { return };
        hold.renew.round.ask(nodes, cx);
        for node in nodes.iter() {
            self.send(cx, node, verb);
        }
    }

    pub(super) fn go_on_renewing<O: Outbox>(&mut self, cx: &mut Context<'_, O>) -> Change {
        let Phase::Held(hold) = &mut self.phase else { return Change::Nothing };
        if let Some(next) = hold.renew.round.next() {
            self.extend(cx, next);
            return Change::Nothing;
        }
        if hold.renew.is_under_way() {
            return Change::Nothing;
        }
        hold.renew.finish(cx.now, cx.policy);
        self.lapse(cx.policy, cx.now)
    }

    pub(super) fn renewed<O: Outbox>(&mut self, cx: &mut Context<'_, O>, node: NodeId, outcome: Outcome) -> Change {
        let Phase::Held(hold) = &mut self.phase else { return Change::Nothing };
        let policy = cx.policy;
        let renew = &mut hold.renew;
        let acknowledged = policy.acknowledged == 0 || renew.acks.contains(node);
        renew.round.pending.remove(node);
        renew.acks.remove(node);
        match outcome {
            Outcome::Answered(Reply::Done | Reply::Minted(_)) if !acknowledged => {
                renew.round.ask(Nodes::only(node), cx);
                renew.acks.insert(node);
                self.send(cx, node, Verb::Wait);
                return Change::Nothing;
            }
            Outcome::Answered(Reply::Done | Reply::Minted(_)) => renew.extended.insert(node),
            Outcome::Answered(_) if policy.refused_renewal == RefusedRenewal::Ignored => renew.extended.insert(node),
            Outcome::Answered(_) => renew.refused.insert(node),
            Outcome::Refused | Outcome::Unknown => {}
        }
        if renew.is_granted(policy) {
            if hold.until.is_some() {
                let counted_late = policy.validity == Validity::FromReply;
                let later = policy.ttl.map(|ttl| validity(policy, cx.now, ttl));
                let end = if counted_late { later } else { renew.expires };
                hold.until = hold.until.max(end);
            }
            renew.finish(cx.now, policy);
            return self.lapse(policy, cx.now);
        }
        if renew.is_refused(policy, hold.contacted) {
            return self.turned_down(cx);
        }
        self.go_on_renewing(cx)
    }

    /// The servers have refused a renewal.
    fn turned_down<O: Outbox>(&mut self, cx: &mut Context<'_, O>) -> Change {
        let Phase::Held(hold) = &mut self.phase else { return Change::Nothing };
        match cx.policy.refused_renewal {
            RefusedRenewal::Lost | RefusedRenewal::Ignored => self.lose(),
            RefusedRenewal::TriedAgain => {
                hold.renew.finish(cx.now, cx.policy);
                self.lapse(cx.policy, cx.now)
            }
        }
    }

    pub(super) fn lose(&mut self) -> Change {
        let Phase::Held(hold) = &mut self.phase else { return Change::Nothing };
        let mut hold = core::mem::take(hold);
        hold.end();
        self.phase = Phase::Lost(hold);
        Change::Lost
    }
}

impl Hold {
    /// The moment at which a clocked holder stops believing.
    pub(super) fn belief_ends(&self, policy: &Policy) -> Option<Time> {
        match policy.holder {
            Holder::Naive | Holder::ChecksThenActs => None,
            Holder::Clocked => self.until.map(|until| until.before(policy.margin)),
        }
    }

    /// Whether an answer under way may still turn a lapse around, which only an unsound policy lets it.
    pub(super) fn awaits_revival(&self, policy: &Policy) -> bool {
        policy.late_answer == LateAnswer::Revives && self.renew.is_under_way()
    }

    pub(super) fn rebase(&mut self, by: Ticks) {
        rebase_option(&mut self.until, by);
        rebase_option(&mut self.renew.next, by);
        rebase_option(&mut self.renew.expires, by);
        rebase(&mut self.renew.round.timeout, by);
    }

    /// Only the servers matter for what comes after a loss.
    pub(super) fn end(&mut self) {
        self.until = None;
        self.fence = None;
        self.renew = Renew::default();
    }

    pub(super) fn fold(&mut self, tape: &mut impl Tape) {
        tape.option(&mut self.until, |tape, t| tape.time(t));
        tape.option(&mut self.fence, |tape, f| tape.fence(f));
        tape.nodes(&mut self.granted);
        tape.nodes(&mut self.contacted);
        let mut renews = self.renew != Renew::default();
        tape.flag(&mut renews);
        if renews {
            self.renew.fold(tape);
        } else {
            self.renew = Renew::default();
        }
    }
}

impl Renew {
    pub(super) fn next_wake(&self) -> Option<Time> {
        if self.is_under_way() { Some(self.round.timeout) } else { self.next }
    }

    pub(super) fn is_under_way(&self) -> bool {
        self.round.unsettled() > 0
    }

    /// Whether the answers so far extend the lease.
    fn is_granted(&self, policy: &Policy) -> bool {
        match policy.quorum_of {
            QuorumOf::All => self.extended.len() >= policy.quorum,
            QuorumOf::Reachable => !self.is_under_way() && self.extended.len() > self.refused.len(),
        }
    }

    /// Whether they rule out that it is extended.
    fn is_refused(&self, policy: &Policy, asked: Nodes) -> bool {
        match policy.quorum_of {
            QuorumOf::All => asked.len() - self.refused.len() < policy.quorum,
            QuorumOf::Reachable => {
                !self.is_under_way() && !self.refused.is_empty() && self.refused.len() >= self.extended.len()
            }
        }
    }

    /// Ends a round and sets the time of the next.
    pub(super) fn finish(&mut self, now: Time, policy: &Policy) {
        let next = (self.left != Some(0)).then(|| now.after(policy.renew_every));
        *self = Self { next, left: self.left, ..Self::default() };
    }

    pub(super) fn fold(&mut self, tape: &mut impl Tape) {
        tape.option(&mut self.next, |tape, t| tape.time(t));
        tape.option(&mut self.left, |tape, n| tape.small(n, 8));
        self.round.fold(tape);
        if !self.is_under_way() {
            (self.acks, self.extended, self.refused) = Default::default();
            self.expires = None;
            return;
        }
        tape.nodes(&mut self.acks);
        tape.nodes(&mut self.extended);
        tape.nodes(&mut self.refused);
        tape.option(&mut self.expires, |tape, t| tape.time(t));
    }
}
