//! What `docs/quickstart.md` starts from, and its commands, run word for word.
//!
//! A node with Stoker's images, a git server that pods and people reach by one URL, and the
//! environment in which the page's commands work. Nothing is installed here: the page does that.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io;
use std::ops::RangeInclusive;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::cluster;
use crate::git::http::{Access, HttpServer};
use crate::git::{Repo, Tree};
use crate::node::{Cut, Exposed, Node};
use crate::page::{Page, Section, Shell, root};
use crate::program::{self, Program};

/// The namespace that the page makes for its gateway.
pub const NAMESPACE: &str = "plant";
/// The page's GatewaySync.
pub const SYNC: &str = "plant";
/// The pod of the page's gateway.
pub const POD: &str = "ignition-gateway-0";
/// The namespace that the page installs the operator in.
pub const OPERATOR_NAMESPACE: &str = "stoker-system";
/// The kinds of an installation's objects that are in no namespace; the definitions stay.
pub const CLUSTER_KINDS: &str = "clusterroles,clusterrolebindings,\
    mutatingwebhookconfigurations,validatingwebhookconfigurations,\
    validatingadmissionpolicies,validatingadmissionpolicybindings";
/// The Deployment of the operator.
pub const OPERATOR: &str = "stoker-operator-controller-manager";

/// The name of the sample repository on its server.
const REPOSITORY: &str = "plant";

/// A node on which the quickstart can be followed.
#[derive(Debug)]
#[must_use = "the git server ends when this value is dropped"]
pub struct Quickstart<'a> {
    node: &'a Node,
    repo: Repo,
    _server: HttpServer,
    exposed: Exposed,
    url: String,
    directory: PathBuf,
    /// A cluster has room for one installation, so those who want one take turns.
    _turn: File,
}

/// A section whose commands succeeded.
#[derive(Debug)]
pub struct Passed {
    /// Which one.
    pub section: Section,
    /// What its commands printed.
    pub output: String,
    /// How long they took.
    pub took: Duration,
}

/// Returns the sections of the page with these numbers, such as `3. Say what goes where`.
pub fn sections(numbers: RangeInclusive<u32>) -> Vec<Section> {
    let is_wanted = |section: &Section| {
        let number = section.title.split_once(". ").and_then(|(number, _)| number.parse().ok());
        number.is_some_and(|number| numbers.contains(&number))
    };
    Page::read("docs/quickstart.md").sections.into_iter().filter(is_wanted).collect()
}

/// Returns the files of the sample repository.
pub fn sample() -> Tree {
    let view = r#"{"root": {"type": "ia.container.coord"}}"#;
    let resource = r#"{"scope": "G", "version": 1, "files": ["view.json"]}"#;
    let views = "projects/line-1/com.inductiveautomation.perspective/views/Overview";
    Tree::new()
        .file("README.md", "# A plant\n\nNever commit `.resources`: it is the gateway's own.\n")
        .file("projects/line-1/project.json", r#"{"title": "Line 1", "enabled": true}"#)
        .file(format!("{views}/view.json"), view)
        .file(format!("{views}/resource.json"), resource)
}

impl<'a> Quickstart<'a> {
    /// Waits for its turn, loads the images, serves a repository with these files, and removes an
    /// earlier installation.
    ///
    /// # Panics
    /// When an image can't be loaded or a file can't be written.
    pub fn begin(node: &'a Node, files: Tree) -> Self {
        let directory = node.cluster().directory().join("quickstart");
        let turn = take_turn(&directory).expect("the cluster's directory is ours");
        crate::images::load(node);
        let (repo, _) = Repo::with(files).expect("git writes a repository");
        let server = HttpServer::start().expect("a loopback port");
        server.grant(Access::Write);
        let outside = server.mount(REPOSITORY, &repo);
        let exposed = node.expose(server.address());
        let url = format!("http://{}/{REPOSITORY}.git", exposed.address());
        let quickstart = Self { node, repo, _server: server, exposed, url, directory, _turn: turn };
        quickstart.write_environment(&outside).expect("the cluster's directory is ours");
        quickstart.reset();
        quickstart
    }

    /// The node.
    pub fn node(&self) -> &'a Node {
        self.node
    }

    /// The repository that the page's GatewaySync names.
    pub fn repo(&self) -> &Repo {
        &self.repo
    }

    /// Its URL, as pods have it.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Closes every connection of pods to the git server until the returned value is dropped.
    pub fn cut_git(&self) -> Cut<'_> {
        self.exposed.cut()
    }

    /// A file to source in a shell, in which the page's commands then work.
    pub fn environment(&self) -> PathBuf {
        self.directory.join("env")
    }

    /// Runs the commands of these sections, each section in a shell of its own.
    ///
    /// # Panics
    /// When a command fails: with its output, and what the cluster knows.
    pub fn run(&self, numbers: RangeInclusive<u32>) -> Vec<Passed> {
        self.try_run(numbers).unwrap_or_else(|output| panic!("{output}\n{}", self.explain()))
    }

    /// Runs the commands of these sections; returns the output of the section that fails.
    pub fn try_run(&self, numbers: RangeInclusive<u32>) -> Result<Vec<Passed>, String> {
        let run = |section: Section| {
            let started = Instant::now();
            let title = &section.title;
            let output =
                self.traced(&section.script).map_err(|output| format!("{title}: {output}"))?;
            Ok(Passed { section, output, took: started.elapsed() })
        };
        sections(numbers).into_iter().map(run).collect()
    }

    /// `kubectl` in the namespace of the gateway.
    pub fn kubectl(&self) -> Command {
        let mut command = self.node.cluster().kubectl();
        command.args(["--namespace", NAMESPACE]);
        command
    }

    /// The data directory of the gateway, seen from outside the node.
    ///
    /// # Panics
    /// When the gateway has no pod.
    pub fn data_directory(&self) -> PathBuf {
        let pod =
            self.kubectl().args(["get", "pod", POD, "--output=jsonpath={.metadata.uid}"]).output();
        let uid = String::from_utf8_lossy(&pod.expect("kubectl is there").stdout).into_owned();
        assert!(!uid.is_empty(), "pod {POD} does not exist");
        let pods = self.node.cluster().directory().join("kubelet/pods");
        pods.join(uid).join("volumes/kubernetes.io~empty-dir/data")
    }

    /// Runs `helm` with these words as arguments.
    ///
    /// # Panics
    /// When it fails: with its output, and what the cluster knows.
    pub fn helm(&self, arguments: &str) {
        if let Err(output) = self.try_helm(arguments) {
            panic!("helm {arguments}: {output}\n{}", self.explain());
        }
    }

    /// Runs `helm` with these words as arguments; returns its output, also when it fails.
    pub fn try_helm(&self, arguments: &str) -> Result<String, String> {
        self.traced(&format!("helm {arguments}"))
    }

    /// A shell in the root of the checkout, with the page's environment.
    pub fn shell(&self) -> Shell {
        Shell::new(root()).after(&format!(". {}", self.environment().display()))
    }

    /// Runs a script and returns what it printed, commands included.
    fn traced(&self, script: &str) -> Result<String, String> {
        let ran = self.shell().after("set -x").run(script);
        if ran.code == 0 { Ok(ran.output) } else { Err(ran.output) }
    }

    /// Removes the installation and the gateway, also those that an earlier run left.
    ///
    /// # Panics
    /// When something can't be removed.
    pub fn reset(&self) {
        let script = format!(
            "helm uninstall stoker-operator --namespace {OPERATOR_NAMESPACE} --no-hooks --ignore-not-found\n\
             kubectl delete {CLUSTER_KINDS} --selector=app.kubernetes.io/instance=stoker-operator --ignore-not-found\n\
             kubectl delete namespace {NAMESPACE} {OPERATOR_NAMESPACE} --ignore-not-found --wait=false\n\
             for sync in $(kubectl get gatewaysyncs --namespace {NAMESPACE} --output=name --ignore-not-found); do\n\
             kubectl patch $sync --namespace {NAMESPACE} --type=merge --patch '{{\"metadata\":{{\"finalizers\":null}}}}'\n\
             done || true\n\
             kubectl wait namespace/{NAMESPACE} namespace/{OPERATOR_NAMESPACE} --for=delete --timeout=2m\n"
        );
        if let Err(output) = self.traced(&script) {
            panic!("an earlier installation can't be removed: {output}");
        }
    }

    /// What a person would look at when a command of the page fails.
    fn explain(&self) -> String {
        let pods = format!("logs {POD} --all-containers --prefix --tail=40");
        let operator = format!("logs deployment/{OPERATOR} -n {OPERATOR_NAMESPACE} --tail=60");
        let questions = [
            "get pods,events --all-namespaces",
            "get gatewaysyncs,configmaps --output=yaml",
            "describe pods",
            &pods,
            &operator,
        ];
        let mut text = String::new();
        for question in questions {
            let answer = self.kubectl().args(question.split(' ')).output();
            let answer =
                answer.map(|output| [output.stdout, output.stderr].concat()).unwrap_or_default();
            writeln!(text, "$ kubectl {question}\n{}", String::from_utf8_lossy(&answer))
                .expect("a string takes any text");
        }
        text
    }

    fn write_environment(&self, outside: &str) -> io::Result<()> {
        let (directory, cluster) = (&self.directory, self.node.cluster());
        let programs = directory.join("bin");
        fs::create_dir_all(&programs)?;
        for program in [Program::Kubectl, Program::Helm] {
            let found = program::locate(program).map_err(io::Error::other)?;
            link(&found, &programs.join(program.file_name()))?;
        }
        // Built together with the tests.
        link(&cluster::program().with_file_name("stoker"), &programs.join("stoker"))?;
        let prefix = |url: &str| url.trim_end_matches(&format!("{REPOSITORY}.git")).to_owned();
        let (outside, inside) = (prefix(outside), prefix(&self.url));
        let git = format!(
            "[user]\n\tname = Quickstart\n\temail = quickstart@example.com\n\
             [url \"{outside}\"]\n\tinsteadOf = {inside}\n"
        );
        fs::write(directory.join("gitconfig"), git)?;
        let helm = cluster.directory().join("helm").display().to_string();
        let directory = directory.display();
        let text = format!(
            "export KUBECONFIG={}\n\
             export PATH={directory}/bin:$PATH\n\
             export HELM_CACHE_HOME={helm}/cache HELM_CONFIG_HOME={helm}/config HELM_DATA_HOME={helm}/data\n\
             # Pods reach the git server by one address, this machine by another.\n\
             export GIT_CONFIG_GLOBAL={directory}/gitconfig\n\
             export REPO={}\n",
            cluster.kubeconfig().display(),
            self.url,
        );
        fs::write(self.environment(), text)
    }
}

/// The lock ends with the file that is returned, and so with its process.
fn take_turn(directory: &Path) -> io::Result<File> {
    fs::create_dir_all(directory)?;
    let file = File::create(directory.join("lock"))?;
    file.lock()?;
    Ok(file)
}

/// Makes a link, also in the place of an older one.
fn link(target: &Path, link: &Path) -> io::Result<()> {
    fs::remove_file(link).or_else(ignore_missing)?;
    symlink(target, link)
}

fn ignore_missing(error: io::Error) -> io::Result<()> {
    if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_goes_from_installation_to_removal() {
        let sections = sections(1..=6);
        let numbers: Vec<&str> = sections.iter().map(|section| &section.title[..2]).collect();
        assert_eq!(numbers, ["1.", "2.", "3.", "4.", "5.", "6."]);
        assert!(sections[0].script.starts_with("helm install "), "{}", sections[0].script);
        assert!(sections[4].script.contains("push"), "{}", sections[4].script);
        assert!(sections[5].script.starts_with("helm uninstall "), "{}", sections[5].script);
    }
}
