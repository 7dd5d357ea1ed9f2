//! The task that sends the commands to one server.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::task::{Context, Poll};

use futures_util::future::BoxFuture;
use redis::{ErrorKind, RedisError, ServerErrorKind, Value};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Duration, Instant, sleep_until};

use super::address::Address;
use super::line::{Line, Open, Sent};
use super::{Bearing, Failure};
use crate::words::{By, Wire};

/// For how long nobody tries again to connect to a server that could not be connected to: at first, and at most.
const PAUSES: (Duration, Duration) = (Duration::from_millis(10), Duration::from_secs(1));

/// How many connections that were given up for their silence are kept.
const MOST_SILENT: usize = 8;

/// A command that wants to be sent.
pub(super) struct Request {
    pub(super) wire: Wire,
    pub(super) bearing: Bearing,
    /// Nobody waits for the answer after this.
    pub(super) deadline: Instant,
    pub(super) answer: Option<oneshot::Sender<Result<Value, Failure>>>,
    /// Whether it was sent before, on a connection that broke: it may have been carried out then.
    pub(super) again: bool,
}

impl Request {
    /// A copy that nobody waits for.
    fn copy(&self) -> Self {
        let (wire, bearing) = (self.wire.clone(), self.bearing.clone());
        Self { wire, bearing, deadline: self.deadline, answer: None, again: true }
    }

    fn tell(&mut self, result: Result<Value, Failure>) {
        if let Some(answer) = self.answer.take() {
            // Whoever asked may have gone.
            let _ = answer.send(result);
        }
    }
}

/// The connections to one server: one that commands are sent on, and those before it that have been given up for their
/// silence, but may still speak.
///
/// A connection can be silent for ever without an end that anybody hears of: the peer is gone, or something between forgot
/// it. So when a command is overdue and nothing has been heard since it was sent, another connection is made, and commands
/// go over that one as soon as it stands. The old one is kept for as long as something is owed on it, because a request for
/// a lock may be stuck there: a release of that lock is sent on both, where it cannot overtake the request.
pub(super) struct Connection {
    address: Address,
    inbox: mpsc::UnboundedReceiver<Request>,
    /// The last one is the current one, if `is_connected`.
    lines: Vec<Line>,
    is_connected: bool,
    connecting: Option<BoxFuture<'static, Result<Open, RedisError>>>,
    /// What is sent as soon as there is a connection.
    waiting: VecDeque<Request>,
    pause: Duration,
    not_before: Instant,
}

/// What can happen to connections.
enum Event {
    Sent(usize, Sent),
    Closed(usize),
    Connected(Result<Open, RedisError>),
}

impl Connection {
    pub(super) fn new(address: Address, inbox: mpsc::UnboundedReceiver<Request>) -> Self {
        Self {
            address,
            inbox,
            lines: Vec::new(),
            is_connected: false,
            connecting: None,
            waiting: VecDeque::new(),
            pause: PAUSES.0,
            not_before: Instant::now(),
        }
    }

    /// Runs until nobody can send any more and everything is answered.
    pub(super) async fn run(mut self) {
        let mut can_ask = true;
        while can_ask || !self.waiting.is_empty() || self.lines.iter().any(Line::is_owed) {
            let alarm = self.alarm();
            let (lines, connecting) = (&mut self.lines, &mut self.connecting);
            tokio::select! {
                biased;
                event = poll_fn(|cx| poll_event(lines, connecting, cx)) => self.happened(event),
                () = sleep_until(alarm.unwrap_or_else(Instant::now)), if alarm.is_some() => self.connect(),
                request = self.inbox.recv(), if can_ask => match request {
                    Some(request) => self.take(request),
                    None => can_ask = false,
                },
            }
        }
    }

    fn happened(&mut self, event: Event) {
        match event {
            Event::Connected(Ok(open)) => self.connected(open),
            Event::Connected(Err(error)) => self.not_connected(&error),
            Event::Closed(line) => {
                if self.is_current(line) {
                    self.is_connected = false;
                }
            }
            Event::Sent(line, sent) => self.answered(line, sent),
        }
        let current = self.current();
        let mut at = 0..;
        // A connection that is open and current stays, one that is neither stays until nothing is owed on it.
        self.lines.retain(|line| at.next() == current || line.is_owed());
    }

    /// The connection that commands are sent on.
    fn current(&self) -> Option<usize> {
        self.lines.len().checked_sub(1).filter(|_| self.is_connected)
    }

    fn is_current(&self, line: usize) -> bool {
        self.current() == Some(line)
    }

    fn take(&mut self, mut request: Request) {
        let now = Instant::now();
        if let Some(current) = self.current() {
            if self.lines[current].is_silent(now) {
                self.connect();
            }
            if self.lines[current].is_full() && !request.bearing.lasts(now) {
                let why = "the server has too many commands to answer already".to_owned();
                return request.tell(Err(Failure::NotSent(why)));
            }
            return self.send(request, By::Hash);
        }
        if now < self.not_before && !request.bearing.lasts(now) {
            let why = "the server could not be reached a moment ago".to_owned();
            return request.tell(Err(Failure::NotSent(why)));
        }
        self.waiting.push_back(request);
        self.connect();
    }

    /// Sends a command on the current connection.
    fn send(&mut self, request: Request, by: By) {
        let Some((current, before)) = self.lines.split_last_mut() else { return };
        // What frees an entry must come behind what may put it, wherever that is.
        if let Bearing::Frees { key, .. } = &request.bearing {
            for line in before.iter_mut().filter(|line| line.may_put(key)) {
                line.send(request.copy(), by);
            }
        }
        current.send(request, by);
    }

    /// Begins to make a connection, if that has not begun and is worth a try.
    fn connect(&mut self) {
        if self.connecting.is_none() && Instant::now() >= self.not_before {
            self.connecting = Some(Box::pin(self.address.clone().open()));
        }
    }

    fn connected(&mut self, open: Open) {
        self.connecting = None;
        self.pause = PAUSES.0;
        let unheard = self.current().map_or_else(Vec::new, |current| self.lines[current].unanswered_frees());
        let too_many = self.lines.len().saturating_sub(MOST_SILENT);
        self.lines.drain(..too_many);
        self.lines.push(Line::new(open));
        self.is_connected = true;
        for request in unheard {
            self.send(request.copy(), By::Hash);
        }
        let now = Instant::now();
        for mut request in std::mem::take(&mut self.waiting) {
            if now < request.deadline || request.bearing.lasts(now) {
                self.send(request, By::Hash);
            } else {
                request.tell(Err(Failure::NotSent("there was no connection in time".to_owned())));
            }
        }
    }

    fn not_connected(&mut self, error: &RedisError) {
        self.connecting = None;
        let now = Instant::now();
        self.not_before = now + self.pause;
        self.pause = (self.pause * 2).min(PAUSES.1);
        self.waiting.retain_mut(|request| {
            let lasts = request.bearing.lasts(now);
            let failure = Failure::of_connecting(error);
            request.tell(Err(if lasts { Failure::Unknown(format!("not sent yet: {error}")) } else { failure }));
            lasts
        });
    }

    /// When to make a connection without being asked to: for what is to be sent as long as it has a point.
    fn alarm(&self) -> Option<Instant> {
        if self.connecting.is_some() {
            return None;
        }
        match self.current() {
            None => (!self.waiting.is_empty()).then_some(self.not_before),
            Some(current) => self.lines[current].is_missed_at().map(|moment| moment.max(self.not_before)),
        }
    }

    fn answered(&mut self, line: usize, sent: Sent) {
        let Sent { mut request, result } = sent;
        let error = match result.and_then(Value::extract_error) {
            Ok(value) if request.again && value != Value::Int(1) => {
                let why = "the connection broke, and it may have been carried out before that".to_owned();
                return request.tell(Err(Failure::Unknown(why)));
            }
            Ok(value) => return request.tell(Ok(value)),
            Err(error) => error,
        };
        if error.kind() == ErrorKind::Server(ServerErrorKind::NoScript) && self.lines[line].is_open() {
            return self.send_text(line, request, &error);
        }
        let failure = Failure::of_command(&error);
        let is_broken = error.is_unrecoverable_error();
        if is_broken && self.is_current(line) {
            self.is_connected = false;
        }
        // On the connection that came after a silent one it has been sent as well.
        let is_last = line + 1 == self.lines.len();
        if is_broken && is_last && request.bearing.lasts(Instant::now()) {
            self.waiting.push_back(Request { again: true, ..request });
            return self.connect();
        }
        request.tell(Err(failure));
    }

    /// Sends a script as a text that the server did not know by its hash.
    fn send_text(&mut self, line: usize, mut request: Request, error: &RedisError) {
        let line = &mut self.lines[line];
        let is_overtaken = match &request.bearing {
            // The entry that it would put may have been freed already.
            Bearing::Puts { key } => line.is_asked_about(key),
            Bearing::Frees { .. } => false,
            Bearing::Nothing => Instant::now() >= request.deadline,
        };
        if is_overtaken {
            request.tell(Err(Failure::of_command(error)));
        } else {
            line.send(request, By::Text);
        }
    }
}

fn poll_event(
    lines: &mut [Line],
    connecting: &mut Option<BoxFuture<'static, Result<Open, RedisError>>>,
    cx: &mut Context<'_>,
) -> Poll<Event> {
    for (number, line) in lines.iter_mut().enumerate() {
        if line.poll_closed(cx).is_ready() {
            return Poll::Ready(Event::Closed(number));
        }
        if let Poll::Ready(Some(sent)) = line.poll_sent(cx) {
            return Poll::Ready(Event::Sent(number, sent));
        }
    }
    match connecting {
        Some(connecting) => connecting.as_mut().poll(cx).map(Event::Connected),
        None => Poll::Pending,
    }
}
