//! Help, completions, the man page.

use crate::run::lab;

#[test]
fn help_names_every_command_and_the_exit_codes() {
    let help = lab(&["--help"]).ok(0);
    for command in [
        "list",
        "show",
        "check",
        "matrix",
        "weakest",
        "repair",
        "diff",
        "stress",
        "replay",
        "conform",
        "up",
        "doctor",
        "runner",
        "trace",
        "completions",
        "man",
    ] {
        assert!(help.contains(&format!("\n  {command} ")), "{help}");
    }
    let help = lab(&["check", "--help"]).ok(0);
    for code in ["70  a bug", "31  with --expect", "12  a safety", "11  deadlock", "20  inconclusive"] {
        assert!(help.contains(code), "{help}");
    }
    assert!(lab(&[]).failed(2).contains("lab check redlock"));
}

#[test]
fn the_version_is_that_of_the_package() {
    assert_eq!(lab(&["--version"]).ok(0), concat!("lab ", env!("CARGO_PKG_VERSION"), "\n"));
}

#[test]
fn completions_are_there_for_every_shell() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        assert!(lab(&["completions", shell]).ok(0).contains("all-violations"), "{shell}");
    }
}

#[test]
fn the_man_page_is_in_roff() {
    let page = lab(&["man"]).ok(0);
    assert!(page.contains(".TH lab 1") && page.contains("check"), "{page}");
    let page = lab(&["man", "check"]).ok(0);
    assert!(page.contains(".TH lab-check 1") && page.contains("all\\-violations"), "{page}");
}
