//! Runs three API servers on one etcd, with the plugins, with the webhook and with both.

use super::hook::{Hook, HookFiles, all};
use super::pods::{LISTS, PodCase, Update, annotations};
use super::register::{
    REQUESTED, Registered, define, namespace, pods, register, rejection, requests, tolerations,
};
use futures::StreamExt as _;
use serde_json::{Value, json};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt;
use taintward_envtest::api::PatchType;
use taintward_envtest::certificates::TestAuthority;
use taintward_envtest::{
    Account, AdmissionConfig, Audit, Binaries, Cluster, ClusterConfig, TestApi, TestApiError,
};

/// The configuration of the plugins and of Taintward: lists for namespaces without their own.
const LISTS_OF_THE_CLUSTER: &str = r#"{
  "apiVersion": "podtolerationrestriction.admission.k8s.io/v1alpha1", "kind": "Configuration",
  "default": [{"key": "c", "operator": "Exists", "effect": "NoSchedule"}],
  "whitelist": [{"key": "a", "operator": "Exists"}, {"key": "b"}, {"operator": "Exists", "effect": "NoSchedule"},
    {"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}]
}"#;

/// What decides on a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum AdmissionController {
    Upstream,
    Ours,
    Both,
}

impl AdmissionController {
    pub(crate) const ALL: [Self; 3] = [Self::Upstream, Self::Ours, Self::Both];
}

/// Whether the cluster has lists for namespaces without their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClusterLists {
    Plain,
    Listed,
}

impl ClusterLists {
    /// Distributes pods over them in turn.
    pub(crate) fn of(number: usize) -> Self {
        if number.is_multiple_of(2) { Self::Plain } else { Self::Listed }
    }

    fn name(self) -> &'static str {
        if self == Self::Plain { "plain" } else { "listed" }
    }
}

/// The result of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum AdmissionOutcome {
    /// The tolerations of the admitted pod.
    Pod(Vec<Value>),
    Rejected {
        code: u16,
        message: String,
    },
}

/// The same request on two sides.
#[derive(Debug)]
pub(crate) struct ServerPair<'c> {
    pub(crate) case: &'c PodCase,
    pub(crate) side: AdmissionController,
    pub(crate) updated: bool,
    pub(crate) upstream: &'c AdmissionOutcome,
    pub(crate) other: &'c AdmissionOutcome,
}

impl ServerPair<'_> {
    /// The lists of the namespace.
    pub(crate) fn lists(&self) -> &'static str {
        LISTS[self.case.lists].0
    }
}

impl fmt::Display for AdmissionOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pod(list) => write!(f, "{}", Value::Array(list.clone())),
            Self::Rejected { code, message } => write!(f, "{code} {message}"),
        }
    }
}

impl fmt::Display for ServerPair<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (spec, lists, what) = (&self.case.pod["spec"], self.lists(), &self.case.update);
        let step = if self.updated { "update" } else { "creation" };
        writeln!(f, "{step} in a namespace with the lists {lists:?} ({what:?}) of {spec}")?;
        writeln!(f, "    upstream: {}\n    {:?}: {}", self.upstream, self.side, self.other)
    }
}

/// All API servers.
pub(crate) struct ApiServers {
    cluster: Cluster,
    servers: Vec<TestApi>,
    hooks: Vec<(ClusterLists, Hook)>,
    authority: TestAuthority,
    there: RefCell<BTreeSet<String>>,
}

fn options() -> ClusterConfig {
    let on = vec!["ExtendedResourceToleration", "PodTolerationRestriction"];
    let own: Value = serde_json::from_str(LISTS_OF_THE_CLUSTER).unwrap();
    let configuration = json!({
        "apiVersion": "apiserver.config.k8s.io/v1", "kind": "AdmissionConfiguration",
        "plugins": [{"name": "PodTolerationRestriction", "configuration": own}],
    });
    let plain = AdmissionConfig { on, ..AdmissionConfig::default() };
    let listed = AdmissionConfig { configuration: configuration.to_string(), ..plain.clone() };
    let without = AdmissionConfig { off: vec!["DefaultTolerationSeconds"], ..AdmissionConfig::default() };
    ClusterConfig {
        servers: 3,
        audit: Audit::Off,
        admission: vec![plain, listed, without],
        ..ClusterConfig::default()
    }
}

fn namespace_of(cluster_lists: ClusterLists, side: AdmissionController, lists: &str) -> String {
    format!("{side:?}-{}-{lists}", cluster_lists.name()).to_lowercase()
}

impl ApiServers {
    /// Before any webhook is called.
    pub(crate) async fn start(tools: &Binaries) -> Self {
        let cluster = Cluster::start(tools, options()).await.unwrap();
        define(&cluster).await;
        let mut servers = Vec::new();
        for index in 0..3 {
            servers.push(TestApi::from_kubeconfig(&cluster.kubeconfig(Account::Admin, index)).await.unwrap());
        }
        let authority = TestAuthority::new().unwrap();
        let api_servers = Self { cluster, servers, hooks: Vec::new(), authority, there: RefCell::default() };
        api_servers.settle_namespaces().await;
        api_servers
    }

    async fn settle_namespaces(&self) {
        let api = &self.servers[2];
        for cluster_lists in [ClusterLists::Plain, ClusterLists::Listed] {
            for side in AdmissionController::ALL {
                let requested = if side == AdmissionController::Upstream { "" } else { cluster_lists.name() };
                let one = |lists: (&'static str, _, _)| async move {
                    namespace(
                        api,
                        &namespace_of(cluster_lists, side, lists.0),
                        requested,
                        annotations(lists),
                    )
                    .await;
                };
                futures::stream::iter(LISTS).for_each_concurrent(8, one).await;
            }
        }
        let policy = json!({
            "apiVersion": "taintward.io/v1alpha1", "kind": "TolerationPolicy", "metadata": {"name": "short"},
            "spec": {
                "namespaceSelector": {"matchLabels": {"stay": "short"}},
                "notReadySeconds": 30, "unreachableSeconds": "forever",
            },
        });
        api.create("/apis/taintward.io/v1alpha1/tolerationpolicies", &policy).await.unwrap();
        for side in [AdmissionController::Ours, AdmissionController::Both] {
            let labels = json!({"stay": "short", REQUESTED: ClusterLists::Plain.name()});
            let name = namespace_of(ClusterLists::Plain, side, "policy");
            let object = json!({"metadata": {"name": name, "labels": labels}});
            api.create("/api/v1/namespaces", &object).await.unwrap();
        }
    }

    /// Creates pods before any webhook is called: on the server without plugins.
    pub(crate) async fn stand_there<'c>(&self, cases: &'c [PodCase]) {
        let work = cases
            .iter()
            .enumerate()
            .flat_map(|(at, case)| AdmissionController::ALL.map(|side| (at, case, side)));
        let one = |(at, case, side): (usize, &'c PodCase, AdmissionController)| async move {
            let path = pods(&namespace_of(ClusterLists::of(at), side, LISTS[case.lists].0));
            if self.servers[2].create(&path, &old(case)).await.is_ok() {
                self.there.borrow_mut().insert(name_of(case).to_owned());
            }
        };
        futures::stream::iter(work).for_each_concurrent(16, one).await;
    }

    /// Whether an API server accepted that pod.
    pub(crate) fn stands_there(&self, case: &PodCase) -> bool {
        self.there.borrow().contains(name_of(case))
    }

    /// Starts the webhooks, and waits until they are called.
    pub(crate) async fn switch_on(&mut self) {
        let file = self.cluster.folder().join("lists.json");
        std::fs::write(&file, LISTS_OF_THE_CLUSTER).unwrap();
        let lists = format!("--restriction-config={}", file.display());
        for (cluster_lists, more) in [(ClusterLists::Plain, vec![]), (ClusterLists::Listed, vec![&*lists])] {
            let files = HookFiles::new(&self.cluster, cluster_lists.name(), &self.authority).flags();
            let rules = "--rules=default-tolerations,extended-resources,toleration-restriction";
            let mut flags = all(&files, &[rules, "--restriction-merging=as-upstream"]);
            flags.extend(more);
            let account = self.cluster.kubeconfig(Account::Admin, 2);
            self.hooks.push((cluster_lists, Hook::start(&self.cluster, &account, &flags)));
        }
        let mut ready = Vec::new();
        for (cluster_lists, hook) in std::mem::take(&mut self.hooks) {
            ready.push((cluster_lists, hook.ready().await));
        }
        self.hooks = ready;
        let authorities = &self.authority.certificate;
        let registered: Vec<Registered<'_>> = self
            .hooks
            .iter()
            .map(|(cluster_lists, hook)| Registered::strict(hook, cluster_lists.name(), authorities))
            .collect();
        register(&self.servers[2], &registered).await;
        for (cluster_lists, hook) in &self.hooks {
            for side in [AdmissionController::Ours, AdmissionController::Both] {
                requests(
                    self.server(*cluster_lists, side),
                    hook,
                    &namespace_of(*cluster_lists, side, "empty"),
                )
                .await;
            }
        }
    }

    fn server(&self, cluster_lists: ClusterLists, side: AdmissionController) -> &TestApi {
        match (side, cluster_lists) {
            (AdmissionController::Ours, _) => &self.servers[2],
            (_, ClusterLists::Plain) => &self.servers[0],
            (_, ClusterLists::Listed) => &self.servers[1],
        }
    }

    /// Creates a pod, and changes it if the case has an update.
    pub(crate) async fn made(
        &self,
        cluster_lists: ClusterLists,
        side: AdmissionController,
        case: &PodCase,
    ) -> Vec<AdmissionOutcome> {
        let path = pods(&namespace_of(cluster_lists, side, LISTS[case.lists].0));
        let api = self.server(cluster_lists, side);
        let created = api.create(&path, &case.pod).await;
        let change = created.as_ref().ok().and_then(|pod| Some(change(case.update.as_ref()?, pod)));
        let mut steps = vec![outcome(created)];
        if let Some(change) = change {
            let path = format!("{path}/{}", name_of(case));
            steps.push(outcome(api.patch(&path, PatchType::Json, &change.to_string()).await));
        }
        steps
    }

    /// Adds a label to an existing pod.
    pub(crate) async fn touched(
        &self,
        cluster_lists: ClusterLists,
        side: AdmissionController,
        case: &PodCase,
    ) -> AdmissionOutcome {
        let path = pods(&namespace_of(cluster_lists, side, LISTS[case.lists].0));
        let label = json!({"metadata": {"labels": {"touched": "yes"}}}).to_string();
        let path = format!("{path}/old-{}", name_of(case));
        outcome(self.server(cluster_lists, side).patch(&path, PatchType::Merge, &label).await)
    }

    /// Creates a pod in a namespace with a policy: with the webhook alone, and with the plugins as well.
    pub(crate) async fn by_policy(&self, case: &PodCase) -> [AdmissionOutcome; 2] {
        let mut both = Vec::new();
        for side in [AdmissionController::Ours, AdmissionController::Both] {
            let path = pods(&namespace_of(ClusterLists::Plain, side, "policy"));
            both.push(outcome(self.server(ClusterLists::Plain, side).create(&path, &case.pod).await));
        }
        both.try_into().unwrap()
    }
}

fn name_of(case: &PodCase) -> &str {
    case.pod["metadata"]["name"].as_str().unwrap()
}

/// The same pod under another name.
fn old(case: &PodCase) -> Value {
    let mut pod = case.pod.clone();
    pod["metadata"]["name"] = json!(format!("old-{}", name_of(case)));
    pod
}

/// A JSON Patch for an update.
fn change(update: &Update, pod: &Value) -> Value {
    let there = !tolerations(pod).is_empty();
    match update {
        Update::Label => json!([{"op": "add", "path": "/metadata/labels", "value": {"touched": "yes"}}]),
        Update::Toleration(one) if there => {
            json!([{"op": "add", "path": "/spec/tolerations/-", "value": one}])
        }
        Update::Toleration(one) => json!([{"op": "add", "path": "/spec/tolerations", "value": [one]}]),
        Update::Taken => json!([{"op": "remove", "path": "/spec/tolerations/0"}]),
        Update::Seconds(seconds) => {
            json!([{"op": "add", "path": "/spec/tolerations/0/tolerationSeconds", "value": seconds}])
        }
    }
}

/// Removes the names of namespaces, which differ between the sides, from messages.
fn outcome(response: Result<Value, TestApiError>) -> AdmissionOutcome {
    match response.map_err(rejection) {
        Ok(pod) => AdmissionOutcome::Pod(tolerations(&pod)),
        Err((code, message)) => AdmissionOutcome::Rejected { code, message },
    }
}
