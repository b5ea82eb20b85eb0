//! The builder of an image: which files it has, and how its container starts.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::archive::{self, Compression};
use crate::{Distribution, Error, gzip, library};

/// Linked statically, so it needs no library in the image.
const BUSYBOX: &str = "/bin/busybox";
/// The CA certificates of Debian's package `ca-certificates`, and their path in an image.
const CERTIFICATES: &str = "/etc/ssl/certs/ca-certificates.crt";

/// The user of images that need no rights.
pub(crate) const NONROOT: u32 = 65532;

/// An image that is being built.
#[derive(Debug, Clone)]
pub struct Image {
    pub(crate) name: String,
    pub(crate) entries: BTreeMap<PathBuf, Entry>,
    pub(crate) settings: Settings,
    pub(crate) distribution: Distribution,
}

/// How a container of the image starts.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    pub(crate) entrypoint: Vec<String>,
    pub(crate) environment: Vec<String>,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) stop_signal: Option<String>,
    pub(crate) user: u32,
    pub(crate) group: u32,
}

/// A path of the image.
#[derive(Debug, Clone)]
pub(crate) enum Entry {
    File { bytes: Vec<u8>, mode: u32 },
    Link { target: PathBuf },
    Directory { mode: u32, owner: u32 },
}

impl Image {
    /// Returns an empty image that runs as root. Use a tag other than `latest`: the kubelet always
    /// pulls `latest`.
    pub fn named(name: &str) -> Self {
        let settings = Settings {
            entrypoint: Vec::new(),
            environment: vec!["PATH=/usr/local/bin:/usr/bin:/bin".to_owned()],
            labels: BTreeMap::new(),
            stop_signal: None,
            user: 0,
            group: 0,
        };
        let distribution = Distribution::of_this_machine();
        let entries = BTreeMap::new();
        let image = Self { name: name.to_owned(), entries, settings, distribution };
        image.directory("/tmp", 0o1777, 0)
    }

    /// Takes programs and libraries from there, and is for its architecture.
    #[must_use]
    pub fn of(mut self, distribution: &Distribution) -> Self {
        self.distribution = distribution.clone();
        self
    }

    /// Returns where programs and libraries come from.
    pub fn distribution(&self) -> &Distribution {
        &self.distribution
    }

    /// Returns name and tag.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the paths of all files, links and explicit directories, sorted.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.entries.keys().map(PathBuf::as_path)
    }

    /// Adds a file with these bytes.
    #[must_use]
    pub fn file(mut self, path: &str, bytes: impl Into<Vec<u8>>, mode: u32) -> Self {
        self.entries.insert(relative(path), Entry::File { bytes: bytes.into(), mode });
        self
    }

    /// Adds a symbolic link.
    #[must_use]
    pub fn link(mut self, path: &str, target: &str) -> Self {
        self.entries.insert(relative(path), Entry::Link { target: target.into() });
        self
    }

    /// Adds a directory. Parents of files need none: they are added with mode 0755.
    #[must_use]
    pub fn directory(mut self, path: &str, mode: u32, owner: u32) -> Self {
        self.entries.insert(relative(path), Entry::Directory { mode, owner });
        self
    }

    /// Adds a program of the distribution, with all libraries that it links to.
    pub(crate) fn installed(self, path: &str) -> Result<Self, Error> {
        let source = self.distribution.locate(path);
        self.program(path, &source)
    }

    /// Adds a file of this machine, with all libraries that it links to. A static program brings
    /// none.
    pub fn program(mut self, path: &str, source: &Path) -> Result<Self, Error> {
        for library in library::closure(source, &self.distribution)? {
            let bytes = fs::read(&library.source).map_err(Error::read(&library.source))?;
            self = self.file(&library.path, bytes, 0o755);
        }
        let bytes = fs::read(source).map_err(Error::read(source))?;
        Ok(self.file(path, bytes, 0o755))
    }

    /// Adds busybox and a link for each of its applets: a shell, wget, nslookup and more.
    pub fn with_busybox(self) -> Result<Self, Error> {
        let run = |source| Error::Run { program: BUSYBOX, source };
        let list = Command::new(BUSYBOX).arg("--list").output().map_err(run)?;
        let applets = String::from_utf8_lossy(&list.stdout).into_owned();
        let image = self.program(BUSYBOX, Path::new(BUSYBOX))?;
        let others = applets.lines().filter(|applet| *applet != "busybox");
        Ok(others.fold(image, |image, applet| image.link(&format!("/bin/{applet}"), BUSYBOX)))
    }

    /// Adds the CA certificates of this machine.
    pub fn with_certificates(self) -> Result<Self, Error> {
        let path = Path::new(CERTIFICATES);
        let bytes = fs::read(path).map_err(Error::read(path))?;
        Ok(self.file(CERTIFICATES, bytes, 0o644))
    }

    /// Adds the accounts `root` and `nonroot`, and runs as `nonroot`.
    #[must_use]
    pub fn with_accounts(self) -> Self {
        let passwd = format!(
            "root:x:0:0:root:/root:/sbin/nologin\n\
             nonroot:x:{NONROOT}:{NONROOT}:nonroot:/home/nonroot:/sbin/nologin\n"
        );
        self.file("/etc/passwd", passwd, 0o644)
            .file("/etc/group", format!("root:x:0:\nnonroot:x:{NONROOT}:\n"), 0o644)
            .file("/etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\n", 0o644)
            .directory("/home/nonroot", 0o700, NONROOT)
            .user(NONROOT, NONROOT)
    }

    /// Sets the command that a container runs.
    #[must_use]
    pub fn entrypoint<'a>(mut self, words: impl IntoIterator<Item = &'a str>) -> Self {
        self.settings.entrypoint = words.into_iter().map(str::to_owned).collect();
        self
    }

    /// Sets an environment variable.
    #[must_use]
    pub fn env(mut self, key: &str, value: &str) -> Self {
        self.settings.environment.push(format!("{key}={value}"));
        self
    }

    /// Sets a label, such as `org.opencontainers.image.version`.
    #[must_use]
    pub fn label(mut self, key: &str, value: &str) -> Self {
        self.settings.labels.insert(key.to_owned(), value.to_owned());
        self
    }

    /// Stops a container with this signal, such as `SIGKILL`, instead of SIGTERM.
    #[must_use]
    pub fn stop_signal(mut self, signal: &str) -> Self {
        self.settings.stop_signal = Some(signal.to_owned());
        self
    }

    /// Runs as this user and group.
    #[must_use]
    pub fn user(mut self, user: u32, group: u32) -> Self {
        self.settings.user = user;
        self.settings.group = group;
        self
    }

    /// Writes the files into a directory, for a Dockerfile that copies it. Owners are left out.
    pub fn unpack(&self, directory: &Path) -> Result<(), Error> {
        for (path, entry) in &self.entries {
            let path = directory.join(path);
            let write = || -> io::Result<()> {
                if let Entry::Directory { mode, .. } = entry {
                    fs::create_dir_all(&path)?;
                    return fs::set_permissions(&path, fs::Permissions::from_mode(*mode));
                }
                fs::create_dir_all(path.parent().unwrap_or(directory))?;
                match entry {
                    Entry::File { bytes, mode } => {
                        fs::write(&path, bytes)?;
                        fs::set_permissions(&path, fs::Permissions::from_mode(*mode))
                    }
                    Entry::Link { target } => symlink(target, &path),
                    Entry::Directory { .. } => Ok(()),
                }
            };
            write().map_err(|source| Error::Write { path: path.clone(), source })?;
        }
        Ok(())
    }

    /// Returns how many bytes the files that are chosen by their paths have, gzipped.
    pub fn gzipped_size(&self, is_chosen: impl Fn(&Path) -> bool) -> Result<usize, Error> {
        let chosen = self.entries.iter().filter(|(path, _)| is_chosen(path));
        let entries = chosen.map(|(path, entry)| (path.clone(), entry.clone())).collect();
        let layer = archive::layer(&Self { entries, ..self.clone() });
        let layer = layer.map_err(|source| Error::Write { path: "layer.tar".into(), source })?;
        Ok(gzip(&layer).len())
    }

    /// Writes the archive.
    pub fn save(&self, path: &Path, compression: Compression) -> Result<(), Error> {
        archive::write(self, path, compression)
    }
}

fn relative(path: &str) -> PathBuf {
    PathBuf::from(path.trim_start_matches('/'))
}
