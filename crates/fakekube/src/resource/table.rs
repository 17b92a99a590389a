//! Lists all resources in the order of discovery.

use super::{ResourceType, Subresource};
use Subresource::{Binding, EphemeralContainers, Eviction, Finalize, Log, Scale, Status, Token};

const ALL: &[&str] = &["all"];
const NONE: &[&str] = &[];
const STATUS: &[Subresource] = &[Status];
const SCALED: &[Subresource] = &[Scale, Status];

/// Kept objects in namespaces.
const fn spaced(
    (group, version): (&'static str, &'static str),
    (plural, singular, kind): (&'static str, &'static str, &'static str),
    (short, categories): (&'static [&'static str], &'static [&'static str]),
    subs: &'static [Subresource],
) -> ResourceType {
    ResourceType {
        group,
        version,
        plural,
        singular,
        kind,
        namespaced: true,
        short,
        categories,
        subs,
        kept: true,
    }
}

/// Kept objects of the whole cluster.
const fn global(
    group: (&'static str, &'static str),
    names: (&'static str, &'static str, &'static str),
    short: &'static [&'static str],
    subs: &'static [Subresource],
) -> ResourceType {
    ResourceType { namespaced: false, ..spaced(group, names, (short, NONE), subs) }
}

/// What extends an API server.
const fn extension(
    group: (&'static str, &'static str),
    names: (&'static str, &'static str, &'static str),
    short: &'static [&'static str],
    subs: &'static [Subresource],
) -> ResourceType {
    ResourceType { categories: &["api-extensions"], ..global(group, names, short, subs) }
}

/// Questions.
const fn asked(
    group: (&'static str, &'static str),
    names: (&'static str, &'static str, &'static str),
    namespaced: bool,
) -> ResourceType {
    ResourceType { namespaced, kept: false, ..spaced(group, names, (NONE, NONE), &[]) }
}

const CORE: (&str, &str) = ("", "v1");
const APPS: (&str, &str) = ("apps", "v1");
const BATCH: (&str, &str) = ("batch", "v1");
const AUTHZ: (&str, &str) = ("authorization.k8s.io", "v1");
const RBAC: (&str, &str) = ("rbac.authorization.k8s.io", "v1");
const STORAGE: (&str, &str) = ("storage.k8s.io", "v1");
const FLOWS: (&str, &str) = ("flowcontrol.apiserver.k8s.io", "v1");
const DRA: (&str, &str) = ("resource.k8s.io", "v1");
const POD_SUBS: &[Subresource] = &[Binding, EphemeralContainers, Eviction, Log, Status];

/// Everything that is served.
pub(super) static RESOURCES: &[ResourceType] = &[
    asked(CORE, ("bindings", "binding", "Binding"), true),
    spaced(CORE, ("configmaps", "configmap", "ConfigMap"), (&["cm"], NONE), &[]),
    spaced(CORE, ("endpoints", "endpoints", "Endpoints"), (&["ep"], NONE), &[]),
    spaced(CORE, ("events", "event", "Event"), (&["ev"], NONE), &[]),
    spaced(CORE, ("limitranges", "limitrange", "LimitRange"), (&["limits"], NONE), &[]),
    global(CORE, ("namespaces", "namespace", "Namespace"), &["ns"], &[Finalize, Status]),
    global(CORE, ("nodes", "node", "Node"), &["no"], STATUS),
    spaced(
        CORE,
        ("persistentvolumeclaims", "persistentvolumeclaim", "PersistentVolumeClaim"),
        (&["pvc"], NONE),
        STATUS,
    ),
    global(CORE, ("persistentvolumes", "persistentvolume", "PersistentVolume"), &["pv"], STATUS),
    spaced(CORE, ("pods", "pod", "Pod"), (&["po"], ALL), POD_SUBS),
    spaced(CORE, ("podtemplates", "podtemplate", "PodTemplate"), (NONE, NONE), &[]),
    spaced(
        CORE,
        ("replicationcontrollers", "replicationcontroller", "ReplicationController"),
        (&["rc"], ALL),
        SCALED,
    ),
    spaced(CORE, ("resourcequotas", "resourcequota", "ResourceQuota"), (&["quota"], NONE), STATUS),
    spaced(CORE, ("secrets", "secret", "Secret"), (NONE, NONE), &[]),
    spaced(CORE, ("serviceaccounts", "serviceaccount", "ServiceAccount"), (&["sa"], NONE), &[Token]),
    spaced(CORE, ("services", "service", "Service"), (&["svc"], ALL), STATUS),
    extension(
        ("admissionregistration.k8s.io", "v1"),
        ("validatingadmissionpolicies", "validatingadmissionpolicy", "ValidatingAdmissionPolicy"),
        NONE,
        STATUS,
    ),
    extension(
        ("admissionregistration.k8s.io", "v1"),
        (
            "validatingadmissionpolicybindings",
            "validatingadmissionpolicybinding",
            "ValidatingAdmissionPolicyBinding",
        ),
        NONE,
        &[],
    ),
    extension(
        ("admissionregistration.k8s.io", "v1"),
        ("mutatingwebhookconfigurations", "mutatingwebhookconfiguration", "MutatingWebhookConfiguration"),
        NONE,
        &[],
    ),
    extension(
        ("admissionregistration.k8s.io", "v1"),
        (
            "validatingwebhookconfigurations",
            "validatingwebhookconfiguration",
            "ValidatingWebhookConfiguration",
        ),
        NONE,
        &[],
    ),
    extension(
        ("apiextensions.k8s.io", "v1"),
        ("customresourcedefinitions", "customresourcedefinition", "CustomResourceDefinition"),
        &["crd", "crds"],
        STATUS,
    ),
    spaced(APPS, ("controllerrevisions", "controllerrevision", "ControllerRevision"), (NONE, NONE), &[]),
    spaced(APPS, ("daemonsets", "daemonset", "DaemonSet"), (&["ds"], ALL), STATUS),
    spaced(APPS, ("deployments", "deployment", "Deployment"), (&["deploy"], ALL), SCALED),
    spaced(APPS, ("replicasets", "replicaset", "ReplicaSet"), (&["rs"], ALL), SCALED),
    spaced(APPS, ("statefulsets", "statefulset", "StatefulSet"), (&["sts"], ALL), SCALED),
    asked(
        ("authentication.k8s.io", "v1"),
        ("selfsubjectreviews", "selfsubjectreview", "SelfSubjectReview"),
        false,
    ),
    asked(("authentication.k8s.io", "v1"), ("tokenreviews", "tokenreview", "TokenReview"), false),
    asked(AUTHZ, ("localsubjectaccessreviews", "localsubjectaccessreview", "LocalSubjectAccessReview"), true),
    asked(AUTHZ, ("selfsubjectaccessreviews", "selfsubjectaccessreview", "SelfSubjectAccessReview"), false),
    asked(AUTHZ, ("selfsubjectrulesreviews", "selfsubjectrulesreview", "SelfSubjectRulesReview"), false),
    asked(AUTHZ, ("subjectaccessreviews", "subjectaccessreview", "SubjectAccessReview"), false),
    spaced(
        ("autoscaling", "v2"),
        ("horizontalpodautoscalers", "horizontalpodautoscaler", "HorizontalPodAutoscaler"),
        (&["hpa"], ALL),
        STATUS,
    ),
    spaced(BATCH, ("cronjobs", "cronjob", "CronJob"), (&["cj"], ALL), STATUS),
    spaced(BATCH, ("jobs", "job", "Job"), (NONE, ALL), STATUS),
    global(
        ("certificates.k8s.io", "v1"),
        ("certificatesigningrequests", "certificatesigningrequest", "CertificateSigningRequest"),
        &["csr"],
        STATUS,
    ),
    spaced(("coordination.k8s.io", "v1"), ("leases", "lease", "Lease"), (NONE, NONE), &[]),
    spaced(
        ("discovery.k8s.io", "v1"),
        ("endpointslices", "endpointslice", "EndpointSlice"),
        (NONE, NONE),
        &[],
    ),
    spaced(("events.k8s.io", "v1"), ("events", "event", "Event"), (&["ev"], NONE), &[]),
    global(FLOWS, ("flowschemas", "flowschema", "FlowSchema"), NONE, STATUS),
    global(
        FLOWS,
        ("prioritylevelconfigurations", "prioritylevelconfiguration", "PriorityLevelConfiguration"),
        NONE,
        STATUS,
    ),
    global(("networking.k8s.io", "v1"), ("ingressclasses", "ingressclass", "IngressClass"), NONE, &[]),
    spaced(("networking.k8s.io", "v1"), ("ingresses", "ingress", "Ingress"), (&["ing"], NONE), STATUS),
    global(("networking.k8s.io", "v1"), ("ipaddresses", "ipaddress", "IPAddress"), &["ip"], &[]),
    spaced(
        ("networking.k8s.io", "v1"),
        ("networkpolicies", "networkpolicy", "NetworkPolicy"),
        (&["netpol"], NONE),
        &[],
    ),
    global(("networking.k8s.io", "v1"), ("servicecidrs", "servicecidr", "ServiceCIDR"), NONE, STATUS),
    global(("node.k8s.io", "v1"), ("runtimeclasses", "runtimeclass", "RuntimeClass"), NONE, &[]),
    spaced(
        ("policy", "v1"),
        ("poddisruptionbudgets", "poddisruptionbudget", "PodDisruptionBudget"),
        (&["pdb"], NONE),
        STATUS,
    ),
    global(RBAC, ("clusterrolebindings", "clusterrolebinding", "ClusterRoleBinding"), NONE, &[]),
    global(RBAC, ("clusterroles", "clusterrole", "ClusterRole"), NONE, &[]),
    spaced(RBAC, ("rolebindings", "rolebinding", "RoleBinding"), (NONE, NONE), &[]),
    spaced(RBAC, ("roles", "role", "Role"), (NONE, NONE), &[]),
    global(DRA, ("deviceclasses", "deviceclass", "DeviceClass"), NONE, &[]),
    spaced(DRA, ("resourceclaims", "resourceclaim", "ResourceClaim"), (NONE, NONE), STATUS),
    spaced(
        DRA,
        ("resourceclaimtemplates", "resourceclaimtemplate", "ResourceClaimTemplate"),
        (NONE, NONE),
        &[],
    ),
    global(DRA, ("resourceslices", "resourceslice", "ResourceSlice"), NONE, &[]),
    global(("scheduling.k8s.io", "v1"), ("priorityclasses", "priorityclass", "PriorityClass"), &["pc"], &[]),
    global(STORAGE, ("csidrivers", "csidriver", "CSIDriver"), NONE, &[]),
    global(STORAGE, ("csinodes", "csinode", "CSINode"), NONE, &[]),
    spaced(STORAGE, ("csistoragecapacities", "csistoragecapacity", "CSIStorageCapacity"), (NONE, NONE), &[]),
    global(STORAGE, ("storageclasses", "storageclass", "StorageClass"), &["sc"], &[]),
    global(STORAGE, ("volumeattachments", "volumeattachment", "VolumeAttachment"), NONE, STATUS),
    global(
        STORAGE,
        ("volumeattributesclasses", "volumeattributesclass", "VolumeAttributesClass"),
        &["vac"],
        &[],
    ),
];
