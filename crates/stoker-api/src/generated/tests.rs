//! Claims about what is generated.

use super::*;
use crate::names::Annotation;

#[test]
fn the_yaml_of_a_definition_is_the_definition() {
    let read: Vec<serde_json::Value> =
        crd_yaml().iter().map(|(_, yaml)| serde_saphyr::from_str(yaml).unwrap()).collect();
    let made: Vec<serde_json::Value> =
        crd::all().iter().map(|crd| serde_json::to_value(crd).unwrap()).collect();
    assert_eq!(read, made);
}

#[test]
fn every_file_says_that_it_is_generated() {
    for (name, text) in crd_yaml().into_iter().chain(reference_pages()).chain([status_policy()]) {
        let first = text.lines().next().unwrap();
        assert!(first.contains("do not edit: cargo xtask generate"), "{name}");
        assert!(text.ends_with('\n') && !text.ends_with("\n\n"), "{name}");
    }
}

#[test]
fn every_row_of_a_table_has_the_cells_of_its_head() {
    for (name, text) in reference_pages() {
        let mut head = None;
        for line in text.lines() {
            if !line.starts_with('|') {
                head = None;
                continue;
            }
            let cells = line.replace("\\|", "").matches('|').count();
            assert_eq!(*head.get_or_insert(cells), cells, "{name}: {line}");
        }
    }
}

#[test]
fn pages_name_fields_annotations_and_refusals() {
    let pages = reference_pages();
    let page = |name: &str| &pages.iter().find(|(found, _)| *found == name).unwrap().1;
    let fields = page("gatewaysync.md");
    for expected in [
        "## `spec.sync.profiles.<name>.mappings[].patches[]`",
        "| `ref` | string, at most 255, required | The ref to sync: a branch",
        "| `syncPeriod` | integer, 5 to 3600 |",
        "- git.repo holds credentials",
    ] {
        assert!(fields.contains(expected), "{expected}\n{fields}");
    }
    for annotation in Annotation::ALL {
        assert!(page("annotations.md").contains(annotation.as_str()), "{annotation}");
    }
}
