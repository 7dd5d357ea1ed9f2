//! A proxy before a server that holds, drops or cuts what goes through it.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use super::PATIENCE;

/// What happens to bytes in one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Flow {
    #[default]
    Passes,
    /// They wait until they may pass.
    IsHeld,
    /// They vanish, and the connection stays.
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
        () = forward(from_client, to_server, Side::Requests, Arc::clone(&rules), Some(seen)) => {}
        () = forward(from_server, to_client, Side::Replies, rules, None) => {}
    }
}

#[derive(Clone, Copy)]
enum Side {
    Requests,
    Replies,
}

async fn forward(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    side: Side,
    rules: Arc<watch::Sender<Rules>>,
    seen: Option<Arc<Mutex<Vec<String>>>>,
) {
    let mut watching = rules.subscribe();
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let Ok(length @ 1..) = from.read(&mut buffer).await else { return };
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
        if is_cut {
            return;
        }
        let flow = |rules: &Rules| match side {
            Side::Requests => rules.requests,
            Side::Replies => rules.replies,
        };
        let Ok(now) = watching.wait_for(|rules| flow(rules) != Flow::IsHeld).await.map(|rules| flow(&rules)) else {
            return;
        };
        if now == Flow::Passes && to.write_all(&buffer[..length]).await.is_err() {
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
