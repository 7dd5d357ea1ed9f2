//! What the locks count, heard by a recorder of our own.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Once;
use std::time::Duration;

use ::metrics::LocalRecorderGuard;
use lab::account::{Account, Answer, Write};
use lab::lock::{AcquireError, ExtendError, Released, metrics};
use metrics_util::debugging::{DebugValue, DebuggingRecorder, Snapshotter};
use protocol::{Fence, Seen, TokenCheck};
use redis::Value;
use tracing::Subscriber;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::layer::{Layer, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;
use world::Compare;

use super::proxy::Flow;
use super::{Stage, soon, until};

/// Hears what is counted on this thread: tests have a runtime each, with one thread.
struct Heard {
    snapshots: Snapshotter,
    /// By name and labels: how often, or how many values.
    counts: BTreeMap<String, u64>,
}

impl Heard {
    fn new(recorder: &DebuggingRecorder) -> (Self, LocalRecorderGuard<'_>) {
        let guard = ::metrics::set_default_local_recorder(recorder);
        (Self { snapshots: recorder.snapshotter(), counts: BTreeMap::new() }, guard)
    }

    /// All of it, as `name{label=value,…}`.
    fn all(&mut self) -> &BTreeMap<String, u64> {
        for (key, _, _, value) in self.snapshots.snapshot().into_vec() {
            let (name, labels) = key.key().clone().into_parts();
            let labels: Vec<String> = labels.iter().map(|label| format!("{}={}", label.key(), label.value())).collect();
            // A snapshot takes what it shows away.
            *self.counts.entry(format!("{}{{{}}}", name.as_str(), labels.join(","))).or_default() += match value {
                DebugValue::Counter(count) => count,
                DebugValue::Histogram(values) => values.len() as u64,
                DebugValue::Gauge(_) => 0,
            };
        }
        &self.counts
    }

    fn count(&mut self, name: &str, labels: &str) -> u64 {
        self.all().get(&format!("{name}{{{labels}}}")).copied().unwrap_or(0)
    }
}

#[tokio::test]
async fn what_happens_to_a_lock_is_counted() {
    let recorder = DebuggingRecorder::new();
    let (mut heard, _guard) = Heard::new(&recorder);
    let stage = Stage::of(1).await;
    let lock = stage.lock().class("orders");
    let guard = lock.acquire().await.unwrap();
    assert_eq!(heard.count(metrics::ATTEMPTS, "backend=redis,class=orders"), 1);
    assert_eq!(heard.count(metrics::ACQUIRE_DURATION, "backend=redis,class=orders,outcome=acquired"), 1);
    assert_eq!(heard.count(metrics::CONTENTION, "backend=redis,class=orders"), 0);
    assert_eq!(heard.count(metrics::HOLD_DURATION, "backend=redis,class=orders"), 0);

    let other = stage.locker().lock("lock").unwrap().class("others");
    assert_eq!(other.try_acquire().await.unwrap_err(), AcquireError::Taken);
    assert_eq!(lock.try_acquire().await.unwrap_err(), AcquireError::Taken);
    assert_eq!(heard.count(metrics::CONTENTION, "backend=redis,class=others"), 1, "found on the server");
    assert_eq!(heard.count(metrics::CONTENTION, "backend=redis,class=orders"), 1, "found in the process");
    assert_eq!(heard.count(metrics::ACQUIRE_DURATION, "backend=redis,class=others,outcome=taken"), 1);

    assert!(lock.acquire_within(Duration::from_millis(20)).await.is_err());
    assert_eq!(heard.count(metrics::ACQUIRE_DURATION, "backend=redis,class=orders,outcome=given-up"), 1);

    guard.extend().await.unwrap();
    assert_eq!(heard.count(metrics::RENEWALS, "backend=redis,class=orders,outcome=renewed"), 1);
    assert_eq!(guard.release().await, Ok(Released::Freed));
    assert_eq!(heard.count(metrics::RELEASES, "backend=redis,class=orders,outcome=freed"), 1);
    assert_eq!(heard.count(metrics::HOLD_DURATION, "backend=redis,class=orders"), 1);
    assert_eq!(heard.count(metrics::LOST, "backend=redis,class=orders"), 0);
}

#[tokio::test]
async fn a_loss_is_counted_once_with_the_renewal_that_was_refused() {
    let recorder = DebuggingRecorder::new();
    let (mut heard, _guard) = Heard::new(&recorder);
    let stage = Stage::of(1).await;
    let guard = stage.lock().acquire().await.unwrap();
    stage.ask(0, &["DEL", "lock"]);
    assert_eq!(guard.extend().await, Err(ExtendError::Lost));
    assert_eq!(heard.count(metrics::RENEWALS, "backend=redis,class=default,outcome=refused"), 1);
    assert_eq!(heard.count(metrics::LOST, "backend=redis,class=default"), 1);
    assert_eq!(heard.count(metrics::HOLD_DURATION, "backend=redis,class=default"), 1);
    drop(guard);
    let gone = |heard: &mut Heard| heard.count(metrics::RELEASES, "backend=redis,class=default,outcome=was-gone");
    until(|| gone(&mut heard) == 1, "the release is counted").await;
    assert_eq!(heard.count(metrics::HOLD_DURATION, "backend=redis,class=default"), 1);
}

#[tokio::test]
async fn a_server_that_does_not_answer_is_counted_by_what_is_known_of_the_request() {
    let recorder = DebuggingRecorder::new();
    let (mut heard, _guard) = Heard::new(&recorder);
    let stage = Stage::of(1).await;
    let guard = stage.lock().acquire().await.unwrap();
    stage.proxies[0].replies(Flow::IsDropped);
    assert_eq!(guard.extend().await, Err(ExtendError::Unanswered));
    assert_eq!(heard.count(metrics::RENEWALS, "backend=redis,class=default,outcome=unanswered"), 1);
    assert_eq!(heard.count(metrics::NODE_ERRORS, "backend=redis,class=default,outcome=unknown"), 1);
    assert!(soon(guard.release()).await.is_err());
    assert_eq!(heard.count(metrics::RELEASES, "backend=redis,class=default,outcome=unanswered"), 1);

    let stage = Stage::of(1).await;
    stage.proxies[0].refuse(true);
    assert!(matches!(stage.lock().try_acquire().await, Err(AcquireError::Unreachable { .. })));
    assert_eq!(heard.count(metrics::ACQUIRE_DURATION, "backend=redis,class=default,outcome=unreachable"), 1);

    let stage = Stage::of(1).await;
    stage.ask(0, &["SET", "{lock}:fence", "no number"]);
    assert!(matches!(stage.lock().try_acquire().await, Err(AcquireError::Unreachable { .. })));
    assert!(heard.count(metrics::NODE_ERRORS, "backend=redis,class=default,outcome=refused") >= 1);
}

#[tokio::test]
async fn a_majority_has_a_label_of_its_own() {
    let recorder = DebuggingRecorder::new();
    let (mut heard, _guard) = Heard::new(&recorder);
    let stage = Stage::of(3).await;
    let guard = stage.lock().acquire().await.unwrap();
    assert_eq!(guard.release().await, Ok(Released::Freed));
    assert_eq!(heard.count(metrics::ATTEMPTS, "backend=redlock,class=default"), 1, "one, however many servers");
    assert_eq!(heard.count(metrics::RELEASES, "backend=redlock,class=default,outcome=freed"), 1);
}

#[tokio::test]
async fn what_an_account_refuses_is_counted_by_who_was_refused() {
    let recorder = DebuggingRecorder::new();
    let (mut heard, _guard) = Heard::new(&recorder);
    let stage = Stage::of(1).await;
    let lock = stage.lock().class("payments");
    let account = Account { key: b"account".to_vec(), check: TokenCheck::OnWrite, compare: Compare::GreaterOrEqual };
    let write = |fence: u64, name: &'static [u8]| {
        let fence = Some(Fence(fence as u32));
        let call = account.write(Write { fence, seen: Seen(0), balance: 1, name });
        let mut connection = redis::Client::open(stage.servers[0].url()).unwrap().get_connection().unwrap();
        let answer: Value = call.command(lab::words::By::Text).query(&mut connection).unwrap();
        account.answer(&answer).unwrap()
    };
    assert!(matches!(write(2, b"second"), Answer::Accepted { .. }));
    assert_eq!(write(1, b"first"), Answer::Stale);
    lock.count_rejection(Some(1));
    assert_eq!(heard.count(metrics::FENCING_REJECTIONS, "backend=redis,class=payments"), 1);
}

thread_local! {
    /// What is logged on this thread, for those who look at the level INFO and for those who look at DEBUG. A test has a
    /// thread of its own.
    static LOGS: RefCell<[Vec<u8>; 2]> = RefCell::default();
}

/// Writes into the log of this thread.
struct Log(usize);

impl std::io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        LOGS.with_borrow_mut(|logs| logs[self.0].extend_from_slice(bytes));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn layer<S: Subscriber + for<'a> LookupSpan<'a>>(log: usize, level: LevelFilter) -> impl Layer<S> {
    tracing_subscriber::fmt::layer().with_ansi(false).with_writer(move || Log(log)).with_filter(level)
}

/// Listens for the whole process: whether anybody listens is remembered for all threads.
fn listen() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let subscriber =
            tracing_subscriber::registry().with(layer(0, LevelFilter::INFO)).with(layer(1, LevelFilter::DEBUG));
        tracing::subscriber::set_global_default(subscriber).unwrap();
    });
}

#[tokio::test]
async fn the_key_is_logged_for_those_alone_who_look_closely() {
    listen();
    let mut stage = Stage::of(1).await;
    let lock = stage.locker().lock("secret\n").unwrap().class("orders");
    let guard = lock.acquire().await.unwrap();
    guard.extend().await.unwrap();
    assert!(stage.locker().lock("secret\n").unwrap().try_acquire().await.is_err());
    stage.ask(0, &["FLUSHALL"]);
    assert_eq!(guard.extend().await, Err(ExtendError::Lost));
    drop(guard);
    stage.servers[0].kill();
    assert!(stage.locker().lock("secret\n").unwrap().try_acquire().await.is_err());
    let [info, debug] = LOGS.take().map(|log| String::from_utf8(log).unwrap());
    assert!(info.contains("the lock is lost") && info.contains("a lock server failed"), "{info}");
    assert!(!info.contains("secret"), "{info}");
    assert!(debug.contains("secret\\n"), "escaped: {debug}");
}

#[tokio::test]
async fn no_label_holds_the_key() {
    let recorder = DebuggingRecorder::new();
    let (mut heard, _guard) = Heard::new(&recorder);
    metrics::describe();
    let stage = Stage::of(1).await;
    let lock = stage.locker().locks(&["the-key", "the-other-key"]).unwrap().class("orders");
    let guard = lock.acquire().await.unwrap();
    guard.extend().await.unwrap();
    assert!(stage.locker().lock("the-key").unwrap().try_acquire().await.is_err());
    let released = guard.release().await;
    assert_eq!(released, Ok(Released::Freed), "{:?}", heard.all());
    let all = heard.all();
    assert!(all.len() >= 6 && all.keys().all(|name| name.starts_with("lock_")), "{all:?}");
    assert!(!all.keys().any(|name| name.contains("key")), "{all:?}");
}
