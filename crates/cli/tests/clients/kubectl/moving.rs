//! Tests what moves pods: taints, cordons, drains, rollouts.

use crate::kubectl::KubectlHarness;
use std::process::{Child, Command, Stdio};
use taintward_envtest::binaries;

const WEB_ON_N1: &str = "get pods -n shop -l app=web --field-selector spec.nodeName=n1 -o name";

#[test]
fn a_taint_moves_pods_and_events_name_it() {
    let Some(harness) = KubectlHarness::set("a_taint_moves_pods_and_events_name_it", &[]) else { return };
    harness.settled();
    let before = harness.ok(WEB_ON_N1);
    assert_eq!(before.lines().count(), 1, "{before}");
    assert_eq!(harness.ok("taint nodes n1 dedicated=db:NoExecute"), "node/n1 tainted\n");
    harness.until(WEB_ON_N1, str::is_empty);
    harness.settled();
    let web = harness.ok("get pods -n shop -l app=web -o name");
    assert!(web.lines().count() == 6 && !web.contains(before.trim()), "{before} became {web}");
    let agents = harness.ok("get pods -n shop -l app=agent --field-selector spec.nodeName=n1 -o name");
    assert_eq!(agents.lines().count(), 1, "pods that tolerate it stay: {agents}");
    harness.until("get events -n shop", |message| {
        message
            .lines()
            .any(|line| line.contains("TaintManagerEviction") && line.contains("dedicated=db:NoExecute"))
    });
    harness.contains("describe node n1", &["Taints:             dedicated=db:NoExecute"]);
    harness.fails("taint nodes n1 dedicated=new:NoExecute", "--overwrite is false");
    assert_eq!(harness.ok("taint nodes n1 dedicated=new:NoExecute --overwrite"), "node/n1 modified\n");
    assert_eq!(harness.ok("get node n1 -o jsonpath={.spec.taints[*].value}"), "new");
    assert_eq!(harness.ok("taint nodes n1 dedicated-"), "node/n1 untainted\n");
    harness.fails("taint nodes n1 dedicated-", "taint \"dedicated\" not found");
    assert_eq!(harness.ok("get node n1 -o jsonpath={.spec.taints}"), "");
}

#[test]
fn a_drain_keeps_the_budget() {
    let Some(harness) = KubectlHarness::set("a_drain_keeps_the_budget", &[]) else { return };
    harness.settled();
    harness.fails("drain n1 --timeout=30s", "cannot delete DaemonSet-managed Pods");
    assert_eq!(harness.ok("uncordon n1"), "node/n1 uncordoned\n");
    harness.ok_with(&[
        "patch",
        "pdb",
        "-n",
        "shop",
        "web",
        "--type=merge",
        "-p",
        r#"{"spec":{"minAvailable":6}}"#,
    ]);
    harness.until("get pdb -n shop web -o jsonpath={.status.disruptionsAllowed}", |message| message == "0");
    harness.fails("drain n1 --ignore-daemonsets --timeout=4s", "would violate the pod's disruption budget");
    assert_eq!(harness.ok(WEB_ON_N1).lines().count(), 1, "the budget protects it");
    harness.ok_with(&[
        "patch",
        "pdb",
        "-n",
        "shop",
        "web",
        "--type=merge",
        "-p",
        r#"{"spec":{"minAvailable":4}}"#,
    ]);
    let message = harness.ok("drain n1 --ignore-daemonsets --timeout=60s");
    assert!(message.contains("evicting pod shop/web-") && message.contains("node/n1 drained"), "{message}");
    assert_eq!(harness.ok(WEB_ON_N1), "");
    harness.contains("get node n1", &["Ready,SchedulingDisabled"]);
    assert_eq!(harness.ok("cordon n1"), "node/n1 already cordoned\n");
    harness.ok("uncordon n1");
    assert!(!harness.ok("get node n1").contains("SchedulingDisabled"));
    harness.until("get node n1 -o jsonpath={.spec.taints}", str::is_empty);
}

#[test]
fn a_deployment_is_rolled_out_and_back() {
    let Some(harness) = KubectlHarness::set("a_deployment_is_rolled_out_and_back", &["--empty"]) else {
        return;
    };
    assert_eq!(
        harness.ok("create deployment shop --image=x:1 --replicas=2"),
        "deployment.apps/shop created\n"
    );
    harness.contains(
        "create pdb shop --selector=app=shop --min-available=1",
        &["poddisruptionbudget.policy/shop created"],
    );
    let status = "rollout status deploy/shop --timeout=60s";
    harness.contains(status, &["successfully rolled out"]);
    harness.ok("wait --for=condition=Available deploy/shop --timeout=60s");
    harness.fails("wait --for=condition=Never deploy/shop --timeout=1s", "timed out waiting");
    harness.ok("scale deploy shop --replicas=3");
    harness.ok("wait --for=jsonpath={.status.readyReplicas}=3 deploy/shop --timeout=60s");
    harness.ok("set image deploy/shop x=x:2");
    harness.contains(status, &["successfully rolled out"]);
    harness.until("get pods -l app=shop -o jsonpath={.items[*].spec.containers[0].image}", |message| {
        message == "x:2 x:2 x:2"
    });
    harness.contains("rollout history deploy/shop", &["REVISION", "1 ", "2 "]);
    harness.contains("rollout undo deploy/shop", &["deployment.apps/shop rolled back"]);
    harness.contains(status, &["successfully rolled out"]);
    assert_eq!(harness.ok("get deploy shop -o jsonpath={.spec.template.spec.containers[0].image}"), "x:1");
    let history = harness.ok("rollout history deploy/shop");
    assert!(!history.contains("\n1 ") && history.contains("\n3 "), "{history}");
    let before = harness.ok("get pods -l app=shop -o name");
    harness.contains("rollout restart deploy/shop", &["deployment.apps/shop restarted"]);
    harness.contains(status, &["successfully rolled out"]);
    harness.until("get pods -l app=shop -o name", |message| before.lines().all(|pod| !message.contains(pod)));
    let events = harness.ok("get events");
    assert!(!events.contains("from 0 to 0"), "{events}");
    harness.ok("delete deploy shop --cascade=foreground --timeout=60s");
    harness.until("get pods,rs -o name", |message| !message.contains("shop"));
}

/// The real kube-scheduler gets the same pods for comparison. No two nodes are equally full, so that the result is not
/// random.
#[test]
fn pods_are_spread_as_kube_scheduler_spreads_them() {
    let test = "pods_are_spread_as_kube_scheduler_spreads_them";
    let Some(tools) = binaries::for_test(test) else { return };
    let scheduler = match tools.path("kube-scheduler") {
        Ok(path) => path,
        Err(why) => {
            assert!(std::env::var("CI").as_deref() != Ok("true"), "{test}: {why:#}");
            return binaries::skipped(test, &format!("{why:#}"));
        }
    };
    let Some(ours) = KubectlHarness::set(test, &["--empty", "--without", "taintward"]) else { return };
    let Some(theirs) = KubectlHarness::set(test, &["--empty", "--without", "taintward,scheduler"]) else {
        return;
    };
    let kubeconfig = format!("--kubeconfig={}", theirs.folder.join("kubeconfig").display());
    let mut scheduler = Command::new(scheduler);
    scheduler
        .args([&*kubeconfig, "--secure-port=0"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let _running = EndedPod(scheduler.spawn().unwrap());
    let container = |cpu: &str| {
        format!("containers: [{{name: c, image: i, resources: {{requests: {{cpu: {cpu}, memory: 200Mi}}}}}}]")
    };
    let taken: String = ["3000m", "1200m", "100m", "5000m", "2000m", "400m"]
        .iter()
        .enumerate()
        .map(|(at, cpu)| {
            let (at, container) = (at + 1, container(cpu));
            format!("---\n{{apiVersion: v1, kind: Pod, metadata: {{name: fat{at}}}, spec: {{nodeName: n{at}, {container}}}}}\n")
        })
        .collect();
    let web = format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: web}}\nspec: {{replicas: 0, selector: {{matchLabels: \
         {{app: web}}}}, template: {{metadata: {{labels: {{app: web}}}}, spec: {{{}}}}}}}\n",
        container("150m")
    );
    let placed = |harness: &KubectlHarness, replicas: usize| {
        // kube-scheduler watches ReplicaSets and pods by two connections, and spreads no pod whose ReplicaSet it does not
        // know yet. So the ReplicaSet exists before its pods.
        harness.file("web.yaml", &web);
        harness.ok("apply -f web.yaml");
        harness.until("get rs -l app=web -o name", |message| message.contains("replicaset.apps/web-"));
        harness.ok(&format!("scale deploy/web --replicas={replicas}"));
        harness.ok("rollout status deploy/web --timeout=60s");
        let nodes = harness.ok("get pods -l app=web -o jsonpath={.items[*].spec.nodeName}");
        let mut nodes: Vec<String> = nodes.split_whitespace().map(String::from).collect();
        nodes.sort();
        harness.ok("delete -f web.yaml");
        harness.ok("wait --for=delete pod -l app=web --timeout=60s");
        nodes
    };
    for harness in [&ours, &theirs] {
        harness.until("get serviceaccounts", |message| message.contains("default"));
        harness.file("taken.yaml", &taken);
        harness.ok("apply -f taken.yaml");
        harness.ok("wait --for=condition=Ready pod --all --timeout=60s");
    }
    for replicas in [3, 7, 14] {
        let (ours, theirs) = (placed(&ours, replicas), placed(&theirs, replicas));
        assert_eq!(ours, theirs, "{replicas} replicas");
        assert_eq!(ours.len(), replicas);
    }
}

/// A process that ends with the test.
struct EndedPod(Child);

impl Drop for EndedPod {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
