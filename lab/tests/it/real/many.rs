//! Several locks that are held together or not at all.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use lab::lock::{AcquireError, Lock, Locker, Released};
use redis::Value;

use super::{PATIENCE, Stage, number, soon, until};

fn many(locker: &Locker, keys: &[&str]) -> Lock {
    locker.locks(keys).unwrap().ttl(Duration::from_secs(60))
}

fn stands(stage: &Stage, key: &str) -> bool {
    (0..stage.servers.len()).any(|server| stage.ask(server, &["EXISTS", key]) == Value::Int(1))
}

async fn until_free(stage: &Stage, keys: &[&str]) {
    until(|| !keys.iter().any(|key| stands(stage, key)), "they are free").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keys_in_opposite_orders_never_block_each_other() {
    for count in [1, 3] {
        let stage = Stage::of(count).await;
        let inside = Arc::new(AtomicUsize::new(0));
        let mut tasks = Vec::new();
        for keys in [["a", "b", "c"], ["c", "b", "a"], ["b", "c", "a"]] {
            // Each with its own connections, so that they do not wait for each other here.
            let (lock, inside) = (many(&stage.locker(), &keys), Arc::clone(&inside));
            tasks.push(tokio::spawn(async move {
                for _ in 0..7 {
                    let guard = lock.acquire().await.unwrap();
                    assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0, "they are held by one");
                    tokio::task::yield_now().await;
                    inside.fetch_sub(1, Ordering::SeqCst);
                    guard.release().await.unwrap();
                }
            }));
        }
        for task in tasks {
            tokio::time::timeout(PATIENCE * 3, task).await.expect("nobody is stuck").unwrap();
        }
        until_free(&stage, &["a", "b", "c"]).await;
    }
}

#[tokio::test]
async fn all_or_none_are_taken() {
    for count in [1, 3] {
        let stage = Stage::of(count).await;
        let other = many(&stage.somebody_else(), &["b"]);
        let holder = other.acquire().await.unwrap();
        let lock = many(&stage.locker(), &["c", "b", "a"]);
        assert_eq!(lock.try_acquire().await.unwrap_err(), AcquireError::Taken);
        until_free(&stage, &["a", "c"]).await;
        assert!(holder.is_valid());
        holder.release().await.unwrap();
        until_free(&stage, &["b"]).await;
        let guard = lock.try_acquire().await.unwrap();
        assert!(["a", "b", "c"].iter().all(|key| stands(&stage, key)));
        assert_eq!(guard.release().await, Ok(Released::Freed));
        until_free(&stage, &["a", "b", "c"]).await;
    }
}

#[tokio::test]
async fn a_wait_for_the_last_of_them_ends_when_that_is_free() {
    for count in [1, 3] {
        let stage = Stage::of(count).await;
        let holder = many(&stage.somebody_else(), &["b"]).acquire().await.unwrap();
        let lock = many(&stage.locker(), &["a", "b"]);
        let waiting = tokio::spawn(async move { lock.acquire().await });
        until(|| stands(&stage, "a"), "the first is taken").await;
        holder.release().await.unwrap();
        let guard = soon(waiting).await.unwrap().unwrap();
        assert!(guard.is_valid() && stands(&stage, "a") && stands(&stage, "b"));
        assert_eq!(guard.release().await, Ok(Released::Freed));
        until_free(&stage, &["a", "b"]).await;
    }
}

#[tokio::test]
async fn the_first_is_waited_for_and_then_the_others_are_taken() {
    let stage = Stage::of(1).await;
    let holder = many(&stage.somebody_else(), &["a"]).acquire().await.unwrap();
    let lock = many(&stage.locker(), &["a", "b", "c"]);
    let waiting = tokio::spawn(async move { lock.acquire().await });
    stage.proxies[0].until_asked("SUBSCRIBE", 1).await;
    holder.release().await.unwrap();
    let guard = soon(waiting).await.unwrap().unwrap();
    assert!(["a", "b", "c"].iter().all(|key| stands(&stage, key)));
    drop(guard);
    until_free(&stage, &["a", "b", "c"]).await;
}

#[tokio::test]
async fn the_loss_of_one_is_the_loss_of_all() {
    for count in [1, 3] {
        let stage = Stage::of(count).await;
        let guard = many(&stage.locker(), &["a", "b"]).acquire().await.unwrap();
        for server in 0..count {
            stage.ask(server, &["SET", "b", "somebody else"]);
        }
        assert!(guard.extend().await.is_err());
        soon(guard.lost()).await;
        assert!(!guard.is_valid());
        drop(guard);
        until_free(&stage, &["a"]).await;
        assert!(stands(&stage, "b"), "what is somebody else's stays");
    }
}

#[tokio::test]
async fn all_of_them_are_renewed() {
    for count in [1, 3] {
        let stage = Stage::of(count).await;
        // Renewed after 1.2 seconds.
        let lock = many(&stage.locker(), &["a", "b"]).ttl(Duration::from_secs(20)).margin(Duration::from_secs(16));
        let guard = lock.renewed().acquire().await.unwrap();
        let first = guard.valid_until();
        for key in ["a", "b"] {
            (0..count).for_each(|server| {
                stage.ask(server, &["PEXPIRE", key, "15000"]);
            });
        }
        let left = |key: &str| number(&stage.servers[0], &["PTTL", key]);
        until(|| left("a") > 15_000 && left("b") > 15_000 && guard.valid_until() > first, "they are renewed").await;
    }
}
