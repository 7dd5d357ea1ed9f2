//! A run under stress for programs.

use check::scenario::Named;
use hdrhistogram::Histogram;
use serde::Serialize;

use super::json::{SCHEMA, written};
use super::stress::PERCENTILES;
use crate::commands::stress::{Findings, SEEN};
use crate::stress::{Injected, STEP};

#[derive(Serialize)]
struct Whole<'a> {
    schema: u32,
    verdict: &'static str,
    scenario: Subject<'a>,
    command: String,
    workers: usize,
    seconds: f64,
    tick_ms: u32,
    ttl_ms: Option<u64>,
    work_ms: u64,
    updates: u64,
    given_up: u64,
    longest_gap_ms: u64,
    requests: u64,
    taken: u64,
    lost: u64,
    refused: u64,
    unanswered: u64,
    short: u64,
    orphans: Vec<Orphan>,
    acquire_us: Option<Latencies>,
    hold_us: Option<Latencies>,
    faults: Vec<Fault>,
    properties: Vec<Property<'a>>,
    timeline: Timeline,
}

#[derive(Serialize)]
struct Subject<'a> {
    id: &'a str,
    title: &'a str,
}

#[derive(Serialize)]
struct Orphan {
    lock: usize,
    server: usize,
}

#[derive(Serialize)]
struct Latencies {
    p50: u64,
    p90: u64,
    p99: u64,
    p999: u64,
    max: u64,
    count: u64,
}

#[derive(Serialize)]
struct Fault {
    name: &'static str,
    injected: u64,
    in_lease: u64,
}

#[derive(Serialize)]
struct Property<'a> {
    name: &'static str,
    checker: &'static str,
    under: Vec<String>,
    seen: u64,
    first: Option<First<'a>>,
}

#[derive(Serialize)]
struct First<'a> {
    at_ms: u64,
    says: std::borrow::Cow<'a, str>,
}

#[derive(Serialize)]
struct Timeline {
    step_ms: u64,
    updates: Vec<u64>,
    faults: Vec<u64>,
    violations: Vec<u64>,
}

/// The document.
pub(crate) fn text(findings: &Findings) -> String {
    let Findings { check, plan, outcome, .. } = findings;
    let sums = &outcome.sums;
    let properties = SEEN.into_iter().filter_map(|property| {
        let said = findings.said(property)?;
        let seen = findings.seen(property);
        let first = seen.first.map(|(at, says)| First { at_ms: at.as_millis() as u64, says: says.into() });
        let (name, checker) = (property.name(), said.verdict.name());
        Some(Property { name, checker, under: said.under, seen: seen.count, first })
    });
    let faults = sums.injected.iter().map(|(fault, injections)| Fault {
        name: match fault {
            Injected::Pause => "pause",
            Injected::Kill => "crash",
            Injected::Restart => "restart",
        },
        injected: injections.all,
        in_lease: injections.in_lease,
    });
    written(&Whole {
        schema: SCHEMA,
        verdict: findings.exit().word(),
        scenario: Subject { id: &check.scenario.id, title: &check.scenario.title },
        command: check.command_as_it_is(),
        workers: plan.workers,
        seconds: outcome.elapsed.as_secs_f64(),
        tick_ms: plan.tick,
        ttl_ms: plan.ttl().map(|ttl| ttl.as_millis() as u64),
        work_ms: plan.ticks(plan.setup.policy.program.work).as_millis() as u64,
        updates: sums.updates,
        given_up: sums.given_up,
        longest_gap_ms: sums.longest_gap.as_millis() as u64,
        requests: sums.asked,
        taken: sums.taken,
        lost: sums.lost,
        refused: sums.refused,
        unanswered: sums.unanswered,
        short: outcome.short,
        orphans: outcome.orphans.iter().map(|(lock, server)| Orphan { lock: *lock, server: *server }).collect(),
        acquire_us: latencies(&sums.acquire),
        hold_us: latencies(&sums.hold),
        faults: faults.collect(),
        properties: properties.collect(),
        timeline: Timeline {
            step_ms: STEP.as_millis() as u64,
            updates: sums.timeline.iter().map(|moment| moment.updates).collect(),
            faults: sums.timeline.iter().map(|moment| moment.faults).collect(),
            violations: sums.timeline.iter().map(|moment| moment.sights).collect(),
        },
    })
}

fn latencies(histogram: &Histogram<u64>) -> Option<Latencies> {
    let [p50, p90, p99, p999] = PERCENTILES.map(|p| histogram.value_at_percentile(p));
    (!histogram.is_empty()).then(|| Latencies { p50, p90, p99, p999, max: histogram.max(), count: histogram.len() })
}
