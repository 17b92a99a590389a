//! Runs the program and kubectl as admin against an installation on a real API server.

use super::objects::install;
use serde_json::Value;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use taintward_envtest::Cluster;

/// Accounts, a namespace in which they act, and the list that is kept of it.
pub(crate) const RULES_OF: [(&str, &str, &str); 4] = [
    ("taintward", "taintward-system", "rbac-controller-own"),
    ("taintward", "default", "rbac-controller"),
    ("taintward-webhook", "taintward-system", "rbac-webhook-own"),
    ("taintward-webhook", "default", "rbac-webhook"),
];

pub(crate) struct InstalledCluster<'c> {
    cluster: &'c Cluster,
    kubeconfig: PathBuf,
}

impl<'c> InstalledCluster<'c> {
    pub(crate) fn on(cluster: &'c Cluster, kubeconfig: PathBuf) -> Self {
        Self { cluster, kubeconfig }
    }

    fn run(&self, arguments: &[&str]) -> (bool, String, String) {
        self.run_with(&[arguments, &["--api-server-cidr=0.0.0.0/0,::/0"]].concat())
    }

    /// The output, and the warnings, without the networks of the API servers.
    pub(crate) fn reported(&self, arguments: &[&str]) -> (String, String) {
        let (success, message, warned) = self.run_with(arguments);
        assert!(success, "{arguments:?}: {message}{warned}");
        (message, warned)
    }

    fn run_with(&self, arguments: &[&str]) -> (bool, String, String) {
        let output = install(arguments).env("KUBECONFIG", &self.kubeconfig).output().unwrap();
        let [message, warned] = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
        (output.status.success(), message, warned)
    }

    /// The output of a success without a warning. API servers are everywhere.
    pub(crate) fn done(&self, arguments: &[&str]) -> String {
        let (success, message, warned) = self.run(arguments);
        assert!(success && warned.is_empty(), "{arguments:?}: {message}{warned}");
        message
    }

    /// What is printed, and what is wrong.
    pub(crate) fn failed(&self, arguments: &[&str]) -> (String, String) {
        let (success, message, warned) = self.run(arguments);
        assert!(!success, "{arguments:?}: {message}{warned}");
        (message, warned)
    }

    fn request(&self, arguments: &[&str], input: &str) -> (String, String) {
        let kubectl = taintward_envtest::Binaries::find().unwrap().path("kubectl").unwrap();
        let mut command = Command::new(kubectl);
        command.env("KUBECONFIG", &self.kubeconfig).env("HOME", self.cluster.folder());
        command.args(arguments).arg("--request-timeout=60s");
        let pipes = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = pipes.spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        let [message, warned] = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
        (message, warned)
    }

    /// What kubectl says, and what it warns of.
    pub(crate) fn kubectl(&self, line: &str) -> (String, String) {
        self.request(&line.split(' ').collect::<Vec<_>>(), "")
    }

    pub(crate) fn json(&self, line: &str) -> Value {
        let (message, warned) = self.kubectl(&format!("{line} -n taintward-system -o json"));
        serde_json::from_str(&message).unwrap_or_else(|_| panic!("{line}: {message}{warned}"))
    }

    pub(crate) fn create(&self, object: &Value) -> (String, String) {
        self.request(&["create", "-f", "-"], &object.to_string())
    }

    pub(crate) fn patch(&self, what: &str, patch: &str) {
        let (message, warned) = self.request(&["patch", what, "--type=json", "--patch", patch], "");
        assert!(message.contains("patched"), "{message}{warned}");
    }

    /// Tries to create a pod as a Deployment would.
    pub(crate) fn dry_run_pod(&self, template: &Value) -> (String, String) {
        let mut pod = template.clone();
        pod["apiVersion"] = "v1".into();
        pod["kind"] = "Pod".into();
        pod["metadata"]["name"] = "tried".into();
        pod["metadata"]["namespace"] = "taintward-system".into();
        self.request(&["create", "--dry-run=server", "-f", "-"], &pod.to_string())
    }

    fn user(account: &str) -> String {
        format!("--as=system:serviceaccount:taintward-system:{account}")
    }

    /// What the account may do there, a line each, sorted; without what every account may do.
    pub(crate) fn may(&self, account: &str, namespace: &str) -> String {
        let list = |user: &str| -> Vec<String> {
            let (message, warned) = self.request(&["auth", "can-i", "--list", "-n", namespace, user], "");
            assert!(message.starts_with("Resources"), "{message}{warned}");
            message.lines().skip(1).map(in_order).collect()
        };
        let everybody = list(&Self::user("nobody"));
        let mut lines = list(&Self::user(account));
        lines.retain(|line| !everybody.contains(line));
        lines.sort();
        lines.iter().map(|line| format!("{line}\n")).collect()
    }

    pub(crate) fn can(&self, account: &str, what: &str) -> bool {
        let user = Self::user(account);
        let mut words = vec!["auth", "can-i", "-n", "taintward-system", &user];
        words.extend(what.split(' '));
        let (message, warned) = self.request(&words, "");
        assert!(message == "yes\n" || message == "no\n", "{what}: {message}{warned}");
        message == "yes\n"
    }

    /// All objects of Taintward that exist and are not being deleted.
    pub(crate) fn leftovers(&self) -> Vec<String> {
        let kinds = "namespaces,serviceaccounts,clusterroles,clusterrolebindings,roles,rolebindings,flowschemas,services,\
                     deployments,poddisruptionbudgets,networkpolicies,mutatingwebhookconfigurations,\
                     validatingwebhookconfigurations,validatingadmissionpolicies,validatingadmissionpolicybindings";
        let labelled = self.json(&format!("get {kinds} -l app.kubernetes.io/name=taintward"));
        let written = self.json("get secrets,leases");
        let defined = self.json("get customresourcedefinitions");
        let all = [labelled, written, defined]
            .into_iter()
            .flat_map(|list| list["items"].as_array().unwrap().clone());
        let alive = all.filter(|object| object["metadata"]["deletionTimestamp"].is_null());
        alive.map(|object| super::objects::name(&object)).collect()
    }

    /// Objects that are being deleted: no controller finalizes namespaces here.
    pub(crate) fn ending(&self) -> usize {
        let (message, _) = self.kubectl("get namespace taintward-system --ignore-not-found -o name");
        message.lines().count()
    }
}

/// A line of the list; its verbs, which come in any order, in one.
fn in_order(line: &str) -> String {
    let words = line.split_whitespace().collect::<Vec<_>>().join(" ");
    let (rest, verbs) = words.rsplit_once('[').unwrap();
    let mut verbs: Vec<&str> = verbs.trim_end_matches(']').split(' ').collect();
    verbs.sort_unstable();
    format!("{rest}[{}]", verbs.join(" "))
}
