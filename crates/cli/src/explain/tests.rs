//! Tests that explanations come true, with the real controller on a simulated cluster in virtual time.

use super::target::{TargetKind, parse as parse_targets};
use super::{EXIT_CODES, ExplainContext, Explanations};
use crate::active_controllers::{ActiveControllers, LeaseHolder};
use crate::args::kube_args::ClusterOptions;
use crate::cluster_state::details::ObjectNames;
use crate::cluster_state::related::{in_cluster, in_files};
use crate::cluster_state::{ClusterReader, ServerClock};
use crate::described::{check, document, schema};
use crate::eviction_delays::{ClusterPolicies, DueDelays};
use crate::output::{PrintOptions, Printable as _, Terminal};
use crate::sandbox::kube_client;
use fakekube::api::{ApiServer, ResourcePath, WriteOptions};
use fakekube::resource::known;
use fakekube::store::ChangeKind;
use jiff::Timestamp;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use taintward_controller::run::run_on;
use taintward_controller::settings::{
    ClusterAccess, ControllerSettings, EnabledControllers, Marking, ServingSettings, WriteMode,
};
use taintward_controller::shutdown::Shutdown;
use taintward_core::time::Wall;
use taintward_core::toleration_matching::NumericOperators;
use taintward_kube::clock::Clock;
use taintward_kube::config::Connected;
use taintward_sandbox::world::{self, World};
use testkit::{ObjectExt as _, pod, taint, toleration};

const HAND: &str = "kubectl";

/// When each pod's deletion was accepted.
type PodDeletions = Arc<Mutex<BTreeMap<String, Timestamp>>>;

fn world() -> (World, PodDeletions) {
    let start = "2026-01-01T00:00:00.4Z".parse().unwrap();
    let world = World::new(&world::WorldSettings {
        start,
        nodes: 4,
        roles: Vec::new(),
        ..world::WorldSettings::default()
    });
    let log = PodDeletions::default();
    let (all, clock) = (Arc::clone(&log), world.server().clock().clone());
    world.server().store().follow(Box::new(move |number, event| {
        let object = event.object.value();
        let goes = event.change == ChangeKind::Deleted || !object["metadata"]["deletionTimestamp"].is_null();
        if number == known("", "pods") && goes {
            let name = object["metadata"]["name"].as_str().unwrap().to_owned();
            all.lock().unwrap().entry(name).or_insert_with(|| clock.now());
        }
    }));
    tokio::spawn(world.life().run());
    (world, log)
}

fn connected(server: &ApiServer) -> Connected {
    let client = || kube_client(server);
    Connected {
        client: client(),
        streams: client(),
        heartbeats: client(),
        lease: client(),
        host: "in-process".to_owned(),
        where_from: "a cluster in memory".to_owned(),
        default_namespace: "default".to_owned(),
    }
}

fn controller(server: &ApiServer) -> tokio::task::JoinHandle<()> {
    let settings = ControllerSettings {
        cluster: ClusterAccess { relist_every: None, ..ClusterAccess::default() },
        controllers: EnabledControllers::default(),
        mode: WriteMode::Enforce,
        marking: Marking::Always,
        stamp_taints: false,
        numeric_operators: false,
        eviction_policies: false,
        exempt_namespaces: Vec::new(),
        election: None,
        serving: ServingSettings { bind_address: [127, 0, 0, 1].into(), metrics_port: None, secure: None },
        seed: Some(7),
        recorder: None,
    };
    let clock = Clock::of_runtime(Wall::from_micros(server.clock().now().as_microsecond()));
    let (cluster, (request, shutdown)) = (connected(server), Shutdown::pair());
    tokio::spawn(async move {
        run_on(cluster, clock, settings, shutdown).await.unwrap();
        drop(request);
    })
}

fn create_pod(server: &ApiServer, name: &str, node: &str, tolerations: &[(&str, Option<i64>)]) {
    let tolerations = tolerations.iter().map(|(key, seconds)| toleration(key, *seconds));
    let object = pod(name).on(node).tolerates(tolerations);
    let on = ResourcePath::object(known("", "pods"), "default", "");
    server.create(&on, object, &WriteOptions::by(HAND)).unwrap();
}

/// Replaces a node's taints; taints that it had before are given with their start.
fn set_taints(server: &ApiServer, node: &str, taints: &[(&str, Option<Timestamp>)]) {
    let one = |(key, added): &(&str, Option<Timestamp>)| {
        let added = added.map(|added| format!("{added:.0}"));
        added.into_iter().fold(taint(key), |taint, added| taint.with("timeAdded", added))
    };
    let taints: Vec<Value> = taints.iter().map(one).collect();
    let on = ResourcePath::object(known("", "nodes"), "", node);
    server.change(&on, HAND, |node| node["spec"]["taints"] = taints.into()).unwrap();
}

/// Outcome and deadline, as in `-o json`.
async fn explained(server: &ApiServer, names: &[String]) -> BTreeMap<String, (String, Option<Timestamp>)> {
    let mut cluster = ClusterOptions::default();
    cluster.server.timeout = Duration::from_secs(30).into();
    let reader = ClusterReader {
        cluster: &cluster,
        connected: connected(server),
        version: String::new(),
        clock: ServerClock::local(),
    };
    let namespace = Some("default".to_owned());
    let pods = names.iter().cloned().collect();
    let wanted = ObjectNames { pods, namespace: namespace.clone(), ..ObjectNames::default() };
    let related = in_cluster(&reader, wanted, Some(server.clock().now()), NumericOperators::Off).await;
    assert_eq!(related.state.gaps, []);
    let context = ExplainContext {
        related,
        controllers: None,
        policies: ClusterPolicies::default(),
        delays: DueDelays::default(),
        namespace,
    };
    let words: Vec<String> = names.iter().map(|name| format!("pod/{name}")).collect();
    let targets = parse_targets(&words).unwrap();
    let list = Explanations::of(&context, &targets).object();
    let one = |item: &Value| {
        let text = |pointer: &str| item.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
        let leaves = text("/evictedAt").map(|at| at.parse().unwrap());
        (text("/object/name").unwrap(), (text("/outcome").unwrap(), leaves))
    };
    list["items"].as_array().unwrap().iter().map(one).collect()
}

/// D1, TE-17, TE-25, MATCH-9: an explained deadline is the second in which the pod is deleted, and a pod that is
/// explained as staying stays. If a list of taints was changed again and nothing shows the start of one of them, the
/// deadline is the latest possible one.
#[tokio::test(start_paused = true)]
async fn a_deadline_is_the_second_of_the_deletion() {
    let (world, log) = world();
    let server = world.server();
    let controller = controller(server);
    let sleep = |millis| tokio::time::sleep(Duration::from_millis(millis));
    sleep(1_000).await;
    // Reproducible numbers without a pattern.
    let seconds = |number: usize| 20 + (number * 37 % 101) as i64;
    let (mut names, mut first) = (Vec::new(), server.clock().now());
    for number in 0..80 {
        let (name, node) = (format!("p{number}"), format!("n{}", number % 4 + 1));
        let tolerations: &[(&str, Option<i64>)] = match number % 5 {
            0 => &[("a", None), ("b", None)],
            1 => &[("a", Some(seconds(number))), ("b", None), ("a", None)],
            2 => &[("a", None), ("b", Some(seconds(number)))],
            _ => &[("a", Some(seconds(number))), ("b", Some(seconds(number + 1)))],
        };
        // Some are created after the first taints.
        if number == 40 {
            first = server.clock().now();
            set_taints(server, "n1", &[("a", Some(first))]);
            set_taints(server, "n3", &[("a", None)]);
            set_taints(server, "n4", &[("a", None)]);
            sleep(2_300).await;
        }
        create_pod(server, &name, &node, tolerations);
        names.push(name);
    }
    sleep(1_200).await;
    set_taints(server, "n1", &[("a", Some(first)), ("b", Some(server.clock().now()))]);
    set_taints(server, "n2", &[("a", None), ("b", None)]);
    set_taints(server, "n4", &[("a", None), ("b", None)]);
    sleep(100).await;
    let explained = explained(server, &names).await;
    assert_eq!((explained.len(), log.lock().unwrap().len()), (80, 0), "no pod has left yet");
    sleep(300_000).await;
    let gone = log.lock().unwrap().clone();
    let mut earlier = 0;
    for (number, name) in names.iter().enumerate() {
        let (outcome, leaves) = &explained[name];
        let (went, leaves) = (gone.get(name).map(|at| at.as_second()), leaves.map(Timestamp::as_second));
        assert_eq!(outcome == "CountingDown", went.is_some(), "{name}: {outcome}");
        match number % 4 {
            3 => {
                assert!(went <= leaves, "{name}: {went:?} {leaves:?}");
                earlier += usize::from(went < leaves);
            }
            _ => assert_eq!(went, leaves, "{name}: {outcome}"),
        }
    }
    assert!((40..80).contains(&gone.len()), "some go and some stay: {}", gone.len());
    assert!(earlier > 0, "the last change of the list is later than the real start");
    controller.abort();
}

#[test]
fn the_schema_describes_what_is_printed() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cmd/explain.in/");
    let as_of = Some("2026-11-21T14:00:00Z".parse().unwrap());
    let pods = "pod/web-7d4b9c6f5d-2xkqp pod/cache-0 pod/odd pod/stuck pod/static-n1 pod/waiting pod/large";
    for (file, line) in [
        ("cluster.yaml", pods),
        ("cluster.yaml", "deploy/web sts/cache deploy/none"),
        ("cluster.yaml", "deploy/api"),
        ("cluster.yaml", "pod/cache-0"),
        ("cluster.yaml", "pod/api-7d4b9c6f5d-x7k2p"),
        ("cluster.yaml", "node/n1"),
        ("cluster.yaml", "node/n2 node/n3"),
        ("cluster.yaml", "pod/odd pod/missing"),
        (
            "pending.yaml",
            "pod/quota pod/network pod/gang pod/hog pod/told pod/anywhere pod/hasty job/nightly",
        ),
        ("pending.yaml", "pod/hog"),
        ("vendors.yaml", "node/old node/new pod/waits pod/runs"),
        ("past.yaml", "pod/store-0 pod/alone node/p1 deploy/front"),
        ("records.yaml", "pod/guarded pod/held pod/released node/far sts/db"),
    ] {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let targets = parse_targets(&words).unwrap();
        let pods = targets.iter().map(|target| target.name.clone()).collect();
        let workloads = targets.iter().filter_map(|target| match target.kind {
            TargetKind::Workload(maker) => Some((maker, target.name.clone())),
            TargetKind::Pod | TargetKind::Node => None,
        });
        let wanted =
            ObjectNames { pods, workloads: workloads.collect(), past: true, ..ObjectNames::default() };
        let related = in_files(&[format!("{folder}{file}").into()], wanted, as_of, NumericOperators::Off);
        let context = ExplainContext {
            related,
            controllers: None,
            policies: ClusterPolicies::default(),
            delays: DueDelays::default(),
            namespace: None,
        };
        let all = Explanations::of(&context, &targets);
        assert_eq!(all.names().len() + all.missing.len(), targets.len());
        check(&schema("explanation.schema.json"), &all.object());
    }
}

/// The countdown of the pod began at 13:59:11, and ends at 14:04:11.
#[test]
fn a_deadline_has_a_latest_time_if_taintward_did_not_see_the_countdown_begin() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cmd/explain.in/cluster.yaml");
    let as_of = "2026-11-21T14:00:00Z".parse().unwrap();
    let name = "web-7d4b9c6f5d-2xkqp";
    for (leads_since, latest) in [("13:59:40", json!("2026-11-21T14:04:15Z")), ("13:59:00", Value::Null)] {
        let pods = [name.to_owned()].into();
        let wanted = ObjectNames { pods, ..ObjectNames::default() };
        let related = in_files(&[file.into()], wanted, Some(as_of), NumericOperators::Off);
        let since: Timestamp = format!("2026-11-21T{leads_since}Z").parse().unwrap();
        let since = Some(Wall::from_micros(since.as_microsecond()));
        let controllers = Some(ActiveControllers {
            ours: LeaseHolder::Held { holder: "a".into(), since },
            place: "kube-system",
            upstreams: LeaseHolder::Absent,
        });
        let context = ExplainContext {
            related,
            controllers,
            policies: ClusterPolicies::default(),
            delays: DueDelays::default(),
            namespace: None,
        };
        let targets = parse_targets(&[format!("pod/{name}")]).unwrap();
        let all = Explanations::of(&context, &targets);
        let object = all.object();
        check(&schema("explanation.schema.json"), &object);
        assert_eq!(object["evictedAt"], "2026-11-21T14:04:11Z");
        assert_eq!(object["evictedAtLatest"], latest);
        let text = all.human(&PrintOptions::on(Terminal::of_standard_output(false)));
        assert_eq!(text.contains(", at the latest."), latest != Value::Null, "{text}");
    }
}

#[test]
fn the_document_names_the_exit_codes() {
    let text = document("explain.md");
    for ((code, of_explain), (same, of_pending)) in EXIT_CODES.iter().zip(crate::pending::EXIT_CODES) {
        assert_eq!(*code, same);
        assert!(text.contains(&format!("| {code} | {of_explain} | {of_pending} |")), "{code}");
    }
}
