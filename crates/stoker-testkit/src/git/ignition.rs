//! Trees that look like the data directory of an Ignition 8.3 gateway, of any size.
//!
//! Views, scripts, pipelines and configuration with the files and attributes that the Designer
//! writes; every resource is a payload and its `resource.json`. The same seed gives the same bytes.

mod content;

use super::noise::Noise;
use super::{Content, Entry, Mode, Tree};

const FILES_PER_PROJECT: usize = 2_500;
const SITES: &[&str] = &["ashford", "brunswick", "calgary", "dortmund", "espoo", "fremont"];
const AREAS: &[&str] = &["Overview", "Filling", "Boilers", "Packaging", "Utilities", "Alarms"];

/// Returns a tree of exactly `files` files: projects, and configuration for a tenth of them.
pub fn tree(files: usize, seed: u64) -> Tree {
    let mut writer = Writer { tree: Tree::new(), left: files, noise: Noise::new(seed) };
    let configuration = files / 10;
    let projects = (files - configuration).div_ceil(FILES_PER_PROJECT);
    for number in 0..projects {
        let share = (writer.left - configuration).min(FILES_PER_PROJECT);
        writer.project(number, share);
    }
    let mut number = 0;
    while writer.left >= 2 {
        writer.configuration(number);
        number += 1;
    }
    if writer.left == 1 {
        writer.put(".versions.json".into(), content::versions());
    }
    writer.tree
}

/// Returns the name of the n-th project of every tree.
pub fn project_name(number: usize) -> String {
    format!("{}-{number:02}", SITES[number % SITES.len()])
}

struct Writer {
    tree: Tree,
    left: usize,
    noise: Noise,
}

impl Writer {
    fn put(&mut self, path: String, bytes: Vec<u8>) {
        self.tree.insert(path, Entry::Blob(Mode::File, Content::Bytes(bytes)));
        self.left -= 1;
    }

    fn project(&mut self, number: usize, files: usize) {
        let root = format!("projects/{}", project_name(number));
        let end = self.left - files;
        if self.left > end {
            self.put(format!("{root}/project.json"), content::project(&project_name(number)));
        }
        let mut resource = 0;
        while self.left >= end + 2 {
            self.project_resource(&root, resource);
            resource += 1;
        }
    }

    /// Mostly views, as in real projects; every tenth resource is a script, every twentieth binary.
    fn project_resource(&mut self, root: &str, number: usize) {
        let (directory, file, bytes) = match number % 20 {
            7 | 17 => (
                format!("{root}/ignition/script-python/lib{number:05}"),
                "code.py",
                content::script(&mut self.noise),
            ),
            13 => (
                format!(
                    "{root}/com.inductiveautomation.alarm-notification/alarm-pipelines/p{number:05}"
                ),
                "data.bin",
                content::binary(&mut self.noise),
            ),
            _ => {
                let area = AREAS[number / 50 % AREAS.len()];
                let views = "com.inductiveautomation.perspective/views";
                (
                    format!("{root}/{views}/{area}/View{number:05}"),
                    "view.json",
                    content::view(&mut self.noise),
                )
            }
        };
        self.resource(&directory, file, bytes);
    }

    fn configuration(&mut self, number: usize) {
        let kind =
            ["database-connection", "opc-connection", "tag-provider", "schedule"][number % 4];
        let directory = format!("config/resources/core/ignition/{kind}/{kind}-{number:05}");
        let bytes = content::configuration(kind, &mut self.noise);
        self.resource(&directory, "config.json", bytes);
    }

    fn resource(&mut self, directory: &str, file: &str, bytes: Vec<u8>) {
        self.put(format!("{directory}/{file}"), bytes);
        let manifest = content::resource(file, &mut self.noise);
        self.put(format!("{directory}/resource.json"), manifest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_has_exactly_as_many_files_as_asked_for() {
        for files in [0, 1, 2, 3, 10, 99, 100, 2_777, 10_001] {
            assert_eq!(tree(files, 1).len(), files, "{files}");
        }
    }

    #[test]
    fn the_seed_decides_the_bytes() {
        assert_eq!(tree(50, 7), tree(50, 7));
        assert_ne!(tree(50, 7), tree(50, 8));
    }

    #[test]
    fn all_json_parses_and_resources_name_their_files() {
        let tree = tree(500, 3);
        for (path, entry) in tree.iter() {
            let path = String::from_utf8(path.to_vec()).unwrap();
            let Entry::Blob(Mode::File, Content::Bytes(bytes)) = entry else { panic!("{path}") };
            if path.rsplit('.').next() != Some("json") {
                continue;
            }
            let json: serde_json::Value = serde_json::from_slice(bytes).unwrap();
            if let Some(directory) = path.strip_suffix("resource.json") {
                let file = json["files"][0].as_str().unwrap();
                assert!(tree.get(format!("{directory}{file}")).is_some(), "{path}");
                let attributes = &json["attributes"];
                assert_eq!(attributes["lastModificationSignature"].as_str().unwrap().len(), 64);
            }
        }
    }
}
