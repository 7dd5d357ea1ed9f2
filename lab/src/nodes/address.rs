//! Where a server is, and how a connection to it is made.

use std::io;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use redis::aio::{MultiplexedConnection, PubSub};
use redis::io::tcp::socket2::{SockRef, TcpKeepalive};
use redis::{AsyncConnectionConfig, ConnectionAddr, ConnectionInfo, RedisError, RedisResult};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};
use tokio::time::{Duration, timeout};

use super::CONNECT_WITHIN;
use super::line::Open;

/// A peer that is gone without a word is found out by the system after about half a minute, also where nobody asks
/// anything, on the connection for notifications.
const IDLE: Duration = Duration::from_secs(15);
const PROBE: Duration = Duration::from_secs(5);
const PROBES: u32 = 3;

/// Where a server is.
#[derive(Clone)]
pub(super) struct Address(Arc<ConnectionInfo>);

trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}

impl<S: AsyncRead + AsyncWrite + Unpin + Send> Stream for S {}

impl Address {
    pub(super) fn new(info: ConnectionInfo) -> Self {
        Self(Arc::new(info))
    }

    /// Makes a connection for commands.
    pub(super) async fn open(self) -> RedisResult<Open> {
        in_time(async {
            // What is late is for each command to say: the connection itself never gives an answer up.
            let config = AsyncConnectionConfig::new().set_response_timeout(None);
            let stream = self.stream().await?;
            let made = MultiplexedConnection::new_with_config(self.0.redis_settings(), stream, config).await?;
            let (connection, driver) = made;
            let driver: BoxFuture<'static, ()> = Box::pin(driver);
            Ok((connection, driver))
        })
        .await
    }

    /// Makes a connection for notifications.
    pub(super) async fn listen(self) -> RedisResult<PubSub> {
        in_time(async { PubSub::new(self.0.redis_settings(), self.stream().await?).await }).await
    }

    async fn stream(&self) -> RedisResult<Box<dyn Stream>> {
        match self.0.addr() {
            ConnectionAddr::Tcp(host, port) => {
                let stream = TcpStream::connect((host.as_str(), *port)).await?;
                stream.set_nodelay(true)?;
                let keepalive = TcpKeepalive::new().with_time(IDLE).with_interval(PROBE).with_retries(PROBES);
                SockRef::from(&stream).set_tcp_keepalive(&keepalive)?;
                Ok(Box::new(stream))
            }
            ConnectionAddr::Unix(path) => Ok(Box::new(UnixStream::connect(path).await?)),
            ConnectionAddr::TcpTls { .. } | _ => {
                Err(io::Error::new(io::ErrorKind::Unsupported, "only redis:// and unix:// are spoken here").into())
            }
        }
    }
}

async fn in_time<T>(made: impl Future<Output = RedisResult<T>>) -> RedisResult<T> {
    match timeout(CONNECT_WITHIN, made).await {
        Ok(result) => result,
        Err(_) => {
            let why = format!("no connection within {CONNECT_WITHIN:?}");
            Err(RedisError::from(io::Error::new(io::ErrorKind::TimedOut, why)))
        }
    }
}
