//! From what users write to profiles that can be synced: validated, with the defaults merged in.
//!
//! The schema refuses most mistakes at apply time; what CEL can't say, and what got past it, is
//! refused here. The webhook, the controller and the CLI share these functions, and nothing else
//! makes a [`Profiles`]: having one is the proof.

mod check;
mod merge;

use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};

use stoker_api::SyncProfile;
use stoker_api::contract::metadata::Profile;
use stoker_api::gatewaysync::{Overrides, Sync};
use stoker_api::limit;
use stoker_api::word::ProfileName;

/// How many faults a message names.
const SHOWN: usize = 5;

/// Valid profiles by name, with the defaults merged in.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Profiles(BTreeMap<ProfileName, Profile>);

/// One thing that is wrong, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The field, such as `spec.sync.profiles.site.mappings[0].source`.
    pub field: String,
    /// What is wrong with it.
    pub message: String,
}

/// Everything that is wrong with a spec's profiles; never empty.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", Listed(.faults))]
pub struct Invalid {
    /// What is wrong, in the order of the fields.
    pub faults: Vec<Fault>,
}

/// No profile has the name that was asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "a field is named after what it holds")]
pub enum Unknown {
    /// There are profiles, but none of this name.
    #[error("there is no profile {wanted:?}, only {}", .existing.join(", "))]
    Name { wanted: String, existing: Vec<String> },
    /// No name was given, none is `default`, and there are several.
    #[error("which profile? There is none named \"default\", only {}", .existing.join(", "))]
    Choice { existing: Vec<String> },
    /// There are no profiles at all.
    #[error("there are no profiles")]
    Nothing,
}

/// Collects faults under the path of the field that is being looked at.
#[derive(Debug, Default)]
struct Faults {
    path: Vec<String>,
    found: Vec<Fault>,
}

struct Listed<'a>(&'a [Fault]);

impl Profiles {
    /// Validates the profiles of a GatewaySync.
    pub fn of(sync: &Sync) -> Result<Self, Invalid> {
        let mut faults = Faults::at("spec.sync");
        let defaults = sync.defaults.clone().unwrap_or_default();
        faults.within("defaults", |faults| check::overrides(&defaults, faults));
        if sync.profiles.len() > limit::PROFILES {
            faults.add("profiles", too_many(limit::PROFILES, "profiles", sync.profiles.len()));
        }
        let mut profiles = BTreeMap::new();
        for (name, profile) in &sync.profiles {
            faults.within(&format!("profiles.{name}"), |faults| {
                check::profile(profile, faults);
                match ProfileName::parse(name) {
                    Ok(name) => drop(profiles.insert(name, merge::merge(&defaults, profile))),
                    Err(error) => faults.here(error.to_string()),
                }
            });
        }
        faults.into_result(Self(profiles))
    }

    /// Validates a SyncProfile, with the defaults of the GatewaySync that uses it.
    pub fn of_object(object: &SyncProfile, defaults: &Overrides) -> Result<Profile, Invalid> {
        let mut faults = Faults::at("spec");
        check::profile(&object.spec.profile, &mut faults);
        faults.into_result(merge::merge(defaults, &object.spec.profile))
    }

    /// Returns the profile of that name; without a name, the one named `default`, or the only one.
    pub fn choose(&self, name: Option<&str>) -> Result<(&ProfileName, &Profile), Unknown> {
        let existing = || self.0.keys().map(ToString::to_string).collect::<Vec<_>>();
        if self.0.is_empty() {
            return Err(Unknown::Nothing);
        }
        let wanted = name.unwrap_or(ProfileName::DEFAULT);
        let only = self.0.iter().next().filter(|_| self.0.len() == 1);
        match (self.0.get_key_value(wanted), name, only) {
            (Some(found), _, _) => Ok(found),
            (None, None, Some(only)) => Ok(only),
            (None, None, None) => Err(Unknown::Choice { existing: existing() }),
            (None, Some(name), _) => {
                Err(Unknown::Name { wanted: name.to_owned(), existing: existing() })
            }
        }
    }

    /// Returns the profiles by name.
    pub fn as_map(&self) -> &BTreeMap<ProfileName, Profile> {
        &self.0
    }
}

/// Validates cluster-wide defaults; `more` finds fault with what is not a profile's.
pub(crate) fn check_defaults(
    defaults: &Overrides,
    more: impl FnOnce(&mut dyn FnMut(&str, String)),
) -> Result<(), Invalid> {
    let mut faults = Faults::at("sync.defaults");
    check::overrides(defaults, &mut faults);
    faults.path.clear();
    more(&mut |field, message| faults.add(field, message));
    faults.into_result(())
}

impl Faults {
    fn at(root: &str) -> Self {
        Self { path: vec![root.to_owned()], found: Vec::new() }
    }

    /// Looks at a field below the current one.
    fn within(&mut self, field: &str, look: impl FnOnce(&mut Self)) {
        self.path.push(field.to_owned());
        look(self);
        self.path.pop();
    }

    /// Finds fault with the current field.
    fn here(&mut self, message: String) {
        self.found.push(Fault { field: self.path.join("."), message });
    }

    /// Finds fault with a field below the current one.
    fn add(&mut self, field: &str, message: String) {
        self.within(field, |faults| faults.here(message));
    }

    /// Finds fault with a field below the current one, if there is one.
    fn check<T>(&mut self, field: &str, checked: Result<T, impl Display>) {
        if let Err(error) = checked {
            self.add(field, error.to_string());
        }
    }

    fn into_result<T>(self, value: T) -> Result<T, Invalid> {
        if self.found.is_empty() { Ok(value) } else { Err(Invalid { faults: self.found }) }
    }
}

fn too_many(limit: usize, what: &str, found: usize) -> String {
    format!("has {found} {what}, the most is {limit}")
}

impl Display for Fault {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.field, self.message)
    }
}

impl Display for Listed<'_> {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        let shown: Vec<_> = self.0.iter().take(SHOWN).map(ToString::to_string).collect();
        formatter.write_str(&shown.join("; "))?;
        match self.0.len().saturating_sub(SHOWN) {
            0 => Ok(()),
            more => write!(formatter, "; and {more} more"),
        }
    }
}

#[cfg(test)]
mod tests;
