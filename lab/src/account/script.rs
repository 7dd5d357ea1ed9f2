//! The scripts of an account. `ARGV[1]` says how tokens are compared (not at all, `>` or `>=`), `ARGV[2]` is the token.
//! Balances go through as they are: a number of Lua has 53 bits.

/// The look at the token that the scripts begin with.
macro_rules! fenced {
    ($rest:literal) => {
        concat!(
            r"
if ARGV[1] ~= '' then
  local token, greatest = tonumber(ARGV[2]), tonumber(redis.call('HGET', KEYS[1], 'fence') or 0)
  if not token then return {0} end
  if token > greatest then redis.call('HSET', KEYS[1], 'fence', ARGV[2]) end
  if token < greatest or (token == greatest and ARGV[1] == '>') then return {0} end
end
",
            $rest
        )
    };
}

/// Reads the account: `{1, balance, version}`, or `{0}` if the token is refused.
pub(super) const READ: &str = fenced!(
    r"
local found = redis.call('HMGET', KEYS[1], 'balance', 'version')
return {1, found[1] or '0', found[2] or '0'}
"
);

/// Looks at the token alone: `{1}` or `{0}`.
pub(super) const CHECK: &str = fenced!("return {1}");

/// Writes the account: `{1, balance, version, balance before, version before}`, or `{0}` if the token, or (`ARGV[6]`) the
/// version that the writer has seen, is refused. The same write right after itself leaves the version as it is.
pub(super) const WRITE: &str = fenced!(
    r"
local found = redis.call('HMGET', KEYS[1], 'balance', 'version', 'writer')
local before = tonumber(found[2] or 0)
if ARGV[6] ~= '' and before ~= tonumber(ARGV[3]) then return {0} end
local version = before
if found[3] ~= ARGV[5] then version = before + 1 end
redis.call('HSET', KEYS[1], 'balance', ARGV[4], 'version', version, 'writer', ARGV[5])
return {1, ARGV[4], version, found[1] or '0', before}
"
);
