//! The address of the gateway: parsed once, without credentials; and the two ports of a gateway in
//! the same pod.

use std::fmt;
use std::net::IpAddr;

use stoker_http::Uri;

use crate::error::Error;

const PLAIN_PORT: u16 = 8088;
const TLS_PORT: u16 = 8043;
/// Longer than any address of a gateway.
const LIMIT: usize = 2048;

/// Where to find the gateway.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    pub(crate) first: Address,
    /// Tried if the first does not respond or the gateway demands TLS.
    pub(crate) fallback: Option<Address>,
}

#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Address {
    pub(crate) is_tls: bool,
    pub(crate) host: String,
    pub(crate) port: u16,
    /// What comes before every path; empty or `/prefix`.
    pub(crate) prefix: String,
}

impl Endpoint {
    /// Parses `http://host:8088`, as a person gives it.
    pub fn parse(url: &str) -> Result<Self, Error> {
        Ok(Self { first: Address::parse(url)?, fallback: None })
    }

    /// Returns the gateway in the same pod: what is given counts exactly; where nothing is given,
    /// 8088 plain and, where that does not do, 8043 with TLS.
    pub fn beside_us(port: Option<u16>, tls: Option<bool>) -> Self {
        match (port, tls) {
            (None, None) => Self::loopback(PLAIN_PORT, TLS_PORT),
            (port, Some(true)) => Self::exactly(Address::loopback(port.unwrap_or(TLS_PORT), true)),
            (port, _) => Self::exactly(Address::loopback(port.unwrap_or(PLAIN_PORT), false)),
        }
    }

    /// Returns a gateway on loopback with these ports, the plain one preferred.
    pub fn loopback(plain: u16, tls: u16) -> Self {
        let fallback = Some(Address::loopback(tls, true));
        Self { first: Address::loopback(plain, false), fallback }
    }

    fn exactly(first: Address) -> Self {
        Self { first, fallback: None }
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.first.fmt(f)
    }
}

impl Address {
    fn parse(url: &str) -> Result<Self, Error> {
        let refuse = |why| Err(Error::InvalidUrl { why });
        if url.len() > LIMIT {
            return refuse("it is longer than 2048 bytes");
        }
        let Ok(uri) = url.parse::<Uri>() else { return refuse("it is not a URL") };
        let is_tls = match uri.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            _ => return refuse("it must begin with http:// or https://"),
        };
        let Some(authority) = uri.authority() else { return refuse("it names no host") };
        // The text after the at sign may be a key: it must not be quoted either.
        if authority.as_str().contains('@') {
            return refuse("it holds credentials; the key belongs into a file");
        }
        if uri.query().is_some() {
            return refuse("it has a query");
        }
        let port = match authority.port() {
            Some(port) => port.as_u16(),
            None if authority.as_str() != authority.host() => {
                return refuse("its port is not a number from 1 to 65535");
            }
            None if is_tls => 443,
            None => 80,
        };
        let prefix = uri.path().trim_end_matches('/').to_owned();
        Ok(Self { is_tls, host: authority.host().to_owned(), port, prefix })
    }

    fn loopback(port: u16, is_tls: bool) -> Self {
        Self { is_tls, host: "127.0.0.1".to_owned(), port, prefix: String::new() }
    }

    /// Returns the host as a resolver and a certificate know it: without the brackets of IPv6.
    pub(crate) fn bare_host(&self) -> &str {
        self.host.trim_start_matches('[').trim_end_matches(']')
    }

    /// Returns whether bytes to this host never leave the machine.
    pub(crate) fn is_loopback(&self) -> bool {
        let host = self.bare_host();
        host.eq_ignore_ascii_case("localhost")
            || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.is_tls { "https" } else { "http" };
        write!(f, "{scheme}://{}:{}{}", self.host, self.port, self.prefix)
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{self}\"")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn addresses_are_read_as_written() {
        let cases = [
            ("http://gateway:8088", "http://gateway:8088"),
            ("http://gateway:8088/", "http://gateway:8088"),
            ("https://gateway", "https://gateway:443"),
            ("http://[::1]:8088/ignition/", "http://[::1]:8088/ignition"),
        ];
        for (url, printed) in cases {
            assert_eq!(Endpoint::parse(url).unwrap().to_string(), printed);
        }
    }

    #[test]
    fn what_is_no_address_is_refused_without_quoting_it() {
        let urls = [
            "",
            "gateway:8088",
            "ftp://gateway",
            "http://",
            "http://u:canary@gateway",
            "http://g/?key=canary",
            "http://gateway:notaport",
            "http://gateway:99999",
        ];
        for url in urls {
            let error = Endpoint::parse(url).expect_err(url);
            assert!(!format!("{error} {error:?}").contains("canary"), "{url}");
        }
    }

    // Unset means 8088 plain, then 8043 by TLS; set means exactly that.
    #[test]
    fn beside_us_what_is_set_counts_exactly() {
        let cases = [
            (None, None, "http://127.0.0.1:8088", Some("https://127.0.0.1:8043")),
            (Some(9000), None, "http://127.0.0.1:9000", None),
            (Some(9000), Some(true), "https://127.0.0.1:9000", None),
            (None, Some(true), "https://127.0.0.1:8043", None),
            (None, Some(false), "http://127.0.0.1:8088", None),
        ];
        for (port, tls, first, fallback) in cases {
            let endpoint = Endpoint::beside_us(port, tls);
            assert_eq!(endpoint.first.to_string(), first);
            assert_eq!(endpoint.fallback.map(|address| address.to_string()).as_deref(), fallback);
        }
    }

    #[test]
    fn loopback_is_recognised() {
        for (url, loopback) in [
            ("http://localhost:1", true),
            ("http://127.9.9.9:1", true),
            ("http://[::1]:1", true),
            ("http://10.0.0.1:1", false),
            ("http://localhost.evil:1", false),
        ] {
            assert_eq!(Endpoint::parse(url).unwrap().first.is_loopback(), loopback, "{url}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics_and_what_is_taken_prints_and_parses_again(url in "\\PC{0,80}|https?://\\PC{0,40}") {
            if let Ok(endpoint) = Endpoint::parse(&url) {
                prop_assert_eq!(&Endpoint::parse(&endpoint.to_string()).unwrap(), &endpoint);
            }
        }
    }
}
