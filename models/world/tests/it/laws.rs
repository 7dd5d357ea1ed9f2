//! Laws of the world, on random walks through random setups.

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use protocol::Fencing;
use world::{Action, Event, Fault, Message, Observer, Packed, Persistence, Setup, Steps, Witnesses, World};

use crate::random::{Dice, setup};

/// Hears nothing.
struct Deaf;

impl Observer for Deaf {
    fn event(&mut self, _: Event) {}
}

pub(crate) fn actions(world: &World, setup: &Setup) -> Vec<Action> {
    let mut list = Vec::new();
    world.actions(setup, &mut list);
    list
}

/// Everything that the checker asks a state.
fn properties(world: &World, setup: &Setup) -> impl PartialEq + std::fmt::Debug + use<> {
    let flags = world.flags;
    (world.rivals(setup), world.stray(setup), world.is_free(setup), world.is_finished(setup), flags)
}

/// The parts of a world that are plain to compare: of the cores only what can be seen from outside.
fn parts(world: &World) -> impl PartialEq + std::fmt::Debug + use<> {
    let nameless = |message: &Message| Message { tag: 0, ..*message };
    let messages: Vec<_> = world.messages().map(nameless).collect();
    let clients: Vec<_> =
        world.clients.iter().map(|c| (c.running, c.pause_left, c.grants, c.worker.updates_left())).collect();
    let rest = (world.saved.clone(), *world.until_sync, world.replicas.clone(), *world.faults, world.flags);
    let cut = (*world.cut, world.cut_left.clone());
    (clients, world.nodes.clone(), world.accounts.clone(), messages, cut, rest)
}

pub(crate) fn canonical(world: &World, setup: &Setup) -> World {
    let mut world = world.clone();
    world.canonicalise(setup);
    world
}

pub(crate) fn packed(world: &World, setup: &Setup) -> Packed {
    world.clone().pack(setup)
}

/// Packs a world, and unpacks it into another one.
fn unpacks_to(mut into: World, world: &World, setup: &Setup) -> Result<(), TestCaseError> {
    let state = packed(world, setup);
    into.unpack(setup, &state);
    prop_assert_eq!(parts(&into), parts(world));
    prop_assert_eq!(packed(&into, setup), state);
    prop_assert_eq!(actions(&into, setup), actions(world, setup));
    prop_assert_eq!(properties(&into, setup), properties(world, setup));
    Ok(())
}

/// A poor hash.
fn length(words: &[u64]) -> u64 {
    words.len() as u64
}

fn fences(setup: &Setup) -> bool {
    setup.policy.fencing != Fencing::Nothing
}

/// Walks through a world whose numbers are kept by rank and through one that keeps them as they were given out.
fn ranks_and_numbers(bytes: &[u8], admits: impl Fn(&Setup) -> bool) -> Result<(), TestCaseError> {
    let mut raw = None;
    walk(bytes, |setup, world, action, next| {
        if !admits(setup) {
            return Ok(());
        }
        let raw = raw.get_or_insert_with(|| World::new(setup));
        prop_assert_eq!(actions(raw, setup), actions(world, setup));
        raw.apply(setup, action, &mut Deaf);
        prop_assert_eq!(properties(raw, setup), properties(next, setup));
        prop_assert_eq!(parts(&canonical(raw, setup)), parts(next));
        prop_assert_eq!(packed(&canonical(raw, setup), setup), packed(next, setup));
        Ok(())
    })?;
    Ok(())
}

fn is_free(action: Action) -> bool {
    action.fault().is_none()
}

/// A walk through the canonical worlds of a random setup. `each` sees every state, the action chosen, and the
/// canonical state after it.
pub(crate) fn walk(
    bytes: &[u8],
    mut each: impl FnMut(&Setup, &World, Action, &World) -> Result<(), TestCaseError>,
) -> Result<(Setup, World), TestCaseError> {
    let mut dice = Dice::new(bytes);
    let setup = setup(&mut dice);
    let mut world = World::new(&setup);
    world.canonicalise(&setup);
    while !dice.is_over() {
        let action = choose(&mut dice, &actions(&world, &setup));
        let mut next = world.clone();
        next.apply(&setup, action, &mut Deaf);
        next.canonicalise(&setup);
        each(&setup, &world, action, &next)?;
        world = next;
    }
    Ok((setup, world))
}

/// Mostly what happens by itself, so that something comes to pass before the faults are spent.
fn choose(dice: &mut Dice<'_>, actions: &[Action]) -> Action {
    let free: Vec<_> = actions.iter().copied().filter(|action| is_free(*action)).collect();
    if dice.roll(4) < 3 && !free.is_empty() { dice.pick(&free) } else { dice.pick(actions) }
}

pub(crate) fn bytes() -> impl Strategy<Value = Vec<u8>> {
    proptest::collection::vec(any::<u8>(), 45..200)
}

/// The same cases in every run, unless `PROPTEST_RNG_SEED` or `PROPTEST_CASES` asks for others.
pub(crate) fn thorough() -> ProptestConfig {
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

    /// The order of actions is the documented one, and none is listed twice.
    #[test]
    fn actions_are_in_order(bytes in bytes()) {
        walk(&bytes, |setup, world, _, _| {
            let list = actions(world, setup);
            prop_assert!(list.is_sorted_by(|a, b| a < b), "{list:?}");
            Ok(())
        })?;
    }

    /// What is unpacked is what was packed.
    #[test]
    fn what_is_unpacked_is_what_was_packed(bytes in bytes()) {
        walk(&bytes, |setup, _, _, next| unpacks_to(World::new(setup), next, setup))?;
    }

    /// Whatever the world held that it is unpacked into, down to what no message and no packed state shows.
    #[test]
    fn what_it_is_unpacked_into_makes_no_difference(bytes in bytes()) {
        let mut states = Vec::new();
        let (setup, _) = walk(&bytes, |setup, world, _, next| {
            states.push(packed(next, setup));
            unpacks_to(world.clone(), next, setup)
        })?;
        let unpacked = |mut into: World, state: &Packed| {
            into.unpack(&setup, state);
            into.mail.iter_mut().flat_map(|mail| mail.iter_mut()).for_each(|message| message.tag = 0);
            into
        };
        for (index, state) in states.iter().enumerate().step_by(5) {
            let fresh = unpacked(World::new(&setup), state);
            let other = &states[index * 7 % states.len()];
            let over = unpacked(unpacked(World::new(&setup), other), state);
            prop_assert_eq!(&over, &fresh);
        }
    }

    /// Steps that are worked out once, and remembered by what they looked at, are those of the world.
    #[test]
    fn remembered_steps_are_those_of_the_world(bytes in bytes()) {
        let mut known = None;
        walk(&bytes, |setup, world, _, _| {
            let steps = known.get_or_insert_with(|| Steps::new(setup, length));
            let state = packed(world, setup);
            // Twice: what is worked out the first time is remembered the second time.
            for _ in 0..2 {
                steps.enter(setup, &state);
                prop_assert_eq!(steps.packed(), state.clone());
                prop_assert_eq!(steps.hash(), state.hash_sections(setup, length));
                prop_assert_eq!(steps.findings(setup, true), world.findings(setup));
                let listed = steps.moves(setup);
                let moves: Vec<_> = (0..).map_while(|index| steps.next_move(listed, index)).collect();
                prop_assert_eq!(moves.iter().map(|what| what.action).collect::<Vec<_>>(), actions(world, setup));
                for what in moves {
                    let action = what.action;
                    let mut next = world.clone();
                    let mut witnesses = Witnesses::default();
                    next.apply(setup, action, &mut witnesses);
                    next.canonicalise(setup);
                    match steps.take(setup, what) {
                        None => prop_assert_eq!(packed(&next, setup), state.clone(), "{:?}", action),
                        Some(seen) => {
                            prop_assert_eq!(steps.packed(), packed(&next, setup), "{:?}", action);
                            prop_assert_eq!(seen, witnesses, "{:?}", action);
                            prop_assert_eq!(steps.findings(setup, true), next.findings(setup), "{:?}", action);
                        }
                    }
                }
            }
            Ok(())
        })?;
    }

    /// The unpacked world goes on as the packed one does.
    #[test]
    fn what_is_unpacked_goes_on_in_the_same_way(bytes in bytes()) {
        walk(&bytes, |setup, world, action, next| {
            let mut unpacked = World::new(setup);
            unpacked.unpack(setup, &packed(world, setup));
            unpacked.apply(setup, action, &mut Deaf);
            unpacked.canonicalise(setup);
            prop_assert_eq!(parts(&unpacked), parts(next));
            prop_assert_eq!(packed(&unpacked, setup), packed(next, setup));
            Ok(())
        })?;
    }

    /// A canonical world is its own canonical form.
    #[test]
    fn to_be_canonical_is_final(bytes in bytes()) {
        walk(&bytes, |setup, _, _, next| {
            prop_assert_eq!(parts(&canonical(next, setup)), parts(next));
            prop_assert_eq!(packed(&canonical(next, setup), setup), packed(next, setup));
            Ok(())
        })?;
    }

    /// Numbers by rank can do all that the numbers as given out can do, and no more.
    #[test]
    fn ranks_are_as_good_as_numbers(bytes in bytes()) {
        // Scenarios with more are refused: tokens minted each time that a counter was forgotten can be equal.
        let admits = |setup: &Setup| {
            let restarts = match setup.persistence {
                Persistence::Nothing | Persistence::EverySecond => setup.faults.get(Fault::Restart),
                Persistence::Always => 0,
            };
            let others = setup.faults.get(Fault::Evict) + setup.faults.get(Fault::Failover);
            !fences(setup) || restarts + others < 2
        };
        ranks_and_numbers(&bytes, admits)?;
    }

    /// A client that is woken has something to do: time never waits for nothing.
    #[test]
    fn a_wake_changes_something(bytes in bytes()) {
        walk(&bytes, |setup, world, _, _| {
            for action in actions(world, setup) {
                if let Action::Wake(_) = action {
                    let mut before = world.clone();
                    before.flags = Default::default();
                    let mut after = world.clone();
                    after.apply(setup, action, &mut Deaf);
                    after.flags = Default::default();
                    prop_assert_ne!(packed(&canonical(&after, setup), setup), packed(&before, setup));
                }
            }
            Ok(())
        })?;
    }

    /// Something can always happen, and whatever is due is over after some steps, so that time can pass.
    #[test]
    fn time_can_always_pass(bytes in bytes()) {
        let (setup, mut world) = walk(&bytes, |setup, _, _, next| {
            prop_assert!(!actions(next, setup).is_empty());
            Ok(())
        })?;
        for _ in 0..300 {
            let list = actions(&world, &setup);
            if list.contains(&Action::Tick) {
                return Ok(());
            }
            let ends = |a: &&Action| {
                matches!(a, Action::Wake(_) | Action::Deliver(..) | Action::Resume(_) | Action::Heal(_))
            };
            let due = list.iter().find(ends);
            let due = due.copied();
            prop_assert!(due.is_some(), "time waits for nothing that can happen: {list:?}");
            world.apply(&setup, due.unwrap_or(Action::Tick), &mut Deaf);
            world.canonicalise(&setup);
        }
        prop_assert!(false, "300 steps and no time has passed");
    }

    /// A fault is in the list only if the budget has a unit of its kind, and it spends that unit.
    #[test]
    fn faults_spend_their_budget(bytes in bytes()) {
        walk(&bytes, |setup, world, action, next| {
            for fault in actions(world, setup).into_iter().filter_map(Action::fault) {
                prop_assert!(world.faults.get(fault) > 0);
            }
            for fault in Fault::ALL {
                let spent = u8::from(action.fault() == Some(fault));
                prop_assert_eq!(world.faults.get(fault) - spent, next.faults.get(fault));
            }
            Ok(())
        })?;
    }

    /// Messages lie by lane, and on a lane without an order in the canonical one.
    #[test]
    fn messages_lie_in_their_canonical_order(bytes in bytes()) {
        walk(&bytes, |setup, _, _, next| {
            prop_assert!(next.messages().is_sorted_by_key(|m| m.lane));
            if setup.network == world::Network::Unordered {
                let key = |m: &Message| (m.lane, m.slot, m.body, m.age, [m.delayed, m.awaited, m.bereft], m.sent);
                prop_assert!(next.messages().is_sorted_by_key(key), "{:?}", next.mail);
            }
            Ok(())
        })?;
    }
}

/// After two updates under the tokens 1 and 2 the server restarts without memory, and mints 1 again: a stale token.
#[test]
fn ranks_are_as_good_as_numbers_after_a_restart() {
    let lines = ["clients 1", "fencing with-grant", "check on-write", "work 0", "updates 3", "restart 1"];
    let setup = crate::knobs::setup(lines.into_iter());
    let (mut raw, mut ranked) = (World::new(&setup), World::new(&setup));
    for step in 0..26 {
        // The first action is what happens by itself: nine of them make an update.
        let action = if step == 18 { Action::Restart(0) } else { actions(&raw, &setup)[0] };
        assert!(actions(&ranked, &setup).contains(&action), "step {step}: {action:?}");
        raw.apply(&setup, action, &mut Deaf);
        ranked.apply(&setup, action, &mut Deaf);
        ranked.canonicalise(&setup);
        assert_eq!(parts(&canonical(&raw, &setup)), parts(&ranked), "step {step}: {action:?}");
    }
}
