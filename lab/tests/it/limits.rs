//! Limits, and Ctrl-C.

use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::run::{command, done, lab};

/// A check that takes far longer than any test.
const ENDLESS: [&str; 8] =
    ["check", "naive.toml", "--set", "clients=4", "--set", "nodes=7", "--faults", "pause=8,delay=8,crash=3"];

fn json(arguments: &[&str]) -> Value {
    serde_json::from_str(&lab(&[arguments, &["--format", "json"]].concat()).ok(20)).unwrap()
}

#[test]
fn a_limit_is_never_reported_as_holds() {
    for limit in [["--max-states", "500"], ["--max-depth", "3"], ["--timeout", "300ms"], ["--memory", "1M"]] {
        let found = json(&[&ENDLESS[..], &limit, &["--property", "no-orphan"]].concat());
        assert_eq!(found["complete"], false);
        assert_eq!(format!("--{}", found["cut_by"].as_str().unwrap()), limit[0]);
        assert_eq!(found["properties"][0]["verdict"], "inconclusive");
    }
}

#[test]
fn a_count_of_states_cuts_at_a_fixed_point() {
    let cut = |threads: &str| {
        let mut found = json(&[&ENDLESS[..], &["--max-states", "5000", "--threads", threads]].concat());
        found.as_object_mut().unwrap().remove("timing").unwrap();
        found
    };
    assert_eq!(cut("1"), cut("3"));
}

#[test]
#[cfg(unix)]
fn ctrl_c_reports_what_was_explored() {
    let mut arguments = ENDLESS.to_vec();
    arguments.extend(["--property", "no-orphan"]);
    let child = command(&arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(700));
    let id = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    let done = done(&child.wait_with_output().unwrap());
    assert_eq!(done.code, Some(20), "{}", done.out);
    assert!(done.err.contains("Interrupted"), "{}", done.err);
    assert!(done.out.contains("cut short by Ctrl-C") && done.out.contains("? no-orphan"), "{}", done.out);
}

#[test]
fn progress_is_not_shown_where_there_is_no_terminal() {
    lab(&[&ENDLESS[..], &["--timeout", "1500ms", "--property", "no-orphan"]].concat()).ok(20);
}
