//! Claims that hold on a real cluster with a real node.
//!
//! Each suite is a test target of this package (`node/suite.rs`) and each claim a directory below
//! it, with its manifests beside its code. `cargo xtask e2e 03` runs the claims numbered 03.
