//! Tests the commands of docs/install.md on a real API server with kube-scheduler, kube-controller-manager and KWOK.
//!
//! - Processes with the flags and accounts of the Deployments replace the pods. `EXAMPLES=overwrite` writes the page.

use crate::cli::document::here;
use crate::install::document::{Typist, played};
use crate::parts::installed::InstalledParts;
use crate::parts::place::Place;
use crate::parts::programs::PartPrograms;
use crate::turn::{self, ClusterTurn};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use taintward_envtest::{Account, Binaries, Cluster, ClusterConfig, binaries};
use tokio::runtime::Runtime;

const TEST: &str = "the_page_leads_from_nothing_to_a_pool_and_back";

/// Everything that the page needs, or why there is none.
fn needed() -> Option<(ClusterTurn, PathBuf)> {
    let tools = turn::for_test(TEST)?;
    binaries::KWOK.for_test(TEST)?;
    Some((tools, binaries::HELM.for_test(TEST)?))
}

#[test]
fn the_page_leads_from_nothing_to_a_pool_and_back() {
    let Some((tools, helm)) = needed() else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let place = runtime.block_on(Place::real(&tools));
    let mut programs = PartPrograms::start(&place, &tools);
    let path = here("../../docs/install.md");
    let page = fs::read_to_string(&path).unwrap();
    let mut desk = InstallDesk::set(&place, &tools, &helm, &runtime);
    let anew = played(&page, &mut desk);
    programs.expect_running();
    assert_eq!(desk.elsewhere, 2, "Helm, and manifests as they are");
    if std::env::var("EXAMPLES").as_deref() == Ok("overwrite") {
        fs::write(path, anew).unwrap();
    } else {
        let differs = anew.lines().zip(page.lines()).find(|(anew, kept)| anew != kept);
        assert!(
            anew == page,
            "docs/install.md shows something else: {differs:?}\n\
             write it again: EXAMPLES=overwrite cargo test -p taintward --test cluster install_story"
        );
    }
}

/// A node that API servers run on, and their endpoint, which one on loopback does not have. No pods run there.
const CONTROL_PLANE: &str = "apiVersion: v1
kind: Node
metadata: {name: cp1, labels: {node-role.kubernetes.io/control-plane: \"\"}}
spec: {unschedulable: true}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: cp1, namespace: default, labels: {kubernetes.io/service-name: kubernetes}}
addressType: IPv4
endpoints: [{addresses: [192.0.2.10]}]
ports: [{name: https, port: 6443}]
";

/// A folder with the checkout's `deploy` in it, and a path with the programs of the page.
struct InstallDesk<'p> {
    place: &'p Place,
    tools: &'p Binaries,
    runtime: &'p Runtime,
    installed: Option<InstalledParts>,
    /// Scripts that were about another cluster.
    elsewhere: usize,
}

impl<'p> InstallDesk<'p> {
    fn set(place: &'p Place, tools: &'p Binaries, helm: &Path, runtime: &'p Runtime) -> Self {
        let programs = place.folder.join("bin");
        fs::create_dir_all(&programs).unwrap();
        let kubectl = tools.path("kubectl").unwrap();
        let taintward = Path::new(env!("CARGO_BIN_EXE_taintward"));
        for (name, path) in [("kubectl", &*kubectl), ("helm", helm), ("taintward", taintward)] {
            symlink(path, programs.join(name)).unwrap();
        }
        symlink(here("../../deploy").canonicalize().unwrap(), place.folder.join("deploy")).unwrap();
        let desk = Self { place, tools, runtime, installed: None, elsewhere: 0 };
        fs::write(place.folder.join("control-plane.yaml"), CONTROL_PLANE).unwrap();
        desk.must("kubectl create -f control-plane.yaml", &place.kubeconfig);
        let status = r#"{"status":{"addresses":[{"type":"InternalIP","address":"192.0.2.10"}]}}"#;
        let patch = format!("kubectl patch node cp1 --subresource=status --type=merge --patch='{status}'");
        desk.must(&patch, &place.kubeconfig);
        desk
    }

    /// What a shell makes of it, which gives up at the first command that fails.
    fn shell(&self, text: &str, kubeconfig: &Path) -> Output {
        let own = std::env::var("PATH").unwrap_or_default();
        let mut command = Command::new("bash");
        command.args(["-euo", "pipefail", "-c", text]).current_dir(&self.place.folder);
        command.env("PATH", format!("{}:{own}", self.place.folder.join("bin").display()));
        command.env("KUBECONFIG", kubeconfig).env("HOME", &self.place.folder);
        command.stdin(Stdio::null()).output().unwrap()
    }

    fn must(&self, text: &str, kubeconfig: &Path) {
        let done = self.shell(text, kubeconfig);
        let message = String::from_utf8_lossy(&[done.stdout, done.stderr].concat()).into_owned();
        assert!(done.status.success(), "{text}{message}");
    }

    /// Pods that run their programs; and the certificate that another tool, such as cert-manager, might have created.
    fn bring_to_life(&mut self) {
        self.installed = Some(InstalledParts::at_work(self.place, &self.tools.path("kubectl").unwrap()));
        let secret = "kubectl --namespace taintward-system create secret generic mine --from-literal=ca.crt=";
        let text = format!(
            "{secret}\"$(kubectl config view --raw --minify --flatten \
             -o jsonpath='{{.clusters[0].cluster.certificate-authority-data}}' | base64 --decode)\""
        );
        self.must(&text, &self.place.kubeconfig);
    }
}

impl Typist for InstallDesk<'_> {
    fn line(&mut self, typed: &str) -> String {
        let done = self.shell(typed, &self.place.kubeconfig);
        if typed.starts_with("taintward install --image") && done.status.success() {
            self.bring_to_life();
        }
        if typed.contains("delete dedicatedpool") {
            self.installed.as_mut().unwrap().expect_running();
        }
        String::from_utf8([done.stdout, done.stderr].concat()).unwrap()
    }

    fn script(&mut self, text: &str, remark: &str) {
        if remark.is_empty() {
            return self.must(text, &self.place.kubeconfig);
        }
        self.elsewhere += 1;
        let cluster = self.runtime.block_on(Cluster::start(self.tools, ClusterConfig::default())).unwrap();
        self.must(text, &cluster.kubeconfig(Account::Admin, 0));
    }

    fn file(&mut self, name: &str, text: &str) {
        fs::write(self.place.folder.join(name), text).unwrap();
    }
}
