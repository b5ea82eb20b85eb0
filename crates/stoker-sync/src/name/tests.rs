//! Claims about name.
