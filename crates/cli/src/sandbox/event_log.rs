//! Describes the changes of the sandbox that matter to users, a line each.

use crate::board::NodeChange;
use crate::cluster_change::ClusterChange;
use crate::output::harmless;
use crate::pending::{DeadlineWatch, PendingRow};
use fakekube::resource::{ResourceId, known};
use fakekube::store::{ChangeKind, StoreEvent, StoredObject};
use serde::Deserialize;
use serde_json::Value;
use std::io::{self, Write as _};
use taintward_core::time::Now;
use taintward_sandbox::world::World;
use tokio::sync::mpsc;

/// The maximum number of lines that wait to be shown; further lines are dropped.
const WAITING_MAX: usize = 10_000;

/// The changes of a sandbox from now on.
pub(crate) struct EventLog {
    changes: mpsc::Receiver<String>,
    deadlines: DeadlineWatch,
}

impl EventLog {
    pub(crate) fn follow(world: &World, deadlines: DeadlineWatch) -> Self {
        let (out, changes) = mpsc::channel(WAITING_MAX);
        world.server().store().follow(Box::new(move |number, event| {
            // A reader that is far behind misses lines; the cluster does not wait for it.
            if out.capacity() > 0 {
                words(number, event).into_iter().for_each(|line| _ = out.try_send(line));
            }
        }));
        Self { changes, deadlines }
    }

    /// Waits for the next lines, if there are any.
    pub(crate) async fn next(&mut self) -> Vec<String> {
        tokio::select! {
            biased;
            Some(line) = self.changes.recv() => vec![line],
            changed = self.deadlines.next() => {
                let now = self.deadlines.now();
                changed.into_iter().map(|(kind, row)| of_deadline(kind, &row, now)).collect()
            }
        }
    }
}

/// Prints plain lines until the reader closes the pipe (`| head`).
///
/// # Errors
/// If they cannot be written for another reason.
pub(crate) async fn run(world: &World, deadlines: DeadlineWatch, introduction: &[String]) -> io::Result<()> {
    let mut log = EventLog::follow(world, deadlines);
    let mut out = io::stdout();
    let mut print = |line: &str| writeln!(out, "{}", harmless(line)).and_then(|()| out.flush());
    let result: io::Result<()> = async {
        introduction.iter().try_for_each(|line| print(line))?;
        loop {
            for line in log.next().await {
                print(&format!("{}  {line}", jiff::Zoned::now().strftime("%H:%M:%S")))?;
            }
        }
    }
    .await;
    match result {
        Err(why) if why.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}

/// The lines for a change.
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

/// The lines for a change of a node, with the board's sentences.
fn of_node(event: &StoreEvent) -> Vec<String> {
    let before = event.before.as_ref().map(|node| &*node.json);
    let after = (event.change != ChangeKind::Deleted).then_some(&*event.object.json);
    let value = event.object.value();
    let node = value["metadata"]["name"].as_str().unwrap_or_default();
    let changes = NodeChange::between_json(before, after).into_iter();
    changes.map(|NodeChange { kind, text }| line(kind, &format!("node {node} {text}"))).collect()
}

/// The line for a change of a deadline, with the board's sentence.
fn of_deadline(kind: ClusterChange, row: &PendingRow, now: Now) -> String {
    let left = row.evicted_at.as_micros().saturating_sub(now.mono.as_micros()) / 1_000_000;
    let sentence = match &row.delay {
        Some(delay) if kind == ClusterChange::Delayed => delay.sentence(now),
        _ => kind.of_pod(left, &row.taint),
    };
    line(kind, &format!("pod {}/{} {sentence}", row.namespace, row.pod))
}

fn line(kind: ClusterChange, text: &str) -> String {
    format!("{kind:<12}  {text}")
}

/// The fields of a pod that lines show.
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

    /// Why the pod is evicted, if it is.
    fn target(&self) -> Option<&str> {
        let target = self.status.conditions.iter().find(|one| one.r#type == "DisruptionTarget")?;
        target.reason.as_deref()
    }
}

fn of_pod(event: &StoreEvent) -> Vec<String> {
    let after = ObjectSummary::at(&event.object);
    let pod = format!("{}/{}", after.metadata.namespace, after.metadata.name);
    let node = after.spec.node.as_deref().unwrap_or("the cluster");
    if event.change == ChangeKind::Deleted {
        return Vec::new();
    }
    let before = event.before.as_deref().map(ObjectSummary::at).unwrap_or_default();
    if before.spec.node.is_none() && after.spec.node.is_some() {
        return vec![line(ClusterChange::Scheduled, &format!("pod {pod} is scheduled to {node}"))];
    }
    match (before.target(), after.target()) {
        (None, Some("EvictionByEvictionAPI")) => {
            let text = format!("pod {pod} is evicted from {node}: a drain, which its budget allows");
            vec![line(ClusterChange::Evicted, &text)]
        }
        _ => Vec::new(),
    }
}

fn of_event(event: &Value) -> Vec<String> {
    let involved = |field: &str| event["involvedObject"][field].as_str().unwrap_or_default();
    let about = format!("{}/{}", involved("namespace"), involved("name"));
    let message = event["message"].as_str().unwrap_or_default();
    match event["reason"].as_str() {
        Some("TaintManagerEviction") if message.starts_with("Marking") => {
            let why = message.split_once(": ").map_or(message, |(_, why)| why);
            vec![line(ClusterChange::Evicted, &format!("pod {about} is evicted: {why}"))]
        }
        Some("FailedScheduling") => {
            vec![line(ClusterChange::FailedScheduling, &format!("pod {about} is unschedulable: {message}"))]
        }
        _ => Vec::new(),
    }
}
