//! The images of this project: what is in each of them.
//!
//! Operator and agent run git and ssh as subprocesses, so both images carry them with their
//! libraries. There is no shell in either. The gateway stand-in is for tests and demonstrations
//! only and has one, because seed scripts need it.

use std::path::Path;

use crate::{Distribution, Error, Image};

/// Where the programs of this project are in their images.
const PROGRAMS: &str = "/usr/local/bin";
/// Where Debian keeps git's own programs.
const GIT_CORE: &str = "/usr/lib/git-core";
/// The library that gives ssh a user name for a uid without a passwd entry.
const NSS_WRAPPER: &str = "libnss_wrapper.so";
/// The user that official Ignition images run as.
const IGNITION: u32 = 2003;

/// Name and tag of an image, and the program that it runs.
#[derive(Debug, Clone, Copy)]
pub struct Recipe<'a> {
    /// Name and tag, such as `registry.example/stoker-agent:1.2.3`.
    pub name: &'a str,
    /// The version, for the labels.
    pub version: &'a str,
    /// The program, linked statically.
    pub program: &'a Path,
    /// Where git and ssh come from.
    pub distribution: &'a Distribution,
}

impl Recipe<'_> {
    /// Builds the image of `stoker-operator`.
    pub fn operator(&self) -> Result<Image, Error> {
        self.with_git("stoker-operator")
    }

    /// Builds the image of `stoker-agent`.
    pub fn agent(&self) -> Result<Image, Error> {
        self.with_git("stoker-agent")
    }

    /// Builds the image of `fake-gateway`, with a shell.
    pub fn gateway(&self) -> Result<Image, Error> {
        let program = format!("{PROGRAMS}/fake-gateway");
        let passwd = format!("ignition:x:{IGNITION}:{IGNITION}::/usr/local/bin/ignition:/bin/sh\n");
        let image = Image::named(self.name)
            .with_busybox()?
            .program(&program, self.program)?
            .file("/etc/passwd", format!("root:x:0:0:root:/root:/bin/sh\n{passwd}"), 0o644)
            .directory("/usr/local/bin/ignition/data", 0o755, IGNITION)
            .entrypoint([program.as_str()])
            // As first process of its container it would ignore SIGTERM.
            .stop_signal("SIGKILL")
            .user(IGNITION, IGNITION);
        Ok(image)
    }

    fn with_git(&self, program: &str) -> Result<Image, Error> {
        let path = format!("{PROGRAMS}/{program}");
        let remote = format!("{GIT_CORE}/git-remote-http");
        let wrapper = self.nss_wrapper()?;
        Image::named(self.name)
            .of(self.distribution)
            .with_accounts()
            .with_certificates()?
            .program(&path, self.program)?
            .installed("/usr/bin/git")?
            .installed(&remote)?
            .installed("/usr/bin/ssh")?
            .installed(&wrapper)
            .map(|image| {
                image
                    .link(&format!("{GIT_CORE}/git-remote-https"), "git-remote-http")
                    .label("org.opencontainers.image.title", program)
                    .label("org.opencontainers.image.version", self.version)
                    .label("org.opencontainers.image.licenses", "Apache-2.0")
                    .entrypoint([path.as_str()])
            })
    }

    fn nss_wrapper(&self) -> Result<String, Error> {
        let triple = format!("/usr/lib/{}-linux-gnu", self.distribution.architecture.machine());
        let directories = [triple.as_str(), "/usr/lib64", "/usr/lib"];
        let mut paths = directories.iter().map(|directory| format!("{directory}/{NSS_WRAPPER}"));
        let found = paths.find(|path| self.distribution.locate(path).is_file());
        found.ok_or_else(|| Error::MissingLibrary {
            name: NSS_WRAPPER.to_owned(),
            needed_by: "/usr/bin/ssh".into(),
        })
    }
}
