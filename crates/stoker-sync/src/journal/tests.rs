//! Claims about journal.
