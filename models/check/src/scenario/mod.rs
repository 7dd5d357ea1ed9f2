//! Scenarios: a lock, a world, faults, and the verdicts that are expected, as one TOML file.
//!
//! A file goes through [`Scenario::parse`], perhaps [`Scenario::set`] and [`Scenario::set_faults`] (`--set`,
//! `--faults`), then [`Scenario::expand`] (a sheet has several rows) and [`Scenario::resolve`], which gives the
//! [`world::Setup`] to explore. Everything that is known of a knob stands in [`KNOBS`], every combination that is
//! refused in [`RULES`].

mod describe;
mod error;
mod expect;
mod form;
mod knobs;
mod names;
mod near;
mod options;
mod others;
mod parse;
mod place;
mod profile;
mod refuse;
mod resolve;
#[cfg(test)]
mod tests;
mod write;

use world::Budget;

pub use describe::{Described, Difference};
pub use error::{Place, Problem, ScenarioError, ScenarioErrors};
pub use expect::{Property, Verdict, Witness};
pub use form::{Form, Latency, MAX_LATENCY, MAX_NAME, MAX_TICKS, Quorum, Resources};
pub use knobs::{Hand, KNOBS, Knob, MAX_REPLICAS, MAX_UPDATES, MAX_WRITES, Section, Settings};
pub use names::{GrainChoice, Named, RetryKind, Word};
pub use others::Other;
pub use parse::{MAX_BUDGET, MAX_BYTES, MAX_ROWS, SCHEMA};
use place::Places;
pub use profile::{Profile, Said};
pub use refuse::{RULES, Rule};

/// A lock, a world, faults and expected verdicts. With rows it is a sheet: a check for each row.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// The name by which it is called.
    pub id: String,
    /// The name by which it is shown. Of an expanded row: the title of the row.
    pub title: String,
    /// What it shows, in two sentences; may be empty.
    pub about: String,
    /// The scenarios with which it is listed.
    pub family: String,
    /// Where it was first described.
    pub source: Option<String>,
    /// The other half of a broken and repaired pair, by its id.
    pub pair: Option<String>,
    /// The knobs.
    pub settings: Settings,
    /// The faults that may happen.
    pub faults: Budget,
    /// What should come out, each property once, in the documented order.
    pub expect: Vec<(Property, Verdict)>,
    /// What must be reached besides what every scenario must reach, in the documented order.
    pub witnesses: Vec<Witness>,
    /// The library that it describes, if it is the profile of one.
    pub profile: Option<Profile>,
    /// The checks of a sheet; none if the scenario is one check.
    pub rows: Vec<Row>,
    overridden: bool,
    /// The title of the sheet that it is a row of.
    sheet: Option<String>,
    places: Places,
}

/// One check of a sheet.
#[derive(Clone, Debug)]
pub struct Row {
    /// How it is shown. No other row has the same title.
    pub title: String,
    /// The keys that it sets, in the documented order.
    pub set: Vec<&'static str>,
    /// All knobs, those of the scenario included.
    pub settings: Settings,
    /// The faults that may happen instead of those of the scenario, if it says so.
    pub faults: Option<Budget>,
    /// What should come out instead of what the scenario expects, if it says so.
    pub expect: Option<Vec<(Property, Verdict)>>,
    /// The witnesses instead of those of the scenario, if it says so.
    pub witnesses: Option<Vec<Witness>>,
    places: Places,
}

impl Scenario {
    /// A scenario with the default of every knob, no faults and no expectation.
    pub fn new(id: &str, title: &str) -> Self {
        Self {
            id: id.to_owned(),
            title: title.to_owned(),
            about: String::new(),
            family: "own".to_owned(),
            source: None,
            pair: None,
            settings: Settings::default(),
            faults: Budget::default(),
            expect: Vec::new(),
            witnesses: Vec::new(),
            profile: None,
            rows: Vec::new(),
            overridden: false,
            sheet: None,
            places: Places::new(id),
        }
    }

    /// Its checks: one for each row, or itself if there are no rows.
    pub fn expand(&self) -> Vec<Self> {
        if self.rows.is_empty() { vec![self.clone()] } else { self.rows.iter().map(|r| self.with(r)).collect() }
    }

    /// The check of one row, counted from zero.
    pub fn row(&self, index: usize) -> Option<Self> {
        self.rows.get(index).map(|r| self.with(r))
    }

    fn with(&self, row: &Row) -> Self {
        Self {
            id: self.id.clone(),
            title: row.title.clone(),
            about: self.about.clone(),
            family: self.family.clone(),
            source: self.source.clone(),
            pair: self.pair.clone(),
            settings: row.settings.clone(),
            faults: row.faults.unwrap_or(self.faults),
            expect: row.expect.clone().unwrap_or_else(|| self.expect.clone()),
            witnesses: row.witnesses.clone().unwrap_or_else(|| self.witnesses.clone()),
            profile: self.profile.clone(),
            rows: Vec::new(),
            overridden: self.overridden,
            sheet: Some(self.title.clone()),
            places: self.places.with(&row.places),
        }
    }

    /// The title where it stands alone: of a row, with that of its sheet.
    pub fn full_title(&self) -> String {
        match &self.sheet {
            Some(sheet) => format!("{sheet}: {}", self.title),
            None => self.title.clone(),
        }
    }

    /// Whether the command line changed it, so that what it expects was said of another scenario.
    pub fn is_overridden(&self) -> bool {
        self.overridden
    }

    /// The verdict that is expected of a property.
    pub fn expected(&self, property: Property) -> Option<Verdict> {
        self.expect.iter().find(|(p, _)| *p == property).map(|(_, v)| *v)
    }
}

/// Two scenarios are the same if they say the same, wherever they were read from.
impl PartialEq for Scenario {
    fn eq(&self, other: &Self) -> bool {
        let Self {
            id,
            title,
            about,
            family,
            source,
            pair,
            settings,
            faults,
            expect,
            witnesses,
            profile,
            rows,
            overridden,
            places: _,
            sheet: _,
        } = self;
        (id, title, about, family, source, pair)
            == (&other.id, &other.title, &other.about, &other.family, &other.source, &other.pair)
            && (settings, faults, expect, witnesses)
                == (&other.settings, &other.faults, &other.expect, &other.witnesses)
            && (profile, rows, overridden) == (&other.profile, &other.rows, &other.overridden)
    }
}

impl Eq for Scenario {}

impl PartialEq for Row {
    fn eq(&self, other: &Self) -> bool {
        let Self { title, set, settings, faults, expect, witnesses, places: _ } = self;
        (title, set, settings) == (&other.title, &other.set, &other.settings)
            && (faults, expect, witnesses) == (&other.faults, &other.expect, &other.witnesses)
    }
}

impl Eq for Row {}
