//! `lab check`: plans the checks, runs them, and hands what was found to a view.

use std::time::Duration;

use check::explore::Cut;
use check::scenario::{KNOBS, Named, Property, Scenario};
use check::{Ending, Engine, PropertyReport, Report};
use trace::Trace;

use crate::args::{Changes, CheckArgs, Settled};
use crate::cli::Format;
use crate::exit::Exit;
use crate::expectation::{Mismatch, mismatches};
use crate::failure::Failure;
use crate::interrupt;
use crate::monitor::Watch;
use crate::output::{Output, tell};
use crate::quote::quoted;
use crate::render;
use crate::target::Target;

/// One check to do: a scenario, or a row of a sheet.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// What the scenario was called by.
    pub(crate) called: String,
    /// The title of the row, if it is one.
    pub(crate) row: Option<String>,
    /// The flags that make of the scenario what is checked, with a space before each, but for its faults.
    flags: String,
    /// The flag of its faults, with a space before it; empty if they are those of the scenario.
    faults: String,
    /// What is checked.
    pub(crate) scenario: Scenario,
}

impl Plan {
    /// The command that checks one property of it.
    pub(crate) fn command(&self, property: Property) -> String {
        format!("{} --property {}", self.command_with(""), property.name())
    }

    /// The command that checks it with more flags, each with a space before it.
    pub(crate) fn command_with(&self, more: &str) -> String {
        format!("lab check {}{}{more}{}", quoted(&self.called), self.flags, self.faults)
    }

    /// The command that checks one property of it under the faults of another scenario, with more flags.
    pub(crate) fn command_under(&self, faults: &Scenario, more: &str, property: Property) -> String {
        let (called, faults) = (quoted(&self.called), faults_of(faults));
        format!("lab check {called}{}{more} --faults {faults} --property {}", self.flags, property.name())
    }

    /// Turns a knob, as `--set` does.
    pub(crate) fn turn(&mut self, assignment: &str) -> Result<(), Failure> {
        self.scenario.set(assignment).map_err(|errors| Failure::scenario(&errors, None))?;
        self.flags.push_str(&format!(" --set {}", quoted(assignment)));
        Ok(())
    }

    /// The command that checks it with the faults that it has, wherever they came from.
    pub(crate) fn command_as_it_is(&self) -> String {
        format!("lab check {}{} --faults {}", quoted(&self.called), self.flags, faults_of(&self.scenario))
    }

    /// Its name among others.
    pub(crate) fn name(&self) -> String {
        match &self.row {
            Some(row) => format!("{}: {row}", self.called),
            None => self.called.clone(),
        }
    }
}

/// A check that was done.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    /// What was checked.
    pub(crate) plan: Plan,
    /// What came out.
    pub(crate) report: Report,
    /// How long it took.
    pub(crate) elapsed: Duration,
    /// Where it is not as expected; none if nobody asked.
    pub(crate) mismatches: Option<Vec<Mismatch>>,
}

impl Run {
    /// What it comes to.
    pub(crate) fn exit(&self) -> Exit {
        match &self.mismatches {
            Some(mismatches) => Exit::first(mismatches.iter().map(|m| m.exit())),
            None => Exit::of(&self.report),
        }
    }

    /// The properties that are violated, each with its shortest trace.
    pub(crate) fn violated(&self) -> impl Iterator<Item = (&PropertyReport, &Trace)> {
        self.report.properties.iter().filter_map(|p| p.trace().map(|trace| (p, trace)))
    }

    /// Whether the scenario as it stands in its file expects this violation.
    pub(crate) fn teaches(&self, property: Property) -> bool {
        let scenario = &self.plan.scenario;
        !scenario.is_overridden() && scenario.expected(property) == Some(check::scenario::Verdict::Violated)
    }
}

/// Everything that was found.
#[derive(Clone, Debug)]
pub(crate) struct Findings {
    /// The sheet, if it is one.
    pub(crate) sheet: Option<Scenario>,
    /// What was done, in order.
    pub(crate) runs: Vec<Run>,
    /// What was not begun, because of Ctrl-C.
    pub(crate) not_run: Vec<Plan>,
    /// What it comes to.
    pub(crate) exit: Exit,
}

impl Findings {
    /// The violation whose trace is shown: the first, or under `--expect` the first that is not expected.
    pub(crate) fn shown(&self) -> Option<(&Run, &PropertyReport, &Trace)> {
        self.runs.iter().find_map(|run| {
            let is_shown = |property: Property| match &run.mismatches {
                Some(mismatches) => mismatches.iter().any(|m| m.property == property),
                None => true,
            };
            let (p, trace) = run.violated().find(|(p, _)| is_shown(p.property))?;
            Some((run, p, trace))
        })
    }
}

/// How the findings are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum View {
    Single,
    Sheet,
    Lines,
}

/// Checks what is asked for.
pub(crate) fn run(args: &CheckArgs, settled: &Settled, output: &mut Output) -> Result<Exit, Failure> {
    let targets = targets(args)?;
    let plans = plans(&targets, args)?;
    let view = match targets.as_slice() {
        [one] if !args.targets.is_empty() => {
            if one.scenario.rows.is_empty() {
                View::Single
            } else {
                View::Sheet
            }
        }
        _ => View::Lines,
    };
    interrupt::listen(args.limits.engine == Engine::Levels);
    let mut lines = None;
    if view == View::Lines && args.format == Format::Text {
        let (layout, head) = render::lines::Lines::new(&plans, args, settled);
        output.put(&head)?;
        lines = Some(layout);
    }
    let mut findings = Findings { sheet: None, runs: Vec::new(), not_run: Vec::new(), exit: Exit::Holds };
    if view == View::Sheet {
        findings.sheet = targets.into_iter().next().map(|target| target.scenario);
    }
    let total = plans.len();
    let mut plans = plans.into_iter().enumerate();
    for (number, plan) in plans.by_ref() {
        let label = match total {
            1 => plan.name(),
            _ => format!("[{}/{total}] {}", number + 1, plan.name()),
        };
        let run = done(plan, label, args, settled)?;
        let is_interrupted = run.report.ending == Ending::Cut(Cut::Interrupted);
        if let Some(lines) = &mut lines {
            output.put(&lines.line(&run, settled))?;
        }
        findings.runs.push(run);
        if is_interrupted || interrupt::is_interrupted() || output.is_closed() {
            break;
        }
    }
    findings.not_run = plans.map(|(_, plan)| plan).collect();
    let cut_short = (!findings.not_run.is_empty()).then_some(Exit::Inconclusive);
    findings.exit = Exit::first(findings.runs.iter().map(Run::exit).chain(cut_short));
    let written = write_trace(&findings, args, settled);
    if let Err(failure) = &written {
        findings.exit = findings.exit.min(failure.exit());
    }
    output.put(&match (args.format, view) {
        (Format::Json, View::Single) => render::json::single(&findings, args),
        (Format::Json, View::Sheet | View::Lines) => render::json::several(&findings, args),
        (Format::Text, View::Single) => render::single::text(&findings, args, settled),
        (Format::Text, View::Sheet) => render::sheet::text(&findings, args, settled),
        (Format::Text, View::Lines) => render::lines::end(&findings, args, settled),
    })?;
    if let Err(failure) = written {
        failure.report(settled);
    }
    if args.replay {
        return replayed(&findings, settled, output);
    }
    Ok(findings.exit)
}

/// Replays the trace that is shown.
fn replayed(findings: &Findings, settled: &Settled, output: &mut Output) -> Result<Exit, Failure> {
    let Some((_, _, trace)) = findings.shown() else {
        if !settled.quiet {
            tell("--replay: there is no trace to replay\n");
        }
        return Ok(findings.exit);
    };
    output.put("\n")?;
    let replay = super::replay::replay(trace, &super::replay::Ask::default(), settled, output)?;
    output.put(&render::replay::text(&replay, settled))?;
    // That it can be made to happen is no news that would hide what was found.
    Ok(if replay.exit() == Exit::Holds { findings.exit } else { replay.exit() })
}

/// Says in JSON as well that nothing came of it.
pub(crate) fn explain(failure: &Failure, format: Format, output: &mut Output) {
    if format == Format::Json {
        // It is told on stderr anyway.
        let _ = output.put(&render::json::failure(failure));
    }
}

/// The scenarios, with everything that is wrong with any of them.
fn targets(args: &CheckArgs) -> Result<Vec<Target>, Failure> {
    if args.targets.is_empty() {
        return all_of(Target::all()?.into_iter().map(|mut target| {
            target.change(&args.changes)?;
            Ok(target)
        }));
    }
    all_of(args.targets.iter().map(|called| {
        let mut target = Target::find(called)?;
        target.change(&args.changes)?;
        Ok(target)
    }))
}

/// All of them, or everything that is wrong.
pub(super) fn all_of<T>(results: impl Iterator<Item = Result<T, Failure>>) -> Result<Vec<T>, Failure> {
    let mut good = Vec::new();
    let mut bad: Option<Failure> = None;
    for result in results {
        match result {
            Ok(value) => good.push(value),
            Err(failure) => {
                bad = Some(match bad.take() {
                    Some(before) => before.and(failure),
                    None => failure,
                });
            }
        }
    }
    match bad {
        Some(failure) => Err(failure),
        None => Ok(good),
    }
}

/// The checks to do. Whatever is refused is refused before the first.
fn plans(targets: &[Target], args: &CheckArgs) -> Result<Vec<Plan>, Failure> {
    let plans: Vec<Plan> = targets.iter().flat_map(|target| plans_of(target, &args.changes)).collect();
    let grain = args.changes.grain.map(|_| ("--grain", "world.grain"));
    let several = targets.len() > 1;
    all_of(plans.iter().map(|plan| match plan.scenario.resolve() {
        Ok(_) => Ok(()),
        Err(errors) => Err(match Failure::scenario(&errors, grain) {
            Failure::Usage(messages) if several => {
                Failure::Usage(messages.into_iter().map(|m| format!("{}: {m}", plan.name())).collect())
            }
            failure @ (Failure::Usage(_) | Failure::Input(_) | Failure::Bug(_)) => failure,
        }),
    }))?;
    if args.expect {
        all_of(plans.iter().map(|plan| match plan.scenario.expect.is_empty() {
            false => Ok(()),
            true => Err(Failure::input(format!(
                "{}: --expect: the scenario expects nothing\n  help: say in its section [expect] what should come out, \
                 such as mutual-exclusion = \"holds\"",
                crate::failure::shown(&plan.name())
            ))),
        }))?;
    }
    decidable(plans, args.limits.properties.as_deref())
}

/// The checks of a scenario in which these changes were made.
pub(super) fn plans_of(target: &Target, changes: &Changes) -> Vec<Plan> {
    let base = &target.scenario;
    let flags = Changes { faults: None, ..changes.clone() }.flags();
    let called = target.called.clone();
    if base.rows.is_empty() {
        let faults = changes.faults.iter().map(|faults| format!(" --faults {}", quoted(faults))).collect();
        return vec![Plan { called, row: None, flags, faults, scenario: base.clone() }];
    }
    let row = |(row, scenario): (&check::scenario::Row, Scenario)| {
        let set = KNOBS.iter().filter(|knob| row.set.contains(&knob.key));
        let set: String =
            set.map(|k| format!(" --set {}", quoted(&format!("{}={}", k.key, typed(&k.get(&row.settings)))))).collect();
        let (flags, faults) = (format!("{flags}{set}"), format!(" --faults {}", faults_of(&scenario)));
        Plan { called: called.clone(), row: Some(row.title.clone()), flags, faults, scenario }
    };
    base.rows.iter().zip(base.expand()).map(row).collect()
}

/// The faults of a scenario as they are typed after `--faults`.
fn faults_of(scenario: &Scenario) -> String {
    let faults: Vec<_> = scenario.faults.kinds().map(|f| format!("{}={}", f.name(), scenario.faults.get(f))).collect();
    if faults.is_empty() { "none".to_owned() } else { faults.join(",") }
}

/// A value of TOML as it may be typed after `--set`.
pub(crate) fn typed(value: &str) -> String {
    if let Some(word) = value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        return word.to_owned();
    }
    match value.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        Some(list) if !list.contains('[') => list.replace(' ', ""),
        Some(_) | None => value.to_owned(),
    }
}

/// Leaves out the checks of which nothing that is asked for can be decided; if it is all of them, says why.
pub(super) fn decidable(plans: Vec<Plan>, asked: Option<&[Property]>) -> Result<Vec<Plan>, Failure> {
    let Some(asked) = asked else { return Ok(plans) };
    let is_decidable = |plan: &Plan| asked.iter().any(|p| plan.scenario.undecidable(*p).is_none());
    let first = plans.first().cloned();
    let plans: Vec<_> = if let [one] = plans.as_slice() {
        let all = asked.iter().all(|p| one.scenario.undecidable(*p).is_none());
        if all { plans } else { Vec::new() }
    } else {
        plans.into_iter().filter(is_decidable).collect()
    };
    let reason = first.filter(|_| plans.is_empty()).and_then(|plan| {
        let (property, rule) = asked.iter().find_map(|p| Some((*p, plan.scenario.undecidable(*p)?)))?;
        let (name, instead) = (property.name(), rule.instead);
        let name_of_plan = crate::failure::shown(&plan.name());
        Some(format!("--property {name}: {name_of_plan}: {}\n  help: {instead}", rule.reason))
    });
    match reason {
        Some(reason) => Err(Failure::usage(reason)),
        None => Ok(plans),
    }
}

/// Does one check.
fn done(plan: Plan, label: String, args: &CheckArgs, settled: &Settled) -> Result<Run, Failure> {
    let mut watch = Watch::new(settled.progress.then_some(label), args.timeout, args.memory);
    let report = check::check(&plan.scenario, &args.limits, &mut watch);
    let elapsed = watch.end();
    let mut report = report.map_err(|errors| Failure::scenario(&errors, None))?;
    for p in &mut report.properties {
        // The checker knows the scenario's id, but not that it came from a file, or what was changed in it.
        let command = plan.command(p.property);
        p.traces.iter_mut().for_each(|trace| trace.command.clone_from(&command));
    }
    let mismatches = args.expect.then(|| mismatches(&plan.scenario, &report));
    Ok(Run { plan, report, elapsed, mismatches })
}

/// Writes the trace that is shown, if there is one.
fn write_trace(findings: &Findings, args: &CheckArgs, settled: &Settled) -> Result<(), Failure> {
    let Some(file) = &args.trace_out else { return Ok(()) };
    let path = crate::failure::shown(&file.path.to_string_lossy());
    let Some((_, _, trace)) = findings.shown() else {
        if !settled.quiet {
            tell(&format!("{path} is not written: there is no trace to show\n"));
        }
        return Ok(());
    };
    file.write(&render::trace::written(trace, file.form, settled, false))?;
    if !settled.quiet {
        let (whose, property) = (&trace.scenario.id, &trace.property.name);
        tell(&format!("The trace is in {path}: {whose}, {property}\n"));
    }
    Ok(())
}
