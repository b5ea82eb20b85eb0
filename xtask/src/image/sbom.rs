//! What is in an image, as an SPDX document: our program, the crates in it, and Debian's packages.
//!
//! Like the image itself it depends on nothing but its input: entries are sorted and have no times.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context as _;
use serde_json::{Value, json};
use stoker_image::Image;

use crate::step;

/// A part of an image.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Part {
    name: String,
    version: String,
    license: String,
    /// A package URL, such as `pkg:cargo/serde@1.0.0`.
    url: String,
}

/// Returns the document of a package's program, and of the image that it is in.
pub(crate) fn document(
    package: &str,
    triple: &str,
    image: Option<&Image>,
) -> anyhow::Result<String> {
    let mut metadata = step::cargo();
    metadata.args(["metadata", "--format-version=1", "--locked", "--filter-platform", triple]);
    let metadata: Value = serde_json::from_str(&step::output(&mut metadata)?)?;
    let installed = image.map(debian_packages).transpose()?.unwrap_or_default();
    let parts: Vec<Part> = crates(&metadata, package)?.into_iter().chain(installed).collect();
    let version = env!("CARGO_PKG_VERSION");
    let described = |part: &Part| {
        json!({
            "SPDXID": identifier(part),
            "name": part.name,
            "versionInfo": part.version,
            "licenseDeclared": part.license,
            "licenseConcluded": "NOASSERTION",
            "copyrightText": "NOASSERTION",
            "downloadLocation": "NOASSERTION",
            "filesAnalyzed": false,
            "externalRefs": [{
                "referenceCategory": "PACKAGE-MANAGER",
                "referenceType": "purl",
                "referenceLocator": part.url,
            }],
        })
    };
    let relation = |part: &Part| {
        json!({
            "spdxElementId": "SPDXRef-DOCUMENT",
            "relationshipType": "DESCRIBES",
            "relatedSpdxElement": identifier(part),
        })
    };
    let document = json!({
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": package,
        "documentNamespace": format!("https://github.com/stoker-io/stoker/sbom/{package}-{version}"),
        "creationInfo": {"created": "1970-01-01T00:00:00Z", "creators": ["Tool: cargo-xtask-image"]},
        "packages": parts.iter().map(described).collect::<Vec<_>>(),
        "relationships": parts.iter().map(relation).collect::<Vec<_>>(),
    });
    Ok(format!("{document:#}\n"))
}

/// An SPDX identifier has letters, digits, dots and dashes.
fn identifier(part: &Part) -> String {
    let plain = |text: &str| text.replace(|it: char| !it.is_ascii_alphanumeric() && it != '.', "-");
    format!("SPDXRef-{}", plain(part.url.trim_start_matches("pkg:")))
}

/// The package and every crate that its program is linked with.
fn crates(metadata: &Value, package: &str) -> anyhow::Result<BTreeSet<Part>> {
    let list = |value: &'static str| metadata.pointer(value).and_then(Value::as_array);
    let packages = list("/packages").context("cargo names no packages")?;
    let nodes = list("/resolve/nodes").context("cargo names no dependencies")?;
    let by_id = |items: &'static str| {
        let items = if items == "packages" { packages } else { nodes };
        items.iter().filter_map(|it| Some((it["id"].as_str()?, it))).collect::<BTreeMap<_, _>>()
    };
    let (packages_by_id, nodes_by_id) = (by_id("packages"), by_id("nodes"));
    let root = packages.iter().find(|it| it["name"] == package).and_then(|it| it["id"].as_str());
    let mut waiting = vec![root.with_context(|| format!("cargo knows no package {package}"))?];
    let mut seen = BTreeSet::new();
    while let Some(id) = waiting.pop() {
        if !seen.insert(id) {
            continue;
        }
        let links = nodes_by_id.get(id).and_then(|node| node["deps"].as_array());
        let is_linked = |link: &&Value| {
            let kinds = link["dep_kinds"].as_array();
            kinds.is_some_and(|kinds| kinds.iter().any(|kind| kind["kind"].is_null()))
        };
        let linked = links.into_iter().flatten().filter(is_linked);
        waiting.extend(linked.filter_map(|link| link["pkg"].as_str()));
    }
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let part = |id: &str| {
        let found = packages_by_id.get(id)?;
        let (name, version) = (text(&found["name"])?, text(&found["version"])?);
        let license = text(&found["license"]).unwrap_or_else(|| "NOASSERTION".to_owned());
        let url = format!("pkg:cargo/{name}@{version}");
        Some(Part { name, version, license: license.replace('/', " OR "), url })
    };
    Ok(seen.into_iter().filter_map(part).collect())
}

/// Debian's packages that files of the image come from.
fn debian_packages(image: &Image) -> anyhow::Result<BTreeSet<Part>> {
    let database = image.distribution().locate("/var/lib/dpkg");
    let query = || {
        let mut command = Command::new("dpkg-query");
        command.arg("--admindir").arg(&database);
        command
    };
    // A library below /lib may be known by its place below /usr/lib.
    let places = |path: &Path| [Path::new("/").join(path), Path::new("/usr").join(path)];
    let paths: BTreeSet<PathBuf> = image.paths().flat_map(places).collect();
    // It fails when one has no owner, which those of ours have not.
    let found = query().arg("--search").args(&paths).output();
    let found = found.context("failed to start dpkg-query: images are built on Debian")?;
    let found = String::from_utf8_lossy(&found.stdout).into_owned();
    let names: BTreeSet<&str> = found.lines().filter_map(|line| owner(line, &paths)).collect();
    let mut show = query();
    show.args(["--show", "--showformat=${Package} ${Version} ${Architecture}\\n"]).args(&names);
    let shown = step::output(&mut show)?;
    let part = |line: &str| {
        let mut words = line.split(' ').map(str::to_owned);
        let (name, version, architecture) = (words.next()?, words.next()?, words.next()?);
        let url = format!("pkg:deb/debian/{name}@{version}?arch={architecture}");
        Some(Part { name, version, license: "NOASSERTION".to_owned(), url })
    };
    Ok(shown.lines().filter_map(part).collect())
}

/// `git: /usr/bin/git` → `git`, unless it is about a directory that packages share, or says that a
/// file was diverted.
fn owner<'a>(line: &'a str, paths: &BTreeSet<PathBuf>) -> Option<&'a str> {
    let (names, found) = line.split_once(": ")?;
    let is_one = !names.contains([',', ' ']) && paths.contains(Path::new(found));
    is_one.then_some(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_has_the_crates_that_it_links_and_not_those_that_build_it() {
        let package = |name: &str| {
            let id = format!("path+{name}");
            json!({"id": id, "name": name, "version": "1.0.0", "license": "MIT/Apache-2.0"})
        };
        let link = |name: &str, kind: Value| json!({"pkg": format!("path+{name}"), "dep_kinds": [{"kind": kind}]});
        let deps = [link("linked", Value::Null), link("built", json!("build"))];
        let packages = ["program", "linked", "built", "other"].map(package);
        let metadata = json!({
            "packages": packages,
            "resolve": {"nodes": [{"id": "path+program", "deps": deps}]},
        });
        let found = crates(&metadata, "program").expect("a package");
        let urls: Vec<_> = found.iter().map(|part| part.url.as_str()).collect();
        assert_eq!(urls, ["pkg:cargo/linked@1.0.0", "pkg:cargo/program@1.0.0"]);
        assert!(found.iter().all(|part| part.license == "MIT OR Apache-2.0"));
    }

    #[test]
    fn a_file_has_one_owner() {
        let paths = BTreeSet::from([PathBuf::from("/usr/bin/git")]);
        assert_eq!(owner("git: /usr/bin/git", &paths), Some("git"));
        assert_eq!(owner("base-files, git: /usr/bin/git", &paths), None);
        assert_eq!(owner("git: /usr/bin/git-shell", &paths), None);
        assert_eq!(owner("diversion by dash from: /usr/bin/git", &paths), None);
    }
}
