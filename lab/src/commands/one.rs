//! One check by name: a scenario, or a row of a sheet behind a `#`.

use check::scenario::{Property, Row};

use super::check::{Plan, decidable, plans_of};
use crate::args::Changes;
use crate::failure::{Failure, shown};
use crate::quote::quoted;
use crate::target::Target;

/// How near a title must be to be suggested, from 0 to 1.
const NEAR: f64 = 0.75;

/// Finds it, with what the command line changes, if everything that is asked of it can be decided.
pub(super) fn one(called: &str, changes: &Changes, asked: Option<&[Property]>) -> Result<Plan, Failure> {
    let (name, row) = split(called);
    let mut target = Target::find(name)?;
    let rows = target.scenario.rows.clone();
    target.change(changes)?;
    let mut plans = plans_of(&target, changes);
    let plan = match (row, target.scenario.rows.is_empty()) {
        (Some(row), false) => plans.swap_remove(place(name, row, &rows)?),
        (Some(_), true) => return Err(Failure::usage(no_rows(name, rows.is_empty()))),
        (None, true) => plans.swap_remove(0),
        (None, false) => return Err(Failure::usage(several(name, &rows))),
    };
    plan.scenario.resolve().map_err(|errors| Failure::scenario(&errors, None))?;
    // Of the one plan all has to be decidable, or nothing is left of it.
    let mut plans = decidable(vec![plan], asked)?;
    Ok(plans.swap_remove(0))
}

/// The name, and the row behind the last `#`, if this is not a file of that very name.
fn split(called: &str) -> (&str, Option<&str>) {
    match called.rsplit_once('#') {
        Some((name, row)) if !std::path::Path::new(called).exists() => (name, Some(row)),
        Some(_) | None => (called, None),
    }
}

/// Which row is meant, by its number from 1 or its title.
fn place(name: &str, row: &str, rows: &[Row]) -> Result<usize, Failure> {
    let wanted = row.trim().to_lowercase();
    let number = wanted.parse::<usize>().ok().filter(|number| (1..=rows.len()).contains(number));
    let titled = || rows.iter().position(|row| row.title.to_lowercase() == wanted);
    number.map(|number| number - 1).or_else(titled).ok_or_else(|| Failure::usage(no_such_row(name, row, rows)))
}

fn no_such_row(name: &str, wanted: &str, rows: &[Row]) -> String {
    let likeness = |row: &Row| strsim::jaro_winkler(&wanted.to_lowercase(), &row.title.to_lowercase());
    let near = rows.iter().map(|row| (likeness(row), row)).filter(|(likeness, _)| *likeness >= NEAR);
    let near = near.max_by(|(left, _), (right, _)| left.total_cmp(right)).map(|(_, row)| &row.title);
    let help = near.map_or_else(|| listed(rows), |title| format!("did you mean {}?", example(name, title)));
    let (name, wanted) = (shown(name), shown(wanted));
    format!("{name}: expected a row from 1 to {}, or its title, found {wanted:?}\n  help: {help}", rows.len())
}

fn several(name: &str, rows: &[Row]) -> String {
    let first = rows.first().map(|row| example(name, &row.title)).unwrap_or_default();
    let by_number = example(name, "1");
    format!(
        "{} is a sheet of {} checks: name one of its rows, such as {by_number} or {first}, or give --faults\n  help: {}",
        shown(name),
        rows.len(),
        listed(rows)
    )
}

fn no_rows(name: &str, is_plain: bool) -> String {
    let name = shown(name);
    if is_plain {
        format!("{name} has no rows\n  help: leave out the # and what is behind it")
    } else {
        format!(
            "{name}: with --faults a sheet is one check, without rows\n  help: leave out the # and what is behind it"
        )
    }
}

fn example(name: &str, row: &str) -> String {
    quoted(&format!("{name}#{row}"))
}

fn listed(rows: &[Row]) -> String {
    let titles: Vec<String> = (1..).zip(rows).map(|(number, row)| format!("{number} {}", shown(&row.title))).collect();
    format!("the rows are {}", titles.join("; "))
}
