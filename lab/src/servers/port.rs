//! A free port on loopback.

use std::net::{Ipv4Addr, TcpListener};

use super::ServerError;

/// Below the ports that systems hand out to outgoing connections: one of those could be given away between our look and
/// the server's start.
const PORTS: std::ops::Range<u16> = 16_384..32_768;

/// How many are looked at.
const LOOKS: usize = 200;

/// A port on which nobody listens now.
pub(super) fn free() -> Result<u16, ServerError> {
    let is_free = |port: &u16| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok();
    (0..LOOKS).map(|_| rand::random_range(PORTS)).find(is_free).ok_or(ServerError::NoPort)
}
