//! Reads the desired taints and schedulability of nodes from a file.

use super::node_edits::NodeEdit;
use crate::manifest::files::each;
use crate::manifest::{self, YamlNode};
use crate::repeated_fields;
use std::path::Path;
use taintward_core::taint::{Taint, TaintEffect};

/// Why a file cannot be used as desired nodes.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct ChangeFileError(String);

pub(super) fn read(path: &Path) -> Result<Vec<NodeEdit>, ChangeFileError> {
    let (mut edits, mut wrong) = (Vec::new(), None);
    each(&[path.to_owned()], &mut |found| {
        let name = found.name;
        let text = match found.text {
            Ok(text) => text,
            Err(why) => {
                wrong.get_or_insert(format!("{name} {why}"));
                return;
            }
        };
        let mut put = |tree: &YamlNode| {
            repeated_fields::warn(&name, tree);
            match edit(&name, tree) {
                Ok(edit) => edits.push(edit),
                Err(why) => {
                    let at = tree.span.from;
                    wrong.get_or_insert(format!("{name}:{}:{}: {why}", at.line, at.column));
                }
            }
        };
        for fault in manifest::each(&text, &mut put) {
            let (at, why) = (fault.at, fault.why);
            wrong.get_or_insert(format!("{name}:{}:{}: broken YAML or JSON: {why}", at.line, at.column));
        }
    });
    match wrong {
        Some(why) => Err(ChangeFileError(why)),
        None if edits.is_empty() => Err(ChangeFileError(format!(
            "{} contains no node; a file of changes contains nodes with their taints",
            path.display()
        ))),
        None => Ok(edits),
    }
}

fn edit(file: &str, tree: &YamlNode) -> Result<NodeEdit, String> {
    if (tree.text("apiVersion"), tree.text("kind")) != ("v1", "Node") {
        let kind = tree.text("kind");
        let kind = if kind.is_empty() { "an object without a kind" } else { kind };
        return Err(format!(
            "cannot change {kind}: a file of changes contains only nodes, with spec.taints and spec.unschedulable"
        ));
    }
    let name = tree.at(&["metadata", "name"]).map(YamlNode::as_text).unwrap_or_default();
    if name.is_empty() {
        return Err("the node has no metadata.name; add it".to_owned());
    }
    let spec = tree.get("spec");
    let listed = spec.and_then(|spec| spec.get("taints")).map(YamlNode::items).unwrap_or_default();
    Ok(NodeEdit::Whole {
        file: file.to_owned(),
        node: name.to_owned(),
        taints: listed.iter().map(taint).collect::<Result<_, _>>()?,
        unschedulable: spec.is_some_and(|spec| spec.is_true("unschedulable")),
    })
}

fn taint(tree: &YamlNode) -> Result<Taint, String> {
    let (key, effect) = (tree.text("key"), TaintEffect::new(tree.text("effect")));
    match effect {
        _ if key.is_empty() => Err("a taint has no key; add it".to_owned()),
        TaintEffect::Unknown(effect) => Err(format!(
            "{key}: {effect:?} is not an effect; the effects are NoSchedule, PreferNoSchedule and NoExecute"
        )),
        effect => Ok(Taint { key: key.into(), value: tree.text("value").into(), effect, time_added: None }),
    }
}
