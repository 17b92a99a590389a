//! Tests where the configuration comes from, and the errors of each source.

use super::super::{ConfigOverrides, Impersonation};
use super::*;
use std::sync::atomic::{AtomicU32, Ordering};

/// A folder of one test, removed with it.
struct ConfigFolder(PathBuf);

impl ConfigFolder {
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

impl Drop for ConfigFolder {
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

fn around(home: &ConfigFolder) -> ConfigEnvironment {
    ConfigEnvironment {
        kubeconfig: None,
        home: Some(home.0.clone()),
        in_cluster: false,
        proxies: ProxyEnvironment::default(),
    }
}

fn settings(kubeconfig: Option<PathBuf>, context: Option<&str>) -> ConnectSettings {
    ConnectSettings { kubeconfig, context: context.map(str::to_owned), ..ConnectSettings::default() }
}

async fn server_of(settings: &ConnectSettings, around: &ConfigEnvironment) -> String {
    find(settings, around).await.unwrap().config.cluster_url.host().unwrap().to_owned()
}

async fn error_of(settings: &ConnectSettings, around: &ConfigEnvironment) -> ConnectError {
    let error = find(settings, around).await.unwrap_err();
    assert!(!error.to_string().contains('\n'), "one line: {error}");
    error
}

#[tokio::test]
async fn a_server_whose_certificate_is_not_verified_is_named() {
    let folder = ConfigFolder::new();
    let around = around(&folder);
    let careless =
        GOOD.replace("server: 'https://one", "insecure-skip-tls-verify: true, server: 'https://one");
    let path = folder.write("careless", &careless);
    let warning = find(&settings(Some(path.clone()), None), &around).await.unwrap().warning.unwrap();
    assert!(warning.contains("insecure-skip-tls-verify of cluster \""), "{warning}");
    assert!(warning.contains(path.to_str().unwrap()), "{warning}");
    for harmless in
        [GOOD.to_owned(), careless.replace("https:", "http:"), careless.replace(": true", ": false")]
    {
        let path = folder.write("harmless", &harmless);
        assert_eq!(find(&settings(Some(path), None), &around).await.unwrap().warning, None, "{harmless}");
    }
}

#[tokio::test]
async fn the_flag_precedes_the_variable_which_precedes_the_home_folder() {
    let folder = ConfigFolder::new();
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
async fn a_list_of_files_is_merged_and_missing_files_are_skipped() {
    let folder = ConfigFolder::new();
    let (first, second) = GOOD.split_once("contexts:").unwrap();
    let a = folder.write("a", first);
    let b = folder.write("b", &format!("contexts:{second}"));
    let list = std::env::join_paths([a, folder.0.join("missing"), b]).unwrap();
    let around = ConfigEnvironment { kubeconfig: Some(list), ..around(&folder) };
    assert_eq!(server_of(&settings(None, Some("two")), &around).await, "two.example");
    let lost =
        ConfigEnvironment { kubeconfig: Some(folder.0.join("missing").into()), ..self::around(&folder) };
    assert!(matches!(error_of(&settings(None, None), &lost).await, ConnectError::Unreadable { .. }));
}

#[tokio::test]
async fn context_and_namespace_are_read() {
    let folder = ConfigFolder::new();
    let path = folder.write("good", GOOD);
    let found = find(&settings(Some(path.clone()), None), &around(&folder)).await.unwrap();
    assert_eq!(found.config.default_namespace, "shop");
    assert_eq!(found.place, format!("context \"one\" of {}", path.display()));
}

#[tokio::test]
async fn an_error_of_a_file_is_one_clear_sentence() {
    let folder = ConfigFolder::new();
    let around = around(&folder);
    let missing = error_of(&settings(Some(folder.0.join("nix")), None), &around).await.to_string();
    assert!(missing.contains("nix: ") && missing.contains("No such file"), "{missing}");
    assert!(missing.ends_with("; name an existing file with --kubeconfig or KUBECONFIG"), "{missing}");
    let denied = KubeconfigError::ReadConfig(io::ErrorKind::PermissionDenied.into(), "config".into());
    assert_eq!(remedy(&denied), "fix its mode, or name another file with --kubeconfig");
    for empty in ["", "\n\n", "---\n", "# nothing\n", "apiVersion: v1\nkind: Config\n", "clusters: null\n"] {
        let path = folder.write("empty", empty);
        let error = error_of(&settings(Some(path), None), &around).await;
        assert!(matches!(error, ConnectError::Empty { .. }), "{empty:?}: {error}");
        assert!(error.to_string().contains("is empty"), "{error}");
    }
    for broken in ["clusters: [", "just words", "\u{0}\u{1}", "clusters: 5"] {
        let path = folder.write("broken", broken);
        let error = error_of(&settings(Some(path), None), &around).await;
        assert!(matches!(error, ConnectError::Unreadable { .. }), "{broken:?}: {error}");
        assert!(
            error.to_string().ends_with("; correct the file, or name another with --kubeconfig"),
            "{error}"
        );
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
    assert!(matches!(address, ConnectError::ClusterServer { .. }), "{address}");
    assert!(address.to_string().contains("\"not an address\" as the server of cluster \"c\""), "{address}");
    let authority =
        GOOD.replace("'https://one.example:6443'", "'https://one.example', certificate-authority-data: '!'");
    let authority = folder.write("authority", &authority);
    let authority = error_of(&settings(Some(authority), None), &around).await;
    assert!(matches!(authority, ConnectError::BadCertificate { .. }), "{authority}");
}

/// kubectl's rule: without a scheme, certificates decide.
#[tokio::test]
async fn an_address_without_a_scheme_is_completed() {
    let folder = ConfigFolder::new();
    let around = around(&folder);
    let url_of = async |config: &str, overrides: ConfigOverrides| {
        let path = folder.write("address", config);
        find(&overridden(&path, overrides), &around).await.unwrap().config.cluster_url.to_string()
    };
    let bare = GOOD.replace("https://one.example:6443", "one.example:6443");
    let none = ConfigOverrides::default;
    assert_eq!(url_of(&bare, none()).await, "http://one.example:6443/");
    let careless =
        bare.replace("cluster: {server: 'one", "cluster: {insecure-skip-tls-verify: true, server: 'one");
    assert_eq!(url_of(&careless, none()).await, "https://one.example:6443/");
    let flag = || ConfigOverrides { server: text("three.example:1"), ..none() };
    assert_eq!(url_of(GOOD, flag()).await, "http://three.example:1/");
    assert_eq!(url_of(&careless, flag()).await, "https://three.example:1/");
}

#[tokio::test]
async fn without_any_configuration_all_four_places_are_named() {
    let folder = ConfigFolder::new();
    let error = error_of(&settings(None, None), &around(&folder)).await.to_string();
    for place in ["--kubeconfig", "$KUBECONFIG", ".kube/config", "pod's service account"] {
        assert!(error.contains(place), "{error}");
    }
    folder.write(".kube/config", "");
    let empty = error_of(&settings(None, None), &around(&folder)).await;
    assert!(matches!(empty, ConnectError::Empty { .. }), "{empty}");
    let inside = ConfigEnvironment { in_cluster: true, ..around(&folder) };
    let account = error_of(&settings(None, None), &inside).await;
    assert!(
        matches!(account, ConnectError::InCluster { .. }),
        "an empty file does not count in a cluster: {account}"
    );
}

/// As Go does, and so kubectl: `proxy-url` in any case, `$HTTPS_PROXY` unless `$NO_PROXY` names the server.
#[tokio::test]
async fn the_proxy_is_used_unless_the_server_is_excepted() {
    let folder = ConfigFolder::new();
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
        let proxies = ProxyEnvironment {
            https_proxy: Some(environment.0.to_owned()),
            no_proxy: Some(environment.1.to_owned()),
        };
        let around = ConfigEnvironment { proxies, ..around(&folder) };
        let found = find(&settings(Some(path), None), &around).await.unwrap();
        let proxy = found.config.proxy_url.map(|url| url.to_string());
        assert_eq!(proxy.as_deref(), expected, "{server}");
    }
}

fn overridden(path: &Path, overrides: ConfigOverrides) -> ConnectSettings {
    ConnectSettings { overrides, ..settings(Some(path.to_owned()), None) }
}

fn text(text: &str) -> Option<String> {
    Some(text.to_owned())
}

#[tokio::test]
async fn a_cluster_a_user_and_a_server_override_the_contexts() {
    let folder = ConfigFolder::new();
    let users = "users: [{name: v, user: {token: other, as: boss, as-groups: [bosses]}}, ";
    let path = folder.write(
        "good",
        &GOOD.replace("users: [", users).replace("two.example'", "two.example', tls-server-name: t"),
    );
    let around = around(&folder);
    let found = async |overrides| find(&overridden(&path, overrides), &around).await.unwrap();
    let both = ConfigOverrides { cluster: text("d"), user: text("v"), ..ConfigOverrides::default() };
    let one = found(both.clone()).await;
    assert_eq!(one.config.cluster_url.host(), Some("two.example"));
    assert_eq!(one.config.tls_server_name.as_deref(), Some("t"));
    assert_eq!(one.config.default_namespace, "shop", "of the context");
    assert_eq!(one.config.auth_info.impersonate.as_deref(), Some("boss"));
    assert_eq!(one.place, format!("context \"one\", cluster \"d\", user \"v\" of {}", path.display()));

    let acting = Impersonation { user: "jane".to_owned(), ..Impersonation::default() };
    let server = text("https://three.example:1");
    let other = found(ConfigOverrides { server, acting: Some(acting), ..both }).await;
    assert_eq!(other.config.cluster_url.host(), Some("three.example"));
    assert_eq!(other.config.tls_server_name, None, "the name of another server");
    assert_eq!(other.config.auth_info.impersonate.as_deref(), Some("jane"));
    assert_eq!(other.config.auth_info.impersonate_groups, Some(Vec::new()), "not the other's groups");
    assert!(other.place.ends_with(", as \"jane\""), "{}", other.place);
}

#[tokio::test]
async fn a_missing_entry_is_never_replaced_by_another() {
    let folder = ConfigFolder::new();
    let path = folder.write("good", GOOD);
    let around = around(&folder);
    let error = async |overrides| error_of(&overridden(&path, overrides), &around).await.to_string();
    let cluster = error(ConfigOverrides { cluster: text("e"), ..ConfigOverrides::default() }).await;
    assert!(cluster.contains("no cluster \"e\"") && cluster.ends_with("it has \"c\", \"d\""), "{cluster}");
    let user = error(ConfigOverrides { user: text("e"), ..ConfigOverrides::default() }).await;
    assert!(user.contains("no user \"e\"") && user.ends_with("it has \"u\""), "{user}");
    for wrong in ["localhost:port", "ftp://a", "https://", "", "a b"] {
        let server = error(ConfigOverrides { server: text(wrong), ..ConfigOverrides::default() }).await;
        assert!(server.contains("--server https://HOST:PORT"), "{wrong}: {server}");
    }
}

#[tokio::test]
async fn a_cluster_or_a_server_needs_no_context_and_a_server_no_file() {
    let folder = ConfigFolder::new();
    let around = around(&folder);
    let server = ConfigOverrides { server: text("http://127.0.0.1:8080"), ..ConfigOverrides::default() };
    let nothing = ConnectSettings { overrides: server.clone(), ..ConnectSettings::default() };
    let found = find(&nothing, &around).await.unwrap();
    assert_eq!((found.config.cluster_url.port_u16(), found.place.as_str()), (Some(8080), "no kubeconfig"));
    let inside = ConfigEnvironment { in_cluster: true, ..self::around(&folder) };
    assert_eq!(find(&nothing, &inside).await.unwrap().place, "no kubeconfig", "not the pod's account");
    let choice = ConfigOverrides { cluster: text("c"), ..ConfigOverrides::default() };
    let chosen = ConnectSettings { overrides: choice.clone(), ..ConnectSettings::default() };
    let rejected = error_of(&chosen, &inside).await.to_string();
    assert!(rejected.contains("--kubeconfig"), "{rejected}");
    assert!(matches!(error_of(&chosen, &around).await, ConnectError::Nowhere { .. }));

    let path = folder.write("none", &GOOD.replace("current-context: one", ""));
    for overrides in [choice, server] {
        let found = find(&overridden(&path, overrides.clone()), &around).await.unwrap();
        assert!(found.config.auth_info.token.is_none(), "no context, no user");
        assert_eq!(found.config.default_namespace, "default");
        assert!(found.place.starts_with(&path.display().to_string()), "{}", found.place);
    }
}
