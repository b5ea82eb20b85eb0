//! Where the distribution's files of an image come from, and for which architecture they are.

use std::path::{Path, PathBuf};

/// What an image runs on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Architecture {
    /// 64-bit x86.
    Amd64,
    /// 64-bit Arm.
    Arm64,
}

impl Architecture {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Amd64, Self::Arm64];

    /// Returns that of this machine.
    pub fn of_this_machine() -> Self {
        if std::env::consts::ARCH == "aarch64" { Self::Arm64 } else { Self::Amd64 }
    }

    /// Returns the name that Go, Debian and images have for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Amd64 => "amd64",
            Self::Arm64 => "arm64",
        }
    }

    /// Returns the name that Rust and the kernel have for it.
    pub fn machine(self) -> &'static str {
        match self {
            Self::Amd64 => "x86_64",
            Self::Arm64 => "aarch64",
        }
    }
}

/// A tree of files with Debian's packages in it: this machine's own, or one that was unpacked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Distribution {
    /// What its programs run on.
    pub architecture: Architecture,
    /// The directory that is `/` for its files.
    pub root: PathBuf,
}

impl Distribution {
    /// Returns the files of this machine.
    pub fn of_this_machine() -> Self {
        Self { architecture: Architecture::of_this_machine(), root: "/".into() }
    }

    /// Returns where a file with this absolute path is.
    pub fn locate(&self, path: impl AsRef<Path>) -> PathBuf {
        let path = path.as_ref();
        self.root.join(path.strip_prefix("/").unwrap_or(path))
    }
}
