//! What has gone wrong with locks in use, and does not here.

use std::time::Duration;

use lab::lock::{AcquireError, ExtendError, LockError, Locker, MAX_TTL, Released};
use lab::words::{By, Form, Names, Sender, Wire, Words};
use protocol::Verb;
use redis::Value;
use tokio::time::Instant;

use super::proxy::{Cut, Flow, Proxy};
use super::{PATIENCE, Stage, calls, persistent, server, soon, until};

/// A word of every script, and none of what a connection begins with.
const SCRIPT: &str = "EVAL";

/// A word of the request for a lock without a token.
const SET: &str = "\r\nNX\r\n";

/// A word of every release.
const RELEASE: &str = "lock:freed";

const LONG: Duration = Duration::from_secs(60);

#[tokio::test]
async fn a_connection_that_dies_before_an_extension_leaves_the_lock_to_its_holder() {
    for count in [1, 3] {
        let stage = Stage::of(count).await;
        let guard = stage.lock().acquire().await.unwrap();
        let first = guard.valid_until();
        until(|| stage.standing() == count, "it stands everywhere").await;
        let keys: Vec<_> = (0..count).map(|server| stage.key(server)).collect();
        stage.proxies.iter().for_each(|proxy| proxy.cut_once(Cut::Before(SCRIPT)));
        assert_eq!(guard.extend().await, Err(ExtendError::Unanswered));
        assert!(guard.is_valid() && guard.valid_until() == first, "it is held for as long as it was before");
        stage.proxies.iter().for_each(|proxy| proxy.cut_once(Cut::After(SCRIPT)));
        assert_eq!(guard.extend().await, Err(ExtendError::Unanswered));
        assert_eq!((0..count).map(|server| stage.key(server)).collect::<Vec<_>>(), keys);
        assert!(guard.extend().await.unwrap() > first);
        assert_eq!((0..count).map(|server| stage.key(server)).collect::<Vec<_>>(), keys);
        assert_eq!(guard.release().await, Ok(Released::Freed));
        stage.until_free().await;
    }
}

#[tokio::test]
async fn a_connection_that_died_while_nobody_asked_is_made_anew() {
    for count in [1, 3] {
        let stage = Stage::of(count).await;
        let lock = stage.lock();
        stage.warm(&lock).await;
        stage.proxies.iter().for_each(Proxy::cut_all);
        assert!(soon(lock.acquire()).await.is_ok());
    }
}

#[tokio::test]
async fn a_ttl_shorter_than_its_margin_is_refused_before_anything_is_asked() {
    let stage = Stage::of(1).await;
    let ttl = Duration::from_millis(1000);
    for margin in [988, 1000, 1001, 5000, u64::MAX] {
        let lock = stage.lock().ttl(ttl).margin(Duration::from_millis(margin)).renewed();
        let error = lock.acquire().await.unwrap_err();
        assert!(matches!(error, AcquireError::Lock(LockError::Margin { .. })), "{margin}: {error}");
    }
    assert_eq!(stage.asked(SCRIPT), 0);
    // A great margin that leaves something: the renewal comes before the end all the same.
    let lock = stage.lock().ttl(Duration::from_secs(20)).margin(Duration::from_secs(16)).renewed();
    let guard = lock.acquire().await.unwrap();
    let first = guard.valid_until();
    until(|| guard.valid_until() > first, "it is renewed").await;
    assert!(guard.is_valid());
}

#[tokio::test]
async fn a_failed_attempt_unlocks_a_stalled_server_as_soon_as_it_answers() {
    let stage = Stage::of(3).await;
    for server in 0..2 {
        stage.ask(server, &["SET", "lock", "somebody else"]);
    }
    stage.proxies[2].requests(Flow::IsHeld);
    assert_eq!(stage.lock().try_acquire().await.unwrap_err(), AcquireError::Taken);
    assert_eq!(calls(&stage.servers[2], "set"), 0);
    stage.proxies[2].requests(Flow::Passes);
    until(|| calls(&stage.servers[2], "set") > 0 && stage.key(2).is_none(), "what came late is gone").await;
    assert_eq!(stage.standing(), 2, "what is somebody else's stays");
}

#[tokio::test]
async fn what_a_failed_attempt_cannot_unlock_ends_with_its_ttl() {
    let stage = Stage::of(3).await;
    let proxy = &stage.proxies[2];
    let lock = stage.lock().ttl(Duration::from_secs(2));
    stage.warm(&lock).await;
    for server in 0..2 {
        stage.ask(server, &["SET", "lock", "somebody else"]);
    }
    proxy.cut_once(Cut::After(SET));
    proxy.refuse(true);
    assert_eq!(lock.try_acquire().await.unwrap_err(), AcquireError::Taken);
    until(|| calls(&stage.servers[2], "set") == 2, "the request has come").await;
    let Value::Int(left) = stage.ask(2, &["PTTL", "lock"]) else { panic!("PTTL answers with a number") };
    assert!(left <= 2000 && left != -1, "{left}");
    until(|| stage.key(2).is_none(), "its TTL is over").await;
}

#[tokio::test]
async fn two_of_three_servers_are_enough_and_a_failure_strands_nothing() {
    let mut stage = Stage::of(3).await;
    stage.servers[2].kill();
    let alive = |stage: &Stage| (0..2).filter(|server| stage.key(*server).is_some()).count();
    let guard = stage.lock().timeout(LONG).acquire().await.unwrap();
    assert_eq!(alive(&stage), 2);
    assert_eq!(guard.release().await, Ok(Released::Freed));
    assert_eq!(alive(&stage), 0);
    stage.ask(0, &["SET", "lock", "somebody else"]);
    assert_eq!(stage.lock().try_acquire().await.unwrap_err(), AcquireError::Taken);
    until(|| alive(&stage) == 1, "nothing is stranded").await;
    assert_eq!(stage.key(0).as_deref(), Some("somebody else"));
}

#[tokio::test]
async fn a_reply_later_than_the_ttl_is_refused() {
    for count in [1, 3] {
        let stage = Stage::of(count).await;
        let ttl = Duration::from_millis(300);
        let lock = stage.lock().ttl(ttl).timeout(LONG);
        stage.warm(&lock).await;
        let before: Vec<_> = stage.servers.iter().map(|server| calls(server, "set")).collect();
        stage.proxies.iter().for_each(|proxy| proxy.replies(Flow::IsHeld));
        let attempt = tokio::spawn(async move { lock.acquire().await });
        let has_come = |stage: &Stage| stage.servers.iter().zip(&before).all(|(server, n)| calls(server, "set") > *n);
        until(|| has_come(&stage), "the lock has been granted").await;
        stage.until_free().await;
        stage.proxies.iter().for_each(|proxy| proxy.replies(Flow::Passes));
        assert_eq!(soon(attempt).await.unwrap().unwrap_err(), AcquireError::TooLate { ttl });
    }
}

#[tokio::test]
async fn a_ttl_that_cannot_be_kept_is_refused_before_anything_is_asked() {
    for count in [1, 3] {
        let stage = Stage::of(count).await;
        let ttls = [
            Duration::ZERO,
            Duration::from_nanos(1),
            Duration::from_micros(999),
            Duration::from_millis(9),
            Duration::from_micros(10_001),
            MAX_TTL + Duration::from_millis(1),
            Duration::from_millis(u64::from(u32::MAX)),
            Duration::from_millis(u64::from(u32::MAX) + 11),
            Duration::from_secs(u64::MAX / 1000),
            Duration::MAX,
        ];
        for ttl in ttls {
            let error = AcquireError::Lock(LockError::Ttl { ttl });
            assert_eq!(stage.lock().ttl(ttl).acquire().await.unwrap_err(), error);
            assert_eq!(stage.lock().ttl(ttl).renewed().try_acquire().await.unwrap_err(), error);
        }
        assert_eq!((stage.asked(SCRIPT), stage.asked(SET)), (0, 0));
    }
}

#[tokio::test]
async fn a_ttl_shorter_than_the_round_trip_is_refused_when_the_reply_comes() {
    let stage = Stage::of(1).await;
    let ttl = Duration::from_millis(20);
    let lock = stage.lock().ttl(ttl).timeout(LONG);
    // Whether this one is in time does not matter: the connection and the scripts are there.
    drop(lock.try_acquire().await);
    stage.until_free().await;
    stage.proxies[0].replies(Flow::IsHeld);
    let before = calls(&stage.servers[0], "set");
    let attempt = tokio::spawn(async move { lock.try_acquire().await });
    until(|| calls(&stage.servers[0], "set") > before && stage.key(0).is_none(), "it is over").await;
    stage.proxies[0].replies(Flow::Passes);
    assert_eq!(soon(attempt).await.unwrap().unwrap_err(), AcquireError::TooLate { ttl });
}

#[tokio::test]
async fn the_longest_ttl_is_counted_right() {
    let stage = Stage::of(1).await;
    let guard = stage.lock().ttl(MAX_TTL).timeout(MAX_TTL).renewed().acquire().await.unwrap();
    let left = guard.valid_until() - Instant::now();
    assert!(left < MAX_TTL && left > MAX_TTL * 9 / 10, "{left:?}");
    let Value::Int(on_server) = stage.ask(0, &["PTTL", "lock"]) else { panic!("PTTL answers with a number") };
    assert!(Duration::from_millis(on_server as u64) > MAX_TTL * 9 / 10);
    assert_eq!(guard.release().await, Ok(Released::Freed));
}

#[tokio::test]
async fn a_lost_reply_to_a_grant_costs_neither_the_lock_nor_a_token() {
    let stage = Stage::of(1).await;
    let lock = stage.lock();
    let first = lock.acquire().await.unwrap().fence().unwrap();
    stage.until_free().await;
    stage.proxies[0].cut_once(Cut::After("EVALSHA"));
    let guard = soon(lock.acquire()).await.unwrap();
    assert_eq!(guard.fence(), Some(first + 1), "the grant whose reply was lost is this one");
    assert_eq!(guard.release().await, Ok(Released::Freed));
    assert_eq!(stage.key(0), None);
}

#[tokio::test]
async fn a_majority_of_lost_replies_strands_nothing() {
    let stage = Stage::of(3).await;
    let lock = stage.lock();
    stage.warm(&lock).await;
    stage.proxies.iter().take(2).for_each(|proxy| proxy.cut_once(Cut::After(SET)));
    let error = lock.try_acquire().await.unwrap_err();
    assert!(matches!(error, AcquireError::Unreachable { .. }), "{error}");
    stage.until_free().await;
    assert!(stage.servers.iter().all(|server| calls(server, "set") == 2), "it stood everywhere");
}

#[tokio::test]
async fn a_release_whose_connection_breaks_is_sent_again() {
    for cut in [Cut::Before(RELEASE), Cut::After(RELEASE)] {
        let stage = Stage::of(1).await;
        let guard = stage.lock().acquire().await.unwrap();
        stage.proxies[0].cut_once(cut);
        drop(guard);
        stage.until_free().await;
    }
    let stage = Stage::of(1).await;
    let guard = stage.lock().acquire().await.unwrap();
    stage.proxies[0].cut_once(Cut::Before(RELEASE));
    assert_eq!(guard.release().await, Ok(Released::Freed), "the second one did it");
    let guard = stage.lock().acquire().await.unwrap();
    stage.proxies[0].cut_once(Cut::After(RELEASE));
    assert!(guard.release().await.is_err(), "nobody knows whether the lock was there when it was released");
}

#[tokio::test]
async fn a_release_that_finds_no_server_is_sent_when_there_is_one() {
    let stage = Stage::of(1).await;
    let guard = stage.lock().acquire().await.unwrap();
    stage.proxies[0].refuse(true);
    stage.proxies[0].cut_all();
    assert!(guard.release().await.is_err());
    assert!(stage.key(0).is_some());
    stage.proxies[0].refuse(false);
    stage.until_free().await;
}

#[tokio::test]
async fn the_late_lock_of_a_frozen_server_is_cleaned_up() {
    for count in [1, 3] {
        let stage = Stage::of(count).await;
        let lock = stage.lock();
        stage.warm(&lock).await;
        let before = calls(&stage.servers[0], "set");
        stage.servers.iter().for_each(|server| server.freeze().unwrap());
        let error = lock.try_acquire().await.unwrap_err();
        assert!(matches!(error, AcquireError::Unreachable { .. }), "{error}");
        stage.servers.iter().for_each(|server| server.thaw().unwrap());
        let was_there = |stage: &Stage| stage.servers.iter().all(|server| calls(server, "set") > before);
        until(|| was_there(&stage) && stage.standing() == 0, "the late lock came and went").await;
        assert!(stage.somebody_else().lock("lock").unwrap().try_acquire().await.is_ok());
    }
}

/// The release of a lock, as its script: a server that has been told it knows it.
fn release(stage: &Stage) {
    let words = Words {
        names: Names::of(b"lock"),
        form: Form::Plain,
        ttl: Some(1000),
        tick: 1,
        notifies: true,
        replicas: 0,
        patience: 0,
    };
    let wire = words.wire(Verb::CompareAndDelete, false, Sender { token: b"nobody", now: 0 });
    let Wire::Script(call) = wire else { panic!("a release is a script") };
    let mut connection = redis::Client::open(stage.servers[0].url()).unwrap().get_connection().unwrap();
    call.command(By::Text).exec(&mut connection).unwrap();
}

#[tokio::test]
async fn a_grant_whose_script_the_server_forgot_does_not_come_after_its_release() {
    let stage = Stage::of(1).await;
    let lock = stage.lock();
    stage.warm(&lock).await;
    stage.ask(0, &["SCRIPT", "FLUSH"]);
    // The server knows the release, but not the grant.
    release(&stage);
    stage.proxies[0].requests(Flow::IsHeld);
    let releases = stage.asked(RELEASE);
    let abandoned = lock.clone().timeout(LONG);
    let attempt = tokio::spawn(async move { abandoned.acquire().await });
    stage.proxies[0].until_asked("EVALSHA", 1).await;
    attempt.abort();
    stage.proxies[0].until_asked(RELEASE, releases + 1).await;
    let texts = calls(&stage.servers[0], "eval");
    let served = calls(&stage.servers[0], "evalsha");
    stage.proxies[0].requests(Flow::Passes);
    until(|| calls(&stage.servers[0], "evalsha") >= served + 2, "both have come").await;
    // Whatever is sent because of that is sent, on the same connection, before the release here.
    soon(lock.unfenced().acquire()).await.unwrap().release().await.unwrap();
    assert_eq!(stage.key(0), None);
    assert_eq!(calls(&stage.servers[0], "eval"), texts, "the grant was not sent again");
}

#[tokio::test]
async fn a_lock_that_is_stuck_on_a_silent_connection_is_cleaned_up_there() {
    for count in [1, 3] {
        let stage = Stage::of(count).await;
        let lock = stage.lock();
        stage.warm(&lock).await;
        let before = calls(&stage.servers[0], "set");
        stage.proxies.iter().for_each(Proxy::stall);
        let error = lock.try_acquire().await.unwrap_err();
        assert!(matches!(error, AcquireError::Unreachable { .. }), "{error}");
        // Later commands go over another connection.
        let begin = std::time::Instant::now();
        let guard = loop {
            match lock.try_acquire().await {
                Ok(guard) => break guard,
                Err(error) => assert!(begin.elapsed() < PATIENCE, "{error}"),
            }
        };
        guard.release().await.unwrap();
        stage.until_free().await;
        let guard = stage.somebody_else().lock("lock").unwrap().ttl(LONG).acquire().await.unwrap();
        assert!(calls(&stage.servers[0], "set") > before);
        let served: Vec<_> = stage.servers.iter().map(|server| calls(server, "evalsha")).collect();
        // The late requests find somebody else's lock, and so do their releases.
        stage.proxies.iter().for_each(Proxy::resume);
        let have_come = || stage.servers.iter().zip(&served).all(|(server, served)| calls(server, "evalsha") > *served);
        until(have_come, "they have come").await;
        assert_eq!(lock.try_acquire().await.unwrap_err(), AcquireError::Taken);
        assert!(guard.is_valid());
        assert_eq!(guard.release().await, Ok(Released::Freed));
        stage.until_free().await;
    }
}

#[tokio::test]
async fn a_late_lock_from_a_silent_connection_does_not_stay() {
    let stage = Stage::of(1).await;
    let lock = stage.lock();
    stage.warm(&lock).await;
    let before = calls(&stage.servers[0], "set");
    let connections = stage.proxies[0].connections();
    stage.proxies[0].stall();
    lock.try_acquire().await.unwrap_err();
    until(|| stage.proxies[0].connections() > connections, "another connection is made").await;
    assert_eq!(calls(&stage.servers[0], "set"), before);
    stage.proxies[0].resume();
    until(|| calls(&stage.servers[0], "set") > before && stage.key(0).is_none(), "the late lock came and went").await;
}

#[tokio::test]
async fn a_restart_without_persistence_is_a_loss_and_the_scripts_are_loaded_anew() {
    for count in [1, 3] {
        let mut stage = Stage::of(count).await;
        let guard = stage.lock().acquire().await.unwrap();
        stage.servers.iter_mut().for_each(|server| server.restart().unwrap());
        let lost = loop {
            match guard.extend().await {
                Err(ExtendError::Unanswered) if guard.is_valid() => {}
                result => break result,
            }
        };
        assert_eq!(lost, Err(ExtendError::Lost));
        soon(guard.lost()).await;
        assert_eq!(guard.release().await, Ok(Released::WasGone));
        assert!(soon(stage.lock().acquire()).await.is_ok());
    }
}

#[tokio::test]
async fn a_restart_with_persistence_changes_nothing_for_the_holder() {
    for count in [1, 3] {
        let mut stage = Stage::with((0..count).map(|_| persistent()).collect()).await;
        let lock = stage.lock();
        let first = lock.acquire().await.unwrap().fence();
        stage.until_free().await;
        let guard = lock.acquire().await.unwrap();
        let until = guard.valid_until();
        stage.servers.iter_mut().for_each(|server| server.restart().unwrap());
        let extended = loop {
            match guard.extend().await {
                Err(ExtendError::Unanswered) if guard.is_valid() => {}
                result => break result,
            }
        };
        assert!(extended.unwrap() > until);
        assert_eq!(guard.release().await, Ok(Released::Freed));
        stage.until_free().await;
        let third = lock.acquire().await.unwrap().fence();
        assert_eq!(third, first.map(|first| first + 2), "the counter goes on");
    }
}

#[tokio::test]
async fn a_server_that_is_gone_for_good_does_not_hold_up_the_end() {
    let mut server = server();
    let locker = Locker::redis(&server.url()).unwrap();
    let lock = locker.lock("lock").unwrap().ttl(Duration::from_secs(2)).timeout(Duration::from_millis(100));
    let guard = lock.acquire().await.unwrap();
    server.kill();
    assert!(soon(guard.release()).await.is_err());
    assert!(matches!(lock.try_acquire().await, Err(AcquireError::Unreachable { .. })));
}
