//! Prints a changed node in the formats of `-o`, as kubectl does (KT-8).

use super::taint_args::{DryRun, TaintOptions, TaintOutputFormat};
use crate::manifest::YamlNode;
use crate::output::{harmless, yaml_with};
use serde::Serialize;
use serde_json::Value;
use std::io::{self, Write as _};
use taintward_core::taint_edit::EditSummary;
use taintward_core::text::numbered;

/// Prints one node after another.
pub(super) struct TaintPrinter<'p> {
    plan: &'p TaintOptions,
    printed: usize,
}

impl<'p> TaintPrinter<'p> {
    pub(super) const fn new(plan: &'p TaintOptions) -> Self {
        Self { plan, printed: 0 }
    }

    /// Nothing was printed.
    pub(super) const fn is_idle(&self) -> bool {
        self.printed == 0
    }

    /// What is said of a node as it is, or would be, after the change. `body` is its JSON.
    pub(super) fn print(&mut self, name: &str, word: EditSummary, body: &[u8]) -> Result<(), String> {
        let named = harmless(name);
        let text = match self.plan.form {
            TaintOutputFormat::Text => format!("node/{named} {word}{}\n", suffix(self.plan.dry_run)),
            TaintOutputFormat::Name => format!("node/{named}\n"),
            TaintOutputFormat::Json => json(body, self.plan.managed_fields)?,
            TaintOutputFormat::Yaml => {
                let separator = if self.printed > 0 { "---\n" } else { "" };
                separator.to_owned() + &yaml(body, self.plan.managed_fields)?
            }
        };
        self.printed += 1;
        match io::stdout().write_all(text.as_bytes()) {
            // A reader who has seen enough (`| head`) is no failure.
            Err(why) if why.kind() != io::ErrorKind::BrokenPipe => {
                Err(format!("node/{name} {word}, but it cannot be printed: {why}"))
            }
            _ => Ok(()),
        }
    }
}

/// What kubectl prints behind the word.
const fn suffix(dry_run: DryRun) -> &'static str {
    match dry_run {
        DryRun::No => "",
        DryRun::Client => " (dry run)",
        DryRun::Server => " (server dry run)",
    }
}

/// Fields in the server's order, four spaces for each level, and what could be taken for HTML escaped: as Go writes it.
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

/// Fields in the order of their names.
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
    fn yaml_is_sorted_and_means_the_same() {
        let text = yaml(NODE.as_bytes(), false).unwrap();
        assert!(text.starts_with("apiVersion: v1\nkind: Node\nmetadata:\n  annotations:\n"), "{text}");
        assert!(
            text.contains("spec:\n  taints:\n  - effect: NoExecute\n    key: a\n    value: \"yes\"\n"),
            "{text}"
        );
        assert!(!text.contains("managedFields"), "{text}");
    }
}
