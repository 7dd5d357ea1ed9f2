//! Results that need not be computed again.
//!
//! A check is a function of the scenario, of what is asked about it and of the program. An entry therefore belongs to
//! the canonical text of a scenario, the properties and witnesses asked for, and a fingerprint of the running program
//! itself: whatever is changed in the models, in a library or in the compiler makes another program, which reads none of
//! the old entries. A result that a limit cut short is never kept.
//!
//! Nobody who can write into the folder is kept from lying; what is damaged by accident is found by a checksum, and
//! computed anew.

use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use check::scenario::{Named, Property, Scenario, Verdict};
use check::{Limits, States};
use serde::{Deserialize, Serialize};

use crate::failure::{reason, shown};
use crate::output::tell;

/// The first line of an entry. Counted up when the form of entries changes.
const HEADER: &str = "lock-lab result 1";
/// An entry is far smaller.
const MAX_BYTES: u64 = 1 << 20;

/// How the cache is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    /// Entries are read and written.
    Full,
    /// Entries are written anew.
    Refresh,
    /// Not at all.
    Off,
}

/// A folder of entries.
#[derive(Debug)]
pub(crate) struct Cache {
    /// The folder; none: there is no cache.
    folder: Option<PathBuf>,
    lab: String,
    is_read: bool,
    is_quiet: bool,
}

/// What is kept of a check that was exhausted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Kept {
    /// For each property its name, its verdict and, if it is violated, the steps of the shortest trace.
    properties: Vec<(String, String, Option<usize>)>,
    unique: u64,
    generated: u64,
    depth: u32,
    /// The required witnesses that were never reached.
    pub(crate) unreached: Vec<String>,
}

impl Kept {
    /// To be kept.
    pub(crate) fn new(properties: &[(Property, Verdict, Option<usize>)], states: States, unreached: &[String]) -> Self {
        let name = |(property, verdict, steps): &(Property, Verdict, Option<usize>)| {
            (property.name().to_owned(), verdict.name().to_owned(), *steps)
        };
        Self {
            properties: properties.iter().map(name).collect(),
            unique: states.unique,
            generated: states.generated,
            depth: states.depth,
            unreached: unreached.to_vec(),
        }
    }

    /// The verdicts, if they are verdicts that an exhausted search can give.
    pub(crate) fn verdicts(&self) -> Option<Vec<(Property, Verdict, Option<usize>)>> {
        let verdict = |(property, verdict, steps): &(String, String, Option<usize>)| {
            let (property, verdict) = (Property::named(property)?, Verdict::named(verdict)?);
            let is_possible = match verdict {
                Verdict::Violated => steps.is_some(),
                Verdict::Holds | Verdict::Vacuous => steps.is_none(),
                Verdict::Inconclusive => false,
            };
            is_possible.then_some((property, verdict, *steps))
        };
        self.properties.iter().map(verdict).collect()
    }

    /// The size of the space.
    pub(crate) fn states(&self) -> States {
        States { unique: self.unique, generated: self.generated, depth: self.depth }
    }
}

/// All that a result depends on.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Key {
    lab: String,
    scenario: String,
    asked: Vec<String>,
    witnesses: Vec<String>,
}

#[derive(Serialize, Deserialize)]
struct Entry {
    key: Key,
    result: Kept,
}

impl Cache {
    /// The cache of this user and this program.
    pub(crate) fn open(how: Use, is_quiet: bool) -> Self {
        let is_read = how == Use::Full;
        let off = Self { folder: None, lab: String::new(), is_read, is_quiet };
        if how == Use::Off {
            return off;
        }
        let Some(folder) = folder() else { return off };
        match fingerprint() {
            Ok(lab) => Self { folder: Some(folder.join(&lab)), lab, ..off },
            // Without knowing which program it is, no entry can be trusted.
            Err(error) => {
                off.warn(&format!("no results are kept: cannot read the program itself: {}", reason(&error)));
                off
            }
        }
    }

    /// What is kept of a check, if it is intact.
    pub(crate) fn get(&self, scenario: &Scenario) -> Option<Kept> {
        let folder = self.folder.as_ref().filter(|_| self.is_read)?;
        let key = self.key(scenario);
        let mut text = String::new();
        File::open(folder.join(key.file())).ok()?.take(MAX_BYTES).read_to_string(&mut text).ok()?;
        let (header, rest) = text.split_once('\n')?;
        let (sum, body) = rest.split_once('\n')?;
        if header != HEADER || sum != sum_of(body) {
            return None;
        }
        let entry: Entry = serde_json::from_str(body).ok()?;
        let asked: Vec<String> = entry.result.properties.iter().map(|(name, _, _)| name.clone()).collect();
        (entry.key == key && asked == key.asked && entry.result.verdicts().is_some()).then_some(entry.result)
    }

    /// Keeps the result of a check that was exhausted.
    pub(crate) fn put(&mut self, scenario: &Scenario, result: Kept) {
        let Some(folder) = &self.folder else { return };
        let key = self.key(scenario);
        if let Err(error) = write(folder, &key.file(), &Entry { key, result }) {
            let folder = shown(&folder.to_string_lossy());
            self.warn(&format!("no results are kept: cannot write into {folder}: {}", reason(&error)));
            // It would fail again for each of them.
            self.folder = None;
        }
    }

    fn key(&self, scenario: &Scenario) -> Key {
        let asked = check::asked(scenario, &Limits::default());
        Key {
            lab: self.lab.clone(),
            scenario: scenario.canonical(),
            asked: asked.iter().map(|property| property.name().to_owned()).collect(),
            witnesses: scenario.witnesses.iter().map(|witness| witness.name().to_owned()).collect(),
        }
    }

    fn warn(&self, text: &str) {
        if !self.is_quiet {
            tell(&format!("warning: {text}\n"));
        }
    }
}

impl Key {
    fn file(&self) -> String {
        let text = [&self.scenario, &self.asked.join(","), &self.witnesses.join(",")].map(String::as_str).join("\n");
        format!("{}.json", sum_of(&text))
    }
}

/// Writes an entry so that nobody ever reads half of one.
fn write(folder: &Path, name: &str, entry: &Entry) -> io::Result<()> {
    let body = serde_json::to_string(entry).map_err(io::Error::other)?;
    let text = format!("{HEADER}\n{}\n{body}", sum_of(&body));
    fs::create_dir_all(folder)?;
    let draft = folder.join(format!("{name}.{}", std::process::id()));
    let written = fs::write(&draft, text).and_then(|()| fs::rename(&draft, folder.join(name)));
    if written.is_err() {
        // Nothing more can be done about what is left over.
        let _ = fs::remove_file(&draft);
    }
    written
}

/// Where this user's programs keep what can be computed again; none if the environment does not say.
fn folder() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(folder) = set("LAB_CACHE") {
        return Some(folder);
    }
    let of_the_user = set("XDG_CACHE_HOME").filter(|folder| folder.is_absolute());
    let folder = of_the_user.or_else(|| set("HOME").map(|home| home.join(".cache")));
    folder.map(|folder| folder.join("lock-lab"))
}

/// A hash of the running program.
fn fingerprint() -> io::Result<String> {
    // On Linux this is the file that runs, even if another one was put in its place since.
    let itself = Path::new("/proc/self/exe");
    let path = if itself.exists() { itself.to_owned() } else { std::env::current_exe()? };
    let mut file = File::open(path)?;
    let mut hasher = DefaultHasher::new();
    let mut block = vec![0; 1 << 16];
    loop {
        match file.read(&mut block)? {
            0 => return Ok(format!("{}-{:016x}", env!("CARGO_PKG_VERSION"), hasher.finish())),
            length => hasher.write(&block[..length]),
        }
    }
}

fn sum_of(text: &str) -> String {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}
