//! The image of the agent: annotation, then GatewaySync, then operator.

use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

use stoker_api::GatewaySync;
use stoker_api::gatewaysync::{AgentImage, PullPolicy};
use stoker_api::names::Annotation;

use super::Settings;
use super::warning::{Findings, list};

/// The longest reference that is taken.
const LONGEST: usize = 512;

/// A reference to an image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    /// The repository, without tag and digest.
    pub repository: String,
    /// The tag.
    pub tag: Option<String>,
    /// The digest. It counts more than the tag.
    pub digest: Option<String>,
    /// When it is pulled.
    pub pull_policy: PullPolicy,
}

/// A text that is not a reference to an image.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not an image: write a repository and a tag or a digest, for example registry.example.com/stoker-agent:1.4.0"
)]
pub struct InvalidImage(String);

impl FromStr for Image {
    type Err = InvalidImage;

    fn from_str(text: &str) -> Result<Self, InvalidImage> {
        parse(text).ok_or_else(|| InvalidImage(text.chars().take(80).collect()))
    }
}

impl Display for Image {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.repository)?;
        match (&self.digest, &self.tag) {
            (Some(digest), _) => write!(formatter, "@{digest}"),
            (None, Some(tag)) => write!(formatter, ":{tag}"),
            (None, None) => Ok(()),
        }
    }
}

/// Returns the image of a pod's agent.
pub(super) fn resolve(
    asked: Option<&str>,
    sync: Option<&GatewaySync>,
    settings: &Settings,
    findings: &mut Findings,
) -> Image {
    let agent = sync.and_then(|sync| sync.spec.agent.as_ref());
    let own = agent.and_then(|agent| agent.image.as_ref());
    let image = own.map_or_else(|| settings.default_image.clone(), |own| overlay(own, settings));
    let Some(asked) = asked else { return image };
    match allow(asked, &image, settings) {
        Ok(allowed) => Image { pull_policy: image.pull_policy, ..allowed },
        Err(refused) => {
            findings.note(format!("{} {refused}", Annotation::AgentImage));
            image
        }
    }
}

/// Puts what a GatewaySync says over the operator's image.
fn overlay(own: &AgentImage, settings: &Settings) -> Image {
    let given = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
    let default = &settings.default_image;
    let repository = given(&own.repository);
    let (tag, digest) = (given(&own.tag), given(&own.digest));
    let is_default = repository.is_none() && tag.is_none() && digest.is_none();
    Image {
        repository: repository.unwrap_or_else(|| default.repository.clone()),
        digest: digest.or_else(|| default.digest.clone().filter(|_| is_default)),
        tag: tag.or_else(|| default.tag.clone()),
        pull_policy: own.pull_policy.unwrap_or(default.pull_policy),
    }
}

/// Says whether an annotation may name this image: only another tag or digest of an allowed
/// repository.
fn allow(asked: &str, image: &Image, settings: &Settings) -> Result<Image, String> {
    let parsed = asked.parse::<Image>().map_err(|error| format!("is ignored: {error}"))?;
    let lower = [image.repository.as_str(), settings.default_image.repository.as_str()];
    let allowed: Vec<&str> = if settings.allowed_repositories.is_empty() {
        lower.into()
    } else {
        settings.allowed_repositories.iter().map(String::as_str).collect()
    };
    if allowed.contains(&parsed.repository.as_str()) {
        return Ok(parsed);
    }
    Err(format!(
        "{:?} is refused: only these repositories are allowed: {}",
        parsed.repository,
        list(&allowed)
    ))
}

fn parse(text: &str) -> Option<Image> {
    if text.len() > LONGEST {
        return None;
    }
    let (rest, digest) = match text.split_once('@') {
        Some((rest, digest)) => (rest, Some(digest)),
        None => (text, None),
    };
    // A colon behind the last slash begins a tag; one before it belongs to a port.
    let (repository, tag) = match rest.rsplit_once(':') {
        Some((repository, tag)) if !tag.contains('/') => (repository, Some(tag)),
        _ => (rest, None),
    };
    let is_valid = is_repository(repository)
        && tag.is_none_or(is_tag)
        && digest.is_none_or(is_digest)
        && (tag.is_some() || digest.is_some());
    is_valid.then(|| Image {
        repository: repository.to_owned(),
        tag: tag.map(str::to_owned),
        digest: digest.map(str::to_owned),
        pull_policy: PullPolicy::IfNotPresent,
    })
}

fn is_repository(text: &str) -> bool {
    let is_word = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let is_part = |part: &str| {
        let bytes = part.as_bytes();
        bytes.first().copied().is_some_and(is_word)
            && bytes.last().copied().is_some_and(is_word)
            && bytes.iter().all(|byte| is_word(*byte) || matches!(byte, b'.' | b'_' | b'-' | b':'))
    };
    // Only a host, which a path follows, has a port.
    let path = text.split_once('/').map_or(text, |(_, path)| path);
    text.split('/').all(is_part) && !path.contains(':')
}

fn is_tag(text: &str) -> bool {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let bytes = text.as_bytes();
    (1..=128).contains(&bytes.len())
        && is_word(bytes[0])
        && bytes.iter().all(|byte| is_word(*byte) || matches!(byte, b'.' | b'-'))
}

fn is_digest(text: &str) -> bool {
    let hex = text.strip_prefix("sha256:").unwrap_or_default();
    hex.len() == 64 && hex.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_taken_apart_and_printed_alike() {
        let digest = format!("sha256:{}", "a".repeat(64));
        for text in [
            "stoker-agent:1.0",
            "registry.example.com:5000/team/stoker-agent:1.0",
            &format!("ghcr.io/stoker-io/stoker-agent@{digest}"),
        ] {
            assert_eq!(text.parse::<Image>().unwrap().to_string(), text);
        }
        let both = format!("ghcr.io/a/b:1.0@{digest}").parse::<Image>().unwrap();
        assert_eq!(both.to_string(), format!("ghcr.io/a/b@{digest}"));
    }

    #[test]
    fn what_is_not_a_reference_is_refused() {
        for text in [
            "",
            ":1",
            "agent",
            "Agent:1",
            "a/:1",
            "a:",
            "a:-x",
            "a b:1",
            "a:1\n",
            "a@sha256:12",
            "a:5000/b",
            "/a:1",
            "a//b:1",
            "-a:1",
            "a:1:2",
        ] {
            assert!(text.parse::<Image>().is_err(), "{text:?}");
        }
        assert!("x".repeat(600).parse::<Image>().is_err());
    }
}
