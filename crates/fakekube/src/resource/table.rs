//! Lists all resources in the order of discovery.

use super::{ResourceType, Subresource};
use std::sync::LazyLock;

/// One resource per line: the version, the plural, the kind, the scope, abbreviations that kubectl understands,
/// categories, subresources. Objects whose scope ends with `-review` are queries and are not stored.
const TABLE: &str = "\
v1 bindings Binding namespaced-review - - -
v1 configmaps ConfigMap namespaced cm - -
v1 endpoints Endpoints namespaced ep - -
v1 events Event namespaced ev - -
v1 limitranges LimitRange namespaced limits - -
v1 namespaces Namespace cluster ns - finalize,status
v1 nodes Node cluster no - status
v1 persistentvolumeclaims PersistentVolumeClaim namespaced pvc - status
v1 persistentvolumes PersistentVolume cluster pv - status
v1 pods Pod namespaced po all binding,ephemeralcontainers,eviction,log,status
v1 podtemplates PodTemplate namespaced - - -
v1 replicationcontrollers ReplicationController namespaced rc all scale,status
v1 resourcequotas ResourceQuota namespaced quota - status
v1 secrets Secret namespaced - - -
v1 serviceaccounts ServiceAccount namespaced sa - token
v1 services Service namespaced svc all status
admissionregistration.k8s.io/v1 validatingadmissionpolicies ValidatingAdmissionPolicy cluster - api-extensions status
admissionregistration.k8s.io/v1 validatingadmissionpolicybindings ValidatingAdmissionPolicyBinding cluster - api-extensions -
admissionregistration.k8s.io/v1 mutatingwebhookconfigurations MutatingWebhookConfiguration cluster - api-extensions -
admissionregistration.k8s.io/v1 validatingwebhookconfigurations ValidatingWebhookConfiguration cluster - api-extensions -
apiextensions.k8s.io/v1 customresourcedefinitions CustomResourceDefinition cluster crd,crds api-extensions status
apps/v1 controllerrevisions ControllerRevision namespaced - - -
apps/v1 daemonsets DaemonSet namespaced ds all status
apps/v1 deployments Deployment namespaced deploy all scale,status
apps/v1 replicasets ReplicaSet namespaced rs all scale,status
apps/v1 statefulsets StatefulSet namespaced sts all scale,status
authentication.k8s.io/v1 selfsubjectreviews SelfSubjectReview cluster-review - - -
authentication.k8s.io/v1 tokenreviews TokenReview cluster-review - - -
authorization.k8s.io/v1 localsubjectaccessreviews LocalSubjectAccessReview namespaced-review - - -
authorization.k8s.io/v1 selfsubjectaccessreviews SelfSubjectAccessReview cluster-review - - -
authorization.k8s.io/v1 selfsubjectrulesreviews SelfSubjectRulesReview cluster-review - - -
authorization.k8s.io/v1 subjectaccessreviews SubjectAccessReview cluster-review - - -
autoscaling/v2 horizontalpodautoscalers HorizontalPodAutoscaler namespaced hpa all status
autoscaling/v1 horizontalpodautoscalers HorizontalPodAutoscaler namespaced hpa all status
batch/v1 cronjobs CronJob namespaced cj all status
batch/v1 jobs Job namespaced - all status
certificates.k8s.io/v1 certificatesigningrequests CertificateSigningRequest cluster csr - status
coordination.k8s.io/v1 leases Lease namespaced - - -
discovery.k8s.io/v1 endpointslices EndpointSlice namespaced - - -
events.k8s.io/v1 events Event namespaced ev - -
flowcontrol.apiserver.k8s.io/v1 flowschemas FlowSchema cluster - - status
flowcontrol.apiserver.k8s.io/v1 prioritylevelconfigurations PriorityLevelConfiguration cluster - - status
networking.k8s.io/v1 ingressclasses IngressClass cluster - - -
networking.k8s.io/v1 ingresses Ingress namespaced ing - status
networking.k8s.io/v1 ipaddresses IPAddress cluster ip - -
networking.k8s.io/v1 networkpolicies NetworkPolicy namespaced netpol - -
networking.k8s.io/v1 servicecidrs ServiceCIDR cluster - - status
node.k8s.io/v1 runtimeclasses RuntimeClass cluster - - -
policy/v1 poddisruptionbudgets PodDisruptionBudget namespaced pdb - status
rbac.authorization.k8s.io/v1 clusterrolebindings ClusterRoleBinding cluster - - -
rbac.authorization.k8s.io/v1 clusterroles ClusterRole cluster - - -
rbac.authorization.k8s.io/v1 rolebindings RoleBinding namespaced - - -
rbac.authorization.k8s.io/v1 roles Role namespaced - - -
resource.k8s.io/v1 deviceclasses DeviceClass cluster - - -
resource.k8s.io/v1 resourceclaims ResourceClaim namespaced - - status
resource.k8s.io/v1 resourceclaimtemplates ResourceClaimTemplate namespaced - - -
resource.k8s.io/v1 resourceslices ResourceSlice cluster - - -
scheduling.k8s.io/v1 priorityclasses PriorityClass cluster pc - -
storage.k8s.io/v1 csidrivers CSIDriver cluster - - -
storage.k8s.io/v1 csinodes CSINode cluster - - -
storage.k8s.io/v1 csistoragecapacities CSIStorageCapacity namespaced - - -
storage.k8s.io/v1 storageclasses StorageClass cluster sc - -
storage.k8s.io/v1 volumeattachments VolumeAttachment cluster - - status
storage.k8s.io/v1 volumeattributesclasses VolumeAttributesClass cluster vac - -";

const SUBRESOURCES: [Subresource; 8] = [
    Subresource::Status,
    Subresource::Scale,
    Subresource::Binding,
    Subresource::Eviction,
    Subresource::Finalize,
    Subresource::EphemeralContainers,
    Subresource::Log,
    Subresource::Token,
];

/// All resources of the table.
pub(super) static RESOURCES: LazyLock<Vec<ResourceType>> = LazyLock::new(|| {
    let read = |line| read(line).unwrap_or_else(|| panic!("a resource: {line}"));
    TABLE.lines().map(read).collect()
});

fn read(line: &'static str) -> Option<ResourceType> {
    let [version, plural, kind, scope, short, categories, subs] =
        <[&str; 7]>::try_from(line.split(' ').collect::<Vec<_>>()).ok()?;
    let words = |text: &'static str| text.split(',').filter(|word| *word != "-");
    let (group, version) = version.split_once('/').unwrap_or(("", version));
    let sub = |name: &str| SUBRESOURCES.into_iter().find(|sub| sub.name() == name);
    Some(ResourceType {
        group,
        version,
        plural,
        singular: kind.to_lowercase().leak(),
        kind,
        namespaced: scope.starts_with("namespaced"),
        short: words(short).collect::<Vec<_>>().leak(),
        categories: words(categories).collect::<Vec<_>>().leak(),
        subs: words(subs).map(sub).collect::<Option<Vec<_>>>()?.leak(),
        kept: !scope.ends_with("-review"),
    })
}
