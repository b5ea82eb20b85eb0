//! Reads a response: status first, then content type, then body; and where a redirect leads.

use serde_json::Value;

use crate::error::{Call, Error};

/// How much of an address is shown.
const SHOWN: usize = 200;

/// A response of the gateway. The body is there only for a status of success.
pub(crate) struct Response {
    pub(crate) call: Call,
    pub(crate) status: u16,
    pub(crate) content_type: String,
    pub(crate) redirect: Redirect,
    pub(crate) body: Vec<u8>,
}

/// Where a redirect leads, if that is of use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Redirect {
    None,
    /// The page on which a new gateway is commissioned.
    Welcome,
    /// The same thing over TLS, there.
    Secure(String),
    /// Another place.
    Elsewhere(String),
}

impl Response {
    /// Returns whether a gateway with this response may accept the request on its TLS port.
    pub(crate) fn wants_secure_channel(&self) -> bool {
        self.status == 403 || matches!(self.redirect, Redirect::Secure(_))
    }

    /// Returns it if its status is one of success, else what its status means.
    pub(crate) fn successful(self) -> Result<Self, Error> {
        let (status, call) = (self.status, self.call.clone());
        match status {
            200..=299 => Ok(self),
            300..=399 => Err(match self.redirect {
                Redirect::Welcome => Error::NeedsCommissioning { call },
                redirect => Error::Redirected { call, status, to: redirect.place() },
            }),
            401 => Err(Error::Unauthorized { call }),
            403 => Err(Error::Forbidden { call }),
            404 => Err(Error::NotFound { call }),
            429 => Err(Error::TooManyRequests { call }),
            503 => Err(Error::Starting { call }),
            500..=599 => Err(Error::ServerFault { call, status }),
            _ => Err(Error::UnexpectedStatus { call, status }),
        }
    }

    pub(crate) fn json(self) -> Result<(Call, Value), Error> {
        let answer = self.successful()?;
        let kind = answer.content_type.split(';').next().unwrap_or_default().trim();
        let is_json = kind.eq_ignore_ascii_case("application/json") || kind.ends_with("+json");
        if !is_json {
            return Err(Error::NotJson { call: answer.call });
        }
        match serde_json::from_slice(&answer.body) {
            Ok(value) => Ok((answer.call, value)),
            Err(_) => Err(Error::Malformed { call: answer.call, why: "it is not valid JSON" }),
        }
    }
}

impl Redirect {
    pub(crate) fn parse(location: Option<&str>) -> Self {
        let Some(location) = location else { return Self::None };
        let bare = location.split(['?', '#']).next().unwrap_or_default();
        let path = bare.trim_end_matches('/');
        if path.ends_with("/welcome") || path == "welcome" {
            Self::Welcome
        } else if bare.starts_with("https://") {
            Self::Secure(shown(bare))
        } else {
            Self::Elsewhere(shown(bare))
        }
    }

    /// Returns the address without what may be secret: credentials, query and fragment.
    pub(crate) fn place(self) -> Option<String> {
        match self {
            Self::Secure(place) | Self::Elsewhere(place) => Some(place),
            Self::None | Self::Welcome => None,
        }
    }
}

/// Drops the credentials of an address and whatever a terminal would obey.
fn shown(bare: &str) -> String {
    let (scheme, rest) = match bare.split_once("//") {
        Some((scheme, rest)) => (format!("{scheme}//"), rest),
        None => (String::new(), bare),
    };
    let end = if scheme.is_empty() { 0 } else { rest.find('/').unwrap_or(rest.len()) };
    let (authority, path) = rest.split_at(end);
    let host = authority.rsplit('@').next().unwrap_or_default();
    let place = format!("{scheme}{host}{path}");
    place.chars().take(SHOWN).flat_map(char::escape_debug).collect()
}
