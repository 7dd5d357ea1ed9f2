//! The values of a knob near the one that it has.

use super::form::{Form, Given};
use super::knobs::{Knob, Settings};

/// Another value of a knob.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Other {
    /// The value, as TOML.
    pub value: String,
    /// How far it is from the value that counts: for a number, the difference; otherwise 1.
    pub distance: u32,
}

impl Knob {
    /// The other values worth trying, nearest first: every other word, or numbers around the one that counts.
    ///
    /// A number has one and two less, one and two more, and its double as neighbours, and the word that may stand for
    /// it. Where that word stands, they are the three least numbers. A latency and lists of locks have none.
    pub fn others(&self, settings: &Settings) -> Vec<Other> {
        let now = self.get(settings);
        let word = |name: &str| Other { value: format!("\"{name}\""), distance: 1 };
        let mut others: Vec<Other> = match &self.form {
            Form::Words(words) => words.iter().map(|w| word(w.name)).collect(),
            Form::Flag => ["false", "true"].map(|flag| Other { value: flag.to_owned(), distance: 1 }).into(),
            Form::Number { least, most, or, .. } => {
                let numbers = numbers(Given::from_text(&now), *least, *most);
                numbers.into_iter().chain(or.map(|w| word(w.name))).collect()
            }
            Form::Latency | Form::Resources => Vec::new(),
        };
        others.retain(|other| other.value != now);
        others.sort_by_key(|other| other.distance);
        others
    }
}

/// The numbers near a value, in ascending order.
fn numbers(now: Given, least: u32, most: u32) -> Vec<Other> {
    let number = match now {
        Given::Number(number) => u32::try_from(number).ok(),
        Given::Word(_) | Given::Flag(_) | Given::List(_) | Given::Other(_) => None,
    };
    let near: Vec<u32> = match number {
        Some(n) => [n.checked_sub(2), n.checked_sub(1), n.checked_add(1), n.checked_add(2), n.checked_mul(2)]
            .into_iter()
            .flatten()
            .collect(),
        None => (least..=most).take(3).collect(),
    };
    let distance = |n: u32| number.map_or(1, |now| now.abs_diff(n));
    let mut all: Vec<u32> = near.into_iter().filter(|n| (least..=most).contains(n)).collect();
    all.sort_unstable();
    all.dedup();
    all.into_iter().map(|n| Other { value: n.to_string(), distance: distance(n) }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{KNOBS, Scenario};

    fn others(key: &str, sets: &[&str]) -> Vec<(String, u32)> {
        let mut scenario = Scenario::new("own", "Own");
        sets.iter().for_each(|set| scenario.set(set).unwrap());
        let knob = Knob::named(key).unwrap();
        knob.others(&scenario.settings).into_iter().map(|other| (other.value, other.distance)).collect()
    }

    fn told(key: &str, sets: &[&str]) -> String {
        let told: Vec<_> =
            others(key, sets).into_iter().map(|(value, distance)| format!("{value}:{distance}")).collect();
        told.join(" ")
    }

    #[test]
    fn a_number_has_neighbours_within_its_bounds() {
        assert_eq!(told("ttl", &[]), "2:1 4:1 \"none\":1 1:2 5:2 6:3");
        assert_eq!(told("ttl", &["ttl=1"]), "2:1 \"none\":1 3:2");
        assert_eq!(told("ttl", &["ttl=60"]), "59:1 \"none\":1 58:2");
        assert_eq!(told("ttl", &["ttl=none"]), "1:1 2:1 3:1");
        assert_eq!(told("margin", &[]), "1:1 2:2");
        // One that follows from other knobs counts as it stands.
        assert_eq!(told("timeout", &["latency=2"]), "4:1 6:1 3:2 7:2 10:5");
    }

    #[test]
    fn a_word_has_all_others() {
        assert_eq!(told("holder", &[]), "\"naive\":1 \"checks-then-acts\":1");
        assert_eq!(told("fallback_poll", &[]), "false:1");
        assert_eq!(told("latency", &[]), "");
    }

    #[test]
    fn every_other_value_can_be_set_and_is_another() {
        for knob in KNOBS {
            for other in knob.others(&Scenario::new("own", "Own").settings) {
                let mut scenario = Scenario::new("own", "Own");
                scenario.set(&format!("{}={}", knob.key, other.value)).unwrap();
                assert_eq!(knob.get(&scenario.settings), other.value);
                assert!(other.distance > 0);
            }
        }
    }
}
