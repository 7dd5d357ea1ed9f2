//! One check: what was searched, a verdict for each property, the first counterexample.

use check::scenario::{Named, Verdict};
use check::{Engine, Interchangeable, PropertyReport};
use world::Grain;

use super::counts::{counted, grouped, memory, time};
use super::finish::{self, cut, expected, is_chance, unreached, witness_says};
use super::page::{Line, Page, Paint, columns};
use super::signs::paint;
use crate::args::{CheckArgs, Settled};
use crate::commands::check::{Findings, Run};

/// The view.
pub(crate) fn text(findings: &Findings, args: &CheckArgs, settled: &Settled) -> String {
    let mut page = Page::new(settled);
    let Some(run) = findings.runs.first() else { return page.finish() };
    if !settled.quiet {
        head(&mut page, run, args);
    }
    verdicts(&mut page, run, args);
    witnesses(&mut page, run);
    if settled.quiet {
        return page.finish();
    }
    if args.limits.every_violation {
        every_trace(&mut page, run);
    } else if let Some((_, _, trace)) = findings.shown() {
        page.gap();
        page.rule("the shortest counterexample");
        page.gap();
        finish::put_trace(&mut page, trace);
    }
    if !args.limits.every_violation {
        finish::others(&mut page, findings);
    }
    finish::end(&mut page, findings, args, true);
    page.finish()
}

fn head(page: &mut Page<'_>, run: &Run, args: &CheckArgs) {
    let (report, scenario) = (&run.report, &run.plan.scenario);
    page.prose(Paint::Strong, 0, &report.title);
    if !scenario.about.is_empty() {
        page.prose(Paint::Plain, 0, &scenario.about);
    }
    page.gap();
    let faults: Vec<String> = report.faults.iter().map(|(fault, units)| format!("{fault} {units}")).collect();
    page.field("scenario", &format!("{} ({})", report.id, report.hash));
    page.field("faults", &if faults.is_empty() { "none".to_owned() } else { faults.join(", ") });
    page.field("grain", grain(report.grain));
    let states = report.states;
    let numbers = format!(
        "{} different, {} generated, depth {}",
        grouped(states.unique),
        grouped(states.generated),
        states.depth
    );
    page.field(
        "states",
        &match cut(report) {
            None => format!("{numbers}: every reachable state"),
            Some(by) => format!("{numbers}: cut short by {by}, there are more"),
        },
    );
    if args.limits.symmetry {
        page.field("symmetry", &symmetry(report.symmetry));
    }
    let seconds = run.elapsed.as_secs_f64();
    let rate = if seconds > 0.0 { (states.generated as f64 / seconds) as u64 } else { 0 };
    let engine = match args.limits.engine {
        Engine::Levels => "",
        Engine::Stateright => ", searched by stateright: not always the shortest trace",
    };
    let threads = counted(args.limits.threads.get(), "thread");
    page.field("time", &format!("{} on {threads}, {} states/s{engine}", time(run.elapsed), grouped(rate)));
    if page.settled.verbose && args.limits.engine == Engine::Levels {
        page.field("memory", &format!("{} at the peak", memory(report.bytes)));
        let chance = report.collision_probability;
        page.field("hashing", &format!("two states were taken for one with a probability of at most {chance:.1e}"));
    }
    if is_chance(report) {
        page.field("", "Where the search was cut differs from run to run, and so may everything below.");
    }
    page.gap();
}

/// Which states were taken for one, in words.
pub(super) fn symmetry(symmetry: Option<Interchangeable>) -> String {
    let many = |number: u8, of: &str| (number > 1).then(|| format!("{number} {of}"));
    let Some(Interchangeable { clients, nodes }) = symmetry else {
        return "none: every client and every server has a place of its own".to_owned();
    };
    let kinds: Vec<_> = [many(clients, "clients"), many(nodes, "servers")].into_iter().flatten().collect();
    format!("{} may trade places: one state stands for all orders", kinds.join(" and "))
}

/// The grain in words.
pub(super) fn grain(grain: Grain) -> &'static str {
    match grain {
        Grain::Message => "message: a request and its reply are steps of their own",
        Grain::Exchange => "exchange: a command and its reply are one step",
    }
}

fn verdicts(page: &mut Page<'_>, run: &Run, args: &CheckArgs) {
    let name = |p: &PropertyReport| p.property.name().len();
    let names = run.report.properties.iter().map(name).max().unwrap_or(0);
    let signs = run.report.properties.iter().map(|p| columns(page.signs.verdict(p.verdict))).max().unwrap_or(1);
    let said: Vec<String> = run.report.properties.iter().map(|p| said(p, args)).collect();
    let wide = said.iter().map(|text| columns(text)).max().unwrap_or(0);
    for (p, said) in run.report.properties.iter().zip(said) {
        let mut line = Line::of(Paint::Plain, "  ").with(paint(p.verdict), page.signs.verdict(p.verdict));
        line.pad(2 + signs + 1);
        line.push(Paint::Plain, p.property.name());
        line.pad(2 + signs + 1 + names + 2);
        line.push(paint(p.verdict), &said);
        if let Some(mismatches) = &run.mismatches {
            line.pad(2 + signs + 1 + names + 2 + wide + 2);
            match mismatches.iter().find(|m| m.property == p.property) {
                Some(mismatch) => line.push(Paint::Bad, &expected(mismatch)),
                None if run.plan.scenario.expected(p.property).is_some() => line.push(Paint::Faint, "as expected"),
                None => {}
            }
        }
        page.line(line);
    }
    undecided(page, run, args);
}

/// What would have been asked, had it been a question.
fn undecided(page: &mut Page<'_>, run: &Run, args: &CheckArgs) {
    let graph = run.report.properties.iter().any(|p| p.property.is_about_the_graph());
    if graph && args.limits.engine == Engine::Stateright {
        let head = Line::of(Paint::Plain, "  ");
        page.hanging(
            head,
            Paint::Faint,
            2,
            "stateright's search decides no property of the graph: use --engine levels",
        );
    }
    for (property, reason) in &run.report.undecidable {
        let mut head = Line::of(Paint::Plain, "  ").with(Paint::Faint, page.signs.unasked);
        head.pad(4);
        head.push(Paint::Plain, property.name());
        page.hanging(head, Paint::Faint, 4 + property.name().len() + 2, &format!("not asked: {reason}"));
    }
}

fn said(p: &PropertyReport, args: &CheckArgs) -> String {
    match (p.verdict, p.trace()) {
        (Verdict::Violated, Some(trace)) => {
            let when = match trace.steps.len() {
                0 => "in the first state".to_owned(),
                steps => format!("after {}", counted(steps, "step")),
            };
            if args.limits.every_violation {
                format!("violated in {}, first {when}", counted(p.traces.len(), "state"))
            } else {
                format!("violated {when}")
            }
        }
        (verdict, _) => verdict.name().to_owned(),
    }
}

/// The witnesses: of those that are required, the ones that are missing; or all of them.
fn witnesses(page: &mut Page<'_>, run: &Run) {
    let missing = unreached(&run.report);
    if !missing.is_empty() && run.report.is_complete() && !page.settled.quiet {
        page.gap();
        page.line(Line::of(Paint::Doubt, "Never reached, without which \"holds\" says nothing:"));
        for name in &missing {
            let head = Line::of(Paint::Plain, &format!("  {name}"));
            page.hanging(
                head,
                Paint::Faint,
                4 + missing.iter().map(|m| m.len()).max().unwrap_or(0),
                &witness_says(name),
            );
        }
    }
    if page.settled.verbose && !run.report.witnesses.is_empty() {
        page.gap();
        page.line(Line::of(Paint::Strong, "Witnesses"));
        let names = run.report.witnesses.iter().map(|w| w.name.len()).max().unwrap_or(0);
        for witness in &run.report.witnesses {
            let (paint, sign) = match (witness.reached, witness.required) {
                (true, _) => (Paint::Good, page.signs.holds),
                (false, true) => (Paint::Doubt, page.signs.vacuous),
                (false, false) => (Paint::Faint, page.signs.unasked),
            };
            let mut head = Line::of(Paint::Plain, "  ").with(paint, sign);
            head.pad(5);
            head.push(Paint::Plain, witness.name);
            let needed = if witness.required { "" } else { " (not required)" };
            page.hanging(head, Paint::Faint, 7 + names, &format!("{}{needed}", witness_says(witness.name)));
        }
    }
}

fn every_trace(page: &mut Page<'_>, run: &Run) {
    for p in &run.report.properties {
        for (number, trace) in p.traces.iter().enumerate() {
            page.gap();
            page.rule(&format!("{}, {} of {}", p.property.name(), number + 1, p.traces.len()));
            page.gap();
            let text = finish::trace(trace, page.settled);
            page.raw(&text);
        }
    }
}
