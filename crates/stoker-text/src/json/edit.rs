//! Edits: finds the position of a value, and replaces it with one splice.

use std::ops::Range;

use super::path::{Index, Part, Path};
use super::scan::{self, Item, Walk};
use super::{JsonError, MAX_DEPTH, MAX_PADDING, MAX_VALUE, PatchValue, PathFault, text};

/// The end of the way through a document.
struct Found<'p> {
    place: Place<'p>,
    /// How the last member on the way writes its colon, blanks included.
    colon: String,
}

/// Where the way through a document ends.
enum Place<'p> {
    Value(Range<usize>),
    /// An object or a list has no such item; the rest of the path is to be made.
    Missing {
        open: usize,
        walk: Walk,
        rest: &'p [Part],
    },
    /// A scalar is in the way of the rest of the path.
    Scalar {
        span: Range<usize>,
        rest: &'p [Part],
    },
}

/// Returns where the value at a path stands.
pub(super) fn find(
    document: &[u8],
    root: usize,
    path: &Path,
) -> Result<Option<Range<usize>>, JsonError> {
    Ok(match follow(document, root, path)?.place {
        Place::Value(span) => Some(span),
        Place::Missing { .. } | Place::Scalar { .. } => None,
    })
}

pub(super) fn set(
    document: &[u8],
    root: usize,
    path: &Path,
    value: &PatchValue,
) -> Result<Vec<u8>, JsonError> {
    if value.as_json().len() > MAX_VALUE {
        return Err(JsonError::ValueTooLarge { path: path.text.clone() });
    }
    if path.parts.len() + value.depth() > MAX_DEPTH {
        return Err(path.error(PathFault::TooDeep));
    }
    let Found { place, colon } = follow(document, root, path)?;
    let (span, text) = match place {
        Place::Value(span) => (span, value.as_json().to_owned()),
        Place::Scalar { span, rest } => (span, built(path, rest, &colon, value)?),
        Place::Missing { open, walk, rest } => {
            let sibling = walk.last.as_ref().and_then(|last| written_colon(document, last));
            let colon = sibling.unwrap_or(colon);
            let is_list = document.get(open) == Some(&b'[');
            let already = is_list.then_some(walk.count);
            let items =
                missing_items(path, rest, already, &|deeper| built(path, deeper, &colon, value))?;
            let items = if is_list { items } else { named(rest, &colon, items) };
            placed(document, open, &walk, &items)
        }
    };
    Ok(spliced(document, span, &text))
}

/// Returns the bytes that go when a member goes: its comma and its line with it.
pub(super) fn member_span(
    document: &[u8],
    open: usize,
    names: &[&str],
) -> Result<Option<Range<usize>>, JsonError> {
    let [name, deeper @ ..] = names else { return Ok(None) };
    if document.get(open) != Some(&b'{') {
        return Ok(None);
    }
    if deeper.is_empty() {
        let walk = scan::walk(document, open, |_, item| is_named(document, item, name))?;
        return Ok(walk.hit.as_ref().map(|hit| removal(document, open, hit, walk.last.is_some())));
    }
    // Of duplicate names any may hold the member.
    let mut inner = Vec::new();
    scan::walk(document, open, |_, item| {
        if is_named(document, item, name) {
            inner.push(item.value.start);
        }
        false
    })?;
    for open in inner {
        if let Some(span) = member_span(document, open, deeper)? {
            return Ok(Some(span));
        }
    }
    Ok(None)
}

/// Follows a path as far as the document goes.
fn follow<'p>(document: &[u8], root: usize, path: &'p Path) -> Result<Found<'p>, JsonError> {
    let mut at = root;
    let mut colon = ":".to_owned();
    let mut rest = path.parts.as_slice();
    loop {
        let [part, after @ ..] = rest else {
            let span = at..scan::value_end(document, at)?;
            return Ok(Found { place: Place::Value(span), colon });
        };
        let walk = match (document.get(at), part.index()) {
            (Some(b'{'), _) => {
                scan::walk(document, at, |_, item| is_named(document, item, &part.name))?
            }
            (Some(b'['), Some(index)) => {
                scan::walk(document, at, |count, _| index == Index::At(count))?
            }
            (Some(b'['), None) => {
                return Err(path.error(PathFault::NotAnIndex(part.name.clone())));
            }
            _ => {
                let span = at..scan::value_end(document, at)?;
                return Ok(Found { place: Place::Scalar { span, rest }, colon });
            }
        };
        let Some(hit) = &walk.hit else {
            return Ok(Found { place: Place::Missing { open: at, walk, rest }, colon });
        };
        colon = written_colon(document, hit).unwrap_or(colon);
        at = hit.value.start;
        rest = after;
    }
}

fn is_named(document: &[u8], item: &Item, name: &str) -> bool {
    item.name.clone().and_then(|span| document.get(span)).is_some_and(|raw| text::means(raw, name))
}

/// Returns what stands between the name and the value of a member.
fn written_colon(document: &[u8], item: &Item) -> Option<String> {
    let name = item.name.as_ref()?;
    let between = document.get(name.end..item.value.start)?;
    String::from_utf8(between.to_vec()).ok()
}

/// Makes the value for the rest of a path: objects and lists around the value itself.
fn built(path: &Path, rest: &[Part], colon: &str, value: &PatchValue) -> Result<String, JsonError> {
    let mut json = value.as_json().to_owned();
    for at in (0..rest.len()).rev() {
        let part = rest.get(at..).unwrap_or_default();
        let is_list = part.first().is_some_and(|part| part.index().is_some());
        let items = missing_items(path, part, is_list.then_some(0), &|_| Ok(json.clone()))?;
        json = if is_list {
            format!("[{}]", items.join(","))
        } else {
            format!("{{{}}}", named(part, colon, items).join(","))
        };
    }
    Ok(json)
}

/// Returns the values to add for the first part: in a list that has `already` elements, with the
/// nulls before it.
fn missing_items(
    path: &Path,
    rest: &[Part],
    already: Option<usize>,
    make: &dyn Fn(&[Part]) -> Result<String, JsonError>,
) -> Result<Vec<String>, JsonError> {
    let [part, deeper @ ..] = rest else { return Ok(Vec::new()) };
    let nulls = match (already, part.index()) {
        (Some(already), Some(Index::At(at))) => at.saturating_sub(already),
        _ => 0,
    };
    if nulls > MAX_PADDING {
        return Err(path.error(PathFault::TooFar(part.name.clone())));
    }
    let mut items = vec!["null".to_owned(); nulls];
    items.push(make(deeper)?);
    Ok(items)
}

fn named(rest: &[Part], colon: &str, items: Vec<String>) -> Vec<String> {
    let name = rest.first().map(|part| text::quoted(&part.name)).unwrap_or_default();
    items.into_iter().map(|item| format!("{name}{colon}{item}")).collect()
}

/// Returns where new items go and what is written there, in the manner of their siblings.
fn placed(document: &[u8], open: usize, walk: &Walk, items: &[String]) -> (Range<usize>, String) {
    if let Some(last) = &walk.last {
        let start = last.name.as_ref().unwrap_or(&last.value).start;
        let gap = utf8(document, before_blanks(document, start)..start);
        let text = items.iter().flat_map(|item| [",", gap, item]).collect();
        return (last.value.end..last.value.end, text);
    }
    let inside = open + 1..walk.close;
    let blanks = utf8(document, inside.clone());
    if !blanks.contains('\n') {
        return (walk.close..walk.close, items.join(","));
    }
    // An empty object over several lines has no sibling to learn from but its own bracket.
    let unit = if blanks.contains('\t') { "\t" } else { "  " };
    let items: Vec<_> = items.iter().map(|item| format!("{blanks}{unit}{item}")).collect();
    (inside, items.join(",") + blanks)
}

fn removal(document: &[u8], open: usize, hit: &Item, has_previous: bool) -> Range<usize> {
    let start = hit.name.as_ref().unwrap_or(&hit.value).start;
    let end = hit.value.end;
    let comma = after_blanks(document, end);
    if document.get(comma) == Some(&b',') {
        return start..after_blanks(document, comma + 1);
    }
    if has_previous {
        // The comma before it, which now separates nothing.
        return before_blanks(document, start) - 1..end;
    }
    open + 1..end
}

fn after_blanks(document: &[u8], at: usize) -> usize {
    let rest = document.get(at..).unwrap_or_default();
    at + rest.iter().take_while(|byte| is_blank(**byte)).count()
}

fn before_blanks(document: &[u8], at: usize) -> usize {
    let before = document.get(..at).unwrap_or_default();
    at - before.iter().rev().take_while(|byte| is_blank(**byte)).count()
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

fn utf8(document: &[u8], span: Range<usize>) -> &str {
    document.get(span).and_then(|bytes| std::str::from_utf8(bytes).ok()).unwrap_or_default()
}

fn spliced(document: &[u8], span: Range<usize>, text: &str) -> Vec<u8> {
    let before = document.get(..span.start).unwrap_or_default();
    let after = document.get(span.end..).unwrap_or_default();
    [before, text.as_bytes(), after].concat()
}
