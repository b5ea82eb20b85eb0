//! The image of the agent: annotation, then GatewaySync, then operator.

use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

use stoker_api::GatewaySync;
use stoker_api::gatewaysync::{AgentImage, PullPolicy};
use stoker_api::names::Annotation;
use stoker_text::image::ImageRef;

use super::Settings;
use super::warning::{Findings, list};

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
            findings.refuse_image(format!("{} {refused}", Annotation::AgentImage));
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
    let wanted = full_name(&parsed.repository);
    if allowed.iter().any(|repository| full_name(repository) == wanted) {
        return Ok(parsed);
    }
    Err(format!(
        "{:?} is refused: only these repositories are allowed: {}",
        parsed.repository,
        list(&allowed)
    ))
}

fn parse(text: &str) -> Option<Image> {
    let reference = ImageRef::parse(text).ok()?;
    // An image without tag and digest would be another one tomorrow.
    if reference.tag().is_none() && reference.digest().is_none() {
        return None;
    }
    Some(Image {
        repository: text.strip_suffix(&reference.suffix())?.to_owned(),
        tag: reference.tag().map(str::to_owned),
        digest: reference.digest().map(str::to_owned),
        pull_policy: PullPolicy::IfNotPresent,
    })
}

/// Returns the full name of a repository: `docker.io/library/agent` for `agent`.
fn full_name(repository: &str) -> String {
    ImageRef::parse(repository).map_or_else(|_| repository.to_owned(), |it| it.name())
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
        assert!("x".repeat(2000).parse::<Image>().is_err());
    }
}
