//! Claims about this module.
