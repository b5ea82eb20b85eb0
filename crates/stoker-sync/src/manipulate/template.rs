//! File contents as templates.

use stoker_text::template::{Limits, Template};

use super::{Error, Values};
use crate::hash::Fingerprint;

/// A file with a NUL within its first bytes is binary.
const BINARY_WITHIN: usize = 8 * 1024;

/// The fields of the context; their positions are bits in the manifest, so new ones come last.
const FIELDS: [&str; 10] = [
    "GatewayName",
    "PodName",
    "PodOrdinal",
    "Namespace",
    "CRName",
    "Profile",
    "Ref",
    "Commit",
    "Vars",
    "Labels",
];
/// The bit for everything else.
const FURTHER: u16 = 1 << FIELDS.len();

pub(crate) fn is_binary(bytes: &[u8]) -> bool {
    bytes[..bytes.len().min(BINARY_WITHIN)].contains(&0)
}

/// Returns whether the bytes can be anything but a copy of themselves when rendered.
pub(super) fn has_actions(bytes: &[u8]) -> bool {
    bytes.windows(2).any(|pair| pair == b"{{")
}

/// Returns which values a template may use: those whose name follows a dot anywhere in it.
pub(super) fn uses(bytes: &[u8]) -> u16 {
    let mut uses = FURTHER;
    for (position, byte) in bytes.iter().enumerate() {
        if *byte == b'.' {
            let rest = &bytes[position + 1..];
            let named = FIELDS.iter().position(|field| rest.starts_with(field.as_bytes()));
            uses |= named.map_or(0, |field| 1 << field);
        }
    }
    uses
}

pub(super) fn render(bytes: &[u8], values: &Values) -> Result<Vec<u8>, Error> {
    let text = str::from_utf8(bytes).map_err(|_| Error::NotUtf8)?;
    let template = Template::parse(text).map_err(|source| Error::Template { source })?;
    let rendered = template.render(values, Limits::default());
    rendered.map(String::into_bytes).map_err(|source| Error::Template { source })
}

pub(super) fn describe(values: &Values, uses: u16, fingerprint: &mut Fingerprint) {
    let fields: [String; FIELDS.len()] = [
        format!("{:?}", values.gateway_name),
        format!("{:?}", values.pod_name),
        format!("{:?}", values.pod_ordinal),
        format!("{:?}", values.namespace),
        format!("{:?}", values.cr_name),
        format!("{:?}", values.profile),
        format!("{:?}", values.git_ref),
        format!("{:?}", values.commit),
        format!("{:?}", values.vars),
        format!("{:?}", values.labels),
    ];
    for (position, field) in fields.iter().enumerate() {
        if uses & 1 << position != 0 {
            fingerprint.add(FIELDS[position].as_bytes());
            fingerprint.add(field.as_bytes());
        }
    }
    if uses & FURTHER != 0 {
        fingerprint.add(format!("{:?}", values.extra).as_bytes());
    }
}
