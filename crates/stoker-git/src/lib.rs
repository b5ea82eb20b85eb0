//! The git edge of Stoker: lists refs, fetches a commit, serves its objects.
//!
//! The `git` program does the work. It runs isolated from the machine's configuration (`command`),
//! with credentials that do not show in arguments, environment or files ([`auth`]), within limits
//! ([`limits`]), and with errors that name the next step ([`error`]). Everything here blocks.
//!
//! | step | where |
//! |---|---|
//! | list refs, resolve a ref to a commit | [`remote::list`], [`resolve::resolve`] |
//! | fetch a commit, serve trees and files | [`store::Store`], [`store::CommitSource`] |
//! | run as git's askpass or ssh program | [`helper::serve`] |

pub mod access;
pub mod auth;
mod command;
pub mod diagnosis;
pub mod error;
pub mod helper;
pub mod host_key;
pub mod limits;
pub mod memfile;
mod process;
pub mod remote;
pub mod resolve;
mod server_words;
pub mod store;

pub use access::{Access, PlainHttp};
pub use auth::Auth;
pub use error::Error;
pub use limits::Limits;
pub use server_words::ServerWords;
pub use stoker_sync::Cancel;
pub use store::{CommitSource, Store};
