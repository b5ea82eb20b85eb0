//! The bytes of Ignition resources, as the Designer and the gateway write them.

use std::fmt::Write;

use crate::git::noise::Noise;

const TYPES: &[&str] = &["label", "button", "numeric-entry-field", "led-display", "gauge", "icon"];
const STYLES: &[&str] = &["Headers/H1", "Values/Normal", "Values/Alarm", "Buttons/Primary"];

pub(super) fn project(name: &str) -> Vec<u8> {
    format!(
        "{{\n  \"title\": \"{name}\",\n  \"description\": \"\",\n  \"parent\": \"\",\n  \
         \"enabled\": true,\n  \"inheritable\": false\n}}"
    )
    .into()
}

pub(super) fn versions() -> Vec<u8> {
    b"{\n  \"ignition\": \"8.3.6\",\n  \"schema\": 1\n}\n".to_vec()
}

/// A Perspective view: a flex container with five to fifteen bound components.
pub(super) fn view(noise: &mut Noise) -> Vec<u8> {
    let mut text =
        String::from("{\n  \"custom\": {},\n  \"params\": {\n    \"tagPath\": \"\"\n  },\n");
    text.push_str("  \"propConfig\": {},\n  \"props\": {\n    \"defaultSize\": {\n");
    text.push_str("      \"height\": 768,\n      \"width\": 1024\n    }\n  },\n");
    text.push_str("  \"root\": {\n    \"children\": [\n");
    let count = 5 + noise.below(11);
    for number in 0..count {
        component(&mut text, number, noise);
        text.push_str(if number + 1 < count { ",\n" } else { "\n" });
    }
    text.push_str("    ],\n    \"meta\": {\n      \"name\": \"root\"\n    },\n");
    text.push_str("    \"type\": \"ia.container.flex\"\n  }\n}");
    text.into()
}

fn component(text: &mut String, number: u64, noise: &mut Noise) {
    let (kind, style, tag) = (noise.pick(TYPES), noise.pick(STYLES), noise.below(10_000));
    // Writing to a string can't fail.
    write!(
        text,
        "      {{\n        \"meta\": {{\n          \"name\": \"{kind}_{number}\"\n        }},\n        \
         \"position\": {{\n          \"basis\": \"{}px\"\n        }},\n        \
         \"propConfig\": {{\n          \"props.text\": {{\n            \"binding\": {{\n              \
         \"config\": {{\n                \"path\": \"[default]Line/Tag{tag:04}/Value\"\n              }},\n              \
         \"type\": \"tag\"\n            }}\n          }}\n        }},\n        \
         \"props\": {{\n          \"style\": {{\n            \"classes\": \"{style}\"\n          }}\n        }},\n        \
         \"type\": \"ia.display.{kind}\"\n      }}",
        16 + noise.below(400),
    )
    .ok();
}

pub(super) fn script(noise: &mut Noise) -> Vec<u8> {
    let mut text =
        String::from("\"\"\"Shared calculations of one line.\"\"\"\n\nimport system\n\n");
    for number in 0..3 + noise.below(8) {
        let (tag, factor) = (noise.below(10_000), noise.below(500));
        write!(
            text,
            "def rate_{number}(path):\n\tvalue = system.tag.readBlocking([path + '/Tag{tag:04}'])[0].value\n\t\
             return value * {factor} / 100.0\n\n"
        )
        .ok();
    }
    text.into()
}

/// Java-serialised data: its magic number, then bytes that are nobody's text.
pub(super) fn binary(noise: &mut Noise) -> Vec<u8> {
    let length = 512 + usize::try_from(noise.below(4096)).unwrap_or(0);
    let mut bytes = vec![0xac, 0xed, 0x00, 0x05];
    bytes.extend(noise.bytes(length));
    bytes
}

pub(super) fn configuration(kind: &str, noise: &mut Noise) -> Vec<u8> {
    let (port, timeout) = (1024 + noise.below(60_000), 1000 + noise.below(30_000));
    format!(
        "{{\n  \"profile\": {{\n    \"type\": \"{kind}\"\n  }},\n  \"settings\": {{\n    \
         \"host\": \"10.{}.{}.{}\",\n    \"port\": {port},\n    \"timeoutMs\": {timeout},\n    \
         \"enabled\": true\n  }}\n}}",
        noise.below(256),
        noise.below(256),
        noise.below(256),
    )
    .into()
}

/// The manifest beside every payload.
pub(super) fn resource(file: &str, noise: &mut Noise) -> Vec<u8> {
    let scope = if file == "config.json" || file == "code.py" { "A" } else { "G" };
    let signature = format!("{:032x}{:032x}", wide(noise), wide(noise));
    let seconds = noise.below(86_400);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!(
        "{{\n  \"scope\": \"{scope}\",\n  \"version\": 1,\n  \"restricted\": false,\n  \
         \"overridable\": true,\n  \"files\": [\n    \"{file}\"\n  ],\n  \"attributes\": {{\n    \
         \"lastModification\": {{\n      \"actor\": \"admin\",\n      \
         \"timestamp\": \"2026-01-{:02}T{hour:02}:{minute:02}:{second:02}Z\"\n    }},\n    \
         \"lastModificationSignature\": \"{signature}\"\n  }}\n}}",
        1 + noise.below(28),
    )
    .into()
}

fn wide(noise: &mut Noise) -> u128 {
    u128::from(noise.next()) << 64 | u128::from(noise.next())
}
