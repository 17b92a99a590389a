//! Reads a cluster and finds, for each namespace, the pods that backfill would patch.

use super::BackfillCommandArgs;
use crate::output::{API_VERSION, PrintOptions, Printable, Table, TableColumn};
use crate::toleration_seconds::{ClusterReadError, each, policies};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use taintward_core::admission::pod_toleration_restriction::TolerationListAnnotation;
use taintward_core::admission::policy::{
    DefaultDurations, RequestedSeconds, TolerationDuration, TolerationPolicy, decide, policy_for,
};
use taintward_core::admission::request::NamespaceFact;
use taintward_core::toleration_backfill::{BackfillVerdict, backfill};
use taintward_core::toleration_guard::own_tolerations;
use taintward_core::toleration_seconds::{HeldPodFact, RecordState};
use taintward_kube::api::paged_list::ListRequest;
use taintward_kube::decode::{DecodedPod, NamespaceObject};

/// A pod that would be patched.
struct PendingPod {
    name: String,
    node: String,
    /// Position, key, present seconds, new seconds.
    changes: Vec<(usize, String, Option<i64>, Option<i64>)>,
}

/// A namespace in the preview.
struct PreviewRow {
    facts: NamespaceFact,
    policy: Option<usize>,
    /// The seconds of a new pod without its own annotations.
    seconds: [TolerationDuration; 2],
    current: usize,
    own: usize,
    held: usize,
    pending: Vec<PendingPod>,
}

/// The changes that backfill would make.
pub(super) struct BackfillPreview {
    policies: Vec<TolerationPolicy>,
    replaced: Vec<DefaultDurations>,
    rows: BTreeMap<String, PreviewRow>,
}

impl BackfillPreview {
    pub(super) async fn read(
        client: &kube::Client,
        options: &BackfillCommandArgs,
    ) -> Result<Self, ClusterReadError> {
        let mut preview = Self {
            policies: policies(client, options.cluster.server.timeout).await?,
            replaced: options.backfill_from.clone(),
            rows: BTreeMap::new(),
        };
        preview.read_namespaces(client, options).await?;
        let cluster = &options.cluster;
        let pods = ListRequest {
            group: "",
            plural: "pods",
            namespace: cluster.named_namespace(),
            selector: cluster.selector(),
            fields: cluster.fields(),
        };
        each(client, pods, cluster.server.timeout, |pod: DecodedPod, _| {
            pod.for_holds().iter().for_each(|pod| preview.add(pod));
        })
        .await?;
        preview.rows.retain(|_, row| row.pods() > 0);
        Ok(preview)
    }

    async fn read_namespaces(
        &mut self,
        client: &kube::Client,
        options: &BackfillCommandArgs,
    ) -> Result<(), ClusterReadError> {
        let namespaces = ListRequest::all("", "namespaces");
        let upstream = self.upstream();
        let limit = options.cluster.server.timeout;
        each(client, namespaces, limit, |NamespaceObject { name, facts, .. }, _| {
            let policy = policy_for(&self.policies, &facts.labels);
            let decision = decide(&RequestedSeconds::default(), &facts.requested, policy, upstream);
            let policy =
                policy.and_then(|policy| self.policies.iter().position(|one| one.name == policy.name));
            let seconds = [decision.not_ready.stay, decision.unreachable.stay];
            let row = PreviewRow { facts, policy, seconds, current: 0, own: 0, held: 0, pending: Vec::new() };
            self.rows.insert(name.into(), row);
        })
        .await?;
        Ok(())
    }

    fn upstream(&self) -> DefaultDurations {
        self.replaced.first().copied().unwrap_or_default()
    }

    fn add(&mut self, pod: &HeldPodFact) {
        let (policies, replaced, upstream) = (&self.policies, &self.replaced, self.upstream());
        let Some(row) = self.rows.get_mut(pod.id.name().namespace()) else { return };
        let record = match &pod.record {
            RecordState::Absent => None,
            RecordState::Guarded(record) => Some(&**record),
            RecordState::Known(_) | RecordState::Undecodable => {
                row.held += 1;
                return;
            }
        };
        let tolerations = own_tolerations(&pod.tolerations, record);
        let requested = pod.requested.as_deref().cloned().unwrap_or_default();
        let policy = row.policy.map(|at| &policies[at]);
        let wanted = decide(&requested, &row.facts.requested, policy, upstream).durations();
        let defaults = match &row.facts.lists.defaults {
            TolerationListAnnotation::Present(defaults) => &defaults[..],
            TolerationListAnnotation::Absent | TolerationListAnnotation::Unreadable(_) => &[],
        };
        match backfill(&tolerations, defaults, wanted, replaced) {
            BackfillVerdict::Own => row.own += 1,
            BackfillVerdict::Current => row.current += 1,
            BackfillVerdict::Differs(changes) => {
                let change = |(at, seconds): (usize, Option<i64>)| {
                    let toleration = &tolerations[at];
                    (at, toleration.key.to_string(), toleration.seconds, seconds)
                };
                row.pending.push(PendingPod {
                    name: pod.id.name().name().to_owned(),
                    node: pod.node.to_string(),
                    changes: changes.into_iter().map(change).collect(),
                });
            }
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The number of pods that would be patched.
    pub(super) fn pending(&self) -> usize {
        self.rows.values().map(|row| row.pending.len()).sum()
    }

    fn policy(&self, row: &PreviewRow) -> Option<&str> {
        row.policy.map(|at| &*self.policies[at].name)
    }

    fn item(&self, (name, row): (&String, &PreviewRow)) -> Value {
        let pods = row.pending.iter().map(|pod| {
            let changes = pod.changes.iter().map(|(at, key, now, then)| {
                json!({ "index": at, "key": key, "tolerationSeconds": now, "newTolerationSeconds": then })
            });
            json!({ "name": pod.name, "node": pod.node, "changes": changes.collect::<Vec<_>>() })
        });
        let [not_ready, unreachable] = row.seconds.map(TolerationDuration::seconds);
        json!({
            "namespace": name,
            "policy": self.policy(row),
            "notReadySeconds": not_ready,
            "unreachableSeconds": unreachable,
            "current": row.current,
            "pending": row.pending.len(),
            "own": row.own,
            "held": row.held,
            "pods": pods.collect::<Vec<_>>(),
        })
    }
}

impl PreviewRow {
    fn pods(&self) -> usize {
        self.current + self.own + self.held + self.pending.len()
    }

    fn new_pods(&self) -> String {
        let [not_ready, unreachable] = self.seconds.map(|stay| match stay {
            TolerationDuration::For(seconds) => format!("{seconds}s"),
            TolerationDuration::Forever => "forever".to_owned(),
        });
        if not_ready == unreachable { not_ready } else { format!("{not_ready}/{unreachable}") }
    }
}

impl Printable for BackfillPreview {
    fn object(&self) -> Value {
        let items: Vec<Value> = self.rows.iter().map(|row| self.item(row)).collect();
        json!({
            "apiVersion": API_VERSION,
            "kind": "BackfillPreview",
            "pending": self.pending(),
            "items": items,
        })
    }

    fn names(&self) -> Vec<String> {
        self.rows.keys().map(|name| format!("namespace/{name}")).collect()
    }

    fn human(&self, view: &PrintOptions) -> String {
        let mut table = Table::new(vec![
            TableColumn::new("NAMESPACE").shortens().yields(),
            TableColumn::new("POLICY").shortens().yields(),
            TableColumn::new("NEW PODS"),
            TableColumn::new("CURRENT").right(),
            TableColumn::new("PENDING").right(),
            TableColumn::new("OWN").right(),
            TableColumn::new("HELD").right().only_wide(),
        ]);
        let rows: Vec<_> = self.rows.iter().collect();
        for (name, row) in view.in_order(&rows) {
            table.push(vec![
                name.as_str().into(),
                self.policy(row).unwrap_or("-").into(),
                row.new_pods().into(),
                row.current.to_string().into(),
                row.pending.len().to_string().into(),
                row.own.to_string().into(),
                row.held.to_string().into(),
            ]);
        }
        table.print(view)
    }
}
