//! Decodes the fields of workloads and disruption budgets that the board shows.

use super::views::WorkloadView;
use serde::Deserialize;
use std::marker::PhantomData;
use taintward_core::identity::{ResourceVersion, Uid};
use taintward_kube::decode::{
    ApiResource, Decoded, Encoding, ObjectIdentity, UndecodableObject, WatchedObject,
};

/// A kind of workload with a desired number of pods.
pub(crate) trait WorkloadKind: Send + 'static {
    const RESOURCE: ApiResource;
}

/// `apps/v1` Deployment.
#[derive(Debug)]
pub(crate) enum Deployment {}

/// `apps/v1` StatefulSet.
#[derive(Debug)]
pub(crate) enum StatefulSet {}

/// `apps/v1` DaemonSet.
#[derive(Debug)]
pub(crate) enum DaemonSet {}

impl WorkloadKind for Deployment {
    const RESOURCE: ApiResource = optional("apps", "/apis/apps/v1/deployments", "deployments", "Deployment");
}

impl WorkloadKind for StatefulSet {
    const RESOURCE: ApiResource =
        optional("apps", "/apis/apps/v1/statefulsets", "statefulsets", "StatefulSet");
}

impl WorkloadKind for DaemonSet {
    const RESOURCE: ApiResource = optional("apps", "/apis/apps/v1/daemonsets", "daemonsets", "DaemonSet");
}

/// A kind without which the board shows everything else.
const fn optional(
    group: &'static str,
    path: &'static str,
    plural: &'static str,
    kind: &'static str,
) -> ApiResource {
    ApiResource { is_optional: true, ..ApiResource::new(group, path, plural, kind) }
}

/// A workload.
#[derive(Debug)]
pub(crate) struct WorkloadObject<K> {
    uid: Uid,
    version: Option<ResourceVersion>,
    view: WorkloadView,
    kind: PhantomData<fn() -> K>,
}

/// A PodDisruptionBudget.
#[derive(Debug)]
pub(crate) struct BudgetObject {
    uid: Uid,
    version: Option<ResourceVersion>,
    namespace: String,
    name: String,
    status: BudgetStatusJson,
}

#[derive(Deserialize)]
#[serde(bound = "S: Deserialize<'de> + Default, T: Deserialize<'de> + Default")]
struct BoardObjectJson<S, T> {
    metadata: MetadataJson,
    #[serde(default)]
    spec: S,
    #[serde(default)]
    status: T,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct MetadataJson {
    uid: String,
    #[serde(default)]
    namespace: String,
    name: String,
    #[serde(default)]
    resource_version: String,
}

#[derive(Default, Deserialize)]
struct WorkloadSpecJson {
    replicas: Option<i64>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct WorkloadStatusJson {
    ready_replicas: i64,
    /// Of a DaemonSet.
    number_ready: i64,
    /// Of a DaemonSet.
    desired_number_scheduled: Option<i64>,
}

#[derive(Default, Deserialize)]
struct NoSpecJson {}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct BudgetStatusJson {
    disruptions_allowed: i64,
    current_healthy: i64,
    desired_healthy: i64,
    expected_pods: i64,
}

/// The watch requests JSON, so that protobuf is an error.
fn decode<S, T, O: WatchedObject>(
    encoding: Encoding,
    bytes: &[u8],
    object: impl FnOnce(BoardObjectJson<S, T>) -> O,
) -> Decoded<O>
where
    S: for<'de> Deserialize<'de> + Default,
    T: for<'de> Deserialize<'de> + Default,
{
    let why = match encoding {
        Encoding::Json => match serde_json::from_slice(bytes) {
            Ok(json) => return Decoded::Object(object(json)),
            Err(why) => why.to_string(),
        },
        Encoding::Protobuf => {
            format!("a {} in protobuf, although the request accepts JSON only", O::RESOURCE.kind)
        }
    };
    Decoded::Undecodable(UndecodableObject { identity: None, why })
}

fn identity(uid: &Uid, namespace: &str, name: &str, version: Option<ResourceVersion>) -> ObjectIdentity {
    let (namespace, name) = (namespace.to_owned(), name.to_owned());
    ObjectIdentity { uid: Some(uid.clone()), namespace, name, version, node: None }
}

impl<K> WorkloadObject<K> {
    /// The workload as the board shows it.
    pub(crate) fn into_view(self) -> (Uid, WorkloadView) {
        (self.uid, self.view)
    }
}

impl<K: WorkloadKind> WatchedObject for WorkloadObject<K> {
    const RESOURCE: ApiResource = K::RESOURCE;
    const JSON_ONLY: bool = true;

    fn decode(encoding: Encoding, bytes: &[u8]) -> Decoded<Self> {
        decode(encoding, bytes, |json: BoardObjectJson<WorkloadSpecJson, WorkloadStatusJson>| {
            let BoardObjectJson { metadata, spec, status } = json;
            let view = WorkloadView {
                id: metadata.uid,
                kind: K::RESOURCE.kind,
                namespace: metadata.namespace,
                name: metadata.name,
                healthy: status.ready_replicas.max(status.number_ready),
                desired: status.desired_number_scheduled.or(spec.replicas).unwrap_or(1),
            };
            let version = ResourceVersion::parse(&metadata.resource_version);
            Self { uid: Uid::new(&view.id), version, view, kind: PhantomData }
        })
    }

    fn identity(&self) -> ObjectIdentity {
        identity(&self.uid, &self.view.namespace, &self.view.name, self.version)
    }

    fn version(&self) -> Option<ResourceVersion> {
        self.version
    }
}

impl BudgetObject {
    /// Its UID, its name, and why it allows no eviction; `None`: it allows some, or protects no pod.
    pub(crate) fn blocked(self) -> (Uid, (String, Option<String>)) {
        let BudgetStatusJson { disruptions_allowed, current_healthy, desired_healthy, expected_pods } =
            self.status;
        let text = (disruptions_allowed == 0 && expected_pods > 0).then(|| {
            format!(
                "The budget allows no eviction: {current_healthy} of {expected_pods} pods are healthy, and it requires \
                 {desired_healthy}. Drains and dedicated pools respect it; evictions by NoExecute taints do not."
            )
        });
        (self.uid, (format!("{}/{}", self.namespace, self.name), text))
    }
}

impl WatchedObject for BudgetObject {
    const RESOURCE: ApiResource = optional(
        "policy",
        "/apis/policy/v1/poddisruptionbudgets",
        "poddisruptionbudgets",
        "PodDisruptionBudget",
    );
    const JSON_ONLY: bool = true;

    fn decode(encoding: Encoding, bytes: &[u8]) -> Decoded<Self> {
        decode(encoding, bytes, |json: BoardObjectJson<NoSpecJson, BudgetStatusJson>| Self {
            uid: Uid::new(&json.metadata.uid),
            version: ResourceVersion::parse(&json.metadata.resource_version),
            namespace: json.metadata.namespace,
            name: json.metadata.name,
            status: json.status,
        })
    }

    fn identity(&self) -> ObjectIdentity {
        identity(&self.uid, &self.namespace, &self.name, self.version)
    }

    fn version(&self) -> Option<ResourceVersion> {
        self.version
    }
}
