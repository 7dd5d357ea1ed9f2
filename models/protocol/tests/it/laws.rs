//! Laws of the cores: whatever the policy, the network and the clock do.

use std::collections::BTreeMap;
use std::slice;

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use protocol::{
    Acquire, Command, Config, Conflict, Drift, Effect, Fence, Fencing, Holder, Input, LateAnswer, LockList, Locks,
    NodeId, Nodes, Notice, OnCancel, OpId, Order, Outcome, Owner, Place, Policy, Program, QuorumOf, Reentrance,
    RefusedRenewal, Release, ReleaseTo, Renewal, Reply, Resource, Retry, Seen, Slot, Standing, Subscribe, Tape, Ticks,
    Time, Token, TokenCheck, UnknownAcquire, UnsettledWrite, Validity, Verb, Visit, Waiting, Worker,
};

use crate::harness::{BASE, Core, Effects, WALL};

/// Decisions that are drawn from a list of bytes; when it is used up, the first choice.
struct Dice<'a>(slice::Iter<'a, u8>);

impl Dice<'_> {
    fn roll(&mut self, sides: usize) -> usize {
        usize::from(self.0.next().copied().unwrap_or(0)) % sides
    }

    fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.roll(choices.len())]
    }

    fn ticks(&mut self, least: u32, most: u32) -> Ticks {
        Ticks(least + self.roll((most - least + 1) as usize) as u32)
    }

    fn is_over(&self) -> bool {
        self.0.as_slice().is_empty()
    }
}

/// Any policy at all, sound or not; the first choices are the sound ones.
fn policy(dice: &mut Dice<'_>) -> Policy {
    let nodes = dice.pick(&[1, 3, 2, 4, 5]);
    let acquire = dice.pick(&[
        Acquire::SetNxPx,
        Acquire::SetnxThenExpire,
        Acquire::Setnx,
        Acquire::Unlocked,
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
    let delay = dice.ticks(1, 3);
    let renewals = [
        Renewal::Never,
        Renewal::CompareAndExtend,
        Renewal::Expire,
        Renewal::SetNxPx,
        Renewal::SetXxPx,
        Renewal::SetPx,
        Renewal::ExtendOrCreate,
    ];
    let ttl = Ticks(10 - dice.roll(7) as u32);
    Policy {
        acquire,
        owner: if reenters { Owner::PerClient } else { Owner::PerAcquisition },
        reentrance: if reenters { reentrance } else { Reentrance::Nothing },
        waiting: if nodes == 1 { dice.pick(&[Waiting::Poll, Waiting::Notified]) } else { Waiting::Poll },
        subscribe: dice.pick(&[Subscribe::BeforeTrying, Subscribe::AfterTrying]),
        fallback_poll: dice.pick(&[true, false]),
        quorum_of: dice.pick(&[QuorumOf::All, QuorumOf::All, QuorumOf::Reachable]),
        on_cancel: dice.pick(&[OnCancel::CleansUp, OnCancel::Forgets]),
        release: dice.pick(&[Release::CompareAndDelete, Release::GetThenDel, Release::Del, Release::Nothing]),
        release_to: dice.pick(&[ReleaseTo::All, ReleaseTo::Believed]),
        ttl: (acquire != Acquire::Setnx).then_some(ttl),
        nodes,
        quorum: if dice.roll(4) == 3 { 1 + dice.roll(nodes.into()) as u8 } else { nodes / 2 + 1 },
        visit: dice.pick(&[Visit::InOrder, Visit::AllAtOnce]),
        timeout: dice.ticks(1, 6),
        validity: dice.pick(&[Validity::FromSending, Validity::FromReply, Validity::Unchecked]),
        drift: dice.pick(&[Drift::Subtracted, Drift::Added, Drift::Ignored]),
        drift_ticks: dice.ticks(0, 2),
        holder: dice.pick(&[Holder::Clocked, Holder::Naive, Holder::ChecksThenActs]),
        margin: dice.ticks(0, 2),
        unknown: dice.pick(&[
            UnknownAcquire::OwnValueHeld,
            UnknownAcquire::RetrySameToken,
            UnknownAcquire::RetryNewToken,
            UnknownAcquire::GiveUp,
            UnknownAcquire::AssumeHeld,
        ]),
        renewal: if acquire == Acquire::Setnx { Renewal::Never } else { dice.pick(&renewals) },
        renew_every: dice.ticks(1, 5),
        renewals: dice.pick(&[None, Some(1), Some(0), Some(2)]),
        refused_renewal: dice.pick(&[RefusedRenewal::Lost, RefusedRenewal::Ignored, RefusedRenewal::TriedAgain]),
        late_answer: dice.pick(&[LateAnswer::Ignored, LateAnswer::Revives]),
        acknowledged: dice.pick(&[0, 0, 1]),
        fencing: dice.pick(&[
            Fencing::Nothing,
            Fencing::WithGrant,
            Fencing::IncrBefore,
            Fencing::IncrAfter,
            Fencing::ClientClock,
        ]),
        retry: dice.pick(&[
            Retry::Fixed(delay),
            Retry::Jitter(delay, Ticks(delay.0 + 2)),
            Retry::Exponential(delay, Ticks(9)),
            Retry::Never,
        ]),
        attempts: dice.pick(&[None, Some(1), Some(3)]),
        give_up_after: dice.pick(&[None, Some(Ticks(7))]),
        conflict: dice.pick(&[Conflict::Wait, Conflict::ReleaseAll]),
        unsettled_write: dice.pick(&[UnsettledWrite::Waits, UnsettledWrite::AtOnce]),
        program: Program {
            work: dice.ticks(0, 3),
            writes: 1 + dice.roll(2) as u8,
            updates: 7,
            check: dice.pick(&[
                TokenCheck::Nothing,
                TokenCheck::OnWrite,
                TokenCheck::OnReadAndWrite,
                TokenCheck::CheckThenWrite,
                TokenCheck::CompareAndSwap,
            ]),
        },
        ..BASE
    }
}

fn lists(dice: &mut Dice<'_>) -> LockList {
    let all = [Resource(0), Resource(2), Resource(1)];
    let count = 1 + [0, 0, 1, 2][dice.roll(4)];
    LockList::new(&all[..count], Order::AsGiven).expect("from one to three locks")
}

/// Any answer, fitting or not.
fn reply(dice: &mut Dice<'_>) -> Reply {
    let number = dice.roll(8) as u32;
    dice.pick(&[
        Reply::Done,
        Reply::Done,
        Reply::Taken { own: false, fence: None },
        Reply::Nothing,
        Reply::Account(Seen(number % 2)),
        Reply::Account(Seen(number % 2)),
        Reply::Minted(Fence(number)),
        Reply::Taken { own: true, fence: Some(Fence(number)) },
        Reply::Entry { own: true, left: None },
        Reply::Entry { own: false, left: None },
        Reply::Entry { own: false, left: Some(Ticks(number % 2)) },
        Reply::Stale,
    ])
}

fn outcome(dice: &mut Dice<'_>) -> Outcome {
    match dice.roll(6) {
        4 => Outcome::Unknown,
        5 => Outcome::Refused,
        _ => Outcome::Answered(reply(dice)),
    }
}

fn slots(config: &Config<'_>) -> impl Iterator<Item = Slot> + use<> {
    (0..config.locks.as_slice().len() as u8).map(Slot)
}

/// Where an operation can be awaited.
fn places(config: &Config<'_>) -> Vec<Place> {
    let nodes = config.policy.nodes;
    let locks = slots(config).flat_map(|slot| (0..nodes).map(move |node| Place::Lock(slot, NodeId(node))));
    locks.chain([Place::Store]).collect()
}

/// What happens next to a core at `now`: an input, or the passing of some ticks.
enum Next {
    Step(Input),
    Pass(u32),
}

fn next<C: Core>(dice: &mut Dice<'_>, config: &Config<'_>, core: &C) -> Next {
    let awaited: Vec<_> = places(config).into_iter().filter_map(|place| core.awaited(place)).collect();
    match dice.roll(10) {
        0 => Next::Step(Input::Acquire),
        1..=5 if !awaited.is_empty() => {
            let op = dice.pick(&awaited);
            Next::Step(Input::Settled(op, outcome(dice)))
        }
        6 => Next::Pass(1 + dice.roll(4) as u32),
        7 if dice.roll(4) == 0 => Next::Step(dice.pick(&[Input::Release, Input::Cancel])),
        9 if config.policy.is_notified() => Next::Step(Input::Notified(Slot(dice.roll(3) as u8))),
        8 if dice.roll(4) == 0 => {
            let place = dice.pick(&places(config));
            let op = OpId { place, round: dice.roll(4) as u32, stage: dice.roll(4) as u8 };
            Next::Step(Input::Settled(op, outcome(dice)))
        }
        _ => match core.wake(config) {
            Some(_) => Next::Step(Input::Wake),
            None => Next::Step(Input::Acquire),
        },
    }
}

/// A walk of a core under a random policy. `each` sees every step: the core before it, the moment, the input, the core
/// after it, and what it said.
fn walk<C: Core>(
    bytes: &[u8],
    adjust: impl Fn(Policy) -> Policy,
    mut each: impl FnMut(&Config<'_>, &C, Time, Input, &C, &[Effect]) -> Result<(), TestCaseError>,
) -> Result<(), TestCaseError> {
    let mut dice = Dice(bytes.iter());
    let policy = adjust(policy(&mut dice));
    let locks = lists(&mut dice);
    let config = Config { policy: &policy, locks: &locks, wall: WALL };
    let mut core = C::new(&config);
    let mut now = Time(0);
    while !dice.is_over() {
        let input = match next(&mut dice, &config, &core) {
            Next::Pass(ticks) => {
                now = now.after(Ticks(ticks));
                continue;
            }
            Next::Step(Input::Wake) => {
                // At any moment of the window, or late, but not early.
                let window = core.wake(&config).expect("it wants to be woken");
                let moment = window.from.after(dice.ticks(0, window.by.0 - window.from.0));
                now = now.max(moment);
                Input::Wake
            }
            Next::Step(input) => input,
        };
        let before = core.clone();
        let mut out = Effects::default();
        core.step(&config, now, input, &mut out);
        each(&config, &before, now, input, &core, &out.0)?;
    }
    Ok(())
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    proptest::collection::vec(any::<u8>(), 0..260)
}

fn notices(said: &[Effect]) -> impl Iterator<Item = Notice> {
    said.iter().filter_map(|effect| match effect {
        Effect::Tell(notice) => Some(*notice),
        Effect::Send { .. } => None,
    })
}

/// What a user must think of the lock, who hears nothing but notices.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Hears {
    Free,
    Holds,
    Lost,
}

impl Hears {
    fn hear(self, notice: Notice) -> Option<Self> {
        match (self, notice) {
            (Self::Free, Notice::Acquired { .. }) => Some(Self::Holds),
            (Self::Holds, Notice::Lost) => Some(Self::Lost),
            (Self::Free | Self::Holds | Self::Lost, Notice::Released) | (Self::Free, Notice::GaveUp) => {
                Some(Self::Free)
            }
            (Self::Holds | Self::Lost, Notice::Acquired { .. } | Notice::GaveUp)
            | (Self::Free | Self::Lost, Notice::Lost) => None,
        }
    }
}

/// Notices come in an order that makes sense, and a loss is final: no belief until the next `Acquired`.
fn told_in_order<C: Core>(bytes: &[u8], adjust: impl Fn(Policy) -> Policy) -> Result<(), TestCaseError> {
    let mut hears = Hears::Free;
    walk::<C>(bytes, adjust, |config, _, now, _, after, said| {
        for notice in notices(said) {
            let next = hears.hear(notice);
            prop_assert!(next.is_some(), "{notice:?} came to one who hears {hears:?}");
            hears = next.unwrap_or(hears);
        }
        let holds = matches!(after.locks().standing(config, now), Standing::Holding { .. });
        prop_assert!(!holds || hears == Hears::Holds, "it believes and its user hears {hears:?}");
        Ok(())
    })
}

/// Waking at the end of the window changes something; waking before it begins does not.
fn wakes_when_it_says<C: Core + PartialEq + std::fmt::Debug>(bytes: &[u8]) -> Result<(), TestCaseError> {
    walk::<C>(
        bytes,
        |policy| policy,
        |config, before, now, input, after, said| {
            if input == Input::Wake {
                prop_assert!(before != after || !said.is_empty(), "nothing came of a wake at {now:?}: {before:?}");
            }
            let Some(window) = after.wake(config) else { return Ok(()) };
            prop_assert!(window.from <= window.by);
            if now < window.from {
                let mut early = after.clone();
                let mut out = Effects::default();
                early.step(config, now, Input::Wake, &mut out);
                prop_assert_eq!(&early, after, "it was woken early");
                prop_assert!(out.0.is_empty());
            }
            Ok(())
        },
    )
}

/// It makes no difference from when the clock counts.
fn counts_from_anywhere<C: Core + PartialEq + std::fmt::Debug>(
    bytes: &[u8],
    back: u32,
    rebase: impl Fn(&mut C, Ticks),
) -> Result<(), TestCaseError> {
    walk::<C>(
        bytes,
        |policy| policy,
        |config, before, now, input, after, said| {
            let back = Ticks(back.min(now.0));
            let mut moved = before.clone();
            rebase(&mut moved, back);
            let mut out = Effects::default();
            moved.step(config, now.before(back), input, &mut out);
            let mut expected = after.clone();
            rebase(&mut expected, back);
            prop_assert_eq!(&moved, &expected);
            prop_assert_eq!(&out.0[..], said);
            Ok(())
        },
    )
}

/// The end of an operation that is not awaited is no more than a look at the clock.
fn strangers_change_nothing<C: Core + PartialEq + std::fmt::Debug>(bytes: &[u8]) -> Result<(), TestCaseError> {
    walk::<C>(
        bytes,
        |policy| policy,
        |config, before, now, input, after, said| {
            let Input::Settled(op, _) = input else { return Ok(()) };
            if before.awaited(op.place) == Some(op) {
                return Ok(());
            }
            let mut other = before.clone();
            let mut out = Effects::default();
            let stranger = OpId { place: Place::Store, round: u32::MAX, stage: 3 };
            other.step(config, now, Input::Settled(stranger, Outcome::Answered(Reply::Done)), &mut out);
            prop_assert_eq!(&other, after);
            prop_assert_eq!(&out.0[..], said);
            Ok(())
        },
    )
}

/// A tape of plain numbers.
#[derive(Debug, Default, PartialEq)]
struct Numbers {
    numbers: Vec<u32>,
    /// Where to read; none: it is written.
    read: Option<usize>,
}

impl Numbers {
    fn lay(&mut self, value: &mut u32) {
        match &mut self.read {
            None => self.numbers.push(*value),
            Some(at) => {
                *value = self.numbers[*at];
                *at += 1;
            }
        }
    }
}

impl Tape for Numbers {
    fn number(&mut self, value: &mut u32, bits: u32) {
        assert!(*value >> bits == 0, "{value} needs more than {bits} bits");
        self.lay(value);
    }

    fn time(&mut self, value: &mut Time) {
        self.lay(&mut value.0);
    }

    fn nodes(&mut self, value: &mut Nodes) {
        let mut wide = value.0.into();
        self.lay(&mut wide);
        value.0 = wide as u8;
    }

    fn token(&mut self, value: &mut Token) {
        self.lay(&mut value.0);
    }

    fn fence(&mut self, value: &mut Fence) {
        self.lay(&mut value.0);
    }

    fn seen(&mut self, value: &mut Seen) {
        self.lay(&mut value.0);
    }
}

/// What a step said, without the rounds, which no tape keeps.
fn plain(said: &[Effect]) -> Vec<Effect> {
    let forget = |effect: &Effect| match *effect {
        Effect::Send { op, command } => Effect::Send { op: OpId { round: 0, ..op }, command },
        Effect::Tell(notice) => Effect::Tell(notice),
    };
    said.iter().map(forget).collect()
}

/// What is read from a tape is what was written, and goes on in the same way.
fn folds_and_unfolds<C: Core>(
    bytes: &[u8],
    fold: impl Fn(&mut C, &Config<'_>, &mut Numbers),
) -> Result<(), TestCaseError> {
    let unfold = |core: &C, config: &Config<'_>| {
        let mut tape = Numbers::default();
        fold(&mut core.clone(), config, &mut tape);
        let mut read = C::new(config);
        tape.read = Some(0);
        fold(&mut read, config, &mut tape);
        assert_eq!(tape.read, Some(tape.numbers.len()), "all of it is read");
        (read, tape.numbers)
    };
    walk::<C>(
        bytes,
        |policy| policy,
        |config, before, now, input, after, said| {
            let (mut read, tape) = unfold(before, config);
            prop_assert_eq!(unfold(&read, config).1, tape);
            let input = match input {
                // A stranger to one core is one to the other.
                Input::Settled(op, _) if before.awaited(op.place) != Some(op) => return Ok(()),
                Input::Settled(op, outcome) => match read.awaited(op.place) {
                    Some(same) => Input::Settled(same, outcome),
                    None => return Err(TestCaseError::fail("it awaits what it awaited")),
                },
                other @ (Input::Acquire
                | Input::Release
                | Input::Wake
                | Input::Renew
                | Input::Notified(_)
                | Input::Cancel) => other,
            };
            let mut out = Effects::default();
            read.step(config, now, input, &mut out);
            prop_assert_eq!(plain(&out.0), plain(said));
            prop_assert_eq!(unfold(&read, config).1, unfold(after, config).1);
            Ok(())
        },
    )
}

/// What the servers have surely kept, as an observer of the wire can tell who knows every answer that was received.
#[derive(Default)]
struct Wire {
    /// When the entry of a token on a node may at the earliest have begun its life: its first sending.
    asked: BTreeMap<(Place, Token), Time>,
    /// What each awaited operation is, and when it was sent.
    sent: BTreeMap<OpId, (Time, Command)>,
    /// Until when the entry of a token on a node surely lives, but for faults of the server.
    lives: BTreeMap<(Place, Token), Time>,
}

impl Wire {
    fn note(&mut self, policy: &Policy, now: Time, input: Input, before: &Locks, said: &[Effect]) {
        if let Input::Settled(op, Outcome::Answered(reply)) = input
            && let Place::Lock(slot, node) = op.place
            && before.awaited(slot, node) == Some(op)
            && let Some((sent, Command::Lock { verb, token, .. })) = self.sent.get(&op).copied()
        {
            let ttl = policy.ttl.unwrap_or_default();
            let first = self.asked.get(&(op.place, token)).copied().unwrap_or(sent);
            let live = match (verb, reply) {
                (Verb::Setnx, Reply::Done | Reply::Minted(_) | Reply::Taken { own: true, .. }) => Some(Time(u32::MAX)),
                (_, Reply::Done | Reply::Minted(_)) => Some(sent.after(ttl)),
                (Verb::SetNxPx, Reply::Taken { own: true, .. }) => Some(first.after(ttl)),
                _ => None,
            };
            let entry = self.lives.entry((op.place, token)).or_default();
            *entry = live.unwrap_or_default().max(*entry);
        }
        for effect in said {
            if let Effect::Send { op, command } = effect {
                self.sent.insert(*op, (now, *command));
                if let Command::Lock { token, verb: Verb::SetNxPx, .. } = command {
                    self.asked.entry((op.place, *token)).or_insert(now);
                }
            }
        }
    }

    /// On how many nodes the current entry of a slot surely lives through the margin.
    fn live(&self, policy: &Policy, slot: Slot, token: Token, now: Time) -> usize {
        let lives = |node: &u8| {
            let end = self.lives.get(&(Place::Lock(slot, NodeId(*node)), token)).copied().unwrap_or_default();
            now.after(policy.margin) < end
        };
        (0..policy.nodes).filter(lives).count()
    }
}

fn gives_back(effect: &Effect) -> bool {
    match effect {
        Effect::Send { command: Command::Lock { verb, .. }, .. } => {
            matches!(verb, Verb::Get | Verb::Del | Verb::CompareAndDelete)
        }
        Effect::Send { .. } | Effect::Tell(_) => false,
    }
}

/// What makes a policy sound as far as its client alone can tell.
fn sound(policy: Policy) -> Policy {
    let acquire = match policy.acquire {
        Acquire::Unlocked | Acquire::Setnx | Acquire::GetThenSet | Acquire::GetSetTakeOver | Acquire::GetDelSetnx => {
            Acquire::SetNxPx
        }
        sound @ (Acquire::SetNxPx | Acquire::SetnxThenExpire) => sound,
    };
    let unknown = match policy.unknown {
        UnknownAcquire::AssumeHeld | UnknownAcquire::RetryNewToken => UnknownAcquire::OwnValueHeld,
        sound @ (UnknownAcquire::OwnValueHeld | UnknownAcquire::RetrySameToken | UnknownAcquire::GiveUp) => sound,
    };
    let drift = if policy.drift == Drift::Added { Drift::Subtracted } else { policy.drift };
    Policy {
        acquire,
        ttl: Some(policy.ttl.unwrap_or(Ticks(10))),
        unknown,
        drift,
        quorum_of: QuorumOf::All,
        reentrance: Reentrance::Nothing,
        validity: Validity::FromSending,
        holder: Holder::Clocked,
        refused_renewal: RefusedRenewal::Lost,
        late_answer: LateAnswer::Ignored,
        ..policy
    }
}

/// The same cases in every run, unless `PROPTEST_RNG_SEED` or `PROPTEST_CASES` asks for others.
fn thorough() -> ProptestConfig {
    let usual = ProptestConfig::default();
    let cases = if usual.cases == 256 { 3000 } else { usual.cases };
    let rng_seed = match usual.rng_seed {
        RngSeed::Random => RngSeed::Fixed(1),
        fixed @ RngSeed::Fixed(_) => fixed,
    };
    ProptestConfig { cases, rng_seed, failure_persistence: None, ..usual }
}

proptest! {
    #![proptest_config(thorough())]

    #[test]
    fn locks_tell_in_order(bytes in bytes()) {
        told_in_order::<Locks>(&bytes, |policy| policy)?;
    }

    #[test]
    fn workers_tell_in_order(bytes in bytes()) {
        told_in_order::<Worker>(&bytes, |policy| policy)?;
    }

    #[test]
    fn locks_wake_when_they_say(bytes in bytes()) {
        wakes_when_it_says::<Locks>(&bytes)?;
    }

    #[test]
    fn workers_wake_when_they_say(bytes in bytes()) {
        wakes_when_it_says::<Worker>(&bytes)?;
    }

    #[test]
    fn locks_count_from_anywhere(bytes in bytes(), back in 0_u32..40) {
        counts_from_anywhere::<Locks>(&bytes, back, Locks::rebase)?;
    }

    #[test]
    fn workers_count_from_anywhere(bytes in bytes(), back in 0_u32..40) {
        counts_from_anywhere::<Worker>(&bytes, back, Worker::rebase)?;
    }

    #[test]
    fn strangers_change_no_locks(bytes in bytes()) {
        strangers_change_nothing::<Locks>(&bytes)?;
    }

    #[test]
    fn strangers_change_no_worker(bytes in bytes()) {
        strangers_change_nothing::<Worker>(&bytes)?;
    }

    #[test]
    fn locks_fold_and_unfold(bytes in bytes()) {
        folds_and_unfolds::<Locks>(&bytes, |core, config, tape| core.fold(config, tape))?;
    }

    #[test]
    fn workers_fold_and_unfold(bytes in bytes()) {
        folds_and_unfolds::<Worker>(&bytes, |core, config, tape| core.fold(config, tape))?;
    }

    /// Who believes that it holds a lock has one whose entries live on a quorum of servers, through the margin.
    #[test]
    fn a_sound_belief_is_backed_by_a_quorum(bytes in bytes()) {
        let mut wire = Wire::default();
        walk::<Locks>(&bytes, sound, |config, before, now, input, after, said| {
            wire.note(config.policy, now, input, before, said);
            // Nothing is known to have happened between two steps, so the last moment before the lapse counts as well.
            for slot in slots(config) {
                let last = after.until(slot).map(|end| end.before(config.policy.margin).before(Ticks(1)));
                for moment in [now, last.unwrap_or(now).max(now)] {
                    if after.believes(config, slot, moment) {
                        let live = wire.live(config.policy, slot, after.token(slot), moment);
                        prop_assert!(live >= config.policy.quorum.into(), "at {moment:?} only {live} entries live");
                    }
                }
            }
            Ok(())
        })?;
    }

    /// While an own write is unsettled, the lock is not given back.
    #[test]
    fn an_unlock_does_not_overtake_the_own_write(bytes in bytes()) {
        let waits = |policy| Policy { unsettled_write: UnsettledWrite::Waits, ..policy };
        walk::<Worker>(&bytes, waits, |_, before, _, _, after, said| {
            let unsettled = before.doing() == "writing" && after.doing() == "writing";
            prop_assert!(!(unsettled && said.iter().any(gives_back)));
            Ok(())
        })?;
    }

    /// A clocked holder never believes at or after its deadline less the margin, and a lapse is final.
    #[test]
    fn a_lapse_is_final(bytes in bytes()) {
        let final_lapse = |policy| Policy { late_answer: LateAnswer::Ignored, holder: Holder::Clocked, ..policy };
        walk::<Locks>(&bytes, final_lapse, |config, before, now, _, after, _| {
            for slot in slots(config) {
                let over = |until: Time| now >= until.before(config.policy.margin);
                prop_assert!(!(after.believes(config, slot, now) && after.until(slot).is_some_and(over)));
                let lapsed = before.until(slot).is_some_and(over);
                let believes = after.believes(config, slot, now) && before.token(slot) == after.token(slot);
                prop_assert!(!(lapsed && believes), "a lapsed lease came to life again");
            }
            Ok(())
        })?;
    }
}
