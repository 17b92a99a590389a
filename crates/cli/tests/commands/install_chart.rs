//! Tests that the printed manifests, the chart rendered by Helm, and the files in deploy/ are equal.

use crate::cli::running::TestFolder;
use crate::install::objects::{ByName, by_name, deploy, documents, items, printed, read};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use taintward_envtest::binaries;

/// Choices, as flags and as a chart's values.
const CHOICES: [(&[&str], &[&str]); 19] = [
    (&[], &[]),
    (
        &["--namespace=taints", "--image=registry.example.com/a/taintward:v9", "--replicas=3"],
        &["image.repository=registry.example.com/a/taintward,image.tag=v9,replicas=3"],
    ),
    (
        &["--image=registry.example.com/t@sha256:0f", "--image-pull-secret=a", "--image-pull-secret=b"],
        &["image.repository=registry.example.com/t,image.digest=sha256:0f,image.pullSecrets={a,b}"],
    ),
    (
        &["--parts=webhook", "--rules=*,brake,advice", "--failure-policy=Fail", "--replicas=1"],
        &[
            "parts.controller=false,parts.viewer=false,webhook.rules=*\\,brake\\,advice",
            "webhook.failurePolicy=Fail,replicas=1",
        ],
    ),
    (
        &["--parts=controller", "--controllers=*,node-lifecycle-controller", "--stamp-taints"],
        &[
            "parts.webhook=false,parts.viewer=false,controller.stampTaints=true",
            "controller.controllers=*\\,node-lifecycle-controller",
        ],
    ),
    (
        &[
            "--mode=observe",
            "--controllers=*,node-lifecycle-controller,dedicated-pool-controller",
            "--stamp-taints",
        ],
        &[
            "controller.mode=observe,controller.stampTaints=true",
            "controller.controllers=*\\,node-lifecycle-controller\\,dedicated-pool-controller",
        ],
    ),
    (
        &["--parts=controller", "--controllers=toleration-hold-controller"],
        &["parts.webhook=false,parts.viewer=false", "controller.controllers=toleration-hold-controller"],
    ),
    (
        &["--parts=controller", "--controllers=toleration-backfill-controller"],
        &["parts.webhook=false,parts.viewer=false", "controller.controllers=toleration-backfill-controller"],
    ),
    (
        &["--controllers=toleration-guard-controller,toleration-hold-controller"],
        &["controller.controllers=toleration-guard-controller\\,toleration-hold-controller"],
    ),
    (
        &["--controllers=*,-taint-eviction-controller,dedicated-pool-controller", "--priority-class=high"],
        &[
            "controller.controllers=*\\,-taint-eviction-controller\\,dedicated-pool-controller",
            "priorityClassName=high",
        ],
    ),
    (
        &[
            "--api-server-cidr=10.0.0.0/8,fd00::/8",
            "--controller-arg=--v=2",
            "--webhook-arg=--brake-percent=20",
        ],
        &[
            "apiServerCidrs={10.0.0.0/8,fd00::/8},controller.extraArgs={--v=2}",
            "webhook.extraArgs={--brake-percent=20}",
        ],
    ),
    (
        &["--cert-secret=mine", "--ca-bundle=CA", "--parts=webhook,viewer"],
        &["webhook.certificate.secret=mine,webhook.certificate.caBundle=BUNDLE,parts.controller=false"],
    ),
    (
        &["--rules=*,toleration-restriction", "--restriction-config=LISTS", "--parts=webhook"],
        &[
            "webhook.rules=*\\,toleration-restriction,parts.controller=false,parts.viewer=false",
            "webhook.restrictionConfig=LISTS",
        ],
    ),
    (
        &["--eviction-policies", "--brake-limit=10,30%", "--record-on-disk"],
        &["controller.evictionPolicies=true,controller.brakeLimit=10\\,30%,controller.recordOnDisk=true"],
    ),
    (&["--with-monitoring"], &["monitoring.enabled=true"]),
    (
        &[
            "--with-monitoring",
            "--monitoring-label=release=a",
            "--monitoring-label=example.com/team=nodes",
            "--prometheus-namespace=monitoring",
            "--metrics-authentication=delegated",
            "--scrape-interval=15s",
            "--runbook-base-url=https://docs.example.com/runbooks/",
        ],
        &[
            "monitoring.enabled=true,monitoring.labels.release=a,monitoring.labels.example\\.com/team=nodes",
            "monitoring.prometheusNamespace=monitoring,monitoring.authentication=delegated",
            "monitoring.interval=15s,monitoring.runbookBaseUrl=https://docs.example.com/runbooks",
        ],
    ),
    (
        &["--with-monitoring", "--no-dashboards", "--parts=webhook", "--metrics-authentication=delegated"],
        &[
            "monitoring.enabled=true,monitoring.dashboards=false,monitoring.authentication=delegated",
            "parts.controller=false,parts.viewer=false",
        ],
    ),
    (&["--client-ca-config-map=front-proxy"], &["webhook.clients.configMap=front-proxy"]),
    (
        &["--rules=default-tolerations,extended-resources", "--parts=webhook"],
        &[
            "webhook.rules=default-tolerations\\,extended-resources",
            "parts.controller=false,parts.viewer=false",
        ],
    ),
];

/// One that takes a flag of `taintward webhook` which may be newer than this program.
const NAMED: (&[&str], &[&str]) = (
    &["--client-ca-secret=front-proxy", "--client-allowed-names=kube-apiserver,b"],
    &["webhook.clients.secret=front-proxy,webhook.clients.allowedNames={kube-apiserver,b}"],
);

const CA: &str = "-----BEGIN CERTIFICATE-----\nQUJD\n-----END CERTIFICATE-----\n";
const BUNDLE: &str = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tClFVSkQKLS0tLS1FTkQgQ0VSVElGSUNBVEUtLS0tLQo=";

/// A file of lists, on several lines.
const LISTS: &str = "apiVersion: podtolerationrestriction.admission.k8s.io/v1alpha1
kind: Configuration
default:
- {key: \"räume/1\", operator: Exists}
";

/// Where the pods find it.
const LISTS_THERE: &str = "=/etc/taintward/lists/config.yaml";

/// The flags of a choice, with files where they are named.
fn flags(choice: &[&str], folder: &TestFolder) -> Vec<String> {
    let (ca, lists) = (folder.write("ca.pem", CA), folder.write("lists.yaml", LISTS));
    let named = |flag: &&str| flag.replace("=CA", &format!("={ca}")).replace("=LISTS", &format!("={lists}"));
    choice.iter().map(named).collect()
}

fn chosen(flags: &[String]) -> ByName {
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    by_name(documents(&printed(&flags)))
}

#[test]
fn both_forms_say_the_same() {
    let folder = TestFolder::named("install-forms");
    for (choice, _) in CHOICES {
        let mut flags = flags(choice, &folder);
        let yaml = chosen(&flags);
        flags.push("--output=json".to_owned());
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        let json = by_name(items(&printed(&flags)));
        assert_eq!(yaml, json, "{choice:?}");
    }
}

/// Helm makes the namespace itself, and reads definitions from a folder of their own.
fn for_helm(mut all: ByName) -> ByName {
    all.retain(|_, object| object["kind"] != "Namespace");
    all
}

fn rendered(helm: &Path, chart: &Path, home: &TestFolder, namespace: &str, sets: &[&str]) -> Output {
    let mut command = Command::new(helm);
    command.env_clear().env("HOME", home.path()).args(["template", "taintward"]).arg(chart);
    command.args(["--namespace", namespace, "--include-crds", "--kube-version", "1.33.0"]);
    command.args(sets.iter().flat_map(|set| ["--set", set]));
    command.output().unwrap()
}

#[test]
fn the_chart_renders_to_what_is_printed() {
    let Some(helm) = binaries::HELM.for_test("the_chart_renders_to_what_is_printed") else { return };
    let folder = TestFolder::named("install-helm");
    let chart = deploy("chart");
    for (choice, sets) in CHOICES.into_iter().chain([NAMED]) {
        let flags = flags(choice, &folder);
        let ours = for_helm(chosen(&flags));
        let namespace = if choice.contains(&"--namespace=taints") { "taints" } else { "taintward-system" };
        let lists = LISTS.replace(',', "\\,").replace('{', "\\{").replace('}', "\\}");
        let filled = |set: &&str| set.replace("BUNDLE", BUNDLE).replace("=LISTS", &format!("={lists}"));
        let sets: Vec<String> = sets.iter().map(filled).collect();
        let sets: Vec<&str> = sets.iter().map(String::as_str).collect();
        let output = rendered(&helm, &chart, &folder, namespace, &sets);
        assert!(output.status.success(), "{choice:?}: {}", String::from_utf8_lossy(&output.stderr));
        let theirs = by_name(documents(&String::from_utf8(output.stdout).unwrap()));
        assert_eq!(ours.keys().collect::<Vec<_>>(), theirs.keys().collect::<Vec<_>>(), "{choice:?}");
        for (name, object) in &ours {
            assert_eq!(object, &theirs[name], "{choice:?}: {name}");
        }
    }
}

#[test]
fn the_chart_refuses_what_the_flags_refuse() {
    let Some(helm) = binaries::HELM.for_test("the_chart_refuses_what_the_flags_refuse") else { return };
    let folder = TestFolder::named("install-helm-refuses");
    let rows = [
        "controller.controllers=*\\,node-health",
        "controller.mode=enforced",
        "controller.brakeLimit=0%",
        "webhook.rules=brakes",
        "webhook.failurePolicy=ignore",
        "replicas=0",
        "apiServerCidrs={10.0.0.1}",
        "webhook.certificate.secret=mine",
        "webhook.clients.allowedNames={a}",
        "webhook.clients.configMap=a,webhook.clients.secret=b",
        "image.repository=",
        "monitoring.interval=often",
        "monitoring.authentication=token",
        "monitoring.runbookBaseUrl=docs/",
        "unknown=1",
    ];
    for set in rows {
        let output = rendered(&helm, &deploy("chart"), &folder, "taintward-system", &[set]);
        let message = String::from_utf8(output.stderr).unwrap();
        assert!(
            !output.status.success() && message.contains("don't meet the specifications"),
            "{set}: {message}"
        );
    }
}

/// Every file below, with its text.
fn files(folder: &Path) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        match entry.is_dir() {
            true => found.extend(files(&entry)),
            false => found.push((entry.clone(), read(&entry))),
        }
    }
    found.sort();
    found
}

#[test]
fn deploy_holds_what_the_program_makes() {
    let anew = "write it again: cargo xtask chart";
    let folder = TestFolder::named("install-chart");
    let chart = folder.path().join("chart");
    std::fs::create_dir_all(chart.join("templates")).unwrap();
    std::fs::write(chart.join("templates/old.yaml"), "of an older chart").unwrap();
    let message = printed(&["--chart", chart.to_str().unwrap()]);
    assert_eq!(message, format!("the chart: {}\n", chart.display()));
    let relative = |root: &Path| -> Vec<(PathBuf, String)> {
        let all = files(root).into_iter();
        all.map(|(path, text)| (path.strip_prefix(root).unwrap().to_owned(), text)).collect()
    };
    let (made, kept) = (relative(&chart), relative(&deploy("chart")));
    let names = |files: &[(PathBuf, String)]| files.iter().map(|(path, _)| path.clone()).collect::<Vec<_>>();
    assert_eq!(names(&made), names(&kept), "{anew}");
    for ((name, made), (_, kept)) in made.iter().zip(&kept) {
        assert!(made == kept, "deploy/chart/{} is another; {anew}", name.display());
    }
    assert!(printed(&[]) == read(&deploy("install.yaml")), "deploy/install.yaml is another; {anew}");
    let controllers = "--controllers=*,node-lifecycle-controller,dedicated-pool-controller";
    let flags = ["--namespace=kube-system", "--parts=controller", "--stamp-taints", controllers];
    let mut bounds = documents(&printed(&flags));
    bounds.retain(|object| {
        let name = object["metadata"]["name"].as_str().unwrap();
        let is_policy = object["kind"].as_str().unwrap().starts_with("ValidatingAdmissionPolicy");
        is_policy && name.starts_with("taintward-controller-")
    });
    for object in &mut bounds {
        object["metadata"].as_object_mut().unwrap().remove("labels");
        let by_hand = object.to_string().replace("taintward-controller-", "taintward-");
        *object = serde_json::from_str(&by_hand).unwrap();
    }
    assert_eq!(bounds, documents(&read(&deploy("bounds.yaml"))), "deploy/bounds.yaml is another; {anew}");
}

/// Each rule of a role, in an order of its own.
fn rules(object: &Value) -> Vec<String> {
    let sorted = |rule: &Value| {
        let mut rule = rule.clone();
        for field in ["apiGroups", "resources", "verbs"] {
            rule[field].as_array_mut().unwrap().sort_by_key(Value::to_string);
        }
        rule.to_string()
    };
    let mut rules: Vec<String> = object["rules"].as_array().unwrap().iter().map(sorted).collect();
    rules.sort();
    rules
}

/// deploy/rbac*.yaml, by which tests run the controllers, grant what an installation grants.
#[test]
fn accounts_by_hand_and_accounts_of_an_installation_may_do_the_same() {
    let installed = by_name(documents(&printed(&[
        "--controllers=*,node-lifecycle-controller,dedicated-pool-controller",
        "--stamp-taints",
    ])));
    let files = [
        ("rbac.yaml", ""),
        ("rbac-stamp-taints.yaml", "-stamp-taints"),
        ("rbac-node-lifecycle.yaml", "-node-lifecycle"),
        ("rbac-dedicated-pools.yaml", "-dedicated-pools"),
    ];
    for (file, suffix) in files {
        let by_hand = by_name(documents(&read(&deploy(file))));
        let role = |all: &ByName, name: String| rules(&all[&name]);
        let ours = role(&installed, format!("ClusterRole /taintward-controller{suffix}"));
        assert_eq!(ours, role(&by_hand, format!("ClusterRole /taintward{suffix}")), "{file}");
    }
    let by_hand = by_name(documents(&read(&deploy("rbac.yaml"))));
    let lease = rules(&by_hand["Role kube-system/taintward"]);
    assert_eq!(rules(&installed["Role taintward-system/taintward-controller"]), lease);
    let by_hand = by_name(documents(&read(&deploy("rbac-node-lifecycle.yaml"))));
    let beats = rules(&by_hand["Role kube-node-lease/taintward-node-lifecycle"]);
    assert_eq!(rules(&installed["Role kube-node-lease/taintward-controller-node-lifecycle"]), beats);
}

/// Observing writes nothing, and so may write nothing.
#[test]
fn an_account_that_only_observes_may_only_read() {
    let all = by_name(documents(&printed(&[
        "--mode=observe",
        "--parts=controller",
        "--stamp-taints",
        "--eviction-policies",
        "--controllers=*,node-lifecycle-controller,dedicated-pool-controller",
    ])));
    let mut verbs: Vec<&str> = all
        .values()
        .flat_map(|object| object["rules"].as_array().into_iter().flatten())
        .flat_map(|rule| rule["verbs"].as_array().unwrap())
        .map(|verb| verb.as_str().unwrap())
        .collect();
    verbs.sort_unstable();
    verbs.dedup();
    assert_eq!(verbs, ["get", "list", "watch"]);
}

/// What is created last is what can do harm, and it goes first.
#[test]
fn configurations_come_last_and_go_first() {
    let kinds = |flags: &[&str]| -> Vec<String> {
        let all = documents(&printed(flags));
        all.iter().map(|object| object["kind"].as_str().unwrap().to_owned()).collect()
    };
    let there = kinds(&[]);
    assert_eq!(there[..3], ["Namespace", "CustomResourceDefinition", "CustomResourceDefinition"]);
    let last = ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"];
    assert_eq!(there[there.len() - 2..], last);
    assert_eq!(there.iter().filter(|kind| last.contains(&kind.as_str())).count(), 2);
    // Without a rule that judges, no webhook validates; uninstall still looks for that of an earlier installation.
    let gives = "--rules=default-tolerations,extended-resources";
    assert_eq!(kinds(&[gives]).last().unwrap(), last[0]);
    assert_eq!(kinds(&[gives, "--uninstall"])[..2], [last[1], last[0]]);
    for judges in ["*", "dedicated-pools", "toleration-restriction", "advice", "brake"] {
        let rules = format!("--rules=default-tolerations,{judges}");
        assert_eq!(kinds(&[&rules]).last().unwrap(), last[1], "{judges}");
    }
    let back = kinds(&["--uninstall", "--crds"]);
    assert_eq!(back[..2], [last[1], last[0]]);
    assert_eq!(back.last().unwrap(), "Namespace");
    assert!(!kinds(&["--uninstall"]).contains(&"CustomResourceDefinition".to_owned()));
    let part = kinds(&["--uninstall", "--parts=webhook"]);
    assert!(!part.contains(&"Namespace".to_owned()) && part.contains(&"Secret".to_owned()), "{part:?}");
    // A namespace of Kubernetes is neither created nor deleted.
    for flags in [&["--namespace=kube-system"][..], &["--namespace=kube-system", "--uninstall", "--crds"]] {
        assert!(!kinds(flags).contains(&"Namespace".to_owned()), "{flags:?}");
    }
}

/// What the pods are started with is understood: without a cluster they end for want of one, not of sense.
#[test]
fn flags_of_the_pods_are_those_of_the_program() {
    let folder = TestFolder::named("install-flags");
    for (choice, _) in CHOICES {
        let all = chosen(&flags(choice, &folder));
        for object in all.values().filter(|object| object["kind"] == "Deployment") {
            let arguments = &object["spec"]["template"]["spec"]["containers"][0]["args"];
            let lists = format!("={}", folder.write("there.yaml", LISTS));
            let here = |argument: &Value| argument.as_str().unwrap().replace(LISTS_THERE, &lists);
            let arguments: Vec<String> = arguments.as_array().unwrap().iter().map(here).collect();
            let mut command = Command::new(env!("CARGO_BIN_EXE_taintward"));
            let output = command.args(&arguments).args(["--kubeconfig", "nowhere"]).output().unwrap();
            let message = [output.stdout, output.stderr]
                .map(|text| String::from_utf8_lossy(&text).into_owned())
                .concat();
            assert_eq!(output.status.code(), Some(1), "{arguments:?}: {message}");
        }
    }
}
