//! Exit codes.

use crate::run::{Folder, lab};

fn code(arguments: &[&str]) -> i32 {
    let done = lab(arguments);
    assert_eq!(done.err, "", "{arguments:?}");
    done.code.unwrap()
}

#[test]
fn a_single_check_ends_with_its_verdict() {
    assert_eq!(code(&["check", "expires.toml"]), 0);
    assert_eq!(code(&["check", "forever.toml"]), 11);
    assert_eq!(code(&["check", "naive.toml"]), 12);
    assert_eq!(code(&["check", "naive.toml", "--max-states", "20"]), 20);
    assert_eq!(code(&["check", "unseen.toml"]), 21);
}

#[test]
fn of_several_the_first_that_applies_counts() {
    assert_eq!(code(&["check", "expires.toml", "unseen.toml"]), 21);
    assert_eq!(code(&["check", "unseen.toml", "forever.toml"]), 11);
    assert_eq!(code(&["check", "forever.toml", "naive.toml"]), 12);
    assert_eq!(code(&["check", "sheet.toml"]), 12);
}

#[test]
fn a_property_alone_is_judged_alone() {
    assert_eq!(code(&["check", "naive.toml", "--property", "no-orphan"]), 0);
    assert_eq!(code(&["check", "forever.toml", "--property", "mutual-exclusion,no-stale-write"]), 0);
    assert_eq!(code(&["check", "forever.toml", "--property", "mutual-exclusion", "--property", "no-orphan"]), 11);
}

#[test]
fn what_is_changed_changes_the_verdict() {
    assert_eq!(code(&["check", "naive.toml", "--set", "holder=clocked", "--property", "mutual-exclusion"]), 0);
    assert_eq!(code(&["check", "forever.toml", "--faults", "none", "--property", "no-orphan"]), 0);
    assert_eq!(code(&["check", "sheet.toml", "--faults", "restart=1"]), 12);
    assert_eq!(code(&["check", "sheet.toml", "--set", "persistence=always", "--faults", "restart"]), 0);
}

#[test]
fn every_engine_and_grain_comes_to_the_same() {
    let safety = ["--property", "mutual-exclusion,no-lost-update"];
    for more in [&["--engine", "stateright"][..], &["--grain", "message"], &["--threads", "3"]] {
        assert_eq!(code(&[&["check", "naive.toml"], &safety[..], more].concat()), 12, "{more:?}");
        assert_eq!(code(&[&["check", "expires.toml"], &safety[..], more].concat()), 0, "{more:?}");
    }
}

#[test]
fn expectations_are_compared() {
    let folder = Folder::new();
    let with = |name: &str, knobs: &str, expect: &str| {
        let text = format!("id = \"own\"\ntitle = \"Own\"\n{knobs}\n[expect]\n{expect}\n");
        folder.file(name, text)
    };
    let naive = "faults.pause = 1\nlock.holder = \"naive\"";
    let good = with("good.toml", naive, "mutual-exclusion = \"violated\"");
    let narrow = ["--expect", "--property", "mutual-exclusion"];
    assert_eq!(code(&[&["check", &good], &narrow[..]].concat()), 0);
    // All that is asked for counts, not only what the file mentions.
    assert_eq!(code(&["check", &good, "--expect"]), 31);
    let surprised = with("surprised.toml", naive, "mutual-exclusion = \"holds\"");
    assert_eq!(code(&[&["check", &surprised], &narrow[..]].concat()), 31);
    let absent = with("absent.toml", "faults.pause = 1", "mutual-exclusion = \"violated\"");
    assert_eq!(code(&["check", &absent, "--expect"]), 30);
    // An unexpected violation is the more urgent news.
    assert_eq!(code(&["check", &absent, &surprised, "--expect"]), 31);
    assert_eq!(code(&["check", &absent, "--expect", "--max-states", "9"]), 20);
    let vacuous = with("vacuous.toml", "", "mutual-exclusion = \"holds\"");
    assert_eq!(code(&["check", &vacuous, "--expect"]), 21);
    assert_eq!(code(&["check", "unseen.toml", "--expect"]), 0);
}

/// stateright's search cannot decide properties of the graph, and must not pass them over.
#[test]
fn what_an_engine_cannot_decide_is_inconclusive() {
    let out = lab(&["check", "setnx-no-ttl", "--engine", "stateright"]).ok(20);
    assert!(out.contains("? no-orphan         inconclusive"), "{out}");
}

/// It has to reach the witnesses as well.
#[test]
fn an_empty_search_is_vacuous_in_every_engine() {
    for engine in ["levels", "stateright"] {
        let arguments =
            ["check", "setnx-with-ttl", "--faults", "none", "--property", "no-lost-update", "--engine", engine];
        lab(&arguments).ok(21);
    }
}

#[test]
fn what_is_no_question_is_named() {
    let out = lab(&["check", "setnx-with-ttl", "--set", "attempts=2"]).ok(0);
    assert!(out.contains("no-orphan  not asked: whether something is always still possible"), "{out}");
}
