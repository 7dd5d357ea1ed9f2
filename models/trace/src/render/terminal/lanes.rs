//! A lane for every actor: its state from step to step, and the messages across the lanes.

use std::collections::BTreeSet;

use super::line::{Line, Paint};
use super::signs::Signs;
use crate::model::{Actor, ActorKind, Trace};
use crate::step::{Fate, Hop, Step, StepKind};

/// The lanes of a trace, from left to right: clients, servers, resources.
pub(super) struct Lanes<'a> {
    signs: &'static Signs,
    actors: Vec<&'a Actor>,
    labels: Vec<char>,
}

type Cell = (Paint, char);

impl<'a> Lanes<'a> {
    pub(super) fn new(trace: &'a Trace, signs: &'static Signs) -> Self {
        let mut actors: Vec<&Actor> = trace.actors.iter().collect();
        actors.sort_by_key(|actor| actor.kind);
        let labels = labels(&actors);
        Self { signs, actors, labels }
    }

    /// Two columns for each lane, but none behind the last.
    pub(super) fn width(&self) -> usize {
        (self.actors.len() * 2).saturating_sub(1)
    }

    /// Every lane's label and its actor, from left to right.
    pub(super) fn labelled(&self) -> impl Iterator<Item = (char, &'a Actor)> {
        self.labels.iter().copied().zip(self.actors.iter().copied())
    }

    /// The labels, above their lanes.
    pub(super) fn head(&self, line: &mut Line) {
        let mut cells = vec![(Paint::Plain, ' '); self.width()];
        for (lane, &label) in self.labels.iter().enumerate() {
            cells[lane * 2] = (Paint::Strong, label);
        }
        put(line, &cells);
    }

    /// The lanes as a step leaves them.
    pub(super) fn rest(&self, step: &Step, line: &mut Line) {
        put(line, &self.bars(step));
    }

    /// The lanes with what happens in a step.
    pub(super) fn step(&self, step: &Step, line: &mut Line) {
        let mut cells = self.bars(step);
        if step.kind == StepKind::Tick {
            cells.iter_mut().skip(1).step_by(2).for_each(|gap| *gap = (Paint::Faint, self.signs.tick));
        }
        let across: Vec<Across> = step.messages.iter().filter_map(|hop| self.across(hop, step)).collect();
        for hop in across.iter().filter(|hop| hop.fate != Fate::Sent) {
            self.shaft(hop, &mut cells);
        }
        let struck = across.iter().any(|hop| hop.fate != Fate::Sent);
        if let Some(lane) = self.lane(&step.actor)
            && !(struck && step.kind == StepKind::Fault)
        {
            let standing = self.standing(&step.actor, step).0;
            let paint = if !step.matters {
                Paint::Faint
            } else if step.fault.is_some() {
                Paint::Fault
            } else if standing == Paint::Faint {
                // An actor's own sign stands out, even where its bar does not.
                Paint::Strong
            } else {
                standing
            };
            cells[lane * 2] = (paint, self.signs.actor(step));
        }
        for hop in &across {
            self.tail(hop, &mut cells);
        }
        // Heads last: in an exchange the asker's lane is the origin of one message and the end of the other.
        for hop in &across {
            self.point(hop, &mut cells);
        }
        put(line, &cells);
    }

    fn bars(&self, step: &Step) -> Vec<Cell> {
        let mut cells = vec![(Paint::Plain, ' '); self.width()];
        for (lane, actor) in self.actors.iter().enumerate() {
            cells[lane * 2] = self.standing(&actor.id, step);
        }
        cells
    }

    /// The bar of an actor after a step.
    fn standing(&self, id: &str, step: &Step) -> Cell {
        let is_in = |ids: &[String]| ids.iter().any(|other| other == id);
        let hold = if step.holding.len() > 1 { Paint::Clash } else { Paint::Hold };
        if is_in(&step.gone) {
            (Paint::Fault, self.signs.gone)
        } else {
            match (is_in(&step.holding), is_in(&step.paused)) {
                (true, true) => (hold, self.signs.paused_holding),
                (true, false) => (hold, self.signs.holding),
                (false, true) => (Paint::Fault, self.signs.paused),
                (false, false) => (Paint::Faint, self.signs.idle),
            }
        }
    }

    fn lane(&self, id: &str) -> Option<usize> {
        self.actors.iter().position(|actor| actor.id == id)
    }

    fn across(&self, hop: &Hop, step: &Step) -> Option<Across> {
        let (from, to) = (self.lane(&hop.from)?, self.lane(&hop.to)?);
        let paint = match hop.fate {
            _ if !step.matters => Paint::Faint,
            Fate::Sent | Fate::Delivered => Paint::Arrow,
            Fate::Ignored => Paint::Faint,
            Fate::Lost | Fate::Delayed | Fate::Refused => Paint::Fault,
        };
        (from != to).then_some(Across { from: from * 2, to: to * 2, fate: hop.fate, paint })
    }

    fn shaft(&self, hop: &Across, cells: &mut [Cell]) {
        let (left, right) = (hop.from.min(hop.to), hop.from.max(hop.to));
        for (at, cell) in cells.iter_mut().enumerate().take(right).skip(left + 1) {
            *cell = match *cell {
                _ if at % 2 == 1 => (hop.paint, self.signs.shaft),
                (held @ (Paint::Hold | Paint::Clash), _) => (held, self.signs.cross_holding),
                (_, gone) if gone == self.signs.gone => (hop.paint, self.signs.shaft),
                _ => (hop.paint, self.signs.cross),
            };
        }
    }

    /// Where the message set out: the sender's lane, or for one that stays under way, a stub beside it.
    fn tail(&self, hop: &Across, cells: &mut [Cell]) {
        if hop.fate != Fate::Sent {
            set(cells, hop.from, hop.paint, self.signs.origin);
        } else if let Some(stub @ (_, ' ')) = cells.get_mut(hop.beside(hop.from)) {
            *stub = (hop.paint, self.signs.sends);
        }
    }

    /// Where it ended: on the receiver's lane, or just before it.
    fn point(&self, hop: &Across, cells: &mut [Cell]) {
        let right = usize::from(hop.to > hop.from);
        let before = if right == 1 { hop.to - 1 } else { hop.to + 1 };
        let (at, sign) = match hop.fate {
            Fate::Sent => return,
            Fate::Delivered => (hop.to, self.signs.head[right]),
            Fate::Ignored => (hop.to, self.signs.ignored[right]),
            Fate::Lost => (before, self.signs.lost),
            Fate::Delayed => (before, self.signs.delayed),
            Fate::Refused => (before, self.signs.refused),
        };
        set(cells, at, hop.paint, sign);
    }
}

/// A message between two lanes, in columns.
struct Across {
    from: usize,
    to: usize,
    fate: Fate,
    paint: Paint,
}

impl Across {
    /// The column beside a lane, towards the receiver.
    fn beside(&self, lane: usize) -> usize {
        if self.to > self.from { lane + 1 } else { lane - 1 }
    }
}

/// Puts a sign on a lane. That of a holder keeps its colour, so that the eye can follow it.
fn set(cells: &mut [Cell], at: usize, paint: Paint, sign: char) {
    let held = matches!(cells[at].0, Paint::Hold | Paint::Clash);
    cells[at] = (if held { cells[at].0 } else { paint }, sign);
}

fn put(line: &mut Line, cells: &[Cell]) {
    for &(paint, sign) in cells {
        line.push(paint, sign.encode_utf8(&mut [0; 4]));
    }
}

/// A character for each actor: `R` for the resource, the last digit of a number, or the first letter of the id; else
/// any that is free.
fn labels(actors: &[&Actor]) -> Vec<char> {
    let mut taken = BTreeSet::new();
    let mut labels = Vec::new();
    for actor in actors {
        let first = actor.id.chars().next().filter(char::is_ascii_alphanumeric);
        let last = actor.id.chars().last().filter(char::is_ascii_digit);
        let role = (actor.kind == ActorKind::Resource).then_some('R');
        let own = [role, last, first.map(|c| c.to_ascii_uppercase()), first.map(|c| c.to_ascii_lowercase())];
        let any = ('a'..='z').chain('A'..='Z').chain('0'..='9');
        let label = own.into_iter().flatten().chain(any).find(|c| !taken.contains(c)).unwrap_or('?');
        taken.insert(label);
        labels.push(label);
    }
    labels
}

#[cfg(test)]
mod tests {
    use super::labels;
    use crate::model::{Actor, ActorKind};

    fn labelled(ids: &[&str]) -> String {
        let actors: Vec<Actor> =
            ids.iter().map(|&id| Actor { id: id.into(), name: id.into(), kind: ActorKind::Server }).collect();
        labels(&actors.iter().collect::<Vec<_>>()).into_iter().collect()
    }

    #[test]
    fn every_lane_has_a_label_of_its_own() {
        assert_eq!(labelled(&["A", "B", "node1", "node2", "store"]), "AB12S");
        assert_eq!(labelled(&["A", "node1", "r1", "r2"]), "A1R2");
        assert_eq!(labelled(&["stock", "store", "still", "été", ""]), "Ssabc");
    }
}
