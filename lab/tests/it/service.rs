//! Commands that go on until they are asked to end: `up` and `runner`, and `doctor`, which looks whether they can.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use lab::servers::{Options, Server};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::run::{command, lab};

/// How long anything may take that will surely happen.
const PATIENCE: Duration = Duration::from_secs(30);

/// A process under way, killed when the test is over.
struct Service {
    child: Child,
    lines: BufReader<std::process::ChildStdout>,
}

impl Service {
    fn start(arguments: &[&str]) -> Self {
        let mut child = command(arguments).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        Self { child, lines }
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        line
    }

    fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.child.id() as i32), signal).unwrap();
    }

    fn code(&mut self) -> Option<i32> {
        let mut status = None;
        until(|| {
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        status.unwrap().code()
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn until(mut is_so: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < PATIENCE, "waited in vain");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Whether a process is there, and has not ended.
fn runs(id: u64) -> bool {
    std::fs::read_to_string(format!("/proc/{id}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

fn up_ends(arguments: &[&str], servers: usize, signal: Signal) -> Option<i32> {
    let mut up = Service::start(&[&["up", "--format", "json"], arguments].concat());
    let started: Value = serde_json::from_str(&up.line()).unwrap();
    let list = started["servers"].as_array().unwrap();
    assert_eq!(list.len(), servers);
    let ids: Vec<u64> = list.iter().map(|server| server["process_id"].as_u64().unwrap()).collect();
    let folders: Vec<&str> = list.iter().map(|server| server["folder"].as_str().unwrap()).collect();
    assert!(ids.iter().all(|id| runs(*id)) && folders.iter().all(|folder| Path::new(folder).exists()));
    for server in list {
        let mut connection = redis::Client::open(server["url"].as_str().unwrap()).unwrap().get_connection().unwrap();
        assert_eq!(redis::cmd("PING").query::<String>(&mut connection).unwrap(), "PONG");
    }
    up.signal(signal);
    let code = up.code();
    until(|| !ids.iter().any(|id| runs(*id)) && !folders.iter().any(|folder| Path::new(folder).exists()));
    code
}

#[test]
fn servers_end_with_whoever_started_them_however_it_ends() {
    assert_eq!(up_ends(&[], 1, Signal::SIGINT), Some(0));
    assert_eq!(up_ends(&["redlock"], 5, Signal::SIGTERM), Some(0));
    assert_eq!(up_ends(&["redlock", "--servers", "3", "--persistence", "always"], 3, Signal::SIGKILL), None);
}

#[test]
fn up_says_how_to_reach_a_server() {
    let mut up = Service::start(&["up"]);
    assert_eq!(up.line(), "1 server is up (nothing is kept on disk):\n");
    let line = up.line();
    assert!(line.starts_with("  redis://127.0.0.1:") && line.contains("redis-cli -p "), "{line}");
    up.signal(Signal::SIGINT);
    assert_eq!(up.code(), Some(0));
}

#[test]
fn the_doctor_finds_what_is_there_and_names_the_line_that_installs_the_rest() {
    let found: Value = serde_json::from_str(&lab(&["doctor", "--format", "json"]).ok(0)).unwrap();
    assert_eq!((found["schema"].as_u64(), found["complete"].as_bool()), (Some(1), Some(true)));
    // A folder without any program.
    let empty = crate::run::Folder::new();
    let output = command(&["doctor"]).env("PATH", &empty.0).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("\n  apt-get install redis-server\n"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let output = command(&["up"]).env("PATH", &empty.0).output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("apt-get install redis-server"), "{text}");
}

/// A job runner under way.
struct Runner {
    service: Service,
    url: String,
}

/// An answer: its status, its header Retry-After, its body.
struct Answered {
    status: u16,
    retry_after: Option<String>,
    body: Value,
}

impl Runner {
    fn start(redis: &Server, arguments: &[&str]) -> Self {
        let url = redis.url();
        let mut service = Service::start(&[&["runner", "--port", "0", "--redis", &url], arguments].concat());
        let line = service.line();
        let url = line.trim().rsplit(' ').next().unwrap().to_owned();
        assert!(url.starts_with("http://127.0.0.1:"), "{line}");
        Self { service, url }
    }

    fn get(&self, path: &str) -> Answered {
        get(&self.url, path).unwrap()
    }

    /// Asks for a run on a thread of its own. None: the connection broke.
    fn run(&self, job: &str) -> thread::JoinHandle<Option<Answered>> {
        let (url, path) = (self.url.clone(), format!("/run/{job}"));
        thread::spawn(move || get(&url, &path).ok())
    }
}

fn get(url: &str, path: &str) -> Result<Answered, ureq::Error> {
    let agent: ureq::Agent = ureq::Agent::config_builder().http_status_as_error(false).build().into();
    let mut answer = agent.get(format!("{url}{path}")).call()?;
    let retry_after = answer.headers().get("retry-after").map(|value| value.to_str().unwrap().to_owned());
    let text = answer.body_mut().read_to_string()?;
    let body = serde_json::from_str(&text).unwrap_or(Value::String(text));
    Ok(Answered { status: answer.status().as_u16(), retry_after, body })
}

fn redis() -> Server {
    Server::start(&Options::default()).unwrap()
}

fn ask<T: redis::FromRedisValue>(server: &Server, command: &[&str]) -> T {
    let mut connection = redis::Client::open(server.url()).unwrap().get_connection().unwrap();
    redis::cmd(command[0]).arg(&command[1..]).query(&mut connection).unwrap()
}

fn is_locked(server: &Server, job: &str) -> bool {
    ask::<u8>(server, &["EXISTS", &format!("job:{job}")]) == 1
}

#[test]
fn two_runners_run_a_job_once_at_a_time() {
    let server = redis();
    let arguments = ["--work", "20ms", "--rate", "none"];
    let runners = [Runner::start(&server, &arguments), Runner::start(&server, &arguments)];
    let (mut ran, mut taken) = (Vec::new(), 0);
    while ran.len() < 6 || taken == 0 {
        let asked: Vec<_> = runners.iter().chain(&runners).map(|runner| runner.run("7")).collect();
        for answer in asked {
            let answer = answer.join().unwrap().unwrap();
            match answer.status {
                200 => ran.push((answer.body["fence"].as_u64().unwrap(), answer.body["runs"].as_u64().unwrap())),
                409 => taken += 1,
                _ => panic!("{} {}", answer.status, answer.body),
            }
        }
    }
    // A run reads the count at its beginning and writes it at its end: had two overlapped, one would have been lost.
    ran.sort_unstable();
    let counts: Vec<u64> = ran.iter().map(|(_, runs)| *runs).collect();
    assert_eq!(counts, (1..=ran.len() as u64).collect::<Vec<_>>(), "in the order of their tokens");
    let balance: u64 = ask(&server, &["HGET", "{job:7}:record", "balance"]);
    assert_eq!(balance, ran.len() as u64);
}

#[test]
fn a_killed_runner_leaves_its_job_to_the_other_after_the_ttl_with_a_greater_token() {
    let server = redis();
    let mut first = Runner::start(&server, &["--work", "1h", "--ttl", "2s", "--rate", "none"]);
    let second = Runner::start(&server, &["--work", "10ms", "--ttl", "2s", "--rate", "none"]);
    let asked = first.run("7");
    until(|| is_locked(&server, "7"));
    let before: u64 = ask(&server, &["GET", "{job:7}:fence"]);
    let refused = second.get("/run/7");
    assert_eq!(refused.status, 409);
    assert!(refused.body["remaining_ms"].as_u64().is_some_and(|left| left <= 2000), "{}", refused.body);
    assert!(refused.retry_after.is_some_and(|wait| (1..=2).contains(&wait.parse().unwrap())));
    first.service.signal(Signal::SIGKILL);
    assert_eq!(first.service.code(), None);
    assert!(asked.join().unwrap().is_none());
    let mut answer = second.get("/run/7");
    until(|| {
        if answer.status == 409 {
            answer = second.get("/run/7");
        }
        answer.status != 409
    });
    assert_eq!(answer.status, 200, "{}", answer.body);
    assert!(answer.body["fence"].as_u64().unwrap() > before, "{}", answer.body);
    assert_eq!(answer.body["runs"], 1, "what was cut off was not recorded");
}

#[test]
fn a_job_that_loses_its_lock_is_cancelled_and_says_so() {
    let server = redis();
    let runner = Runner::start(&server, &["--work", "1h", "--ttl", "1s"]);
    let asked = runner.run("7");
    until(|| is_locked(&server, "7"));
    ask::<u8>(&server, &["DEL", "job:7"]);
    let answer = asked.join().unwrap().unwrap();
    assert_eq!((answer.status, answer.body["outcome"].as_str()), (500, Some("lost")), "{}", answer.body);
    assert_eq!(ask::<u8>(&server, &["HEXISTS", "{job:7}:record", "balance"]), 0);
}

#[test]
fn what_is_asked_too_often_or_is_no_job_is_refused() {
    let server = redis();
    let arguments = ["--work", "1ms", "--rate", "2/1h"];
    let runners = [Runner::start(&server, &arguments), Runner::start(&server, &arguments)];
    assert_eq!(runners[0].get("/run/7").status, 200);
    assert_eq!(runners[1].get("/run/7").status, 200);
    let answer = runners[0].get("/run/7");
    assert_eq!((answer.status, answer.body["outcome"].as_str()), (429, Some("too-often")), "both count together");
    assert!(answer.retry_after.is_some_and(|wait| (1..=1800).contains(&wait.parse().unwrap())));
    assert_eq!(runners[0].get("/run/8").status, 200, "each job has a rate of its own");
    for path in ["/run/a%20b", "/run/%7Ba%7D", "/run/a%0Ab"] {
        let answer = runners[0].get(path);
        assert_eq!((answer.status, answer.body["job"].clone()), (400, Value::Null), "{path}");
    }
    assert_eq!(runners[0].get("/elsewhere").status, 404);
}

#[test]
fn metrics_are_by_outcome_and_never_by_job() {
    let server = redis();
    let runner = Runner::start(&server, &["--work", "1ms"]);
    assert_eq!(runner.get("/run/secret").status, 200);
    let Value::String(text) = runner.get("/metrics").body else { panic!("metrics are text") };
    for line in [
        r#"lock_attempts_total{backend="redis",class="job"} 1"#,
        r#"lock_releases_total{backend="redis",class="job",outcome="freed"} 1"#,
        r#"lock_acquire_duration_seconds_count{backend="redis",class="job",outcome="acquired"} 1"#,
        r#"runner_runs_total{outcome="ran"} 1"#,
        "# TYPE lock_hold_duration_seconds histogram",
    ] {
        assert!(text.lines().any(|found| found == line), "{line}\n{text}");
    }
    assert!(!text.contains("secret"), "{text}");
}

#[test]
fn it_is_healthy_as_long_as_its_server_answers() {
    let server = redis();
    let runner = Runner::start(&server, &[]);
    assert_eq!(runner.get("/healthz").status, 200);
    server.freeze().unwrap();
    assert_eq!(runner.get("/healthz").status, 503);
    let answer = runner.get("/run/7");
    assert_eq!((answer.status, answer.body["outcome"].as_str()), (503, Some("unreachable")), "{}", answer.body);
    server.thaw().unwrap();
    until(|| runner.get("/healthz").status == 200);
}

#[test]
fn asked_to_end_it_cancels_what_is_left_and_gives_every_lock_back() {
    let server = redis();
    let mut runner = Runner::start(&server, &["--work", "1h", "--ttl", "1h", "--grace", "50ms"]);
    let asked = runner.run("7");
    until(|| is_locked(&server, "7"));
    runner.service.signal(Signal::SIGTERM);
    let answer = asked.join().unwrap().unwrap();
    assert_eq!((answer.status, answer.body["outcome"].as_str()), (503, Some("cancelled")), "{}", answer.body);
    assert_eq!(runner.service.code(), Some(0));
    assert!(!is_locked(&server, "7"));
}

#[test]
fn a_port_that_is_taken_is_named() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let told = lab(&["runner", "--port", &port, "--redis", "127.0.0.1:1"]).failed(1);
    assert!(told.contains(&format!("cannot listen on 127.0.0.1:{port}: somebody else listens there")), "{told}");
    assert!(lab(&["runner", "--ttl", "1ms"]).failed(2).contains("--ttl: expected a TTL"));
    assert!(lab(&["runner", "--rate", "often"]).failed(2).contains("expected a rate such as 30/1m"));
}
