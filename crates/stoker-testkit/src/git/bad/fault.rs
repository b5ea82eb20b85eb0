//! What a wire can suffer, as a value.

use std::time::Duration;

/// What happens to the wire, and before which byte of all answers together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fault {
    pub(super) at: u64,
    pub(super) kind: Kind,
    pub(super) repeat: Repeat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Stall,
    Drip(Duration),
    Reset,
    Close,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Repeat {
    Always,
    Once,
}

impl Fault {
    /// Sends `at` bytes and then nothing, with the connection open.
    pub fn stall(at: u64) -> Self {
        Self { at, kind: Kind::Stall, repeat: Repeat::Always }
    }

    /// Sends `at` bytes, and from then on one byte per `pause`.
    pub fn drip(at: u64, pause: Duration) -> Self {
        Self { at, kind: Kind::Drip(pause), repeat: Repeat::Always }
    }

    /// Sends `at` bytes and resets the connection.
    pub fn reset(at: u64) -> Self {
        Self { at, kind: Kind::Reset, repeat: Repeat::Always }
    }

    /// Sends `at` bytes and closes the connection politely, in the middle of the answer.
    pub fn close(at: u64) -> Self {
        Self { at, kind: Kind::Close, repeat: Repeat::Always }
    }

    /// Mends the wire after the fault has happened to one connection.
    #[must_use]
    pub fn once(mut self) -> Self {
        self.repeat = Repeat::Once;
        self
    }
}
