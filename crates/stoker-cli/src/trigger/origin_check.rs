//! Which requests may wake `watch`: those of programs, not those of web pages in a browser.
//!
//! Any web page can make a browser send a POST to an address of this machine. The browser then
//! sends
//! `Origin`; and if the page's own name resolves to this machine (DNS rebinding), `Host` has that
//! name. A program such as curl sends no `Origin`, and the address that it was given as `Host`.

use std::net::{IpAddr, SocketAddr};

use axum::http::HeaderMap;
use axum::http::header::{HOST, ORIGIN};

/// Why a request is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refusal {
    #[error("requests of web pages are refused: the Origin header names another site")]
    ForeignOrigin,
    #[error("the Host header is neither localhost nor the address that is listened on")]
    ForeignHost,
}

/// Refuses what a web page may have sent.
pub(crate) fn check(headers: &HeaderMap, listened: SocketAddr) -> Result<(), Refusal> {
    let text = |value: &axum::http::HeaderValue| value.to_str().unwrap_or_default().to_owned();
    let host = headers.get(HOST).map(text);
    if host.as_deref().is_some_and(|host| !is_ours(host, listened.ip())) {
        return Err(Refusal::ForeignHost);
    }
    let own = host.map(|host| format!("http://{host}"));
    match headers.get(ORIGIN).map(text) {
        Some(origin) if Some(&origin) != own.as_ref() => Err(Refusal::ForeignOrigin),
        _ => Ok(()),
    }
}

/// Whether a host, with or without a port, is an address of this machine, which DNS can't rebind.
fn is_ours(host: &str, listened: IpAddr) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let bare = name.trim_start_matches('[').trim_end_matches(']');
    match bare.parse::<IpAddr>() {
        // Who listens on every address is reached by any of them.
        Ok(address) => address.is_loopback() || address == listened || listened.is_unspecified(),
        Err(_) => name.eq_ignore_ascii_case("localhost"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(listened: &str, host: Option<&str>, origin: Option<&str>) -> Result<(), Refusal> {
        let mut headers = HeaderMap::new();
        for (name, value) in [(HOST, host), (ORIGIN, origin)] {
            if let Some(value) = value {
                headers.insert(name, value.parse().unwrap());
            }
        }
        check(&headers, listened.parse().unwrap())
    }

    #[test]
    fn programs_reach_it_by_every_address_that_is_its_own() {
        for (listened, host) in [
            ("127.0.0.1:7000", "127.0.0.1:7000"),
            ("127.0.0.1:7000", "localhost:7000"),
            ("127.0.0.1:7000", "LOCALHOST"),
            ("[::1]:7000", "[::1]:7000"),
            ("192.0.2.7:7000", "192.0.2.7:7000"),
            ("192.0.2.7:7000", "localhost:7001"),
            ("0.0.0.0:7000", "192.0.2.7:7000"),
            ("[::]:7000", "[2001:db8::7]:7000"),
        ] {
            assert_eq!(judged(listened, Some(host), None), Ok(()), "{host} at {listened}");
            let own = format!("http://{host}");
            assert_eq!(judged(listened, Some(host), Some(&own)), Ok(()), "{own}");
        }
        assert_eq!(judged("127.0.0.1:7000", None, None), Ok(()), "HTTP/1.0 has no host");
    }

    #[test]
    fn a_name_that_was_made_to_point_here_is_foreign() {
        for host in ["evil.example:7000", "x", "", "127.0.0.1.evil.example", "192.0.2.8:7000"] {
            let judged = judged("192.0.2.7:7000", Some(host), None);
            assert_eq!(judged, Err(Refusal::ForeignHost), "{host:?}");
        }
    }

    #[test]
    fn a_page_of_another_site_is_foreign() {
        for origin in
            ["https://evil.example", "null", "http://localhost:3000", "https://127.0.0.1:7000"]
        {
            let judged = judged("127.0.0.1:7000", Some("127.0.0.1:7000"), Some(origin));
            assert_eq!(judged, Err(Refusal::ForeignOrigin), "{origin}");
        }
    }
}
