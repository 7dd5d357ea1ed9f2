//! Where the two servers do not count alike, and what follows for whoever counts in ticks.

use std::time::{Duration, Instant};

use lab::servers::{Options, Server};
use redis::{Connection, cmd, pipe};

/// How long the moments on both sides of the boundary are waited for.
const PATIENCE: Duration = Duration::from_secs(60);

/// An entry, looked at between two looks at the server's clock.
struct Look {
    before: u64,
    stands: bool,
    after: u64,
}

fn look(connection: &mut Connection) -> Look {
    let mut looks = pipe();
    looks.cmd("TIME").cmd("EXISTS").arg("lock").cmd("TIME");
    let (before, stands, after): ((u64, u64), bool, (u64, u64)) = looks.query(connection).unwrap();
    let milliseconds = |(seconds, micros): (u64, u64)| seconds * 1000 + micros / 1000;
    Look { before: milliseconds(before), stands, after: milliseconds(after) }
}

/// In the model a lease of n ticks that is granted at t is gone at t + n. Redis lets an entry live as long as its time is
/// not *over*: `PX 20` at t is there at t + 20, and gone at t + 21. So n ticks are a millisecond less on a real server.
#[test]
fn a_server_deletes_when_the_time_is_over_and_not_before() {
    let server = Server::start(&Options::default()).unwrap();
    let mut connection = redis::Client::open(server.url()).unwrap().get_connection().unwrap();
    let (mut stood_at_the_end, mut gone_after_it) = (false, false);
    let begin = Instant::now();
    while !(stood_at_the_end && gone_after_it) {
        assert!(begin.elapsed() < PATIENCE, "no look has fallen on the boundary");
        cmd("SET").arg("lock").arg("a").arg("PX").arg(20).exec(&mut connection).unwrap();
        let end: i64 = cmd("PEXPIRETIME").arg("lock").query(&mut connection).unwrap();
        // It may have ended before it was asked about.
        let Ok(end) = u64::try_from(end) else { continue };
        loop {
            let Look { before, stands, after } = look(&mut connection);
            if stands {
                assert!(before <= end, "it stands at {before}, and its time was over after {end}");
                stood_at_the_end |= before == end;
            } else {
                assert!(after > end, "it is gone at {after}, and its time lasts until {end}");
                gone_after_it |= after == end + 1;
                break;
            }
        }
    }
}

/// So an expiry that is the present moment is over for `PEXPIREAT`, which deletes at once, and not yet for a reader.
#[test]
fn an_expiry_in_the_present_deletes_at_once() {
    let server = Server::start(&Options::default()).unwrap();
    let mut connection = redis::Client::open(server.url()).unwrap().get_connection().unwrap();
    cmd("SET").arg("lock").arg("a").exec(&mut connection).unwrap();
    let done: bool = cmd("PEXPIRE").arg("lock").arg(0).query(&mut connection).unwrap();
    let stands: bool = cmd("EXISTS").arg("lock").query(&mut connection).unwrap();
    assert!(done && !stands);
}
