//! `lab stress`: real workers under a scenario's lock, beside what the checker says of it.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Duration;

use check::scenario::{Property, Scenario, Verdict};
use check::{Limits, Report};
use protocol::Ticks;
use world::{Fault, Persistence};

use super::check::Plan as Check;
use super::one::one;
use crate::args::{Changes, Settled, processors};
use crate::backend::Backend;
use crate::cli::{self, Format};
use crate::exit::Exit;
use crate::failure::{Failure, shown};
use crate::interrupt;
use crate::monitor::Watch;
use crate::output::{Output, tell};
use crate::render;
use crate::servers::{self, Options, Server};
use crate::stress::{self, Addresses, Faults, Injected, Outcome, Plan, Sights, Sums};
use crate::target::Target;

/// What real runs can show: what a safety property forbids.
pub(crate) const SEEN: [Property; 4] =
    [Property::MutualExclusion, Property::NoLostUpdate, Property::NoWrongRelease, Property::NoStaleWrite];

/// How long a TTL is if nobody says how long a tick is.
const TTL: Duration = Duration::from_millis(100);

/// How long a pause is at most where there is no TTL.
const PAUSE: Duration = Duration::from_millis(200);

/// The longest tick: an hour of real time is more than anybody waits.
const LONGEST_TICK: Duration = Duration::from_secs(3600);

/// How long replicas may take to follow their server.
const REPLICAS_WITHIN: Duration = Duration::from_secs(20);

/// The most states of the check, unless somebody says another number.
const MAX_STATES: u64 = 3_000_000;

/// What was found, and of what.
#[derive(Clone, Debug)]
pub(crate) struct Findings {
    /// What was checked: the scenario, with the faults that were injected beside its own.
    pub(crate) check: Check,
    /// What the checker says.
    pub(crate) report: Report,
    /// What was run.
    pub(crate) plan: Plan,
    /// What was seen.
    pub(crate) outcome: Outcome,
}

/// What the checker says of a property.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Said {
    pub(crate) verdict: Verdict,
    /// Of a violation: the faults of the shortest trace.
    pub(crate) under: Vec<String>,
}

impl Findings {
    /// What the checker says of a property.
    pub(crate) fn said(&self, property: Property) -> Option<Said> {
        let report = self.report.properties.iter().find(|p| p.property == property)?;
        let faults = report.trace().into_iter().flat_map(|trace| &trace.steps).filter_map(|step| step.fault.clone());
        let under: BTreeSet<String> = faults.collect();
        Some(Said { verdict: report.verdict, under: under.into_iter().collect() })
    }

    /// What was seen of what a property forbids.
    pub(crate) fn seen(&self, property: Property) -> Sights {
        self.outcome.sums.sights.get(&property).cloned().unwrap_or_default()
    }

    /// How many faults fell into a held lease.
    pub(crate) fn faults_in_lease(&self) -> u64 {
        self.outcome.sums.injected.values().map(|injections| injections.in_lease).sum()
    }

    /// What it comes to.
    pub(crate) fn exit(&self) -> Exit {
        let seen = SEEN.into_iter().filter(|property| self.seen(*property).count > 0);
        let seen = seen.map(|property| match self.said(property).map(|said| said.verdict) {
            Some(Verdict::Holds | Verdict::Vacuous) => Exit::Unexpected,
            Some(Verdict::Violated | Verdict::Inconclusive) | None => Exit::Violated,
        });
        let is_open = |p: &check::PropertyReport| p.verdict == Verdict::Inconclusive;
        let open = self.report.properties.iter().any(is_open).then_some(Exit::Inconclusive);
        let orphan = (!self.outcome.orphans.is_empty()).then_some(Exit::Deadlock);
        let is_vacuous = self.faults_in_lease() == 0 || self.outcome.sums.updates == 0;
        Exit::first(seen.chain(orphan).chain(open).chain(is_vacuous.then_some(Exit::Vacuous)))
    }
}

/// Runs the workers.
pub(super) fn run(raw: cli::Stress, settled: &Settled, output: &mut Output) -> Result<Exit, Failure> {
    // The rows of a sheet differ in their faults, and here other faults are injected.
    let is_sheet = Target::find(&raw.target).is_ok_and(|target| !target.scenario.rows.is_empty());
    let faults = is_sheet.then(|| "none".to_owned());
    let changes = Changes { set: raw.set.clone(), faults, ..Changes::default() };
    let mut check = one(&raw.target, &changes, None)?;
    as_it_is_run(&mut check, &raw)?;
    let plan = plan(&raw, &check.scenario)?;
    with_faults(&mut check.scenario, &plan.faults)?;
    interrupt::listen(true);
    let report = checked(&check, &raw, settled)?;
    let outcome = stressed(&plan, &raw, settled)?;
    let findings = Findings { check, report, plan, outcome };
    // What was seen is told, whatever becomes of the drawing.
    let drawn = raw.plot.as_ref().map_or(Ok(()), |path| draw(&findings, path, settled));
    output.put(&match raw.format {
        Format::Text => render::stress::text(&findings, settled),
        Format::Json => render::stress_json::text(&findings),
    })?;
    let Err(failure) = drawn else { return Ok(findings.exit()) };
    failure.report(settled);
    Ok(failure.exit().min(findings.exit()))
}

/// Makes of the scenario what is run: the work is as long as somebody says, and no message is under way for long.
fn as_it_is_run(check: &mut Check, raw: &cli::Stress) -> Result<(), Failure> {
    let settings = &check.scenario.settings;
    let (work, latency) = (settings.work, settings.latency);
    if work != Ticks(raw.work) {
        check.turn(&format!("work={}", raw.work))?;
    }
    if latency.least > Ticks(0) {
        check.turn(&format!("latency=[0, {}]", latency.greatest.0))?;
    }
    Ok(())
}

fn plan(raw: &cli::Stress, scenario: &Scenario) -> Result<Plan, Failure> {
    let setup = scenario.resolve().map_err(|errors| Failure::scenario(&errors, None))?;
    let ttl = setup.policy.lease().unwrap_or(Ticks(1)).0.max(1);
    let tick = match raw.tick {
        Some(tick) if tick.subsec_nanos().is_multiple_of(1_000_000) && tick <= LONGEST_TICK => tick.as_millis() as u32,
        Some(_) => return Err(Failure::usage("--tick: expected whole milliseconds, from 1ms to 1h")),
        None => (TTL.as_millis() as u32).div_ceil(ttl),
    };
    let mut plan = Plan {
        workers: raw.workers.into(),
        duration: raw.duration,
        tick,
        faults: Faults {
            pause_rate: raw.pause_rate,
            longest_pause: PAUSE,
            kill_rate: raw.kill,
            restart_every: raw.restart,
        },
        setup,
    };
    let bound = plan.setup.longest_pause.map(|bound| plan.ticks(bound));
    let longest = raw.longest_pause.or(bound).or(plan.ttl().map(|ttl| 2 * ttl));
    plan.faults.longest_pause = longest.unwrap_or(PAUSE);
    Ok(plan)
}

/// Lets the checker try the faults that are injected, once each at least.
fn with_faults(scenario: &mut Scenario, faults: &Faults) -> Result<(), Failure> {
    let injected = [
        (Fault::Pause, faults.pause_rate > 0.0),
        (Fault::Crash, faults.kill_rate > 0.0),
        (Fault::Restart, faults.restart_every.is_some()),
    ];
    for (fault, _) in injected.into_iter().filter(|(_, is_injected)| *is_injected) {
        let units = scenario.faults.get(fault).max(1);
        scenario.faults.set(fault, units);
    }
    scenario.resolve().map(|_| ()).map_err(|errors| Failure::scenario(&errors, None))
}

fn checked(check: &Check, raw: &cli::Stress, settled: &Settled) -> Result<Report, Failure> {
    let asked = SEEN.into_iter().filter(|property| check.scenario.undecidable(*property).is_none()).collect();
    let limits = Limits {
        threads: raw.search.threads.unwrap_or_else(processors),
        symmetry: true,
        max_states: raw.search.max_states.or(Some(MAX_STATES)),
        max_depth: raw.search.max_depth,
        properties: Some(asked),
        until_violated: true,
        ..Limits::default()
    };
    let mut watch = Watch::new(settled.progress.then(|| check.name()), raw.search.timeout, raw.search.memory);
    let report = check::check(&check.scenario, &limits, &mut watch);
    watch.end();
    report.map_err(|errors| Failure::scenario(&errors, None))
}

fn stressed(plan: &Plan, raw: &cli::Stress, settled: &Settled) -> Result<Outcome, Failure> {
    let persistence = match plan.setup.persistence {
        Persistence::Nothing => servers::Persistence::Nothing,
        Persistence::EverySecond => servers::Persistence::EverySecond,
        Persistence::Always => servers::Persistence::Always,
    };
    let options = Options { persistence, ..Options::default() };
    let count = usize::from(plan.setup.policy.nodes);
    let is_own = raw.servers.redis.is_empty();
    let mut locks = if is_own { Backend::started(&options, count)? } else { Backend::of(&raw.servers, count)? };
    let _replicas = if is_own { replicas(plan, locks.own())? } else { Vec::new() };
    // The account must not be lost with a lock server.
    let bank = if is_own { Some(Backend::started(&Options::default(), 1)?) } else { None };
    let urls = locks.urls().to_vec();
    let bank_url = bank.as_ref().map_or(&urls[0], |bank| &bank.urls()[0]).clone();
    let mut line = Progress { is_shown: settled.progress, total: plan.duration };
    let look_on = |sums: &Sums, elapsed: Duration| {
        line.show(sums, elapsed);
        if interrupt::is_interrupted() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let outcome = stress::run(plan, Addresses { locks: urls, bank: bank_url }, locks.own(), look_on);
    line.end();
    outcome.map_err(Failure::input)
}

/// The replicas of our own lock servers, with which some locks are acknowledged.
fn replicas(plan: &Plan, masters: &[Server]) -> Result<Vec<Server>, Failure> {
    let each = usize::from(plan.setup.replicas);
    let ports = masters.iter().flat_map(|master| std::iter::repeat_n(master.port(), each));
    let started = ports.map(|port| Server::start(&Options { replica_of: Some(port), ..Options::default() }));
    let started = started.collect::<Result<_, _>>().map_err(|error| Failure::input(error.to_string()))?;
    masters.iter().filter(|_| each > 0).try_for_each(|master| wait_for_replicas(master, each))?;
    Ok(started)
}

/// Waits until all replicas of a server follow it.
fn wait_for_replicas(master: &Server, count: usize) -> Result<(), Failure> {
    let follow = redis::Client::open(master.url()).and_then(|client| {
        let mut connection = client.get_connection()?;
        redis::cmd("SET").arg("lab:stress:replicas").arg("").arg("PX").arg(1).exec(&mut connection)?;
        redis::cmd("WAIT").arg(count).arg(REPLICAS_WITHIN.as_millis() as u64).query::<usize>(&mut connection)
    });
    match follow {
        Ok(found) if found >= count => Ok(()),
        Ok(found) => Err(Failure::input(format!(
            "only {found} of {count} replicas follow the server on port {} after {REPLICAS_WITHIN:?}",
            master.port()
        ))),
        Err(error) => Err(Failure::input(error.to_string())),
    }
}

fn draw(findings: &Findings, path: &PathBuf, settled: &Settled) -> Result<(), Failure> {
    let svg = render::stress_plot::svg(findings).map_err(Failure::Bug)?;
    std::fs::write(path, svg).map_err(|error| Failure::io("write", path, &error))?;
    if !settled.quiet {
        tell(&format!("The run is drawn in {}\n", shown(&path.to_string_lossy())));
    }
    Ok(())
}

/// A line on stderr that changes.
struct Progress {
    is_shown: bool,
    total: Duration,
}

const ERASE: &str = "\r\u{1b}[K";

impl Progress {
    fn show(&mut self, sums: &Sums, elapsed: Duration) {
        if self.is_shown {
            let in_lease: u64 = sums.injected.values().map(|injections| injections.in_lease).sum();
            let seen: u64 = sums.sights.values().map(|sights| sights.count).sum();
            let (elapsed, total) = (elapsed.as_secs(), self.total.as_secs());
            let updates = render::grouped(sums.updates);
            tell(&format!(
                "{ERASE}{elapsed} of {total} s  {updates} updates, {in_lease} faults in a lease, {seen} violations"
            ));
        }
    }

    fn end(&self) {
        if self.is_shown {
            tell(ERASE);
        }
    }
}

/// The word for a fault that is injected, for one and for several.
pub(crate) fn injected_words(fault: Injected) -> (&'static str, &'static str) {
    match fault {
        Injected::Pause => ("pause", "pauses"),
        Injected::Kill => ("death of a worker", "deaths of workers"),
        Injected::Restart => ("restart of a server", "restarts of servers"),
    }
}
