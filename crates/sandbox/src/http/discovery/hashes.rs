//! # Hashes: what each resource is kept as
//! Room:     `storageVersionHash` as a real server of this release tells it: equal hashes are the same objects.
//! Comes in: a resource.
//! Goes out: its hash.
//! Not here: how this server keeps objects, which nobody outside can tell.

use crate::resource::Resource;

/// The hash of a kept resource.
pub(super) fn of(resource: &Resource) -> Option<&'static str> {
    let found =
        HASHES.iter().find(|(group, plural, _)| (*group, *plural) == (resource.group, resource.plural));
    found.map(|(_, _, hash)| *hash)
}

/// Group, resource, hash.
const HASHES: &[(&str, &str, &str)] = &[
    ("", "configmaps", "qFsyl6wFWjQ="),
    ("", "endpoints", "fWeeMqaN/OA="),
    ("", "events", "r2yiGXH7wu8="),
    ("", "limitranges", "EBKMFVe6cwo="),
    ("", "namespaces", "Q3oi5N2YM8M="),
    ("", "nodes", "XwShjMxG9Fs="),
    ("", "persistentvolumeclaims", "QWTyNDq0dC4="),
    ("", "persistentvolumes", "HN/zwEC+JgM="),
    ("", "pods", "xPOwRZ+Yhw8="),
    ("", "podtemplates", "LIXB2x4IFpk="),
    ("", "replicationcontrollers", "Jond2If31h0="),
    ("", "resourcequotas", "8uhSgffRX6w="),
    ("", "secrets", "S6u1pOWzb84="),
    ("", "serviceaccounts", "pbx9ZvyFpBE="),
    ("", "services", "0/CO1lhkEBI="),
    ("admissionregistration.k8s.io", "mutatingwebhookconfigurations", "Sqi0GUgDaX0="),
    ("admissionregistration.k8s.io", "validatingwebhookconfigurations", "B0wHjQmsGNk="),
    ("apiextensions.k8s.io", "customresourcedefinitions", "jfWCUB31mvA="),
    ("apps", "controllerrevisions", "85nkx63pcBU="),
    ("apps", "daemonsets", "dd7pWHUlMKQ="),
    ("apps", "deployments", "8aSe+NMegvE="),
    ("apps", "replicasets", "P1RzHs8/mWQ="),
    ("apps", "statefulsets", "H+vl74LkKdo="),
    ("autoscaling", "horizontalpodautoscalers", "qwQve8ut294="),
    ("batch", "cronjobs", "sd5LIXh4Fjs="),
    ("batch", "jobs", "mudhfqk/qZY="),
    ("certificates.k8s.io", "certificatesigningrequests", "95fRKMXA+00="),
    ("coordination.k8s.io", "leases", "gqkMMb/YqFM="),
    ("discovery.k8s.io", "endpointslices", "qgS0xkrxYAI="),
    ("events.k8s.io", "events", "r2yiGXH7wu8="),
    ("flowcontrol.apiserver.k8s.io", "flowschemas", "GJVAJZSZBIw="),
    ("flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations", "Kir5PVfvNeI="),
    ("networking.k8s.io", "ingressclasses", "l/iqIbDgFyQ="),
    ("networking.k8s.io", "ingresses", "39NQlfNR+bo="),
    ("networking.k8s.io", "networkpolicies", "YpfwF18m1G8="),
    ("node.k8s.io", "runtimeclasses", "WQTu1GL3T2Q="),
    ("policy", "poddisruptionbudgets", "EVWiDmWqyJw="),
    ("rbac.authorization.k8s.io", "clusterrolebindings", "48tpQ8gZHFc="),
    ("rbac.authorization.k8s.io", "clusterroles", "bYE5ZWDrJ44="),
    ("rbac.authorization.k8s.io", "rolebindings", "eGsCzGH6b1g="),
    ("rbac.authorization.k8s.io", "roles", "7FuwZcIIItM="),
    ("resource.k8s.io", "deviceclasses", "Yk2PTc1Ybxk="),
    ("resource.k8s.io", "resourceclaims", "wgAZaHcZxUg="),
    ("resource.k8s.io", "resourceclaimtemplates", "TuzjC49aUfM="),
    ("resource.k8s.io", "resourceslices", "KsC072WgaEY="),
    ("scheduling.k8s.io", "priorityclasses", "1QwjyaZjj3Y="),
    ("storage.k8s.io", "csidrivers", "hL6j/rwBV5w="),
    ("storage.k8s.io", "csinodes", "Pe62DkZtjuo="),
    ("storage.k8s.io", "csistoragecapacities", "xeVl+2Ly1kE="),
    ("storage.k8s.io", "storageclasses", "K+m6uJwbjGY="),
    ("storage.k8s.io", "volumeattachments", "tJx/ezt6UDU="),
    ("storage.k8s.io", "volumeattributesclasses", "tIjydgKBC5w="),
    ("taintward.io", "dedicatedpools", "JrAM4VDwAUQ="),
    ("taintward.io", "taintwardpolicies", "qFEVDeFv8sI="),
];
