//! One step of a trace: who did what, what moved and what changed.

use serde::{Deserialize, Serialize};

/// The [`Step::actor`] of a tick: nobody acts, every clock advances.
pub const TIME: &str = "time";

/// One transition between two states.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// Its number, from 1.
    pub n: u32,
    /// The id of the actor that acts, or [`TIME`].
    pub actor: String,
    /// What sort of transition it is.
    pub kind: StepKind,
    /// The choice that the step is, in words for a machine, such as `deliver A node1 request 0`. All else follows from it.
    #[serde(default)]
    pub choice: String,
    /// What happened, one sentence in the words of the protocol, without a full stop.
    pub action: String,
    /// The fault that struck, if the step is one.
    #[serde(default)]
    pub fault: Option<String>,
    /// The time on each clock after the step.
    #[serde(default)]
    pub clocks: Vec<Clock>,
    /// The messages that the step sent, delivered or struck.
    #[serde(default)]
    pub messages: Vec<Hop>,
    /// The fields that differ before and after.
    #[serde(default)]
    pub changes: Vec<Change>,
    /// The ids of the clients that believe after the step that they hold the lock.
    #[serde(default)]
    pub holding: Vec<String>,
    /// The ids of the actors that are paused after the step.
    #[serde(default)]
    pub paused: Vec<String>,
    /// The ids of the actors that are crashed or down after the step.
    #[serde(default)]
    pub gone: Vec<String>,
    /// Whether the step lies in the [causal cone](crate::cone) of the violation.
    #[serde(default)]
    pub matters: bool,
}

impl Step {
    /// A step that touches nothing yet. It matters until [`cone::mark`](crate::cone::mark) says otherwise.
    #[must_use]
    pub fn new(n: u32, actor: impl Into<String>, kind: StepKind, action: impl Into<String>) -> Self {
        Self {
            n,
            actor: actor.into(),
            kind,
            choice: String::new(),
            action: action.into(),
            fault: None,
            clocks: Vec::new(),
            messages: Vec::new(),
            changes: Vec::new(),
            holding: Vec::new(),
            paused: Vec::new(),
            gone: Vec::new(),
            matters: true,
        }
    }

    /// The time of the step: that of the acting actor, or where it has no clock, the first one.
    #[must_use]
    pub fn time(&self) -> Option<i64> {
        let own = self.clocks.iter().find(|clock| clock.actor == self.actor);
        own.or(self.clocks.first()).map(|clock| clock.time)
    }
}

/// What sort of transition a step is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StepKind {
    /// A client begins an attempt.
    Start,
    /// A client does what it had set a timer for.
    Wake,
    /// A server handles a request.
    Request,
    /// A client handles a reply.
    Reply,
    /// A client's command and its reply in one step.
    Exchange,
    /// Every clock advances.
    Tick,
    /// A paused process goes on.
    Resume,
    /// A crashed process comes back.
    Rejoin,
    /// A link that was cut carries messages again.
    Heal,
    /// A replica catches up with its master.
    Replicate,
    /// A fault strikes.
    Fault,
}

/// What a clock shows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Clock {
    /// Whose clock it is.
    pub actor: String,
    /// In ticks.
    pub time: i64,
}

/// What a step did with one message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hop {
    /// The message's identity: the same from sending to delivery.
    pub id: u32,
    /// The id of the sender.
    pub from: String,
    /// The id of the receiver.
    pub to: String,
    /// What it says, such as `SET lock a1 NX PX 3`.
    pub text: String,
    /// What became of it in this step.
    pub fate: Fate,
}

/// What became of a message in one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fate {
    /// It set out, and is under way after the step.
    Sent,
    /// It arrived and was acted upon. In an exchange it set out in the same step.
    Delivered,
    /// It will never arrive.
    Lost,
    /// It may be under way beyond its bound.
    Delayed,
    /// It arrived and was of no use to the receiver.
    Ignored,
    /// It found nobody, and the sender knows.
    Refused,
}

/// A field of an actor's state that differs before and after a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// Whose field.
    pub actor: String,
    /// Which one, such as `lock`.
    pub field: String,
    /// Its value before the step.
    pub before: String,
    /// Its value after the step.
    pub after: String,
}
