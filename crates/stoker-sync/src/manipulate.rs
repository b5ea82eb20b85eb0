//! Changes the bytes of a file between the commit and the disk.
//!
//! A `Transform` lists the changes for one file, in order. Its inputs are kept as a fingerprint, so
//! that a file whose blob and values are unchanged is not transformed again. Which values a
//! template uses is read from its text: a new commit does not touch files that do not use it.

mod template;
#[cfg(test)]
mod tests;

use stoker_text::json::{self, JsonError};
use stoker_text::template::TemplateError;

use crate::compose::below_mapping;
use crate::compose::mount::{Content, Mount};
use crate::hash::Fingerprint;
use crate::manifest::record::Inputs;
use crate::path::{self, RelPath};
use crate::request::{Patch, Request, Templating};

pub use stoker_text::template::Context as Values;
pub(crate) use template::is_binary;

/// Files that are larger are not made, only copied.
pub(crate) const MOST_BYTES: u64 = 10 << 20;

/// The member that the gateway compares with a resource's content.
const SIGNATURE: [&str; 2] = ["attributes", "lastModificationSignature"];

/// A change to a file's bytes on its way from the commit to the disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Manipulation {
    /// The bytes are a template.
    Template,
    /// Set members of a JSON document: the position of the patch in its mapping.
    JsonPatch(usize),
    /// Remove the signature of a resource whose content was changed.
    Unsign,
}

/// The changes for one file, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Transform {
    pub(crate) mapping: u16,
    pub(crate) steps: Vec<Manipulation>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Transformed {
    pub(crate) bytes: Vec<u8>,
    /// Which values were used, one bit each.
    pub(crate) uses: u16,
}

/// Why a file could not be made.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum Error {
    #[error("the template is wrong")]
    Template { source: TemplateError },
    #[error("the JSON document can't be changed")]
    Patch { source: JsonError },
    /// What came out is not JSON, though its name says so.
    #[error("the result is not JSON")]
    NotJson { source: JsonError },
    #[error("the file is binary and can't be a template")]
    Binary,
    #[error("the file is larger than {MOST_BYTES} bytes and can't be changed")]
    TooLarge,
    #[error("the template is not UTF-8")]
    NotUtf8,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Transformer<'a> {
    pub(crate) request: &'a Request,
    pub(crate) mounts: &'a [Mount],
}

impl<'a> Transformer<'a> {
    /// Returns how a file is made, if it is not only copied.
    pub(crate) fn transform(&self, mapping: u16, path: &RelPath) -> Option<Transform> {
        let index = usize::from(mapping);
        let (wanted, mount) = (self.request.mappings.get(index)?, self.mounts.get(index)?);
        let mut steps = Vec::new();
        if wanted.template == Templating::On {
            steps.push(Manipulation::Template);
        }
        let is_file = matches!(mount.content, Content::File { .. });
        let below = below_mapping(mount, path);
        let fits = |patch: &Patch| patch.file.as_ref().map_or(is_file, |glob| glob.matches(below));
        let patches = wanted.patches.iter().enumerate().filter(|(_, patch)| fits(patch));
        steps.extend(patches.map(|(position, _)| Manipulation::JsonPatch(position)));
        (!steps.is_empty()).then_some(Transform { mapping, steps })
    }

    /// Returns what a file is made from, besides its blob, if it uses these values.
    pub(crate) fn inputs(&self, transform: &Transform, uses: u16) -> Inputs {
        let mut fingerprint = Fingerprint::new("transform 1");
        for step in &transform.steps {
            match step {
                Manipulation::Template => {
                    template::describe(&self.request.values, uses, &mut fingerprint);
                }
                Manipulation::JsonPatch(position) => {
                    for (path, value) in &self.patch(transform, *position).set {
                        fingerprint.add(path.as_bytes());
                        fingerprint.add(value.as_bytes());
                    }
                }
                Manipulation::Unsign => fingerprint.add(b"unsign"),
            }
        }
        Inputs { uses, fingerprint: fingerprint.finish_short() }
    }

    fn patch(&self, transform: &Transform, position: usize) -> &'a Patch {
        &self.request.mappings[usize::from(transform.mapping)].patches[position]
    }

    pub(crate) fn apply(
        &self,
        transform: &Transform,
        path: &RelPath,
        blob: &[u8],
    ) -> Result<Transformed, Error> {
        let mut made = Transformed { bytes: blob.to_vec(), uses: 0 };
        for step in &transform.steps {
            match step {
                Manipulation::Template => self.render(transform, &mut made)?,
                Manipulation::JsonPatch(position) => {
                    let set = &self.patch(transform, *position).set;
                    made.bytes = json::set_all(&made.bytes, set)
                        .map_err(|source| Error::Patch { source })?;
                }
                Manipulation::Unsign => {
                    let unsigned = json::remove_member(&made.bytes, &SIGNATURE);
                    let unsigned = unsigned.map_err(|source| Error::Patch { source })?.into_owned();
                    made.bytes = unsigned;
                }
            }
        }
        // A template without actions is one, too; only what is binary is copied as it is.
        let is_copied = !transform.must_change() && template::is_binary(blob);
        if path::file_name(path).ends_with(b".json") && !is_copied {
            json::validate(&made.bytes).map_err(|source| Error::NotJson { source })?;
        }
        Ok(made)
    }

    fn render(&self, transform: &Transform, made: &mut Transformed) -> Result<(), Error> {
        let mount = self.mounts.get(usize::from(transform.mapping));
        let is_file = mount.is_some_and(|mount| matches!(mount.content, Content::File { .. }));
        if template::is_binary(&made.bytes) {
            return if is_file { Err(Error::Binary) } else { Ok(()) };
        }
        if template::has_actions(&made.bytes) {
            made.uses = template::uses(&made.bytes);
            made.bytes = template::render(&made.bytes, &self.request.values)?;
        }
        Ok(())
    }
}

impl Transform {
    pub(crate) fn unsigning(mapping: u16) -> Self {
        Self { mapping, steps: vec![Manipulation::Unsign] }
    }

    /// Returns whether a large file is an error: it would have to be changed, not only copied.
    pub(crate) fn must_change(&self) -> bool {
        self.steps.iter().any(|step| *step != Manipulation::Template)
    }
}
