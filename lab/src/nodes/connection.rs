//! The task that sends the commands to one server.

use std::future::poll_fn;
use std::task::Poll;

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Client, Cmd, ErrorKind, RedisResult, ServerErrorKind, Value};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Duration, Instant};

use super::{CONNECT_WITHIN, Failure};
use crate::words::{By, Call, Wire};

/// For how long nobody tries again to connect to a server that could not be connected to: at first, and at most.
const PAUSES: (Duration, Duration) = (Duration::from_millis(10), Duration::from_secs(1));

/// A command that wants to be sent.
pub(super) struct Request {
    pub(super) wire: Wire,
    /// Nobody waits for the answer after this.
    pub(super) deadline: Instant,
    pub(super) answer: oneshot::Sender<Result<Value, Failure>>,
}

/// The connection to one server.
pub(super) struct Connection {
    client: Client,
    inbox: mpsc::UnboundedReceiver<Request>,
    open: Option<MultiplexedConnection>,
    /// Tells this connection from those before.
    generation: u64,
    under_way: FuturesUnordered<BoxFuture<'static, Sent>>,
    pause: Duration,
    not_before: Instant,
}

/// A command that has been answered, or never will be.
struct Sent {
    request: Option<(Wire, Instant)>,
    answer: oneshot::Sender<Result<Value, Failure>>,
    result: RedisResult<Value>,
    generation: u64,
}

impl Connection {
    pub(super) fn new(client: Client, inbox: mpsc::UnboundedReceiver<Request>) -> Self {
        let (pause, not_before) = (PAUSES.0, Instant::now());
        Self { client, inbox, open: None, generation: 0, under_way: FuturesUnordered::new(), pause, not_before }
    }

    /// Runs until nobody can send any more and everything is answered.
    pub(super) async fn run(mut self) {
        loop {
            tokio::select! {
                biased;
                Some(sent) = self.under_way.next(), if !self.under_way.is_empty() => self.answered(sent).await,
                request = self.inbox.recv() => match request {
                    Some(request) => self.take(request).await,
                    None => break,
                },
            }
        }
        while let Some(sent) = self.under_way.next().await {
            self.answered(sent).await;
        }
    }

    async fn take(&mut self, request: Request) {
        let Request { wire, deadline, answer } = request;
        match self.connect().await {
            Err(failure) => {
                // Whoever asked may have gone.
                let _ = answer.send(Err(failure));
            }
            Ok(_) if Instant::now() >= deadline => {
                let _ = answer.send(Err(Failure::NotSent("there was no connection in time".to_owned())));
            }
            Ok(connection) => {
                let command = command(&wire, By::Hash);
                let again = matches!(wire, Wire::Script(_)).then_some((wire, deadline));
                self.start(connection, command, again, answer).await;
            }
        }
    }

    /// The connection; a new one if there is none.
    async fn connect(&mut self) -> Result<MultiplexedConnection, Failure> {
        if let Some(connection) = &self.open {
            return Ok(connection.clone());
        }
        if Instant::now() < self.not_before {
            return Err(Failure::NotSent("the server could not be reached a moment ago".to_owned()));
        }
        // What is late is for each command to say: the connection itself never gives an answer up.
        let config =
            AsyncConnectionConfig::new().set_connection_timeout(Some(CONNECT_WITHIN)).set_response_timeout(None);
        match self.client.get_multiplexed_async_connection_with_config(&config).await {
            Ok(connection) => {
                self.generation += 1;
                self.pause = PAUSES.0;
                self.open = Some(connection.clone());
                Ok(connection)
            }
            Err(error) => {
                self.not_before = Instant::now() + self.pause;
                self.pause = (self.pause * 2).min(PAUSES.1);
                Err(Failure::of_connecting(&error))
            }
        }
    }

    /// Hands a command to the connection. It has its place there when this returns: the connection takes commands in the
    /// order in which they are first polled.
    async fn start(
        &mut self,
        mut connection: MultiplexedConnection,
        command: Cmd,
        request: Option<(Wire, Instant)>,
        answer: oneshot::Sender<Result<Value, Failure>>,
    ) {
        let generation = self.generation;
        let mut sent: BoxFuture<'static, Sent> = Box::pin(async move {
            // An error of the server is an answer to this command.
            let result = connection.send_packed_command(&command).await.and_then(Value::extract_error);
            Sent { request, answer, result, generation }
        });
        let first = poll_fn(|cx| Poll::Ready(sent.as_mut().poll(cx))).await;
        match first {
            Poll::Ready(sent) => Box::pin(self.answered(sent)).await,
            Poll::Pending => self.under_way.push(sent),
        }
    }

    async fn answered(&mut self, sent: Sent) {
        let Sent { request, answer, result, generation } = sent;
        let error = match result {
            Ok(value) => {
                let _ = answer.send(Ok(value));
                return;
            }
            Err(error) => error,
        };
        if error.kind() == ErrorKind::Server(ServerErrorKind::NoScript)
            && let Some((wire, deadline)) = request
            // Later, something that was to come after it may have been sent.
            && Instant::now() < deadline
            && let Some(connection) = self.open.clone()
        {
            let command = command(&wire, By::Text);
            return self.start(connection, command, None, answer).await;
        }
        if error.is_unrecoverable_error() && generation == self.generation {
            self.open = None;
        }
        let _ = answer.send(Err(Failure::of_command(&error)));
    }
}

fn command(wire: &Wire, by: By) -> Cmd {
    match wire {
        Wire::Command(command) => command.clone(),
        Wire::Script(call) => Call::command(call, by),
        Wire::Subscribe(channel) => redis::cmd("SUBSCRIBE").arg(channel).take(),
    }
}
