//! Random scenarios, drawn from the tables of knobs and faults: what is added there is drawn from then on.

use check::scenario::{Form, KNOBS, Knob, MAX_BUDGET, MAX_LATENCY, Scenario};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{FileFailurePersistence, RngSeed, TestRunner};
use world::{Fault, MAX_CLIENTS, MAX_RESOURCES};

/// How large the numbers of a scenario are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Size {
    /// The least few that a knob takes: for spaces that a naive search exhausts.
    Small,
    /// All that a knob takes, the two ends more often than what lies between.
    Full,
}

/// Which knobs are turned, and by which random number each value is chosen; and the units of some faults.
#[derive(Clone, Debug)]
pub(crate) struct Draw {
    pub(crate) knobs: Vec<(&'static Knob, u32)>,
    pub(crate) faults: Vec<(Fault, u8)>,
}

/// A draw that turns so many knobs, in random order, and has so many faults.
pub(crate) fn draws(
    knobs: std::ops::Range<usize>,
    faults: std::ops::Range<usize>,
    units: u8,
) -> impl Strategy<Value = Draw> {
    let knob = (0..KNOBS.len(), any::<u32>()).prop_map(|(knob, number)| (&KNOBS[knob], number));
    let fault = (0..Fault::ALL.len(), 1..=units).prop_map(|(fault, units)| (Fault::ALL[fault], units));
    (vec(knob, knobs), vec(fault, faults)).prop_map(|(knobs, faults)| Draw { knobs, faults })
}

/// A draw that turns every knob, and may have every fault.
pub(crate) fn full_draws() -> impl Strategy<Value = Draw> {
    let knobs = vec(any::<u32>(), KNOBS.len()).prop_map(|numbers| KNOBS.iter().zip(numbers).collect::<Vec<_>>());
    let units = prop_oneof![2 => Just(0), 1 => Just(MAX_BUDGET), 2 => 0..=MAX_BUDGET];
    let faults = vec(units, Fault::ALL.len()).prop_map(|units| Fault::ALL.into_iter().zip(units).collect());
    (knobs.prop_shuffle(), faults).prop_map(|(knobs, faults)| Draw { knobs, faults })
}

impl Draw {
    /// The scenario that is drawn, whether it is refused or not.
    pub(crate) fn scenario(&self, size: Size) -> Scenario {
        let mut scenario = plain();
        self.knobs.iter().for_each(|(knob, number)| turn(&mut scenario, knob, *number, size));
        self.faults.iter().for_each(|(fault, units)| scenario.faults.set(*fault, *units));
        scenario
    }

    /// The scenario as the draw changes it, without what would make it a combination that is refused; and how many of
    /// the values had to be left out.
    pub(crate) fn accepted(&self, mut scenario: Scenario, size: Size) -> (Scenario, usize) {
        let mut left_out = 0;
        let mut consider = |change: &dyn Fn(&mut Scenario)| {
            let mut changed = scenario.clone();
            change(&mut changed);
            match changed.resolve() {
                Ok(_) => scenario = changed,
                Err(_) => left_out += 1,
            }
        };
        for (knob, number) in &self.knobs {
            consider(&|scenario| turn(scenario, knob, *number, size));
        }
        for (fault, units) in &self.faults {
            consider(&|scenario| scenario.faults.set(*fault, *units));
        }
        (scenario, left_out)
    }
}

/// The scenario where nothing is said.
pub(crate) fn plain() -> Scenario {
    Scenario::new("drawn", "Drawn")
}

fn turn(scenario: &mut Scenario, knob: &Knob, number: u32, size: Size) {
    let value = value(knob, number, size);
    scenario.set(&format!("{}={value}", knob.key)).unwrap_or_else(|errors| panic!("{errors}"));
}

/// The value of a knob that a random number stands for, as TOML.
pub(crate) fn value(knob: &Knob, number: u32, size: Size) -> String {
    let mut dice = Dice(number);
    match &knob.form {
        Form::Words(words) => format!("\"{}\"", dice.pick(words).name),
        Form::Number { or: Some(word), .. } if dice.roll(4) == 3 => format!("\"{}\"", word.name),
        Form::Number { least, most, .. } => dice.number(*least, *most, size).to_string(),
        Form::Flag => (dice.roll(2) == 0).to_string(),
        Form::Latency => {
            let greatest = dice.number(0, if size == Size::Small { 2 } else { MAX_LATENCY }, size);
            format!("[{}, {greatest}]", dice.number(0, greatest, size))
        }
        Form::Resources => lists(&mut dice, size),
    }
}

fn lists(dice: &mut Dice, size: Size) -> String {
    let (clients, names) = match size {
        Size::Small => (3, 2),
        Size::Full => (MAX_CLIENTS as u32, MAX_RESOURCES as u32),
    };
    let slots = if size == Size::Small { 2 } else { protocol::MAX_SLOTS as u32 };
    let name = |dice: &mut Dice| format!("\"{}\"", char::from(b'a' + dice.roll(names) as u8));
    let list = |dice: &mut Dice| {
        let length = dice.number(1, slots, size);
        let names: Vec<_> = (0..length).map(|_| name(dice)).collect();
        format!("[{}]", names.join(", "))
    };
    let count = dice.number(1, clients, size);
    let lists: Vec<_> = (0..count).map(|_| list(dice)).collect();
    format!("[{}]", lists.join(", "))
}

/// Decisions that follow from one random number.
struct Dice(u32);

impl Dice {
    fn roll(&mut self, sides: u32) -> u32 {
        let rolled = self.0 % sides;
        // Not a good generator, but all that is asked of it is to go on.
        self.0 = (self.0 / sides).wrapping_mul(0x9e37_79b1) ^ (self.0 >> 15);
        rolled
    }

    fn pick<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.roll(choices.len() as u32) as usize]
    }

    fn number(&mut self, least: u32, most: u32, size: Size) -> u32 {
        match (size, self.roll(4)) {
            (Size::Small, _) => least + self.roll(most.min(least + 3) - least + 1),
            (Size::Full, 0) => least,
            (Size::Full, 1) => most,
            (Size::Full, _) => least + self.roll(most - least + 1),
        }
    }
}

/// Runs the same cases in every run, unless `PROPTEST_RNG_SEED` or `PROPTEST_CASES` asks for others.
pub(crate) fn runner(cases: u32) -> TestRunner {
    let usual = ProptestConfig::default();
    let rng_seed = match usual.rng_seed {
        RngSeed::Random => RngSeed::Fixed(1),
        fixed @ RngSeed::Fixed(_) => fixed,
    };
    let cases = if std::env::var_os("PROPTEST_CASES").is_some() { usual.cases } else { cases };
    // A failing case is printed in its least form; it becomes a test, not a file of seeds.
    let failure_persistence = None::<Box<FileFailurePersistence>>.map(|some| some as _);
    TestRunner::new(ProptestConfig { cases, rng_seed, failure_persistence, ..usual })
}
