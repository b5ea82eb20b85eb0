//! Claims about plan.
