//! Parses `--controllers` as kube-controller-manager does.
//!
//! - Invariant: the first entry that names a controller decides; `*` means the others (TE-1), except controllers that are
//!   off by default.

/// The names of this program's controllers.
pub(crate) const KNOWN: [&str; 6] =
    [TAINT_EVICTION, NODE_LIFECYCLE, DEDICATED_POOLS, TOLERATION_HOLD, TOLERATION_BACKFILL, TOLERATION_GUARD];
/// Evicts pods that do not tolerate a NoExecute taint (TE-1).
pub(crate) const TAINT_EVICTION: &str = "taint-eviction-controller";
/// Taints nodes for their conditions and their silence (NL-1). Must be named: by default, kube-controller-manager's own
/// controller runs, and two controllers would write the same taints.
pub(crate) const NODE_LIFECYCLE: &str = "node-lifecycle-controller";
/// Maintains taints and labels on the nodes of dedicated pools. Must be named: it writes to nodes, and its custom resources
/// must be defined first.
pub(crate) const DEDICATED_POOLS: &str = "dedicated-pool-controller";
/// Holds countdowns of kube-controller-manager's own taint eviction. Must be named: it writes to pods, and is for
/// clusters where that eviction stays on.
pub(crate) const TOLERATION_HOLD: &str = "toleration-hold-controller";
/// Gives running pods the tolerationSeconds that new pods get. Must be named: it writes to pods.
pub(crate) const TOLERATION_BACKFILL: &str = "toleration-backfill-controller";
/// Gives pods of guarded namespaces a ceiling and evicts them by their own seconds. Must be named: it is for clusters
/// where kube-controller-manager's own taint eviction stays on.
pub(crate) const TOLERATION_GUARD: &str = "toleration-guard-controller";

/// Why taint eviction and the guard cannot run together.
pub(crate) const TWO_EVICTIONS: &str = "--controllers names both taint-eviction-controller (or '*') and \
 toleration-guard-controller: the first evicts all pods, the second only pods with a ceiling; omit one of \
 them";

/// Its name in releases before 1.28 (NL-1).
const ALIAS: &str = "nodelifecycle";

/// One entry of the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ControllerEntry {
    /// `*`: all controllers that are not named and are on by default.
    Rest,
    /// `name`.
    On(&'static str),
    /// `-name`.
    Off(&'static str),
}

/// The name of an unknown controller.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown controller; expected '*', or a name (with '-' in front to switch it off) out of: {}", KNOWN.join(", "))]
pub(crate) struct UnknownController;

/// Parses one entry.
pub(crate) fn parse(text: &str) -> Result<ControllerEntry, UnknownController> {
    let known = |name: &str| {
        let name = if name == ALIAS { NODE_LIFECYCLE } else { name };
        KNOWN.into_iter().find(|known| *known == name).ok_or(UnknownController)
    };
    match text.strip_prefix('-') {
        None if text == "*" => Ok(ControllerEntry::Rest),
        None => known(text).map(ControllerEntry::On),
        Some(name) => known(name).map(ControllerEntry::Off),
    }
}

/// Whether the list enables `name`.
pub(crate) fn is_on(list: &[ControllerEntry], name: &str) -> bool {
    let named = list.iter().find_map(|entry| match entry {
        ControllerEntry::On(on) if *on == name => Some(true),
        ControllerEntry::Off(off) if *off == name => Some(false),
        _ => None,
    });
    named.unwrap_or_else(|| name == TAINT_EVICTION && list.contains(&ControllerEntry::Rest))
}

/// Whether a value of the flag enables `name`; unknown entries are ignored.
pub(crate) fn runs(list: &str, name: &str) -> bool {
    let entries: Vec<ControllerEntry> = list.split(',').filter_map(|entry| parse(entry).ok()).collect();
    is_on(&entries, name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_has_upstreams_meaning() {
        let rows = [
            ("*", true),
            ("taint-eviction-controller", true),
            ("-taint-eviction-controller", false),
            ("*,-taint-eviction-controller", false),
            ("-taint-eviction-controller,*", false),
            ("taint-eviction-controller,-taint-eviction-controller", true),
            ("-taint-eviction-controller,taint-eviction-controller", false),
        ];
        for (list, expected) in rows {
            let entries: Vec<ControllerEntry> = list.split(',').map(|entry| parse(entry).unwrap()).collect();
            assert_eq!(is_on(&entries, TAINT_EVICTION), expected, "{list}");
        }
        assert!(!is_on(&[], TAINT_EVICTION));
    }

    #[test]
    fn node_lifecycle_runs_only_if_it_is_named() {
        let rows = [
            ("*", false),
            ("node-lifecycle-controller", true),
            ("*,node-lifecycle-controller", true),
            ("taint-eviction-controller,node-lifecycle-controller", true),
            ("*,-node-lifecycle-controller", false),
            ("taint-eviction-controller", false),
            ("nodelifecycle", true),
            ("-nodelifecycle,node-lifecycle-controller", false),
        ];
        for (list, expected) in rows {
            let entries: Vec<ControllerEntry> = list.split(',').map(|entry| parse(entry).unwrap()).collect();
            assert_eq!(is_on(&entries, NODE_LIFECYCLE), expected, "{list}");
        }
    }

    #[test]
    fn dedicated_pools_are_kept_only_if_they_are_named() {
        let rows = [
            ("*", false),
            ("dedicated-pool-controller", true),
            ("*,dedicated-pool-controller", true),
            ("-dedicated-pool-controller,*", false),
            ("node-lifecycle-controller", false),
        ];
        for (list, expected) in rows {
            let entries: Vec<ControllerEntry> = list.split(',').map(|entry| parse(entry).unwrap()).collect();
            assert_eq!(is_on(&entries, DEDICATED_POOLS), expected, "{list}");
        }
    }

    #[test]
    fn countdowns_are_held_only_if_that_is_named() {
        for (list, expected) in
            [("*", false), ("toleration-hold-controller", true), ("*,-toleration-hold-controller", false)]
        {
            let entries: Vec<ControllerEntry> = list.split(',').map(|entry| parse(entry).unwrap()).collect();
            assert_eq!(is_on(&entries, TOLERATION_HOLD), expected, "{list}");
            assert_eq!(is_on(&entries, TAINT_EVICTION), list.starts_with('*'), "{list}");
        }
    }

    #[test]
    fn running_pods_are_backfilled_only_if_that_is_named() {
        for (list, expected) in
            [("*", false), ("toleration-backfill-controller", true), ("toleration-hold-controller", false)]
        {
            let entries: Vec<ControllerEntry> = list.split(',').map(|entry| parse(entry).unwrap()).collect();
            assert_eq!(is_on(&entries, TOLERATION_BACKFILL), expected, "{list}");
        }
    }

    #[test]
    fn an_unknown_name_gets_the_list_of_known_ones() {
        for text in ["", "-", "**", "node-lifecycle", "-node-ipam-controller", "-*"] {
            let error = parse(text).unwrap_err().to_string();
            assert!(
                error.contains(
                    "out of: taint-eviction-controller, node-lifecycle-controller, dedicated-pool-controller"
                ),
                "{text}: {error}"
            );
        }
    }
}
