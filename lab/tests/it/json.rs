//! The JSON of `lab/SCHEMA.md`.

use insta::assert_snapshot;
use serde_json::Value;

use crate::run::{lab, stable};

fn json(arguments: &[&str], code: i32) -> Value {
    serde_json::from_str(&lab(&[arguments, &["--format", "json"]].concat()).ok(code)).unwrap()
}

#[test]
fn a_single_check() {
    let text = lab(&["check", "forever.toml", "--threads", "1", "--property", "no-orphan", "--format", "json"]).ok(11);
    stable(|| assert_snapshot!(text));
}

#[test]
fn a_single_check_with_expectations() {
    let arguments = ["check", "expires.toml", "--threads", "1", "--expect", "--format", "json"];
    stable(|| assert_snapshot!(lab(&arguments).ok(0)));
}

#[test]
fn a_sheet() {
    let arguments = ["check", "sheet.toml", "--threads", "1", "--property", "mutual-exclusion", "--max-states", "300"];
    let mut sheet = json(&arguments, 12);
    for run in sheet["runs"].as_array_mut().unwrap() {
        for property in run["properties"].as_array_mut().unwrap() {
            let steps = property["trace"]["steps"].as_array().map(Vec::len);
            property["trace"] = steps.map_or(Value::Null, |steps| format!("a trace of {steps} steps").into());
        }
    }
    stable(|| assert_snapshot!(serde_json::to_string_pretty(&sheet).unwrap()));
}

#[test]
fn nothing_but_timing_differs_between_runs() {
    let without_timing = |threads: &str| {
        let mut sheet = json(&["check", "sheet.toml", "--threads", threads], 12);
        let mut runs = vec![&mut sheet];
        let mut all = Vec::new();
        while let Some(run) = runs.pop() {
            run.as_object_mut().unwrap().remove("timing").unwrap();
            all.push(run.clone());
            if let Some(more) = run.get_mut("runs") {
                runs.extend(more.as_array_mut().unwrap());
            }
        }
        all.remove(0);
        serde_json::to_string(&all).unwrap()
    };
    let one = without_timing("1");
    for threads in ["2", "3", "8"] {
        assert_eq!(one, without_timing(threads), "{threads} threads");
    }
}

#[test]
fn the_verdict_is_the_word_for_the_exit_code() {
    let cases: [(&[&str], i32, &str); 7] = [
        (&["check", "expires.toml"], 0, "holds"),
        (&["check", "forever.toml"], 11, "deadlock"),
        (&["check", "naive.toml"], 12, "violated"),
        (&["check", "naive.toml", "--max-states", "20"], 20, "inconclusive"),
        (&["check", "unseen.toml"], 21, "vacuous"),
        (&["check", "unseen.toml", "forever.toml"], 11, "deadlock"),
        (&["check", "sheet.toml"], 12, "violated"),
    ];
    for (arguments, code, word) in cases {
        let found = json(arguments, code);
        assert_eq!((&found["verdict"], &found["schema"]), (&word.into(), &1.into()), "{arguments:?}");
    }
}

#[test]
fn a_failure_is_json_too() {
    for (arguments, code, word) in [(["check", "missing.toml"], 1, "error"), (["check", "naive.toml"], 2, "usage")] {
        let done = lab(&[&arguments[..], &["--format", "json", "--set", "tll=1"]].concat());
        assert_eq!(done.code, Some(code));
        let found: Value = serde_json::from_str(&done.out).unwrap();
        assert_eq!(found["verdict"], word);
        assert_eq!(found["errors"].as_array().unwrap().len(), 1);
        assert!(done.err.starts_with("error: "));
    }
}

#[test]
fn every_violation_has_a_trace() {
    let found = json(&["check", "naive.toml", "--all-violations", "--property", "mutual-exclusion"], 12);
    let property = &found["properties"][0];
    let traces = property["traces"].as_array().unwrap();
    assert!(traces.len() > 1);
    assert_eq!(property["trace"], traces[0]);
    let steps: Vec<_> = traces.iter().map(|trace| trace["steps"].as_array().unwrap().len()).collect();
    assert!(steps.is_sorted(), "{steps:?}");
}

#[test]
fn the_catalogue() {
    let found = json(&["list"], 0);
    let scenarios = found["scenarios"].as_array().unwrap();
    let ids: Vec<_> = scenarios.iter().map(|s| s["id"].as_str().unwrap()).collect();
    assert_eq!(ids, check::catalogue::ids().collect::<Vec<_>>());
    let redlock = scenarios.iter().find(|s| s["id"] == "redlock").unwrap();
    assert!(!redlock["rows"].as_array().unwrap().is_empty());
}
