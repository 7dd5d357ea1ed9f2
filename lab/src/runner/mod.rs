//! The job runner: a service that runs each job once at a time, however many of it there are on the same Redis.
//!
//! A job runs under the lock `job:<id>`, which is renewed while it works. Its result goes into a record on the same server
//! that looks at fencing tokens: a runner that was paused past its lock, and knows nothing of it, is refused there.

mod job;
mod limit;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{Path, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::args::Rate;
use crate::cli::Format;
use crate::failure::{Failure, reason};
use crate::interrupt::Ends;
use crate::lock::{Locker, metrics};
use crate::nodes::Node;
use crate::words::Wire;

use job::{Done, Job};

/// How long the server is waited for where no lock says how long.
const PATIENCE: Duration = Duration::from_secs(1);

/// How long locks may take to be given back, and the last answers to be sent, when the service ends.
const FAREWELL: Duration = Duration::from_secs(5);

/// How often old values of histograms are put together.
const UPKEEP_EVERY: Duration = Duration::from_secs(5);

/// The longest name of a job.
const LONGEST_NAME: usize = 64;

/// Counter: runs of jobs, by `outcome`. Never by job: there are too many of them.
const RUNS: &str = "runner_runs_total";

/// Histogram: how long requests for a run took, by `outcome`.
const RUN_DURATION: &str = "runner_run_duration_seconds";

/// How jobs are run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    /// How long a lock lasts without a renewal.
    pub(crate) ttl: Duration,
    /// How long the work takes.
    pub(crate) work: Duration,
    /// How often a job may be asked for.
    pub(crate) rate: Rate,
    /// How long jobs may go on when the service ends.
    pub(crate) grace: Duration,
}

/// Where the service stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Serves,
    /// Nothing new is begun.
    Ends,
    /// What is under way is cancelled.
    Cancels,
}

/// What requests share.
struct Shared {
    locker: Locker,
    node: Node,
    settings: Settings,
    phase: watch::Receiver<Phase>,
    prometheus: PrometheusHandle,
    /// Held by every job: when all are gone, all jobs are over.
    alive: mpsc::Sender<()>,
}

/// A service that listens.
pub(crate) struct Service {
    listener: TcpListener,
    address: SocketAddr,
    ends: Ends,
    shared: Shared,
    phase: watch::Sender<Phase>,
    alive: mpsc::Receiver<()>,
}

impl Service {
    /// Listens, and prepares everything.
    ///
    /// # Errors
    /// If the port is taken, the URL is none, or the TTL cannot be kept.
    pub(crate) async fn bind(address: SocketAddr, url: &str, settings: Settings) -> Result<Self, Failure> {
        let wrong = |error: &dyn std::fmt::Display| Failure::usage(error.to_string());
        let locker = Locker::redis(url).map_err(|error| wrong(&error))?;
        let lock = locker.lock("job").map_err(|error| wrong(&error))?;
        lock.ttl(settings.ttl).check_terms().map_err(|error| wrong(&format!("--ttl: {error}")))?;
        let node = Node::new(url).map_err(|error| wrong(&error))?;
        let ends =
            Ends::new().map_err(|error| Failure::input(format!("cannot wait for Ctrl-C: {}", reason(&error))))?;
        let listener = TcpListener::bind(address).await.map_err(|error| cannot_listen(address, &error))?;
        let address = listener.local_addr().unwrap_or(address);
        let prometheus = PrometheusBuilder::new()
            .set_buckets_for_metric(Matcher::Suffix("_duration_seconds".to_owned()), &metrics::BUCKETS)
            .and_then(PrometheusBuilder::install_recorder)
            .map_err(|error| Failure::Bug(error.to_string()))?;
        metrics::describe();
        ::metrics::describe_counter!(RUNS, "Runs of jobs that were asked for");
        ::metrics::describe_histogram!(RUN_DURATION, ::metrics::Unit::Seconds, "How long requests for a run took");
        let (phase, watched) = watch::channel(Phase::Serves);
        let (sender, alive) = mpsc::channel(1);
        let shared = Shared { locker, node, settings, phase: watched, prometheus, alive: sender };
        Ok(Self { listener, address, ends, shared, phase, alive })
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until a signal asks it to end, and all jobs are over.
    ///
    /// # Errors
    /// If connections cannot be accepted any more.
    pub(crate) async fn run(self) -> Result<(), Failure> {
        let Self { listener, address, mut ends, shared, phase, mut alive } = self;
        tracing::info!(%address, "the job runner is up");
        let grace = shared.settings.grace;
        let prometheus = shared.prometheus.clone();
        let upkeep = tokio::spawn(async move {
            loop {
                tokio::time::sleep(UPKEEP_EVERY).await;
                prometheus.run_upkeep();
            }
        });
        let mut ending = phase.subscribe();
        let router = Router::new()
            .route("/run/{job}", get(run).post(run))
            .route("/metrics", get(render))
            .route("/healthz", get(health))
            .fallback(nothing)
            .with_state(Arc::new(shared));
        let server = axum::serve(listener, router).with_graceful_shutdown(async move {
            // The sender lives as long as the service does.
            let _ = ending.wait_for(|phase| *phase != Phase::Serves).await;
        });
        let serving = tokio::spawn(server.into_future());
        ends.next().await;
        tracing::info!(grace_ms = grace.as_millis() as u64, "ending: jobs that run may go on for a while");
        phase.send_replace(Phase::Ends);
        tokio::select! {
            // Nobody sends anything: it is over when no job is left.
            _ = alive.recv() => {}
            () = tokio::time::sleep(grace) => tracing::warn!("jobs are cancelled: their time is over"),
            () = ends.next() => tracing::warn!("jobs are cancelled: asked to end a second time"),
        }
        phase.send_replace(Phase::Cancels);
        let all = async {
            alive.recv().await;
            serving.await
        };
        match tokio::time::timeout(FAREWELL, all).await {
            Ok(Ok(Err(error))) => return Err(Failure::input(format!("cannot serve: {}", reason(&error)))),
            Ok(Ok(Ok(())) | Err(_)) => tracing::info!("every lock is given back"),
            Err(_) => tracing::warn!("not everything has ended in time: locks that are left end with their TTL"),
        }
        upkeep.abort();
        Ok(())
    }
}

/// The log, on stderr.
///
/// # Errors
/// If the filter is none.
pub(crate) fn log(filter: &str, format: Format) -> Result<(), Failure> {
    let expected = "expected a level such as info, or targets and levels such as info,lab::lock=debug";
    let filter: Targets = filter.parse().map_err(|_| Failure::usage(format!("--log {filter}: {expected}")))?;
    let layer = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_ansi(false);
    let registry = tracing_subscriber::registry().with(filter);
    let done = match format {
        Format::Text => registry.with(layer).try_init(),
        Format::Json => registry.with(layer.json().flatten_event(true)).try_init(),
    };
    done.map_err(|error| Failure::Bug(error.to_string()))
}

fn cannot_listen(address: SocketAddr, error: &std::io::Error) -> Failure {
    let (why, help) = if error.kind() == std::io::ErrorKind::AddrInUse {
        ("somebody else listens there".to_owned(), "\n  help: another --port; 0 takes a free one")
    } else {
        (reason(error), "")
    };
    Failure::input(format!("cannot listen on {address}: {why}{help}"))
}

/// `/run/JOB`.
async fn run(State(shared): State<Arc<Shared>>, Path(name): Path<String>) -> Response {
    let begin = Instant::now();
    let done = match Job::named(&name) {
        None => Done::NoName,
        Some(_) if *shared.phase.borrow() != Phase::Serves => Done::Ending,
        // A task of its own: the job goes on if whoever asked for it goes away.
        Some(job) => tokio::spawn(job.run(Arc::clone(&shared))).await.unwrap_or(Done::Bug),
    };
    ::metrics::counter!(RUNS, "outcome" => done.word()).increment(1);
    ::metrics::histogram!(RUN_DURATION, "outcome" => done.word()).record(begin.elapsed());
    answer(&done, &name, begin.elapsed())
}

fn answer(done: &Done, name: &str, took: Duration) -> Response {
    let status = match done {
        Done::Ran { .. } => StatusCode::OK,
        Done::NoName => StatusCode::BAD_REQUEST,
        Done::Taken { .. } => StatusCode::CONFLICT,
        Done::TooOften { .. } => StatusCode::TOO_MANY_REQUESTS,
        Done::Lost | Done::Stale | Done::Bug => StatusCode::INTERNAL_SERVER_ERROR,
        Done::Cancelled | Done::Ending | Done::Unreachable(_) => StatusCode::SERVICE_UNAVAILABLE,
    };
    let mut body = json!({ "job": name, "outcome": done.word(), "took_ms": took.as_millis() as u64 });
    let wait = match done {
        Done::Ran { fence, runs } => {
            body["fence"] = json!(fence);
            body["runs"] = json!(runs);
            None
        }
        Done::Taken { left } => {
            body["remaining_ms"] = json!(left.map(|left| left.as_millis() as u64));
            Some(left.unwrap_or_default())
        }
        Done::TooOften { wait } => {
            body["retry_after_ms"] = json!(wait.as_millis() as u64);
            Some(*wait)
        }
        Done::NoName => {
            // Whatever it was, it may be long, and it is known to whoever sent it.
            body["job"] = json!(null);
            None
        }
        Done::Lost | Done::Stale | Done::Bug | Done::Cancelled | Done::Ending | Done::Unreachable(_) => None,
    };
    if !matches!(done, Done::Ran { .. }) {
        body["error"] = json!(done.to_string());
    }
    let mut response = (status, axum::Json(body)).into_response();
    if let Some(wait) = wait {
        // Whole seconds, and a begun one counts: nobody shall come back too early.
        let seconds = (wait.as_millis().div_ceil(1000) as u64).max(1);
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

/// `/metrics`.
async fn render(State(shared): State<Arc<Shared>>) -> Response {
    let kind = [(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")];
    (kind, shared.prometheus.render()).into_response()
}

/// `/healthz`.
async fn health(State(shared): State<Arc<Shared>>) -> Response {
    let ping = Wire::Command(redis::cmd("PING"));
    let (status, body) = match shared.node.send(ping, Instant::now() + PATIENCE).await {
        Ok(_) => (StatusCode::OK, json!({ "status": "ok" })),
        Err(failure) => {
            (StatusCode::SERVICE_UNAVAILABLE, json!({ "status": "unreachable", "error": failure.to_string() }))
        }
    };
    (status, axum::Json(body)).into_response()
}

async fn nothing() -> Response {
    let error = "expected /run/JOB, /metrics or /healthz";
    (StatusCode::NOT_FOUND, axum::Json(json!({ "error": error }))).into_response()
}
