//! Extracts what the checks need from a cluster's objects: nodes, control plane components, leases, webhooks, budgets.
//!
//! - Invariant: each pod is summarized as it arrives, so that a large cluster needs little memory.

mod pod_totals;
mod policy_facts;
mod webhook;

pub(crate) use pod_totals::{PodTotals, TaintFacts};
pub(crate) use policy_facts::PolicyTotals;
pub(crate) use webhook::WebhookFacts;

use crate::controller_deployment::DeploymentFacts;
use crate::manifest::YamlNode;
use jiff::Timestamp;
use std::collections::{BTreeMap, BTreeSet};
use taintward_core::time::Wall;

/// The largest number of names kept for objects with the same finding; the rest is counted.
const NAMES_MAX: usize = 3;

/// Control plane components, by the last part of their path.
const CONTROLLER_MANAGER: &str = "kube-controller-manager";
const API_SERVER: &str = "kube-apiserver";

/// The namespaces of this cluster's control plane, if it runs as pods. Pods in other namespaces belong to other
/// clusters, or only have the same names.
const CONTROL_PLANE: [&str; 3] =
    ["kube-system", "openshift-kube-controller-manager", "openshift-kube-apiserver"];

/// Annotations in which k3s and RKE2 keep a server's command line.
const NODE_ARGUMENTS: [&str; 2] = ["k3s.io/node-args", "rke2.io/node-args"];

/// All facts that the checks need.
#[derive(Debug, Default)]
pub(crate) struct ClusterFacts {
    /// The API server's version; empty if unknown.
    pub(crate) server_version: String,
    /// When the objects were read, by the server's clock.
    pub(crate) now: Option<Wall>,
    /// How far the server's clock is ahead of this machine's, in microseconds; zero if the clocks may be equal.
    pub(crate) clock_offset: i64,
    pub(crate) nodes: Vec<DoctorNode>,
    /// Each replica of kube-controller-manager with a readable command line.
    pub(crate) controller_managers: Vec<ProgramFacts>,
    pub(crate) api_servers: Vec<ProgramFacts>,
    pub(crate) pods: PodTotals,
    /// Nodes with a lease.
    pub(crate) node_leases: BTreeSet<String>,
    pub(crate) leader_leases: Vec<LeaseFacts>,
    pub(crate) budgets: BudgetTotals,
    pub(crate) policies: PolicyTotals,
    pub(crate) webhooks: Vec<WebhookFacts>,
    pub(crate) flow_schemas: BTreeSet<String>,
    pub(crate) deployments: Vec<DeploymentFacts>,
    pub(crate) evictions: EvictionTotals,
    /// The ConfigMap kubeadm-config: its ClusterConfiguration.
    pub(crate) kubeadm_config: Option<String>,
    /// The number of tokens that have signed the ConfigMap cluster-info.
    pub(crate) cluster_info_signatures: Option<usize>,
    /// The missing permissions of the account that was checked; `None`: none was checked.
    pub(crate) permissions: Option<PermissionFacts>,
    /// Failed reads: the plural of the kind, and the reason.
    pub(crate) unread: BTreeMap<&'static str, String>,
}

/// A node.
#[derive(Clone, Debug, Default)]
pub(crate) struct DoctorNode {
    pub(crate) name: String,
    pub(crate) kubelet_version: String,
    pub(crate) os_image: String,
    pub(crate) provider_id: String,
    /// The keys of its labels and annotations.
    pub(crate) keys: BTreeSet<String>,
    pub(crate) taints: Vec<TaintFacts>,
}

impl DoctorNode {
    pub(crate) fn is_control_plane(&self) -> bool {
        let roles = ["node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"];
        roles.iter().any(|role| self.keys.contains(*role))
    }
}

/// A control plane component.
#[derive(Clone, Debug)]
pub(crate) struct ProgramFacts {
    /// For people: `pod kube-system/kube-controller-manager-cp1`.
    pub(crate) place: String,
    pub(crate) namespace: String,
    pub(crate) node: String,
    pub(crate) arguments: Vec<String>,
    /// A kubelet runs it from a file.
    pub(crate) is_static_pod: bool,
    /// It runs inside a k3s or RKE2 server with these arguments.
    pub(crate) is_embedded: bool,
}

/// A number of objects, and the names of the first few.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct NamedCount {
    pub(crate) count: usize,
    first: Vec<String>,
}

impl NamedCount {
    pub(crate) fn add(&mut self, name: impl Into<String>) {
        if self.first.len() < NAMES_MAX {
            self.first.push(name.into());
        }
        self.count += 1;
    }

    /// `a, b, c and 4 more`.
    pub(crate) fn names(&self) -> String {
        let first = self.first.join(", ");
        match self.count - self.first.len() {
            0 => first,
            more => format!("{first} and {more} more"),
        }
    }
}

impl<T: Into<String>> FromIterator<T> for NamedCount {
    fn from_iter<I: IntoIterator<Item = T>>(names: I) -> Self {
        let mut count = Self::default();
        names.into_iter().for_each(|name| count.add(name));
        count
    }
}

/// A lease of a leader election.
#[derive(Clone, Debug)]
pub(crate) struct LeaseFacts {
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) holder: String,
    pub(crate) renewed: Option<Timestamp>,
    /// When its holder acquired it.
    pub(crate) acquired: Option<Timestamp>,
    /// In seconds.
    pub(crate) duration: i64,
}

/// Disruption budgets.
#[derive(Debug, Default)]
pub(crate) struct BudgetTotals {
    pub(crate) count: usize,
    /// Budgets that have pods but allow no disruption.
    pub(crate) without_disruptions: NamedCount,
}

/// The missing permissions of an account.
#[derive(Debug)]
pub(crate) struct PermissionFacts {
    /// For people: `you`, or the name of a service account.
    pub(crate) account: String,
    /// What they are for: `to install Taintward`.
    pub(crate) purpose: &'static str,
    /// The missing permissions, one sentence each, or why the server did not respond.
    pub(crate) missing: Result<Vec<String>, String>,
}

/// Traces of evictions by kube-controller-manager.
#[derive(Debug, Default)]
pub(crate) struct EvictionTotals {
    /// The pods: an eviction leaves a condition and an event.
    pods: BTreeSet<String>,
    pub(crate) last_by_upstream: Option<Timestamp>,
}

impl EvictionTotals {
    pub(crate) fn add(&mut self, pod: String, at: Option<Timestamp>) {
        self.pods.insert(pod);
        self.last_by_upstream = self.last_by_upstream.max(at);
    }

    pub(crate) fn by_upstream(&self) -> NamedCount {
        self.pods.iter().map(String::as_str).collect()
    }
}

impl ClusterFacts {
    /// Adds an object of any kind; ignores those that the checks do not need.
    pub(crate) fn add(&mut self, object: &YamlNode) {
        let text = |path: &[&str]| object.at(path).map_or("", YamlNode::as_text).to_owned();
        let (namespace, name) = (text(&["metadata", "namespace"]), text(&["metadata", "name"]));
        match object.text("kind") {
            "Node" => self.add_node(object, name),
            "Pod" => self.add_pod(object, &namespace, &name),
            "Lease" if namespace == "kube-node-lease" => {
                self.node_leases.insert(name);
            }
            "Lease" => self.leader_leases.push(LeaseFacts {
                holder: text(&["spec", "holderIdentity"]),
                renewed: text(&["spec", "renewTime"]).parse().ok(),
                acquired: text(&["spec", "acquireTime"]).parse().ok(),
                duration: text(&["spec", "leaseDurationSeconds"]).parse().unwrap_or(15),
                namespace,
                name,
            }),
            "PodDisruptionBudget" => {
                self.budgets.count += 1;
                if text(&["status", "disruptionsAllowed"]) == "0"
                    && !matches!(text(&["status", "expectedPods"]).as_str(), "" | "0")
                {
                    self.budgets.without_disruptions.add(format!("{namespace}/{name}"));
                }
            }
            kind @ ("ValidatingWebhookConfiguration" | "MutatingWebhookConfiguration") => {
                let hooks = object.get("webhooks").map_or(&[][..], YamlNode::items);
                self.webhooks.extend(hooks.iter().filter_map(|hook| WebhookFacts::of(kind, &name, hook)));
            }
            "EvictionPolicy" => self.policies.add(&name, object),
            "FlowSchema" => {
                self.flow_schemas.insert(name);
            }
            "Deployment" => self.deployments.push(DeploymentFacts::of(name, object)),
            "Event" => self.add_event(object, &namespace),
            "ConfigMap" => match (namespace.as_str(), name.as_str()) {
                ("kube-system", "kubeadm-config") => {
                    self.kubeadm_config = Some(text(&["data", "ClusterConfiguration"]));
                }
                ("kube-public", "cluster-info") => {
                    let data = object.get("data").map_or(&[][..], YamlNode::entries);
                    let signatures = data.iter().filter(|entry| entry.key.starts_with("jws-kubeconfig-"));
                    self.cluster_info_signatures = Some(signatures.count());
                }
                _ => {}
            },
            _ => {}
        }
    }

    fn add_node(&mut self, node: &YamlNode, name: String) {
        let text = |path: &[&str]| node.at(path).map_or("", YamlNode::as_text).to_owned();
        let entries = |field| node.at(&["metadata", field]).map_or(&[][..], YamlNode::entries);
        let keys = entries("labels").iter().chain(entries("annotations"));
        for annotation in entries("annotations") {
            if NODE_ARGUMENTS.contains(&&*annotation.key) {
                let arguments: Vec<String> =
                    serde_json::from_str(annotation.value.as_text()).unwrap_or_default();
                if arguments.first().is_some_and(|mode| mode == "server") {
                    self.controller_managers.push(ProgramFacts {
                        place: format!("annotation {} of node {name}", annotation.key),
                        namespace: String::new(),
                        node: name.clone(),
                        arguments,
                        is_static_pod: false,
                        is_embedded: true,
                    });
                }
            }
        }
        let taints = node.at(&["spec", "taints"]).map_or(&[][..], YamlNode::items);
        let taint = |taint: &YamlNode| TaintFacts {
            key: taint.text("key").to_owned(),
            value: taint.text("value").to_owned(),
            effect: taint.text("effect").to_owned(),
        };
        self.nodes.push(DoctorNode {
            kubelet_version: text(&["status", "nodeInfo", "kubeletVersion"]),
            os_image: text(&["status", "nodeInfo", "osImage"]),
            provider_id: text(&["spec", "providerID"]),
            keys: keys.map(|entry| entry.key.to_string()).collect(),
            taints: taints.iter().map(taint).collect(),
            name,
        });
    }

    fn add_pod(&mut self, pod: &YamlNode, namespace: &str, name: &str) {
        let is_static_pod = pod.at(&["metadata", "annotations", "kubernetes.io/config.mirror"]).is_some();
        let spec = pod.get("spec");
        let is_over =
            matches!(pod.at(&["status", "phase"]).map_or("", YamlNode::as_text), "Failed" | "Succeeded");
        let runs_control_plane = CONTROL_PLANE.contains(&namespace) && !is_over;
        for container in containers(spec).filter(|_| runs_control_plane) {
            let mut arguments = strings(container.get("command"));
            arguments.extend(strings(container.get("args")));
            let list = match program(&arguments) {
                Some(CONTROLLER_MANAGER) => &mut self.controller_managers,
                Some(API_SERVER) => &mut self.api_servers,
                _ => continue,
            };
            list.push(ProgramFacts {
                place: format!("pod {namespace}/{name}"),
                namespace: namespace.to_owned(),
                node: spec.map_or("", |spec| spec.text("nodeName")).to_owned(),
                arguments,
                is_static_pod,
                is_embedded: false,
            });
        }
        if let Some(at) = marked_by_upstream(pod) {
            self.evictions.add(format!("{namespace}/{name}"), at);
        }
        self.pods.add(spec, is_static_pod, || format!("{namespace}/{name}"));
    }

    /// Counts events of evictions: Taintward's have a reporting instance, kube-controller-manager's do not.
    fn add_event(&mut self, event: &YamlNode, namespace: &str) {
        let by = |field| event.text(field) == "taint-eviction-controller";
        let component = event.at(&["source", "component"]).map_or("", YamlNode::as_text);
        let has_instance = !event.text("reportingInstance").is_empty()
            || event.at(&["source", "host"]).is_some_and(|host| !host.as_text().is_empty());
        // The event about a countdown that was cancelled has the same reason.
        let message = if event.text("message").is_empty() { "note" } else { "message" };
        let is_eviction = event.text("reason") == "TaintManagerEviction"
            && event.text(message).starts_with("Marking for deletion");
        if !is_eviction
            || has_instance
            || !(by("reportingComponent") || component == "taint-eviction-controller")
        {
            return;
        }
        let pod = event.at(&["involvedObject", "name"]).map_or("", YamlNode::as_text);
        let times = ["lastTimestamp", "eventTime", "firstTimestamp"];
        let at = times.iter().find_map(|field| event.text(field).parse::<Timestamp>().ok());
        self.evictions.add(format!("{namespace}/{pod}"), at);
    }

    /// Why objects of a kind could not be read.
    pub(crate) fn unread(&self, plural: &str) -> Option<&str> {
        self.unread.get(plural).map(String::as_str)
    }
}

/// Whether the facts of a pod need all its fields: it may be a component of the control plane, or evicted by one.
pub(crate) fn needs_whole_pod(pod: &YamlNode) -> bool {
    let namespace = pod.at(&["metadata", "namespace"]).map_or("", YamlNode::as_text);
    CONTROL_PLANE.contains(&namespace) || mark(pod).is_some()
}

/// The condition of a taint eviction.
fn mark(pod: &YamlNode) -> Option<&YamlNode> {
    let conditions = pod.at(&["status", "conditions"]).map_or(&[][..], YamlNode::items);
    conditions.iter().find(|condition| {
        condition.text("type") == "DisruptionTarget" && condition.text("reason") == "DeletionByTaintManager"
    })
}

/// When kube-controller-manager set the condition of a taint eviction, which it does right before it deletes the pod.
/// `None`: it did not.
fn marked_by_upstream(pod: &YamlNode) -> Option<Option<Timestamp>> {
    let mark = mark(pod)?;
    let owners = pod.at(&["metadata", "managedFields"]).map_or(&[][..], YamlNode::items);
    let condition = ["fieldsV1", "f:status", "f:conditions", r#"k:{"type":"DisruptionTarget"}"#];
    let by_upstream = owners
        .iter()
        .any(|owner| owner.text("manager") == CONTROLLER_MANAGER && owner.at(&condition).is_some());
    by_upstream.then(|| mark.text("lastTransitionTime").parse().ok())
}

fn containers(spec: Option<&YamlNode>) -> impl Iterator<Item = &YamlNode> {
    spec.and_then(|spec| spec.get("containers")).map_or(&[][..], YamlNode::items).iter()
}

fn strings(list: Option<&YamlNode>) -> Vec<String> {
    list.map_or(&[][..], YamlNode::items).iter().map(|item| item.as_text().to_owned()).collect()
}

/// The control plane component that a command line starts.
fn program(arguments: &[String]) -> Option<&'static str> {
    let words = arguments.iter().flat_map(|argument| argument.split_whitespace());
    words.filter(|word| !word.starts_with('-')).find_map(|word| {
        let name = word.rsplit('/').next().unwrap_or(word);
        [CONTROLLER_MANAGER, API_SERVER].into_iter().find(|known| name == *known)
    })
}
