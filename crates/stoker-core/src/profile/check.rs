//! Finds fault with what users wrote, field by field.

use stoker_api::gatewaysync::{Mapping, MappingType, Overrides, Patch, Profile};
use stoker_api::limit;
use stoker_api::word::{Interval, RelPath, is_identifier};
use stoker_text::glob::{Excludes, Glob};
use stoker_text::json::validate_path;
use stoker_text::template::Template;

use super::{Faults, too_many};

/// Names in the data directory that are Stoker's own.
const RESERVED: [&str; 2] = [".stoker", ".sync-staging"];
const RESERVED_PREFIX: &str = ".stoker-";

pub(super) fn profile(profile: &Profile, faults: &mut Faults) {
    match profile.mappings.len() {
        0 => faults.add("mappings", "has no mapping: a profile needs at least one".to_owned()),
        found if found > limit::MAPPINGS => {
            faults.add("mappings", too_many(limit::MAPPINGS, "mappings", found));
        }
        _ => {}
    }
    for (index, entry) in profile.mappings.iter().enumerate() {
        faults.within(&format!("mappings[{index}]"), |faults| mapping(entry, faults));
    }
    overrides(&profile.overrides, faults);
}

pub(super) fn overrides(overrides: &Overrides, faults: &mut Faults) {
    let excludes = overrides.exclude_patterns.as_deref().unwrap_or_default();
    if excludes.len() > limit::EXCLUDES {
        faults.add("excludePatterns", too_many(limit::EXCLUDES, "patterns", excludes.len()));
    }
    for (index, pattern) in excludes.iter().enumerate() {
        faults.within(&format!("excludePatterns[{index}]"), |faults| {
            length_here(pattern, limit::PATH, faults);
            if let Err(error) = Excludes::parse([pattern.as_str()]) {
                faults.here(error.source.to_string());
            }
        });
    }
    vars(overrides, faults);
    let period = limit::SYNC_PERIOD_MIN..=limit::SYNC_PERIOD_MAX;
    if let Some(seconds) = overrides.sync_period {
        let fits = usize::try_from(seconds).is_ok_and(|seconds| period.contains(&seconds));
        if !fits {
            let (low, high) = (period.start(), period.end());
            faults.add("syncPeriod", format!("is {seconds}; it must be from {low} to {high}"));
        }
    }
    if let Some(percent) = overrides.max_delete_percent.filter(|p| !(0..=100).contains(p)) {
        faults.add("maxDeletePercent", format!("is {percent}; it must be from 0 to 100"));
    }
    if let Some(timeout) = &overrides.designer_session_timeout {
        faults.check("designerSessionTimeout", Interval::parse_repeating(timeout));
    }
}

fn vars(overrides: &Overrides, faults: &mut Faults) {
    let Some(vars) = &overrides.vars else { return };
    if vars.len() > limit::VARS {
        faults.add("vars", too_many(limit::VARS, "variables", vars.len()));
    }
    for (name, value) in vars {
        if !is_identifier(name) {
            let rule =
                "is not an identifier: use letters, digits and _, not beginning with a digit";
            faults.add(&format!("vars.{name}"), rule.to_owned());
        }
        length(&format!("vars.{name}"), value, limit::VAR_VALUE, faults);
    }
}

fn mapping(mapping: &Mapping, faults: &mut Faults) {
    // A field that is new has to be named here, and checked where it needs to be.
    let Mapping { source, destination, mapping_type, patches, required: _, prune: _, template: _ } =
        mapping;
    faults.within("source", |faults| path(source, faults));
    faults.within("destination", |faults| {
        path(destination, faults);
        if destination.split('/').find(|c| !matches!(*c, "" | ".")).is_some_and(is_reserved)
            || destination.split('/').any(|c| c.starts_with(RESERVED_PREFIX))
        {
            faults.here("is a name of Stoker's own: choose another".to_owned());
        }
    });
    if patches.len() > limit::PATCHES {
        faults.add("patches", too_many(limit::PATCHES, "patches", patches.len()));
    }
    for (index, entry) in patches.iter().enumerate() {
        faults.within(&format!("patches[{index}]"), |faults| {
            if entry.file.is_none() && *mapping_type == Some(MappingType::Dir) {
                faults.add("file", "is missing: say which files of the directory".to_owned());
            }
            patch(entry, faults);
        });
    }
}

fn patch(patch: &Patch, faults: &mut Faults) {
    if let Some(file) = &patch.file {
        faults.within("file", |faults| {
            if file.contains("{{") {
                template(file, faults);
            } else {
                glob(file, faults);
            }
        });
    }
    match patch.set.len() {
        0 => faults.add("set", "is empty: it sets nothing".to_owned()),
        found if found > limit::SET_ENTRIES => {
            faults.add("set", too_many(limit::SET_ENTRIES, "entries", found));
        }
        _ => {}
    }
    for (key, value) in &patch.set {
        let field = format!("set.{key}");
        faults.check(&field, validate_path(key));
        length(&field, value, limit::SET_VALUE, faults);
        faults.within(&field, |faults| template(value, faults));
    }
}

/// A path whose templates are not rendered yet: what stands there literally must be fine already.
fn path(text: &str, faults: &mut Faults) {
    if text.is_empty() {
        return faults.here("is empty: write \".\" for everything".to_owned());
    }
    match Template::parse(text) {
        Err(error) => faults.here(error.to_string()),
        Ok(parsed) if parsed.is_plain() => {
            if let Err(error) = RelPath::parse(text) {
                faults.here(error.to_string());
            }
        }
        Ok(_) => {
            if let Err(error) = RelPath::parse(&literal(text)) {
                faults.here(error.to_string());
            }
            length_here(text, limit::PATH, faults);
        }
    }
}

/// The text with each template action replaced by a letter: a stand-in for what it will render to.
fn literal(text: &str) -> String {
    let mut literal = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, action)) = rest.split_once("{{") {
        literal.push_str(before);
        literal.push('x');
        rest = action.split_once("}}").map_or("", |(_, after)| after);
    }
    literal + rest
}

fn template(text: &str, faults: &mut Faults) {
    if let Err(error) = Template::parse(text) {
        faults.here(error.to_string());
    }
}

fn glob(pattern: &str, faults: &mut Faults) {
    length_here(pattern, limit::PATH, faults);
    if let Err(error) = Glob::parse(pattern) {
        faults.here(error.to_string());
    }
}

fn is_reserved(component: &str) -> bool {
    RESERVED.contains(&component) || component.starts_with(RESERVED_PREFIX)
}

fn length(field: &str, text: &str, limit: usize, faults: &mut Faults) {
    faults.within(field, |faults| length_here(text, limit, faults));
}

fn length_here(text: &str, limit: usize, faults: &mut Faults) {
    let found = text.chars().count();
    if found > limit {
        faults.here(too_many(limit, "characters", found));
    }
}
