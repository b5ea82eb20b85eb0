//! References to container images, by the grammar of the distribution specification.
//!
//! [`ImageRef::parse`] takes a text apart without changing it: registry, path, tag and digest are
//! slices of the text. Short names are completed as container runtimes do: `nginx` is
//! `docker.io/library/nginx`.

use std::borrow::Cow;
use std::fmt::{self, Display, Formatter};

/// The registry of a name that does not begin with one.
pub const DEFAULT_REGISTRY: &str = "docker.io";
/// Another name of the default registry.
const LEGACY_DEFAULT_REGISTRY: &str = "index.docker.io";
/// The path of official images on the default registry.
const OFFICIAL: &str = "library/";
const LONGEST_NAME: usize = 255;
/// The most characters of a whole reference that is looked at.
const LONGEST: usize = 1024;
const LONGEST_TAG: usize = 128;

/// A reference to an image, taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImageRef<'a> {
    registry: Option<&'a str>,
    path: &'a str,
    tag: Option<&'a str>,
    digest: Option<&'a str>,
}

/// Why a text is not a reference to an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum ImageRefError {
    #[error("the name of an image can't be empty")]
    Empty,
    #[error("the name of an image has at most {LONGEST_NAME} characters")]
    Long,
    #[error("the registry must be a host name, with an optional port")]
    Registry,
    #[error(
        "each component of the path has lower-case letters and digits, separated by \".\", \"_\", \"__\" or \"-\""
    )]
    Path,
    #[error("64 hexadecimal digits are the id of an image, not its name")]
    Id,
    #[error("a tag has at most {LONGEST_TAG} letters, digits, \"_\", \".\" and \"-\"")]
    Tag,
    #[error("a digest is sha256, sha384 or sha512, a colon and all its hexadecimal digits")]
    Digest,
}

impl<'a> ImageRef<'a> {
    /// Takes a reference apart.
    pub fn parse(text: &'a str) -> Result<Self, ImageRefError> {
        if text.is_empty() {
            return Err(ImageRefError::Empty);
        }
        if text.len() > LONGEST {
            return Err(ImageRefError::Long);
        }
        let (rest, digest) = match text.split_once('@') {
            Some((rest, digest)) => (rest, Some(digest)),
            None => (text, None),
        };
        // A colon behind the last slash begins a tag. One before it belongs to a port.
        let slash = rest.rfind('/').map_or(0, |slash| slash + 1);
        let (name, tag) = match rest[slash..].split_once(':') {
            Some((last, tag)) => (&rest[..slash + last.len()], Some(tag)),
            None => (rest, None),
        };
        let (registry, path) = split_registry(name);
        if !registry.is_none_or(is_registry) {
            return Err(ImageRefError::Registry);
        }
        if !path.split('/').all(is_component) {
            return Err(ImageRefError::Path);
        }
        if is_image_id(text) {
            return Err(ImageRefError::Id);
        }
        if !tag.is_none_or(is_tag) {
            return Err(ImageRefError::Tag);
        }
        if !digest.is_none_or(is_digest) {
            return Err(ImageRefError::Digest);
        }
        let image = Self { registry, path, tag, digest };
        if image.path().len() > LONGEST_NAME {
            return Err(ImageRefError::Long);
        }
        Ok(image)
    }

    /// Returns the registry, completed and with its usual name.
    pub fn registry(&self) -> &'a str {
        match self.registry {
            None | Some(LEGACY_DEFAULT_REGISTRY) => DEFAULT_REGISTRY,
            Some(registry) => registry,
        }
    }

    /// Returns the path below the registry, completed.
    pub fn path(&self) -> Cow<'a, str> {
        if self.registry() == DEFAULT_REGISTRY && !self.path.contains('/') {
            return Cow::Owned(format!("{OFFICIAL}{}", self.path));
        }
        Cow::Borrowed(self.path)
    }

    /// Returns the completed name, without tag and digest: `docker.io/library/nginx`.
    pub fn name(&self) -> String {
        format!("{}/{}", self.registry(), self.path())
    }

    /// Returns the tag.
    pub fn tag(&self) -> Option<&'a str> {
        self.tag
    }

    /// Returns the digest.
    pub fn digest(&self) -> Option<&'a str> {
        self.digest
    }

    /// Returns what follows the name: tag and digest, with their separators.
    pub fn suffix(&self) -> String {
        let tag = self.tag.map(|tag| format!(":{tag}"));
        let digest = self.digest.map(|digest| format!("@{digest}"));
        tag.unwrap_or_default() + &digest.unwrap_or_default()
    }
}

/// Prints the reference as it was written.
impl Display for ImageRef<'_> {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        if let Some(registry) = self.registry {
            write!(formatter, "{registry}/")?;
        }
        write!(formatter, "{}{}", self.path, self.suffix())
    }
}

/// Says whether a text is a prefix of names: a registry, or a registry and components of a path.
pub fn is_name_prefix(text: &str) -> bool {
    if text.len() > LONGEST_NAME {
        return false;
    }
    match text.split_once('/') {
        Some((registry, path)) => {
            names_registry(registry) && is_registry(registry) && path.split('/').all(is_component)
        }
        None => names_registry(text) && is_registry(text),
    }
}

/// Splits a name at its registry. The first component is a registry only if it can't be one of a
/// path on the default registry.
fn split_registry(name: &str) -> (Option<&str>, &str) {
    match name.split_once('/') {
        Some((first, path)) if names_registry(first) => (Some(first), path),
        _ => (None, name),
    }
}

fn names_registry(first: &str) -> bool {
    first == "localhost"
        || first.contains(['.', ':'])
        || first.bytes().any(|byte| byte.is_ascii_uppercase())
}

fn is_registry(text: &str) -> bool {
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => match rest.split_once(']') {
            Some((address, rest)) if is_ipv6(address) => ("ipv6", rest.strip_prefix(':')),
            _ => return false,
        },
        None => match text.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (text, None),
        },
    };
    // Behind an address in brackets comes a port or nothing.
    if text.starts_with('[') && port.is_none() && !text.ends_with(']') {
        return false;
    }
    let is_label = |label: &str| {
        let bytes = label.as_bytes();
        let is_word = |byte: &u8| byte.is_ascii_alphanumeric();
        bytes.first().is_some_and(is_word)
            && bytes.last().is_some_and(is_word)
            && bytes.iter().all(|byte| is_word(byte) || *byte == b'-')
    };
    let is_port = |port: &str| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    host.split('.').all(is_label) && port.is_none_or(is_port)
}

fn is_ipv6(address: &str) -> bool {
    !address.is_empty() && address.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b':')
}

/// Says whether a text is one component of a path: words of lower-case letters and digits, with a
/// `.`, a `_`, a `__` or any number of `-` between two of them.
fn is_component(text: &str) -> bool {
    let is_word = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = text.as_bytes();
    let (Some(first), Some(last)) = (bytes.first(), bytes.last()) else { return false };
    if !is_word(*first) || !is_word(*last) {
        return false;
    }
    let separators = text.split(|letter: char| u8::try_from(letter).is_ok_and(is_word));
    let is_separator =
        |text: &str| matches!(text, "" | "." | "_" | "__") || text.bytes().all(|byte| byte == b'-');
    separators.into_iter().all(is_separator)
}

fn is_image_id(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

fn is_tag(text: &str) -> bool {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let bytes = text.as_bytes();
    bytes.len() <= LONGEST_TAG
        && bytes.first().copied().is_some_and(is_word)
        && bytes.iter().all(|byte| is_word(*byte) || matches!(byte, b'.' | b'-'))
}

fn is_digest(text: &str) -> bool {
    let length = match text.split_once(':') {
        Some(("sha256", _)) => 64,
        Some(("sha384", _)) => 96,
        Some(("sha512", _)) => 128,
        _ => return false,
    };
    let digits = &text.as_bytes()["sha256:".len()..];
    digits.len() == length && digits.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}
