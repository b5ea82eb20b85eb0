//! Makes the engine's request from a profile: renders the templates in paths and patches.
//!
//! The CLI and the agent share it, so that a profile means the same files in both.

use std::collections::BTreeMap;

use stoker_api::contract::metadata::Profile;
use stoker_api::gatewaysync::{self, MappingType};
use stoker_text::glob::{ExcludeError, Excludes, Glob, GlobError};
use stoker_text::template::{Limits, Template, TemplateError};

use stoker_sync::manipulate::Values;
use stoker_sync::path::{PathError, RelPath};
use stoker_sync::request::{
    Deletion, DriftPolicy, Mapping, MappingKind, Patch, Presence, Prune, Request, Templating,
};
use stoker_sync::reserved::{self, NameFault};

/// Why a profile can't become a request to the engine.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum Error {
    #[error("mappings[{mapping}]: the template in {field} is wrong")]
    Template { mapping: usize, field: &'static str, source: TemplateError },
    /// A path is not one, perhaps only after its template was filled in.
    #[error("mappings[{mapping}]: the {field} {text:?} can't be used")]
    Path { mapping: usize, field: &'static str, text: String, source: PathError },
    /// A path has a name in it that can't be, perhaps only after its template was filled in.
    #[error("mappings[{mapping}]: the {field} {path:?} {fault}")]
    Name { mapping: usize, field: &'static str, path: RelPath, fault: NameFault },
    /// Nothing is left of a path after its template was filled in. It is refused, because nothing
    /// would mean everything: the whole repository, or the whole data directory.
    #[error("mappings[{mapping}]: the {field} is empty after its template was filled in")]
    Empty { mapping: usize, field: &'static str },
    #[error("mappings[{mapping}]: the pattern of a patch is wrong")]
    Glob { mapping: usize, source: GlobError },
    #[error("failed to read the exclude patterns")]
    Excludes { source: ExcludeError },
}

struct Filler<'a> {
    mapping: usize,
    values: &'a Values,
}

pub(crate) fn request(profile: &Profile, values: Values, commit: &str) -> Result<Request, Error> {
    let numbered = profile.mappings.iter().enumerate();
    let mappings = numbered
        .map(|(mapping, wanted)| Filler { mapping, values: &values }.fill(wanted))
        .collect::<Result<Vec<_>, _>>()?;
    let excludes = Excludes::parse(profile.exclude_patterns.iter().map(String::as_str))
        .map_err(|source| Error::Excludes { source })?;
    let mut request = Request::new(commit, mappings);
    request.excludes = excludes;
    request.values = values;
    request.deletion = profile.max_delete_percent.map_or(request.deletion, Deletion::Percent);
    request.drift = match profile.drift_policy {
        gatewaysync::DriftPolicy::Repair => DriftPolicy::Repair,
        gatewaysync::DriftPolicy::Report => DriftPolicy::Report,
    };
    Ok(request)
}

impl Error {
    /// Returns the position of the mapping that is wrong, if it is one.
    pub fn mapping(&self) -> Option<usize> {
        match self {
            Self::Template { mapping, .. }
            | Self::Path { mapping, .. }
            | Self::Name { mapping, .. }
            | Self::Empty { mapping, .. }
            | Self::Glob { mapping, .. } => Some(*mapping),
            Self::Excludes { .. } => None,
        }
    }
}

impl Filler<'_> {
    fn fill(&self, wanted: &gatewaysync::Mapping) -> Result<Mapping, Error> {
        // Without `..`: the compiler asks here for every new field of a mapping.
        let gatewaysync::Mapping {
            source,
            destination,
            mapping_type,
            required,
            prune,
            template,
            patches,
        } = wanted;
        let source = self.text("source", source)?;
        let destination = self.text("destination", destination)?;
        let kind = match mapping_type {
            Some(MappingType::Dir) => MappingKind::Dir,
            Some(MappingType::File) | None if destination.ends_with('/') => MappingKind::IntoDir,
            Some(MappingType::File) => MappingKind::File,
            None => MappingKind::Inferred,
        };
        let patches = patches.iter().map(|patch| self.patch(patch)).collect::<Result<_, _>>();
        let is_on = |flag: Option<bool>, default| flag.unwrap_or(default);
        let destination = self.path("destination", destination)?;
        if let Err(fault) = reserved::check_mapped(&destination) {
            return Err(self.refuse("destination", destination, fault));
        }
        Ok(Mapping {
            source: self.path("source", source)?,
            destination,
            kind,
            presence: if is_on(*required, false) { Presence::Required } else { Presence::Optional },
            prune: if is_on(*prune, true) { Prune::Foreign } else { Prune::OwnOnly },
            template: if is_on(*template, false) { Templating::On } else { Templating::Off },
            patches: patches?,
        })
    }

    fn patch(&self, patch: &gatewaysync::Patch) -> Result<Patch, Error> {
        let file = patch.file.as_ref().map(|file| {
            let file = self.text("patches.file", file)?;
            Glob::parse(&file).map_err(|source| Error::Glob { mapping: self.mapping, source })
        });
        let mut set = BTreeMap::new();
        for (member, value) in &patch.set {
            let member = self.text("patches.set", member)?;
            set.insert(member, self.text("patches.set", value)?);
        }
        Ok(Patch { file: file.transpose()?, set })
    }

    fn text(&self, field: &'static str, text: &str) -> Result<String, Error> {
        let mapping = self.mapping;
        Template::parse(text)
            .and_then(|template| template.render(self.values, Limits::default()))
            .map_err(|source| Error::Template { mapping, field, source })
    }

    fn path(&self, field: &'static str, text: String) -> Result<RelPath, Error> {
        let mapping = self.mapping;
        if text.is_empty() {
            return Err(Error::Empty { mapping, field });
        }
        let path =
            RelPath::parse(&text).map_err(|source| Error::Path { mapping, field, text, source })?;
        let fault = path.components().find_map(|name| reserved::check_component(name).err());
        match fault {
            Some(fault) => Err(self.refuse(field, path, fault)),
            None => Ok(path),
        }
    }

    fn refuse(&self, field: &'static str, path: RelPath, fault: NameFault) -> Error {
        Error::Name { mapping: self.mapping, field, path, fault }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn destination(text: &str, to: &str) -> Result<RelPath, String> {
        let mapping = gatewaysync::Mapping {
            source: "p".into(),
            destination: text.into(),
            ..gatewaysync::Mapping::default()
        };
        let vars = BTreeMap::from([("to".to_owned(), to.to_owned())]);
        let values = Values { vars, ..Values::default() };
        let filled = Filler { mapping: 0, values: &values }.fill(&mapping);
        filled.map(|mapping| mapping.destination).map_err(|error| error.to_string())
    }

    #[test]
    fn a_destination_is_judged_after_its_template_was_filled_in() {
        assert_eq!(destination("a/{{.Vars.to}}/", "b"), Ok(RelPath::parse("a/b").unwrap()));
        let reserved = |path: &str| {
            Err(format!("mappings[0]: the destination {path:?} is reserved by Stoker"))
        };
        assert_eq!(destination("{{.Vars.to}}", ".stoker"), reserved(".stoker"));
        assert_eq!(destination("{{.Vars.to}}/a", ".sync-staging/"), reserved(".sync-staging/a"));
        assert_eq!(destination("a/{{.Vars.to}}x", ".stoker-"), reserved("a/.stoker-x"));
        let long = destination("a/{{.Vars.to}}/b", &"n".repeat(256)).unwrap_err();
        assert!(long.ends_with("is longer than 255 bytes"), "{long}");
        assert!(destination("a/{{.Vars.to}}/b", &"n".repeat(255)).is_ok());
        for to in ["", "..", "/etc", "a\0"] {
            assert!(destination("{{.Vars.to}}", to).is_err(), "{to:?}");
        }
    }
}
