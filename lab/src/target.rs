//! From what somebody typed to a scenario: a name of the catalogue, or a file.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use check::catalogue;
use check::scenario::{MAX_BYTES, Scenario};

use crate::args::Changes;
use crate::failure::{Failure, shown};

/// A scenario, and what it was called by.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    /// As it was typed: a name or a path.
    pub(crate) called: String,
    /// Its file.
    pub(crate) text: String,
    /// The scenario.
    pub(crate) scenario: Scenario,
}

impl Target {
    /// Finds a scenario by name or path.
    pub(crate) fn find(called: &str) -> Result<Self, Failure> {
        let path = Path::new(called);
        let is_path = called.contains(['/', std::path::MAIN_SEPARATOR]) || called.ends_with(".toml");
        if !is_path && let Some(target) = Self::built_in(called)? {
            return Ok(target);
        }
        if is_path || path.exists() { Self::file(called, path) } else { Err(unknown(called)) }
    }

    /// All of the catalogue.
    pub(crate) fn all() -> Result<Vec<Self>, Failure> {
        catalogue::ids().filter_map(|id| Self::built_in(id).transpose()).collect()
    }

    fn built_in(id: &str) -> Result<Option<Self>, Failure> {
        let found = catalogue::find(id).map_err(|errors| Failure::Bug(errors.to_string()))?;
        let text = catalogue::text(id).unwrap_or_default().to_owned();
        Ok(found.map(|scenario| Self { called: id.to_owned(), text, scenario }))
    }

    fn file(called: &str, path: &Path) -> Result<Self, Failure> {
        if path.is_dir() {
            return Err(Failure::input(format!("cannot read {}: it is a folder, not a scenario file", shown(called))));
        }
        let mut bytes = Vec::new();
        let read = File::open(path).and_then(|file| file.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes));
        if let Err(error) = read {
            let failure = Failure::io("read", path, &error);
            let id = called.strip_suffix(".toml").filter(|id| catalogue::ids().any(|known| known == *id));
            return Err(match (failure, id) {
                (Failure::Input(messages), Some(id)) => Failure::Input(
                    messages
                        .into_iter()
                        .map(|m| format!("{m}\n  help: the one that comes with the lab is {id}"))
                        .collect(),
                ),
                (failure, _) => failure,
            });
        }
        let scenario = Scenario::parse(called, &bytes).map_err(|errors| Failure::scenario(&errors, None))?;
        Ok(Self { called: called.to_owned(), text: String::from_utf8_lossy(&bytes).into_owned(), scenario })
    }

    /// Does what the command line says.
    pub(crate) fn change(&mut self, changes: &Changes) -> Result<(), Failure> {
        for assignment in &changes.set {
            self.scenario.set(assignment).map_err(|errors| Failure::scenario(&errors, None))?;
        }
        if let Some(grain) = changes.grain {
            self.scenario.set(&format!("grain={grain}")).map_err(|errors| Failure::scenario(&errors, None))?;
        }
        if let Some(faults) = &changes.faults {
            self.scenario.set_faults(faults).map_err(|errors| Failure::scenario(&errors, None))?;
        }
        Ok(())
    }
}

/// How near a name must be to be suggested, from 0 to 1.
const NEAR: f64 = 0.75;
/// How many names are suggested.
const SUGGESTED: usize = 3;

fn unknown(called: &str) -> Failure {
    let wanted = called.to_lowercase();
    let mut near: Vec<(f64, &str)> = catalogue::ids()
        .map(|id| {
            let is_part = wanted.len() >= 3 && (id.contains(&wanted) || wanted.contains(id));
            (if is_part { 1.0 } else { strsim::jaro_winkler(&wanted, id) }, id)
        })
        .filter(|(likeness, _)| *likeness >= NEAR)
        .collect();
    near.sort_by(|(left, a), (right, b)| right.total_cmp(left).then(a.cmp(b)));
    let names: Vec<&str> = near.iter().take(SUGGESTED).map(|(_, id)| *id).collect();
    let list = "`lab list` shows all scenarios; a file is named with .toml, or with a / in its path";
    let help = match names.as_slice() {
        [] => list.to_owned(),
        [one] => format!("did you mean {one}? {list}"),
        [first @ .., last] => format!("did you mean {} or {last}? {list}", first.join(", ")),
    };
    Failure::input(format!("unknown scenario {}\n  help: {help}", shown(called)))
}
