//! A namespace with the objects of one GatewaySync, a git server, volumes, and the agent.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::api::rbac::v1::PolicyRule;
use kube::api::{Api, DeleteParams, ObjectMeta, Patch, PatchParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use rustix::process::{Pid, Signal, kill_process};
use stoker_api::contract::env::Env;
use stoker_api::contract::metadata::Metadata;
use stoker_api::contract::report::Report;
use stoker_api::names::Annotation;
use stoker_testkit::cluster::{Cluster, Namespace, User};
use stoker_testkit::git::http::HttpServer;
use stoker_testkit::git::{Oid, Repo, Tree};
use stoker_testkit::object::announcement;
use stoker_testkit::process::{Guarded, command};
use stoker_testkit::proxy::FaultProxy;
use stoker_testkit::wait::eventually;
use tempfile::TempDir;
use tokio::runtime::Runtime;

pub(crate) const POD: &str = "plant-0";
const CR: &str = "plant";
const METADATA: &str = "stoker-metadata-plant";
const STATUS: &str = "stoker-status-plant-0";

/// Everything around one agent.
pub(crate) struct World {
    pub(crate) repo: Repo,
    pub(crate) server: HttpServer,
    pub(crate) root: TempDir,
    pub(crate) namespace: Namespace<'static>,
    user: User,
    runtime: Runtime,
    environment: BTreeMap<Env, String>,
}

/// A running agent.
pub(crate) struct Agent {
    pub(crate) program: Guarded,
    pub(crate) port: u16,
    log: Arc<Mutex<Vec<String>>>,
}

pub(crate) fn files() -> Tree {
    Tree::new()
        .file("projects/hmi/project.json", "{\"title\":\"hmi\"}")
        .file("projects/hmi/views/main.json", "{\"a\":1}")
        .file("README.md", "not mapped")
}

impl World {
    /// A repository with [`files`], its server, and volumes as the kubelet makes them.
    pub(crate) fn new() -> (Self, Oid) {
        let (repo, commit) = Repo::with(files()).unwrap();
        for (key, value) in [("allowFilter", "true"), ("allowAnySHA1InWant", "true")] {
            repo.config(&format!("uploadpack.{key}"), value).unwrap();
        }
        let server = HttpServer::start().unwrap();
        server.mount("plant", &repo);
        let root = tempfile::tempdir().unwrap();
        for (name, mode) in [("data", 0o755), ("repo", 0o777), ("pod", 0o755)] {
            let path = root.path().join(name);
            fs::create_dir(&path).unwrap();
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        }
        let runtime = Runtime::new().unwrap();
        let cluster = Cluster::shared();
        let namespace = cluster.namespace();
        let user = runtime.block_on(cluster.user(&namespace, rights()));
        let path = |name: &str| root.path().join(name).display().to_string();
        let environment = BTreeMap::from([
            (Env::PodName, POD.to_owned()),
            (Env::PodNamespace, namespace.name().to_owned()),
            (Env::PodUid, "uid-1".to_owned()),
            (Env::CrName, CR.to_owned()),
            (Env::CrNamespace, namespace.name().to_owned()),
            (Env::RepoPath, path("repo")),
            (Env::DataPath, path("data")),
            (Env::HealthPort, "0".to_owned()),
            (Env::MetricsPort, "0".to_owned()),
        ]);
        let world = Self { repo, server, root, namespace, user, runtime, environment };
        (world, commit)
    }

    pub(crate) fn set(&mut self, name: Env, value: impl Into<String>) {
        self.environment.insert(name, value.into());
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    pub(crate) fn data(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.path("data").join(name)).ok()
    }

    fn objects(&self) -> Api<ConfigMap> {
        let client = self.runtime.block_on(Cluster::shared().client());
        Api::namespaced(client, self.namespace.name())
    }

    fn apply(&self, name: &str, data: Option<BTreeMap<String, String>>, wanted: Option<&str>) {
        let annotations = wanted.map(|wanted| {
            BTreeMap::from([(Annotation::ReportsWanted.to_string(), wanted.to_owned())])
        });
        let metadata =
            ObjectMeta { name: Some(name.to_owned()), annotations, ..ObjectMeta::default() };
        let object = ConfigMap { metadata, data, ..ConfigMap::default() };
        let parameters = PatchParams::apply("stoker-controller").force();
        let objects = self.objects();
        let patch = Patch::Apply(&object);
        self.runtime.block_on(objects.patch(name, &parameters, &patch)).unwrap();
    }

    /// What the controller announces for a commit of this world's repository.
    pub(crate) fn metadata(&self, commit: &Oid) -> Metadata {
        let mut metadata = announcement(&self.server.url("plant"), commit.as_str());
        for profile in metadata.profiles.values_mut() {
            profile.sync_period = 5;
        }
        metadata
    }

    /// Announces as the controller does.
    pub(crate) fn publish(&self, metadata: &Metadata) {
        self.publish_data(metadata.to_data().unwrap());
    }

    /// Announces something that may not be an announcement.
    pub(crate) fn publish_data(&self, data: BTreeMap<String, String>) {
        self.apply(METADATA, Some(data), None);
    }

    /// Makes the status object as the controller does.
    pub(crate) fn make_status(&self) {
        self.apply(STATUS, None, None);
    }

    /// Deletes the status object, makes it again, and says so.
    pub(crate) fn remake_status(&self, metadata: &Metadata) {
        let objects = self.objects();
        self.runtime.block_on(objects.delete(STATUS, &DeleteParams::default())).unwrap();
        self.make_status();
        self.apply(METADATA, Some(metadata.to_data().unwrap()), Some("again"));
    }

    /// Deletes both objects, as happens when a GatewaySync is deleted.
    pub(crate) fn delete_objects(&self) {
        let objects = self.objects();
        for name in [METADATA, STATUS] {
            self.runtime.block_on(objects.delete(name, &DeleteParams::default())).unwrap();
        }
    }

    /// Returns how many ConfigMaps of the GatewaySync there are.
    pub(crate) fn count_objects(&self) -> usize {
        let objects = self.objects();
        let exists = |name: &&str| self.runtime.block_on(objects.get_opt(name)).unwrap().is_some();
        [METADATA, STATUS].iter().filter(|name| exists(name)).count()
    }

    /// The agent's report, if it has written one.
    pub(crate) fn report(&self) -> Option<Report> {
        let object = self.runtime.block_on(self.objects().get_opt(STATUS)).unwrap()?;
        let value = object.data?.remove(POD)?;
        Some(Report::from_value(POD, &value).unwrap())
    }

    /// Waits for a report.
    #[track_caller]
    pub(crate) fn wait_report(&self, what: &str, holds: impl Fn(&Report) -> bool) -> Report {
        let mut last = None;
        let waited = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            eventually(what, || {
                last = self.report();
                last.as_ref().is_some_and(&holds)
            });
        }));
        assert!(waited.is_ok(), "{what}: {last:?}");
        last.unwrap()
    }

    /// The agent's way to the API server.
    pub(crate) fn config(&self) -> kube::Config {
        let file = Kubeconfig::read_from(self.user.kubeconfig()).unwrap();
        let options = KubeConfigOptions::default();
        self.runtime.block_on(kube::Config::from_custom_kubeconfig(file, &options)).unwrap()
    }

    /// Starts the agent as a container does.
    pub(crate) fn start(&self) -> Agent {
        self.start_with(self.user.kubeconfig())
    }

    /// Starts the agent behind a proxy of the API server.
    pub(crate) fn start_through(&self, proxy: &FaultProxy) -> Agent {
        let kubeconfig = self.path("kubeconfig");
        fs::write(&kubeconfig, proxy.kubeconfig()).unwrap();
        self.start_with(&kubeconfig)
    }

    fn start_with(&self, kubeconfig: &Path) -> Agent {
        let mut program = command(env!("CARGO_BIN_EXE_stoker-agent")).unwrap();
        program.env("KUBECONFIG", kubeconfig).env("STOKER_LOG_LEVEL", "debug,hyper=info");
        program.envs(self.environment.iter().map(|(name, value)| (name.as_str(), value)));
        program.arg("--pod-info").arg(self.path("pod"));
        program.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut program = Guarded::spawn(program).unwrap();
        let log = Arc::new(Mutex::new(Vec::new()));
        let lines = BufReader::new(program.take_stderr().unwrap()).lines();
        let kept = Arc::clone(&log);
        std::thread::spawn(move || {
            lines.map_while(Result::ok).for_each(|line| kept.lock().unwrap().push(line));
        });
        let mut agent = Agent { program, port: 0, log };
        eventually("the agent serves probes", || {
            agent.port = agent.find_port().unwrap_or(0);
            agent.port != 0
        });
        agent
    }
}

impl Agent {
    fn find_port(&self) -> Option<u16> {
        let log = self.log.lock().unwrap();
        let line = log.iter().find(|line| line.contains("serving probes"))?;
        let (_, after) = line.split_once("\"port\":")?;
        after.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
    }

    pub(crate) fn log(&self) -> String {
        self.log.lock().unwrap().join("\n")
    }

    /// Asks a probe: the status and the body.
    pub(crate) fn probe(&self, path: &str) -> (u16, String) {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: agent\r\n\r\n").unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).unwrap();
        let status = response.split(' ').nth(1).unwrap().parse().unwrap();
        let body = response.split_once("\r\n\r\n").unwrap().1.trim().to_owned();
        (status, body)
    }

    #[track_caller]
    pub(crate) fn wait_started(&self) {
        eventually("startup passes", || self.probe("/startupz").0 == 200);
    }

    /// Asks it to end, as the kubelet does.
    pub(crate) fn terminate(&self) {
        let pid = i32::try_from(self.program.program_pid().unwrap()).unwrap();
        kill_process(Pid::from_raw(pid).unwrap(), Signal::TERM).unwrap();
    }

    /// Waits until it has ended.
    #[track_caller]
    pub(crate) fn wait_end(&mut self) {
        eventually("it ends", || self.program.try_wait().unwrap().is_some());
    }

    /// Returns the worker's process id, as this machine numbers it.
    pub(crate) fn worker(&self) -> Option<u32> {
        let supervisor = self.program.program_pid()?;
        let children = fs::read_to_string(format!("/proc/{supervisor}/task/{supervisor}/children"));
        children.ok()?.split_ascii_whitespace().next()?.parse().ok()
    }
}

/// The rights of an agent, as the controller binds them.
fn rights() -> Vec<PolicyRule> {
    let rule = |name: &str, verbs: &[&str]| PolicyRule {
        api_groups: Some(vec![String::new()]),
        resources: Some(vec!["configmaps".to_owned()]),
        resource_names: Some(vec![name.to_owned()]),
        verbs: verbs.iter().map(ToString::to_string).collect(),
        ..PolicyRule::default()
    };
    vec![rule(METADATA, &["get", "list", "watch"]), rule(STATUS, &["get", "patch"])]
}

/// Writes the downward-API volume as the kubelet does.
pub(crate) fn write_pod(directory: &Path, version: &str, annotations: &[(Annotation, &str)]) {
    let files = directory.join(version);
    fs::create_dir(&files).unwrap();
    let lines = annotations.iter().map(|(name, value)| format!("{name}={value:?}\n"));
    fs::write(files.join("annotations"), lines.collect::<String>()).unwrap();
    fs::write(files.join("labels"), "").unwrap();
    for name in ["annotations", "labels"] {
        std::os::unix::fs::symlink(format!("..data/{name}"), directory.join(name)).ok();
    }
    let next = directory.join("..next");
    std::os::unix::fs::symlink(version, &next).unwrap();
    fs::rename(next, directory.join("..data")).unwrap();
}
