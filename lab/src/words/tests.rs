use protocol::{Fence, Reply, Ticks, Verb};
use redis::Value;

use super::{By, Form, Names, Sender, Unexpected, Wire, Words};

const A: Sender<'static> = Sender { token: b"a1", now: 1000 };

fn words(form: Form) -> Words {
    Words { names: Names::of(b"lock"), form, ttl: Some(3000), tick: 1000, notifies: false, replicas: 1, patience: 50 }
}

/// The command as Redis gets it, with the text of a script left out.
fn text(wire: &Wire) -> String {
    let command = match wire {
        Wire::Command(command) => command.clone(),
        Wire::Script(call) => call.command(By::Hash),
        Wire::Subscribe(channel) => return format!("SUBSCRIBE {}", String::from_utf8_lossy(channel)),
    };
    let simple = |argument| if let redis::Arg::Simple(bytes) = argument { bytes } else { b"?".as_slice() };
    let words = command.args_iter().map(|argument| String::from_utf8_lossy(simple(argument)).into_owned());
    let is_hash = |word: &String| word.len() == 40 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    words.map(|word| if is_hash(&word) { "…".to_owned() } else { word }).collect::<Vec<_>>().join(" ")
}

#[test]
fn every_verb_in_the_words_of_redis() {
    let words = words(Form::Plain);
    let said = |verb, mint| text(&words.wire(verb, mint, A));
    assert_eq!(said(Verb::SetNxPx, false), "SET lock a1 NX GET PX 3000");
    assert_eq!(said(Verb::SetNxPx, true), "EVALSHA … 2 lock {lock}:fence a1 3000");
    assert_eq!(said(Verb::Setnx, false), "SET lock a1 NX GET");
    assert_eq!(said(Verb::SetXxPx, false), "SET lock a1 XX PX 3000");
    assert_eq!(said(Verb::SetPx, false), "SET lock a1 PX 3000");
    assert_eq!(said(Verb::Pexpire, false), "PEXPIRE lock 3000");
    assert_eq!(said(Verb::CompareAndExtend, false), "EVALSHA … 1 lock a1  3000");
    assert_eq!(said(Verb::CompareAndDelete, false), "EVALSHA … 1 lock a1  ");
    assert_eq!(said(Verb::Get, false), "GET lock");
    assert_eq!(said(Verb::Del, false), "DEL lock");
    assert_eq!(said(Verb::Incr, false), "INCR {lock}:fence");
    assert_eq!(said(Verb::GetSet, false), "SET lock a1 GET");
    assert_eq!(said(Verb::Subscribe, false), "SUBSCRIBE lock:freed");
    assert_eq!(said(Verb::Wait, false), "WAIT 1 50");
}

#[test]
fn entries_that_count_or_expire_say_so_in_their_value() {
    let counted = words(Form::Counted);
    assert_eq!(text(&counted.wire(Verb::SetNxPx, false, A)), "SET lock 1:a1 NX GET PX 3000");
    assert_eq!(text(&counted.wire(Verb::Claim, false, A)), "SET lock 2:a1 PX 3000");
    let expiring = words(Form::Expiring);
    assert_eq!(text(&expiring.wire(Verb::Setnx, false, A)), "SET lock 4000:a1 NX GET");
    assert_eq!(text(&expiring.wire(Verb::GetSet, false, A)), "SET lock 4000:a1 GET");
    let found = Value::BulkString(b"4000:b7".to_vec());
    let left = |now| expiring.reply(Verb::Look, false, Sender { now, ..A }, &found);
    assert_eq!(left(1000), Ok(Reply::Entry { own: false, left: Some(Ticks(3)) }));
    assert_eq!(left(3001), Ok(Reply::Entry { own: false, left: Some(Ticks(1)) }));
    assert_eq!(left(4000), Ok(Reply::Entry { own: false, left: Some(Ticks(0)) }));
}

#[test]
fn answers_mean_what_the_simulated_server_means() {
    let words = words(Form::Plain);
    let bytes = |text: &str| Value::BulkString(text.as_bytes().to_vec());
    let heard = |verb, mint, answer: Value| words.reply(verb, mint, A, &answer);
    assert_eq!(heard(Verb::SetNxPx, false, Value::Nil), Ok(Reply::Done));
    assert_eq!(heard(Verb::SetNxPx, false, bytes("a1")), Ok(Reply::Taken { own: true, fence: None }));
    assert_eq!(heard(Verb::SetNxPx, false, bytes("a")), Ok(Reply::Taken { own: false, fence: None }));
    let minted = Value::Array(vec![Value::Int(1), Value::Int(7)]);
    assert_eq!(heard(Verb::SetNxPx, true, minted), Ok(Reply::Minted(Fence(7))));
    let own = Value::Array(vec![Value::Int(0), bytes("7")]);
    assert_eq!(heard(Verb::SetNxPx, true, own), Ok(Reply::Taken { own: true, fence: Some(Fence(7)) }));
    assert_eq!(heard(Verb::CompareAndDelete, false, Value::Int(0)), Ok(Reply::Nothing));
    assert_eq!(heard(Verb::Wait, false, Value::Int(0)), Err(Unexpected::TooFewReplicas { heard: 0 }));
    assert!(matches!(heard(Verb::Incr, false, Value::Nil), Err(Unexpected::Answer { verb: Verb::Incr, .. })));
    let huge = Value::Int(i64::MAX);
    assert!(heard(Verb::Incr, false, huge).is_err(), "a token that does not fit is never shortened");
}
