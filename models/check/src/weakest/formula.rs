//! How a magnitude depends on the numbers of the scenario.
//!
//! The numbers are made greater by one and by two, and everything is measured anew. A formula is what agrees with all of
//! these measurements, and with one more in which several numbers were changed at once.

use core::fmt;

use protocol::{Holder, Renewal};
use world::{Budget, Fault, Persistence};

use super::measure::{Again, Edge, Magnitude, Side, measure_again};
use super::runs::Runs;
use super::{Runner, set, with};
use crate::scenario::{Latency, Property, Scenario, Settings};

/// What is known of how a magnitude depends on the numbers of the scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Law {
    /// Nobody asked, or the magnitude itself is not known exactly.
    NotAsked,
    /// Every measurement agrees with this.
    Linear(Formula),
    /// No sum of the numbers agrees with all measurements.
    Irregular,
    /// It would take more states than may be visited.
    Undecided,
}

/// A sum of multiples of the scenario's numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Formula {
    /// How often each number is added, without those that make no difference.
    pub terms: Vec<(i64, &'static str)>,
    /// What is added to them.
    pub constant: i64,
    /// The numbers that were changed.
    pub varied: Vec<&'static str>,
    /// How many scenarios it was measured in, the one that was asked about included.
    pub scenarios: usize,
}

impl fmt::Display for Formula {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // What is added comes before what is taken off.
        let (plus, minus): (Vec<_>, Vec<_>) = self.terms.iter().copied().partition(|(times, _)| *times > 0);
        let mut parts = Vec::new();
        for (times, key) in plus.into_iter().chain(minus) {
            let name = if key == "ttl" { "TTL" } else { key };
            let many = times.unsigned_abs();
            parts.push((times < 0, if many == 1 { name.to_owned() } else { format!("{many} {name}") }));
        }
        if self.constant != 0 || parts.is_empty() {
            parts.push((self.constant < 0, self.constant.unsigned_abs().to_string()));
        }
        for (at, (is_minus, part)) in parts.iter().enumerate() {
            match (at, is_minus) {
                (0, false) => write!(f, "{part}")?,
                (0, true) => write!(f, "-{part}")?,
                (_, false) => write!(f, " + {part}")?,
                (_, true) => write!(f, " - {part}")?,
            }
        }
        Ok(())
    }
}

/// Changes of the numbers of a scenario.
type Changes = Vec<(&'static str, u32)>;

/// By how much the time to live is raised where another number is, so that there is room for it.
const ROOM: u32 = 2;

/// The law of each magnitude of a set.
pub(super) fn laws(
    runs: &mut Runs<'_, impl Runner>,
    base: &Scenario,
    faults: Budget,
    property: Property,
    group: &[Property],
    magnitudes: &[Magnitude],
) -> Vec<Law> {
    let all = |law: Law| vec![law; magnitudes.len()];
    let is_known = |m: &Magnitude| match m.edge {
        Edge::Holds => true,
        Edge::Mildest => m.side == Side::Least,
        Edge::Undecided => false,
    };
    if magnitudes.is_empty() || !magnitudes.iter().all(is_known) {
        return all(Law::NotAsked);
    }
    let keys = keys(base, faults);
    // Each point takes at least one check that breaks and one that does not, in a somewhat larger space.
    let needed = 4 * 2 * (keys.len() as u64 + 1) * runs.largest(&faults);
    if !runs.has_room_for(needed) {
        return all(Law::Undecided);
    }
    let start = magnitudes.iter().map(|m| m.ticks.into()).collect();
    let mut fit = Fit { runs, base, faults, property, group, scenarios: 1 };
    match fit.fit(&keys, start) {
        Ok(formulas) => formulas.into_iter().map(Law::Linear).collect(),
        Err(law) => all(law),
    }
}

struct Fit<'r, 'a, R> {
    runs: &'r mut Runs<'a, R>,
    base: &'r Scenario,
    faults: Budget,
    property: Property,
    group: &'r [Property],
    scenarios: usize,
}

impl<R: Runner> Fit<'_, '_, R> {
    fn fit(&mut self, keys: &[&'static str], start: Vec<i64>) -> Result<Vec<Formula>, Law> {
        let mut slopes: Vec<(&'static str, Vec<i64>)> = Vec::new();
        let mut room = Changes::new();
        let mut at_room = start.clone();
        if keys.contains(&"ttl") {
            let one = self.at(&[("ttl", 1)])?.ok_or(Law::Undecided)?;
            room = vec![("ttl", ROOM)];
            at_room = self.at(&room)?.ok_or(Law::Undecided)?;
            let slope = differences(&one, &start);
            agrees(&at_room, &start, &slope, i64::from(ROOM))?;
            slopes.push(("ttl", slope));
        }
        let mut together = room.clone();
        for key in keys.iter().filter(|key| **key != "ttl") {
            // A number that cannot be raised is left as it is.
            let Some(one) = self.at(&and(&room, key, 1))? else { continue };
            let slope = differences(&one, &at_room);
            if let Some(two) = self.at(&and(&room, key, 2))? {
                agrees(&two, &at_room, &slope, 2)?;
            }
            together.push((key, 1));
            slopes.push((key, slope));
        }
        if together.len() > room.len() + 1
            && let Some(found) = self.at(&together)?
        {
            let others = slopes.iter().filter(|(key, _)| *key != "ttl");
            let sum = others.fold(vec![0; start.len()], |sum, (_, slope)| added(&sum, slope));
            agrees(&found, &at_room, &sum, 1)?;
        }
        Ok((0..start.len()).map(|at| self.formula(start[at], at, &slopes)).collect())
    }

    fn formula(&self, value: i64, at: usize, slopes: &[(&'static str, Vec<i64>)]) -> Formula {
        let all = || slopes.iter().map(|(key, slope)| (slope[at], *key));
        let number = |key| i64::from(number(&self.base.settings, key).unwrap_or(0));
        Formula {
            terms: all().filter(|(times, _)| *times != 0).collect(),
            constant: value - all().map(|(times, key)| times * number(key)).sum::<i64>(),
            varied: all().map(|(_, key)| key).collect(),
            scenarios: self.scenarios,
        }
    }

    /// The magnitudes with some numbers changed; none if that is refused.
    fn at(&mut self, changes: &[(&'static str, u32)]) -> Result<Option<Vec<i64>>, Law> {
        let mut scenario = self.base.clone();
        let is_set = changes.iter().all(|(key, more)| raise(&mut scenario, key, *more));
        if !is_set || with(&scenario, self.faults).resolve().is_err() {
            return Ok(None);
        }
        self.scenarios += 1;
        match measure_again(self.runs, &scenario, self.faults, self.property, self.group) {
            Again::Known(values) => Ok(Some(values.into_iter().map(i64::from).collect())),
            Again::Holds => Err(Law::Irregular),
            Again::Undecided => Err(Law::Undecided),
        }
    }
}

fn and(changes: &Changes, key: &'static str, more: u32) -> Changes {
    changes.iter().copied().chain([(key, more)]).collect()
}

fn differences(left: &[i64], right: &[i64]) -> Vec<i64> {
    left.iter().zip(right).map(|(l, r)| l - r).collect()
}

fn added(left: &[i64], right: &[i64]) -> Vec<i64> {
    left.iter().zip(right).map(|(l, r)| l + r).collect()
}

/// Whether values are what slopes make of others.
fn agrees(found: &[i64], from: &[i64], slope: &[i64], times: i64) -> Result<(), Law> {
    let expected: Vec<i64> = from.iter().zip(slope).map(|(value, slope)| value + times * slope).collect();
    if found == expected { Ok(()) } else { Err(Law::Irregular) }
}

/// The numbers on which a magnitude can depend, the time to live first.
fn keys(scenario: &Scenario, faults: Budget) -> Vec<&'static str> {
    let settings = &scenario.settings;
    let is_clocked = settings.holder == Holder::Clocked && settings.ttl.is_some();
    let is_saved = faults.get(Fault::Restart) > 0 && settings.persistence == Persistence::EverySecond;
    let keys = [
        ("ttl", settings.ttl.is_some()),
        ("margin", is_clocked),
        ("work", true),
        ("latency", settings.latency.greatest.0 > 0),
        ("timeout", settings.timeout.is_some()),
        ("drift_ticks", settings.drift_ticks.0 > 0),
        ("renew_every", settings.renewal != Renewal::Never),
        ("retry_delay", true),
        ("give_up_after", settings.give_up_after.is_some()),
        ("fsync_every", is_saved),
        ("offset", settings.offset.0 > 0),
    ];
    keys.into_iter().filter(|(_, counts)| *counts).map(|(key, _)| key).collect()
}

/// The keys of the numbers that are counted in ticks.
pub const TICKS: [&str; 11] = [
    "ttl",
    "margin",
    "work",
    "latency",
    "timeout",
    "drift_ticks",
    "renew_every",
    "retry_delay",
    "give_up_after",
    "fsync_every",
    "offset",
];

/// How many ticks one of the numbers of [`TICKS`] is, of the latency the greatest; none if there is no limit.
pub fn number(settings: &Settings, key: &str) -> Option<u32> {
    match key {
        "ttl" => settings.ttl.map(|t| t.0),
        "margin" => Some(settings.margin.0),
        "work" => Some(settings.work.0),
        "latency" => Some(settings.latency.greatest.0),
        "timeout" => Some(settings.timeout().0),
        "drift_ticks" => Some(settings.drift_ticks.0),
        "renew_every" => Some(settings.renew_every.0),
        "retry_delay" => Some(settings.retry_delay.0),
        "give_up_after" => settings.give_up_after.map(|t| t.0),
        "fsync_every" => Some(settings.fsync_every.0),
        "offset" => Some(settings.offset.0),
        _ => None,
    }
}

fn raise(scenario: &mut Scenario, key: &str, more: u32) -> bool {
    if key == "latency" {
        let Latency { least, greatest } = scenario.settings.latency;
        return scenario.set(&format!("latency=[{}, {}]", least.0, greatest.0 + more)).is_ok();
    }
    number(&scenario.settings, key).is_some_and(|number| set(scenario, key, number + more))
}

#[cfg(test)]
mod tests {
    use super::Formula;

    #[test]
    fn a_formula_reads_as_one_writes_it() {
        let told = |terms: &[(i64, &'static str)], constant| {
            Formula { terms: terms.to_vec(), constant, varied: Vec::new(), scenarios: 1 }.to_string()
        };
        assert_eq!(told(&[(1, "ttl"), (-1, "margin")], 0), "TTL - margin");
        assert_eq!(told(&[(-1, "margin"), (2, "latency")], 1), "2 latency - margin + 1");
        assert_eq!(told(&[(-1, "work")], -2), "-work - 2");
        assert_eq!(told(&[], 3), "3");
        assert_eq!(told(&[], 0), "0");
    }
}
