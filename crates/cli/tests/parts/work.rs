//! Runs a round of everyday work: workloads are scaled, rolled, evicted, cordoned, tainted and deleted.

use super::check::{PartsCheck, is_ready, name_of, node_of, uids, until};
use super::place::Place;
use futures::future::join_all;
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use taintward_envtest::api::PatchType;
use taintward_envtest::{TestApiError, fixtures};

const WEB: usize = 6;
const CART: usize = 3;

/// The number of web pods that the budget keeps.
const KEPT: usize = 4;

/// How long a cart pod tolerates the taint.
const BORNE: Duration = Duration::from_secs(2);

/// The responses to eviction requests.
#[derive(Debug, Default)]
pub(crate) struct WorkResponses {
    pub(crate) granted: usize,
    pub(crate) rejected: usize,
}

/// Runs one round in its own namespace, with nodes in turn.
pub(crate) async fn round(place: &Place, number: usize, responses: &mut WorkResponses) {
    let namespace = format!("round-{number}");
    let check = PartsCheck { api: &place.api, namespace: &namespace };
    furnish(&check, place.nodes.len()).await;
    scale_and_roll(&check, place.nodes.len()).await;
    evict(&check, responses).await;
    cordon(&check, &place.nodes[number % place.nodes.len()]).await;
    evict_by_taint(&check).await;
    take_down(&check).await;
}

fn template(app: &str, tolerations: Value) -> Value {
    json!({
        "metadata": {"labels": {"app": app}},
        "spec": {
            "terminationGracePeriodSeconds": 1, "tolerations": tolerations,
            "containers": [{
                "name": "main", "image": "registry.invalid/main", "resources": {"requests": {"cpu": "100m"}},
            }],
        },
    })
}

/// A workload named like its pods' label.
fn workload(kind: &str, app: &str, tolerations: Value) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": kind, "metadata": {"name": app},
        "spec": {"selector": {"matchLabels": {"app": app}}, "template": template(app, tolerations)},
    })
}

fn budget(app: &str, spec: (&str, usize)) -> Value {
    json!({
        "apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": app},
        "spec": {"selector": {"matchLabels": {"app": app}}, spec.0: spec.1},
    })
}

async fn furnish(check: &PartsCheck<'_>, nodes: usize) {
    let api = check.api;
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": check.namespace}});
    api.create("/api/v1/namespaces", &namespace).await.unwrap();
    until("the default service account", async || api.find(&check.core("serviceaccounts", "default")).await)
        .await;
    let seconds = BORNE.as_secs();
    let borne =
        json!([{"key": "drill", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": seconds}]);
    for (app, replicas, tolerations) in [("web", WEB, json!([])), ("cart", CART, borne)] {
        let mut deployment = workload("Deployment", app, tolerations);
        deployment["spec"]["replicas"] = json!(replicas);
        api.create(&check.apps("deployments", ""), &deployment).await.unwrap();
    }
    let agent = workload("DaemonSet", "agent", json!([{"operator": "Exists"}]));
    api.create(&check.apps("daemonsets", ""), &agent).await.unwrap();
    for budget in [budget("web", ("maxUnavailable", 0)), budget("cart", ("maxUnavailable", 1))] {
        api.create(&check.budget(""), &budget).await.unwrap();
    }
    check.available("web", WEB).await;
    check.available("cart", CART).await;
    check.everywhere("agent", nodes).await;
    check.allowed("web", 0).await;
    check.allowed("cart", 1).await;
}

async fn change(check: &PartsCheck<'_>, path: &str, patch: Value) {
    check.api.patch(path, PatchType::Merge, &patch.to_string()).await.unwrap();
}

async fn scale(check: &PartsCheck<'_>, name: &str, replicas: usize) {
    change(check, &check.apps("deployments", name), json!({"spec": {"replicas": replicas}})).await;
    check.available(name, replicas).await;
}

/// After a rollout every pod is a new one.
async fn scale_and_roll(check: &PartsCheck<'_>, nodes: usize) {
    let first = uids(&check.pods("web").await.unwrap());
    scale(check, "web", WEB + 3).await;
    assert!(
        uids(&check.pods("web").await.unwrap()).is_superset(&first),
        "there are more of them, and none left"
    );
    scale(check, "web", WEB).await;
    for (plural, app) in [("deployments", "web"), ("daemonsets", "agent")] {
        let before = uids(&check.pods(app).await.unwrap());
        let annotations = json!({"spec": {"template": {"metadata": {"annotations": {"roll": "1"}}}}});
        change(check, &check.apps(plural, app), annotations).await;
        match app {
            "web" => check.available(app, WEB).await,
            _ => check.everywhere(app, nodes).await,
        }
        let after = uids(&check.pods(app).await.unwrap());
        assert!(after.is_disjoint(&before), "{app}: a pod of the old template is still there");
    }
    let sets = check.api.get(&check.apps("replicasets", "")).await.unwrap();
    let of_web = |set: &&Value| set["metadata"]["ownerReferences"][0]["name"] == "web";
    assert_eq!(sets["items"].as_array().unwrap().iter().filter(of_web).count(), 2, "the old and the new");
}

/// Requests an eviction. Returns whether it was granted; the only valid rejection is the budget's.
async fn request(check: &PartsCheck<'_>, pod: &Value) -> bool {
    let name = name_of(pod);
    let eviction = json!({
        "apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": check.namespace},
    });
    match check.api.create(&check.core("pods", &format!("{name}/eviction")), &eviction).await {
        Ok(_) => true,
        Err(TestApiError::Rejected { code: 429, .. }) => false,
        Err(error) => panic!("evicting {name}: {error}"),
    }
}

/// A budget that allows no disruption keeps all pods; one that keeps four keeps four, however many evictions are
/// requested at the same time.
async fn evict(check: &PartsCheck<'_>, responses: &mut WorkResponses) {
    let pods = check.pods("web").await.unwrap();
    let requested = join_all(pods.iter().map(|pod| request(check, pod))).await;
    assert!(!requested.contains(&true), "the budget allows no eviction");
    assert_eq!(uids(&check.pods("web").await.unwrap()), uids(&pods));
    responses.rejected += requested.len();

    let four = json!({"spec": {"maxUnavailable": null, "minAvailable": KEPT}});
    change(check, &check.budget("web"), four).await;
    check.allowed("web", u64::try_from(WEB - KEPT).unwrap()).await;
    let requested = join_all(pods.iter().map(|pod| request(check, pod))).await;
    let granted = requested.iter().filter(|granted| **granted).count();
    assert!(granted > 0, "the budget allows some evictions");
    responses.granted += granted;
    responses.rejected += requested.len() - granted;
    until("those that were evicted to be replaced", async || {
        let pods = check.pods("web").await?;
        let ready = pods.iter().filter(|pod| is_ready(pod)).count();
        assert!(ready >= KEPT, "{ready} are left of {KEPT}");
        Ok((ready == WEB).then_some(()))
    })
    .await;
    check.available("web", WEB).await;
    let left = uids(&pods).intersection(&uids(&check.pods("web").await.unwrap())).count();
    assert_eq!(left, WEB - granted, "only the pods whose eviction was granted are gone");
}

async fn has_taint(check: &PartsCheck<'_>, node: &str, key: &str) -> Result<bool, TestApiError> {
    let node = check.api.get(&format!("/api/v1/nodes/{node}")).await?;
    Ok(node["spec"]["taints"].as_array().into_iter().flatten().any(|taint| taint["key"] == key))
}

/// No pod is scheduled to a cordoned node, and none leaves it.
async fn cordon(check: &PartsCheck<'_>, node: &str) {
    let mark = "node.kubernetes.io/unschedulable";
    let path = format!("/api/v1/nodes/{node}");
    change(check, &path, json!({"spec": {"unschedulable": true}})).await;
    until("the taint of a cordoned node", async || Ok(has_taint(check, node, mark).await?.then_some(())))
        .await;
    let before = uids(&check.pods_on("web", node).await.unwrap());
    scale(check, "web", WEB * 2).await;
    assert_eq!(uids(&check.pods_on("web", node).await.unwrap()), before);
    change(check, &path, json!({"spec": {"unschedulable": null}})).await;
    until("the taint to be gone", async || Ok((!has_taint(check, node, mark).await?).then_some(()))).await;
    scale(check, "web", WEB * 3).await;
    let after = uids(&check.pods_on("web", node).await.unwrap());
    assert!(after.len() > before.len(), "the emptiest node is used again");
    scale(check, "web", WEB).await;
}

/// A pod that does not tolerate the taint leaves and is recreated elsewhere; one that tolerates it for a while leaves
/// after that; one that tolerates it stays.
async fn evict_by_taint(check: &PartsCheck<'_>) {
    let node = node_of(&check.pods("cart").await.unwrap()[0]).to_owned();
    let agent = uids(&check.pods_on("agent", &node).await.unwrap());
    let cart = uids(&check.pods_on("cart", &node).await.unwrap());
    let began = Instant::now();
    // A pod that tolerates NoExecute for a while would otherwise be rescheduled there.
    let keep_out = json!({"key": "drill", "value": "on", "effect": "NoSchedule"});
    let taints = [fixtures::no_execute("drill", "on"), keep_out];
    fixtures::set_taints(check.api, &node, &taints).await.unwrap();
    until("web to leave", async || Ok(check.pods_on("web", &node).await?.is_empty().then_some(()))).await;
    until("cart to leave", async || {
        let left = uids(&check.pods_on("cart", &node).await?);
        assert!(left == cart || began.elapsed() >= BORNE, "cart left after {:?}", began.elapsed());
        Ok(left.is_empty().then_some(()))
    })
    .await;
    check.available("web", WEB).await;
    check.available("cart", CART).await;
    let left = check.pods_on("", &node).await.unwrap();
    assert_eq!(uids(&left), agent, "only the agent, and the same one");
    fixtures::set_taints(check.api, &node, &[]).await.unwrap();
    scale(check, "web", WEB * 3).await;
    assert!(!check.pods_on("web", &node).await.unwrap().is_empty(), "the emptiest node is used again");
    assert_eq!(uids(&check.pods_on("agent", &node).await.unwrap()), agent);
}

async fn delete(check: &PartsCheck<'_>, path: &str, propagation: &str) {
    check.api.delete(path, &json!({"propagationPolicy": propagation})).await.unwrap();
}

/// Objects without owners are deleted, orphans that are kept stay, and a namespace is deleted with everything in it.
async fn take_down(check: &PartsCheck<'_>) {
    let agent = uids(&check.pods("agent").await.unwrap());
    delete(check, &check.apps("daemonsets", "agent"), "Orphan").await;
    delete(check, &check.apps("deployments", "cart"), "Foreground").await;
    let cart = check.apps("deployments", "cart");
    until("cart to be gone", async || Ok(check.api.find(&cart).await?.is_none().then_some(()))).await;
    assert!(check.pods("cart").await.unwrap().is_empty(), "its dependents are deleted first");
    delete(check, &check.apps("deployments", "web"), "Background").await;
    until("the pods of web to be gone", async || Ok(check.pods("web").await?.is_empty().then_some(()))).await;
    let path = check.apps("daemonsets", "agent");
    until("agent to be gone", async || Ok(check.api.find(&path).await?.is_none().then_some(()))).await;
    let orphans = check.pods("agent").await.unwrap();
    assert_eq!(uids(&orphans), agent);
    let freed = |pod: &Value| pod["metadata"]["ownerReferences"].as_array().is_none_or(Vec::is_empty);
    assert!(orphans.iter().all(freed), "they have no owner");
    let path = format!("/api/v1/namespaces/{}", check.namespace);
    check.api.delete(&path, &json!({})).await.unwrap();
    until("the namespace to be gone", async || Ok(check.api.find(&path).await?.is_none().then_some(())))
        .await;
    assert!(check.pods("").await.unwrap().is_empty(), "no pod is left in it");
}
