//! Everything that changes while a stand-in runs, behind one lock, and the words for it.

use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::auth::Token;
use crate::fault::Fault;
use crate::load::{Poison, Snapshot};
use crate::lock::Lock;
use crate::options::Options;

/// The two halves of a data directory, each with its own scan and its own lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Half {
    /// `projects/`.
    Projects,
    /// `config/`.
    Config,
}

/// What the gateway is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// In service.
    Running,
    /// The port is open, `StatusPing` says STARTING, the rest is 503.
    Starting,
    /// Every route redirects to `/welcome`; `gwinfo` says `NEEDS_COMMISSIONING`.
    Uncommissioned,
    /// The port is closed.
    Down,
}

/// A request that was received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    /// `GET`, `POST`, …
    pub method: String,
    /// The path without the query.
    pub path: String,
    /// The query as it came, without the question mark.
    pub query: String,
    /// The body, as text.
    pub body: String,
    /// Name half of the token that was presented; never the secret.
    pub token: Option<String>,
    /// The status that was answered; 0 where the connection was dropped instead.
    pub status: u16,
}

/// A scan that ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScanRecord {
    /// Which half.
    pub half: Half,
    /// Hash over every path and content it saw; equal digests are equal states.
    pub digest: String,
    /// How many files it saw.
    pub files: usize,
}

/// What the gateway has loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loaded {
    /// Projects with a valid `project.json`, in order.
    pub projects: Vec<String>,
    /// Directories with a valid `resource.json`, in order.
    pub resources: Vec<String>,
    /// Relative path of every file to the SHA-256 of the content that was loaded.
    pub files: BTreeMap<String, String>,
    /// Resources seen in a state that no writer may show, until they are gone.
    pub poisoned: Vec<Poison>,
}

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ScanStatus {
    pub(crate) active: bool,
    pub(crate) timestamp: i64,
    pub(crate) duration_ms: i64,
}

/// One half's lock, scan status (with its lag) and content.
#[derive(Debug, Default)]
pub(crate) struct HalfWorld {
    pub(crate) lock: Lock,
    pub(crate) status: ScanStatus,
    /// Asked for and not begun: the half stays active when a scan before it ends.
    pub(crate) is_pending: bool,
    told: Vec<(Instant, ScanStatus)>,
    pub(crate) snapshot: Snapshot,
}

pub(crate) struct World {
    pub(crate) state: State,
    pub(crate) tokens: Vec<Token>,
    /// By the number of the half.
    halves: [HalfWorld; 2],
    pub(crate) poisoned: BTreeMap<String, Poison>,
    pub(crate) scans: Vec<ScanRecord>,
    pub(crate) designers: BTreeMap<String, Value>,
    pub(crate) faults: Vec<Fault>,
    pub(crate) requests: Vec<Recorded>,
    pub(crate) next_id: u32,
}

pub(crate) struct Shared {
    pub(crate) options: Options,
    world: Mutex<World>,
    changed: Condvar,
}

impl Half {
    /// Both, in the order in which a gateway is asked to scan them.
    pub const ALL: [Self; 2] = [Self::Projects, Self::Config];

    /// Returns the directory, which is also the last part of the route.
    pub fn name(self) -> &'static str {
        match self {
            Self::Projects => "projects",
            Self::Config => "config",
        }
    }

    pub(crate) fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|half| half.name() == name)
    }
}

impl HalfWorld {
    /// Makes `status` the truth now, and what the API tells `lag` later.
    pub(crate) fn set_status(&mut self, status: ScanStatus, lag: Duration) {
        self.status = status;
        let now = Instant::now();
        // What was told before the latest news is never told again.
        let latest = self.told.iter().rposition(|(from, _)| *from <= now).unwrap_or(0);
        self.told.drain(..latest);
        self.told.push((now + lag, status));
    }

    /// Returns what the API tells at `now`.
    pub(crate) fn told(&self, now: Instant) -> ScanStatus {
        let told = self.told.iter().rfind(|(from, _)| *from <= now);
        told.map_or_else(ScanStatus::default, |(_, status)| *status)
    }
}

impl World {
    pub(crate) fn half(&self, half: Half) -> &HalfWorld {
        &self.halves[half as usize]
    }

    pub(crate) fn half_mut(&mut self, half: Half) -> &mut HalfWorld {
        &mut self.halves[half as usize]
    }

    pub(crate) fn loaded(&self) -> Loaded {
        let [projects, config] = self.halves.each_ref().map(|half| &half.snapshot);
        Loaded {
            projects: projects.projects.iter().cloned().collect(),
            resources: projects.resources.keys().chain(config.resources.keys()).cloned().collect(),
            files: projects
                .files
                .iter()
                .chain(&config.files)
                .map(|(path, hash)| (path.clone(), hash.clone()))
                .collect(),
            poisoned: self.poisoned.values().cloned().collect(),
        }
    }
}

impl Shared {
    pub(crate) fn new(options: Options) -> Self {
        let world = World {
            state: options.state,
            tokens: options.tokens.clone(),
            halves: Default::default(),
            poisoned: BTreeMap::new(),
            scans: Vec::new(),
            designers: BTreeMap::new(),
            faults: Vec::new(),
            requests: Vec::new(),
            next_id: 1,
        };
        Self { options, world: Mutex::new(world), changed: Condvar::new() }
    }

    /// Locks the world; a panic elsewhere does not take the stand-in down.
    pub(crate) fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the world and wakes whoever waits for a change.
    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut World) -> T) -> T {
        let result = change(&mut self.world());
        self.changed.notify_all();
        result
    }

    /// Waits until `holds` or until `timeout` is over; returns whether it holds.
    pub(crate) fn wait(&self, timeout: Duration, holds: impl Fn(&World) -> bool) -> bool {
        let deadline = Instant::now() + timeout;
        let mut world = self.world();
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if holds(&world) || left.is_zero() {
                return holds(&world);
            }
            let waited = self.changed.wait_timeout(world, left);
            world = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Returns the time by the gateway's clock.
    pub(crate) fn now_ms(&self) -> i64 {
        jiff::Timestamp::now().as_millisecond() + self.options.clock_offset_ms
    }
}
