//! Finds the selected nodes, and writes the annotation to each.

use super::hold_args::{HoldAction, HoldTargets};
use taintward_core::admission::no_execute_guard::ALLOW;
use taintward_core::fact::HoldPeriod;
use taintward_core::fact::NodeFact;
use taintward_core::taint::TaintEffect;
use taintward_core::taint_edit::TaintEdit;
use taintward_core::time::{Span, Wall};
use taintward_core::toleration_seconds::NodeHoldRequest;
use taintward_kube::api::RequestBudget;
use taintward_kube::api::RequestError;
use taintward_kube::api::paged_list::{ListRequest, object, pages};
use taintward_kube::clock::Clock;
use taintward_kube::decode::{Decoded, DecodedNode, WatchedObject as _};
use taintward_kube::hold_request::{HOLD, encode_request, past_periods};
use taintward_kube::node_client::{AnnotationEdit, EditableNode, NodeClient, NodeRequestError, PatchOptions};

/// The maximum number of retries after a conflict.
pub(super) const TRIES: usize = 20;

/// Why the nodes are unknown.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NodeNamesError {
    #[error(transparent)]
    Read(#[from] RequestError),
    #[error("{}", absent(.0))]
    Absent(Vec<String>),
}

fn absent(names: &[String]) -> String {
    let (nodes, verb) = if names.len() == 1 { ("node", "does") } else { ("nodes", "do") };
    format!("{nodes} {} {verb} not exist; nothing was changed; check the name", names.join(", "))
}

/// These names, if all of the nodes exist.
async fn existing(
    client: &kube::Client,
    names: &[String],
    limit: RequestBudget,
) -> Result<Vec<String>, NodeNamesError> {
    let mut absent = Vec::new();
    for name in names {
        if object(client, ("", "nodes"), "", name, limit).await?.is_none() {
            absent.push(name.clone());
        }
    }
    if absent.is_empty() { Ok(names.to_vec()) } else { Err(NodeNamesError::Absent(absent)) }
}

/// The names of the nodes.
pub(super) async fn names(
    client: &kube::Client,
    targets: &HoldTargets,
    limit: RequestBudget,
) -> Result<Vec<String>, NodeNamesError> {
    let (selector, fields) = match targets {
        HoldTargets::Named(names) => return existing(client, names, limit).await,
        HoldTargets::Pods(_) => return Ok(Vec::new()),
        HoldTargets::Selected { labels, fields } => (labels, fields),
    };
    let nodes = ListRequest { group: "", plural: "nodes", namespace: "", selector, fields };
    let mut names = Vec::new();
    pages(client, nodes, limit, &mut |body| {
        match DecodedNode::from_json(body) {
            Decoded::Object(node) => names.push(node.taints.name.to_string()),
            Decoded::Unbound(identity) => names.push(identity.name),
            Decoded::Undecodable(node) => names.extend(node.identity.map(|identity| identity.name)),
        }
        Ok(())
    })
    .await?;
    Ok(names)
}

/// What was written to nodes.
#[derive(Debug, Default)]
pub(super) struct WrittenNodes {
    /// The nodes that have the annotation now.
    pub(super) names: Vec<String>,
    /// The errors by node.
    pub(super) failures: Vec<String>,
}

/// Writes the annotation to each node that the action is about.
pub(super) async fn write(nodes: &NodeClient, names: &[String], action: &HoldAction) -> WrittenNodes {
    let mut written = WrittenNodes::default();
    for name in names {
        match write_one(nodes, name, action).await {
            Ok(true) => written.names.push(name.clone()),
            Ok(false) => {}
            Err(why) => written.failures.push(format!("node {name}: {why}")),
        }
    }
    written
}

/// The value of the annotation [`HOLD`]; `None`: the action is about another annotation. `periods` are the holds that the
/// annotation orders now.
pub(super) fn hold_value(action: &HoldAction, periods: Option<&[HoldPeriod]>, now: Wall) -> Option<String> {
    let past = past_periods(periods.unwrap_or_default(), now);
    match action {
        HoldAction::Hold { reason, .. } => {
            let until = now.plus(action.lasts().unwrap_or(Span::ZERO));
            encode_request(NodeHoldRequest::Hold { since: now, until }, reason, &past)
        }
        HoldAction::Release(mode) => {
            encode_request(NodeHoldRequest::Release { at: now, mode: *mode }, "", &past)
        }
        HoldAction::ReleaseBrake(_) => None,
    }
}

/// The annotation of a node; `None`: the action is not about this node.
fn annotation(action: &HoldAction, node: &NodeFact, now: Wall) -> Option<AnnotationEdit> {
    let mut evicting = node.taints.iter().filter(|taint| taint.effect == TaintEffect::NoExecute);
    match action {
        HoldAction::ReleaseBrake(key) => evicting.any(|taint| *taint.key == **key).then(|| {
            let allowed = node.allow_no_execute.as_deref().unwrap_or_default();
            let has_it = allowed.split(',').any(|one| [key, "*"].contains(&one.trim()));
            let more = match (has_it, allowed.trim()) {
                (true, _) => allowed.to_owned(),
                (false, "") => key.clone(),
                (false, others) => format!("{others},{key}"),
            };
            (ALLOW.to_owned(), Some(more))
        }),
        // A hold before all taints delays nothing.
        HoldAction::Hold { .. } | HoldAction::Release(_) => {
            let periods = node.holds.as_deref().filter(|_| evicting.next().is_some());
            Some((HOLD.to_owned(), hold_value(action, periods, now)))
        }
    }
}

/// Returns whether the action is about the node. The annotation has the API server's time: the controller ignores an order from the future, and compares times with
/// those of taints.
async fn write_one(nodes: &NodeClient, name: &str, action: &HoldAction) -> Result<bool, String> {
    let writing = PatchOptions { field_manager: "taintward".to_owned(), ..PatchOptions::default() };
    let untouched = TaintEdit { add: Vec::new(), remove: Vec::new() };
    let mut tries = 1;
    loop {
        let response = nodes.read(name).await.map_err(|why| why.to_string())?;
        let node = EditableNode::read(&response.body).map_err(|why| why.to_string())?;
        let now = response.date.unwrap_or_else(|| Clock::system().now().wall);
        let Some(note) = annotation(action, node.fact(), now) else { return Ok(false) };
        let applied =
            untouched.apply(&node.fact().taints, false).map_err(|why| why.messages(name).join(", "))?;
        let Some(patch) = node.patch(&applied, &[], &[note]) else { return Ok(true) };
        match nodes.patch(name, patch, &writing).await {
            Ok(_) => return Ok(true),
            Err(why) if NodeRequestError::is_conflict(&why) && tries < TRIES => tries += 1,
            Err(why) => return Err(why.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use taintward_core::testkit::{node, taint};
    use taintward_core::toleration_hold::ReleaseMode;
    use taintward_kube::hold_request::decode_periods;

    const NOW: Wall = Wall::from_secs(1_800_000_000);

    fn tainted(text: &str) -> NodeFact {
        NodeFact { taints: vec![taint(text)], ..node("n1") }
    }

    #[test]
    fn a_release_of_the_brake_allows_the_key_beside_others() {
        let action = HoldAction::ReleaseBrake("k".to_owned());
        let allowed = |before: Option<&str>, text: &str| {
            let fact = NodeFact { allow_no_execute: before.map(Box::from), ..tainted(text) };
            annotation(&action, &fact, NOW).map(|(key, value)| {
                assert_eq!(key, ALLOW);
                value.unwrap()
            })
        };
        assert_eq!(allowed(None, "k=v:NoExecute").as_deref(), Some("k"));
        assert_eq!(allowed(Some("a, b"), "k:NoExecute").as_deref(), Some("a, b,k"));
        assert_eq!(allowed(Some("a, k"), "k:NoExecute").as_deref(), Some("a, k"));
        assert_eq!(allowed(Some("*"), "k:NoExecute").as_deref(), Some("*"));
        assert_eq!(allowed(None, "k:NoSchedule"), None, "no pod is evicted because of it");
        assert_eq!(allowed(None, "other:NoExecute"), None);
    }

    #[test]
    fn the_holds_before_are_kept_while_a_taint_counts() {
        let seconds = |after: i64| NOW.plus(Span::from_secs(after));
        let before = HoldPeriod { since: Wall::from_secs(1_799_999_900), until: seconds(500) };
        let hold = HoldAction::Hold { lasts: Duration::from_secs(60), reason: String::new() };
        let ordered = |action: &HoldAction, text: &str| {
            let fact = NodeFact { holds: Some([before].into()), ..tainted(text) };
            let (key, value) = annotation(action, &fact, NOW).unwrap();
            assert_eq!(key, HOLD);
            decode_periods(&value.unwrap()).map(Vec::from)
        };
        let (past, next) =
            (HoldPeriod { until: NOW, ..before }, HoldPeriod { since: NOW, until: seconds(60) });
        assert_eq!(ordered(&hold, "k:NoExecute"), Some(vec![past, next]));
        assert_eq!(ordered(&hold, "k:NoSchedule"), Some(vec![next]));
        let release = HoldAction::Release(ReleaseMode::Remainder);
        assert_eq!(ordered(&release, "k:NoExecute"), Some(vec![past]));
        assert_eq!(ordered(&release, "k:NoSchedule"), None);
    }
}
