//! Values as somebody gave them, and the forms that they must have.

use core::fmt;

use protocol::{MAX_SLOTS, Ticks};
use toml::de::{DeInteger, DeValue};
use world::{MAX_CLIENTS, MAX_RESOURCES};

use super::names::{Named, Word};
use super::near::{clip, nearest, quoted};

/// The greatest number of ticks that a knob takes.
pub const MAX_TICKS: u32 = 60;

/// The greatest latency, so that the timeout that follows from it is within [`MAX_TICKS`].
pub const MAX_LATENCY: u32 = (MAX_TICKS - 1) / 2;

/// The longest name of a lock, in characters.
pub const MAX_NAME: usize = 32;

/// What a knob accepts.
#[derive(Clone, Copy, Debug)]
pub enum Form {
    /// One of these words.
    Words(&'static [Word]),
    /// A number between two bounds, or a word.
    Number {
        /// What it counts, such as "ticks".
        of: &'static str,
        /// The least.
        least: u32,
        /// The greatest.
        most: u32,
        /// The word that may stand instead.
        or: Option<Word>,
    },
    /// True or false.
    Flag,
    /// A least and a greatest number of ticks, or only the greatest.
    Latency,
    /// A list of lock names for each client.
    Resources,
}

/// A value, from a file or from the command line, before it is known what it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Given {
    Word(String),
    Number(i128),
    Flag(bool),
    List(Vec<Self>),
    /// A value that no knob takes, as it should be shown.
    Other(String),
}

/// A type that can be read from a value of some form, and written as TOML.
pub(super) trait Value: Sized {
    fn read(given: &Given, form: &Form) -> Option<Self>;
    fn write(&self, form: &Form) -> String;
}

/// How many servers must grant the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quorum {
    /// More than half of the nodes.
    Majority,
    /// This many.
    Count(u8),
}

/// How long a message is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Latency {
    /// At least.
    pub least: Ticks,
    /// At most, unless a delay lifts it.
    pub greatest: Ticks,
}

/// The locks of each client, by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resources(pub Vec<Vec<String>>);

impl Form {
    /// Ticks from `least` to [`MAX_TICKS`].
    pub(super) const fn ticks(least: u32) -> Self {
        Self::Number { of: "ticks", least, most: MAX_TICKS, or: None }
    }

    /// A number from `least` to `most`.
    pub(super) const fn number(of: &'static str, least: u32, most: u32) -> Self {
        Self::Number { of, least, most, or: None }
    }

    /// A count from 1 to `most`.
    pub(super) const fn count(of: &'static str, most: u32) -> Self {
        Self::Number { of, least: 1, most, or: None }
    }

    /// The same, or a word.
    pub(super) const fn or(self, name: &'static str, says: &'static str) -> Self {
        match self {
            Self::Number { of, least, most, .. } => Self::Number { of, least, most, or: Some(Word { name, says }) },
            Self::Words(_) | Self::Flag | Self::Latency | Self::Resources => self,
        }
    }

    /// The words that the form knows.
    pub fn words(&self) -> &[Word] {
        match self {
            Self::Words(words) => words,
            Self::Number { or, .. } => or.as_slice(),
            Self::Flag | Self::Latency | Self::Resources => &[],
        }
    }

    /// What a value of this form means, if it is a word; the value is written as TOML.
    pub fn meaning(&self, value: &str) -> Option<&'static str> {
        let name = value.trim_matches('"');
        self.words().iter().find(|w| w.name == name).map(|w| w.says)
    }

    /// What to try instead of a value that is none of this form.
    pub(super) fn advice(&self, given: &Given) -> Option<String> {
        let Given::Word(word) = given else { return None };
        if let Some(name) = nearest(word, self.words().iter().map(|w| w.name)) {
            return Some(format!("did you mean \"{name}\"?"));
        }
        let is_number = matches!(self, Self::Number { .. } | Self::Latency) && word.parse::<u32>().is_ok();
        let is_flag = matches!(self, Self::Flag) && (word == "true" || word == "false");
        (is_number || is_flag).then(|| format!("write it without quotes: {word}"))
    }
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Words(words) => {
                let words: Vec<_> = words.iter().map(|w| format!("\"{}\"", w.name)).collect();
                write!(f, "one of {}", words.join(", "))
            }
            Self::Number { of, least, most, or } => {
                write!(f, "a number of {of} from {least} to {most}")?;
                match or {
                    Some(word) => write!(f, " or \"{}\"", word.name),
                    None => Ok(()),
                }
            }
            Self::Flag => write!(f, "true or false"),
            Self::Latency => write!(
                f,
                "a number of ticks from 0 to {MAX_LATENCY}, or [least, greatest] with the least no more than the greatest"
            ),
            Self::Resources => write!(
                f,
                "one list of 1 to {MAX_SLOTS} lock names for each of at most {MAX_CLIENTS} clients, {MAX_RESOURCES} \
                 different names in all, each of at most {MAX_NAME} letters, digits and _ - . :"
            ),
        }
    }
}

impl Given {
    /// The value of a file.
    pub(super) fn from_toml(value: &DeValue<'_>) -> Self {
        match value {
            DeValue::String(text) => Self::Word(text.to_string()),
            DeValue::Integer(number) => match integer(number) {
                Some(n) => Self::Number(n),
                None => Self::Other(clip(&number.to_string())),
            },
            DeValue::Float(number) => Self::Other(clip(number.as_str())),
            DeValue::Boolean(flag) => Self::Flag(*flag),
            DeValue::Datetime(date) => Self::Other(date.to_string()),
            DeValue::Array(items) => Self::List(items.iter().map(|i| Self::from_toml(i.get_ref())).collect()),
            DeValue::Table(_) => Self::Other("a table".to_owned()),
        }
    }

    /// The value of a command line: as in a file, but words need no quotes and lists no brackets.
    pub(super) fn from_text(text: &str) -> Self {
        let as_toml = |text: &str| match DeValue::parse(text) {
            Ok(value) => match Self::from_toml(value.get_ref()) {
                Self::Other(_) => None,
                given @ (Self::Word(_) | Self::Number(_) | Self::Flag(_) | Self::List(_)) => Some(given),
            },
            Err(_) => None,
        };
        let text = text.trim();
        as_toml(text)
            .or_else(|| if text.contains(',') { as_toml(&format!("[{text}]")) } else { None })
            .unwrap_or_else(|| Self::Word(text.to_owned()))
    }
}

fn integer(number: &DeInteger<'_>) -> Option<i128> {
    i128::from_str_radix(number.as_str(), number.radix()).ok()
}

impl fmt::Display for Given {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Word(word) => write!(f, "{}", quoted(word)),
            Self::Number(number) => write!(f, "{number}"),
            Self::Flag(flag) => write!(f, "{flag}"),
            Self::List(items) => {
                let shown: Vec<_> = items.iter().take(8).map(ToString::to_string).collect();
                write!(f, "{}", clip(&format!("[{}]", shown.join(", "))))
            }
            Self::Other(text) => write!(f, "{text}"),
        }
    }
}

fn number(given: &Given, form: &Form) -> Option<u32> {
    let (Given::Number(n), Form::Number { least, most, .. }) = (given, form) else { return None };
    u32::try_from(*n).ok().filter(|n| (*least..=*most).contains(n))
}

impl<T: Named> Value for T {
    fn read(given: &Given, _: &Form) -> Option<Self> {
        let Given::Word(word) = given else { return None };
        Self::named(word)
    }

    fn write(&self, _: &Form) -> String {
        format!("\"{}\"", self.name())
    }
}

impl Value for Ticks {
    fn read(given: &Given, form: &Form) -> Option<Self> {
        number(given, form).map(Self)
    }

    fn write(&self, _: &Form) -> String {
        self.0.to_string()
    }
}

impl Value for u8 {
    fn read(given: &Given, form: &Form) -> Option<Self> {
        number(given, form).and_then(|n| Self::try_from(n).ok())
    }

    fn write(&self, _: &Form) -> String {
        self.to_string()
    }
}

impl<T: Value> Value for Option<T> {
    fn read(given: &Given, form: &Form) -> Option<Self> {
        if let (Given::Word(word), Form::Number { or: Some(or), .. }) = (given, form)
            && word == or.name
        {
            return Some(None);
        }
        T::read(given, form).map(Some)
    }

    fn write(&self, form: &Form) -> String {
        match self {
            Some(value) => value.write(form),
            None => format!("\"{}\"", form.words().first().map_or("none", |w| w.name)),
        }
    }
}

impl Value for Quorum {
    fn read(given: &Given, form: &Form) -> Option<Self> {
        Option::<u8>::read(given, form).map(|count| count.map_or(Self::Majority, Self::Count))
    }

    fn write(&self, form: &Form) -> String {
        match self {
            Self::Majority => None::<u8>.write(form),
            Self::Count(count) => Some(*count).write(form),
        }
    }
}

impl Value for bool {
    fn read(given: &Given, _: &Form) -> Option<Self> {
        let Given::Flag(flag) = given else { return None };
        Some(*flag)
    }

    fn write(&self, _: &Form) -> String {
        self.to_string()
    }
}

impl Value for Latency {
    fn read(given: &Given, _: &Form) -> Option<Self> {
        let ticks = |given: &Given| {
            number(given, &Form::Number { of: "ticks", least: 0, most: MAX_LATENCY, or: None }).map(Ticks)
        };
        let latency = if let Given::List(both) = given {
            let [least, greatest] = both.as_slice() else { return None };
            Self { least: ticks(least)?, greatest: ticks(greatest)? }
        } else {
            Self { least: Ticks(0), greatest: ticks(given)? }
        };
        (latency.least <= latency.greatest).then_some(latency)
    }

    fn write(&self, _: &Form) -> String {
        format!("[{}, {}]", self.least.0, self.greatest.0)
    }
}

impl Resources {
    /// The different names, sorted; the place of a name is the number of its resource.
    pub fn names(&self) -> Vec<&str> {
        let mut names: Vec<_> = self.0.iter().flatten().map(String::as_str).collect();
        names.sort_unstable();
        names.dedup();
        names
    }
}

impl Value for Resources {
    fn read(given: &Given, _: &Form) -> Option<Self> {
        let Given::List(clients) = given else { return None };
        let name = |given: &Given| {
            let Given::Word(name) = given else { return None };
            let fits = !name.is_empty()
                && name.len() <= MAX_NAME
                && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-.:".contains(&b));
            fits.then(|| name.clone())
        };
        let list = |given: &Given| {
            let Given::List(names) = given else { return None };
            let fits = (1..=MAX_SLOTS).contains(&names.len());
            fits.then(|| names.iter().map(name).collect::<Option<Vec<_>>>())?
        };
        if !(1..=MAX_CLIENTS).contains(&clients.len()) {
            return None;
        }
        let resources = Self(clients.iter().map(list).collect::<Option<_>>()?);
        (resources.names().len() <= MAX_RESOURCES).then_some(resources)
    }

    fn write(&self, _: &Form) -> String {
        let list = |names: &Vec<String>| {
            let names: Vec<_> = names.iter().map(|n| format!("\"{n}\"")).collect();
            format!("[{}]", names.join(", "))
        };
        let lists: Vec<_> = self.0.iter().map(list).collect();
        format!("[{}]", lists.join(", "))
    }
}
