//! Scenarios as text: the file that says the same, and the canonical text that is hashed.

use core::fmt::Write;

use world::Budget;

use super::expect::{Property, Verdict, Witness};
use super::knobs::{KNOBS, Section, Settings};
use super::names::Named;
use super::parse::SCHEMA;
use super::{Profile, Row, Scenario};

impl Scenario {
    /// The file that says the same, without what is left to its default, and in the documented order.
    pub fn to_toml(&self) -> String {
        let mut text = format!("schema = {SCHEMA}\n");
        let about = (!self.about.is_empty()).then_some(&self.about);
        let texts = [
            ("id", Some(&self.id)),
            ("title", Some(&self.title)),
            ("about", about),
            ("family", Some(&self.family)),
            ("source", self.source.as_ref()),
            ("pair", self.pair.as_ref()),
        ];
        for (key, value) in texts {
            if let Some(value) = value {
                line(&mut text, key, &string(value));
            }
        }
        if !self.witnesses.is_empty() {
            line(&mut text, "witnesses", &witnesses(&self.witnesses));
        }
        sections(&mut text, |knob| knob.stated(&self.settings));
        section(&mut text, "faults", &faults(&self.faults));
        section(&mut text, "expect", &expected(&self.expect));
        if let Some(profile) = &self.profile {
            profile.write(&mut text);
        }
        for row in &self.rows {
            text.push_str("\n[[row]]\n");
            row.write(&mut text);
        }
        text
    }

    /// What a run depends on, as canonical text: two scenarios with the same text behave alike.
    ///
    /// A knob with a default of its own stands here only if its value is another, so that a knob that is added later
    /// leaves the text of every scenario as it was; whoever changes such a default raises the schema. A value
    /// that follows from other knobs always stands here.
    pub fn canonical(&self) -> String {
        let mut text = format!("schema = {SCHEMA}\n");
        canonical(&mut text, &self.settings, &self.faults);
        for row in self.expand().iter().filter(|_| !self.rows.is_empty()) {
            text.push_str("\n[[row]]\n");
            canonical(&mut text, &row.settings, &row.faults);
        }
        text
    }

    /// The hash of the canonical text (FNV-1a, 64 bits): the same on every machine, and not changed by titles,
    /// comments, the order of keys or what is expected.
    pub fn hash(&self) -> u64 {
        fnv1a(self.canonical().as_bytes())
    }

    /// The hash as 16 hexadecimal digits.
    pub fn hash_text(&self) -> String {
        format!("{:016x}", self.hash())
    }
}

impl Profile {
    fn write(&self, text: &mut String) {
        let beyond: Vec<_> = self.beyond.iter().map(|sentence| string(sentence)).collect();
        let head = [("library", string(&self.library)), ("version", string(&self.version))];
        let beyond = (!beyond.is_empty()).then(|| ("beyond", format!("[{}]", beyond.join(", "))));
        let lines: Vec<_> = head.into_iter().chain(beyond).map(|(key, value)| (key.to_owned(), value)).collect();
        section(text, "profile", &lines);
        let places: Vec<_> = self.places.iter().map(|said| (said.knob.to_owned(), string(&said.place))).collect();
        section(text, "profile.places", &places);
    }
}

impl Row {
    fn write(&self, text: &mut String) {
        line(text, "title", &string(&self.title));
        let set = KNOBS.iter().filter(|k| self.set.contains(&k.key));
        let set: Vec<_> = set.map(|k| (k.key.to_owned(), k.get(&self.settings))).collect();
        if !set.is_empty() {
            line(text, "set", &inline(&set));
        }
        if let Some(budget) = &self.faults {
            line(text, "faults", &inline(&faults(budget)));
        }
        if let Some(expect) = &self.expect {
            line(text, "expect", &inline(&expected(expect)));
        }
        if let Some(named) = &self.witnesses {
            line(text, "witnesses", &witnesses(named));
        }
    }
}

/// FNV-1a with 64 bits, by Fowler, Noll and Vo: for each byte, exclusive or, then times the FNV prime.
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

fn canonical(text: &mut String, settings: &Settings, budget: &Budget) {
    sections(text, |knob| if knob.is_derived { Some(knob.get(settings)) } else { knob.stated(settings) });
    section(text, "faults", &faults(budget));
}

fn sections(text: &mut String, value: impl Fn(&super::Knob) -> Option<String>) {
    for part in Section::ALL {
        let lines: Vec<_> = part.knobs().filter_map(|k| Some((k.key.to_owned(), value(k)?))).collect();
        section(text, part.name(), &lines);
    }
}

fn section(text: &mut String, name: &str, lines: &[(String, String)]) {
    if lines.is_empty() {
        return;
    }
    text.push_str(&format!("\n[{name}]\n"));
    for (key, value) in lines {
        line(text, key, value);
    }
}

fn line(text: &mut String, key: &str, value: &str) {
    // Writing to a string does not fail.
    let _ = writeln!(text, "{key} = {value}");
}

fn inline(lines: &[(String, String)]) -> String {
    let lines: Vec<_> = lines.iter().map(|(key, value)| format!("{key} = {value}")).collect();
    if lines.is_empty() { "{}".to_owned() } else { format!("{{ {} }}", lines.join(", ")) }
}

fn string(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

fn faults(budget: &Budget) -> Vec<(String, String)> {
    budget.kinds().map(|f| (f.name().to_owned(), budget.get(f).to_string())).collect()
}

fn expected(expect: &[(Property, Verdict)]) -> Vec<(String, String)> {
    expect.iter().map(|(p, v)| (p.name().to_owned(), format!("\"{}\"", v.name()))).collect()
}

/// A list of witnesses as TOML.
pub(super) fn witnesses(named: &[Witness]) -> String {
    let names: Vec<_> = named.iter().map(|w| format!("\"{}\"", w.name())).collect();
    format!("[{}]", names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_fnv1a() {
        // The published test vectors.
        assert_eq!(fnv1a(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a(b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(fnv1a(b"foobar"), 0x8594_4171_f739_67e8);
    }
}
