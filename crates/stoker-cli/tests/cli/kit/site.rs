//! A world with a gateway that reads its data directory.

use std::ffi::OsString;

use stoker_testkit::gateway::{Gateway, Half, Options, Relock};

use super::update::Update;
use super::world::{Run, World};

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

/// A site on the way between two commits.
pub(crate) struct Line<'a> {
    pub(crate) site: Site,
    update: &'a Update,
}

impl<'a> Line<'a> {
    /// A line at the old commit, which its gateway has loaded.
    pub(crate) fn new(update: &'a Update, relock: Relock) -> Self {
        let site = Site::with(update.url(), |options| Options { relock, ..options });
        let line = Self { site, update };
        line.completes("old");
        line
    }

    pub(crate) fn words(&self, branch: &str, timeout: &str) -> Vec<OsString> {
        let mut words = self.update.words(&self.site.world, branch);
        words.extend(self.site.flags());
        words.extend(["--gateway-timeout".into(), timeout.into()]);
        words
    }

    /// Runs to the end: these files, and a gateway that has scanned exactly them.
    #[track_caller]
    pub(crate) fn completes(&self, branch: &str) {
        self.site.world.stoker(self.words(branch, "20s")).exits(0);
        let wanted = if branch == "old" { &self.update.old } else { &self.update.new };
        assert_eq!(&self.site.world.live(), wanted, "not exactly {branch}");
        assert!(!self.site.gateway.is_locked(Half::Projects), "the lock stays");
    }

    /// What the gateway saw when it last scanned.
    pub(crate) fn seen(&self) -> String {
        let scans = self.site.gateway.scans();
        let last = scans.iter().rfind(|scan| scan.half == Half::Projects).unwrap();
        last.digest.clone()
    }
}
