//! Cluster-wide defaults: a file that is read at the start and again when it changes.
//!
//! # Promises
//! A file that can't be used keeps the operator from starting, and changes nothing later: what
//! counted before goes on. Without that a typing error could end a dry run of a whole plant.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use std::{fs, io};

use stoker_api::GatewaySync;
use stoker_api::chain::Chain;
use stoker_core::defaults::{self, Defaults};
use stoker_runtime::telemetry::{self, Filter};
use tokio::sync::watch;

/// The kubelet takes up to a minute to show a changed ConfigMap.
const LOOK_EVERY: Duration = Duration::from_secs(5);

/// The defaults that count at the moment. Clones share them.
#[derive(Debug, Clone)]
pub(crate) struct Current(watch::Receiver<Arc<Defaults>>);

/// Why a file can't be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("failed to read {path:?}")]
    Read { path: PathBuf, source: io::Error },
    #[error(r#"{path:?} is not JSON: write it like {{"polling": {{"interval": "5m"}}}}"#)]
    Json { path: PathBuf, source: serde_json::Error },
    #[error("{path:?} does not hold defaults")]
    Content { path: PathBuf, source: defaults::Error },
    #[error("logLevel in {path:?}")]
    LogLevel { path: PathBuf, source: telemetry::Error },
}

/// A file as it was read last.
struct Loaded {
    text: Vec<u8>,
    defaults: Defaults,
    filter: Option<Filter>,
}

/// Reads the file, where there is one, and follows its changes. `usual` is the log filter that counts
/// where the file names none.
pub(crate) fn start(path: Option<&Path>, usual: &Filter) -> Result<Current, Error> {
    let Some(path) = path else { return Ok(Current(watch::channel(Arc::default()).1)) };
    let loaded = load(path)?;
    let usual = usual.clone();
    telemetry::set_filter(loaded.filter.as_ref().unwrap_or(&usual));
    let (sender, receiver) = watch::channel(Arc::new(loaded.defaults));
    tokio::spawn(follow(path.to_owned(), usual, loaded.text, sender));
    Ok(Current(receiver))
}

fn load(path: &Path) -> Result<Loaded, Error> {
    let own = || path.to_owned();
    let text = fs::read(path).map_err(|source| Error::Read { path: own(), source })?;
    let value =
        serde_json::from_slice(&text).map_err(|source| Error::Json { path: own(), source })?;
    let defaults =
        Defaults::parse(&value).map_err(|source| Error::Content { path: own(), source })?;
    let filter = defaults.log_level.as_deref().map(str::parse).transpose();
    let filter = filter.map_err(|source| Error::LogLevel { path: own(), source })?;
    Ok(Loaded { text, defaults, filter })
}

async fn follow(
    path: PathBuf,
    usual: Filter,
    mut seen: Vec<u8>,
    sender: watch::Sender<Arc<Defaults>>,
) {
    let mut is_told = false;
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        if fs::read(&path).is_ok_and(|text| text == seen) {
            is_told = false;
            continue;
        }
        match load(&path) {
            Ok(Loaded { text, defaults, filter }) => {
                tracing::info!(?path, "read changed defaults");
                telemetry::set_filter(filter.as_ref().unwrap_or(&usual));
                seen = text;
                is_told = false;
                if sender.send(Arc::new(defaults)).is_err() {
                    return;
                }
            }
            Err(error) if !is_told => {
                tracing::error!(error = %Chain(&error), "kept the defaults that were read before");
                is_told = true;
            }
            Err(_) => {}
        }
    }
}

impl Current {
    /// Returns a GatewaySync with the defaults merged into it.
    pub(crate) fn merged(&self, sync: Arc<GatewaySync>) -> Arc<GatewaySync> {
        let defaults = self.0.borrow();
        if defaults.is_empty() {
            return sync;
        }
        let mut merged = GatewaySync::clone(&sync);
        defaults.apply(&mut merged.spec);
        Arc::new(merged)
    }

    /// Waits until they have changed.
    pub(crate) async fn changed(&mut self) {
        if self.0.changed().await.is_err() {
            // There is no file.
            std::future::pending::<()>().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use stoker_testkit::object::gateway_sync;

    use super::*;

    fn interval(current: &Current) -> Option<String> {
        let sync = Arc::new(gateway_sync("plant").mapping("a", "b").build());
        current.merged(sync).spec.polling.clone()?.interval
    }

    #[tokio::test(start_paused = true)]
    async fn a_change_counts_soon_and_a_mistake_counts_for_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("defaults.json");
        let usual = Filter::default();
        let error = start(Some(&path), &usual).unwrap_err();
        assert!(error.to_string().contains("defaults.json"), "{error}");
        fs::write(&path, r#"{"polling": {"interval": "5m"}}"#).unwrap();
        let mut current = start(Some(&path), &usual).unwrap();
        assert_eq!(interval(&current).as_deref(), Some("5m"));
        for wrong in [
            r#"{"polling": {"interval": "1s"}}"#,
            r#"{"pollling": {}, "x": 1}"#,
            "polling: {interval: 2m}",
            r#"{"logLevel": "loud=x"}"#,
        ] {
            fs::write(&path, wrong).unwrap();
            assert!(load(&path).is_err(), "{wrong}");
            tokio::time::sleep(LOOK_EVERY * 2).await;
            assert_eq!(interval(&current).as_deref(), Some("5m"), "{wrong}");
        }
        fs::remove_file(&path).unwrap();
        tokio::time::sleep(LOOK_EVERY * 2).await;
        assert_eq!(interval(&current).as_deref(), Some("5m"));
        fs::write(&path, r#"{"polling": {"interval": "2m"}}"#).unwrap();
        current.changed().await;
        assert_eq!(interval(&current).as_deref(), Some("2m"));
    }

    #[test]
    fn without_a_file_a_gateway_sync_stays_as_it_is() {
        let current = start(None, &Filter::default()).unwrap();
        let sync = Arc::new(gateway_sync("plant").mapping("a", "b").build());
        assert!(Arc::ptr_eq(&sync, &current.merged(Arc::clone(&sync))));
    }
}
