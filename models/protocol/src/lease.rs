//! One lock on a set of servers: acquire on a quorum, hold, renew, give back.
//!
//! A single server is a quorum of one. With several this is Redlock (S. Sanfilippo, "Distributed Locks with Redis"):
//! the lock is held if a quorum granted it before the validity, counted from the first request, had passed. Every
//! departure from that is a value of [`Policy`].

use crate::ids::{Fence, NodeId, Nodes, Resource, Slot, Ticks, Time, Token};
use crate::policy::{
    Acquire, Drift, Fencing, Holder, LateAnswer, Policy, RefusedRenewal, Release, ReleaseTo, Renewal, UnknownAcquire,
    Validity, Visit,
};
use crate::tape::{Tape, rebase, rebase_option};
use crate::wake::{Window, earlier};
use crate::wire::{Command, Effect, OpId, Outbox, Outcome, Place, Reply, Verb};

/// The node that keeps the counter for fencing tokens.
const COUNTER: NodeId = NodeId(0);

/// What became of a lease in a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// Nothing that its owner has to act upon.
    Nothing,
    /// It is held.
    Acquired,
    /// The attempt failed, and its clean-up is over.
    Failed,
    /// It was held and is lost.
    Lost,
    /// It is given back.
    Released,
}

/// What a lease needs to know in a step: the policy, the clock, and where its effects go.
pub(crate) struct Context<'a, O: Outbox> {
    pub(crate) policy: &'a Policy,
    pub(crate) now: Time,
    pub(crate) slot: Slot,
    pub(crate) resource: Resource,
    pub(crate) out: &'a mut O,
}

/// The state of one lock of one client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Lease {
    token: Token,
    /// Tells the operations of one round of requests from those of another.
    round: u32,
    phase: Phase,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Phase {
    #[default]
    Idle,
    /// A fencing token is being minted before the lock is asked for.
    Minting {
        timeout: Time,
    },
    Seeking(Seek),
    /// Granted; a fencing token is being minted before the user hears of it.
    Stamping {
        hold: Hold,
        timeout: Time,
    },
    Held(Hold),
    /// Held once; what may still stand on the servers is remembered for the release.
    Lost(Hold),
    Leaving(Leave),
}

/// Requests to several servers, sent all at once or one after another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Round {
    /// Asked and not answered.
    pending: Nodes,
    /// Still to be asked.
    waiting: Nodes,
    /// When what is pending counts as unknown.
    timeout: Time,
}

/// An attempt under way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Seek {
    round: Round,
    /// Of those pending, the ones that have the second command.
    second: Nodes,
    granted: Nodes,
    /// Asked, and not known to be without an entry of this acquisition.
    contacted: Nodes,
    /// Asked again after an unknown result.
    retried: Nodes,
    /// The end of the validity, counted from the first request.
    expires: Option<Time>,
    fence: Option<Fence>,
}

/// A grant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Hold {
    until: Option<Time>,
    fence: Option<Fence>,
    granted: Nodes,
    contacted: Nodes,
    renew: Renew,
}

/// The renewals of a grant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Renew {
    next: Option<Time>,
    left: Option<u8>,
    round: Round,
    extended: Nodes,
    refused: Nodes,
    expires: Option<Time>,
}

/// A release, or the clean-up after a failed attempt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Leave {
    round: Round,
    second: Nodes,
    /// Whether this cleans up after an attempt that failed.
    failed: bool,
}

impl Lease {
    /// Starts an attempt with a new token.
    pub(crate) fn begin<O: Outbox>(&mut self, cx: &mut Context<'_, O>) -> Change {
        debug_assert!(self.is_idle(), "an attempt starts from rest");
        self.token = self.token.next();
        if cx.policy.acquire == Acquire::Unlocked {
            self.phase = Phase::Held(Hold::default());
            return Change::Acquired;
        }
        if cx.policy.fencing == Fencing::IncrBefore {
            self.round = self.round.wrapping_add(1);
            self.send(cx, COUNTER, Verb::Incr);
            self.phase = Phase::Minting { timeout: cx.now.after(cx.policy.timeout) };
            return Change::Nothing;
        }
        self.seek(cx, None)
    }

    /// Gives the lock back, or ends the attempt, telling the servers as the policy says.
    pub(crate) fn release<O: Outbox>(&mut self, cx: &mut Context<'_, O>) -> Change {
        match core::mem::take(&mut self.phase) {
            Phase::Idle => Change::Nothing,
            Phase::Minting { .. } => Change::Released,
            Phase::Seeking(seek) => self.leave(cx, seek.granted, seek.contacted, false),
            Phase::Stamping { hold, .. } | Phase::Held(hold) | Phase::Lost(hold) => {
                self.leave(cx, hold.granted, hold.contacted, false)
            }
            leaving @ Phase::Leaving(_) => {
                self.phase = leaving;
                Change::Nothing
            }
        }
    }

    /// Forgets the lock without a word to the servers.
    pub(crate) fn forget(&mut self) {
        self.phase = Phase::Idle;
    }

    /// Stays at the acquisition, but neither believes nor does anything any more.
    pub(crate) fn lie_low(&mut self) {
        if !self.is_idle() {
            self.phase = Phase::Lost(Hold::default());
        }
    }

    /// Looks at the clock. To be called before anything else in a step: a lapse is final.
    pub(crate) fn lapse(&mut self, policy: &Policy, now: Time) -> Change {
        let Phase::Held(hold) = &self.phase else { return Change::Nothing };
        let Some(end) = hold.belief_ends(policy) else { return Change::Nothing };
        if now < end || hold.awaits_revival(policy) {
            return Change::Nothing;
        }
        self.lose()
    }

    /// Takes the end of an operation. One that is not awaited changes nothing.
    pub(crate) fn settled<O: Outbox>(&mut self, cx: &mut Context<'_, O>, op: OpId, outcome: Outcome) -> Change {
        let Place::Lock(_, node) = op.place else { return Change::Nothing };
        if self.awaited(cx.slot, node) != Some(op) {
            return Change::Nothing;
        }
        match &mut self.phase {
            Phase::Idle | Phase::Lost(_) => Change::Nothing,
            Phase::Minting { .. } => self.minted(cx, outcome),
            Phase::Seeking(_) => self.answered(cx, node, outcome),
            Phase::Stamping { .. } => self.stamped(cx, outcome),
            Phase::Held(_) => self.renewed(cx, node, outcome),
            Phase::Leaving(_) => self.left(cx, node, outcome),
        }
    }

    /// Does what is due.
    pub(crate) fn wake<O: Outbox>(&mut self, cx: &mut Context<'_, O>) -> Change {
        match &self.phase {
            Phase::Idle | Phase::Lost(_) => Change::Nothing,
            Phase::Minting { timeout } if cx.now >= *timeout => self.minted(cx, Outcome::Unknown),
            Phase::Stamping { timeout, .. } if cx.now >= *timeout => self.stamped(cx, Outcome::Unknown),
            Phase::Seeking(seek) if cx.now >= seek.round.timeout => self.overdue(cx),
            Phase::Leaving(leave) if cx.now >= leave.round.timeout => self.unheard(cx),
            Phase::Held(_) => self.keep(cx),
            Phase::Minting { .. } | Phase::Stamping { .. } | Phase::Seeking(_) | Phase::Leaving(_) => Change::Nothing,
        }
    }

    /// When the lease next has something to do.
    pub(crate) fn next_wake(&self, policy: &Policy) -> Option<Window> {
        match &self.phase {
            Phase::Idle | Phase::Lost(_) => None,
            Phase::Minting { timeout } | Phase::Stamping { timeout, .. } => Some(Window::at(*timeout)),
            Phase::Seeking(seek) => Some(Window::at(seek.round.timeout)),
            Phase::Leaving(leave) => Some(Window::at(leave.round.timeout)),
            Phase::Held(hold) => {
                let lapse = if hold.awaits_revival(policy) { None } else { hold.belief_ends(policy) };
                earlier(lapse.map(Window::at), hold.renew.next_wake().map(Window::at))
            }
        }
    }

    /// The operation that is awaited from a server.
    pub(crate) fn awaited(&self, slot: Slot, node: NodeId) -> Option<OpId> {
        let pending = match &self.phase {
            Phase::Idle | Phase::Lost(_) => Nodes::NONE,
            Phase::Minting { .. } | Phase::Stamping { .. } => Nodes::only(COUNTER),
            Phase::Seeking(seek) => seek.round.pending,
            Phase::Held(hold) => hold.renew.round.pending,
            Phase::Leaving(leave) => leave.round.pending,
        };
        pending.contains(node).then(|| self.op(slot, node))
    }

    /// Whether the client believes at `now` that it holds this lock.
    pub(crate) fn believes(&self, policy: &Policy, now: Time) -> bool {
        match &self.phase {
            Phase::Held(hold) => hold.belief_ends(policy).is_none_or(|end| now < end),
            Phase::Idle
            | Phase::Minting { .. }
            | Phase::Seeking(_)
            | Phase::Stamping { .. }
            | Phase::Lost(_)
            | Phase::Leaving(_) => false,
        }
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.phase == Phase::Idle
    }

    /// Whether this is an attempt that has asked a server for the lock.
    pub(crate) fn is_seeking(&self) -> bool {
        matches!(self.phase, Phase::Minting { .. } | Phase::Seeking(_) | Phase::Stamping { .. })
    }

    /// The acquisition that the lease is at, unless it is at rest.
    pub(crate) fn current(&self) -> Option<Token> {
        (!self.is_idle()).then_some(self.token)
    }

    pub(crate) fn token(&self) -> Token {
        self.token
    }

    pub(crate) fn set_token(&mut self, token: Token) {
        self.token = token;
    }

    /// When the lease ends by the client's own clock. None: never, or not held.
    pub(crate) fn until(&self) -> Option<Time> {
        self.hold().and_then(|h| h.until)
    }

    pub(crate) fn fence(&self) -> Option<Fence> {
        self.hold().and_then(|h| h.fence)
    }

    pub(crate) fn fence_mut(&mut self) -> Option<&mut Fence> {
        match &mut self.phase {
            Phase::Seeking(seek) => seek.fence.as_mut(),
            Phase::Stamping { hold, .. } | Phase::Held(hold) | Phase::Lost(hold) => hold.fence.as_mut(),
            Phase::Idle | Phase::Minting { .. } | Phase::Leaving(_) => None,
        }
    }

    /// Moves all deadlines as time passes.
    pub(crate) fn rebase(&mut self, by: Ticks) {
        match &mut self.phase {
            Phase::Idle => {}
            Phase::Minting { timeout } => rebase(timeout, by),
            Phase::Seeking(seek) => {
                rebase(&mut seek.round.timeout, by);
                rebase_option(&mut seek.expires, by);
            }
            Phase::Stamping { hold, timeout } => {
                rebase(timeout, by);
                hold.rebase(by);
            }
            Phase::Held(hold) | Phase::Lost(hold) => hold.rebase(by),
            Phase::Leaving(leave) => rebase(&mut leave.round.timeout, by),
        }
    }

    /// Lays the state on a tape. Rounds only tell operations apart and are not part of it.
    pub(crate) fn fold(&mut self, tape: &mut impl Tape) {
        let before = self.phase.tag();
        let mut tag = before;
        tape.small(&mut tag, 3);
        if tag != before {
            self.phase = Phase::blank(tag);
        }
        tape.token(&mut self.token);
        match &mut self.phase {
            Phase::Idle => {}
            Phase::Minting { timeout } => tape.time(timeout),
            Phase::Seeking(seek) => seek.fold(tape),
            Phase::Stamping { hold, timeout } => {
                tape.time(timeout);
                hold.fold(tape);
            }
            Phase::Held(hold) | Phase::Lost(hold) => hold.fold(tape),
            Phase::Leaving(leave) => leave.fold(tape),
        }
    }

    fn hold(&self) -> Option<&Hold> {
        match &self.phase {
            Phase::Held(hold) => Some(hold),
            Phase::Idle
            | Phase::Minting { .. }
            | Phase::Seeking(_)
            | Phase::Stamping { .. }
            | Phase::Lost(_)
            | Phase::Leaving(_) => None,
        }
    }

    /// The operation that a request to a server is, as things stand.
    fn op(&self, slot: Slot, node: NodeId) -> OpId {
        let stage = match &self.phase {
            Phase::Seeking(seek) => u8::from(seek.second.contains(node)) + 2 * u8::from(seek.retried.contains(node)),
            Phase::Leaving(leave) => u8::from(leave.second.contains(node)),
            Phase::Idle | Phase::Minting { .. } | Phase::Stamping { .. } | Phase::Held(_) | Phase::Lost(_) => 0,
        };
        OpId { place: Place::Lock(slot, node), round: self.round, stage }
    }

    fn send<O: Outbox>(&self, cx: &mut Context<'_, O>, node: NodeId, verb: Verb) {
        let acquires = matches!(verb, Verb::SetNxPx | Verb::Setnx) && matches!(self.phase, Phase::Seeking(_));
        let mint = acquires && cx.policy.fencing == Fencing::WithGrant;
        let op = self.op(cx.slot, node);
        let command = Command::Lock { resource: cx.resource, verb, token: self.token, mint };
        cx.out.push(Effect::Send { op, command });
    }

    /// Asks for the lock.
    fn seek<O: Outbox>(&mut self, cx: &mut Context<'_, O>, fence: Option<Fence>) -> Change {
        self.round = self.round.wrapping_add(1);
        let counts = cx.policy.validity == Validity::FromSending;
        let expires = cx.policy.lease().filter(|_| counts).map(|ttl| validity(cx.policy, cx.now, ttl));
        let (round, first) = Round::over(Nodes::first(cx.policy.nodes), cx.policy.visit);
        self.phase = Phase::Seeking(Seek { round, expires, fence, ..Seek::default() });
        self.ask(cx, first);
        Change::Nothing
    }

    /// Sends the request for the lock to some servers.
    fn ask<O: Outbox>(&mut self, cx: &mut Context<'_, O>, nodes: Nodes) {
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

    fn minted<O: Outbox>(&mut self, cx: &mut Context<'_, O>, outcome: Outcome) -> Change {
        match outcome {
            Outcome::Answered(Reply::Minted(fence)) => self.seek(cx, Some(fence)),
            Outcome::Answered(_) | Outcome::Refused | Outcome::Unknown => {
                self.phase = Phase::Idle;
                Change::Failed
            }
        }
    }

    fn answered<O: Outbox>(&mut self, cx: &mut Context<'_, O>, node: NodeId, outcome: Outcome) -> Change {
        let Phase::Seeking(seek) = &mut self.phase else { return Change::Nothing };
        let second = seek.second.contains(node);
        seek.round.pending.remove(node);
        seek.second.remove(node);
        match outcome {
            Outcome::Answered(Reply::Done) if second => seek.granted.insert(node),
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
    fn granted<O: Outbox>(&mut self, cx: &mut Context<'_, O>, node: NodeId, fence: Option<Fence>) -> Change {
        let Phase::Seeking(seek) = &mut self.phase else { return Change::Nothing };
        seek.fence = fence.or(seek.fence);
        if cx.policy.acquire == Acquire::SetnxThenExpire {
            seek.round.ask(Nodes::only(node), cx);
            seek.second.insert(node);
            self.send(cx, node, Verb::Pexpire);
            return Change::Nothing;
        }
        seek.granted.insert(node);
        self.judge(cx)
    }

    /// All servers that have not answered in time.
    fn overdue<O: Outbox>(&mut self, cx: &mut Context<'_, O>) -> Change {
        let Phase::Seeking(seek) = &mut self.phase else { return Change::Nothing };
        let (silent, second) = (seek.round.pending, seek.second);
        seek.round.pending = Nodes::NONE;
        seek.second = Nodes::NONE;
        // The entry of a server that answered the first command stands, whatever became of the second.
        seek.granted = seek.granted.union(second);
        self.unknown(cx, silent.without(second), false)
    }

    fn unknown<O: Outbox>(&mut self, cx: &mut Context<'_, O>, silent: Nodes, second: bool) -> Change {
        let Phase::Seeking(seek) = &mut self.phase else { return Change::Nothing };
        let fresh = silent.without(seek.retried);
        match cx.policy.unknown {
            _ if second => seek.granted = seek.granted.union(silent),
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
    fn judge<O: Outbox>(&mut self, cx: &mut Context<'_, O>) -> Change {
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

    fn stamped<O: Outbox>(&mut self, cx: &mut Context<'_, O>, outcome: Outcome) -> Change {
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

    fn fail<O: Outbox>(&mut self, cx: &mut Context<'_, O>) -> Change {
        let (granted, contacted) = match &self.phase {
            Phase::Seeking(seek) => (seek.granted, seek.contacted),
            Phase::Stamping { hold, .. } => (hold.granted, hold.contacted),
            Phase::Idle | Phase::Minting { .. } | Phase::Held(_) | Phase::Lost(_) | Phase::Leaving(_) => {
                return Change::Nothing;
            }
        };
        self.leave(cx, granted, contacted, true)
    }

    /// Tells the servers that the lock is given back, or cleaned up.
    fn leave<O: Outbox>(&mut self, cx: &mut Context<'_, O>, granted: Nodes, contacted: Nodes, failed: bool) -> Change {
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
    fn tell<O: Outbox>(&mut self, cx: &mut Context<'_, O>, nodes: Nodes, verb: Verb) {
        let Phase::Leaving(leave) = &mut self.phase else { return };
        leave.round.ask(nodes, cx);
        for node in nodes.iter() {
            self.send(cx, node, verb);
        }
    }

    fn left<O: Outbox>(&mut self, cx: &mut Context<'_, O>, node: NodeId, outcome: Outcome) -> Change {
        let Phase::Leaving(leave) = &mut self.phase else { return Change::Nothing };
        let owned = outcome == Outcome::Answered(Reply::Entry { own: true });
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
    fn unheard<O: Outbox>(&mut self, cx: &mut Context<'_, O>) -> Change {
        let Phase::Leaving(leave) = &mut self.phase else { return Change::Nothing };
        leave.round.pending = Nodes::NONE;
        leave.second = Nodes::NONE;
        self.go_on_leaving(cx)
    }

    fn go_on_leaving<O: Outbox>(&mut self, cx: &mut Context<'_, O>) -> Change {
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

    fn left_behind(&mut self, failed: bool) -> Change {
        self.phase = Phase::Idle;
        if failed { Change::Failed } else { Change::Released }
    }

    /// What a holder has to do when it is woken: renew, or note that a renewal was not answered.
    fn keep<O: Outbox>(&mut self, cx: &mut Context<'_, O>) -> Change {
        let Phase::Held(hold) = &mut self.phase else { return Change::Nothing };
        let renew = &mut hold.renew;
        if renew.is_under_way() {
            if cx.now >= renew.round.timeout {
                renew.round.pending = Nodes::NONE;
                return self.go_on_renewing(cx);
            }
            return Change::Nothing;
        }
        if renew.next.is_none_or(|next| cx.now < next) {
            return Change::Nothing;
        }
        let (round, first) = Round::over(hold.contacted, cx.policy.visit);
        renew.next = None;
        renew.left = renew.left.map(|left| left.saturating_sub(1));
        renew.round = round;
        renew.expires = cx.policy.ttl.map(|ttl| validity(cx.policy, cx.now, ttl));
        self.round = self.round.wrapping_add(1);
        self.extend(cx, first);
        Change::Nothing
    }

    /// Sends a renewal to some servers.
    fn extend<O: Outbox>(&mut self, cx: &mut Context<'_, O>, nodes: Nodes) {
        let verb = match cx.policy.renewal {
            Renewal::Never => return,
            Renewal::CompareAndExtend => Verb::CompareAndExtend,
            Renewal::Expire => Verb::Pexpire,
            Renewal::SetNxPx => Verb::SetNxPx,
            Renewal::SetXxPx => Verb::SetXxPx,
            Renewal::SetPx => Verb::SetPx,
        };
        let Phase::Held(hold) = &mut self.phase else { return };
        hold.renew.round.ask(nodes, cx);
        for node in nodes.iter() {
            self.send(cx, node, verb);
        }
    }

    fn go_on_renewing<O: Outbox>(&mut self, cx: &mut Context<'_, O>) -> Change {
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

    fn renewed<O: Outbox>(&mut self, cx: &mut Context<'_, O>, node: NodeId, outcome: Outcome) -> Change {
        let Phase::Held(hold) = &mut self.phase else { return Change::Nothing };
        let policy = cx.policy;
        let renew = &mut hold.renew;
        renew.round.pending.remove(node);
        match outcome {
            Outcome::Answered(Reply::Done | Reply::Minted(_)) => renew.extended.insert(node),
            Outcome::Answered(_) if policy.refused_renewal == RefusedRenewal::Ignored => renew.extended.insert(node),
            Outcome::Answered(_) => renew.refused.insert(node),
            Outcome::Refused | Outcome::Unknown => {}
        }
        if renew.extended.len() >= policy.quorum {
            if hold.until.is_some() {
                let counted_late = policy.validity == Validity::FromReply;
                let later = policy.ttl.map(|ttl| validity(policy, cx.now, ttl));
                let end = if counted_late { later } else { renew.expires };
                hold.until = hold.until.max(end);
            }
            renew.finish(cx.now, policy);
            return self.lapse(policy, cx.now);
        }
        if hold.contacted.len() - renew.refused.len() < policy.quorum {
            return self.lose();
        }
        self.go_on_renewing(cx)
    }

    fn lose(&mut self) -> Change {
        let Phase::Held(hold) = &mut self.phase else { return Change::Nothing };
        let mut hold = core::mem::take(hold);
        hold.end();
        self.phase = Phase::Lost(hold);
        Change::Lost
    }
}

impl Phase {
    fn tag(&self) -> u8 {
        match self {
            Self::Idle => 0,
            Self::Minting { .. } => 1,
            Self::Seeking(_) => 2,
            Self::Stamping { .. } => 3,
            Self::Held(_) => 4,
            Self::Lost(_) => 5,
            Self::Leaving(_) => 6,
        }
    }

    fn blank(tag: u8) -> Self {
        match tag {
            1 => Self::Minting { timeout: Time::default() },
            2 => Self::Seeking(Seek::default()),
            3 => Self::Stamping { hold: Hold::default(), timeout: Time::default() },
            4 => Self::Held(Hold::default()),
            5 => Self::Lost(Hold::default()),
            6 => Self::Leaving(Leave::default()),
            _ => Self::Idle,
        }
    }
}

impl Round {
    /// A round over a set of servers, and the first of them to ask.
    fn over(nodes: Nodes, visit: Visit) -> (Self, Nodes) {
        let first = match visit {
            Visit::AllAtOnce => nodes,
            Visit::InOrder => nodes.lowest(),
        };
        (Self { waiting: nodes.without(first), ..Self::default() }, first)
    }

    /// Notes that servers are asked now.
    fn ask<O: Outbox>(&mut self, nodes: Nodes, cx: &Context<'_, O>) {
        self.pending = self.pending.union(nodes);
        self.timeout = cx.now.after(cx.policy.timeout);
    }

    /// The next server to ask, if nothing is pending and one is left.
    fn next(&mut self) -> Option<Nodes> {
        if !self.pending.is_empty() || self.waiting.is_empty() {
            return None;
        }
        let next = self.waiting.lowest();
        self.waiting = self.waiting.without(next);
        Some(next)
    }

    /// How many servers have not settled.
    fn unsettled(&self) -> u8 {
        self.pending.len() + self.waiting.len()
    }

    fn fold(&mut self, tape: &mut impl Tape) {
        tape.nodes(&mut self.pending);
        tape.nodes(&mut self.waiting);
        if !self.pending.is_empty() {
            tape.time(&mut self.timeout);
        }
    }
}

impl Seek {
    fn fold(&mut self, tape: &mut impl Tape) {
        self.round.fold(tape);
        tape.nodes(&mut self.second);
        tape.nodes(&mut self.granted);
        tape.nodes(&mut self.contacted);
        tape.nodes(&mut self.retried);
        tape.option(&mut self.expires, |tape, t| tape.time(t));
        tape.option(&mut self.fence, |tape, f| tape.fence(f));
    }
}

impl Hold {
    /// The moment at which a clocked holder stops believing.
    fn belief_ends(&self, policy: &Policy) -> Option<Time> {
        match policy.holder {
            Holder::Naive => None,
            Holder::Clocked => self.until.map(|until| until.before(policy.margin)),
        }
    }

    /// Whether an answer under way may still turn a lapse around, which only an unsound policy lets it.
    fn awaits_revival(&self, policy: &Policy) -> bool {
        policy.late_answer == LateAnswer::Revives && self.renew.is_under_way()
    }

    fn rebase(&mut self, by: Ticks) {
        rebase_option(&mut self.until, by);
        rebase_option(&mut self.renew.next, by);
        rebase_option(&mut self.renew.expires, by);
        rebase(&mut self.renew.round.timeout, by);
    }

    /// Only the servers matter for what comes after a loss.
    fn end(&mut self) {
        self.until = None;
        self.fence = None;
        self.renew = Renew::default();
    }

    fn fold(&mut self, tape: &mut impl Tape) {
        tape.option(&mut self.until, |tape, t| tape.time(t));
        tape.option(&mut self.fence, |tape, f| tape.fence(f));
        tape.nodes(&mut self.granted);
        tape.nodes(&mut self.contacted);
        let mut renews = self.renew != Renew::default();
        tape.flag(&mut renews);
        if renews {
            self.renew.fold(tape);
        }
    }
}

impl Renew {
    fn next_wake(&self) -> Option<Time> {
        if self.is_under_way() { Some(self.round.timeout) } else { self.next }
    }

    fn is_under_way(&self) -> bool {
        self.round.unsettled() > 0
    }

    /// Ends a round and sets the time of the next.
    fn finish(&mut self, now: Time, policy: &Policy) {
        let next = (self.left != Some(0)).then(|| now.after(policy.renew_every));
        *self = Self { next, left: self.left, ..Self::default() };
    }

    fn fold(&mut self, tape: &mut impl Tape) {
        tape.option(&mut self.next, |tape, t| tape.time(t));
        tape.option(&mut self.left, |tape, n| tape.small(n, 8));
        self.round.fold(tape);
        if !self.is_under_way() {
            return;
        }
        tape.nodes(&mut self.extended);
        tape.nodes(&mut self.refused);
        tape.option(&mut self.expires, |tape, t| tape.time(t));
    }
}

impl Leave {
    fn fold(&mut self, tape: &mut impl Tape) {
        self.round.fold(tape);
        tape.nodes(&mut self.second);
        tape.flag(&mut self.failed);
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

/// The (first) command of a release.
fn release_verb(policy: &Policy) -> Option<Verb> {
    match policy.release {
        Release::CompareAndDelete => Some(Verb::CompareAndDelete),
        Release::GetThenDel => Some(Verb::Get),
        Release::Del => Some(Verb::Del),
        Release::Nothing => None,
    }
}

/// The end of a lease of `ttl` that counts from `start`, less (or, by mistake, plus) the drift allowance.
fn validity(policy: &Policy, start: Time, ttl: Ticks) -> Time {
    let end = start.after(ttl);
    match policy.drift {
        Drift::Subtracted => end.before(policy.drift_ticks),
        Drift::Added => end.after(policy.drift_ticks),
        Drift::Ignored => end,
    }
}
