//! A world with a gateway that reads its data directory.

use std::ffi::OsString;

use stoker_testkit::gateway::{Gateway, Options};

use crate::world::{Run, World};

/// A gateway, the key to it in a file, and the repository that it is to follow.
pub(crate) struct Site {
    pub(crate) world: World,
    pub(crate) gateway: Gateway,
    pub(crate) url: String,
}

impl Site {
    pub(crate) fn new(url: String) -> Self {
        Self::with(url, |options| options)
    }

    /// One whose gateway has ways of its own.
    pub(crate) fn with(url: String, ways: impl FnOnce(Options) -> Options) -> Self {
        Self::over(World::new(), url, ways)
    }

    pub(crate) fn over(world: World, url: String, ways: impl FnOnce(Options) -> Options) -> Self {
        let options = ways(Options::over(world.data()).token("sync:right"));
        let gateway = Gateway::start(options).unwrap();
        world.file("key", "sync:right\n");
        Self { world, gateway, url }
    }

    /// How a run reaches the gateway.
    pub(crate) fn flags(&self) -> [OsString; 4] {
        let key = self.world.path("key").into();
        ["--gateway".into(), self.gateway.url().into(), "--api-key-file".into(), key]
    }

    pub(crate) fn words(&self, more: &[&str]) -> Vec<OsString> {
        let mut words = self.world.words("sync", &self.url, more);
        words.extend(self.flags());
        words
    }

    /// A run with its result as JSON.
    pub(crate) fn sync(&self, more: &[&str]) -> Run {
        self.world.stoker(self.words(&[&["-o", "json"], more].concat()))
    }

    /// The same of a run that gives the gateway no more than this time.
    pub(crate) fn sync_within(&self, patience: &str) -> Run {
        self.sync(&["--gateway-timeout", patience])
    }
}
