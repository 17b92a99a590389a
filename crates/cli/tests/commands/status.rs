//! Tests what `taintward status` and `taintward pending` say about pods that policies and the brake delay.

use crate::cli::reluctant::{There, serve};
use crate::cli::running::{TestFolder, text};
use crate::described::{check, schema};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use std::process::{Command, Stdio};

/// Exit code, standard output, standard error.
fn run(kubeconfig: &str, typed: &str) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_taintward"));
    command.args(typed.split(' ')).stdin(Stdio::null()).env("KUBECONFIG", kubeconfig).env("TZ", "UTC");
    let done = command.output().unwrap();
    (done.status.code().unwrap(), text(&done.stdout), text(&done.stderr))
}

fn ago(seconds: i64) -> String {
    format!("{:.6}", Timestamp::now() - SignedDuration::from_secs(seconds))
}

/// So many seconds ago, as taints and pods name times.
fn second(seconds: i64) -> String {
    format!("{:.0}", Timestamp::now() - SignedDuration::from_secs(seconds))
}

fn list(items: &[Value]) -> String {
    json!({ "metadata": {}, "items": items }).to_string()
}

/// A node with this NoExecute taint since ten minutes ago.
fn tainted_node(name: &str, key: Option<&str>) -> Value {
    let mut node = testkit::node(name);
    node["metadata"]["uid"] = json!(name);
    if let Some(key) = key {
        let mut taint = testkit::taint(key);
        taint["timeAdded"] = json!(second(600));
        node["spec"]["taints"] = json!([taint]);
    }
    node
}

/// A pod that runs on a node since an hour ago.
fn bound_pod(name: &str, node: &str, tolerations: &Value) -> Value {
    let mut pod = testkit::pod(name);
    pod["metadata"] = json!({ "name": name, "namespace": "shop", "uid": name, "labels": { "app": name },
        "creationTimestamp": second(3_600) });
    pod["spec"]["nodeName"] = json!(node);
    pod["spec"]["tolerations"] = tolerations.clone();
    let condition =
        |kind: &str| json!({ "type": kind, "status": "True", "lastTransitionTime": second(3_600) });
    pod["status"] = json!({ "phase": "Running", "startTime": second(3_600),
        "conditions": [condition("PodScheduled"), condition("Ready")] });
    pod
}

fn budget(name: &str, spec: &Value) -> Value {
    let mut spec = spec.clone();
    spec["selector"] = json!({ "matchLabels": { "app": name } });
    let status = json!({ "currentHealthy": 1, "desiredHealthy": 1, "disruptionsAllowed": 0, "expectedPods": 1,
        "observedGeneration": 1 });
    let metadata =
        json!({ "name": name, "namespace": "shop", "uid": format!("budget-{name}"), "generation": 1 });
    json!({ "metadata": metadata, "spec": spec, "status": status })
}

fn policy(name: &str, respects: &Value) -> Value {
    let condition = |kind: &str, status: &str, message: &str| {
        json!({ "type": kind, "status": status, "reason": "Tested", "message": message,
            "lastTransitionTime": second(60), "observedGeneration": 1 })
    };
    json!({
        "metadata": { "name": name, "uid": format!("policy-{name}"), "generation": 1 },
        "spec": { "taints": [{ "key": "maintenance" }], "respectBudgets": respects,
            "podSelector": { "matchLabels": { "app": name } } },
        "status": { "governed": 1, "waiting": { "budget": 1 }, "forced": 3, "conditions": [
            condition("Ready", "True", "fine"), condition("Blocked", "True", "a pod waits for a person")] },
    })
}

fn lease() -> Value {
    json!({ "metadata": { "name": "taintward" }, "spec": { "holderIdentity": "taintward-0", "leaseDurationSeconds": 15,
        "acquireTime": ago(7_200), "renewTime": ago(1) } })
}

fn deployment() -> Value {
    let arguments = ["run", "--eviction-policies=true", "--brake-limit=1"];
    let containers = json!([{ "name": "taintward", "image": "taintward", "args": arguments }]);
    json!({ "metadata": { "name": "taintward", "namespace": "taintward-system" },
        "spec": { "template": { "spec": { "containers": containers } } } })
}

/// The order of a hold for an hour.
fn hold(reason: &str) -> Value {
    let order = json!({ "action": "hold", "since": second(60), "until": second(-3_600), "reason": reason });
    json!({ "taintward.io/hold": order.to_string() })
}

/// The pods `forced` and `endless` wait for budgets, `free` and `other` for the brake; `later` counts down, `never` stays, and
/// `paused` is held.
fn pods() -> String {
    let tolerates = |seconds| json!([testkit::toleration("maintenance", seconds)]);
    let mut paused = bound_pod("paused", "n1", &json!([]));
    paused["metadata"]["annotations"] = hold("a job ends");
    list(&[
        bound_pod("forced", "n1", &json!([])),
        bound_pod("endless", "n1", &json!([])),
        bound_pod("later", "n1", &tolerates(Some(3_600))),
        bound_pod("never", "n1", &tolerates(None)),
        bound_pod("free", "n2", &json!([])),
        bound_pod("other", "n3", &json!([])),
        bound_pod("calm", "n4", &json!([])),
        paused,
    ])
}

fn nodes() -> String {
    let mut held = tainted_node("n4", None);
    held["metadata"]["annotations"] = hold("disks");
    list(&[
        tainted_node("n1", Some("maintenance")),
        tainted_node("n2", Some("k")),
        tainted_node("n3", Some("k")),
        held,
    ])
}

/// A server with all of that; the collections of `hidden` may not be read.
fn server(folder: &TestFolder, hidden: &'static [&'static str]) -> String {
    let budgets =
        [budget("forced", &json!({ "minAvailable": 1 })), budget("endless", &json!({ "maxUnavailable": 0 }))];
    let policies = [policy("forced", &json!({ "deadlineSeconds": 3_600 })), policy("endless", &json!({}))];
    let objects = [
        ("/api/v1/nodes", nodes()),
        ("/api/v1/pods", pods()),
        ("/api/v1/namespaces/shop/pods", pods()),
        ("/apis/policy/v1/poddisruptionbudgets", list(&budgets)),
        ("/apis/taintward.io/v1alpha1/evictionpolicies", list(&policies)),
        ("/apis/apps/v1/namespaces/taintward-system/deployments", list(&[deployment()])),
        ("/apis/coordination.k8s.io/v1/namespaces/taintward-system/leases/taintward", lease().to_string()),
    ];
    let objects = objects.map(|(path, text)| (path, &*text.leak()));
    serve(folder, move |path| {
        let is_hidden = hidden.iter().any(|plural| path.ends_with(plural));
        match objects.iter().find(|(known, _)| *known == path) {
            Some(_) if is_hidden => There::Hidden,
            Some((_, text)) => There::Object(text),
            None => There::Nothing,
        }
    })
}

fn object(out: &str) -> Value {
    let status = serde_json::from_str(out).unwrap();
    check(&schema("status.schema.json"), &status);
    status
}

/// The due pods, with the reason and the policy of their delay.
fn due(status: &Value) -> Vec<(&str, &str, &str)> {
    let pods = status["backlog"]["pods"].as_array().unwrap();
    let mut due: Vec<(&str, &str, &str)> = pods
        .iter()
        .map(|pod| {
            let text = |name: &str| pod["delay"][name].as_str().unwrap_or("-");
            (pod["pod"].as_str().unwrap(), text("reason"), text("policy"))
        })
        .collect();
    due.sort_unstable();
    due
}

#[test]
fn a_status_has_the_leader_and_everything_that_delays_a_pod() {
    let folder = TestFolder::named("status");
    let kubeconfig = server(&folder, &[]);
    let (code, out, stderr) = run(&kubeconfig, "status -o json");
    assert_eq!((code, stderr.as_str()), (0, ""), "{out}");
    let status = object(&out);
    assert_eq!(status["leader"]["holder"], "taintward-0");
    assert_eq!(
        due(&status),
        [
            ("endless", "budget", "endless"),
            ("forced", "budget", "forced"),
            ("free", "brake", "-"),
            ("other", "brake", "-"),
        ],
        "no other pod is due"
    );
    let backlog = &status["backlog"];
    assert_eq!((&backlog["due"], &backlog["countingDown"]), (&json!(4), &json!(2)));
    assert_eq!(backlog["waiting"], json!({"budget": 2, "limit": 0, "order": 0, "policy": 0, "brake": 2}));
    for pod in backlog["pods"].as_array().unwrap() {
        assert_eq!(pod["delay"]["until"].is_null(), pod["pod"] != "forced", "only one has a deadline: {pod}");
    }
    assert_eq!((&status["brake"][0]["key"], &status["brake"][0]["nodes"]), (&json!("k"), &json!(2)));
    let budget = |name, never| json!({"namespace": "shop", "name": name, "waiting": 1, "neverAllows": never});
    assert_eq!(status["budgets"], json!([budget("endless", true), budget("forced", false)]));
    let holds: Vec<(&Value, &Value)> =
        status["holds"].as_array().unwrap().iter().map(|hold| (&hold["node"], &hold["pod"])).collect();
    assert_eq!(
        holds,
        [(&json!("n1"), &json!("shop/paused")), (&json!("n4"), &Value::Null)],
        "{}",
        status["holds"]
    );
    assert_eq!(status["policies"][1]["forced"], json!(3));

    let (code, out, _) = run(&kubeconfig, "status");
    assert_eq!(code, 0);
    for words in [
        "Leader:     taintward-0 leads since ",
        ", for 120m\n",
        "Mode:       enforce, --eviction-policies, --brake-limit=1 (Deployment taintward)\n",
        "4 pods are due: 2 wait for a budget, 2 wait for the brake; 2 pods counting down\n",
        "taintward release --taint k",
        "shop/endless        1   never",
        "waits for budget shop/endless, which never allows a disruption; without a deadline, so never forced",
        "a pod waits for a person",
        "administrator   disks",
        "annotation of the pod a job ends",
        "n4 - all ",
    ] {
        let squeezed = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(squeezed(&out).contains(&squeezed(words)), "{words}: {out}");
    }
    let (code, _, stderr) = run(&kubeconfig, "status -w");
    assert!(code == 1 && stderr.contains("-w draws on a terminal"), "{stderr}");
}

#[test]
fn what_may_not_be_read_is_unknown_and_the_rest_is_known() {
    let folder = TestFolder::named("status-budgets");
    let kubeconfig = server(&folder, &["poddisruptionbudgets"]);
    let (code, out, stderr) = run(&kubeconfig, "status -o json");
    assert_eq!((code, stderr.as_str()), (1, ""), "{out}");
    let status = object(&out);
    let error = status["readErrors"][0].as_str().unwrap();
    assert!(error.contains("poddisruptionbudgets"), "{error}");
    assert_eq!(due(&status).len(), 4);
    assert!(out.contains("may wait for an eviction policy: "), "{out}");
    let (code, out, _) = run(&kubeconfig, "status");
    assert!(code == 1 && out.contains("Delays:     unknown: "), "{out}");

    let folder = TestFolder::named("status-pods");
    let kubeconfig = server(&folder, &["pods", "leases/taintward"]);
    let (code, out, _) = run(&kubeconfig, "status");
    assert_eq!(code, 1);
    assert!(out.contains("Backlog:    unknown: ") && out.contains("endless"), "policies are known: {out}");
    let (_, out, _) = run(&kubeconfig, "status -o json");
    let status = object(&out);
    assert_eq!((&status["backlog"], &status["leader"]["state"]), (&Value::Null, &json!("Unknown")));
}

#[test]
fn a_cluster_without_taintward_is_no_error() {
    let folder = TestFolder::named("status-none");
    let kubeconfig = serve(&folder, |path| match path {
        "/api/v1/nodes" | "/api/v1/pods" | "/apis/apps/v1/namespaces/taintward-system/deployments" => {
            There::Object(r#"{"metadata": {}, "items": []}"#)
        }
        _ => There::Nothing,
    });
    let (code, out, stderr) = run(&kubeconfig, "status");
    assert_eq!((code, stderr.as_str()), (0, ""), "{out}");
    for words in [
        "Leader:     no taint eviction controller was found",
        "has no Deployment of Taintward\n",
        "Policies:   unknown: the kind EvictionPolicy is not installed\n",
        "Budgets:    <none>\n",
    ] {
        assert!(out.contains(words), "{words}: {out}");
    }
    let (_, out, _) = run(&kubeconfig, "status -o json");
    assert_eq!(object(&out)["complete"], json!(true));
}

#[test]
fn pending_says_what_due_pods_wait_for() {
    let folder = TestFolder::named("status-pending");
    let kubeconfig = server(&folder, &[]);
    let (code, out, stderr) = run(&kubeconfig, "pending -A -o json");
    assert_eq!((code, stderr.as_str()), (0, ""), "{out}");
    let pending: Value = serde_json::from_str(&out).unwrap();
    check(&schema("pending.schema.json"), &pending);
    let mut delays: Vec<(&str, Option<&str>)> = pending["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| (item["pod"].as_str().unwrap(), item["delay"]["reason"].as_str()))
        .collect();
    delays.sort_unstable();
    let (budget, brake) = (Some("budget"), Some("brake"));
    let expected = [
        ("endless", budget),
        ("forced", budget),
        ("free", brake),
        ("later", None),
        ("other", brake),
        ("paused", None),
    ];
    assert_eq!(delays, expected, "a pod that counts down is not delayed");

    let (_, out, _) = run(&kubeconfig, "pending -A");
    let running = out.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in [
        "waits for a budget, due since ",
        "shop/endless waits for budget shop/endless, which never allows a disruption; without a deadline, so never forced",
        "shop/forced waits for budget shop/forced: 1 pods are healthy, 1 required; deleted at ",
        "to evict: taintward release --taint k (and 1 more pod)",
    ] {
        assert!(running.contains(words), "{words}: {out}");
    }
    assert!(!out.contains("overdue"), "the reason is known: {out}");

    let folder = TestFolder::named("status-pending-rbac");
    let kubeconfig = server(&folder, &["poddisruptionbudgets", "deployments"]);
    let (code, out, stderr) = run(&kubeconfig, "pending -A");
    assert_eq!(code, 0, "{stderr}");
    for words in ["whether the brake delays due pods: ", "whether an eviction policy delays due pods: "] {
        assert!(stderr.contains(words), "{words}: {stderr}");
    }
    assert!(out.contains("waits for a policy, due since ") && out.contains("overdue since "), "{out}");
}

#[test]
fn plan_predicts_when_delayed_pods_leave() {
    let folder = TestFolder::named("status-plan");
    let kubeconfig = server(&folder, &[]);
    let (_, out, stderr) = run(&kubeconfig, "plan -o json");
    let plan: Value = serde_json::from_str(&out).unwrap_or_else(|_| panic!("{out} {stderr}"));
    check(&schema("plan.schema.json"), &plan);
    let item = |name: &str| {
        let items = plan["items"].as_array().unwrap();
        items.iter().find(|item| item["pod"] == name).unwrap_or_else(|| panic!("{name}: {plan}"))
    };
    let forced = &item("forced")["delay"];
    assert_eq!((&forced["policy"], &forced["forced"]), (&json!("forced"), &json!(true)), "{forced}");
    let at: Timestamp = forced["leavesWithoutReplacements"].as_str().unwrap().parse().unwrap();
    // Due ten minutes ago, with a deadline of an hour.
    let left = at.as_second() - Timestamp::now().as_second();
    assert!((2_900..=3_005).contains(&left), "{left}");
    let endless = &item("endless")["delay"];
    assert_eq!((&endless["leavesWithoutReplacements"], &endless["forced"]), (&Value::Null, &json!(false)));
    assert_eq!(endless["waitsFor"]["reason"], "budget");
    for braked in ["free", "other"] {
        let delay = &item(braked)["delay"];
        assert_eq!(
            (&delay["leavesWithReplacements"], &delay["waitsFor"]["reason"]),
            (&Value::Null, &json!("brake"))
        );
    }
    assert_eq!(
        (&plan["delays"]["forced"], &plan["delays"]["neverLeaving"]),
        (&json!(1), &json!(3)),
        "{plan}"
    );
    // A taint that no policy selects, on one node more than the brake allows for another key only.
    let (_, out, _) = run(&kubeconfig, "plan --taint n4 other:NoExecute -o json");
    let plan: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(plan["delays"], Value::Null, "{plan}");

    let (_, out, _) = run(&kubeconfig, "plan");
    let running = out.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in [
        "DUE EARLIEST LATEST",
        ", forced n1",
        "never never n2",
        "1 pod is then deleted in spite of its disruption budgets.",
    ] {
        assert!(running.contains(words), "{words}: {out}");
    }

    let folder = TestFolder::named("status-plan-rbac");
    let kubeconfig = server(&folder, &["evictionpolicies", "deployments"]);
    let (_, out, stderr) = run(&kubeconfig, "plan");
    for words in ["whether the brake delays evictions: ", "whether an eviction policy delays evictions: "] {
        assert!(stderr.contains(words), "{words}: {stderr}");
    }
    assert!(out.contains("EVICTED"), "no pod is delayed, nor is one that is held: {out}");
}
