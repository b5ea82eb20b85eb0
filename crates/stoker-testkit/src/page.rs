//! The commands of a page of the documentation, read from the page itself.
//!
//! Fenced blocks marked `sh` are commands, as they are. In a block marked `console` the lines
//! behind `$ ` are commands and the others are their output. A block marked `text` or `json` that
//! directly follows commands shows their output. Blocks marked `yaml` are manifests. Other blocks
//! are neither.

mod gist;
mod shell;

use std::fs;
use std::path::Path;

pub use shell::{Ran, Shell};

/// A page, as it is in the repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// Its path from the root of the repository.
    pub path: String,
    /// Its sections, in their order; the first is what is above all headings.
    pub sections: Vec<Section>,
}

/// What is below one heading, whatever its level, and above the next one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Section {
    /// The heading.
    pub title: String,
    /// The commands, in their order.
    pub script: String,
    /// The lines that the page shows as their output.
    pub shown: Vec<String>,
    /// The text of each `yaml` block.
    pub manifests: Vec<String>,
}

/// The root of the checkout.
pub fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// Returns every page that users read: the book, and the chart's README.
///
/// # Panics
/// When the documentation can't be read.
pub fn pages() -> Vec<Page> {
    let mut paths = vec!["charts/stoker-operator/README.md".to_owned()];
    let mut directories = vec!["docs".to_owned()];
    while let Some(directory) = directories.pop() {
        let entries = fs::read_dir(root().join(&directory)).expect("the checkout has the book");
        for entry in entries.map(|entry| entry.expect("it can be listed")) {
            let name = entry.file_name().into_string().expect("names of pages are plain");
            let path = format!("{directory}/{name}");
            match entry.path().is_dir() {
                // What mdBook made of the pages.
                true if path == "docs/book" => (),
                true => directories.push(path),
                false if entry.path().extension().is_some_and(|it| it == "md") => paths.push(path),
                false => (),
            }
        }
    }
    paths.sort();
    paths.iter().map(|path| Page::read(path)).collect()
}

impl Page {
    /// Reads a page, by its path from the root of the repository.
    ///
    /// # Panics
    /// When there is no such page.
    pub fn read(path: &str) -> Self {
        let text = fs::read_to_string(root().join(path));
        let text = text.unwrap_or_else(|error| panic!("{path}: {error}"));
        Self { path: path.to_owned(), sections: parse(&text) }
    }

    /// Puts something of the test in the place of an example, in all commands and manifests.
    ///
    /// # Panics
    /// When the page does not have the example.
    #[must_use]
    pub fn with(mut self, example: &str, replacement: &str) -> Self {
        let mut count = 0;
        for section in &mut self.sections {
            for text in section.manifests.iter_mut().chain([&mut section.script]) {
                count += text.matches(example).count();
                *text = text.replace(example, replacement);
            }
        }
        assert!(count > 0, "{} does not have {example:?}", self.path);
        self
    }

    /// Returns the section with this heading.
    ///
    /// # Panics
    /// When the page does not have it exactly once.
    pub fn section(&self, title: &str) -> &Section {
        let mut found = self.sections.iter().filter(|section| section.title == title);
        let section = found.next();
        let section = section.unwrap_or_else(|| panic!("{} has no section {title:?}", self.path));
        assert!(found.next().is_none(), "{} has two sections {title:?}", self.path);
        section
    }
}

impl Section {
    /// Returns the first line of the shown output that this output lacks. The lines must come in
    /// their order; commits, ages, times and blanks may differ, and `…` is any text.
    pub fn missing(&self, output: &str) -> Option<&str> {
        gist::missing(&self.shown, output)
    }

    fn take(&mut self, language: &str, line: &str, is_output: bool) {
        match language {
            "sh" => self.command(line),
            "console" => {
                let is_continued = self.script.ends_with("\\\n") && !is_output;
                match line.strip_prefix("$ ") {
                    Some(command) => self.command(command),
                    None if is_continued => self.command(line),
                    None => self.shown.push(line.to_owned()),
                }
            }
            "text" | "json" if is_output => self.shown.push(line.to_owned()),
            "yaml" => {
                let manifest = self.manifests.last_mut().expect("its fence began one");
                manifest.push_str(line);
                manifest.push('\n');
            }
            _ => (),
        }
    }

    fn command(&mut self, line: &str) {
        self.script.push_str(line);
        self.script.push('\n');
    }
}

fn parse(text: &str) -> Vec<Section> {
    let mut sections = vec![Section::default()];
    let mut fence: Option<(&str, usize)> = None;
    let mut follows_commands = false;
    for line in text.lines() {
        let section = sections.last_mut().expect("there is one from the start");
        let content = line.trim_start();
        match (fence, content.strip_prefix("```")) {
            (None, Some(language)) => {
                fence = Some((language, line.len() - content.len()));
                if language == "yaml" {
                    section.manifests.push(String::new());
                }
            }
            (Some((language, _)), Some(_)) => {
                follows_commands = ["sh", "console"].contains(&language);
                fence = None;
            }
            // A block in a list is indented as a whole.
            (Some((language, indent)), None) => {
                section.take(language, line.get(indent..).unwrap_or(content), follows_commands);
            }
            (None, None) if content.is_empty() => (),
            (None, None) => {
                follows_commands = false;
                if let Some(title) = heading(line) {
                    sections.push(Section { title: title.to_owned(), ..Section::default() });
                }
            }
        }
    }
    sections
}

fn heading(line: &str) -> Option<&str> {
    let (level, title) = line.split_once(' ')?;
    (!level.is_empty() && level.chars().all(|it| it == '#')).then_some(title)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_output_and_manifests_belong_to_the_heading_above_them() {
        let page = "# Title\n```text\nno output\n```\n## First\n```sh\na \\\n  b\n```\n\nwords\n\
                    ```text\nnone either\n```\n```sh\n## c\n```\n\n```text\nout\n```\n\
                    ### Second\n- item\n\n  ```console\n  $ d \\\n      e\n  out\n  ```\n\
                    ```yaml\nkind: A\n```\n```yaml\nkind: B\n  c: d\n```\n";
        let section = |title: &str, script: &str, shown: &[&str], manifests: &[&str]| Section {
            title: title.to_owned(),
            script: script.to_owned(),
            shown: shown.iter().map(|&line| line.to_owned()).collect(),
            manifests: manifests.iter().map(|&text| text.to_owned()).collect(),
        };
        let expected = [
            section("", "", &[], &[]),
            section("Title", "", &[], &[]),
            section("First", "a \\\n  b\n## c\n", &["out"], &[]),
            section("Second", "d \\\n    e\n", &["out"], &["kind: A\n", "kind: B\n  c: d\n"]),
        ];
        assert_eq!(parse(page), expected);
    }

    #[test]
    fn an_example_that_the_page_does_not_have_can_not_be_replaced() {
        let page = Page { path: "a.md".to_owned(), sections: parse("```sh\nping host\n```\n") };
        let replaced = page.clone().with("host", "127.0.0.1");
        assert_eq!(replaced.sections[0].script, "ping 127.0.0.1\n");
        std::panic::catch_unwind(|| page.with("server", "127.0.0.1")).expect_err("no such word");
    }

    #[test]
    fn all_pages_are_found() {
        let paths: Vec<String> = pages().into_iter().map(|page| page.path).collect();
        for path in ["docs/quickstart.md", "docs/guides/runbook.md", "docs/reference/cli.md"] {
            assert!(paths.contains(&path.to_owned()), "{path} is not among {paths:?}");
        }
    }
}
