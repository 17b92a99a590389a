//! Tests an installation on a real API server, from the dry run to the removal.
//!
//! - See `install_story.rs` for the page that shows it, `security.rs` for the rights.

use crate::install::cluster::InstalledCluster;
use crate::install::objects::printed;
use crate::turn;
use serde_json::Value;
use std::path::Path;
use taintward_envtest::{Account, Cluster, ClusterConfig};
use testkit::{ObjectExt as _, node, pod};

const IMAGE: &str = "--image=registry.example.com/taintward:1";

#[test]
fn the_policies_of_pools_are_uninstalled_with_the_controller() {
    let removed = |part: &str| {
        let printed = printed(&["--uninstall", &format!("--parts={part}")]);
        ["taintward-new-pools", "taintward-dedicated-pools"].map(|policy| printed.contains(policy))
    };
    assert_eq!(["viewer", "webhook", "controller"].map(removed), [[false; 2], [false; 2], [true; 2]]);
}

#[test]
fn an_installation_on_a_real_server_and_its_end() {
    let Some(tools) = turn::for_test("an_installation_on_a_real_server_and_its_end") else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let cluster = runtime.block_on(Cluster::start(&tools, ClusterConfig::default())).unwrap();
    let there = InstalledCluster::on(&cluster, cluster.kubeconfig(Account::Admin, 0));
    it_can_be_tried(&there);
    it_is_applied_and_stays(&there);
    configurations_block_no_request(&there);
    lists_come_along_with_the_pods(&there, &cluster.folder().join("lists.yaml"));
    what_others_changed_is_theirs(&there);
    what_was_tampered_with_is_put_back(&there);
    networks_of_api_servers_are_found(&there);
    what_earlier_flags_left_bound_goes(&there);
    it_goes_when_pools_are_gone(&there);
}

fn it_can_be_tried(there: &InstalledCluster<'_>) {
    for how in ["client", "server"] {
        let message = there.done(&["--apply", IMAGE, &format!("--dry-run={how}")]);
        let suffix = if how == "client" { " (dry run)" } else { " (server dry run)" };
        assert!(message.lines().all(|line| line.ends_with(suffix)), "{message}");
        assert!(message.starts_with("namespace/taintward-system created"), "{message}");
        assert_eq!(message.contains("not checked: the namespace"), how == "server", "{message}");
        assert_eq!(there.leftovers(), Vec::<String>::new());
    }
}

fn it_is_applied_and_stays(there: &InstalledCluster<'_>) {
    let message = there.done(&["--apply", IMAGE]);
    assert!(message.lines().all(|line| line.ends_with(" created")), "{message}");
    assert!(
        message.starts_with("namespace/taintward-system created\ncustomresourcedefinition."),
        "{message}"
    );
    assert!(
        message.ends_with("validatingwebhookconfiguration.admissionregistration.k8s.io/taintward created\n"),
        "{message}"
    );
    let again = there.done(&["--apply", IMAGE]);
    assert!(again.lines().all(|line| line.ends_with(" unchanged")), "{again}");
    assert_eq!(again.lines().count(), message.lines().count());
    let tried = there.done(&["--apply", IMAGE, "--replicas=3", "--dry-run=server"]);
    assert!(tried.contains("deployment.apps/taintward configured (server dry run)\n"), "{tried}");
    assert_eq!(there.json("get deployment taintward")["spec"]["replicas"], 2, "it was only tried");
}

/// Checklist 13; no webhook answers, and pods and nodes can still be created.
fn configurations_block_no_request(there: &InstalledCluster<'_>) {
    let message = there.done(&["--apply", IMAGE, "--rules=*,brake"]);
    assert!(
        message
            .ends_with("validatingwebhookconfiguration.admissionregistration.k8s.io/taintward configured\n"),
        "{message}"
    );
    for kind in ["mutating", "validating"] {
        let hooks = there.json(&format!("get {kind}webhookconfiguration taintward"))["webhooks"].clone();
        let hooks = hooks.as_array().unwrap();
        assert_eq!(hooks.len(), if kind == "mutating" { 1 } else { 2 });
        for hook in hooks {
            assert_eq!((&hook["failurePolicy"], &hook["sideEffects"]), (&"Ignore".into(), &"None".into()));
            assert!(hook["timeoutSeconds"].as_i64().is_some_and(|seconds| seconds <= 2), "{hook:#}");
            let of_pods = hook["rules"][0]["resources"][0] == "pods";
            let conditions = hook["matchConditions"].as_array().map(Vec::len);
            assert_eq!(conditions, Some(if of_pods && kind == "validating" { 3 } else { 2 }), "{hook:#}");
            assert!(kind == "validating" || hook["reinvocationPolicy"] == "IfNeeded");
            let skipped = &hook["namespaceSelector"]["matchExpressions"][0]["values"];
            assert!(
                !of_pods || *skipped == serde_json::json!(["kube-system", "taintward-system"]),
                "{hook:#}"
            );
        }
    }
    there.kubectl("create namespace shop");
    let (message, warned) = there.create(&pod("web").namespace("shop"));
    assert!(message.contains("pod/web created") && warned.is_empty(), "{message}{warned}");
    let (message, warned) = there.kubectl("label pod web -n shop a=b");
    assert!(message.contains("labeled"), "{message}{warned}");
    assert!(there.create(&node("n1")).0.contains("node/n1 created"));
    let (message, warned) = there.kubectl("taint node n1 a=b:NoExecute");
    assert!(message.contains("node/n1 tainted"), "{message}{warned}");
}

fn lists_come_along_with_the_pods(there: &InstalledCluster<'_>, file: &Path) {
    let text = "apiVersion: podtolerationrestriction.admission.k8s.io/v1alpha1\nkind: Configuration\n\
                default: [{key: room, operator: Exists}]\n";
    std::fs::write(file, text).unwrap();
    let config = format!("--restriction-config={}", file.display());
    let (_, rejected) = there.failed(&["--apply", IMAGE, &config]);
    assert!(rejected.contains("add toleration-restriction to --rules"), "{rejected}");
    there.done(&["--apply", IMAGE, &config, "--rules=*,toleration-restriction"]);
    let validating = there.json("get validatingwebhookconfiguration taintward");
    let conditions = validating["webhooks"][0]["matchConditions"].as_array().map(Vec::len);
    assert_eq!(conditions, Some(2), "every pod is judged by what its namespace allows");
    let template = there.json("get deployment taintward-webhook")["spec"]["template"].clone();
    assert_eq!(template["metadata"]["annotations"]["taintward.io/restriction-config"], text);
    let (message, warned) = there.dry_run_pod(&template);
    assert!(message.contains("created (server dry run)") && warned.is_empty(), "{message}{warned}");
}

/// The webhook owns its CA. An edit by hand is reported, and reverted only with --force-conflicts.
fn what_others_changed_is_theirs(there: &InstalledCluster<'_>) {
    let patch = r#"[{"op":"add","path":"/webhooks/0/clientConfig/caBundle","value":"LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1BPT0KLS0tLS1FTkQgQ0VSVElGSUNBVEUtLS0tLQo="}]"#;
    let bundle = || {
        let object = there.json("get mutatingwebhookconfiguration taintward");
        object["webhooks"][0]["clientConfig"]["caBundle"].clone()
    };
    assert!(bundle().is_null());
    there.patch("mutatingwebhookconfiguration/taintward", patch);
    let before = bundle();
    there.done(&["--apply", IMAGE]);
    assert!(before.is_string() && bundle() == before, "{before}");
    there.kubectl("-n taintward-system scale deployment taintward --replicas=5");
    let (message, rejected) = there.failed(&["--apply", IMAGE]);
    assert!(
        rejected.starts_with("error: cannot apply deployment.apps/taintward: ")
            && rejected.contains("--force-conflicts"),
        "{rejected}"
    );
    assert!(!message.contains("webhookconfiguration"), "later objects stay unchanged: {message}");
    let message = there.done(&["--apply", IMAGE, "--force-conflicts"]);
    assert!(message.contains("deployment.apps/taintward configured\n"), "{message}");
    assert_eq!(there.json("get deployment taintward")["spec"]["replicas"], 2);
}

/// As the webhook's account could, where nothing limits it: another address, which is asked about everything.
fn what_was_tampered_with_is_put_back(there: &InstalledCluster<'_>) {
    let kind = "mutatingwebhookconfiguration";
    let spec = || there.json(&format!("get {kind} taintward"))["webhooks"].clone();
    let good = spec();
    let url = r#"{"op":"replace","path":"/webhooks/0/clientConfig","value":{"url":"https://192.0.2.6/"}}"#;
    let more = r#"{"op":"copy","from":"/webhooks/0","path":"/webhooks/-"},
        {"op":"replace","path":"/webhooks/1/name","value":"a.example.com"}"#;
    let nothing = r#"{"op":"replace","path":"/webhooks/0/objectSelector","value":{"matchLabels":{"a":"b"}}}"#;
    let deaf =
        r#"{"op":"add","path":"/webhooks/0/matchConditions/-","value":{"name":"no","expression":"false"}}"#;
    for tampered in [url, more, nothing, deaf] {
        there.patch(&format!("{kind}/taintward"), &format!("[{tampered}]"));
        assert_ne!(spec(), good, "{tampered}");
        let message = there.done(&["--apply", IMAGE]);
        assert!(
            message.contains(&format!("{kind}.admissionregistration.k8s.io/taintward configured\n")),
            "{message}"
        );
        let mut now = spec();
        // The CA of another address is not trusted; the webhook writes its own.
        now[0]["clientConfig"]["caBundle"] = good[0]["clientConfig"]["caBundle"].clone();
        assert_eq!(now, good, "{tampered}");
    }
    // Fields that another writer now owns, too, are reported first, as for every object.
    let rules = r#"[{"op":"replace","path":"/webhooks/0/rules/0/resources","value":["*/*"]}]"#;
    there.patch(&format!("{kind}/taintward"), rules);
    let (_, rejected) = there.failed(&["--apply", IMAGE]);
    assert!(rejected.contains("--force-conflicts") && rejected.contains("rules"), "{rejected}");
    there.done(&["--apply", IMAGE, "--force-conflicts"]);
    assert_eq!(spec()[0]["rules"], good[0]["rules"]);
    // A policy that no longer judges any request.
    let policy = "validatingadmissionpolicy/taintward-webhook-configurations";
    let never =
        r#"[{"op":"add","path":"/spec/matchConditions/-","value":{"name":"no","expression":"false"}}]"#;
    there.patch(policy, never);
    there.done(&["--apply", IMAGE]);
    let conditions = there.json(&format!("get {policy}"))["spec"]["matchConditions"].clone();
    assert_eq!(conditions.as_array().map(Vec::len), Some(1), "{conditions}");
    let again = there.done(&["--apply", IMAGE]);
    assert!(again.lines().all(|line| line.ends_with(" unchanged")), "{again}");
    // What an installation has put back is its own: the next one may change it.
    there.done(&["--apply", IMAGE, "--rules=*,brake"]);
    there.done(&["--apply", IMAGE]);
}

/// Here the API server runs alongside the nodes, until one has its address.
fn networks_of_api_servers_are_found(there: &InstalledCluster<'_>) {
    let from = || {
        let policy = there.json("get networkpolicy taintward-webhook")["spec"].clone();
        [&policy["ingress"][0]["from"], &policy["egress"][0]["to"]].map(Value::to_string)
    };
    let (_, warned) = there.reported(&["--apply", IMAGE]);
    assert!(warned.starts_with("warning: all pods of the cluster can connect to the webhook: "), "{warned}");
    assert!(warned.contains("--api-server-cidr") && from()[0].contains("0.0.0.0/0"), "{warned}");
    // An API server that listens on loopback has no endpoint.
    let address = "192.0.2.1";
    let slice = serde_json::json!({
        "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
        "metadata": {"name": "here", "namespace": "default", "labels": {"kubernetes.io/service-name": "kubernetes"}},
        "endpoints": [{"addresses": [address]}], "ports": [{"name": "https", "port": 6443}],
    });
    assert!(there.create(&slice).0.contains("created"));
    let (_, warned) = there.reported(&["--apply", IMAGE]);
    assert!(warned.contains("addresses (192.0.2.1) belong to nodes of the control plane"), "{warned}");
    there.kubectl("label node n1 node-role.kubernetes.io/control-plane=");
    let status = serde_json::json!({"status": {"addresses": [{"type": "InternalIP", "address": address}]}});
    there.kubectl(&format!("patch node n1 --subresource=status --type=merge --patch={status}"));
    let (_, reported) = there.reported(&["--apply", IMAGE]);
    assert!(
        reported.starts_with(&format!("API servers call from {address}/32, and only these networks")),
        "{reported}"
    );
    let [ingress, egress] = from();
    assert_eq!(ingress, format!("[{{\"ipBlock\":{{\"cidr\":\"{address}/32\"}}}}]"));
    assert!(egress.contains("0.0.0.0/0"), "a controller must find the next API server: {egress}");
    there.done(&["--apply", IMAGE]);
    assert!(from()[0].contains("0.0.0.0/0"), "the flag decides");
}

/// Only bindings and roles of an installation, after the command listed them; those of a part that runs stay.
fn what_earlier_flags_left_bound_goes(there: &InstalledCluster<'_>) {
    const EVERYWHERE: &str = "--api-server-cidr=0.0.0.0/0,::/0";
    let bound = |name: &str| {
        let kinds = ["clusterrolebinding", "clusterrole"];
        kinds
            .map(|kind| !there.kubectl(&format!("get {kind} {name} --ignore-not-found -o name")).0.is_empty())
    };
    let [pools, hold] = ["taintward-controller-dedicated-pools", "taintward-controller-toleration-hold"];
    assert_eq!((bound(pools), bound(hold)), ([true; 2], [false; 2]));
    let managed = ["--apply", IMAGE, EVERYWHERE, "--controllers=toleration-hold-controller"];
    let (message, _) = there.reported(&managed);
    assert!(
        message.ends_with(&format!("clusterrole.rbac.authorization.k8s.io/{pools} pruned\n")),
        "{message}"
    );
    assert_eq!((bound(pools), bound(hold)), ([false; 2], [true; 2]));

    // Another owner's role has a name that an installation may use.
    let other = "taintward-controller-stamp-taints";
    let role = serde_json::json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": other, "labels": {"app.kubernetes.io/name": "taintward"}},
        "rules": [],
    });
    assert!(there.create(&role).0.contains("created"));
    let (message, _) = there.reported(&["--apply", IMAGE, EVERYWHERE, "--dry-run=server"]);
    let binding = format!("clusterrolebinding.rbac.authorization.k8s.io/{hold}");
    assert!(message.contains(&format!("{binding} pruned (server dry run)\n")), "{message}");
    assert_eq!(bound(hold), [true; 2], "it was only tried");
    let (message, reported) = there.reported(&["--apply", IMAGE, EVERYWHERE]);
    let expected = format!("{binding}, clusterrole.rbac.authorization.k8s.io/{hold}");
    assert!(reported.ends_with(&format!("these flags do not need; deleting {expected}\n")), "{reported}");
    assert!(message.contains(&format!("{binding} pruned\n")) && !message.contains(other), "{message}");
    assert_eq!((bound(pools), bound(hold)), ([true; 2], [false; 2]));
    assert_eq!(bound(other), [false, true]);
    let again = there.done(&["--apply", IMAGE]);
    assert!(again.lines().all(|line| line.ends_with(" unchanged")), "{again}");

    let part = ["--apply", IMAGE, "--parts=controller"];
    let message = there.done(&part);
    assert!(!message.contains("pruned") && bound("taintward-webhook") == [true; 2], "{message}");
    there.kubectl("delete deployment taintward-webhook -n taintward-system");
    let (message, _) = there.reported(&part);
    assert!(
        message.contains("clusterrolebinding.rbac.authorization.k8s.io/taintward-webhook pruned\n"),
        "{message}"
    );
    assert!(
        bound("taintward-webhook") == [false; 2] && bound("taintward-controller") == [true; 2],
        "{message}"
    );
    there.kubectl(&format!("delete clusterrole {other}"));
    there.done(&["--apply", IMAGE]);
}

fn it_goes_when_pools_are_gone(there: &InstalledCluster<'_>) {
    let pool = serde_json::json!({
        "apiVersion": "taintward.io/v1alpha1",
        "kind": "DedicatedPool",
        "metadata": {"name": "gpu", "finalizers": ["taintward.io/pool"]},
        "spec": {
            "taint": {"key": "example.com/gpu"},
            "nodes": {"names": ["n1"]},
            "users": {"serviceAccounts": [{"namespace": "shop", "name": "default"}]},
        },
    });
    let (message, warned) = there.create(&pool);
    assert!(message.contains("dedicatedpool.taintward.io/gpu created"), "{message}{warned}");
    let (message, rejected) = there.failed(&["--uninstall", "--apply"]);
    assert!(
        message.is_empty() && rejected.contains("(gpu)") && rejected.contains("--keep-pools"),
        "{message}{rejected}"
    );
    let tried = there.done(&["--uninstall", "--apply", "--crds", "--dry-run=server"]);
    assert!(tried.lines().all(|line| line.ends_with(" deleted (server dry run)")), "{tried}");
    // No controller cleans the nodes.
    let (message, rejected) = there.failed(&["--uninstall", "--apply", "--crds", "--timeout=1s"]);
    assert!(
        rejected.contains("still exist after 1s: gpu. The controller has not yet removed their taints"),
        "{rejected}"
    );
    assert!(
        message.starts_with("validatingwebhookconfiguration") && !message.contains("deployment"),
        "{message}"
    );
    there.patch("dedicatedpool/gpu", r#"[{"op":"remove","path":"/metadata/finalizers"}]"#);
    // What the pods would have written.
    let lease = serde_json::json!({
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": "taintward", "namespace": "taintward-system"},
    });
    there.create(&lease);
    let message = there.done(&["--uninstall", "--apply", "--crds"]);
    assert!(message.ends_with("namespace/taintward-system deleted\n"), "{message}");
    for gone in ["secret/taintward-webhook-certificate", "lease.coordination.k8s.io/taintward"] {
        assert!(message.contains(&format!("{gone} deleted\n")), "{message}");
    }
    assert_eq!(there.leftovers(), Vec::<String>::new());
    assert_eq!(
        there.done(&["--uninstall", "--apply", "--crds", "--dry-run=client"]).lines().count(),
        there.ending()
    );
    let role = serde_json::json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": "taintward-webhook", "labels": {"app.kubernetes.io/name": "taintward"}},
        "rules": [],
    });
    there.create(&role);
    let (message, reported) = there.reported(&["--uninstall", "--apply"]);
    let kept = "keeping clusterrole.rbac.authorization.k8s.io/taintward-webhook: it does not have the labels";
    assert!(reported.contains(kept) && !message.contains("clusterrole."), "{message}{reported}");
    assert!(there.kubectl("get clusterrole taintward-webhook -o name").0.contains("taintward-webhook"));
}
