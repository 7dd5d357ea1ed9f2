//! Random setups with all the knobs, and small numbers.

use std::slice;

use protocol::{
    Acquire, Conflict, Drift, Fencing, Holder, LateAnswer, LockList, OnCancel, Order, Owner, Policy, Program, QuorumOf,
    Reentrance, RefusedRenewal, Release, ReleaseTo, Renewal, Resource, Retry, Subscribe, Ticks, TokenCheck,
    UnknownAcquire, UnsettledWrite, Validity, Visit, Waiting,
};
use world::{Budget, Compare, Expiry, Fault, Grain, Network, Persistence, Promote, Setup};

/// Decisions that are drawn from a list of bytes; when it is used up, the first choice.
pub(crate) struct Dice<'a>(slice::Iter<'a, u8>);

impl<'a> Dice<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes.iter())
    }

    pub(crate) fn roll(&mut self, sides: usize) -> usize {
        usize::from(self.0.next().copied().unwrap_or(0)) % sides
    }

    pub(crate) fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.roll(choices.len())]
    }

    fn ticks(&mut self, least: u32, most: u32) -> Ticks {
        Ticks(least + self.roll((most - least + 1) as usize) as u32)
    }

    pub(crate) fn is_over(&self) -> bool {
        self.0.as_slice().is_empty()
    }
}

/// Any setup that a scenario can describe.
pub(crate) fn setup(dice: &mut Dice<'_>) -> Setup {
    let policy = policy(dice);
    let lists: &[&[&[u8]]] = &[
        &[&[0], &[0]],
        &[&[0], &[0]],
        &[&[0], &[0], &[0]],
        &[&[0]],
        &[&[0, 1], &[1, 0]],
        &[&[0], &[1]],
        &[&[0, 1], &[1, 2], &[2, 0]],
        &[&[0, 0]],
    ];
    let lists = dice.pick(lists);
    let names = |list: &[u8]| list.iter().map(|name| Resource(*name)).collect::<Vec<_>>();
    let clients = lists.iter().filter_map(|list| LockList::new(&names(list), policy.order)).collect();
    let resources = 1 + lists.iter().copied().flatten().max().copied().unwrap_or(0);
    let latency_greatest = dice.ticks(0, 2);
    let latency_least = Ticks(dice.roll(latency_greatest.0 as usize + 1) as u32);
    let mut faults = Budget::default();
    for fault in Fault::ALL {
        let units = dice.pick(&[0, 1, 0, 2]);
        if !(matches!(fault, Fault::Restart | Fault::Jump | Fault::Failover | Fault::Evict)
            && policy.acquire == Acquire::Unlocked)
        {
            faults.set(fault, units);
        }
    }
    let replicas = match policy.nodes {
        1 => policy.acknowledged.max(dice.pick(&[0, 1, 2])),
        _ => 0,
    };
    faults.set(Fault::Failover, faults.get(Fault::Failover).min(replicas));
    let mut undisturbed = Budget::default();
    undisturbed.set(Fault::Jump, faults.get(Fault::Jump));
    undisturbed.set(Fault::Evict, faults.get(Fault::Evict));
    let grain = dice.pick(&[Grain::Message, Grain::Message, Grain::Message, Grain::Exchange]);
    let is_exchange = grain == Grain::Exchange && policy.reentrance == Reentrance::Nothing;
    let grain = if is_exchange { grain } else { Grain::Message };
    Setup {
        policy,
        clients,
        resources,
        latency_least: if is_exchange { Ticks(0) } else { latency_least },
        latency_greatest: if is_exchange { Ticks(0) } else { latency_greatest },
        network: dice.pick(&[Network::Fifo, Network::Unordered]),
        persistence: dice.pick(&[Persistence::Nothing, Persistence::EverySecond, Persistence::Always]),
        fsync_every: dice.ticks(1, 3),
        restart_delay: dice.ticks(0, 2),
        replicas,
        promote: dice.pick(&[Promote::Any, Promote::MostUpToDate]),
        jump: dice.ticks(1, 4),
        expiry: dice.pick(&[Expiry::Wall, Expiry::Wall, Expiry::Monotonic]),
        offset: dice.ticks(0, 2),
        longest_pause: longest(dice),
        longest_delay: longest(dice),
        longest_partition: longest(dice),
        rejoin: dice.pick(&[true, false]),
        compare: dice.pick(&[Compare::GreaterOrEqual, Compare::Greater]),
        grain,
        faults: if is_exchange { undisturbed } else { faults },
    }
}

/// How long a fault lasts at most.
fn longest(dice: &mut Dice<'_>) -> Option<Ticks> {
    dice.pick(&[None, Some(Ticks(2)), None, Some(Ticks(1)), Some(Ticks(0))])
}

fn policy(dice: &mut Dice<'_>) -> Policy {
    let acquire = dice.pick(&[
        Acquire::SetNxPx,
        Acquire::SetNxPx,
        Acquire::SetnxThenExpire,
        Acquire::Setnx,
        Acquire::Unlocked,
        Acquire::SetNxPx,
        Acquire::GetThenSet,
        Acquire::GetSetTakeOver,
        Acquire::GetDelSetnx,
    ]);
    let reentrance = dice.pick(&[
        Reentrance::Nothing,
        Reentrance::Nothing,
        Reentrance::Flag,
        Reentrance::Count,
        Reentrance::ReadThenSet,
    ]);
    let reenters = acquire == Acquire::SetNxPx && reentrance != Reentrance::Nothing;
    let one_command = matches!(acquire, Acquire::SetNxPx | Acquire::SetnxThenExpire | Acquire::Setnx) && !reenters;
    let is_locked = acquire != Acquire::Unlocked;
    let fencing = dice.pick(&[
        Fencing::Nothing,
        Fencing::Nothing,
        Fencing::WithGrant,
        Fencing::IncrBefore,
        Fencing::IncrAfter,
        Fencing::ClientClock,
    ]);
    let mints = fencing == Fencing::WithGrant;
    let fencing = if is_locked && (one_command || !mints) { fencing } else { Fencing::Nothing };
    let nodes = if !fencing.is_counted() { dice.pick(&[1, 3, 2]) } else { 1 };
    let quorum = if dice.roll(4) == 3 { 1 + dice.roll(nodes.into()) as u8 } else { nodes / 2 + 1 };
    let ttl = Some(dice.ticks(3, 6)).filter(|_| acquire != Acquire::Setnx);
    let renewal = dice.pick(&[
        Renewal::Never,
        Renewal::CompareAndExtend,
        Renewal::Expire,
        Renewal::SetNxPx,
        Renewal::SetXxPx,
        Renewal::SetPx,
        Renewal::ExtendOrCreate,
    ]);
    let takes_over = matches!(acquire, Acquire::GetSetTakeOver | Acquire::GetDelSetnx);
    let renewal = if takes_over { Renewal::Never } else { renewal };
    let check = dice.pick(&[
        TokenCheck::Nothing,
        TokenCheck::OnWrite,
        TokenCheck::OnReadAndWrite,
        TokenCheck::CheckThenWrite,
        TokenCheck::CompareAndSwap,
    ]);
    let delay = dice.ticks(1, 2);
    Policy {
        acquire,
        owner: if reenters {
            Owner::PerClient
        } else {
            dice.pick(&[Owner::PerAcquisition, Owner::PerClient, Owner::Constant])
        },
        reentrance: if reenters { reentrance } else { Reentrance::Nothing },
        waiting: if nodes == 1 && is_locked { dice.pick(&[Waiting::Poll, Waiting::Notified]) } else { Waiting::Poll },
        subscribe: dice.pick(&[Subscribe::BeforeTrying, Subscribe::AfterTrying]),
        fallback_poll: dice.pick(&[true, false]),
        quorum_of: dice.pick(&[QuorumOf::All, QuorumOf::All, QuorumOf::Reachable]),
        on_cancel: dice.pick(&[OnCancel::CleansUp, OnCancel::Forgets]),
        release: dice.pick(&[Release::CompareAndDelete, Release::GetThenDel, Release::Del, Release::Nothing]),
        release_to: dice.pick(&[ReleaseTo::All, ReleaseTo::Believed]),
        ttl,
        nodes,
        quorum,
        visit: dice.pick(&[Visit::InOrder, Visit::AllAtOnce]),
        timeout: dice.ticks(1, 5),
        validity: dice.pick(&[Validity::FromSending, Validity::FromReply, Validity::Unchecked]),
        drift: dice.pick(&[Drift::Subtracted, Drift::Added, Drift::Ignored]),
        drift_ticks: dice.ticks(0, 1),
        holder: dice.pick(&[Holder::Clocked, Holder::Naive, Holder::ChecksThenActs]),
        margin: dice.ticks(0, 1),
        unknown: dice.pick(&[
            UnknownAcquire::OwnValueHeld,
            UnknownAcquire::RetrySameToken,
            UnknownAcquire::RetryNewToken,
            UnknownAcquire::GiveUp,
            UnknownAcquire::AssumeHeld,
        ]),
        renewal: if is_locked && ttl.is_some() { renewal } else { Renewal::Never },
        renew_every: dice.ticks(1, 3),
        renewals: dice.pick(&[None, Some(1)]),
        refused_renewal: dice.pick(&[RefusedRenewal::Lost, RefusedRenewal::Ignored, RefusedRenewal::TriedAgain]),
        acknowledged: if nodes == 1 && is_locked { dice.pick(&[0, 0, 1, 2]) } else { 0 },
        late_answer: dice.pick(&[LateAnswer::Ignored, LateAnswer::Revives]),
        fencing,
        retry: dice.pick(&[
            Retry::Fixed(delay),
            Retry::Jitter(delay, Ticks(delay.0 + 2)),
            Retry::Exponential(delay, Ticks(4)),
            Retry::Never,
        ]),
        attempts: dice.pick(&[None, None, Some(2)]),
        give_up_after: dice.pick(&[None, None, Some(Ticks(4))]),
        order: dice.pick(&[Order::AsGiven, Order::Sorted]),
        conflict: dice.pick(&[Conflict::Wait, Conflict::ReleaseAll]),
        unsettled_write: dice.pick(&[UnsettledWrite::Waits, UnsettledWrite::AtOnce]),
        program: Program {
            work: dice.ticks(0, 2),
            writes: 1 + dice.roll(2) as u8,
            updates: 1 + dice.roll(3) as u8,
            check: if fencing == Fencing::Nothing && check.takes_tokens() { TokenCheck::Nothing } else { check },
        },
    }
}
