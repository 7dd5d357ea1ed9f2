//! Two scenarios compared.

use insta::assert_snapshot;
use serde_json::Value;

use crate::run::{lab, stable};

fn diff(more: &[&str], code: i32) -> String {
    lab(&[&["diff", "--threads", "1"], more].concat()).ok(code)
}

fn json(more: &[&str], code: i32) -> Value {
    serde_json::from_str(&diff(&[more, &["--format", "json"]].concat(), code)).unwrap()
}

fn list(value: &Value) -> &Vec<Value> {
    value.as_array().unwrap()
}

#[test]
fn one_key_makes_the_difference() {
    stable(|| assert_snapshot!(diff(&["deleted.toml", "--with", "release=compare-and-delete"], 10)));
}

#[test]
fn several_keys_make_differences() {
    stable(|| assert_snapshot!(diff(&["deleted.toml", "compared.toml"], 10)));
}

#[test]
fn it_takes_two_keys() {
    stable(|| assert_snapshot!(diff(&["endless.toml", "expires.toml"], 10)));
}

#[test]
fn a_schedule_that_cannot_be_followed() {
    let arguments =
        ["naive.toml", "--with-faults", "none", "--property", "mutual-exclusion", "--ascii", "--width", "60"];
    let text = diff(&arguments, 10);
    assert!(text.is_ascii());
    stable(|| assert_snapshot!(text));
}

#[test]
fn nothing_differs() {
    stable(|| assert_snapshot!(diff(&["naive.toml", "--with", "retry_delay=2"], 0)));
    stable(|| assert_snapshot!("verdicts_only", diff(&["naive.toml", "--with", "holder=clocked", "-q"], 10)));
}

#[test]
fn in_json() {
    let mut found = json(&["deleted.toml", "--with", "release=compare-and-delete"], 10);
    for difference in found["differences"].as_array_mut().unwrap() {
        for side in ["left", "right"] {
            let steps = list(&difference["beside"][side]["steps"]).len();
            difference["beside"][side] = format!("a trace of {steps} steps").into();
        }
    }
    stable(|| assert_snapshot!(serde_json::to_string_pretty(&found).unwrap() + "\n"));
}

#[test]
fn no_line_is_wider_than_asked_for() {
    for pair in [["deleted.toml", "compared.toml"], ["endless.toml", "expires.toml"], ["sheet.toml#2", "sheet.toml#3"]]
    {
        for width in [60usize, 72, 80, 100] {
            let done = lab(&["diff", pair[0], pair[1], "--width", &width.to_string(), "-v"]);
            assert_eq!(done.code, Some(10), "{}", done.err);
            let lines = done.out.lines().filter(|line| !line.starts_with("  lab "));
            for line in lines {
                assert!(line.chars().count() <= width, "{pair:?} at {width}: {line}");
            }
        }
    }
}

/// The command of each set of keys comes to the verdict of the second scenario.
#[test]
fn every_set_of_keys_can_be_checked() {
    let pairs = [["deleted.toml", "compared.toml"], ["endless.toml", "expires.toml"], ["sheet.toml#2", "sheet.toml#3"]];
    for [left, right] in pairs {
        let found = json(&[left, right], 10);
        let mut seen = 0;
        for difference in list(&found["differences"]) {
            for maker in list(&difference["made_by"]) {
                let command = maker["command"].as_str().unwrap().strip_prefix("lab ").unwrap();
                let arguments: Vec<&str> = command.split(' ').chain(["--format", "json"]).collect();
                let check: Value = serde_json::from_str(&lab(&arguments).out).unwrap();
                assert_eq!(check["properties"][0]["verdict"], difference["b"], "{command}");
                seen += 1;
            }
        }
        assert!(seen > 0);
    }
}

#[test]
fn threads_change_nothing() {
    let of = |threads: &str| {
        let text = lab(&["diff", "deleted.toml", "compared.toml", "--format", "json", "--threads", threads]).ok(10);
        let mut found: Value = serde_json::from_str(&text).unwrap();
        found.as_object_mut().unwrap().remove("timing").unwrap();
        found.to_string()
    };
    assert_eq!(of("1"), of("3"));
}

#[test]
fn limits_leave_it_open() {
    let found = json(&["deleted.toml", "compared.toml", "--max-states", "100"], 20);
    assert_eq!((&found["verdict"], &found["complete"]), (&"inconclusive".into(), &false.into()));
    let endless = ["naive.toml", "--set", "clients=4", "--set", "nodes=7", "--faults", "pause=8,delay=8,crash=3"];
    let text = diff(&[&endless[..], &["--with", "ttl=4", "--within", "300ms"]].concat(), 20);
    assert!(text.contains("stopped early"), "{text}");
}

#[test]
fn what_is_wrong_is_told() {
    let cases: [(&[&str], i32); 8] = [
        (&["diff", "naive.toml"], 2),
        (&["diff", "naive.toml", "--with", "ttl=0"], 2),
        (&["diff", "naive.toml", "--with-faults", "paus"], 2),
        (&["diff", "naive.toml", "--with", "holdr=clocked"], 2),
        (&["diff", "naive.toml", "--with", "quorum=3"], 2),
        (&["diff", "naive.toml", "sheet.toml"], 2),
        (&["diff", "redlok", "missing.toml"], 1),
        (&["diff", "naive.toml", "naive.toml#2"], 2),
    ];
    let told = cases.iter().map(|(arguments, code)| {
        let err = lab(arguments).failed(*code);
        assert!(!err.contains("panicked"), "{err}");
        format!("$ lab {}\n{err}", arguments.join(" "))
    });
    stable(|| assert_snapshot!(told.collect::<Vec<_>>().join("\n")));
}
