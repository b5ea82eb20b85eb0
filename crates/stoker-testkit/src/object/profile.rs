//! Profiles and their mappings.

use stoker_api::SyncProfile;
use stoker_api::gatewaysync::{Mapping, MappingType, Overrides, Patch, Profile};
use stoker_api::syncprofile::SyncProfileSpec;

/// Builds one mapping.
#[derive(Clone, Debug)]
pub struct MappingBuilder(Mapping);

/// Builds a profile.
#[derive(Clone, Debug, Default)]
pub struct ProfileBuilder(Profile);

/// Builds a SyncProfile object.
#[derive(Clone, Debug)]
pub struct SyncProfileBuilder(SyncProfile);

/// Starts a mapping from the repository to the data directory.
pub fn mapping(source: &str, destination: &str) -> MappingBuilder {
    MappingBuilder(Mapping {
        source: source.to_owned(),
        destination: destination.to_owned(),
        ..Mapping::default()
    })
}

/// Starts a profile without mappings; the API server wants at least one.
pub fn profile() -> ProfileBuilder {
    ProfileBuilder::default()
}

/// Starts a SyncProfile object.
pub fn sync_profile(name: &str, profile: impl Into<Profile>) -> SyncProfileBuilder {
    SyncProfileBuilder(SyncProfile::new(name, SyncProfileSpec { profile: profile.into() }))
}

impl MappingBuilder {
    /// Makes the sync fail where the source does not exist.
    #[must_use]
    pub fn required(mut self) -> Self {
        self.0.required = Some(true);
        self
    }

    /// Leaves files that are not in the repository alone.
    #[must_use]
    pub fn without_prune(mut self) -> Self {
        self.0.prune = Some(false);
        self
    }

    /// Treats the contents of the files as templates.
    #[must_use]
    pub fn template(mut self) -> Self {
        self.0.template = Some(true);
        self
    }

    /// Says what the source is.
    #[must_use]
    pub fn of_type(mut self, kind: MappingType) -> Self {
        self.0.mapping_type = Some(kind);
        self
    }

    /// Sets fields of the JSON files that the glob names.
    #[must_use]
    pub fn patch<'a>(
        mut self,
        glob: &str,
        set: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Self {
        let set = set.into_iter().map(|(path, value)| (path.to_owned(), value.to_owned()));
        self.0.patches.push(Patch { file: Some(glob.to_owned()), set: set.collect() });
        self
    }
}

impl ProfileBuilder {
    /// Adds a mapping that says no more than where from and where to.
    #[must_use]
    pub fn mapping(self, source: &str, destination: &str) -> Self {
        self.map(mapping(source, destination))
    }

    /// Adds a mapping.
    #[must_use]
    pub fn map(mut self, mapping: impl Into<Mapping>) -> Self {
        self.0.mappings.push(mapping.into());
        self
    }

    /// Adds an exclude pattern.
    #[must_use]
    pub fn exclude(self, glob: &str) -> Self {
        self.overrides(|it| it.exclude_patterns.get_or_insert_default().push(glob.to_owned()))
    }

    /// Sets a variable for templates.
    #[must_use]
    pub fn var(self, name: &str, value: &str) -> Self {
        self.overrides(|it| super::put(&mut it.vars, name, value))
    }

    /// Counts and reports changes without applying them.
    #[must_use]
    pub fn dry_run(self) -> Self {
        self.overrides(|it| it.dry_run = Some(true))
    }

    /// Pauses this profile.
    #[must_use]
    pub fn paused(self) -> Self {
        self.overrides(|it| it.paused = Some(true))
    }

    /// Sets whatever has no verb of its own.
    #[must_use]
    pub fn overrides(mut self, change: impl FnOnce(&mut Overrides)) -> Self {
        change(&mut self.0.overrides);
        self
    }

    /// Returns the profile.
    pub fn build(self) -> Profile {
        self.0
    }
}

impl SyncProfileBuilder {
    /// Puts it into a namespace.
    #[must_use]
    pub fn namespace(mut self, namespace: &str) -> Self {
        self.0.metadata.namespace = Some(namespace.to_owned());
        self
    }

    /// Returns the object.
    pub fn build(self) -> SyncProfile {
        self.0
    }
}

impl From<MappingBuilder> for Mapping {
    fn from(builder: MappingBuilder) -> Self {
        builder.0
    }
}

impl From<ProfileBuilder> for Profile {
    fn from(builder: ProfileBuilder) -> Self {
        builder.0
    }
}
