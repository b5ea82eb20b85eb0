//! The git edge of Stoker: lists refs, fetches a commit, serves its objects.
//!
//! Git itself does the work, as a subprocess that sees nothing but what we give it
//! (`command`), with credentials that nobody can see ([`auth`]), within limits
//! ([`limits`]), and with errors that say what to do ([`error`]). Everything here blocks.
//!
//! | step | where |
//! |---|---|
//! | which refs are there, what does this one mean | [`remote::list`], [`resolve::resolve`] |
//! | fetch a commit, serve trees and files | [`store::Store`], [`store::CommitSource`] |
//! | serve git when it runs our own program | [`helper::serve`] |

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
