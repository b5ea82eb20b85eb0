//! Claims about files whose bytes are made.

use std::collections::BTreeMap;

use stoker_text::glob::Glob;

use crate::request::{DriftCheck, Patch, Templating};
use crate::source::Kind;
use crate::testing::{Commit, Scratch, checking, request, sync};
use crate::{Report, Request};

fn templated(commit: &Commit) -> Request {
    let mut request = request(commit, ["p:projects"]);
    request.mappings[0].template = Templating::On;
    request.values.gateway_name = Some("site-1".into());
    request.values.commit = Some("c1".into());
    request
}

fn patched<const N: usize>(commit: &Commit, glob: &str, set: [(&str, &str); N]) -> Request {
    let mut request = request(commit, ["p:projects"]);
    let set = set.map(|(path, value)| (path.to_owned(), value.to_owned())).into();
    request.mappings[0].patches = vec![Patch { file: Some(Glob::parse(glob).unwrap()), set }];
    request
}

fn changed(report: &Report) -> Vec<String> {
    let lists = [&report.added.paths, &report.modified.paths];
    lists.into_iter().flatten().map(ToString::to_string).collect()
}

#[test]
fn text_is_rendered_and_what_is_binary_or_plain_is_copied() {
    let scratch = Scratch::new();
    let files = BTreeMap::from([
        (b"p/t.txt".to_vec(), (Kind::File, b"on {{.GatewayName}}".to_vec())),
        (b"p/plain".to_vec(), (Kind::File, b"no action\xff".to_vec())),
        (b"p/data.bin".to_vec(), (Kind::File, b"\0{{.Broken".to_vec())),
    ]);
    let commit = Commit::from_files(&files);
    sync(&scratch, &commit, &templated(&commit)).unwrap();
    assert_eq!(scratch.read("data/projects/t.txt"), "on site-1");
    let files = scratch.files("data");
    let bytes = |path: &str| match &files[path.as_bytes()] {
        crate::testing::Live::File { content, .. } => content.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!(bytes("projects/plain"), b"no action\xff");
    assert_eq!(bytes("projects/data.bin"), b"\0{{.Broken");
    // Made bytes are what drift is measured against.
    let drift =
        |check| sync(&scratch, &commit, &checking(templated(&commit), check)).unwrap().drift.len();
    assert_eq!(drift(DriftCheck::Content), 0);
    scratch.write("data/projects/t.txt", "edited by hand");
    assert_eq!(drift(DriftCheck::Stat), 1);
    assert_eq!(scratch.read("data/projects/t.txt"), "on site-1");
}

// Lever 3: unchanged inputs cost nothing, and a new commit is an input only where it is named.
#[test]
fn only_files_that_use_a_changed_value_are_made_again() {
    let scratch = Scratch::new();
    let commit = Commit::of([
        ("p/a/one", "{{.GatewayName}}"),
        ("p/a/two", "{{.Commit}}"),
        ("p/b/three", "{{.Vars.x}}"),
        ("p/c/four", "plain"),
    ]);
    let mut wanted = templated(&commit);
    wanted.values.vars.insert("x".into(), "1".into());
    sync(&scratch, &commit, &wanted).unwrap();
    assert!(changed(&sync(&scratch, &commit, &wanted).unwrap()).is_empty());
    wanted.values.commit = Some("c2".into());
    wanted.commit = "next".into();
    assert_eq!(changed(&sync(&scratch, &commit, &wanted).unwrap()), ["projects/a/two"]);
    wanted.values.vars.insert("x".into(), "2".into());
    assert_eq!(changed(&sync(&scratch, &commit, &wanted).unwrap()), ["projects/b/three"]);
    assert_eq!(scratch.read("data/projects/b/three"), "2");
    assert_eq!(scratch.read("data/projects/a/two"), "c2");
}

// B14
#[test]
fn a_file_that_cant_be_made_is_named_and_nothing_is_applied() {
    let bad = [
        ("p/bad.txt", "{{.Vars.missing}}"),
        ("p/bad.txt", "{{range}}"),
        ("p/bad.json", "{\"a\": {{.GatewayName}}}"),
        ("p/bad.json", "{\n  \"a\":"),
        ("p/bad.json", ""),
        ("p/bad.txt", "{{/* x */}}{{.PodName}}"),
    ];
    for (path, content) in bad {
        let scratch = Scratch::new();
        let commit = Commit::of([("p/good", "1"), (path, content)]);
        let error = sync(&scratch, &commit, &templated(&commit)).unwrap_err();
        assert!(error.to_string().contains(&path.replace("p/", "projects/")), "{error}");
        assert!(!scratch.exists("data/projects"), "{content}");
    }
    let scratch = Scratch::new();
    let commit = Commit::of([("p/x.json", "{broken")]);
    sync(&scratch, &commit, &patched(&commit, "**", [("a", "1")])).unwrap_err();
    assert!(!scratch.exists("data/projects"));
}

// R49: a template does not escape, so what breaks the document is refused; a patch escapes.
#[test]
fn a_value_with_a_quote_or_a_line_break_never_makes_broken_json() {
    let commit = Commit::of([("p/a.json", r#"{"a": "{{.Vars.x}}"}"#)]);
    let plain = Commit::of([("p/a.json", r#"{"a": "b"}"#)]);
    for (value, escaped) in [("say \"hi\"", r#"say \"hi\""#), ("two\nlines", r"two\nlines")] {
        let scratch = Scratch::new();
        let mut wanted = templated(&commit);
        wanted.values.vars.insert("x".into(), value.into());
        let error = sync(&scratch, &commit, &wanted).unwrap_err();
        assert!(error.to_string().contains("projects/a.json"), "{error}");
        assert!(!scratch.exists("data/projects"), "{value}");
        sync(&scratch, &plain, &patched(&plain, "a.json", [("a", value)])).unwrap();
        assert_eq!(scratch.read("data/projects/a.json"), format!(r#"{{"a": "{escaped}"}}"#));
    }
}

#[test]
fn json_without_actions_is_checked_where_it_is_a_template_and_nowhere_else() {
    let scratch = Scratch::new();
    let broken = Commit::of([("p/a.json", "{\n  \"a\":")]);
    let error = sync(&scratch, &broken, &templated(&broken)).unwrap_err();
    let told = stoker_api::chain::Chain(&*error).to_string();
    assert!(told.contains("projects/a.json") && told.contains("line 2, column 7"), "{told}");
    sync(&scratch, &broken, &request(&broken, ["p:projects"])).unwrap();
    let fine = Commit::of([("p/a.json", "\u{feff}{\"a\": 1}\n"), ("p/b.json", "\0\u{1}")]);
    sync(&scratch, &fine, &templated(&fine)).unwrap();
}

#[test]
fn a_binary_file_mapping_cant_be_a_template() {
    let scratch = Scratch::new();
    let commit = Commit::of([("f", "\0")]);
    let mut wanted = request(&commit, ["f:x/f"]);
    wanted.mappings[0].template = Templating::On;
    sync(&scratch, &commit, &wanted).unwrap_err();
}

const RESOURCE: &str = r#"{
  "scope": "G",
  "attributes": {
    "lastModification": {"actor": "me"},
    "lastModificationSignature": "abc"
  }
}"#;
const UNSIGNED: &str = r#"{
  "scope": "G",
  "attributes": {
    "lastModification": {"actor": "me"}
  }
}"#;

// R51
#[test]
fn a_resource_with_a_changed_file_loses_its_signature_and_others_keep_it() {
    let scratch = Scratch::new();
    let commit = Commit::of([
        ("p/a/config.json", r#"{"host": "x", "n": 1.50}"#),
        ("p/a/resource.json", RESOURCE),
        ("p/b/config.json", r#"{"host": "y"}"#),
        ("p/b/resource.json", RESOURCE),
    ]);
    let wanted = patched(&commit, "a/*.json", [("host", "gateway-7")]);
    // The patch names resource.json, too; it is changed there like any other document.
    let only_config = patched(&commit, "a/config.json", [("host", "gateway-7")]);
    sync(&scratch, &commit, &only_config).unwrap();
    assert_eq!(scratch.read("data/projects/a/config.json"), r#"{"host": "gateway-7", "n": 1.50}"#);
    assert_eq!(scratch.read("data/projects/a/resource.json"), UNSIGNED);
    assert_eq!(scratch.read("data/projects/b/resource.json"), RESOURCE);
    let again = sync(&scratch, &commit, &checking(only_config, DriftCheck::Stat)).unwrap();
    assert!(changed(&again).is_empty() && again.drift.is_empty());
    sync(&scratch, &commit, &wanted).unwrap();
    assert!(!scratch.read("data/projects/a/resource.json").contains("Signature"));
    // Without the patch everything is as in git again.
    sync(&scratch, &commit, &request(&commit, ["p:projects"])).unwrap();
    assert_eq!(scratch.read("data/projects/a/resource.json"), RESOURCE);
    assert_eq!(scratch.read("data/projects/a/config.json"), r#"{"host": "x", "n": 1.50}"#);
}

#[test]
fn what_the_gateway_rewrites_in_resource_json_is_not_drift() {
    let scratch = Scratch::new();
    let commit = Commit::of([("p/a/view.json", "{}"), ("p/a/resource.json", RESOURCE)]);
    let wanted = checking(request(&commit, ["p:projects"]), DriftCheck::Stat);
    sync(&scratch, &commit, &wanted).unwrap();
    let rewritten = r#"{"attributes":{"lastModificationSignature":"new","lastModification":{"actor":"external"}},"scope":"G"}"#;
    scratch.write("data/projects/a/resource.json", rewritten);
    let report = sync(&scratch, &commit, &wanted).unwrap();
    assert!(report.drift.is_empty() && changed(&report).is_empty());
    assert_eq!(scratch.read("data/projects/a/resource.json"), rewritten);
    let before = scratch.state();
    sync(&scratch, &commit, &wanted).unwrap();
    assert_eq!(scratch.state(), before, "its new look is known");

    scratch.write("data/projects/a/resource.json", rewritten.replace("\"G\"", "\"A\""));
    let report = sync(&scratch, &commit, &wanted).unwrap();
    assert_eq!(report.drift.len(), 1);
    assert_eq!(scratch.read("data/projects/a/resource.json"), RESOURCE);
}
