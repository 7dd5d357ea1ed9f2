//! One lock on a set of servers: acquire on a quorum, hold, renew, give back.
//!
//! A single server is a quorum of one. With several this is Redlock (S. Sanfilippo, "Distributed Locks with Redis"):
//! the lock is held if a quorum granted it before the validity, counted from the first request, had passed. Every
//! departure from that is a value of [`Policy`].

mod ask;
mod hold;
mod leave;
mod round;
mod seek;

use crate::ids::{Fence, NodeId, Nodes, Resource, Slot, Ticks, Time, Token};
use crate::policy::{Acquire, Drift, Fencing, Policy};
use crate::tape::{Tape, rebase, rebase_option};
use crate::wake::{Window, earlier};
use crate::wire::{Command, Effect, OpId, Outbox, Outcome, Place, Verb};

use hold::Hold;
use leave::Leave;
use seek::Seek;

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
    /// The server will tell when somebody gives the lock back.
    Subscribed,
}

/// What a lease needs to know in a step: the policy, the clock, and where its effects go.
pub(crate) struct Context<'a, O: Outbox> {
    pub(crate) policy: &'a Policy,
    pub(crate) now: Time,
    /// What the client's wall clock reads, as a fencing token.
    pub(crate) wall: Fence,
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
    /// The client asks to be told when the lock is given back. It is at no acquisition.
    Subscribing {
        timeout: Time,
    },
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

    /// Asks to be told when somebody gives the lock back.
    pub(crate) fn subscribe<O: Outbox>(&mut self, cx: &mut Context<'_, O>) {
        debug_assert!(self.is_idle(), "a subscription begins at rest");
        self.round = self.round.wrapping_add(1);
        self.send(cx, COUNTER, Verb::Subscribe);
        self.phase = Phase::Subscribing { timeout: cx.now.after(cx.policy.timeout) };
    }

    fn subscribed(&mut self, outcome: Outcome) -> Change {
        self.phase = Phase::Idle;
        match outcome {
            Outcome::Answered(_) => Change::Subscribed,
            Outcome::Refused | Outcome::Unknown => Change::Failed,
        }
    }

    /// Gives the lock back, or ends the attempt, telling the servers as the policy says.
    pub(crate) fn release<O: Outbox>(&mut self, cx: &mut Context<'_, O>) -> Change {
        match core::mem::take(&mut self.phase) {
            Phase::Idle => Change::Nothing,
            Phase::Subscribing { .. } | Phase::Minting { .. } => Change::Released,
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
            Phase::Subscribing { .. } => self.subscribed(outcome),
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
            Phase::Subscribing { timeout } if cx.now >= *timeout => self.subscribed(Outcome::Unknown),
            Phase::Minting { timeout } if cx.now >= *timeout => self.minted(cx, Outcome::Unknown),
            Phase::Stamping { timeout, .. } if cx.now >= *timeout => self.stamped(cx, Outcome::Unknown),
            Phase::Seeking(seek) if cx.now >= seek.round.timeout => self.overdue(cx),
            Phase::Leaving(leave) if cx.now >= leave.round.timeout => self.unheard(cx),
            Phase::Held(_) => self.keep(cx),
            Phase::Subscribing { .. }
            | Phase::Minting { .. }
            | Phase::Stamping { .. }
            | Phase::Seeking(_)
            | Phase::Leaving(_) => Change::Nothing,
        }
    }

    /// When the lease next has something to do.
    pub(crate) fn next_wake(&self, policy: &Policy) -> Option<Window> {
        match &self.phase {
            Phase::Idle | Phase::Lost(_) => None,
            Phase::Subscribing { timeout } | Phase::Minting { timeout } | Phase::Stamping { timeout, .. } => {
                Some(Window::at(*timeout))
            }
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
            Phase::Subscribing { .. } | Phase::Minting { .. } | Phase::Stamping { .. } => Nodes::only(COUNTER),
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
            | Phase::Subscribing { .. }
            | Phase::Minting { .. }
            | Phase::Seeking(_)
            | Phase::Stamping { .. }
            | Phase::Lost(_)
            | Phase::Leaving(_) => false,
        }
    }

    pub(crate) fn is_renewing(&self) -> bool {
        matches!(&self.phase, Phase::Held(hold) if hold.renew.is_under_way())
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.phase == Phase::Idle
    }

    /// Whether it is being given back, or cleaned up.
    pub(crate) fn is_leaving(&self) -> bool {
        matches!(self.phase, Phase::Leaving(_))
    }

    /// Whether this is an attempt that has asked a server for the lock.
    pub(crate) fn is_seeking(&self) -> bool {
        matches!(self.phase, Phase::Minting { .. } | Phase::Seeking(_) | Phase::Stamping { .. })
    }

    /// The acquisition that the lease is at, unless it is at rest.
    pub(crate) fn current(&self) -> Option<Token> {
        match self.phase {
            Phase::Idle | Phase::Subscribing { .. } => None,
            Phase::Minting { .. }
            | Phase::Seeking(_)
            | Phase::Stamping { .. }
            | Phase::Held(_)
            | Phase::Lost(_)
            | Phase::Leaving(_) => Some(self.token),
        }
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
            Phase::Idle | Phase::Subscribing { .. } | Phase::Minting { .. } | Phase::Leaving(_) => None,
        }
    }

    /// Moves all deadlines as time passes.
    pub(crate) fn rebase(&mut self, by: Ticks) {
        match &mut self.phase {
            Phase::Idle => {}
            Phase::Subscribing { timeout } | Phase::Minting { timeout } => rebase(timeout, by),
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
            Phase::Subscribing { timeout } | Phase::Minting { timeout } => tape.time(timeout),
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
            | Phase::Subscribing { .. }
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
            Phase::Seeking(seek) => seek.stages.of(node) + 4 * u8::from(seek.retried.contains(node)),
            Phase::Leaving(leave) => u8::from(leave.second.contains(node)),
            Phase::Held(hold) => u8::from(hold.renew.acks.contains(node)),
            Phase::Idle
            | Phase::Subscribing { .. }
            | Phase::Minting { .. }
            | Phase::Stamping { .. }
            | Phase::Lost(_) => 0,
        };
        OpId { place: Place::Lock(slot, node), round: self.round, stage }
    }

    fn send<O: Outbox>(&self, cx: &mut Context<'_, O>, node: NodeId, verb: Verb) {
        let acquires =
            matches!(verb, Verb::SetNxPx | Verb::Setnx | Verb::Enter) && matches!(self.phase, Phase::Seeking(_));
        let mint = acquires && cx.policy.fencing == Fencing::WithGrant;
        let op = self.op(cx.slot, node);
        let command = Command::Lock { resource: cx.resource, verb, token: self.token, mint };
        cx.out.push(Effect::Send { op, command });
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
            Self::Subscribing { .. } => 7,
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
            7 => Self::Subscribing { timeout: Time::default() },
            _ => Self::Idle,
        }
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
