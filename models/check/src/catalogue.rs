//! The scenarios that come with the lab. They are files like any other, embedded in the binary.

use crate::scenario::{Scenario, ScenarioErrors};

/// The files, by family and in the order in which they are listed.
const FILES: &[(&str, &str)] = &[("redlock.toml", include_str!("../catalogue/redlock.toml"))];

/// All scenarios, by family and in the order in which they are listed.
///
/// # Errors
///
/// If an embedded file is not a scenario, which a test rules out.
pub fn all() -> Result<Vec<Scenario>, ScenarioErrors> {
    FILES.iter().map(|(name, text)| Scenario::parse(name, text.as_bytes())).collect()
}

/// The scenario of an id.
///
/// # Errors
///
/// As for [`all`].
pub fn find(id: &str) -> Result<Option<Scenario>, ScenarioErrors> {
    match FILES.iter().find(|(name, _)| name.strip_suffix(".toml") == Some(id)) {
        Some((name, text)) => Scenario::parse(name, text.as_bytes()).map(Some),
        None => Ok(None),
    }
}

/// The ids of all scenarios, in the order in which they are listed.
pub fn ids() -> impl Iterator<Item = &'static str> {
    FILES.iter().filter_map(|(name, _)| name.strip_suffix(".toml"))
}

/// The text of the file of an id.
pub fn text(id: &str) -> Option<&'static str> {
    FILES.iter().find(|(name, _)| name.strip_suffix(".toml") == Some(id)).map(|(_, text)| *text)
}
