//! The hash of what was injected: image, Secrets, and where the data is.

use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

use super::data::Data;
use super::image::Image;
use super::volume::SecretMount;

/// Returns the hash: 16 hexadecimal digits.
pub(super) fn of(image: &Image, secrets: &[SecretMount], data: &Data<'_>) -> String {
    let mut hash = Sha256::new();
    let mut add = |part: &str| {
        hash.update(part.as_bytes());
        hash.update([0]);
    };
    add(&image.to_string());
    for secret in secrets {
        add(secret.volume.as_str());
        add(&secret.name);
        add(secret.key.as_deref().unwrap_or_default());
    }
    for part in [data.volume, data.path] {
        add(part);
    }
    for part in [data.sub_path, data.sub_path_expr] {
        add(part.unwrap_or_default());
    }
    hash.finalize().iter().take(8).fold(String::new(), |mut text, byte| {
        // Writing to a String can't fail.
        write!(text, "{byte:02x}").ok();
        text
    })
}
