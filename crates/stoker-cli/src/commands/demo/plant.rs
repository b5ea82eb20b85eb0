//! What the demo runs on: a repository, and two gateways with their data directories.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use fake_gateway::{Gateway, Options};
use stoker_api::condition::Reason;
use tempfile::TempDir;

use crate::failure::Failure;

/// The API key of the simulated gateways.
const KEY: &str = "demo:demo";

/// What the plant's operator keeps in git for each gateway.
const FILES: &[(&str, &str)] = &[
    ("projects/line/project.json", PROJECT),
    ("projects/line/com.inductiveautomation.perspective/views/Overview/view.json", VIEW),
    ("projects/line/com.inductiveautomation.perspective/views/Overview/resource.json", RESOURCE),
    ("config/resources/core/ignition/tag-provider/plant/config.json", TAGS),
    ("config/resources/core/ignition/tag-provider/plant/resource.json", RESOURCE),
];

const GATEWAYS: [&str; 2] = ["north", "south"];

const PROJECT: &str =
    "{\n  \"title\": \"Line\",\n  \"enabled\": true,\n  \"inheritable\": false\n}\n";
const VIEW: &str =
    "{\n  \"root\": {\"type\": \"ia.container.coord\"},\n  \"props\": {\"title\": \"Line 1\"}\n}\n";
const RESOURCE: &str =
    "{\n  \"scope\": \"G\",\n  \"version\": 1,\n  \"files\": [],\n  \"attributes\": {}\n}\n";
const TAGS: &str =
    "{\n  \"profile\": {\"type\": \"STANDARD\"},\n  \"settings\": {\"site\": \"unset\"}\n}\n";

/// What the same operator would give to a cluster.
const MANIFEST: &str = r#"apiVersion: stoker.io/v1alpha1
kind: GatewaySync
metadata:
  name: plant
spec:
  git:
    repo: REPO
    ref: main
  sync:
    profiles:
      site:
        mappings:
        - source: services/{{.GatewayName}}/projects
          destination: projects
        - source: services/{{.GatewayName}}/config/resources/core
          destination: config/resources/core
          patches:
          - file: "**/tag-provider/*/config.json"
            set:
              settings.site: "{{.GatewayName}}"
"#;

/// The stage. Everything is gone when it is dropped.
pub(super) struct Plant {
    directory: TempDir,
    /// The simulated gateways, by name.
    pub(super) gateways: Vec<(&'static str, Gateway)>,
}

impl Plant {
    pub(super) fn build() -> Result<Self, Failure> {
        let directory =
            tempfile::Builder::new().prefix("stoker-demo-").tempdir().map_err(no_place)?;
        let mut plant = Self { directory, gateways: Vec::new() };
        plant.git(&["init", "--quiet", "--initial-branch=main", "repo"])?;
        for name in GATEWAYS {
            for (path, content) in FILES {
                plant.write(&format!("services/{name}/{path}"), content)?;
            }
        }
        plant.commit("the plant as it is")?;
        fs::write(plant.path("key"), KEY).map_err(failed)?;
        let url = format!("file://{}", plant.path("repo").display());
        fs::write(plant.path("plant.yaml"), MANIFEST.replace("REPO", &url)).map_err(failed)?;
        for name in GATEWAYS {
            let data = plant.path(name);
            fs::create_dir(&data).map_err(failed)?;
            let gateway = Gateway::start(Options::over(data).token(KEY)).map_err(failed)?;
            plant.gateways.push((name, gateway));
        }
        Ok(plant)
    }

    /// Where a thing of the stage is.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Edits a file of the repository.
    pub(super) fn write(&self, path: &str, content: &str) -> Result<(), Failure> {
        let file = self.path("repo").join(path);
        fs::create_dir_all(file.parent().unwrap_or(Path::new("."))).map_err(failed)?;
        fs::write(file, content).map_err(failed)
    }

    /// Commits everything, and returns the short id.
    pub(super) fn commit(&self, message: &str) -> Result<String, Failure> {
        self.git(&["-C", "repo", "add", "--all"])?;
        self.git(&["-C", "repo", "commit", "--quiet", "--no-gpg-sign", "-m", message])?;
        self.git(&["-C", "repo", "rev-parse", "--short=7", "HEAD"])
    }

    /// Git as the operator would use it, without this user's own settings.
    fn git(&self, arguments: &[&str]) -> Result<String, Failure> {
        let output = Command::new("git")
            .current_dir(self.directory.path())
            .args(["-c", "user.name=Plant Operator", "-c", "user.email=operator@plant.example"])
            .args(arguments)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .output()
            .map_err(|error| Failure::world(Reason::GitMissing, &error).hint("install git"))?;
        if !output.status.success() {
            let words = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            return Err(failed(std::io::Error::other(words)));
        }
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }
}

#[expect(clippy::needless_pass_by_value, reason = "the shape that map_err takes")]
fn no_place(error: std::io::Error) -> Failure {
    let failure = Failure::world(Reason::DemoFailed, &error);
    let message = format!("failed to create a temporary directory: {}", failure.message);
    Failure { message, ..failure }.hint("name one that can be written to: TMPDIR=/tmp stoker demo")
}

#[expect(clippy::needless_pass_by_value, reason = "the shape that map_err takes")]
fn failed(error: std::io::Error) -> Failure {
    let failure = Failure::world(Reason::DemoFailed, &error);
    let message = format!("failed to set up the demo: {}", failure.message);
    let hint = "see what is free: df -h \"${TMPDIR:-/tmp}\"; then run it again";
    Failure { message, ..failure }.hint(hint)
}
