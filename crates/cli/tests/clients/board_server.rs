//! Tests the board's server over sockets: which clients it admits, what it sends to viewers, and a cluster that ends.
//!
//! - See `board/viewers.rs` for many viewers and slow ones, `board_page.rs` for the page in a browser.

use crate::board::client::{BoardAddress, STARTUP_TIMEOUT, board_with, sandbox};
use crate::cli::running::{RunningSandbox, TestFile, request, text};
use crate::real::proxy::ScenarioProxy;
use serde_json::{Value, json};
use std::net::TcpListener;
use std::process::Command;

#[test]
fn only_the_printed_address_lets_in() {
    let (_running, board) = sandbox();
    let folder = board.folder.clone();
    let entered = board.request("GET", &format!("/?token={}", board.token), &[], "");
    assert_eq!((entered.status, entered.header("location")), (303, format!("{folder}/").as_str()));
    let cookie = board.cookie.as_str();
    let expected = format!("{cookie}; Path={folder}/; HttpOnly; SameSite=Strict");
    assert_eq!(entered.header("set-cookie"), expected, "browsers send no other port a page below the folder");
    let bearer = board.bearer();
    let secrets = [
        board.token.as_str(),
        folder.trim_start_matches('/'),
        cookie.split_once('=').unwrap().1,
        bearer.trim_start_matches("Bearer "),
    ];
    for (at, secret) in secrets.iter().enumerate() {
        assert!(secret.len() >= 43 && !secrets[..at].contains(secret), "each is another one: {secrets:?}");
    }
    let with = ("cookie", cookie);
    for (path, headers, status) in [
        ("/", vec![], 401),
        ("/", vec![with], 401),
        ("/?token=wrong", vec![], 401),
        ("/events", vec![with], 401),
        ("FOLDER/", vec![], 401),
        ("FOLDER/events", vec![], 401),
        ("FOLDERx/events", vec![with], 401),
        ("FOLDER/explain?node=n1", vec![("cookie", "taintward-board=x")], 401),
        ("FOLDER/", vec![with, ("host", "rebind.example:80")], 403),
        ("FOLDER/", vec![with, ("origin", "http://evil.example")], 403),
        ("FOLDER/", vec![with, ("sec-fetch-site", "cross-site")], 403),
        ("FOLDER/", vec![with, ("sec-fetch-site", "same-site")], 403),
        ("FOLDER/secret", vec![with], 404),
    ] {
        let response = board.request("GET", &path.replace("FOLDER", &folder), &headers, "");
        assert_eq!(response.status, status, "{path} {headers:?}");
        let policy = response.header("content-security-policy");
        assert!(policy.starts_with("default-src 'self'"), "{}", response.head);
        for secret in secrets {
            assert!(
                !response.body.contains(secret) && !response.head.contains(secret),
                "a refusal tells no secret"
            );
        }
    }
    for (path, kind) in [("/", "text/html"), ("/board.css", "text/css"), ("/board.js", "text/javascript")] {
        let response = board.get(path);
        assert!(response.status == 200 && response.header("content-type").starts_with(kind), "{path}");
    }
    let action = json!({"verb": "cordon", "node": "n1"}).to_string();
    let (path, kind) = (format!("{folder}/action"), ("content-type", "application/json"));
    let forged = board.request("POST", &path, &[with, kind], &action);
    assert_eq!(forged.status, 401, "a cookie alone changes nothing");
    for secret in &secrets[..3] {
        let wrong = format!("Bearer {secret}");
        let forged = board.request("POST", &path, &[with, ("authorization", &wrong), kind], &action);
        assert_eq!(forged.status, 401, "what a browser keeps or shows changes nothing");
    }
    for (header, value) in
        [("origin", "http://evil.example"), ("origin", "null"), ("sec-fetch-site", "cross-site")]
    {
        let headers = [with, ("authorization", bearer.as_str()), kind, (header, value)];
        let forged = board.request("POST", &path, &headers, &action);
        assert_eq!(forged.status, 403, "a page of another site with both: {header}: {value}");
    }
    let mut events = board.events("");
    let (_, nodes) =
        events.until("nodes", |message| message["nodes"].as_array().is_some_and(|all| !all.is_empty()));
    assert!(nodes["nodes"].as_array().unwrap().iter().all(|node| node["unschedulable"] == false));
}

#[test]
fn the_board_pending_and_the_terminal_tell_the_same_changes_in_the_same_order() {
    // Nothing evicts, so a pod can be overdue.
    let mut running =
        RunningSandbox::start(&["--plain", "--empty", "--nodes", "3", "--without", "taintward"]);
    let board = BoardAddress::of(&running.until("/?token="));
    let kubeconfig = running.kubeconfig();
    let pods = ["a/x", "a/y", "a-b/x", "b/x"];
    let seconds = |key, seconds| json!({"key": key, "operator": "Exists", "tolerationSeconds": seconds});
    let spec = json!({"nodeName": "n1", "containers": [{"name": "main", "image": "registry.example/x:1"}],
        "tolerations": [seconds("long", 300), seconds("short", 100)]});
    let object =
        |kind: &str, metadata: Value| json!({"apiVersion": "v1", "kind": kind, "metadata": metadata});
    let mut objects: Vec<Value> =
        ["a", "a-b", "b"].map(|name| object("Namespace", json!({"name": name}))).into();
    for (space, name) in pods.iter().rev().map(|pod| pod.split_once('/').unwrap()) {
        let mut pod = object("Pod", json!({"namespace": space, "name": name}));
        pod["spec"] = spec.clone();
        objects.push(pod);
    }
    let list = json!({"apiVersion": "v1", "kind": "List", "items": objects}).to_string();
    let response = board.act(&json!({"verb": "load", "text": list}));
    assert_eq!(response.status, 200, "{}", response.body);
    let mut events = board.events("");
    events.until_pods(pods.len());
    let mut command = Command::new(env!("CARGO_BIN_EXE_taintward"));
    command.args(["pending", "-w", "-A", "-o", "json", "--kubeconfig", &kubeconfig]);
    let mut pending = RunningSandbox::of(command);
    let mut expect = |kind: &str, pods: &[&str]| {
        let expected: Vec<String> = pods.iter().map(|pod| format!("{kind} {pod}")).collect();
        let word = |value: &Value| value.as_str().unwrap().to_owned();
        let printed = pods.iter().map(|_| {
            let event: Value = serde_json::from_str(&pending.until("PendingEvent")).unwrap();
            format!("{} {}/{}", word(&event["event"]), word(&event["namespace"]), word(&event["pod"]))
        });
        assert_eq!(printed.collect::<Vec<_>>(), expected, "pending");
        let (mut shown, mut reported) = (Vec::new(), Vec::new());
        while shown.len() < pods.len() {
            let (_, message) = events.until("a decision", |message| message["decisions"].is_array());
            for one in message["decisions"].as_array().unwrap().iter().filter(|one| one["pod"] != "") {
                shown.push(format!("{} {}", word(&one["kind"]), word(&one["pod"])));
                reported.push(format!("{kind:<12}  pod {} {}", word(&one["pod"]), word(&one["text"])));
            }
        }
        assert_eq!(shown, expected, "the board");
        // The times of two watches differ a little.
        let without_digits = |line: &str| line.replace(|letter: char| letter.is_ascii_digit(), "");
        let printed = pods.iter().map(|_| {
            let line = running.until(&format!("  {kind:<12}  pod "));
            without_digits(line.split_once("  ").unwrap().1)
        });
        let reported: Vec<String> = reported.iter().map(|line| without_digits(line)).collect();
        assert_eq!(printed.collect::<Vec<_>>(), reported, "the terminal");
    };
    let taint = |keys: &[&str]| {
        let taints: Vec<Value> = keys.iter().map(|key| json!({"key": key, "effect": "NoExecute"})).collect();
        request(&kubeconfig, "PATCH", "/api/v1/nodes/n1", &json!({"spec": {"taints": taints}}).to_string());
    };
    taint(&["long"]);
    expect("CountingDown", &pods);
    taint(&["long", "short"]);
    expect("Changed", &pods);
    taint(&[]);
    expect("Cancelled", &pods);
    taint(&["now"]);
    expect("CountingDown", &pods);
    expect("Overdue", &pods);
    request(&kubeconfig, "DELETE", "/api/v1/namespaces/a/pods/y", "");
    expect("Deleted", &["a/y"]);
}

#[test]
fn explanations_and_plans_are_those_of_the_commands() {
    let (mut running, board) = sandbox();
    let kubeconfig = running.kubeconfig();
    board.events("").until("nodes", |message| message["nodes"].to_string().contains("n1"));
    let printed = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_taintward"));
        let done = command.args(words).args(["--kubeconfig", &kubeconfig]).output().unwrap();
        text(&done.stdout)
    };
    let untimed = |text: &str| text.split_once('\n').unwrap().1.to_owned();
    let explained = board.get("/explain?node=n1");
    assert_eq!(untimed(&explained.body), untimed(&printed(&["explain", "node/n1"])));
    let planned = board.get("/plan?node=n1&taint=a%3Db%3ANoSchedule");
    assert_eq!(untimed(&planned.body), untimed(&printed(&["plan", "--taint", "n1", "a=b:NoSchedule"])));
    let missing = board.get("/explain?pod=shop/nope");
    assert!(missing.header("failed") == "1" && missing.body.contains("nope"), "{}", missing.body);
    for word in ["error:", "Usage", "--help"] {
        assert!(!missing.body.contains(word), "{}", missing.body);
    }
    assert!(!explained.head.contains("failed"), "{}", explained.head);
    for taint in ["foo", "a=b", "a=b:Never", "a b=c:NoExecute"] {
        let wrong = board.get(&format!("/plan?node=n1&taint={}", taint.replace(' ', "%20")));
        assert!(wrong.header("failed") == "1", "{taint}: {}", wrong.body);
        assert!(
            wrong.body.ends_with("write KEY=VALUE:EFFECT, for example maintenance=now:NoExecute"),
            "{}",
            wrong.body
        );
    }
    for (path, status) in [
        ("/explain", 400),
        ("/explain?pod=web", 400),
        ("/explain?node=--help", 400),
        ("/plan?node=n1", 400),
        ("/plan?node=n1&taint=-x", 400),
    ] {
        assert_eq!(board.get(path).status, status, "{path}");
    }
}

#[test]
fn every_button_and_its_opposite_reach_the_viewers() {
    let (_running, board) = sandbox();
    let mut events = board.events("");
    events.until_pods(18);
    let n1 = |message: &Value| {
        let all = message["nodes"].as_array()?;
        all.iter().find(|node| node["name"] == "n1").cloned()
    };
    for (verb, message, field, value) in [
        ("cordon", "node/n1 cordoned", "unschedulable", true),
        ("uncordon", "node/n1 uncordoned", "unschedulable", false),
        ("silence", "node/n1 silenced", "silenced", true),
        ("recover", "node/n1 recovered", "silenced", false),
    ] {
        let response = board.act(&json!({"verb": verb, "node": "n1"}));
        assert_eq!(
            (response.status, response.body),
            (200, json!({ "message": message }).to_string()),
            "{verb}"
        );
        events.until(verb, |message| n1(message).is_some_and(|node| node[field] == value));
    }
    let file = include_str!("board/workload.yaml");
    let response = board.act(&json!({"verb": "load", "text": file}));
    assert_eq!((response.status, response.body.as_str()), (200, r#"{"message":"2 objects loaded"}"#));
    let mut until_healthy = |count: i64| {
        events.until("the Deployment", |message| {
            let all = message["workloads"].as_array();
            let app = all.and_then(|all| all.iter().find(|one| one["name"] == "app"));
            app.is_some_and(|app| app["healthy"] == count && app["desired"] == count)
        })
    };
    until_healthy(2);
    let scaled = board.act(&json!({"verb": "scale", "workload": "Deployment/team/app", "replicas": 3}));
    assert_eq!(scaled.body, r#"{"message":"deployment/app scaled to 3 pods"}"#);
    until_healthy(3);
}

#[test]
fn a_button_does_what_it_says_or_says_why_not() {
    let (_running, board) = sandbox();
    let mut events = board.events("");
    events.until("workloads", |message| message["workloads"].to_string().contains("web"));
    for (action, message) in [
        (json!({"verb": "cordon", "node": "n1"}), "node/n1 cordoned"),
        (json!({"verb": "silence", "node": "n2"}), "node/n2 silenced"),
        (
            json!({"verb": "scale", "workload": "Deployment/shop/web", "replicas": 2}),
            "deployment/web scaled to 2 pods",
        ),
        (json!({"verb": "speed", "speed": 60}), "the cluster's time runs at 60 times the speed of real time"),
        (
            json!({"verb": "load", "text": "{apiVersion: v1, kind: Namespace, metadata: {name: x}}"}),
            "1 object loaded",
        ),
    ] {
        let response = board.act(&action);
        assert_eq!(
            (response.status, response.body),
            (200, json!({ "message": message }).to_string()),
            "{action}"
        );
    }
    // 50 s of its silence are less than a second of real time.
    let (_, silent) =
        events.until("a silent node", |message| message["decisions"].to_string().contains("is not ready"));
    assert_eq!(silent["speed"], 60.0);
    for (action, why) in [
        (
            json!({"verb": "scale", "workload": "DaemonSet/shop/agent", "replicas": 1}),
            "no number of replicas",
        ),
        (
            json!({"verb": "scale", "workload": "Deployment/shop/web", "replicas": 1_000_000}),
            "the board's limit is",
        ),
        (json!({"verb": "speed", "speed": 0}), "not a speed"),
        (json!({"verb": "cordon", "node": "nope"}), "not found"),
        (json!({"verb": "taint", "node": "n1", "taint": "foo"}), "write KEY=VALUE:EFFECT"),
        (json!({"verb": "taint", "node": "--all", "taint": "a=b:NoExecute"}), "begins as a flag"),
        (json!({"verb": "silence", "node": "-h"}), "begins as a flag"),
        (json!({"verb": "load", "text": ": :"}), ""),
    ] {
        let response = board.act(&action);
        assert!(
            response.status == 422 && response.body.contains(why),
            "{action}: {} {}",
            response.status,
            response.body
        );
    }
    assert_eq!(board.act(&json!({"verb": "format"})).status, 400);
}

#[test]
fn the_board_of_another_cluster_has_no_buttons_and_survives_its_outage() {
    let (mut running, _) = sandbox();
    let direct = running.kubeconfig();
    let text = std::fs::read_to_string(&direct).unwrap();
    let (_, server) = text.split_once("server: https://127.0.0.1:").unwrap();
    let target = server.split_once('\n').unwrap().0.trim();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let proxy = ScenarioProxy::on(port, target.parse().unwrap());
    let kubeconfig = TestFile::named("through-proxy.yaml");
    let text = text.replace(&format!("127.0.0.1:{target}"), &format!("127.0.0.1:{port}"));
    std::fs::write(&kubeconfig.0, text).unwrap();
    let (mut process, board) = board_with(kubeconfig.path());
    let mut events = board.events("");
    let (_, _, snapshot) = events.next();
    assert_eq!((&snapshot["sandbox"], snapshot.get("token")), (&json!(false), None));
    events.until("nodes", |message| message["nodes"].to_string().contains("n1"));
    assert_eq!(board.act(&json!({"verb": "cordon", "node": "n1"})).status, 401, "no page knows its secret");
    let taint = |node: &str, key: &str| {
        let taints = json!({"spec": {"taints": [{"key": key, "effect": "NoSchedule"}]}});
        request(&direct, "PATCH", &format!("/api/v1/nodes/{node}"), &taints.to_string());
    };

    // No program listens on port 1.
    proxy.lead_to(1);
    proxy.break_off();
    let (_, message) = events.until("a problem", |message| message["problem"].is_string());
    assert!(message["problem"].as_str().unwrap().contains("may be old"), "{message}");
    taint("n1", "meanwhile");
    assert_eq!(board.get("/").status, 200, "the page is there nevertheless");
    proxy.lead_to(target.parse().unwrap());
    let mut is_shown = false;
    events.until("what the board missed, and no problem", |message| {
        is_shown |= message["nodes"].to_string().contains("meanwhile");
        is_shown && message["problem"].is_null()
    });
    taint("n2", "afterwards");
    let (_, message) =
        events.until("a later taint", |message| message["nodes"].to_string().contains("afterwards"));
    assert_eq!(message["problem"], Value::Null);

    drop(running);
    events.until("the cluster's end", |message| message["problem"].is_string());
    assert_eq!(board.get("/").status, 200);
    process.signal(rustix::process::Signal::INT);
    assert_eq!(process.ends_within(STARTUP_TIMEOUT), 0);
}

#[test]
fn a_port_in_use_is_named_with_the_remedy() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let mut command = Command::new(env!("CARGO_BIN_EXE_taintward"));
    let done = command.args(["board", "--port", &port.to_string()]).output().unwrap();
    let message = text(&done.stderr);
    assert_eq!(done.status.code(), Some(1), "{message}");
    assert!(message.contains(&format!("127.0.0.1:{port}")) && message.contains("--port"), "{message}");
    let kubeconfig = TestFile::named("port-in-use.yaml");
    let port = port.to_string();
    let done = crate::cli::running::output(&[
        "--plain",
        "--board-port",
        &port,
        "--kubeconfig-out",
        kubeconfig.path(),
    ]);
    let message = text(&done.stderr);
    assert!(!done.status.success() && message.contains("--board-port"), "{message}");
    assert!(!kubeconfig.0.exists(), "no kubeconfig leads to a sandbox that never ran");
}

#[test]
fn a_pod_that_is_evicted_immediately_has_decisions() {
    let (_running, board) = sandbox();
    let mut events = board.events("");
    events.until_pods(18);
    // The pods of the Deployment web do not tolerate it.
    let response = board.act(&json!({"verb": "taint", "node": "n1", "taint": "maintenance=now:NoExecute"}));
    assert_eq!(response.status, 200, "{}", response.body);
    let mut kinds = Vec::new();
    events.until("both decisions", |message| {
        let decisions = message["decisions"].as_array().into_iter().flatten();
        let of_web =
            decisions.filter(|one| one["pod"].as_str().is_some_and(|pod| pod.starts_with("shop/web-")));
        kinds.extend(of_web.map(|one| one["kind"].as_str().unwrap().to_owned()));
        kinds.len() >= 2
    });
    assert_eq!(kinds, ["CountingDown", "Deleted"]);
}
