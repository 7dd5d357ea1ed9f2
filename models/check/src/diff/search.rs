//! Runs both scenarios, looks for the keys that make a verdict flip, and follows the counterexamples.

use std::ops::ControlFlow;

use trace::{Beside, Side};
use world::Action;

use super::between::{Answer, Between};
use super::{ALL_SETS, Diff, Flip, Method, Stage, Verdicts, Watch};
use crate::explore::Cut;
use crate::model::LockModel;
use crate::narrate::{follow, narrate_actions};
use crate::report::{Ending, Limits, Report};
use crate::scenario::{Named, Property, Scenario, ScenarioErrors, Verdict};
use crate::verdict::{Searched, asked};

/// One of the two scenarios.
struct Known<'a> {
    scenario: &'a Scenario,
    model: LockModel,
    report: Report,
    /// The shortest way to each violation.
    ways: Vec<(Property, Vec<Action>)>,
}

pub(super) fn run(
    left: &Scenario,
    right: &Scenario,
    limits: &Limits,
    watch: &mut impl Watch,
) -> Result<Diff, ScenarioErrors> {
    let (left, right) = in_one_grain(left, right);
    let limits = &Limits { properties: Some(asked_of_either(&left, &right, limits)), ..limits.clone() };
    let models = [LockModel::within(left.resolve()?, limits), LockModel::within(right.resolve()?, limits)];
    let [of_left, of_right] = models;
    let keys = left.differences(&right);
    let mut cut = None;
    let first = look_at(&left, of_left, Stage::Left, limits, watch, &mut cut);
    let second = look_at(&right, of_right, Stage::Right, limits, watch, &mut cut);
    let verdict = |known: &Known<'_>, property| known.report.verdict(property);
    let properties = Property::ALL.iter().copied();
    let verdicts: Vec<Verdicts> = properties
        .map(|property| Verdicts { property, left: verdict(&first, property), right: verdict(&second, property) })
        .filter(|v| v.left.is_some() || v.right.is_some())
        .collect();
    let mut middle = Between::new((&left, &right), &keys, limits, watch);
    middle.cut = cut;
    middle.flips = verdicts.iter().filter(|v| v.flip().is_some()).map(|v| v.property).collect();
    for (property, way) in first.ways.iter().chain(&second.ways) {
        middle.schedules.add(*property, way.clone());
    }
    let method = if keys.len() <= ALL_SETS { Method::Every } else { Method::UpToTwo };
    let mut flips = Vec::new();
    for (property, (left, right)) in verdicts.iter().filter_map(|v| Some((v.property, v.flip()?))) {
        let (sets, is_open) = smallest(&mut middle, property, right, method);
        let beside = beside(&first, &second, property);
        flips.push(Flip { property, left, right, keys: sets, is_open, beside });
    }
    let (tally, cut) = (middle.tally, middle.cut);
    Ok(Diff { left: first.report, right: second.report, keys, verdicts, flips, method, tally, cut })
}

/// The scenarios in a grain in which both can take the same steps.
fn in_one_grain(left: &Scenario, right: &Scenario) -> (Scenario, Scenario) {
    let (mut left, mut right) = (left.clone(), right.clone());
    if left.grain() != right.grain() {
        left.settings.grain = crate::scenario::GrainChoice::Message;
        right.settings.grain = crate::scenario::GrainChoice::Message;
    }
    (left, right)
}

/// What is asked of the one or the other.
fn asked_of_either(left: &Scenario, right: &Scenario, limits: &Limits) -> Vec<Property> {
    let (first, second) = (asked(left, limits), asked(right, limits));
    Property::ALL.iter().copied().filter(|p| first.contains(p) || second.contains(p)).collect()
}

fn look_at<'a>(
    scenario: &'a Scenario,
    model: LockModel,
    stage: Stage<'_>,
    limits: &Limits,
    watch: &mut impl Watch,
    cut: &mut Option<Cut>,
) -> Known<'a> {
    if cut.is_none()
        && let ControlFlow::Break(why) = watch.next(&stage)
    {
        *cut = Some(why);
    }
    if let Some(cut) = *cut {
        let report = Report { ending: Ending::Cut(cut), ..Report::of(scenario) };
        return Known { scenario, model, report, ways: Vec::new() };
    }
    let asked = asked(scenario, limits);
    let searched = Searched::new(scenario, &model, &asked, limits, watch);
    let way = |property: &Property| Some((*property, model.actions_along(&searched.path(*property)?)));
    let ways = asked.iter().filter_map(way).collect();
    let report = searched.report(scenario, &model, &asked, false);
    if report.ending == Ending::Cut(Cut::Interrupted) {
        *cut = Some(Cut::Interrupted);
    }
    Known { scenario, model, report, ways }
}

/// The smallest sets of keys that make a verdict that of the second scenario, and whether there could be others.
fn smallest<W: Watch>(
    middle: &mut Between<'_, W>,
    property: Property,
    verdict: Verdict,
    method: Method,
) -> (Vec<Vec<usize>>, bool) {
    let all: Vec<usize> = (0..middle.keys.len()).collect();
    let most = match method {
        Method::Every => all.len().saturating_sub(1),
        Method::UpToTwo => 2,
    };
    let (mut found, mut is_open): (Vec<Vec<usize>>, bool) = (Vec::new(), false);
    for size in 1..=most {
        for set in sets(all.len(), size) {
            if found.iter().any(|smaller| smaller.iter().all(|key| set.contains(key))) {
                continue;
            }
            match middle.has(&set, property, verdict) {
                Answer::Yes => found.push(set),
                Answer::No => {}
                Answer::Open => is_open = true,
            }
        }
    }
    if !found.is_empty() {
        return (found, is_open);
    }
    match method {
        // All of them make the second scenario. Without any the difference is not in the keys.
        Method::Every => (if all.is_empty() { Vec::new() } else { vec![all] }, is_open),
        Method::UpToTwo => {
            let (set, is_shrunk) = shrunk(middle, all, property, verdict);
            (vec![set], is_open || !is_shrunk)
        }
    }
}

/// Takes keys out of a set one by one, as long as the verdict stays: none of what is left can be taken out alone. Also
/// whether all of that could be decided.
fn shrunk<W: Watch>(
    middle: &mut Between<'_, W>,
    mut set: Vec<usize>,
    property: Property,
    verdict: Verdict,
) -> (Vec<usize>, bool) {
    let mut is_decided = true;
    let mut at = 0;
    while at < set.len() {
        let mut less = set.clone();
        less.remove(at);
        match middle.has(&less, property, verdict) {
            Answer::Yes => {
                // What could not be taken out of the larger set may be taken out of this one.
                (set, at, is_decided) = (less, 0, true);
            }
            Answer::No => at += 1,
            Answer::Open => {
                is_decided = false;
                at += 1;
            }
        }
    }
    (set, is_decided)
}

/// The sets of this size of the numbers below `of`, in lexicographical order.
fn sets(of: usize, size: usize) -> Vec<Vec<usize>> {
    if size == 0 {
        return vec![Vec::new()];
    }
    let with = |first: usize| {
        let rest = sets(of - first - 1, size - 1).into_iter();
        rest.map(move |rest| std::iter::once(first).chain(rest.into_iter().map(|n| n + first + 1)).collect())
    };
    (0..(of + 1).saturating_sub(size)).flat_map(with).collect()
}

/// The counterexample of the side that is violated, on both sides.
fn beside(left: &Known<'_>, right: &Known<'_>, property: Property) -> Option<Beside> {
    let way = |known: &Known<'_>| known.ways.iter().find(|(p, _)| *p == property).map(|(_, way)| way.clone());
    let (violated, known, other, way) = match (way(left), way(right)) {
        (Some(way), None) => (Side::Left, left, right, way),
        (None, Some(way)) => (Side::Right, right, left, way),
        (Some(_), Some(_)) | (None, None) => return None,
    };
    let told = narrate_actions(known.scenario, &known.model, property, &way);
    let (followed, ends) = follow(other.scenario, &other.model, property, &way);
    Some(match violated {
        Side::Left => Beside::new(told, followed, violated, ends),
        Side::Right => Beside::new(followed, told, violated, ends),
    })
}

#[cfg(test)]
mod tests {
    use super::sets;

    #[test]
    fn every_set_comes_once_in_order() {
        assert_eq!(sets(3, 1), [[0], [1], [2]]);
        assert_eq!(sets(4, 2), [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]]);
        assert_eq!(sets(3, 3), [[0, 1, 2]]);
        assert!(sets(2, 3).is_empty());
        assert_eq!(sets(6, 3).len(), 20);
    }
}
