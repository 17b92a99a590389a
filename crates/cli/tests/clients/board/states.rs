//! Makes states for the page: a few nodes, many, and some with hostile names.

#![allow(dead_code, reason = "each test binary uses some of it")]

use serde_json::{Value, json};

/// The cluster's time; the page counts from it.
pub(crate) const NOW: f64 = 1_764_072_000.0;

/// What no API server accepts as a name, as a broken or hostile one might send it.
pub(crate) const HOSTILE: [&str; 5] = [
    "<img src=x onerror=\"window.harmed=1\">",
    "<script>window.harmed=1</script>",
    "a\u{202e}gnp.exe",
    "tab\tand\nnewline",
    "'\"; $(reboot) `x` \u{1b}[31m",
];

/// `maintenance=now:NoExecute`, set a minute ago.
pub(crate) fn board_taint() -> Value {
    json!({
        "text": "maintenance=now:NoExecute", "key": "maintenance", "value": "now", "effect": "NoExecute",
        "addedAt": NOW - 60.0, "manager": "kubectl-taint", "note": "new disks",
    })
}

pub(crate) fn board_node(name: &str, zone: &str, taints: &[Value]) -> Value {
    json!({
        "id": format!("uid-{name}"), "name": name, "zone": zone, "health": "Ready", "state": "Ready", "reason": "", "since": null,
        "unschedulable": false, "silenced": false, "taints": taints,
    })
}

/// It counts down where it has a deadline, and else stays.
pub(crate) fn board_pod(name: &str, node: &str, deadline: Option<f64>) -> Value {
    let (state, until, why) = match deadline {
        Some(until) => (1, until, "maintenance=now:NoExecute"),
        None => (0, 0.0, ""),
    };
    json!([format!("uid-{name}"), "shop", name, node, state, until, why])
}

pub(crate) fn state(nodes: &[Value], pods: &[Value]) -> Value {
    json!({
        "cluster": "context kind-a, https://127.0.0.1:6443", "now": NOW, "speed": 1, "sandbox": false, "problem": null,
        "phases": [["stays", "stay", ""], ["counting down", "counting down", "A"], ["due", "due", "B"], ["delayed", "delayed", "D"], ["held", "held", "C"], ["terminating", "terminating", ""]],
        "hint": "Open a node.",
        "nodes": nodes, "pods": pods, "workloads": [], "limits": [], "decisions": [],
    })
}

/// Two nodes in two zones; one is tainted, and of its pods one counts down and one stays.
pub(crate) fn small() -> Value {
    let nodes = [board_node("n1", "z1", &[board_taint()]), board_node("n2", "z2", &[])];
    let pods = [
        board_pod("web-1", "n1", Some(NOW + 252.0)),
        board_pod("web-2", "n1", None),
        board_pod("web-3", "n2", None),
    ];
    let mut state = state(&nodes, &pods);
    state["workloads"] = json!([{"id": "w", "kind": "Deployment", "namespace": "shop", "name": "web", "healthy": 2, "desired": 3}]);
    state["limits"] = json!([{"id": "l", "kind": "blocked", "about": "shop/web", "text": "The budget allows no eviction."}]);
    state["decisions"] = json!([{
        "id": 1, "at": NOW - 60.0, "kind": "CountingDown", "label": "Counting down", "node": "n1", "pod": "shop/web-1", "text": "web-1 counts down.",
    }]);
    state
}

/// Long names as workload controllers make them, a silent node, and a decision and a limit with long texts.
pub(crate) fn wordy() -> Value {
    let key = "node.kubernetes.io/unreachable";
    let unreachable = json!({
        "text": format!("{key}:NoExecute"), "key": key, "value": "", "effect": "NoExecute", "addedAt": NOW - 60.0,
        "manager": "kube-controller-manager", "note": "",
    });
    let mut silent =
        board_node("ip-10-0-131-252.eu-central-1.compute.internal", "eu-central-1a", &[unreachable]);
    (silent["health"], silent["state"]) = (json!("Unknown"), json!("Unknown"));
    (silent["reason"], silent["since"]) = (json!("silent"), json!(NOW - 40.0));
    let mut nodes = vec![silent];
    nodes.extend((2..=6).map(|number| board_node(&format!("n{number}"), "eu-central-1b", &[])));
    let name = |number: usize| format!("checkout-payment-gateway-canary-6e369f66{number:02}-6d6hh");
    let why = format!("{key}:NoExecute");
    let pods: Vec<Value> = (0..12)
        .map(|number| {
            let (state, until) = if number == 0 { (2, NOW - 700.0) } else { (1, NOW + 240.0) };
            let node = if number < 8 { &nodes[0] } else { &nodes[1] };
            json!([format!("uid-{number}"), "team-checkout", name(number), node["name"], state, until, why])
        })
        .collect();
    let mut state = state(&nodes, &pods);
    state["workloads"] = json!([{
        "id": "w", "kind": "StatefulSet", "namespace": "team-checkout", "name": "checkout-payment-gateway-canary",
        "healthy": 11, "desired": 12,
    }]);
    state["limits"] = json!([{
        "id": "l", "kind": "blocked", "about": "team-checkout/checkout-payment-gateway-canary",
        "text": "The disruption budget allows no eviction.",
    }]);
    let decision = |id: u64, kind: &str, label: &str, text: &str| {
        let pod = format!("team-checkout/{}", name(0));
        json!({"id": id, "at": NOW - 60.0, "kind": kind, "label": label, "node": "n2", "pod": pod, "text": text})
    };
    state["decisions"] = json!([
        decision(1, "CountingDown", "Counting down", &format!("is evicted in 300s because of {why}")),
        decision(2, "Cancelled", "Countdown cancelled", "stays"),
        decision(3, "Deleted", "Evicted", &format!("was evicted because of {why}")),
    ]);
    state
}

/// The small state in a sandbox.
pub(crate) fn sandbox() -> Value {
    let mut state = small();
    state["sandbox"] = json!(true);
    state["token"] = json!("a-token");
    state
}

/// 5,000 nodes in ten zones, 50,000 pods, of which 10,000 count down.
pub(crate) fn many() -> Value {
    let name = |index: usize| format!("node-{index}");
    let taints = |index: usize| if index.is_multiple_of(5) { vec![board_taint()] } else { Vec::new() };
    let nodes: Vec<Value> = (0..5000)
        .map(|index| board_node(&name(index), &format!("z{}", index % 10), &taints(index)))
        .collect();
    let deadline = |index: usize, number: usize| NOW + 60.0 + ((index * 7 + number * 31) % 3600) as f64;
    let pods: Vec<Value> = (0..50_000)
        .map(|number: usize| {
            let index = number / 10;
            let until = index.is_multiple_of(5).then(|| deadline(index, number));
            board_pod(&format!("web-{index}-{}", number % 10), &name(index), until)
        })
        .collect();
    state(&nodes, &pods)
}

/// Every text that a cluster tells is one of [`HOSTILE`].
pub(crate) fn hostile() -> Value {
    let nodes: Vec<Value> = HOSTILE
        .iter()
        .map(|name| {
            let mut taint = board_taint();
            for field in ["key", "value", "manager", "note"] {
                taint[field] = json!(name);
            }
            taint["text"] = json!(format!("{name}:NoExecute"));
            let mut node = board_node(name, name, &[taint]);
            node["reason"] = json!(name);
            node
        })
        .collect();
    let pods: Vec<Value> = HOSTILE.iter().map(|name| board_pod(name, name, Some(NOW + 300.0))).collect();
    let mut state = state(&nodes, &pods);
    let texts = |index: usize, name: &str| {
        json!({"id": index, "kind": name, "namespace": name, "name": name, "healthy": 0, "desired": 1, "about": name,
               "text": name, "at": NOW, "node": name, "pod": name})
    };
    let all: Vec<Value> = HOSTILE.iter().enumerate().map(|(index, name)| texts(index, name)).collect();
    for list in ["workloads", "limits", "decisions"] {
        state[list] = json!(all);
    }
    state["cluster"] = json!(HOSTILE[0]);
    state["problem"] = json!(HOSTILE[1]);
    state
}
