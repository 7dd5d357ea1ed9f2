//! What was measured, as Markdown.

use std::fmt::Write as _;

use crate::case::Engine;
use crate::child::Measured;
use crate::compare::{Comparison, Spread};
use crate::growth::{Axis, Line};
use crate::ratios::Group;

/// How a report says where its numbers come from.
const ORIGIN: &str = "One run on one machine; the counts are the same on every machine. Memory is the peak of the \
resident set of a process that does nothing else, less what it had before the search. A ratio is the median of the \
rounds, with the least and the greatest behind it.\n";

/// The comparisons with stateright, and of one thread with two.
#[must_use]
pub fn ratios(groups: &[Group], threads: &[Comparison]) -> String {
    let mut text = format!("# Ratios\n\n{ORIGIN}\n");
    for group in groups {
        against(&mut text, group);
    }
    two_threads(&mut text, threads);
    text
}

fn against(text: &mut String, group: &Group) {
    let Group { title, least_cpu, least_memory, comparisons } = group;
    line(text, &format!("## {title}\n"));
    line(text, &format!("Aim, against stateright 0.31: {least_cpu} × the CPU time, {least_memory} × the memory.\n"));
    line(text, "| space | states | generated | depth | against | CPU | ours | ratio | bytes/state | ours | ratio |");
    line(text, "|---|--:|--:|--:|---|--:|--:|--:|--:|--:|--:|");
    for comparison in comparisons {
        for other in 1..comparison.engines.len() {
            line(text, &row(comparison, other));
        }
    }
    line(text, "");
    if comparisons.len() > 1 {
        let median = |of: fn(&Measured) -> f64| Spread::of(comparisons.iter().map(|c| c.ratio(1, of).median).collect());
        let (cpu, memory) = (median(|m| m.cpu), median(|m| m.bytes as f64));
        line(text, &format!("Median against stateright 0.31: CPU {}, memory {}.\n", ratio(cpu), ratio(memory)));
    }
}

fn row(comparison: &Comparison, other: usize) -> String {
    let Comparison { title, counts, engines } = comparison;
    let cpu = |engine: usize| engines[engine].spread(|m| m.cpu).median;
    let bytes = |engine: usize| engines[engine].spread(Measured::bytes_per_state).median;
    format!(
        "| {title} | {} | {} | {} | {} | {:.2} s | {:.2} s | {} | {:.0} | {:.0} | {} |",
        grouped(counts.unique),
        grouped(counts.generated),
        counts.depth,
        called(engines[other].engine),
        cpu(other),
        cpu(0),
        ratio(comparison.ratio(other, |m| m.cpu)),
        bytes(other),
        bytes(0),
        ratio(comparison.ratio(other, |m| m.bytes as f64)),
    )
}

fn two_threads(text: &mut String, comparisons: &[Comparison]) {
    line(text, "## Two threads\n");
    line(text, "Wall-clock time of all seven properties. Aim: 1.5 ×.\n");
    line(text, "| Redlock with | states | depth | one thread | two threads | gain | memory | with two |");
    line(text, "|---|--:|--:|--:|--:|--:|--:|--:|");
    for comparison in comparisons {
        let Comparison { title, counts, engines } = comparison;
        let wall = |engine: usize| engines[engine].spread(|m| m.wall).median;
        let mebibytes = |engine: usize| engines[engine].spread(|m| m.bytes as f64 / f64::from(1 << 20)).median;
        // The gain is how many times as long one thread takes as two.
        let gain = comparison.ratio(1, |m| 1.0 / m.wall);
        line(
            text,
            &format!(
                "| {title} | {} | {} | {:.1} s | {:.1} s | {} | {:.0} MiB | {:.0} MiB |",
                grouped(counts.unique),
                counts.depth,
                wall(0),
                wall(1),
                ratio(gain),
                mebibytes(0),
                mebibytes(1),
            ),
        );
    }
}

/// How the spaces grow.
#[must_use]
pub fn growth(axes: &[Axis]) -> String {
    let mut text = format!("# Growth\n\n{ORIGIN}\nAll seven properties, one thread.\n\n![growth](growth.svg)\n\n");
    for axis in axes {
        line(&mut text, &format!("## {}\n\n{}.\n", axis.name, axis.base));
        line(&mut text, &format!("| {} | states | × | depth | CPU | × | memory |", axis.name));
        line(&mut text, "|---|--:|--:|--:|--:|--:|--:|");
        axis.lines.iter().for_each(|each| grown(&mut text, axis, each));
        line(&mut text, "");
    }
    text
}

fn grown(text: &mut String, axis: &Axis, of: &Line) {
    let mut before = None;
    for point in &of.points {
        let name = if axis.lines.len() > 1 { format!("{} {}", of.name, point.value) } else { point.value.to_string() };
        let states = point.counts.unique;
        let times = |now: f64, then: Option<f64>| then.map_or_else(String::new, |then| format!("{:.1}", now / then));
        let line_of = format!(
            "| {name} | {} | {} | {} | {:.2} s | {} | {:.1} MiB |",
            grouped(states),
            times(states as f64, before.map(|(states, _)| states)),
            point.counts.depth,
            point.cpu,
            // Below this, what is measured is noise.
            times(point.cpu, before.map(|(_, cpu)| cpu).filter(|cpu| *cpu >= 0.05)),
            point.bytes as f64 / f64::from(1 << 20),
        );
        line(text, &line_of);
        before = Some((states as f64, point.cpu));
    }
}

fn called(engine: Engine) -> &'static str {
    match engine {
        Engine::Levels(_) => "ours",
        Engine::Graph(_) => "ours, all seven properties",
        Engine::Stateright => "stateright 0.31.0",
        Engine::Stateright030 => "stateright 0.30.2",
    }
}

fn ratio(spread: Spread) -> String {
    let Spread { median, least, greatest } = spread;
    format!("**{median:.1}** ({least:.1}–{greatest:.1})")
}

/// A number with a comma between thousands.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let groups: Vec<_> = digits.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy).collect();
    groups.join(",")
}

fn line(text: &mut String, line: &str) {
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{line}");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::Counts;
    use crate::compare::Runs;

    #[test]
    fn numbers_are_grouped_by_thousands() {
        assert_eq!([0, 999, 1000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
    }

    #[test]
    fn a_gain_is_above_one_when_two_threads_are_faster() {
        let counts = Counts { unique: 1000, generated: 2000, depth: 3 };
        let run = |wall| vec![Measured { counts, cpu: wall, wall, bytes: 1 << 20 }];
        let engines =
            vec![Runs { engine: Engine::GRAPH, runs: run(3.0) }, Runs { engine: Engine::Stateright, runs: run(2.0) }];
        let mut text = String::new();
        two_threads(&mut text, &[Comparison { title: "one pause".to_owned(), counts, engines }]);
        assert!(
            text.ends_with("| one pause | 1,000 | 3 | 3.0 s | 2.0 s | **1.5** (1.5–1.5) | 1 MiB | 1 MiB |\n"),
            "{text}"
        );
    }
}
