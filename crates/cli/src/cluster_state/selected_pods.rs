//! Applies `-n`, `-l` and `--field-selector` to the pods of a snapshot, for commands that must know all pods.
//!
//! - Invariant: selectors are evaluated as by an API server, also for files.

use super::ClusterStateError;
use crate::args::kube_args::ClusterOptions;
use serde_json::Value;
use std::collections::BTreeSet;
use taintward_core::cluster_snapshot::ClusterSnapshot;
use taintward_core::label_requirements::LabelRequirements;
use taintward_core::scheduling::Labels;

fn labels(pod: &Value) -> Labels {
    let entries = pod["metadata"]["labels"].as_object().into_iter().flatten();
    entries.map(|(key, value)| (key.as_str().into(), value.as_str().unwrap_or_default().into())).collect()
}

/// The selected pods.
#[derive(Clone, Debug, Default)]
pub(super) struct SelectedPods {
    /// All if empty.
    namespace: String,
    labels: LabelRequirements,
    fields: PodFieldSelector,
    /// Namespaces and names of the pods that match the selector, if there is one.
    fitting: BTreeSet<(String, String)>,
}

impl SelectedPods {
    pub(super) fn of(cluster: &ClusterOptions) -> Result<Self, ClusterStateError> {
        let labels = LabelRequirements::parse(cluster.selector())
            .map_err(|why| ClusterStateError::Selector(why.to_string()))?;
        let fields = PodFieldSelector::parse(cluster.fields()).map_err(ClusterStateError::Selector)?;
        let namespace = cluster.named_namespace().to_owned();
        Ok(Self { namespace, labels, fields, fitting: BTreeSet::new() })
    }

    fn selects_all(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty()
    }

    /// Adds a pod. Pods without a namespace are placed in `home`.
    pub(super) fn add(&mut self, json: &[u8], home: &str) {
        if self.selects_all() {
            return;
        }
        let Ok(mut pod) = serde_json::from_slice::<Value>(json) else { return };
        if pod["metadata"]["namespace"].as_str().unwrap_or_default().is_empty() {
            pod["metadata"]["namespace"] = home.into();
        }
        if self.labels.matches(&labels(&pod)) && self.fields.matches(&pod) {
            let text = |field: &str| pod["metadata"][field].as_str().unwrap_or_default().to_owned();
            self.fitting.insert((text("namespace"), text("name")));
        }
    }

    /// For each pod, whether it is selected; empty: all are.
    pub(super) fn among(&self, snapshot: &ClusterSnapshot) -> Vec<bool> {
        if self.namespace.is_empty() && self.selects_all() {
            return Vec::new();
        }
        let is_meant = |name: &taintward_core::identity::PodName| {
            let (namespace, name) = (name.namespace(), name.name());
            (self.namespace.is_empty() || *self.namespace == *namespace)
                && (self.selects_all() || self.fitting.contains(&(namespace.to_owned(), name.to_owned())))
        };
        snapshot.pods().iter().map(|pod| is_meant(&pod.name)).collect()
    }

    /// The selected namespace if it has no pods: perhaps a typing error.
    pub(super) fn empty_namespace(&self, snapshot: &ClusterSnapshot) -> Option<&str> {
        let is_there = snapshot.pods().iter().any(|pod| *pod.name.namespace() == *self.namespace);
        (!self.namespace.is_empty() && !is_there).then_some(self.namespace.as_str())
    }
}

/// The fields of a pod that a selector may name.
const FIELDS: [&str; 10] = [
    "metadata.name",
    "metadata.namespace",
    "spec.nodeName",
    "spec.restartPolicy",
    "spec.schedulerName",
    "spec.serviceAccountName",
    "spec.hostNetwork",
    "status.phase",
    "status.podIP",
    "status.nominatedNodeName",
];

/// Requirements on fields; all must hold.
#[derive(Clone, Debug, Default)]
struct PodFieldSelector(Vec<PodFieldRequirement>);

#[derive(Clone, Debug)]
struct PodFieldRequirement {
    path: &'static str,
    value: String,
    is_equal: bool,
}

impl PodFieldSelector {
    /// Parses a selector; the error is that of an API server.
    fn parse(text: &str) -> Result<Self, String> {
        let requirement = |part: &String| {
            let (path, value, is_equal) = terms(part)
                .ok_or_else(|| format!("invalid selector: '{text}'; can't understand '{part}'"))?;
            let known = FIELDS.into_iter().find(|known| *known == path);
            let path = known.ok_or_else(|| format!("field label not supported: {path}"))?;
            Ok(PodFieldRequirement { path, value, is_equal })
        };
        split(text).iter().map(requirement).collect::<Result<_, String>>().map(Self)
    }

    /// Whether all pods match.
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a pod matches. An absent field is empty, or `false` for a boolean.
    fn matches(&self, pod: &Value) -> bool {
        self.0.iter().all(|one| {
            let found = one.path.split('.').fold(pod, |value, part| &value[part]);
            let text = match (found, one.path) {
                (Value::String(text), _) => text.clone(),
                (Value::Bool(is), _) => is.to_string(),
                (_, "spec.hostNetwork") => "false".to_owned(),
                _ => String::new(),
            };
            (text == one.value) == one.is_equal
        })
    }
}

/// Splits at commas that are not escaped.
fn split(text: &str) -> Vec<String> {
    let (mut parts, mut part, mut is_escaped) = (Vec::new(), String::new(), false);
    for letter in text.chars() {
        match letter {
            ',' if !is_escaped => parts.push(std::mem::take(&mut part)),
            _ => part.push(letter),
        }
        is_escaped = letter == '\\' && !is_escaped;
    }
    parts.push(part);
    parts.retain(|part| !part.is_empty());
    parts
}

fn terms(part: &str) -> Option<(&str, String, bool)> {
    let not_equal = part.split_once("!=").map(|(path, value)| (path, value, false));
    let equal = || part.split_once("==").or_else(|| part.split_once('='));
    let (path, value, is_equal) = not_equal.or_else(|| equal().map(|(path, value)| (path, value, true)))?;
    let plain = value.replace("\\,", ",").replace("\\=", "=").replace("\\\\", "\\");
    Some((path, plain, is_equal))
}

#[cfg(test)]
mod tests {
    use super::PodFieldSelector;
    use serde_json::json;

    #[test]
    fn fields_are_compared_as_text() {
        let pod = json!({"metadata": {"name": "a,b"}, "spec": {"nodeName": "n1"}});
        for (selector, expected) in [
            ("", true),
            ("spec.nodeName=n1", true),
            ("spec.nodeName==n2", false),
            ("spec.nodeName!=n2,status.phase=", true),
            ("metadata.name=a\\,b", true),
            ("spec.hostNetwork=false", true),
        ] {
            assert_eq!(
                PodFieldSelector::parse(selector).map(|all| all.matches(&pod)),
                Ok(expected),
                "{selector}"
            );
        }
        for (selector, why) in [
            ("spec.color=red", "field label not supported: spec.color"),
            ("nodeName", "invalid selector: 'nodeName'; can't understand 'nodeName'"),
        ] {
            assert_eq!(PodFieldSelector::parse(selector).map(drop), Err(why.to_owned()));
        }
    }
}
