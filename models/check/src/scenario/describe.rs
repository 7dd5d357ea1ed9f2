//! Scenarios explained, and compared with one another.

use super::knobs::{KNOBS, Knob, Settings};
use super::names::Named;
use super::{Row, Scenario};

/// A knob as a scenario has it.
#[derive(Clone, Debug)]
pub struct Described {
    /// The knob.
    pub knob: &'static Knob,
    /// The value that counts, as TOML.
    pub value: String,
    /// What this value means, if it is a word.
    pub meaning: Option<&'static str>,
    /// Whether it is left to the default.
    pub is_default: bool,
}

/// A key in which two scenarios differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The key with its section.
    pub key: String,
    /// The value of the one, as TOML.
    pub left: String,
    /// The value of the other.
    pub right: String,
}

impl Scenario {
    /// Every knob with its value, in the documented order.
    pub fn describe(&self) -> Vec<Described> {
        KNOBS.iter().map(|knob| self.settings.describe(knob)).collect()
    }

    /// The keys in which two scenarios differ, in the documented order: knobs, faults, then whole rows.
    ///
    /// A default that follows from another knob is no difference of its own. What they expect, and how they are
    /// called, is not compared.
    pub fn differences(&self, other: &Self) -> Vec<Difference> {
        let mut differences = knob_differences(&self.settings, &other.settings);
        for fault in world::Fault::ALL {
            let (left, right) = (self.faults.get(fault), other.faults.get(fault));
            if left != right {
                let key = format!("faults.{}", fault.name());
                differences.push(Difference { key, left: left.to_string(), right: right.to_string() });
            }
        }
        for index in 0..self.rows.len().max(other.rows.len()) {
            let (left, right) = (self.rows.get(index), other.rows.get(index));
            if !left.zip(right).is_some_and(|(l, r)| l.changes_as(r)) {
                let title = |row: Option<&Row>| row.map_or("none".to_owned(), |r| format!("\"{}\"", r.title));
                let key = format!("row {}", index + 1);
                differences.push(Difference { key, left: title(left), right: title(right) });
            }
        }
        differences
    }
}

impl Settings {
    fn describe(&self, knob: &'static Knob) -> Described {
        let value = knob.get(self);
        let meaning = knob.form.meaning(&value);
        Described { knob, value, meaning, is_default: knob.stated(self).is_none() }
    }
}

impl Row {
    /// Whether it sets the same keys to the same values, and has the same faults.
    fn changes_as(&self, other: &Self) -> bool {
        let changes = |row: &Self| {
            let set = KNOBS.iter().filter(|k| row.set.contains(&k.key));
            set.map(|k| (k.key, k.get(&row.settings))).collect::<Vec<_>>()
        };
        changes(self) == changes(other) && self.faults == other.faults
    }
}

fn knob_differences(left: &Settings, right: &Settings) -> Vec<Difference> {
    let differs = |knob: &&Knob| knob.stated(left) != knob.stated(right) && knob.get(left) != knob.get(right);
    let difference = |knob: &Knob| Difference { key: knob.path(), left: knob.get(left), right: knob.get(right) };
    KNOBS.iter().filter(differs).map(difference).collect()
}
