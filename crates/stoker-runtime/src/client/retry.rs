//! Which requests to the API server are retried, and when.
//!
//! A server that is overloaded (429) is asked again, whatever the request. A server that is away
//! or slow (503, 504) is asked again only where repeating does no harm: reads, and writes that
//! name their object. The server's `Retry-After` counts up to 10 s. Connections that fail are not
//! retried here: drivers and watches have delays of their own.

use std::time::Duration;

use hyper::header::RETRY_AFTER;
use hyper::{Method, Request, Response, StatusCode};
use kube::client::Body;
use tokio::time::Sleep;
use tower::BoxError;
use tower::retry::Policy;

const LONGEST: Duration = Duration::from_secs(10);

/// How often and how soon a request is retried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retry {
    left: u32,
    next: Duration,
}

impl Retry {
    /// What programs use: three retries, after about 0.2, 0.4 and 0.8 s.
    pub const STANDARD: Self = Self { left: 3, next: Duration::from_millis(200) };
    /// The first failure is returned.
    pub const NEVER: Self = Self { left: 0, next: Duration::ZERO };

    /// Returns how long to wait before the next attempt, before jitter.
    fn decide(
        &mut self,
        method: &Method,
        status: StatusCode,
        asked: Option<u64>,
    ) -> Option<Duration> {
        let retryable = match status {
            StatusCode::TOO_MANY_REQUESTS => true,
            StatusCode::SERVICE_UNAVAILABLE | StatusCode::GATEWAY_TIMEOUT => {
                *method != Method::POST
            }
            _ => false,
        };
        if !retryable || self.left == 0 {
            return None;
        }
        let own = self.next;
        self.left -= 1;
        self.next = own * 2;
        let asked = asked.map(Duration::from_secs).unwrap_or_default();
        Some(own.max(asked).min(LONGEST))
    }
}

impl<B> Policy<Request<Body>, Response<B>, BoxError> for Retry {
    type Future = Sleep;

    fn retry(
        &mut self,
        request: &mut Request<Body>,
        result: &mut Result<Response<B>, BoxError>,
    ) -> Option<Sleep> {
        let response = result.as_ref().ok()?;
        let asked = response.headers().get(RETRY_AFTER);
        let asked = asked.and_then(|value| value.to_str().ok()?.trim().parse().ok());
        let delay = self.decide(request.method(), response.status(), asked)?;
        // Up to a quarter more, so that clients that were refused together do not return together.
        Some(tokio::time::sleep(delay.mul_f64(1.0 + fastrand::f64() / 4.0)))
    }

    fn clone_request(&mut self, request: &Request<Body>) -> Option<Request<Body>> {
        let mut clone = Request::new(request.body().try_clone()?);
        *clone.method_mut() = request.method().clone();
        *clone.uri_mut() = request.uri().clone();
        *clone.version_mut() = request.version();
        *clone.headers_mut() = request.headers().clone();
        *clone.extensions_mut() = request.extensions().clone();
        Some(clone)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delays(method: &Method, status: u16, asked: Option<u64>) -> Vec<u128> {
        let mut retry = Retry::STANDARD;
        let status = StatusCode::from_u16(status).unwrap();
        std::iter::from_fn(|| retry.decide(method, status, asked)).map(|d| d.as_millis()).collect()
    }

    #[test]
    fn an_overloaded_server_is_asked_three_more_times() {
        assert_eq!(delays(&Method::GET, 429, None), [200, 400, 800]);
        assert_eq!(delays(&Method::POST, 429, None), [200, 400, 800]);
    }

    #[test]
    fn a_creation_is_not_repeated_when_its_outcome_is_unknown() {
        assert_eq!(delays(&Method::POST, 504, None), Vec::<u128>::new());
        assert_eq!(delays(&Method::PATCH, 504, None), [200, 400, 800]);
    }

    #[test]
    fn the_server_chooses_the_delay_up_to_ten_seconds() {
        assert_eq!(delays(&Method::GET, 429, Some(2)), [2000, 2000, 2000]);
        assert_eq!(delays(&Method::GET, 429, Some(u64::MAX)), [10_000, 10_000, 10_000]);
    }

    #[test]
    fn other_answers_and_spent_policies_are_final() {
        for status in [200, 400, 401, 403, 404, 409, 410, 422, 500] {
            assert_eq!(delays(&Method::GET, status, None), Vec::<u128>::new(), "{status}");
        }
        let mut never = Retry::NEVER;
        assert_eq!(never.decide(&Method::GET, StatusCode::TOO_MANY_REQUESTS, None), None);
    }
}
