//! The words of Redis: what a command of a core becomes on the wire, and what the answer means to the core.
//!
//! This is the half of a lock that the checker does not run, only mirrors: the texts of commands and scripts, and how replies
//! are read. The conformance tests hold it against the simulated server. It needs Redis 7.0 or later (`SET … NX GET`), which
//! tells who holds the lock in the same answer that refuses it.

mod deed;
mod entry;
mod names;
mod script;

use core::fmt;

use protocol::{Fence, Policy, Reply, Ticks, Verb};
use redis::{Cmd, Value, cmd};

pub(crate) use deed::{Deed, Puts};
pub use entry::{Entry, Form};
pub use names::Names;
pub use script::{By, Call};

use script::{COMPARE_AND_DELETE, COMPARE_AND_EXTEND, DELETE, ENTER, EXIT, EXTEND_OR_CREATE, GRANT};

/// How commands about one lock are spoken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Words {
    /// The keys and the channel of the lock.
    pub names: Names,
    /// What an entry looks like.
    pub form: Form,
    /// How long an entry lives, in milliseconds. None: for ever.
    pub ttl: Option<u64>,
    /// The milliseconds of one tick of the core.
    pub tick: u64,
    /// Whether giving the lock back is told to whoever listens.
    pub notifies: bool,
    /// How many replicas a `WAIT` waits for.
    pub replicas: u8,
    /// How long it does so, in milliseconds. 0: without limit.
    pub patience: u64,
}

/// On whose behalf a command is sent, and when.
#[derive(Clone, Copy, Debug)]
pub struct Sender<'a> {
    /// The owner's token.
    pub token: &'a [u8],
    /// What the sender's wall clock reads, in milliseconds since whenever all senders agree upon. Only entries that carry
    /// their expiry need it.
    pub now: u64,
}

/// What goes over the wire.
#[derive(Clone, Debug)]
pub enum Wire {
    /// One command.
    Command(Cmd),
    /// A script.
    Script(Call),
    /// A subscription to a channel, on a connection of its own.
    Subscribe(Vec<u8>),
}

impl From<Call> for Wire {
    fn from(call: Call) -> Self {
        Self::Script(call)
    }
}

/// An answer that no server gives to such a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unexpected {
    /// Fewer replicas than were asked for have what the server has.
    TooFewReplicas {
        /// How many do.
        heard: i64,
    },
    /// Something else than such a command is answered with.
    Answer {
        /// The command.
        verb: Verb,
        /// What came.
        found: String,
    },
}

impl fmt::Display for Unexpected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooFewReplicas { heard } => write!(f, "only {heard} replicas have heard of it"),
            Self::Answer { verb, found } => write!(f, "{verb:?} was answered with {found}"),
        }
    }
}

impl core::error::Error for Unexpected {}

impl Words {
    /// The words of a policy for the lock of a key. A tick of the policy has this many milliseconds.
    ///
    /// `margin` is taken off each TTL, in milliseconds: Redis deletes an entry when its time is *over*, a millisecond after
    /// the TTL, so that whoever counts in ticks has to say one less.
    pub fn new(policy: &Policy, key: &[u8], tick: u64, margin: u64) -> Self {
        let ms = |ticks: Ticks| (u64::from(ticks.0) * tick).saturating_sub(margin).max(1);
        Self {
            names: Names::of(key),
            form: Form::of(policy),
            ttl: policy.lease().or(policy.ttl).map(ms),
            tick,
            notifies: policy.is_notified(),
            replicas: policy.acknowledged,
            patience: u64::from(policy.timeout.0) * tick,
        }
    }

    /// What a command becomes. `mint`: the script mints a fencing token if it grants the lock.
    pub fn wire(&self, verb: Verb, mint: bool, sender: Sender<'_>) -> Wire {
        let key = &self.names.key;
        let value = self.form.value(sender, self.ttl, 1);
        let set = |options: &[&str]| {
            let mut set = cmd("SET");
            set.arg(key).arg(&value);
            options.iter().for_each(|option| {
                set.arg(*option);
            });
            self.timed(&mut set);
            Wire::Command(set)
        };
        let bare = |name: &str| Wire::Command(cmd(name).arg(key).take());
        let compare = |script| Call::new(script).key(key).arg(sender.token).arg(self.form.word());
        match verb {
            Verb::SetNxPx | Verb::Setnx if mint => {
                let ttl = if verb == Verb::Setnx { None } else { self.ttl };
                Wire::Script(Call::new(GRANT).key(key).key(&self.names.fence).arg(&value).arg(milliseconds(ttl)))
            }
            Verb::SetNxPx => set(&["NX", "GET"]),
            // What SETNX does, and it tells whose entry it found.
            Verb::Setnx => Wire::Command(cmd("SET").arg(key).arg(&value).arg("NX").arg("GET").take()),
            Verb::SetXxPx => set(&["XX"]),
            Verb::SetPx => set(&[]),
            Verb::Claim => {
                let mut set = cmd("SET");
                set.arg(key).arg(self.form.value(sender, self.ttl, 2));
                self.timed(&mut set);
                Wire::Command(set)
            }
            Verb::Pexpire | Verb::Limit => Wire::Command(match self.ttl {
                Some(ttl) => cmd("PEXPIRE").arg(key).arg(ttl).take(),
                None => cmd("GETEX").arg(key).arg("PERSIST").take(),
            }),
            Verb::CompareAndExtend => Wire::Script(compare(COMPARE_AND_EXTEND).arg(milliseconds(self.ttl))),
            Verb::ExtendOrCreate => Wire::Script(compare(EXTEND_OR_CREATE).arg(milliseconds(self.ttl)).arg(&value)),
            Verb::Get | Verb::Look => bare("GET"),
            Verb::Del if self.notifies => Wire::Script(Call::new(DELETE).key(key).arg(&self.names.channel)),
            Verb::Del | Verb::Clear => bare("DEL"),
            Verb::CompareAndDelete => Wire::Script(compare(COMPARE_AND_DELETE).arg(self.channel())),
            Verb::Exit => Wire::Script(compare(EXIT).arg(self.channel())),
            Verb::Enter => Wire::Script(compare(ENTER).arg(milliseconds(self.ttl)).arg(&value)),
            Verb::Incr => Wire::Command(cmd("INCR").arg(&self.names.fence).take()),
            Verb::GetSet => Wire::Command(cmd("SET").arg(key).arg(&value).arg("GET").take()),
            Verb::Subscribe => Wire::Subscribe(self.names.channel.clone()),
            Verb::Wait => Wire::Command(cmd("WAIT").arg(self.replicas).arg(self.patience).take()),
        }
    }

    /// What an answer means to the core.
    ///
    /// # Errors
    /// If no server answers such a command so.
    pub fn reply(&self, verb: Verb, mint: bool, sender: Sender<'_>, answer: &Value) -> Result<Reply, Unexpected> {
        let unexpected = || Unexpected::Answer { verb, found: format!("{answer:?}").chars().take(100).collect() };
        let yes_or = |no: Reply| {
            let done = (*answer == Value::Int(1)).then_some(Reply::Done);
            let not = (*answer == Value::Int(0)).then_some(no);
            done.or(not).ok_or_else(unexpected)
        };
        match (verb, answer) {
            (Verb::SetNxPx | Verb::Setnx, Value::Array(parts)) if mint => granted(parts).ok_or_else(unexpected),
            (Verb::SetNxPx | Verb::Setnx, Value::Nil) => Ok(Reply::Done),
            (Verb::SetNxPx | Verb::Setnx, Value::BulkString(found)) => {
                Ok(Reply::Taken { own: self.form.read(found).token == sender.token, fence: None })
            }
            (Verb::SetXxPx | Verb::Get | Verb::Look | Verb::GetSet, Value::Nil) => Ok(Reply::Nothing),
            (Verb::SetXxPx | Verb::SetPx | Verb::Claim, Value::Okay) => Ok(Reply::Done),
            (Verb::Get | Verb::Look | Verb::GetSet, Value::BulkString(found)) => Ok(self.entry(found, sender)),
            (Verb::Pexpire | Verb::Limit, Value::Nil) => Ok(Reply::Nothing),
            (Verb::Pexpire | Verb::Limit, Value::BulkString(_)) => Ok(Reply::Done),
            (
                Verb::Pexpire
                | Verb::Limit
                | Verb::CompareAndExtend
                | Verb::ExtendOrCreate
                | Verb::Del
                | Verb::Clear
                | Verb::CompareAndDelete
                | Verb::Exit,
                Value::Int(_),
            ) => yes_or(Reply::Nothing),
            (Verb::Enter, Value::Int(_)) => yes_or(Reply::Taken { own: false, fence: None }),
            (Verb::Incr, Value::Int(number)) => fence(*number).map(Reply::Minted).ok_or_else(unexpected),
            (Verb::Wait, Value::Int(heard)) if *heard >= i64::from(self.replicas) => Ok(Reply::Done),
            (Verb::Wait, Value::Int(heard)) => Err(Unexpected::TooFewReplicas { heard: *heard }),
            (Verb::Subscribe, _) => Ok(Reply::Done),
            (
                Verb::SetNxPx
                | Verb::Setnx
                | Verb::SetXxPx
                | Verb::SetPx
                | Verb::Pexpire
                | Verb::CompareAndExtend
                | Verb::Get
                | Verb::Del
                | Verb::CompareAndDelete
                | Verb::Incr
                | Verb::Look
                | Verb::Claim
                | Verb::Clear
                | Verb::GetSet
                | Verb::ExtendOrCreate
                | Verb::Enter
                | Verb::Exit
                | Verb::Wait
                | Verb::Limit,
                _,
            ) => Err(unexpected()),
        }
    }

    fn entry(&self, found: &[u8], sender: Sender<'_>) -> Reply {
        let entry = self.form.read(found);
        let own = entry.token == sender.token;
        let left = entry.expiry.map(|expiry| Ticks(self.ticks(expiry.saturating_sub(sender.now))));
        Reply::Entry { own, left }
    }

    /// A span in ticks, a begun one counted.
    fn ticks(&self, milliseconds: u64) -> u32 {
        u32::try_from(milliseconds.div_ceil(self.tick.max(1))).unwrap_or(u32::MAX)
    }

    fn timed(&self, set: &mut Cmd) {
        if let Some(ttl) = self.ttl.filter(|_| self.form != Form::Expiring) {
            set.arg("PX").arg(ttl);
        }
    }

    fn channel(&self) -> &[u8] {
        if self.notifies { &self.names.channel } else { &[] }
    }
}

/// The TTL as a script takes it: nothing if there is none.
fn milliseconds(ttl: Option<u64>) -> String {
    ttl.map_or_else(String::new, |ttl| ttl.to_string())
}

/// What the script answers that grants a lock with a token.
fn granted(parts: &[Value]) -> Option<Reply> {
    match parts {
        [Value::Int(1), Value::Int(minted)] => fence(*minted).map(Reply::Minted),
        [Value::Int(0)] => Some(Reply::Taken { own: false, fence: None }),
        [Value::Int(0), Value::BulkString(last)] => {
            let last = core::str::from_utf8(last).ok()?.parse().ok()?;
            Some(Reply::Taken { own: true, fence: Some(fence(last)?) })
        }
        _ => None,
    }
}

fn fence(number: i64) -> Option<Fence> {
    u32::try_from(number).ok().map(Fence)
}

#[cfg(test)]
mod tests;
