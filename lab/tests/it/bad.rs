//! What is wrong is told, with its place, what was expected, and the nearest word. Nothing panics.

use insta::assert_snapshot;

use crate::run::{Folder, lab, stable};

fn told(cases: &[(&[&str], i32)]) -> String {
    let told = cases.iter().map(|(arguments, code)| {
        let err = lab(arguments).failed(*code);
        assert!(!err.contains("panicked"), "{err}");
        format!("$ lab {}\n{err}", arguments.join(" "))
    });
    told.collect::<Vec<_>>().join("\n")
}

#[test]
fn bad_files() {
    let folder = Folder::new();
    let file = |name: &str, body: &str| folder.file(name, format!("id = \"own\"\ntitle = \"Own\"\n{body}"));
    let files = [
        file("knob.toml", "[lock]\ntll = 3\n"),
        file("value.toml", "[lock]\nacquire = \"setnxpx\"\n"),
        file("zero.toml", "[lock]\nttl = 0\n"),
        file("quorum.toml", "[lock]\nquorum = 4\n[world]\nnodes = 3\n"),
        file("contradictory.toml", "[lock]\nacquire = \"unlocked\"\nfencing = \"with-grant\"\n"),
        file("property.toml", "[expect]\nmutual-exclusio = \"holds\"\n"),
        file("budget.toml", "[faults]\npause = 1000000\n"),
        file("several.toml", "[lock]\ntll = 3\nholder = \"blind\"\n"),
        folder.file("prose.toml", "This is no scenario.\n"),
        folder.file("latin.toml", b"id = \"caf\xe9\"\n"),
        folder.file("empty.toml", ""),
        folder.file("large.toml", vec![b'#'; (1 << 20) + 1]),
        folder.0.join("missing.toml").to_str().unwrap().to_owned(),
        folder.0.to_str().unwrap().to_owned(),
    ];
    let cases: Vec<_> = files.iter().map(|file| ["check", file.as_str()]).collect();
    let cases: Vec<_> = cases.iter().map(|case| (&case[..], 1)).collect();
    stable(|| assert_snapshot!(told(&cases)));
    // Everything that is wrong with any of several files.
    let err = lab(&["check", &files[0], &files[2]]).failed(1);
    assert_eq!(err.matches("error: ").count(), 2, "{err}");
    assert!(lab(&["show", &files[0]]).failed(1).contains("did you mean ttl?"));
}

#[test]
fn bad_names() {
    let cases: [(&[&str], i32); 4] = [
        (&["check", "redlok"], 1),
        (&["show", "REDLOCK"], 1),
        (&["check", "zzzzzz"], 1),
        (&["check", "redlock.toml"], 1),
    ];
    for (arguments, code) in cases {
        let err = lab(arguments).failed(code);
        assert!(err.starts_with("error: "), "{err}");
        assert!(err.contains("help: "), "{err}");
    }
    assert!(lab(&["check", "redlok"]).failed(1).contains("did you mean redlock"));
    assert!(lab(&["check", "redlock.toml"]).failed(1).contains("comes with the lab is redlock"));
    assert!(!lab(&["check", "zzzzzz"]).failed(1).contains("did you mean"));
}

#[test]
fn bad_flags() {
    let cases: &[(&[&str], i32)] = &[
        (&["check", "naive.toml", "--set", "tll=3"], 2),
        (&["check", "naive.toml", "--set", "ttl"], 2),
        (&["check", "naive.toml", "--set", "ttl=0"], 2),
        (&["check", "naive.toml", "--set", "quorum=2"], 2),
        (&["check", "naive.toml", "--set", "pause=1"], 2),
        (&["check", "naive.toml", "--faults", "paus=1"], 2),
        (&["check", "naive.toml", "--faults", "pause=999999999999"], 2),
        (&["check", "naive.toml", "--faults", "pause=1", "--faults", "pause=2"], 2),
        (&["check", "naive.toml", "--grain", "exchange"], 2),
        (&["check", "naive.toml", "expires.toml", "--set", "fencing=with-grant", "--set", "acquire=unlocked"], 2),
        (&["check", "naive.toml", "--engine", "stateright", "--property", "no-orphan"], 2),
        (&["check", "naive.toml", "--engine", "stateright", "--timeout", "3"], 2),
        (&["check", "naive.toml", "--set", "attempts=2", "--property", "deadlock-free"], 2),
        (&["check", "naive.toml", "--trace-out", "trace.svg"], 2),
        (&["check", "naive.toml", "--trace-out", "no/such/folder/trace.txt"], 1),
    ];
    stable(|| assert_snapshot!(told(cases)));
}

#[test]
fn flags_that_are_none() {
    let cases: &[(&[&str], i32)] = &[
        (&["chek", "redlock"], 2),
        (&["check"], 2),
        (&["check", "redlock", "--all"], 2),
        (&["check", "redlock", "--property", "no-orphans"], 2),
        (&["check", "redlock", "--engine", "spin"], 2),
        (&["check", "redlock", "--threads", "0"], 2),
        (&["check", "redlock", "--threads", "100000"], 2),
        (&["check", "redlock", "--max-states", "0"], 2),
        (&["check", "redlock", "--max-states", "-1"], 2),
        (&["check", "redlock", "--timeout", "soon"], 2),
        (&["check", "redlock", "--memory", "much"], 2),
        (&["check", "redlock", "-q", "-v"], 2),
    ];
    stable(|| assert_snapshot!(told(cases)));
}

#[test]
fn nothing_expected_is_no_success() {
    let folder = Folder::new();
    let file = folder.file("own.toml", "id = \"own\"\ntitle = \"Own\"\n");
    let err = lab(&["check", &file, "--expect"]).failed(1);
    assert!(err.contains("expects nothing") && err.contains("[expect]"), "{err}");
}
