//! The signs of the lanes, in Unicode and in ASCII.

use crate::step::{Step, StepKind};

/// One column each.
pub(super) struct Signs {
    pub(super) idle: char,
    pub(super) holding: char,
    pub(super) paused: char,
    pub(super) paused_holding: char,
    pub(super) gone: char,
    pub(super) acts: char,
    pub(super) sends: char,
    pub(super) origin: char,
    pub(super) shaft: char,
    pub(super) cross: char,
    pub(super) cross_holding: char,
    /// Leftwards, rightwards.
    pub(super) head: [char; 2],
    pub(super) ignored: [char; 2],
    pub(super) lost: char,
    pub(super) delayed: char,
    pub(super) refused: char,
    pub(super) tick: char,
    pub(super) pause: char,
    pub(super) crash: char,
    pub(super) restart: char,
    pub(super) clock: char,
    pub(super) fault: char,
    pub(super) bullet: char,
    pub(super) dot: char,
    pub(super) becomes: &'static str,
}

const UNICODE: Signs = Signs {
    idle: '│',
    holding: '┃',
    paused: '╎',
    paused_holding: '╏',
    gone: '·',
    acts: '●',
    sends: '╌',
    origin: '○',
    shaft: '─',
    cross: '┼',
    cross_holding: '╂',
    // Not U+25C0 and U+25B6, which some terminals show as coloured buttons two columns wide.
    head: ['◄', '►'],
    ignored: ['◅', '▻'],
    lost: '✗',
    delayed: '◷',
    refused: '⊘',
    tick: '┈',
    pause: '‖',
    crash: '†',
    restart: '↻',
    clock: '±',
    fault: '!',
    bullet: '•',
    dot: '·',
    becomes: "→",
};

const ASCII: Signs = Signs {
    idle: '|',
    holding: '#',
    paused: ':',
    paused_holding: '%',
    gone: '.',
    acts: '*',
    sends: '~',
    origin: 'o',
    shaft: '-',
    cross: '+',
    cross_holding: '+',
    head: ['<', '>'],
    ignored: ['{', '}'],
    lost: 'x',
    delayed: '@',
    refused: '/',
    tick: '-',
    pause: 'P',
    crash: 'X',
    restart: 'R',
    clock: 'J',
    fault: '!',
    bullet: '*',
    dot: '-',
    becomes: "->",
};

impl Signs {
    pub(super) fn of(ascii: bool) -> &'static Self {
        if ascii { &ASCII } else { &UNICODE }
    }

    /// The sign of whoever acts in a step.
    pub(super) fn actor(&self, step: &Step) -> char {
        match (step.kind, step.fault.as_deref()) {
            (_, Some("pause")) => self.pause,
            (StepKind::Fault, Some(_)) if step.gone.contains(&step.actor) => self.crash,
            (_, Some("restart" | "failover")) | (StepKind::Rejoin, _) => self.restart,
            (_, Some("jump" | "drift")) => self.clock,
            (StepKind::Fault, _) => self.fault,
            _ => self.acts,
        }
    }
}
