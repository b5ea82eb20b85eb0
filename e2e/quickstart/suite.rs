//! The way of a new user: from `helm install` to the second commit, and away again.

#![expect(clippy::unwrap_used, reason = "a claim that can't go on has failed")]

#[path = "01-the-page-works/claim.rs"]
mod c01;
#[path = "02-nothing-holds-on-after-uninstall/claim.rs"]
mod c02;
