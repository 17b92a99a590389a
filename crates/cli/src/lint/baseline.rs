//! Matches findings with those of an earlier report, by rule, object and field.
//!
//! - Invariant: a new finding is never mistaken for an old one; one that moved within its object is reported again.

use super::finding::ReportedFinding;
use crate::manifest::files::remedy;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read as _;
use std::path::Path;

/// A hundred thousand findings are smaller.
const BYTES_MAX: u64 = 64 << 20;

/// An earlier report: the count for each rule, kind, namespace, name and field.
#[derive(Debug, Default)]
pub(crate) struct Baseline {
    known: BTreeMap<[String; 5], usize>,
}

/// Why the baseline cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BaselineError {
    #[error("cannot read the baseline {file}: {why}; {}, or name another with --baseline", remedy(why))]
    Unreadable { file: String, why: std::io::Error },
    #[error(
        "cannot use the baseline {file}, which is not a report: {why}; write one with taintward lint -o json, without \
         --baseline"
    )]
    Wrong { file: String, why: String },
}

#[derive(Deserialize)]
struct BaselineFile {
    kind: String,
    items: Vec<BaselineItem>,
}

#[derive(Deserialize)]
struct BaselineItem {
    rule: String,
    object: BaselineObject,
    field: String,
}

#[derive(Deserialize)]
struct BaselineObject {
    kind: String,
    namespace: String,
    name: String,
}

impl Baseline {
    pub(crate) fn load(named: Option<&Path>) -> Result<Self, BaselineError> {
        let Some(path) = named else { return Ok(Self::default()) };
        let file = || path.display().to_string();
        let mut text = String::new();
        // A truncated report is not valid JSON.
        let read = File::open(path).and_then(|open| open.take(BYTES_MAX).read_to_string(&mut text));
        read.map_err(|why| BaselineError::Unreadable { file: file(), why })?;
        Self::read(&text).map_err(|why| BaselineError::Wrong { file: file(), why })
    }

    fn read(text: &str) -> Result<Self, String> {
        let written: BaselineFile = serde_json::from_str(text).map_err(|why| why.to_string())?;
        if written.kind != "LintReport" {
            return Err(format!("its kind is {:?}", written.kind));
        }
        let mut known = BTreeMap::new();
        for BaselineItem { rule, object: BaselineObject { kind, namespace, name }, field } in written.items {
            *known.entry([rule, kind, namespace, name, field]).or_default() += 1;
        }
        Ok(Self { known })
    }

    /// Whether the finding is in the baseline; each one of the report counts once.
    pub(crate) fn takes(&mut self, reported: &ReportedFinding) -> bool {
        let object = &reported.object;
        let texts = [reported.rule.id(), &object.kind, &object.namespace, &object.name, &reported.field];
        match self.known.get_mut(&texts.map(str::to_owned)) {
            Some(count) if *count > 0 => {
                *count -= 1;
                true
            }
            _ => false,
        }
    }

    /// The number of findings that were not found again.
    pub(crate) fn gone(&self) -> usize {
        self.known.values().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lint::object::ObjectName;
    use taintward_core::lint::Rule;

    fn reported(rule: Rule, field: &str) -> ReportedFinding {
        let text = str::to_owned;
        let object = ObjectName { kind: text("Deployment"), namespace: text("shop"), name: text("web") };
        let (reason, fix) = (String::new(), String::new());
        ReportedFinding { rule, object, field: text(field), location: None, reason, fix }
    }

    #[test]
    fn each_finding_is_known_as_often_as_it_was_there() {
        let [one, other] = [Rule::ALL[0], Rule::ALL[1]];
        let item = format!(
            r#"{{"rule": "{}", "object": {{"kind": "Deployment", "namespace": "shop", "name": "web"}}, "field": "a", "why": 1}}"#,
            one.id()
        );
        let text = format!(r#"{{"kind": "LintReport", "items": [{item}, {item}]}}"#);
        let mut baseline = Baseline::read(&text).unwrap();
        assert!(!baseline.takes(&reported(other, "a")), "another rule");
        assert!(!baseline.takes(&reported(one, "b")), "another field");
        assert!(baseline.takes(&reported(one, "a")));
        assert_eq!(baseline.gone(), 1);
        assert!(baseline.takes(&reported(one, "a")));
        assert!(!baseline.takes(&reported(one, "a")), "a third was not there");
        assert_eq!(baseline.gone(), 0);
    }

    #[test]
    fn a_file_without_a_report_is_rejected() {
        for wrong in ["", "[]", "{}", r#"{"kind": "Plan", "items": []}"#, r#"{"kind": "LintReport"}"#] {
            assert!(Baseline::read(wrong).is_err(), "{wrong}");
        }
    }
}
