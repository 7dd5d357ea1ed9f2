//! The scripts on a cluster: all keys that one touches lie in the same slot.

use lab::servers::{Options, Server};
use lab::words::{By, Form, Names, Sender, Wire, Words};
use proptest::prelude::*;
use protocol::{Fence, Reply, Verb};
use redis::{Connection, Value, cmd};

use super::random::{Seeds, runner};

const A: Sender<'static> = Sender { token: b"a", now: 0 };

fn words(key: &[u8]) -> Words {
    let names = Names::of(key);
    Words { names, form: Form::Plain, ttl: Some(600_000), tick: 1000, notifies: true, replicas: 0, patience: 0 }
}

/// The one node of a cluster, with all the slots.
fn cluster() -> (Server, Connection) {
    let server = Server::start(&Options { cluster: true, ..Options::default() }).unwrap();
    let mut connection = redis::Client::open(server.url()).unwrap().get_connection().unwrap();
    cmd("CLUSTER").arg("ADDSLOTSRANGE").arg(0).arg(16_383).exec(&mut connection).unwrap();
    let begin = std::time::Instant::now();
    loop {
        let state: String = cmd("CLUSTER").arg("INFO").query(&mut connection).unwrap();
        if state.contains("cluster_state:ok") {
            return (server, connection);
        }
        assert!(begin.elapsed().as_secs() < 60, "{state}");
    }
}

fn ask(words: &Words, verb: Verb, mint: bool, connection: &mut Connection) -> Reply {
    let answer: Value = match words.wire(verb, mint, A) {
        Wire::Command(command) => command.query(connection).unwrap(),
        Wire::Script(call) => call.command(By::Text).query(connection).unwrap(),
        Wire::Subscribe(_) => panic!("subscriptions are not asked for here"),
    };
    words.reply(verb, mint, A, &answer).unwrap()
}

#[test]
fn a_grant_mints_on_a_cluster_whatever_the_key() {
    let (_server, connection) = cluster();
    let connection = std::cell::RefCell::new(connection);
    let keys = prop::collection::vec(prop_oneof![Just(b'{'), Just(b'}'), any::<u8>()], 1..12);
    let told = runner(300, Seeds::Kept).run(&keys, |key| {
        let mut connection = connection.borrow_mut();
        let words = words(&key);
        let slot = |key: &[u8], connection: &mut Connection| -> u16 {
            cmd("CLUSTER").arg("KEYSLOT").arg(key).query(connection).unwrap()
        };
        prop_assert_eq!(slot(&key, &mut connection), slot(&words.names.fence, &mut connection));
        let granted = ask(&words, Verb::SetNxPx, true, &mut connection);
        prop_assert!(matches!(granted, Reply::Minted(_)), "{:?}", granted);
        prop_assert_eq!(ask(&words, Verb::CompareAndDelete, false, &mut connection), Reply::Done);
        Ok(())
    });
    told.unwrap_or_else(|error| panic!("{error}"));
}

/// A script is not rolled back: what can fail comes before the entry stands.
#[test]
fn a_grant_that_cannot_mint_leaves_no_entry() {
    let server = Server::start(&Options::default()).unwrap();
    let mut connection = redis::Client::open(server.url()).unwrap().get_connection().unwrap();
    let words = words(b"lock");
    cmd("RPUSH").arg(&words.names.fence).arg("not a counter").exec(&mut connection).unwrap();
    let Wire::Script(call) = words.wire(Verb::SetNxPx, true, A) else { panic!("a grant that mints is a script") };
    let refused = call.command(By::Text).query::<Value>(&mut connection);
    assert!(refused.is_err_and(|error| error.to_string().contains("WRONGTYPE")));
    assert_eq!(ask(&words, Verb::Get, false, &mut connection), Reply::Nothing);
    cmd("DEL").arg(&words.names.fence).exec(&mut connection).unwrap();
    assert_eq!(ask(&words, Verb::SetNxPx, true, &mut connection), Reply::Minted(Fence(1)));
}
