//! Two scenarios compared, for programs.

use check::diff::{Diff, Flip, Method};
use check::scenario::{Named, Verdict};
use serde::Serialize;
use trace::Beside;

use super::json::{SCHEMA, written};
use super::repair_json::{Subject, Timing, cut_by, subject};
use crate::args::DiffArgs;
use crate::commands::check::typed;
use crate::commands::diff::Findings;
use crate::exit::Exit;

#[derive(Serialize)]
struct Whole<'a> {
    schema: u32,
    verdict: &'static str,
    complete: bool,
    cut_by: Option<&'static str>,
    a: Subject<'a>,
    b: Subject<'a>,
    keys: Vec<Key<'a>>,
    verdicts: Vec<Verdicts>,
    differences: Vec<Difference<'a>>,
    method: &'static str,
    between: Between<'a>,
    timing: Timing,
}

#[derive(Serialize)]
struct Key<'a> {
    key: &'a str,
    a: String,
    b: String,
}

#[derive(Serialize)]
struct Verdicts {
    name: &'static str,
    a: Option<&'static str>,
    b: Option<&'static str>,
    differs: bool,
}

#[derive(Serialize)]
struct Difference<'a> {
    name: &'static str,
    a: &'static str,
    b: &'static str,
    made_by: Vec<Maker<'a>>,
    open: bool,
    beside: Option<&'a Beside>,
}

#[derive(Serialize)]
struct Maker<'a> {
    keys: Vec<&'a str>,
    command: String,
}

#[derive(Serialize)]
struct Between<'a> {
    searched: usize,
    replayed: usize,
    refused: Vec<Refused<'a>>,
    open: Vec<Vec<&'a str>>,
}

#[derive(Serialize)]
struct Refused<'a> {
    keys: Vec<&'a str>,
    rule: &'static str,
}

/// The comparison.
pub(crate) fn json(findings: &Findings, args: &DiffArgs) -> String {
    let diff = &findings.diff;
    let exit = findings.exit();
    let [left, right] = &findings.plans;
    let differs = |property| diff.flips.iter().any(|flip| flip.property == property);
    let verdict = |v: &check::diff::Verdicts| Verdicts {
        name: v.property.name(),
        a: v.left.map(Verdict::name),
        b: v.right.map(Verdict::name),
        differs: differs(v.property),
    };
    written(&Whole {
        schema: SCHEMA,
        verdict: if exit == Exit::Holds { "same" } else { exit.word() },
        complete: diff.is_known(),
        cut_by: diff.cut.map(cut_by),
        a: subject(left, &diff.left),
        b: subject(right, &diff.right),
        keys: diff.keys.iter().map(|d| Key { key: &d.key, a: typed(&d.left), b: typed(&d.right) }).collect(),
        verdicts: diff.verdicts.iter().map(verdict).collect(),
        differences: diff.flips.iter().map(|flip| difference(findings, flip)).collect(),
        method: match diff.method {
            Method::Every => "every",
            Method::UpToTwo => "up-to-two",
        },
        between: Between {
            searched: diff.tally.searched,
            replayed: diff.tally.replayed,
            refused: diff.tally.refused.iter().map(|(keys, rule)| Refused { keys: names(diff, keys), rule }).collect(),
            open: diff.tally.open.iter().map(|keys| names(diff, keys)).collect(),
        },
        timing: Timing { seconds: findings.elapsed.as_secs_f64(), threads: args.question.limits.threads.get() },
    })
}

fn difference<'a>(findings: &'a Findings, flip: &'a Flip) -> Difference<'a> {
    let maker =
        |keys: &Vec<usize>| Maker { keys: names(&findings.diff, keys), command: findings.command(keys, flip.property) };
    Difference {
        name: flip.property.name(),
        a: flip.left.name(),
        b: flip.right.name(),
        made_by: flip.keys.iter().map(maker).collect(),
        open: flip.is_open,
        beside: flip.beside.as_ref(),
    }
}

fn names<'a>(diff: &'a Diff, keys: &[usize]) -> Vec<&'a str> {
    keys.iter().map(|key| diff.keys[*key].key.as_str()).collect()
}
