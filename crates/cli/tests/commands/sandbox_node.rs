//! Tests `taintward sandbox node`: faults of nodes, finding the sandbox, and refusing other clusters.

use crate::cli::running::{RunningSandbox, TestFolder, request, taintward, text};
use serde_json::json;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::process::Command;

/// The program with a home folder in which it finds nothing of this machine.
fn at_home(folder: &TestFolder, arguments: &[&str]) -> Command {
    let mut command = taintward(arguments);
    command.env_remove("KUBECONFIG").env_remove("KUBERNETES_SERVICE_HOST");
    command.env("TMPDIR", folder.path()).env("HOME", folder.path());
    command
}

/// `taintward sandbox node ...`: exit code, standard output, standard error.
fn run_node(folder: &TestFolder, typed: &str) -> (i32, String, String) {
    let arguments: Vec<&str> = ["node"].into_iter().chain(typed.split_whitespace()).collect();
    let done = at_home(folder, &arguments).output().unwrap();
    let message = text(&done.stderr);
    assert!(!message.contains("panicked"), "{typed}: {message}");
    (done.status.code().unwrap(), text(&done.stdout), message)
}

/// Its Deployment says that toleration-hold-controller runs, and it does not.
#[test]
fn a_hold_without_its_controller_fails_if_pods_have_to_change() {
    let folder = TestFolder::named("hold-node");
    let labels = json!({"app": "taintward"});
    let arguments = ["run", "--controllers=*,toleration-hold-controller"];
    let container = json!({"name": "taintward", "image": "registry.example/taintward:1", "args": arguments});
    let deployment = json!({"metadata": {"name": "taintward"}, "spec": {"replicas": 0, "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}}}});
    let hold = |kubeconfig: &str| {
        let path = "/apis/apps/v1/namespaces/kube-system/deployments";
        request(kubeconfig, "POST", path, &deployment.to_string());
        let mut command = Command::new(env!("CARGO_BIN_EXE_taintward"));
        command.args(["hold", "n1", "--timeout=1s", "--kubeconfig", kubeconfig]);
        let done = command.output().unwrap();
        (done.status.code().unwrap(), text(&done.stdout), text(&done.stderr))
    };
    let mut empty = RunningSandbox::of(at_home(&folder, &["--plain", "--nodes", "1", "--empty"]));
    let (code, out, message) = hold(&empty.kubeconfig());
    assert_eq!((code, out.as_str()), (0, "1 node: 0 of 0 pods held\n"), "{message}");
    assert!(message.contains("cannot tell whether toleration-hold-controller runs"), "{message}");
    drop(empty);
    let mut sandbox = RunningSandbox::of(at_home(&folder, &["--plain", "--nodes", "1"]));
    let kubeconfig = sandbox.kubeconfig();
    sandbox.until("is scheduled to n1");
    let (code, out, message) = hold(&kubeconfig);
    assert_eq!((code, out.as_str()), (1, ""), "{message}");
    assert!(message.contains("toleration-hold-controller does not run"), "{message}");
}

#[test]
fn nodes_misbehave_and_come_back() {
    let folder = TestFolder::named("node");
    let mut sandbox = RunningSandbox::of(at_home(&folder, &["--plain", "--nodes", "3"]));
    let kubeconfig = sandbox.kubeconfig();
    let annotations = |name: &str| {
        let response = request(&kubeconfig, "GET", &format!("/api/v1/nodes/{name}"), "");
        let of = response.split("\"annotations\":{").nth(1).and_then(|rest| rest.split('}').next());
        of.unwrap_or_default().to_owned()
    };
    sandbox.until("is scheduled to n");
    let message = run_node(&folder, "silence n3 node/n2 n3");
    assert_eq!((message.0, message.1.as_str()), (0, "node/n3 silenced\nnode/n2 silenced\n"), "{}", message.2);
    assert!(annotations("n3").contains("\"sandbox.taintward.io/silence\":\"true\""));
    assert!(annotations("n2").contains("silence") && !annotations("n1").contains("silence"));
    assert_eq!(run_node(&folder, "silence n3").1, "node/n3 unchanged\n");
    assert_eq!(run_node(&folder, "flap n3").1, "node/n3 flapping\n");
    assert!(annotations("n3").contains("\"sandbox.taintward.io/silence\":\"flap\""));
    assert_eq!(
        run_node(&folder, "pressure n1 --kind disk,memory").1,
        "node/n1 under pressure: memory,disk\n"
    );
    assert!(annotations("n1").contains("\"sandbox.taintward.io/pressure\":\"memory,disk\""));
    sandbox.until("node n1 got the taint node.kubernetes.io/disk-pressure:NoSchedule");
    assert_eq!(run_node(&folder, "pressure n1 --kind PID").1, "node/n1 under pressure: pid\n");
    sandbox.until("node n1 got the taint node.kubernetes.io/pid-pressure:NoSchedule");
    assert_eq!(run_node(&folder, "pressure n2").1, "node/n2 under pressure: memory\n");
    assert_eq!(
        run_node(&folder, "recover n1 n2 n3").1,
        "node/n1 recovered\nnode/n2 recovered\nnode/n3 recovered\n"
    );
    sandbox.until("node n1 lost the taint node.kubernetes.io/pid-pressure:NoSchedule");
    for name in ["n1", "n2", "n3"] {
        assert!(!annotations(name).contains("sandbox.taintward.io"), "{name}");
    }
    assert_eq!(run_node(&folder, "recover n1").1, "node/n1 unchanged\n");
    let (code, out, message) = run_node(&folder, "silence n1 n9");
    assert_eq!((code, out.as_str()), (1, ""));
    assert!(
        message.contains("node n9 does not exist, so nothing was changed; the nodes are n1, n2, n3"),
        "{message}"
    );
    assert!(!annotations("n1").contains("silence"), "all nodes are checked first");
}

/// A minute of the cluster takes two seconds here.
#[test]
fn a_silent_node_is_tainted_and_comes_back() {
    let folder = TestFolder::named("silent");
    let mut sandbox = RunningSandbox::of(at_home(&folder, &["--plain", "--nodes", "3", "--speed", "30"]));
    sandbox.until("is scheduled to n");
    assert_eq!(run_node(&folder, "silence n3").1, "node/n3 silenced\n");
    let line = sandbox.until("node n3 is not ready: ");
    assert!(line.contains("  NotReady      node n3"), "the word of the board: {line}");
    sandbox.until("node n3 got the taint node.kubernetes.io/unreachable:NoExecute");
    assert_eq!(run_node(&folder, "recover n3").1, "node/n3 recovered\n");
    sandbox.until("node n3 is ready");
    sandbox.until("node n3 lost the taint node.kubernetes.io/unreachable:NoExecute");
}

#[test]
fn the_sandbox_is_found_by_kubectls_rules_and_never_guessed() {
    let folder = TestFolder::named("which");
    let (code, _, message) = run_node(&folder, "silence n1");
    assert_eq!(code, 1);
    assert!(message.contains("cannot find a running sandbox"), "{message}");
    // The kubeconfig of a killed sandbox, and other files, are ignored.
    let gone = "apiVersion: v1\nkind: Config\nclusters:\n- name: a\n  cluster: {server: \"http://127.0.0.1:1\"}\n\
                contexts:\n- name: a\n  context: {cluster: a, user: a}\nusers:\n- name: a\n  user: {}\ncurrent-context: a\n";
    let gone = folder.write("taintward-sandbox-1.yaml", gone);
    folder.write("taintward-sandbox-x.yaml", "nonsense");
    let (code, _, message) = run_node(&folder, &format!("silence n1 --kubeconfig {gone}"));
    assert_eq!(code, 1);
    assert!(
        message.contains("cannot be reached") && message.contains("check that the sandbox is still running"),
        "{message}"
    );
    let chosen = folder.file("chosen");
    let mut first = RunningSandbox::of(at_home(&folder, &["--plain", "--nodes", "1"]));
    first.until("KUBECONFIG");
    assert_eq!(run_node(&folder, "silence n1").1, "node/n1 silenced\n");
    let mut second = RunningSandbox::of(at_home(&folder, &["--plain", "--nodes", "1"]));
    second.until("KUBECONFIG");
    let (code, _, message) = run_node(&folder, "recover n1");
    assert_eq!(code, 1);
    assert!(
        message.contains("more than one sandbox is running")
            && message.matches("taintward-sandbox-").count() == 2,
        "{message}"
    );
    let mut third =
        RunningSandbox::of(at_home(&folder, &["--plain", "--nodes", "2", "--kubeconfig-out", &chosen]));
    third.until("KUBECONFIG");
    assert_eq!(run_node(&folder, &format!("silence n2 --kubeconfig {chosen}")).1, "node/n2 silenced\n");
    let by_variable =
        at_home(&folder, &["node", "recover", "n2"]).env("KUBECONFIG", &chosen).output().unwrap();
    assert_eq!(text(&by_variable.stdout), "node/n2 recovered\n");
    let (code, _, message) = run_node(&folder, &format!("silence n2 --kubeconfig {chosen} --context prod"));
    assert_eq!(code, 1);
    assert!(message.contains("has no context \"prod\""), "{message}");
}

#[test]
fn a_cluster_that_is_not_a_sandbox_is_never_changed() {
    let folder = TestFolder::named("real");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let requested = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
        let first = lines.next().unwrap().unwrap();
        while lines.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
        let body = r#"{"major":"1","minor":"36","gitVersion":"v1.36.3"}"#;
        write!(stream, "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len()).unwrap();
        let more: Vec<String> = lines.map_while(Result::ok).collect();
        (first, more)
    });
    let config = format!(
        "apiVersion: v1\nkind: Config\nclusters:\n- name: a\n  cluster: {{server: \"http://{address}\"}}\ncontexts:\n\
         - name: prod\n  context: {{cluster: a, user: a}}\nusers:\n- name: a\n  user: {{}}\ncurrent-context: prod\n"
    );
    std::fs::create_dir_all(folder.path().join(".kube")).unwrap();
    folder.write(".kube/config", &config);
    let (code, out, message) = run_node(&folder, "silence n1");
    assert_eq!((code, out.as_str()), (1, ""));
    for words in ["context \"prod\"", "is not a sandbox", "v1.36.3", "nothing was changed"] {
        assert!(message.contains(words), "{words}: {message}");
    }
    let (first, more) = requested.join().unwrap();
    assert_eq!((first.as_str(), more.len()), ("GET /version HTTP/1.1", 0), "{more:?}");
}

#[test]
fn invalid_arguments_are_rejected_before_any_request() {
    let folder = TestFolder::named("senseless");
    for (typed, words) in [
        ("", "Usage"),
        ("silence", "NAME"),
        ("explode n1", "explode"),
        ("pressure n1 --kind cpu", "memory, disk, pid"),
        ("pressure --kind memory", "NAME"),
        ("silence n1 --kind memory", "--kind"),
    ] {
        let (code, out, message) = run_node(&folder, typed);
        assert_eq!((code, out.as_str()), (1, ""), "{typed}: {message}");
        assert!(message.contains(words), "{typed}: {message}");
    }
    let done = at_home(&folder, &["--nodes", "3", "node", "silence", "n1"]).output().unwrap();
    assert_eq!(done.status.code(), Some(1), "{}", text(&done.stderr));
}
