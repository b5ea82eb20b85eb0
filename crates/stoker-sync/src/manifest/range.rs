//! Directories below another one: in a segment they lie side by side.

use std::ops::Range;

use super::segment::{Damaged, Segment};
use crate::path;

/// Returns the positions of the directories strictly below this one.
pub(super) fn below_range(segment: &Segment, directory: &[u8]) -> Result<Range<usize>, Damaged> {
    if directory.is_empty() {
        let count = segment.len()?;
        let has_root = count > 0 && segment.entry(0)?.0.is_empty();
        return Ok(usize::from(has_root)..count);
    }
    let bound = |after: u8| segment.lower_bound(&[directory, &[after]].concat());
    // '0' is the byte after '/': the paths between the two are exactly those below.
    Ok(bound(b'/')?..bound(b'0')?)
}

pub(super) fn for_each_child(
    segment: &Segment,
    directory: &[u8],
    mut visit: impl FnMut(&[u8]),
) -> Result<(), Damaged> {
    let mut range = below_range(segment, directory)?;
    while !range.is_empty() {
        let (found, _) = segment.entry(range.start)?;
        let below = path::below(found, directory).unwrap_or_default();
        let name = below.split(|byte| *byte == b'/').next().unwrap_or_default();
        visit(name);
        // A sibling such as "a-b" sorts between "a" and "a/x", so only what is below is jumped
        // over.
        range.start = if name.len() == below.len() {
            range.start + 1
        } else {
            let end = found.len() - below.len() + name.len();
            segment.lower_bound(&[&found[..end], b"0"].concat())?
        };
    }
    Ok(())
}
