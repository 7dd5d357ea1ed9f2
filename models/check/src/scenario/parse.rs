//! From the bytes of a file to a scenario, or to everything that is wrong with it.

use core::ops::Range;

use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};
use world::{Budget, Fault};

use super::error::{Place, Problem, ScenarioError, ScenarioErrors};
use super::expect::{Property, Verdict, Witness};
use super::form::{Form, Given};
use super::knobs::{KNOBS, Knob, Section, Settings};
use super::names::Named;
use super::near::{nearest, quoted};
use super::options::{budget_of, fault_help};
use super::place::{By, Places};
use super::profile::{Profile, Said};
use super::{Row, Scenario};

/// The version of the format that this crate reads and writes.
pub const SCHEMA: u32 = 1;

/// The largest file, in bytes.
pub const MAX_BYTES: usize = 1 << 20;

/// The most units of one fault.
pub const MAX_BUDGET: u8 = 8;

/// The most rows of a sheet.
pub const MAX_ROWS: usize = 64;

/// The longest id, title and about, in characters.
const MAX_ID: usize = 64;
const MAX_TITLE: usize = 120;
const MAX_ABOUT: usize = 2000;

/// The keys of a file that are no sections.
const TOP: [&str; 8] = ["schema", "id", "title", "about", "family", "source", "pair", "witnesses"];

/// The sections that have no knobs.
const TABLES: [&str; 4] = ["faults", "expect", "profile", "row"];

/// The keys of a profile.
const PROFILE: [&str; 4] = ["library", "version", "beyond", "places"];

/// What the id of a profile begins with.
const PROFILE_PREFIX: &str = "profile:";

/// The keys of a row.
const ROW: [&str; 5] = ["title", "set", "faults", "expect", "witnesses"];

impl Scenario {
    /// Reads a scenario. The name is the one that errors give the file.
    pub fn parse(name: &str, bytes: &[u8]) -> Result<Self, ScenarioErrors> {
        let whole = |problem| ScenarioError { place: Place::whole(name), about: String::new(), problem };
        if bytes.len() > MAX_BYTES {
            return Err(whole(Problem::TooLarge { bytes: bytes.len(), limit: MAX_BYTES }).into());
        }
        let text = core::str::from_utf8(bytes).map_err(|error| {
            let line = 1 + bytes[..error.valid_up_to()].iter().filter(|b| **b == b'\n').count();
            let place = Place { line: Some(line), ..Place::whole(name) };
            ScenarioError { place, about: String::new(), problem: Problem::NotUtf8 }
        })?;
        let mut reader = Reader::new(name, text);
        let table = DeTable::parse(text).map_err(|error| {
            let problem = Problem::NotToml { message: error.message().replace('\n', ", ") };
            ScenarioError { place: reader.exact_place(error.span()), about: String::new(), problem }
        })?;
        let scenario = reader.scenario(table.get_ref());
        ScenarioErrors::of(reader.errors)?;
        // Of a sheet only the rows are run, so only they have to be possible.
        ScenarioErrors::of(scenario.expand().iter().flat_map(Self::wrong).collect())?;
        Ok(scenario)
    }
}

/// A key and its value, with the places of both.
type Entry<'t> = (&'t Spanned<DeString<'t>>, &'t Spanned<DeValue<'t>>);

struct Reader<'a> {
    name: &'a str,
    text: &'a str,
    /// Where each line begins.
    lines: Vec<usize>,
    /// The knobs of the lock that the file turns, and where.
    turned: Vec<(&'static Knob, Place)>,
    errors: Vec<ScenarioError>,
}

impl<'a> Reader<'a> {
    fn new(name: &'a str, text: &'a str) -> Self {
        let lines = core::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        Self { name, text, lines, turned: Vec::new(), errors: Vec::new() }
    }

    fn scenario(&mut self, table: &DeTable<'_>) -> Scenario {
        let mut scenario = Scenario::new("", "");
        scenario.places = Places::new(self.name);
        for key in ["id", "title"] {
            if !table.contains_key(key) {
                self.errors.push(ScenarioError {
                    place: Place::whole(self.name),
                    about: key.to_owned(),
                    problem: Problem::Missing { help: "every scenario begins with an id and a title" },
                });
            }
        }
        let mut rows = None;
        for (key, value) in entries(table) {
            let at = key.span();
            match key.get_ref().as_ref() {
                "schema" => self.schema(at, value),
                "id" => scenario.id = self.id(at, value),
                "title" => scenario.title = self.line(at, "title", value),
                "about" => scenario.about = self.prose(at, "about", value),
                "family" => scenario.family = self.slug(at, "family", value),
                "source" => scenario.source = Some(self.line(at, "source", value)),
                "pair" => scenario.pair = Some(self.slug(at, "pair", value)),
                "witnesses" => {
                    scenario.places.put("witnesses", By::Base, self.place(at.clone()));
                    scenario.witnesses = self.witnesses(at, "witnesses", value);
                }
                "faults" => scenario.faults = self.faults(at, By::Base, value, &mut scenario.places),
                "expect" => scenario.expect = self.expect(at, By::Base, value, &mut scenario.places),
                "profile" => scenario.profile = self.profile(at, value),
                "row" => rows = Some((at, value)),
                name => match Section::ALL.into_iter().find(|s| s.name() == name) {
                    Some(section) => self.section(at, section, value, &mut scenario),
                    None => self.unknown(at, "", "key", name, top_help(name)),
                },
            }
        }
        // The rows stand on what the rest of the file says, wherever it says it.
        if let Some((at, value)) = rows {
            scenario.rows = self.rows(at, value, &scenario);
        }
        if let Some(profile) = &scenario.profile {
            self.unsaid(profile);
        }
        scenario
    }

    /// The library that a profile describes.
    fn profile(&mut self, at: Range<usize>, value: &Spanned<DeValue<'_>>) -> Option<Profile> {
        let table = self.table(at.clone(), "profile", value)?;
        let mut profile = Profile::blank();
        for key in ["library", "version"].into_iter().filter(|key| !table.contains_key(*key)) {
            let problem = Problem::Missing { help: "a profile names the library and the release that was read" };
            self.error(at.clone(), &format!("profile.{key}"), problem);
        }
        for (key, value) in entries(table) {
            let at = key.span();
            match key.get_ref().as_ref() {
                "library" => profile.library = self.line(at, "profile.library", value),
                "version" => profile.version = self.line(at, "profile.version", value),
                "beyond" => profile.beyond = self.sentences(at, "profile.beyond", value),
                "places" => profile.places = self.said(at, value),
                name => self.unknown(at, "profile", "key", name, help("the keys of [profile] are", name, PROFILE)),
            }
        }
        Some(profile)
    }

    fn sentences(&mut self, at: Range<usize>, about: &str, value: &Spanned<DeValue<'_>>) -> Vec<String> {
        let DeValue::Array(items) = value.get_ref() else {
            self.value_error(at, about, "a list of sentences", &Given::from_toml(value.get_ref()), None);
            return Vec::new();
        };
        items.iter().map(|item| self.prose(item.span(), about, item)).collect()
    }

    /// Where the library says what each knob says.
    fn said(&mut self, at: Range<usize>, value: &Spanned<DeValue<'_>>) -> Vec<Said> {
        let mut places = Vec::new();
        let Some(table) = self.table(at, "profile.places", value) else { return places };
        for (key, value) in entries(table) {
            let name = key.get_ref().as_ref();
            match Section::Lock.knobs().find(|k| k.key == name) {
                Some(knob) => {
                    let place = self.prose(key.span(), &format!("profile.places.{name}"), value);
                    places.push(Said { knob: knob.key, place });
                }
                None => self.unknown(key.span(), "profile.places", "key", name, knob_help(Section::Lock, name)),
            }
        }
        places
    }

    /// Complains about every knob of the lock for which a profile names no place.
    fn unsaid(&mut self, profile: &Profile) {
        for (knob, place) in core::mem::take(&mut self.turned) {
            if profile.place_of(knob).is_none() {
                let help = "a profile says for each knob of the lock where the library says so";
                let about = format!("profile.places.{}", knob.key);
                self.errors.push(ScenarioError { place, about, problem: Problem::Missing { help } });
            }
        }
    }

    fn schema(&mut self, at: Range<usize>, value: &Spanned<DeValue<'_>>) {
        let given = Given::from_toml(value.get_ref());
        if given != Given::Number(SCHEMA.into()) {
            let help = Some("this is the version of the format, not of the scenario".to_owned());
            self.value_error(at, "schema", &SCHEMA.to_string(), &given, help);
        }
    }

    fn section(&mut self, at: Range<usize>, section: Section, value: &Spanned<DeValue<'_>>, scenario: &mut Scenario) {
        let Some(table) = self.table(at, section.name(), value) else { return };
        for (key, value) in entries(table) {
            let name = key.get_ref().as_ref();
            match section.knobs().find(|k| k.key == name) {
                Some(knob) => {
                    self.knob(key.span(), knob, value, &mut scenario.settings);
                    scenario.places.put(knob.key, By::Base, self.place(key.span()));
                }
                None => self.unknown(key.span(), section.name(), "key", name, knob_help(section, name)),
            }
        }
    }

    fn knob(&mut self, at: Range<usize>, knob: &'static Knob, value: &Spanned<DeValue<'_>>, settings: &mut Settings) {
        let given = Given::from_toml(value.get_ref());
        if knob.section == Section::Lock && self.turned.iter().all(|(turned, _)| turned.key != knob.key) {
            self.turned.push((knob, self.place(at.clone())));
        }
        if !knob.set(settings, &given) {
            self.value_error(at, &knob.path(), &knob.form.to_string(), &given, knob.form.advice(&given));
        }
    }

    fn faults(&mut self, at: Range<usize>, by: By, value: &Spanned<DeValue<'_>>, places: &mut Places) -> Budget {
        let mut faults = Budget::default();
        let Some(table) = self.table(at, "faults", value) else { return faults };
        for (key, value) in entries(table) {
            let name = key.get_ref().as_ref();
            let Some(fault) = Fault::named(name) else {
                self.unknown(key.span(), "faults", "fault", name, fault_help(name));
                continue;
            };
            let about = format!("faults.{name}");
            let given = Given::from_toml(value.get_ref());
            match budget_of(&given) {
                Some(units) => faults.set(fault, units),
                None => self.value_error(key.span(), &about, &budget_form().to_string(), &given, None),
            }
            places.put(&about, by, self.place(key.span()));
        }
        faults
    }

    fn expect(
        &mut self,
        at: Range<usize>,
        by: By,
        value: &Spanned<DeValue<'_>>,
        places: &mut Places,
    ) -> Vec<(Property, Verdict)> {
        let mut expect = Vec::new();
        let Some(table) = self.table(at, "expect", value) else { return expect };
        for (key, value) in entries(table) {
            let name = key.get_ref().as_ref();
            let Some(property) = Property::named(name) else {
                self.unknown(key.span(), "expect", "property", name, words_help::<Property>("properties", name));
                continue;
            };
            let about = format!("expect.{name}");
            if let Some(verdict) = self.word::<Verdict>(key.span(), &about, value) {
                expect.push((property, verdict));
            }
            places.put(&about, by, self.place(key.span()));
        }
        expect.sort_unstable();
        expect
    }

    fn witnesses(&mut self, at: Range<usize>, about: &str, value: &Spanned<DeValue<'_>>) -> Vec<Witness> {
        let mut witnesses = Vec::new();
        let DeValue::Array(items) = value.get_ref() else {
            let given = Given::from_toml(value.get_ref());
            self.value_error(at, about, "a list of witnesses such as [\"refused\"]", &given, None);
            return witnesses;
        };
        for item in items.iter() {
            let Some(witness) = self.word::<Witness>(item.span(), about, item) else { continue };
            if witnesses.contains(&witness) {
                self.twice(item.span(), about, witness.name());
            } else {
                witnesses.push(witness);
            }
        }
        witnesses.sort_unstable();
        witnesses
    }

    fn rows(&mut self, at: Range<usize>, value: &Spanned<DeValue<'_>>, base: &Scenario) -> Vec<Row> {
        let mut rows: Vec<Row> = Vec::new();
        let DeValue::Array(items) = value.get_ref() else {
            let given = Given::from_toml(value.get_ref());
            self.value_error(at, "row", "rows that begin with [[row]]", &given, None);
            return rows;
        };
        if items.len() > MAX_ROWS {
            let found = Given::Number(items.len() as i128);
            self.value_error(at, "row", &format!("at most {MAX_ROWS} rows"), &found, None);
            return rows;
        }
        for item in items.iter() {
            let Some(row) = self.row(item, base) else { continue };
            if rows.iter().any(|r| r.title == row.title) {
                self.twice(item.span(), "row.title", &row.title);
            }
            rows.push(row);
        }
        rows
    }

    fn row(&mut self, value: &Spanned<DeValue<'_>>, base: &Scenario) -> Option<Row> {
        let at = value.span();
        let table = self.table(at.clone(), "row", value)?;
        let place = self.place(at.clone());
        if !table.contains_key("title") {
            let problem = Problem::Missing { help: "every row has a title of its own" };
            self.errors.push(ScenarioError { place: place.clone(), about: "row.title".to_owned(), problem });
        }
        let mut row = Row {
            title: String::new(),
            set: Vec::new(),
            settings: base.settings.clone(),
            faults: None,
            expect: None,
            witnesses: None,
            places: Places::at(place),
        };
        for (key, value) in entries(table) {
            let at = key.span();
            match key.get_ref().as_ref() {
                "title" => row.title = self.line(at, "row.title", value),
                "set" => self.row_set(at, value, &mut row),
                "faults" => row.faults = Some(self.faults(at, By::Row, value, &mut row.places)),
                "expect" => row.expect = Some(self.expect(at, By::Row, value, &mut row.places)),
                "witnesses" => {
                    row.places.put("witnesses", By::Row, self.place(at.clone()));
                    row.witnesses = Some(self.witnesses(at, "row.witnesses", value));
                }
                name => self.unknown(at, "row", "key", name, row_help(name)),
            }
        }
        Some(row)
    }

    fn row_set(&mut self, at: Range<usize>, value: &Spanned<DeValue<'_>>, row: &mut Row) {
        let Some(table) = self.table(at, "row.set", value) else { return };
        for (key, value) in entries(table) {
            let name = key.get_ref().as_ref();
            let Some(knob) = KNOBS.iter().find(|k| k.key == name) else {
                self.unknown(key.span(), "row.set", "key", name, set_help(name));
                continue;
            };
            self.knob(key.span(), knob, value, &mut row.settings);
            row.set.push(knob.key);
            row.places.put(knob.key, By::Row, self.place(key.span()));
        }
        row.set = KNOBS.iter().map(|k| k.key).filter(|k| row.set.contains(k)).collect();
    }

    fn table<'t>(&mut self, at: Range<usize>, about: &str, value: &'t Spanned<DeValue<'_>>) -> Option<&'t DeTable<'t>> {
        let table = value.get_ref().as_table();
        if table.is_none() {
            self.value_error(at, about, "a table", &Given::from_toml(value.get_ref()), None);
        }
        table
    }

    fn word<T: Named>(&mut self, at: Range<usize>, about: &str, value: &Spanned<DeValue<'_>>) -> Option<T> {
        let given = Given::from_toml(value.get_ref());
        let word = if let Given::Word(word) = &given { T::named(word) } else { None };
        if word.is_none() {
            let form = Form::Words(T::WORDS);
            self.value_error(at, about, &form.to_string(), &given, form.advice(&given));
        }
        word
    }

    /// Text of one line.
    fn line(&mut self, at: Range<usize>, about: &str, value: &Spanned<DeValue<'_>>) -> String {
        let expected = format!("one line of 1 to {MAX_TITLE} characters");
        self.fitting(at, about, value, &expected, |text| {
            (1..=MAX_TITLE).contains(&text.chars().count()) && !text.contains(char::is_control)
        })
    }

    /// Text of several lines.
    fn prose(&mut self, at: Range<usize>, about: &str, value: &Spanned<DeValue<'_>>) -> String {
        let expected = format!("text of at most {MAX_ABOUT} characters");
        self.fitting(at, about, value, &expected, |text| {
            text.chars().count() <= MAX_ABOUT && !text.contains(|c: char| c.is_control() && c != '\n')
        })
    }

    /// The name of a scenario; that of a profile says so.
    fn id(&mut self, at: Range<usize>, value: &Spanned<DeValue<'_>>) -> String {
        let expected = format!("1 to {MAX_ID} of the characters a to z, 0 to 9 and -, after \"profile:\" if it is one");
        self.fitting(at, "id", value, &expected, |text| is_slug(text.strip_prefix(PROFILE_PREFIX).unwrap_or(text)))
    }

    /// A name that can stand on a command line.
    fn slug(&mut self, at: Range<usize>, about: &str, value: &Spanned<DeValue<'_>>) -> String {
        let expected = format!("1 to {MAX_ID} of the characters a to z, 0 to 9 and -");
        self.fitting(at, about, value, &expected, is_slug)
    }

    fn fitting(
        &mut self,
        at: Range<usize>,
        about: &str,
        value: &Spanned<DeValue<'_>>,
        expected: &str,
        fits: impl Fn(&str) -> bool,
    ) -> String {
        let given = Given::from_toml(value.get_ref());
        if let Given::Word(text) = &given
            && fits(text.trim())
        {
            return text.trim().to_owned();
        }
        self.value_error(at, about, expected, &given, None);
        String::new()
    }

    fn unknown(&mut self, at: Range<usize>, about: &str, what: &'static str, found: &str, help: String) {
        let problem = Problem::Unknown { what, found: found.to_owned(), help };
        self.error(at, about, problem);
    }

    fn twice(&mut self, at: Range<usize>, about: &str, found: &str) {
        self.error(at, about, Problem::Twice { found: quoted(found) });
    }

    fn value_error(&mut self, at: Range<usize>, about: &str, expected: &str, given: &Given, help: Option<String>) {
        let problem = Problem::Value { expected: expected.to_owned(), found: given.to_string(), help };
        self.error(at, about, problem);
    }

    fn error(&mut self, at: Range<usize>, about: &str, problem: Problem) {
        let place = self.place(at);
        self.errors.push(ScenarioError { place, about: about.to_owned(), problem });
    }

    fn place(&self, at: Range<usize>) -> Place {
        Place { line: Some(self.line_of(at.start)), ..Place::whole(self.name) }
    }

    /// A place with its column.
    fn exact_place(&self, at: Option<Range<usize>>) -> Place {
        let Some(at) = at else { return Place::whole(self.name) };
        let line = self.line_of(at.start);
        let begin = self.lines.get(line - 1).copied().unwrap_or_default();
        let column = self.text.get(begin..at.start).map(|before| before.chars().count() + 1);
        Place { line: Some(line), column, source: self.name.to_owned() }
    }

    /// The line of an offset, counted from one.
    fn line_of(&self, offset: usize) -> usize {
        self.lines.partition_point(|begin| *begin <= offset).max(1)
    }
}

fn is_slug(text: &str) -> bool {
    (1..=MAX_ID).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
}

/// The form of the units of a fault.
pub(super) fn budget_form() -> Form {
    Form::Number { of: "units", least: 0, most: MAX_BUDGET.into(), or: None }
}

/// The entries of a table in the order of the file.
fn entries<'t>(table: &'t DeTable<'t>) -> Vec<Entry<'t>> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    entries
}

fn top_help(name: &str) -> String {
    let keys = || TOP.into_iter().chain(Section::ALL.map(Section::name)).chain(TABLES);
    // A knob without its section is likelier than a slip.
    match KNOBS.iter().find(|k| k.key == name) {
        Some(knob) => format!("{} belongs under [{}]", knob.key, knob.section.name()),
        None => help("a scenario has the keys and sections", name, keys()),
    }
}

fn knob_help(section: Section, name: &str) -> String {
    if let Some(knob) = KNOBS.iter().find(|k| k.key == name) {
        return format!("{} belongs under [{}]", knob.key, knob.section.name());
    }
    if TOP.contains(&name) {
        return format!("{name} belongs at the top of the file");
    }
    help(&format!("the keys of [{}] are", section.name()), name, section.knobs().map(|k| k.key))
}

fn row_help(name: &str) -> String {
    match KNOBS.iter().find(|k| k.key == name) {
        Some(knob) => format!("knobs of a row stand in set = {{ {} = … }}", knob.key),
        None => help("the keys of a row are", name, ROW),
    }
}

fn set_help(name: &str) -> String {
    help("set takes the knobs, without their section:", name, KNOBS.iter().map(|k| k.key))
}

fn words_help<T: Named>(whats: &str, name: &str) -> String {
    help(&format!("the {whats} are"), name, T::WORDS.iter().map(|w| w.name))
}

fn help<'w>(all: &str, name: &str, words: impl IntoIterator<Item = &'w str> + Clone) -> String {
    match nearest(name, words.clone()) {
        Some(near) => format!("did you mean {near}?"),
        None => format!("{all} {}", list(words)),
    }
}

/// Words with commas between them.
pub(super) fn list<'w>(words: impl IntoIterator<Item = &'w str>) -> String {
    words.into_iter().collect::<Vec<_>>().join(", ")
}
