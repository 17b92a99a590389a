//! # Files: a cluster's state from what `-f` names
//! Room:     which objects count; which files are the cluster and which say how nodes would be; objects told twice.
//! Comes in: files, folders, standard input.
//! Goes out: a [`Survey`]; for `plan`, the files sorted ([`sort`]).
//! Keeps:    what cannot be read is a gap with its place, and the rest is read.
//! Not here: opening files and YAML (`manifest`); what an object says (`taintward_client::snapshot`).

use super::near::Closeups;
use super::objects::{self, Kind, Object};
use super::{Gap, Survey, lost, moment};
use crate::manifest::files::{Found, each};
use crate::manifest::{self, Mark};
use crate::progress::Progress;
use jiff::Timestamp;
use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::path::PathBuf;
use taintward_client::snapshot;
use taintward_core::matching::NumericOperators;
use taintward_core::snapshot::Builder;

/// Objects that are read, in one set of files; an alias can stand for many.
const OBJECTS_MOST: usize = 5_000_000;

/// The namespace of objects that name none.
const DEFAULT_NAMESPACE: &str = "default";

pub(super) fn survey(paths: &[PathBuf], as_of: Option<Timestamp>, numeric: NumericOperators) -> Survey {
    survey_closely(paths, as_of, numeric, Closeups::default()).0
}

/// The same, with a closer look at some objects.
pub(super) fn survey_closely(
    paths: &[PathBuf],
    as_of: Option<Timestamp>,
    numeric: NumericOperators,
    closeups: Closeups,
) -> (Survey, Closeups) {
    let mut texts = Texts { closeups, ..Texts::new(as_of, numeric) };
    each(paths, &mut |found| texts.take(found));
    let from = match paths {
        [one] if one.as_os_str() == "-" => manifest::files::STDIN.to_owned(),
        paths => paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", "),
    };
    let closeups = std::mem::take(&mut texts.closeups);
    (texts.finish(from), closeups)
}

/// Texts as they come.
pub(super) struct Texts {
    builder: Builder,
    gaps: Vec<Gap>,
    objects: usize,
    closeups: Closeups,
    progress: Progress,
    /// Kinds that were not looked at.
    others: BTreeSet<String>,
}

impl Texts {
    pub(super) fn new(as_of: Option<Timestamp>, numeric: NumericOperators) -> Self {
        let builder = Builder::new(moment(as_of), numeric, true);
        let (gaps, closeups, others) = (Vec::new(), Closeups::default(), BTreeSet::new());
        Self { builder, gaps, objects: 0, closeups, progress: Progress::default(), others }
    }

    pub(super) fn take(&mut self, Found { name, text }: Found) {
        let text = match text {
            Ok(text) => text,
            Err(why) => {
                let (at, why) = (why.at(), why.to_string());
                return self.gaps.push(Gap { file: name, at, why });
            }
        };
        let faults = objects::each(&text, &mut |object| self.put(&name, &text, &object));
        self.gaps.extend(faults.into_iter().map(|fault| {
            let why = fault.why.split_whitespace().collect::<Vec<_>>().join(" ");
            let why = format!("broken YAML or JSON: {why}");
            Gap { file: name.clone(), at: fault.at, why }
        }));
    }

    fn put(&mut self, file: &str, text: &str, object: &Object<'_>) {
        self.objects += 1;
        self.progress.at(self.objects, "objects");
        let Some(kind) = object.kind else {
            self.others.insert(object.word.to_string());
            return;
        };
        let why = match self.objects.cmp(&OBJECTS_MOST) {
            Ordering::Less => match self.read(kind, object) {
                Ok(()) => return,
                Err(why) => format!("{} {}: {why}; it is left out", object.word, object.name()),
            },
            Ordering::Equal => "there are more objects than are looked at; give fewer files".to_owned(),
            Ordering::Greater => return,
        };
        self.gaps.push(Gap { file: file.to_owned(), at: object.at(text), why });
    }

    fn read(&mut self, kind: Kind, object: &Object<'_>) -> Result<(), String> {
        let json = object.json()?;
        let another = match kind {
            Kind::Node => {
                self.closeups.node(&json);
                self.builder.node(snapshot::node(&json)?)
            }
            Kind::Pod => {
                self.closeups.pod(&json, DEFAULT_NAMESPACE);
                snapshot::pod(&json, DEFAULT_NAMESPACE, &mut self.builder)?
            }
            Kind::Event => {
                self.closeups.event(&json);
                false
            }
            Kind::Budget => {
                self.builder.budget(snapshot::budget(&json, DEFAULT_NAMESPACE)?);
                false
            }
        };
        if another {
            return Err("it was told before with another uid: are these files of two clusters?".to_owned());
        }
        Ok(())
    }

    pub(super) fn finish(self, from: String) -> Survey {
        let snapshot = self.builder.finish();
        let mut gaps = self.gaps;
        gaps.extend(lost(snapshot.lost()));
        if snapshot.pods().is_empty() && !self.others.is_empty() {
            let kinds: Vec<String> = self.others.into_iter().filter(|kind| !kind.is_empty()).collect();
            let why = format!("has no pods, but {}; pods are what is asked about", kinds.join(", "));
            gaps.push(Gap { file: from.clone(), at: Mark::default(), why });
        }
        Survey { snapshot, from, gaps }
    }
}

/// What a file that `-f` names is taken for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Given {
    /// The cluster's state.
    pub(crate) state: Vec<PathBuf>,
    /// How nodes would be.
    pub(crate) changes: Vec<PathBuf>,
}

/// Sorts what `plan -f` names. A file with nothing but nodes says how nodes would be, if the state comes from elsewhere:
/// from another file that has nodes too, or from a cluster because no file has pods.
pub(crate) fn sort(paths: Vec<PathBuf>) -> Given {
    let looked: Vec<(PathBuf, Content)> = paths
        .into_iter()
        .map(|path| {
            let content = content(&path);
            (path, content)
        })
        .collect();
    let state_elsewhere = match looked.iter().any(|(_, content)| content.others) {
        true => looked.iter().any(|(_, content)| content.others && content.nodes),
        false => true,
    };
    let mut given = Given { state: Vec::new(), changes: Vec::new() };
    for (path, content) in looked {
        let is_change = content.nodes && !content.others && state_elsewhere;
        if is_change { given.changes.push(path) } else { given.state.push(path) }
    }
    given
}

/// What there is in a file, or in a folder.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Content {
    pub(super) nodes: bool,
    pub(super) others: bool,
}

/// Standard input can be read only once, and is the cluster's state.
fn content(path: &PathBuf) -> Content {
    if path.as_os_str() == "-" {
        return Content { nodes: true, others: true };
    }
    let mut content = Content::default();
    each(std::slice::from_ref(path), &mut |found| match found.text {
        Ok(text) => {
            let Content { nodes, others } = content_of(&text);
            content.nodes |= nodes;
            content.others |= others;
        }
        Err(_) => content.others = true,
    });
    content
}

/// What there is in a text; what is broken is something else.
pub(super) fn content_of(text: &str) -> Content {
    let mut content = Content::default();
    let faults = objects::each(text, &mut |object| match object.kind {
        Some(Kind::Node) => content.nodes = true,
        _ => content.others = true,
    });
    content.others |= !faults.is_empty();
    content
}
