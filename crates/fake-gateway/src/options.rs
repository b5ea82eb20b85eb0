//! What a stand-in is from its start: where it listens, what it knows, which of the documented
//! quirks it has.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use crate::auth::Token;
use crate::world::State;

/// Everything that a stand-in can be told before it starts.
#[derive(Debug, Clone)]
pub struct Options {
    /// The data directory that is scanned; without one every scan finds nothing.
    pub data: Option<PathBuf>,
    /// Where plain HTTP is served; `None` serves TLS only.
    pub plain: Option<SocketAddr>,
    /// Where HTTPS is served, with a certificate for `localhost` and `127.0.0.1` of an authority
    /// made at start.
    pub tls: Option<SocketAddr>,
    /// Whether that certificate is its own authority (CA:TRUE) instead, as many tools make them,
    /// for `localhost` only.
    pub is_self_signed: bool,
    /// The API tokens that exist.
    pub tokens: Vec<Token>,
    /// The state it starts in.
    pub state: State,
    /// Which generation of the API is served.
    pub api: Api,
    /// What `projects/names` lists.
    pub items: Items,
    /// What happens when the holder of a scan lock asks for it again.
    pub relock: Relock,
    /// How long a scan takes.
    pub scan_duration: Duration,
    /// How much later than the truth the scan status is.
    pub status_lag: Duration,
    /// Scans on its own this often, except while the lock is held.
    pub auto_scan: Option<Duration>,
    /// How far the gateway's clock is from ours, in milliseconds.
    pub clock_offset_ms: i64,
    /// Whether a scan rewrites each `resource.json` whose signature does not fit.
    pub rewrites_resources: bool,
    /// Files that the first start or the commissioning writes over the data directory.
    pub seed: BTreeMap<String, Vec<u8>>,
}

/// Generation of the gateway's API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Api {
    /// 8.3: `/data/api/v1` exists.
    V83,
    /// 8.3 before the scan lock: everything but `scan-lock`.
    WithoutScanLock,
    /// 8.1: no `/data/api/v1` at all.
    V81,
}

/// Shape of the items of `projects/names`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Items {
    /// `["plant", …]`.
    Strings,
    /// `[{"name": "plant", …}, …]`.
    Objects,
}

/// Answer to a holder who asks for its own lock again; live notes do not say which is true.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relock {
    /// 200, and the hold time starts anew.
    Extends,
    /// 409, as for anybody else.
    Conflicts,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            data: None,
            plain: Some(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))),
            tls: None,
            is_self_signed: false,
            tokens: Vec::new(),
            state: State::Running,
            api: Api::V83,
            items: Items::Strings,
            relock: Relock::Extends,
            scan_duration: Duration::ZERO,
            status_lag: Duration::ZERO,
            auto_scan: None,
            clock_offset_ms: 0,
            rewrites_resources: false,
            seed: BTreeMap::new(),
        }
    }
}

impl Options {
    /// Returns options for a gateway over `data`.
    pub fn over(data: impl Into<PathBuf>) -> Self {
        Self { data: Some(data.into()), ..Self::default() }
    }

    /// Adds a token, `name:secret`, that may read and write.
    ///
    /// # Panics
    ///
    /// When there is no colon: such a token can't exist on a gateway.
    #[must_use]
    pub fn token(mut self, pair: &str) -> Self {
        let token = Token::parse(pair).expect("a token is written name:secret");
        self.tokens.push(token);
        self
    }

    /// Serves HTTPS too, on a free port.
    #[must_use]
    pub fn with_tls(mut self) -> Self {
        self.tls = Some(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)));
        self
    }

    /// Serves HTTPS only.
    #[must_use]
    pub fn tls_only(self) -> Self {
        Self { plain: None, ..self.with_tls() }
    }

    /// Starts in `state`.
    #[must_use]
    pub fn state(self, state: State) -> Self {
        Self { state, ..self }
    }

    /// Adds a file that the first start or the commissioning writes over the data directory.
    #[must_use]
    pub fn seed(mut self, path: &str, content: impl Into<Vec<u8>>) -> Self {
        self.seed.insert(path.to_owned(), content.into());
        self
    }
}
