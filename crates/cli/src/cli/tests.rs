//! Tests flags and defaults through the parser of the program.
//!
//! - See `commands/program.rs` for environment variables, which need a process of their own.

mod documents;
mod help;
mod node_health;
mod webhook;
mod which;

use super::*;
use std::num::NonZeroU16;
use std::path::PathBuf;
use std::time::Duration;
use taintward_controller::logging::{LogFormat, LogSettings};
use taintward_controller::settings::{
    ClusterAccess, ControllerSettings, ElectionSettings, EnabledControllers, Marking, MetricsReadersSetting,
    RequestLimit, SecureServing, ServingCertificate, ServingSettings, WriteMode,
};
use taintward_core::node_lifecycle;
use taintward_core::node_limit::NodeLimit;

fn parse(flags: &str) -> Result<Option<ProgramCommand>, clap::Error> {
    parse_from(["taintward", "run"].into_iter().chain(flags.split_whitespace()))
}

fn plan(flags: &str) -> RunOptions {
    match parse(flags) {
        Ok(Some(ProgramCommand::Run(plan))) => *plan,
        other => panic!("{flags}: {other:?}"),
    }
}

/// The usage error of invalid flags.
fn complaint(flags: &str) -> String {
    let error = parse(flags).expect_err(flags);
    assert_eq!(error.exit_code(), 2, "{flags}");
    error.to_string()
}

fn notices(flags: &str) -> Vec<(String, String)> {
    plan(flags).notices.into_iter().map(|notice| (notice.flag.into(), notice.text)).collect()
}

#[test]
fn the_defaults_are_those_of_the_reference() {
    let plan = plan("");
    let expected = ControllerSettings {
        cluster: ClusterAccess {
            kubeconfig: None,
            context: None,
            limit: None,
            relist_every: Some(Duration::from_secs(300)),
        },
        controllers: EnabledControllers {
            taint_eviction: true,
            brake: None,
            node_lifecycle: None,
            dedicated_pools: false,
            toleration_hold: None,
            toleration_backfill: None,
            toleration_guard: None,
        },
        mode: WriteMode::Enforce,
        marking: Marking::Always,
        stamp_taints: false,
        numeric_operators: false,
        eviction_policies: false,
        exempt_namespaces: Vec::new(),
        election: Some(ElectionSettings {
            lease_duration: Duration::from_secs(15),
            renew_deadline: Duration::from_secs(10),
            retry_period: Duration::from_secs(2),
            name: "taintward".into(),
            namespace: "kube-system".into(),
        }),
        serving: ServingSettings {
            bind_address: [127, 0, 0, 1].into(),
            metrics_port: NonZeroU16::new(10357),
            secure: None,
        },
        seed: None,
        recorder: None,
    };
    assert_eq!(plan.settings, expected);
    assert_eq!(expected.election, Some(ElectionSettings::default()));
    assert_eq!(plan.logging, LogSettings { format: LogFormat::Text, verbosity: 0 });
    assert_eq!(plan.notices, []);
}

#[test]
fn every_flag_reaches_its_setting() {
    let plan = plan(
        "--kubeconfig=/k --context=c --kube-api-qps=50.5 --kube-api-burst=100 --relist-interval=10m --mode=enforce \
         --controllers=*,node-lifecycle-controller,dedicated-pool-controller --node-monitor-period=1s --node-monitor-grace-period=20s \
         --node-startup-grace-period=30s --node-eviction-rate=1 --secondary-node-eviction-rate=0.5 \
         --unhealthy-zone-threshold=0.7 --large-cluster-size-threshold=9 --hold-countdowns=false \
         --lift-taints-together=false --exempt-namespaces=monitoring,backup \
         --disruption-condition=jobs --stamp-taints --eviction-policies --brake-limit=10,30% --feature-gates=TaintTolerationComparisonOperators=true \
         --leader-elect --leader-elect-lease-duration=1m --leader-elect-renew-deadline=40s \
         --leader-elect-retry-period=500ms --leader-elect-resource-lock=leases --leader-elect-resource-name=a.b \
         --leader-elect-resource-namespace=ns --bind-address=::1 --metrics-port=1 --secure-port=2 \
         --metrics-authentication=delegated --tls-cert-file=/c \
         --tls-private-key-file=/p --log-format=json -v 4",
    );
    let node_health = node_lifecycle::NodeLifecycleFlags {
        monitor_period_micros: 1_000_000,
        monitor_grace_micros: 20_000_000,
        startup_grace_micros: 30_000_000,
        eviction_rate: 1.0,
        secondary_eviction_rate: 0.5,
        unhealthy_zone_threshold: 0.7,
        large_cluster_size_threshold: 9,
        hold_countdowns: false,
        lift_together: false,
    };
    let expected = ControllerSettings {
        cluster: ClusterAccess {
            kubeconfig: Some("/k".into()),
            context: Some("c".into()),
            limit: Some(RequestLimit { qps: 50.5, burst: 100 }),
            relist_every: Some(Duration::from_secs(600)),
        },
        controllers: EnabledControllers {
            taint_eviction: true,
            brake: Some(NodeLimit { nodes: Some(10), percent: Some(30) }),
            node_lifecycle: Some(node_lifecycle::NodeLifecycleConfig::new(&node_health).unwrap()),
            dedicated_pools: true,
            toleration_hold: None,
            toleration_backfill: None,
            toleration_guard: None,
        },
        mode: WriteMode::Enforce,
        marking: Marking::Jobs,
        stamp_taints: true,
        numeric_operators: true,
        eviction_policies: true,
        exempt_namespaces: vec!["monitoring".into(), "backup".into()],
        election: Some(ElectionSettings {
            lease_duration: Duration::from_secs(60),
            renew_deadline: Duration::from_secs(40),
            retry_period: Duration::from_millis(500),
            name: "a.b".into(),
            namespace: "ns".into(),
        }),
        serving: ServingSettings {
            bind_address: "::1".parse().unwrap(),
            metrics_port: NonZeroU16::new(1),
            secure: NonZeroU16::new(2).map(|port| SecureServing {
                port,
                certificate: ServingCertificate::Files {
                    certificate: PathBuf::from("/c"),
                    key: PathBuf::from("/p"),
                },
                readers: MetricsReadersSetting::Delegated,
            }),
        },
        seed: None,
        recorder: None,
    };
    assert_eq!(plan.settings, expected);
    assert_eq!(plan.logging, LogSettings { format: LogFormat::Json, verbosity: 4 });
    assert_eq!(plan.notices, []);
}

#[test]
fn flags_can_be_spelt_as_on_kube_controller_manager() {
    assert_eq!(plan("--v=3").logging.verbosity, 3);
    assert_eq!(plan("-v=3").logging.verbosity, 3);
    assert_eq!(plan("-v3").logging.verbosity, 3);
    assert_eq!(plan("--logging-format=json").logging.format, LogFormat::Json);
    assert_eq!(plan("--logging-format json").logging.format, LogFormat::Json);
    for off in ["false", "0", "f", "F", "FALSE", "False"] {
        assert_eq!(plan(&format!("--leader-elect={off}")).settings.election, None);
    }
    for on in ["", "=true", "=1", "=t", "=T", "=TRUE", "=True"] {
        assert!(plan(&format!("--leader-elect{on}")).settings.election.is_some());
    }
    // If a flag is given twice, the last one counts.
    assert_eq!(plan("-v 1 -v 2 --mode=enforce --mode=observe").settings.mode, WriteMode::Observe);
    assert_eq!(plan("--kube-api-qps -1").settings.cluster.limit, None);
}

/// TE-1: the controller has the same name as in kube-controller-manager.
#[test]
fn lists_can_be_given_in_parts() {
    let gates =
        "--feature-gates=TaintBasedEvictions=true --feature-gates=TaintTolerationComparisonOperators=true";
    let plan = plan(gates);
    assert!(plan.settings.numeric_operators && plan.notices.len() == 1, "{plan:?}");
    assert!(parse("--controllers=* --controllers=-taint-eviction-controller").is_err());
}

#[test]
fn observing_needs_no_lease_and_writes_nothing() {
    let plan = plan("--mode=observe --stamp-taints --leader-elect=true");
    assert_eq!(
        (plan.settings.mode, plan.settings.election, plan.settings.stamp_taints),
        (WriteMode::Observe, None, false)
    );
    let notices = plan.notices.into_iter().map(|notice| (notice.flag, notice.text)).collect::<Vec<_>>();
    let text = "has no effect in observe mode, which writes nothing".to_owned();
    assert_eq!(notices, [("--stamp-taints".into(), text)]);
}

#[test]
fn the_error_of_a_wrong_value_names_the_expected_form() {
    let rows = [
        ("--mode=watch", "[possible values: enforce, observe]"),
        ("--disruption-condition=yes", "[possible values: always, jobs, never]"),
        ("--log-format=xml", "[possible values: text, json]"),
        (
            "--controllers=nodes",
            "expected '*', or a name (with '-' in front to switch it off) out of: taint-eviction-controller",
        ),
        ("--feature-gates=Foo=true", "unknown feature gate; expected a name out of: PodDisruptionConditions"),
        ("--feature-gates=TaintBasedEvictions", "expected Name=true or Name=false"),
        ("--kube-api-qps=fast", "expected a rate per second, such as 50 or 0.5, or 0 for no limit"),
        ("--kube-api-qps=NaN", "expected a rate per second"),
        ("--kube-api-qps=inf", "expected a rate per second"),
        ("--relist-interval=5", "expected a duration with its unit, such as 15s, 1m30s or 500ms"),
        ("--kube-api-burst=0", "0 is not in 1.."),
        ("--stamp-taints=maybe", "expected true or false"),
        ("--leader-elect=yes", "expected true or false"),
        (
            "--leader-elect-lease-duration=15",
            "expected a duration with its unit, such as 15s, 1m30s or 500ms",
        ),
        ("--leader-elect-retry-period=-1s", "a duration cannot be negative"),
        (
            "--leader-elect-resource-lock=endpointsleases",
            "expected leases: Kubernetes no longer supports locks on Endpoints and ConfigMaps",
        ),
        ("--leader-elect-resource-lock=files", "expected leases, the only supported lock"),
        ("--leader-elect-resource-name=Taintward", "expected an object name"),
        ("--leader-elect-resource-namespace=a.b", "expected a namespace"),
        ("--bind-address=localhost", "invalid IP address"),
        ("--metrics-port=65536", "65536 is not in 0..=65535"),
        ("--secure-port=https", "invalid digit"),
        ("--tls-cert-file=/c", "--tls-private-key-file <FILE>"),
        ("--tls-private-key-file=/p", "--tls-cert-file <FILE>"),
        ("-v 11", "11 is not in 0..=10"),
        ("-v", "a value is required for '--v <LEVEL>'"),
        ("--kubeconfig=", "a value is required for '--kubeconfig <FILE>'"),
        ("--pod-eviction-timeout=5", "expected a duration with its unit"),
        ("--leader-elected", "a similar argument exists: '--leader-elect'"),
        ("now", "unexpected argument 'now'"),
    ];
    for (flags, expected) in rows {
        let message = complaint(flags);
        assert!(message.contains(expected), "{flags}: {message}");
        let flag = flags.split([' ', '=']).next().unwrap();
        assert!(message.contains(if flag == "-v" { "--v" } else { flag }), "{flags} is not named: {message}");
    }
}

#[test]
fn inconsistent_flags_are_rejected() {
    let election = "--leader-elect-lease-duration";
    let rows = [
        ("--controllers=*,-taint-eviction-controller", "--controllers enables no controller"),
        ("--leader-elect-lease-duration=500ms", "must be whole seconds from 1s on"),
        ("--leader-elect-lease-duration=15500ms", "it is 15.5s"),
        ("--leader-elect-lease-duration=0", "it is 0s"),
        ("--leader-elect-lease-duration=600000h", "must be whole seconds"),
        (
            "--leader-elect-lease-duration=10s",
            "(10s) must be longer than --leader-elect-renew-deadline (10s)",
        ),
        (
            "--leader-elect-renew-deadline=15s",
            "(15s) must be longer than --leader-elect-renew-deadline (15s)",
        ),
        (
            "--leader-elect-renew-deadline=2400ms",
            "(2.4s) must be longer than 1.2 times --leader-elect-retry-period (2s)",
        ),
        ("--leader-elect-retry-period=9s", "must be longer than 1.2 times"),
        ("--leader-elect-retry-period=0s", "--leader-elect-retry-period must be longer than 0s"),
        (
            "--relist-interval=29.9s",
            "must be 0 (never) or at least 30s, because every node and pod is read each time; it is 29.9s",
        ),
        ("--secure-port=10357", "--metrics-port and --secure-port are both 10357"),
        ("--tls-cert-file=/c --tls-private-key-file=/p", "--secure-port=0 switches HTTPS off"),
        ("--metrics-authentication=delegated", "set --secure-port to a port"),
        (
            "--mode=enforce --enable-taint-manager=false",
            "--mode=enforce and --enable-taint-manager=false contradict",
        ),
        (
            "--mode=enforce --feature-gates=TaintBasedEvictions=false",
            "--mode=enforce and --feature-gates=TaintBasedEvictions=false contradict",
        ),
    ];
    for (flags, expected) in rows {
        let message = complaint(flags);
        assert!(message.contains(expected), "{flags}: {message}");
    }
    // Just within the limits.
    for flags in [
        "--leader-elect-lease-duration=11s".to_owned(),
        "--leader-elect-renew-deadline=2401ms".to_owned(),
        "--leader-elect-retry-period=8s".to_owned(),
        format!("{election}=2147483647s"),
        "--secure-port=10357 --metrics-port=0".to_owned(),
        "--leader-elect=false --leader-elect-lease-duration=1s".to_owned(),
        "--relist-interval=30s".to_owned(),
    ] {
        assert_eq!(plan(&flags).notices, [], "{flags}");
    }
}

#[test]
fn l4_an_interval_of_zero_disables_relists() {
    for (flags, expected) in [
        ("--relist-interval=0", None),
        ("--relist-interval=0s", None),
        ("--relist-interval=30s", Some(30)),
        ("--relist-interval=876000h", Some(876_000 * 3600)),
    ] {
        assert_eq!(plan(flags).settings.cluster.relist_every, expected.map(Duration::from_secs), "{flags}");
    }
}

#[test]
fn old_switches_that_disable_evictions_have_effect() {
    // M10, TE-3.
    for flags in ["--enable-taint-manager=false", "--feature-gates=TaintBasedEvictions=false"] {
        let plan = plan(flags);
        assert_eq!((plan.settings.mode, plan.settings.election), (WriteMode::Observe, None), "{flags}");
        let [notice] = &plan.notices[..] else { panic!("{flags}: {:?}", plan.notices) };
        assert!(flags.starts_with(&*notice.flag) && notice.text.contains("--mode=observe"), "{notice:?}");
    }
    assert_eq!(plan("--mode=observe --enable-taint-manager=false").settings.mode, WriteMode::Observe);
}

#[test]
fn old_switches_name_their_replacements() {
    let rows = [
        ("--enable-taint-manager", "--enable-taint-manager", "--mode=observe"),
        ("--enable-taint-manager=true", "--enable-taint-manager", "omit it"),
        ("--pod-eviction-timeout=5m0s", "--pod-eviction-timeout", "tolerationSeconds"),
        ("--feature-gates=TaintBasedEvictions=true", "--feature-gates=TaintBasedEvictions", "omit it"),
        (
            "--feature-gates=TaintNodesByCondition=true",
            "--feature-gates=TaintNodesByCondition",
            "node lifecycle",
        ),
        (
            "--feature-gates=TaintNodesByCondition=false",
            "--feature-gates=TaintNodesByCondition",
            "without effect",
        ),
        (
            "--feature-gates=SeparateTaintEvictionController=false",
            "--feature-gates=SeparateTaintEvictionController",
            "append -taint-eviction-controller to the current --controllers of kube-controller-manager",
        ),
        (
            "--feature-gates=PodDisruptionConditions=false",
            "--feature-gates=PodDisruptionConditions",
            "--disruption-condition=never",
        ),
    ];
    for (flags, flag, text) in rows {
        let notices = notices(flags);
        let [(named, message)] = &notices[..] else { panic!("{flags}: {notices:?}") };
        assert!(named == flag && message.contains(text), "{flags}: {named}: {message}");
        assert_eq!(plan(flags).settings.mode, WriteMode::Enforce, "{flags}");
    }
    assert_eq!(notices("--feature-gates=SeparateTaintEvictionController=true"), []);
    assert_eq!(notices("--feature-gates=TaintTolerationComparisonOperators=false"), []);
}

#[test]
fn the_old_condition_gate_yields_to_todays_flag() {
    let marking = |flags| plan(flags).settings.marking;
    assert_eq!(marking("--feature-gates=PodDisruptionConditions=false"), Marking::Never);
    assert_eq!(marking("--feature-gates=PodDisruptionConditions=true"), Marking::Always);
    let both = "--feature-gates=PodDisruptionConditions=false --disruption-condition=jobs";
    assert_eq!(marking(both), Marking::Jobs);
    assert!(notices(both)[0].1.contains("without effect together with --disruption-condition"));
}

#[test]
fn a_port_open_to_other_machines_gets_a_notice() {
    let notices = notices("--bind-address=0.0.0.0");
    assert_eq!(notices[0].0, "--bind-address");
    assert!(notices[0].1.contains("can connect to 0.0.0.0"));
    assert_eq!(plan("--bind-address=0.0.0.0 --metrics-port=0").notices, []);
}
