//! The weakest faults, to read.

use check::scenario::{Named, Property, Scenario};
use check::weakest::{Break, Breaks, Edge, Law, Magnitude, Side};
use world::{Budget, Fault};

use super::counts::{counted, grouped, time};
use super::page::{Line, Page, Paint, columns};
use crate::args::{Settled, WeakestArgs};
use crate::commands::weakest::{Findings, Scale};
use crate::exit::Exit;

/// The columns before a set.
const LEFT: usize = 2;
/// The columns before a command.
const COMMAND: usize = 4;
/// The most columns of the names of a set.
const NAMES: usize = 28;
/// How many sets that are not decided are named, unless more is asked for.
const NAMED: usize = 4;

/// The view.
pub(crate) fn text(findings: &Findings, args: &WeakestArgs, settled: &Settled) -> String {
    let mut page = Page::new(settled);
    if !settled.quiet {
        head(&mut page, findings, args);
    }
    let names = |set: &Break| columns(&named(&set.faults, settled.ascii));
    let sets = findings.found.properties.iter().flat_map(|breaks| &breaks.sets);
    let width = sets.map(names).max().unwrap_or(0).min(NAMES);
    let view = View { findings, width, most: args.most };
    for (number, breaks) in findings.found.properties.iter().enumerate() {
        let is_told = !breaks.sets.is_empty();
        let follows_a_list = number > 0 && !findings.found.properties[number - 1].sets.is_empty();
        if number > 0 && (is_told || follows_a_list) {
            page.gap();
        }
        view.property(&mut page, breaks);
    }
    if settled.quiet {
        return page.finish();
    }
    unasked(&mut page, findings, args);
    if settled.verbose {
        refused(&mut page, findings);
    }
    end(&mut page, findings, args);
    page.finish()
}

/// The names of the faults of a set: `pause + jump`.
pub(crate) fn named(faults: &Budget, ascii: bool) -> String {
    let times = if ascii { "x" } else { "×" };
    let name = |fault: Fault| match faults.get(fault) {
        1 => fault.name().to_owned(),
        _ if fault == Fault::Drift => fault.name().to_owned(),
        units => format!("{} {times}{units}", fault.name()),
    };
    let names: Vec<String> = faults.kinds().map(name).collect();
    if names.is_empty() { "no fault".to_owned() } else { names.join(" + ") }
}

fn head(page: &mut Page<'_>, findings: &Findings, args: &WeakestArgs) {
    let scenario = &findings.scenario;
    page.prose(Paint::Strong, 0, &format!("The weakest faults that break {}", findings.called));
    page.prose(Paint::Plain, 0, &scenario.full_title());
    page.gap();
    let most = counted(args.most.into(), "fault");
    let says = format!(
        "For each property the smallest sets of faults, of at most {most}, that break it, each fault as mild as it can \
         be. All of it was found by running: one tick milder, an exhaustive search finds nothing."
    );
    page.prose(Paint::Plain, 0, &says);
    if args.faults.is_some() {
        let kinds: Vec<&str> = findings.found.kinds.iter().map(|fault| fault.name()).collect();
        page.prose(Paint::Plain, 0, &format!("Faults: {}.", kinds.join(", ")));
    }
    page.prose(Paint::Plain, 0, &numbers(scenario));
    if let Some(scale) = &findings.scale {
        let name = if scale.key == "ttl" { "TTL" } else { scale.key };
        let tick = format!("A tick is {} ms: {name} {} is {} ms.", ms(scale, 1), scale.ticks, grouped(scale.ms));
        page.prose(Paint::Plain, 0, &tick);
    }
    page.gap();
}

/// The numbers in terms of which magnitudes are told.
fn numbers(scenario: &Scenario) -> String {
    let settings = &scenario.settings;
    let ttl = settings.ttl.map_or("no TTL".to_owned(), |ttl| format!("TTL {}", ttl.0));
    format!(
        "{}, {}; {ttl}, margin {}, work {}, retry_delay {}, latency {} to {} ticks.",
        counted(settings.clients().into(), "client"),
        counted(settings.nodes.into(), "lock server"),
        settings.margin.0,
        settings.work.0,
        settings.retry_delay.0,
        settings.latency.least.0,
        settings.latency.greatest.0
    )
}

/// What all sets are shown with.
struct View<'a> {
    findings: &'a Findings,
    /// The columns of the names.
    width: usize,
    most: u8,
}

impl View<'_> {
    fn property(&self, page: &mut Page<'_>, breaks: &Breaks) {
        let name = breaks.property.name();
        match (breaks.sets.first(), breaks.undecided.is_empty()) {
            (None, true) if self.findings.found.is_stopped => {
                let head = Line::of(Paint::Doubt, page.signs.inconclusive).with(Paint::Strong, &format!(" {name}"));
                page.hanging(head, Paint::Plain, columns(name) + 4, "nothing found so far");
            }
            (None, true) => {
                let head = Line::of(Paint::Good, page.signs.holds).with(Paint::Strong, &format!(" {name}"));
                let says = match self.most {
                    0 => "holds without a fault".to_owned(),
                    1 => "no single fault breaks it".to_owned(),
                    most => format!("no set of at most {most} faults breaks it"),
                };
                page.hanging(head, Paint::Plain, columns(name) + 4, &says);
            }
            (None, false) => {
                let head = Line::of(Paint::Doubt, page.signs.inconclusive).with(Paint::Strong, &format!(" {name}"));
                page.hanging(head, Paint::Plain, columns(name) + 4, "nothing was found that breaks it");
            }
            (Some(set), _) if set.faults == Budget::default() => {
                let head = Line::of(Paint::Bad, page.signs.violated).with(Paint::Strong, &format!(" {name}"));
                page.hanging(head, Paint::Plain, columns(name) + 4, "breaks without any fault");
                self.command(page, breaks.property, set);
            }
            (Some(_), _) => {
                let head = Line::of(Paint::Bad, page.signs.violated).with(Paint::Strong, &format!(" {name}"));
                page.line(head.with(Paint::Plain, " breaks with"));
                breaks.sets.iter().for_each(|set| self.set(page, breaks.property, set));
            }
        }
        self.undecided(page, breaks);
    }

    fn set(&self, page: &mut Page<'_>, property: Property, set: &Break) {
        let names = page.clean(&named(&set.faults, page.settled.ascii));
        let mut head = Line::default();
        head.pad(LEFT);
        head.push(Paint::Plain, &names);
        let at = LEFT + self.width + 2;
        if head.width() + 2 > at {
            page.line(std::mem::take(&mut head));
        }
        page.hanging(head, Paint::Plain, at, &self.told(set));
        if page.settled.verbose {
            page.prose(Paint::Faint, at, &counterexample(set));
        }
        self.command(page, property, set);
    }

    /// How large the faults of a set have to be.
    fn told(&self, set: &Break) -> String {
        let is_one = set.faults.kinds().count() == 1;
        let told = |m: &Magnitude| {
            let said = self.magnitude(set, m);
            if is_one { said } else { format!("{} {said}", m.fault.name()) }
        };
        let parts: Vec<String> = set.magnitudes.iter().map(told).collect();
        let told = parts.join("; ");
        match (set.is_minimal, told.is_empty()) {
            (true, _) => told,
            (false, true) => "(a smaller set may be enough)".to_owned(),
            (false, false) => format!("{told} (a smaller set may be enough)"),
        }
    }

    fn magnitude(&self, set: &Break, m: &Magnitude) -> String {
        let scale = self.findings.scale.as_ref();
        let said = match (m.side, m.fault) {
            (Side::Least, Fault::Drift) if m.ticks > 1 => format!("{} in all", size(m, scale)),
            (Side::Least, Fault::Pause | Fault::Delay | Fault::Partition) if set.faults.get(m.fault) > 1 => {
                format!("{} each", size(m, scale))
            }
            (Side::Least | Side::Greatest, _) => size(m, scale),
        };
        let mut parts = vec![Self::in_terms(said, &m.law)];
        parts.extend(scale.and_then(|scale| beyond(m, scale)));
        let strikes = set.strikes.iter().find(|(fault, _)| *fault == m.fault);
        if let (Side::Greatest, Some((_, at))) = (m.side, strikes) {
            parts.push(scale.map_or(format!("struck at tick {at}"), |s| format!("struck at {} ms", ms(s, *at))));
        }
        parts.join(", ")
    }

    /// With the formula, if there is one.
    fn in_terms(said: String, law: &Law) -> String {
        match law {
            Law::Linear(law) if law.terms.is_empty() && law.varied.contains(&"ttl") => {
                format!("{said}, whatever the TTL")
            }
            // With the sign for minus that everything else is printed with.
            Law::Linear(law) if !law.terms.is_empty() => {
                format!("{said} = {}", law.to_string().replace(" - ", " \u{2212} "))
            }
            Law::Linear(_) | Law::NotAsked | Law::Irregular | Law::Undecided => said,
        }
    }

    fn command(&self, page: &mut Page<'_>, property: Property, set: &Break) {
        if page.settled.quiet {
            return;
        }
        let mut line = Line::default();
        line.pad(COMMAND);
        let command = super::page::clean(&self.findings.command(property, set), false);
        page.line(line.with(Paint::Command, &command));
    }

    /// The sets of which it is not known whether they break a property.
    fn undecided(&self, page: &mut Page<'_>, breaks: &Breaks) {
        if breaks.undecided.is_empty() {
            return;
        }
        let all = breaks.undecided.len();
        let shown = if page.settled.verbose { all } else { all.min(NAMED) };
        let names: Vec<String> =
            breaks.undecided.iter().take(shown).map(|set| named(set, page.settled.ascii)).collect();
        let more = if shown < all { format!(" and {} more", all - shown) } else { String::new() };
        let mut head = Line::default();
        head.pad(LEFT);
        head.push(Paint::Doubt, page.signs.inconclusive);
        page.hanging(head, Paint::Doubt, LEFT + 2, &format!("not decided: {}{more}", names.join(", ")));
    }
}

/// How large a fault has to be, in ticks or in milliseconds.
fn size(m: &Magnitude, scale: Option<&Scale>) -> String {
    let length = match scale {
        None => counted(m.ticks as usize, "tick"),
        Some(scale) => format!("{} ms", ms(scale, m.ticks)),
    };
    match (m.side, m.edge) {
        (Side::Least, Edge::Holds | Edge::Mildest) => length,
        (Side::Least, Edge::Undecided) => format!("at most {length}"),
        (Side::Greatest, Edge::Mildest) => "however long it is down".to_owned(),
        (Side::Greatest, Edge::Holds) if m.ticks == 0 => "back at once".to_owned(),
        (Side::Greatest, Edge::Holds) => format!("back within {length}"),
        (Side::Greatest, Edge::Undecided) => format!("back within {length} or more"),
    }
}

/// How exactly that is known: a tick can be long.
fn beyond(m: &Magnitude, scale: &Scale) -> Option<String> {
    match (m.side, m.edge) {
        (Side::Least, Edge::Holds) => Some(format!("{} ms is not enough", ms(scale, m.ticks - 1))),
        (Side::Greatest, Edge::Holds) => Some(format!("{} ms is too late", ms(scale, m.ticks + 1))),
        (Side::Least, Edge::Mildest) => Some("less was not tried".to_owned()),
        (Side::Greatest, Edge::Mildest) | (_, Edge::Undecided) => None,
    }
}

fn ms(scale: &Scale, ticks: u32) -> String {
    grouped(scale.of(ticks))
}

/// What the shortest counterexample of a set is like.
fn counterexample(set: &Break) -> String {
    let strikes: Vec<String> = set.strikes.iter().map(|(fault, at)| format!("{} at tick {at}", fault.name())).collect();
    let mut parts = vec![counted(set.steps, "step")];
    parts.extend((!strikes.is_empty()).then(|| strikes.join(", ")));
    for m in &set.magnitudes {
        let said = match &m.law {
            Law::Linear(law) => {
                let numbers: Vec<&str> = law.varied.iter().map(|key| if *key == "ttl" { "TTL" } else { key }).collect();
                format!(
                    "{} measured in {} with other {}",
                    m.fault.name(),
                    counted(law.scenarios, "scenario"),
                    numbers.join(", ")
                )
            }
            Law::Irregular => format!("{} follows no formula", m.fault.name()),
            Law::Undecided => format!("a formula for {} would take too many states", m.fault.name()),
            Law::NotAsked => continue,
        };
        parts.push(said);
    }
    parts.join("; ")
}

/// The properties that are no question for this scenario.
fn unasked(page: &mut Page<'_>, findings: &Findings, args: &WeakestArgs) {
    let is_wanted = |p: &&Property| args.limits.properties.as_ref().is_none_or(|named| named.contains(p));
    let rule = |p: &Property| Some((*p, findings.scenario.undecidable(*p)?));
    let rules: Vec<_> = Property::ALL.iter().filter(is_wanted).filter_map(rule).collect();
    if let Some((_, rule)) = rules.first() {
        let names: Vec<&str> = rules.iter().map(|(p, _)| p.name()).collect();
        page.gap();
        page.prose(Paint::Doubt, 0, &format!("Not asked: {}: {}.", names.join(", "), rule.reason));
    }
}

fn refused(page: &mut Page<'_>, findings: &Findings) {
    if findings.found.refused.is_empty() {
        return;
    }
    page.gap();
    page.line(Line::of(Paint::Strong, "Refused"));
    for set in &findings.found.refused {
        let mut head = Line::default();
        head.pad(LEFT);
        head.push(Paint::Plain, &named(&set.faults, page.settled.ascii));
        head.push(Paint::Plain, "  ");
        page.hanging(head, Paint::Faint, LEFT + NAMES, &set.reason);
    }
}

/// The last lines.
fn end(page: &mut Page<'_>, findings: &Findings, args: &WeakestArgs) {
    let found = &findings.found;
    page.gap();
    let refused = found.refused.len();
    let refused = if refused == 0 { String::new() } else { format!(" ({} refused)", counted(refused, "set")) };
    let text = format!(
        "{}{refused}, {} states up to symmetry, {} on {}",
        counted(found.checks, "check"),
        grouped(found.states),
        time(findings.elapsed),
        counted(args.limits.threads.get(), "thread")
    );
    page.prose(Paint::Faint, LEFT, &text);
    if found.is_stopped {
        page.prose(Paint::Doubt, LEFT, "Interrupted: this is what is known so far.");
    }
    let exit = findings.exit();
    if exit == Exit::Holds {
        return;
    }
    let help = if found.is_stopped || args.limits.max_states.is_some() {
        String::new()
    } else {
        " A greater --max-states for each check decides more.".to_owned()
    };
    page.gap();
    page.prose(Paint::Plain, 0, &format!("Exit code {}: {}.{help}", exit.code(), exit.says()));
}
