//! The proxy on the way to a server: given, or named by the environment as curl reads it.

use std::fmt;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use hyper::Uri;
use hyper::header::HeaderValue;

/// A proxy that speaks HTTP.
#[derive(Clone, PartialEq, Eq)]
pub struct Proxy {
    pub(crate) host: String,
    pub(crate) port: u16,
    /// `user:password`, as the URL has it.
    credentials: Option<String>,
}

/// Never its credentials.
impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Proxy({}:{})", self.host, self.port)
    }
}

impl Proxy {
    /// Parses `http://host:3128`, or `host:3128`; `None` for anything else.
    pub fn parse(url: &str) -> Option<Self> {
        let text = if url.contains("://") { url.to_owned() } else { format!("http://{url}") };
        let uri: Uri = text.trim().parse().ok()?;
        if uri.scheme_str() != Some("http") {
            return None;
        }
        let authority = uri.authority()?;
        let credentials = authority.as_str().rsplit_once('@').map(|(user, _)| user.to_owned());
        let host = authority.host().trim_start_matches('[').trim_end_matches(']').to_owned();
        (!host.is_empty()).then(|| Self {
            host,
            port: authority.port_u16().unwrap_or(80),
            credentials,
        })
    }

    /// Returns the proxy that the environment names for a host, if it does.
    ///
    /// `HTTP_PROXY` in capitals does not count: in a CGI program a request header sets it.
    pub fn of_environment(
        is_tls: bool,
        host: &str,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Option<Self> {
        let first = |names: &[&str]| {
            names.iter().find_map(|name| variable(name).filter(|value| !value.is_empty()))
        };
        let excepted = first(&["no_proxy", "NO_PROXY"]).unwrap_or_default();
        if excepted.split(',').any(|name| is_excepted(host, name.trim())) {
            return None;
        }
        let own: &[&str] = if is_tls { &["https_proxy", "HTTPS_PROXY"] } else { &["http_proxy"] };
        first(own).or_else(|| first(&["all_proxy", "ALL_PROXY"])).and_then(|url| Self::parse(&url))
    }

    pub(crate) fn authorization(&self) -> Option<HeaderValue> {
        let plain = percent_decoded(self.credentials.as_ref()?);
        let value = format!("Basic {}", BASE64_STANDARD.encode(plain));
        let mut value = HeaderValue::try_from(value).ok()?;
        value.set_sensitive(true);
        Some(value)
    }
}

fn is_excepted(host: &str, name: &str) -> bool {
    let name = name.trim_start_matches('.');
    let is_below = || {
        let rest =
            host.len().checked_sub(name.len() + 1).and_then(|end| host.split_at_checked(end));
        rest.is_some_and(|(_, tail)| tail[1..].eq_ignore_ascii_case(name) && tail.starts_with('.'))
    };
    name == "*" || !name.is_empty() && (host.eq_ignore_ascii_case(name) || is_below())
}

/// Decodes `%41`; what is not such an escape stays.
pub fn percent_decoded(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        let digits = tail.get(..2).filter(|_| *first == b'%');
        let digits = digits.and_then(|digits| str::from_utf8(digits).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => (bytes.push(byte), rest = &tail[2..]).0,
            None => (bytes.push(*first), rest = tail).0,
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(is_tls: bool, host: &str, variables: &[(&str, &str)]) -> Option<String> {
        let find = |name: &str| {
            let hit = variables.iter().find(|(known, _)| *known == name);
            hit.map(|(_, value)| (*value).to_owned())
        };
        Proxy::of_environment(is_tls, host, &find).map(|proxy| format!("{proxy:?}"))
    }

    #[test]
    fn the_environment_is_read_as_curl_reads_it() {
        let (https, all) = (("HTTPS_PROXY", "http://a:1"), ("ALL_PROXY", "b:2"));
        assert_eq!(of(true, "h", &[https, all]), Some("Proxy(a:1)".to_owned()));
        assert_eq!(of(false, "h", &[https, all]), Some("Proxy(b:2)".to_owned()));
        assert_eq!(of(false, "h", &[("HTTP_PROXY", "http://a:1")]), None);
        assert_eq!(of(true, "h", &[("https_proxy", ""), all]), Some("Proxy(b:2)".to_owned()));
        for (host, excepted) in
            [("h", "*"), ("a.h", "h"), ("a.h", ".h"), ("H", "x, h"), ("a.h", "a.h")]
        {
            assert_eq!(of(true, host, &[https, ("NO_PROXY", excepted)]), None, "{host} {excepted}");
        }
        assert!(of(true, "ah", &[https, ("NO_PROXY", "h")]).is_some());
        assert_eq!(of(true, "h", &[("https_proxy", "socks5://a:1")]), None);
    }

    #[test]
    fn credentials_are_sent_and_never_shown() {
        let proxy = Proxy::parse("http://user:p%40ss@[::1]:3128").unwrap();
        assert_eq!(format!("{proxy:?}"), "Proxy(::1:3128)");
        let value = proxy.authorization().unwrap();
        let expected = format!("Basic {}", BASE64_STANDARD.encode("user:p@ss"));
        assert_eq!(value.to_str().unwrap(), expected);
    }
}
