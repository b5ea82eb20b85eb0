//! The chart's README: its values with their comments, and where defaults differ from the Go chart's.

use std::fmt::Write as _;
use std::fs;

use anyhow::{Context as _, bail, ensure};

use crate::step;

const TEMPLATE: &str = include_str!("chart/readme.md");

/// Defaults of the Go operator's chart that are different here, and why.
const GO_DEFAULTS: [(&str, &str, &str); 6] = [
    ("replicaCount", "1", "the webhook answers while one replica is replaced"),
    ("image.repository", "ghcr.io/ia-eknorr/stoker-operator", "another program"),
    ("agentImage.repository", "ghcr.io/ia-eknorr/stoker-agent", "another program"),
    ("certManager.enabled", "true", "the operator makes its certificate itself"),
    ("webhookReceiver.enabled", "false", "without a secret it answers 403"),
    (
        "webhook.namespaceSelector.requireLabel",
        "false",
        "an upgrade keeps what is installed; a new installation requires the label",
    ),
];

/// One value of the chart.
#[derive(Debug, PartialEq, Eq)]
struct Value {
    path: String,
    default: String,
    comment: String,
}

/// Returns the text of the README.
pub(crate) fn readme() -> anyhow::Result<String> {
    let path = step::root().join("charts/stoker-operator/values.yaml");
    let text =
        fs::read_to_string(&path).with_context(|| format!("failed to read {}", path.display()))?;
    let values = parse(&text)?;
    Ok(TEMPLATE
        .replace("DIFFERENCES\n", &differences(&values)?)
        .replace("VALUES\n", &table(&values)))
}

/// Reads keys, defaults and the comments above them. Lists and leaves are in flow style.
fn parse(text: &str) -> anyhow::Result<Vec<Value>> {
    let (mut values, mut parents, mut comment) = (Vec::new(), Vec::<&str>::new(), Vec::new());
    for line in text.lines() {
        let content = line.trim_start();
        if let Some(words) = content.strip_prefix("# ") {
            comment.push(words);
            continue;
        }
        if content.is_empty() {
            comment.clear();
            continue;
        }
        let (key, default) = content.split_once(':').with_context(|| format!("{line:?}"))?;
        parents.truncate((line.len() - content.len()) / 2);
        if default.is_empty() {
            ensure!(comment.is_empty(), "the comment of {key:?} belongs to one of its values");
            parents.push(key);
            continue;
        }
        let path = parents.iter().chain([&key]).copied().collect::<Vec<_>>().join(".");
        let comment = std::mem::take(&mut comment).join(" ");
        values.push(Value { path, default: default.trim().to_owned(), comment });
    }
    Ok(values)
}

fn table(values: &[Value]) -> String {
    let mut text = String::from("| value | default | |\n|---|---|---|\n");
    for Value { path, default, comment } in values {
        let comment = comment.replace('|', "\\|");
        writeln!(text, "| `{path}` | `{default}` | {comment} |").expect("a string takes any text");
    }
    text
}

fn differences(values: &[Value]) -> anyhow::Result<String> {
    let mut text = String::from("| value | Go chart | here | why |\n|---|---|---|---|\n");
    for (path, go, why) in GO_DEFAULTS {
        let found = values.iter().find(|value| value.path == path);
        let default = &found.with_context(|| format!("{path:?} is not a value"))?.default;
        if default == go {
            bail!("{path:?} has the same default as in the Go chart");
        }
        writeln!(text, "| `{path}` | `{go}` | `{default}` | {why} |")?;
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_has_the_comment_above_it() {
        let text =
            "# About the file\n\n# One\n# more\na: 1\nb:\n  c:\n    # Three\n    d: []\n  e: x:y\n";
        let value = |path: &str, default: &str, comment: &str| Value {
            path: path.to_owned(),
            default: default.to_owned(),
            comment: comment.to_owned(),
        };
        let expected =
            [value("a", "1", "One more"), value("b.c.d", "[]", "Three"), value("b.e", "x:y", "")];
        assert_eq!(parse(text).expect("values"), expected);
    }

    #[test]
    fn a_comment_that_would_get_lost_is_refused() {
        parse("# Lost\na:\n  b: 1\n").expect_err("a comment above a map");
    }
}
