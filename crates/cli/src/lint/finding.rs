//! Describes a finding as reports show it: with its object, its field and its position.

use super::collect::CollectedObject;
use super::object::{FieldSpans, ObjectName};
use crate::manifest::TextSpan;
use taintward_core::lint::{FindingPlace, LintFinding, Rule, TolerationPart};

/// A finding.
#[derive(Clone, Debug)]
pub(crate) struct ReportedFinding {
    pub(crate) rule: Rule,
    pub(crate) object: ObjectName,
    /// `spec.template.spec.tolerations[0].value`
    pub(crate) field: String,
    /// `None`: from a cluster.
    pub(crate) location: Option<FindingLocation>,
    pub(crate) reason: String,
    pub(crate) fix: String,
}

/// A position in a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FindingLocation {
    pub(crate) file: String,
    pub(crate) span: TextSpan,
}

impl ReportedFinding {
    pub(crate) fn new(finding: LintFinding, subject: &CollectedObject) -> Self {
        let LintFinding { rule, place, reason, fix, .. } = finding;
        let (span, field) = locate(place, &subject.places);
        let location = subject.file.as_ref().map(|file| FindingLocation { file: file.clone(), span });
        Self { rule, object: subject.name.clone(), field, location, reason, fix }
    }

    /// `web.yaml:3:7`, or the field if there is no file.
    pub(crate) fn place(&self) -> String {
        match &self.location {
            Some(location) => {
                let from = location.span.from;
                format!("{}:{}:{}", location.file, from.line, from.column)
            }
            None => self.field.clone(),
        }
    }
}

/// An absent field has the position of the whole toleration or taint.
fn locate(place: FindingPlace, places: &FieldSpans) -> (TextSpan, String) {
    let (at, part) = match place {
        FindingPlace::Whole => return (places.whole, String::new()),
        FindingPlace::Selection => return places.selection.clone(),
        FindingPlace::Field(at) => return places.problems[at].clone(),
        FindingPlace::Toleration(at, part) | FindingPlace::Taint(at, part) => (at, part),
    };
    let item = &places.items[at];
    let path = format!("{}[{}]", places.list, item.index);
    let written =
        |part: TolerationPart| item.fields.iter().find(|(known, _)| *known == part).map(|(_, span)| *span);
    match part {
        TolerationPart::Odd(odd) => (item.odd[odd].1, format!("{path}.{}", item.odd[odd].0)),
        TolerationPart::Whole => (item.whole, path),
        part => (written(part).unwrap_or(item.whole), format!("{path}.{}", name(part))),
    }
}

fn name(part: TolerationPart) -> &'static str {
    match part {
        TolerationPart::Key => "key",
        TolerationPart::Operator => "operator",
        TolerationPart::Value => "value",
        TolerationPart::Effect => "effect",
        TolerationPart::Seconds => "tolerationSeconds",
        TolerationPart::Whole | TolerationPart::Odd(_) => "",
    }
}
