//! Where a delivery comes from: the peer, or what a trusted proxy says.

use std::net::{IpAddr, SocketAddr};

use hyper::HeaderMap;

use crate::controller::Cidr;

const FORWARDED: &str = "x-forwarded-for";

/// Returns the address that failures are counted for.
///
/// Addresses in `X-Forwarded-For` are believed from the right, as long as each was added by a
/// trusted proxy.
pub(super) fn of(peer: SocketAddr, headers: &HeaderMap, trusted: &[Cidr]) -> IpAddr {
    let mut source = peer.ip().to_canonical();
    let values = headers.get_all(FORWARDED).iter();
    let texts: Vec<&str> = values.filter_map(|value| value.to_str().ok()).collect();
    let hops = texts.iter().rev().flat_map(|text| text.rsplit(','));
    for hop in hops {
        if !trusted.iter().any(|network| network.holds(source)) {
            break;
        }
        let Ok(address) = hop.trim().parse::<IpAddr>() else { break };
        source = address.to_canonical();
    }
    source
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

    use super::*;

    #[test]
    fn only_trusted_proxies_are_believed() {
        let peer: SocketAddr = "[::ffff:10.0.0.5]:4000".parse().unwrap();
        let mut headers = HeaderMap::new();
        headers.insert(FORWARDED, HeaderValue::from_static("6.6.6.6, 203.0.113.9, 10.0.0.7"));
        let trusted = ["10.0.0.0/8".parse::<Cidr>().unwrap()];
        assert_eq!(of(peer, &headers, &[]).to_string(), "10.0.0.5");
        assert_eq!(of(peer, &headers, &trusted).to_string(), "203.0.113.9");
    }
}
