//! One schedule in two scenarios.

use trace::render::terminal::{Style, beside};
use trace::{Beside, Side, Trace};

use crate::samples::pause;

/// The sample, and the same as far as its third step, which is another one.
fn parted() -> Beside {
    let left = pause();
    let mut right = Trace { why: Vec::new(), ..left.clone() };
    right.scenario.title = "Another lock".to_owned();
    right.steps.truncate(3);
    right.steps[2].action = "something else happens".to_owned();
    Beside::new(left, right, Side::Left, Some("the fault pause is not allowed".to_owned()))
}

#[test]
fn they_part_where_something_else_happens() {
    let both = parted();
    assert_eq!(both.parts_at, Some(3));
    assert_eq!(both.side(both.violated).steps.len(), both.left.steps.len());
    assert_eq!(both.side(both.violated.other()).steps.len(), 3);
}

/// What a step means for the end, and what clocks show, is no difference.
#[test]
fn what_only_the_end_tells_apart_is_alike() {
    let left = pause();
    let mut right = left.clone();
    for step in &mut right.steps {
        step.matters = !step.matters;
        step.clocks.clear();
    }
    assert_eq!(Beside::new(left, right, Side::Right, None).parts_at, None);
}

#[test]
fn a_side_that_ends_parts_there() {
    let left = pause();
    let right = Trace { steps: left.steps[..2].to_vec(), ..left.clone() };
    assert_eq!(Beside::new(left.clone(), right, Side::Left, None).parts_at, Some(3));
    let nothing = Trace { steps: Vec::new(), ..left.clone() };
    assert_eq!(Beside::new(nothing, left, Side::Right, None).parts_at, Some(1));
}

#[test]
fn it_is_data() {
    let both = parted();
    let text = serde_json::to_string(&both).unwrap();
    assert!(text.contains("\"violated\":\"left\"") && text.contains("\"parts_at\":3"), "{text}");
    assert_eq!(serde_json::from_str::<Beside>(&text).unwrap(), both);
}

#[test]
fn it_is_shown_side_by_side() {
    insta::assert_snapshot!(beside::render(&parted(), ["A", "B"], &Style::default()));
}

#[test]
fn it_fits_and_colour_changes_nothing_but_the_colour() {
    for width in [40, 60, 80, 120] {
        let style = Style { width, ascii: true, ..Style::default() };
        let text = beside::render(&parted(), ["A", "B"], &style);
        assert!(text.is_ascii());
        assert!(text.lines().all(|line| line.len() <= width && line == line.trim_end()), "{width}:\n{text}");
        let coloured = beside::render(&parted(), ["A", "B"], &Style { colour: true, ..style });
        let mut plain = coloured;
        while let Some(start) = plain.find('\u{1b}') {
            let end = start + plain[start..].find('m').unwrap();
            plain.replace_range(start..=end, "");
        }
        assert_eq!(plain, text);
    }
}
