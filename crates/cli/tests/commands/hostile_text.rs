//! Tests that no hostile text from files or API servers forges lines or controls a terminal, in any command and format.

use crate::cli::reluctant::{There, serve};
use crate::cli::running::{TestFolder, text};
use serde_json::Value;
use std::process::Command;
use taintward_core::text::is_hazard;

/// A GitHub workflow command on a line of its own, terminal sequences (with C0 and C1), bidirectional text, and
/// characters without width; as escaped in JSON.
const EVIL: &str = r"x\n::error::forged\u001b[2J\u009b31m\u0085\u202eevil\u200b\ufeff";

/// Checks that the output contains no control sequences.
fn is_plain(typed: &[&str], message: &str) {
    let found: Vec<char> = message.chars().filter(|&c| c != '\n' && is_hazard(c)).collect();
    assert!(found.is_empty(), "{typed:?}: {found:?} in {message:?}");
    assert!(!message.lines().any(|line| line.starts_with("::error::forged")), "{typed:?}: {message}");
}

/// Returns standard output and standard error.
fn run(folder: &TestFolder, typed: &[&str]) -> (String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_taintward"));
    command
        .env("KUBECONFIG", folder.file("kubeconfig"))
        .env("HOME", folder.path())
        .env_remove("KUBERNETES_SERVICE_HOST");
    let done = command.args(typed).output().unwrap();
    let (out, message) = (text(&done.stdout), text(&done.stderr));
    assert!(!message.contains("panicked"), "{typed:?}: {message}");
    is_plain(typed, &out);
    is_plain(typed, &message);
    (out, message)
}

/// Whether any field has this value.
fn has(object: &Value, meant: &str) -> bool {
    match object {
        Value::String(text) => text.contains(meant),
        Value::Array(items) => items.iter().any(|item| has(item, meant)),
        Value::Object(fields) => fields.iter().any(|(name, value)| name.contains(meant) || has(value, meant)),
        _ => false,
    }
}

#[test]
fn the_text_of_a_file_is_only_shown() {
    let folder = TestFolder::named("hostile-file");
    let tolerations = format!(
        r#"[{{"key": "a{EVIL}", "operator": "Exists", "value": "{EVIL}", "effect": "{EVIL}"}}, {{"operator": "Exists"}}]"#
    );
    let pod = |node: &str| {
        format!(
            r#"{{"apiVersion": "v1", "kind": "Pod", "metadata": {{"name": "{EVIL}", "namespace": "{EVIL}", "annotations": {{"{EVIL}": "{EVIL}"}}}},
            "spec": {{"nodeName": "{node}", "containers": [], "tolerations": {tolerations}}}}}"#
        )
    };
    let node = format!(
        r#"{{"apiVersion": "v1", "kind": "Node", "metadata": {{"name": "{EVIL}", "labels": {{"{EVIL}": "{EVIL}"}}}},
        "spec": {{"taints": [{{"key": "{EVIL}", "value": "{EVIL}", "effect": "NoExecute"}}, {{"key": "a", "effect": "{EVIL}"}}]}}}}"#
    );
    let objects =
        format!(r#"{{"apiVersion": "v1", "kind": "List", "items": [{}, {}, {node}]}}"#, pod(EVIL), pod(""));
    let file = folder.write("objects.json", &objects);
    let meant: String = serde_json::from_str(&format!("\"{EVIL}\"")).unwrap();
    for form in ["table", "wide", "name", "json", "yaml", "sarif", "github"] {
        let (out, message) = run(&folder, &["lint", "-f", &file, "-o", form]);
        assert!(out.contains("forged"), "{form}: this test must have output to check: {out}{message}");
        // Programs get the exact text of the file.
        let object: Value = match form {
            "json" | "sarif" => serde_json::from_str(&out).unwrap(),
            "yaml" => serde_saphyr::from_str(&out).unwrap(),
            _ => continue,
        };
        assert!(has(&object, &meant), "{form}: {out}");
    }
    for form in ["table", "wide", "name", "json", "yaml"] {
        for verb in [
            &["pending"][..],
            &["doctor"],
            &["explain", "node", "x"],
            &["plan", "--taint", "*", "a:NoExecute"],
        ] {
            run(&folder, &[verb, &["-f", &file, "-o", form]].concat());
        }
    }
}

#[test]
fn what_a_server_says_is_only_shown() {
    let folder = TestFolder::named("hostile-server");
    let node = format!(
        r#"{{"apiVersion": "v1", "kind": "Node", "metadata": {{"name": "{EVIL}", "uid": "u", "resourceVersion": "1", "labels": {{"{EVIL}": "{EVIL}"}}}},
        "spec": {{"taints": [{{"key": "{EVIL}", "value": "{EVIL}", "effect": "NoExecute"}}]}}}}"#
    );
    let nodes = format!(
        r#"{{"apiVersion": "v1", "kind": "NodeList", "metadata": {{"resourceVersion": "1"}}, "items": [{node}]}}"#
    );
    let (node, nodes): (&str, &str) = (node.leak(), nodes.leak());
    serve(&folder, move |path| match path {
        "/api/v1/nodes" => There::Object(nodes),
        "/api/v1/nodes/nowhere" => There::Gone(EVIL),
        path if path.starts_with("/api/v1/nodes/") => There::Object(node),
        _ => There::Gone(EVIL),
    });
    let mut shown = 0;
    for typed in [
        &["taint", "nodes", "nowhere", "k=v:NoExecute"][..],
        &["taint", "nodes", "--all", "k=v:NoExecute"],
        &["taint", "nodes", "--all", "k=v:NoExecute", "--dry-run=client", "-o", "json"],
        &["taint", "nodes", "--all", "k=v:NoExecute", "--dry-run=client", "-o", "yaml"],
        &["taint", "nodes", "--all", "k=v:NoExecute", "--dry-run=client", "-o", "name"],
        &["taint", "nodes", "--all", "k=v:NoExecute", "--dry-run=client"],
        &["taint", "nodes", "--list"],
        &["taint", "nodes", "a", "k=v\n::error::forged:\u{9b}\u{202e}NoExecute"],
        &["taint", "nodes", "k=v:NoExecute", "a\u{9b}\n::error::forged"],
        &["lint"],
        &["lint", "-o", "json"],
        &["lint", "-o", "yaml"],
        &["lint", "-o", "sarif"],
        &["lint", "-o", "github"],
        &["lint", "-o", "name"],
        &["pending"],
        &["doctor"],
        &["doctor", "-o", "yaml"],
        &["pending", "-o", "yaml"],
        &["explain", "node", "nowhere"],
        &["plan", "--taint", "nowhere", "a:NoExecute"],
        &["sandbox", "node", "silence", "nowhere"],
    ] {
        let (out, message) = run(&folder, typed);
        shown += usize::from((out + &message).contains("forged"));
    }
    assert!(shown >= 12, "it was shown {shown} times: this test must have output to check");
}

/// The password in every URL below.
const PASSWORD: &str = "hunter2";

#[test]
fn no_command_prints_a_password_of_a_url() {
    let folder = TestFolder::named("password-in-url");
    serve(&folder, |path| match path {
        "/api/v1/nodes" => {
            There::Object(r#"{"kind": "NodeList", "metadata": {"resourceVersion": "1"}, "items": []}"#)
        }
        _ => There::Gone("nothing is here"),
    });
    let live = std::fs::read_to_string(folder.file("kubeconfig")).unwrap();
    let server = live.split('\'').nth(1).unwrap();
    let meant = |url: &str| live.replace(server, url);
    let with_proxy = |proxy: &str| live.replace("}}]\nusers", &format!(", proxy-url: '{proxy}'}}}}]\nusers"));
    let host = server.strip_prefix("http://").unwrap();
    let kubeconfigs = [
        meant(&format!("http://user:{PASSWORD}@{host}")),
        meant(&format!("http://{PASSWORD}@{host}")),
        meant(&format!("https://user:{PASSWORD}@127.0.0.1:1")),
        meant(&format!("user:{PASSWORD}@127.0.0.1:1")),
        meant(&format!("https://user:{PASSWORD}/x@127.0.0.1:1")),
        meant(&format!("https://us er:{PASSWORD}@127.0.0.1:1")),
        live.replace("{server: ", &format!("https://user:{PASSWORD}@h, {{server: ")),
        live.replace(
            "[{name: x, cluster",
            &format!("'https://user:{PASSWORD}@h'\nignored: [{{name: x, cluster"),
        ),
        with_proxy(&format!("http://user:{PASSWORD}@127.0.0.1:1")),
        with_proxy(&format!("socks5://user:{PASSWORD}@127.0.0.1:1")),
        with_proxy(&format!("ftp://user:{PASSWORD}@127.0.0.1:1")),
        with_proxy(&format!("http://user:{PASSWORD}/x@127.0.0.1:1")),
        with_proxy(&format!("user:{PASSWORD}@127.0.0.1")),
    ];
    let servers = [
        format!("https://user:{PASSWORD}@127.0.0.1:1"),
        format!("htps://user:{PASSWORD}@127.0.0.1:1"),
        format!("user:{PASSWORD}@127.0.0.1:1"),
        format!("https://user:{PASSWORD}/x@127.0.0.1:1"),
        format!("https://us er:{PASSWORD}@127.0.0.1:1"),
    ];
    let commands: [&[&str]; 15] = [
        &["pending"],
        &["pending", "-w"],
        &["explain", "node", "x"],
        &["plan", "--taint", "x", "a:NoExecute"],
        &["doctor"],
        &["lint"],
        &["taint", "nodes", "x", "a:NoExecute"],
        &["hold", "x"],
        &["guard", "status"],
        &["backfill", "-A"],
        &["version"],
        &["install", "--apply", "--image=registry.example.com/taintward:1"],
        &["install", "--uninstall"],
        &["board"],
        &["sandbox", "node", "silence", "x"],
    ];
    let mut hosts = 0;
    let mut hides = |typed: &[&str]| {
        // A command that does not end has printed enough after a moment.
        let mut command = Command::new("timeout");
        command.args(["--signal=INT", "2", env!("CARGO_BIN_EXE_taintward")]).args(typed);
        command.env("KUBECONFIG", folder.file("kubeconfig")).env("HOME", folder.path());
        let done = command.env_remove("KUBERNETES_SERVICE_HOST").output().unwrap();
        let message = text(&done.stdout) + &text(&done.stderr);
        assert!(!message.contains(PASSWORD), "{typed:?}: {message}");
        hosts += usize::from(message.contains("127.0.0.1"));
    };
    let waits = ["run", "--leader-elect=false", "--metrics-port=0", "--secure-port=0"];
    for kubeconfig in &kubeconfigs {
        folder.write("kubeconfig", kubeconfig);
        for typed in commands {
            hides(typed);
        }
        hides(&waits);
    }
    folder.write("kubeconfig", &live);
    for server in &servers {
        for typed in commands {
            hides(&[typed, &["--server", server]].concat());
        }
    }
    assert!(hosts > 60, "{hosts} outputs name the server: this test must have output to check");
}
