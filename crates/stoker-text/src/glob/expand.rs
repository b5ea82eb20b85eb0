//! Braces: `a{b,c}` to `ab` and `ac`, with a bound on what comes out.

use std::collections::BTreeSet;

use super::GlobFault;
use super::parse::{Fault, class_end};

/// The most text that alternatives may multiply to, in bytes; one more is counted per alternative.
const MAX_EXPANDED: usize = 4096;

/// A pair of braces, by offset, and the commas that stand directly inside it.
struct Group {
    open: usize,
    commas: Vec<usize>,
    close: usize,
}

/// Returns every pattern that the braces stand for, each once.
pub(super) fn alternatives(pattern: &str) -> Result<Vec<String>, Fault> {
    let mut finished = BTreeSet::new();
    let mut size = 0;
    // Depth first: a finished pattern appears after at most one step per brace, so the bound on
    // finished text also bounds the work.
    let mut open = vec![pattern.to_owned()];
    let mut steps = 0;
    while let Some(text) = open.pop() {
        steps += 1;
        if steps > 2 * MAX_EXPANDED {
            return Err((0, GlobFault::TooManyAlternatives));
        }
        if let Some(group) = first_group(&text)? {
            open.extend(choices(&text, &group));
            continue;
        }
        let length = text.len() + 1;
        if finished.insert(text) {
            size += length;
        }
        if size > MAX_EXPANDED {
            return Err((0, GlobFault::TooManyAlternatives));
        }
    }
    Ok(finished.into_iter().collect())
}

fn choices<'a>(text: &'a str, group: &'a Group) -> impl Iterator<Item = String> + 'a {
    let starts = std::iter::once(group.open).chain(group.commas.iter().copied());
    let ends = group.commas.iter().copied().chain(std::iter::once(group.close));
    let before = text.get(..group.open).unwrap_or_default();
    let after = text.get(group.close + 1..).unwrap_or_default();
    starts.zip(ends).map(move |(start, end)| {
        let choice = text.get(start + 1..end).unwrap_or_default();
        [before, choice, after].concat()
    })
}

/// Finds the first brace that is neither escaped nor inside a class, and its partner.
fn first_group(text: &str) -> Result<Option<Group>, Fault> {
    let bytes = text.as_bytes();
    let mut group: Option<Group> = None;
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match (byte, group.as_mut()) {
            (b'\\', _) => at += 1,
            (b'[', _) => at = class_end(bytes, at)?,
            (b'{', None) => group = Some(Group { open: at, commas: Vec::new(), close: at }),
            (b'{', Some(_)) => depth += 1,
            (b',', Some(group)) if depth == 0 => group.commas.push(at),
            (b'}', Some(group)) if depth == 0 => {
                let commas = std::mem::take(&mut group.commas);
                return Ok(Some(Group { open: group.open, commas, close: at }));
            }
            (b'}', Some(_)) => depth -= 1,
            _ => {}
        }
        at += 1;
    }
    group.map_or(Ok(None), |group| Err((group.open, GlobFault::UnclosedAlternatives)))
}
