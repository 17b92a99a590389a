//! Runs a round of everyday work: workloads are scaled, rolled, evicted, cordoned, tainted and deleted.

use super::look::{Look, is_ready, name_of, node_of, uids, until};
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
pub(crate) struct Answers {
    pub(crate) granted: usize,
    pub(crate) rejected: usize,
}

/// Runs one round in its own namespace, with nodes in turn.
pub(crate) async fn round(place: &Place, number: usize, responses: &mut Answers) {
    let namespace = format!("round-{number}");
    let look = Look { api: &place.api, namespace: &namespace };
    furnish(&look, place.nodes.len()).await;
    scale_and_roll(&look, place.nodes.len()).await;
    evict(&look, responses).await;
    cordon(&look, &place.nodes[number % place.nodes.len()]).await;
    taint(&look).await;
    take_down(&look).await;
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

async fn furnish(look: &Look<'_>, nodes: usize) {
    let api = look.api;
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": look.namespace}});
    api.create("/api/v1/namespaces", &namespace).await.unwrap();
    until("the default service account", async || api.find(&look.core("serviceaccounts", "default")).await)
        .await;
    let seconds = BORNE.as_secs();
    let borne =
        json!([{"key": "drill", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": seconds}]);
    for (app, replicas, tolerations) in [("web", WEB, json!([])), ("cart", CART, borne)] {
        let mut deployment = workload("Deployment", app, tolerations);
        deployment["spec"]["replicas"] = json!(replicas);
        api.create(&look.apps("deployments", ""), &deployment).await.unwrap();
    }
    let agent = workload("DaemonSet", "agent", json!([{"operator": "Exists"}]));
    api.create(&look.apps("daemonsets", ""), &agent).await.unwrap();
    for budget in [budget("web", ("maxUnavailable", 0)), budget("cart", ("maxUnavailable", 1))] {
        api.create(&look.budget(""), &budget).await.unwrap();
    }
    look.available("web", WEB).await;
    look.available("cart", CART).await;
    look.everywhere("agent", nodes).await;
    look.allowed("web", 0).await;
    look.allowed("cart", 1).await;
}

async fn change(look: &Look<'_>, path: &str, patch: Value) {
    look.api.patch(path, PatchType::Merge, &patch.to_string()).await.unwrap();
}

async fn scale(look: &Look<'_>, name: &str, replicas: usize) {
    change(look, &look.apps("deployments", name), json!({"spec": {"replicas": replicas}})).await;
    look.available(name, replicas).await;
}

/// After a rollout every pod is a new one.
async fn scale_and_roll(look: &Look<'_>, nodes: usize) {
    let first = uids(&look.pods("web").await.unwrap());
    scale(look, "web", WEB + 3).await;
    assert!(
        uids(&look.pods("web").await.unwrap()).is_superset(&first),
        "there are more of them, and none left"
    );
    scale(look, "web", WEB).await;
    for (plural, app) in [("deployments", "web"), ("daemonsets", "agent")] {
        let before = uids(&look.pods(app).await.unwrap());
        let annotations = json!({"spec": {"template": {"metadata": {"annotations": {"roll": "1"}}}}});
        change(look, &look.apps(plural, app), annotations).await;
        match app {
            "web" => look.available(app, WEB).await,
            _ => look.everywhere(app, nodes).await,
        }
        let after = uids(&look.pods(app).await.unwrap());
        assert!(after.is_disjoint(&before), "{app}: a pod of the old template is still there");
    }
    let sets = look.api.get(&look.apps("replicasets", "")).await.unwrap();
    let of_web = |set: &&Value| set["metadata"]["ownerReferences"][0]["name"] == "web";
    assert_eq!(sets["items"].as_array().unwrap().iter().filter(of_web).count(), 2, "the old and the new");
}

/// Requests an eviction. Returns whether it was granted; the only valid rejection is the budget's.
async fn request(look: &Look<'_>, pod: &Value) -> bool {
    let name = name_of(pod);
    let eviction = json!({
        "apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": look.namespace},
    });
    match look.api.create(&look.core("pods", &format!("{name}/eviction")), &eviction).await {
        Ok(_) => true,
        Err(TestApiError::Rejected { code: 429, .. }) => false,
        Err(error) => panic!("evicting {name}: {error}"),
    }
}

/// A budget that allows no disruption keeps all pods; one that keeps four keeps four, however many evictions are
/// requested at the same time.
async fn evict(look: &Look<'_>, responses: &mut Answers) {
    let pods = look.pods("web").await.unwrap();
    let requested = join_all(pods.iter().map(|pod| request(look, pod))).await;
    assert!(!requested.contains(&true), "the budget allows no eviction");
    assert_eq!(uids(&look.pods("web").await.unwrap()), uids(&pods));
    responses.rejected += requested.len();

    let four = json!({"spec": {"maxUnavailable": null, "minAvailable": KEPT}});
    change(look, &look.budget("web"), four).await;
    look.allowed("web", u64::try_from(WEB - KEPT).unwrap()).await;
    let requested = join_all(pods.iter().map(|pod| request(look, pod))).await;
    let granted = requested.iter().filter(|granted| **granted).count();
    assert!(granted > 0, "the budget allows some evictions");
    responses.granted += granted;
    responses.rejected += requested.len() - granted;
    until("those that were evicted to be replaced", async || {
        let pods = look.pods("web").await?;
        let ready = pods.iter().filter(|pod| is_ready(pod)).count();
        assert!(ready >= KEPT, "{ready} are left of {KEPT}");
        Ok((ready == WEB).then_some(()))
    })
    .await;
    look.available("web", WEB).await;
    let left = uids(&pods).intersection(&uids(&look.pods("web").await.unwrap())).count();
    assert_eq!(left, WEB - granted, "only the pods whose eviction was granted are gone");
}

async fn has_taint(look: &Look<'_>, node: &str, key: &str) -> Result<bool, TestApiError> {
    let node = look.api.get(&format!("/api/v1/nodes/{node}")).await?;
    Ok(node["spec"]["taints"].as_array().into_iter().flatten().any(|taint| taint["key"] == key))
}

/// No pod is scheduled to a cordoned node, and none leaves it.
async fn cordon(look: &Look<'_>, node: &str) {
    let mark = "node.kubernetes.io/unschedulable";
    let path = format!("/api/v1/nodes/{node}");
    change(look, &path, json!({"spec": {"unschedulable": true}})).await;
    until("the taint of a cordoned node", async || Ok(has_taint(look, node, mark).await?.then_some(())))
        .await;
    let before = uids(&look.pods_on("web", node).await.unwrap());
    scale(look, "web", WEB * 2).await;
    assert_eq!(uids(&look.pods_on("web", node).await.unwrap()), before);
    change(look, &path, json!({"spec": {"unschedulable": null}})).await;
    until("the taint to be gone", async || Ok((!has_taint(look, node, mark).await?).then_some(()))).await;
    scale(look, "web", WEB * 3).await;
    let after = uids(&look.pods_on("web", node).await.unwrap());
    assert!(after.len() > before.len(), "the emptiest node is used again");
    scale(look, "web", WEB).await;
}

/// A pod that does not tolerate the taint leaves and is recreated elsewhere; one that tolerates it for a while leaves
/// after that; one that tolerates it stays.
async fn taint(look: &Look<'_>) {
    let node = node_of(&look.pods("cart").await.unwrap()[0]).to_owned();
    let agent = uids(&look.pods_on("agent", &node).await.unwrap());
    let cart = uids(&look.pods_on("cart", &node).await.unwrap());
    let began = Instant::now();
    // A pod that tolerates NoExecute for a while would otherwise be rescheduled there.
    let keep_out = json!({"key": "drill", "value": "on", "effect": "NoSchedule"});
    let taints = [fixtures::no_execute("drill", "on"), keep_out];
    fixtures::set_taints(look.api, &node, &taints).await.unwrap();
    until("web to leave", async || Ok(look.pods_on("web", &node).await?.is_empty().then_some(()))).await;
    until("cart to leave", async || {
        let left = uids(&look.pods_on("cart", &node).await?);
        assert!(left == cart || began.elapsed() >= BORNE, "cart left after {:?}", began.elapsed());
        Ok(left.is_empty().then_some(()))
    })
    .await;
    look.available("web", WEB).await;
    look.available("cart", CART).await;
    let left = look.pods_on("", &node).await.unwrap();
    assert_eq!(uids(&left), agent, "only the agent, and the same one");
    fixtures::set_taints(look.api, &node, &[]).await.unwrap();
    scale(look, "web", WEB * 3).await;
    assert!(!look.pods_on("web", &node).await.unwrap().is_empty(), "the emptiest node is used again");
    assert_eq!(uids(&look.pods_on("agent", &node).await.unwrap()), agent);
}

async fn delete(look: &Look<'_>, path: &str, propagation: &str) {
    look.api.delete(path, &json!({"propagationPolicy": propagation})).await.unwrap();
}

/// Objects without owners are deleted, orphans that are kept stay, and a namespace is deleted with everything in it.
async fn take_down(look: &Look<'_>) {
    let agent = uids(&look.pods("agent").await.unwrap());
    delete(look, &look.apps("daemonsets", "agent"), "Orphan").await;
    delete(look, &look.apps("deployments", "cart"), "Foreground").await;
    let cart = look.apps("deployments", "cart");
    until("cart to be gone", async || Ok(look.api.find(&cart).await?.is_none().then_some(()))).await;
    assert!(look.pods("cart").await.unwrap().is_empty(), "its dependents are deleted first");
    delete(look, &look.apps("deployments", "web"), "Background").await;
    until("the pods of web to be gone", async || Ok(look.pods("web").await?.is_empty().then_some(()))).await;
    let path = look.apps("daemonsets", "agent");
    until("agent to be gone", async || Ok(look.api.find(&path).await?.is_none().then_some(()))).await;
    let orphans = look.pods("agent").await.unwrap();
    assert_eq!(uids(&orphans), agent);
    let freed = |pod: &Value| pod["metadata"]["ownerReferences"].as_array().is_none_or(Vec::is_empty);
    assert!(orphans.iter().all(freed), "they have no owner");
    let path = format!("/api/v1/namespaces/{}", look.namespace);
    look.api.delete(&path, &json!({})).await.unwrap();
    until("the namespace to be gone", async || Ok(look.api.find(&path).await?.is_none().then_some(()))).await;
    assert!(look.pods("").await.unwrap().is_empty(), "no pod is left in it");
}
