//! The weakest faults that break a lock.

use std::process::Stdio;

use insta::assert_snapshot;
use serde_json::Value;

use crate::run::{Folder, command, done, lab, stable};

/// A lock of this test's own: a lease of five ticks, of which three are worked.
const OWN: &str = "schema = 1\nid = \"own\"\ntitle = \"A lock of our own\"\n\
                   [lock]\nttl = 5\nholder = \"naive\"\n[work]\nwork = 3\n[faults]\ncrash = 1\n";

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

fn property<'v>(found: &'v Value, name: &str) -> &'v Value {
    found["properties"].as_array().unwrap().iter().find(|p| p["name"] == name).unwrap()
}

#[test]
fn the_weakest_faults() {
    let text = lab(&["weakest", "naive.toml", "--most", "1", "--threads", "1"]).ok(0);
    stable(|| assert_snapshot!(text));
}

#[test]
fn in_words_and_milliseconds() {
    let arguments =
        ["weakest", "naive.toml", "--faults", "pause=2,drop-reply,restart,crash", "--ms", "TTL=30000", "-v"];
    let text = lab(&[&arguments[..], &["--threads", "1", "--property", "mutual-exclusion,no-orphan"]].concat()).ok(0);
    // These milliseconds are no times that differ.
    let mut settings = insta::Settings::clone_current();
    settings.add_filter(r"\d+(\.\d)? (ms|s|min) on", "[time] on");
    settings.bind(|| assert_snapshot!(text));
}

#[test]
fn in_ascii_and_colour() {
    let arguments = ["weakest", "naive.toml", "--most", "1", "--threads", "1", "--faults", "pause,jump,restart"];
    let text = lab(&[&arguments[..], &["--ascii", "--color", "always", "--width", "60"]].concat()).ok(0);
    assert!(text.is_ascii());
    stable(|| assert_snapshot!(text));
}

#[test]
fn in_json() {
    let arguments = ["weakest", "naive.toml", "--most", "1", "--threads", "1", "--faults", "pause,restart,failover"];
    let more = ["--property", "mutual-exclusion", "--ms", "ttl=30000", "--format", "json"];
    let text = lab(&[&arguments[..], &more].concat()).ok(0);
    stable(|| assert_snapshot!(text));
}

#[test]
fn only_verdicts() {
    let text = lab(&["weakest", "naive.toml", "--most", "1", "--faults", "pause,jump", "--no-formula", "-q"]).ok(0);
    stable(|| assert_snapshot!(text));
}

/// A scenario that nobody else knows: five ticks less three of work.
#[test]
fn a_pause_of_the_rest_of_the_lease_is_enough() {
    let folder = Folder::new();
    let own = folder.file("own.toml", OWN);
    let found = json(&lab(&["weakest", &own, "--most", "1", "--faults", "pause,jump", "--format", "json"]).ok(0));
    assert_eq!((&found["verdict"], &found["complete"]), (&"known".into(), &true.into()));
    let sets = property(&found, "mutual-exclusion")["sets"].as_array().unwrap();
    assert_eq!(sets.len(), 2);
    for set in sets {
        let size = &set["magnitudes"][0];
        assert_eq!((&size["ticks"], &size["edge"]), (&2.into(), &"holds".into()), "{size}");
        assert_eq!(size["formula"]["text"], "TTL - work");
    }
    // What is not asked for is not answered.
    assert!(property(&found, "deadlock-free")["sets"].as_array().unwrap().is_empty());
}

/// Every command shows what it is printed for, and one tick less does not.
#[test]
fn every_command_shows_its_counterexample() {
    let folder = Folder::new();
    let own = folder.file("a lock.toml", OWN);
    let arguments = ["weakest", &own, "--set", "work=2", "--most", "1", "--no-formula", "--format", "json"];
    let found = json(&lab(&arguments).ok(0));
    let mut shown = 0;
    for breaks in found["properties"].as_array().unwrap() {
        for set in breaks["sets"].as_array().unwrap() {
            let command = set["command"].as_str().unwrap();
            let words = command.strip_prefix("lab ").unwrap().replace(&format!("'{own}'"), "FILE");
            let check = |words: &str| {
                let words: Vec<&str> =
                    words.split(' ').map(|word| if word == "FILE" { own.as_str() } else { word }).collect();
                json(&lab(&[&words[..], &["--format", "json"]].concat()).out)
            };
            let report = check(&words);
            let steps =
                report["properties"][0]["trace"]["steps"].as_array().unwrap_or_else(|| panic!("{command}")).len();
            assert_eq!((&report["scenario"]["hash"], steps), (&set["hash"], set["steps"].as_u64().unwrap() as usize));
            let size = &set["magnitudes"][0];
            let (Some(knob), "holds") = (size["knob"].as_str(), size["edge"].as_str().unwrap_or_default()) else {
                continue;
            };
            let ticks = size["ticks"].as_u64().unwrap();
            let milder = if size["side"] == "least" { ticks - 1 } else { ticks + 1 };
            let less = words.replace(" --faults", &format!(" --set {knob}={milder} --faults"));
            let report = check(&less);
            assert_eq!(
                (&report["properties"][0]["trace"], &report["complete"]),
                (&Value::Null, &true.into()),
                "{less}"
            );
            shown += 1;
        }
    }
    assert!(shown > 5, "{shown}");
}

#[test]
fn milliseconds_say_what_was_not_enough() {
    let arguments = ["weakest", "naive.toml", "--most", "1", "--faults", "pause", "--property", "mutual-exclusion"];
    let on = |ms: &str| lab(&[&arguments[..], &["--no-formula", "-q", "--ms", ms]].concat()).ok(0);
    // Two of three ticks are enough, one is not.
    assert!(on("TTL=30000").contains("20,000 ms, 10,000 ms is not enough"));
    assert!(on("work=250").contains("500 ms, 250 ms is not enough"));
    assert!(on("ttl=100").contains("67 ms, 33 ms is not enough"));
}

#[test]
fn what_is_wrong_is_told_before_anything_is_computed() {
    let cases: [(&[&str], i32, &str); 10] = [
        (&["weakest", "redlok"], 1, "did you mean redlock"),
        (&["weakest", "naive.toml", "--faults", "paus"], 2, "did you mean \"pause\"?"),
        (&["weakest", "naive.toml", "--set", "tll=1"], 2, "did you mean ttl?"),
        (&["weakest", "naive.toml", "--set", "quorum=3"], 2, "lock.quorum = 3"),
        (&["weakest", "naive.toml", "--ms", "30000"], 2, "--ms: expected KEY=MS such as TTL=30000"),
        (&["weakest", "naive.toml", "--ms", "TLT=30000"], 2, "did you mean ttl?"),
        (&["weakest", "naive.toml", "--ms", "TTL=0"], 2, "a number of milliseconds from 1"),
        (&["weakest", "naive.toml", "--ms", "margin=500"], 2, "margin is 0 in this scenario"),
        (&["weakest", "naive.toml", "--ms", "ttl=30000", "--ms", "work=500"], 2, "cannot be 10000 ms by ttl and 500"),
        (&["weakest", "naive.toml", "--most", "9"], 2, "9"),
    ];
    for (arguments, code, expected) in cases {
        let err = lab(arguments).failed(code);
        assert!(err.contains(expected), "{err}");
    }
    let failed = lab(&["weakest", "redlok", "--format", "json"]);
    assert_eq!((failed.code, json(&failed.out)["verdict"].as_str()), (Some(1), Some("error")));
}

#[test]
fn what_a_limit_left_open_is_told() {
    let arguments = ["weakest", "naive.toml", "--most", "1", "--max-states", "20"];
    let text = lab(&arguments).ok(20);
    assert!(text.contains("nothing was found that breaks it") && text.contains("not decided: no fault"), "{text}");
    assert!(!text.contains("no single fault"), "{text}");
    assert!(text.contains("Exit code 20"), "{text}");
    let found = json(&lab(&[&arguments[..], &["--format", "json"]].concat()).ok(20));
    assert_eq!((&found["verdict"], &found["complete"]), (&"inconclusive".into(), &false.into()));
    assert!(property(&found, "no-orphan")["undecided"].as_array().unwrap().len() > 1);
}

#[test]
fn what_is_no_question_is_told() {
    let arguments = ["weakest", "naive.toml", "--set", "attempts=2", "--most", "1", "--faults", "pause"];
    let text = lab(&arguments).ok(0);
    assert!(text.contains("Not asked: no-orphan, deadlock-free: whether "), "{text}");
    let found = json(&lab(&[&arguments[..], &["--format", "json"]].concat()).ok(0));
    let names: Vec<&str> =
        found["undecidable"].as_array().unwrap().iter().map(|u| u["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["no-orphan", "deadlock-free"]);
}

#[test]
fn no_line_is_wider_than_asked_for() {
    for width in [60usize, 72, 80, 100] {
        let faults = "pause,restart,failover,drop-reply";
        let arguments = ["weakest", "naive.toml", "--faults", faults, "--width", &width.to_string(), "-v"];
        let text = lab(&arguments).ok(0);
        for line in text.lines().filter(|line| !line.trim_start().starts_with("lab ")) {
            assert!(line.chars().count() <= width, "{width}: {line}");
        }
    }
}

#[test]
#[cfg(unix)]
fn ctrl_c_shows_what_is_known() {
    let arguments = [
        "weakest",
        "naive.toml",
        "--set",
        "clients=4",
        "--set",
        "nodes=7",
        "--set",
        "latency=[0,1]",
        "--max-states",
        "99999999",
    ];
    let child = command(&arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(700));
    let id = child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    let done = done(&child.wait_with_output().unwrap());
    assert_eq!(done.code, Some(20), "{}", done.out);
    assert!(done.out.contains("Interrupted: this is what is known so far"), "{}", done.out);
    assert!(done.out.contains("not decided: no fault") && !done.out.contains("no set of at most"), "{}", done.out);
}
