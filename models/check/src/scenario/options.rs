//! What the command line changes: `--set` and `--faults`.

use world::{Budget, Fault};

use super::Scenario;
use super::error::{Place, Problem, ScenarioError, ScenarioErrors};
use super::form::Given;
use super::knobs::{KNOBS, Knob};
use super::names::Named;
use super::near::{nearest, plain, quoted};
use super::parse::{MAX_BUDGET, budget_form, list};
use super::place::By;

const SET: &str = "--set";
const FAULTS: &str = "--faults";

impl Scenario {
    /// `--set knob=value`: turns a knob, of a sheet in all its rows. Of the same knob the last one counts.
    ///
    /// Whether the combination is refused is told by [`resolve`](Self::resolve).
    pub fn set(&mut self, assignment: &str) -> Result<(), ScenarioErrors> {
        let Some((key, text)) = assignment.split_once('=') else {
            return Err(value_error(SET, "", "knob=value", quoted(assignment), None));
        };
        let knob = Knob::named(key).ok_or_else(|| unknown(SET, "knob", key, knob_help(key)))?;
        let given = Given::from_text(text);
        if !knob.set(&mut self.settings, &given) {
            let help = knob.form.advice(&given);
            return Err(value_error(SET, &knob.path(), &knob.form.to_string(), given.to_string(), help));
        }
        self.places.put(knob.key, By::Option, Place::whole(SET));
        for row in &mut self.rows {
            knob.set(&mut row.settings, &given);
            row.places.put(knob.key, By::Option, Place::whole(SET));
        }
        self.overridden = true;
        Ok(())
    }

    /// Takes the value of one key from another scenario: a knob with its section, or `faults.` and a fault. A key that
    /// there is not changes nothing.
    pub(crate) fn take(&mut self, other: &Self, key: &str) {
        if let Some(knob) = Knob::named(key) {
            knob.copy(&mut self.settings, &other.settings);
            self.overridden = true;
        }
        if let Some(fault) = key.strip_prefix("faults.").and_then(Fault::named) {
            self.faults.set(fault, other.faults.get(fault));
            self.overridden = true;
        }
    }

    /// `--faults pause=1,restart=1`: these faults instead of those of the scenario. A number left out is one; "none"
    /// or nothing is no fault. The faults are what the rows of a sheet differ in, so a sheet becomes one check.
    pub fn set_faults(&mut self, text: &str) -> Result<(), ScenarioErrors> {
        let mut faults = Budget::default();
        let mut seen = Vec::new();
        let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty() && *part != "none");
        for part in parts {
            let (name, units) = part.split_once('=').unwrap_or((part, "1"));
            let fault = Fault::named(&plain(name).replace('_', "-"))
                .ok_or_else(|| unknown(FAULTS, "fault", name, fault_help(name)))?;
            let about = format!("faults.{}", fault.name());
            if seen.contains(&fault) {
                let problem = Problem::Twice { found: fault.name().to_owned() };
                return Err(ScenarioError { place: Place::whole(FAULTS), about, problem }.into());
            }
            let given = Given::from_text(units);
            let budget = budget_of(&given)
                .ok_or_else(|| value_error(FAULTS, &about, &budget_form().to_string(), given.to_string(), None))?;
            faults.set(fault, budget);
            seen.push(fault);
            self.places.put(&about, By::Option, Place::whole(FAULTS));
        }
        self.faults = faults;
        self.rows.clear();
        self.overridden = true;
        Ok(())
    }
}

/// The units of a fault.
pub(super) fn budget_of(given: &Given) -> Option<u8> {
    let Given::Number(units) = given else { return None };
    u8::try_from(*units).ok().filter(|units| *units <= MAX_BUDGET)
}

/// What to write instead of a fault that there is not.
pub(super) fn fault_help(name: &str) -> String {
    let names = || Fault::WORDS.iter().map(|w| w.name);
    match nearest(name, names()) {
        Some(near) => format!("did you mean \"{near}\"?"),
        None => format!("the faults are {}", list(names())),
    }
}

fn knob_help(key: &str) -> String {
    let key = plain(key);
    let bare = key.rsplit('.').next().unwrap_or_default();
    if let Some(fault) = Fault::named(&bare.replace('_', "-")) {
        return format!("faults are set by {FAULTS} {}=1", fault.name());
    }
    if let Some(knob) = Knob::named(bare) {
        return format!("{} is a knob of [{}]", knob.key, knob.section.name());
    }
    match nearest(bare, KNOBS.iter().map(|k| k.key)) {
        Some(near) => format!("did you mean {near}?"),
        None => format!("the knobs are {}", list(KNOBS.iter().map(|k| k.key))),
    }
}

fn unknown(source: &str, what: &'static str, found: &str, help: String) -> ScenarioErrors {
    let problem = Problem::Unknown { what, found: found.trim().to_owned(), help };
    ScenarioError { place: Place::whole(source), about: String::new(), problem }.into()
}

fn value_error(source: &str, about: &str, expected: &str, found: String, help: Option<String>) -> ScenarioErrors {
    let problem = Problem::Value { expected: expected.to_owned(), found, help };
    ScenarioError { place: Place::whole(source), about: about.to_owned(), problem }.into()
}
