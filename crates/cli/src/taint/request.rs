//! Separates nodes from taints among the arguments (KT-2), validates them before a request is sent (KT-3 to KT-6), and
//! resolves the nodes.

use super::taint_args::{TaintArgs, TaintOutputFormat};
use std::fmt;
use taintward_core::taint::TaintEffect;
use taintward_core::taint_edit::{GrammarError, TaintEdit, is_change, parse};
use taintward_core::text::harmless;
use taintward_kube::api::RequestBudget;
use taintward_kube::api::RequestError;
use taintward_kube::api::paged_list::{ListRequest, pages};
use taintward_kube::wire::{MetaJson, ObjectJson, object_from_slice};

/// The nodes and the edit.
#[derive(Debug, PartialEq)]
pub(super) struct TaintRequest {
    change: TaintEdit,
    targets: NodeTargets,
}

/// Which nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
enum NodeTargets {
    /// Nodes by name.
    Named(Vec<String>),
    /// Nodes with these labels; all if empty.
    Labelled(String),
}

/// Why the arguments are invalid.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum TaintUsageError {
    #[error("all resources must be specified before taint changes: {}", harmless(.0))]
    TooLate(String),
    #[error("one or more resources must be specified as <resource> <name>")]
    NoResource,
    #[error("at least one taint update is required")]
    NoTaint,
    #[error("{}{HINT}", MarkedArgument(.argument, .error))]
    Grammar { argument: String, error: GrammarError },
    #[error("invalid resource type {}, only node types are supported", harmless(.0))]
    Type(String),
    #[error(
        "--list prints a table only; omit -o, or use kubectl get nodes -o json, which prints the taints in the API's form"
    )]
    ListForm,
    #[error("{}", MarkedArgument(.argument, .error))]
    Contradiction { argument: String, error: GrammarError },
    #[error("setting 'all' parameter with a non empty selector is prohibited")]
    AllAndSelector,
    #[error("at least one resource name must be specified since 'all' parameter is not set")]
    NoName,
    #[error("arguments in resource/name form may not have more than one slash")]
    Slashes,
    #[error("arguments in resource/name form must have a single resource and name")]
    HalfAName,
    #[error("--list shows taints and changes none; omit {}, or --list", harmless(.0))]
    ListAndChange(String),
    #[error("--expired removes only taints whose --for has passed; omit {}, or --expired", harmless(.0))]
    ExpiredAndChange(String),
    #[error("--for and --reason describe added taints, and this command adds none; omit them")]
    NoteAboutNothing,
    #[error("--respect-budgets is about evictions; add a taint with the effect NoExecute, or omit it")]
    RespectAboutNothing,
}

const HINT: &str = "\nSee 'taintward taint -h' for help and examples";

/// The indentation of an argument with a marked error.
const INDENT: &str = "    ";

/// A short explanation, the argument with a mark below the wrong character, and kubectl's message.
struct MarkedArgument<'m>(&'m str, &'m GrammarError);

/// Longer arguments get no mark.
const MARKED_MAX: usize = 200;

impl fmt::Display for MarkedArgument<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(argument, error) = self;
        // One column for each character: control characters are shown as harmless ones.
        let before = harmless(&argument[..error.at]).chars().count();
        f.write_str(error.hint())?;
        match argument.len() > MARKED_MAX {
            true => write!(f, ", at character {}", before + 1)?,
            false => write!(f, "\n{INDENT}{}\n{INDENT}{:before$}^", harmless(argument), "")?,
        }
        write!(f, "\n{INDENT}kubectl: {}", harmless(&error.to_string()))
    }
}

/// Whether a word is a node type, as kubectl's `node`, `nodes`, `no`; a version may follow (KT-4).
fn is_node_type(word: &str) -> bool {
    let word = word.to_lowercase();
    matches!(word.split('.').next(), Some("node" | "nodes" | "no"))
}

impl TaintRequest {
    pub(super) fn read(options: &TaintArgs) -> Result<Self, TaintUsageError> {
        let (resources, taints) = split(&options.arguments)?;
        let Some((kind, names)) = resources.split_first() else { return Err(TaintUsageError::NoResource) };
        match taints.first() {
            Some(first) if options.list => return Err(TaintUsageError::ListAndChange((*first).to_owned())),
            Some(first) if options.expired => {
                return Err(TaintUsageError::ExpiredAndChange((*first).to_owned()));
            }
            None if !options.list && !options.expired => return Err(TaintUsageError::NoTaint),
            None if options.list
                && !matches!(options.output, TaintOutputFormat::Text | TaintOutputFormat::Name) =>
            {
                return Err(TaintUsageError::ListForm);
            }
            _ => {}
        }
        let change = parse(&taints).map_err(|error| (taints[error.argument].to_owned(), error));
        if let Err((argument, error)) = &change
            && !error.is_contradiction()
        {
            return Err(TaintUsageError::Grammar { argument: argument.clone(), error: error.clone() });
        }
        if !is_node_type(kind) {
            return Err(TaintUsageError::Type(kind.to_lowercase()));
        }
        let change =
            change.map_err(|(argument, error)| TaintUsageError::Contradiction { argument, error })?;
        if change.add.is_empty() && (options.lasts.is_some() || options.reason.is_some()) {
            return Err(TaintUsageError::NoteAboutNothing);
        }
        if options.respect_budgets && !change.add.iter().any(|taint| taint.effect == TaintEffect::NoExecute) {
            return Err(TaintUsageError::RespectAboutNothing);
        }
        Ok(Self { change, targets: targets(options, names)? })
    }

    /// The edit of each node.
    pub(super) const fn change(&self) -> &TaintEdit {
        &self.change
    }

    /// The names of the nodes.
    pub(super) async fn names(
        &self,
        client: &kube::Client,
        limit: RequestBudget,
    ) -> Result<Vec<String>, RequestError> {
        match &self.targets {
            NodeTargets::Named(names) => Ok(names.clone()),
            NodeTargets::Labelled(selector) => labelled(client, selector, limit).await,
        }
    }
}

/// Splits the arguments into resources and taints (KT-2).
fn split(arguments: &[String]) -> Result<(Vec<&str>, Vec<&str>), TaintUsageError> {
    let first = arguments.iter().position(|argument| is_change(argument)).unwrap_or(arguments.len());
    let (resources, taints) = arguments.split_at(first);
    match taints.iter().find(|argument| !is_change(argument)) {
        Some(late) => Err(TaintUsageError::TooLate(late.clone())),
        None => {
            Ok((resources.iter().map(String::as_str).collect(), taints.iter().map(String::as_str).collect()))
        }
    }
}

/// KT-6. With `--all` or a selector, names are ignored, as by kubectl.
fn targets(options: &TaintArgs, names: &[&str]) -> Result<NodeTargets, TaintUsageError> {
    let selector = options.cluster.selector();
    match (options.all, selector.is_empty()) {
        (true, false) => Err(TaintUsageError::AllAndSelector),
        (true, true) => Ok(NodeTargets::Labelled(String::new())),
        (false, false) => Ok(NodeTargets::Labelled(selector.to_owned())),
        // Listing changes nothing, so it includes all nodes by default, as kubectl get does.
        (false, true) if names.is_empty() && options.list => Ok(NodeTargets::Labelled(String::new())),
        (false, true) if names.is_empty() => Err(TaintUsageError::NoName),
        (false, true) => named(names),
    }
}

/// `n1`, or `node/n1`, which kubectl accepts, too.
fn named(typed: &[&str]) -> Result<NodeTargets, TaintUsageError> {
    let names = typed.iter().map(|name| match name.split('/').collect::<Vec<_>>().as_slice() {
        [name] => Ok((*name).to_owned()),
        ["", _] | [_, ""] => Err(TaintUsageError::HalfAName),
        [kind, name] if is_node_type(kind) => Ok((*name).to_owned()),
        [kind, _] => Err(TaintUsageError::Type(kind.to_lowercase())),
        _ => Err(TaintUsageError::Slashes),
    });
    names.collect::<Result<_, _>>().map(NodeTargets::Named)
}

/// The names of nodes with these labels.
async fn labelled(
    client: &kube::Client,
    selector: &str,
    limit: RequestBudget,
) -> Result<Vec<String>, RequestError> {
    let mut names = Vec::new();
    let listing = ListRequest { group: "", plural: "nodes", namespace: "", selector, fields: "" };
    let add = &mut |item: &[u8]| {
        let item: ObjectJson<MetaJson<'_>> = object_from_slice(item)?;
        names.push(item.metadata.name.to_string());
        Ok(())
    };
    pages(client, listing, limit, add).await?;
    Ok(names)
}
