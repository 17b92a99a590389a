//! Builds the ValidatingAdmissionPolicies that keep foreign pods off dedicated nodes.
//!
//! - Invariant: a pod that the policy cannot judge is refused (`failurePolicy: Fail`).
//! - The expressions repeat the core's `admission::pool::entry` and `membership` in CEL (Kubernetes 1.30): change both.
//!   `pool_guard_differential` compares them on a real API server.

use super::super::template::{Template, TemplateEntry, field, item, list, map, texts};
use super::super::values::{Condition, InstallValue, Repeat};
use super::{InstalledObject, NAME, everywhere, object, within};
use std::sync::LazyLock;
use taintward_core::admission::request::MAKERS;
use taintward_kube::pools::{KNOWN_NODES, UNKNOWN_NODES};

/// Names of the policies, and of their bindings.
const POOLS: &str = "taintward-dedicated-pools";
const NODES: &str = "taintward-unknown-nodes";

const API: &str = "admissionregistration.k8s.io/v1";
const FILE: &str = "poolguard.yaml";
/// What is asked about. Ephemeral containers and resizing change neither tolerations nor nodes; if a server ever lets
/// them, they are judged.
const RESOURCES: [&str; 3] = ["pods", "pods/ephemeralcontainers", "pods/resize"];

/// Every taint of the pool might be tolerated. What is compared as numbers, and operators and effects that are not known,
/// count as tolerating.
macro_rules! bears {
    ($barrier:literal, $tolerations:literal) => {
        concat!(
            $barrier,
            ".size() > 0 && ",
            $barrier,
            ".all(e, ",
            $tolerations,
            ".exists(t, (t.?effect.orValue('') == e || !(t.?effect.orValue('') in ['NoSchedule', 'PreferNoSchedule', \
             'NoExecute'])) && (t.?key.orValue('') == '' || t.key == params.spec.taint.key) && (!(t.?operator.orValue('') in ['', \
             'Equal']) || t.?value.orValue('') == params.spec.taint.?value.orValue(''))))"
        )
    };
}

/// The shadow of a static pod is made by a kubelet, and runs already.
const NO_MIRROR: &str = "!('system:nodes' in request.userInfo.?groups.orValue([]) && \
    'kubernetes.io/config.mirror' in object.metadata.?annotations.orValue({}))";

/// What may let the pod onto this pool's nodes. Most pods have nothing of it, and so cost this condition alone; an API
/// server asks it once for each pool (docs/benchmarks-policies.md). Here are no variables.
const CONCERNS_POOL: &str = concat!(
    "(request.operation == 'CREATE' && object.spec.?nodeName.orValue('') != '' && \
     object.spec.nodeName in params.?status.?nodeNames.orValue([])) || \
     object.metadata.?annotations[?'taintward.io/made-for'].orValue('').contains(params.metadata.uid) || ",
    bears!(
        "params.spec.taint.?effects.orValue(['NoSchedule']).filter(e, e != 'PreferNoSchedule')",
        "object.spec.?tolerations.orValue([])"
    )
);

/// Only a pod that names its node, or that the DaemonSet controller makes and that concerns pools, is tied to one.
static TIED: LazyLock<String> = LazyLock::new(|| {
    format!(
        "object.spec.?nodeName.orValue('') != '' || (request.userInfo.username in [{}] && \
         object.spec.?tolerations.orValue([]).exists(t, !t.?key.orValue('').startsWith('node.kubernetes.io/')))",
        names(&MAKERS[..2])
    )
});

/// The pool keeps others out.
const KEEPS_OUT: &str = "params.spec.?enforcement.orValue('Deny') in ['Deny', 'Evict'] && \
    !has(params.metadata.deletionTimestamp) && params.?status.?standing.orValue('Applied') != 'Refused'";

const LABELS: &str = "namespaceObject.metadata.?labels.orValue({})";

/// The namespace is one of the pool's.
const OWN_NAMESPACE: &str = "has(params.spec.users.namespaceSelector) && \
    params.spec.users.namespaceSelector.?matchLabels.orValue({}).all(k, k in variables.labels && \
    variables.labels[k] == params.spec.users.namespaceSelector.matchLabels[k]) && \
    params.spec.users.namespaceSelector.?matchExpressions.orValue([]).all(e, \
    e.operator == 'In' ? e.key in variables.labels && variables.labels[e.key] in e.?values.orValue([]) : \
    e.operator == 'NotIn' ? !(e.key in variables.labels && variables.labels[e.key] in e.?values.orValue([])) : \
    e.operator == 'Exists' ? e.key in variables.labels : \
    e.operator == 'DoesNotExist' && !(e.key in variables.labels))";

/// The pod runs as one of the pool's accounts.
const OWN_ACCOUNT: &str = "params.spec.users.?serviceAccounts.orValue([]).exists(a, a.namespace == request.namespace && \
    a.name == (object.spec.?serviceAccountName.orValue('') == '' ? 'default' : object.spec.serviceAccountName))";

/// A user of the pool asks. Controllers that make pods for others say nothing about for whom.
static OWN_USER: LazyLock<String> = LazyLock::new(|| {
    format!(
        "!(request.userInfo.username in [{}]) && (request.userInfo.username in params.spec.users.?users.orValue([]) || \
         params.spec.users.?groups.orValue([]).exists(g, g in request.userInfo.?groups.orValue([])))",
        names(&MAKERS)
    )
});

/// The DaemonSet controller asks, for a DaemonSet.
static DAEMON: LazyLock<String> = LazyLock::new(|| {
    format!(
        "request.userInfo.username in [{}] && object.metadata.?ownerReferences.orValue([]).exists(o, \
         o.?controller.orValue(false) && o.kind == 'DaemonSet' && o.apiVersion.startsWith('apps/'))",
        names(&MAKERS[..2])
    )
});

const TERMS: &str = "object.spec.?affinity.?nodeAffinity.?requiredDuringSchedulingIgnoredDuringExecution.\
    ?nodeSelectorTerms.orValue([])";

/// Each term can be met by one and the same node only.
const PINNED: &str = "variables.terms.size() > 0 && variables.terms.all(t, t.?matchFields.orValue([]).size() == 1 && \
    t.matchFields[0].key == 'metadata.name' && t.matchFields[0].operator == 'In' && \
    t.matchFields[0].?values.orValue([]).size() == 1 && \
    t.matchFields[0].values[0] == variables.terms[0].matchFields[0].values[0])";

/// The only node that a new pod can go to.
const DESTINATION: &str = "object.spec.?nodeName.orValue('') != '' ? object.spec.nodeName : \
    variables.daemon && variables.pinned ? variables.terms[0].matchFields[0].values[0] : ''";

const TOLERATIONS: &str = "object.spec.?tolerations.orValue([])";
const TOLERATED: &str = "request.operation == 'UPDATE' ? oldObject.spec.?tolerations.orValue([]) : []";

/// The effects that keep pods off.
const BARRIER: &str = "params.spec.taint.?effects.orValue(['NoSchedule']).filter(e, e != 'PreferNoSchedule')";

/// What the pod could do before a change is not held against the one who changes it; letting it go where it could not
/// go yet is.
const CHANGE_LETS_IN: &str = "variables.bears && (!variables.bore || (object.spec.?nodeName.orValue('') == '' && \
    !has(object.metadata.deletionTimestamp) && (variables.tolerations != variables.tolerated || \
    (oldObject.spec.?schedulingGates.orValue([]).size() > 0 && object.spec.?schedulingGates.orValue([]).size() == 0))))";

/// A pod that names its node needs no toleration to get there.
const CREATION_LETS_IN: &str = "variables.destination == '' ? variables.bears : \
    variables.destination in params.?status.?nodeNames.orValue([]) && \
    (object.spec.?nodeName.orValue('') != '' || variables.bears)";

const VALID: &str = "!variables.keepsOut || variables.ownNamespace || variables.ownAccount || variables.ownUser || \
    variables.wasMadeFor || \
    (variables.daemon && params.spec.?daemonSets.orValue('Deny') == 'Allow') || \
    !(request.operation == 'CREATE' ? variables.creationLetsIn : variables.changeLetsIn)";

const MESSAGE: &str = "'the nodes of pool ' + params.metadata.name + ' are not for this pod: ' + \
    (request.operation == 'CREATE' && variables.destination != '' \
    ? 'it can go to node ' + variables.destination + ' only, which is one of them; let the scheduler choose' \
    : 'its tolerations let it onto them; take out those for ' + params.spec.taint.key + ' and those without a key') + \
    ', or have the pool let you in (kubectl get dedicatedpool ' + params.metadata.name + ' -o yaml says whose pods may)'";

/// What the pod says about for which pools' users it was made; before a change, what was proven then.
const MADE_FOR_IT: &str =
    "object.metadata.?annotations[?'taintward.io/made-for'].orValue('').contains(params.metadata.uid)";
const WAS_MADE_FOR: &str = "request.operation == 'UPDATE' && \
    oldObject.metadata.?annotations[?'taintward.io/made-for'].orValue('').contains(params.metadata.uid)";

/// Only a user of the pool may say so: later it lets the pod in, whoever changes it.
const PROVEN: &str = "!variables.madeFor || variables.wasMadeFor || variables.ownUser";

const CLAIM: &str = "'the annotation taintward.io/made-for says that this pod was made by a user of pool ' + \
    params.metadata.name + ', and it was not: take it out'";

/// A node that is not known may become one of a pool's. The controller keeps the names of the nodes that are known, while
/// any pool keeps others out, and says whether all of these pools allow DaemonSets.
const KNOWN_NODE: &str = "variables.destination == '' || variables.unknown == 'Allow' || \
    variables.destination in params.?data.orValue({}) || \
    (object.spec.?nodeName.orValue('') == '' && variables.unknown == 'AllowDaemonSets')";

/// What becomes of pods that are tied to other nodes.
static UNKNOWN: LazyLock<String> =
    LazyLock::new(|| format!("params.metadata.?labels.orValue({{}})[?'{UNKNOWN_NODES}'].orValue('Allow')"));

const UNKNOWN_NODE: &str = "'this pod can go to node ' + variables.destination + ' only, which is not known and may become \
    one of a dedicated pool: try again when it is there, or let the scheduler choose'";

/// The policies, each with its binding; and the ConfigMap that the controller keeps.
pub(super) fn policies() -> [InstalledObject; 5] {
    const ACTS: Condition = Condition::All(&[Condition::Pools, Condition::Enforces]);
    let planned = |sheet| InstalledObject { file: FILE, note: "", when: ACTS, sheet };
    let every = map([field("selector", map([])), field("parameterNotFoundAction", "Allow")]);
    let known = map([
        field("name", KNOWN_NODES),
        field("namespace", InstallValue::Namespace),
        field("parameterNotFoundAction", "Allow"),
    ]);
    let nodes_known = Template::Map(within("v1", "ConfigMap", KNOWN_NODES, NAME));
    [
        InstalledObject {
            note: "The controller writes the names of all nodes into it.",
            ..planned(nodes_known)
        },
        planned(pools()),
        planned(binding(POOLS, every)),
        planned(nodes()),
        planned(binding(NODES, known)),
    ]
}

fn pools() -> Template {
    let kind = map([field("apiVersion", "taintward.io/v1alpha1"), field("kind", "DedicatedPool")]);
    let constraints = constraints(texts(["CREATE", "UPDATE"]), texts(RESOURCES));
    let concerns = named("concerns-this-pool", CONCERNS_POOL);
    policy(POOLS, kind, constraints, concerns, &variables(), &[(PROVEN, CLAIM), (VALID, MESSAGE)])
}

fn nodes() -> Template {
    let kind = map([field("apiVersion", "v1"), field("kind", "ConfigMap")]);
    let needed = ["daemon", "terms", "pinned", "destination"];
    let mut variables: Vec<_> = variables().into_iter().filter(|(name, _)| needed.contains(name)).collect();
    variables.push(("unknown", UNKNOWN.as_str()));
    let constraints = constraints(texts(["CREATE"]), texts(["pods"]));
    let concerns = named("tied-to-a-node", TIED.as_str());
    policy(NODES, kind, constraints, concerns, &variables, &[(KNOWN_NODE, UNKNOWN_NODE)])
}

fn policy(
    name: &'static str,
    kind: Template,
    constraints: Template,
    concerns: Template,
    variables: &[(&'static str, &'static str)],
    validations: &[(&'static str, &'static str)],
) -> Template {
    let validations = validations.iter().map(|&(expression, message)| {
        item(map([
            field("expression", expression),
            field("messageExpression", message),
            field("reason", "Forbidden"),
        ]))
    });
    let conditions = [named("no-mirror-pod", NO_MIRROR), concerns];
    let spec = map([
        field("failurePolicy", "Fail"),
        field("paramKind", kind),
        field("matchConstraints", constraints),
        field("matchConditions", list(conditions.map(item))),
        field("variables", list(variables.iter().map(|&(name, expression)| item(named(name, expression))))),
        field("validations", list(validations)),
    ]);
    object(beginning("ValidatingAdmissionPolicy", name), [field("spec", spec)])
}

/// Namespaces of the system are exempt.
fn constraints(operations: Template, resources: Template) -> Template {
    let more = item(InstallValue::This).each(Repeat::ExemptNamespaces);
    let exempt = map([
        field("key", "kubernetes.io/metadata.name"),
        field("operator", "NotIn"),
        field("values", list([item("kube-system"), item(InstallValue::Namespace), more])),
    ]);
    let rule = map([
        field("apiGroups", texts([""])),
        field("apiVersions", texts(["v1"])),
        field("operations", operations),
        field("resources", resources),
        field("scope", "Namespaced"),
    ]);
    map([
        field("matchPolicy", "Equivalent"),
        field("namespaceSelector", map([field("matchExpressions", list([item(exempt)]))])),
        field("resourceRules", list([item(rule)])),
    ])
}

fn variables() -> [(&'static str, &'static str); 18] {
    [
        ("keepsOut", KEEPS_OUT),
        ("labels", LABELS),
        ("ownNamespace", OWN_NAMESPACE),
        ("ownAccount", OWN_ACCOUNT),
        ("ownUser", OWN_USER.as_str()),
        ("madeFor", MADE_FOR_IT),
        ("wasMadeFor", WAS_MADE_FOR),
        ("daemon", DAEMON.as_str()),
        ("terms", TERMS),
        ("pinned", PINNED),
        ("destination", DESTINATION),
        ("tolerations", TOLERATIONS),
        ("tolerated", TOLERATED),
        ("barrier", BARRIER),
        ("bears", bears!("variables.barrier", "variables.tolerations")),
        ("bore", bears!("variables.barrier", "variables.tolerated")),
        ("creationLetsIn", CREATION_LETS_IN),
        ("changeLetsIn", CHANGE_LETS_IN),
    ]
}

fn binding(policy: &'static str, parameters: Template) -> Template {
    let spec = map([
        field("policyName", policy),
        field("paramRef", parameters),
        field("validationActions", texts(["Deny"])),
    ]);
    object(beginning("ValidatingAdmissionPolicyBinding", policy), [field("spec", spec)])
}

fn beginning(kind: &'static str, name: &'static str) -> Vec<TemplateEntry> {
    everywhere(API, kind, name, NAME)
}

fn named(name: &'static str, expression: &'static str) -> Template {
    map([field("name", name), field("expression", expression)])
}

/// `'a', 'b'`
fn names(all: &[&str]) -> String {
    all.iter().map(|name| format!("'{name}'")).collect::<Vec<_>>().join(", ")
}
