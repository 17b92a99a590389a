//! Tests what moves pods: taints, cordons, drains, rollouts.

use crate::kubectl::Stage;
use std::process::{Child, Command, Stdio};
use taintward_envtest::binaries;

const WEB_ON_N1: &str = "get pods -n shop -l app=web --field-selector spec.nodeName=n1 -o name";

#[test]
fn a_taint_moves_pods_and_events_name_it() {
    let Some(stage) = Stage::set("a_taint_moves_pods_and_events_name_it", &[]) else { return };
    stage.settled();
    let before = stage.ok(WEB_ON_N1);
    assert_eq!(before.lines().count(), 1, "{before}");
    assert_eq!(stage.ok("taint nodes n1 dedicated=db:NoExecute"), "node/n1 tainted\n");
    stage.until(WEB_ON_N1, str::is_empty);
    stage.settled();
    let web = stage.ok("get pods -n shop -l app=web -o name");
    assert!(web.lines().count() == 6 && !web.contains(before.trim()), "{before} became {web}");
    let agents = stage.ok("get pods -n shop -l app=agent --field-selector spec.nodeName=n1 -o name");
    assert_eq!(agents.lines().count(), 1, "pods that tolerate it stay: {agents}");
    stage.until("get events -n shop", |message| {
        message
            .lines()
            .any(|line| line.contains("TaintManagerEviction") && line.contains("dedicated=db:NoExecute"))
    });
    stage.contains("describe node n1", &["Taints:             dedicated=db:NoExecute"]);
    stage.fails("taint nodes n1 dedicated=new:NoExecute", "--overwrite is false");
    assert_eq!(stage.ok("taint nodes n1 dedicated=new:NoExecute --overwrite"), "node/n1 modified\n");
    assert_eq!(stage.ok("get node n1 -o jsonpath={.spec.taints[*].value}"), "new");
    assert_eq!(stage.ok("taint nodes n1 dedicated-"), "node/n1 untainted\n");
    stage.fails("taint nodes n1 dedicated-", "taint \"dedicated\" not found");
    assert_eq!(stage.ok("get node n1 -o jsonpath={.spec.taints}"), "");
}

#[test]
fn a_drain_keeps_the_budget() {
    let Some(stage) = Stage::set("a_drain_keeps_the_budget", &[]) else { return };
    stage.settled();
    stage.fails("drain n1 --timeout=30s", "cannot delete DaemonSet-managed Pods");
    assert_eq!(stage.ok("uncordon n1"), "node/n1 uncordoned\n");
    stage.ok_with(&[
        "patch",
        "pdb",
        "-n",
        "shop",
        "web",
        "--type=merge",
        "-p",
        r#"{"spec":{"minAvailable":6}}"#,
    ]);
    stage.until("get pdb -n shop web -o jsonpath={.status.disruptionsAllowed}", |message| message == "0");
    stage.fails("drain n1 --ignore-daemonsets --timeout=4s", "would violate the pod's disruption budget");
    assert_eq!(stage.ok(WEB_ON_N1).lines().count(), 1, "the budget protects it");
    stage.ok_with(&[
        "patch",
        "pdb",
        "-n",
        "shop",
        "web",
        "--type=merge",
        "-p",
        r#"{"spec":{"minAvailable":4}}"#,
    ]);
    let message = stage.ok("drain n1 --ignore-daemonsets --timeout=60s");
    assert!(message.contains("evicting pod shop/web-") && message.contains("node/n1 drained"), "{message}");
    assert_eq!(stage.ok(WEB_ON_N1), "");
    stage.contains("get node n1", &["Ready,SchedulingDisabled"]);
    assert_eq!(stage.ok("cordon n1"), "node/n1 already cordoned\n");
    stage.ok("uncordon n1");
    assert!(!stage.ok("get node n1").contains("SchedulingDisabled"));
    stage.until("get node n1 -o jsonpath={.spec.taints}", str::is_empty);
}

#[test]
fn a_deployment_is_rolled_out_and_back() {
    let Some(stage) = Stage::set("a_deployment_is_rolled_out_and_back", &["--empty"]) else { return };
    assert_eq!(stage.ok("create deployment shop --image=x:1 --replicas=2"), "deployment.apps/shop created\n");
    stage.contains(
        "create pdb shop --selector=app=shop --min-available=1",
        &["poddisruptionbudget.policy/shop created"],
    );
    let status = "rollout status deploy/shop --timeout=60s";
    stage.contains(status, &["successfully rolled out"]);
    stage.ok("wait --for=condition=Available deploy/shop --timeout=60s");
    stage.fails("wait --for=condition=Never deploy/shop --timeout=1s", "timed out waiting");
    stage.ok("scale deploy shop --replicas=3");
    stage.ok("wait --for=jsonpath={.status.readyReplicas}=3 deploy/shop --timeout=60s");
    stage.ok("set image deploy/shop x=x:2");
    stage.contains(status, &["successfully rolled out"]);
    stage.until("get pods -l app=shop -o jsonpath={.items[*].spec.containers[0].image}", |message| {
        message == "x:2 x:2 x:2"
    });
    stage.contains("rollout history deploy/shop", &["REVISION", "1 ", "2 "]);
    stage.contains("rollout undo deploy/shop", &["deployment.apps/shop rolled back"]);
    stage.contains(status, &["successfully rolled out"]);
    assert_eq!(stage.ok("get deploy shop -o jsonpath={.spec.template.spec.containers[0].image}"), "x:1");
    let history = stage.ok("rollout history deploy/shop");
    assert!(!history.contains("\n1 ") && history.contains("\n3 "), "{history}");
    let before = stage.ok("get pods -l app=shop -o name");
    stage.contains("rollout restart deploy/shop", &["deployment.apps/shop restarted"]);
    stage.contains(status, &["successfully rolled out"]);
    stage.until("get pods -l app=shop -o name", |message| before.lines().all(|pod| !message.contains(pod)));
    let events = stage.ok("get events");
    assert!(!events.contains("from 0 to 0"), "{events}");
    stage.ok("delete deploy shop --cascade=foreground --timeout=60s");
    stage.until("get pods,rs -o name", |message| !message.contains("shop"));
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
    let Some(ours) = Stage::set(test, &["--empty", "--without", "taintward"]) else { return };
    let Some(theirs) = Stage::set(test, &["--empty", "--without", "taintward,scheduler"]) else { return };
    let kubeconfig = format!("--kubeconfig={}", theirs.folder.join("kubeconfig").display());
    let mut scheduler = Command::new(scheduler);
    scheduler
        .args([&*kubeconfig, "--secure-port=0"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let _running = Ended(scheduler.spawn().unwrap());
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
    let placed = |stage: &Stage, replicas: usize| {
        stage.file(
            "web.yaml",
            &format!(
                "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: web}}\nspec: {{replicas: {replicas}, selector: \
                 {{matchLabels: {{app: web}}}}, template: {{metadata: {{labels: {{app: web}}}}, spec: {{{}}}}}}}\n",
                container("150m")
            ),
        );
        stage.ok("apply -f web.yaml");
        stage.ok("rollout status deploy/web --timeout=60s");
        let nodes = stage.ok("get pods -l app=web -o jsonpath={.items[*].spec.nodeName}");
        let mut nodes: Vec<String> = nodes.split_whitespace().map(String::from).collect();
        nodes.sort();
        stage.ok("delete -f web.yaml");
        stage.ok("wait --for=delete pod -l app=web --timeout=60s");
        nodes
    };
    for stage in [&ours, &theirs] {
        stage.until("get serviceaccounts", |message| message.contains("default"));
        stage.file("taken.yaml", &taken);
        stage.ok("apply -f taken.yaml");
        stage.ok("wait --for=condition=Ready pod --all --timeout=60s");
    }
    for replicas in [3, 7, 14] {
        let (ours, theirs) = (placed(&ours, replicas), placed(&theirs, replicas));
        assert_eq!(ours, theirs, "{replicas} replicas");
        assert_eq!(ours.len(), replicas);
    }
}

/// A process that ends with the test.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
