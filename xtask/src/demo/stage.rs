//! Creates the demo's nodes and pods and compares their state with the core's verdicts.

use anyhow::{Context as _, Result};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};
use taintward_core::taint::{Taint, TaintEffect};
use taintward_core::taint_start::{BindingSource, PodBinding, TaintStart, TaintStartSource};
use taintward_core::time::{Mono, Now, Wall};
use taintward_core::toleration::{Toleration, TolerationOperator};
use taintward_core::toleration_matching::NumericOperators;
use taintward_core::verdict::{self, Outcome, PodInput, TaintInstance, Verdict};
use taintward_envtest::TestApi;
use taintward_envtest::fixtures::{create_node, pod, set_taints};

pub(crate) const NODES: [&str; 4] = ["alder", "birch", "cedar", "elm"];

/// What a pod tolerates: every NoExecute taint with this key (empty: every taint), for these seconds (none: no limit).
type Bearing = (&'static str, Option<i64>);

/// One of each kind of pod runs on each node.
const KINDS: [(&str, &[Bearing]); 5] = [
    ("web", &[]),
    ("api", &[("maintenance", Some(2)), ("power", None)]),
    ("cache", &[("maintenance", Some(12)), ("power", None)]),
    ("job", &[("maintenance", Some(600))]),
    ("agent", &[("", None)]),
];

/// A pod that is overdue by more than this is an error.
const GRACE: Duration = Duration::from_secs(2);

/// One pod.
pub(crate) struct DemoPod {
    pub(crate) name: String,
    pub(crate) node: &'static str,
    pub(crate) tolerations: Vec<Toleration>,
    pub(crate) verdict: Verdict,
    /// The taints of the verdict.
    pub(crate) taints: Vec<TaintInstance>,
    /// When the demo observed that it was deleted, and its deadline, if it had one.
    pub(crate) left: Option<(Mono, Option<Mono>)>,
}

/// A node's NoExecute taints, each with its start.
struct DemoNode {
    name: &'static str,
    taints: Vec<TaintInstance>,
}

pub(crate) struct DemoCluster {
    api: TestApi,
    curtain: Instant,
    grounds: Vec<DemoNode>,
    pub(crate) actors: Vec<DemoPod>,
}

impl DemoCluster {
    /// Creates the nodes and pods.
    pub(crate) async fn set(api: TestApi) -> Result<Self> {
        let mut actors = Vec::new();
        for node in NODES {
            create_node(&api, node, &[]).await?;
            for (kind, bearing) in KINDS {
                let name = format!("{kind}-{node}");
                let object = bearing.iter().fold(pod(&name, node), |pod, (key, seconds)| match *key {
                    "" => pod.tolerating(json!({"operator": "Exists"})),
                    key => pod.bearing(key, *seconds),
                });
                object.create(&api).await?;
                let tolerations = bearing.iter().map(|(key, seconds)| toleration(key, *seconds)).collect();
                let verdict = Verdict {
                    outcome: Outcome::Stays(verdict::StayReason::NoTaint),
                    reasons: Vec::new(),
                    decisive: None,
                };
                actors.push(DemoPod { name, node, tolerations, verdict, taints: Vec::new(), left: None });
            }
        }
        let grounds = NODES.map(|name| DemoNode { name, taints: Vec::new() }).into();
        Ok(Self { api, curtain: Instant::now(), grounds, actors })
    }

    pub(crate) fn raise_curtain(&mut self) {
        self.curtain = Instant::now();
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.curtain.elapsed()
    }

    pub(crate) fn now(&self) -> Mono {
        Mono::from_micros(i64::try_from(self.elapsed().as_micros()).unwrap_or(i64::MAX))
    }

    /// Replaces a node's taints. A taint that the node had before keeps its start.
    pub(crate) async fn set_taints(&mut self, node: &str, taints: &[(&str, &str, &str)]) -> Result<()> {
        let objects: Vec<Value> = taints
            .iter()
            .map(|(key, value, effect)| json!({"key": key, "value": value, "effect": effect}))
            .collect();
        set_taints(&self.api, node, &objects).await?;
        let start = TaintStart { at: self.now(), source: TaintStartSource::SeenLive, clamped: false };
        let ground = self.grounds.iter_mut().find(|ground| ground.name == node).context("an unknown node")?;
        let instances = taints.iter().map(|(key, value, effect)| Taint {
            key: (*key).into(),
            value: (*value).into(),
            effect: TaintEffect::new(effect),
            time_added: None,
        });
        ground.taints = instances
            .filter(|taint| taint.effect == TaintEffect::NoExecute)
            .map(|taint| {
                let known = ground.taints.iter().find(|old| old.taint.is_same(&taint));
                TaintInstance { start: known.map_or(start, |old| old.start), taint }
            })
            .collect();
        Ok(())
    }

    /// Judges all pods that existed until now, and then marks those that are deleted.
    pub(crate) async fn look(&mut self) -> Result<()> {
        let list = self.api.get("/api/v1/namespaces/default/pods").await?;
        let items = list["items"].as_array().context("a list without items")?;
        let there: BTreeSet<&str> = items.iter().filter_map(|pod| pod["metadata"]["name"].as_str()).collect();
        let now = self.now();
        for actor in self.actors.iter_mut().filter(|actor| actor.left.is_none()) {
            let ground = self.grounds.iter().find(|ground| ground.name == actor.node);
            actor.taints = ground.map_or(Vec::new(), |ground| ground.taints.clone());
            let subject = PodInput {
                tolerations: &actor.tolerations,
                arrival: PodBinding { at: Mono::from_micros(0), source: BindingSource::SeenLive },
                exemption: None,
            };
            let now_both = Now::exact(now, Wall::from_secs(0));
            actor.verdict = verdict::judge(&subject, &actor.taints, NumericOperators::Off, now_both);
            if !there.contains(actor.name.as_str()) {
                actor.left = Some((now, due(&actor.verdict)));
            }
        }
        Ok(())
    }

    /// The differences from the verdicts of the core.
    pub(crate) fn wrong(&self) -> Vec<String> {
        let mut wrong = Vec::new();
        for DemoPod { name, verdict, left, .. } in &self.actors {
            match (left, verdict.outcome) {
                (Some((_, None)), _) => wrong.push(format!("{name} was evicted without a reason")),
                (Some((at, Some(due))), _) if at < due => wrong.push(format!("{name} was evicted too early")),
                (None, Outcome::Leaves { due }) if self.now().since(due).as_micros() > micros(GRACE) => {
                    wrong.push(format!("{name} was not evicted"));
                }
                _ => {}
            }
        }
        wrong
    }
}

fn micros(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)
}

fn due(verdict: &Verdict) -> Option<Mono> {
    match verdict.outcome {
        Outcome::Leaves { due } | Outcome::StaysUntil(due) => Some(due),
        Outcome::Stays(_) => None,
    }
}

fn toleration(key: &str, seconds: Option<i64>) -> Toleration {
    let effect = if key.is_empty() { None } else { Some(TaintEffect::NoExecute) };
    Toleration { key: key.into(), operator: TolerationOperator::Exists, value: "".into(), effect, seconds }
}
