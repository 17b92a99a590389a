//! Reads the leases of Taintward and kube-controller-manager to report whether a controller that evicts pods is
//! running.
//!
//! - Invariant: the report contains only what leases show, not the controllers that a kube-controller-manager runs, or a
//!   Taintward without leader election.

use crate::cluster_state::ClusterReader;
use serde_json::{Value, json};
use taintward_core::time::{Mono, Span, Wall};
use taintward_kube::api::{RequestBudget, paged_list};
use taintward_kube::clock::NAMED_LATE_MAX;
pub(crate) use taintward_kube::lease_holder::LeaseHolder;

/// The default namespace of both leases.
const NAMESPACE: &str = "kube-system";
const OURS: &str = "taintward";
/// The namespace of Taintward's lease after `taintward install`.
const INSTALLED: &str = "taintward-system";
const UPSTREAMS: &str = "kube-controller-manager";

/// The controllers that may be evicting pods.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ActiveControllers {
    pub(crate) ours: LeaseHolder,
    /// The namespace in which Taintward's lease was found, or searched first.
    pub(crate) place: &'static str,
    pub(crate) upstreams: LeaseHolder,
}

/// A countdown that a controller did not see begin, because it became the leader afterwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RestartedCountdown {
    /// Since when it is the leader.
    pub(crate) leader_since: Mono,
    /// When kube-controller-manager is expected to evict the pod, or Taintward at the latest.
    pub(crate) expected_at: Mono,
}

const fn word(lease: &LeaseHolder) -> &'static str {
    match lease {
        LeaseHolder::Held { .. } => "Held",
        LeaseHolder::Stale(_) => "Stale",
        LeaseHolder::Free => "NoHolder",
        LeaseHolder::Absent => "NotFound",
        LeaseHolder::Unread(_) => "Unknown",
    }
}

/// The rank of a state: a lower one contains more information.
const fn rank(lease: &LeaseHolder) -> u8 {
    match lease {
        LeaseHolder::Held { .. } => 0,
        LeaseHolder::Stale(_) => 1,
        LeaseHolder::Free => 2,
        LeaseHolder::Unread(_) => 3,
        LeaseHolder::Absent => 4,
    }
}

fn described(lease: &LeaseHolder, place: &str, name: &str) -> String {
    match lease {
        LeaseHolder::Held { holder, .. } => format!("lease {place}/{name} is held by {holder}"),
        LeaseHolder::Stale(age) => format!("lease {place}/{name} was not renewed for {age}s"),
        LeaseHolder::Free => format!("lease {place}/{name} has no holder"),
        LeaseHolder::Absent => format!("lease {place}/{name} does not exist"),
        LeaseHolder::Unread(why) => format!("lease {place}/{name} could not be read ({why})"),
    }
}

impl ActiveControllers {
    pub(crate) async fn of(reader: &ClusterReader<'_>, now: Wall) -> Self {
        Self::read(&reader.connected.client, reader.cluster.server.timeout, now).await
    }

    /// Reads the leases.
    pub(crate) async fn read(client: &kube::Client, limit: RequestBudget, now: Wall) -> Self {
        let lease = async |namespace, name| lease(client, limit, (namespace, name), now).await;
        let (by_default, upstreams, installed) =
            tokio::join!(lease(NAMESPACE, OURS), lease(NAMESPACE, UPSTREAMS), lease(INSTALLED, OURS));
        Self::among(by_default, installed, upstreams)
    }

    /// Chooses the namespace whose lease has the most information about Taintward.
    fn among(by_default: LeaseHolder, installed: LeaseHolder, upstreams: LeaseHolder) -> Self {
        let (place, ours) = match rank(&installed) < rank(&by_default) {
            true => (INSTALLED, installed),
            false => (NAMESPACE, by_default),
        };
        Self { ours, place, upstreams }
    }

    /// The namespace of Taintward, or of `taintward install` if no Taintward holds a lease.
    pub(crate) const fn namespace(&self) -> &'static str {
        match self.ours {
            LeaseHolder::Held { .. } => self.place,
            _ => INSTALLED,
        }
    }

    /// Taintward's lease, in a clause.
    pub(crate) fn described(&self) -> String {
        described(&self.ours, self.place, OURS)
    }

    /// The word for the state of Taintward's lease.
    pub(crate) const fn word(&self) -> &'static str {
        word(&self.ours)
    }

    /// The remark for the user; `None` if a Taintward holds its lease.
    pub(crate) fn remark(&self) -> Option<String> {
        let Self { ours, place, upstreams } = self;
        let both =
            format!("{}, {}", described(ours, place, OURS), described(upstreams, NAMESPACE, UPSTREAMS));
        match (ours, upstreams) {
            (LeaseHolder::Held { .. }, _) => None,
            (LeaseHolder::Unread(_), _) | (_, LeaseHolder::Unread(_)) => {
                Some(format!("it is unknown whether a taint eviction controller runs: {both}"))
            }
            (_, LeaseHolder::Held { .. }) => Some(
                "no Taintward holds a lease; kube-controller-manager evicts, unless its taint-eviction-controller is off"
                    .to_owned(),
            ),
            _ => Some(format!(
                "no taint eviction controller was found: {both}. This check does not find a Taintward without leader \
                 election or with another lease, or a control plane that hides its lease"
            )),
        }
    }

    /// When kube-controller-manager evicts a pod whose countdown it does not remember: it became the leader afterwards,
    /// and counts from then. `None`: it remembers, or Taintward evicts, which does not forget.
    pub(crate) fn restarted(
        &self,
        countdown_started_at: Mono,
        evicted_at: Mono,
    ) -> Option<RestartedCountdown> {
        let may_be_ours = matches!(self.ours, LeaseHolder::Held { .. } | LeaseHolder::Unread(_));
        let (false, Some(leader_since)) = (may_be_ours, leads_since(&self.upstreams)) else { return None };
        let length = evicted_at.since(countdown_started_at);
        (leader_since > countdown_started_at && length > Span::ZERO)
            .then(|| RestartedCountdown { leader_since, expected_at: leader_since.plus(length) })
    }

    /// By when Taintward evicts a pod whose countdown it read from objects, which name whole seconds of other clocks: it
    /// became the leader after the second in which the countdown began. `None`: it may have seen it begin, or is
    /// not the leader.
    pub(crate) fn read_late(
        &self,
        countdown_started_at: Mono,
        evicted_at: Mono,
    ) -> Option<RestartedCountdown> {
        let leader_since = leads_since(&self.ours)?;
        (leader_since >= countdown_started_at.plus(Span::from_secs(1)) && evicted_at > countdown_started_at)
            .then(|| RestartedCountdown { leader_since, expected_at: evicted_at.plus(NAMED_LATE_MAX) })
    }

    pub(crate) fn object(&self) -> Value {
        json!({
            "taintward": word(&self.ours),
            "kubeControllerManager": word(&self.upstreams),
            "message": self.remark(),
        })
    }
}

fn leads_since(lease: &LeaseHolder) -> Option<Mono> {
    let LeaseHolder::Held { since: Some(since), .. } = lease else { return None };
    Some(Mono::from_micros(since.as_micros()))
}

async fn lease(
    client: &kube::Client,
    limit: RequestBudget,
    (namespace, name): (&str, &str),
    now: Wall,
) -> LeaseHolder {
    match paged_list::object(client, ("coordination.k8s.io", "leases"), namespace, name, limit).await {
        Ok(Some(json)) => LeaseHolder::of(&json, now),
        Ok(None) => LeaseHolder::Absent,
        Err(why) => LeaseHolder::Unread(why.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn upstream_counts_from_its_start_where_taintward_does_not_run() {
        let at = |seconds: i64| Mono::from_secs(1_800_000_000 + seconds);
        let upstream = |since: i64| LeaseHolder::Held {
            holder: "a".into(),
            since: Some(Wall::from_secs(1_800_000_000 + since)),
        };
        let restarted = |ours, since, started, due| {
            let active = ActiveControllers { ours, place: NAMESPACE, upstreams: upstream(since) };
            active.restarted(at(started), at(due)).map(|countdown| countdown.expected_at)
        };
        assert_eq!(restarted(LeaseHolder::Absent, 50, 10, 100), Some(at(140)));
        assert_eq!(restarted(LeaseHolder::Absent, 5, 10, 100), None, "it saw the countdown begin");
        assert_eq!(restarted(LeaseHolder::Absent, 50, 10, 10), None, "nothing is tolerated");
        assert_eq!(restarted(upstream(0), 50, 10, 100), None, "Taintward counts from the taint");
        let unread = LeaseHolder::Unread("no".into());
        assert_eq!(restarted(unread, 50, 10, 100), None, "it may be Taintward that evicts");
    }

    #[test]
    fn taintward_may_be_late_where_it_did_not_see_the_countdown_begin() {
        let at = |seconds: i64| Mono::from_secs(1_800_000_000 + seconds);
        let latest = |since: Option<i64>, started, due| {
            let since = since.map(|since| Wall::from_secs(1_800_000_000 + since));
            let ours = LeaseHolder::Held { holder: "a".into(), since };
            let active = ActiveControllers { ours, place: NAMESPACE, upstreams: LeaseHolder::Absent };
            active.read_late(at(started), at(due)).map(|countdown| countdown.expected_at)
        };
        assert_eq!(latest(Some(50), 10, 100), Some(at(104)));
        assert_eq!(latest(Some(11), 10, 100), Some(at(104)), "the second was over");
        assert_eq!(latest(Some(10), 10, 100), None, "it may have seen the countdown begin in this second");
        assert_eq!(latest(Some(5), 10, 100), None, "it saw the countdown begin");
        assert_eq!(latest(Some(50), 10, 10), None, "nothing is tolerated");
        assert_eq!(latest(None, 10, 100), None, "the lease does not say since when");
    }

    #[test]
    fn remarks_contain_only_what_leases_show() {
        let held = || LeaseHolder::Held { holder: "a".into(), since: None };
        let remark = |ours, upstreams| {
            ActiveControllers { ours, place: NAMESPACE, upstreams }.remark().unwrap_or_default()
        };
        assert_eq!(remark(held(), LeaseHolder::Absent), "");
        assert!(remark(LeaseHolder::Absent, held()).contains("kube-controller-manager evicts, unless"));
        assert!(
            remark(LeaseHolder::Absent, LeaseHolder::Stale(99))
                .starts_with("no taint eviction controller was found: lease ")
        );
        for (ours, upstreams) in [
            (LeaseHolder::Unread("no".into()), LeaseHolder::Absent),
            (LeaseHolder::Unread("no".into()), held()),
            (LeaseHolder::Free, LeaseHolder::Unread("no".into())),
        ] {
            assert!(
                remark(ours, upstreams).starts_with("it is unknown whether a taint eviction controller runs")
            );
        }
    }

    #[test]
    fn an_installation_has_its_lease_in_its_own_namespace() {
        let held = || LeaseHolder::Held { holder: "a".into(), since: None };
        for (by_default, installed, wanted) in [
            (LeaseHolder::Absent, held(), None),
            (LeaseHolder::Stale(70), held(), None),
            (held(), LeaseHolder::Stale(70), None),
            (
                LeaseHolder::Absent,
                LeaseHolder::Stale(70),
                Some("lease taintward-system/taintward was not renewed for 70s"),
            ),
            (LeaseHolder::Free, LeaseHolder::Absent, Some("lease kube-system/taintward has no holder")),
            (LeaseHolder::Absent, LeaseHolder::Absent, Some("lease kube-system/taintward does not exist")),
            (
                LeaseHolder::Absent,
                LeaseHolder::Unread("no".into()),
                Some("taintward-system/taintward could not be read"),
            ),
        ] {
            let found = ActiveControllers::among(by_default, installed, LeaseHolder::Absent);
            let remark = found.remark();
            assert_eq!(remark.is_some(), wanted.is_some(), "{found:?}");
            assert!(remark.unwrap_or_default().contains(wanted.unwrap_or_default()), "{found:?}");
        }
    }
}
