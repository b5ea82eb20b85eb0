//! Which registry an image is pulled from.

use stoker_api::podbootstrap::Registry;
use stoker_text::image::{DEFAULT_REGISTRY, ImageRef, ImageRefError};

/// One rule, with its `from` and `to` as the completed names of images begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Rule {
    pub(super) from: String,
    pub(super) to: String,
}

impl Rule {
    pub(super) fn new(registry: &Registry) -> Self {
        Self { from: complete(&registry.from), to: complete(&registry.to) }
    }
}

/// Returns what the image is to be, or `None` where it stays as it is.
///
/// # Errors
/// Fails where the image, before or after, is not a reference.
pub(super) fn rewrite(image: &str, rules: &[Rule]) -> Result<Option<String>, ImageRefError> {
    let parsed = ImageRef::parse(image)?;
    let name = parsed.name();
    if rules.iter().any(|rule| rest(&name, &rule.to).is_some()) {
        return Ok(None);
    }
    let matching = rules.iter().filter_map(|rule| Some((rule, rest(&name, &rule.from)?)));
    let best = matching.max_by_key(|(rule, _)| rule.from.len());
    let Some((rule, rest)) = best else { return Ok(None) };
    let rewritten = format!("{}{rest}{}", rule.to, parsed.suffix());
    // The new name may be too long. No container could be created from such an image.
    ImageRef::parse(&rewritten)?;
    Ok(Some(rewritten))
}

/// Says whether an image is on the registry of one of the rules' targets.
pub(super) fn is_mapped(image: &str, rules: &[Rule]) -> bool {
    let host = |to: &str| to.split('/').next().unwrap_or_default().to_owned();
    ImageRef::parse(image)
        .is_ok_and(|parsed| rules.iter().any(|rule| host(&rule.to) == parsed.registry()))
}

/// Returns what follows a prefix of whole components.
pub(super) fn rest<'a>(name: &'a str, prefix: &str) -> Option<&'a str> {
    name.strip_prefix(prefix).filter(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Gives the default registry its usual name.
fn complete(prefix: &str) -> String {
    match prefix.strip_prefix("index.docker.io") {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => {
            format!("{DEFAULT_REGISTRY}{rest}")
        }
        _ => prefix.to_owned(),
    }
}
