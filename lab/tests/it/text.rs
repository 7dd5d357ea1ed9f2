//! The views, at 80 columns.

use insta::assert_snapshot;

use crate::run::{lab, stable};

fn check(more: &[&str], code: i32) -> String {
    lab(&[&["check", "--threads", "1"], more].concat()).ok(code)
}

#[test]
fn a_check_that_holds() {
    stable(|| assert_snapshot!(check(&["expires.toml"], 0)));
}

#[test]
fn a_deadlock_and_its_shortest_way() {
    stable(|| assert_snapshot!(check(&["forever.toml"], 11)));
}

#[test]
fn a_violation_of_safety() {
    stable(|| assert_snapshot!(check(&["naive.toml"], 12)));
}

#[test]
fn more_is_shown_with_v() {
    stable(|| assert_snapshot!(check(&["forever.toml", "-v"], 11)));
}

#[test]
fn only_verdicts_are_shown_with_q() {
    stable(|| assert_snapshot!(check(&["naive.toml", "-q"], 12)));
    stable(|| assert_snapshot!("quiet_sheet", check(&["sheet.toml", "-q"], 12)));
}

#[test]
fn what_is_vacuous_says_what_was_missing() {
    stable(|| assert_snapshot!(check(&["unseen.toml"], 21)));
}

#[test]
fn a_search_that_was_cut_says_so() {
    stable(|| assert_snapshot!(check(&["naive.toml", "--max-states", "20"], 20)));
}

#[test]
fn a_sheet() {
    stable(|| assert_snapshot!(check(&["sheet.toml"], 12)));
}

#[test]
fn a_sheet_in_ascii() {
    let text = check(&["sheet.toml", "--ascii"], 12);
    assert!(text.is_ascii());
    stable(|| assert_snapshot!(text));
}

#[test]
fn a_sheet_in_colour() {
    stable(|| assert_snapshot!(check(&["sheet.toml", "--color", "always"], 12)));
}

#[test]
fn a_sheet_where_there_is_little_room() {
    let text = check(&["sheet.toml", "--width", "60"], 12);
    stable(|| assert_snapshot!(text));
}

#[test]
fn a_sheet_of_one_property() {
    stable(|| assert_snapshot!(check(&["sheet.toml", "--property", "no-orphan"], 11)));
}

#[test]
fn a_sheet_as_expected() {
    stable(|| assert_snapshot!(check(&["sheet.toml", "--expect"], 0)));
}

#[test]
fn a_sheet_that_was_cut() {
    stable(|| assert_snapshot!(check(&["sheet.toml", "--max-depth", "5"], 20)));
}

#[test]
fn several_scenarios_are_a_line_each() {
    stable(|| assert_snapshot!(check(&["expires.toml", "forever.toml", "sheet.toml", "unseen.toml"], 12)));
}

#[test]
fn several_scenarios_as_expected() {
    let files = ["expires.toml", "forever.toml", "naive.toml", "sheet.toml", "unseen.toml"];
    stable(|| assert_snapshot!(check(&[&files[..], &["--expect"]].concat(), 0)));
}

#[test]
fn no_line_is_wider_than_asked_for() {
    for file in ["expires.toml", "forever.toml", "naive.toml", "sheet.toml"] {
        for width in [60usize, 72, 80, 100] {
            let done = lab(&["check", file, "--width", &width.to_string(), "-v"]);
            // Commands are never broken.
            let lines = done.out.lines().filter(|line| !line.starts_with("  lab "));
            for line in lines {
                assert!(line.chars().count() <= width, "{file} at {width}: {line}");
            }
        }
    }
}

#[test]
fn a_scenario_explained() {
    stable(|| assert_snapshot!(lab(&["show", "naive.toml"]).ok(0)));
    stable(|| assert_snapshot!("a_sheet_explained", lab(&["show", "sheet.toml"]).ok(0)));
}

#[test]
fn the_catalogue_is_listed_by_family() {
    let text = lab(&["list"]).ok(0);
    let redlock: Vec<_> = text.lines().filter(|line| line.starts_with("  redlock ")).collect();
    assert_eq!(redlock.len(), 1, "{text}");
    assert!(redlock[0].contains("Redlock") && redlock[0].contains("sheet of "), "{text}");
    // To a pipe every scenario is one line; families stand at the margin.
    let lines = text.lines().filter(|line| line.starts_with("  ")).count();
    assert_eq!(lines, check::catalogue::ids().count());
    assert!(lab(&["list", "--width", "80"]).ok(0).lines().all(|line| line.chars().count() <= 80));
}

#[test]
fn colours_follow_the_flag_and_the_environment() {
    let is_coloured = |arguments: &[&str], environment: &[(&str, &str)]| {
        let output = crate::run::command(arguments).envs(environment.iter().copied()).output().unwrap();
        crate::run::done(&output).out.contains('\u{1b}')
    };
    let list = ["list"];
    assert!(!is_coloured(&list, &[]));
    assert!(is_coloured(&list, &[("CLICOLOR_FORCE", "1")]));
    assert!(!is_coloured(&list, &[("CLICOLOR_FORCE", "0")]));
    assert!(!is_coloured(&list, &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]));
    assert!(is_coloured(&["list", "--color=always"], &[("NO_COLOR", "1")]));
    assert!(!is_coloured(&["list", "--color", "never"], &[("CLICOLOR_FORCE", "1")]));
    assert!(is_coloured(&["--color", "always", "check", "--help"], &[("NO_COLOR", "1")]));
}

#[test]
fn a_profile_answers_with_which_settings_against_which_faults() {
    stable(|| assert_snapshot!(check(&["profile:redis-py"], 12)));
}
