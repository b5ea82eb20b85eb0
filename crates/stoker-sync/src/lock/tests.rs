//! Claims about lock.
