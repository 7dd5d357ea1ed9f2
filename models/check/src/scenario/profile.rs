//! What makes a scenario the profile of a library: which release, and where it says what each knob says.

use super::knobs::Knob;

/// A library in use, described by the knobs of a sheet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    /// What it is called.
    pub library: String,
    /// The release that was read.
    pub version: String,
    /// Where the library's own source or documentation says so, for each knob of the lock that the file turns.
    pub places: Vec<Said>,
    /// What the library does and no knob can say, a sentence each.
    pub beyond: Vec<String>,
}

/// A knob, and where the library says so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// The knob.
    pub knob: &'static str,
    /// A file with lines or a function, or a page of the documentation.
    pub place: String,
}

impl Profile {
    /// A profile that says nothing yet.
    pub(super) fn blank() -> Self {
        Self { library: String::new(), version: String::new(), places: Vec::new(), beyond: Vec::new() }
    }

    /// Where the library says what this knob says.
    pub fn place_of(&self, knob: &Knob) -> Option<&str> {
        self.places.iter().find(|said| said.knob == knob.key).map(|said| said.place.as_str())
    }
}
