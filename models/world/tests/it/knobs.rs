//! The `setup` lines of a transcript.

use protocol::{
    Acquire, Conflict, Drift, Fencing, Holder, LateAnswer, LockList, OnCancel, Order, Owner, Policy, Program, QuorumOf,
    Reentrance, RefusedRenewal, Release, ReleaseTo, Renewal, Resource, Retry, Subscribe, Ticks, TokenCheck,
    UnknownAcquire, UnsettledWrite, Validity, Visit, Waiting,
};
use world::{Budget, Compare, Expiry, Fault, Grain, Network, Persistence, Promote, Setup};

/// Two clients that take the one lock x on one server for three ticks, make one update each, and no fault.
const BASE: Policy = Policy {
    acquire: Acquire::SetNxPx,
    owner: Owner::PerAcquisition,
    release: Release::CompareAndDelete,
    release_to: ReleaseTo::All,
    ttl: Some(Ticks(3)),
    nodes: 1,
    quorum: 1,
    quorum_of: QuorumOf::All,
    visit: Visit::InOrder,
    timeout: Ticks(0),
    validity: Validity::FromSending,
    drift: Drift::Subtracted,
    drift_ticks: Ticks(0),
    holder: Holder::Clocked,
    margin: Ticks(0),
    unknown: UnknownAcquire::OwnValueHeld,
    renewal: Renewal::Never,
    renew_every: Ticks(1),
    renewals: None,
    refused_renewal: RefusedRenewal::Lost,
    late_answer: LateAnswer::Ignored,
    acknowledged: 0,
    fencing: Fencing::Nothing,
    reentrance: Reentrance::Nothing,
    waiting: Waiting::Poll,
    subscribe: Subscribe::BeforeTrying,
    fallback_poll: true,
    retry: Retry::Fixed(Ticks(1)),
    attempts: None,
    give_up_after: None,
    order: Order::AsGiven,
    conflict: Conflict::Wait,
    unsettled_write: UnsettledWrite::Waits,
    on_cancel: OnCancel::CleansUp,
    program: Program { work: Ticks(1), writes: 1, updates: 1, check: TokenCheck::Nothing },
};

/// The setup that some lines of knobs and their values describe.
pub(crate) fn setup<'a>(lines: impl Iterator<Item = &'a str>) -> Setup {
    let mut setup = Setup {
        policy: BASE,
        clients: Vec::new(),
        resources: 1,
        latency_least: Ticks(0),
        latency_greatest: Ticks(0),
        network: Network::Fifo,
        persistence: Persistence::Nothing,
        fsync_every: Ticks(1),
        restart_delay: Ticks(0),
        replicas: 0,
        promote: Promote::Any,
        jump: Ticks(1),
        expiry: Expiry::Wall,
        offset: Ticks(0),
        longest_pause: None,
        longest_delay: None,
        longest_partition: None,
        rejoin: false,
        compare: Compare::GreaterOrEqual,
        grain: Grain::Message,
        faults: Budget::default(),
    };
    let mut lists = vec!["x"; 2];
    for line in lines {
        let mut words = line.split(' ');
        let knob = words.next().unwrap_or_default();
        let values: Vec<_> = words.collect();
        match knob {
            "clients" => lists = vec!["x"; number(knob, &values).into()],
            "locks" => lists = values,
            _ => set(&mut setup, knob, &values),
        }
    }
    let policy = &mut setup.policy;
    if policy.timeout == Ticks(0) {
        policy.timeout = Ticks(2 * setup.latency_greatest.0 + 1);
    }
    if policy.quorum == 1 {
        policy.quorum = policy.nodes / 2 + 1;
    }
    setup.resources = lists.iter().flat_map(|list| list.bytes()).max().map_or(1, |last| last - b'x' + 1);
    for list in lists {
        let names: Vec<_> = list.bytes().map(|name| Resource(name - b'x')).collect();
        setup.clients.push(LockList::new(&names, policy.order).expect("from one to three locks"));
    }
    setup
}

fn number(knob: &str, values: &[&str]) -> u8 {
    let number = values.first().and_then(|value| value.parse().ok());
    number.unwrap_or_else(|| panic!("{knob} takes a number, not {values:?}"))
}

fn set(setup: &mut Setup, knob: &str, values: &[&str]) {
    let count = || number(knob, values);
    let ticks = || Ticks(count().into());
    let policy = &mut setup.policy;
    match (knob, values) {
        ("nodes", _) => policy.nodes = count(),
        ("quorum", _) => policy.quorum = count(),
        ("ttl", ["none"]) => policy.ttl = None,
        ("ttl", _) => policy.ttl = Some(ticks()),
        ("timeout", _) => policy.timeout = ticks(),
        ("margin", _) => policy.margin = ticks(),
        ("work", _) => policy.program.work = ticks(),
        ("writes", _) => policy.program.writes = count(),
        ("updates", _) => policy.program.updates = count(),
        ("retry", _) => policy.retry = Retry::Fixed(ticks()),
        ("acquire", ["unlocked"]) => policy.acquire = Acquire::Unlocked,
        ("acquire", ["setnx"]) => policy.acquire = Acquire::Setnx,
        ("acquire", ["get-then-set"]) => policy.acquire = Acquire::GetThenSet,
        ("acquire", ["getset-take-over"]) => policy.acquire = Acquire::GetSetTakeOver,
        ("acquire", ["get-del-setnx"]) => policy.acquire = Acquire::GetDelSetnx,
        ("owner", ["per-client"]) => policy.owner = Owner::PerClient,
        ("reentrance", ["flag"]) => policy.reentrance = Reentrance::Flag,
        ("reentrance", ["count"]) => policy.reentrance = Reentrance::Count,
        ("waiting", ["notified"]) => policy.waiting = Waiting::Notified,
        ("subscribe", ["after-trying"]) => policy.subscribe = Subscribe::AfterTrying,
        ("fallback-poll", ["no"]) => policy.fallback_poll = false,
        ("on-cancel", ["forgets"]) => policy.on_cancel = OnCancel::Forgets,
        ("offset", _) => setup.offset = ticks(),
        ("fencing", ["client-clock"]) => policy.fencing = Fencing::ClientClock,
        ("check", ["compare-and-swap"]) => policy.program.check = TokenCheck::CompareAndSwap,
        ("cancel", _) => setup.faults.set(Fault::Cancel, count()),
        ("release", ["del"]) => policy.release = Release::Del,
        ("release", ["none"]) => policy.release = Release::Nothing,
        ("holder", ["naive"]) => policy.holder = Holder::Naive,
        ("visit", ["all-at-once"]) => policy.visit = Visit::AllAtOnce,
        ("unknown", ["give-up"]) => policy.unknown = UnknownAcquire::GiveUp,
        ("fencing", ["with-grant"]) => policy.fencing = Fencing::WithGrant,
        ("renewal", ["compare-and-extend"]) => policy.renewal = Renewal::CompareAndExtend,
        ("check", ["on-write"]) => policy.program.check = TokenCheck::OnWrite,
        ("check", ["check-then-write"]) => policy.program.check = TokenCheck::CheckThenWrite,
        ("unsettled-write", ["at-once"]) => policy.unsettled_write = UnsettledWrite::AtOnce,
        ("latency", [least, greatest]) => {
            setup.latency_least = Ticks(number(knob, &[*least]).into());
            setup.latency_greatest = Ticks(number(knob, &[*greatest]).into());
        }
        ("network", ["unordered"]) => setup.network = Network::Unordered,
        ("persistence", ["every-second"]) => setup.persistence = Persistence::EverySecond,
        ("fsync-every", _) => setup.fsync_every = ticks(),
        ("expiry", ["monotonic"]) => setup.expiry = Expiry::Monotonic,
        ("persistence", ["always"]) => setup.persistence = Persistence::Always,
        ("restart-delay", _) => setup.restart_delay = ticks(),
        ("jump-by", _) => setup.jump = ticks(),
        ("longest-pause", _) => setup.longest_pause = Some(ticks()),
        ("longest-delay", _) => setup.longest_delay = Some(ticks()),
        ("longest-partition", _) => setup.longest_partition = Some(ticks()),
        ("rejoin", []) => setup.rejoin = true,
        ("compare", ["greater"]) => setup.compare = Compare::Greater,
        ("grain", ["exchange"]) => setup.grain = Grain::Exchange,
        ("pause", _) => setup.faults.set(Fault::Pause, count()),
        ("delay", _) => setup.faults.set(Fault::Delay, count()),
        ("drop-request", _) => setup.faults.set(Fault::DropRequest, count()),
        ("drop-reply", _) => setup.faults.set(Fault::DropReply, count()),
        ("duplicate", _) => setup.faults.set(Fault::Duplicate, count()),
        ("crash", _) => setup.faults.set(Fault::Crash, count()),
        ("restart", _) => setup.faults.set(Fault::Restart, count()),
        ("jump", _) => setup.faults.set(Fault::Jump, count()),
        ("drift", _) => setup.faults.set(Fault::Drift, count()),
        ("replicas", _) => setup.replicas = count(),
        ("acknowledged", _) => policy.acknowledged = count(),
        ("promote", ["most-up-to-date"]) => setup.promote = Promote::MostUpToDate,
        ("failover", _) => setup.faults.set(Fault::Failover, count()),
        ("partition", _) => setup.faults.set(Fault::Partition, count()),
        ("evict", _) => setup.faults.set(Fault::Evict, count()),
        _ => panic!("no transcript knows the knob {knob} with {values:?}"),
    }
}
