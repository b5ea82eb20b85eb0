//! Claims about compose.
