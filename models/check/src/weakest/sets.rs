//! Sets of faults, and which of them break what.

use world::{Budget, Fault};

use super::measure::Measured;
use super::runs::{Answer, Runs};
use super::{Ask, Break, Breaks, Runner, Stage, with};
use crate::scenario::{MAX_BUDGET, Problem, Property, Scenario, ScenarioErrors};

/// A set that the scenario refuses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The faults.
    pub faults: Budget,
    /// Why.
    pub reason: String,
}

/// Whether all of one set is in another.
pub fn includes(all: &Budget, part: &Budget) -> bool {
    Fault::ALL.iter().all(|fault| part.get(*fault) <= all.get(*fault))
}

/// The sets that were tried so far.
pub(super) struct Sets {
    pub(super) base: Scenario,
    pub(super) kinds: Vec<Fault>,
    pub(super) properties: Vec<Breaks>,
    pub(super) refused: Vec<Refused>,
    within: Option<Budget>,
    /// What broke since it was last asked for: a set, with the properties of which it is minimal.
    fresh: Vec<(Budget, Vec<Property>)>,
}

impl Sets {
    pub(super) fn new(base: &Scenario, ask: &Ask, asked: Vec<Property>) -> Self {
        let breaks = |property| Breaks { property, sets: Vec::new(), undecided: Vec::new() };
        let mut sets = Self {
            base: base.clone(),
            kinds: Vec::new(),
            properties: asked.into_iter().map(breaks).collect(),
            refused: Vec::new(),
            within: ask.within,
            fresh: Vec::new(),
        };
        sets.kinds = Fault::ALL.into_iter().filter(|fault| sets.admits(&one(*fault))).collect();
        sets
    }

    /// Whether the scenario allows a set of faults, and it was asked for. If it is refused, that is noted.
    fn admits(&mut self, faults: &Budget) -> bool {
        if self.within.is_some_and(|within| !includes(&within, faults)) {
            return false;
        }
        let Err(errors) = with(&self.base, *faults).resolve() else { return true };
        self.refused.push(Refused { faults: *faults, reason: reason(&errors) });
        false
    }

    /// All sets of so many units, in the documented order.
    pub(super) fn level(&mut self, size: u8) -> Vec<Budget> {
        let mut level = vec![(Budget::default(), 0)];
        for _ in 0..size {
            let grown = level.iter().flat_map(|(set, from)| {
                let more = self.kinds.iter().enumerate().skip(*from);
                more.map(|(at, fault)| (plus(set, *fault), at)).collect::<Vec<_>>()
            });
            level = grown.collect();
        }
        let sets: Vec<Budget> = level.into_iter().map(|(set, _)| set).collect();
        let refused = self.refused.clone();
        let is_hopeless = |set: &Budget| refused.iter().any(|r| includes(set, &r.faults));
        sets.into_iter().filter(|set| size < 2 || !is_hopeless(set) && self.admits(set)).collect()
    }

    /// Tries sets of one size.
    pub(super) fn try_all(&mut self, runs: &mut Runs<'_, impl Runner>, level: &[Budget]) {
        for (number, faults) in (1..).zip(level) {
            if self.open(faults).is_empty() {
                runs.skip();
            } else {
                self.try_one(runs, Stage::Set { number, of: level.len() }, faults);
            }
        }
    }

    /// Tries more and more units of drift alone: how far a clock has to be off is a magnitude as well.
    pub(super) fn drift_further(&mut self, runs: &mut Runs<'_, impl Runner>) {
        if !self.kinds.contains(&Fault::Drift) {
            return;
        }
        let settings = &self.base.settings;
        let enough = settings.ttl.map_or(1, |ttl| ttl.0) + settings.margin.0;
        let most = u8::try_from(enough).unwrap_or(MAX_BUDGET).min(MAX_BUDGET);
        for units in 1..=most {
            let mut faults = Budget::default();
            faults.set(Fault::Drift, units);
            let stage = Stage::Set { number: units.into(), of: most.into() };
            if self.open(&faults).is_empty() || !self.admits(&faults) {
                return;
            }
            self.try_one(runs, stage, &faults);
            if self.properties.iter().any(|p| p.undecided.contains(&faults)) {
                return;
            }
        }
    }

    /// The properties that no smaller set is known to break.
    fn open(&self, faults: &Budget) -> Vec<Property> {
        let is_open = |p: &&Breaks| p.sets.iter().all(|set| !includes(faults, &set.faults));
        self.properties.iter().filter(is_open).map(|p| p.property).collect()
    }

    fn try_one(&mut self, runs: &mut Runs<'_, impl Runner>, stage: Stage, faults: &Budget) {
        let open = self.open(faults);
        let scenario = with(&self.base, *faults);
        let answers = runs.ask(stage, &scenario, &open);
        let mut broken = Vec::new();
        for (property, answer) in open.into_iter().zip(answers) {
            let Some(breaks) = self.properties.iter_mut().find(|p| p.property == property) else { continue };
            match answer {
                Answer::Holds => {}
                Answer::Undecided if breaks.undecided.contains(faults) => {}
                Answer::Undecided => breaks.undecided.push(*faults),
                Answer::Breaks(evidence) => {
                    let is_minimal = breaks.undecided.iter().all(|open| !includes(faults, open));
                    broken.push(property);
                    breaks.sets.push(Break {
                        faults: *faults,
                        is_minimal,
                        magnitudes: Vec::new(),
                        scenario: scenario.clone(),
                        set: Vec::new(),
                        steps: evidence.steps,
                        strikes: evidence.strikes,
                    });
                }
            }
        }
        if !broken.is_empty() {
            self.fresh.push((*faults, broken));
        }
    }

    /// What broke since it was last asked for.
    pub(super) fn fresh(&mut self) -> Vec<(Budget, Vec<Property>)> {
        std::mem::take(&mut self.fresh)
    }

    pub(super) fn get(&mut self, faults: Budget, property: Property) -> Option<&mut Break> {
        let breaks = self.properties.iter_mut().find(|p| p.property == property)?;
        breaks.sets.iter_mut().find(|set| set.faults == faults)
    }

    /// Puts in how large the faults of a set have to be.
    pub(super) fn put(&mut self, faults: Budget, property: Property, measured: Measured) {
        let Some(set) = self.get(faults, property) else { return };
        set.magnitudes = measured.magnitudes;
        set.scenario = measured.scenario;
        set.set = measured.set;
        if let Some(evidence) = measured.evidence {
            set.steps = evidence.steps;
            set.strikes = evidence.strikes;
        }
    }
}

fn one(fault: Fault) -> Budget {
    plus(&Budget::default(), fault)
}

fn plus(set: &Budget, fault: Fault) -> Budget {
    let mut more = *set;
    more.set(fault, set.get(fault) + 1);
    more
}

fn reason(errors: &ScenarioErrors) -> String {
    errors.iter().next().map_or_else(String::new, |error| match &error.problem {
        Problem::Refused(rule) => rule.reason.to_owned(),
        Problem::TooLarge { .. }
        | Problem::NotUtf8
        | Problem::NotToml { .. }
        | Problem::Unknown { .. }
        | Problem::Value { .. }
        | Problem::Missing { .. }
        | Problem::Twice { .. } => error.to_string(),
    })
}
