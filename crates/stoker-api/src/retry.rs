//! When something that failed is tried again.

/// When something that failed is tried again, if nothing changes here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retry {
    /// Soon, then less often: it may pass by itself.
    Backoff,
    /// At the next period: a person must do something first, on the gateway or here.
    NextPeriod,
    /// When the commit, the profile or a confirmation changes: nothing else can help.
    NextChange,
}
