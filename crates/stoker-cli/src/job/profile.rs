//! Chooses the profile: of the file, of the flags, or of the file with additions by flags.

use std::collections::BTreeMap;

use stoker_api::contract::metadata::Profile;
use stoker_api::gatewaysync::{self, Mapping, Overrides, Sync};
use stoker_api::word::RelPath;
use stoker_core::profile::{Fault, Invalid, Profiles, Unknown};

use super::document::{Documents, Subject};
use crate::arguments::{Map, RepositoryArguments, TargetArguments};
use crate::failure::Failure;

/// A profile, and its name where it has one.
#[derive(Debug)]
pub(crate) struct Chosen {
    pub(crate) name: Option<String>,
    pub(crate) profile: Profile,
}

/// Chooses a profile and adds what the flags say.
pub(super) fn choose(
    documents: &Documents,
    repository: &RepositoryArguments,
    target: &TargetArguments,
) -> Result<Chosen, Failure> {
    let wanted = repository.profile.as_deref();
    let mut chosen = match &documents.subject {
        None => {
            let hint = "add --map services/site/projects:projects, or -f gatewaysync.yaml";
            return of_flags(target, hint);
        }
        Some(Subject::GatewaySync(object)) => {
            let mut sync = object.spec.sync.clone().unwrap_or_default();
            if sync.profiles.is_empty() && !target.map.is_empty() {
                let mappings = mappings(&target.map)?;
                let profile = gatewaysync::Profile { mappings, ..gatewaysync::Profile::default() };
                sync.profiles.insert("default".to_owned(), profile);
            }
            of_file(&sync, wanted)?
        }
        Some(Subject::SyncProfile(object)) => {
            let existing = object.metadata.name.clone().unwrap_or_default();
            if let Some(wanted) = wanted.filter(|wanted| **wanted != *existing) {
                let (wanted, existing) = (wanted.to_owned(), vec![existing]);
                return Err(unknown(&Unknown::Name { wanted, existing }));
            }
            let profile = Profiles::of_object(object, &Overrides::default())
                .map_err(|error| Failure::usage(error.to_string()))?;
            Chosen { name: object.metadata.name.clone(), profile }
        }
    };
    if !target.map.is_empty() {
        chosen.profile.mappings = mappings(&target.map)?;
    }
    chosen.profile.exclude_patterns.extend(target.exclude.iter().cloned());
    chosen.profile.vars.extend(vars(target));
    Ok(chosen)
}

/// The profile that `--map`, `--exclude` and `--var` describe; the hint is for who gave none.
pub(super) fn of_flags(target: &TargetArguments, hint: &str) -> Result<Chosen, Failure> {
    if target.map.is_empty() {
        return Err(Failure::usage("nothing to sync").hint(hint));
    }
    let overrides = Overrides {
        exclude_patterns: (!target.exclude.is_empty()).then(|| target.exclude.clone()),
        vars: Some(vars(target)),
        ..Overrides::default()
    };
    let profile = gatewaysync::Profile { mappings: mappings(&target.map)?, overrides };
    let profiles = BTreeMap::from([("default".to_owned(), profile)]);
    let profiles = Profiles::of(&Sync { defaults: None, profiles })
        .map_err(|invalid| Failure::usage(by_flags(&invalid, &target.map)))?;
    let (_, profile) = profiles.choose(None).map_err(|error| Failure::usage(error.to_string()))?;
    Ok(Chosen { name: None, profile: profile.clone() })
}

/// What is wrong with a profile that was made from flags: the fields are ours, the user wrote flags.
fn by_flags(invalid: &Invalid, maps: &[Map]) -> String {
    let faults = invalid.faults.iter().map(|Fault { field, message }| {
        let field = field.strip_prefix("spec.sync.profiles.default.").unwrap_or(field);
        let mapping = field.strip_prefix("mappings[").and_then(|rest| rest.split_once("]."));
        let map = mapping
            .and_then(|(number, side)| Some((maps.get(number.parse::<usize>().ok()?)?, side)));
        match map {
            Some((map, side)) => {
                format!("--map {}:{}: {side}: {message}", map.source, map.destination)
            }
            None if field.starts_with("excludePatterns") => format!("--exclude: {message}"),
            None => format!("{field}: {message}"),
        }
    });
    faults.collect::<Vec<_>>().join("; ")
}

fn of_file(sync: &Sync, wanted: Option<&str>) -> Result<Chosen, Failure> {
    let profiles = Profiles::of(sync).map_err(|error| Failure::usage(format!("{error}")))?;
    let (name, profile) = profiles.choose(wanted).map_err(|error| unknown(&error))?;
    Ok(Chosen { name: Some(name.to_string()), profile: profile.clone() })
}

fn unknown(error: &Unknown) -> Failure {
    let failure = Failure::usage(error.to_string());
    match error {
        Unknown::Nothing => failure
            .hint("add spec.sync.profiles to the file, or --map services/site/projects:projects"),
        _ => failure.hint("choose one with --profile NAME"),
    }
}

/// A source that `--map` names must be there.
fn mappings(maps: &[Map]) -> Result<Vec<Mapping>, Failure> {
    let mapping = |map: &Map| {
        for (side, path) in [("source", &map.source), ("destination", &map.destination)] {
            let plain = path.trim_end_matches('/');
            if !plain.contains("{{") {
                RelPath::parse(if plain.is_empty() { path } else { plain }).map_err(|error| {
                    let words = format!("--map {}:{}", map.source, map.destination);
                    Failure::usage(format!("{words}: {side}: {error}"))
                })?;
            }
        }
        Ok(Mapping {
            source: map.source.clone(),
            destination: map.destination.clone(),
            required: Some(true),
            ..Mapping::default()
        })
    };
    maps.iter().map(mapping).collect()
}

fn vars(target: &TargetArguments) -> BTreeMap<String, String> {
    target.vars.iter().map(|var| (var.key.clone(), var.value.clone())).collect()
}
