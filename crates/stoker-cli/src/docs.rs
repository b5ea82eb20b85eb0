//! The guides are true: their commands parse, their manifests are valid, and their names exist.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use stoker_api::names::{Annotation, FINALIZER, Label};
use stoker_api::validation;
use stoker_testkit::program::{self, Program};

/// The pages of the guides, with their texts.
fn pages() -> Vec<(PathBuf, String)> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guides");
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let pages = entries.map(|path| (path.clone(), fs::read_to_string(path).unwrap()));
    pages.collect()
}

/// All pages that people follow: the guides, and those beside them.
fn all_pages() -> Vec<(PathBuf, String)> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let files = entries.filter(|path| path.extension().is_some_and(|it| it == "md"));
    let beside = files.map(|path| (path.clone(), fs::read_to_string(path).unwrap()));
    pages().into_iter().chain(beside).collect()
}

/// The code blocks of a page that are written in a language.
fn blocks<'a>(page: &'a str, language: &str) -> Vec<&'a str> {
    let mut parts = page.split("```");
    parts.next();
    let all = parts.step_by(2);
    all.filter_map(|block| block.strip_prefix(language)?.strip_prefix('\n')).collect()
}

#[test]
fn every_command_of_the_guides_can_be_parsed() {
    let mut count = 0;
    for (path, page) in pages() {
        let page = page.replace("\\\n", " ");
        let lines = blocks(&page, "console").into_iter().chain(blocks(&page, "sh"));
        for line in lines.flat_map(str::lines).filter(|line| line.starts_with("stoker ")) {
            let words = shell_words(line);
            let parsed = crate::cli::parses(&words);
            assert!(parsed.is_ok(), "{}: {line}: {}", path.display(), parsed.unwrap_err());
            count += 1;
        }
    }
    assert!(count > 10, "only {count} commands were found");
}

// With --help, kubectl and Helm check the words and flags before it, and ask no cluster.
#[test]
fn kubectl_and_helm_know_every_command_of_the_docs() {
    let tools = [Program::Kubectl, Program::Helm].map(|it| program::locate(it).unwrap());
    let path = std::env::join_paths(tools.iter().map(|it| it.parent().unwrap())).unwrap();
    let mut count = 0;
    for (page, text) in all_pages() {
        let text = text.replace("\\\n", " ");
        let blocks = blocks(&text, "console").into_iter().chain(blocks(&text, "sh"));
        for line in blocks.flat_map(str::lines).filter_map(of_a_tool) {
            let mut shell = Command::new("/bin/sh");
            shell.args(["-c", &line]).env("PATH", &path).env("HOME", "/nonexistent");
            let output = shell.output().unwrap();
            let error = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{}: {line}: {error}", page.display());
            count += 1;
        }
    }
    assert!(count > 30, "only {count} commands were found");
}

/// The command of a line with `--help` behind its flags, if it is kubectl's or Helm's own.
fn of_a_tool(line: &str) -> Option<String> {
    let line = line.trim_start_matches("$ ");
    let is_plugin = ["kubectl stoker", "kubectl krew"].iter().any(|it| line.starts_with(it));
    if !(line.starts_with("kubectl ") || line.starts_with("helm ")) || is_plugin {
        return None;
    }
    let ends = [" | ", " > ", " <<", " && ", " # ", " -- ", "; "];
    let end = ends.iter().filter_map(|end| line.find(end)).min().unwrap_or(line.len());
    // What another command prints is any word here.
    let mut words = line[..end].to_owned();
    while let Some(start) = words.find("$(") {
        let length = words[start..].find(')')?;
        words.replace_range(start..=start + length, "x");
    }
    Some(format!("{words} --help"))
}

/// Splits at blanks outside of double quotes.
fn shell_words(line: &str) -> Vec<String> {
    let quoted = line.split('"').enumerate();
    let words = quoted.flat_map(|(place, part)| match place % 2 {
        0 => part.split_whitespace().map(str::to_owned).collect::<Vec<_>>(),
        _ => vec![part.to_owned()],
    });
    words.collect()
}

#[test]
fn every_gatewaysync_of_the_guides_is_valid() {
    let mut count = 0;
    for (path, page) in pages() {
        for block in blocks(&page, "yaml") {
            let documents: Vec<Value> = serde_saphyr::from_multiple(block)
                .unwrap_or_else(|error| panic!("{}: {error}: {block}", path.display()));
            for document in documents.iter().filter(|it| it["kind"] == "GatewaySync") {
                let violations = validation::validate(document).unwrap();
                assert!(violations.is_empty(), "{}: {violations:?}", path.display());
                count += 1;
            }
        }
    }
    assert!(count > 5, "only {count} manifests were found");
}

#[test]
fn every_annotation_and_label_of_the_guides_exists() {
    for (path, page) in pages() {
        let rest = &*page;
        for (place, _) in rest.match_indices("stoker.io/") {
            // Not the end of another name, such as `sync.stoker.io/…`.
            if rest[..place].ends_with(['.', '-', '/']) {
                continue;
            }
            let name: String = rest[place..]
                .chars()
                .take_while(|it| it.is_ascii_alphanumeric() || "./-".contains(*it))
                .collect();
            let name = name.trim_end_matches(['-', '.']);
            let is_known = Annotation::find(name).is_some()
                || Label::find(name).is_some()
                || [FINALIZER, "stoker.io/v1alpha1", "stoker.io/"].contains(&name);
            assert!(is_known, "{}: {name}", path.display());
        }
    }
}
