//! Builds the JSON Patch of a response.
//!
//! - Invariant: only `/spec/tolerations`, the required node affinity and the named annotations are touched; replaced
//!   values are tested first, so that unobserved changes are not overwritten.

use serde::Serialize;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::fmt::{self, Display, Write as _};

/// Operations in the order of their execution.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct JsonPatchBuilder {
    /// The operations as JSON, separated by commas.
    operations: String,
}

/// A toleration as written. Empty fields are left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PatchedToleration<'a> {
    /// The taint's key; empty: every key.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub key: &'a str,
    /// `Exists`, `Equal`; empty: `Equal`.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub operator: &'a str,
    /// The taint's value.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub value: &'a str,
    /// The taint's effect; empty: every effect.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub effect: &'a str,
    /// How long a NoExecute taint is tolerated, in seconds; `None`: indefinitely.
    #[serde(rename = "tolerationSeconds", skip_serializing_if = "Option::is_none")]
    pub seconds: Option<i64>,
}

/// A requirement for a node's label.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PatchedRequirement<'a> {
    /// The label's key.
    pub key: &'a str,
    /// `In`, `Exists`.
    pub operator: &'a str,
    /// The label's values.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<&'a str>,
}

/// One `nodeSelectorTerm`: all of its requirements must hold. Empty lists are left out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PatchedTerm<'a> {
    /// Requirements for labels.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub match_expressions: Vec<PatchedRequirement<'a>>,
    /// Requirements for fields.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub match_fields: Vec<PatchedRequirement<'a>>,
}

/// Which parts of a required node affinity a pod has. `null` counts as absent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AffinityShapeOfPod<'a> {
    /// No `affinity`.
    Absent,
    /// An `affinity` without `nodeAffinity`.
    WithoutNodes,
    /// A `nodeAffinity` without `requiredDuringSchedulingIgnoredDuringExecution`.
    WithoutRequired,
    /// All of it, with these `nodeSelectorTerms`, in their order.
    Required(&'a [TermExpressions]),
}

/// The content of one `nodeSelectorTerm`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TermExpressions {
    /// No `matchExpressions`, but `matchFields`. A term with neither matches no node and stays unchanged: with a
    /// requirement added, it would match some.
    Absent,
    /// `matchExpressions`, empty or not.
    Present,
    /// Whatever its content, it stays unchanged.
    Left,
}

impl JsonPatchBuilder {
    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.operations.is_empty()
    }

    /// The operations as a JSON array.
    pub fn to_json(&self) -> String {
        format!("[{}]", self.operations)
    }

    /// Appends tolerations; `have` is the current number, `None` if there is no list (or `null`).
    pub fn add_tolerations(&mut self, have: Option<usize>, more: &[PatchedToleration<'_>]) {
        match have {
            _ if more.is_empty() => {}
            None => self.push("add", &PatchPath::Tolerations, &json(&more)),
            Some(_) => more.iter().for_each(|each| self.push("add", &PatchPath::LastToleration, &json(each))),
        }
    }

    /// Replaces a toleration, with a test that it still is what it `was`.
    pub fn replace_toleration(&mut self, index: usize, was: &RawValue, becomes: &PatchedToleration<'_>) {
        self.push("test", &PatchPath::Toleration(index), was.get());
        self.push("replace", &PatchPath::Toleration(index), &json(becomes));
    }

    /// Replaces all tolerations, with a test that they still are what they `were`.
    pub fn replace_tolerations(&mut self, were: &RawValue, then: &[PatchedToleration<'_>]) {
        self.push("test", &PatchPath::Tolerations, were.get());
        self.push("replace", &PatchPath::Tolerations, &json(&then));
    }

    /// Adds requirements for nodes: every term gets all of `more`, because terms are ORed and requirements within a
    /// term are ANDed.
    pub fn require_nodes(&mut self, have: AffinityShapeOfPod<'_>, more: &[PatchedRequirement<'_>]) {
        if more.is_empty() {
            return;
        }
        let AffinityShapeOfPod::Required(terms) = have else {
            let term = PatchedTerm { match_expressions: more.to_vec(), match_fields: Vec::new() };
            return self.require_terms(have, &[term]);
        };
        for (term, has) in terms.iter().enumerate() {
            match has {
                TermExpressions::Left => {}
                TermExpressions::Absent => self.push("add", &PatchPath::Expressions(term), &json(&more)),
                TermExpressions::Present => {
                    more.iter()
                        .for_each(|each| self.push("add", &PatchPath::LastExpression(term), &json(each)));
                }
            }
        }
    }

    /// Requires nodes of one of these terms, if the pod requires none so far; otherwise does nothing.
    pub fn require_terms(&mut self, have: AffinityShapeOfPod<'_>, terms: &[PatchedTerm<'_>]) {
        if terms.is_empty() {
            return;
        }
        let required = format!(r#"{{"nodeSelectorTerms":{}}}"#, json(&terms));
        let nodes = || format!(r#"{{"requiredDuringSchedulingIgnoredDuringExecution":{required}}}"#);
        match have {
            AffinityShapeOfPod::Absent => {
                self.push("add", &PatchPath::Affinity, &format!(r#"{{"nodeAffinity":{}}}"#, nodes()));
            }
            AffinityShapeOfPod::WithoutNodes => self.push("add", &PatchPath::NodeAffinity, &nodes()),
            AffinityShapeOfPod::WithoutRequired => self.push("add", &PatchPath::Required, &required),
            AffinityShapeOfPod::Required(_) => {}
        }
    }

    /// Replaces all terms, with a test that they still are what they `were`.
    pub fn replace_terms(&mut self, were: &RawValue, then: &[PatchedTerm<'_>]) {
        self.push("test", &PatchPath::Terms, were.get());
        self.push("replace", &PatchPath::Terms, &json(&then));
    }

    /// Writes annotations; `has_annotations`: there are annotations already.
    pub fn annotate(&mut self, has_annotations: bool, annotations: &BTreeMap<&'static str, String>) {
        match has_annotations {
            _ if annotations.is_empty() => {}
            true => annotations
                .iter()
                .for_each(|(name, value)| self.push("add", &PatchPath::Annotation(name), &json(value))),
            false => self.push("add", &PatchPath::Annotations, &json(annotations)),
        }
    }

    fn push(&mut self, operation: &str, path: &PatchPath, value: &str) {
        let comma = if self.is_empty() { "" } else { "," };
        // Writing to a String cannot fail.
        let _ = write!(self.operations, r#"{comma}{{"op":"{operation}","path":"{path}","value":{value}}}"#);
    }
}

impl fmt::Debug for JsonPatchBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_json())
    }
}

/// The paths of patches.
enum PatchPath {
    Annotations,
    Annotation(&'static str),
    Tolerations,
    Toleration(usize),
    LastToleration,
    Affinity,
    NodeAffinity,
    Required,
    Terms,
    Expressions(usize),
    LastExpression(usize),
}

impl Display for PatchPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const REQUIRED: &str = "/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution";
        match self {
            Self::Annotations => f.write_str("/metadata/annotations"),
            Self::Annotation(name) => write!(f, "/metadata/annotations/{}", name.replace('/', "~1")),
            Self::Tolerations => f.write_str("/spec/tolerations"),
            Self::Toleration(index) => write!(f, "/spec/tolerations/{index}"),
            Self::LastToleration => f.write_str("/spec/tolerations/-"),
            Self::Affinity => f.write_str("/spec/affinity"),
            Self::NodeAffinity => f.write_str("/spec/affinity/nodeAffinity"),
            Self::Required => f.write_str(REQUIRED),
            Self::Terms => write!(f, "{REQUIRED}/nodeSelectorTerms"),
            Self::Expressions(term) => write!(f, "{REQUIRED}/nodeSelectorTerms/{term}/matchExpressions"),
            Self::LastExpression(term) => write!(f, "{REQUIRED}/nodeSelectorTerms/{term}/matchExpressions/-"),
        }
    }
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("strings and numbers can be written")
}
