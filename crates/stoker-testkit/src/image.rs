//! Container images made of a few files, without a container engine.
//!
//! The result is a docker-archive: one layer, a configuration and a manifest, which containerd
//! imports.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::digest::sha256;

/// Static, so that it runs without a single library beside it.
const BUSYBOX: &str = "/bin/busybox";

/// An image in the making.
#[derive(Debug, Clone)]
pub struct Image {
    name: String,
    entries: Vec<(PathBuf, Entry)>,
    entrypoint: Vec<String>,
    environment: Vec<String>,
    user: String,
}

#[derive(Debug, Clone)]
enum Entry {
    File { bytes: Vec<u8>, mode: u32 },
    Link { target: PathBuf },
}

impl Image {
    /// An empty image. Use a tag other than `latest`, which the kubelet always tries to pull.
    pub fn named(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            entries: Vec::new(),
            entrypoint: Vec::new(),
            environment: vec!["PATH=/usr/local/bin:/usr/bin:/bin".to_owned()],
            user: "0:0".to_owned(),
        }
    }

    /// Its name and tag.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Adds a file with these bytes.
    #[must_use]
    pub fn file(mut self, path: &str, bytes: impl Into<Vec<u8>>, mode: u32) -> Self {
        self.entries.push((relative(path), Entry::File { bytes: bytes.into(), mode }));
        self
    }

    /// Adds a program of this machine; a static one, because no library comes along.
    pub fn program(self, path: &str, source: &Path) -> io::Result<Self> {
        Ok(self.file(path, fs::read(source)?, 0o755))
    }

    /// Adds a symbolic link.
    #[must_use]
    pub fn link(mut self, path: &str, target: &str) -> Self {
        self.entries.push((relative(path), Entry::Link { target: target.into() }));
        self
    }

    /// Adds busybox and a link for each of its applets: a shell, wget, nslookup and the like.
    pub fn with_busybox(self) -> io::Result<Self> {
        let list = Command::new(BUSYBOX).arg("--list").output()?;
        let applets = String::from_utf8_lossy(&list.stdout).into_owned();
        let image = self.program(BUSYBOX, Path::new(BUSYBOX))?;
        let others = applets.lines().filter(|applet| *applet != "busybox");
        Ok(others.fold(image, |image, applet| image.link(&format!("/bin/{applet}"), BUSYBOX)))
    }

    /// The command that a container runs.
    #[must_use]
    pub fn entrypoint<'a>(mut self, words: impl IntoIterator<Item = &'a str>) -> Self {
        self.entrypoint = words.into_iter().map(str::to_owned).collect();
        self
    }

    /// Sets an environment variable.
    #[must_use]
    pub fn env(mut self, key: &str, value: &str) -> Self {
        self.environment.push(format!("{key}={value}"));
        self
    }

    /// Runs as this user and group.
    #[must_use]
    pub fn user(mut self, uid: u32, gid: u32) -> Self {
        self.user = format!("{uid}:{gid}");
        self
    }

    /// Writes the archive.
    pub fn save(&self, path: &Path) -> io::Result<()> {
        let layer = self.layer()?;
        let configuration = self.configuration(&layer).to_string();
        let configuration_name = format!("{}.json", sha256(&[configuration.as_bytes()]));
        let manifest = json!([{
            "Config": configuration_name, "RepoTags": [self.name], "Layers": ["layer.tar"],
        }]);
        let mut archive = tar::Builder::new(File::create(path)?);
        append(&mut archive, Path::new(&configuration_name), configuration.as_bytes(), 0o644)?;
        append(&mut archive, Path::new("layer.tar"), &layer, 0o644)?;
        append(&mut archive, Path::new("manifest.json"), manifest.to_string().as_bytes(), 0o644)?;
        archive.finish()
    }

    fn layer(&self) -> io::Result<Vec<u8>> {
        let mut layer = tar::Builder::new(Vec::new());
        for (path, mode) in self.directories() {
            let mut header = header(tar::EntryType::Directory, 0, mode);
            layer.append_data(&mut header, path, io::empty())?;
        }
        for (path, entry) in &self.entries {
            match entry {
                Entry::File { bytes, mode } => append(&mut layer, path, bytes, *mode)?,
                Entry::Link { target } => {
                    let mut header = header(tar::EntryType::Symlink, 0, 0o777);
                    layer.append_link(&mut header, path, target)?;
                }
            }
        }
        layer.into_inner()
    }

    /// Every parent directory, shallow ones first, and a /tmp that anyone may use.
    fn directories(&self) -> Vec<(PathBuf, u32)> {
        let parents = self.entries.iter().flat_map(|(path, _)| path.ancestors().skip(1));
        let mut paths: Vec<PathBuf> =
            parents.filter(|path| !path.as_os_str().is_empty()).map(Path::to_owned).collect();
        paths.sort();
        paths.dedup();
        let listed = paths.into_iter().filter(|path| path != Path::new("tmp"));
        listed.map(|path| (path, 0o755)).chain([(PathBuf::from("tmp"), 0o1777)]).collect()
    }

    fn configuration(&self, layer: &[u8]) -> Value {
        let architecture = match std::env::consts::ARCH {
            "aarch64" => "arm64",
            _ => "amd64",
        };
        json!({
            "architecture": architecture,
            "os": "linux",
            "config": {
                "User": self.user, "Env": self.environment, "WorkingDir": "/",
                "Entrypoint": self.entrypoint,
            },
            "rootfs": {"type": "layers", "diff_ids": [format!("sha256:{}", sha256(&[layer]))]},
        })
    }
}

fn relative(path: &str) -> PathBuf {
    PathBuf::from(path.trim_start_matches('/'))
}

fn header(kind: tar::EntryType, size: u64, mode: u32) -> tar::Header {
    let mut header = tar::Header::new_gnu();
    header.set_entry_type(kind);
    header.set_size(size);
    header.set_mode(mode);
    header
}

fn append<W: io::Write>(
    archive: &mut tar::Builder<W>,
    path: &Path,
    bytes: &[u8],
    mode: u32,
) -> io::Result<()> {
    let mut header = header(tar::EntryType::Regular, bytes.len() as u64, mode);
    archive.append_data(&mut header, path, bytes)
}
