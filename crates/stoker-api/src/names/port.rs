//! Ports that Stoker listens on, and those of a gateway.

/// A port with a fixed meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Port {
    /// The operator's metrics.
    Metrics,
    /// The operator's health probes.
    Health,
    /// The operator's admission webhooks (TLS).
    Admission,
    /// The operator's receiver of push events.
    Receiver,
    /// The operator's dashboard.
    Dashboard,
    /// The agent's probes: `/startupz`, `/healthz`.
    AgentHealth,
    /// The agent's metrics.
    AgentMetrics,
    /// A gateway's plain HTTP port.
    Gateway,
    /// A gateway's TLS port.
    GatewayTls,
}

impl Port {
    /// Every one of them, in the order of the reference pages.
    pub const ALL: &[Self] = &[
        Self::Metrics,
        Self::Health,
        Self::Admission,
        Self::Receiver,
        Self::Dashboard,
        Self::AgentHealth,
        Self::AgentMetrics,
        Self::Gateway,
        Self::GatewayTls,
    ];

    /// Returns the number.
    pub const fn number(self) -> u16 {
        match self {
            Self::Metrics => 8080,
            Self::Health => 8081,
            Self::Admission => 9443,
            Self::Receiver => 9444,
            Self::Dashboard => 8090,
            Self::AgentHealth => 8082,
            Self::AgentMetrics => 8083,
            Self::Gateway => 8088,
            Self::GatewayTls => 8043,
        }
    }

    /// Returns what listens there.
    pub const fn describe(self) -> &'static str {
        match self {
            Self::Metrics => "operator: metrics",
            Self::Health => "operator: health probes",
            Self::Admission => "operator: admission webhooks (TLS)",
            Self::Receiver => "operator: receiver of push events",
            Self::Dashboard => "operator: dashboard",
            Self::AgentHealth => "agent: probes `/startupz`, `/healthz`",
            Self::AgentMetrics => "agent: metrics",
            Self::Gateway => "Ignition gateway, plain HTTP: what is tried where nothing is set",
            Self::GatewayTls => "Ignition gateway, TLS: what is tried next",
        }
    }
}
