//! Claims about write.
