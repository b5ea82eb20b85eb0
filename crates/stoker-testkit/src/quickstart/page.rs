//! The commands of `docs/quickstart.md`, read from the page itself.
//!
//! A section is a heading with a number, `## 3. Say what goes where`. Its commands are the fenced
//! blocks marked `sh`, as they are; blocks marked otherwise show output.

use std::ops::RangeInclusive;

/// The page, as it is in the repository.
const PAGE: &str = include_str!("../../../../docs/quickstart.md");

/// A numbered section of the page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// Its number.
    pub number: u32,
    /// Its heading, without the number.
    pub title: String,
    /// The text of its `sh` blocks, in their order.
    pub script: String,
}

/// Returns the sections of the page with these numbers.
pub fn sections(numbers: RangeInclusive<u32>) -> Vec<Section> {
    parse(PAGE).into_iter().filter(|section| numbers.contains(&section.number)).collect()
}

fn parse(page: &str) -> Vec<Section> {
    let mut sections: Vec<Section> = Vec::new();
    let mut fence = None;
    for line in page.lines() {
        match (fence, line.strip_prefix("```")) {
            (None, Some(info)) => fence = Some(info),
            (Some(_), Some(_)) => fence = None,
            (None, None) => sections.extend(heading(line)),
            (Some("sh"), None) => {
                let section = sections.last_mut().expect("commands are in a numbered section");
                section.script.push_str(line);
                section.script.push('\n');
            }
            (Some(_), None) => (),
        }
    }
    sections
}

fn heading(line: &str) -> Option<Section> {
    let (number, title) = line.strip_prefix("## ")?.split_once(". ")?;
    let number = number.parse().ok()?;
    Some(Section { number, title: title.to_owned(), script: String::new() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_belong_to_the_numbered_section_above_them() {
        let page = "# Title\n\n## Before\n```text\n$ no command\n```\n\n## 1. First\n```sh\na\n  b\n```\n\
                    words\n```sh\nc\n```\n```text\nout\n```\n## 2. Second\n```sh\n## 3. d\n```\n";
        let section = |number, title: &str, script: &str| Section {
            number,
            title: title.to_owned(),
            script: script.to_owned(),
        };
        let expected = [section(1, "First", "a\n  b\nc\n"), section(2, "Second", "## 3. d\n")];
        assert_eq!(parse(page), expected);
    }

    #[test]
    fn the_page_goes_from_installation_to_removal() {
        let sections = sections(1..=6);
        assert_eq!(
            sections.iter().map(|section| section.number).collect::<Vec<_>>(),
            [1, 2, 3, 4, 5, 6]
        );
        assert!(sections[0].script.starts_with("helm install "), "{}", sections[0].script);
        assert!(sections[4].script.contains("push"), "{}", sections[4].script);
        assert!(sections[5].script.starts_with("helm uninstall "), "{}", sections[5].script);
    }
}
