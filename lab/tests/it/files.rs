//! Traces in files, and stdout that is closed or full.

use std::fs;
use std::io::Read;
use std::process::Stdio;

use crate::run::{Folder, command, lab};

#[test]
fn the_trace_that_is_shown_goes_into_a_file() {
    let folder = Folder::new();
    let path = |name: &str| folder.0.join(name).to_str().unwrap().to_owned();
    let (text, json) = (path("trace.txt"), path("TRACE.JSON"));
    let done = lab(&["check", "naive.toml", "--color", "always", "--trace-out", &text]);
    assert_eq!(done.code, Some(12));
    assert!(done.err.contains(": naive, mutual-exclusion"), "{}", done.err);
    let written = fs::read_to_string(&text).unwrap();
    assert!(written.contains("violates  mutual-exclusion") && !written.contains('\u{1b}'), "{written}");
    let arguments = ["check", "naive.toml", "-q", "--trace-out", &json];
    assert_eq!(lab(&arguments).ok(12).lines().count(), 6);
    let trace = trace::render::json::from_json(&fs::read_to_string(&json).unwrap()).unwrap();
    assert_eq!(trace.property.name, "mutual-exclusion");
    assert_eq!(trace.command, "lab check naive.toml --property mutual-exclusion");
}

#[test]
fn without_a_trace_no_file_is_written() {
    let folder = Folder::new();
    let path = folder.0.join("trace.json");
    let done = lab(&["check", "expires.toml", "--trace-out", path.to_str().unwrap()]);
    assert_eq!(done.code, Some(0));
    assert!(done.err.contains("is not written"), "{}", done.err);
    assert!(!path.exists());
}

#[test]
fn a_trace_that_cannot_be_written_is_told_beside_the_results() {
    let folder = Folder::new();
    let path = folder.0.join("trace.json");
    fs::create_dir(&path).unwrap();
    let err = lab(&["check", "naive.toml", "--trace-out", path.to_str().unwrap()]).failed(1);
    assert!(err.contains("it is a folder"), "{err}");
    if cfg!(target_os = "linux") {
        let full = folder.0.join("full.json");
        std::os::unix::fs::symlink("/dev/full", &full).unwrap();
        let done = lab(&["check", "naive.toml", "--trace-out", full.to_str().unwrap()]);
        assert_eq!(done.code, Some(1));
        assert!(done.err.contains("error: cannot write ") && done.err.contains("no space left"), "{}", done.err);
        assert!(done.out.contains("mutual-exclusion"), "{}", done.out);
    }
}

#[test]
fn the_commands_that_are_shown_find_the_other_counterexamples() {
    let text = lab(&["check", "sheet.toml", "-v"]).ok(12);
    let commands: Vec<_> = text.lines().filter_map(|line| line.strip_prefix("  lab ")).collect();
    assert!(commands.len() >= 5, "{text}");
    for line in commands {
        let arguments: Vec<_> = line.split(' ').collect();
        let done = lab(&arguments);
        assert!(matches!(done.code, Some(11 | 12)), "{line}\n{}", done.out);
    }
}

#[test]
fn a_closed_pipe_is_no_failure() {
    for arguments in [&["check", "naive.toml", "-v"][..], &["list"], &["show", "naive.toml"], &["completions", "bash"]]
    {
        let mut child = command(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let mut err = String::new();
        child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
        let code = child.wait().unwrap().code();
        assert_eq!(err, "", "{arguments:?}");
        assert!(matches!(code, Some(0 | 12)), "{arguments:?}: {code:?}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_is_told() {
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let done = crate::run::done(&command(&["list"]).stdout(full).output().unwrap());
    assert_eq!((done.code, done.err.as_str()), (Some(1), "error: cannot write to stdout: no space left on device\n"));
}
