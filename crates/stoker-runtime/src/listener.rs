//! Sockets that servers listen on.

use std::fmt::{self, Display, Formatter};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::str::FromStr;

use tokio::net::{TcpListener, TcpSocket};

const BACKLOG: u32 = 1024;

/// Where a server listens: `:8080` on every address, `127.0.0.1:8080`, `[::1]:8080`, or `0` for
/// no server at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BindAddress {
    /// There is no such server.
    Off,
    /// Every address of the host, IPv6 and IPv4.
    Any(u16),
    /// One address.
    One(SocketAddr),
}

/// A text that is not an address to listen on.
#[derive(Debug, thiserror::Error)]
#[error("{text:?} is not an address to listen on: write :8080, 127.0.0.1:8080 or 0 for none")]
pub struct InvalidAddress {
    text: String,
}

/// Why a server could not listen.
#[derive(Debug, thiserror::Error)]
#[error("failed to listen on {address}")]
pub struct Error {
    address: BindAddress,
    source: io::Error,
}

impl FromStr for BindAddress {
    type Err = InvalidAddress;

    fn from_str(text: &str) -> Result<Self, InvalidAddress> {
        if text == "0" {
            return Ok(Self::Off);
        }
        let parsed = match text.strip_prefix(':') {
            Some(port) => port.parse().map(Self::Any).ok(),
            None => text.parse().map(Self::One).ok(),
        };
        parsed.ok_or_else(|| InvalidAddress { text: text.to_owned() })
    }
}

impl Display for BindAddress {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => formatter.write_str("0"),
            Self::Any(port) => write!(formatter, ":{port}"),
            Self::One(address) => write!(formatter, "{address}"),
        }
    }
}

/// Listens on `address`, or returns `None` where it says that there is no server.
///
/// A server on every address listens on `[::]`, which takes IPv4 as well; a host without IPv6 gets
/// `0.0.0.0`.
pub fn bind(address: BindAddress) -> Result<Option<TcpListener>, Error> {
    let listened = match address {
        BindAddress::Off => return Ok(None),
        BindAddress::Any(port) => listen(SocketAddr::new(Ipv6Addr::UNSPECIFIED.into(), port))
            .or_else(|_| listen(SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), port))),
        BindAddress::One(address) => listen(address),
    };
    listened.map(Some).map_err(|source| Error { address, source })
}

fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv6() { TcpSocket::new_v6() } else { TcpSocket::new_v4() }?;
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpStream;

    use super::*;

    #[test]
    fn ports_addresses_and_zero_are_read_and_printed_alike() {
        for text in ["0", ":8080", "127.0.0.1:8080", "[::1]:9443"] {
            assert_eq!(text.parse::<BindAddress>().unwrap().to_string(), text);
        }
        for text in ["", "8080", ":http", "localhost:80", ":70000"] {
            assert!(text.parse::<BindAddress>().is_err(), "{text}");
        }
    }

    #[tokio::test]
    async fn every_address_includes_ipv4() {
        let listener = bind(BindAddress::Any(0)).unwrap().unwrap();
        let port = listener.local_addr().unwrap().port();
        TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await.unwrap();
    }
}
