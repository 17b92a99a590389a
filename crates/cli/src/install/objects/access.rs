//! # Access: what each account may do
//! Room:     accounts, roles and bindings of the controller, the webhook, and of people who look.
//! Comes in: which controllers run, whether they write, who looks after the webhook's certificate.
//! Goes out: [`Planned`] objects.
//! Keeps:    nobody may read Secrets but the webhook, and it only its own; nobody may create Secrets or pods, or grant
//!           rights; no wildcards. A create cannot be limited to a name, and a patch not to single fields.
//! Not here: single fields (`bounds.rs`); whether it is enough, which the API server says (`taintward run` at its start).

use super::super::sheet::{Item, Sheet, field, item, list, map, maps, texts};
use super::super::values::{Knob, When};
use super::{CERTIFICATE, NAME, Planned, WEBHOOK, everywhere, labels, object, within};
use taintward_client::pools::KNOWN_NODES;

const FILE: &str = "rbac.yaml";
const RBAC: &str = "rbac.authorization.k8s.io/v1";
const GROUP: &str = "rbac.authorization.k8s.io";
const OURS: &str = "taintward.io";
const LEASES: &str = "coordination.k8s.io";

/// Where a role holds.
#[derive(Clone, Copy)]
enum Scope {
    Everywhere,
    /// In our namespace.
    Own,
    /// In a namespace of Kubernetes.
    In(&'static str),
}

/// A part, and its account.
#[derive(Clone, Copy)]
struct Account {
    name: &'static str,
    component: &'static str,
}

const CONTROLLER: Account = Account { name: NAME, component: "controller" };
const HOOK: Account = Account { name: WEBHOOK, component: "webhook" };

pub(super) fn controller() -> Vec<Planned> {
    let mut all = vec![account(CONTROLLER, When::Controller)];
    let base = "What every controller reads, and what evicting pods takes.";
    all.extend(granted(
        CONTROLLER,
        "taintward-controller",
        Scope::Everywhere,
        base,
        When::Controller,
        reading(),
    ));
    const STAMPS: When = When::All(&[When::Controller, When::Evicts, When::Stamps]);
    let note = "timeAdded of NoExecute taints that appear without one (--stamp-taints).";
    let rules = [rule("", ["nodes"], texts(["patch"]))];
    all.extend(granted(
        CONTROLLER,
        "taintward-controller-stamp-taints",
        Scope::Everywhere,
        note,
        STAMPS,
        list(rules),
    ));
    all.extend(node_health());
    all.extend(pools());
    const LEADS: When = When::All(&[When::Controller, When::Enforces]);
    let lease = [
        rule(LEASES, ["leases"], texts(["create"])),
        named_rule(LEASES, "leases", NAME, texts(["get", "update"])),
    ];
    all.extend(granted(
        CONTROLLER,
        "taintward-controller",
        Scope::Own,
        "Leader election.",
        LEADS,
        list(lease),
    ));
    all
}

/// TE-2.
fn reading() -> Sheet {
    let verbs = ["get", "list", "watch"].map(item);
    let delete = item("delete").when(When::Evicts);
    list([
        rule("", ["nodes"], texts(["get", "list", "watch"])),
        rule("", ["pods"], list(verbs.into_iter().chain([delete]))),
        rule("", ["pods/status"], texts(["patch"]))
            .when(When::Evicts)
            .note("The condition DisruptionTarget."),
        item(map([
            field("apiGroups", texts(["", "events.k8s.io"])),
            field("resources", texts(["events"])),
            field("verbs", texts(["create"])),
        ]))
        .when(When::Enforces),
    ])
}

/// NL-60.
fn node_health() -> Vec<Planned> {
    const ACTS: When = When::All(&[When::Controller, When::NodeHealth, When::Enforces]);
    const RUNS: When = When::All(&[When::Controller, When::NodeHealth]);
    let name = "taintward-controller-node-lifecycle";
    let rules = list([
        rule("", ["nodes"], texts(["patch"])).note("Taints, and two labels."),
        rule("", ["nodes/status", "pods/status"], texts(["patch"])).note("Conditions."),
    ]);
    let beats = list([rule(LEASES, ["leases"], texts(["get", "list", "watch"]))]);
    let note = "Taints for the conditions of nodes, and for their silence.";
    let mut all = granted(CONTROLLER, name, Scope::Everywhere, note, ACTS, rules);
    let scope = Scope::In("kube-node-lease");
    all.extend(granted(CONTROLLER, name, scope, "The nodes' signs of life.", RUNS, beats));
    all
}

fn pools() -> Vec<Planned> {
    const RUNS: When = When::All(&[When::Controller, When::Pools]);
    let (read, finalizer) = (["get", "list", "watch"].map(item), item("patch").when(When::Enforces));
    let rules = list([
        rule("", ["nodes"], texts(["patch"]))
            .when(When::Enforces)
            .note("Taint, label and record of a pool's nodes."),
        rule("", ["namespaces"], texts(["get", "list", "watch"])).note("Whose pods are meant."),
        rule("", ["pods/eviction"], texts(["create"]))
            .when(When::Enforces)
            .note("Pods of others, where a pool says enforcement: Evict."),
        rule(OURS, ["dedicatedpools"], list(read.into_iter().chain([finalizer]))),
        rule(OURS, ["dedicatedpools/status"], texts(["patch"])).when(When::Enforces),
    ]);
    const ACTS: When = When::All(&[When::Controller, When::Pools, When::Enforces]);
    let name = "taintward-controller-dedicated-pools";
    let note = "Nodes that belong to a DedicatedPool.";
    let mut all = granted(CONTROLLER, name, Scope::Everywhere, note, RUNS, rules);
    let nodes = list([named_rule("", "configmaps", KNOWN_NODES, texts(["get", "patch"]))]);
    let note = "The names of all nodes, for the admission policy.";
    all.extend(granted(CONTROLLER, name, Scope::Own, note, ACTS, nodes));
    all
}

pub(super) fn webhook() -> Vec<Planned> {
    let mut all = vec![account(HOOK, When::Webhook)];
    let read = || texts(["get", "list", "watch"]);
    let rules = list([
        rule("", ["namespaces", "nodes"], read()),
        rule(OURS, ["dedicatedpools", "taintwardpolicies"], read()),
    ]);
    let note = "What reviews rest on.";
    all.extend(granted(HOOK, WEBHOOK, Scope::Everywhere, note, When::Webhook, rules));
    const SIGNS: When = When::All(&[When::Webhook, When::SelfSigned]);
    const ADMISSION: &str = "admissionregistration.k8s.io";
    let rules = list([named(
        ADMISSION,
        ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"],
        NAME,
        texts(["get", "patch"]),
    )]);
    let note = "caBundle of its own two webhook configurations, kept in step with its certificate.";
    all.extend(granted(HOOK, "taintward-webhook-certificate", Scope::Everywhere, note, SIGNS, rules));
    // With nothing in it, and of no type that means something: whoever applies this again takes nothing out of it. The
    // account may write it and make none: a token of another account comes in a Secret that one may make.
    let note = "Its own certificate, in which all replicas share, and which it fills in.";
    let sheet = object(within("v1", "Secret", CERTIFICATE, HOOK.component), [field("type", "Opaque")]);
    all.push(Planned { file: FILE, note, when: SIGNS, sheet });
    let rules = list([named_rule("", "secrets", CERTIFICATE, texts(["get", "patch"]))]);
    let note = "Its own certificate.";
    all.extend(granted(HOOK, "taintward-webhook-certificate", Scope::Own, note, SIGNS, rules));
    all
}

/// Whoever has the role view, edit or admin.
pub(super) fn viewer() -> Planned {
    let labels = map([
        field("app.kubernetes.io/name", NAME),
        field("app.kubernetes.io/component", "viewer"),
        field("rbac.authorization.k8s.io/aggregate-to-view", "true"),
    ]);
    let metadata = map([field("name", "taintward-viewer"), field("labels", labels)]);
    let rules = list([rule(OURS, ["dedicatedpools", "taintwardpolicies"], texts(["get", "list", "watch"]))]);
    Planned {
        file: FILE,
        note: "Pools and policies for everybody who may look (the roles view, edit and admin).",
        when: When::Viewer,
        sheet: map([
            field("apiVersion", RBAC),
            field("kind", "ClusterRole"),
            field("metadata", metadata),
            field("rules", rules),
        ]),
    }
}

/// No token by itself: pods mount one that ends within the hour.
fn account(account: Account, when: When) -> Planned {
    let beginning = within("v1", "ServiceAccount", account.name, account.component);
    let sheet = object(beginning, [field("automountServiceAccountToken", false)]);
    Planned { file: FILE, note: "", when, sheet }
}

fn rule<const N: usize>(group: &'static str, resources: [&'static str; N], verbs: Sheet) -> Item {
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
    verbs: Sheet,
) -> Item {
    item(map([
        field("apiGroups", texts([group])),
        field("resources", texts(resources)),
        field("resourceNames", texts([name])),
        field("verbs", verbs),
    ]))
}

fn named_rule(group: &'static str, resource: &'static str, name: &'static str, verbs: Sheet) -> Item {
    named(group, [resource], name, verbs)
}

/// A role, and that the account has it.
fn granted(
    account: Account,
    name: &'static str,
    scope: Scope,
    note: &'static str,
    when: When,
    rules: Sheet,
) -> Vec<Planned> {
    let begin = |kind: &'static str| match scope {
        Scope::Everywhere => everywhere(RBAC, kind, name, account.component),
        Scope::Own => within(RBAC, kind, name, account.component),
        Scope::In(namespace) => {
            let metadata = map([
                field("name", name),
                field("namespace", namespace),
                field("labels", labels(account.component)),
            ]);
            vec![field("apiVersion", RBAC), field("kind", kind), field("metadata", metadata)]
        }
    };
    let (role, binding) = match scope {
        Scope::Everywhere => ("ClusterRole", "ClusterRoleBinding"),
        Scope::Own | Scope::In(_) => ("Role", "RoleBinding"),
    };
    let reference = map([field("apiGroup", GROUP), field("kind", role), field("name", name)]);
    let subjects = maps([[
        field("kind", "ServiceAccount"),
        field("name", account.name),
        field("namespace", Knob::Namespace),
    ]]);
    let sheets = [
        (note, object(begin(role), [field("rules", rules)])),
        ("", object(begin(binding), [field("roleRef", reference), field("subjects", subjects)])),
    ];
    sheets.map(|(note, sheet)| Planned { file: FILE, note, when, sheet }).into()
}
