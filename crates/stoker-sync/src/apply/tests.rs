//! Claims about apply.
