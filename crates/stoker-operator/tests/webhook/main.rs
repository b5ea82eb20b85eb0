//! The admission webhook, its certificate and the receiver against a real API server.
#![expect(clippy::unwrap_used, reason = "all of this file is test code")]

mod admission;
mod body;
mod certificate;
mod flood;
mod generated;
mod http;
mod http2;
mod receiver;
mod recipe;
mod repair;
mod selector;
mod table;
mod world;
