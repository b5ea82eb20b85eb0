//! Images: a table by hand, and every vector of the reference parser.

use super::*;

const VECTORS: &str = include_str!("../../../../stoker-text/tests/vectors/image.json");

const DIGEST: &str = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

const RULES: &[(&str, &str)] = &[
    ("docker.io", "registry.plant.example/dockerhub"),
    ("docker.io/library", "registry.plant.example/official"),
    ("ghcr.io/acme", "registry.plant.example/acme"),
    ("ghcr.io/acme/tools", "tools.plant.example:5000"),
    ("localhost:5000", "registry.plant.example/local"),
    ("quay.io", "registry.plant.example:8443/quay"),
];

fn mapping() -> Policy {
    let rules: Vec<Value> =
        RULES.iter().map(|(from, to)| json!({ "from": from, "to": to })).collect();
    compile(&json!({ "registries": rules })).unwrap()
}

// I1: a name that would get too long is left alone, because no container could start from it.
#[test]
fn a_name_that_would_get_too_long_is_left_alone() {
    let name = |length: usize| format!("docker.io/a/{}", "b".repeat(length));
    assert!(mapping().rewrite(&name(200)).unwrap().is_some());
    assert_eq!(mapping().rewrite(&name(250)), Err(stoker_text::image::ImageRefError::Long));
}

// I1: names are rewritten by their meaning; tag and digest survive; ports are not tags.
#[test]
fn images_are_rewritten_by_the_longest_prefix() {
    let digest = |name: &str| format!("{name}@{DIGEST}");
    let table = [
        ("nginx", "registry.plant.example/official/nginx"),
        ("nginx:1.27", "registry.plant.example/official/nginx:1.27"),
        ("library/nginx", "registry.plant.example/official/nginx"),
        ("docker.io/nginx", "registry.plant.example/official/nginx"),
        ("index.docker.io/library/nginx:1", "registry.plant.example/official/nginx:1"),
        ("bitnami/redis:7", "registry.plant.example/dockerhub/bitnami/redis:7"),
        ("docker.io/bitnami/redis", "registry.plant.example/dockerhub/bitnami/redis"),
        ("ghcr.io/acme/app:v1", "registry.plant.example/acme/app:v1"),
        ("ghcr.io/acme/tools/cli", "tools.plant.example:5000/cli"),
        ("ghcr.io/acme/toolshed", "registry.plant.example/acme/toolshed"),
        ("localhost:5000/app", "registry.plant.example/local/app"),
        ("localhost:5000/app:5000", "registry.plant.example/local/app:5000"),
        ("quay.io/a/b/c:x", "registry.plant.example:8443/quay/a/b/c:x"),
    ];
    for (image, expected) in table {
        assert_eq!(mapping().rewrite(image), Ok(Some(expected.to_owned())), "{image}");
        let rewritten = mapping().rewrite(&digest(image)).unwrap();
        assert_eq!(rewritten, Some(digest(expected)), "{image} with a digest");
    }
    for unchanged in [
        "ghcr.io/acmeworks/app",
        "ghcr.io/other/app",
        "ghcr.io:443/acme/app",
        "localhost/app",
        "localhost:5001/app",
        "registry.plant.example/dockerhub/library/nginx",
        "registry.plant.example/own/app",
        "tools.plant.example:5000/cli:1",
        "quay.io.example/app",
    ] {
        assert_eq!(mapping().rewrite(unchanged), Ok(None), "{unchanged}");
    }
    for invalid in ["", "Nginx", "nginx:", "a//b", "nginx@sha256:1", "https://quay.io/x"] {
        assert!(mapping().rewrite(invalid).is_err(), "{invalid:?}");
    }
}

// I1: the table has what the reference parser of container runtimes says about each name.
#[test]
fn every_name_of_the_corpus_is_rewritten_as_the_reference_parser_reads_it() {
    let vectors: Vec<Value> = serde_json::from_str(VECTORS).unwrap();
    let (mut rewritten, mut kept, mut refused) = (0, 0, 0);
    for vector in &vectors {
        let text = vector["in"].as_str().unwrap();
        let found = mapping().rewrite(text);
        let (Some(registry), true) = (vector["registry"].as_str(), found.is_ok()) else {
            // A deviation of the parser is its own tests' matter.
            assert_eq!(found.as_ref().ok(), None, "{text:?}");
            refused += 1;
            continue;
        };
        let name = format!("{registry}/{}", vector["path"].as_str().unwrap());
        let suffix = |key: &str, sign: &str| {
            vector[key].as_str().map(|it| format!("{sign}{it}")).unwrap_or_default()
        };
        let below = |prefix: &str| name.strip_prefix(prefix).filter(|it| it.starts_with('/'));
        let is_target = RULES.iter().any(|(_, to)| below(to).is_some());
        let longest = RULES.iter().filter(|(from, _)| below(from).is_some() && !is_target);
        let expected = longest.max_by_key(|(from, _)| from.len()).map(|(from, to)| {
            let rest = below(from).unwrap();
            format!("{to}{rest}{}{}", suffix("tag", ":"), suffix("digest", "@"))
        });
        if expected.is_some() {
            rewritten += 1;
        } else {
            kept += 1;
        }
        assert_eq!(found, Ok(expected), "{text:?}");
    }
    assert!(rewritten + kept >= 300, "{rewritten} rewritten, {kept} kept, {refused} refused");
    assert!(rewritten >= 100 && kept >= 50 && refused >= 50, "{rewritten} {kept} {refused}");
}

#[test]
fn an_image_that_can_not_be_read_is_left_alone_with_a_warning() {
    let pod = pod(&json!({ "containers": [{ "name": "app", "image": "Nginx:1" }] }));
    let (after, outcome) = admit(&pod);
    assert_eq!(after["spec"]["containers"][0]["image"], "Nginx:1");
    let expected = "the image \"Nginx:1\" of container \"app\" is left alone:";
    assert!(outcome.warnings[0].starts_with(expected), "{:?}", outcome.warnings);
}
