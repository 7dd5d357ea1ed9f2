//! Counterexamples on real servers.

use serde_json::Value;

use crate::run::{Folder, lab};

/// Writes the counterexample of a property, and gives its path and what is in it.
fn trace(folder: &Folder, check: &[&str], property: &str) -> (String, Value) {
    let path = folder.0.join("trace.json").to_str().unwrap().to_owned();
    let arguments = [&["check"], check, &["--property", property, "--trace-out", &path, "--quiet"]].concat();
    lab(&arguments);
    let text = std::fs::read_to_string(&path).unwrap();
    (path, serde_json::from_str(&text).unwrap())
}

fn replay(arguments: &[&str]) -> (i32, Value) {
    let done = lab(&[&["replay", "--format", "json"], arguments].concat());
    assert_eq!(done.err, "");
    (done.code.unwrap(), serde_json::from_str(&done.out).unwrap())
}

#[test]
fn a_counterexample_happens_with_its_damage() {
    let folder = Folder::new();
    let (path, trace) = trace(&folder, &["pause-naive"], "no-lost-update");
    let (code, found) = replay(&[&path, "--runs", "5"]);
    assert_eq!((code, found["verdict"].as_str()), (0, Some("reproduced")), "{found}");
    assert_eq!(found["steps"].as_u64(), Some(trace["steps"].as_array().unwrap().len() as u64));
    assert_eq!((found["taken"].clone(), found["alike"].as_u64()), (found["steps"].clone(), Some(5)));
    let evidence = found["evidence"].as_array().unwrap().iter().find(|e| e["property"] == "no-lost-update").unwrap();
    let says = evidence["says"].as_str().unwrap();
    assert!(says.starts_with("the balance is 90: 2 withdrawals of 10 from 100 were accepted"), "{says}");
    assert_eq!(found["balances"], serde_json::json!([{"holds": 90, "serial": 80}]));
}

#[test]
fn a_wrong_release_is_told_with_what_the_key_held() {
    let done = lab(&["check", "release-del", "--property", "no-wrong-release", "--replay"]);
    assert_eq!(done.code, Some(12), "it was found as well");
    let says = "the lock on server 1 held b1, the acquisition of B; the";
    assert!(done.out.contains("\nreproduced  ") && done.out.contains(says), "{}", done.out);
    assert!(done.out.contains("  lab check release-del --property no-wrong-release --replay\n"));
}

#[test]
fn every_step_can_be_watched() {
    let folder = Folder::new();
    let (path, trace) = trace(&folder, &["release-del"], "no-wrong-release");
    let out = lab(&["replay", &path, "--watch", "--width", "120"]).ok(0);
    for step in trace["steps"].as_array().unwrap() {
        let told = format!("{}: {}", step["actor"].as_str().unwrap(), step["action"].as_str().unwrap());
        assert!(out.contains(&told[..told.len().min(60)]), "{told} in\n{out}");
    }
}

#[test]
fn a_trace_with_a_step_less_or_two_swapped_diverges() {
    let folder = Folder::new();
    let (_, whole) = trace(&folder, &["release-del"], "no-wrong-release");
    let count = whole["steps"].as_array().unwrap().len();
    let diverges = |trace: &Value, what: &str| {
        // Numbered anew, so that only the model and the servers can tell.
        let mut trace = trace.clone();
        for (at, step) in trace["steps"].as_array_mut().unwrap().iter_mut().enumerate() {
            step["n"] = (at + 1).into();
        }
        let path = folder.file("edited.json", trace.to_string());
        let (code, found) = replay(&[&path]);
        assert_eq!((code, found["verdict"].as_str()), (40, Some("diverged")), "{what}: {found}");
        assert!(found["parted"]["step"].as_u64().unwrap() >= 1, "{what}");
    };
    for at in 0..count - 1 {
        let mut less = whole.clone();
        less["steps"].as_array_mut().unwrap().remove(at);
        diverges(&less, &format!("without step {}", at + 1));
        let mut swapped = whole.clone();
        swapped["steps"].as_array_mut().unwrap().swap(at, at + 1);
        diverges(&swapped, &format!("with steps {} and {} swapped", at + 1, at + 2));
    }
    let mut cut = whole.clone();
    cut["steps"].as_array_mut().unwrap().pop();
    let path = folder.file("cut.json", cut.to_string());
    let (code, found) = replay(&[&path]);
    assert_eq!((code, found["verdict"].as_str()), (41, Some("not-reproduced")), "{found}");
}

#[test]
fn the_same_schedule_against_another_lock() {
    let folder = Folder::new();
    let (path, _) = trace(&folder, &["release-del"], "no-wrong-release");
    let (code, found) = replay(&[&path, "--with", "release=compare-and-delete"]);
    assert_eq!((code, found["verdict"].as_str()), (0, Some("harmless")), "{found}");
    let (code, found) = replay(&[&path, "--with", "margin=1"]);
    assert_eq!((code, found["verdict"].as_str()), (12, Some("violated")), "{found}");
    let said = lab(&["replay", &path, "--with", "release=perhaps"]).failed(2);
    assert!(said.contains("compare-and-delete"), "{said}");
}

#[test]
fn what_real_servers_cannot_be_made_to_do_is_said() {
    let folder = Folder::new();
    let (path, _) = trace(&folder, &["failover-any"], "mutual-exclusion");
    let (code, found) = replay(&[&path]);
    assert_eq!((code, found["verdict"].as_str()), (42, Some("not-replayable")), "{found}");
    assert!(found["parted"]["why"].as_str().unwrap().contains("replicas"));
}

#[test]
fn a_trace_of_another_scenario_is_refused() {
    let folder = Folder::new();
    let (_, mut trace) = trace(&folder, &["release-del"], "no-wrong-release");
    trace["scenario"]["hash"] = "0123456789abcdef".into();
    let said = lab(&["replay", &folder.file("other.json", trace.to_string())]).failed(1);
    assert!(said.contains("hash"), "{said}");
    trace["scenario"]["toml"] = "".into();
    let said = lab(&["replay", &folder.file("none.json", trace.to_string())]).failed(1);
    assert!(said.contains("does not carry its scenario"), "{said}");
    trace["steps"][0]["choice"] = "sing A".into();
    let said = lab(&["replay", &folder.file("odd.json", trace.to_string())]).failed(1);
    assert!(said.contains("scenario") || said.contains("sing A"), "{said}");
    assert!(lab(&["replay", "nowhere.json"]).failed(1).contains("cannot read nowhere.json"));
}

#[test]
fn random_walks_conform() {
    let done = lab(&["conform", "release-del", "--walks", "20", "--format", "json"]);
    let found: Value = serde_json::from_str(&done.out).unwrap();
    assert_eq!((done.code, found["verdict"].as_str()), (Some(0), Some("conforms")));
    assert!(found["walks"] == 20 && found["steps"].as_u64().unwrap() > 100, "{found}");
    let text = lab(&["conform", "redlock#1", "--walks", "3", "--seed", "7"]).ok(0);
    assert!(text.starts_with("conforms  redlock"), "{text}");
    let text = lab(&["conform", "redlock", "--walks", "1"]).ok(0);
    assert!(text.lines().count() >= 8 && text.lines().all(|line| line.starts_with("conforms  redlock: ")), "{text}");
    let done = lab(&["conform", "redlock", "--walks", "1", "--format", "json"]);
    let found: Value = serde_json::from_str(&done.out).unwrap();
    assert!(found["verdict"] == "conforms" && found["runs"].as_array().unwrap().len() >= 8, "{found}");
    let done = lab(&["conform", "failover-any", "--walks", "3"]);
    assert_eq!(done.code, Some(42), "{}", done.out);
}
