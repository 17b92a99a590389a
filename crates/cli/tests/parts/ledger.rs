//! Counts created and deleted pods, with a watch.

use futures::TryStreamExt as _;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use taintward_envtest::TestApi;

/// Pods, each counted once.
#[derive(Debug, Default)]
pub(crate) struct LedgerCounts {
    pub(crate) created: usize,
    pub(crate) gone: usize,
    /// Evicted because of a NoExecute taint.
    pub(crate) by_taint: usize,
    /// Evicted on request.
    pub(crate) by_request: usize,
}

impl LedgerCounts {
    /// The number of present pods.
    pub(crate) fn there(&self) -> usize {
        self.created - self.gone
    }
}

#[derive(Default)]
struct LedgerPod {
    gone: bool,
    reason: Option<String>,
}

pub(crate) struct Ledger {
    pods: Arc<Mutex<BTreeMap<String, LedgerPod>>>,
    watching: tokio::task::JoinHandle<()>,
}

impl Ledger {
    pub(crate) async fn open(api: &TestApi) -> Self {
        let list = api.get("/api/v1/pods").await.unwrap();
        let since = list["metadata"]["resourceVersion"].as_str().unwrap();
        let mut lines = api.watch(&format!("/api/v1/pods?watch=1&resourceVersion={since}")).await.unwrap();
        let pods = Arc::<Mutex<BTreeMap<String, LedgerPod>>>::default();
        let kept = Arc::clone(&pods);
        let watching = tokio::spawn(async move {
            while let Some(line) = lines.try_next().await.unwrap() {
                let event: Value = serde_json::from_str(&line).unwrap();
                note(&mut kept.lock().unwrap(), &event);
            }
        });
        Self { pods, watching }
    }

    pub(crate) fn counts(&self) -> LedgerCounts {
        assert!(!self.watching.is_finished(), "the watch has ended: pods were missed");
        let pods = self.pods.lock().unwrap();
        let count = |wanted: &dyn Fn(&LedgerPod) -> bool| pods.values().filter(|pod| wanted(pod)).count();
        let because = |why: &str| count(&|pod: &LedgerPod| pod.reason.as_deref() == Some(why) && pod.gone);
        LedgerCounts {
            created: pods.len(),
            gone: count(&|pod| pod.gone),
            by_taint: because("DeletionByTaintManager"),
            by_request: because("EvictionByEvictionAPI"),
        }
    }
}

impl Drop for Ledger {
    fn drop(&mut self) {
        self.watching.abort();
    }
}

fn note(pods: &mut BTreeMap<String, LedgerPod>, event: &Value) {
    let object = &event["object"];
    let uid = object["metadata"]["uid"].as_str().unwrap_or_else(|| panic!("not of a pod: {event}"));
    let pod = pods.entry(uid.to_owned()).or_default();
    pod.gone |= event["type"] == "DELETED";
    let mut conditions = object["status"]["conditions"].as_array().into_iter().flatten();
    if let Some(target) = conditions.find(|one| one["type"] == "DisruptionTarget" && one["status"] == "True")
    {
        pod.reason = target["reason"].as_str().map(String::from);
    }
}
