//! Runs the last step of the tour: a kubelet stops reporting, Taintward taints its node, the pods count down, and the
//! kubelet reports again.

use super::{SOON, Tour, TourStep, head, listed, print_wrapped};
use fakekube::api::ResourcePath;
use fakekube::resource::known;
use jiff::Timestamp;
use serde_json::{Value, json};
use std::time::Duration;
use taintward_core::taint::keys;
use taintward_sandbox::controllers::SILENCE;

/// The grace period on the tour; 50 s is the default.
pub(crate) const GRACE: Duration = Duration::from_secs(8);

/// How often the tour's kubelets renew their leases; 10 s is the default.
pub(crate) const RENEW: Duration = Duration::from_secs(2);

/// The namespace of the leases of nodes.
const LEASES: &str = "kube-node-lease";

impl Tour {
    pub(super) async fn silence(&self) -> TourStep {
        let node = self.in_use();
        let pods = self.living_on(&node);
        head(&format!("6. taintward sandbox node silence {node}   (its kubelet stops reporting)"))?;
        print_wrapped(&format!(
            "   Taintward treats the node as unreachable after a grace period: {} s here, 50 s by default ...",
            GRACE.as_secs()
        ))?;
        self.set_silence(&node, true)?;
        self.until("the taint of a silent node", GRACE + SOON, |tour| tour.is_sending_away(&node)).await?;
        let last = self.last_heartbeat(&node)?;
        let took = self.server.clock().now().duration_since(last).as_secs_f64();
        if took < GRACE.as_secs_f64() {
            return Err(format!("{node} was tainted after {took:.1} s, before the grace period had passed"));
        }
        print_wrapped(&format!(
            "   {took:.1} s after its last heartbeat, the node is NotReady and has the taint {}:NoExecute.",
            keys::UNREACHABLE
        ))?;
        print_wrapped(
            "   By default, pods tolerate this taint for 300 s; the agent tolerates it without a limit. All still run:",
        )?;
        print_wrapped(&format!("   {}.", listed(&pods)))?;
        if self.living_on(&node) != pods {
            return Err(format!("pods were evicted from {node} before their deadlines"));
        }
        print_wrapped(&format!("   taintward sandbox node recover {node}   (its kubelet reports again)"))?;
        self.set_silence(&node, false)?;
        self.until("the removal of the taints", SOON, |tour| tour.taints(&node).is_empty()).await?;
        if self.living_on(&node) != pods {
            return Err(format!("pods were evicted from {node}, although it is ready again"));
        }
        print_wrapped(
            "   The node is Ready again, Taintward removed its taints in one write, and no pod was evicted.",
        )?;
        Ok(())
    }

    /// When the node's kubelet renewed its lease last.
    fn last_heartbeat(&self, node: &str) -> Result<Timestamp, String> {
        let lease = self.server.get(known("coordination.k8s.io", "leases"), LEASES, node);
        let renewed = lease.and_then(|lease| lease["spec"]["renewTime"].as_str()?.parse().ok());
        renewed.ok_or_else(|| format!("the lease of {node} has no valid renewTime"))
    }

    /// The schedulable node with most web pods.
    fn in_use(&self) -> String {
        let open = |node: &Value| node["spec"]["unschedulable"] != true;
        let nodes = self.nodes().into_iter().filter(open);
        let names = nodes.filter_map(|node| node["metadata"]["name"].as_str().map(String::from));
        names.max_by_key(|node| self.of("web", Some(node)).len()).unwrap_or_default()
    }

    /// The names of the pods on a node that are not being deleted.
    fn living_on(&self, node: &str) -> Vec<String> {
        let living =
            |pod: &Value| pod["spec"]["nodeName"] == node && pod["metadata"]["deletionTimestamp"].is_null();
        let pods = self.pods().into_iter().filter(living);
        pods.filter_map(|pod| pod["metadata"]["name"].as_str().map(String::from)).collect()
    }

    fn taints(&self, node: &str) -> Vec<Value> {
        let node = self.nodes().into_iter().find(|one| one["metadata"]["name"] == node);
        node.and_then(|node| node["spec"]["taints"].as_array().cloned()).unwrap_or_default()
    }

    fn is_sending_away(&self, node: &str) -> bool {
        let unreachable = |taint: &Value| taint["key"] == keys::UNREACHABLE && taint["effect"] == "NoExecute";
        self.taints(node).iter().any(unreachable)
    }

    fn set_silence(&self, node: &str, on: bool) -> TourStep {
        let object = ResourcePath::object(known("", "nodes"), "", node);
        let silence = if on { json!("true") } else { Value::Null };
        let changed = self.server.change(&object, "tour", |node| {
            let annotations = &mut node["metadata"]["annotations"];
            match (on, annotations.as_object_mut()) {
                (false, Some(all)) => drop(all.remove(SILENCE)),
                _ => annotations[SILENCE] = silence,
            }
        });
        changed.map(drop).map_err(|failure| failure.message)
    }
}
