//! Where a redirect leads, and how much of it may be shown.

const SHOWN: usize = 200;

/// Where a redirect leads, if that is of use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Redirect {
    None,
    /// The page on which a new gateway is commissioned.
    Welcome,
    /// The same thing over TLS, there.
    Secure(String),
    /// Another place.
    Elsewhere(String),
}

impl Redirect {
    pub(crate) fn parse(location: Option<&str>) -> Self {
        let Some(location) = location else { return Self::None };
        let bare = location.split(['?', '#']).next().unwrap_or_default();
        let path = bare.trim_end_matches('/');
        if path.ends_with("/welcome") || path == "welcome" {
            Self::Welcome
        } else if bare.starts_with("https://") {
            Self::Secure(shown(bare))
        } else {
            Self::Elsewhere(shown(bare))
        }
    }

    /// Returns the address without what may be secret: credentials, query and fragment.
    pub(crate) fn place(self) -> Option<String> {
        match self {
            Self::Secure(place) | Self::Elsewhere(place) => Some(place),
            Self::None | Self::Welcome => None,
        }
    }
}

/// Drops the credentials of an address and whatever a terminal would obey.
fn shown(bare: &str) -> String {
    let (scheme, rest) = match bare.split_once("//") {
        Some((scheme, rest)) => (format!("{scheme}//"), rest),
        None => (String::new(), bare),
    };
    let end = if scheme.is_empty() { 0 } else { rest.find('/').unwrap_or(rest.len()) };
    let (authority, path) = rest.split_at(end);
    let host = authority.rsplit('@').next().unwrap_or_default();
    let place = format!("{scheme}{host}{path}");
    place.chars().take(SHOWN).flat_map(char::escape_debug).collect()
}
