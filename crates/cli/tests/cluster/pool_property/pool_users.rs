//! Decides which pods may use a pool, by docs/dedicated-nodes.md, independently of the product.

use super::plan::{DAEMONS, PlannedUser, Pool};
use super::rules::{holds, list, text};
use serde_json::Value;

/// A pod that is to run as a service account of a namespace.
#[derive(Clone, Copy)]
pub(crate) struct RequestedPod<'a> {
    /// The user that created it, or last added tolerations or removed its scheduling gates. None if that was before the
    /// pools.
    pub(crate) by: Option<&'a PlannedUser>,
    pub(crate) namespace: &'a str,
    pub(crate) labels: &'a Value,
    pub(crate) account: &'a str,
}

/// Why a pod may be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Why {
    Namespace,
    Account,
    User,
    System,
    Mirror,
    DaemonSet,
    Before,
}

impl Why {
    /// Whether it is one of the pool's own.
    pub(crate) fn is_inside(self) -> bool {
        matches!(self, Self::Namespace | Self::Account | Self::User)
    }
}

/// Whether it is one of the pool's `users`.
pub(crate) fn may_use(pool: &Pool, requested: &RequestedPod<'_>) -> bool {
    inside(pool, requested).is_some()
}

fn inside(pool: &Pool, requested: &RequestedPod<'_>) -> Option<Why> {
    let users = &pool.spec["users"];
    let account = if requested.account.is_empty() { "default" } else { requested.account };
    let selector = &users["namespaceSelector"];
    let label = |key: &str| requested.labels[key].as_str();
    let selected = selector.is_object()
        && selector["matchLabels"]
            .as_object()
            .into_iter()
            .flatten()
            .all(|(key, value)| label(key) == value.as_str())
        && list(selector, "matchExpressions").all(|one| holds(one, label(text(one, "key"))));
    let is_account = |one: &Value| one["namespace"] == requested.namespace && one["name"] == account;
    match () {
        () if selected => Some(Why::Namespace),
        () if list(users, "serviceAccounts").any(is_account) => Some(Why::Account),
        () if requested.by.is_some_and(|by| is_user(pool, by)) => Some(Why::User),
        () => None,
    }
}

/// Whether it is a user of the pool, or in one of its groups.
pub(crate) fn is_user(pool: &Pool, user: &PlannedUser) -> bool {
    let users = &pool.spec["users"];
    let is_in = |group: &Value| user.groups.iter().any(|own| group == own);
    !creates_pods_for_workloads(&user.name)
        && (list(users, "users").any(|one| *one == *user.name) || list(users, "groups").any(is_in))
}

fn creates_pods_for_workloads(user: &str) -> bool {
    let controllers = ["daemon-set", "replicaset", "replication", "statefulset", "job"];
    let account = |name| format!("system:serviceaccount:kube-system:{name}-controller");
    user == "system:kube-controller-manager" || controllers.iter().any(|name| user == account(name))
}

/// Why a pod may be on the nodes of a pool; `None` if it may not.
pub(crate) fn why(pool: &Pool, requested: &RequestedPod<'_>, pod: &Value) -> Option<Why> {
    let metadata = &pod["metadata"];
    let is_daemon = |owner: &Value| owner["kind"] == "DaemonSet" && owner["controller"] == true;
    let is_mirror = metadata["annotations"].get("kubernetes.io/config.mirror").is_some();
    let by = requested.by.map(|user| &*user.name).unwrap_or_default();
    match () {
        () if requested.namespace == "kube-system" => Some(Why::System),
        () if requested.by.is_none() => Some(Why::Before),
        () if is_mirror && by.starts_with("system:node:") => Some(Why::Mirror),
        () if by == DAEMONS
            && pool.spec["daemonSets"] == "Allow"
            && list(metadata, "ownerReferences").any(is_daemon) =>
        {
            Some(Why::DaemonSet)
        }
        () => inside(pool, requested),
    }
}
