//! Asks a gateway and waits for the answer: key, deadline, cancellation, and the second port where
//! the first does not do.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::Value;
use stoker_http::Method;
use stoker_sync::Cancel;
use tokio::runtime::Runtime;

use crate::answer::Answer;
use crate::endpoint::Address;
use crate::error::Error;
use crate::gateway::{Limits, Options};
use crate::key::Key;
use crate::tls;
use crate::transport::{Question, Target};

/// How often a call that waits checks whether it was cancelled.
const CANCEL_INTERVAL: Duration = Duration::from_millis(25);

/// The way to one gateway.
pub(crate) struct Client {
    /// `None` only while it is being dropped.
    runtime: Option<Runtime>,
    first: Target,
    otherwise: Option<Target>,
    /// The second target was the one that worked last.
    prefers_otherwise: AtomicBool,
    key_file: Option<PathBuf>,
    limits: Limits,
    cancel: Cancel,
}

/// Whether a request carries the key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    Anybody,
    Key,
}

impl Client {
    /// Prepares; contacts nobody.
    pub(crate) fn new(options: Options) -> Result<Self, Error> {
        let Options { endpoint, api_key_file, ca_file, limits, cancel } = options;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|source| Error::StartRuntime { source })?;
        let target = |address: Address| {
            let tls = address.is_tls.then(|| tls::config(&address, ca_file.as_deref())).transpose();
            tls.map(|tls| Target { address, tls })
        };
        Ok(Self {
            runtime: Some(runtime),
            first: target(endpoint.first)?,
            otherwise: endpoint.otherwise.map(target).transpose()?,
            prefers_otherwise: AtomicBool::new(false),
            key_file: api_key_file,
            limits,
            cancel,
        })
    }

    /// Gets, within the limit of a call and within `left` of something longer.
    pub(crate) fn get(&self, path: &str, access: Access, left: Duration) -> Result<Answer, Error> {
        let question = self.question(Method::GET, path, access)?;
        self.wait(self.limits.call.min(left), &question)
    }

    /// Posts without a body.
    pub(crate) fn post(&self, path: &str) -> Result<Answer, Error> {
        let question = self.question(Method::POST, path, Access::Key)?;
        self.wait(self.limits.call, &question)
    }

    /// Posts without a body though the caller may be cancelled: for what must be put right before
    /// the end.
    pub(crate) fn post_regardless(&self, path: &str, within: Duration) -> Result<Answer, Error> {
        let question = self.question(Method::POST, path, Access::Key)?;
        self.runtime().block_on(self.ask_within(within, &question))
    }

    /// Posts JSON to a route that may take longer than others: this long.
    pub(crate) fn post_json(
        &self,
        path: &str,
        body: &Value,
        within: Duration,
    ) -> Result<Answer, Error> {
        let question = self.question(Method::POST, path, Access::Key)?;
        let question = Question { body: Some(body.to_string()), ..question };
        self.wait(within, &question)
    }

    /// Waits without asking anything.
    pub(crate) fn pause(&self, duration: Duration) -> Result<(), Error> {
        self.runtime().block_on(async {
            tokio::select! {
                () = tokio::time::sleep(duration) => Ok(()),
                () = self.cancelled() => Err(Error::Cancelled),
            }
        })
    }

    fn question<'a>(
        &self,
        method: Method,
        path: &'a str,
        access: Access,
    ) -> Result<Question<'a>, Error> {
        let key = match (access, &self.key_file) {
            (Access::Anybody, _) => None,
            (Access::Key, None) => return Err(Error::NoKey),
            // Read anew for every call: it may have been rotated since.
            (Access::Key, Some(path)) => Some(Key::read(path)?),
        };
        let Limits { connect: connect_within, body: body_limit, .. } = self.limits;
        Ok(Question { method, path, body: None, key, connect_within, body_limit })
    }

    fn wait(&self, within: Duration, question: &Question<'_>) -> Result<Answer, Error> {
        self.runtime().block_on(async {
            tokio::select! {
                // Cancelled before it began: nothing is sent.
                biased;
                () = self.cancelled() => Err(Error::Cancelled),
                answer = self.ask_within(within, question) => answer,
            }
        })
    }

    async fn ask_within(&self, within: Duration, question: &Question<'_>) -> Result<Answer, Error> {
        let late = |_| Err(Error::TimedOut { call: self.first.call(question), within });
        tokio::time::timeout(within, self.ask(question)).await.unwrap_or_else(late)
    }

    /// Asks where it worked last, and elsewhere if nobody answers or a secure channel is demanded.
    ///
    /// Only a request that was not served is asked twice: no connection, 403, or a redirect.
    async fn ask(&self, question: &Question<'_>) -> Result<Answer, Error> {
        let Some(otherwise) = &self.otherwise else { return self.first.ask(question).await };
        let prefers_otherwise = self.prefers_otherwise.load(Ordering::Relaxed);
        let (one, other) =
            if prefers_otherwise { (otherwise, &self.first) } else { (&self.first, otherwise) };
        let answer = one.ask(question).await;
        if !is_worth_another(&answer, one) {
            return answer;
        }
        let second = other.ask(question).await;
        let is_better = match &second {
            Ok(second) => !second.wants_secure_channel() || answer.is_err(),
            Err(error) => answer.is_err() && !is_no_answer(error),
        };
        if is_better {
            self.prefers_otherwise.store(!prefers_otherwise, Ordering::Relaxed);
            return second;
        }
        answer
    }

    /// Waits until the run is asked to end.
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

fn is_worth_another(answer: &Result<Answer, Error>, target: &Target) -> bool {
    match answer {
        Ok(answer) => !target.address.is_tls && answer.wants_secure_channel(),
        Err(error) => is_no_answer(error),
    }
}

fn is_no_answer(error: &Error) -> bool {
    matches!(
        error,
        Error::ConnectionRefused { .. } | Error::Unreachable { .. } | Error::TimedOut { .. }
    )
}
