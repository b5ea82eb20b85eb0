//! What came back: status first, then content type, then body, in this order and in no other.

use serde_json::Value;

use crate::error::{Call, Error};

/// An answer of the gateway. The body is there only for a status of success.
pub(crate) struct Answer {
    pub(crate) call: Call,
    pub(crate) status: u16,
    pub(crate) content_type: String,
    pub(crate) location: Location,
    pub(crate) body: Vec<u8>,
}

/// Where a redirect leads, as far as it tells us something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Location {
    None,
    /// The page on which a new gateway is commissioned.
    Welcome,
    /// The same thing over TLS.
    Secure,
    Elsewhere,
}

impl Location {
    pub(crate) fn parse(location: Option<&str>) -> Self {
        match location {
            None => Self::None,
            Some(location) => {
                let path = location.split(['?', '#']).next().unwrap_or_default();
                let path = path.trim_end_matches('/');
                if path.ends_with("/welcome") || path == "welcome" {
                    Self::Welcome
                } else if location.starts_with("https://") {
                    Self::Secure
                } else {
                    Self::Elsewhere
                }
            }
        }
    }
}

impl Answer {
    /// Returns whether a gateway that answers so may well be content on its TLS port.
    pub(crate) fn wants_secure_channel(&self) -> bool {
        self.status == 403 || self.location == Location::Secure
    }

    /// Returns it if its status is one of success, else what its status means.
    pub(crate) fn successful(self) -> Result<Self, Error> {
        let Self { call, status, location, .. } = self;
        match (status, location) {
            (200..=299, _) => Ok(Self { call, ..self }),
            (300..=399, Location::Welcome) => Err(Error::NeedsCommissioning { call }),
            (300..=399, _) => Err(Error::Redirected { call, status }),
            (401, _) => Err(Error::Unauthorized { call }),
            (403, _) => Err(Error::Forbidden { call }),
            (404, _) => Err(Error::NotFound { call }),
            (429, _) => Err(Error::TooManyRequests { call }),
            (503, _) => Err(Error::Starting { call }),
            (500..=599, _) => Err(Error::ServerFault { call, status }),
            _ => Err(Error::UnexpectedStatus { call, status }),
        }
    }

    /// Returns the JSON of a successful answer.
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
