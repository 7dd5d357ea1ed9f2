//! How a space grows with what it is made of.

use std::io;

use crate::case::{Counts, Engine, Space, World};
use crate::child::measure;

/// One size that is varied, and everything else left as it is.
#[derive(Clone, Debug)]
pub struct Axis {
    /// What is varied.
    pub name: &'static str,
    /// What it is varied in, for a reader.
    pub base: &'static str,
    /// One line, or several: one for each kind of fault.
    pub lines: Vec<Line>,
}

/// One thing that is varied.
#[derive(Clone, Debug)]
pub struct Line {
    /// How it is called.
    pub name: &'static str,
    /// What came out, by increasing value.
    pub points: Vec<Point>,
}

/// What came out for one value.
#[derive(Clone, Copy, Debug)]
pub struct Point {
    /// The value.
    pub value: u32,
    /// How large the space is.
    pub counts: Counts,
    /// CPU time in seconds.
    pub cpu: f64,
    /// Peak of the memory in bytes.
    pub bytes: u64,
}

const REDLOCK: &str = "Redlock: 2 clients, 3 nodes, TTL 3, latency 0 to 1, no fault";
const THREE_CLIENTS: &str = "Redlock: 3 nodes, TTL 3, latency 0, one crash";

/// Measures every axis.
///
/// # Errors
///
/// If a measurement fails.
pub fn measure_all() -> io::Result<Vec<Axis>> {
    let faults = ["pause", "drop-request", "drop-reply", "crash"];
    let of_fault = |fault: &'static str| line(fault, 0..=3, |units| redlock(&format!("{fault}={units}"), &[]));
    Ok(vec![
        axis("nodes", REDLOCK, line("nodes", 1..=5, |n| redlock("none", &[format!("nodes={n}")]))?),
        axis("clients", THREE_CLIENTS, line("clients", 1..=4, crowd)?),
        axis("TTL", REDLOCK, line("TTL", 2..=8, |ttl| redlock("none", &[format!("ttl={ttl}")]))?),
        Axis { name: "faults", base: REDLOCK, lines: faults.into_iter().map(of_fault).collect::<io::Result<_>>()? },
    ])
}

fn axis(name: &'static str, base: &'static str, line: Line) -> Axis {
    Axis { name, base, lines: vec![line] }
}

fn redlock(faults: &str, sets: &[String]) -> Space {
    let faults = if faults.ends_with("=0") { "none" } else { faults };
    let (id, faults) = ("redlock".to_owned(), Some(faults.to_owned()));
    Space::World(World { id, row: None, faults, sets: sets.to_vec() })
}

fn crowd(clients: u32) -> Space {
    let id = "redlock-three-clients".to_owned();
    Space::World(World { id, sets: vec![format!("clients={clients}")], ..World::default() })
}

fn line(name: &'static str, values: impl Iterator<Item = u32>, space: impl Fn(u32) -> Space) -> io::Result<Line> {
    let mut points = Vec::new();
    for value in values {
        let measured = measure(&space(value), Engine::GRAPH)?;
        eprintln!("  {name} {value}: {} states, {:.2} s CPU", measured.counts.unique, measured.cpu);
        points.push(Point { value, counts: measured.counts, cpu: measured.cpu, bytes: measured.bytes });
    }
    Ok(Line { name, points })
}
