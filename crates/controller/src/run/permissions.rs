//! Lists the permissions that each mode and controller needs, and logs the missing ones.

use super::PROBE_MAX;
use crate::settings::{ControllerSettings, ElectionSettings, Marking, MetricsReadersSetting, WriteMode};
use taintward_kube::api::{Permission, check_access};

/// The namespace of nodes' leases.
const NODE_LEASES: &str = "kube-node-lease";

/// The group of dedicated pools and policies.
const GROUP: &str = "taintward.io";

/// Logs the missing permissions, each with the line that grants it. It does not wait for them: they may be granted
/// later.
pub(super) async fn report_access(client: &kube::Client, settings: &ControllerSettings) {
    match check_access(client, &needs(settings), None, PROBE_MAX).await {
        Ok(missing) => {
            missing.iter().for_each(|missing| tracing::error!(missing = %missing, "permission missing"))
        }
        Err(error) => tracing::warn!(err = %error.message, "cannot check the permissions"),
    }
}

/// The permissions that this mode needs (TE-2), and no others.
fn needs(settings: &ControllerSettings) -> Vec<Permission> {
    let mut needs = Vec::new();
    for resource in ["nodes", "pods"] {
        needs.extend(["list", "watch"].map(|verb| Permission::everywhere(verb, "", resource)));
    }
    if settings.controllers.node_lifecycle.is_some() {
        needs.extend(["list", "watch"].map(node_lease));
    }
    let follows_namespaces = settings.controllers.follow_namespaces() || settings.eviction_policies;
    if settings.controllers.dedicated_pools || follows_namespaces {
        needs.extend(["list", "watch"].map(|verb| Permission::everywhere(verb, "", "namespaces")));
    }
    if settings.controllers.toleration_backfill.is_some() {
        needs.extend(["list", "watch"].map(|verb| Permission::everywhere(verb, GROUP, "tolerationpolicies")));
    }
    if settings.controllers.dedicated_pools {
        needs.extend(["list", "watch"].map(|verb| Permission::everywhere(verb, GROUP, "dedicatedpools")));
    }
    if settings.eviction_policies {
        needs.extend(for_eviction_policies());
    }
    if settings
        .serving
        .secure
        .as_ref()
        .is_some_and(|secure| secure.readers == MetricsReadersSetting::Delegated)
    {
        needs.push(Permission::everywhere("create", "authentication.k8s.io", "tokenreviews"));
        needs.push(Permission::everywhere("create", "authorization.k8s.io", "subjectaccessreviews"));
    }
    if settings.mode == WriteMode::Observe {
        return needs;
    }
    if settings.controllers.read_live() {
        needs.extend(["nodes", "pods"].map(|on| Permission::everywhere("get", "", on)));
    }
    if settings.controllers.eviction().is_some() {
        needs.extend(for_eviction(settings));
    }
    if settings.controllers.node_lifecycle.is_some() {
        needs.extend(for_node_health());
    }
    if settings.controllers.dedicated_pools {
        needs.extend(for_pools());
    }
    if settings.controllers.change_seconds() {
        needs.push(Permission::everywhere("patch", "", "pods"));
    }
    if settings.controllers.toleration_backfill.is_some() {
        needs.push(Permission::everywhere("patch", GROUP, "tolerationpolicies/status"));
    }
    needs.push(Permission::everywhere("create", "events.k8s.io", "events"));
    needs.extend(settings.election.iter().flat_map(for_election));
    needs
}

/// What eviction policies are, and what they need to know.
fn for_eviction_policies() -> impl Iterator<Item = Permission> {
    let watched = [
        (GROUP, "evictionpolicies"),
        ("policy", "poddisruptionbudgets"),
        ("apps", "deployments"),
        ("apps", "replicasets"),
        ("apps", "statefulsets"),
    ];
    watched.into_iter().flat_map(|(group, resource)| {
        ["list", "watch"].map(|verb| Permission::everywhere(verb, group, resource))
    })
}

fn for_eviction(settings: &ControllerSettings) -> Vec<Permission> {
    let mut needs = vec![Permission::everywhere("delete", "", "pods")];
    if settings.eviction_policies {
        needs.push(Permission::everywhere("create", "", "pods/eviction"));
    }
    if settings.marking != Marking::Never {
        needs.push(Permission::everywhere("patch", "", "pods/status"));
    }
    if settings.stamp_taints {
        needs.push(Permission::everywhere("patch", "", "nodes"));
    }
    needs
}

/// NL-60, without what patches make unnecessary.
fn for_node_health() -> Vec<Permission> {
    let mut needs: Vec<_> =
        ["nodes", "nodes/status", "pods/status"].map(|on| Permission::everywhere("patch", "", on)).into();
    needs.push(node_lease("get"));
    needs
}

fn for_pools() -> [Permission; 6] {
    [
        Permission::everywhere("get", "", "namespaces"),
        Permission::everywhere("create", "", "pods/eviction"),
        Permission::everywhere("patch", "", "nodes"),
        Permission::everywhere("get", GROUP, "dedicatedpools"),
        Permission::everywhere("patch", GROUP, "dedicatedpools"),
        Permission::everywhere("patch", GROUP, "dedicatedpools/status"),
    ]
}

fn node_lease(verb: &'static str) -> Permission {
    let (group, resource) = ("coordination.k8s.io", "leases");
    Permission { verb, group, resource, namespace: Some(NODE_LEASES.into()), name: None }
}

fn for_election(election: &ElectionSettings) -> Vec<Permission> {
    let lease = |verb, name| Permission {
        verb,
        group: "coordination.k8s.io",
        resource: "leases",
        namespace: Some(election.namespace.clone()),
        name,
    };
    let mut needs = vec![lease("create", None)];
    needs.extend(["get", "update"].map(|verb| lease(verb, Some(election.name.clone()))));
    needs
}
