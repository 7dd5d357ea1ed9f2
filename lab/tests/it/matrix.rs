//! The lock safety matrix, and what is kept of it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use insta::assert_snapshot;
use serde_json::Value;

use crate::run::{Done, Folder, command, done, lab, stable};

/// Small locks, one of them refused some faults.
const SMALL: [&str; 4] = ["matrix", "naive.toml", "forever.toml", "lost-update"];

/// Runs it with a cache of its own.
fn kept(folder: &Path, arguments: &[&str]) -> Done {
    done(&command(arguments).env("LAB_CACHE", folder).output().unwrap())
}

fn small(more: &[&'static str]) -> Vec<&'static str> {
    [&SMALL[..], more].concat()
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// Without what may differ between two runs.
fn without_times(mut matrix: Value) -> Value {
    matrix.as_object_mut().unwrap().remove("timing").unwrap();
    for cell in cells_mut(&mut matrix) {
        cell.remove("timing").unwrap();
        cell.remove("cached").unwrap();
    }
    matrix
}

fn cells_mut(matrix: &mut Value) -> impl Iterator<Item = &mut serde_json::Map<String, Value>> {
    let rows = matrix["rows"].as_array_mut().unwrap().iter_mut();
    rows.flat_map(|row| row["cells"].as_array_mut().unwrap()).map(|cell| cell.as_object_mut().unwrap())
}

fn cells(matrix: &Value) -> impl Iterator<Item = &Value> {
    matrix["rows"].as_array().unwrap().iter().flat_map(|row| row["cells"].as_array().unwrap())
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let of_this_lab = fs::read_dir(folder).unwrap().next().unwrap().unwrap().path();
    let mut entries: Vec<_> = fs::read_dir(of_this_lab).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    entries
}

#[test]
fn a_matrix() {
    let text = lab(&small(&["--threads", "1", "--faults", "pause,drop-request,crash,restart,jump"])).ok(0);
    stable(|| assert_snapshot!(text));
}

#[test]
fn a_matrix_in_words() {
    let text = lab(&small(&["--threads", "1", "--faults", "pause=2,restart", "-v"])).ok(0);
    stable(|| assert_snapshot!(text));
}

#[test]
fn a_matrix_in_ascii_and_colour() {
    let text = lab(&small(&["--threads", "1", "--faults", "pause,restart", "--ascii", "--color", "always"])).ok(0);
    assert!(text.is_ascii());
    stable(|| assert_snapshot!(text));
}

#[test]
fn a_matrix_in_markdown() {
    assert_snapshot!(lab(&small(&["--faults", "pause,restart,jump", "--format", "markdown"])).ok(0));
}

#[test]
fn a_matrix_in_json() {
    let text = lab(&["matrix", "lost-update", "--threads", "1", "--faults", "restart", "--format", "json"]).ok(0);
    stable(|| assert_snapshot!(text));
}

#[test]
fn no_fault_is_left_out() {
    let matrix = json(&lab(&small(&["--format", "json"])).ok(0));
    let columns = matrix["columns"].as_array().unwrap();
    let faults: Vec<&str> = columns.iter().skip(1).map(|column| column["fault"].as_str().unwrap()).collect();
    assert_eq!(columns[0], Value::Null);
    assert_eq!(faults, world::Fault::ALL.map(check::scenario::Named::name));
    assert!(columns.iter().skip(1).all(|column| column["budget"] == 1));
}

/// The matrix cannot say anything else than the check does.
#[test]
fn every_cell_is_what_the_check_says() {
    let folder = Folder::new();
    let own = folder.file(
        "own.toml",
        "id = \"own\"\ntitle = \"Own\"\n[lock]\nttl = 2\nholder = \"clocked\"\nrelease = \"del\"\n[work]\nwork = 2\n",
    );
    let cache = Folder::new();
    let arguments =
        ["matrix", &own, "forever.toml", "unseen.toml", "lost-update", "--set", "retry_delay=2", "--format", "json"];
    // The second time from the cache.
    for is_cached in [false, true] {
        let matrix = json(&kept(&cache.0, &arguments).ok(0));
        let mut checked = 0;
        for cell in cells(&matrix) {
            let command = cell["command"].as_str().unwrap().strip_prefix("lab ").unwrap();
            let command: Vec<&str> = command.split(' ').chain(["--format", "json"]).collect();
            let found = lab(&command);
            if cell["verdict"] == "refused" {
                assert_eq!(found.code, Some(2), "{command:?}");
                assert!(found.err.contains(cell["reason"].as_str().unwrap()), "{}", found.err);
                continue;
            }
            let check = json(&found.out);
            assert_eq!(
                (&cell["hash"], &cell["verdict"]),
                (&check["scenario"]["hash"], &check["verdict"]),
                "{command:?}"
            );
            assert_eq!((&cell["states"], &cell["complete"]), (&check["states"], &check["complete"]), "{command:?}");
            let verdict = |p: &Value| (p["name"].clone(), p["verdict"].clone());
            let steps = |p: &Value| p["trace"]["steps"].as_array().map(Vec::len);
            let (ours, theirs) = (cell["properties"].as_array().unwrap(), check["properties"].as_array().unwrap());
            assert!(ours.iter().map(verdict).eq(theirs.iter().map(verdict)), "{command:?}");
            assert!(ours.iter().map(|p| p["steps"].as_u64().map(|n| n as usize)).eq(theirs.iter().map(steps)));
            let missing = |w: &&Value| w["required"] == true && w["reached"] == false;
            let unreached: Vec<_> =
                check["witnesses"].as_array().unwrap().iter().filter(missing).map(|w| w["name"].clone()).collect();
            assert_eq!(cell["unreached"], Value::Array(unreached), "{command:?}");
            assert_eq!(cell["cached"], is_cached, "{command:?}");
            checked += 1;
        }
        assert!(checked > 20, "{checked}");
    }
}

#[test]
fn what_was_computed_is_read_again() {
    let cache = Folder::new();
    let arguments = small(&["--format", "json"]);
    let first = json(&kept(&cache.0, &arguments).ok(0));
    assert!(cells(&first).all(|cell| cell["cached"] == false));
    let second = json(&kept(&cache.0, &arguments).ok(0));
    assert!(cells(&second).all(|cell| cell["cached"] == (cell["verdict"] != "refused")));
    assert_eq!(without_times(second.clone()).to_string(), without_times(first).to_string());
    // In text, only the last line and -v tell.
    let quiet = small(&["-q"]);
    assert_eq!(kept(&cache.0, &quiet).ok(0), lab(&quiet).ok(0));
    assert!(kept(&cache.0, &small(&["-v"])).ok(0).contains("; cached"));
    // Other questions are other entries.
    let count = entries(&cache.0).len();
    assert!(
        cells(&json(&kept(&cache.0, &small(&["--set", "work=2", "--format", "json"])).ok(0)))
            .all(|c| c["cached"] == false)
    );
    assert!(entries(&cache.0).len() > count);
    for flag in ["--no-cache", "--refresh"] {
        let matrix = json(&kept(&cache.0, &[&arguments[..], &[flag]].concat()).ok(0));
        assert!(cells(&matrix).all(|cell| cell["cached"] == false), "{flag}");
    }
}

/// The witnesses that a file asks for are no knobs, and yet decide a verdict.
#[test]
fn a_scenario_that_asks_for_more_is_another_one() {
    let (cache, folder) = (Folder::new(), Folder::new());
    let text = "id = \"own\"\ntitle = \"Own\"\n[world]\nclients = 1\n";
    let plain = folder.file("plain.toml", text);
    let strict = folder.file("strict.toml", format!("witnesses = [\"refused\"]\n{text}"));
    let stray = folder.file("stray.toml", format!("{text}[expect]\nno-stray-grant = \"holds\"\n"));
    for file in [&plain, &strict, &stray, &plain, &strict, &stray] {
        let arguments = ["matrix", file.as_str(), "--faults", "none", "--format", "json"];
        let (ours, fresh) = (json(&kept(&cache.0, &arguments).ok(0)), json(&lab(&arguments).ok(0)));
        assert_eq!(without_times(ours), without_times(fresh), "{file}");
    }
    assert_eq!(entries(&cache.0).len(), 3);
}

#[test]
fn what_was_tampered_with_is_computed_anew() {
    let cache = Folder::new();
    let arguments = ["matrix", "naive.toml", "--faults", "pause", "--format", "json"];
    let first = without_times(json(&kept(&cache.0, &arguments).ok(0)));
    let entries = entries(&cache.0);
    let good: Vec<Vec<u8>> = entries.iter().map(|entry| fs::read(entry).unwrap()).collect();
    let text = |at: usize| String::from_utf8(good[at].clone()).unwrap();
    let damages: [&dyn Fn(usize) -> Vec<u8>; 8] = [
        &|at| text(at).replace("violated", "vacuous").into_bytes(),
        &|at| text(at).replacen("naive", "clocked", 1).into_bytes(),
        &|at| good[at][..good[at].len() / 2].to_vec(),
        &|_| Vec::new(),
        &|_| b"{}".to_vec(),
        &|_| vec![0xff; 2 << 20],
        // Intact, but of another check.
        &|at| good[1 - at].clone(),
        &|at| text(at).replacen("result 1", "result 2", 1).into_bytes(),
    ];
    assert_eq!(entries.len(), 2);
    for (number, damage) in damages.iter().enumerate() {
        for (at, entry) in entries.iter().enumerate() {
            fs::write(entry, damage(at)).unwrap();
        }
        let again = json(&kept(&cache.0, &arguments).ok(0));
        // What a damage leaves as it was may be read.
        let is_same = |at: usize| damage(at) == good[at];
        assert!(cells(&again).any(|cell| cell["cached"] == false) || (is_same(0) && is_same(1)), "{number}");
        assert_eq!(without_times(again), first, "{number}");
        for (entry, good) in entries.iter().zip(&good) {
            assert_eq!(&fs::read(entry).unwrap(), good, "{number}");
        }
    }
    // Nor is an entry of another program read.
    let of_this_lab = entries[0].parent().unwrap();
    fs::rename(of_this_lab, cache.0.join("0.1.0-0000000000000000")).unwrap();
    assert!(cells(&json(&kept(&cache.0, &arguments).ok(0))).all(|cell| cell["cached"] == false));
}

#[test]
fn a_cache_that_cannot_be_written_is_told_once() {
    let folder = Folder::new();
    let file = folder.file("file", "");
    let done = kept(Path::new(&file), &small(&["--faults", "pause"]));
    assert_eq!(done.code, Some(0), "{}", done.err);
    assert!(done.err.starts_with("warning: no results are kept: cannot write into "), "{}", done.err);
    assert_eq!(done.err.lines().count(), 1, "{}", done.err);
    assert!(done.out.contains("naive.toml"));
}

#[test]
fn a_result_that_was_cut_short_is_not_kept() {
    let cache = Folder::new();
    let arguments = ["matrix", "naive.toml", "forever.toml", "--faults", "none", "--max-states", "20"];
    let text = kept(&cache.0, &arguments).ok(20);
    assert!(text.contains("cut short by --max-states") && text.contains("? not known"), "{text}");
    assert_eq!(fs::read_dir(&cache.0).unwrap().count(), 0);
    let matrix = json(&lab(&[&arguments[..], &["--format", "json"]].concat()).ok(20));
    assert_eq!((&matrix["verdict"], &matrix["complete"]), (&"inconclusive".into(), &false.into()));
    assert!(cells(&matrix).all(|cell| cell["cut_by"] == "max-states"));
}

#[test]
fn threads_change_nothing() {
    let on = |threads: &'static str| json(&lab(&small(&["--threads", threads, "--format", "json"])).ok(0));
    let one = without_times(on("1")).to_string();
    for threads in ["2", "5"] {
        assert_eq!(without_times(on(threads)).to_string(), one, "{threads} threads");
    }
}

#[test]
fn no_line_is_wider_than_asked_for() {
    let folder = Folder::new();
    let own = folder.file("a lock with a long name; and | signs.toml", "id = \"own\"\ntitle = \"Own\"\n");
    for width in [60usize, 72, 80, 100] {
        let text = lab(&["matrix", &own, "naive.toml", "forever.toml", "--width", &width.to_string(), "-v"]).ok(0);
        for line in text.lines().filter(|line| !line.starts_with("  lab ")) {
            assert!(line.chars().count() <= width, "{width}: {line}");
        }
    }
}

#[test]
fn what_is_wrong_is_told_before_anything_is_computed() {
    let cases: [(&[&str], i32, &str); 5] = [
        (&["matrix", "redlok"], 1, "did you mean redlock"),
        (&["matrix", "naive.toml", "--faults", "paus"], 2, "did you mean \"pause\"?"),
        (&["matrix", "naive.toml", "--set", "tll=1"], 2, "did you mean ttl?"),
        (&["matrix", "naive.toml", "--set", "quorum=3"], 2, "naive.toml: --set: lock.quorum = 3"),
        (&["matrix", "--no-cache", "--refresh"], 2, "cannot be used with"),
    ];
    for (arguments, code, expected) in cases {
        let err = lab(arguments).failed(code);
        assert!(err.contains(expected), "{err}");
    }
    let failed = lab(&["matrix", "redlok", "--format", "json"]);
    assert_eq!((failed.code, json(&failed.out)["verdict"].as_str()), (Some(1), Some("error")));
}

/// Against the settings, not against the table: whoever adds a fault or a row sees it here.
#[test]
fn the_built_in_rows_are_shown_by_their_labels() {
    let text = lab(&["matrix", "--faults", "none", "-q"]).ok(0);
    for (label, _) in check::catalogue::matrix() {
        assert!(text.contains(&format!("  {label}")), "{text}");
    }
}

#[test]
#[cfg(unix)]
fn ctrl_c_shows_what_is_known() {
    let arguments = [
        "matrix",
        "expires.toml",
        "naive.toml",
        "--set",
        "clients=4",
        "--set",
        "nodes=7",
        "--set",
        "latency=[0,1]",
        "--faults",
        "pause=8",
    ];
    let child = command(&arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(700));
    let id = child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    let done = done(&child.wait_with_output().unwrap());
    assert_eq!(done.code, Some(20), "{}", done.out);
    assert!(done.out.contains("not begun") && done.out.contains("cut short by Ctrl-C"), "{}", done.out);
}
