//! Resolves references to Secrets: from a Secret in the `-f` file, else from a flag, else from the
//! environment.
//!
//! Values of the file are passed on as files in memory. A value that can't work is refused here;
//! the error names the Secret and shows nothing of the value.

mod manifest_secret;

use std::path::PathBuf;

use stoker_api::gatewaysync::ResolvedSecretRef;
use stoker_api::warning::WarningCode;
use stoker_git::memfile::MemFile;

use super::Warning;
use super::document::Documents;
use super::secret_need::SecretNeed;
use crate::arguments::{Given, GivenBy};
use crate::failure::Failure;
use manifest_secret::ManifestSecret;

/// The Secrets of a file, and those that were asked for as files.
pub(crate) struct Secrets {
    held: Vec<ManifestSecret>,
    /// The namespace that references reach.
    namespace: String,
    /// The files, and the Secrets that they came from.
    served: Vec<(MemFile, String)>,
    /// What people should know of the credentials that they gave.
    warnings: Vec<Warning>,
}

/// How many, never which.
impl std::fmt::Debug for Secrets {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Secrets").field("count", &self.held.len()).finish_non_exhaustive()
    }
}

impl Secrets {
    /// Takes the Secrets of a file.
    pub(super) fn new(documents: &Documents) -> Result<Self, Failure> {
        let held = documents.secrets.iter().map(ManifestSecret::read).collect::<Result<_, _>>()?;
        // As in a cluster: a reference reaches no other namespace.
        let namespace = documents.namespace().unwrap_or_else(|| "default".to_owned());
        Ok(Self { held, namespace, served: Vec::new(), warnings: Vec::new() })
    }

    /// Serves a reference as a file.
    pub(super) fn serve(
        &mut self,
        reference: &ResolvedSecretRef,
        given: Option<Given<'_>>,
        need: SecretNeed,
    ) -> Result<PathBuf, Failure> {
        let ResolvedSecretRef { name, key } = reference;
        let Some(value) = self.find(reference) else {
            let given = given.ok_or_else(|| self.unserved(reference, need));
            return given.map(|given| given.path.to_owned());
        };
        let title = format!("Secret {name}, key {key}");
        let failed = |words: String| Failure::usage(format!("{}: {title}: {words}", need.field));
        let file = MemFile::new(value).map_err(|error| failed(error.to_string()))?;
        let path = file.path();
        if let Some(fault) = (need.fault)(&path) {
            let hint = format!("stringData.{key} of that Secret must be {}", need.shape);
            return Err(failed(format!("the value {fault}")).hint(hint));
        }
        if let Some(Given { by: GivenBy::Flag, name: flag, .. }) = given {
            self.leave_aside(format!(
                "{flag} is not used: {title} of the file serves {}",
                need.field
            ));
        }
        self.served.push((file, title));
        Ok(path)
    }

    /// Whether a Secret of the file serves a reference.
    pub(super) fn has(&self, reference: &ResolvedSecretRef) -> bool {
        self.find(reference).is_some()
    }

    /// Tells of a credential that is not used.
    pub(super) fn leave_aside(&mut self, message: String) {
        self.warnings.push((WarningCode::CredentialUnused, message));
    }

    /// What people should know of the credentials that they gave.
    pub(super) fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// The files in memory, and the Secrets that they came from.
    pub(super) fn titles(&self) -> Vec<(PathBuf, String)> {
        self.served.iter().map(|(file, title)| (file.path(), title.clone())).collect()
    }

    fn find(&self, reference: &ResolvedSecretRef) -> Option<&[u8]> {
        // As if they were applied in turn: the last word counts.
        let mut near = self.named(reference).rev().filter(|held| self.is_near(held));
        near.find_map(|held| held.value(&reference.key))
    }

    fn named(
        &self,
        reference: &ResolvedSecretRef,
    ) -> impl DoubleEndedIterator<Item = &ManifestSecret> {
        self.held.iter().filter(|held| held.name == reference.name)
    }

    fn is_near(&self, held: &ManifestSecret) -> bool {
        held.namespace.as_ref().is_none_or(|there| *there == self.namespace)
    }

    /// Why a reference has no value.
    fn unserved(&self, reference: &ResolvedSecretRef, need: SecretNeed) -> Failure {
        let ResolvedSecretRef { name, key } = reference;
        let SecretNeed { field, flag, .. } = need;
        let near = self.named(reference).find(|held| self.is_near(held));
        let (words, remedy) = match (near, self.named(reference).next()) {
            (Some(near), _) => {
                let words = format!("Secret {name} has no key {key}, {}", near.keys());
                (words, format!("that key to Secret {name}"))
            }
            (None, Some(ManifestSecret { namespace: Some(there), .. })) => {
                let own = &self.namespace;
                let words = format!(
                    "Secret {name} is in namespace {there}, and a reference of {own} reaches no other"
                );
                (words, format!("a Secret {name} without a namespace, or of {own}"))
            }
            (None, _) => {
                let words = format!("no value for Secret {name}, key {key}");
                (words, format!("a Secret {name} to the file"))
            }
        };
        Failure::usage(format!("{field}: {words}")).hint(format!("add {flag} FILE, or {remedy}"))
    }
}
