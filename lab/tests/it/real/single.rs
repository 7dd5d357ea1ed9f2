//! One server: taking, holding, extending and giving back.

use std::time::Duration;

use lab::lock::{AcquireError, ExtendError, Locker, Released};
use redis::Value;
use tokio::time::Instant;

use super::{Stage, ask, server, soon, until};

#[tokio::test]
async fn a_lock_is_held_by_one_and_free_after_its_release() {
    let stage = Stage::of(1).await;
    let lock = stage.lock();
    let guard = lock.acquire().await.unwrap();
    assert!(guard.is_valid() && guard.valid_until() > Instant::now() + Duration::from_secs(50));
    assert!(stage.key(0).is_some());
    let other = stage.locker().lock("lock").unwrap();
    assert_eq!(other.try_acquire().await.unwrap_err(), AcquireError::Taken);
    assert_eq!(guard.release().await, Ok(Released::Freed));
    assert_eq!(stage.key(0), None);
    assert!(other.try_acquire().await.is_ok());
}

#[tokio::test]
async fn in_one_process_others_wait_without_asking_the_server() {
    let stage = Stage::of(1).await;
    let lock = stage.lock();
    let guard = lock.acquire().await.unwrap();
    let asked = stage.proxies[0].asked("EVAL");
    assert_eq!(lock.try_acquire().await.unwrap_err(), AcquireError::Taken);
    let limit = Duration::from_millis(50);
    assert_eq!(lock.acquire_within(limit).await.unwrap_err(), AcquireError::TimedOut { waited: limit });
    assert_eq!(stage.proxies[0].asked("EVAL"), asked);
    drop(guard);
    assert!(soon(lock.acquire()).await.is_ok());
}

#[tokio::test]
async fn dropping_a_guard_gives_the_lock_back_in_the_background() {
    let stage = Stage::of(1).await;
    drop(stage.lock().acquire().await.unwrap());
    stage.until_free().await;
}

#[tokio::test]
async fn every_grant_has_a_greater_token_than_the_one_before_also_over_expiries() {
    let stage = Stage::of(1).await;
    let mut last = 0;
    for round in 0..5 {
        let guard = stage.lock().acquire().await.unwrap();
        let fence = guard.fence().expect("one server mints tokens");
        assert!(fence > last);
        last = fence;
        if round % 2 == 0 {
            // As if it had expired.
            stage.ask(0, &["DEL", "lock"]);
        }
        drop(guard);
        stage.until_free().await;
    }
    assert_eq!(stage.ask(0, &["TTL", "{lock}:fence"]), Value::Int(-1), "the counter never expires");
    assert_eq!(stage.lock().unfenced().acquire().await.unwrap().fence(), None);
}

#[tokio::test]
async fn an_extension_counts_from_when_it_is_asked_for() {
    let stage = Stage::of(1).await;
    let guard = stage.lock().acquire().await.unwrap();
    let before = guard.valid_until();
    stage.ask(0, &["PEXPIRE", "lock", "1000"]);
    tokio::time::sleep(Duration::from_millis(5)).await;
    let after = guard.extend().await.unwrap();
    assert!(after > before);
    let Value::Int(left) = stage.ask(0, &["PTTL", "lock"]) else { panic!("PTTL answers with a number") };
    assert!(left > 50_000, "{left}");
}

#[tokio::test]
async fn extending_what_is_lost_is_refused_and_final() {
    let stage = Stage::of(1).await;
    let guard = stage.lock().acquire().await.unwrap();
    stage.ask(0, &["SET", "lock", "somebody else"]);
    assert_eq!(guard.extend().await, Err(ExtendError::Lost));
    soon(guard.lost()).await;
    assert!(!guard.is_valid());
    assert_eq!(guard.extend().await, Err(ExtendError::Lost));
    assert_eq!(guard.release().await, Ok(Released::WasGone));
    assert_eq!(stage.key(0).as_deref(), Some("somebody else"), "what is not ours is not deleted");
}

#[tokio::test]
async fn a_renewed_lock_outlives_its_ttl_and_ends_with_its_guard() {
    let stage = Stage::of(1).await;
    let ttl = Duration::from_secs(1);
    let guard = stage.lock().ttl(ttl).renewed().acquire().await.unwrap();
    let first = guard.valid_until();
    let begin = Instant::now();
    until(|| begin.elapsed() > ttl * 2, "two TTLs have passed").await;
    assert!(guard.is_valid() && guard.valid_until() > first);
    assert!(stage.key(0).is_some());
    drop(guard);
    stage.until_free().await;
}

#[tokio::test]
async fn a_refused_renewal_is_told_at_once() {
    let stage = Stage::of(1).await;
    let guard = stage.lock().ttl(Duration::from_secs(6)).renewed().acquire().await.unwrap();
    stage.ask(0, &["DEL", "lock"]);
    soon(guard.lost()).await;
    assert!(Instant::now() < guard.valid_until(), "it is told long before the end");
    assert_eq!(stage.key(0), None, "and it is not taken anew");
}

#[tokio::test]
async fn without_renewal_the_loss_is_told_before_the_end() {
    let stage = Stage::of(1).await;
    let lock = stage.lock().ttl(Duration::from_millis(600)).margin(Duration::from_millis(200));
    let guard = lock.acquire().await.unwrap();
    soon(guard.lost()).await;
    assert!(!guard.is_valid());
    assert!(Instant::now() < guard.valid_until(), "the margin is left");
}

#[tokio::test]
async fn keys_are_any_bytes() {
    let server = server();
    let locker = Locker::redis(&server.url()).unwrap();
    let keys: [&[u8]; 4] = [b"\0\xff\r\n ", b"a}b", b"{tag}rest", "schl\u{fc}ssel".as_bytes()];
    for key in keys {
        let guard = locker.lock(key).unwrap().acquire().await.unwrap();
        assert!(guard.fence().is_some());
        assert_eq!(ask(&server, &["DBSIZE"]), Value::Int(2), "the entry and its counter");
        guard.release().await.unwrap();
        ask(&server, &["FLUSHALL"]);
    }
}

#[tokio::test]
async fn an_unreachable_server_is_named() {
    let mut server = server();
    let locker = Locker::redis(&server.url()).unwrap();
    server.kill();
    let error = locker.lock("lock").unwrap().try_acquire().await.unwrap_err();
    assert!(matches!(&error, AcquireError::Unreachable { why } if why.contains("refused")), "{error}");
}
