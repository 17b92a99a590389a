use super::*;
use std::sync::atomic::{AtomicU32, Ordering};

/// A folder of one test, removed with it.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("taintward-connect-{}-{count}", std::process::id()));
        std::fs::create_dir_all(path.join(".kube")).unwrap();
        Self(path)
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, text).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

const GOOD: &str = "
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: 'https://one.example:6443'}}, {name: d, cluster: {server: 'https://two.example'}}]
users: [{name: u, user: {token: t}}]
contexts:
- {name: one, context: {cluster: c, user: u, namespace: shop}}
- {name: two, context: {cluster: d, user: u}}
- {name: lost, context: {cluster: nowhere, user: u}}
current-context: one
";

fn around(home: &Folder) -> Surroundings {
    Surroundings {
        kubeconfig: None,
        home: Some(home.0.clone()),
        in_cluster: false,
        proxies: Environment::default(),
    }
}

fn settings(kubeconfig: Option<PathBuf>, context: Option<&str>) -> Settings {
    Settings { kubeconfig, context: context.map(str::to_owned), ..Settings::default() }
}

async fn server_of(settings: &Settings, around: &Surroundings) -> String {
    find(settings, around).await.unwrap().config.cluster_url.host().unwrap().to_owned()
}

async fn error_of(settings: &Settings, around: &Surroundings) -> ConnectError {
    let error = find(settings, around).await.unwrap_err();
    assert!(!error.to_string().contains('\n'), "one line: {error}");
    error
}

#[tokio::test]
async fn the_flag_beats_the_variable_beats_the_home_folder() {
    let folder = Folder::new();
    let named = |host: &str| GOOD.replace("one.example", host);
    let flag = folder.write("flag", &named("flag.example"));
    let variable = folder.write("variable", &named("variable.example"));
    folder.write(".kube/config", &named("home.example"));
    let mut around = around(&folder);
    assert_eq!(server_of(&settings(None, None), &around).await, "home.example");
    around.kubeconfig = Some(variable.into());
    assert_eq!(server_of(&settings(None, None), &around).await, "variable.example");
    assert_eq!(server_of(&settings(Some(flag), None), &around).await, "flag.example");
}

#[tokio::test]
async fn a_list_of_files_is_merged_and_the_missing_are_passed_over() {
    let folder = Folder::new();
    let (first, second) = GOOD.split_once("contexts:").unwrap();
    let a = folder.write("a", first);
    let b = folder.write("b", &format!("contexts:{second}"));
    let list = std::env::join_paths([a, folder.0.join("missing"), b]).unwrap();
    let around = Surroundings { kubeconfig: Some(list), ..around(&folder) };
    assert_eq!(server_of(&settings(None, Some("two")), &around).await, "two.example");
    let lost = Surroundings { kubeconfig: Some(folder.0.join("missing").into()), ..self::around(&folder) };
    assert!(matches!(error_of(&settings(None, None), &lost).await, ConnectError::Unreadable { .. }));
}

#[tokio::test]
async fn context_and_namespace_come_with_it() {
    let folder = Folder::new();
    let path = folder.write("good", GOOD);
    let found = find(&settings(Some(path.clone()), None), &around(&folder)).await.unwrap();
    assert_eq!(found.config.default_namespace, "shop");
    assert_eq!(found.place, format!("context \"one\" of {}", path.display()));
}

#[tokio::test]
async fn what_is_wrong_with_a_file_is_one_clear_sentence() {
    let folder = Folder::new();
    let around = around(&folder);
    let missing = error_of(&settings(Some(folder.0.join("nix")), None), &around).await.to_string();
    assert!(missing.contains("nix: ") && missing.contains("No such file"), "{missing}");
    for empty in ["", "\n\n", "---\n", "# nothing\n", "apiVersion: v1\nkind: Config\n", "clusters: null\n"] {
        let path = folder.write("empty", empty);
        let error = error_of(&settings(Some(path), None), &around).await;
        assert!(matches!(error, ConnectError::Empty { .. }), "{empty:?}: {error}");
        assert!(error.to_string().contains("nothing in it"), "{error}");
    }
    for broken in ["clusters: [", "just words", "\u{0}\u{1}", "clusters: 5"] {
        let path = folder.write("broken", broken);
        let error = error_of(&settings(Some(path), None), &around).await;
        assert!(matches!(error, ConnectError::Unreadable { .. }), "{broken:?}: {error}");
    }
    let path = folder.write("good", GOOD);
    let unknown = error_of(&settings(Some(path.clone()), Some("three")), &around).await.to_string();
    assert!(unknown.contains("\"three\"") && unknown.contains("\"one\", \"two\", \"lost\""), "{unknown}");
    let lost = error_of(&settings(Some(path), Some("lost")), &around).await;
    assert!(matches!(lost, ConnectError::Incomplete { .. }), "{lost}");
    let none = folder.write("none", &GOOD.replace("current-context: one", ""));
    let none = error_of(&settings(Some(none), None), &around).await.to_string();
    assert!(none.contains("--context") && none.contains("\"two\""), "{none}");
    let address = folder.write("address", &GOOD.replace("https://one.example:6443", "not an address"));
    let address = error_of(&settings(Some(address), None), &around).await;
    assert!(matches!(address, ConnectError::Incomplete { .. }), "{address}");
    let authority =
        GOOD.replace("'https://one.example:6443'", "'https://one.example', certificate-authority-data: '!'");
    let authority = folder.write("authority", &authority);
    let authority = error_of(&settings(Some(authority), None), &around).await;
    assert!(matches!(authority, ConnectError::BadCertificate { .. }), "{authority}");
}

#[tokio::test]
async fn without_any_configuration_all_four_places_are_named() {
    let folder = Folder::new();
    let error = error_of(&settings(None, None), &around(&folder)).await.to_string();
    for place in ["--kubeconfig", "$KUBECONFIG", ".kube/config", "pod's account"] {
        assert!(error.contains(place), "{error}");
    }
    folder.write(".kube/config", "");
    let empty = error_of(&settings(None, None), &around(&folder)).await;
    assert!(matches!(empty, ConnectError::Empty { .. }), "{empty}");
    let inside = Surroundings { in_cluster: true, ..around(&folder) };
    let account = error_of(&settings(None, None), &inside).await;
    assert!(
        matches!(account, ConnectError::InCluster { .. }),
        "an empty file is no answer in a cluster: {account}"
    );
}

/// As Go does, and so kubectl: `proxy-url` in any case, `$HTTPS_PROXY` unless `$NO_PROXY` names the server.
#[tokio::test]
async fn the_way_leads_through_a_proxy_unless_the_server_is_excepted() {
    let folder = Folder::new();
    let with =
        |server: &str, more: &str| GOOD.replace("'https://one.example:6443'", &format!("'{server}'{more}"));
    let environment = ("http://proxy.example:3128", "10.0.0.0/8,.inside.example,proxy.example");
    for (server, more, expected) in [
        ("https://outside.example:6443", "", Some("http://proxy.example:3128/")),
        ("https://11.0.0.1:6443", "", Some("http://proxy.example:3128/")),
        ("https://10.1.2.3:6443", "", None),
        ("https://api.inside.example", "", None),
        ("https://localhost:6443", "", None),
        ("https://127.0.0.1:6443", "", None),
        ("https://[::1]:6443", "", None),
        ("http://outside.example", "", None),
        (
            "https://10.1.2.3",
            ", proxy-url: 'socks5://other.example:1080'",
            Some("socks5://other.example:1080/"),
        ),
    ] {
        let path = folder.write("proxied", &with(server, more));
        let proxies = Environment {
            https_proxy: Some(environment.0.to_owned()),
            no_proxy: Some(environment.1.to_owned()),
        };
        let around = Surroundings { proxies, ..around(&folder) };
        let found = find(&settings(Some(path), None), &around).await.unwrap();
        let proxy = found.config.proxy_url.map(|url| url.to_string());
        assert_eq!(proxy.as_deref(), expected, "{server}");
    }
}
