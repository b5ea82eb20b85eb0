//! Archives are complete and reproducible.

#![expect(clippy::unwrap_used, reason = "a set-up that fails is a test that fails")]

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use stoker_image::{Compression, Image, Manifest};

fn shell() -> Image {
    Image::named("stoker.test/probe:1")
        .with_accounts()
        .program("/usr/bin/probe", Path::new("/bin/true"))
        .unwrap()
        .link("/usr/bin/alias", "probe")
        .file("/etc/probe.conf", "x", 0o640)
        .entrypoint(["/usr/bin/probe"])
}

fn saved(image: &Image, compression: Compression) -> Vec<u8> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("image.tar");
    image.save(&path, compression).unwrap();
    fs::read(&path).unwrap()
}

fn members(archive: &[u8]) -> BTreeMap<String, Vec<u8>> {
    let mut archive = tar::Archive::new(archive);
    let entries = archive.entries().unwrap().map(|entry| {
        let mut entry = entry.unwrap();
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).unwrap();
        (entry.path().unwrap().display().to_string(), bytes)
    });
    entries.collect()
}

#[test]
fn two_builds_of_one_image_are_the_same_bytes() {
    for compression in [Compression::None, Compression::Gzip] {
        let (one, two) = (saved(&shell(), compression), saved(&shell(), compression));
        assert!(one == two, "{compression:?}");
    }
}

#[test]
fn manifest_configuration_and_layer_refer_to_each_other() {
    let members = members(&saved(&shell(), Compression::None));
    let manifest: serde_json::Value = serde_json::from_slice(&members["manifest.json"]).unwrap();
    assert_eq!(manifest[0]["RepoTags"][0], "stoker.test/probe:1");
    let configuration = &members[manifest[0]["Config"].as_str().unwrap()];
    let configuration: serde_json::Value = serde_json::from_slice(configuration).unwrap();
    let layer = &members[manifest[0]["Layers"][0].as_str().unwrap()];
    let digest = format!("sha256:{}", stoker_image::sha256(&[layer]));
    assert_eq!(configuration["rootfs"]["diff_ids"][0], digest.as_str());
    assert_eq!(configuration["config"]["User"], "65532:65532");
    assert_eq!(configuration["config"]["Entrypoint"][0], "/usr/bin/probe");
}

#[test]
fn an_archive_is_read_back_by_its_manifest() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("image.tar");
    shell().save(&path, Compression::None).unwrap();
    let manifest = Manifest::read(&path).unwrap();
    assert_eq!((manifest.name.as_str(), manifest.id.len()), ("stoker.test/probe:1", 64));
    fs::write(&path, [0; 1024]).unwrap();
    let refused = Manifest::read(&path).unwrap_err().to_string();
    assert!(refused.ends_with("is not an archive of an image"), "{refused}");
}

#[test]
fn a_compressed_layer_holds_the_same_bytes() {
    let plain = members(&saved(&shell(), Compression::None));
    let packed = members(&saved(&shell(), Compression::Gzip));
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("layer.gz");
    fs::write(&file, &packed["layer.tar.gz"]).unwrap();
    let unpacked = std::process::Command::new("gzip")
        .args(["-d", "-c"])
        .stdin(File::open(&file).unwrap())
        .output()
        .unwrap();
    assert!(unpacked.stdout == plain["layer.tar"]);
}

#[test]
fn a_layer_lists_parents_first_and_keeps_modes_links_and_owners() {
    let members = members(&saved(&shell(), Compression::None));
    let mut layer = tar::Archive::new(members["layer.tar"].as_slice());
    let mut seen = BTreeMap::new();
    for entry in layer.entries().unwrap() {
        let entry = entry.unwrap();
        let path = entry.path().unwrap().into_owned();
        let parent = path.parent().unwrap();
        assert!(parent == Path::new("") || seen.contains_key(parent), "{path:?} before its parent");
        let header = entry.header();
        let link = entry.link_name().unwrap().map(Cow::into_owned);
        assert_eq!(header.mtime().unwrap(), 0);
        seen.insert(path, (header.mode().unwrap(), header.uid().unwrap(), link));
    }
    assert_eq!(seen[Path::new("tmp")], (0o1777, 0, None));
    assert_eq!(seen[Path::new("home/nonroot")], (0o700, 65532, None));
    assert_eq!(seen[Path::new("etc/probe.conf")], (0o640, 0, None));
    assert_eq!(seen[Path::new("usr/bin/alias")], (0o777, 0, Some(PathBuf::from("probe"))));
}
