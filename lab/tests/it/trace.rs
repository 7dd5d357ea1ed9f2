//! Traces that were written, shown again and turned into other forms.

use std::fs;
use std::io::Write;
use std::process::Stdio;

use insta::assert_snapshot;
use serde_json::Value;

use crate::run::{Folder, command, done, lab, stable};

/// A folder with a trace in it, and the path of the trace.
fn written() -> (Folder, String) {
    let folder = Folder::new();
    let path = folder.0.join("trace.json").to_str().unwrap().to_owned();
    let done = lab(&["check", "naive.toml", "--property", "mutual-exclusion", "-q", "--trace-out", &path]);
    assert_eq!(done.code, Some(12), "{}", done.err);
    (folder, path)
}

fn piped(arguments: &[&str], input: &[u8]) -> crate::run::Done {
    let mut child =
        command(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    let writer = std::thread::spawn(move || {
        // The program may stop reading what is too long.
        let _ = stdin.write_all(&input);
    });
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    done(&output)
}

#[test]
fn a_trace_is_shown_as_the_check_shows_it() {
    let (_folder, path) = written();
    let shown = lab(&["trace", &path]).ok(0);
    let checked = lab(&["check", "naive.toml", "--property", "mutual-exclusion"]).ok(12);
    assert!(checked.contains(&shown), "{shown}");
    assert_eq!(lab(&["trace", &path, "--format", "text", "-q"]).ok(0), shown);
    assert_eq!(piped(&["trace", "-"], &fs::read(&path).unwrap()).ok(0), shown);
}

#[test]
fn a_trace_in_every_form() {
    let (_folder, path) = written();
    assert_eq!(lab(&["trace", &path, "--format", "json"]).ok(0), fs::read_to_string(&path).unwrap());
    assert_snapshot!("mermaid", lab(&["trace", &path, "--format", "mermaid"]).ok(0));
    assert_snapshot!("verbose", lab(&["trace", &path, "-v", "--width", "72", "--ascii"]).ok(0));
    let itf: Value = serde_json::from_str(&lab(&["trace", &path, "--format", "itf"]).ok(0)).unwrap();
    assert_eq!(itf["#meta"]["format"], "ITF");
    let steps = serde_json::from_str::<Value>(&fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!(itf["states"].as_array().unwrap().len(), steps["steps"].as_array().unwrap().len() + 1);
    assert!(lab(&["trace", &path, "--color", "always"]).ok(0).contains('\u{1b}'));
}

#[test]
fn the_name_of_the_file_says_the_form() {
    let (folder, path) = written();
    for (name, format) in
        [("a.txt", "text"), ("a.JSON", "json"), ("a.itf.json", "itf"), ("a.mmd", "mermaid"), ("b.mermaid", "mermaid")]
    {
        let out = folder.0.join(name).to_str().unwrap().to_owned();
        let done = lab(&["trace", &path, "-o", &out, "--color", "always"]);
        assert_eq!((done.code, done.out.as_str()), (Some(0), ""), "{}", done.err);
        assert!(done.err.starts_with("The trace is in ") && done.err.ends_with(&format!("{name}\n")), "{}", done.err);
        let shown = lab(&["trace", &path, "--format", format]).ok(0);
        assert_eq!(fs::read_to_string(&out).unwrap(), shown, "{name}");
        // The same road from the check itself.
        let checked = lab(&["check", "naive.toml", "--property", "mutual-exclusion", "--trace-out", &out]);
        assert_eq!(checked.code, Some(12));
        assert_eq!(fs::read_to_string(&out).unwrap(), shown, "{name}");
    }
    let out = folder.0.join("without-ending").to_str().unwrap().to_owned();
    lab(&["trace", &path, "-q", "-o", &out, "--format", "itf"]).ok(0);
    assert!(fs::read_to_string(&out).unwrap().contains("\"format\":\"ITF\""));
}

#[test]
fn the_traces_of_a_report_are_shown_too() {
    let folder = Folder::new();
    let report = lab(&["check", "naive.toml", "--format", "json"]).ok(12);
    let single = folder.file("single.json", &report);
    let done = lab(&["trace", &single]);
    assert_eq!(done.code, Some(0));
    assert!(done.out.contains("violates  mutual-exclusion"), "{}", done.out);
    assert!(done.err.contains("the first of 3 traces: ") && done.err.contains("--property"), "{}", done.err);
    let stale = lab(&["trace", &single, "--property", "no-stale-write"]).ok(0);
    assert!(stale.contains("violates  no-stale-write"), "{stale}");
    let err = lab(&["trace", &single, "--property", "no-orphan"]).failed(1);
    assert!(err.contains("it has traces of: mutual-exclusion, no-lost-update, no-stale-write"), "{err}");
    let sheet = lab(&["check", "sheet.toml", "--format", "json"]).ok(12);
    let sheet = piped(&["trace", "-", "--property", "no-orphan", "-q"], sheet.as_bytes()).ok(0);
    assert!(sheet.contains("violates  no-orphan"), "{sheet}");
    let good = folder.file("good.json", lab(&["check", "expires.toml", "--format", "json"]).ok(0));
    assert!(lab(&["trace", &good]).failed(1).contains("a report without a trace"));
}

#[test]
fn what_is_no_trace_is_told() {
    let (folder, path) = written();
    let trace = fs::read_to_string(&path).unwrap();
    let file = |name: &str, text: &str| folder.file(name, text);
    let itf = lab(&["trace", &path, "--format", "itf"]).ok(0);
    let files = [
        file("schema.json", &trace.replacen("\"schema\": 1", "\"schema\": 7", 1)),
        file("unversioned.json", &trace.replacen("\"schema\": 1", "\"schema\": \"one\"", 1)),
        file("kind.json", &trace.replacen("\"start\"", "\"begin\"", 1)),
        file("number.json", &trace.replacen("\"time\": 0", "\"time\": \"noon\\u001b[2J\"", 1)),
        file("missing.json", &trace.replacen("\"action\"", "\"acton\"", 1)),
        file("truncated.json", &trace[..trace.len() / 2]),
        file("twice.json", &format!("{trace}{trace}")),
        file("list.json", "[1, 2]\n"),
        file("empty.json", ""),
        file("prose.json", "This is no trace.\n"),
        file("deep.json", &format!("{{\"steps\": {}", "[".repeat(10_000))),
        file("itf.json", &itf),
        file("report.json", "{\"schema\": 9, \"runs\": []}"),
        file("catalogue.json", &lab(&["list", "--format", "json"]).ok(0)),
        file("matrix.json", &lab(&["matrix", "naive.toml", "--faults", "none", "--format", "json"]).ok(0)),
        file("scenario.toml", "id = \"own\"\n"),
        folder.file("latin.json", b"{\n\"id\": \"caf\xe9\"}"),
        folder.0.join("nowhere.json").to_str().unwrap().to_owned(),
        folder.0.to_str().unwrap().to_owned(),
    ];
    let told = files.iter().map(|file| format!("$ lab trace {file}\n{}", lab(&["trace", file]).failed(1)));
    let told: Vec<_> = told.collect();
    assert!(told.iter().all(|told| !told.contains(['\u{1b}', '\u{9b}'])), "{told:?}");
    stable(|| assert_snapshot!(told.join("\n")));
    assert!(piped(&["trace", "-"], b"{}").failed(1).starts_with("error: stdin:1:2: missing field `schema`\n"));
}

#[test]
fn bad_flags_are_told() {
    let (folder, path) = written();
    let bad: [(&[&str], i32, &str); 4] = [
        (&["--out", "trace.svg"], 2, ".txt, .json, .itf.json, .mmd or .mermaid"),
        (&["--out", "no/such/folder/trace.txt"], 1, "there is no folder no/such/folder"),
        (&["--format", "svg"], 2, "mermaid"),
        (&["--property", "no-orphans"], 2, "no-orphan"),
    ];
    for (flags, code, expected) in bad {
        let err = lab(&[&["trace", &path], flags].concat()).failed(code);
        assert!(err.contains(expected), "{err}");
    }
    let err = lab(&["trace", &path, "-o", folder.0.to_str().unwrap(), "--format", "text"]).failed(1);
    assert!(err.contains("it is a folder"), "{err}");
}

#[test]
fn a_file_without_end_is_not_read_to_its_end() {
    let long = vec![b' '; (64 << 20) + 2];
    assert!(piped(&["trace", "-"], &long).failed(1).contains("expected a trace of at most 67108864 bytes"));
}

/// Whatever stands in a file, it is shown or refused.
#[test]
fn no_damage_makes_it_panic() {
    let (folder, path) = written();
    let trace = fs::read(&path).unwrap();
    let mut seed = 7u64;
    let mut next = |below: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % below
    };
    for number in 0..60 {
        let mut bytes = trace.clone();
        for _ in 0..=next(3) {
            let at = next(bytes.len());
            bytes[at] = [b'9', b'"', b'{', b'-', 0x9b, b'\\', b'0' + (number % 10) as u8][next(7)];
        }
        let file = folder.file("damaged.json", &bytes);
        let format = ["text", "json", "itf", "mermaid"][number % 4];
        let done = lab(&["trace", &file, "--format", format]);
        assert!(matches!(done.code, Some(0 | 1)), "{number}: {:?} {}", done.code, done.err);
        assert!(!done.out.contains('\u{1b}') && !done.err.contains('\u{1b}'));
    }
}
