//! How often a job may be asked for, counted on the server so that all runners share it.

use std::time::Duration;

use tokio::time::Instant;

use super::PATIENCE;
use crate::args::Rate;
use crate::nodes::{Failure, Node};
use crate::words::{Call, Wire};

/// The generic cell rate algorithm: one time is kept, at which everything that was let through would have come at an even
/// pace. `ARGV`: milliseconds from one to the next, and how many may come at once. Answers with 0, or how long to wait.
/// The server's clock alone counts.
const LIMIT: &str = r"
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local every, burst = tonumber(ARGV[1]), tonumber(ARGV[2])
local due = math.max(tonumber(redis.call('GET', KEYS[1]) or now), now)
local wait = due - (burst - 1) * every - now
if wait > 0 then return math.ceil(wait) end
redis.call('SET', KEYS[1], string.format('%.3f', due + every), 'PX', math.ceil(due + every - now))
return 0
";

/// How long to wait before the next request about a key, if this one comes too early.
pub(super) async fn wait(node: &Node, key: &[u8], rate: Rate) -> Result<Option<Duration>, Failure> {
    let Some(count) = rate.count else { return Ok(None) };
    let every = rate.within.as_secs_f64() * 1000.0 / f64::from(count);
    let call = Call::new(LIMIT).key(key).arg(format!("{every:.6}")).arg(count.to_string());
    let answer = node.send(Wire::Script(call), Instant::now() + PATIENCE).await?;
    let wait: u64 = redis::from_redis_value(answer).map_err(|error| Failure::Unknown(error.to_string()))?;
    Ok((wait > 0).then(|| Duration::from_millis(wait)))
}
