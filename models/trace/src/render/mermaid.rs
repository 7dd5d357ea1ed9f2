//! The trace as a sequence diagram in mermaid's language, which GitHub, GitLab and mdBook draw inside Markdown.
//!
//! Mermaid draws a message as one level arrow, so it has one moment. That is the moment at which it ends: when it
//! arrives and is acted upon, is lost, or finds nobody. What a lock comes to is decided by the order in which servers
//! and clients act upon messages, and an arrow at the moment of sending would show a request at a server that does not
//! know of it yet. The sending is told in words by the step that sends; the identity (`m3`) ties the two together.
//!
//! So a step is one arrow with the action as its label, or, where nothing arrives, a note. An exchange is two arrows.
//! A client is active (mermaid's bar on its lifeline) while it believes that it holds the lock.

use std::collections::BTreeSet;

use super::text::{clean, wrap_around};
use crate::model::{Actor, ActorKind, Trace};
use crate::step::{Fate, Hop, Step, StepKind};

/// The columns at which a label breaks: mermaid draws a label as wide as its longest line.
const LABEL: usize = 44;
/// The columns at which a note across all lifelines breaks.
const WIDE: usize = 72;

/// Names that the language uses itself.
const RESERVED: [&str; 33] = [
    "accDescr",
    "accTitle",
    "activate",
    "actor",
    "alt",
    "and",
    "as",
    "autonumber",
    "box",
    "break",
    "create",
    "critical",
    "deactivate",
    "destroy",
    "details",
    "else",
    "end",
    "left",
    "link",
    "links",
    "loop",
    "note",
    "off",
    "opt",
    "option",
    "over",
    "par",
    "participant",
    "properties",
    "rect",
    "right",
    "sequenceDiagram",
    "title",
];

/// Writes the trace as the source of a diagram, with a newline at the end.
#[must_use]
pub fn to_mermaid(trace: &Trace) -> String {
    let mut diagram = Diagram::new(trace);
    diagram.head();
    for step in &trace.steps {
        diagram.step(step);
    }
    diagram.end();
    diagram.out
}

struct Diagram<'a> {
    trace: &'a Trace,
    lanes: Vec<Lane<'a>>,
    /// The messages that are told apart: the others set out and arrive in one step.
    told_apart: BTreeSet<u32>,
    delayed: BTreeSet<u32>,
    /// The names of the lanes that are active.
    active: Vec<String>,
    out: String,
}

/// A lifeline.
struct Lane<'a> {
    actor: &'a Actor,
    /// What the source calls it.
    name: String,
}

impl<'a> Diagram<'a> {
    fn new(trace: &'a Trace) -> Self {
        let hops = trace.steps.iter().flat_map(|step| &step.messages);
        Self {
            trace,
            lanes: lanes(trace),
            told_apart: hops.filter(|hop| hop.fate == Fate::Sent).map(|hop| hop.id).collect(),
            delayed: BTreeSet::new(),
            active: Vec::new(),
            out: String::new(),
        }
    }

    fn head(&mut self) {
        self.out.push_str("sequenceDiagram\n");
        let title = escaped(&self.trace.scenario.title);
        if !title.trim().is_empty() {
            self.line(&format!("title {title}"));
        }
        let participants: Vec<String> = self.lanes.iter().map(Lane::declared).collect();
        participants.iter().for_each(|participant| self.line(participant));
        if participants.is_empty() {
            // A note needs somebody to stand over.
            self.line("participant nobody");
        }
    }

    fn line(&mut self, text: &str) {
        self.out.push_str(&format!("    {text}\n"));
    }

    fn lane(&self, id: &str) -> Option<&Lane<'a>> {
        self.lanes.iter().find(|lane| lane.actor.id == id)
    }

    fn step(&mut self, step: &Step) {
        let ends: Vec<(&Hop, String)> = step.messages.iter().filter_map(|hop| Some((hop, self.arrow(hop)?))).collect();
        match ends.split_last() {
            Some(((hop, arrow), earlier)) => {
                for (hop, arrow) in earlier {
                    let text = self.numbered(step, &hop.text);
                    self.line(&format!("{arrow}: {}", label(&text, &step.messages, LABEL)));
                }
                let text = self.told(step, Some(hop));
                self.line(&format!("{arrow}: {}", label(&text, &step.messages, LABEL)));
            }
            None => {
                let (over, columns) = self.beneath(step);
                let text = self.told(step, None);
                self.line(&format!("Note over {over}: {}", label(&text, &step.messages, columns)));
            }
        }
        self.delayed.extend(step.messages.iter().filter(|hop| hop.fate == Fate::Delayed).map(|hop| hop.id));
        self.believe(step);
    }

    /// The arrow of a message that ends in this step.
    fn arrow(&self, hop: &Hop) -> Option<String> {
        let (from, to) = (self.lane(&hop.from)?, self.lane(&hop.to)?);
        let is_reply = from.actor.kind > to.actor.kind;
        let arrow = match hop.fate {
            Fate::Sent | Fate::Delayed => return None,
            Fate::Delivered if is_reply => "-->>",
            Fate::Delivered => "->>",
            Fate::Ignored => "--)",
            Fate::Lost => "-x",
            Fate::Refused => "--x",
        };
        Some(format!("{}{arrow}{}", from.name, to.name))
    }

    /// What the note of a step without an arrow stands over, and how wide it may be.
    fn beneath(&self, step: &Step) -> (String, usize) {
        let delayed = step.messages.iter().find(|hop| hop.fate == Fate::Delayed);
        if let Some((from, to)) = delayed.and_then(|hop| self.lane(&hop.from).zip(self.lane(&hop.to))) {
            return (format!("{},{}", from.name, to.name), LABEL);
        }
        match self.lane(&step.actor) {
            Some(lane) => (lane.name.clone(), LABEL),
            None => (self.everybody(), WIDE),
        }
    }

    fn everybody(&self) -> String {
        match self.lanes.as_slice() {
            [] => "nobody".to_owned(),
            [one] => one.name.clone(),
            [first, .., last] => format!("{},{}", first.name, last.name),
        }
    }

    /// The action with its number, the fault and the messages. `last` is the one whose arrow it labels.
    fn told(&self, step: &Step, last: Option<&Hop>) -> String {
        let mut text = self.numbered(step, &step.action);
        let mut messages: Vec<String> = Vec::new();
        if let Some(hop) = last.filter(|hop| self.told_apart.contains(&hop.id)) {
            messages.push(format!("m{}", hop.id));
        }
        if let Some(hop) = last {
            messages.extend(self.fate(hop).map(str::to_owned));
        }
        let of = |fate| step.messages.iter().filter(move |hop| hop.fate == fate).map(|hop| format!("m{}", hop.id));
        messages.extend(of(Fate::Delayed));
        let sent: Vec<String> = of(Fate::Sent).collect();
        if !sent.is_empty() {
            messages.push(format!("sends {}", sent.join(" ")));
        }
        if !messages.is_empty() {
            text.push_str(&format!(" ({})", messages.join(", ")));
        }
        text
    }

    /// What an arrow alone does not say of its message.
    fn fate(&self, hop: &Hop) -> Option<&'static str> {
        match hop.fate {
            Fate::Ignored => Some("of no use"),
            Fate::Refused => Some("refused"),
            Fate::Delivered if self.delayed.contains(&hop.id) => Some("was delayed"),
            Fate::Delivered | Fate::Sent | Fate::Lost | Fate::Delayed => None,
        }
    }

    fn numbered(&self, step: &Step, text: &str) -> String {
        let number = if step.matters { step.n.to_string() } else { format!("({})", step.n) };
        let fault = step.fault.iter().map(|fault| format!("fault {fault} · "));
        let tick = step.time().filter(|_| step.kind == StepKind::Tick).map(|time| format!("tick {time} · "));
        let more: String = fault.chain(tick).collect();
        format!("{number} · {more}{text}")
    }

    /// Begins and ends the bars of those whose belief the step changed.
    fn believe(&mut self, step: &Step) {
        let holding: Vec<String> =
            step.holding.iter().filter_map(|id| self.lane(id)).map(|lane| lane.name.clone()).collect();
        for name in std::mem::take(&mut self.active) {
            if holding.contains(&name) {
                self.active.push(name);
            } else {
                self.line(&format!("deactivate {name}"));
            }
        }
        for name in holding {
            if !self.active.contains(&name) {
                self.line(&format!("activate {name}"));
                self.active.push(name);
            }
        }
    }

    /// The violation, and why it is one.
    fn end(&mut self) {
        let mut lines = vec![label(&format!("✗ {} violated", self.trace.property.name), &[], WIDE)];
        lines.extend(self.trace.why.iter().map(|fact| label(fact, &[], WIDE)));
        self.line(&format!("Note over {}: {}", self.everybody(), lines.join("<br/>")));
        // A bar that does not end is not drawn.
        for name in std::mem::take(&mut self.active).iter().rev() {
            self.line(&format!("deactivate {name}"));
        }
    }
}

impl Lane<'_> {
    fn declared(&self) -> String {
        let alias = escaped(&self.actor.name);
        if alias.trim().is_empty() || alias == self.name {
            return format!("participant {}", self.name);
        }
        format!("participant {} as {alias}", self.name)
    }
}

/// The lifelines from left to right: clients, servers, resources. Each has a name that is safe and its own: the id of
/// its actor where that is both.
fn lanes(trace: &Trace) -> Vec<Lane<'_>> {
    let mut actors: Vec<&Actor> = trace.actors.iter().collect();
    actors.sort_by_key(|actor| actor.kind);
    let mut taken: BTreeSet<String> = actors.iter().map(|actor| actor.id.to_lowercase()).collect();
    let mut seen = BTreeSet::new();
    let mut lanes = Vec::new();
    for actor in actors {
        let is_own = seen.insert(actor.id.to_lowercase());
        let name = if is_own && is_safe(&actor.id) { actor.id.clone() } else { free_name(&mut taken, actor.kind) };
        lanes.push(Lane { actor, name });
    }
    lanes
}

fn is_safe(id: &str) -> bool {
    let is_word = id.starts_with(|c: char| c.is_ascii_alphabetic()) && id.chars().all(|c| c.is_ascii_alphanumeric());
    is_word && !RESERVED.iter().any(|word| word.eq_ignore_ascii_case(id))
}

fn free_name(taken: &mut BTreeSet<String>, kind: ActorKind) -> String {
    let stem = match kind {
        ActorKind::Client => "client",
        ActorKind::Server => "server",
        ActorKind::Resource => "resource",
    };
    // Among one name more than there are, one is free.
    let name = (1..=taken.len() + 1).map(|n| format!("{stem}{n}")).find(|name| !taken.contains(name));
    let name = name.unwrap_or_else(|| stem.to_owned());
    taken.insert(name.clone());
    name
}

/// A text as a label: broken into lines, but not within what the messages say, with nothing in it that the language reads.
fn label(text: &str, messages: &[Hop], columns: usize) -> String {
    let text = clean(text, false);
    let commands: Vec<String> = messages.iter().map(|hop| clean(&hop.text, false)).collect();
    let lines: Vec<String> =
        wrap_around(&text, &commands, columns).iter().map(|line| escaped_in(line, &text)).collect();
    lines.join("<br/>")
}

/// A text with nothing in it that the language reads.
fn escaped(text: &str) -> String {
    let text = clean(text, false);
    escaped_in(&text, &text)
}

/// A line of a text. Mermaid's entities are written `#59;`: the code point in decimal digits.
fn escaped_in(line: &str, text: &str) -> String {
    // `wrap:` before a text is an instruction, and mermaid strips the last `;` of what looks like a style.
    let text = text.to_lowercase();
    let is_colon_read = ["wrap", "style", "classdef"].iter().any(|word| text.contains(word));
    let words: Vec<String> = line.split(' ').map(|word| escaped_word(word, is_colon_read)).collect();
    words.join(" ")
}

fn escaped_word(word: &str, is_colon_read: bool) -> String {
    let mut out = String::with_capacity(word.len());
    let bare = word.trim_matches(|c: char| !c.is_ascii_alphanumeric());
    let ends = bare.eq_ignore_ascii_case("end").then(|| word.find(bare)).flatten();
    for (at, c) in word.char_indices() {
        let is_read = match c {
            // Comments, statements, entities, HTML, directives, formulas, and what an entity becomes inside mermaid.
            '#' | ';' | '&' | '<' | '>' | '"' | '%' | '$' | '\\' | '{' | '}' | '¶' | 'ﬂ' => true,
            ':' => is_colon_read,
            _ => ends == Some(at),
        };
        if is_read {
            out.push_str(&format!("#{};", u32::from(c)));
        } else {
            out.push(c);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{escaped, is_safe, label};

    #[test]
    fn nothing_in_a_label_is_read_as_the_language() {
        assert_eq!(escaped("a;b #1 \"x\" <b>&"), "a#59;b #35;1 #34;x#34; #60;b#62;#38;");
        assert_eq!(escaped("one\ntwo\r\u{1b}[1m\u{202e}"), "one two \u{fffd}[1m\u{fffd}");
        assert_eq!(escaped("%%{init: {}}%%"), "#37;#37;#123;init: #123;#125;#125;#37;#37;");
        assert_eq!(escaped("$$x$$ \\n"), "#36;#36;x#36;#36; #92;n");
    }

    #[test]
    fn the_word_that_ends_a_block_is_no_word_in_a_label() {
        assert_eq!(escaped("the end"), "the #101;nd");
        assert_eq!(escaped("(END), weekend ended"), "(#69;ND), weekend ended");
    }

    #[test]
    fn colons_stand_where_they_are_no_instruction() {
        assert_eq!(escaped("node 1 carries out SET: OK"), "node 1 carries out SET: OK");
        assert_eq!(escaped("wrap: all"), "wrap#58; all");
        assert_eq!(escaped("style x:#a;"), "style x#58;#35;a#59;");
        assert_eq!(label("classDef of old a:b", &[], 10), "classDef<br/>of old a#58;b");
    }

    #[test]
    fn only_plain_words_name_a_lifeline() {
        for id in ["A", "node1", "store", "ender"] {
            assert!(is_safe(id), "{id}");
        }
        for id in ["", "1", "a b", "A-x", "End", "sequencediagram", "é", "a:b", "a\nend"] {
            assert!(!is_safe(id), "{id}");
        }
    }
}
