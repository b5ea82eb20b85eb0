//! Errors of git in the words of the condition RefResolved.

use stoker_api::chain::Chain;
use stoker_api::condition::{ConditionType, Reason};
use stoker_core::reconcile::Failure;
use stoker_core::refs;
use stoker_core::remedy::advised;
use stoker_git::diagnosis::Fault;

/// Returns the reason and the message for an error of git.
pub(crate) fn failure_of(error: &stoker_git::Error) -> Failure {
    let reason = error.reason();
    let mut message = advised(Chain(error), error.remedy().as_ref());
    if let Some(Fault::Redirected { .. }) = error.fault() {
        message.push_str("; if that is right, set spec.git.repo to the repository's URL there");
    }
    // RefResolved has fewer reasons; the finer word begins the message.
    if ConditionType::RefResolved.reasons().contains(&reason) {
        return Failure { reason, message };
    }
    Failure { reason: Reason::RefResolutionFailed, message: format!("{reason}: {message}") }
}

/// Returns the reason and the message for a ref that the remote does not resolve.
pub(crate) fn unresolved(error: &refs::Error) -> Failure {
    let word = match error {
        refs::Error::Range { .. } => "InvalidRange",
        refs::Error::Ambiguous { .. } => "AmbiguousRef",
        refs::Error::NotFound { .. }
        | refs::Error::Empty { .. }
        | refs::Error::TooShort { .. }
        | refs::Error::NoVersion { .. }
        | refs::Error::Unreachable { .. } => Reason::RefNotFound.as_str(),
    };
    let message = format!("{word}: {}", Chain(error));
    Failure { reason: Reason::RefResolutionFailed, message }
}
