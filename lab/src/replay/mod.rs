//! Makes a counterexample happen: step for step, with the same cores, on real servers.
//!
//! A trace supplies the choices alone. The model takes each step, and tells what must follow from it; the replayer does what
//! the choice stands for, with real cores, real connections and real servers, and everything that can be seen must be the
//! same: what the cores send and tell, what the servers answer, what stands on them afterwards, what the account holds. Where
//! the two part, one of them is wrong, and the replay says where.
//!
//! * A request leaves its client when its delivery is chosen, and an answer is seen by its client when that is chosen: until
//!   then the replayer holds them, each direction of each connection by itself. Only bytes that a core emitted are sent.
//! * Time does not pass, it is moved: a preloaded clock (`lab/clock`) shows each server a time that stands still between steps.
//!   A lease of n ticks is one of n ticks less a millisecond, because Redis lets an entry live for the millisecond in which it
//!   ends.
//! * A power loss cuts the append-only file back to what the clock noted when it was last brought to disk.
//!
//! | of the model | here |
//! |---|---|
//! | deliver, drop, delay, duplicate | the replayer sends, or not, or twice |
//! | start, wake, cancel, crash, rejoin of a client | a core is stepped, forgotten, stepped again |
//! | pause, resume | the core is not stepped |
//! | tick, jump, drift | clocks are moved: all, one, all but one |
//! | restart | `kill -9`, a power loss where the file is brought to disk every second, and a start |
//! | partition | nothing is sent |
//! | replicate, failover | `REPLICAOF` until the replica has everything, then alone; the server is killed and the replica asked |
//! | evict | `DEL` |
//!
//! Not replayable are locks that `WAIT` for replicas (a real one copies when it likes) and clocks that nobody can set (Redis
//! has none for its expiries).

mod actor;
mod board;
mod damage;
mod probe;
mod run;
mod stage;

use check::Choice;
use check::scenario::Property;
use world::{Action, Setup};

pub(crate) use board::try_clock;
pub(crate) use stage::{Stage, Trouble};

use run::{Halt, Run};

/// How a replay ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// All steps were taken.
    Complete,
    /// A step that the model does not take: the schedule is of another lock, or of none.
    Impossible {
        /// The step, from 1.
        step: usize,
        /// Why.
        why: String,
    },
    /// The model and the real run part at a step.
    Diverged {
        /// The step, from 1.
        step: usize,
        /// How.
        why: String,
    },
    /// A step that real servers cannot be made to take.
    NotReplayable {
        /// The step, from 1.
        step: usize,
        /// Why.
        why: String,
    },
}

/// What came out of a replay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Outcome {
    /// How it ended.
    pub(crate) ending: Ending,
    /// How many steps were taken.
    pub(crate) steps: usize,
    /// What was seen that a property forbids, with the evidence.
    pub(crate) damage: Vec<(Property, String)>,
    /// What each account holds, and what it would hold if no update was lost.
    pub(crate) balances: Vec<(i64, i64)>,
}

impl Outcome {
    /// The evidence that a property is violated.
    pub(crate) fn evidence(&self, property: Property) -> Option<&str> {
        self.damage.iter().find(|(of, _)| *of == property).map(|(_, says)| says.as_str())
    }
}

/// Replays choices in a setup, whose locks have these names. `look_on` hears of each step before it is taken.
///
/// # Errors
/// If a server cannot be started or does not answer.
pub(crate) fn replay(
    setup: &Setup,
    names: &[String],
    choices: &[Action],
    stage: &mut Stage,
    mut look_on: impl FnMut(usize, Choice),
) -> Result<Outcome, Trouble> {
    let mut run = Run::new(setup, names, stage)?;
    let mut ending = Ending::Complete;
    let mut steps = 0;
    for (number, action) in (1..).zip(choices) {
        look_on(number, Choice(*action));
        let step = number;
        ending = match run.step(*action) {
            Ok(()) => {
                steps = number;
                continue;
            }
            Err(Halt::Impossible(why)) => Ending::Impossible { step, why },
            Err(Halt::Diverged(why)) => Ending::Diverged { step, why },
            Err(Halt::CannotBeDone(why)) => Ending::NotReplayable { step, why },
            Err(Halt::Trouble(trouble)) => return Err(trouble),
        };
        break;
    }
    if ending == Ending::Complete {
        run.look_for_orphans()?;
    }
    let damage = run.damage.all().map(|(property, says)| (property, says.to_owned())).collect();
    Ok(Outcome { ending, steps, damage, balances: run.balances()? })
}

#[cfg(test)]
mod tests;
