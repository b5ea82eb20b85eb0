//! Rules about the agent's image. An empty text counts as one that is not set.

use serde_json::Value;

use super::{rule, rules};

pub(crate) fn image_repository() -> Value {
    rules([rule(
        r"self.matches(r'^([a-z0-9]([a-z0-9._-]*[a-z0-9])?(:[0-9]{1,5})?(/[a-z0-9]+([._-]+[a-z0-9]+)*)*)?$')",
        "agent.image.repository must be the name of an image without tag and digest, such as registry.example.com/stoker-agent",
    )])
}

pub(crate) fn image_tag() -> Value {
    rules([rule(
        r"self.matches(r'^([A-Za-z0-9_][A-Za-z0-9._-]*)?$')",
        "agent.image.tag must be a tag, such as 1.4.0",
    )])
}

pub(crate) fn image_digest() -> Value {
    rules([rule(
        r"self.matches(r'^(sha256:[a-f0-9]{64})?$')",
        "agent.image.digest must be \"sha256:\" and 64 hexadecimal digits",
    )])
}
