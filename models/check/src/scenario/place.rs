//! Where each key of a scenario was said, so that a refusal can point there.

use std::collections::BTreeMap;

use super::error::Place;

/// Who said it. The later one wins, and is to blame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum By {
    Base,
    Row,
    Option,
}

/// The places of keys: knobs by their key, other keys with their section.
#[derive(Clone, Debug)]
pub(super) struct Places {
    /// The place of whatever has none.
    whole: Place,
    keys: BTreeMap<String, (By, Place)>,
}

impl Places {
    pub(super) fn new(source: &str) -> Self {
        Self::at(Place::whole(source))
    }

    pub(super) fn at(whole: Place) -> Self {
        Self { whole, keys: BTreeMap::new() }
    }

    pub(super) fn put(&mut self, key: &str, by: By, place: Place) {
        self.keys.insert(key.to_owned(), (by, place));
    }

    /// The places of a row, over those of its scenario.
    pub(super) fn with(&self, row: &Self) -> Self {
        let mut keys = self.keys.clone();
        keys.extend(row.keys.clone());
        Self { whole: row.whole.clone(), keys }
    }

    /// The place to point to for a complaint about these keys: the latest that one of them was said, by the command
    /// line, then by a row, then by the scenario; among equals the place of the first key.
    pub(super) fn of(&self, keys: &[String]) -> Place {
        let latest = self.keys_of(keys).map(|(by, _)| *by).max();
        let place = self.keys_of(keys).find(|(by, _)| Some(*by) == latest);
        place.map_or_else(|| self.whole.clone(), |(_, place)| place.clone())
    }

    fn keys_of<'a>(&'a self, keys: &'a [String]) -> impl Iterator<Item = &'a (By, Place)> {
        keys.iter().filter_map(|k| self.keys.get(k))
    }
}
