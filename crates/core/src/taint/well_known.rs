//! Describes well-known taints to people: meaning, origin, remedy, and what the value says (MATCH-10).
//!
//! - See `vendors.rs` for the taints that are not Kubernetes' own.

use super::vendors::{self, VendorDescription};
use super::{Taint, keys};
use crate::time::{Span, Wall};

/// The description of a taint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WellKnownTaint {
    /// What it means.
    pub what: &'static str,
    /// Which component sets and removes it.
    pub who: &'static str,
    /// What its value says, unless that is obvious.
    pub value: Option<&'static str>,
    /// When it was set, if its value is that time.
    pub set_at: Option<Wall>,
    /// What to do about it.
    then: &'static str,
}

/// What to do about a taint that its component should have removed long ago.
const STALE: &str = "it is stale: the component that sets it removes it within minutes; check that it runs \
                                and may write nodes, or remove the taint";

/// A taint whose value is the time at which it was set is removed within minutes: after this time it is stale.
const STALE_AFTER: Span = Span::from_secs(6 * 3_600);

impl WellKnownTaint {
    /// Returns the description of a taint, if its key is known.
    pub fn of(taint: &Taint) -> Option<Self> {
        let key = &*taint.key;
        if let Some((_, today)) = keys::OLD.iter().find(|(old, _)| *old == key) {
            return Some(Self::of_old(today.is_some(), key));
        }
        let known = TABLE.iter().find(|(known, ..)| *known == key);
        let own = known.map(|&(_, what, who, then)| Self { what, who, then, value: None, set_at: None });
        own.or_else(|| vendors::describe(taint).map(Self::of_vendor))
    }

    /// Whether it should have been removed long ago: its value says when it was set.
    pub fn is_stale(&self, now: Wall) -> bool {
        self.set_at.is_some_and(|at| now.as_micros().saturating_sub(at.as_micros()) > STALE_AFTER.as_micros())
    }

    /// What to do about it.
    pub fn action(&self, now: Wall) -> &'static str {
        if self.is_stale(now) { STALE } else { self.then }
    }

    const fn of_vendor(of: VendorDescription) -> Self {
        let VendorDescription { what, who, then, value, set_at } = of;
        Self { what, who, value, set_at, then }
    }

    fn of_old(has_heir: bool, key: &str) -> Self {
        if key.ends_with("/master") {
            return Self {
                what: "the node runs the control plane (a key of old releases)",
                who: "kubeadm, up to release 1.24; node-role.kubernetes.io/control-plane replaces it",
                then: "rename it, and look for tolerations of the old name",
                value: None,
                set_at: None,
            };
        }
        let who = "no current component: an old release, or a person by hand; no controller removes it";
        Self {
            what: match has_heir {
                true => {
                    "a state of the node (a key of old releases); the same name under node.kubernetes.io, in \
                         lower case with hyphens, replaces it"
                }
                false => {
                    "the node was out of disk, in the terms of old releases; it has no successor, \
                     node.kubernetes.io/disk-pressure is the closest"
                }
            },
            who,
            then: "remove it",
            value: None,
            set_at: None,
        }
    }
}

const NODE_HEALTH: &str =
    "the node lifecycle controller, from the node's conditions; it removes the taint when they recover";
const KUBELET_REPORTS: &str =
    "the node lifecycle controller; it removes the taint when the kubelet no longer reports the pressure";
const PRESSURE: &str =
    "free resources on the node, or move pods away; the kubelet evicts pods by itself under more pressure";

/// Key, what it means, which component sets it, what to do.
const TABLE: [(&str, &str, &str, &str); 11] = [
    (
        keys::NOT_READY,
        "the kubelet reports that its node is not ready (condition Ready is False)",
        NODE_HEALTH,
        "kubectl describe node says why; pods tolerate it for 300 s by default",
    ),
    (
        keys::UNREACHABLE,
        "the kubelet has stopped reporting (condition Ready is Unknown)",
        NODE_HEALTH,
        "check the machine and its network; deleted pods disappear only when the kubelet reports again or \
         the node is deleted",
    ),
    (
        keys::UNSCHEDULABLE,
        "the node is cordoned (spec.unschedulable)",
        "the node lifecycle controller, after a user or a program cordoned the node",
        "kubectl uncordon, when the node may be used again",
    ),
    (keys::MEMORY_PRESSURE, "the node is short of memory", KUBELET_REPORTS, PRESSURE),
    (keys::DISK_PRESSURE, "the node is short of disk", KUBELET_REPORTS, PRESSURE),
    (keys::PID_PRESSURE, "the node is short of process ids", KUBELET_REPORTS, PRESSURE),
    (
        keys::NETWORK_UNAVAILABLE,
        "the node's network is not set up (condition NetworkUnavailable)",
        "the node lifecycle controller, by a condition that a cloud or network plugin reports",
        "look at the network plugin's pod on the node",
    ),
    (
        keys::OUT_OF_SERVICE,
        "the node is shut down: while it is not ready, Kubernetes force-deletes its terminating pods and detaches \
         their volumes",
        "a person who has checked that the node is shut down",
        "remove it when the node is back; never add it to a node that may be running",
    ),
    (
        keys::UNINITIALIZED,
        "the node is new, and the cloud controller manager has not initialized it yet",
        "the kubelet at registration, if it runs with an external cloud provider; the cloud controller \
         manager removes it",
        "if it stays: look at the cloud controller manager",
    ),
    (
        keys::SHUTDOWN,
        "the cloud reports that the machine is shut down",
        "the cloud controller manager, which removes it when the machine runs again",
        "start the machine, or delete the node",
    ),
    (
        keys::CONTROL_PLANE,
        "the node runs the control plane",
        "the installer of the cluster, such as kubeadm",
        "nothing; remove it only if ordinary pods may run alongside the control plane",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::taint::TaintEffect;

    fn describe(key: &str) -> Option<WellKnownTaint> {
        let effect = TaintEffect::NoSchedule;
        WellKnownTaint::of(&Taint { key: key.into(), value: "".into(), effect, time_added: None })
    }

    #[test]
    fn match_10_every_well_known_taint_has_a_meaning_and_no_two_the_same_key() {
        for key in keys::ALL.into_iter().chain(keys::OLD.map(|(old, _)| old)) {
            let WellKnownTaint { what, who, then, .. } = describe(key).expect(key);
            assert!(!what.is_empty() && !who.is_empty() && !then.is_empty(), "{key}");
        }
        for (at, (key, ..)) in TABLE.iter().enumerate() {
            assert!(TABLE[..at].iter().all(|(other, ..)| other != key), "{key}");
        }
        assert_eq!(describe("dedicated"), None);
        assert_eq!(describe(""), None);
    }

    #[test]
    fn match_10_old_names_are_reported_as_old() {
        for (key, today) in keys::OLD {
            let words = describe(key).expect(key).what;
            assert!(words.contains("old releases"), "{key}: {words}");
            assert_eq!(words.contains("it has no successor"), today.is_none(), "{key}: {words}");
        }
    }
}
