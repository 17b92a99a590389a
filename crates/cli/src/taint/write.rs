//! Changes nodes one after the other: read, apply the edit, write, and again after a conflict (KT-9); and prints each
//! as kubectl does (KT-8).
//!
//! - Invariant: a write depends on what was just read, so that no edit of another client is lost (S8); a failure ends only its
//!   own node (KT-10); attempts and time are bounded.

use super::budget_respect;
use super::node_write_error::NodeWriteError;
use super::taint_args::{TaintArgs, TaintOutputFormat};
use crate::args::dry_run::DryRun;
use crate::manifest::YamlNode;
use crate::output::{harmless, yaml_with};
use crate::taint_note::{self, TaintNote};
use serde::Serialize as _;
use serde_json::Value;
use std::io::{self, Write as _};
use std::time::Duration;
use taintward_core::taint::Taint;
use taintward_core::taint_edit::{EditResult, EditSummary, TaintEdit, TaintOrigin, TaintRemoval};
use taintward_core::text::numbered;
use taintward_core::time::Wall;
use taintward_kube::clock::Clock;
use taintward_kube::node_client::{self, EditableNode, NodeClient, PatchOptions, PatchResponse};

/// How often a node is read again after a conflict.
const TRIES: u32 = 60;

/// The pause before a retry, which grows by this each time and differs between processes.
const PAUSE: Duration = Duration::from_millis(3);

/// No pause is longer than this many times [`PAUSE`].
const PAUSES_MAX: u32 = 40;

/// What to do to each node.
struct TaintWrite<'w> {
    options: &'w TaintArgs,
    change: &'w TaintEdit,
    nodes: &'w NodeClient,
    writing: PatchOptions,
}

/// Changes nodes one after another. Returns the errors in their order.
pub(super) async fn all(
    options: &TaintArgs,
    change: &TaintEdit,
    nodes: &NodeClient,
    names: &[String],
) -> Vec<NodeWriteError> {
    let writing = PatchOptions {
        field_manager: options.field_manager.clone(),
        field_validation: options.validate,
        dry_run: options.dry_run.kind == DryRun::Server,
    };
    let work = TaintWrite { options, change, nodes, writing };
    let mut printer = TaintPrinter::new(options);
    let mut failures = Vec::new();
    for name in names {
        let done = work.one(name).await.and_then(|done| {
            let Some((word, body)) = done else { return Ok(()) };
            printer.print(name, word, &body).map_err(|why| NodeWriteError::Reasons(vec![why]))
        });
        failures.extend(done.err());
    }
    if options.expired && failures.is_empty() && printer.is_idle() {
        crate::stderr::note("no taint of these nodes has outlived its --for");
    }
    failures
}

/// An edit that removes taints whose intended duration has passed. It evicts no pods, because it only removes taints.
fn expired(node: &EditableNode, now: Wall) -> TaintEdit {
    let is_over = |taint: &&Taint| {
        let until = TaintNote::about(taint, |key| node.annotation(key)).and_then(|note| note.until);
        until.is_some_and(|until| until <= now)
    };
    let over = node.fact().taints.iter().filter(is_over);
    let removal = |taint: &Taint| TaintRemoval { key: taint.key.clone(), effect: Some(taint.effect.clone()) };
    TaintEdit { add: Vec::new(), remove: over.map(removal).collect() }
}

impl TaintWrite<'_> {
    /// The kind of change, and the node's JSON after it; `None` if none of its taints has expired.
    async fn one(&self, name: &str) -> Result<Option<(EditSummary, Vec<u8>)>, NodeWriteError> {
        let mut tries = 1;
        loop {
            let response = self.nodes.read(name).await?;
            let node = EditableNode::read(&response.body).map_err(|why| {
                NodeWriteError::Reasons(vec![format!(
                    "node {name}: cannot decode the API server's response: {why}"
                )])
            })?;
            let now = response.date.unwrap_or_else(|| Clock::system().now().wall);
            let expired = self.options.expired.then(|| expired(&node, now));
            if expired.as_ref().is_some_and(|change| change.remove.is_empty()) {
                return Ok(None);
            }
            let change = expired.as_ref().unwrap_or(self.change);
            let applied = change.apply(&node.fact().taints, self.options.overwrite);
            let applied = applied.map_err(|error| NodeWriteError::Reasons(error.messages(name)))?;
            let added = budget_respect::added(self.options, &change.add, now);
            let mut notes = self.notes(&node, change, &applied, now);
            notes.extend(budget_respect::edit(self.options, &node, &applied, &added));
            if self.options.dry_run.kind == DryRun::Client {
                let after = node.after(&applied, &added, &notes);
                return Ok(Some((applied.word, after.to_string().into_bytes())));
            }
            let Some(patch) = node.patch(&applied, &added, &notes) else {
                return Ok(Some((applied.word, response.body.to_vec())));
            };
            match self.nodes.patch(name, patch, &self.writing).await {
                Ok(response) => {
                    warn(&response);
                    return Ok(Some((applied.word, response.body.to_vec())));
                }
                Err(complaint) if complaint.is_conflict() && tries < TRIES => {
                    tokio::time::sleep(pause(tries)).await;
                    tries += 1;
                }
                Err(complaint) => return Err(complaint.into()),
            }
        }
    }

    /// Adds the notes of new taints, and removes those of overwritten and removed ones. `now`: the API server's time.
    fn notes(
        &self,
        node: &EditableNode,
        change: &TaintEdit,
        applied: &EditResult,
        now: Wall,
    ) -> Vec<node_client::AnnotationEdit> {
        let stays = |at: usize| applied.origins.contains(&TaintOrigin::Kept(at));
        let gone = node.fact().taints.iter().enumerate().filter(|(at, _)| !stays(*at));
        let mut notes: Vec<node_client::AnnotationEdit> =
            gone.map(|(_, taint)| (taint_note::key(taint), None)).collect();
        let TaintArgs { lasts, reason, .. } = self.options;
        let until = lasts.map(|lasts| {
            Wall::from_micros(
                now.as_micros().saturating_add(i64::try_from(lasts.as_micros()).unwrap_or(i64::MAX)),
            )
        });
        let note = TaintNote { reason: reason.clone(), until };
        for taint in &change.add {
            let key = taint_note::key(taint);
            notes.retain(|(other, _)| *other != key);
            notes.push((key, (lasts.is_some() || reason.is_some()).then(|| note.write(taint))));
        }
        notes
    }
}

/// Prints warnings as kubectl does.
fn warn(response: &PatchResponse) {
    for warning in &response.warnings {
        crate::stderr::line("Warning: ", warning);
    }
}

/// The pauses depend on the process ID, so that two writers with a conflict do not retry at the same time.
fn pause(tries: u32) -> Duration {
    let own = Duration::from_micros(u64::from(std::process::id()).wrapping_mul(7919) % 3000);
    PAUSE * tries.min(PAUSES_MAX) + own
}

/// Prints one node after another.
struct TaintPrinter<'p> {
    options: &'p TaintArgs,
    printed: usize,
}

impl<'p> TaintPrinter<'p> {
    const fn new(options: &'p TaintArgs) -> Self {
        Self { options, printed: 0 }
    }

    /// Whether nothing was printed.
    const fn is_idle(&self) -> bool {
        self.printed == 0
    }

    /// Prints the result for a node after the change, or after the hypothetical one. `body` is its JSON.
    fn print(&mut self, name: &str, word: EditSummary, body: &[u8]) -> Result<(), String> {
        let named = harmless(name);
        let text = match self.options.output {
            TaintOutputFormat::Text => format!("node/{named} {word}{}\n", self.options.dry_run.kind.suffix()),
            TaintOutputFormat::Name => format!("node/{named}\n"),
            TaintOutputFormat::Json => json(body, self.options.show_managed_fields)?,
            TaintOutputFormat::Yaml => {
                let separator = if self.printed > 0 { "---\n" } else { "" };
                separator.to_owned() + &yaml(body, self.options.show_managed_fields)?
            }
        };
        self.printed += 1;
        match io::stdout().write_all(text.as_bytes()) {
            // A reader that stops early (`| head`) is not an error.
            Err(why) if why.kind() != io::ErrorKind::BrokenPipe => {
                Err(format!("node/{name} {word}, but cannot print it: {why}"))
            }
            _ => Ok(()),
        }
    }
}

/// Fields in the server's order, four spaces for each level, and HTML characters escaped: as Go writes it.
fn json(body: &[u8], managed_fields: bool) -> Result<String, String> {
    let tree: YamlNode = serde_json::from_slice(body).map_err(|why| why.to_string())?;
    let tree = if managed_fields { tree } else { tree.without(&["metadata", "managedFields"]) };
    let mut text = Vec::new();
    let form = serde_json::ser::PrettyFormatter::with_indent(b"    ");
    tree.serialize(&mut serde_json::Serializer::with_formatter(&mut text, form))
        .map_err(|why| why.to_string())?;
    let text = String::from_utf8(text).map_err(|why| why.to_string())?;
    Ok(numbered(text.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026") + "\n"))
}

/// Fields sorted by name.
fn yaml(body: &[u8], managed_fields: bool) -> Result<String, String> {
    let mut object: Value = serde_json::from_slice(body).map_err(|why| why.to_string())?;
    if !managed_fields && let Some(metadata) = object["metadata"].as_object_mut() {
        metadata.remove("managedFields");
    }
    let options = serde_saphyr::ser_options! { compact_list_indent: true, prefer_block_scalars: false };
    yaml_with(&object, options)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NODE: &str = r#"{"kind":"Node","apiVersion":"v1","metadata":{"name":"n1","managedFields":[{"manager":"a"}],
        "annotations":{"why":"a<b & c"}},"spec":{"taints":[{"key":"a","value":"yes","effect":"NoExecute"}]}}"#;

    #[test]
    fn json_is_written_as_go_writes_it() {
        let expected = r#"{
    "kind": "Node",
    "apiVersion": "v1",
    "metadata": {
        "name": "n1",
        "annotations": {
            "why": "a\u003cb \u0026 c"
        }
    },
    "spec": {
        "taints": [
            {
                "key": "a",
                "value": "yes",
                "effect": "NoExecute"
            }
        ]
    }
}
"#;
        assert_eq!(json(NODE.as_bytes(), false).unwrap(), expected);
        assert!(json(NODE.as_bytes(), true).unwrap().contains("managedFields"));
    }

    #[test]
    fn yaml_is_sorted_and_has_the_same_content() {
        let text = yaml(NODE.as_bytes(), false).unwrap();
        assert!(text.starts_with("apiVersion: v1\nkind: Node\nmetadata:\n  annotations:\n"), "{text}");
        assert!(
            text.contains("spec:\n  taints:\n  - effect: NoExecute\n    key: a\n    value: \"yes\"\n"),
            "{text}"
        );
        assert!(!text.contains("managedFields"), "{text}");
    }
}
