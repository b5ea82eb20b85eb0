//! Profiles and their mappings.

use stoker_api::SyncProfile;
use stoker_api::gatewaysync::{Mapping, Profile};
use stoker_api::syncprofile::SyncProfileSpec;

/// Builds a profile.
#[derive(Clone, Debug, Default)]
pub struct ProfileBuilder(Profile);

/// Builds a SyncProfile object.
#[derive(Clone, Debug)]
pub struct SyncProfileBuilder(SyncProfile);

/// A mapping that says no more than where from and where to.
pub(super) fn mapping(source: &str, destination: &str) -> Mapping {
    Mapping { source: source.to_owned(), destination: destination.to_owned(), ..Mapping::default() }
}

/// Starts a profile without mappings; the API server wants at least one.
pub fn profile() -> ProfileBuilder {
    ProfileBuilder::default()
}

/// Starts a SyncProfile object.
pub fn sync_profile(name: &str, profile: impl Into<Profile>) -> SyncProfileBuilder {
    SyncProfileBuilder(SyncProfile::new(name, SyncProfileSpec { profile: profile.into() }))
}

impl ProfileBuilder {
    /// Adds a mapping that says no more than where from and where to.
    #[must_use]
    pub fn mapping(mut self, source: &str, destination: &str) -> Self {
        self.0.mappings.push(mapping(source, destination));
        self
    }

    /// Adds an exclude pattern.
    #[must_use]
    pub fn exclude(mut self, glob: &str) -> Self {
        self.0.overrides.exclude_patterns.get_or_insert_default().push(glob.to_owned());
        self
    }

    /// Sets a variable for templates.
    #[must_use]
    pub fn var(mut self, name: &str, value: &str) -> Self {
        super::put(&mut self.0.overrides.vars, name, value);
        self
    }

    /// Returns the profile.
    pub fn build(self) -> Profile {
        self.0
    }
}

impl SyncProfileBuilder {
    /// Returns the object.
    pub fn build(self) -> SyncProfile {
        self.0
    }
}

impl From<ProfileBuilder> for Profile {
    fn from(builder: ProfileBuilder) -> Self {
        builder.0
    }
}
