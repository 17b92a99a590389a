//! Describes the changes of the sandbox that matter to people, a line each.

use crate::output::harmless;
use fakekube::resource::{ResourceId, known};
use fakekube::store::{ChangeKind, StoreEvent, StoredObject};
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeSet;
use std::io::{self, Write as _};
use taintward_sandbox::core_types;
use taintward_sandbox::world::World;
use tokio::sync::mpsc;

/// Lines that may wait to be shown; what comes on top is not shown.
const WAITING_MOST: usize = 10_000;

/// Follows a world from now on.
pub(crate) fn follow(world: &World) -> mpsc::Receiver<String> {
    let (out, lines) = mpsc::channel(WAITING_MOST);
    world.server().store().follow(Box::new(move |number, event| {
        // A reader that is far behind misses lines; the cluster does not wait for it.
        if out.capacity() > 0 {
            words(number, event).into_iter().for_each(|line| _ = out.try_send(line));
        }
    }));
    lines
}

/// Plain lines, until nobody reads any more (`| head`).
///
/// # Errors
/// If they cannot be written for another reason.
pub(crate) async fn run(world: &World, introduction: &[String]) -> io::Result<()> {
    let mut lines = follow(world);
    let mut out = io::stdout();
    let mut say = |line: &str| writeln!(out, "{}", harmless(line)).and_then(|()| out.flush());
    let said = async {
        introduction.iter().try_for_each(|line| say(line))?;
        while let Some(line) = lines.recv().await {
            say(&format!("{}  {line}", jiff::Zoned::now().strftime("%H:%M:%S")))?;
        }
        io::Result::Ok(())
    };
    match said.await {
        Err(why) if why.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        said => said,
    }
}

/// What a change means to people.
fn words(number: ResourceId, event: &StoreEvent) -> Vec<String> {
    if number == known("", "nodes") {
        return of_node(event);
    }
    if number == known("", "pods") {
        return of_pod(event);
    }
    if number == known("", "events") && event.change != ChangeKind::Deleted {
        return of_event(&event.object.value());
    }
    Vec::new()
}

fn name(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap_or_default()
}

fn of_node(event: &StoreEvent) -> Vec<String> {
    let (before, after) =
        (event.before.as_ref().map(|one| one.value()).unwrap_or_default(), event.object.value());
    let node = name(&after);
    match event.change {
        ChangeKind::Added => return vec![format!("node {node} is there")],
        ChangeKind::Deleted => return vec![format!("node {node} is gone")],
        ChangeKind::Modified => {}
    }
    let taints = |node: &Value| -> BTreeSet<String> {
        core_types::taints(node).iter().map(ToString::to_string).collect()
    };
    let (old, new) = (taints(&before), taints(&after));
    let mut lines: Vec<String> = health(ready(&before), ready(&after))
        .map(|words| format!("node {node}: {words}"))
        .into_iter()
        .collect();
    lines.extend(new.difference(&old).map(|taint| format!("node {node}: taint {taint}")));
    lines.extend(old.difference(&new).map(|taint| format!("node {node}: taint {taint} taken off")));
    lines
}

/// What a node says of its being ready; empty before it has said anything.
fn ready(node: &Value) -> &str {
    let ready = core_types::list(&node["status"]["conditions"]).find(|one| one["type"] == "Ready");
    ready.and_then(|ready| ready["status"].as_str()).unwrap_or_default()
}

/// What a change of that means.
fn health(before: &str, after: &str) -> Option<&'static str> {
    match (before, after) {
        (before, after) if before == after => None,
        (_, "Unknown") => Some("not heard of any more"),
        (_, "False") => Some("says that it is not ready"),
        ("Unknown", "True") => Some("heard of again, and ready"),
        ("False", "True") => Some("ready again"),
        _ => None,
    }
}

/// Of a pod what is told of it; everything else is read over.
#[derive(Default, Deserialize)]
struct ObjectSummary {
    metadata: SummaryMeta,
    spec: SummarySpec,
    #[serde(default)]
    status: SummaryStatus,
}

#[derive(Default, Deserialize)]
struct SummaryMeta {
    namespace: String,
    name: String,
}

#[derive(Default, Deserialize)]
struct SummarySpec {
    #[serde(rename = "nodeName")]
    node: Option<String>,
}

#[derive(Default, Deserialize)]
struct SummaryStatus {
    #[serde(default)]
    conditions: Vec<SummaryCondition>,
}

#[derive(Deserialize)]
struct SummaryCondition {
    r#type: String,
    reason: Option<String>,
}

impl ObjectSummary {
    fn at(object: &StoredObject) -> Self {
        serde_json::from_slice(&object.json).unwrap_or_default()
    }

    /// Why it has to leave, if it has.
    fn target(&self) -> Option<&str> {
        let target = self.status.conditions.iter().find(|one| one.r#type == "DisruptionTarget")?;
        target.reason.as_deref()
    }
}

fn of_pod(event: &StoreEvent) -> Vec<String> {
    let after = ObjectSummary::at(&event.object);
    let pod = format!("{}/{}", after.metadata.namespace, after.metadata.name);
    let node = after.spec.node.as_deref().unwrap_or("no node");
    if event.change == ChangeKind::Deleted {
        return vec![format!("pod {pod} is gone from {node}")];
    }
    let before = event.before.as_deref().map(ObjectSummary::at).unwrap_or_default();
    if before.spec.node.is_none() && after.spec.node.is_some() {
        return vec![format!("pod {pod} goes to {node}")];
    }
    match (before.target(), after.target()) {
        (None, Some("EvictionByEvictionAPI")) => {
            vec![format!("pod {pod} must leave {node}: drained, and its budget allows it")]
        }
        _ => Vec::new(),
    }
}

fn of_event(event: &Value) -> Vec<String> {
    let involved = |field: &str| event["involvedObject"][field].as_str().unwrap_or_default();
    let about = format!("{}/{}", involved("namespace"), involved("name"));
    let message = event["message"].as_str().unwrap_or_default();
    match event["reason"].as_str() {
        Some("TaintManagerEviction") => vec![match message.split_once(": ") {
            Some((words, why)) if words.starts_with("Marking") => format!("pod {about} leaves: {why}"),
            Some((_, why)) => format!("pod {about} stays after all: {why}"),
            None => format!("pod {about}: {message}"),
        }],
        Some("FailedScheduling") => vec![format!("pod {about} finds no node: {message}")],
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_that_comes_and_goes_is_logged() {
        for (before, after, words) in [
            ("True", "Unknown", Some("not heard of any more")),
            ("", "Unknown", Some("not heard of any more")),
            ("True", "False", Some("says that it is not ready")),
            ("Unknown", "False", Some("says that it is not ready")),
            ("Unknown", "True", Some("heard of again, and ready")),
            ("False", "True", Some("ready again")),
            ("", "True", None),
            ("True", "True", None),
            ("True", "", None),
        ] {
            assert_eq!(health(before, after), words, "{before} {after}");
        }
    }
}
