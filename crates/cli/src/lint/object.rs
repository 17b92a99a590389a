//! Extracts from an object what the rules check, with the position of each field.
//!
//! - Invariant: the same kind in another API group is another kind; of a kind that is not Kubernetes' own, tolerations
//!   and taints are checked one by one (see `shape.rs`).

use super::elements::{
    TolerationSpans, cloud_taint, is_patch, not_texts, readable, spans, taint, toleration, toleration_of,
};
use super::known_kinds::list_of;
use super::shape::{FoundList, FoundProblem, FoundShapes};
use crate::manifest::{self, TextPosition, TextSpan, YamlNode};
use taintward_core::lint::{LintedList, LintedNode, LintedWorkload, RuntimeScheduling};
use taintward_core::scheduling::{Labels, NodeOperator, NodeRequirement, NodeTerm};

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
    /// Whether it is of a kind of Kubernetes; otherwise it is part of an object, found by its shape.
    pub(crate) is_known: bool,
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
    /// The position and path of each problem.
    pub(crate) problems: Vec<(TextSpan, String)>,
}

/// Extracts what rules check in an object, and in the objects inside it.
pub(super) fn read(tree: &YamlNode) -> Vec<LintObject> {
    let mut objects = Vec::new();
    read_at(tree, "", None, 0, &mut objects);
    objects
}

/// Texts inside texts are read up to this depth.
const TEXTS_MAX: usize = 3;

/// `outer`: the object whose text the tree is in, for trees without a kind.
fn read_at(
    tree: &YamlNode,
    within: &str,
    outer: Option<&ObjectName>,
    depth: usize,
    objects: &mut Vec<LintObject>,
) {
    let metadata = tree.get("metadata");
    let of = |name: &str| metadata.map(|metadata| metadata.text(name)).unwrap_or_default().to_owned();
    let name = match (tree.text("kind"), outer) {
        ("", Some(outer)) => outer.clone(),
        (kind, _) => {
            let kind = if kind.is_empty() { "Document" } else { kind }.to_owned();
            ObjectName { kind, namespace: of("namespace"), name: name(metadata) }
        }
    };
    let whole = metadata.and_then(|metadata| metadata.get("name")).map_or(tree.span, |name| name.span);
    let prefixed = |path: &str| joined(within, path);
    let Some((list, path)) = list_of(tree) else {
        let found = FoundShapes::of_other(tree);
        read_texts(&found, within, &name, depth, objects);
        return objects.extend(by_shape(tree, &name, whole, found, &prefixed));
    };
    let place = format!("{path}.{}", list.field());
    let found = FoundShapes::of_known(tree, list, &place);
    let owner = metadata.and_then(|metadata| owner(metadata, &name.namespace));
    let steps: Vec<&str> = path.split('.').collect();
    let (what, mut places) = match list {
        LintedList::Taints => node(tree, &name, whole, within),
        LintedList::Tolerations => workload(tree, &name, (&steps, path), whole, owner.as_ref(), within),
    };
    places.list = prefixed(&places.list);
    places.selection.1 = prefixed(&places.selection.1);
    let namespace = if list == LintedList::Taints { String::new() } else { name.namespace };
    let name = ObjectName { namespace, ..name };
    let mut object = LintObject { name, owner, what, places, is_known: true };
    object.add(found.problems, &prefixed);
    objects.push(object);
}

/// The path inside an object that is itself inside another one.
fn joined(within: &str, path: &str) -> String {
    match (within, path) {
        ("", path) => path.to_owned(),
        (within, "") => within.to_owned(),
        (within, path) => format!("{within}.{path}"),
    }
}

/// Reads the manifests inside texts, such as the values of a Helm chart in an Argo CD Application.
fn read_texts(
    found: &FoundShapes<'_>,
    within: &str,
    outer: &ObjectName,
    depth: usize,
    objects: &mut Vec<LintObject>,
) {
    let prefixed = |path: &str| joined(within, path);
    for (path, object) in &found.objects {
        read_at(object, &prefixed(path), Some(outer), depth, objects);
    }
    for (path, text) in found.texts.iter().filter(|_| depth < TEXTS_MAX) {
        let from = TextPosition { line: text.span.from.line, column: 1 };
        let mut inside = Vec::new();
        manifest::each_from(text.as_text(), from, |tree| {
            read_at(tree, &prefixed(path), Some(outer), depth + 1, &mut inside);
        });
        // A text that is not written line by line, as in quotes, has one position for all.
        let body = text.as_text();
        let last = text.span.from.after(body.strip_suffix('\n').unwrap_or(body));
        let is_block = text.span.to.line >= last.line;
        // Line and column 0 are unknown.
        let indentation = text.span.from.column.saturating_sub(1);
        inside.iter_mut().for_each(|object| {
            object.places.each(|span| match is_block {
                true => [&mut span.from, &mut span.to].into_iter().for_each(|at| at.column += indentation),
                false => *span = text.span,
            });
        });
        objects.extend(inside);
    }
}

/// What rules check in an object of a kind that is not Kubernetes' own: one part for each list.
fn by_shape(
    tree: &YamlNode,
    name: &ObjectName,
    whole: TextSpan,
    found: FoundShapes<'_>,
    prefixed: &dyn Fn(&str) -> String,
) -> Vec<LintObject> {
    if found.is_empty() {
        return Vec::new();
    }
    let mut parts: Vec<LintObject> =
        found.lists.iter().map(|list| part(name, whole, list, spells_as_clouds(tree))).collect();
    if parts.is_empty() {
        let workload = LintedWorkload { partial: true, ..LintedWorkload::default() };
        let places = FieldSpans { whole, ..FieldSpans::default() };
        let what = LintObjectKind::Workload(workload);
        parts.push(LintObject { name: name.clone(), owner: None, what, places, is_known: false });
    }
    parts.iter_mut().for_each(|part| part.places.list = prefixed(&part.places.list));
    parts[0].add(found.problems, prefixed);
    parts
}

/// Whether the kind's own API has other words for the effects, such as `NO_SCHEDULE`.
fn spells_as_clouds(tree: &YamlNode) -> bool {
    let group = tree.text("apiVersion").split_once('/').map_or("", |(group, _)| group);
    let clouds = [
        "infrastructure.cluster.x-k8s.io",
        "crossplane.io",
        "upbound.io",
        "cnrm.cloud.google.com",
        "services.k8s.aws",
    ];
    clouds.iter().any(|cloud| group.ends_with(cloud))
}

fn part(name: &ObjectName, whole: TextSpan, found: &FoundList<'_>, clouds: bool) -> LintObject {
    let items = readable(found.items, "");
    let what = match found.list {
        LintedList::Taints => LintObjectKind::Node(LintedNode {
            taints: items
                .iter()
                .map(|(_, item)| if clouds { cloud_taint(item) } else { taint(item) })
                .collect(),
            not_text: not_texts(&items),
            partial: true,
            ..LintedNode::default()
        }),
        LintedList::Tolerations => LintObjectKind::Workload(LintedWorkload {
            namespace: name.namespace.as_str().into(),
            tolerations: items.iter().map(|(_, item)| toleration_of(item, found.is_of_pod)).collect(),
            partial: true,
            ..LintedWorkload::default()
        }),
    };
    let places =
        FieldSpans { list: found.path.clone(), whole, items: spans(&items), ..FieldSpans::default() };
    LintObject { name: name.clone(), owner: None, what, places, is_known: false }
}

impl LintObject {
    fn add(&mut self, found: Vec<FoundProblem>, prefixed: &dyn Fn(&str) -> String) {
        let problems = match &mut self.what {
            LintObjectKind::Workload(workload) => &mut workload.problems,
            LintObjectKind::Node(node) => &mut node.problems,
        };
        for FoundProblem { span, path, problem } in found {
            self.places.problems.push((span, prefixed(&path)));
            problems.push(problem);
        }
    }
}

impl FieldSpans {
    /// Changes every position.
    fn each(&mut self, change: impl Fn(&mut TextSpan)) {
        let problems = self.problems.iter_mut().map(|(span, _)| span);
        let items = self.items.iter_mut().flat_map(|item| {
            let fields = item.fields.iter_mut().map(|(_, span)| span);
            [&mut item.whole].into_iter().chain(fields).chain(item.odd.iter_mut().map(|(_, span)| span))
        });
        [&mut self.whole, &mut self.selection.0].into_iter().chain(problems).chain(items).for_each(change);
    }
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

fn node(tree: &YamlNode, name: &ObjectName, whole: TextSpan, within: &str) -> (LintObjectKind, FieldSpans) {
    let items = readable(tree.at(&["spec", "taints"]).map(YamlNode::items).unwrap_or_default(), within);
    let node = LintedNode {
        name: name.name.as_str().into(),
        labels: labels(tree.at(&["metadata", "labels"])),
        taints: items.iter().map(|(_, item)| taint(item)).collect(),
        not_text: not_texts(&items),
        partial: is_patch(tree, &["spec"], LintedList::Taints.field()),
        problems: Vec::new(),
    };
    let list = "spec.taints".to_owned();
    (LintObjectKind::Node(node), FieldSpans { list, whole, items: spans(&items), ..FieldSpans::default() })
}

fn workload(
    tree: &YamlNode,
    name: &ObjectName,
    (steps, path): (&[&str], &str),
    whole: TextSpan,
    owner: Option<&ObjectName>,
    within: &str,
) -> (LintObjectKind, FieldSpans) {
    let nothing = YamlNode::default();
    let spec = tree.at(steps).unwrap_or(&nothing);
    // The pod's own metadata is next to its spec.
    let pod = tree.at(&steps[..steps.len() - 1]).unwrap_or(&nothing);
    let listed = readable(spec.get("tolerations").map(YamlNode::items).unwrap_or_default(), within);
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
        tolerations: listed.iter().map(|(_, item)| toleration(item)).collect(),
        node_selector: labels(spec.get("nodeSelector")),
        required: required.map(|required| terms(required.get("nodeSelectorTerms"))),
        prefers: affinity
            .get("preferredDuringSchedulingIgnoredDuringExecution")
            .is_some_and(|preferred| !preferred.items().is_empty()),
        special_resources: special_resources(spec),
        runtime: Some(spec.text("runtimeClassName"))
            .filter(|class| !class.is_empty())
            .map(|class| RuntimeScheduling { class: class.into(), ..RuntimeScheduling::default() }),
        partial: is_patch(tree, steps, LintedList::Tolerations.field()),
        problems: Vec::new(),
    };
    let selection = match (spec.get("nodeSelector"), required) {
        (Some(selector), _) => (selector.span, format!("{path}.nodeSelector")),
        (None, Some(required)) => (required.span, format!("{path}.affinity.nodeAffinity")),
        (None, None) => (whole, path.to_owned()),
    };
    let (list, items) = (format!("{path}.tolerations"), spans(&listed));
    let places = FieldSpans { list, whole, selection, items, problems: Vec::new() };
    (LintObjectKind::Workload(workload), places)
}

/// What a RuntimeClass adds to the pods that name it; `None` for another kind.
pub(super) fn runtime_class(tree: &YamlNode) -> Option<RuntimeScheduling> {
    let is_class = tree.text("kind") == "RuntimeClass" && tree.text("apiVersion").starts_with("node.k8s.io/");
    is_class.then(|| {
        let tolerations = tree.at(&["scheduling", "tolerations"]).map(YamlNode::items).unwrap_or_default();
        RuntimeScheduling {
            class: tree.at(&["metadata", "name"]).map(YamlNode::as_text).unwrap_or_default().into(),
            is_known: true,
            tolerations: tolerations.iter().map(|item| toleration(item).read).collect(),
            node_selector: labels(tree.at(&["scheduling", "nodeSelector"])),
        }
    })
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
    let requests = |container: &YamlNode| {
        let kinds = ["requests", "limits"].into_iter().filter_map(|kind| container.at(&["resources", kind]));
        kinds.flat_map(YamlNode::entries).any(|entry| special(&entry.key))
    };
    let lists = ["containers", "initContainers"].into_iter().filter_map(|name| spec.get(name));
    lists.flat_map(YamlNode::items).any(requests)
}
