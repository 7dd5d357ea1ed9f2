//! How the magnitude of a fault is set.

use world::Fault;

use super::{measure::Side, set};
use crate::scenario::{MAX_BUDGET, MAX_TICKS, Scenario};

/// What the magnitude of a fault is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dial {
    /// A knob that bounds how long the fault lasts: what breaks with a bound breaks with every greater one.
    Bound(&'static str),
    /// A knob that says exactly how large the fault is.
    Exact(&'static str),
    /// A knob that makes the fault milder the greater it is.
    Milder(&'static str),
    /// The number of units of the fault.
    Units,
}

impl Dial {
    /// That of a fault; none if it has no magnitude.
    pub(super) fn of(fault: Fault) -> Option<Self> {
        match fault {
            Fault::Pause => Some(Self::Bound("longest_pause")),
            Fault::Delay => Some(Self::Bound("longest_delay")),
            Fault::Partition => Some(Self::Bound("longest_partition")),
            Fault::Jump => Some(Self::Exact("jump")),
            Fault::Restart => Some(Self::Milder("restart_delay")),
            Fault::Drift => Some(Self::Units),
            Fault::DropRequest
            | Fault::DropReply
            | Fault::Duplicate
            | Fault::Crash
            | Fault::Failover
            | Fault::Evict
            | Fault::Cancel => None,
        }
    }

    /// The knob; none: the units.
    pub(super) fn knob(self) -> Option<&'static str> {
        match self {
            Self::Bound(key) | Self::Exact(key) | Self::Milder(key) => Some(key),
            Self::Units => None,
        }
    }

    pub(super) fn side(self) -> Side {
        match self {
            Self::Bound(_) | Self::Exact(_) | Self::Units => Side::Least,
            Self::Milder(_) => Side::Greatest,
        }
    }

    /// The least that can be set.
    pub(super) fn least(self) -> u32 {
        match self {
            Self::Bound(_) | Self::Milder(_) => 0,
            Self::Exact(_) | Self::Units => 1,
        }
    }

    /// The greatest that is tried: a server that is down for longer than everything that was granted before lasts makes
    /// no further difference.
    pub(super) fn most(self, scenario: &Scenario) -> u32 {
        let settings = &scenario.settings;
        let lease = settings.ttl.map_or(1, |ttl| ttl.0) + settings.drift_ticks.0;
        match self {
            Self::Bound(_) | Self::Exact(_) => MAX_TICKS,
            Self::Milder(_) => {
                let most = lease + settings.timeout().0 + settings.work.0 + 2;
                most.max(settings.restart_delay.0).min(MAX_TICKS)
            }
            Self::Units => MAX_BUDGET.into(),
        }
    }

    /// The scenario with this magnitude.
    pub(super) fn turned(self, scenario: &Scenario, fault: Fault, value: u32) -> Scenario {
        let mut turned = scenario.clone();
        match self.knob() {
            Some(key) => {
                set(&mut turned, key, value);
            }
            None => turned.faults.set(fault, u8::try_from(value).unwrap_or(MAX_BUDGET)),
        }
        turned
    }
}
