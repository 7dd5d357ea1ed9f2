//! Waiting for a lock: woken by notifications, in order, whatever becomes of the connection.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use lab::lock::{Lock, Locker};

use super::proxy::Flow;
use super::{Stage, persistent, soon, until};

/// Whoever is woken by a poll is not woken.
const NEVER: Duration = Duration::from_secs(3600);

const TTL: Duration = Duration::from_secs(7200);

fn patient(locker: &Locker) -> Lock {
    locker.lock("lock").unwrap().ttl(TTL).retry(NEVER, NEVER)
}

/// How many clients listen to the lock.
fn listeners(stage: &Stage) -> i64 {
    let answer = stage.ask(0, &["PUBSUB", "NUMSUB", "lock:freed"]);
    let (_, count): (String, i64) = redis::from_redis_value(answer).unwrap();
    count
}

/// How often the lock has been asked for by those who wait.
fn tries(stage: &Stage) -> usize {
    stage.asked(":fence")
}

/// A task that waits for the lock, and has been refused once since it listens.
async fn waiter(stage: &Stage, lock: Lock) -> tokio::task::JoinHandle<lab::lock::Guard> {
    let before = listeners(stage);
    let waiting = tokio::spawn(async move { lock.acquire().await.unwrap() });
    until(|| listeners(stage) > before, "it listens").await;
    until_refused(stage).await;
    waiting
}

/// Waits until nobody is asking for the lock any more.
async fn until_refused(stage: &Stage) {
    // A try after the subscription follows it at once; it is over when nothing more comes.
    let mut seen = tries(stage);
    loop {
        tokio::time::sleep(Duration::from_millis(100)).await;
        let now = tries(stage);
        if now == seen {
            return;
        }
        seen = now;
    }
}

#[tokio::test]
async fn a_waiter_is_woken_by_the_release_and_not_by_a_poll() {
    let stage = Stage::of(1).await;
    let holder = patient(&stage.somebody_else()).acquire().await.unwrap();
    let waiting = waiter(&stage, patient(&stage.locker())).await;
    let asked = tries(&stage);
    holder.release().await.unwrap();
    let guard = soon(waiting).await.unwrap();
    assert!(guard.is_valid());
    assert!(tries(&stage) > asked);
    drop(guard);
    stage.until_free().await;
    until(|| listeners(&stage) == 0, "nobody listens for ever").await;
}

#[tokio::test]
async fn a_waiter_listens_before_it_tries() {
    let stage = Stage::of(1).await;
    let holder = patient(&stage.somebody_else()).acquire().await.unwrap();
    let lock = patient(&stage.locker());
    // The first try finds the lock taken; the subscription then comes before the next one.
    let waiting = tokio::spawn(async move { lock.acquire().await.unwrap() });
    stage.proxies[0].until_asked(":fence", 1).await;
    stage.proxies[0].until_asked("SUBSCRIBE", 1).await;
    until(|| listeners(&stage) == 1, "it listens").await;
    // Whenever the release comes, before the next try or after it, the waiter does not sleep through it.
    holder.release().await.unwrap();
    assert!(soon(waiting).await.unwrap().is_valid());
}

#[tokio::test]
async fn a_release_between_the_first_try_and_the_subscription_is_not_missed() {
    let stage = Stage::of(1).await;
    for pieces in 0..16 {
        let holder = patient(&stage.somebody_else()).acquire().await.unwrap();
        let lock = patient(&stage.locker());
        stage.proxies[0].pass(pieces);
        let waiting = tokio::spawn(async move { lock.acquire().await.unwrap() });
        let _ = tokio::time::timeout(Duration::from_millis(200), stage.proxies[0].until_stuck()).await;
        holder.release().await.unwrap();
        stage.proxies[0].pass_all();
        drop(soon(waiting).await.unwrap());
        stage.until_free().await;
    }
}

#[tokio::test]
async fn a_lost_notification_costs_only_time() {
    let stage = Stage::of(1).await;
    let holder = patient(&stage.somebody_else()).acquire().await.unwrap();
    let poll = Duration::from_millis(400);
    let waiting = waiter_that_polls(&stage, poll).await;
    stage.proxies[0].replies(Flow::IsDropped);
    holder.release().await.unwrap();
    until(|| stage.proxies[0].dropped() > 0, "the notification is lost").await;
    stage.proxies[0].replies(Flow::Passes);
    assert!(soon(waiting).await.unwrap().is_valid());
}

async fn waiter_that_polls(stage: &Stage, delay: Duration) -> tokio::task::JoinHandle<lab::lock::Guard> {
    let lock = patient(&stage.locker()).retry(delay, delay);
    let waiting = tokio::spawn(async move { lock.acquire().await.unwrap() });
    until(|| listeners(stage) == 1, "it listens").await;
    waiting
}

#[tokio::test]
async fn waiters_in_one_process_have_their_turns_in_order() {
    let stage = Stage::of(1).await;
    let lock = patient(&stage.locker());
    let holder = lock.acquire().await.unwrap();
    let (order, mut waiting) = (Arc::new(Mutex::new(Vec::new())), Vec::new());
    for number in 0..5 {
        let (lock, order) = (lock.clone(), Arc::clone(&order));
        waiting.push(tokio::spawn(async move {
            let guard = lock.acquire().await.unwrap();
            order.lock().unwrap().push(number);
            guard.release().await.unwrap();
        }));
        // On one thread: it takes its place before the next one comes.
        tokio::task::yield_now().await;
    }
    let asked = tries(&stage);
    holder.release().await.unwrap();
    for task in waiting {
        soon(task).await.unwrap();
    }
    assert_eq!(*order.lock().unwrap(), [0, 1, 2, 3, 4]);
    assert_eq!(tries(&stage), asked + 5, "each asks once");
    assert_eq!(stage.asked("SUBSCRIBE"), 0, "nobody needs a notification");
}

#[tokio::test]
async fn many_waiters_elsewhere_all_get_on() {
    let stage = Stage::of(1).await;
    let holder = patient(&stage.somebody_else()).acquire().await.unwrap();
    let mut waiting = Vec::new();
    for _ in 0..5 {
        let lock = patient(&stage.locker());
        waiting.push(tokio::spawn(async move {
            lock.acquire().await.unwrap().release().await.unwrap();
        }));
    }
    until(|| listeners(&stage) == 5, "all listen").await;
    holder.release().await.unwrap();
    for task in waiting {
        soon(task).await.unwrap();
    }
    stage.until_free().await;
}

#[tokio::test]
async fn a_release_while_the_connection_for_notifications_is_cut_is_heard_of_later() {
    let stage = Stage::of(1).await;
    let holder = patient(&stage.somebody_else()).acquire().await.unwrap();
    let waiting = waiter(&stage, patient(&stage.locker())).await;
    stage.proxies[0].refuse(true);
    stage.proxies[0].cut_all();
    until(|| listeners(&stage) == 0, "nobody listens any more").await;
    holder.release().await.unwrap();
    stage.proxies[0].refuse(false);
    assert!(soon(waiting).await.unwrap().is_valid());
}

#[tokio::test]
async fn waiters_get_on_after_a_restart() {
    for keeps in [false, true] {
        let servers = vec![if keeps { persistent() } else { super::server() }];
        let mut stage = Stage::with(servers).await;
        let holder = patient(&stage.somebody_else()).acquire().await.unwrap();
        let waiting = waiter(&stage, patient(&stage.locker())).await;
        stage.servers[0].restart().unwrap();
        if keeps {
            until(|| listeners(&stage) == 1, "it listens again").await;
            assert!(!waiting.is_finished());
            drop(holder);
        }
        assert!(soon(waiting).await.unwrap().is_valid());
    }
}

#[tokio::test]
async fn whoever_waits_for_a_holder_that_crashed_gets_on() {
    let stage = Stage::of(1).await;
    stage.ask(0, &["SET", "lock", "crashed", "PX", "600"]);
    let lock = stage.lock();
    assert!(soon(lock.acquire()).await.unwrap().is_valid());
}

#[tokio::test]
async fn a_server_that_comes_up_later_is_found() {
    let mut stage = Stage::of(1).await;
    stage.servers[0].kill();
    let lock = patient(&stage.locker());
    let waiting = tokio::spawn(async move { lock.acquire().await.unwrap() });
    until(|| stage.proxies[0].refused() >= 3, "it has been tried").await;
    stage.servers[0].restart().unwrap();
    assert!(soon(waiting).await.unwrap().is_valid());
}

#[tokio::test]
async fn waiting_by_polling_alone_needs_no_subscription() {
    let stage = Stage::of(1).await;
    let holder = patient(&stage.somebody_else()).acquire().await.unwrap();
    let lock = stage.lock().polled().retry(Duration::from_millis(10), Duration::from_millis(30));
    let waiting = tokio::spawn(async move { lock.acquire().await.unwrap() });
    stage.proxies[0].until_asked(":fence", 3).await;
    holder.release().await.unwrap();
    assert!(soon(waiting).await.unwrap().is_valid());
    assert_eq!(stage.asked("SUBSCRIBE"), 0);
}
