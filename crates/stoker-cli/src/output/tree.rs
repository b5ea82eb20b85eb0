//! A plan as a tree of directories, with counts and bytes.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::summary::bytes;
use crate::outcome::{Name, Outcome, Planned};

/// As many children of a directory as are listed to those who did not ask for every path.
pub(super) const FEW: usize = 20;

#[derive(Default)]
struct Node<'a> {
    children: BTreeMap<&'a [u8], Node<'a>>,
    change: Option<&'a Planned>,
    count: usize,
    bytes: u64,
}

impl<'a> Node<'a> {
    fn insert(&mut self, change: &'a Planned) {
        let mut node = self;
        for part in change.path.0.split(|byte| *byte == b'/') {
            node.count += 1;
            node.bytes += change.bytes;
            node = node.children.entry(part).or_default();
        }
        node.change = Some(change);
    }

    fn label(&self, name: &Name) -> String {
        let Some(change) = self.change else {
            let noun = if self.count == 1 { "change" } else { "changes" };
            return format!("{name}/  {} {noun}, {}", self.count, bytes(self.bytes));
        };
        let sign = sign(change.action);
        if change.bytes == 0 {
            return format!("{sign} {name}");
        }
        format!("{sign} {name}  {}", bytes(change.bytes))
    }

    fn draw(&self, text: &mut String, indent: &str, most: usize) {
        let shown = self.children.iter().take(most);
        let hidden = self.children.len().saturating_sub(most);
        for (position, (name, child)) in shown.enumerate() {
            let is_last = hidden == 0 && position + 1 == self.children.len();
            let (branch, below) =
                if is_last { ("└── ", "    ") } else { ("├── ", "│   ") };
            writeln!(text, "{indent}{branch}{}", child.label(&Name(name.to_vec()))).ok();
            child.draw(text, &format!("{indent}{below}"), most);
        }
        if hidden > 0 {
            writeln!(text, "{indent}└── … and {hidden} more; -v lists them").ok();
        }
    }
}

/// Draws a plan, with so many children of each directory at most.
pub(super) fn draw(outcome: &Outcome, changes: &[Planned], most: usize) -> String {
    let mut root = Node::default();
    for change in changes {
        root.insert(change);
    }
    let commit: String = outcome.commit.iter().flat_map(|commit| commit.chars().take(7)).collect();
    let git_ref = outcome.git_ref.as_deref().unwrap_or("working directory");
    let mut text = String::new();
    root.draw(&mut text, "", most);
    let Outcome { files_added: add, files_modified: change, files_deleted: delete, .. } = outcome;
    let size = bytes(root.bytes);
    format!(
        "{git_ref} at {commit}\n{text}{add} to add, {change} to change, {delete} to delete, {} unchanged; {size} to write",
        outcome.files_unchanged
    )
}

fn sign(action: &str) -> &'static str {
    match action {
        "add" => "+",
        "delete" => "-",
        "mode" => "x",
        _ => "~",
    }
}
