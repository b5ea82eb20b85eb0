//! The Dockerfile makes the images that this crate makes.

#![expect(clippy::unwrap_used, reason = "a set-up that fails is a test that fails")]

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use serde_json::Value;
use stoker_image::recipe::Recipe;
use stoker_image::{Compression, Distribution, Image};

const DOCKERFILE: &str = include_str!("../../../Dockerfile");

/// The images of the Dockerfile. The program in them is any.
fn images() -> [(&'static str, Image); 2] {
    let here = Distribution::of_this_machine();
    let program = Path::new("/bin/true");
    let recipe = |name| Recipe { name, version: "1", program, distribution: &here };
    [
        ("stoker-operator", recipe("stoker-operator:1").operator().unwrap()),
        ("stoker-agent", recipe("stoker-agent:1").agent().unwrap()),
    ]
}

/// The instructions of a stage.
fn stage(name: &str) -> Vec<&'static str> {
    let from = format!("FROM scratch AS {name}");
    let lines = DOCKERFILE.lines().skip_while(move |line| *line != from).skip(1);
    lines.take_while(|line| !line.starts_with("FROM ")).filter(|line| !line.is_empty()).collect()
}

fn configuration(image: &Image) -> Value {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("image.tar");
    image.save(&path, Compression::None).unwrap();
    let mut archive = tar::Archive::new(File::open(&path).unwrap());
    let entries = archive.entries().unwrap().map(Result::unwrap);
    let is_configuration = |entry: &tar::Entry<'_, File>| {
        let path = entry.path().unwrap();
        path.extension().is_some_and(|it| it == "json") && path != Path::new("manifest.json")
    };
    let entry = entries.into_iter().find(is_configuration).unwrap();
    serde_json::from_reader::<_, Value>(entry).unwrap()["config"].take()
}

#[test]
fn a_stage_has_the_files_and_the_settings_of_the_image() {
    for (name, image) in images() {
        let settings = configuration(&image);
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let expected = [
            format!("COPY --from=files /images/{name}/ /"),
            format!(
                "COPY --from=files --chown=65532:65532 --chmod=0700 \
                 /images/{name}/home/nonroot/ /home/nonroot/"
            ),
            format!("ENV {}", text(&settings["Env"][0])),
            format!("USER {}", text(&settings["User"])),
            format!("ENTRYPOINT {}", settings["Entrypoint"]),
        ];
        assert_eq!(stage(name), expected);
        assert_eq!(settings["Env"].as_array().unwrap().len(), 1, "the stage has one ENV");
    }
}

#[test]
fn the_directory_that_a_stage_copies_has_every_path_of_the_image() {
    for (name, image) in images() {
        let directory = tempfile::tempdir().unwrap();
        image.unpack(directory.path()).unwrap();
        let mut written = BTreeSet::new();
        collect(directory.path(), directory.path(), &mut written);
        let expected: BTreeSet<PathBuf> = image.paths().map(Path::to_owned).collect();
        assert_eq!(written, expected, "{name}");
    }
}

/// Files, links and empty directories.
fn collect(root: &Path, directory: &Path, found: &mut BTreeSet<PathBuf>) {
    let entries: Vec<_> = fs::read_dir(directory).unwrap().map(Result::unwrap).collect();
    if entries.is_empty() {
        found.insert(directory.strip_prefix(root).unwrap().to_owned());
    }
    for entry in entries {
        if entry.file_type().unwrap().is_dir() {
            collect(root, &entry.path(), found);
        } else {
            found.insert(entry.path().strip_prefix(root).unwrap().to_owned());
        }
    }
}
