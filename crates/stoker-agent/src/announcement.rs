//! Watches the one ConfigMap by which the controller announces what to apply.
//!
//! # Promises
//! One request every 20 to 25 minutes while nothing changes. A connection that died is noticed by
//! the client's keep-alive, and a watch that says nothing for three minutes is given up. What was
//! last announced counts until something else is: an API server that is away changes nothing.
//!
//! # When it fails
//! Each failure is followed by a pause that grows to 6 s, with jitter, so that a thousand agents do
//! not come back at once. Where the object can be read and no watch can be held, it is read every
//! sync period.

use std::sync::Arc;
use std::time::Duration;

use futures::TryStreamExt as _;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::{ListParams, WatchEvent, WatchParams};
use stoker_api::chain::Chain;
use stoker_api::contract::metadata::Metadata;
use stoker_api::names::{self, Annotation};
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};

use crate::args::Environment;

/// How long the API server may take to answer.
const WITHIN: Duration = Duration::from_secs(15);
/// How long one watch lasts, in seconds, and how much shorter it may be.
const WATCH: u32 = 25 * 60;
const SPREAD: u32 = 5 * 60;
/// How long a watch may say nothing: the server sends a bookmark every minute.
const SILENT: Duration = Duration::from_mins(3);
/// Pauses after failures, at first and at most.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(6);
/// A watch that lasted less was not held.
const SHORT: Duration = Duration::from_secs(5);

/// The one key that counts even where the others can't be used: a report must find its place.
const STATUS_SHARDS: &str = "statusShards";

/// What is known of the announcement.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Announcement {
    /// The API server has not answered yet.
    Unknown { message: String },
    /// The object does not exist, or we may not read it.
    Absent { message: String },
    /// The object can't be used; what is wrong with it.
    Invalid { message: String, place: Place },
    /// The controller's word.
    Published(Arc<Published>),
}

/// What the controller announced.
#[derive(Debug, PartialEq)]
pub(crate) struct Published {
    pub(crate) metadata: Metadata,
    /// Changes when the controller has made status objects again: then every report is written
    /// again.
    pub(crate) reports_wanted: Option<String>,
}

/// Where reports go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    /// How many status ConfigMaps there are.
    pub(crate) shards: u8,
    /// Changes when every report is to be written again.
    pub(crate) reports_wanted: Option<String>,
}

/// Why a watch ended.
enum End {
    /// Its time was over.
    Expired,
    /// What we know is too old.
    Stale,
    /// The object may not be watched.
    Forbidden,
    /// It broke.
    Broken(String),
}

impl Announcement {
    /// Returns the controller's word, if there is one.
    pub(crate) fn published(&self) -> Option<&Published> {
        match self {
            Self::Published(published) => Some(published),
            Self::Unknown { .. } | Self::Absent { .. } | Self::Invalid { .. } => None,
        }
    }

    /// Returns where reports go, as far as that is known.
    pub(crate) fn place(&self) -> Option<Place> {
        match self {
            Self::Published(published) => Some(Place {
                shards: published.metadata.status_shards,
                reports_wanted: published.reports_wanted.clone(),
            }),
            Self::Invalid { place, .. } => Some(place.clone()),
            Self::Unknown { .. } | Self::Absent { .. } => None,
        }
    }

    fn of(object: Option<&ConfigMap>, name: &str) -> Self {
        let Some(object) = object else {
            return Self::Absent { message: format!("the ConfigMap {name:?} does not exist") };
        };
        let data = object.data.clone().unwrap_or_default();
        let annotations = object.metadata.annotations.as_ref();
        let reports_wanted =
            annotations.and_then(|all| all.get(Annotation::ReportsWanted.as_str())).cloned();
        match Metadata::from_data(&data) {
            Ok(metadata) => Self::Published(Arc::new(Published { metadata, reports_wanted })),
            Err(error) => {
                let message = format!("the ConfigMap {name:?} can't be used: {}", Chain(&error));
                let shards = data.get(STATUS_SHARDS).and_then(|shards| shards.parse().ok());
                let place = Place { shards: shards.unwrap_or(1), reports_wanted };
                Self::Invalid { message, place }
            }
        }
    }
}

/// Watches for ever. A value is sent for every change. The period is how often the object is read
/// where it can't be watched.
pub(crate) async fn watch(
    client: kube::Client,
    environment: Arc<Environment>,
    sender: watch::Sender<Announcement>,
    period: watch::Receiver<Duration>,
) {
    let objects = Api::<ConfigMap>::namespaced(client, &environment.pod_namespace);
    let name = names::metadata_config_map(&environment.cr_name);
    let (pause, silent) = (FIRST_PAUSE, SILENT);
    let mut watcher = Watcher { objects, name, sender, period, pause, silent };
    loop {
        watcher.cycle().await;
    }
}

struct Watcher {
    objects: Api<ConfigMap>,
    name: String,
    sender: watch::Sender<Announcement>,
    period: watch::Receiver<Duration>,
    pause: Duration,
    /// How long a watch may say nothing.
    silent: Duration,
}

impl Watcher {
    /// Reads the object, then watches it until that fails.
    async fn cycle(&mut self) {
        let Some(mut version) = self.read().await else { return self.rest(LONGEST_PAUSE).await };
        loop {
            let started = Instant::now();
            let end = self.watch(&mut version).await;
            let is_held = started.elapsed() >= SHORT;
            if is_held {
                self.pause = FIRST_PAUSE;
            }
            let period = *self.period.borrow();
            match end {
                End::Expired if is_held => {}
                End::Expired => self.rest(period).await,
                End::Stale => return self.rest(LONGEST_PAUSE).await,
                End::Forbidden => return sleep(period).await,
                End::Broken(message) => {
                    tracing::debug!(error = message, "the watch of the announcement broke");
                    return self.rest(period).await;
                }
            }
        }
    }

    /// Rests, longer after each failure in a row, up to about this long.
    async fn rest(&mut self, longest: Duration) {
        let pause = self.pause.min(longest);
        self.pause = pause * 2;
        sleep(pause.mul_f64(0.5 + fastrand::f64())).await;
    }

    fn selector(&self) -> String {
        format!("metadata.name={}", self.name)
    }

    /// Reads the object; returns the version of the list, from which to watch.
    async fn read(&self) -> Option<String> {
        let parameters = ListParams::default().fields(&self.selector());
        let listed = timeout(WITHIN, self.objects.list(&parameters)).await;
        match listed {
            Ok(Ok(list)) => {
                self.send(Announcement::of(list.items.first(), &self.name));
                list.metadata.resource_version
            }
            Ok(Err(kube::Error::Api(status))) if matches!(status.code, 401 | 403 | 404) => {
                let message = format!("the ConfigMap {:?}: {}", self.name, status.message);
                self.lose(Announcement::Absent { message });
                None
            }
            Ok(Err(error)) => {
                self.lose(Announcement::Unknown { message: Chain(&error).to_string() });
                None
            }
            Err(_) => {
                let message = format!("no answer within {} s", WITHIN.as_secs());
                self.lose(Announcement::Unknown { message });
                None
            }
        }
    }

    async fn watch(&self, version: &mut String) -> End {
        let seconds = WATCH - fastrand::u32(..SPREAD);
        let parameters = WatchParams::default().fields(&self.selector()).timeout(seconds);
        let stream = match timeout(WITHIN, self.objects.watch(&parameters, version)).await {
            Ok(Ok(stream)) => stream,
            Ok(Err(error)) => return End::of(&error),
            Err(_) => return End::Broken(format!("no answer within {} s", WITHIN.as_secs())),
        };
        let mut stream = std::pin::pin!(stream);
        loop {
            let event = match timeout(self.silent, stream.try_next()).await {
                Ok(Ok(Some(event))) => event,
                Ok(Ok(None)) => return End::Expired,
                Ok(Err(error)) => return End::of(&error),
                Err(_) => return End::Broken(format!("silent for {} s", self.silent.as_secs())),
            };
            match event {
                WatchEvent::Added(object) | WatchEvent::Modified(object) => {
                    note(version, object.metadata.resource_version.as_ref());
                    self.send(Announcement::of(Some(&object), &self.name));
                }
                WatchEvent::Deleted(object) => {
                    note(version, object.metadata.resource_version.as_ref());
                    self.send(Announcement::of(None, &self.name));
                }
                WatchEvent::Bookmark(bookmark) => {
                    note(version, Some(&bookmark.metadata.resource_version));
                }
                WatchEvent::Error(status) if status.code == 410 => return End::Stale,
                WatchEvent::Error(status) => return End::Broken(status.message.clone()),
            }
        }
    }

    /// Sends what is new.
    fn send(&self, announcement: Announcement) {
        self.sender.send_if_modified(|known| {
            let is_new = *known != announcement;
            *known = announcement;
            is_new
        });
    }

    /// Sends why nothing is known, unless something is.
    fn lose(&self, announcement: Announcement) {
        if self.sender.borrow().published().is_none() {
            self.send(announcement);
        } else {
            tracing::debug!("the announcement can't be read; the last one counts");
        }
    }
}

fn note(version: &mut String, seen: Option<&String>) {
    if let Some(seen) = seen {
        version.clone_from(seen);
    }
}

impl End {
    fn of(error: &kube::Error) -> Self {
        match error {
            kube::Error::Api(status) if status.code == 410 => Self::Stale,
            kube::Error::Api(status) if matches!(status.code, 401 | 403) => Self::Forbidden,
            error => Self::Broken(Chain(error).to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;

    use stoker_runtime::client;

    use super::*;

    const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

    // C2: a stream that stays open and says nothing is given up.
    #[tokio::test]
    async fn a_watch_that_falls_silent_is_given_up() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            assert!(stream.read(&mut [0; 4096]).unwrap() > 0);
            stream.write_all(HEAD).unwrap();
            std::thread::park();
        });
        let config = kube::Config::new(url.parse().unwrap());
        let client = client::build(config, client::Retry::STANDARD).unwrap();
        let message = String::new();
        let watcher = Watcher {
            objects: Api::namespaced(client, "site"),
            name: "stoker-metadata-plant".to_owned(),
            sender: watch::channel(Announcement::Unknown { message }).0,
            period: watch::channel(FIRST_PAUSE).1,
            pause: FIRST_PAUSE,
            silent: Duration::from_millis(200),
        };
        let mut version = "1".to_owned();
        let ended = timeout(Duration::from_secs(20), watcher.watch(&mut version)).await;
        assert!(matches!(ended, Ok(End::Broken(_))));
    }
}
