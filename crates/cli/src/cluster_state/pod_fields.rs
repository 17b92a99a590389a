//! Reads `metadata.name=x,spec.nodeName!=y` as an API server does.

use serde_json::Value;

/// The fields of a pod that can be selected by.
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
pub(super) struct PodFieldSelector(Vec<PodFieldRequirement>);

#[derive(Clone, Debug)]
struct PodFieldRequirement {
    path: &'static str,
    value: String,
    is_equal: bool,
}

impl PodFieldSelector {
    /// Reads a selector, or says what an API server says of it.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
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
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a pod matches. A field that is not there is empty, and a switch is `false` then.
    pub(super) fn matches(&self, pod: &Value) -> bool {
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

/// Cuts at commas that are not escaped.
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
