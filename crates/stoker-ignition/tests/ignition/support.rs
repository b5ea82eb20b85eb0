//! The simulated gateway with a data directory, a key file, and the options to reach it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use fake_gateway as fake;
use stoker_ignition::{Cancel, Endpoint, Error, Gateway, Limits, Options};

/// Long enough to be recognised wherever it must not be.
pub(crate) const KEY: &str = "ci:canary-0123456789abcdef";
/// The half of it that is secret.
pub(crate) const CANARY: &str = "canary-0123456789abcdef";

/// The simulated gateway, its data directory and its key file.
pub(crate) struct World {
    pub(crate) fake: fake::Gateway,
    pub(crate) key_file: PathBuf,
    directory: tempfile::TempDir,
}

impl World {
    /// A gateway in service, with one project.
    pub(crate) fn new() -> Self {
        Self::with(|options| options)
    }

    pub(crate) fn with(change: impl FnOnce(fake::Options) -> fake::Options) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let key_file = directory.path().join("key");
        std::fs::write(&key_file, KEY).unwrap();
        let data = directory.path().join("data");
        write(&data, "projects/plant/project.json", "{}");
        let options = change(fake::Options::over(&data).token(KEY));
        Self { fake: fake::Gateway::start(options).unwrap(), key_file, directory }
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.directory.path().join("data")
    }

    /// Options with limits that keep a test short.
    pub(crate) fn options(&self) -> Options {
        let endpoint = Endpoint::parse(&self.fake.url()).unwrap();
        Options { limits: limits(), ..Options::new(endpoint, &self.key_file) }
    }

    pub(crate) fn gateway(&self) -> Gateway {
        Gateway::connect(self.options()).unwrap()
    }

    /// The same with this timeout for whatever is waited for.
    pub(crate) fn with_timeout(&self, timeout: Duration) -> Gateway {
        self.with_limits(Limits { gateway: timeout, ..limits() })
    }

    pub(crate) fn with_limits(&self, limits: Limits) -> Gateway {
        Gateway::connect(Options { limits, ..self.options() }).unwrap()
    }

    pub(crate) fn cancelled_by(&self, cancel: &Cancel) -> Gateway {
        Gateway::connect(Options { cancel: cancel.clone(), ..self.options() }).unwrap()
    }

    /// Lets this go wrong at these routes, and nothing else.
    pub(crate) fn strike(&self, ugly: &fake::Ugly, route: &str) {
        self.fake.heal();
        self.fake.fail(fake::Fault::new(ugly.clone()).on(route));
    }

    /// Posts so far, in order.
    pub(crate) fn posts(&self) -> Vec<String> {
        let calls = self.fake.calls().into_iter();
        calls
            .filter_map(|call| call.strip_prefix("POST /data/api/v1/").map(str::to_owned))
            .collect()
    }
}

pub(crate) fn limits() -> Limits {
    Limits { gateway: Duration::from_secs(20), ..Limits::default() }
}

pub(crate) fn write(data: &Path, path: &str, content: &str) {
    let at = data.join(path);
    std::fs::create_dir_all(at.parent().unwrap()).unwrap();
    std::fs::write(at, content).unwrap();
}

/// The error with its causes and its `Debug`: everything that could be shown of it.
pub(crate) fn everything(error: &Error) -> String {
    let mut text = format!("{error} {error:?} {:?}", error.remedy());
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}
