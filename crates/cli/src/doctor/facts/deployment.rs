//! Summarizes a Deployment of Taintward: its replicas, and which controllers it runs in which mode.

use super::{containers, strings};
use crate::args::controllers;
use crate::doctor::controllers_flag::flag_values;
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
    /// The summary of an object.
    pub(super) fn of(name: String, object: &YamlNode) -> Self {
        let number = |path: &[&str], missing| {
            object.at(path).and_then(|at| at.as_text().parse().ok()).unwrap_or(missing)
        };
        let container = containers(object.at(&["spec", "template", "spec"])).next();
        Self {
            name,
            replicas: number(&["spec", "replicas"], 1),
            ready: number(&["status", "readyReplicas"], 0),
            image: container.map_or("", |container| container.text("image")).to_owned(),
            arguments: container.map(|container| strings(container.get("args"))).unwrap_or_default(),
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

    /// Whether it runs one of Taintward's controllers in a mode that writes.
    pub(crate) fn carries_out(&self, controller: &str) -> bool {
        let list = flag_values(&self.arguments, "controllers").join(",");
        let list = if list.is_empty() { "*" } else { &list };
        self.is_controller() && !self.observes() && controllers::runs(list, controller)
    }

    /// Whether it evicts pods, of all namespaces or of guarded ones.
    pub(crate) fn evicts(&self) -> bool {
        self.carries_out(controllers::TAINT_EVICTION) || self.carries_out(controllers::TOLERATION_GUARD)
    }
}
