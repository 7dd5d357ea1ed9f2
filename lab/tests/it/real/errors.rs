//! What becomes of each kind of error: whatever is called refused has done nothing, and whatever may have been done is
//! called unknown.

use std::fs;
use std::time::Duration;

use lab::lock::{AcquireError, Locker, Released};
use lab::nodes::{Failure, Node};
use lab::servers::{Options, Server};
use lab::words::Wire;
use protocol::Outcome;
use redis::Value;
use tokio::time::Instant;

use super::proxy::{Cut, Flow, Proxy};
use super::{PATIENCE, Stage, ask, calls, server, soon, until};

fn node(proxy: &Proxy) -> Node {
    Node::new(&proxy.url()).unwrap()
}

async fn send_within(node: &Node, command: &[&str], time: Duration) -> Result<Value, Failure> {
    let command = redis::cmd(command[0]).arg(&command[1..]).take();
    node.send(Wire::Command(command), Instant::now() + time).await
}

async fn send(node: &Node, command: &[&str]) -> Result<Value, Failure> {
    send_within(node, command, PATIENCE).await
}

const NONE: Value = Value::Nil;

fn stands(server: &Server) -> Value {
    ask(server, &["GET", "n"])
}

/// Whether it was refused with such words.
fn is_refused(result: &Result<Value, Failure>, word: &str) -> bool {
    let Err(failure) = result else { return false };
    assert_eq!(failure.outcome(), Outcome::Refused, "{failure}");
    matches!(failure, Failure::Refused(why) if why.contains(word))
}

#[tokio::test]
async fn a_refused_connection() {
    let mut stage = Stage::of(1).await;
    let direct = Node::new(&stage.servers[0].url()).unwrap();
    stage.servers[0].kill();
    for node in [direct, node(&stage.proxies[0])] {
        let failure = send(&node, &["INCR", "n"]).await.unwrap_err();
        assert!(matches!(failure, Failure::NotSent(_)), "{failure}");
        assert_eq!(failure.outcome(), Outcome::Refused);
    }
    stage.servers[0].restart().unwrap();
    assert_eq!(stands(&stage.servers[0]), NONE);
}

#[tokio::test]
async fn a_connection_that_is_made_but_never_answers() {
    let stage = Stage::of(1).await;
    stage.proxies[0].requests(Flow::IsHeld);
    let failure = soon(send(&node(&stage.proxies[0]), &["INCR", "n"])).await.unwrap_err();
    assert!(matches!(failure, Failure::NotSent(_)), "{failure}");
    stage.proxies[0].requests(Flow::Passes);
    assert_eq!(stands(&stage.servers[0]), NONE);
}

/// Of a connection the kernel tells which timer runs for it: 02 is that of keep-alive.
#[tokio::test]
async fn the_system_looks_after_an_idle_connection() {
    let server = super::server();
    let node = Node::new(&server.url()).unwrap();
    assert!(send(&node, &["PING"]).await.is_ok());
    let port = format!(":{:04X}", server.port());
    let is_kept_alive = || {
        let table = std::fs::read_to_string("/proc/net/tcp").unwrap();
        table.lines().skip(1).any(|line| {
            let columns: Vec<&str> = line.split_whitespace().collect();
            // Its far end is the server, it is established, and its timer is that of keep-alive.
            columns[2].ends_with(&port) && columns[3] == "01" && columns[5].starts_with("02:")
        })
    };
    until(is_kept_alive, "the connection is kept alive").await;
}

#[tokio::test]
async fn a_reset_before_and_after_the_server_has_read_it() {
    let stage = Stage::of(1).await;
    let node = node(&stage.proxies[0]);
    stage.proxies[0].cut_once(Cut::Before("INCR"));
    let before = send(&node, &["INCR", "n"]).await.unwrap_err();
    assert_eq!(stands(&stage.servers[0]), NONE);
    stage.proxies[0].cut_once(Cut::After("INCR"));
    let after = send(&node, &["INCR", "n"]).await.unwrap_err();
    assert_eq!(stands(&stage.servers[0]), Value::BulkString(b"1".to_vec()));
    for failure in [before, after] {
        assert!(matches!(failure, Failure::Unknown(_)), "nobody can tell the one from the other: {failure}");
        assert_eq!(failure.outcome(), Outcome::Unknown);
    }
    assert_eq!(send(&node, &["INCR", "n"]).await, Ok(Value::Int(2)), "another connection is made");
}

#[tokio::test]
async fn a_reply_that_does_not_come_in_time() {
    let stage = Stage::of(1).await;
    let node = node(&stage.proxies[0]);
    assert_eq!(send(&node, &["INCR", "n"]).await, Ok(Value::Int(1)));
    stage.proxies[0].replies(Flow::IsHeld);
    let failure = send_within(&node, &["INCR", "n"], Duration::from_millis(50)).await.unwrap_err();
    assert!(matches!(failure, Failure::Unknown(_)), "{failure}");
    until(|| stands(&stage.servers[0]) == Value::BulkString(b"2".to_vec()), "it is carried out all the same").await;
    stage.proxies[0].replies(Flow::Passes);
    assert_eq!(send(&node, &["INCR", "n"]).await, Ok(Value::Int(3)), "the late reply is nobody else's");
}

#[tokio::test]
async fn a_silent_connection_is_replaced_and_its_late_replies_are_nobodys() {
    let stage = Stage::of(1).await;
    let node = node(&stage.proxies[0]);
    assert_eq!(send(&node, &["INCR", "n"]).await, Ok(Value::Int(1)));
    stage.proxies[0].stall();
    let begin = std::time::Instant::now();
    let mut unknown = 0;
    let answer = loop {
        match send_within(&node, &["INCR", "n"], Duration::from_millis(250)).await {
            Err(Failure::Unknown(_)) => unknown += 1,
            answer => break answer,
        }
        assert!(begin.elapsed() < PATIENCE);
    };
    assert_eq!(answer, Ok(Value::Int(2)), "none of those before has come");
    stage.proxies[0].resume();
    let late = (2 + unknown).to_string().into_bytes();
    until(|| stands(&stage.servers[0]) == Value::BulkString(late.clone()), "they all come").await;
    assert_eq!(send(&node, &["INCR", "n"]).await, Ok(Value::Int(3 + unknown)));
}

#[tokio::test]
async fn a_server_that_is_loading_and_then_only_copies() {
    let master = server();
    ask(&master, &["EVAL", "for i = 1, 3000 do redis.call('SET', 'key' .. i, string.rep('x', 100)) end", "0"]);
    let stage = Stage::of(1).await;
    let copy = &stage.servers[0];
    // In microseconds for each key; and it looks at its connections in between.
    ask(copy, &["CONFIG", "SET", "key-load-delay", "1000"]);
    ask(copy, &["CONFIG", "SET", "loading-process-events-interval-bytes", "1024"]);
    let node = node(&stage.proxies[0]);
    assert_eq!(send(&node, &["INCR", "n"]).await, Ok(Value::Int(1)));
    // One that is read-only says so sooner than that it is loading.
    ask(copy, &["CONFIG", "SET", "replica-read-only", "no"]);
    ask(copy, &["REPLICAOF", "127.0.0.1", &master.port().to_string()]);
    let begin = std::time::Instant::now();
    loop {
        assert!(begin.elapsed() < PATIENCE, "it has to load at some time");
        let result = send(&node, &["INCR", "n"]).await;
        if result.is_err() {
            assert!(is_refused(&result, "loading"), "{result:?}");
            break;
        }
    }
    let error = stage.lock().try_acquire().await.unwrap_err();
    assert!(matches!(&error, AcquireError::Unreachable { why } if why.contains("loading")), "{error}");
    ask(copy, &["CONFIG", "SET", "replica-read-only", "yes"]);
    ask(copy, &["CONFIG", "SET", "key-load-delay", "0"]);
    let refused = send(&node, &["INCR", "n"]).await;
    assert!(is_refused(&refused, "read only"), "{refused:?}");
    let has_loaded = || format!("{:?}", ask(copy, &["INFO", "replication"])).contains("master_link_status:up");
    until(has_loaded, "it has what its master has").await;
    let error = stage.lock().try_acquire().await.unwrap_err();
    assert!(matches!(&error, AcquireError::Unreachable { why } if why.contains("read only")), "{error}");
    assert_eq!(ask(copy, &["DBSIZE"]), Value::Int(3000), "nothing was done");
}

#[tokio::test]
async fn scripts_that_the_server_has_forgotten_are_told_it_anew() {
    let stage = Stage::of(1).await;
    let lock = stage.lock();
    for round in 1..4 {
        let guard = lock.acquire().await.unwrap();
        assert_eq!(guard.fence(), Some(round));
        stage.ask(0, &["SCRIPT", "FLUSH"]);
        assert!(guard.extend().await.is_ok());
        stage.ask(0, &["SCRIPT", "FLUSH"]);
        assert_eq!(guard.release().await, Ok(Released::Freed));
        stage.ask(0, &["SCRIPT", "FLUSH"]);
    }
    assert!(calls(&stage.servers[0], "eval") >= 9);
}

#[tokio::test]
async fn a_server_without_memory_grants_nothing_and_takes_everything_back() {
    let stage = Stage::of(1).await;
    let node = node(&stage.proxies[0]);
    let guard = stage.lock().acquire().await.unwrap();
    stage.ask(0, &["CONFIG", "SET", "maxmemory", "1"]);
    assert!(is_refused(&send(&node, &["INCR", "n"]).await, "OOM"));
    for lock in [stage.locker().lock("other").unwrap(), stage.locker().lock("other").unwrap().unfenced()] {
        let error = lock.try_acquire().await.unwrap_err();
        assert!(matches!(&error, AcquireError::Unreachable { why } if why.contains("OOM")), "{error}");
    }
    assert!(guard.extend().await.is_ok());
    assert_eq!(guard.release().await, Ok(Released::Freed));
    stage.ask(0, &["CONFIG", "SET", "maxmemory", "0"]);
    assert_eq!(stage.ask(0, &["KEYS", "*"]), Value::Array(vec![Value::BulkString(b"{lock}:fence".to_vec())]));
}

#[tokio::test]
async fn a_key_that_holds_something_else_is_left_alone() {
    let stage = Stage::of(1).await;
    let node = node(&stage.proxies[0]);
    stage.ask(0, &["RPUSH", "lock", "a"]);
    assert!(is_refused(&send(&node, &["INCR", "lock"]).await, "WRONGTYPE"));
    for lock in [stage.lock(), stage.lock().unfenced()] {
        let error = lock.try_acquire().await.unwrap_err();
        assert!(matches!(&error, AcquireError::Unreachable { why } if why.contains("WRONGTYPE")), "{error}");
    }
    assert_eq!(stage.ask(0, &["LLEN", "lock"]), Value::Int(1));
    assert_eq!(stage.ask(0, &["DBSIZE"]), Value::Int(1), "no token was minted for nothing");
    // A counter that is none.
    stage.ask(0, &["DEL", "lock"]);
    stage.ask(0, &["RPUSH", "{lock}:fence", "a"]);
    assert!(matches!(stage.lock().try_acquire().await, Err(AcquireError::Unreachable { .. })));
    assert_eq!(stage.key(0), None, "a lock without its token is none");
}

#[tokio::test]
async fn a_missing_and_a_wrong_password() {
    let server = Server::start(&Options { password: Some("secret".to_owned()), ..Options::default() }).unwrap();
    let address = server.address();
    let node = Node::new(&format!("redis://{address}/")).unwrap();
    assert!(is_refused(&send(&node, &["INCR", "n"]).await, "NOAUTH"));
    let node = Node::new(&format!("redis://:wrong@{address}/")).unwrap();
    let failure = send(&node, &["INCR", "n"]).await.unwrap_err();
    assert!(matches!(&failure, Failure::NotSent(_)), "{failure}");
    assert_eq!(failure.outcome(), Outcome::Refused);
    assert!(!failure.to_string().contains("secret"));
    assert_eq!(stands(&server), NONE);
    let guard = Locker::redis(&server.url()).unwrap().lock("lock").unwrap().acquire().await.unwrap();
    assert_eq!(guard.release().await, Ok(Released::Freed));
}

#[tokio::test]
async fn a_server_that_cannot_save() {
    let stage = Stage::of(1).await;
    stage.ask(0, &["CONFIG", "SET", "save", "3600 1"]);
    fs::remove_dir_all(stage.servers[0].folder()).unwrap();
    stage.ask(0, &["BGSAVE"]);
    let has_failed = || format!("{:?}", stage.ask(0, &["INFO", "persistence"])).contains("rdb_last_bgsave_status:err");
    until(has_failed, "it could not save").await;
    assert!(is_refused(&send(&node(&stage.proxies[0]), &["INCR", "n"]).await, "MISCONF"));
    let error = stage.lock().try_acquire().await.unwrap_err();
    assert!(matches!(&error, AcquireError::Unreachable { why } if why.contains("MISCONF")), "{error}");
    assert_eq!(stage.ask(0, &["DBSIZE"]), Value::Int(0));
}

#[tokio::test]
async fn a_client_that_may_not_tell_others_gives_its_lock_back_all_the_same() {
    let stage = Stage::of(1).await;
    stage.ask(0, &["ACL", "SETUSER", "default", "resetchannels"]);
    let lock = stage.lock();
    let guard = lock.acquire().await.unwrap();
    // Whoever may not listen either looks from time to time.
    let other = stage.locker().lock("lock").unwrap();
    let waiting = tokio::spawn(async move { other.acquire().await });
    stage.proxies[0].until_asked("SUBSCRIBE", 1).await;
    assert_eq!(guard.release().await, Ok(Released::Freed), "what the release did is what it says");
    assert!(soon(waiting).await.unwrap().is_ok());
}

#[tokio::test]
async fn a_runtime_error_of_a_script_is_a_refusal() {
    let stage = Stage::of(1).await;
    let node = node(&stage.proxies[0]);
    let script = "redis.call('GET') redis.call('INCR', 'n')";
    assert!(is_refused(&send(&node, &["EVAL", script, "0"]).await, ""));
    assert_eq!(stands(&stage.servers[0]), NONE);
}
