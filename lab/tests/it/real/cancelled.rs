//! Futures that are dropped, at every poll and at every message that is under way: no lock outlives that, nothing is renewed
//! for ever, and somebody else can have the lock.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use lab::lock::{Guard, Lock, Locker, Released};
use redis::Value;

use super::proxy::Proxy;
use super::{Stage, soon, until};

/// A pause at which it is taken for granted that nothing more is going to happen. If that is wrong the future is dropped at
/// another moment, which is as good.
const QUIET: Duration = Duration::from_millis(150);

const KEYS: [&[&str]; 2] = [&["lock"], &["a lock", "lock"]];

/// Polls a future so many times, and drops it then. What came of it, if it was ready by then.
async fn polled<T>(future: impl Future<Output = T>, times: usize) -> Option<T> {
    let mut future = pin!(future);
    let mut polls = 0;
    poll_fn(|cx| {
        if polls == times {
            return Poll::Ready(None);
        }
        polls += 1;
        match future.as_mut().poll(cx) {
            Poll::Ready(value) => Poll::Ready(Some(value)),
            Poll::Pending if polls == times => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}

/// Lets so many pieces pass through each proxy, and drops a future when the next one is held. What came of it, if it was
/// ready by then.
async fn stopped<T>(stage: &Stage, future: impl Future<Output = T>, pieces: usize) -> Option<T> {
    stage.proxies.iter().for_each(|proxy| proxy.pass(pieces));
    let all_stuck = async {
        for proxy in &stage.proxies {
            proxy.until_stuck().await;
        }
    };
    let done = tokio::select! {
        biased;
        value = future => Some(value),
        () = all_stuck => None,
        () = tokio::time::sleep(QUIET) => None,
    };
    stage.proxies.iter().for_each(Proxy::pass_all);
    done
}

fn lock_of(locker: &Locker, keys: &[&str], is_renewed: bool) -> Lock {
    let lock = locker.locks(keys).unwrap().ttl(Duration::from_secs(60));
    if is_renewed { lock.renewed() } else { lock }
}

/// Waits until no lock stands, long before any TTL is over.
async fn until_all_free(stage: &Stage) {
    let is_free = |server: usize, key: &str| stage.ask(server, &["EXISTS", key]) == Value::Int(0);
    let all = || (0..stage.servers.len()).all(|server| is_free(server, "lock") && is_free(server, "a lock"));
    until(all, "everything is free").await;
}

/// Whether somebody else can have the locks, and nobody touches them then.
async fn somebody_else_can_have(stage: &Stage, keys: &[&str]) {
    until_all_free(stage).await;
    let lock = lock_of(&stage.somebody_else(), keys, false);
    let guard = soon(lock.acquire()).await.unwrap();
    assert_eq!(guard.release().await, Ok(Released::Freed));
}

/// For every number of servers, with and without renewal, for one lock and two.
async fn everywhere<F: AsyncFnMut(&Stage, &[&str], bool)>(mut test: F) {
    for count in [1, 3] {
        let stage = Stage::of(count).await;
        for keys in KEYS {
            for is_renewed in [false, true] {
                test(&stage, keys, is_renewed).await;
            }
        }
    }
}

/// A way of cutting a future short at the n-th moment: `polled` or `stopped`.
#[derive(Clone, Copy, Debug)]
enum Cutting {
    AtPolls,
    AtMessages,
}

impl Cutting {
    async fn cut<T>(self, stage: &Stage, future: impl Future<Output = T>, at: usize) -> Option<T> {
        match self {
            Self::AtPolls => soon(polled(future, at)).await,
            Self::AtMessages => soon(stopped(stage, future, at)).await,
        }
    }
}

async fn acquisitions(cutting: Cutting) {
    everywhere(async |stage, keys, is_renewed| {
        for at in 0.. {
            let lock = lock_of(&stage.locker(), keys, is_renewed);
            let done = cutting.cut(stage, lock.acquire(), at).await;
            let is_over = done.is_some();
            drop(done.map(Result::unwrap));
            somebody_else_can_have(stage, keys).await;
            if is_over {
                break;
            }
        }
    })
    .await;
}

#[tokio::test]
async fn an_acquisition_at_every_poll() {
    acquisitions(Cutting::AtPolls).await;
}

#[tokio::test]
async fn an_acquisition_at_every_message() {
    acquisitions(Cutting::AtMessages).await;
}

async fn guard_of(stage: &Stage, keys: &[&str], is_renewed: bool) -> Guard {
    soon(lock_of(&stage.locker(), keys, is_renewed).acquire()).await.unwrap()
}

async fn extensions(cutting: Cutting) {
    everywhere(async |stage, keys, is_renewed| {
        for at in 0.. {
            let guard = guard_of(stage, keys, is_renewed).await;
            let done = cutting.cut(stage, guard.extend(), at).await;
            assert!(guard.is_valid(), "{done:?}");
            if at % 2 == 0 {
                assert_eq!(soon(guard.release()).await, Ok(Released::Freed));
            } else {
                drop(guard);
            }
            somebody_else_can_have(stage, keys).await;
            if done.is_some() {
                break;
            }
        }
    })
    .await;
}

#[tokio::test]
async fn an_extension_at_every_poll() {
    extensions(Cutting::AtPolls).await;
}

#[tokio::test]
async fn an_extension_at_every_message() {
    extensions(Cutting::AtMessages).await;
}

async fn releases(cutting: Cutting) {
    everywhere(async |stage, keys, is_renewed| {
        for at in 0.. {
            let guard = guard_of(stage, keys, is_renewed).await;
            let done = cutting.cut(stage, guard.release(), at).await;
            somebody_else_can_have(stage, keys).await;
            if let Some(done) = done {
                assert_eq!(done, Ok(Released::Freed));
                break;
            }
        }
    })
    .await;
}

#[tokio::test]
async fn a_release_at_every_poll() {
    releases(Cutting::AtPolls).await;
}

#[tokio::test]
async fn a_release_at_every_message() {
    releases(Cutting::AtMessages).await;
}

/// How many moments of a wait are tried, which has no end.
const MOMENTS: usize = 10;

#[tokio::test]
async fn a_wait_for_another_holder_at_every_message() {
    everywhere(async |stage, keys, is_renewed| {
        let holder = soon(lock_of(&stage.somebody_else(), &["lock"], false).acquire()).await.unwrap();
        for at in 0..MOMENTS {
            let lock = lock_of(&stage.locker(), keys, is_renewed);
            let done = stopped(stage, lock.acquire(), at).await;
            assert!(done.is_none(), "it is taken");
            // The first lock of two is given back though the second was never had.
            until(|| stage.ask(0, &["EXISTS", "a lock"]) == Value::Int(0), "it is given back").await;
        }
        assert!(holder.is_valid());
        assert_eq!(holder.release().await, Ok(Released::Freed));
        somebody_else_can_have(stage, keys).await;
    })
    .await;
}

#[tokio::test]
async fn a_wait_that_is_dropped_as_the_lock_becomes_free() {
    everywhere(async |stage, keys, is_renewed| {
        for at in 0..MOMENTS {
            let holder = soon(lock_of(&stage.somebody_else(), &["lock"], false).acquire()).await.unwrap();
            let lock = lock_of(&stage.locker(), keys, is_renewed);
            let mut waiting = Box::pin(lock.acquire());
            let is_waiting = tokio::time::timeout(QUIET, waiting.as_mut()).await.is_err();
            assert!(is_waiting);
            let freed = soon(holder.release());
            let (done, freed) = tokio::join!(stopped(stage, waiting, at), freed);
            assert_eq!(freed, Ok(Released::Freed));
            drop(done.map(Result::unwrap));
            somebody_else_can_have(stage, keys).await;
        }
    })
    .await;
}

#[tokio::test]
async fn a_wait_for_another_one_in_the_same_process() {
    everywhere(async |stage, keys, is_renewed| {
        let lock = lock_of(&stage.locker(), keys, is_renewed);
        for at in 0..4 {
            let holder = soon(lock.acquire()).await.unwrap();
            let sent = stage.asked("NX");
            let dropped = tokio::time::timeout(QUIET / 10, polled(lock.acquire(), at)).await;
            assert!(!matches!(dropped, Ok(Some(_))), "it is taken");
            // Whoever comes behind does not wait for the one that went.
            let next = lock.clone();
            let waiting = tokio::spawn(async move { next.acquire().await });
            assert_eq!(stage.asked("NX"), sent, "nobody asks a server as long as it is held here");
            drop(holder);
            let next = soon(waiting).await.unwrap().unwrap();
            assert_eq!(soon(next.release()).await, Ok(Released::Freed));
            somebody_else_can_have(stage, keys).await;
        }
    })
    .await;
}

#[tokio::test]
async fn the_one_whose_turn_it_is_is_dropped_before_it_asks() {
    let stage = Stage::of(1).await;
    let lock = lock_of(&stage.locker(), &["lock"], false);
    let holder = lock.acquire().await.unwrap();
    let mut first = Box::pin(lock.acquire());
    let mut second = Box::pin(lock.acquire());
    assert!(polled(first.as_mut(), 1).await.is_none());
    assert!(polled(second.as_mut(), 1).await.is_none());
    holder.release().await.unwrap();
    drop(first);
    assert!(soon(second).await.is_ok());
}

#[tokio::test]
async fn a_time_limit_ends_a_wait_and_leaves_nothing() {
    everywhere(async |stage, keys, is_renewed| {
        let holder = soon(lock_of(&stage.somebody_else(), &["lock"], false).acquire()).await.unwrap();
        let lock = lock_of(&stage.locker(), keys, is_renewed);
        let limit = Duration::from_millis(40);
        let error = soon(lock.acquire_within(limit)).await.unwrap_err();
        assert_eq!(error, lab::lock::AcquireError::TimedOut { waited: limit });
        holder.release().await.unwrap();
        somebody_else_can_have(stage, keys).await;
    })
    .await;
}

#[tokio::test]
async fn what_is_dropped_is_not_renewed_any_more() {
    for count in [1, 3] {
        let stage = Stage::of(count).await;
        // Renewed every two thirds of a second.
        let lock = stage.lock().ttl(Duration::from_secs(4)).margin(Duration::from_secs(2)).renewed();
        let guard = lock.acquire().await.unwrap();
        stage.proxies.iter().for_each(|proxy| proxy.refuse(true));
        stage.proxies.iter().for_each(Proxy::cut_all);
        // Nobody can be told; what is left is the TTL.
        drop(guard);
        until_all_free(&stage).await;
        stage.proxies.iter().for_each(|proxy| proxy.refuse(false));
        somebody_else_can_have(&stage, &["lock"]).await;
    }
}
