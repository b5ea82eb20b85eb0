//! The versions that the test cluster is built from: Go modules of ours that hold nothing but pins.

use std::env;

use stoker_image::sha256;

use super::Program;

/// The variable that chooses another Kubernetes than the usual one.
const CHOICE: &str = "STOKER_KUBERNETES";

/// One Go module under `tools/cluster/`, read at compile time.
#[derive(Debug)]
pub(super) struct Pin {
    /// The directory below `tools/cluster/`.
    pub(super) directory: &'static str,
    /// The module whose version names the programs built from it.
    module: &'static str,
    go_mod: &'static str,
    go_sum: &'static str,
}

macro_rules! pin {
    ($directory:literal, $module:literal) => {
        Pin {
            directory: $directory,
            module: $module,
            go_mod: include_str!(concat!("../../../../tools/cluster/", $directory, "/go.mod")),
            go_sum: include_str!(concat!("../../../../tools/cluster/", $directory, "/go.sum")),
        }
    };
}

static KUBERNETES: Pin = pin!("kubernetes", "k8s.io/kubernetes");
/// The newest, for the claims that need a node.
static NEWEST: Pin = pin!("kubernetes-1.36", "k8s.io/kubernetes");
/// The oldest that we support. It has no node: not all of its modules are in the registry.
static OLDEST: Pin = pin!("kubernetes-1.30", "k8s.io/kubernetes");
static ETCD: Pin = pin!("etcd", "go.etcd.io/etcd/server/v3");
static HELM: Pin = pin!("helm", "helm.sh/helm/v3");
static PROMETHEUS: Pin = pin!("prometheus", "github.com/prometheus/prometheus");
static COREDNS: Pin = pin!("coredns", "github.com/coredns/coredns");

/// The pin that a program is built from.
pub(super) fn of(program: Program) -> &'static Pin {
    match program {
        Program::Etcd => &ETCD,
        Program::CoreDns => &COREDNS,
        Program::Helm => &HELM,
        Program::Promtool => &PROMETHEUS,
        Program::ApiServer | Program::ControllerManager | Program::Kubectl => chosen(),
        Program::Scheduler | Program::Kubelet | Program::KubeProxy => {
            if chosen().version() == OLDEST.version() { &KUBERNETES } else { chosen() }
        }
    }
}

/// The Kubernetes that `STOKER_KUBERNETES` names by its minor version, such as `1.36`.
fn chosen() -> &'static Pin {
    let wanted = env::var(CHOICE).unwrap_or_default();
    named(&wanted).unwrap_or_else(|| panic!("{CHOICE}={wanted}: must be 1.30, 1.34 or 1.36"))
}

fn named(minor: &str) -> Option<&'static Pin> {
    match minor {
        "" | "1.34" => Some(&KUBERNETES),
        "1.36" => Some(&NEWEST),
        "1.30" => Some(&OLDEST),
        _ => None,
    }
}

/// The package that `go build` is given.
pub(super) fn package(program: Program) -> String {
    match program {
        Program::Etcd | Program::CoreDns => of(program).module.to_owned(),
        Program::Helm => "helm.sh/helm/v3/cmd/helm".to_owned(),
        Program::Promtool => "github.com/prometheus/prometheus/cmd/promtool".to_owned(),
        _ => format!("k8s.io/kubernetes/cmd/{}", program.file_name()),
    }
}

impl Pin {
    /// The pinned version without its `v`.
    pub(super) fn version(&self) -> &'static str {
        let needle = format!("{} v", self.module);
        self.go_mod
            .lines()
            .filter(|line| !line.contains("=>"))
            .find_map(|line| line.trim().trim_start_matches("require ").strip_prefix(&needle))
            .and_then(|rest| rest.split_whitespace().next())
            .expect("a pin requires the module that it is for")
    }

    /// Changes whenever any version below it does.
    pub(super) fn hash(&self) -> String {
        sha256(&[self.go_mod.as_bytes(), self.go_sum.as_bytes()])[..12].to_owned()
    }

    /// Whether a program's own version text is of our minor version.
    pub(super) fn accepts(&self, text: &str) -> bool {
        let minor = self.version().splitn(3, '.').take(2).collect::<Vec<_>>().join(".");
        text.split(|c: char| !(c.is_ascii_digit() || c == '.'))
            .any(|word| word.strip_prefix(&minor).is_some_and(|rest| rest.starts_with('.')))
    }

    /// Linker flags: without its version stamped in, Kubernetes calls itself v0.0.0 and version
    /// checks between its parts go wrong; Helm renders charts for Kubernetes 1.20.
    pub(super) fn linker_flags(&self) -> String {
        let version = format!("v{}", self.version());
        let is_kubernetes = self.module == KUBERNETES.module;
        let kubernetes = if is_kubernetes { self } else { &KUBERNETES };
        let mut parts = kubernetes.version().split('.');
        let (major, minor) = (parts.next().unwrap_or("1"), parts.next().unwrap_or("0"));
        let stamps: &[(&str, &str)] = match self.directory {
            _ if is_kubernetes => &[
                ("k8s.io/component-base/version.gitVersion", &version),
                ("k8s.io/component-base/version.gitMajor", major),
                ("k8s.io/component-base/version.gitMinor", minor),
                ("k8s.io/component-base/version.gitTreeState", "clean"),
            ],
            "helm" => &[
                ("helm.sh/helm/v3/internal/version.version", &version),
                ("helm.sh/helm/v3/pkg/chartutil.k8sVersionMajor", major),
                ("helm.sh/helm/v3/pkg/chartutil.k8sVersionMinor", minor),
                ("helm.sh/helm/v3/pkg/lint/rules.k8sVersionMajor", major),
                ("helm.sh/helm/v3/pkg/lint/rules.k8sVersionMinor", minor),
            ],
            "prometheus" => &[("github.com/prometheus/common/version.Version", self.version())],
            _ => &[],
        };
        let stamps = stamps.iter().map(|(name, value)| format!(" -X {name}={value}"));
        std::iter::once("-s -w".to_owned()).chain(stamps).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pin_names_its_version() {
        assert_eq!(KUBERNETES.version(), "1.34.4");
        assert_eq!(NEWEST.version(), "1.36.3");
        assert_eq!(OLDEST.version(), "1.30.14");
        assert_eq!(ETCD.version(), "3.6.4");
        assert_eq!(COREDNS.version(), "1.15.0");
        assert_eq!(HELM.version(), "3.22.0");
        assert_eq!(PROMETHEUS.version(), "0.307.3");
    }

    #[test]
    fn a_kubernetes_is_chosen_by_its_minor_version() {
        let version = |minor| named(minor).map(Pin::version);
        assert_eq!(version(""), Some("1.34.4"));
        assert_eq!(version("1.30"), Some("1.30.14"));
        assert_eq!(version("1.36"), Some("1.36.3"));
        assert_eq!(version("1.29"), None);
        assert!(OLDEST.linker_flags().contains("gitMinor=30"), "{}", OLDEST.linker_flags());
    }

    #[test]
    fn only_our_minor_version_is_accepted_from_path() {
        assert!(KUBERNETES.accepts("Kubernetes v1.34.9"));
        assert!(!KUBERNETES.accepts("Client Version: v1.32.4-dispatcher"));
        assert!(!KUBERNETES.accepts("Kubernetes v1.3"));
        assert!(ETCD.accepts("etcd Version: 3.6.1\nGit SHA: x\nGo Version: go1.23"));
    }
}
