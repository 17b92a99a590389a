//! Formats the log messages about tainted nodes and zones.
//!
//! - See the core's `node_lifecycle/event_messages.rs` for upstream's messages of events.

use crate::eviction::{length, moment};
use taintward_core::node_lifecycle::{ManagedTaints, TaintCause, TaintRate, ZoneState};
use taintward_core::time::{Now, Span};

/// Why taints were written.
pub(super) fn why(why: TaintCause, now: Now) -> String {
    match why {
        TaintCause::Conditions => "its conditions, or that it is cordoned, call for it".into(),
        TaintCause::Recovered => "it is ready".into(),
        TaintCause::Swap => "its reason for not being ready changed".into(),
        TaintCause::EverythingDown => "all zones are down, so it is not this node".into(),
        TaintCause::NotReady => "it says that it is not ready".into(),
        TaintCause::Silent { since } => format!(
            "not heard of within its grace period, which ended at {} ({} ago)",
            moment(since, now),
            length(now.mono.since(since))
        ),
    }
}

/// Taints as kubectl writes them; empty for none.
pub(super) fn taints(taints: ManagedTaints) -> String {
    let all: Vec<String> = taints.iter().map(|taint| taint.to_string()).collect();
    all.join(",")
}

/// How a zone is.
pub(super) const fn state(state: ZoneState) -> &'static str {
    match state {
        ZoneState::Normal => "normal",
        ZoneState::PartialDisruption => "partly down",
        ZoneState::FullDisruption => "down",
    }
}

/// How fast nodes are tainted.
pub(super) fn rate(rate: TaintRate) -> String {
    let millionths = rate.as_millionths();
    match millionths {
        0 => "none".into(),
        1_000_000.. => format!("{} a second", rate.per_second()),
        _ => {
            let pause = i64::try_from(1_000_000_000_000 / millionths).unwrap_or(i64::MAX);
            format!("one in {}", length(Span::from_micros(pause)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use taintward_core::node_lifecycle::ManagedTaint;
    use taintward_core::time::{Mono, Wall};

    #[test]
    fn reasons_taints_and_rates_in_words() {
        let now = Now::exact(Mono::from_secs(100), Wall::from_secs(1_800_000_000));
        assert_eq!(
            why(TaintCause::Silent { since: Mono::from_secs(90) }, now),
            "not heard of within its grace period, which ended at 2027-01-15T07:59:50Z (10s ago)"
        );
        let both =
            ManagedTaints::NONE.with(ManagedTaint::Unreachable).with(ManagedTaint::UnreachableNoExecute);
        assert_eq!(
            taints(both),
            "node.kubernetes.io/unreachable:NoSchedule,node.kubernetes.io/unreachable:NoExecute"
        );
        assert_eq!(taints(ManagedTaints::NONE), "");
        for (millionths, text) in [
            (0, "none"),
            (10_000, "one in 1m40s"),
            (100_000, "one in 10s"),
            (1_000_000, "1 a second"),
            (2_500_000, "2.5 a second"),
        ] {
            assert_eq!(rate(TaintRate::from_millionths(millionths)), text);
        }
    }
}
