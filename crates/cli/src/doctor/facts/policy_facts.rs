//! Summarizes eviction policies: which exist, and what their status says.

use super::NamedCount;
use crate::manifest::YamlNode;

/// Eviction policies.
#[derive(Debug, Default)]
pub(crate) struct PolicyTotals {
    /// All of them.
    pub(crate) all: NamedCount,
    /// Those that are not ready.
    pub(crate) invalid: NamedCount,
    /// Those under which pods wait for something that only a person can change.
    pub(crate) blocked: NamedCount,
    /// Those without conditions: no controller has reported on them.
    pub(crate) unreported: NamedCount,
    /// Whether the cluster has no definition of them.
    pub(crate) is_undefined: bool,
}

impl PolicyTotals {
    pub(super) fn add(&mut self, name: &str, policy: &YamlNode) {
        let conditions = policy.at(&["status", "conditions"]).map_or(&[][..], YamlNode::items);
        let has = |kind: &str, status: &str| {
            conditions.iter().any(|one| one.text("type") == kind && one.text("status") == status)
        };
        self.all.add(name);
        if conditions.is_empty() {
            self.unreported.add(name);
        }
        if has("Ready", "False") {
            self.invalid.add(name);
        } else if has("Blocked", "True") {
            self.blocked.add(name);
        }
    }
}
