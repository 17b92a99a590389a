//! Tests the names of each kind against a server that counts requests, and that failures give none.

use super::*;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

/// An API server with a few objects; it ends with the test.
struct ApiServerStub {
    line: TypedLine,
    requests: Arc<Mutex<Vec<String>>>,
}

impl ApiServerStub {
    fn set(test: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = format!("http://{}", listener.local_addr().unwrap());
        let requests: Arc<Mutex<Vec<String>>> = Arc::default();
        let paths = Arc::clone(&requests);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let mut lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
                let request = lines.by_ref().next().unwrap_or_default();
                lines.take_while(|line| !line.is_empty()).for_each(drop);
                let path = request.split([' ', '?']).nth(1).unwrap_or_default().to_owned();
                let names: &[&str] = match path.as_str() {
                    "/api/v1/nodes" => &["n2", "n1", "m1"],
                    "/api/v1/namespaces" => &["shop", "kube-system"],
                    "/api/v1/namespaces/shop/pods" => &["web-2", "web-1"],
                    "/api/v1/namespaces/here/pods" => &["here-1"],
                    "/apis/apps/v1/namespaces/shop/deployments" => &["web"],
                    "/api/v1/pods" => &["web-1", "db-0", "web-1"],
                    _ => &[],
                };
                paths.lock().unwrap().push(path);
                let items: Vec<_> =
                    names.iter().map(|name| serde_json::json!({"metadata": {"name": name}})).collect();
                let body = serde_json::json!({"metadata": {}, "items": items}).to_string();
                let head = "content-type: application/json\r\nconnection: close";
                let _ = write!(
                    stream,
                    "HTTP/1.1 200 OK\r\n{head}\r\ncontent-length: {}\r\n\r\n{body}",
                    body.len()
                );
            }
        });
        let kubeconfig = format!(
            "apiVersion: v1\nkind: Config\nclusters: [{{name: x, cluster: {{server: '{server}'}}}}]\nusers: [{{name: u, user: \
             {{}}}}]\ncontexts: [{{name: x, context: {{cluster: x, user: u, namespace: here}}}}, {{name: other, context: \
             {{cluster: x, user: u}}}}]\ncurrent-context: x\n"
        );
        let file = std::env::temp_dir().join(format!("taintward-names-{}-{test}", std::process::id()));
        std::fs::write(&file, kubeconfig).unwrap();
        Self { line: TypedLine { kubeconfig: Some(file), ..TypedLine::default() }, requests }
    }

    fn of(&self, kind: CompletionKind, beginning: &str) -> Vec<String> {
        of(kind, beginning, &self.line)
    }
}

impl Drop for ApiServerStub {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(self.line.kubeconfig.as_ref().unwrap());
    }
}

#[test]
fn each_kind_has_its_names() {
    let mut stage = ApiServerStub::set("kinds");
    assert_eq!(stage.of(CompletionKind::NodeName, ""), ["m1", "n1", "n2"]);
    assert_eq!(stage.of(CompletionKind::NodeName, "n"), ["n1", "n2"]);
    assert_eq!(stage.of(CompletionKind::Namespace, "sh"), ["shop"]);
    assert_eq!(stage.of(CompletionKind::Explained, "pod/"), ["pod/here-1"]);
    stage.line.namespace = Some("shop".to_owned());
    assert_eq!(stage.of(CompletionKind::Explained, "pod/web"), ["pod/web-1", "pod/web-2"]);
    assert_eq!(stage.of(CompletionKind::Explained, "deploy/"), ["deploy/web"]);
    stage.line.all_namespaces = true;
    assert_eq!(stage.of(CompletionKind::Explained, "pod/"), ["pod/db-0", "pod/web-1"]);
    assert_eq!(stage.of(CompletionKind::Context, ""), ["other", "x"]);
    assert_eq!(stage.of(CompletionKind::Cluster, ""), ["x"]);
    assert_eq!(stage.of(CompletionKind::User, ""), ["u"]);
}

#[test]
fn an_incomplete_type_sends_no_request() {
    let stage = ApiServerStub::set("either");
    assert_eq!(stage.of(CompletionKind::Explained, ""), TYPES.map(|(prefix, _)| prefix));
    assert_eq!(stage.of(CompletionKind::Explained, "n"), ["node/"]);
    assert_eq!(stage.of(CompletionKind::Context, "o"), ["other"]);
    assert_eq!(*stage.requests.lock().unwrap(), Vec::<String>::new());
    assert_eq!(stage.of(CompletionKind::Explained, "node/n"), ["node/n1", "node/n2"]);
    assert_eq!(stage.of(CompletionKind::Explained, "pod/"), ["pod/here-1"]);
    assert_eq!(*stage.requests.lock().unwrap(), ["/api/v1/nodes", "/api/v1/namespaces/here/pods"]);
}

#[test]
fn failures_give_no_names() {
    let nowhere = TypedLine { kubeconfig: Some("/nowhere".into()), ..TypedLine::default() };
    for kind in [
        CompletionKind::NodeName,
        CompletionKind::Explained,
        CompletionKind::Namespace,
        CompletionKind::Context,
        CompletionKind::User,
    ] {
        let beginning = if kind == CompletionKind::Explained { "pod/" } else { "" };
        assert_eq!(of(kind, beginning, &nowhere), Vec::<String>::new(), "{kind:?}");
    }
}

#[test]
fn flags_are_understood_in_each_spelling() {
    let of = |words: &str| TypedLine::of(words.split(' ').map(OsString::from));
    let line = of("lint --kubeconfig=/a --context b -n shop -l app=web");
    assert_eq!((line.kubeconfig, line.context.as_deref()), (Some("/a".into()), Some("b")));
    for words in ["-n shop", "-nshop", "-n=shop", "--namespace shop", "--namespace=shop"] {
        assert_eq!(of(words).namespace.as_deref(), Some("shop"), "{words}");
    }
    let acting =
        Impersonation { user: "jane".to_owned(), groups: vec!["a".to_owned(), "b".to_owned()], uid: None };
    for words in ["-s http://h", "-shttp://h", "--server=http://h"] {
        let line = of(&format!("lint {words} --as jane --as-group a --as-group=b --cluster c --user u"));
        let ConfigOverrides { cluster, user, server, acting: found, .. } = line.overrides;
        assert_eq!((cluster.as_deref(), user.as_deref()), (Some("c"), Some("u")));
        assert_eq!((server.as_deref(), found.as_ref()), (Some("http://h"), Some(&acting)), "{words}");
    }
    assert_eq!(
        of("lint --as-group a").overrides,
        ConfigOverrides::default(),
        "the line names no user to impersonate"
    );
    assert_eq!(of("lint -A"), TypedLine { all_namespaces: true, ..TypedLine::default() });
    assert_eq!(of("lint --context"), TypedLine::default());
    assert_eq!(of("lint --namespaces x"), TypedLine::default());
}
