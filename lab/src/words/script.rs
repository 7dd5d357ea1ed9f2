//! The scripts, and how they are called: by their hash, and by their text when the server does not know them.

use std::borrow::Cow;

use redis::{Arg, Cmd, cmd};

/// A script with its keys and arguments.
#[derive(Clone, Debug)]
pub struct Call {
    text: Cow<'static, str>,
    keys: Vec<Vec<u8>>,
    arguments: Vec<Vec<u8>>,
}

/// How the server is told which script is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// By its hash: `EVALSHA`. A server that has been restarted answers `NOSCRIPT`, and nothing has been done.
    Hash,
    /// By its text: `EVAL`. The server knows the hash from then on.
    Text,
}

impl Call {
    pub(crate) fn new(text: &'static str) -> Self {
        Self { text: text.into(), keys: Vec::new(), arguments: Vec::new() }
    }

    /// A command about a key as a script.
    pub(crate) fn of(command: &Cmd, key: &[u8]) -> Self {
        let words = command.args_iter().filter_map(|word| match word {
            Arg::Simple(word) => Some(word),
            Arg::Cursor | _ => None,
        });
        words.fold(Self::new("return redis.call(unpack(ARGV))").key(key), Self::arg)
    }

    /// The script with text before and after it.
    pub(crate) fn within(self, before: &str, after: &str) -> Self {
        Self { text: [before, &self.text, after].concat().into(), ..self }
    }

    pub(crate) fn key(mut self, key: &[u8]) -> Self {
        self.keys.push(key.to_vec());
        self
    }

    pub(crate) fn arg(mut self, argument: impl AsRef<[u8]>) -> Self {
        self.arguments.push(argument.as_ref().to_vec());
        self
    }

    /// What the server knows it by.
    pub(crate) fn hash(&self) -> String {
        redis::Script::new(&self.text).get_hash().to_owned()
    }

    /// The command that calls it.
    pub fn command(&self, by: By) -> Cmd {
        let mut command = match by {
            By::Hash => cmd("EVALSHA").arg(self.hash()).take(),
            By::Text => cmd("EVAL").arg(&*self.text).take(),
        };
        command.arg(self.keys.len()).arg(&self.keys).arg(&self.arguments).take()
    }
}

/// Puts an entry if there is none, and mints a fencing token in the same go.
///
/// Answers `{1, token}`; or `{0, last token}` if the entry is the own one, which no other grant can have followed; or `{0}`.
/// The counter comes first: a script is not rolled back, and a lock without its token would keep everybody out.
pub(super) const GRANT: &str = r"
local found = redis.call('GET', KEYS[1])
if found == ARGV[1] then return {0, redis.call('GET', KEYS[2]) or '0'} end
if found then return {0} end
local token = redis.call('INCR', KEYS[2])
if ARGV[2] == '' then redis.call('SET', KEYS[1], ARGV[1])
else redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2]) end
return {1, token}
";

/// Extends the own entry.
pub(super) const COMPARE_AND_EXTEND: &str = r"
local found = redis.call('GET', KEYS[1])
if not found then return 0 end
if ARGV[2] ~= '' then found = string.gsub(found, '^%d+:', '', 1) end
if found ~= ARGV[1] then return 0 end
if ARGV[3] == '' then redis.call('PERSIST', KEYS[1]) return 1 end
return redis.call('PEXPIRE', KEYS[1], ARGV[3])
";

/// Extends the own entry, or puts it anew if there is none.
pub(super) const EXTEND_OR_CREATE: &str = r"
local found = redis.call('GET', KEYS[1])
if found then
  if ARGV[2] ~= '' then found = string.gsub(found, '^%d+:', '', 1) end
  if found ~= ARGV[1] then return 0 end
  if ARGV[3] == '' then redis.call('PERSIST', KEYS[1]) else redis.call('PEXPIRE', KEYS[1], ARGV[3]) end
  return 1
end
if ARGV[3] == '' then redis.call('SET', KEYS[1], ARGV[4])
else redis.call('SET', KEYS[1], ARGV[4], 'PX', ARGV[3]) end
return 1
";

/// Deletes whatever entry stands, and tells whoever listens. That can be forbidden, which changes nothing about the rest.
pub(super) const DELETE: &str = r"
local gone = redis.call('DEL', KEYS[1])
if gone == 1 then redis.pcall('PUBLISH', ARGV[1], '') end
return gone
";

/// Deletes the own entry, and tells whoever listens if there is a channel.
pub(super) const COMPARE_AND_DELETE: &str = r"
local found = redis.call('GET', KEYS[1])
if not found then return 0 end
if ARGV[2] ~= '' then found = string.gsub(found, '^%d+:', '', 1) end
if found ~= ARGV[1] then return 0 end
redis.call('DEL', KEYS[1])
if ARGV[3] ~= '' then redis.pcall('PUBLISH', ARGV[3], '') end
return 1
";

/// Takes a lock that its owner may have already: counts it, where that is counted.
pub(super) const ENTER: &str = r"
local found = redis.call('GET', KEYS[1])
local value = ARGV[4]
if found then
  local token, holds = found, nil
  if ARGV[2] ~= '' then
    holds = string.match(found, '^(%d+):')
    token = string.gsub(found, '^%d+:', '', 1)
  end
  if token ~= ARGV[1] then return 0 end
  if holds then value = (holds + 1) .. ':' .. token end
end
if ARGV[3] == '' then redis.call('SET', KEYS[1], value)
else redis.call('SET', KEYS[1], value, 'PX', ARGV[3]) end
return 1
";

/// Gives a lock back once: the last time it goes.
pub(super) const EXIT: &str = r"
local found = redis.call('GET', KEYS[1])
if not found then return 0 end
local token, holds = found, 1
if ARGV[2] ~= '' then
  holds = tonumber(string.match(found, '^(%d+):') or 1)
  token = string.gsub(found, '^%d+:', '', 1)
end
if token ~= ARGV[1] then return 0 end
if holds > 1 then
  redis.call('SET', KEYS[1], (holds - 1) .. ':' .. token, 'KEEPTTL')
  return 1
end
redis.call('DEL', KEYS[1])
if ARGV[3] ~= '' then redis.pcall('PUBLISH', ARGV[3], '') end
return 1
";
