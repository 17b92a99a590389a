//! Sets up nodes, pods and taints, and asserts which pods leave and when.

use super::program::Taintward;
pub(crate) use super::witness::AuditExceptions;
use super::witness::Witness;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use std::time::Duration;
use taintward_envtest::fixtures::{self, PodFixture};
use taintward_envtest::{Account, Binaries, Cluster, ClusterConfig, TestApi};
use testkit::wait::{let_time_pass, until};

/// L1 allows one second from the deadline to the DELETE; the rest is for a busy machine.
pub(crate) const LATE_MAX: SignedDuration = SignedDuration::from_millis(1_500);

/// Pods that should stay are watched for this long past the time at which a wrong eviction would have happened.
pub(crate) const BEYOND: SignedDuration = SignedDuration::from_secs(2);

/// How long to wait for a late DELETE, to report how late it was.
const TOO_LATE: SignedDuration = SignedDuration::from_secs(20);

/// A cluster with one running taintward.
pub(crate) struct SharedCluster {
    pub(crate) cluster: Cluster,
    pub(crate) taintward: Taintward,
    pub(crate) witness: Witness,
}

impl SharedCluster {
    /// Starts everything.
    pub(crate) async fn start(tools: &Binaries, options: ClusterConfig) -> Self {
        let cluster = Cluster::start(tools, options).await.unwrap();
        let witness = Witness::from_now(&cluster);
        let taintward = Taintward::acting(&cluster, &[]).await;
        Self { cluster, taintward, witness }
    }

    /// A scenario's view; belongs to the async runtime in which it is created.
    pub(crate) async fn harness(&self) -> ScenarioHarness<'_> {
        ScenarioHarness::of(&self.cluster, &self.witness).await
    }

    /// Checks, after all scenarios, that the process' metrics agree with its log (TE-37, TE-38, D9).
    pub(crate) async fn check(&self) {
        let deletions = self.witness.deletions() as f64;
        assert_eq!(self.taintward.metric("taint_eviction_controller_pod_deletions_total"), deletions);
        let duration = |part: &str| {
            self.taintward.metric(&format!("taint_eviction_controller_pod_deletion_duration_seconds_{part}"))
        };
        assert_eq!(duration("count"), deletions);
        let mean = duration("sum") / deletions;
        assert!((0.000_1..60.0).contains(&mean), "D9: {mean} on average cannot be seconds");
        for zero in [
            "taintward_early_seconds",
            "taintward_unknown_input_total",
            "taintward_other_controller_seen_total",
        ] {
            assert_eq!(self.taintward.metric(zero), 0.0, "{zero}");
        }
        assert_eq!(self.taintward.get("/livez").map(|(status, _)| status), Some(200));
        assert_eq!(self.taintward.get("/readyz").map(|(status, _)| status), Some(200));
    }
}

/// One scenario's view.
pub(crate) struct ScenarioHarness<'s> {
    pub(crate) cluster: &'s Cluster,
    pub(crate) witness: &'s Witness,
    pub(crate) admin: TestApi,
}

/// A pod of a scenario.
#[derive(Clone, Debug)]
pub(crate) struct RealPod {
    pub(crate) name: String,
    pub(crate) uid: String,
}

/// An action, which happened between these two times.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ActionTime {
    pub(crate) after: Timestamp,
    pub(crate) before: Timestamp,
}

/// The expected outcome of a pod.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum PodFate {
    /// It stays.
    Stays,
    /// It leaves this many seconds after the action; not before, and hardly later.
    Goes(f64),
}

pub(crate) use PodFate::{Goes, Stays};

pub(crate) fn seconds(seconds: f64) -> SignedDuration {
    SignedDuration::from_secs_f64(seconds)
}

pub(crate) async fn let_seconds_pass(seconds: f64, reason: &str) {
    let_time_pass(Duration::from_secs_f64(seconds), reason).await;
}

pub(crate) async fn let_time_pass_until(moment: Timestamp, reason: &str) {
    let left = moment.duration_since(Timestamp::now());
    let_time_pass(Duration::try_from(left).unwrap_or_default(), reason).await;
}

/// Lets the controllers observe what a scenario has created.
pub(crate) async fn let_controllers_observe() {
    let_seconds_pass(1.0, "no controller reports that it has observed an object").await;
}

impl ActionTime {
    /// Runs an action, and records when.
    pub(crate) async fn during<E: std::fmt::Debug>(action: impl Future<Output = Result<(), E>>) -> Self {
        let after = Timestamp::now();
        action.await.unwrap();
        Self { after, before: Timestamp::now() }
    }
}

impl<'s> ScenarioHarness<'s> {
    pub(crate) async fn of(cluster: &'s Cluster, witness: &'s Witness) -> Self {
        Self { cluster, witness, admin: cluster.api(Account::Admin).await.unwrap() }
    }

    /// Creates a node.
    pub(crate) async fn create_node(&self, name: &str) {
        fixtures::create_node(&self.admin, name, &[]).await.unwrap();
    }

    /// Creates a pod.
    pub(crate) async fn create_pod(&self, pod: PodFixture) -> RealPod {
        let name = pod.name();
        let uid = pod.create(&self.admin).await.unwrap();
        RealPod { name, uid }
    }

    /// The present pod; `None` if it is gone.
    pub(crate) async fn find(&self, pod: &RealPod) -> Option<Value> {
        let found = fixtures::find_pod(&self.admin, &pod.name).await.unwrap();
        found.filter(|found| found["metadata"]["uid"] == pod.uid.as_str())
    }

    /// Replaces a node's taints, as `kubectl taint` does.
    pub(crate) async fn set_taints(&self, node: &str, taints: &[Value]) -> ActionTime {
        ActionTime::during(fixtures::set_taints(&self.admin, node, taints)).await
    }

    /// Runs kubectl.
    pub(crate) async fn kubectl(&self, arguments: &[&str]) -> ActionTime {
        ActionTime::during(async { self.cluster.kubectl(arguments.iter().copied()).map(drop) }).await
    }

    /// Binds a pod to a node, as a scheduler does.
    pub(crate) async fn bind(&self, pod: &RealPod, node: &str) -> ActionTime {
        let path = format!("/api/v1/namespaces/{}/pods/{}/binding", fixtures::NAMESPACE, pod.name);
        let binding = json!({
            "apiVersion": "v1", "kind": "Binding", "metadata": {"name": pod.name},
            "target": {"apiVersion": "v1", "kind": "Node", "name": node},
        });
        ActionTime::during(async { self.admin.create(&path, &binding).await.map(drop) }).await
    }

    /// Checks that the pod is deleted within this window, and exists until then.
    pub(crate) async fn goes_within(&self, pod: &RealPod, earliest: Timestamp, latest: Timestamp) {
        let left = (latest + TOO_LATE).duration_since(Timestamp::now());
        let what = format!("{} to be deleted, which was due by {latest}", pod.name);
        let deleted = async || Ok(self.witness.deleted(&pod.uid));
        let deleted = until(&what, left.try_into().unwrap_or_default(), deleted).await.unwrap();
        assert!(deleted >= earliest, "{}: deleted at {deleted}, not before {earliest}", pod.name);
        assert!(deleted <= latest, "{}: deleted at {deleted}, not after {latest}", pod.name);
        let found = self.find(pod).await;
        assert!(
            found.is_none_or(|pod| pod["metadata"]["deletionTimestamp"].is_string()),
            "{} lives on",
            pod.name
        );
    }

    /// Checks that the pod leaves this many seconds after the action.
    pub(crate) async fn goes(&self, pod: &RealPod, done: ActionTime, after: f64) {
        let (earliest, latest) = (done.after + seconds(after), done.before + seconds(after) + LATE_MAX);
        self.goes_within(pod, earliest, latest).await;
    }

    /// Checks that the pod exists at this time and that no controller has changed it.
    pub(crate) async fn stays_until(&self, pod: &RealPod, moment: Timestamp) {
        let_time_pass_until(moment, "the pod must exist until then").await;
        let found = self.find(pod).await.unwrap_or_else(|| panic!("{} is gone", pod.name));
        assert!(found["metadata"]["deletionTimestamp"].is_null(), "{} is terminating", pod.name);
        assert_eq!(self.witness.deleted(&pod.uid), None, "{}", pod.name);
        let marked = found["status"]["conditions"].as_array().is_some_and(|conditions| {
            conditions.iter().any(|one| one["type"] == "DisruptionTarget" && one["status"] == "True")
        });
        assert!(!marked, "{} is marked", pod.name);
    }

    /// Checks the outcome of each pod; those that stay are watched until well after `watched` seconds.
    pub(crate) async fn meet(&self, done: ActionTime, fates: &[(RealPod, PodFate)], watched: f64) {
        for (pod, fate) in fates {
            if let Goes(after) = fate {
                self.goes(pod, done, *after).await;
            }
        }
        for (pod, fate) in fates {
            if *fate == Stays {
                self.stays_until(pod, done.before + seconds(watched) + BEYOND).await;
                assert!(self.witness.writes_on_pod(&pod.name).is_empty(), "{} was written", pod.name);
            }
        }
    }
}
