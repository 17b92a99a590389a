//! Alerts about dedicated pools that the API server's policy does not know, or knows in an outdated form.

use super::super::alert::{Alert, Runbook, Severity, max};
use taintward_controller::metrics::names;

pub(super) fn alerts() -> Vec<Alert> {
    vec![not_guarded()]
}

fn not_guarded() -> Alert {
    Alert {
        name: "TaintwardPoolNotGuarded",
        severity: Severity::Warning,
        hold_seconds: 120,
        expr: format!("{} > 0", max(names::POOLS_UNGUARDED)),
        summary: "The PoolGuard does not cover all dedicated pools.",
        description: "{{ $value }} pools have the condition Guarded=False (job {{ $labels.job }} in {{ $labels.namespace }}).",
        runbook: Runbook {
            meaning: "The PoolGuard `taintward` is the copy of all pools by which the API server judges pods. For two minutes, it has had no \
                      room for these pools, does not exist, or the controller cannot write it.",
            impact: "The API server judges pods by these pools themselves, which takes 0.2 ms for each of them and each new pod. If the \
                     PoolGuard does not exist or is outdated, a pod may also name a node that does not exist yet and that becomes one \
                     of a pool.",
            diagnosis: "- `kubectl describe dedicatedpool` shows the condition `Guarded` of each pool, with the reason.\n\
                        - `TooLarge`: all pools and nodes together have more than 1 MiB. `kubectl get dedicatedpool -o json` shows the \
                        largest lists of `spec.users`.\n\
                        - `WriteFailed`: the message and the log have the API server's error.\n\
                        - `NoPoolGuard`: the object or its definition was deleted, or was never installed.",
            action: "`TooLarge`: name groups or a `namespaceSelector` instead of many users, and delete pools that no team needs. \
                     `WriteFailed`: repair the permission or the policy that the message names. `NoPoolGuard`: run `taintward install \
                     --apply` again ([dedicated-nodes.md](../dedicated-nodes.md)).",
            silence: "On an API server before 1.30, which has no such policies.",
        },
    }
}
