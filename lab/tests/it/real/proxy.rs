//! A proxy before a server that holds, drops or cuts what goes through it.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};

use super::PATIENCE;

/// What happens to bytes in one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Flow {
    #[default]
    Passes,
    /// They wait until they may pass.
    IsHeld,
    /// They vanish, and the connection stays, but nothing ever passes on it again in this direction: no network drops a
    /// part of a stream.
    IsDropped,
}

/// When a connection is cut. It happens once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cut {
    /// When a request with this word comes, before the server sees it.
    Before(&'static str),
    /// When the server has answered a request with this word, before the client sees it.
    After(&'static str),
}

#[derive(Clone, Copy, Debug, Default)]
struct Rules {
    requests: Flow,
    replies: Flow,
    refuses: bool,
    cut: Option<Cut>,
    /// How many more pieces may pass, requests and replies together. None: all.
    budget: Option<usize>,
    /// Whether a piece is held because of that.
    is_stuck: bool,
    /// The connections before this one are held in both directions.
    stalled: u64,
    /// How many connections there have been.
    connections: u64,
    /// How many had no end to lead to.
    refused: u64,
    /// How many pieces were dropped.
    dropped: u64,
    /// A request was seen that is to be cut when it is answered.
    is_armed: bool,
    /// Counted up to cut all connections.
    generation: u64,
}

pub(super) struct Proxy {
    address: SocketAddr,
    rules: Arc<watch::Sender<Rules>>,
    /// Every request that came, in one piece each as far as they came in one.
    seen: Arc<Mutex<Vec<String>>>,
}

impl Proxy {
    pub(super) async fn start(target: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let rules = Arc::new(watch::Sender::new(Rules::default()));
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (shared, log) = (Arc::clone(&rules), Arc::clone(&seen));
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                if shared.borrow().refuses {
                    cut(&client);
                    continue;
                }
                let Ok(server) = TcpStream::connect(target).await else {
                    shared.send_modify(|rules| rules.refused += 1);
                    cut(&client);
                    continue;
                };
                tokio::spawn(connect(client, server, Arc::clone(&shared), Arc::clone(&log)));
            }
        });
        Self { address, rules, seen }
    }

    pub(super) fn url(&self) -> String {
        format!("redis://{}/", self.address)
    }

    pub(super) fn requests(&self, flow: Flow) {
        self.rules.send_modify(|rules| rules.requests = flow);
    }

    pub(super) fn replies(&self, flow: Flow) {
        self.rules.send_modify(|rules| rules.replies = flow);
    }

    /// Lets only so many more pieces pass, requests and replies together, and holds the others.
    pub(super) fn pass(&self, pieces: usize) {
        self.rules.send_modify(|rules| (rules.budget, rules.is_stuck) = (Some(pieces), false));
    }

    /// Lets everything pass again.
    pub(super) fn pass_all(&self) {
        self.rules.send_modify(|rules| (rules.budget, rules.is_stuck) = (None, false));
    }

    /// Waits until a piece is held because no more may pass.
    pub(super) async fn until_stuck(&self) {
        let mut watching = self.rules.subscribe();
        let is_stuck = watching.wait_for(|rules| rules.is_stuck).await.is_ok();
        assert!(is_stuck, "the proxy is there");
    }

    /// Holds all connections that there are now, whether anything comes or not; those made later work.
    pub(super) fn stall(&self) {
        self.rules.send_modify(|rules| rules.stalled = rules.connections);
    }

    /// What was held on them passes.
    pub(super) fn resume(&self) {
        self.rules.send_modify(|rules| rules.stalled = 0);
    }

    /// How many connections there have been.
    pub(super) fn connections(&self) -> u64 {
        self.rules.borrow().connections
    }

    /// How many pieces were dropped.
    pub(super) fn dropped(&self) -> u64 {
        self.rules.borrow().dropped
    }

    /// How many connections found no server.
    pub(super) fn refused(&self) -> u64 {
        self.rules.borrow().refused
    }

    /// Whether new connections are cut at once.
    pub(super) fn refuse(&self, refuses: bool) {
        self.rules.send_modify(|rules| rules.refuses = refuses);
    }

    pub(super) fn cut_once(&self, cut: Cut) {
        self.rules.send_modify(|rules| rules.cut = Some(cut));
    }

    /// Cuts all connections now.
    pub(super) fn cut_all(&self) {
        self.rules.send_modify(|rules| rules.generation += 1);
    }

    /// Waits until so many requests with this word have come, whatever becomes of them.
    pub(super) async fn until_asked(&self, word: &str, times: usize) {
        super::until(|| self.asked(word) >= times, &format!("{word} is asked {times} times")).await;
    }

    /// How many requests with this word have come.
    pub(super) fn asked(&self, word: &str) -> usize {
        self.seen.lock().unwrap().iter().map(|request| request.matches(word).count()).sum()
    }
}

/// Cuts a connection so that the other end hears of it at once.
fn cut(stream: &TcpStream) {
    let _ = stream.set_zero_linger();
}

async fn connect(
    client: TcpStream,
    server: TcpStream,
    rules: Arc<watch::Sender<Rules>>,
    seen: Arc<Mutex<Vec<String>>>,
) {
    client.set_nodelay(true).unwrap();
    server.set_nodelay(true).unwrap();
    cut(&client);
    let mut number = 0;
    rules.send_modify(|rules| {
        number = rules.connections;
        rules.connections += 1;
    });
    let generation = rules.borrow().generation;
    let mut watching = rules.subscribe();
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    let cut_off = async move {
        // The sender outlives the connection only as long as the proxy does.
        let _ = watching.wait_for(|rules| rules.generation != generation).await;
    };
    tokio::select! {
        () = cut_off => {}
        () = forward(from_client, to_server, (Side::Requests, number), Arc::clone(&rules), Some(seen)) => {}
        () = forward(from_server, to_client, (Side::Replies, number), rules, None) => {}
    }
}

#[derive(Clone, Copy)]
enum Side {
    Requests,
    Replies,
}

async fn forward(
    from: OwnedReadHalf,
    to: OwnedWriteHalf,
    side: (Side, u64),
    rules: Arc<watch::Sender<Rules>>,
    seen: Option<Arc<Mutex<Vec<String>>>>,
) {
    let (pieces, queue) = mpsc::unbounded_channel();
    tokio::select! {
        biased;
        () = read(from, pieces, side.0, Arc::clone(&rules), seen) => {}
        () = write(queue, to, side, rules) => {}
    }
}

/// Takes what comes, until it is cut. What was taken is held elsewhere.
async fn read(
    mut from: OwnedReadHalf,
    pieces: mpsc::UnboundedSender<Vec<u8>>,
    side: Side,
    rules: Arc<watch::Sender<Rules>>,
    seen: Option<Arc<Mutex<Vec<String>>>>,
) {
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(length @ 1..) = from.read(&mut buffer).await {
        let text = String::from_utf8_lossy(&buffer[..length]).into_owned();
        let mut is_cut = false;
        rules.send_if_modified(|rules| {
            match (side, rules.cut) {
                (Side::Requests, Some(Cut::Before(word))) if text.contains(word) => {
                    is_cut = true;
                    rules.cut = None;
                }
                (Side::Requests, Some(Cut::After(word))) if text.contains(word) => rules.is_armed = true,
                (Side::Replies, Some(Cut::After(_))) if rules.is_armed => {
                    is_cut = true;
                    (rules.cut, rules.is_armed) = (None, false);
                }
                _ => {}
            }
            false
        });
        if let Some(seen) = &seen {
            seen.lock().unwrap().push(text);
        }
        if is_cut || pieces.send(buffer[..length].to_vec()).is_err() {
            return;
        }
    }
    // What came before the end may still be held: an empty piece stands for it.
    if pieces.send(Vec::new()).is_ok() {
        pieces.closed().await;
    }
}

async fn write(
    mut queue: mpsc::UnboundedReceiver<Vec<u8>>,
    mut to: OwnedWriteHalf,
    (side, number): (Side, u64),
    rules: Arc<watch::Sender<Rules>>,
) {
    let mut watching = rules.subscribe();
    let mut is_dropped = false;
    while let Some(piece) = queue.recv().await.filter(|piece| !piece.is_empty()) {
        let may_pass = |rules: &mut Rules| {
            let flow = match side {
                Side::Requests => rules.requests,
                Side::Replies => rules.replies,
            };
            if flow == Flow::IsHeld || number < rules.stalled {
                return None;
            }
            if rules.budget == Some(0) {
                rules.is_stuck = true;
                return None;
            }
            rules.budget = rules.budget.map(|budget| budget - 1);
            Some(flow)
        };
        let flow = loop {
            // A change from here on is seen.
            watching.mark_unchanged();
            let mut flow = None;
            rules.send_if_modified(|rules| {
                let was_stuck = rules.is_stuck;
                flow = may_pass(rules);
                rules.is_stuck != was_stuck
            });
            if let Some(flow) = flow {
                break flow;
            }
            if watching.changed().await.is_err() {
                return;
            }
        };
        is_dropped |= flow == Flow::IsDropped;
        if is_dropped {
            rules.send_modify(|rules| rules.dropped += 1);
        } else if to.write_all(&piece).await.is_err() {
            return;
        }
    }
}

#[tokio::test]
async fn what_is_held_passes_later_and_what_is_cut_never() {
    let server = super::server();
    let proxy = Proxy::start(server.address()).await;
    let ask = |proxy: &Proxy| {
        let client = redis::Client::open(proxy.url()).unwrap();
        async move {
            let mut connection = client.get_multiplexed_async_connection().await?;
            redis::cmd("INCR").arg("n").query_async::<i64>(&mut connection).await
        }
    };
    assert_eq!(ask(&proxy).await, Ok(1));
    proxy.cut_once(Cut::Before("INCR"));
    assert!(ask(&proxy).await.is_err());
    proxy.cut_once(Cut::After("INCR"));
    assert!(ask(&proxy).await.is_err());
    assert_eq!(ask(&proxy).await, Ok(3), "the second was carried out, the first was not");
    proxy.requests(Flow::IsHeld);
    let held = tokio::spawn(tokio::time::timeout(Duration::from_millis(100), ask(&proxy)));
    assert!(held.await.unwrap().is_err());
    proxy.requests(Flow::Passes);
    assert!(tokio::time::timeout(PATIENCE, ask(&proxy)).await.unwrap().is_ok());
    proxy.refuse(true);
    assert!(ask(&proxy).await.is_err());
}
