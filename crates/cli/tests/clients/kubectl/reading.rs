//! Tests kubectl's get, describe, watch and discovery, and the errors for what the sandbox lacks.

use crate::cli::timeout::eventually;
use crate::kubectl::Stage;
use std::fs::{self, File};

#[test]
fn objects_are_shown_in_every_form() {
    let Some(stage) = Stage::set("objects_are_shown_in_every_form", &[]) else { return };
    stage.settled();
    stage.contains("get nodes", &["NAME", "STATUS", "ROLES", "VERSION", "n1", "Ready", "v1.36.3"]);
    stage.contains("get nodes -o wide", &["INTERNAL-IP", "10.0.0.1", "Taintward sandbox"]);
    stage.contains("get node n1 -o yaml", &["kind: Node", "  name: n1\n", "podCIDR: 10.244.0.0/24"]);
    stage.contains("get node n1 -o json", &["\"kind\": \"Node\"", "\"name\": \"n1\""]);
    assert_eq!(stage.ok("get nodes -o jsonpath={.items[*].metadata.name}"), "n1 n2 n3 n4 n5 n6");
    let web = stage.contains("get pods -n shop -l app=web -o wide", &["NOMINATED NODE", "Running", "1/1"]);
    assert!(web.lines().count() == 7 && !web.contains("cart"), "{web}");
    let here = stage.ok("get pods -A --field-selector spec.nodeName=n1 -o name");
    assert!(here.contains("pod/agent-"), "{here}");
    let agents = stage.ok("get pods -A --field-selector spec.nodeName=n1 -l app=agent -o name");
    assert_eq!(agents.lines().count(), 1, "{agents}");
    stage.contains("get deploy,ds,pdb -n shop", &["deployment.apps/web", "6/6", "daemonset.apps/agent"]);
    stage.contains("get all -n shop", &["pod/web-", "replicaset.apps/web-", "deployment.apps/search"]);
    stage.contains("get events -n shop", &["LAST SEEN", "Scheduled", "Successfully assigned shop/"]);
    stage.contains("events -n shop --for deploy/web", &["ScalingReplicaSet", "Scaled up replica set web-"]);
    stage.fails("get pods none", "Error from server (NotFound): pods \"none\" not found");
    stage.fails("get nosuch", "the server doesn't have a resource type \"nosuch\"");
    stage
        .contains("describe node n1", &["PodCIDR:", "MemoryPressure", "HolderIdentity:  n1", "(3 in total)"]);
    let pod = &["Controlled By:", "op=Exists for 10s", "QoS Class:                    Burstable"];
    stage.contains("describe pod -n shop -l app=cart", pod);
    let name = stage.ok("get pods -n shop -l app=cart -o jsonpath={.items[0].metadata.name}");
    stage.contains(&format!("describe pod -n shop {name}"), &["Successfully assigned shop/cart-"]);
    stage.contains("describe deploy -n shop web", &["6 desired | 6 updated | 6 total | 6 available"]);
}

#[test]
fn all_resources_can_be_read() {
    let Some(stage) = Stage::set("all_resources_can_be_read", &[]) else { return };
    stage.contains("version", &["Client Version:", "Server Version: v1.36.3+taintward-sandbox"]);
    stage.contains("api-versions", &["apps/v1\n", "policy/v1\n", "\nv1\n"]);
    stage.contains("api-resources", &["poddisruptionbudgets", "pdb", "policy/v1", "PodDisruptionBudget"]);
    stage.contains("explain pod.spec.tolerations", &["tolerationSeconds\t<integer>", "<[]Toleration>"]);
    stage.contains("cluster-info", &["control plane", "is running at", "https://127.0.0.1:"]);
    assert_eq!(stage.ok("auth can-i delete pods"), "yes\n");
    stage.contains("auth can-i --list", &["*.*"]);
    stage.contains("auth whoami", &["sandbox", "system:masters"]);
}

#[test]
fn unsupported_requests_are_refused() {
    let Some(stage) = Stage::set("unsupported_requests_are_refused", &["--empty"]) else { return };
    stage.until("get serviceaccounts", |message| message.contains("default"));
    stage.ok("run solo --image=x");
    stage.ok("wait --for=condition=Ready pod/solo --timeout=60s");
    assert_eq!(stage.ok("logs solo") + &stage.ok("logs -f solo"), "");
    stage.fails("logs -p solo", "previous terminated container \"solo\" in pod \"solo\" not found");
    stage.fails("logs solo -c other", "container other is not valid for pod solo");
    stage.fails("exec solo -- ls", "nothing runs in this sandbox: a pod has no exec");
    stage.fails("attach solo", "nothing runs in this sandbox: a pod has no attach");
    stage.fails("port-forward pod/solo :80", "nothing runs in this sandbox: a pod has no portforward");
    stage.fails("top nodes", "Metrics API not available");
    stage.file(
        "policy.yaml",
        "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicy\nmetadata: {name: none}\n\
         spec: {validations: [{expression: 'false'}]}\n",
    );
    stage.fails("create -f policy.yaml", "evaluates no admission policies");
}

#[test]
fn a_watch_tells_what_comes() {
    let Some(stage) = Stage::set("a_watch_tells_what_comes", &["--empty"]) else { return };
    let seen = stage.folder.join("seen");
    let mut watch =
        stage.command(&["get", "nodes", "-w"]).stdout(File::create(&seen).unwrap()).spawn().unwrap();
    let reads =
        |what: &str| eventually(what, || fs::read_to_string(&seen).ok().filter(|text| text.contains(what)));
    let before = reads("n6");
    assert!(!before.contains("SchedulingDisabled"), "{before}");
    stage.ok("cordon n3");
    let after = reads("Ready,SchedulingDisabled");
    let _ = watch.kill();
    let _ = watch.wait();
    let cordoned: Vec<&str> = after.lines().filter(|line| line.contains("SchedulingDisabled")).collect();
    assert!(cordoned.iter().all(|line| line.starts_with("n3 ")), "{after}");
}

#[test]
fn without_the_kubeconfig_nothing_can_be_read() {
    let Some(stage) = Stage::set("without_the_kubeconfig_nothing_can_be_read", &["--empty"]) else {
        return;
    };
    stage.fails("get nodes --token=sandbox", "You must be logged in to the server");
    stage.fails("create namespace a --token=sandbox", "You must be logged in to the server");
    stage.until("get serviceaccounts", |message| message.contains("default"));
    let token = stage.ok("create token default");
    stage.contains(&format!("get nodes --token={}", token.trim()), &["n6"]);
}

#[test]
fn what_every_cluster_has_is_there() {
    let Some(stage) = Stage::set("what_every_cluster_has_is_there", &["--empty"]) else { return };
    stage.until("get serviceaccounts", |message| message.contains("default"));
    stage.contains("get clusterroles view edit admin cluster-admin", &["CREATED AT", "view "]);
    stage.contains("describe clusterrole view", &["deployments.apps", "[get list watch]"]);
    stage.ok("create rolebinding readers --clusterrole=view --user=jane");
    stage.contains("get rolebinding readers", &["readers "]);
    stage.contains("get crds", &["dedicatedpools.taintward.io", "taintwardpolicies.taintward.io"]);
    stage.ok("create service nodeport front --tcp=80");
    stage.ok("patch service front -p {\"spec\":{\"ports\":[{\"port\":80,\"name\":\"http\"}]}}");
    assert_eq!(stage.ok("get service front -o jsonpath={.spec.ports[*].name}"), "http");
    stage.ok("create job sums --image=x");
    stage.ok("wait --for=condition=Complete job/sums --timeout=60s");
    stage.contains("get job sums", &["Complete", "1/1"]);
    stage.contains("get pods -l job-name=sums", &["Completed"]);
    stage.contains("get --raw /", &["/apis/apps/v1", "/version"]);
    // Lists are what kubectl reads the older OpenAPI for.
    stage.file(
        "list.yaml",
        "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n",
    );
    stage.contains("apply -f list.yaml", &["configmap/a created"]);
}
