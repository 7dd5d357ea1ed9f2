//! `WAIT`: what a client hears of the replicas.

use lab::servers::{Options, Server};
use lab::words::{By, Form, Names, Sender, Unexpected, Wire, Words};
use protocol::{Reply, Verb};
use redis::{Connection, Value, cmd};

const A: Sender<'static> = Sender { token: b"a", now: 0 };

fn words() -> Words {
    Words {
        names: Names::of(b"lock"),
        form: Form::Plain,
        ttl: Some(600_000),
        tick: 1000,
        notifies: false,
        replicas: 1,
        patience: 20_000,
    }
}

fn ask(words: &Words, verb: Verb, connection: &mut Connection) -> Result<Reply, Unexpected> {
    let answer: Value = match words.wire(verb, false, A) {
        Wire::Command(command) => command.query(connection).unwrap(),
        Wire::Script(call) => call.command(By::Text).query(connection).unwrap(),
        Wire::Subscribe(_) => panic!("subscriptions are not asked for here"),
    };
    words.reply(verb, false, A, &answer)
}

fn connect(server: &Server) -> Connection {
    redis::Client::open(server.url()).unwrap().get_connection().unwrap()
}

/// In the model `WAIT` is answered when the replica has heard of the entry, and not at all before that.
#[test]
fn wait_is_answered_when_a_replica_knows() {
    let master = Server::start(&Options::default()).unwrap();
    let replica = Server::start(&Options { replica_of: Some(master.port()), ..Options::default() }).unwrap();
    let mut connection = connect(&master);
    let words = words();
    assert_eq!(ask(&words, Verb::SetNxPx, &mut connection), Ok(Reply::Done));
    assert_eq!(ask(&words, Verb::Wait, &mut connection), Ok(Reply::Done));
    let copied: String = cmd("GET").arg("lock").query(&mut connect(&replica)).unwrap();
    assert_eq!(copied, "a");

    replica.freeze().unwrap();
    let hasty = Words { patience: 10, ..words };
    assert_eq!(ask(&hasty, Verb::CompareAndExtend, &mut connection), Ok(Reply::Done));
    assert_eq!(ask(&hasty, Verb::Wait, &mut connection), Err(Unexpected::TooFewReplicas { heard: 0 }));
}
