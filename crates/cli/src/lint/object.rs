//! Extracts from an object what the rules check, with the position of each field.
//!
//! - Invariant: the same kind in another API group is another kind.

use crate::manifest::{TextSpan, YamlNode, YamlValue};
use taintward_core::lint::{LintedNode, LintedToleration, LintedWorkload, TolerationPart};
use taintward_core::scheduling::{Labels, NodeOperator, NodeRequirement, NodeTerm};
use taintward_core::taint::{Taint, TaintEffect};
use taintward_core::toleration::{Toleration, TolerationOperator};

/// Groups of Kubernetes' own workloads, `extensions` before 1.16.
const GROUPS: [&str; 4] = ["", "apps", "batch", "extensions"];

/// Kinds with pods, and the path of the pod's spec.
const WORKLOADS: [(&str, &str); 9] = [
    ("Pod", "spec"),
    ("PodTemplate", "template.spec"),
    ("ReplicationController", "spec.template.spec"),
    ("Deployment", "spec.template.spec"),
    ("ReplicaSet", "spec.template.spec"),
    ("StatefulSet", "spec.template.spec"),
    ("DaemonSet", "spec.template.spec"),
    ("Job", "spec.template.spec"),
    ("CronJob", "spec.jobTemplate.spec.template.spec"),
];

/// Whether all pods of such an object are alike.
pub(super) fn makes_alike(kind: &str) -> bool {
    WORKLOADS.iter().any(|(known, _)| *known == kind)
}

/// The kind, namespace and name of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ObjectName {
    pub(crate) kind: String,
    pub(crate) namespace: String,
    pub(crate) name: String,
}

/// `Deployment shop/web`
impl std::fmt::Display for ObjectName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let name = if self.name.is_empty() { "(no name)" } else { &self.name };
        match self.namespace.as_str() {
            "" => write!(f, "{} {name}", self.kind),
            namespace => write!(f, "{} {namespace}/{name}", self.kind),
        }
    }
}

/// An object that rules check.
#[derive(Clone, Debug)]
pub(crate) struct LintObject {
    pub(crate) name: ObjectName,
    /// The kind and name of the object that controls it.
    pub(crate) owner: Option<ObjectName>,
    pub(crate) what: LintObjectKind,
    pub(crate) places: FieldSpans,
}

/// The checked content.
#[derive(Clone, Debug)]
pub(crate) enum LintObjectKind {
    Workload(LintedWorkload),
    Node(LintedNode),
}

/// The positions of its fields.
#[derive(Clone, Debug, Default)]
pub(crate) struct FieldSpans {
    /// The path of the list: `spec.template.spec.tolerations`, `spec.taints`.
    pub(crate) list: String,
    /// The position of its name, or of the whole object.
    pub(crate) whole: TextSpan,
    /// The position and path of what selects nodes.
    pub(crate) selection: (TextSpan, String),
    /// The positions of each toleration or taint.
    pub(crate) items: Vec<TolerationSpans>,
}

/// The positions of a toleration's or taint's fields.
#[derive(Clone, Debug, Default)]
pub(crate) struct TolerationSpans {
    pub(crate) whole: TextSpan,
    pub(crate) fields: Vec<(TolerationPart, TextSpan)>,
    pub(crate) odd: Vec<(String, TextSpan)>,
}

/// Extracts what rules check in an object.
pub(crate) fn read(tree: &YamlNode) -> Option<LintObject> {
    let (kind, version) = (tree.text("kind"), tree.text("apiVersion"));
    let group = version.split_once('/').map_or("", |(group, _)| group);
    if !GROUPS.contains(&group) {
        return None;
    }
    let metadata = tree.get("metadata");
    let of = |name: &str| metadata.map(|metadata| metadata.text(name)).unwrap_or_default().to_owned();
    let named = metadata.and_then(|metadata| metadata.get("name"));
    let name = ObjectName { kind: kind.to_owned(), namespace: of("namespace"), name: name(metadata) };
    let whole = named.map_or(tree.span, |name| name.span);
    let owner = metadata.and_then(|metadata| owner(metadata, &name.namespace));
    if kind == "Node" && group.is_empty() {
        let (what, places) = node(tree, &name, whole);
        let name = ObjectName { namespace: String::new(), ..name };
        return Some(LintObject { name, owner, what, places });
    }
    let (_, path) = WORKLOADS.into_iter().find(|(known, _)| *known == kind)?;
    let steps: Vec<&str> = path.split('.').collect();
    let (what, places) = workload(tree, &name, (&steps, path), whole, owner.as_ref());
    Some(LintObject { name, owner, what, places })
}

fn name(metadata: Option<&YamlNode>) -> String {
    let Some(metadata) = metadata else { return String::new() };
    match (metadata.text("name"), metadata.text("generateName")) {
        ("", "") => String::new(),
        ("", prefix) => format!("{prefix}*"),
        (name, _) => name.to_owned(),
    }
}

fn owner(metadata: &YamlNode, namespace: &str) -> Option<ObjectName> {
    let owner = metadata.get("ownerReferences")?.items().iter().find(|owner| owner.is_true("controller"))?;
    let (kind, name) = (owner.text("kind").to_owned(), owner.text("name").to_owned());
    Some(ObjectName { kind, namespace: namespace.to_owned(), name })
}

fn node(tree: &YamlNode, name: &ObjectName, whole: TextSpan) -> (LintObjectKind, FieldSpans) {
    let listed = tree.at(&["spec", "taints"]).map(YamlNode::items).unwrap_or_default();
    let taint = |tree: &YamlNode| Taint {
        key: tree.text("key").into(),
        value: tree.text("value").into(),
        effect: TaintEffect::new(tree.text("effect")),
        time_added: None,
    };
    let not_text = |(at, tree)| not_text(tree).into_iter().map(move |part| (at, part));
    let node = LintedNode {
        name: name.name.as_str().into(),
        labels: labels(tree.at(&["metadata", "labels"])),
        taints: listed.iter().map(taint).collect(),
        not_text: listed.iter().enumerate().flat_map(not_text).collect(),
    };
    let items = listed.iter().map(item).collect();
    (
        LintObjectKind::Node(node),
        FieldSpans { list: "spec.taints".to_owned(), whole, items, ..FieldSpans::default() },
    )
}

fn workload(
    tree: &YamlNode,
    name: &ObjectName,
    (steps, path): (&[&str], &str),
    whole: TextSpan,
    owner: Option<&ObjectName>,
) -> (LintObjectKind, FieldSpans) {
    let nothing = YamlNode::default();
    let spec = tree.at(steps).unwrap_or(&nothing);
    // The pod's own metadata is next to its spec.
    let pod = tree.at(&steps[..steps.len() - 1]).unwrap_or(&nothing);
    let listed = spec.get("tolerations").map(YamlNode::items).unwrap_or_default();
    let affinity = spec.at(&["affinity", "nodeAffinity"]).unwrap_or(&nothing);
    let required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution");
    let daemon = name.kind == "DaemonSet" || owner.is_some_and(|owner| owner.kind == "DaemonSet");
    let workload = LintedWorkload {
        namespace: name.namespace.as_str().into(),
        daemon,
        control_plane: pod
            .at(&["metadata", "labels"])
            .is_some_and(|labels| labels.text("tier") == "control-plane"),
        node_critical: spec.text("priorityClassName") == "system-node-critical",
        host_network: spec.is_true("hostNetwork"),
        bound: spec.get("nodeName").is_some(),
        tolerations: listed.iter().map(toleration).collect(),
        node_selector: labels(spec.get("nodeSelector")),
        required: required.map(|required| terms(required.get("nodeSelectorTerms"))),
        prefers: affinity
            .get("preferredDuringSchedulingIgnoredDuringExecution")
            .is_some_and(|preferred| !preferred.items().is_empty()),
        special_resources: special_resources(spec),
    };
    let selection = match (spec.get("nodeSelector"), required) {
        (Some(selector), _) => (selector.span, format!("{path}.nodeSelector")),
        (None, Some(required)) => (required.span, format!("{path}.affinity.nodeAffinity")),
        (None, None) => (whole, path.to_owned()),
    };
    let items = listed.iter().map(item).collect();
    let places = FieldSpans { list: format!("{path}.tolerations"), whole, selection, items };
    (LintObjectKind::Workload(workload), places)
}

fn toleration(tree: &YamlNode) -> LintedToleration {
    let effect = tree.text("effect");
    let seconds = tree.get("tolerationSeconds");
    let whole = seconds.and_then(|seconds| match seconds.value {
        YamlValue::Number(_, whole) => whole,
        _ => None,
    });
    let read = Toleration {
        key: tree.text("key").into(),
        operator: TolerationOperator::new(tree.text("operator")),
        value: tree.text("value").into(),
        effect: (!effect.is_empty()).then(|| TaintEffect::new(effect)),
        seconds: whole,
    };
    LintedToleration {
        read,
        odd_seconds: seconds.filter(|_| whole.is_none()).map(|seconds| seconds.as_text().into()),
        odd_fields: odd(tree).map(|(name, _)| name.into()).collect(),
        not_text: not_text(tree),
    }
}

/// String fields, by their names.
const TEXTS: [(&str, TolerationPart); 4] = [
    ("key", TolerationPart::Key),
    ("operator", TolerationPart::Operator),
    ("value", TolerationPart::Value),
    ("effect", TolerationPart::Effect),
];

/// The numeric field.
const SECONDS: &str = "tolerationSeconds";

fn not_text(tree: &YamlNode) -> Vec<TolerationPart> {
    let wrong = |name: &str| tree.get(name).is_some_and(|field| !field.is_text());
    TEXTS.into_iter().filter(|(name, _)| wrong(name)).map(|(_, part)| part).collect()
}

fn odd(tree: &YamlNode) -> impl Iterator<Item = (&str, TextSpan)> {
    let known = |name: &str| name == SECONDS || TEXTS.iter().any(|(text, _)| *text == name);
    tree.names().filter(move |entry| !known(&entry.key)).map(|entry| (&*entry.key, entry.key_span))
}

fn item(tree: &YamlNode) -> TolerationSpans {
    let field = |(name, part)| Some((part, tree.get(name)?.span));
    let fields = TEXTS.into_iter().chain([(SECONDS, TolerationPart::Seconds)]).filter_map(field).collect();
    TolerationSpans {
        whole: tree.span,
        fields,
        odd: odd(tree).map(|(name, span)| (name.to_owned(), span)).collect(),
    }
}

fn labels(tree: Option<&YamlNode>) -> Labels {
    let entries = tree.map(YamlNode::entries).unwrap_or_default();
    entries.iter().map(|entry| ((&*entry.key).into(), entry.value.as_text().into())).collect()
}

fn terms(list: Option<&YamlNode>) -> Vec<NodeTerm> {
    let requirements = |tree: Option<&YamlNode>| {
        let items = tree.map(YamlNode::items).unwrap_or_default();
        let requirement = |tree: &YamlNode| NodeRequirement {
            key: tree.text("key").into(),
            operator: NodeOperator::new(tree.text("operator")),
            values: tree.get("values").map(YamlNode::items).unwrap_or_default().iter().map(text).collect(),
        };
        items.iter().map(requirement).collect()
    };
    let term = |tree: &YamlNode| NodeTerm {
        expressions: requirements(tree.get("matchExpressions")),
        fields: requirements(tree.get("matchFields")),
    };
    list.map(YamlNode::items).unwrap_or_default().iter().map(term).collect()
}

fn text(tree: &YamlNode) -> Box<str> {
    tree.as_text().into()
}

/// Whether a container requests an extended resource, which only some nodes have: one with a domain other than
/// Kubernetes'.
fn special_resources(spec: &YamlNode) -> bool {
    let special = |name: &str| {
        name.split_once('/')
            .is_some_and(|(domain, _)| domain != "kubernetes.io" && !domain.ends_with(".kubernetes.io"))
    };
    let asks = |container: &YamlNode| {
        let kinds = ["requests", "limits"].into_iter().filter_map(|kind| container.at(&["resources", kind]));
        kinds.flat_map(YamlNode::entries).any(|entry| special(&entry.key))
    };
    let lists = ["containers", "initContainers"].into_iter().filter_map(|name| spec.get(name));
    lists.flat_map(YamlNode::items).any(asks)
}
