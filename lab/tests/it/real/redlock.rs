//! Several servers, of which a majority grants.

use std::time::Duration;

use lab::lock::{AcquireError, ExtendError, Released};
use redis::Value;
use tokio::time::Instant;

use super::proxy::{Flow, Proxy};
use super::{PATIENCE, Stage, ask, calls, number, server, soon, until};

/// Whatever waits for a time-out of a server waits in vain.
const FOR_EVER: Duration = Duration::from_secs(3600);

const TTL: Duration = Duration::from_secs(7200);

#[tokio::test]
async fn a_lock_stands_on_all_servers_and_has_no_token() {
    let stage = Stage::of(5).await;
    let guard = stage.lock().acquire().await.unwrap();
    assert_eq!(guard.fence(), None);
    until(|| stage.standing() == 5, "it stands everywhere").await;
    assert_eq!(guard.release().await, Ok(Released::Freed));
    stage.until_free().await;
    assert!(stage.servers.iter().all(|server| ask(server, &["DBSIZE"]) == Value::Int(0)), "and no counter stays");
}

/// Why there is no token: the largest of the counters that a majority shows does not grow from grant to grant.
#[tokio::test]
async fn the_largest_of_several_counters_goes_back() {
    let servers = [server(), server(), server()];
    for (server, counter) in servers.iter().zip(["5", "1", "1"]) {
        ask(server, &["SET", "{lock}:fence", counter]);
    }
    let mint = |server: usize| number(&servers[server], &["INCR", "{lock}:fence"]);
    let first = mint(0).max(mint(1));
    let second = mint(1).max(mint(2));
    assert_eq!((first, second), (6, 3));
}

#[tokio::test]
async fn a_frozen_minority_costs_no_more_than_a_round_trip_to_the_others() {
    let stage = Stage::of(5).await;
    let lock = stage.lock().ttl(TTL).timeout(FOR_EVER);
    stage.warm(&lock).await;
    stage.servers[..2].iter().for_each(|server| server.freeze().unwrap());
    let alive = |stage: &Stage| (2..5).filter(|server| stage.key(*server).is_some()).count();
    for _ in 0..3 {
        let guard = soon(lock.acquire()).await.unwrap();
        assert_eq!(alive(&stage), 3);
        assert!(soon(guard.extend()).await.is_ok());
        assert_eq!(soon(guard.release()).await, Ok(Released::Freed));
        assert_eq!(alive(&stage), 0);
    }
    stage.servers[..2].iter().for_each(|server| server.thaw().unwrap());
    until(|| stage.servers[..2].iter().all(|server| calls(server, "set") >= 2), "the requests come").await;
    stage.until_free().await;
}

#[tokio::test]
async fn a_minority_that_is_down_costs_no_more_than_a_round_trip_to_the_others() {
    let mut stage = Stage::of(5).await;
    stage.servers[..2].iter_mut().for_each(lab::servers::Server::kill);
    let lock = stage.lock().ttl(TTL).timeout(FOR_EVER);
    for _ in 0..3 {
        let guard = soon(lock.acquire()).await.unwrap();
        assert_eq!(soon(guard.release()).await, Ok(Released::Freed));
    }
}

#[tokio::test]
async fn a_failure_is_told_as_soon_as_it_is_certain() {
    // Two of three have given the lock to somebody else; the third says nothing.
    let stage = Stage::of(3).await;
    let lock = stage.lock().ttl(TTL).timeout(FOR_EVER);
    stage.warm(&lock).await;
    for server in 0..2 {
        stage.ask(server, &["SET", "lock", "somebody else"]);
    }
    stage.proxies[2].replies(Flow::IsHeld);
    assert_eq!(soon(lock.try_acquire()).await.unwrap_err(), AcquireError::Taken);
    // The clean-up goes on behind it: it does not wait for its own answers either.
    until(|| calls(&stage.servers[2], "set") == 2 && stage.key(2).is_none(), "the third is cleaned up").await;
    // Two of three are down, the third says nothing.
    let mut stage = Stage::of(3).await;
    let lock = stage.lock().ttl(TTL).timeout(FOR_EVER);
    stage.warm(&lock).await;
    stage.proxies[2].replies(Flow::IsHeld);
    stage.servers[..2].iter_mut().for_each(lab::servers::Server::kill);
    let refused = loop {
        match soon(lock.try_acquire()).await {
            // The news that a connection has ended may come after a request on it.
            Err(AcquireError::Unreachable { why }) if !why.contains("not sent") => {}
            result => break result,
        }
    };
    assert!(matches!(refused, Err(AcquireError::Unreachable { .. })), "{refused:?}");
    until(|| stage.key(2).is_none(), "the third is cleaned up").await;
}

#[tokio::test]
async fn another_try_does_not_wait_for_a_frozen_minority_either() {
    let stage = Stage::of(5).await;
    let lock = stage.lock().ttl(TTL).timeout(FOR_EVER);
    stage.warm(&lock).await;
    stage.servers[4].freeze().unwrap();
    for server in 0..3 {
        stage.ask(server, &["SET", "lock", "somebody else"]);
    }
    let before = calls(&stage.servers[3], "set");
    let waiting = tokio::spawn(async move { lock.acquire().await });
    until(|| calls(&stage.servers[3], "set") >= before + 3, "it is tried again and again").await;
    for server in 0..3 {
        stage.ask(server, &["DEL", "lock"]);
    }
    let guard = soon(waiting).await.unwrap().unwrap();
    assert_eq!(soon(guard.release()).await, Ok(Released::Freed));
    stage.servers[4].thaw().unwrap();
    stage.until_free().await;
}

#[tokio::test]
async fn without_a_majority_nothing_is_granted_and_nothing_stays() {
    let mut stage = Stage::of(3).await;
    stage.servers[..2].iter_mut().for_each(lab::servers::Server::kill);
    let error = soon(stage.lock().try_acquire()).await.unwrap_err();
    assert!(matches!(&error, AcquireError::Unreachable { why } if why.contains("not sent")), "{error}");
    until(|| stage.key(2).is_none(), "nothing stays").await;
    let limit = Duration::from_millis(300);
    let error = soon(stage.lock().acquire_within(limit)).await.unwrap_err();
    assert_eq!(error, AcquireError::TimedOut { waited: limit });
    until(|| stage.key(2).is_none(), "nothing stays").await;
    stage.servers[..2].iter_mut().for_each(|server| server.restart().unwrap());
    assert!(soon(stage.lock().acquire()).await.is_ok());
}

#[tokio::test]
async fn a_lock_that_a_majority_has_lost_is_lost() {
    let stage = Stage::of(3).await;
    let guard = stage.lock().acquire().await.unwrap();
    until(|| stage.standing() == 3, "it stands everywhere").await;
    stage.ask(0, &["DEL", "lock"]);
    assert!(guard.extend().await.is_ok(), "a minority may forget it");
    stage.ask(1, &["DEL", "lock"]);
    assert_eq!(guard.extend().await, Err(ExtendError::Lost));
    soon(guard.lost()).await;
    drop(guard);
    stage.until_free().await;
}

#[tokio::test]
async fn a_majority_that_does_not_answer_leaves_the_lock_to_its_end() {
    let stage = Stage::of(3).await;
    let lock = stage.lock().ttl(Duration::from_secs(3)).timeout(Duration::from_millis(200)).renewed();
    let guard = lock.acquire().await.unwrap();
    stage.proxies[..2].iter().for_each(|proxy| proxy.requests(Flow::IsHeld));
    soon(guard.lost()).await;
    assert!(Instant::now() < guard.valid_until(), "it is told before the end");
    drop(guard);
    stage.proxies.iter().for_each(|proxy| proxy.requests(Flow::Passes));
    stage.until_free().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_who_race_each_has_it_alone() {
    let stage = Stage::of(3).await;
    let inside = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let mut racers = Vec::new();
    for _ in 0..2 {
        let (lock, inside) = (stage.lock(), std::sync::Arc::clone(&inside));
        racers.push(tokio::spawn(async move {
            for _ in 0..10 {
                let guard = lock.acquire().await.unwrap();
                assert_eq!(inside.fetch_add(1, std::sync::atomic::Ordering::SeqCst), 0, "it is held by one");
                tokio::task::yield_now().await;
                inside.fetch_sub(1, std::sync::atomic::Ordering::SeqCst);
                guard.release().await.unwrap();
            }
        }));
    }
    for racer in racers {
        tokio::time::timeout(PATIENCE * 3, racer).await.unwrap().unwrap();
    }
    stage.until_free().await;
}

#[tokio::test]
async fn every_failing_path_cleans_up_on_every_server() {
    // Of five servers one has given the lock away, one is down, one loses its reply, one is frozen, one works.
    let mut stage = Stage::of(5).await;
    let lock = stage.lock();
    stage.warm(&lock).await;
    stage.ask(0, &["SET", "lock", "somebody else"]);
    stage.servers[1].kill();
    stage.proxies[2].cut_once(super::proxy::Cut::After("\r\nNX\r\n"));
    stage.servers[3].freeze().unwrap();
    assert_eq!(soon(lock.try_acquire()).await.unwrap_err(), AcquireError::Taken);
    stage.servers[3].thaw().unwrap();
    stage.servers[1].restart().unwrap();
    until(|| (2..5).all(|server| calls(&stage.servers[server], "set") == 2), "the requests have come").await;
    until(|| (1..5).all(|server| stage.key(server).is_none()), "nothing of it stays").await;
    assert_eq!(stage.key(0).as_deref(), Some("somebody else"));
    stage.proxies.iter().for_each(Proxy::pass_all);
}
