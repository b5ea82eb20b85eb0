//! Reads a response: status first, then content type, then body.

use serde_json::Value;

use crate::error::{Call, Error};
use crate::redirect::Redirect;

/// A response of the gateway. The body is there only for a status of success.
pub(crate) struct Response {
    pub(crate) call: Call,
    pub(crate) status: u16,
    pub(crate) content_type: String,
    pub(crate) redirect: Redirect,
    pub(crate) body: Vec<u8>,
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
