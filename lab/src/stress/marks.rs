//! Marks beside the entries of a lock, which say whose they are, so that it can be seen who releases whose.
//!
//! The owner's token in an entry cannot say it: some locks write the same token for all. So each command that writes,
//! extends or deletes an entry is sent inside a script that does the very same, and keeps the mark. The entry and the answer
//! are those of the command alone.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use protocol::{Policy, Reentrance, Verb};
use redis::Value;

use super::ledger::{Ledger, Sight};
use crate::driver::{Request, Wall, Watch};
use crate::words::{Call, Deed, Puts, Wire, Words};

/// The script around another one: `act` is that.
///
/// The last three arguments say when an entry is a new one of the sender, whether that is a grant (`over`: not if the one
/// before it says that it is not over yet, by the clock of the server), and who the sender is. It
/// answers with whose the entry was before (nothing if there was none), the number of the sender's grant, whether there is an
/// entry now, and the answer.
const AROUND: (&str, &str) = (
    r"
local kind, counts, me = ARGV[#ARGV - 2], ARGV[#ARGV - 1], ARGV[#ARGV]
local entry, mark = KEYS[1], KEYS[#KEYS]
local before = redis.call('GET', entry)
local owner = before and redis.call('HGET', mark, 'by') or ''
local function act(KEYS, ARGV)
",
    r"
end
local reply = act({unpack(KEYS, 1, #KEYS - 1)}, {unpack(ARGV, 1, #ARGV - 3)})
local is_new = kind == 'always' or (kind == 'present' and before) or (kind == 'absent' and not before)
if is_new and redis.call('EXISTS', entry) == 1 then
  redis.call('HSET', mark, 'by', me)
  local time = redis.call('TIME')
  local ends = before and tonumber(string.match(before, '^(%d+):')) or 0
  local is_alive = counts == 'over' and ends > time[1] * 1000 + time[2] / 1000
  if is_alive then redis.call('HSET', mark, 'grant', 0)
  elseif counts ~= '' then redis.call('HSET', mark, 'grant', redis.call('HINCRBY', mark, 'grants', 1)) end
end
local grant = redis.call('HGET', mark, 'by') == me and redis.call('HGET', mark, 'grant') or '0'
return {owner, grant, redis.call('EXISTS', entry), reply}
",
);

/// Whoever keeps the marks of one client.
#[derive(Debug)]
pub(super) struct Marks {
    /// The place of the client among the workers.
    pub(super) worker: usize,
    /// Tells this life of the worker from others.
    pub(super) life: u128,
    pub(super) policy: Policy,
    /// The words of each lock, by its number.
    pub(super) words: Arc<[Words]>,
    pub(super) wall: Wall,
    pub(super) ledger: Arc<Ledger>,
    /// Where the numbers of grants are kept, if these marks say what they are.
    pub(super) grants: Option<Grants>,
}

/// The number of the last grant of each lock.
pub(super) type Grants = Arc<[AtomicU64]>;

impl Marks {
    fn name(&self, request: Request) -> String {
        let (slot, token) = request.by;
        format!("{:032x}/{}/{}", self.life, slot.0, token.0)
    }
}

impl Watch for Marks {
    type Look = Box<dyn FnOnce(Value) -> Value + Send>;

    fn look(&mut self, request: Request, wire: Wire) -> (Wire, Self::Look) {
        let Request { resource, verb, .. } = request;
        let words = &self.words[usize::from(resource.0)];
        let (deed, puts) = (Deed::of(verb), Puts::of(verb));
        if puts == Puts::Never && !deed.is_about_own() {
            return (wire, Box::new(std::convert::identity));
        }
        let inner = match wire {
            Wire::Command(command) => Call::of(&command, &words.names.key),
            Wire::Script(call) => call,
            Wire::Subscribe(_) => return (wire, Box::new(std::convert::identity)),
        };
        let me = self.name(request);
        let mark = [words.names.fence.as_slice(), b":mark"].concat();
        let counts = match (deed == Deed::Takes, verb == Verb::GetSet) {
            (true, true) => "over",
            (true, false) => "always",
            (false, _) => "",
        };
        let call = inner.within(AROUND.0, AROUND.1).key(&mark).arg(word(puts)).arg(counts).arg(&me);
        let (ledger, worker, grants_kept) = (Arc::clone(&self.ledger), self.worker, self.grants.clone());
        // Whoever holds a lock already may extend it and take it again under another number.
        let nests = self.policy.reentrance != Reentrance::Nothing && deed != Deed::Frees;
        let life = format!("{:032x}/", self.life);
        let look = move |answer: Value| {
            let Some(Parted { owner, grant, is_gone, reply }) = parted(&answer) else { return answer };
            if let Some(kept) = grants_kept.filter(|_| deed == Deed::Takes && grant > 0) {
                kept[usize::from(resource.0)].store(grant, Ordering::Relaxed);
            }
            let is_own = owner == me || nests && owner.starts_with(&life);
            // Of a lock that is held several times, only the last release frees it.
            let frees = deed == Deed::Frees;
            let took_effect = if frees { is_gone } else { !matches!(reply, Value::Nil | Value::Int(0)) };
            if deed.is_about_own() && took_effect && !owner.is_empty() && !is_own {
                ledger.sight(worker, Sight::WrongRelease { frees });
            }
            reply
        };
        (Wire::Script(call), Box::new(look))
    }

    fn now(&self) -> u64 {
        self.wall.milliseconds()
    }
}

/// What the script answers.
struct Parted {
    /// Whose the entry was.
    owner: String,
    /// The number of the sender's grant.
    grant: u64,
    /// Whether there is no entry now.
    is_gone: bool,
    /// The answer itself.
    reply: Value,
}

fn parted(answer: &Value) -> Option<Parted> {
    let Value::Array(parts) = answer else { return None };
    let [owner, grant, stands, reply] = parts.as_slice() else { return None };
    Some(Parted {
        owner: redis::from_redis_value_ref(owner).ok()?,
        grant: redis::from_redis_value_ref(grant).ok()?,
        is_gone: *stands == Value::Int(0),
        reply: reply.clone(),
    })
}

/// The word of the script for when a command puts an entry.
fn word(puts: Puts) -> &'static str {
    match puts {
        Puts::Never => "never",
        Puts::IfAbsent => "absent",
        Puts::IfPresent => "present",
        Puts::Always => "always",
    }
}
