//! Builds accounts, roles and bindings of the controller, the webhook and people who look at pools.
//!
//! - Invariant: only the webhook reads a Secret, its own; no account creates Secrets or pods or grants rights; no
//!   wildcards.
//! - See `account_policies.rs` for limits on single fields.

use super::super::template::{Template, TemplateItem, field, item, list, map, maps, texts};
use super::super::values::{Condition, InstallValue};
use super::{CERTIFICATE, InstalledObject, NAME, WEBHOOK, everywhere, labels, object, within};
use taintward_kube::pools::KNOWN_NODES;

const FILE: &str = "rbac.yaml";
const RBAC: &str = "rbac.authorization.k8s.io/v1";
const GROUP: &str = "rbac.authorization.k8s.io";
const OURS: &str = "taintward.io";
const LEASES: &str = "coordination.k8s.io";

/// Where a role holds.
#[derive(Clone, Copy)]
enum AccessScope {
    Everywhere,
    /// In our namespace.
    Own,
    /// In a namespace of Kubernetes.
    In(&'static str),
}

/// A part, and its account.
#[derive(Clone, Copy)]
struct ServiceAccountSpec {
    name: &'static str,
    component: &'static str,
}

const CONTROLLER: ServiceAccountSpec = ServiceAccountSpec { name: NAME, component: "controller" };
const HOOK: ServiceAccountSpec = ServiceAccountSpec { name: WEBHOOK, component: "webhook" };

pub(super) fn controller() -> Vec<InstalledObject> {
    let mut all = vec![account(CONTROLLER, Condition::Controller)];
    let base = "What every controller reads, and what evicting pods takes.";
    all.extend(granted(
        CONTROLLER,
        "taintward-controller",
        AccessScope::Everywhere,
        base,
        Condition::Controller,
        reading(),
    ));
    const STAMPS: Condition = Condition::All(&[Condition::Controller, Condition::Evicts, Condition::Stamps]);
    let note = "timeAdded of NoExecute taints that appear without one (--stamp-taints).";
    let rules = [rule("", ["nodes"], texts(["patch"]))];
    all.extend(granted(
        CONTROLLER,
        "taintward-controller-stamp-taints",
        AccessScope::Everywhere,
        note,
        STAMPS,
        list(rules),
    ));
    all.extend(node_health());
    all.extend(pools());
    const LEADS: Condition = Condition::All(&[Condition::Controller, Condition::Enforces]);
    let lease = [
        rule(LEASES, ["leases"], texts(["create"])),
        named_rule(LEASES, "leases", NAME, texts(["get", "update"])),
    ];
    all.extend(granted(
        CONTROLLER,
        "taintward-controller",
        AccessScope::Own,
        "Leader election.",
        LEADS,
        list(lease),
    ));
    all
}

/// TE-2.
fn reading() -> Template {
    let verbs = ["get", "list", "watch"].map(item);
    let delete = item("delete").when(Condition::Evicts);
    list([
        rule("", ["nodes"], texts(["get", "list", "watch"])),
        rule("", ["pods"], list(verbs.into_iter().chain([delete]))),
        rule("", ["pods/status"], texts(["patch"]))
            .when(Condition::Evicts)
            .note("The condition DisruptionTarget."),
        item(map([
            field("apiGroups", texts(["", "events.k8s.io"])),
            field("resources", texts(["events"])),
            field("verbs", texts(["create"])),
        ]))
        .when(Condition::Enforces),
    ])
}

/// NL-60.
fn node_health() -> Vec<InstalledObject> {
    const ACTS: Condition =
        Condition::All(&[Condition::Controller, Condition::NodeHealth, Condition::Enforces]);
    const RUNS: Condition = Condition::All(&[Condition::Controller, Condition::NodeHealth]);
    let name = "taintward-controller-node-lifecycle";
    let rules = list([
        rule("", ["nodes"], texts(["patch"])).note("Taints, and two labels."),
        rule("", ["nodes/status", "pods/status"], texts(["patch"])).note("Conditions."),
    ]);
    let beats = list([rule(LEASES, ["leases"], texts(["get", "list", "watch"]))]);
    let note = "Taints for the conditions of nodes, and for their silence.";
    let mut all = granted(CONTROLLER, name, AccessScope::Everywhere, note, ACTS, rules);
    let scope = AccessScope::In("kube-node-lease");
    all.extend(granted(CONTROLLER, name, scope, "The nodes' signs of life.", RUNS, beats));
    all
}

fn pools() -> Vec<InstalledObject> {
    const RUNS: Condition = Condition::All(&[Condition::Controller, Condition::Pools]);
    let (read, finalizer) = (["get", "list", "watch"].map(item), item("patch").when(Condition::Enforces));
    let rules = list([
        rule("", ["nodes"], texts(["patch"]))
            .when(Condition::Enforces)
            .note("Taint, label and record of a pool's nodes."),
        rule("", ["namespaces"], texts(["get", "list", "watch"])).note("Whose pods are meant."),
        rule("", ["pods/eviction"], texts(["create"]))
            .when(Condition::Enforces)
            .note("Pods of others, where a pool says enforcement: Evict."),
        rule(OURS, ["dedicatedpools"], list(read.into_iter().chain([finalizer]))),
        rule(OURS, ["dedicatedpools/status"], texts(["patch"])).when(Condition::Enforces),
    ]);
    const ACTS: Condition = Condition::All(&[Condition::Controller, Condition::Pools, Condition::Enforces]);
    let name = "taintward-controller-dedicated-pools";
    let note = "Nodes that belong to a DedicatedPool.";
    let mut all = granted(CONTROLLER, name, AccessScope::Everywhere, note, RUNS, rules);
    let nodes = list([named_rule("", "configmaps", KNOWN_NODES, texts(["get", "patch"]))]);
    let note = "The names of all nodes, for the admission policy.";
    all.extend(granted(CONTROLLER, name, AccessScope::Own, note, ACTS, nodes));
    all
}

pub(super) fn webhook() -> Vec<InstalledObject> {
    let mut all = vec![account(HOOK, Condition::Webhook)];
    let read = || texts(["get", "list", "watch"]);
    let rules = list([
        rule("", ["namespaces", "nodes"], read()),
        rule(OURS, ["dedicatedpools", "taintwardpolicies"], read()),
    ]);
    let note = "What reviews rest on.";
    all.extend(granted(HOOK, WEBHOOK, AccessScope::Everywhere, note, Condition::Webhook, rules));
    const SIGNS: Condition = Condition::All(&[Condition::Webhook, Condition::SelfSigned]);
    const ADMISSION: &str = "admissionregistration.k8s.io";
    let rules = list([named(
        ADMISSION,
        ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"],
        NAME,
        texts(["get", "patch"]),
    )]);
    let note = "caBundle of its own two webhook configurations, kept in step with its certificate.";
    all.extend(granted(HOOK, "taintward-webhook-certificate", AccessScope::Everywhere, note, SIGNS, rules));
    // With nothing in it, and of no type that means something: whoever applies this again takes nothing out of it. The
    // account may write it and make none: a token of another account comes in a Secret that one may make.
    let note = "Its own certificate, in which all replicas share, and which it fills in.";
    let sheet = object(within("v1", "Secret", CERTIFICATE, HOOK.component), [field("type", "Opaque")]);
    all.push(InstalledObject { file: FILE, note, when: SIGNS, sheet });
    let rules = list([named_rule("", "secrets", CERTIFICATE, texts(["get", "patch"]))]);
    let note = "Its own certificate.";
    all.extend(granted(HOOK, "taintward-webhook-certificate", AccessScope::Own, note, SIGNS, rules));
    all
}

/// Whoever has the role view, edit or admin.
pub(super) fn viewer() -> InstalledObject {
    let labels = map([
        field("app.kubernetes.io/name", NAME),
        field("app.kubernetes.io/component", "viewer"),
        field("rbac.authorization.k8s.io/aggregate-to-view", "true"),
    ]);
    let metadata = map([field("name", "taintward-viewer"), field("labels", labels)]);
    let rules = list([rule(OURS, ["dedicatedpools", "taintwardpolicies"], texts(["get", "list", "watch"]))]);
    InstalledObject {
        file: FILE,
        note: "Pools and policies for everybody who may look (the roles view, edit and admin).",
        when: Condition::Viewer,
        sheet: map([
            field("apiVersion", RBAC),
            field("kind", "ClusterRole"),
            field("metadata", metadata),
            field("rules", rules),
        ]),
    }
}

/// No token by itself: pods mount one that ends within the hour.
fn account(account: ServiceAccountSpec, when: Condition) -> InstalledObject {
    let beginning = within("v1", "ServiceAccount", account.name, account.component);
    let sheet = object(beginning, [field("automountServiceAccountToken", false)]);
    InstalledObject { file: FILE, note: "", when, sheet }
}

fn rule<const N: usize>(group: &'static str, resources: [&'static str; N], verbs: Template) -> TemplateItem {
    item(map([
        field("apiGroups", texts([group])),
        field("resources", texts(resources)),
        field("verbs", verbs),
    ]))
}

/// For one object alone.
fn named<const N: usize>(
    group: &'static str,
    resources: [&'static str; N],
    name: &'static str,
    verbs: Template,
) -> TemplateItem {
    item(map([
        field("apiGroups", texts([group])),
        field("resources", texts(resources)),
        field("resourceNames", texts([name])),
        field("verbs", verbs),
    ]))
}

fn named_rule(
    group: &'static str,
    resource: &'static str,
    name: &'static str,
    verbs: Template,
) -> TemplateItem {
    named(group, [resource], name, verbs)
}

/// A role, and that the account has it.
fn granted(
    account: ServiceAccountSpec,
    name: &'static str,
    scope: AccessScope,
    note: &'static str,
    when: Condition,
    rules: Template,
) -> Vec<InstalledObject> {
    let begin = |kind: &'static str| match scope {
        AccessScope::Everywhere => everywhere(RBAC, kind, name, account.component),
        AccessScope::Own => within(RBAC, kind, name, account.component),
        AccessScope::In(namespace) => {
            let metadata = map([
                field("name", name),
                field("namespace", namespace),
                field("labels", labels(account.component)),
            ]);
            vec![field("apiVersion", RBAC), field("kind", kind), field("metadata", metadata)]
        }
    };
    let (role, binding) = match scope {
        AccessScope::Everywhere => ("ClusterRole", "ClusterRoleBinding"),
        AccessScope::Own | AccessScope::In(_) => ("Role", "RoleBinding"),
    };
    let reference = map([field("apiGroup", GROUP), field("kind", role), field("name", name)]);
    let subjects = maps([[
        field("kind", "ServiceAccount"),
        field("name", account.name),
        field("namespace", InstallValue::Namespace),
    ]]);
    let sheets = [
        (note, object(begin(role), [field("rules", rules)])),
        ("", object(begin(binding), [field("roleRef", reference), field("subjects", subjects)])),
    ];
    sheets.map(|(note, sheet)| InstalledObject { file: FILE, note, when, sheet }).into()
}
