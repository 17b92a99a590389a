//! Reads the facts from a running cluster or from files; a failed read is recorded and does not end the others.

use super::facts::{ClusterFacts, PermissionFacts, needs_whole_pod};
use super::{DoctorArgs, DoctorError};
use crate::cluster_state::{ClusterReader, ReadError};
use crate::controller_deployment::DeploymentFacts;
use crate::manifest::{self, YamlNode, files};
use crate::repeated_fields;
use futures::future::join_all;
use std::cell::RefCell;
use std::fmt;
use std::path::PathBuf;
use taintward_core::api_error::ApiFailure;
use taintward_kube::api::paged_list::{self, ListRequest};
use taintward_kube::api::{Permission, check_access};

/// A list to read.
struct Listing {
    group: &'static str,
    plural: &'static str,
    kind: &'static str,
    namespace: Namespace,
    fields: &'static str,
}

/// The namespace of a list.
enum Namespace {
    All,
    Named(&'static str),
    /// Taintward's namespace.
    Taintward,
}

const fn all(group: &'static str, plural: &'static str, kind: &'static str) -> Listing {
    Listing { group, plural, kind, namespace: Namespace::All, fields: "" }
}

const LISTINGS: [Listing; 12] = [
    all("", "nodes", "Node"),
    all("", "pods", "Pod"),
    all("policy", "poddisruptionbudgets", "PodDisruptionBudget"),
    all("taintward.io", POLICIES, "EvictionPolicy"),
    all("admissionregistration.k8s.io", "validatingwebhookconfigurations", "ValidatingWebhookConfiguration"),
    all("admissionregistration.k8s.io", "mutatingwebhookconfigurations", "MutatingWebhookConfiguration"),
    all("flowcontrol.apiserver.k8s.io", "flowschemas", "FlowSchema"),
    Listing { fields: "reason=TaintManagerEviction", ..all("", "events", "Event") },
    Listing { namespace: Namespace::Named("kube-node-lease"), ..all(LEASES.0, LEASES.1, "Lease") },
    Listing { namespace: Namespace::Named("kube-system"), ..all(LEASES.0, LEASES.1, "Lease") },
    Listing { namespace: Namespace::Taintward, ..all(LEASES.0, LEASES.1, "Lease") },
    Listing { namespace: Namespace::Taintward, ..all("apps", "deployments", "Deployment") },
];

const POLICIES: &str = "evictionpolicies";

const LEASES: (&str, &str) = ("coordination.k8s.io", "leases");

/// ConfigMaps about how nodes join.
const CONFIG_MAPS: [(&str, &str); 2] = [("kube-system", "kubeadm-config"), ("kube-public", "cluster-info")];

/// Reads all objects of a running cluster that the user may read. The lists are read concurrently, so that several
/// without a response cost one timeout.
pub(crate) async fn from_cluster(reader: &ClusterReader<'_>, options: &DoctorArgs) -> ClusterFacts {
    let facts = RefCell::new(ClusterFacts {
        server_version: reader.version.clone(),
        now: Some(reader.clock.now().wall),
        clock_offset: reader.clock.ahead(),
        ..ClusterFacts::default()
    });
    let note = |plural, why: &dyn fmt::Display| {
        facts.borrow_mut().unread.entry(plural).or_insert_with(|| why.to_string());
    };
    let lists = LISTINGS.iter().map(async |listing| {
        let Listing { group, plural, kind, fields, .. } = *listing;
        let namespace = match listing.namespace {
            Namespace::All => "",
            Namespace::Named(name) => name,
            Namespace::Taintward => &options.namespace,
        };
        let request = ListRequest { group, plural, namespace, selector: "", fields };
        let add = &mut |json: &[u8]| {
            let object = listed(kind, json)?;
            facts.borrow_mut().add(&object.called("v1", kind));
            Ok(())
        };
        match reader.each(request, add).await {
            Ok(()) => {}
            Err(why) if plural == POLICIES && why.failure == ApiFailure::NotFound => {
                facts.borrow_mut().policies.is_undefined = true;
            }
            Err(why) => note(plural, &why),
        }
    });
    let (client, limit) = (&reader.connected.client, reader.cluster.server.timeout);
    let config_maps = CONFIG_MAPS.iter().map(async |(namespace, name)| {
        match paged_list::object(client, ("", "configmaps"), namespace, name, limit).await {
            Ok(Some(json)) => match serde_json::from_slice::<YamlNode>(&json) {
                Ok(object) => facts.borrow_mut().add(&object.called("v1", "ConfigMap")),
                Err(why) => note("configmaps", &why),
            },
            Ok(None) => {}
            Err(why) => note("configmaps", &why),
        }
    });
    tokio::join!(join_all(lists), join_all(config_maps));
    let facts = facts.into_inner();
    let permissions = permissions(reader, options, &facts).await;
    ClusterFacts { permissions, ..facts }
}

/// The fields of a pod that its facts usually need.
const POD_FIELDS: [(&str, &str); 7] = [
    ("metadata", "namespace"),
    ("metadata", "name"),
    ("metadata", "annotations"),
    ("spec", "nodeName"),
    ("spec", "tolerations"),
    ("status", "phase"),
    ("status", "conditions"),
];

/// An object of a list, as far as its facts need it.
pub(super) fn listed(kind: &str, json: &[u8]) -> serde_json::Result<YamlNode> {
    if kind != "Pod" {
        return manifest::excerpt(json, |_, field| field != "managedFields");
    }
    let pod = manifest::excerpt(json, |section, field| POD_FIELDS.contains(&(section, field)))?;
    if needs_whole_pod(&pod) { serde_json::from_slice(json) } else { Ok(pod) }
}

/// Before an installation the user's permissions, afterwards those of the controllers; `None` without an installation.
async fn permissions(
    reader: &ClusterReader<'_>,
    options: &DoctorArgs,
    facts: &ClusterFacts,
) -> Option<PermissionFacts> {
    let (client, limit) = (&reader.connected.client, reader.cluster.server.timeout);
    let namespace = &options.namespace;
    let (account, purpose, needs, subject) = if options.pre {
        ("you".to_owned(), "to install Taintward", installation_permissions(namespace), None)
    } else {
        let deployment = facts.deployments.iter().find(|one| one.is_controller())?;
        let purpose = if deployment.observes() {
            "that --mode=observe needs"
        } else {
            "that Taintward's controllers need"
        };
        let subject = format!("system:serviceaccount:{namespace}:taintward");
        let account = format!("service account {namespace}/taintward");
        (account, purpose, controller_permissions(namespace, deployment), Some(subject))
    };
    let missing = check_access(client, &needs, subject.as_deref(), limit.next()).await;
    let missing = missing.map(|missing| missing.iter().map(ToString::to_string).collect());
    Some(PermissionFacts { account, purpose, missing: missing.map_err(|why| why.to_string()) })
}

/// The permissions for what `taintward install --apply` creates.
fn installation_permissions(namespace: &str) -> Vec<Permission> {
    let cluster = [
        ("", "namespaces"),
        ("rbac.authorization.k8s.io", "clusterroles"),
        ("rbac.authorization.k8s.io", "clusterrolebindings"),
        ("flowcontrol.apiserver.k8s.io", "flowschemas"),
        ("admissionregistration.k8s.io", "validatingadmissionpolicies"),
        ("admissionregistration.k8s.io", "validatingadmissionpolicybindings"),
        ("admissionregistration.k8s.io", "validatingwebhookconfigurations"),
        ("admissionregistration.k8s.io", "mutatingwebhookconfigurations"),
        ("apiextensions.k8s.io", "customresourcedefinitions"),
    ];
    let namespaced = [
        ("", "serviceaccounts"),
        ("", "services"),
        ("apps", "deployments"),
        ("policy", "poddisruptionbudgets"),
        ("networking.k8s.io", "networkpolicies"),
        ("rbac.authorization.k8s.io", "roles"),
        ("rbac.authorization.k8s.io", "rolebindings"),
    ];
    let everywhere = cluster.map(|(group, resource)| Permission::everywhere("patch", group, resource));
    let inside = namespaced.map(|(group, resource)| Permission {
        namespace: Some(namespace.to_owned()),
        ..Permission::everywhere("patch", group, resource)
    });
    everywhere.into_iter().chain(inside).collect()
}

/// The permissions of the controllers: what all need, and what evictions need.
fn controller_permissions(namespace: &str, deployment: &DeploymentFacts) -> Vec<Permission> {
    let read = ["nodes", "pods"]
        .into_iter()
        .flat_map(|resource| ["list", "watch", "get"].map(|verb| Permission::everywhere(verb, "", resource)));
    let evict = [("delete", "", "pods"), ("patch", "", "pods/status")];
    let evict = evict.map(|(verb, group, resource)| Permission::everywhere(verb, group, resource));
    let evict = evict.into_iter().filter(|_| deployment.evicts());
    let lead = [
        Permission::everywhere("create", "events.k8s.io", "events"),
        Permission {
            namespace: Some(namespace.to_owned()),
            name: Some("taintward".to_owned()),
            ..Permission::everywhere("update", LEASES.0, LEASES.1)
        },
    ];
    let lead = lead.into_iter().filter(|_| !deployment.observes());
    read.chain(evict).chain(lead).chain(policy_permissions(deployment)).collect()
}

/// The permissions that eviction policies need.
fn policy_permissions(deployment: &DeploymentFacts) -> impl Iterator<Item = Permission> {
    let read = [
        ("taintward.io", POLICIES),
        ("", "namespaces"),
        ("policy", "poddisruptionbudgets"),
        ("apps", "deployments"),
        ("apps", "replicasets"),
        ("apps", "statefulsets"),
    ];
    let read = read.into_iter().flat_map(|(group, resource)| {
        ["list", "watch"].map(|verb| Permission::everywhere(verb, group, resource))
    });
    let evict = [("create", "", "pods/eviction"), ("patch", "taintward.io", "evictionpolicies/status")];
    let evict = evict.map(|(verb, group, resource)| Permission::everywhere(verb, group, resource));
    let evict = evict.into_iter().filter(|_| deployment.evicts_all());
    read.chain(evict).filter(|_| deployment.applies_policies())
}

/// The facts in files, as printed by `kubectl get -o yaml`.
pub(crate) fn from_files(paths: &[PathBuf]) -> Result<ClusterFacts, DoctorError> {
    let mut facts = ClusterFacts::default();
    let mut faults = Vec::new();
    files::each(paths, &mut |file| {
        let fault = |at, why: String| ReadError { file: file.name.clone(), at, why };
        match &file.text {
            Ok(text) => {
                let broken = manifest::each(text, |object| {
                    repeated_fields::warn(&file.name, object);
                    facts.add(object);
                });
                faults.extend(broken.into_iter().map(|error| fault(error.at, error.why)));
            }
            Err(why) => faults.push(fault(why.at(), why.to_string())),
        }
    });
    if faults.is_empty() { Ok(facts) } else { Err(DoctorError::Files(faults)) }
}
