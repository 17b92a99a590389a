//! # Names: where the server's own types differ from the API's
//! Room:     the server's names of fields, and the few types whose fields stand in another order or another place.
//! Comes in: names of the schema.
//! Goes out: names, orders.
//! Not here: how they are written (`go.rs`).

use crate::schema::{Field, Schema, TypeId};
use serde_json::Value;

/// Names that are not the API's with a capital: parts of a name that are written in capitals.
const CAPITALS: [(&str, &str); 31] = [
    ("apiGroup", "APIGroup"),
    ("apiVersion", "APIVersion"),
    ("awsElasticBlockStore", "AWSElasticBlockStore"),
    ("cephfs", "CephFS"),
    ("csi", "CSI"),
    ("dnsConfig", "DNSConfig"),
    ("dnsPolicy", "DNSPolicy"),
    ("fc", "FC"),
    ("fsGroup", "FSGroup"),
    ("fsGroupChangePolicy", "FSGroupChangePolicy"),
    ("fsType", "FSType"),
    ("gcePersistentDisk", "GCEPersistentDisk"),
    ("gmsaCredentialSpec", "GMSACredentialSpec"),
    ("gmsaCredentialSpecName", "GMSACredentialSpecName"),
    ("grpc", "GRPC"),
    ("httpGet", "HTTPGet"),
    ("httpHeaders", "HTTPHeaders"),
    ("ip", "IP"),
    ("iqn", "IQN"),
    ("iscsi", "ISCSI"),
    ("iscsiInterface", "ISCSIInterface"),
    ("nfs", "NFS"),
    ("os", "OS"),
    ("pdName", "PDName"),
    ("rbd", "RBD"),
    ("seLinuxChangePolicy", "SELinuxChangePolicy"),
    ("seLinuxOptions", "SELinuxOptions"),
    ("sslEnabled", "SSLEnabled"),
    ("storageos", "StorageOS"),
    ("tcpSocket", "TCPSocket"),
    ("tty", "TTY"),
];

const HOST_FIELDS: [&str; 5] = ["hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace", "hostUsers"];

/// The order of a pod's fields.
const POD_SPEC: &str = "volumes initContainers containers ephemeralContainers restartPolicy \
    terminationGracePeriodSeconds activeDeadlineSeconds dnsPolicy nodeSelector serviceAccountName \
    automountServiceAccountToken nodeName securityContext imagePullSecrets hostname subdomain setHostnameAsFQDN \
    affinity schedulerName tolerations hostAliases priorityClassName priority preemptionPolicy dnsConfig \
    readinessGates runtimeClassName overhead enableServiceLinks topologySpreadConstraints os schedulingGates \
    resourceClaims resources hostnameOverride schedulingGroup";

/// The order of a security context's, with those a pod has itself in the API.
const POD_SECURITY: &str = "hostNetwork hostPID hostIPC shareProcessNamespace hostUsers seLinuxOptions windowsOptions \
    runAsUser runAsGroup runAsNonRoot supplementalGroups supplementalGroupsPolicy fsGroup fsGroupChangePolicy sysctls \
    seccompProfile appArmorProfile seLinuxChangePolicy";

/// The order of a volume's.
const VOLUME: &str = "hostPath emptyDir gcePersistentDisk awsElasticBlockStore gitRepo secret nfs iscsi glusterfs \
    persistentVolumeClaim rbd quobyte flexVolume cinder cephfs flocker downwardAPI fc azureFile configMap \
    vsphereVolume azureDisk photonPersistentDisk projected portworxVolume scaleIO storageos csi ephemeral image";

/// The server's name of a field.
pub(super) fn own(name: &str) -> String {
    if let Some((_, own)) = CAPITALS.iter().find(|(api, _)| *api == name) {
        return (*own).to_owned();
    }
    let mut letters = name.chars();
    letters.next().map_or_else(String::new, |first| first.to_ascii_uppercase().to_string() + letters.as_str())
}

/// The order of a type's fields, where it is not the API's: the server's names, and the API's.
pub(super) fn order(type_name: &str) -> Option<impl Iterator<Item = (String, &'static str)> + use<>> {
    let order = match type_name {
        "core/v1.PodSpec" => POD_SPEC,
        "core/v1.PodSecurityContext" => POD_SECURITY,
        "core/v1.VolumeSource" => VOLUME,
        _ => return None,
    };
    Some(order.split_ascii_whitespace().map(|name| (own(name), name)))
}

/// A field of a type, or of the pod for a security context.
pub(super) fn field(id: TypeId, name: &str) -> Option<&'static Field> {
    let schema = Schema::get();
    schema.field(id, name).or_else(|| schema.named("core/v1.PodSpec").and_then(|pod| schema.field(pod, name)))
}

/// A pod's fields about its host, in its security context.
pub(super) fn move_host_fields(spec: &Value) -> Value {
    let mut spec = spec.clone();
    for name in HOST_FIELDS {
        if let Some(value) = spec.as_object_mut().and_then(|fields| fields.remove(name)) {
            crate::parts::object(&mut spec, "securityContext")[name] = value;
        }
    }
    spec
}
