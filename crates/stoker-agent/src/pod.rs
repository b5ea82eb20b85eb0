//! The pod's labels and annotations, read live from the downward-API volume.
//!
//! The kubelet replaces all files at once, by swapping the link `..data`, about a minute after a
//! change. A pod without the volume counts as one with what the webhook wrote into the environment.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;

use stoker_api::names::Annotation;

use crate::args::Environment;

/// Labels and annotations of the pod.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Pod {
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) annotations: BTreeMap<String, String>,
    /// The pod's own UID, where the volume has it.
    pub(crate) uid: Option<String>,
}

/// Reads the volume again when it has changed.
#[derive(Debug)]
pub(crate) struct PodReader {
    directory: PathBuf,
    seen: Option<OsString>,
}

impl Pod {
    /// Returns an annotation that is set and not empty.
    pub(crate) fn annotation(&self, annotation: Annotation) -> Option<&str> {
        let value = self.annotations.get(annotation.as_str()).map(String::as_str);
        value.filter(|text| !text.is_empty())
    }

    /// Returns what the webhook wrote into the environment, for a pod without the volume.
    fn of_environment(environment: &Environment) -> Self {
        let values = [
            (Annotation::CrName, Some(&environment.cr_name)),
            (Annotation::Profile, environment.profile.as_ref()),
            (Annotation::SyncProfile, environment.sync_profile.as_ref()),
            (Annotation::GatewayName, environment.gateway_name.as_ref()),
            (Annotation::SyncPeriod, environment.sync_period.as_ref()),
        ];
        let given = values.into_iter().filter_map(|(annotation, value)| {
            Some((annotation.as_str().to_owned(), value?.clone()))
        });
        Self { annotations: given.collect(), ..Self::default() }
    }
}

impl PodReader {
    /// Returns a reader of the volume in this directory.
    pub(crate) fn new(directory: impl Into<PathBuf>) -> Self {
        Self { directory: directory.into(), seen: None }
    }

    /// Reads the pod.
    pub(crate) fn read(&mut self, environment: &Environment) -> Pod {
        self.seen = self.version();
        let file = |name: &str| fs::read_to_string(self.directory.join(name));
        match (file("labels"), file("annotations")) {
            (Ok(labels), Ok(annotations)) => {
                let uid = file("uid").ok().map(|uid| uid.trim().to_owned());
                Pod { labels: parse(&labels), annotations: parse(&annotations), uid }
            }
            _ => Pod::of_environment(environment),
        }
    }

    /// Says whether the kubelet has written since the last read. It costs one `readlink`.
    pub(crate) fn has_changed(&self) -> bool {
        self.version() != self.seen
    }

    fn version(&self) -> Option<OsString> {
        fs::read_link(self.directory.join("..data")).ok().map(PathBuf::into_os_string)
    }
}

/// Parses lines of `key="value"`, quoted as Go quotes. A line that is not one is left out.
fn parse(text: &str) -> BTreeMap<String, String> {
    let pairs = text.lines().filter_map(|line| {
        let (key, quoted) = line.split_once('=')?;
        Some((key.to_owned(), unquote(quoted)?))
    });
    pairs.collect()
}

/// Reverses Go's `strconv.Quote`.
fn unquote(quoted: &str) -> Option<String> {
    let mut rest = quoted.strip_prefix('"')?.strip_suffix('"')?.chars();
    let mut bytes = Vec::with_capacity(quoted.len());
    let mut buffer = [0; 4];
    while let Some(character) = rest.next() {
        let character = match character {
            '\\' => match rest.next()? {
                'x' => {
                    bytes.push(u8::try_from(code(&mut rest, 2)?).ok()?);
                    continue;
                }
                'u' => char::from_u32(code(&mut rest, 4)?)?,
                'U' => char::from_u32(code(&mut rest, 8)?)?,
                'a' => '\u{7}',
                'b' => '\u{8}',
                'f' => '\u{c}',
                'n' => '\n',
                'r' => '\r',
                't' => '\t',
                'v' => '\u{b}',
                other => other,
            },
            character => character,
        };
        bytes.extend_from_slice(character.encode_utf8(&mut buffer).as_bytes());
    }
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

fn code(rest: &mut std::str::Chars<'_>, digits: usize) -> Option<u32> {
    let text: String = rest.take(digits).collect();
    u32::from_str_radix(&text, 16).ok().filter(|_| text.len() == digits)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn values_come_back_as_they_were_set() {
        let text = concat!(
            "stoker.io/gateway-name=\"Plant 1\"\n",
            "stoker.io/exclude-patterns=\"a=b,\\\"c\\\",d\\\\e\\n\\u00e9\\x41\\U0001F600\"\n",
            "broken\n",
            "open=\"no end\n",
            "empty=\"\"\n",
        );
        let parsed = parse(text);
        assert_eq!(parsed["stoker.io/gateway-name"], "Plant 1");
        assert_eq!(parsed["stoker.io/exclude-patterns"], "a=b,\"c\",d\\e\né\u{41}\u{1F600}");
        assert_eq!((parsed.len(), parsed["empty"].as_str()), (3, ""));
    }

    #[test]
    fn a_change_is_seen_when_the_kubelet_swaps_its_link() {
        let directory = tempfile::tempdir().unwrap();
        let write = |version: &str, name: &str| {
            let files = directory.path().join(version);
            fs::create_dir(&files).unwrap();
            fs::write(files.join("labels"), "app=\"ignition\"").unwrap();
            fs::write(files.join("annotations"), format!("stoker.io/gateway-name=\"{name}\""))
                .unwrap();
            let link = directory.path().join("..data");
            fs::remove_file(&link).ok();
            std::os::unix::fs::symlink(version, &link).unwrap();
        };
        for name in ["labels", "annotations"] {
            let link = directory.path().join(name);
            std::os::unix::fs::symlink(Path::new("..data").join(name), link).unwrap();
        }
        let environment = crate::testing::environment(directory.path());
        let mut reader = PodReader::new(directory.path());
        let before = reader.read(&environment);
        assert_eq!(before.annotation(Annotation::CrName), Some("plant"), "by the environment");
        write("..1", "one");
        assert!(reader.has_changed());
        let pod = reader.read(&environment);
        assert_eq!(pod.annotation(Annotation::GatewayName), Some("one"));
        assert_eq!(pod.labels["app"], "ignition");
        assert!(!reader.has_changed());
        write("..2", "two");
        assert!(reader.has_changed());
        assert_eq!(reader.read(&environment).annotation(Annotation::GatewayName), Some("two"));
    }
}
