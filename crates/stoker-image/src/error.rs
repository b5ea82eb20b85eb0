//! Why an image could not be built.

use std::io;
use std::path::{Path, PathBuf};

/// A failure to collect the parts of an image or to write its archive.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file of this machine could not be read.
    #[error("failed to read {path:?}")]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The archive could not be written.
    #[error("failed to write {path:?}")]
    Write {
        /// The archive.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A program is not an ELF file.
    #[error("{path:?} is not an ELF program or library")]
    NotElf {
        /// The file.
        path: PathBuf,
        /// What the parser said.
        source: goblin::error::Error,
    },
    /// A library is not on this machine.
    #[error("{needed_by:?} needs the library {name:?}, which is not installed")]
    MissingLibrary {
        /// The library's name.
        name: String,
        /// The program or library that links to it.
        needed_by: PathBuf,
    },
    /// An archive has no image in it.
    #[error("{path:?} is not an archive of an image")]
    NotAnImage {
        /// The file.
        path: PathBuf,
    },
    /// A program that is needed to build the image failed.
    #[error("failed to run {program}")]
    Run {
        /// The program.
        program: &'static str,
        /// What the system said.
        source: io::Error,
    },
}

impl Error {
    /// Converts errors of reading `path`, for `map_err`.
    pub(crate) fn read(path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Read { path: path.to_owned(), source }
    }
}
