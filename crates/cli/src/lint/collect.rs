//! Collects objects into the facts that the rules take, with names and positions.
//!
//! - Invariant: pods of one workload are reported once, by the workload if it is present.

use super::eviction_policies::CollectedPolicies;
use super::known_kinds;
use super::object::{self, FieldSpans, LintObject, LintObjectKind, ObjectName};
use crate::cluster_state::ReadError;
use crate::manifest::files::{self, ManifestFile};
use crate::manifest::{self, TextPosition, YamlNode};
use crate::progress::Progress;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use taintward_core::lint::{
    LintInput, LintSubject, LintedNode, LintedWorkload, RuntimeScheduling, Severity, WorkloadRules,
};

/// The largest number of tolerations and taints of one file or cluster; aliases can multiply them.
const ENTRIES_MAX: usize = 5_000_000;

/// As how many of them an eviction policy counts: each is compared with all others.
const POLICY_ENTRIES: usize = 1_000;

/// All collected objects.
#[derive(Default)]
pub(crate) struct CollectedObjects {
    pub(crate) facts: LintInput,
    /// Parallel to `facts.workloads`.
    pub(crate) workloads: Vec<CollectedObject>,
    /// Parallel to `facts.nodes`.
    pub(crate) nodes: Vec<CollectedObject>,
    pub(crate) policies: CollectedPolicies,
    /// Parts of files that could not be read.
    pub(crate) unreadable: Vec<ReadError>,
    /// Failed reads of a cluster, and what the report lacks because of them.
    pub(crate) gaps: Vec<String>,
    /// What was not checked, and may not exist.
    pub(crate) unchecked: Vec<String>,
    pub(crate) counts: CollectedCounts,
    /// The number of findings about pods that are not stored.
    pub(crate) counted: BTreeMap<Severity, usize>,
}

/// What is done with findings about pods without an owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PodFindings {
    /// They are reported.
    Reported,
    /// They are counted.
    Counted,
}

/// An object that findings refer to.
pub(crate) struct CollectedObject {
    pub(crate) name: ObjectName,
    /// `None`: from a cluster.
    pub(crate) file: Option<String>,
    pub(crate) places: FieldSpans,
}

/// What was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CollectedCounts {
    pub(crate) files: usize,
    pub(crate) workloads: usize,
    pub(crate) nodes: usize,
    /// Objects with neither pods nor taints.
    pub(crate) other_kinds: usize,
    /// Objects of other kinds in which tolerations or taints were found by their shape.
    pub(crate) by_shape: usize,
    /// Documents that are not Kubernetes objects.
    pub(crate) foreign: usize,
}

/// Objects as they arrive, before it is known which workload represents which pods.
#[derive(Default)]
pub(crate) struct Collector {
    objects: Vec<(Option<String>, LintObject)>,
    policies: CollectedPolicies,
    /// The owners of which an object is stored: only the first of objects that are alike can be reported.
    stored: BTreeSet<ObjectName>,
    /// The names of objects that are not stored; they may own others.
    unstored: BTreeSet<ObjectName>,
    entries: usize,
    other_kinds: usize,
    by_shape: usize,
    foreign: usize,
    /// By name.
    runtime_classes: BTreeMap<Box<str>, RuntimeScheduling>,
    /// Pods without an owner that are not stored.
    pods: usize,
    counted: BTreeMap<Severity, usize>,
    visited: usize,
    progress: Progress,
}

impl Collector {
    /// Adds an object that rules check; `false` if the limit is reached.
    pub(crate) fn put(&mut self, file: Option<&str>, tree: &YamlNode) -> bool {
        self.count();
        self.put_runtime_class(tree);
        if self.policies.put(file, tree) {
            self.entries += POLICY_ENTRIES;
            return self.entries <= ENTRIES_MAX;
        }
        let is_foreign = tree.text("kind").is_empty() || tree.text("apiVersion").is_empty();
        let objects = object::read(tree);
        match objects.iter().any(|object| object.is_known) {
            true => {}
            false if is_foreign => self.foreign += 1,
            false if objects.is_empty() => self.other_kinds += 1,
            false => self.by_shape += 1,
        }
        objects.into_iter().fold(true, |room, object| room & self.put_object(file, object))
    }

    fn count(&mut self) {
        self.visited += 1;
        self.progress.at(self.visited, "objects");
    }

    /// The nodes that were added.
    pub(super) fn nodes(&self) -> Vec<LintedNode> {
        let nodes = self.objects.iter().filter_map(|(_, object)| match &object.what {
            LintObjectKind::Node(node) => Some(node.clone()),
            LintObjectKind::Workload(_) => None,
        });
        nodes.collect()
    }

    /// Adds a pod of a cluster, after all its nodes, RuntimeClasses and owners of pods. A pod without an owner is stored
    /// only for findings that are reported, because it has no other to represent it, and a cluster may have many.
    pub(super) fn put_pod(
        &mut self,
        tree: &YamlNode,
        rules: &WorkloadRules<'_>,
        findings: PodFindings,
    ) -> bool {
        self.count();
        let mut room = true;
        for mut object in object::read(tree) {
            if let (LintObjectKind::Workload(pod), None) = (&mut object.what, &object.owner) {
                merge(&self.runtime_classes, pod);
                let found = rules.check(pod, LintSubject::Workload(0));
                if found.is_empty() || findings == PodFindings::Counted {
                    self.pods += 1;
                    for finding in found {
                        *self.counted.entry(finding.rule.severity()).or_default() += 1;
                    }
                    continue;
                }
            }
            room &= self.put_object(None, object);
        }
        room
    }

    /// Keeps what a RuntimeClass adds to pods.
    pub(super) fn put_runtime_class(&mut self, tree: &YamlNode) {
        if let Some(class) = object::runtime_class(tree) {
            self.runtime_classes.insert(class.class.clone(), class);
        }
    }

    fn put_object(&mut self, file: Option<&str>, object: LintObject) -> bool {
        let makes_alike = |owner: &&ObjectName| known_kinds::makes_alike(&owner.kind);
        let is_workload = matches!(object.what, LintObjectKind::Workload(_));
        if let Some(owner) = object.owner.as_ref().filter(makes_alike).filter(|_| is_workload)
            && !self.stored.insert(owner.clone())
        {
            if object.name.kind != "Pod" {
                self.unstored.insert(object.name);
            }
            return true;
        }
        self.entries += object.places.items.len() + object.places.problems.len();
        let room = self.entries <= ENTRIES_MAX;
        if room {
            self.objects.push((file.map(str::to_owned), object));
        }
        room
    }

    /// The facts without objects that another one represents.
    pub(crate) fn into_gathered(self) -> CollectedObjects {
        let mut gathered = CollectedObjects::default();
        gathered.counts.other_kinds = self.other_kinds;
        gathered.counts.by_shape = self.by_shape;
        gathered.counts.foreign = self.foreign;
        gathered.counts.workloads = self.pods;
        gathered.counted = self.counted;
        gathered.policies = self.policies;
        let mut there = self.unstored;
        there.extend(self.objects.iter().map(|(_, object)| object.name.clone()));
        for (file, object) in self.objects {
            let LintObject { name, owner, what, places, is_known } = object;
            let count = usize::from(is_known);
            let is_workload = matches!(what, LintObjectKind::Workload(_));
            if is_workload && owner.is_some_and(|owner| there.contains(&owner)) {
                continue;
            }
            let subject = CollectedObject { name, file, places };
            match what {
                LintObjectKind::Workload(mut workload) => {
                    merge(&self.runtime_classes, &mut workload);
                    gathered.counts.workloads += count;
                    gathered.facts.daemons_known |= workload.daemon;
                    gathered.facts.workloads.push(workload);
                    gathered.workloads.push(subject);
                }
                LintObjectKind::Node(node) => {
                    gathered.counts.nodes += count;
                    gathered.facts.nodes.push(node);
                    gathered.nodes.push(subject);
                }
            }
        }
        gathered
    }
}

/// Adds what is known about the RuntimeClass of a workload.
fn merge(classes: &BTreeMap<Box<str>, RuntimeScheduling>, workload: &mut LintedWorkload) {
    if let Some(runtime) = &mut workload.runtime
        && let Some(class) = classes.get(&runtime.class)
    {
        runtime.clone_from(class);
    }
}

impl CollectedObjects {
    /// Reads all files of `-f`. Errors are kept, and the rest is read.
    pub(crate) fn from_files(paths: &[PathBuf]) -> Self {
        Self::from_each(|take| files::each(paths, take))
    }

    /// Reads all given files, one after the other.
    pub(super) fn from_each(files: impl FnOnce(&mut dyn FnMut(ManifestFile))) -> Self {
        let mut collector = FileCollector::default();
        files(&mut |file| collector.take(file));
        collector.into_gathered()
    }
}

/// Reads texts one after the other.
#[derive(Default)]
struct FileCollector {
    basket: Collector,
    unreadable: Vec<ReadError>,
    count: usize,
}

impl FileCollector {
    fn take(&mut self, ManifestFile { name, text }: ManifestFile) {
        self.count += 1;
        let text = match text {
            Ok(text) => text,
            Err(why) => {
                let (at, why) = (why.at(), why.to_string());
                return self.unreadable.push(ReadError { file: name, at, why });
            }
        };
        let mut room = true;
        let faults = manifest::each(&text, |tree| room &= self.basket.put(Some(&name), tree));
        let template = text.contains("{{");
        self.unreadable.extend(faults.into_iter().map(|fault| {
            let why = broken(&fault.why, template);
            ReadError { file: name.clone(), at: fault.at, why }
        }));
        if !room {
            let why = format!("has more than {ENTRIES_MAX} tolerations and taints; split the file");
            self.unreadable.push(ReadError { file: name, at: TextPosition::default(), why });
        }
    }

    fn into_gathered(self) -> CollectedObjects {
        let mut gathered = self.basket.into_gathered();
        gathered.unreadable = self.unreadable;
        gathered.counts.files = self.count;
        let CollectedCounts { workloads, nodes, other_kinds, by_shape, foreign, .. } = gathered.counts;
        let count = workloads + nodes + gathered.policies.count() + other_kinds + by_shape;
        // The input may be the output of a program that failed.
        if count == 0 && gathered.unreadable.is_empty() && self.count > 0 {
            gathered.gaps.push(match foreign {
                0 => "the input of -f is empty; check whether the program that wrote it failed".to_owned(),
                _ => "the files contain no Kubernetes object (nothing with an apiVersion and a kind); if they are \
                      values of a Helm chart, run helm template, and lint its output"
                    .to_owned(),
            });
        }
        gathered
    }
}

fn broken(why: &str, template: bool) -> String {
    let line = why.split_whitespace().collect::<Vec<_>>().join(" ");
    let way_out =
        if template { "; if this is a template, lint its output, such as that of helm template" } else { "" };
    format!("broken YAML or JSON: {line}{way_out}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(kind: &str, name: &str, owner: Option<(&str, &str)>) -> YamlNode {
        let owners = owner.map(|(kind, name)| {
            format!(r#","ownerReferences":[{{"controller":true,"kind":"{kind}","name":"{name}"}}]"#)
        });
        let owners = owners.unwrap_or_default();
        let group = if kind == "Pod" { "v1" } else { "apps/v1" };
        let json = format!(
            r#"{{"apiVersion":"{group}","kind":"{kind}","metadata":{{"name":"{name}"{owners}}},"spec":{{}}}}"#
        );
        serde_json::from_str(&json).unwrap()
    }

    #[test]
    fn one_of_the_objects_that_are_alike_is_stored() {
        let mut collector = Collector::default();
        let mut put = |object: &YamlNode| assert!(collector.put(None, object));
        put(&object("Deployment", "web", None));
        for set in ["old", "new"] {
            put(&object("ReplicaSet", set, Some(("Deployment", "web"))));
            (0..100).for_each(|at| put(&object("Pod", &format!("{set}-{at}"), Some(("ReplicaSet", set)))));
        }
        (0..100).for_each(|at| put(&object("Pod", &format!("gone-{at}"), Some(("ReplicaSet", "gone")))));
        (0..3).for_each(|at| put(&object("Pod", &format!("own-{at}"), Some(("Rollout", "own")))));
        assert_eq!(collector.objects.len(), 1 + 1 + 3 + 3);
        let gathered = collector.into_gathered();
        let names: Vec<&str> = gathered.workloads.iter().map(|one| one.name.name.as_str()).collect();
        assert_eq!(names, ["web", "gone-0", "own-0", "own-1", "own-2"]);
    }

    #[test]
    fn a_pod_without_an_owner_is_stored_for_reported_findings_only() {
        let wrong = |name: &str| {
            let mut pod = serde_json::to_value(object("Pod", name, None)).unwrap();
            pod["spec"]["tolerations"] = serde_json::json!([{"key": "a", "operator": "Exist"}]);
            serde_json::from_value::<YamlNode>(pod).unwrap()
        };
        for (findings, names, counted) in
            [(PodFindings::Reported, &["wrong-0", "wrong-1"][..], None), (PodFindings::Counted, &[], Some(2))]
        {
            let (mut collector, facts) = (Collector::default(), LintInput::default());
            let rules = WorkloadRules::new(&facts);
            let mut put = |pod: &YamlNode| assert!(collector.put_pod(pod, &rules, findings));
            (0..100).for_each(|at| put(&object("Pod", &format!("fine-{at}"), None)));
            (0..2).for_each(|at| put(&wrong(&format!("wrong-{at}"))));
            let gathered = collector.into_gathered();
            let stored: Vec<&str> = gathered.workloads.iter().map(|one| one.name.name.as_str()).collect();
            assert_eq!(stored, names);
            assert_eq!(gathered.counts.workloads, 102);
            assert_eq!(gathered.counted.get(&Severity::Error).copied(), counted);
            assert_eq!(taintward_core::lint::lint(&gathered.facts).len(), names.len());
        }
    }
}
