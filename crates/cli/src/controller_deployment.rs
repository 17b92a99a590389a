//! Summarizes a Deployment of Taintward: its replicas, and which controllers it runs in which mode.

use crate::args::controllers;
use crate::args::flag_values::flag_values;
use crate::manifest::YamlNode;

/// A Deployment in Taintward's namespace.
#[derive(Clone, Debug)]
pub(crate) struct DeploymentFacts {
    pub(crate) name: String,
    pub(crate) replicas: i64,
    pub(crate) ready: i64,
    pub(crate) image: String,
    pub(crate) arguments: Vec<String>,
}

impl DeploymentFacts {
    /// The summary of an object, with its name.
    pub(crate) fn of_object(object: &YamlNode) -> Self {
        let name = object.at(&["metadata", "name"]).map_or("", YamlNode::as_text);
        Self::of(name.to_owned(), object)
    }

    /// The summary of an object.
    pub(crate) fn of(name: String, object: &YamlNode) -> Self {
        let number = |path: &[&str], missing| {
            object.at(path).and_then(|at| at.as_text().parse().ok()).unwrap_or(missing)
        };
        let items = |list: Option<&YamlNode>| list.map_or(Vec::new(), |list| list.items().to_vec());
        let containers = items(object.at(&["spec", "template", "spec", "containers"]));
        let container = containers.first();
        let arguments = items(container.and_then(|container| container.get("args")));
        Self {
            name,
            replicas: number(&["spec", "replicas"], 1),
            ready: number(&["status", "readyReplicas"], 0),
            image: container.map_or("", |container| container.text("image")).to_owned(),
            arguments: arguments.iter().map(|argument| argument.as_text().to_owned()).collect(),
        }
    }

    /// Whether it runs Taintward's controllers.
    pub(crate) fn is_controller(&self) -> bool {
        self.arguments.first().is_some_and(|verb| verb == "run")
    }

    /// Whether it is in observe mode.
    pub(crate) fn observes(&self) -> bool {
        flag_values(&self.arguments, "mode").last() == Some(&"observe")
    }

    /// Whether it applies eviction policies.
    pub(crate) fn applies_policies(&self) -> bool {
        let flag = self.arguments.iter().rev().find_map(|one| one.strip_prefix("--eviction-policies"));
        matches!(flag, Some("" | "=true"))
    }

    /// The limit of its brake as it is written; `None`: the brake is off.
    pub(crate) fn brake_limit(&self) -> Option<&str> {
        flag_values(&self.arguments, "brake-limit").last().copied().filter(|limit| *limit != "off")
    }

    /// Whether it runs one of Taintward's controllers in a mode that writes.
    pub(crate) fn carries_out(&self, controller: &str) -> bool {
        let list = flag_values(&self.arguments, "controllers").join(",");
        let list = if list.is_empty() { "*" } else { &list };
        self.is_controller() && !self.observes() && controllers::runs(list, controller)
    }

    /// Whether it evicts pods, of all namespaces or of guarded ones.
    pub(crate) fn evicts(&self) -> bool {
        self.evicts_all() || self.carries_out(controllers::TOLERATION_GUARD)
    }

    /// Whether it evicts all pods, and not only guarded ones.
    pub(crate) fn evicts_all(&self) -> bool {
        self.carries_out(controllers::TAINT_EVICTION)
    }
}
