//! How large the faults of a set have to be.

use world::{Budget, Fault};

use super::dial::Dial;
use super::formula::Law;
use super::runs::{Answer, Evidence, Runs};
use super::{Runner, Stage, with};
use crate::scenario::{MAX_BUDGET, Property, Scenario};

/// Which end of a range a magnitude is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The least with which the fault breaks the property.
    Least,
    /// The greatest: it does so up to this.
    Greatest,
}

/// What lies beyond a magnitude, on the side of the milder faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edge {
    /// One tick milder was run exhaustively, and the property holds.
    Holds,
    /// There is nothing milder: it is the mildest there is, or the mildest that is tried.
    Mildest,
    /// It is not known: a limit was hit.
    Undecided,
}

/// How large a fault has to be, the faults before it in the set being as small as they can.
#[derive(Clone, Debug, PartialEq)]
pub struct Magnitude {
    /// The fault.
    pub fault: Fault,
    /// The knob that sets it; none: the units of the fault.
    pub knob: Option<&'static str>,
    /// Which end of a range it is.
    pub side: Side,
    /// In ticks. With it the property is violated.
    pub ticks: u32,
    /// What lies beyond.
    pub edge: Edge,
    /// How it depends on the numbers of the scenario.
    pub law: Law,
}

/// The magnitudes of a set.
pub(super) struct Measured {
    pub(super) magnitudes: Vec<Magnitude>,
    pub(super) scenario: Scenario,
    pub(super) set: Vec<String>,
    /// What the counterexample of that scenario shows.
    pub(super) evidence: Option<Evidence>,
}

/// Makes each fault of a set as small as can be, in the documented order. `group` are properties worth asking along
/// with this one.
pub(super) fn measure(
    runs: &mut Runs<'_, impl Runner>,
    base: &Scenario,
    faults: Budget,
    property: Property,
    group: &[Property],
) -> Measured {
    let mut search = Search { runs, stage: Stage::Magnitude, property, group };
    search.all(base, faults)
}

/// What came of measuring again.
pub(super) enum Again {
    /// The magnitudes, each known exactly.
    Known(Vec<u32>),
    /// The set does not break the property there, or never stops to.
    Holds,
    /// A limit was hit.
    Undecided,
}

/// How many more units of drift than before are tried.
const MORE_DRIFT: u8 = 3;

/// The magnitudes in a scenario whose numbers were changed.
pub(super) fn measure_again(
    runs: &mut Runs<'_, impl Runner>,
    base: &Scenario,
    faults: Budget,
    property: Property,
    group: &[Property],
) -> Again {
    let mut search = Search { runs, stage: Stage::Formula, property, group };
    let units = faults.get(Fault::Drift);
    let most = if units == 0 { 0 } else { (units + MORE_DRIFT).min(MAX_BUDGET) };
    for units in units..=most.max(units) {
        let mut faults = faults;
        faults.set(Fault::Drift, units);
        match search.ask(&with(base, faults)) {
            Answer::Holds => {}
            Answer::Undecided => return Again::Undecided,
            Answer::Breaks(_) => return known(&search.all(base, faults).magnitudes),
        }
    }
    Again::Holds
}

fn known(magnitudes: &[Magnitude]) -> Again {
    if magnitudes.iter().any(|m| m.edge == Edge::Undecided) {
        return Again::Undecided;
    }
    if magnitudes.iter().any(|m| m.edge == Edge::Mildest && m.side == Side::Greatest) {
        return Again::Holds;
    }
    Again::Known(magnitudes.iter().map(|m| m.ticks).collect())
}

struct Search<'r, 'a, R> {
    runs: &'r mut Runs<'a, R>,
    stage: Stage,
    property: Property,
    group: &'r [Property],
}

impl<R: Runner> Search<'_, '_, R> {
    fn all(&mut self, base: &Scenario, faults: Budget) -> Measured {
        let mut scenario = with(base, faults);
        let mut measured =
            Measured { magnitudes: Vec::new(), scenario: scenario.clone(), set: Vec::new(), evidence: None };
        let Answer::Breaks(mut evidence) = self.ask(&scenario) else { return measured };
        for fault in faults.kinds() {
            let Some(dial) = Dial::of(fault) else { continue };
            let found = self.one(&scenario, fault, dial, &evidence);
            scenario = dial.turned(&scenario, fault, found.ticks);
            if let (Some(key), true) = (dial.knob(), found.is_turned) {
                measured.set.push(format!("{key}={}", found.ticks));
            }
            evidence = found.evidence;
            measured.magnitudes.push(Magnitude {
                fault,
                knob: dial.knob(),
                side: dial.side(),
                ticks: found.ticks,
                edge: found.edge,
                law: Law::NotAsked,
            });
        }
        measured.scenario = scenario;
        measured.evidence = Some(evidence);
        measured
    }

    fn one(&mut self, scenario: &Scenario, fault: Fault, dial: Dial, evidence: &Evidence) -> Found {
        match dial {
            Dial::Bound(_) => self.shortest(scenario, fault, dial, evidence),
            Dial::Exact(_) => self.first(scenario, fault, dial, evidence),
            Dial::Milder(_) => self.mildest(scenario, fault, dial, evidence),
            Dial::Units => self.fewest(scenario, fault, dial, evidence),
        }
    }

    /// Down from what the counterexample needed.
    fn shortest(&mut self, scenario: &Scenario, fault: Fault, dial: Dial, evidence: &Evidence) -> Found {
        let most = dial.most(scenario);
        let stated = bound(scenario, fault).unwrap_or(most);
        let mut found = Found::new(evidence, evidence.lasts(fault).min(stated));
        // The same counterexample is possible with this bound, so that this cannot fail but for a limit.
        let Answer::Breaks(evidence) = self.ask(&dial.turned(scenario, fault, found.ticks)) else { return found };
        found.evidence = evidence;
        loop {
            found.ticks = found.ticks.min(found.evidence.lasts(fault));
            if found.ticks == dial.least() {
                return Found { edge: Edge::Mildest, ..found };
            }
            match self.ask(&dial.turned(scenario, fault, found.ticks - 1)) {
                Answer::Breaks(evidence) => {
                    found.ticks -= 1;
                    found.evidence = evidence;
                }
                Answer::Holds => return Found { edge: Edge::Holds, ..found },
                Answer::Undecided => return found,
            }
        }
    }

    /// Up from the least.
    fn first(&mut self, scenario: &Scenario, fault: Fault, dial: Dial, evidence: &Evidence) -> Found {
        let stated = scenario.settings.jump().0;
        let mut edge = Edge::Mildest;
        for ticks in dial.least()..stated {
            match self.ask(&dial.turned(scenario, fault, ticks)) {
                Answer::Breaks(evidence) => return Found { evidence, ticks, edge, is_turned: true },
                Answer::Holds if edge == Edge::Mildest => edge = Edge::Holds,
                Answer::Holds => {}
                Answer::Undecided => edge = Edge::Undecided,
            }
        }
        Found { edge, ..Found::new(evidence, stated) }
    }

    /// Up from what the scenario says, as long as it breaks.
    fn mildest(&mut self, scenario: &Scenario, fault: Fault, dial: Dial, evidence: &Evidence) -> Found {
        let most = dial.most(scenario);
        let mut found = Found { is_turned: false, ..Found::new(evidence, scenario.settings.restart_delay.0) };
        while found.ticks < most {
            match self.ask(&dial.turned(scenario, fault, found.ticks + 1)) {
                Answer::Breaks(evidence) => {
                    found = Found { evidence, ticks: found.ticks + 1, is_turned: true, ..found };
                }
                Answer::Holds => return Found { edge: Edge::Holds, ..found },
                Answer::Undecided => return found,
            }
        }
        Found { edge: Edge::Mildest, ..found }
    }

    /// Down from the units of the set.
    fn fewest(&mut self, scenario: &Scenario, fault: Fault, dial: Dial, evidence: &Evidence) -> Found {
        let mut found = Found::new(evidence, scenario.faults.get(fault).into());
        loop {
            match self.ask(&dial.turned(scenario, fault, found.ticks - 1)) {
                Answer::Breaks(_) if found.ticks == 1 => return Found { edge: Edge::Mildest, ..found },
                Answer::Breaks(evidence) => {
                    found.ticks -= 1;
                    found.evidence = evidence;
                }
                Answer::Holds => return Found { edge: Edge::Holds, ..found },
                Answer::Undecided => return found,
            }
        }
    }

    fn ask(&mut self, scenario: &Scenario) -> Answer {
        let at = self.group.iter().position(|p| *p == self.property);
        let mut answers = self.runs.ask(self.stage, scenario, self.group);
        match at {
            Some(at) => answers.swap_remove(at),
            None => self.runs.ask_one(self.stage, scenario, self.property),
        }
    }
}

/// The magnitude of one fault.
struct Found {
    evidence: Evidence,
    ticks: u32,
    edge: Edge,
    /// Whether the knob has to be turned for it.
    is_turned: bool,
}

impl Found {
    /// One that breaks, while nothing is known of milder ones.
    fn new(evidence: &Evidence, ticks: u32) -> Self {
        Self { evidence: evidence.clone(), ticks, edge: Edge::Undecided, is_turned: true }
    }
}

/// How long the scenario lets a fault last.
fn bound(scenario: &Scenario, fault: Fault) -> Option<u32> {
    let settings = &scenario.settings;
    let most = match fault {
        Fault::Pause => settings.longest_pause,
        Fault::Delay => settings.longest_delay,
        Fault::Partition => settings.longest_partition,
        Fault::DropRequest
        | Fault::DropReply
        | Fault::Duplicate
        | Fault::Crash
        | Fault::Restart
        | Fault::Jump
        | Fault::Drift
        | Fault::Failover
        | Fault::Evict
        | Fault::Cancel => None,
    };
    most.map(|most| most.0)
}
