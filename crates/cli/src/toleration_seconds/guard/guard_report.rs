//! Reads a cluster, and counts for each namespace the pods that are guarded, that wait, and that no ceiling covers.

use super::GuardCommandArgs;
use super::guard_command_args::GuardTargets;
use crate::output::{API_VERSION, PrintOptions, Printable, Table, TableColumn};
use crate::toleration_seconds::{each, policies};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use taintward_core::admission::policy::TolerationDuration;
use taintward_core::taint::{TaintEffect, keys};
use taintward_core::toleration_guard::{
    GuardCeiling, UnrecordedCause, guard_write, kept_by, own_tolerations,
};
use taintward_core::toleration_hold::HoldCoverage;
use taintward_core::toleration_seconds::{HeldPodFact, RecordState};
use taintward_kube::api::RequestError;
use taintward_kube::api::paged_list::ListRequest;
use taintward_kube::decode::{DecodedNode, DecodedPod, NamespaceObject};
use taintward_kube::toleration_writer::wrote_tolerations;

/// A namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct GuardRow {
    pub(crate) ceiling: GuardCeiling,
    /// Pods with the ceiling.
    pub(crate) guarded: usize,
    /// Pods whose seconds must still change.
    pub(crate) pending: usize,
    /// Pods whose seconds must still change, and that wait because their node is silent.
    pub(crate) waiting: usize,
    /// Released pods of silent nodes, which have the rest of their countdown until their node recovers.
    pub(crate) released: usize,
    /// Pods under a hold, or whose annotation cannot be decoded.
    pub(crate) held: usize,
    /// Names of pods that kube-controller-manager evicts for the two taints in spite of a ceiling.
    pub(crate) uncovered: Vec<String>,
    /// Pods whose own seconds are not fewer than the ceiling, or that have none.
    pub(crate) own: usize,
    /// Names of pods that were held or guarded, and lost their annotation: nothing says which seconds are their own.
    pub(crate) unrecorded: Vec<String>,
}

/// The state of the guard.
#[derive(Clone, Debug, Default)]
pub(crate) struct GuardReport {
    pub(crate) rows: BTreeMap<String, GuardRow>,
    /// Namespaces with running pods that are not guarded.
    pub(crate) others: BTreeMap<String, usize>,
    /// NoExecute taints that no ceiling covers, each with the number of nodes that have it.
    pub(crate) other_taints: BTreeMap<String, usize>,
}

/// The facts about nodes and policies that the report needs.
#[derive(Default)]
struct ClusterContext {
    /// Whether a policy may have given pods no seconds.
    gives_forever: bool,
    silent: BTreeSet<String>,
    other_taints: BTreeMap<String, usize>,
}

impl GuardRow {
    fn pods(&self) -> usize {
        self.guarded
            + self.pending
            + self.waiting
            + self.released
            + self.held
            + self.uncovered.len()
            + self.own
    }

    /// Pods whose seconds must still change.
    pub(crate) fn missing(&self) -> usize {
        self.pending + self.waiting
    }

    /// Counts a pod. `is_ours`: Taintward was the last to write its tolerations; `ceiling`: one that it may have.
    fn count(&mut self, pod: &HeldPodFact, context: &ClusterContext, is_ours: bool, ceiling: GuardCeiling) {
        let is_silent = context.silent.contains(pod.node.as_str());
        let kept =
            kept_by(&pod.tolerations, ceiling).filter(|_| is_ours && pod.record == RecordState::Absent);
        if kept.is_some_and(|cause| cause == UnrecordedCause::Guard || !context.gives_forever) {
            self.unrecorded.push(pod.id.name().to_string());
        }
        let record = match &pod.record {
            RecordState::Known(record) if record.is_released() => {
                self.released += 1;
                return;
            }
            RecordState::Known(_) | RecordState::Undecodable => {
                self.held += 1;
                return;
            }
            RecordState::Guarded(record) => Some(&**record),
            RecordState::Absent => None,
        };
        if guard_write(&pod.tolerations, record, self.ceiling, &Vec::new()).is_some() {
            let count = if is_silent { &mut self.waiting } else { &mut self.pending };
            *count += 1;
        } else if record.is_some() {
            self.guarded += 1;
        } else if HoldCoverage::of(&own_tolerations(&pod.tolerations, None)).uncovered.is_some() {
            self.uncovered.push(pod.id.name().to_string());
        } else {
            self.own += 1;
        }
    }

    fn ceiling_text(&self) -> String {
        match self.ceiling {
            GuardCeiling::None => "-".to_owned(),
            GuardCeiling::Undecodable => "unknown".to_owned(),
            GuardCeiling::Seconds(seconds) => format!("{seconds}s"),
        }
    }

    fn item(&self, name: &str) -> Value {
        let ceiling = match self.ceiling {
            GuardCeiling::Seconds(seconds) => Some(seconds),
            GuardCeiling::None | GuardCeiling::Undecodable => None,
        };
        json!({
            "namespace": name,
            "ceilingSeconds": ceiling,
            "guarded": self.guarded,
            "pending": self.pending,
            "waiting": self.waiting + self.released,
            "held": self.held,
            "uncovered": self.uncovered,
            "own": self.own,
            "unrecorded": self.unrecorded,
        })
    }
}

impl GuardReport {
    /// Reads the selected namespaces; those with guarded pods count as guarded. `before`: the ceilings that namespaces had
    /// before the command changed them.
    pub(crate) async fn read(
        client: &kube::Client,
        options: &GuardCommandArgs,
        targets: &GuardTargets,
        before: &BTreeMap<String, GuardCeiling>,
    ) -> Result<Self, RequestError> {
        let context = ClusterContext::read(client, options).await?;
        let mut all = ceilings(client, options, "").await?;
        let limit = options.timeout();
        let fields = "spec.nodeName!=";
        let pods = ListRequest { group: "", plural: "pods", namespace: "", selector: "", fields };
        each(client, pods, limit, |pod: DecodedPod, body| {
            if let Some(pod) = pod.for_holds()
                && let Some(row) = all.get_mut(pod.id.name().namespace())
            {
                let ceiling = before.get(pod.id.name().namespace()).copied().unwrap_or(row.ceiling);
                row.count(&pod, &context, wrote_tolerations(body), ceiling);
            }
        })
        .await?;
        let named: BTreeSet<String> = match targets {
            GuardTargets::Named(names) => names.iter().cloned().collect(),
            GuardTargets::Labelled(selector) => {
                ceilings(client, options, selector).await?.into_keys().collect()
            }
            GuardTargets::Guarded => BTreeSet::new(),
        };
        let is_guarded = |row: &GuardRow| {
            row.ceiling != GuardCeiling::None || row.guarded + row.missing() + row.unrecorded.len() > 0
        };
        let (rows, others) = all.into_iter().partition(|(name, row)| match targets {
            GuardTargets::Guarded => is_guarded(row),
            GuardTargets::Named(_) | GuardTargets::Labelled(_) => named.contains(name),
        });
        let others: BTreeMap<String, GuardRow> = others;
        let others = others.into_iter().filter(|(_, row)| !is_guarded(row) && row.pods() > 0);
        Ok(Self {
            rows,
            others: others.map(|(name, row)| (name, row.pods())).collect(),
            other_taints: context.other_taints,
        })
    }

    /// Pods whose seconds must still change.
    pub(crate) fn missing(&self) -> usize {
        self.rows.values().map(GuardRow::missing).sum()
    }

    /// The sum of a count over all namespaces.
    pub(crate) fn total(&self, count: impl Fn(&GuardRow) -> usize) -> usize {
        self.rows.values().map(count).sum()
    }
}

impl ClusterContext {
    async fn read(client: &kube::Client, options: &GuardCommandArgs) -> Result<Self, RequestError> {
        let nodes = ListRequest::all("", "nodes");
        let mut found = Self::default();
        each(client, nodes, options.timeout(), |node: DecodedNode, _| found.add(&node)).await?;
        // An unknown policy may give pods no seconds, too.
        found.gives_forever = policies(client, options.timeout()).await.map_or(true, |policies| {
            let is_forever = |seconds| seconds == Some(TolerationDuration::Forever);
            policies.iter().any(|policy| [policy.not_ready, policy.unreachable].into_iter().any(is_forever))
        });
        Ok(found)
    }

    fn add(&mut self, node: &DecodedNode) {
        if node.for_holds().is_silent {
            self.silent.insert(node.taints.name.to_string());
        }
        let is_covered = |key: &str| [keys::NOT_READY, keys::UNREACHABLE].contains(&key);
        for taint in &node.taints.taints {
            if taint.effect == TaintEffect::NoExecute && !is_covered(&taint.key) {
                *self.other_taints.entry(taint.to_string()).or_default() += 1;
            }
        }
    }
}

/// The namespaces with these labels, and the ceiling of each.
async fn ceilings(
    client: &kube::Client,
    options: &GuardCommandArgs,
    selector: &str,
) -> Result<BTreeMap<String, GuardRow>, RequestError> {
    let namespaces = ListRequest { group: "", plural: "namespaces", namespace: "", selector, fields: "" };
    let mut rows = BTreeMap::new();
    each(client, namespaces, options.timeout(), |NamespaceObject { name, facts, .. }, _| {
        let ceiling = GuardCeiling::of(&facts.labels);
        rows.insert(name.into(), GuardRow { ceiling, ..GuardRow::default() });
    })
    .await?;
    Ok(rows)
}

impl Printable for GuardReport {
    fn object(&self) -> Value {
        let items: Vec<Value> = self.rows.iter().map(|(name, row)| row.item(name)).collect();
        json!({
            "apiVersion": API_VERSION,
            "kind": "GuardReport",
            "pending": self.missing(),
            "items": items,
            "unguardedNamespaces": self.others.keys().collect::<Vec<_>>(),
            "uncoveredTaints": self.other_taints,
        })
    }

    fn names(&self) -> Vec<String> {
        self.rows.keys().map(|name| format!("namespace/{name}")).collect()
    }

    fn human(&self, view: &PrintOptions) -> String {
        let mut table = Table::new(vec![
            TableColumn::new("NAMESPACE").shortens().yields(),
            TableColumn::new("CEILING").right(),
            TableColumn::new("GUARDED").right(),
            TableColumn::new("PENDING").right(),
            TableColumn::new("WAITING").right(),
            TableColumn::new("HELD").right(),
            TableColumn::new("UNCOVERED").right(),
            TableColumn::new("OWN").right().only_wide(),
        ]);
        let rows: Vec<_> = self.rows.iter().collect();
        for (name, row) in view.in_order(&rows) {
            table.push(vec![
                name.as_str().into(),
                row.ceiling_text().into(),
                row.guarded.to_string().into(),
                row.pending.to_string().into(),
                (row.waiting + row.released).to_string().into(),
                row.held.to_string().into(),
                row.uncovered.len().to_string().into(),
                row.own.to_string().into(),
            ]);
        }
        table.print(view)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use taintward_kube::decode::{Decoded, WatchedObject as _};

    /// A pod on node n1 with this value of `taintward.io/held`, whose toleration has these seconds.
    fn counted(held: &str, seconds: &str) -> GuardRow {
        let pod = format!(
            r#"{{"metadata": {{"name": "a", "namespace": "shop", "uid": "u", "annotations":
                {{"taintward.io/held": {}}}}}, "spec": {{"nodeName": "n1", "tolerations": [{{"key":
                "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute"{seconds}}}]}},
                "status": {{"phase": "Running"}}}}"#,
            Value::from(held)
        );
        let Decoded::Object(pod) = DecodedPod::from_json(pod.as_bytes()) else { panic!("{pod}") };
        let mut row = GuardRow::default();
        let context = ClusterContext { silent: ["n1".to_owned()].into(), ..ClusterContext::default() };
        row.count(&pod.for_holds().unwrap(), &context, true, GuardCeiling::None);
        row
    }

    #[test]
    fn a_released_pod_waits_for_its_node_and_is_not_held() {
        let record = |given: &str| {
            format!(
                r#"{{"changed": "2026-11-24T10:00:00Z", "ranMicroseconds": 0, "held": [{{"key":
                    "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute",
                    "tolerationSeconds": 300{given}}}]}}"#
            )
        };
        let released = counted(&record(r#", "given": 120"#), r#", "tolerationSeconds": 120"#);
        assert_eq!((released.released, released.held, released.missing()), (1, 0, 0));
        assert_eq!(released.item("shop")["waiting"], 1);
        let held = counted(&record(""), "");
        assert_eq!((held.released, held.held), (0, 1));
        assert_eq!(held.item("shop")["waiting"], 0);
    }
}
