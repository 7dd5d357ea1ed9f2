//! A run under stress, to read.

use std::time::Duration;

use check::scenario::{Named, Property, Verdict};
use hdrhistogram::Histogram;

use super::counts::{counted, grouped, time};
use super::page::{Line, Page, Paint, columns};
use super::signs::paint;
use crate::args::Settled;
use crate::commands::stress::{Findings, SEEN, Said, injected_words};
use crate::exit::Exit;
use crate::stress::Injections;

/// The percentiles that are shown.
pub(super) const PERCENTILES: [f64; 4] = [50.0, 90.0, 99.0, 99.9];

/// The view.
pub(crate) fn text(findings: &Findings, settled: &Settled) -> String {
    let mut page = Page::new(settled);
    if !settled.quiet {
        head(&mut page, findings);
        numbers(&mut page, findings);
        page.gap();
    }
    verdicts(&mut page, findings);
    if !settled.quiet {
        firsts(&mut page, findings);
        orphans(&mut page, findings);
        end(&mut page, findings);
    }
    page.finish()
}

fn head(page: &mut Page<'_>, findings: &Findings) {
    let Findings { check, plan, outcome, .. } = findings;
    page.prose(Paint::Strong, 0, &format!("{} under stress", check.name()));
    page.prose(Paint::Plain, 0, &check.scenario.full_title());
    page.gap();
    let workers = counted(plan.workers, "worker");
    let servers = counted(plan.setup.policy.nodes.into(), "lock server");
    let ttl = plan.ttl().map_or("no TTL".to_owned(), |ttl| format!("TTL {}", time(ttl)));
    let work = plan.ticks(plan.setup.policy.program.work);
    let work = if work.is_zero() { String::new() } else { format!(", work {}", time(work)) };
    page.prose(
        Paint::Plain,
        0,
        &format!("{workers} for {} on {servers}; a tick is {} ms: {ttl}{work}.", time(outcome.elapsed), plan.tick),
    );
    page.gap();
}

fn numbers(page: &mut Page<'_>, findings: &Findings) {
    let sums = &findings.outcome.sums;
    let seconds = findings.outcome.elapsed.as_secs_f64().max(0.001);
    let given_up = match sums.given_up {
        0 => String::new(),
        number => format!(", {} given up", grouped(number)),
    };
    let gap = time(sums.longest_gap);
    let rate = grouped((sums.updates as f64 / seconds) as u64);
    page.field(
        "updates",
        &format!("{}, {rate}/s{given_up}; the longest time without one: {gap}", grouped(sums.updates)),
    );
    page.field("acquire", &latencies(&sums.acquire));
    page.field("held", &latencies(&sums.hold));
    let share = (100 * sums.taken).checked_div(sums.asked).unwrap_or(0);
    page.field("refused", &format!("{share}% of {} requests for the lock found it taken", grouped(sums.asked)));
    let rest = [
        (sums.lost, "lease lost", "leases lost"),
        (sums.refused, "request refused by the account", "requests refused by the account"),
        (sums.unanswered, "request without an answer", "requests without an answer"),
    ];
    let rest: Vec<String> = rest
        .into_iter()
        .filter(|(number, ..)| *number > 0)
        .map(|(number, one, several)| format!("{} {}", grouped(number), if number == 1 { one } else { several }))
        .collect();
    if !rest.is_empty() {
        page.field("besides", &rest.join(", "));
    }
    if let Some(why) = &sums.last_failure {
        page.field("no answer", &format!("the last: {why}"));
    }
    page.field("faults", &faults(findings));
}

fn faults(findings: &Findings) -> String {
    let injected = findings.outcome.sums.injected.iter().map(|(fault, Injections { all, in_lease })| {
        let (one, several) = injected_words(*fault);
        let word = if *all == 1 { one } else { several };
        format!("{} {word}, {} in a held lease", grouped(*all), grouped(*in_lease))
    });
    let injected: Vec<String> = injected.collect();
    if injected.is_empty() { "none".to_owned() } else { injected.join("; ") }
}

fn latencies(histogram: &Histogram<u64>) -> String {
    if histogram.is_empty() {
        return "never".to_owned();
    }
    let percentiles = PERCENTILES.map(|p| format!("p{p} {}", short(histogram.value_at_percentile(p))));
    format!("{}, max {}", percentiles.join(", "), short(histogram.max()))
}

/// Microseconds, with two or three digits.
pub(super) fn short(microseconds: u64) -> String {
    match microseconds {
        0..1000 => format!("{microseconds} µs"),
        1000..10_000 => format!("{:.1} ms", microseconds as f64 / 1000.0),
        10_000..1_000_000 => format!("{} ms", microseconds / 1000),
        _ => format!("{:.1} s", microseconds as f64 / 1_000_000.0),
    }
}

fn verdicts(page: &mut Page<'_>, findings: &Findings) {
    let rows: Vec<(Property, Said)> = SEEN.into_iter().filter_map(|p| Some((p, findings.said(p)?))).collect();
    let name = rows.iter().map(|(property, _)| property.name().len()).max().unwrap_or(0);
    let says = rows.iter().map(|(_, said)| columns(&in_words(said))).max().unwrap_or(0).max(7);
    let (checker, seen) = (name + 4, name + 4 + says + 2);
    let mut line = Line::of(Paint::Faint, "  property");
    line.pad(checker);
    line.push(Paint::Faint, "checker");
    line.pad(seen);
    line.push(Paint::Faint, "seen here");
    page.line(line);
    for (property, said) in rows {
        let sights = findings.seen(property);
        let mut line = Line::of(Paint::Plain, "  ").with(Paint::Plain, property.name());
        line.pad(checker);
        line.push(paint(said.verdict), &in_words(&said));
        line.pad(seen);
        let is_contradicted = matches!(said.verdict, Verdict::Holds | Verdict::Vacuous) && sights.count > 0;
        let (paint, text) = match (sights.count, is_contradicted) {
            (0, _) => (Paint::Good, "none".to_owned()),
            (count, true) => (Paint::Bad, format!("{}, against the checker", grouped(count))),
            (count, false) => (Paint::Bad, format!("{} in {}", grouped(count), grouped(findings.outcome.sums.updates))),
        };
        line.push(paint, &text);
        page.line(line);
    }
}

/// What the checker says.
pub(super) fn in_words(said: &Said) -> String {
    match (said.verdict, said.under.as_slice()) {
        (Verdict::Violated, []) => "violated without a fault".to_owned(),
        (Verdict::Violated, faults) => format!("violated under {}", faults.join(" + ")),
        (Verdict::Holds | Verdict::Inconclusive | Verdict::Vacuous, _) => said.verdict.name().to_owned(),
    }
}

/// Locks that stand for ever when everybody has left.
fn orphans(page: &mut Page<'_>, findings: &Findings) {
    for (lock, server) in &findings.outcome.orphans {
        let name = findings.check.scenario.resource_names().get(*lock).cloned().unwrap_or_default();
        let says = format!("{name} on server {} stands without end, and everybody has left", server + 1);
        page.gap();
        page.hanging(Line::of(Paint::Faint, "  orphan"), Paint::Plain, 27, &says);
    }
}

fn firsts(page: &mut Page<'_>, findings: &Findings) {
    let firsts = SEEN.into_iter().filter_map(|property| Some((property, findings.seen(property).first?)));
    let firsts: Vec<(Property, (Duration, String))> = firsts.collect();
    if firsts.is_empty() {
        return;
    }
    page.gap();
    for (property, (at, says)) in firsts {
        let head = Line::of(Paint::Faint, &format!("  first {}", property.name()));
        page.hanging(head, Paint::Plain, 27, &format!("{:.3} s: {says}", at.as_secs_f64()));
    }
    let short = findings.outcome.short;
    if short > 0 {
        let says = format!("The account is short of {}: each added one.", counted(short as usize, "write"));
        page.prose(Paint::Plain, 2, &says);
    }
}

fn end(page: &mut Page<'_>, findings: &Findings) {
    page.gap();
    let exit = findings.exit();
    let (colour, text) = match exit {
        Exit::Unexpected => (
            Paint::Bad,
            "Something was seen that the checker says cannot be: one of the two is wrong, or the run had what the \
             scenario has not: more clients, more updates (--set updates=2), longer pauses.",
        ),
        Exit::Violated => (Paint::Bad, "A safety property was seen violated, on real servers."),
        Exit::Deadlock => (Paint::Bad, "Nobody can have the lock any more: no-orphan was seen violated."),
        Exit::Inconclusive => (
            Paint::Doubt,
            "Nothing was seen, but the checker could not decide everything. --max-states gives it more room.",
        ),
        Exit::Vacuous if findings.outcome.sums.updates == 0 => (Paint::Doubt, "Vacuous: no update was made."),
        Exit::Vacuous => (
            Paint::Doubt,
            "Vacuous: no fault fell into a held lease, so nothing was put to the test. Run longer, or with a higher \
             --pause-rate.",
        ),
        Exit::Holds => (Paint::Good, "Nothing was seen that the checker forbids, and faults fell into held leases."),
        Exit::Bug
        | Exit::Usage
        | Exit::Input
        | Exit::Absent
        | Exit::Different
        | Exit::Diverged
        | Exit::NotReproduced
        | Exit::NotReplayable => (Paint::Plain, exit.says()),
    };
    page.prose(colour, 0, text);
    if SEEN.into_iter().any(|p| findings.said(p).is_some_and(|said| said.verdict == Verdict::Violated)) {
        page.prose(Paint::Faint, 0, "The shortest way to what the checker says:");
        page.command(&findings.check.command_as_it_is());
    }
}
