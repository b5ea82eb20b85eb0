//! API tokens as the gateway knows them: `name:secret` in one header, permissions, secure channel.

/// The header that carries the full pair; no other scheme works on the API.
pub(crate) const HEADER: &str = "x-ignition-api-token";

/// A token and what it may do.
#[derive(Clone, PartialEq, Eq)]
pub struct Token {
    name: String,
    secret: String,
    reads: bool,
    writes: bool,
    needs_secure_channel: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Permission {
    Read,
    Write,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Channel {
    Plain,
    Secure,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    Unauthorized,
    Forbidden,
}

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Token({}:…)", self.name)
    }
}

impl Token {
    /// Parses `name:secret` into a token that may read and write.
    pub fn parse(pair: &str) -> Option<Self> {
        let (name, secret) = pair.split_once(':')?;
        let known = !name.is_empty() && !secret.is_empty();
        known.then(|| Self {
            name: name.to_owned(),
            secret: secret.to_owned(),
            reads: true,
            writes: true,
            needs_secure_channel: false,
        })
    }

    /// Takes the permission to read away.
    #[must_use]
    pub fn without_read(self) -> Self {
        Self { reads: false, ..self }
    }

    /// Takes the permission to write away.
    #[must_use]
    pub fn without_write(self) -> Self {
        Self { writes: false, ..self }
    }

    /// Demands a secure channel.
    #[must_use]
    pub fn secure_channel_required(self) -> Self {
        Self { needs_secure_channel: true, ..self }
    }

    fn matches(&self, presented: &str) -> bool {
        presented.split_once(':') == Some((&self.name, &self.secret))
    }

    fn allows(&self, permission: Permission, channel: Channel) -> bool {
        let permitted = match permission {
            Permission::Read => self.reads,
            Permission::Write => self.writes,
        };
        permitted && (channel == Channel::Secure || !self.needs_secure_channel)
    }
}

/// Returns the name of the token that was presented, if it exists and may do this.
pub(crate) fn admit(
    tokens: &[Token],
    presented: Option<&str>,
    permission: Permission,
    channel: Channel,
) -> Result<String, Refusal> {
    let presented = presented.ok_or(Refusal::Unauthorized)?;
    let token = tokens.iter().find(|token| token.matches(presented));
    let token = token.ok_or(Refusal::Unauthorized)?;
    if token.allows(permission, channel) { Ok(token.name.clone()) } else { Err(Refusal::Forbidden) }
}
