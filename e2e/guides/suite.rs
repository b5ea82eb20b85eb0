//! The commands and manifests of the documentation, word for word.
//!
//! The claims share one node and take turns. Each begins with an installation, and leaves no
//! GatewaySync behind. [`list`] says which commands run in other tests, and which in none.

#![expect(clippy::unwrap_used, reason = "a claim that can't go on has failed")]

#[path = "01-a-gateway-in-service/claim.rs"]
mod c01;
#[path = "02-installations-come-and-go/claim.rs"]
mod c02;
#[path = "03-credentials-of-git/claim.rs"]
mod c03;
#[path = "04-before-a-change/claim.rs"]
mod c04;
#[path = "05-manifests/claim.rs"]
mod c05;
#[path = "06-nothing-is-left-out/claim.rs"]
mod c06;
mod list;

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::symlink;
use std::sync::MutexGuard;

use stoker_e2e::Shared;
use stoker_testkit::git::{Edit, Tree};
use stoker_testkit::node::{Node, succeed};
use stoker_testkit::page::{Page, Shell, root};
use stoker_testkit::quickstart::{self, Quickstart};

const README: &str = "charts/stoker-operator/README.md";

/// Removes the namespaces of the pages, also where no operator removes finalizers.
const CLEAN: &str = "
left=(namespace/line-1 namespace/plant namespace/plants namespace/site1)
kubectl delete ${left[*]} --ignore-not-found --wait=false
fields='{range .items[*]}{.metadata.namespace} {.metadata.name}{\"\\n\"}{end}'
kubectl get gatewaysyncs --all-namespaces --output jsonpath=\"$fields\" --ignore-not-found |
while read -r namespace name; do
    kubectl patch gatewaysync $name --namespace $namespace --type=merge \
        --patch '{\"metadata\":{\"finalizers\":null}}'
done || true
kubectl delete podbootstraps --all || true
kubectl wait ${left[*]} --for=delete --timeout=90s
kubectl delete persistentvolume/line-1 storageclass/line-1 --ignore-not-found
";

/// A node with Stoker's images and a git server.
struct World {
    quickstart: Quickstart<'static>,
}

/// The world with Stoker installed, for one claim at a time; `None` where this machine can't have a
/// node.
fn world() -> Option<MutexGuard<'static, World>> {
    static WORLD: Shared<World> = Shared::new();
    let world = WORLD.get(World::begin)?;
    world.clean();
    world.install();
    Some(world)
}

impl World {
    fn begin(node: &'static Node) -> Self {
        let quickstart = Quickstart::begin(node, files());
        let repo = quickstart.repo();
        repo.git(["tag", "v2.0.3"]).unwrap();
        let line = Tree::new().file("projects/line-1/note.txt", "2.1.0");
        repo.commit(Edit::put(line)).unwrap();
        repo.git(["tag", "v2.1.0"]).unwrap();
        Self { quickstart }
    }

    /// Removes what a failed claim left.
    fn clean(&self) {
        let ran = self.quickstart.shell().run(CLEAN);
        assert_eq!(ran.code, 0, "{}", ran.output);
    }

    /// Installs Stoker as the chart's README says, unless it is installed.
    fn install(&self) {
        let installed = self.quickstart.try_helm("status stoker-operator -n stoker-system");
        if installed.is_err() {
            self.shell("install").follow(Page::read(README).section("stoker-operator"));
        }
    }

    fn node(&self) -> &'static Node {
        self.quickstart.node()
    }

    /// A shell in a new directory with the chart.
    fn shell(&self, name: &str) -> Shell {
        let directory = self.node().cluster().directory().join("guides").join(name);
        fs::remove_dir_all(&directory).ok(); // of an earlier claim, if any
        fs::create_dir_all(&directory).unwrap();
        symlink(root().join("charts"), directory.join("charts")).unwrap();
        let environment = self.quickstart.environment();
        Shell::new(directory).after(&format!(". {}", environment.display()))
    }

    fn kubectl(&self, words: &str) -> String {
        succeed(self.node().cluster().kubectl().args(words.split(' ')))
    }

    fn apply(&self, manifest: &str) {
        stoker_e2e::apply(self.node().cluster().kubectl(), manifest);
    }
}

/// A page whose commands are run, section by section. When this value is dropped, every section
/// with commands must have been followed, apart from those in [`list`].
struct Guide<'a> {
    shell: &'a Shell,
    page: Page,
    left: Vec<String>,
}

impl<'a> Guide<'a> {
    fn open(shell: &'a Shell, path: &str) -> Self {
        let page = Page::read(path);
        let titles = page.sections.iter().filter(|it| !it.script.is_empty()).map(|it| &it.title);
        let here = titles.filter(|title| list::elsewhere(path, title).is_none());
        let left = here.filter(|title| list::reason(path, title).is_none()).cloned().collect();
        Self { shell, page, left }
    }

    /// Puts something of the test in the place of an example of the page.
    fn with(mut self, example: &str, replacement: &str) -> Self {
        self.page = self.page.clone().with(example, replacement);
        self
    }

    fn follow(&mut self, title: &str) -> String {
        self.follow_to(title, 0)
    }

    /// Runs the commands of a section, of which the last ends with this exit code.
    fn follow_to(&mut self, title: &str, code: i32) -> String {
        let output = self.shell.follow_to(self.page.section(title), code);
        self.left.retain(|left| left != title);
        output
    }
}

impl Drop for Guide<'_> {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let Self { page, left, .. } = self;
            assert!(left.is_empty(), "{}: these sections were not followed: {left:?}", page.path);
        }
    }
}

/// The repository of all guides.
fn files() -> Tree {
    let mut files = quickstart::sample()
        .file("services/site/projects/site/project.json", r#"{"title": "Site"}"#)
        .file("services/area1/projects/area1/project.json", r#"{"title": "Area 1"}"#)
        .file("shared/projects/common/project.json", r#"{"title": "Common"}"#)
        .file("sites/north/projects/north/project.json", r#"{"title": "North"}"#)
        .file("sites/south/projects/south/project.json", r#"{"title": "South"}"#);
    let mut path = String::new();
    for number in 0..60 {
        path.clear();
        write!(path, "projects/press/views/v{number:02}/view.json").unwrap();
        files = files.file(&path, "{}");
    }
    files
}
