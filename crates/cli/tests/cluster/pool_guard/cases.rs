//! Generates creations and changes of pods of all kinds, the same on every run.

use super::pools::{KNOWN, NAMESPACES, VALUE, test_pools};
use proptest::collection::vec;
use proptest::prelude::{Just, Strategy};
use proptest::sample::select;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;
use proptest::{option, prop_oneof};
use serde_json::{Value, json};
use std::fmt;
use taintward_core::admission::pool::MADE_FOR;

const MIRROR: &str = "kubernetes.io/config.mirror";

/// A user and its groups.
pub(crate) type GuardRequester = (&'static str, &'static [&'static str]);

const ANN: GuardRequester = ("ann", &["devs"]);
const BOB: GuardRequester = ("bob", &["ops"]);
const EVE: GuardRequester = ("eve", &[]);
const KUBELET: GuardRequester = ("system:node:open-1", &["system:nodes"]);
const REPLICAS: GuardRequester =
    ("system:serviceaccount:kube-system:replicaset-controller", &["system:serviceaccounts"]);
const DAEMONS: GuardRequester =
    ("system:serviceaccount:kube-system:daemon-set-controller", &["system:serviceaccounts"]);
const CONTROLLER: GuardRequester = ("system:kube-controller-manager", &[]);
const OTHER: GuardRequester = ("system:serviceaccount:queue:controller", &["system:serviceaccounts"]);

/// The users of all requests.
pub(crate) const ALL_BY: [GuardRequester; 8] = [ANN, BOB, EVE, KUBELET, REPLICAS, DAEMONS, CONTROLLER, OTHER];

/// A pod to create.
#[derive(Clone, Debug)]
pub(crate) struct Creation {
    pub(crate) by: GuardRequester,
    pub(crate) namespace: &'static str,
    pub(crate) pod: Value,
}

/// A pod that exists before there are policies.
#[derive(Clone, Debug)]
pub(crate) struct OldPod {
    pub(crate) namespace: &'static str,
    pub(crate) pod: Value,
    /// Whether it is being deleted.
    pub(crate) leaving: bool,
}

/// A change of a pod.
#[derive(Clone, Debug)]
pub(crate) enum GuardStep {
    Tolerations(Vec<Value>),
    Ungate,
    Label,
    /// A different annotation about the pools for whose users the pod was made.
    Claim(String),
    /// An ephemeral container, through the subresource.
    Ephemeral,
}

#[derive(Clone, Debug)]
pub(crate) struct GuardChange {
    pub(crate) by: GuardRequester,
    pub(crate) old: OldPod,
    pub(crate) step: GuardStep,
}

impl fmt::Display for Creation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a pod in {} by {}: {}", self.namespace, self.by.0, self.pod)
    }
}

impl fmt::Display for GuardChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let OldPod { namespace, pod, leaving } = &self.old;
        write!(f, "a pod in {namespace} (leaving: {leaving}) by {}, {:?}: {pod}", self.by.0, self.step)
    }
}

fn any_toleration() -> impl Strategy<Value = Value> {
    let keys: Vec<String> = test_pools().iter().map(|pool| format!("example.com/{}", pool.name)).collect();
    let key = prop_oneof![
        8 => select(keys),
        1 => Just("example.com/other".to_owned()),
        1 => Just(String::new()),
        1 => Just("node.kubernetes.io/not-ready".to_owned()),
    ];
    let operator = select(vec!["Exists", "Exists", "Equal", "Equal", "", "Gt", "Lt"]);
    let effect = select(vec!["", "", "NoSchedule", "NoExecute", "PreferNoSchedule"]);
    let value = select(vec![VALUE, VALUE, "7", ""]);
    (key, operator, effect, value, option::of(0..600_i64)).prop_map(
        |(key, operator, effect, value, seconds)| {
            let operator = if key.is_empty() { "Exists" } else { operator };
            let mut one = json!({});
            for (name, text) in [("key", &*key), ("operator", operator), ("effect", effect)] {
                if !text.is_empty() {
                    one[name] = json!(text);
                }
            }
            if operator != "Exists" {
                let value = if value.is_empty() && ["Gt", "Lt"].contains(&operator) { "0" } else { value };
                one["value"] = json!(value);
            }
            if let Some(seconds) = seconds.filter(|_| effect == "NoExecute") {
                one["tolerationSeconds"] = json!(seconds);
            }
            one
        },
    )
}

fn any_node() -> impl Strategy<Value = String> {
    let mut nodes: Vec<String> = test_pools().iter().map(|pool| format!("{}-1", pool.name)).collect();
    nodes.extend(KNOWN.map(Into::into));
    prop_oneof![3 => select(nodes), 1 => Just("ghost".to_owned())]
}

/// Node affinity terms as the DaemonSet controller writes them, or others.
fn any_terms() -> impl Strategy<Value = Vec<Value>> {
    let pin = |name: &String| json!({"key": "metadata.name", "operator": "In", "values": [name]});
    let pinned = (any_node(), 1..3_usize).prop_map(move |(name, count)| {
        let term =
            json!({"matchFields": [pin(&name)], "matchExpressions": [{"key": "zone", "operator": "Exists"}]});
        vec![term; count]
    });
    let apart = vec(any_node(), 2)
        .prop_map(move |names| names.iter().map(|name| json!({"matchFields": [pin(name)]})).collect());
    let other = Just(vec![json!({"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]})]);
    let odd = any_node().prop_map(|name| {
        vec![json!({"matchFields": [{"key": "metadata.name", "operator": "NotIn", "values": [name]}]})]
    });
    prop_oneof![5 => pinned, 1 => apart, 1 => other, 1 => odd]
}

/// The form of a pod besides its tolerations.
#[derive(Clone, Debug)]
enum GuardForm {
    Plain,
    Named(String),
    Gated,
    Daemon(Vec<Value>),
    /// The same as a DaemonSet's, but without an owner.
    Pinned(Vec<Value>),
    Mirror(String),
}

fn any_form() -> impl Strategy<Value = GuardForm> {
    prop_oneof![
        6 => Just(GuardForm::Plain),
        3 => any_node().prop_map(GuardForm::Named),
        1 => Just(GuardForm::Gated),
        4 => any_terms().prop_map(GuardForm::Daemon),
        1 => any_terms().prop_map(GuardForm::Pinned),
        1 => any_node().prop_map(GuardForm::Mirror),
    ]
}

fn any_pod() -> impl Strategy<Value = Value> {
    let account = select(vec!["", "", "runner", "default", "other"]);
    let class = select(vec!["", "", "", "system-node-critical"]);
    (vec(any_toleration(), 0..4), any_form(), account, class).prop_map(
        |(tolerations, form, account, class)| {
            let mut pod = json!({"metadata": {}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
            if !tolerations.is_empty() {
                pod["spec"]["tolerations"] = json!(tolerations);
            }
            if !account.is_empty() {
                pod["spec"]["serviceAccountName"] = json!(account);
            }
            if !class.is_empty() {
                pod["spec"]["priorityClassName"] = json!(class);
            }
            let terms = |terms: &[Value]| {
                json!({"nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}})
            };
            match form {
                GuardForm::Plain => {}
                GuardForm::Named(node) => pod["spec"]["nodeName"] = json!(node),
                GuardForm::Gated => pod["spec"]["schedulingGates"] = json!([{"name": "example.com/wait"}]),
                GuardForm::Daemon(own) => {
                    pod["spec"]["affinity"] = terms(&own);
                    pod["metadata"]["ownerReferences"] = json!([{"apiVersion": "apps/v1", "kind": "DaemonSet",
                    "name": "d", "uid": "5b0e0e0c-0000-4000-8000-000000000000", "controller": true}]);
                }
                GuardForm::Pinned(own) => pod["spec"]["affinity"] = terms(&own),
                GuardForm::Mirror(node) => {
                    pod["metadata"]["annotations"] = json!({MIRROR: "m"});
                    pod["spec"]["nodeName"] = json!(node);
                }
            }
            pod
        },
    )
}

/// The annotation about the pools for whose users a pod was made, from the UIDs of pools.
fn any_claim(uids: &[String]) -> impl Strategy<Value = String> + use<> {
    vec(select(uids.to_vec()), 1..3).prop_map(|uids| uids.join(","))
}

fn claiming(mut pod: Value, claim: Option<String>) -> Value {
    if let Some(claim) = claim {
        pod["metadata"]["annotations"][MADE_FOR] = json!(claim);
    }
    pod
}

fn any_namespace() -> impl Strategy<Value = &'static str> {
    let names: Vec<&'static str> = NAMESPACES.iter().map(|(name, _)| *name).collect();
    let others: Vec<&'static str> = names[..4].to_vec();
    prop_oneof![12 => select(others), 1 => Just(names[4])]
}

fn drawn<T>(strategy: impl Strategy<Value = T>, count: usize) -> Vec<T> {
    let mut runner = TestRunner::deterministic();
    (0..count).map(|_| strategy.new_tree(&mut runner).unwrap().current()).collect()
}

pub(crate) fn creations(count: usize, uids: &[String]) -> Vec<Creation> {
    let claim = option::weighted(0.15, any_claim(uids));
    let pod = (any_pod(), claim).prop_map(|(pod, claim)| claiming(pod, claim));
    let creation = (any_namespace(), pod, select(ALL_BY.to_vec()), 0..3_u8);
    let cases = drawn(creation, count).into_iter().enumerate();
    let one = |(at, (namespace, mut pod, by, luck)): (usize, (&'static str, Value, GuardRequester, u8))| {
        pod["metadata"]["name"] = json!(format!("new-{at}"));
        // Requests that are only trusted from a certain user mostly come from that user.
        let metadata = &pod["metadata"];
        let by = match () {
            () if luck > 0 && metadata.get("ownerReferences").is_some() => DAEMONS,
            () if luck > 0 && metadata["annotations"].get(MIRROR).is_some() => KUBELET,
            () => by,
        };
        Creation { by, namespace, pod }
    };
    cases.map(one).collect()
}

pub(crate) fn old_pods(count: usize, uids: &[String]) -> Vec<OldPod> {
    let form = prop_oneof![
        3 => Just(GuardForm::Gated),
        2 => Just(GuardForm::Plain),
        2 => any_node().prop_map(GuardForm::Named),
    ];
    let message = (0..5_u8, option::weighted(0.4, any_claim(uids)));
    let old = (any_namespace(), any_pod(), form, message);
    let cases = drawn(old, count).into_iter().enumerate();
    let one = |(at, (namespace, mut pod, form, (leaving, claim))): (usize, (_, Value, _, _))| {
        let spec = pod["spec"].as_object_mut().unwrap();
        for field in ["affinity", "nodeName", "schedulingGates", "priorityClassName"] {
            spec.remove(field);
        }
        match form {
            GuardForm::Gated => {
                _ = spec.insert("schedulingGates".into(), json!([{"name": "example.com/wait"}]))
            }
            GuardForm::Named(node) => _ = spec.insert("nodeName".into(), json!(node)),
            _ => {}
        }
        pod["metadata"] = json!({"name": format!("old-{at}"), "finalizers": ["example.com/keep"]});
        let pod = claiming(pod, claim);
        OldPod { namespace, pod, leaving: leaving == 0 }
    };
    cases.map(one).collect()
}

/// Several changes of each pod.
pub(crate) fn changes(old: &[OldPod], uids: &[String]) -> Vec<GuardChange> {
    let step = prop_oneof![
        3 => vec(any_toleration(), 1..3).prop_map(GuardStep::Tolerations),
        2 => Just(GuardStep::Ungate),
        1 => Just(GuardStep::Label),
        1 => any_claim(uids).prop_map(GuardStep::Claim),
        1 => Just(GuardStep::Ephemeral),
    ];
    let drawn = drawn((step, select(ALL_BY.to_vec())), old.len() * 5);
    let fits = |old: &OldPod, step: &GuardStep| {
        !matches!(step, GuardStep::Ungate) || old.pod["spec"].get("schedulingGates").is_some()
    };
    let pairs = old.iter().cycle().zip(drawn).filter(|(old, (step, _))| fits(old, step));
    pairs.map(|(old, (step, by))| GuardChange { by, old: old.clone(), step }).collect()
}
