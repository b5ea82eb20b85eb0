//! `resource.json` of an Ignition resource: equal but for what the gateway itself rewrites.

use std::collections::BTreeMap;

use super::{scan, text};

/// What the gateway writes on its own when it takes a resource in.
const OWN_ATTRIBUTES: [&str; 2] = ["lastModification", "lastModificationSignature"];

/// A value without its blanks and the order of its members.
#[derive(Debug, PartialEq)]
enum Meaning {
    /// A number, `true`, `false` or `null`, as written.
    Literal(Vec<u8>),
    Text(String),
    List(Vec<Meaning>),
    Object(BTreeMap<String, Meaning>),
}

/// Returns whether two `resource.json` mean the same resource.
///
/// Key order, blanks, escapes, `attributes.lastModification` and
/// `attributes.lastModificationSignature` don't count. What is not JSON is compared by its bytes.
pub fn resource_equivalent(left: &[u8], right: &[u8]) -> bool {
    if left == right {
        return true;
    }
    match (resource(left), resource(right)) {
        (Some(left), Some(right)) => left == right,
        _ => false,
    }
}

fn resource(document: &[u8]) -> Option<Meaning> {
    let root = scan::validate(document).ok()?;
    let mut meaning = meaning(document, root)?;
    if let Meaning::Object(members) = &mut meaning
        && let Some(Meaning::Object(attributes)) = members.get_mut("attributes")
    {
        attributes.retain(|name, _| !OWN_ATTRIBUTES.contains(&name.as_str()));
        // The gateway adds the object for its own entries where git has none.
        if attributes.is_empty() {
            members.remove("attributes");
        }
    }
    Some(meaning)
}

/// Reads the value at `start`; the depth is bounded because the document was found valid.
fn meaning(document: &[u8], start: usize) -> Option<Meaning> {
    match document.get(start)? {
        b'"' => {
            let end = scan::value_end(document, start).ok()?;
            Some(Meaning::Text(text::unquoted(document.get(start..end)?)))
        }
        b'{' => {
            let mut members = Vec::new();
            scan::walk(document, start, |_, item| {
                members.push(item.clone());
                false
            })
            .ok()?;
            let named = members.into_iter().map(|item| {
                let name = text::unquoted(document.get(item.name?)?);
                Some((name, meaning(document, item.value.start)?))
            });
            named.collect::<Option<_>>().map(Meaning::Object)
        }
        b'[' => {
            let mut starts = Vec::new();
            scan::walk(document, start, |_, item| {
                starts.push(item.value.start);
                false
            })
            .ok()?;
            let elements = starts.into_iter().map(|start| meaning(document, start));
            elements.collect::<Option<_>>().map(Meaning::List)
        }
        _ => {
            let end = scan::value_end(document, start).ok()?;
            Some(Meaning::Literal(document.get(start..end)?.to_vec()))
        }
    }
}
