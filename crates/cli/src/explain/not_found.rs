//! Says that a target does not exist, with similar names.

use super::ExplainContext;
use super::target::TargetKind;
use std::collections::BTreeSet;
use taintward_core::cluster_snapshot::ClusterSnapshot;
use taintward_core::text::distance;

/// The largest number of existing names that are shown.
const NAMED_MAX: usize = 5;

/// The sentence about an object that is neither in the files nor in the cluster.
pub(super) fn describe(context: &ExplainContext, kind: TargetKind, name: &str) -> String {
    if context.controllers.is_none() {
        return not_in_files(context, kind, name);
    }
    match kind {
        TargetKind::Pod => no_pod(context, name),
        TargetKind::Node => {
            format!(
                "node {name} does not exist; kubectl get nodes lists all nodes{}",
                similar(context, kind, name)
            )
        }
        TargetKind::Workload(owner) => {
            let near = similar(context, kind, name);
            let (kind, plural) = (kind.as_str(), owner.of_api().2);
            let space = context.namespace().unwrap_or_default();
            format!(
                "{kind} {name} does not exist in namespace {space}; kubectl get {plural} -n {space} lists all of \
                 them{near}"
            )
        }
    }
}

/// The pod has been gone for longer than events are kept, or never existed.
fn no_pod(context: &ExplainContext, name: &str) -> String {
    let related = &context.related;
    let space = context.namespace().unwrap_or_default();
    let what = if related.knows_events { "and has no events" } else { "and its events could not be read" };
    let mut text = format!(
        "pod {name} does not exist in namespace {space}, {what}, so it is unknown whether it existed"
    );
    if let Some(others) = related.elsewhere.get(name).filter(|others| !others.is_empty()) {
        let spaces: Vec<&str> = others.iter().map(String::as_str).take(NAMED_MAX).collect();
        text += &format!(
            "; a pod of this name exists or existed in {}: choose the namespace with -n",
            spaces.join(", ")
        );
    }
    text + &similar(context, TargetKind::Pod, name)
}

/// `; similar names: web, wep`; empty if there are none.
fn similar(context: &ExplainContext, kind: TargetKind, name: &str) -> String {
    let near = alike(&names(&context.related.state.snapshot, context, kind), name);
    if near.is_empty() { String::new() } else { format!("; similar names: {}", near.join(", ")) }
}

fn not_in_files(context: &ExplainContext, kind: TargetKind, name: &str) -> String {
    let state = &context.related.state;
    let way_out = similar(context, kind, name);
    let of = context
        .namespace()
        .filter(|_| kind != TargetKind::Node)
        .map(|space| format!(" of namespace {space}"));
    let lacks = if matches!(kind, TargetKind::Workload(_)) { "has no pods" } else { "is not" };
    format!("{} {name}{} {lacks} in {}{way_out}", kind.as_str(), of.unwrap_or_default(), state.from)
}

fn names(snapshot: &ClusterSnapshot, context: &ExplainContext, kind: TargetKind) -> Vec<String> {
    match kind {
        TargetKind::Workload(maker) => {
            let pods = snapshot.pods().iter().map(|pod| &snapshot.workloads()[pod.workload as usize]);
            let here = |space: &str| context.namespace().is_none_or(|wanted| wanted == space);
            let same = pods.filter(|one| one.kind.as_str() == maker.of_api().0 && here(&one.namespace));
            let names: BTreeSet<&str> = same.map(|one| &*one.name).collect();
            names.into_iter().map(str::to_owned).collect()
        }
        TargetKind::Node => snapshot.nodes().iter().map(|node| node.fact.name.to_string()).collect(),
        TargetKind::Pod => {
            let pods = snapshot.pods().iter();
            let here = |space: &str| context.namespace().is_none_or(|wanted| wanted == space);
            let named = pods.filter(|pod| here(pod.name.namespace())).map(|pod| pod.name.name().to_owned());
            // The snapshot lacks pods whose nodes were not read.
            let others = context.related.details.known_pods.iter().cloned();
            let all: BTreeSet<String> = named.chain(others).collect();
            all.into_iter().collect()
        }
    }
}

/// The names that differ from this one in a letter or two, or share most of their beginning or end with it.
fn alike(names: &[String], name: &str) -> Vec<String> {
    let shared = |other: &str| {
        let begins = other.bytes().zip(name.bytes()).take_while(|(a, b)| a == b).count();
        let ends = other.bytes().rev().zip(name.bytes().rev()).take_while(|(a, b)| a == b).count();
        begins.max(ends)
    };
    // In a short name, a few letters are most of it.
    let most = if name.len() < 5 { 1 } else { 2 };
    let letters = |other: &str| distance(other, name, most).unwrap_or(usize::MAX);
    let is_near = |other: &&String| letters(other) <= most || shared(other) * 2 >= name.len();
    let mut near: Vec<&String> = names.iter().filter(is_near).collect();
    near.sort_by_key(|other| {
        (letters(other), std::cmp::Reverse(shared(other)), other.len(), (*other).clone())
    });
    near.dedup();
    near.into_iter().take(NAMED_MAX).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_begin_or_end_alike() {
        let names: Vec<String> =
            ["web-1", "web-2", "api-1", "cache-0", "worker-12"].map(str::to_owned).into();
        assert_eq!(alike(&names, "web-3"), ["web-1", "web-2"]);
        assert_eq!(alike(&names, "worker-1"), ["worker-12"]);
        assert_eq!(alike(&names, "wbe-1"), ["web-1", "web-2"], "two letters are swapped");
        assert_eq!(alike(&names, "caxhe-1"), ["cache-0"], "two letters are wrong");
        assert_eq!(alike(&names, "zzz"), Vec::<String>::new());
    }
}
