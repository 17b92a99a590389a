//! Tests the commands of docs/monitoring.md on a real API server, and that the token of its PodMonitor reads the metrics.
//!
//! - Definitions made here replace those of the Prometheus operator, and processes with the flags and accounts of the
//!   Deployment replace the pods. `EXAMPLES=overwrite` writes the page.

use crate::cli::document::here;
use crate::cli::running::RunningSandbox;
use crate::cli::timeout::eventually;
use crate::install::document::{Typist, played};
use crate::install::objects::{by_name, deploy, documents, printed, read};
use crate::install::operator::definitions;
use http::Request;
use kube::client::Body;
use kube::{Client, Config};
use serde_json::{Value, json};
use std::fs;
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use taintward_envtest::{Account, Binaries, Cluster, ClusterConfig, binaries};
use tokio::runtime::Runtime;

const TEST: &str = "the_page_leads_to_scraped_metrics_and_back";

/// Everything that the page needs, or why there is none.
fn needed() -> Option<(Binaries, PathBuf, PathBuf)> {
    let tools = binaries::for_test(TEST)?;
    Some((tools, binaries::HELM.for_test(TEST)?, binaries::PROMTOOL.for_test(TEST)?))
}

#[test]
fn the_page_leads_to_scraped_metrics_and_back() {
    let Some((tools, helm, promtool)) = needed() else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let cluster = runtime.block_on(Cluster::start(&tools, ClusterConfig::default())).unwrap();
    let key =
        [format!("--service-account-private-key-file={}", cluster.folder().join("token.key").display())];
    let tokens = cluster.controller_manager("serviceaccount-token-controller", &key);
    let _tokens = runtime.block_on(tokens).unwrap();
    let path = here("../../docs/monitoring.md");
    let page = fs::read_to_string(&path).unwrap();
    let mut desk =
        MonitoringDesk::set(&cluster, &tools, &[("helm", &helm), ("promtool", &promtool)], &runtime);
    desk.refuses_without_the_operator();
    desk.define(&cluster);
    let anew = played(&page, &mut desk);
    assert_eq!((desk.elsewhere, desk.scraped), (1, 1), "Helm; delegated authentication");
    desk.leaves_nothing_behind();
    desk.is_uninstalled_with_the_rest();
    if std::env::var("EXAMPLES").as_deref() == Ok("overwrite") {
        fs::write(path, anew).unwrap();
    } else {
        let differs = anew.lines().zip(page.lines()).find(|(anew, kept)| anew != kept);
        assert!(
            anew == page,
            "docs/monitoring.md shows something else: {differs:?}\n\
             write it again: EXAMPLES=overwrite cargo test -p taintward --test documents monitoring_page"
        );
    }
}

fn objects(flags: &[&str]) -> Vec<Value> {
    by_name(documents(&printed(flags))).into_values().collect()
}

fn of_kind<'o>(objects: &'o [Value], kind: &str) -> Vec<&'o Value> {
    objects.iter().filter(|object| object["kind"] == kind).collect()
}

#[test]
fn installed_alerts_and_dashboards_are_those_of_deploy_monitoring_and_off_by_default() {
    for kind in ["PodMonitor", "PrometheusRule", "ConfigMap"] {
        assert_eq!(of_kind(&objects(&[]), kind), Vec::<&Value>::new());
    }
    const REMEDY: &str = "run cargo xtask chart";
    let all = objects(&["--with-monitoring"]);
    let by_hand: Value = documents(&read(&deploy("monitoring/alerts.yaml"))).remove(0);
    assert_eq!(of_kind(&all, "PrometheusRule")[0]["spec"], by_hand["spec"], "{REMEDY}");
    let maps = of_kind(&all, "ConfigMap");
    let folder = fs::read_dir(deploy("monitoring/dashboards")).unwrap();
    assert_eq!(folder.count(), maps.len());
    for map in maps {
        assert_eq!(map["metadata"]["labels"]["grafana_dashboard"], "1");
        let (name, text) = map["data"].as_object().unwrap().iter().next().unwrap();
        let kept = read(&deploy("monitoring/dashboards").join(name));
        let [installed, kept]: [Value; 2] =
            [text.as_str().unwrap(), &kept].map(|text| serde_json::from_str(text).unwrap());
        assert_eq!(installed, kept, "{name}: {REMEDY}");
    }
    let pods = of_kind(&all, "Deployment");
    for monitor in of_kind(&all, "PodMonitor") {
        let labels = &monitor["spec"]["selector"]["matchLabels"];
        let found: Vec<_> =
            pods.iter().filter(|pods| pods["spec"]["template"]["metadata"]["labels"] == *labels).collect();
        let [pods] = found[..] else { panic!("{labels} finds {} Deployments", found.len()) };
        let ports = pods["spec"]["template"]["spec"]["containers"][0]["ports"].as_array().unwrap();
        let port = &monitor["spec"]["podMetricsEndpoints"][0]["port"];
        assert!(
            ports.iter().any(|one| one["name"] == *port),
            "{port} is not a port of {}",
            pods["metadata"]["name"]
        );
    }
}

#[test]
fn nothing_fires_for_the_absence_of_what_is_not_installed() {
    for (part, there, missing) in [
        ("controller", "TaintwardControllerAbsent", "TaintwardWebhookAbsent"),
        ("webhook", "TaintwardWebhookAbsent", "TaintwardControllerAbsent"),
    ] {
        let all = objects(&["--with-monitoring", &format!("--parts={part}"), "--api-server-cidr=10.0.0.0/8"]);
        let rules = of_kind(&all, "PrometheusRule")[0]["spec"].to_string();
        assert!(rules.contains(there) && !rules.contains(missing), "{part}");
        let monitors = of_kind(&all, "PodMonitor");
        assert_eq!(monitors.len(), 1);
        assert_eq!(monitors[0]["spec"]["selector"]["matchLabels"]["app.kubernetes.io/component"], part);
    }
}

/// A folder with the checkout's `deploy` in it, and a path with the programs of the page.
struct MonitoringDesk<'c> {
    cluster: &'c Cluster,
    tools: &'c Binaries,
    runtime: &'c Runtime,
    folder: PathBuf,
    /// Scripts that were about another cluster.
    elsewhere: usize,
    /// How often the token of the PodMonitor was tried.
    scraped: usize,
}

impl<'c> MonitoringDesk<'c> {
    fn set(
        cluster: &'c Cluster,
        tools: &'c Binaries,
        others: &[(&str, &PathBuf)],
        runtime: &'c Runtime,
    ) -> Self {
        let folder = cluster.folder().join("desk");
        let programs = folder.join("bin");
        fs::create_dir_all(&programs).unwrap();
        let kubectl = tools.path("kubectl").unwrap();
        let taintward = PathBuf::from(env!("CARGO_BIN_EXE_taintward"));
        for (name, path) in others.iter().copied().chain([("kubectl", &kubectl), ("taintward", &taintward)]) {
            symlink(path, programs.join(name)).unwrap();
        }
        symlink(here("../../deploy").canonicalize().unwrap(), folder.join("deploy")).unwrap();
        Self { cluster, tools, runtime, folder, elsewhere: 0, scraped: 0 }
    }

    /// What a shell makes of it, which gives up at the first command that fails.
    fn shell(&self, text: &str, kubeconfig: &Path) -> Output {
        let own = std::env::var("PATH").unwrap_or_default();
        let mut command = Command::new("bash");
        command.args(["-euo", "pipefail", "-c", text]).current_dir(&self.folder);
        command.env("PATH", format!("{}:{own}", self.folder.join("bin").display()));
        command.env("KUBECONFIG", kubeconfig).env("HOME", &self.folder);
        command.stdin(Stdio::null()).output().unwrap()
    }

    fn must_on(&self, cluster: &Cluster, text: &str) -> String {
        let done = self.shell(text, &cluster.kubeconfig(Account::Admin, 0));
        let message = String::from_utf8_lossy(&done.stderr).into_owned();
        assert!(done.status.success(), "{text}: {message}");
        String::from_utf8(done.stdout).unwrap()
    }

    fn must(&self, text: &str) -> String {
        self.must_on(self.cluster, text)
    }

    /// What the Prometheus operator brings, and a namespace for Prometheus.
    fn define(&self, cluster: &Cluster) {
        fs::write(self.folder.join("definitions.json"), definitions().to_string()).unwrap();
        self.must_on(cluster, "kubectl create -f definitions.json");
        self.must_on(cluster, "kubectl wait --for=condition=Established --timeout=60s -f definitions.json");
        self.must_on(cluster, "kubectl create namespace monitoring");
    }

    fn refuses_without_the_operator(&self) {
        for more in ["", " --dry-run=server", " --dry-run=client"] {
            let text =
                format!("taintward install --apply --with-monitoring --image=registry.example.com/t:1{more}");
            let done = self.shell(&text, &self.cluster.kubeconfig(Account::Admin, 0));
            let [message, rejected] = [done.stdout, done.stderr].map(|text| String::from_utf8(text).unwrap());
            assert!(!done.status.success() && message.is_empty(), "{message}{rejected}");
            let what = "does not serve PodMonitor, PrometheusRule of monitoring.coreos.com/v1";
            assert!(rejected.contains(what) && rejected.contains("Nothing was changed"), "{rejected}");
        }
        self.leaves_nothing_behind();
    }

    fn leaves_nothing_behind(&self) {
        let kinds = "serviceaccounts,secrets,configmaps,clusterroles,clusterrolebindings";
        let left =
            self.must(&format!("kubectl get {kinds} -A -l app.kubernetes.io/component=monitoring -o name"));
        assert_eq!(left, "");
        let flags = "kubectl -n taintward-system get deployment taintward --ignore-not-found -o yaml";
        assert!(!self.must(flags).contains("--metrics-authentication"));
    }

    fn is_uninstalled_with_the_rest(&self) {
        let apply = "taintward install --apply --with-monitoring --metrics-authentication=delegated \
                     --image=registry.example.com/t:1";
        let message = self.must(apply);
        assert!(message.contains("podmonitor.monitoring.coreos.com/taintward created\n"), "{message}");
        let again = self.must(apply);
        assert!(again.lines().all(|line| line.ends_with(" unchanged")), "{again}");
        let message = self.must("taintward install --uninstall --apply");
        for gone in [
            "podmonitor.monitoring.coreos.com/taintward",
            "podmonitor.monitoring.coreos.com/taintward-webhook",
            "prometheusrule.monitoring.coreos.com/taintward",
            "configmap/taintward-dashboard-overview",
            "secret/taintward-metrics-reader",
            "clusterrolebinding.rbac.authorization.k8s.io/taintward-controller-auth-delegator",
        ] {
            assert!(message.contains(&format!("{gone} deleted\n")), "{gone}: {message}");
        }
        self.leaves_nothing_behind();
    }

    /// The controllers with the flags and rights of their Deployment let in the token that the PodMonitor names.
    fn scrape(&mut self) {
        self.scraped += 1;
        let requested = |words: &str| -> Value {
            serde_json::from_str(&self.must(&format!("kubectl -n taintward-system {words} -o json"))).unwrap()
        };
        let monitor = requested("get podmonitor taintward")["spec"]["podMetricsEndpoints"][0].take();
        let pod = requested("get deployment taintward")["spec"]["template"]["spec"].take();
        let container = &pod["containers"][0];
        let ports = container["ports"].as_array().unwrap();
        let port = ports.iter().find(|port| port["name"] == monitor["port"]).unwrap();
        let secure = format!("--secure-port={}", port["containerPort"]);
        let flags: Vec<&str> =
            container["args"].as_array().unwrap().iter().map(|flag| flag.as_str().unwrap()).collect();
        assert!(flags.contains(&&*secure), "{flags:?}");

        let credentials = &monitor["authorization"]["credentials"];
        let secret = format!("get secret {}", credentials["name"].as_str().unwrap());
        let token = eventually("the token", || {
            let data = requested(&secret)["data"][credentials["key"].as_str().unwrap()].take();
            let decode = format!("echo {} | base64 --decode", data.as_str()?);
            Some(self.must(&decode))
        });

        let mut config: Value =
            serde_json::from_str(&self.must("kubectl config view --raw --minify --flatten -o json")).unwrap();
        let own = self.must("kubectl -n taintward-system create token taintward");
        config["users"][0]["user"] = json!({"token": own.trim()});
        let kubeconfig = self.folder.join("controller.kubeconfig");
        fs::write(&kubeconfig, config.to_string()).unwrap();
        let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port();
        let here = flags.iter().map(|flag| match flag.split_once('=').map_or(*flag, |(name, _)| name) {
            "--bind-address" => "--bind-address=127.0.0.1".to_owned(),
            "--metrics-port" => "--metrics-port=0".to_owned(),
            "--secure-port" => format!("--secure-port={free}"),
            _ => (*flag).to_owned(),
        });
        let mut command = Command::new(env!("CARGO_BIN_EXE_taintward"));
        command.env_clear().args(here).arg("--kubeconfig").arg(&kubeconfig);
        let _controller = RunningSandbox::of(command);
        let address = format!("{}://127.0.0.1:{free}", monitor["scheme"].as_str().unwrap());
        let path = monitor["path"].as_str().unwrap();
        let code = |token: &str| self.runtime.block_on(code(&address, path, token));
        eventually("the controllers to let the token in", || (code(&token) == Some(200)).then_some(()));
        assert_eq!(code(""), Some(401), "nobody");
        assert_eq!(code(&own), Some(403), "an account that may not read metrics");
        let reader = "--as=system:serviceaccount:taintward-system:taintward-metrics-reader";
        let may = |what: &str| {
            let text = format!("kubectl auth can-i {what} {reader} || true");
            self.must(&text).trim() == "yes"
        };
        assert!(may("get /metrics") && !may("get /logs") && !may("list pods -A") && !may("get secrets"));
    }
}

/// The status code of the response; `None` while no process listens.
async fn code(address: &str, path: &str, token: &str) -> Option<u16> {
    let mut config = Config::new(address.parse().unwrap());
    // As the PodMonitor has it.
    config.accept_invalid_certs = true;
    let mut request = Request::get(path);
    if !token.is_empty() {
        request = request.header("authorization", format!("Bearer {}", token.trim()));
    }
    let request = request.body(Body::empty()).unwrap();
    let response = Client::try_from(config).unwrap().send(request).await;
    response.ok().map(|response| response.status().as_u16())
}

impl Typist for MonitoringDesk<'_> {
    fn line(&mut self, typed: &str) -> String {
        let done = self.shell(typed, &self.cluster.kubeconfig(Account::Admin, 0));
        String::from_utf8([done.stdout, done.stderr].concat()).unwrap()
    }

    fn script(&mut self, text: &str, remark: &str) {
        if !remark.is_empty() {
            self.elsewhere += 1;
            let cluster =
                self.runtime.block_on(Cluster::start(self.tools, ClusterConfig::default())).unwrap();
            self.define(&cluster);
            self.must_on(&cluster, text);
            let kinds = "kubectl -n taintward-system get podmonitors,prometheusrules -o name";
            assert_eq!(self.must_on(&cluster, kinds).lines().count(), 3);
            return;
        }
        self.must(text);
        if text.contains("--metrics-authentication delegated") {
            self.scrape();
        }
    }

    fn file(&mut self, name: &str, text: &str) {
        fs::write(self.folder.join(name), text).unwrap();
    }
}
