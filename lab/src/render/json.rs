//! JSON for programs. `lab/SCHEMA.md` describes it; a change that a reader cannot overlook counts [`SCHEMA`] up.

use std::collections::BTreeMap;

use check::Engine;
use check::scenario::{Named, Scenario, Verdict};
use serde::Serialize;
use trace::Trace;
use world::Grain;

use super::finish::{cut, is_cut};
use crate::args::CheckArgs;
use crate::commands::check::{Findings, Plan, Run};
use crate::exit::Exit;
use crate::failure::Failure;

/// The version of everything here.
pub(crate) const SCHEMA: u32 = 1;

#[derive(Serialize)]
struct Single<'a> {
    schema: u32,
    #[serde(flatten)]
    check: Check<'a>,
}

#[derive(Serialize)]
struct Several<'a> {
    schema: u32,
    verdict: &'static str,
    complete: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    matches: Option<bool>,
    runs: Vec<Check<'a>>,
    not_run: Vec<Subject<'a>>,
    timing: Timing,
}

#[derive(Serialize)]
struct Check<'a> {
    scenario: Subject<'a>,
    verdict: &'static str,
    complete: bool,
    cut_by: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    matches: Option<bool>,
    grain: &'static str,
    engine: &'static str,
    /// Which states were taken for one.
    #[serde(skip_serializing_if = "Option::is_none")]
    symmetry: Option<Symmetry>,
    states: States,
    collision_probability: f64,
    properties: Vec<Property<'a>>,
    undecidable: Vec<Undecidable>,
    witnesses: Vec<Witness>,
    timing: Timing,
}

/// How many processes of a kind trade places.
#[derive(Serialize)]
struct Symmetry {
    clients: u8,
    servers: u8,
}

#[derive(Serialize)]
struct Undecidable {
    name: &'static str,
    reason: &'static str,
}

#[derive(Serialize)]
struct Subject<'a> {
    id: &'a str,
    title: &'a str,
    hash: String,
    faults: Vec<Fault>,
}

/// A fault and its budget.
#[derive(Serialize)]
pub(super) struct Fault {
    pub(super) fault: &'static str,
    pub(super) budget: u8,
}

/// How large a searched space is.
#[derive(Serialize)]
pub(super) struct States {
    unique: u64,
    generated: u64,
    depth: u32,
}

impl States {
    pub(super) fn of(states: check::States) -> Self {
        Self { unique: states.unique, generated: states.generated, depth: states.depth }
    }
}

#[derive(Serialize)]
struct Property<'a> {
    name: &'static str,
    verdict: &'static str,
    /// Under `--expect` only: the verdict that is expected, or null.
    #[serde(skip_serializing_if = "Option::is_none")]
    expected: Option<Option<&'static str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    matches: Option<bool>,
    trace: Option<&'a Trace>,
    #[serde(skip_serializing_if = "Option::is_none")]
    traces: Option<&'a [Trace]>,
}

#[derive(Serialize)]
struct Witness {
    name: &'static str,
    reached: bool,
    required: bool,
}

/// Everything that may differ between two runs.
#[derive(Serialize)]
struct Timing {
    seconds: f64,
    states_per_second: u64,
    threads: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
}

/// One check.
pub(crate) fn single(findings: &Findings, args: &CheckArgs) -> String {
    let Some(run) = findings.runs.first() else { return String::new() };
    let mut check = check(run, args);
    if findings.exit == Exit::Input {
        check.verdict = Exit::Input.word();
    }
    written(&Single { schema: SCHEMA, check })
}

/// A sheet, or several checks.
pub(crate) fn several(findings: &Findings, args: &CheckArgs) -> String {
    let runs: Vec<_> = findings.runs.iter().map(|run| check(run, args)).collect();
    let verdicts = findings.runs.iter().map(|run| Exit::of(&run.report));
    let cut_short = (!findings.not_run.is_empty()).then_some(Exit::Inconclusive);
    let failed = (findings.exit == Exit::Input).then_some(Exit::Input);
    let seconds = findings.runs.iter().map(|run| run.elapsed.as_secs_f64()).sum();
    let generated = findings.runs.iter().map(|run| run.report.states.generated).sum();
    written(&Several {
        schema: SCHEMA,
        verdict: Exit::first(verdicts.chain(cut_short).chain(failed)).word(),
        complete: findings.not_run.is_empty() && findings.runs.iter().all(|run| !is_cut(&run.report)),
        matches: args.expect.then(|| findings.not_run.is_empty() && runs.iter().all(|run| run.matches == Some(true))),
        runs,
        not_run: findings.not_run.iter().map(planned).collect(),
        timing: timing(seconds, generated, args, None),
    })
}

/// That nothing came of it.
pub(crate) fn failure(failure: &Failure) -> String {
    #[derive(Serialize)]
    struct Failed {
        schema: u32,
        verdict: &'static str,
        errors: Vec<String>,
    }
    written(&Failed { schema: SCHEMA, verdict: failure.exit().word(), errors: failure.messages() })
}

/// The catalogue.
pub(crate) fn list(scenarios: &[Scenario]) -> String {
    #[derive(Serialize)]
    struct List<'a> {
        schema: u32,
        scenarios: Vec<Listed<'a>>,
    }
    #[derive(Serialize)]
    struct Listed<'a> {
        id: &'a str,
        title: &'a str,
        about: &'a str,
        family: &'a str,
        pair: Option<&'a str>,
        source: Option<&'a str>,
        hash: String,
        faults: Vec<Fault>,
        expect: BTreeMap<&'static str, &'static str>,
        rows: Vec<Row>,
    }
    #[derive(Serialize)]
    struct Row {
        title: String,
        hash: String,
        faults: Vec<Fault>,
        expect: BTreeMap<&'static str, &'static str>,
    }
    let expect = |s: &Scenario| s.expect.iter().map(|(p, v)| (p.name(), v.name())).collect();
    let row = |s: &Scenario| Row { title: s.title.clone(), hash: s.hash_text(), faults: faults(s), expect: expect(s) };
    let listed = scenarios.iter().map(|s| Listed {
        id: &s.id,
        title: &s.title,
        about: &s.about,
        family: &s.family,
        pair: s.pair.as_deref(),
        source: s.source.as_deref(),
        hash: s.hash_text(),
        faults: faults(s),
        expect: expect(s),
        // Without rows a scenario expands to itself.
        rows: s.expand().iter().take(s.rows.len()).map(row).collect(),
    });
    written(&List { schema: SCHEMA, scenarios: listed.collect() })
}

fn check<'a>(run: &'a Run, args: &CheckArgs) -> Check<'a> {
    let report = &run.report;
    let property = |p: &'a check::PropertyReport| Property {
        name: p.property.name(),
        verdict: p.verdict.name(),
        expected: args.expect.then(|| run.plan.scenario.expected(p.property).map(Verdict::name)),
        matches: run.mismatches.as_ref().map(|mismatches| mismatches.iter().all(|m| m.property != p.property)),
        trace: p.trace(),
        traces: args.limits.every_violation.then_some(&p.traces),
    };
    Check {
        scenario: Subject {
            id: &report.id,
            title: &report.title,
            hash: report.hash.clone(),
            faults: faults(&run.plan.scenario),
        },
        verdict: Exit::of(report).word(),
        complete: !is_cut(report),
        cut_by: cut(report).map(|by| by.trim_start_matches("--")),
        matches: run.mismatches.as_ref().map(Vec::is_empty),
        grain: match report.grain {
            Grain::Message => "message",
            Grain::Exchange => "exchange",
        },
        engine: match args.limits.engine {
            Engine::Levels => "levels",
            Engine::Stateright => "stateright",
        },
        symmetry: report.symmetry.map(|s| Symmetry { clients: s.clients, servers: s.nodes }),
        states: States::of(report.states),
        collision_probability: report.collision_probability,
        properties: report.properties.iter().map(property).collect(),
        undecidable: report
            .undecidable
            .iter()
            .map(|(property, reason)| Undecidable { name: property.name(), reason })
            .collect(),
        witnesses: report
            .witnesses
            .iter()
            .map(|w| Witness { name: w.name, reached: w.reached, required: w.required })
            .collect(),
        timing: timing(run.elapsed.as_secs_f64(), report.states.generated, args, Some(report.bytes)),
    }
}

fn planned(plan: &Plan) -> Subject<'_> {
    let scenario = &plan.scenario;
    Subject { id: &scenario.id, title: &scenario.title, hash: scenario.hash_text(), faults: faults(scenario) }
}

fn faults(scenario: &Scenario) -> Vec<Fault> {
    let budget = &scenario.faults;
    budget.kinds().map(|fault| Fault { fault: fault.name(), budget: budget.get(fault) }).collect()
}

fn timing(seconds: f64, generated: u64, args: &CheckArgs, bytes: Option<u64>) -> Timing {
    let states_per_second = if seconds > 0.0 { (generated as f64 / seconds) as u64 } else { 0 };
    Timing { seconds, states_per_second, threads: args.limits.threads.get(), bytes }
}

pub(super) fn written(value: &impl Serialize) -> String {
    match serde_json::to_string_pretty(value) {
        Ok(text) => text + "\n",
        Err(error) => panic!("JSON with string keys only was not written: {error}"),
    }
}
