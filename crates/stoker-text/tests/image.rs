//! Image references against vectors made with distribution/reference.

use serde_json::Value;
use stoker_text::image::{ImageRef, is_name_prefix};

/// Made by `vectors/generate` with distribution/reference v0.6.0.
const VECTORS: &str = include_str!("vectors/image.json");

/// Deliberate deviation: the original takes this for a name with an empty registry, which no
/// runtime can pull from. It is refused here.
const REFUSED: &str = "ex_ample.com/app";

// I1: every form of an image's name is taken apart as container runtimes do.
#[test]
fn every_vector_is_taken_apart_as_by_the_original() {
    let vectors: Vec<Value> = serde_json::from_str(VECTORS).unwrap();
    let mut wrong = Vec::new();
    for vector in &vectors {
        let text = vector["in"].as_str().unwrap();
        let taken = vector.get("registry").filter(|_| text != REFUSED);
        let expected = taken.map(|registry| {
            let field = |key: &str| vector.get(key).and_then(Value::as_str).map(str::to_owned);
            let registry = registry.as_str().unwrap().to_owned();
            (registry, field("path").unwrap(), field("tag"), field("digest"))
        });
        let found = ImageRef::parse(text).ok().map(|image| {
            assert_eq!(image.to_string(), text, "printing changes the text");
            let owned = |part: Option<&str>| part.map(str::to_owned);
            (
                image.registry().to_owned(),
                image.path().into_owned(),
                owned(image.tag()),
                owned(image.digest()),
            )
        });
        if found != expected {
            wrong.push(format!("{text:?}: expected {expected:?}, found {found:?}"));
        }
    }
    assert!(vectors.len() >= 450, "{} vectors", vectors.len());
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn a_prefix_is_a_registry_with_whole_components_of_a_path() {
    for good in ["docker.io", "ghcr.io/acme", "localhost:5000", "localhost", "r.example/a/b"] {
        assert!(is_name_prefix(good), "{good:?}");
    }
    for bad in ["", "acme", "ghcr.io/", "ghcr.io/Acme", "ghcr.io/a:1", "https://ghcr.io", "a b.c"] {
        assert!(!is_name_prefix(bad), "{bad:?}");
    }
}
