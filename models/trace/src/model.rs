//! The trace as a whole: where it comes from, who acts in it, what it contradicts.

use serde::{Deserialize, Serialize};

use crate::step::Step;

/// The version of the serialized form. A reader refuses any other.
///
/// A new field that old readers may overlook leaves it alone; anything else counts it up.
pub const SCHEMA: u32 = 1;

/// A counterexample: the steps from the initial state to one that violates a property.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trace {
    /// The version of this form, [`SCHEMA`].
    pub schema: u32,
    /// A short name that tells this trace from others.
    pub id: String,
    /// The scenario that it was found in.
    pub scenario: ScenarioRef,
    /// The property that it violates.
    pub property: PropertyRef,
    /// What one step is: `message` (a request and its reply are steps of their own) or `exchange` (both are one step).
    pub grain: String,
    /// The shell command that finds it again.
    pub command: String,
    /// Everybody who has a state of their own.
    pub actors: Vec<Actor>,
    /// What happened, in order.
    pub steps: Vec<Step>,
    /// The facts of the last state that contradict the property, a sentence each.
    #[serde(default)]
    pub why: Vec<String>,
    /// The ids of the actors that the violation is about: the seeds of the [causal cone](crate::cone).
    #[serde(default)]
    pub culprits: Vec<String>,
}

impl Trace {
    /// The actor with this id. None for [`TIME`](crate::TIME), which is nobody.
    #[must_use]
    pub fn actor(&self, id: &str) -> Option<&Actor> {
        self.actors.iter().find(|actor| actor.id == id)
    }

    /// The number of steps that matter.
    #[must_use]
    pub fn mattering(&self) -> usize {
        self.steps.iter().filter(|step| step.matters).count()
    }
}

/// The scenario of a trace, by reference.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScenarioRef {
    /// The name to ask for it.
    pub id: String,
    /// The name to read.
    pub title: String,
    /// A hash of its resolved knobs, so that a trace is not replayed in another scenario of the same name.
    pub hash: String,
    /// The scenario itself, as a file with every override: a trace can be followed again wherever it is taken.
    #[serde(default)]
    pub toml: String,
    /// The faults that were allowed.
    #[serde(default)]
    pub faults: Vec<FaultBudget>,
}

/// How often a fault may strike.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FaultBudget {
    /// The fault's name, such as `pause`.
    pub fault: String,
    /// How many of it were allowed.
    pub budget: u32,
}

/// A property by name, and in words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PropertyRef {
    /// The name, such as `mutual-exclusion`.
    pub name: String,
    /// What it says, as half a sentence: `no two clients believe at once that they hold the lock`.
    pub says: String,
}

/// Somebody with a state of their own: a lane of the picture.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Actor {
    /// The short name that steps refer to, such as `A`, `node1`, `store`.
    pub id: String,
    /// The name to read, such as `client A`, `node 1`, `the resource`.
    pub name: String,
    /// What it is.
    pub kind: ActorKind,
}

/// What an actor is. The order is that of the lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ActorKind {
    /// It wants the lock.
    Client,
    /// It keeps (a part of) the lock.
    Server,
    /// It is what the lock protects.
    Resource,
}
