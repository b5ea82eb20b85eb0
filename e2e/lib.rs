//! Claims that hold on a real cluster with a real node.
//!
//! Each suite is a test target of this package (`node/suite.rs`) and each claim a directory below
//! it, with its manifests beside its code. `cargo xtask e2e node 03` runs claim 03 of `node`.
