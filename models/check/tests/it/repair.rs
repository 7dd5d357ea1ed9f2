//! Repairs, against plain checks of every change.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;
use std::ops::ControlFlow;

use check::explore::{Cut, Monitor, Progress, Unwatched};
use check::repair::{How, Pairs, Repair, Repairs, Stage, Watch, repair};
use check::scenario::{Hand, KNOBS, Named, Property, Scenario, Verdict};
use check::{Ending, Limits, Report, check};

use crate::support::builtin;

/// Lets everything run to its end.
struct Patient;

impl Monitor for Patient {
    fn progress(&mut self, _: &Progress) -> ControlFlow<Cut> {
        ControlFlow::Continue(())
    }
}

impl Watch for Patient {
    fn next(&mut self, _: &Stage) -> ControlFlow<Cut> {
        ControlFlow::Continue(())
    }
}

fn how(pairs: Pairs) -> How {
    let limits = Limits { threads: NonZeroUsize::MIN, ..Limits::default() };
    How { limits, world: false, pairs }
}

fn scenario(body: &str) -> Scenario {
    Scenario::parse("own.toml", format!("id = \"own\"\ntitle = \"Own\"\n{body}").as_bytes()).unwrap()
}

fn repaired(scenario: &Scenario, pairs: Pairs) -> Repairs {
    repair(scenario, &how(pairs), &mut Patient).unwrap()
}

fn told(repair: &Repair) -> String {
    let changes: Vec<_> = repair.changes.iter().map(|c| format!("{}={}", c.knob, c.to.replace('"', ""))).collect();
    changes.join(" ")
}

/// Everything about repairs that a reader sees, in lines.
fn lines(repairs: &Repairs) -> Vec<String> {
    let names = |list: &[Property]| list.iter().map(|p| p.name()).collect::<Vec<_>>().join(", ");
    let line = |repair: &Repair| {
        let breaks =
            if repair.breaks.is_empty() { String::new() } else { format!("; breaks {}", names(&repair.breaks)) };
        format!("{}: {}{breaks}", told(repair), names(&repair.repairs))
    };
    repairs.found.iter().map(line).collect()
}

#[test]
fn probe() {
    for id in ["release-del", "pause-naive", "setnx-no-ttl", "multilock-opposite", "redlock-even-quorum"] {
        let start = std::time::Instant::now();
        let r = repaired(&builtin(id), Pairs::Needed);
        println!(
            "{id} {:?}\n  {}\n  {:?}\n  {:?}",
            start.elapsed(),
            lines(&r).join("\n  "),
            r.singles,
            r.pairs.map(|mut p| {
                p.vacuous.truncate(2);
                p
            })
        );
    }
}
