//! The guides are true: their manifests are valid, and their names exist.
//!
//! `e2e/guides` and `tests/cli/commands/page.rs` run their commands.

use std::fs;

use serde_json::Value;
use stoker_api::names::{Annotation, FINALIZER, Label};
use stoker_api::validation;
use stoker_testkit::page::{Page, pages, root};

fn guides() -> impl Iterator<Item = Page> {
    pages().into_iter().filter(|page| page.path.starts_with("docs/guides/"))
}

#[test]
fn every_gatewaysync_of_the_guides_is_valid() {
    let mut count = 0;
    for page in guides() {
        for block in page.sections.iter().flat_map(|section| &section.manifests) {
            let documents: Vec<Value> = serde_saphyr::from_multiple(block)
                .unwrap_or_else(|error| panic!("{}: {error}: {block}", page.path));
            for document in documents.iter().filter(|it| it["kind"] == "GatewaySync") {
                let violations = validation::validate(document).unwrap();
                assert!(violations.is_empty(), "{}: {violations:?}", page.path);
                count += 1;
            }
        }
    }
    assert!(count > 5, "only {count} manifests were found");
}

#[test]
fn every_annotation_and_label_of_the_guides_exists() {
    for page in guides() {
        let text = fs::read_to_string(root().join(&page.path)).unwrap();
        let rest = &*text;
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
            assert!(is_known, "{}: {name}", page.path);
        }
    }
}
