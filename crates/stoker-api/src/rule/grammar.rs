//! Pieces of regular expressions (RE2) that several rules share.

/// A host: a name, an IPv4 address, or an IPv6 address in brackets.
pub(super) const HOST: &str = r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9][A-Za-z0-9._-]*)";

/// A port, where there is one: up to 65535.
pub(super) const PORT: &str =
    r"(:([0-5]?[0-9]{1,4}|6([0-4][0-9]{3}|5([0-4][0-9]{2}|5([0-2][0-9]|3[0-5])))))?";

/// A user name of ssh; it can't be taken for an option.
pub(super) const USER: &str = r"[A-Za-z0-9_][A-Za-z0-9._~+-]*";

/// A URL inside a URL's path that says who, as in `https://mirror/https://token@host/plant`.
pub(super) const INNER_ADDRESS: &str = r"^[^/:]*:.*://[^/]*@";

/// What Go reads as a duration, within bounds that can't overflow.
pub(super) const INTERVAL: &str = r"^(0|([0-9]{1,5}(\.[0-9]{1,9})?(ms|h|m|s))+)$";

/// A range of versions.
pub(super) const SEMVER: &str =
    r"^semver:[A-Za-z0-9<>=^~*.+, |-]*[0-9*xX][A-Za-z0-9<>=^~*.+, |-]*$";
