//! The knobs to turn.

use insta::assert_snapshot;
use serde_json::Value;

use crate::run::{Folder, lab, stable};

fn repair(more: &[&str], code: i32) -> String {
    lab(&[&["repair", "--threads", "1"], more].concat()).ok(code)
}

fn json(more: &[&str], code: i32) -> Value {
    serde_json::from_str(&repair(&[more, &["--format", "json"]].concat(), code)).unwrap()
}

fn list(value: &Value) -> &Vec<Value> {
    value.as_array().unwrap()
}

#[test]
fn one_change_is_enough() {
    stable(|| assert_snapshot!(repair(&["naive.toml"], 0)));
}

#[test]
fn some_changes_repair_a_part() {
    stable(|| assert_snapshot!(repair(&["deleted.toml"], 0)));
}

#[test]
fn it_takes_two_changes() {
    stable(|| assert_snapshot!(repair(&["endless.toml"], 0)));
}

#[test]
fn nothing_repairs_it() {
    let arguments = ["forgetful.toml", "--property", "mutual-exclusion", "--pairs", "never"];
    stable(|| assert_snapshot!(repair(&[&arguments[..], &["-v"]].concat(), 12)));
    let text = repair(&[&arguments[..], &["--world"]].concat(), 0);
    assert!(text.contains("--set persistence=always"), "{text}");
}

#[test]
fn nothing_is_violated() {
    stable(|| assert_snapshot!(repair(&["expires.toml"], 0)));
    assert!(repair(&["unseen.toml"], 21).contains("but never reached:\ndeadline-reached, refused."));
    assert!(repair(&["naive.toml", "--property", "no-orphan"], 0).contains("nothing to repair"));
}

#[test]
fn verdicts_only() {
    stable(|| assert_snapshot!(repair(&["naive.toml", "-q"], 0)));
}

#[test]
fn where_there_is_little_room() {
    let text = repair(&["deleted.toml", "--ascii", "--width", "60"], 0);
    assert!(text.is_ascii());
    stable(|| assert_snapshot!(text));
}

#[test]
fn in_json() {
    stable(|| assert_snapshot!(repair(&["deleted.toml", "--property", "no-wrong-release", "--format", "json"], 0)));
}

#[test]
fn no_line_is_wider_than_asked_for() {
    for file in ["deleted.toml", "endless.toml", "naive.toml", "sheet.toml#3"] {
        for width in [60usize, 72, 80, 100] {
            // The pairs of the sheet take a while.
            let pairs = if file.starts_with("sheet") { "never" } else { "needed" };
            let done = lab(&["repair", file, "--width", &width.to_string(), "-v", "--pairs", pairs]);
            let lines = done.out.lines().filter(|line| !line.starts_with("  lab "));
            for line in lines {
                assert!(line.chars().count() <= width, "{file} at {width}: {line}");
            }
        }
    }
}

/// The command of each repair says what the repair says.
#[test]
fn every_repair_can_be_checked() {
    for file in ["naive.toml", "endless.toml", "sheet.toml#4"] {
        let found = json(&[file], 0);
        assert!(!list(&found["repairs"]).is_empty());
        for repair in list(&found["repairs"]) {
            let command = repair["command"].as_str().unwrap().strip_prefix("lab ").unwrap();
            let arguments: Vec<&str> = command.split(' ').chain(["--format", "json"]).collect();
            let check: Value = serde_json::from_str(&lab(&arguments).out).unwrap();
            assert_eq!(
                (&repair["hash"], &repair["states"]),
                (&check["scenario"]["hash"], &check["states"]),
                "{command}"
            );
            let verdict = |name: &Value| {
                list(&check["properties"]).iter().find(|p| p["name"] == *name).map(|p| p["verdict"].clone()).unwrap()
            };
            assert!(list(&repair["repairs"]).iter().all(|name| verdict(name) == "holds"), "{command}");
            assert!(list(&repair["breaks"]).iter().all(|name| verdict(name) == "violated"), "{command}");
        }
    }
}

#[test]
fn threads_change_nothing() {
    let of = |threads: &str| {
        let text = lab(&["repair", "endless.toml", "--format", "json", "--threads", threads]).ok(0);
        let mut found: Value = serde_json::from_str(&text).unwrap();
        found.as_object_mut().unwrap().remove("timing").unwrap();
        found.to_string()
    };
    assert_eq!(of("1"), of("3"));
}

#[test]
fn a_row_of_a_sheet_is_named_by_its_number_or_title() {
    let by_title = json(&["sheet.toml#one restart that forgets everything", "--pairs", "never"], 12);
    let by_number = json(&["sheet.toml#3", "--pairs", "never"], 12);
    assert_eq!(by_title["scenario"]["hash"], by_number["scenario"]["hash"]);
    assert_eq!(by_title["scenario"]["row"], "one restart that forgets everything");
    // Under other faults a sheet is one check.
    assert_eq!(json(&["sheet.toml", "--faults", "crash"], 0)["scenario"]["row"], Value::Null);
}

#[test]
fn limits_leave_it_open() {
    let found = json(&["naive.toml", "--max-states", "400"], 20);
    assert_eq!((&found["verdict"], &found["complete"]), (&"inconclusive".into(), &false.into()));
    let endless = ["naive.toml", "--set", "clients=4", "--set", "nodes=7", "--faults", "pause=8,delay=8,crash=3"];
    let found = json(&[&endless[..], &["--within", "300ms"]].concat(), 20);
    assert_eq!(found["complete"], false);
}

#[test]
fn what_is_wrong_is_told() {
    let folder = Folder::new();
    let bad = folder.file("bad.toml", "id = \"own\"\ntitle = \"Own\"\n[lock]\ntll = 3\n");
    let cases: [(&[&str], i32); 9] = [
        (&["repair", "sheet.toml"], 2),
        (&["repair", "sheet.toml#one paus"], 2),
        (&["repair", "sheet.toml#9"], 2),
        (&["repair", "naive.toml#1"], 2),
        (&["repair", "sheet.toml#1", "--faults", "pause"], 2),
        (&["repair", "redlok"], 1),
        (&["repair", "naive.toml", "--set", "tll=3"], 2),
        (&["repair", "naive.toml", "--set", "attempts=2", "--property", "deadlock-free"], 2),
        (&["repair", &bad], 1),
    ];
    let told = cases.iter().map(|(arguments, code)| {
        let err = lab(arguments).failed(*code);
        assert!(!err.contains("panicked"), "{err}");
        format!("$ lab {}\n{err}", arguments.join(" "))
    });
    stable(|| assert_snapshot!(told.collect::<Vec<_>>().join("\n")));
    let done = lab(&["repair", "sheet.toml", "--format", "json"]);
    assert!(done.code == Some(2) && done.out.contains("\"verdict\": \"usage\""), "{}", done.out);
}
