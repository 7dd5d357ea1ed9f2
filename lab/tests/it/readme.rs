//! What the README shows is what the lab prints.

use crate::run::lab;

const README: &str = include_str!("../../../README.md");

/// A line without what differs between two runs: the time at its end, and the count of threads.
fn without_time(line: &str) -> String {
    let line = line.split(" s on ").next().unwrap_or(line);
    let line = line.split(" ms on ").next().unwrap_or(line).trim_end();
    let line =
        line.trim_end_matches(" ms").trim_end_matches(" s").trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    line.trim_end().to_owned()
}

/// The first block of the README that begins with this line, without it.
pub(crate) fn block(first: &str) -> Vec<&'static str> {
    let mut lines = README.lines().skip_while(|line| *line != first).skip(1);
    let block: Vec<_> = lines.by_ref().take_while(|line| !line.starts_with("```")).collect();
    assert!(!block.is_empty(), "the README has no block {first}");
    block
}

#[test]
#[ignore = "takes a while: the test script runs it in release mode"]
fn the_sheet_is_what_is_printed() {
    let printed = lab(&["check", "redlock", "--width", "80"]).ok(12);
    let shown = block("$ lab check redlock");
    for (shown, printed) in shown.iter().zip(printed.lines()) {
        assert_eq!(without_time(shown), without_time(printed));
    }
}

#[test]
#[ignore = "takes a while: the test script runs it in release mode"]
fn the_matrix_is_what_is_printed() {
    let printed = lab(&["matrix", "--width", "80"]).ok(0);
    let shown = block("$ lab matrix");
    assert_eq!(shown.len(), printed.lines().count());
    for (shown, printed) in shown.iter().zip(printed.lines()) {
        assert_eq!(without_time(shown), without_time(printed));
    }
}

#[test]
fn the_repair_and_the_comparison_are_what_is_printed() {
    let commands: [(&[&str], i32); 2] =
        [(&["repair", "redlock-even-quorum"], 0), (&["diff", "release-del", "release-compare-and-delete"], 10)];
    for (arguments, code) in commands {
        let printed = lab(&[arguments, &["--width", "80"]].concat()).ok(code);
        let shown = block(&format!("$ lab {}", arguments.join(" ")));
        assert_eq!(shown.len(), printed.lines().count(), "{printed}");
        for (shown, printed) in shown.iter().zip(printed.lines()) {
            assert_eq!(without_time(shown), without_time(printed));
        }
    }
}

#[test]
fn the_weakest_faults_are_what_is_printed() {
    let first = README.lines().find(|line| line.starts_with("$ lab weakest")).unwrap();
    let arguments: Vec<&str> = first.split(' ').skip(2).chain(["--width", "80"]).collect();
    let printed = lab(&arguments).ok(0);
    let shown = block(first);
    assert_eq!(shown.len(), printed.lines().count());
    for (shown, printed) in shown.iter().zip(printed.lines()) {
        assert_eq!(without_time(shown), without_time(printed));
    }
}

#[test]
fn the_lock_that_it_describes_is_checked() {
    let file = std::env::temp_dir().join(format!("lab-readme-{}.toml", std::process::id()));
    std::fs::write(&file, block("```toml").join("\n")).unwrap();
    let done = lab(&["check", "--expect", file.to_str().unwrap()]);
    std::fs::remove_file(&file).unwrap();
    done.ok(0);
}
