//! The commands with which a client asks one server for the lock, one after another.

use crate::ids::{Fence, NodeId, Nodes, Ticks};
use crate::policy::{Acquire, Policy, Reentrance, UnknownAcquire};
use crate::tape::Tape;
use crate::wire::{Reply, Verb};

/// How far each server has come in the commands of the present attempt: a number for each, in two bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Stages {
    low: Nodes,
    high: Nodes,
}

/// What follows from an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// The server has granted the lock.
    Granted(Option<Fence>),
    /// There is an entry that is not this acquisition's.
    Taken,
    /// There is none, or not any more, or it was overwritten for nothing: the client has no entry there to take back.
    Missed,
    /// A further command.
    Ask { verb: Verb, stage: u8, fence: Option<Fence> },
}

/// The stage of a server that has granted the lock and is asked whether its replicas know.
pub(super) const ACKNOWLEDGING: u8 = 3;

/// The first command.
pub(super) fn first(policy: &Policy) -> Verb {
    match policy.acquire {
        Acquire::SetNxPx | Acquire::Unlocked => match policy.reentrance {
            Reentrance::Flag | Reentrance::Count => Verb::Enter,
            Reentrance::Nothing | Reentrance::ReadThenSet => Verb::SetNxPx,
        },
        Acquire::Setnx | Acquire::SetnxThenExpire | Acquire::GetSetTakeOver => Verb::Setnx,
        Acquire::GetThenSet | Acquire::GetDelSetnx => Verb::Look,
    }
}

/// What follows from the answer to the command of a stage, perhaps of a request that was asked again.
pub(super) fn next(policy: &Policy, stage: u8, asked_again: bool, reply: Reply) -> Next {
    let takes_own = asked_again && policy.unknown == UnknownAcquire::OwnValueHeld;
    if let Reply::Taken { own: true, fence } = reply
        && takes_own
    {
        return granted(policy, fence);
    }
    if let Reply::Entry { own: true, .. } = reply
        && takes_own
        && stage == 0
        && first(policy) == Verb::Look
    {
        return granted(policy, None);
    }
    after(policy, stage, reply)
}

/// The server has an entry of this acquisition. It counts when the entry has its TTL as well.
fn granted(policy: &Policy, fence: Option<Fence>) -> Next {
    match policy.acquire {
        Acquire::SetnxThenExpire => Next::Ask { verb: Verb::Limit, stage: 1, fence },
        Acquire::Unlocked
        | Acquire::SetNxPx
        | Acquire::Setnx
        | Acquire::GetThenSet
        | Acquire::GetSetTakeOver
        | Acquire::GetDelSetnx => Next::Granted(fence),
    }
}

fn after(policy: &Policy, stage: u8, reply: Reply) -> Next {
    let expired = |left: Option<Ticks>| left == Some(Ticks(0));
    let ask = |verb, stage| Next::Ask { verb, stage, fence: None };
    match (policy.acquire, stage, reply) {
        (_, 0, Reply::Done) => granted(policy, None),
        (_, 0, Reply::Minted(fence)) => granted(policy, Some(fence)),
        (Acquire::SetNxPx, 0, Reply::Taken { own: true, .. }) if policy.reentrance == Reentrance::ReadThenSet => {
            ask(Verb::Claim, 1)
        }
        (Acquire::GetThenSet, 0, Reply::Nothing) => ask(Verb::Claim, 1),
        (Acquire::GetSetTakeOver, 0, Reply::Taken { .. }) => ask(Verb::Look, 1),
        (Acquire::GetSetTakeOver, 1, Reply::Entry { left, .. }) if expired(left) => ask(Verb::GetSet, 2),
        (Acquire::GetSetTakeOver, 2, Reply::Entry { left, .. }) if expired(left) => Next::Granted(None),
        (Acquire::GetSetTakeOver, 2, Reply::Nothing) => Next::Granted(None),
        (Acquire::GetSetTakeOver, 2, Reply::Entry { .. }) => Next::Missed,
        (Acquire::GetDelSetnx, 0, Reply::Nothing) => ask(Verb::Setnx, 2),
        (Acquire::GetDelSetnx, 0, Reply::Entry { left, .. }) if expired(left) => ask(Verb::Clear, 1),
        (Acquire::GetDelSetnx, 1, Reply::Done | Reply::Nothing) => ask(Verb::Setnx, 2),
        (_, _, Reply::Done) => Next::Granted(None),
        (_, _, Reply::Minted(fence)) => Next::Granted(Some(fence)),
        (_, _, Reply::Taken { .. } | Reply::Entry { .. }) => Next::Taken,
        (_, _, Reply::Nothing | Reply::Account(_) | Reply::Stale | Reply::Freed) => Next::Missed,
    }
}

/// Whether an entry of the client surely stands when the command of a stage is under way.
pub(super) fn stands_at(policy: &Policy, stage: u8) -> bool {
    policy.acquire == Acquire::SetnxThenExpire && stage == 1
}

impl Stages {
    /// The stage that a server is at, counted from zero.
    pub(super) fn of(self, node: NodeId) -> u8 {
        u8::from(self.low.contains(node)) + 2 * u8::from(self.high.contains(node))
    }

    pub(super) fn set(&mut self, node: NodeId, stage: u8) {
        self.clear(Nodes::only(node));
        if stage & 1 != 0 {
            self.low.insert(node);
        }
        if stage & 2 != 0 {
            self.high.insert(node);
        }
    }

    pub(super) fn clear(&mut self, nodes: Nodes) {
        self.low = self.low.without(nodes);
        self.high = self.high.without(nodes);
    }

    pub(super) fn fold(&mut self, tape: &mut impl Tape) {
        tape.nodes(&mut self.low);
        tape.nodes(&mut self.high);
    }
}
