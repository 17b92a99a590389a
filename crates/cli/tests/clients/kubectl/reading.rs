//! Tests kubectl's get, describe, watch and discovery, and the errors for what the sandbox lacks.

use crate::cli::timeout::eventually;
use crate::kubectl::KubectlHarness;
use std::fs::{self, File};

#[test]
fn objects_are_shown_in_every_form() {
    let Some(harness) = KubectlHarness::set("objects_are_shown_in_every_form", &[]) else { return };
    harness.settled();
    harness.contains("get nodes", &["NAME", "STATUS", "ROLES", "VERSION", "n1", "Ready", "v1.36.3"]);
    harness.contains("get nodes -o wide", &["INTERNAL-IP", "10.0.0.1", "Taintward sandbox"]);
    harness.contains("get node n1 -o yaml", &["kind: Node", "  name: n1\n", "podCIDR: 10.244.0.0/24"]);
    harness.contains("get node n1 -o json", &["\"kind\": \"Node\"", "\"name\": \"n1\""]);
    assert_eq!(harness.ok("get nodes -o jsonpath={.items[*].metadata.name}"), "n1 n2 n3 n4 n5 n6");
    let web = harness.contains("get pods -n shop -l app=web -o wide", &["NOMINATED NODE", "Running", "1/1"]);
    assert!(web.lines().count() == 7 && !web.contains("cart"), "{web}");
    let here = harness.ok("get pods -A --field-selector spec.nodeName=n1 -o name");
    assert!(here.contains("pod/agent-"), "{here}");
    let agents = harness.ok("get pods -A --field-selector spec.nodeName=n1 -l app=agent -o name");
    assert_eq!(agents.lines().count(), 1, "{agents}");
    harness.contains("get deploy,ds,pdb -n shop", &["deployment.apps/web", "6/6", "daemonset.apps/agent"]);
    harness.contains("get all -n shop", &["pod/web-", "replicaset.apps/web-", "deployment.apps/search"]);
    harness.contains("get events -n shop", &["LAST SEEN", "Scheduled", "Successfully assigned shop/"]);
    harness.contains("events -n shop --for deploy/web", &["ScalingReplicaSet", "Scaled up replica set web-"]);
    harness.fails("get pods none", "Error from server (NotFound): pods \"none\" not found");
    harness.fails("get nosuch", "the server doesn't have a resource type \"nosuch\"");
    harness
        .contains("describe node n1", &["PodCIDR:", "MemoryPressure", "HolderIdentity:  n1", "(3 in total)"]);
    let pod = &["Controlled By:", "op=Exists for 10s", "QoS Class:                    Burstable"];
    harness.contains("describe pod -n shop -l app=cart", pod);
    let name = harness.ok("get pods -n shop -l app=cart -o jsonpath={.items[0].metadata.name}");
    harness.contains(&format!("describe pod -n shop {name}"), &["Successfully assigned shop/cart-"]);
    harness.contains("describe deploy -n shop web", &["6 desired | 6 updated | 6 total | 6 available"]);
}

#[test]
fn all_resources_can_be_read() {
    let Some(harness) = KubectlHarness::set("all_resources_can_be_read", &[]) else { return };
    harness.contains("version", &["Client Version:", "Server Version: v1.36.3+taintward-sandbox"]);
    harness.contains("api-versions", &["apps/v1\n", "policy/v1\n", "\nv1\n"]);
    harness.contains("api-resources", &["poddisruptionbudgets", "pdb", "policy/v1", "PodDisruptionBudget"]);
    harness.contains("explain pod.spec.tolerations", &["tolerationSeconds\t<integer>", "<[]Toleration>"]);
    harness.contains("cluster-info", &["control plane", "is running at", "https://127.0.0.1:"]);
    assert_eq!(harness.ok("auth can-i delete pods"), "yes\n");
    harness.contains("auth can-i --list", &["*.*"]);
    harness.contains("auth whoami", &["sandbox", "system:masters"]);
}

#[test]
fn unsupported_requests_are_refused() {
    let Some(harness) = KubectlHarness::set("unsupported_requests_are_refused", &["--empty"]) else { return };
    harness.until("get serviceaccounts", |message| message.contains("default"));
    harness.ok("run solo --image=x");
    harness.ok("wait --for=condition=Ready pod/solo --timeout=60s");
    assert_eq!(harness.ok("logs solo") + &harness.ok("logs -f solo"), "");
    harness.fails("logs -p solo", "previous terminated container \"solo\" in pod \"solo\" not found");
    harness.fails("logs solo -c other", "container other is not valid for pod solo");
    harness.fails("exec solo -- ls", "nothing runs in this sandbox: a pod has no exec");
    harness.fails("attach solo", "nothing runs in this sandbox: a pod has no attach");
    harness.fails("port-forward pod/solo :80", "nothing runs in this sandbox: a pod has no portforward");
    harness.fails("top nodes", "Metrics API not available");
    harness.file(
        "policy.yaml",
        "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicy\nmetadata: {name: none}\n\
         spec: {validations: [{expression: 'false'}]}\n",
    );
    harness.fails("create -f policy.yaml", "evaluates no admission policies");
}

#[test]
fn a_watch_tells_what_comes() {
    let Some(harness) = KubectlHarness::set("a_watch_tells_what_comes", &["--empty"]) else { return };
    let seen = harness.folder.join("seen");
    let mut watch =
        harness.command(&["get", "nodes", "-w"]).stdout(File::create(&seen).unwrap()).spawn().unwrap();
    let reads =
        |what: &str| eventually(what, || fs::read_to_string(&seen).ok().filter(|text| text.contains(what)));
    let before = reads("n6");
    assert!(!before.contains("SchedulingDisabled"), "{before}");
    harness.ok("cordon n3");
    let after = reads("Ready,SchedulingDisabled");
    let _ = watch.kill();
    let _ = watch.wait();
    let cordoned: Vec<&str> = after.lines().filter(|line| line.contains("SchedulingDisabled")).collect();
    assert!(cordoned.iter().all(|line| line.starts_with("n3 ")), "{after}");
}

#[test]
fn without_the_kubeconfig_nothing_can_be_read() {
    let Some(harness) = KubectlHarness::set("without_the_kubeconfig_nothing_can_be_read", &["--empty"])
    else {
        return;
    };
    harness.fails("get nodes --token=sandbox", "You must be logged in to the server");
    harness.fails("create namespace a --token=sandbox", "You must be logged in to the server");
    harness.until("get serviceaccounts", |message| message.contains("default"));
    let token = harness.ok("create token default");
    harness.contains(&format!("get nodes --token={}", token.trim()), &["n6"]);
}

#[test]
fn what_every_cluster_has_is_there() {
    let Some(harness) = KubectlHarness::set("what_every_cluster_has_is_there", &["--empty"]) else { return };
    harness.until("get serviceaccounts", |message| message.contains("default"));
    harness.contains("get clusterroles view edit admin cluster-admin", &["CREATED AT", "view "]);
    harness.contains("describe clusterrole view", &["deployments.apps", "[get list watch]"]);
    harness.ok("create rolebinding readers --clusterrole=view --user=jane");
    harness.contains("get rolebinding readers", &["readers "]);
    harness.contains(
        "get crds",
        &["dedicatedpools.taintward.io", "evictionpolicies.taintward.io", "tolerationpolicies.taintward.io"],
    );
    harness.ok("create service nodeport front --tcp=80");
    harness.ok("patch service front -p {\"spec\":{\"ports\":[{\"port\":80,\"name\":\"http\"}]}}");
    assert_eq!(harness.ok("get service front -o jsonpath={.spec.ports[*].name}"), "http");
    harness.ok("create job sums --image=x");
    harness.ok("wait --for=condition=Complete job/sums --timeout=60s");
    harness.contains("get job sums", &["Complete", "1/1"]);
    harness.contains("get pods -l job-name=sums", &["Completed"]);
    harness.contains("get --raw /", &["/apis/apps/v1", "/version"]);
    // Lists are what kubectl reads the older OpenAPI for.
    harness.file(
        "list.yaml",
        "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n",
    );
    harness.contains("apply -f list.yaml", &["configmap/a created"]);
}
