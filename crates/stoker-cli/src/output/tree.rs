//! A plan as a tree of directories, with counts and bytes.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::summary::bytes;
use crate::run_document::{OutputPath, Planned, RunDocument};

/// As many lines as a screen has, for those who did not ask for every path.
pub(super) const SCREEN: usize = 40;

#[derive(Default)]
struct Node<'a> {
    children: BTreeMap<&'a [u8], Node<'a>>,
    change: Option<&'a Planned>,
    count: usize,
    bytes: u64,
    /// How many of its children are shown.
    shown: usize,
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

    fn label(&self, name: &OutputPath) -> String {
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

    /// Shows the children of one directory after the other, those near the root first, as long as
    /// all children of a directory fit into what is left of the lines. The root shows what fits.
    fn unfold(&mut self, mut lines: usize) {
        self.shown = self.children.len().min(lines);
        lines -= self.shown;
        let mut level: Vec<&mut Node<'a>> = self.children.values_mut().collect();
        while !level.is_empty() {
            let mut next = Vec::new();
            for node in level {
                if node.children.len() <= lines {
                    node.shown = node.children.len();
                    lines -= node.shown;
                    next.extend(node.children.values_mut());
                }
            }
            level = next;
        }
    }

    fn is_folded(&self) -> bool {
        self.shown < self.children.len() || self.children.values().any(Node::is_folded)
    }

    fn draw(&self, text: &mut String, indent: &str) {
        let mut children: Vec<_> = self.children.iter().collect();
        if self.shown < children.len() {
            // Directories say more than a few of many files.
            children.sort_by_key(|(_, child)| child.change.is_some());
        }
        let hidden = children.len() - self.shown;
        for (position, (name, child)) in children.iter().take(self.shown).enumerate() {
            let is_last = hidden == 0 && position + 1 == children.len();
            let (branch, below) =
                if is_last { ("└── ", "    ") } else { ("├── ", "│   ") };
            writeln!(text, "{indent}{branch}{}", child.label(&OutputPath(name.to_vec()))).ok();
            child.draw(text, &format!("{indent}{below}"));
        }
        if hidden > 0 && self.shown > 0 {
            writeln!(text, "{indent}└── … and {hidden} more").ok();
        }
    }
}

/// Draws a plan in about so many lines: as deep as they allow, each directory with its counts.
pub(super) fn draw(document: &RunDocument, changes: &[Planned], lines: usize) -> String {
    let mut root = Node::default();
    for change in changes {
        root.insert(change);
    }
    let commit: String = document.commit.iter().flat_map(|commit| commit.chars().take(7)).collect();
    let git_ref = document.git_ref.as_deref().unwrap_or("working directory");
    let mut text = String::new();
    root.unfold(lines);
    root.draw(&mut text, "");
    if root.is_folded() {
        text.push_str("(-v lists every path)\n");
    }
    let RunDocument { files_added: add, files_modified: change, files_deleted: delete, .. } =
        document;
    let size = bytes(root.bytes);
    format!(
        "{git_ref} at {commit}\n{text}{add} to add, {change} to change, {delete} to delete, {} unchanged; {size} to write",
        document.files_unchanged
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

#[cfg(test)]
mod tests {
    use super::*;

    fn planned(path: String) -> Planned {
        Planned {
            path: OutputPath(path.into_bytes()),
            action: "add",
            bytes: 1,
            mapping: None,
            source: None,
        }
    }

    #[test]
    fn a_plan_goes_as_deep_as_fits_a_screen() {
        let changes: Vec<Planned> = (0..6_000)
            .map(|n| planned(format!("projects/line{}/views/{}/view.json", n / 2_000, n % 2_000)))
            .chain([planned("config/x.json".to_owned())])
            .collect();
        let document = RunDocument::default();
        let text = draw(&document, &changes, SCREEN);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[1..9],
            [
                "├── config/  1 change, 1 B",
                "│   └── + x.json  1 B",
                "└── projects/  6000 changes, 5.8 KiB",
                "    ├── line0/  2000 changes, 1.9 KiB",
                "    │   └── views/  2000 changes, 1.9 KiB",
                "    ├── line1/  2000 changes, 1.9 KiB",
                "    │   └── views/  2000 changes, 1.9 KiB",
                "    └── line2/  2000 changes, 1.9 KiB",
            ]
        );
        assert_eq!(lines[lines.len() - 2], "(-v lists every path)");
        assert!(lines.len() < SCREEN);
        let all = draw(&document, &changes, usize::MAX);
        assert_eq!(all.matches("view.json").count(), 6_000);
        assert!(!all.contains("-v"));
    }

    #[test]
    fn many_files_in_one_place_are_cut_after_the_directories() {
        let files = (0..100).map(|n| planned(format!("f{n:03}")));
        let changes: Vec<Planned> = files.chain([planned("z/deep".to_owned())]).collect();
        let text = draw(&RunDocument::default(), &changes, SCREEN);
        assert!(text.contains("├── z/  1 change, 1 B"), "{text}");
        assert!(text.contains("└── … and 61 more\n"), "{text}");
    }
}
