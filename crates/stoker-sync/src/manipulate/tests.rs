//! Claims about manipulate.
