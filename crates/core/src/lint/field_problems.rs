//! Reports fields that are in the wrong place, of the wrong type or repeated (TL113, TL114, TL115, TL212).
//!
//! - The reader of the objects finds them; the words are here.

use super::{FindingPlace, FindingSink, Rule};
use crate::text::{Quoted, distance};
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;

/// A list whose elements are checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LintedList {
    /// `tolerations`
    Tolerations,
    /// `taints`
    Taints,
}

impl LintedList {
    /// Returns the name of the field.
    pub const fn field(self) -> &'static str {
        match self {
            Self::Tolerations => "tolerations",
            Self::Taints => "taints",
        }
    }

    const fn element(self) -> &'static str {
        match self {
            Self::Tolerations => "toleration",
            Self::Taints => "taint",
        }
    }

    /// Returns the list that a field of this name is probably meant to be: `toleration`, `Taints`, `tolerence`.
    pub fn meant_by(field: &str) -> Option<Self> {
        // Almost all fields are sorted out without a comparison of letters.
        if !(4..=16).contains(&field.len()) || !field.starts_with(['t', 'T']) {
            return None;
        }
        if let Some(list) = [Self::Tolerations, Self::Taints].into_iter().find(|list| list.field() == field) {
            return Some(list);
        }
        let plain: String = field
            .chars()
            .filter(char::is_ascii_alphabetic)
            .map(|letter| letter.to_ascii_lowercase())
            .collect();
        let near = |list: Self, most| distance(&plain, list.field(), most).is_some();
        // No field of a pod or a node begins like this.
        if near(Self::Tolerations, 2) || plain.starts_with("toler") {
            Some(Self::Tolerations)
        } else if near(Self::Taints, 1) {
            Some(Self::Taints)
        } else {
            None
        }
    }
}

/// The type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueType {
    /// Fields with values.
    Map,
    /// A list.
    List,
    /// Text.
    Text,
    /// A number.
    Number,
    /// A truth value.
    Truth,
}

impl ValueType {
    const fn words(self) -> &'static str {
        match self {
            Self::Map => "a map",
            Self::List => "a list",
            Self::Text => "text",
            Self::Number => "a number",
            Self::Truth => "a truth value",
        }
    }

    /// The word of an API server's answer.
    const fn in_server_error(self) -> &'static str {
        match self {
            Self::Map => "object",
            Self::List => "array",
            Self::Text => "string",
            Self::Number => "number",
            Self::Truth => "bool",
        }
    }
}

/// A field that an API server drops or rejects, whatever it contains.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FieldProblem {
    /// The same map has the field before.
    Repeated {
        /// Its name.
        field: Box<str>,
        /// The line of the earlier one.
        line: u32,
    },
    /// Tolerations or taints where Kubernetes reads none.
    Misplaced {
        /// The list that the author wanted.
        list: LintedList,
        /// The path of the field.
        found: Box<str>,
        /// The path where Kubernetes reads it; `None`: nowhere in an object of this kind.
        meant: Option<Box<str>>,
    },
    /// The field is not a list.
    NoList {
        /// The list that the author wanted.
        list: LintedList,
        /// What it is.
        actual: ValueType,
        /// Whether the kind is known, and with it the answer of an API server.
        is_known: bool,
    },
    /// An element of the list is not a map.
    NoMap {
        /// The list.
        list: LintedList,
        /// What the element is.
        actual: ValueType,
        /// Whether the kind is known.
        is_known: bool,
    },
    /// A field of an element is a list or a map.
    NoScalar {
        /// Its name.
        field: Box<str>,
        /// What it is.
        actual: ValueType,
    },
    /// An annotation that Kubernetes read in the past.
    DeadAnnotation {
        /// Its name.
        annotation: Box<str>,
        /// What took its place.
        successor: &'static str,
    },
    /// An annotation of Taintward whose value it cannot read.
    UnreadableAnnotation {
        /// Its name.
        annotation: &'static str,
        /// What happens until it is corrected.
        effect: &'static str,
        /// The command that writes it.
        command: &'static str,
    },
}

pub(super) fn check(problems: &[FieldProblem], findings: &mut FindingSink<'_>) {
    for (index, problem) in problems.iter().enumerate() {
        let (rule, reason, fix) = words(problem);
        findings.report(rule, FindingPlace::Field(index), reason, fix);
    }
}

fn words(problem: &FieldProblem) -> (Rule, String, String) {
    match problem {
        FieldProblem::Repeated { field, line } => {
            let reason = format!(
                "{} is repeated: the earlier one, at line {line}, is lost, and no API server reports it",
                Quoted(field)
            );
            (Rule::RepeatedField, reason, String::from("keep only one of the two"))
        }
        FieldProblem::Misplaced { list, found, meant } => misplaced(*list, found, meant.as_deref()),
        FieldProblem::NoList { list, actual, is_known } => {
            let (field, element) = (list.field(), list.element());
            let server_error = match is_known {
                true => format!(
                    "; an API server answers: cannot unmarshal {} into []v1.{}",
                    actual.in_server_error(),
                    type_of(*list)
                ),
                false => String::new(),
            };
            let reason = format!("{field} is {} instead of a list{server_error}", actual.words());
            let fix = match actual {
                ValueType::Map => format!("begin each {element} with \"- \", also if there is only one"),
                _ => format!("write a list with a map for each {element}"),
            };
            (Rule::WrongType, reason, fix)
        }
        FieldProblem::NoMap { list, actual, is_known } => {
            let server_error = match is_known {
                true => format!(
                    "; an API server answers: cannot unmarshal {} into v1.{}",
                    actual.in_server_error(),
                    type_of(*list)
                ),
                false => String::new(),
            };
            let reason =
                format!("this {} is {} instead of a map{server_error}", list.element(), actual.words());
            let fix = match (actual, list) {
                (ValueType::List, _) => String::from("remove one \"- \": the list is inside another list"),
                (_, LintedList::Tolerations) => {
                    String::from("write its fields key, operator, value and effect, each with its value")
                }
                (_, LintedList::Taints) => {
                    String::from("write its fields key, value and effect, each with its value")
                }
            };
            (Rule::WrongType, reason, fix)
        }
        FieldProblem::NoScalar { field, actual } => {
            let wanted = if &**field == "tolerationSeconds" { "a number" } else { "text" };
            let reason = format!(
                "{} is {} instead of {wanted}: an API server rejects it",
                Quoted(field),
                actual.words()
            );
            let fix = match actual {
                ValueType::List => format!("write one element for each {field}"),
                _ => format!("write {wanted}"),
            };
            (Rule::WrongType, reason, fix)
        }
        FieldProblem::DeadAnnotation { annotation, successor } => (
            Rule::DeadAnnotation,
            format!("Kubernetes no longer reads the annotation {annotation}"),
            format!("remove it, and use {successor}"),
        ),
        FieldProblem::UnreadableAnnotation { annotation, effect, command } => (
            Rule::UnreadableAnnotation,
            format!("Taintward cannot read the value of the annotation {annotation}: {effect}"),
            format!("remove it, or let {command} write it"),
        ),
    }
}

const fn type_of(list: LintedList) -> &'static str {
    match list {
        LintedList::Tolerations => "Toleration",
        LintedList::Taints => "Taint",
    }
}

fn misplaced(list: LintedList, found: &str, meant: Option<&str>) -> (Rule, String, String) {
    let reason = format!(
        "Kubernetes ignores {}: strict validation rejects it, otherwise it is dropped",
        Quoted(found)
    );
    let fix = match (meant, list) {
        (Some(meant), _) if parent(meant) == parent(found) => format!("write {}", list.field()),
        (Some(meant), _) => format!("move it to {meant}"),
        (None, LintedList::Tolerations) => {
            String::from("pods have tolerations; a node has taints, in spec.taints")
        }
        (None, LintedList::Taints) => String::from("nodes have taints; a pod has tolerations"),
    };
    (Rule::MisplacedField, reason, fix)
}

fn parent(path: &str) -> &str {
    path.rsplit_once('.').map_or("", |(parent, _)| parent)
}
