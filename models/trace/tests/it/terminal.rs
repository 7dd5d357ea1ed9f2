//! The terminal renderer: snapshots to look at, and what holds for every trace.

use trace::render::terminal::{MIN_WIDTH, Style, render};
use trace::{Clock, Fate, Hop, Step, StepKind, Trace};

use crate::samples::{five_nodes, lost_update, pause, restart};

fn plain(width: usize) -> Style {
    Style { width, ..Style::default() }
}

/// A snapshot without escape characters, which no reviewer can read.
fn visible(text: &str) -> String {
    text.replace('\u{1b}', "␛")
}

#[test]
fn pause_at_80_columns() {
    insta::assert_snapshot!(render(&pause(), &plain(80)));
}

#[test]
fn pause_at_60_columns_in_ascii_with_changes() {
    insta::assert_snapshot!(render(&pause(), &Style { ascii: true, changes: true, ..plain(60) }));
}

#[test]
fn pause_in_colour() {
    insta::assert_snapshot!(visible(&render(&pause(), &Style { colour: true, ..plain(80) })));
}

#[test]
fn restart_at_80_columns() {
    insta::assert_snapshot!(render(&restart(), &plain(80)));
}

#[test]
fn restart_in_colour_with_changes() {
    insta::assert_snapshot!(visible(&render(&restart(), &Style { colour: true, changes: true, ..plain(100) })));
}

#[test]
fn lost_update_at_80_columns_with_changes() {
    insta::assert_snapshot!(render(&lost_update(), &Style { changes: true, ..plain(80) }));
}

#[test]
fn five_nodes_at_80_columns() {
    insta::assert_snapshot!(render(&five_nodes(), &plain(80)));
}

#[test]
fn five_nodes_at_60_columns_in_ascii() {
    insta::assert_snapshot!(render(&five_nodes(), &Style { ascii: true, ..plain(60) }));
}

#[test]
fn five_nodes_at_the_least_width() {
    insta::assert_snapshot!(render(&five_nodes(), &plain(MIN_WIDTH)));
}

/// The columns of a line: the samples have no wide characters, so characters, without the escape sequences.
fn columns(line: &str) -> usize {
    let mut pieces = line.split('\u{1b}');
    let first = pieces.next().unwrap_or_default().chars().count();
    first + pieces.map(|piece| piece.chars().skip_while(|&c| c != 'm').skip(1).count()).sum::<usize>()
}

fn styles() -> impl Iterator<Item = Style> {
    (MIN_WIDTH..=124).step_by(7).flat_map(|width| {
        (0..8).map(move |bits| Style { width, colour: bits & 1 > 0, ascii: bits & 2 > 0, changes: bits & 4 > 0 })
    })
}

fn assert_well_formed(trace: &Trace, style: &Style) {
    let text = render(trace, style);
    assert!(text.ends_with('\n') && !text.ends_with("\n\n"));
    for line in text.lines() {
        assert!(columns(line) <= style.width, "{style:?}: {line}");
        assert!(!line.ends_with(' '), "{style:?}: {line:?}");
        assert!(style.colour || !line.contains('\u{1b}'), "{style:?}: {line:?}");
    }
    assert!(!style.ascii || text.is_ascii(), "{text}");
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    for style in styles() {
        for trace in [pause(), restart(), lost_update(), five_nodes()] {
            assert_well_formed(&trace, &style);
        }
    }
}

#[test]
fn no_length_of_any_text_makes_a_line_too_wide() {
    let base = five_nodes();
    for style in styles() {
        for length in (0..160).step_by(3) {
            // Words of differing lengths, now and then one that fits no line.
            let text: String = (0..length).map(|at| if at % (length % 11 + 2) == 1 { ' ' } else { 'w' }).collect();
            let mut trace = base.clone();
            trace.scenario.title.clone_from(&text);
            trace.property.name.clone_from(&text);
            trace.property.says.clone_from(&text);
            trace.command = format!("lab {text}");
            trace.why.push(text.clone());
            trace.actors[length % 8].name.clone_from(&text);
            for step in &mut trace.steps {
                step.action.clone_from(&text);
                step.changes.iter_mut().for_each(|change| change.before.clone_from(&text));
            }
            assert_well_formed(&trace, &style);
        }
    }
}

#[test]
fn big_numbers_and_many_actors_fit_too() {
    let mut trace = five_nodes();
    for n in 6..=30 {
        let mut actor = trace.actors[2].clone();
        actor.id = format!("node{n}");
        actor.name = format!("node {n}");
        trace.actors.push(actor);
    }
    trace.steps[3].n = u32::MAX;
    trace.steps[4].clocks = vec![Clock { actor: "A".into(), time: i64::MIN }];
    styles().for_each(|style| assert_well_formed(&trace, &style));
}

#[test]
fn a_trace_that_names_nobody_is_rendered_all_the_same() {
    let mut trace = lost_update();
    let mut step = Step::new(5, "nobody", StepKind::Request, "nothing");
    let [from, to] = ["nobody", "store"].map(String::from);
    step.messages.push(Hop { id: 1, from, to, text: String::new(), fate: Fate::Delivered });
    step.holding.push("nobody".into());
    trace.steps.push(step);
    styles().for_each(|style| assert_well_formed(&trace, &style));
    trace.steps.clear();
    trace.why.clear();
    styles().for_each(|style| assert_well_formed(&trace, &style));
    trace.actors.clear();
    trace.steps.push(Step::new(1, "A", StepKind::Start, "client A asks"));
    styles().for_each(|style| assert_well_formed(&trace, &style));
}

#[test]
fn two_holders_are_two_thick_lanes_at_the_end() {
    let text = render(&pause(), &plain(80));
    let last = text.lines().find(|line| line.contains("mutual-exclusion violated")).unwrap();
    assert!(last.contains("┃ ┃ │ │"), "{last}");
    let text = render(&pause(), &Style { colour: true, ..plain(80) });
    assert!(text.contains("\u{1b}[1;31m┃\u{1b}[0m \u{1b}[1;31m┃"));
}

#[test]
fn json_of_the_lost_update() {
    insta::assert_snapshot!(trace::render::json::to_json(&lost_update()));
}

#[test]
fn the_same_trace_gives_the_same_bytes_after_a_round_trip() {
    for trace in [pause(), restart(), lost_update(), five_nodes()] {
        let text = trace::render::json::to_json(&trace);
        let again = trace::render::json::from_json(&text).unwrap();
        assert_eq!(again, trace);
        assert_eq!(render(&again, &plain(80)), render(&trace, &plain(80)));
    }
}

#[test]
fn a_third_client_stands_back() {
    let matters: Vec<u32> = restart().steps.iter().filter(|step| !step.matters).map(|step| step.n).collect();
    assert_eq!(matters, [8, 9, 19], "what client C did at node 1, which refused it");
}
