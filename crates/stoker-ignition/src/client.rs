//! Sends a request to a gateway and waits for the response: key, deadline, cancellation, and the
//! second port if the first fails.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::Value;
use stoker_http::Method;
use stoker_sync::Cancel;
use tokio::runtime::Runtime;

use crate::endpoint::Address;
use crate::error::Error;
use crate::gateway::{Limits, Options};
use crate::key::Key;
use crate::response::Response;
use crate::transport::{Request, Target, tls_config};

/// How often a call that waits checks whether it was cancelled.
const CANCEL_INTERVAL: Duration = Duration::from_millis(25);

pub(crate) struct Client {
    /// `None` only while it is being dropped.
    runtime: Option<Runtime>,
    first: Target,
    fallback: Option<Target>,
    /// The second target was the one that worked last.
    prefers_fallback: AtomicBool,
    key_file: Option<PathBuf>,
    limits: Limits,
    cancel: Cancel,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    Public,
    Key,
}

impl Client {
    /// Prepares, without contacting the gateway.
    pub(crate) fn new(options: Options) -> Result<Self, Error> {
        let Options { endpoint, api_key_file, ca_file, limits, cancel } = options;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|source| Error::StartRuntime { source })?;
        let target = |address: Address| {
            let tls = address.is_tls.then(|| tls_config(&address, ca_file.as_deref())).transpose();
            tls.map(|tls| Target { address, tls })
        };
        Ok(Self {
            runtime: Some(runtime),
            first: target(endpoint.first)?,
            fallback: endpoint.fallback.map(target).transpose()?,
            prefers_fallback: AtomicBool::new(false),
            key_file: api_key_file,
            limits,
            cancel,
        })
    }

    /// Gets, within the limit of a call and within `left` of something longer.
    pub(crate) fn get(
        &self,
        path: &str,
        access: Access,
        left: Duration,
    ) -> Result<Response, Error> {
        let request = self.request(Method::GET, path, access)?;
        self.wait(self.limits.call.min(left), &request)
    }

    pub(crate) fn post(&self, path: &str) -> Result<Response, Error> {
        let request = self.request(Method::POST, path, Access::Key)?;
        self.wait(self.limits.call, &request)
    }

    /// Posts without a body though the caller may be cancelled: for what must be put right before
    /// the end.
    pub(crate) fn post_even_if_cancelled(
        &self,
        path: &str,
        within: Duration,
    ) -> Result<Response, Error> {
        let request = self.request(Method::POST, path, Access::Key)?;
        self.runtime().block_on(self.send_within(within, &request))
    }

    /// Posts JSON to a route that may take longer than others: this long.
    pub(crate) fn post_json(
        &self,
        path: &str,
        body: &Value,
        within: Duration,
    ) -> Result<Response, Error> {
        let request = self.request(Method::POST, path, Access::Key)?;
        let request = Request { body: Some(body.to_string()), ..request };
        self.wait(within, &request)
    }

    pub(crate) fn pause(&self, duration: Duration) -> Result<(), Error> {
        self.runtime().block_on(async {
            tokio::select! {
                () = tokio::time::sleep(duration) => Ok(()),
                () = self.cancelled() => Err(Error::Cancelled),
            }
        })
    }

    fn request<'a>(
        &self,
        method: Method,
        path: &'a str,
        access: Access,
    ) -> Result<Request<'a>, Error> {
        let key = match (access, &self.key_file) {
            (Access::Public, _) => None,
            (Access::Key, None) => return Err(Error::NoKey),
            // Read for every call: it may have been rotated since.
            (Access::Key, Some(path)) => Some(Key::read(path)?),
        };
        let Limits { connect: connect_within, body: body_limit, .. } = self.limits;
        Ok(Request { method, path, body: None, key, connect_within, body_limit })
    }

    fn wait(&self, within: Duration, request: &Request<'_>) -> Result<Response, Error> {
        self.runtime().block_on(async {
            tokio::select! {
                // Cancelled before it began: nothing is sent.
                biased;
                () = self.cancelled() => Err(Error::Cancelled),
                response = self.send_within(within, request) => response,
            }
        })
    }

    async fn send_within(
        &self,
        within: Duration,
        request: &Request<'_>,
    ) -> Result<Response, Error> {
        let late = |_| Err(Error::TimedOut { call: self.first.call(request), within });
        tokio::time::timeout(within, self.send(request)).await.unwrap_or_else(late)
    }

    /// Sends to the port that worked last, and to the other if there is no response or TLS is demanded.
    ///
    /// Only a request that was not served is asked twice: no connection, 403, or a redirect.
    async fn send(&self, request: &Request<'_>) -> Result<Response, Error> {
        let Some(fallback) = &self.fallback else { return self.first.send(request).await };
        let prefers_fallback = self.prefers_fallback.load(Ordering::Relaxed);
        let (one, other) =
            if prefers_fallback { (fallback, &self.first) } else { (&self.first, fallback) };
        let response = one.send(request).await;
        if !is_worth_another(&response, one) {
            return response;
        }
        let second = other.send(request).await;
        let is_better = match &second {
            Ok(second) => !second.wants_secure_channel() || response.is_err(),
            Err(error) => response.is_err() && !is_no_answer(error),
        };
        if is_better {
            self.prefers_fallback.store(!prefers_fallback, Ordering::Relaxed);
            return second;
        }
        response
    }

    async fn cancelled(&self) {
        while !self.cancel.is_cancelled() {
            tokio::time::sleep(CANCEL_INTERVAL).await;
        }
    }

    /// Reads the key without sending it.
    pub(crate) fn check_key_file(&self) -> Result<(), Error> {
        self.key_file.as_deref().map_or(Ok(()), |path| Key::read(path).map(drop))
    }

    fn runtime(&self) -> &Runtime {
        self.runtime.as_ref().expect("the runtime is there until the client is dropped")
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            // A name that is still being resolved must not hold us up.
            runtime.shutdown_background();
        }
    }
}

fn is_worth_another(response: &Result<Response, Error>, target: &Target) -> bool {
    match response {
        Ok(response) => !target.address.is_tls && response.wants_secure_channel(),
        Err(error) => is_no_answer(error),
    }
}

fn is_no_answer(error: &Error) -> bool {
    matches!(
        error,
        Error::ConnectionRefused { .. } | Error::Unreachable { .. } | Error::TimedOut { .. }
    )
}
