//! Tests which cluster and user a command line selects.

use super::*;
use taintward_kube::config::{ConfigOverrides, Impersonation};

fn typed(line: &str) -> Result<Option<ProgramCommand>, clap::Error> {
    parse_from(["taintward"].into_iter().chain(line.split_whitespace()))
}

#[test]
fn a_cluster_is_chosen_as_for_kubectl() {
    let flags = "--as jane --as-group a --as-group=b --as-uid 42 --cluster c --user u -s http://127.0.0.1:1";
    let acting =
        Impersonation { user: "jane".into(), groups: vec!["a".into(), "b".into()], uid: Some("42".into()) };
    let expected = ConfigOverrides {
        cluster: Some("c".into()),
        user: Some("u".into()),
        server: Some("http://127.0.0.1:1".into()),
        trust: None,
        acting: Some(acting),
    };
    for verb in ["plan", "pending", "explain pod/a", "lint", "doctor", "taint node n1 a-", "version"] {
        let settings = match typed(&format!("{verb} {flags}")).unwrap().unwrap() {
            ProgramCommand::Plan(options) => options.state.cluster.server.settings,
            ProgramCommand::Pending(options) => options.state.cluster.server.settings,
            ProgramCommand::Explain(options) => options.state.cluster.server.settings,
            ProgramCommand::Lint(options) => options.cluster().unwrap().server.settings.clone(),
            ProgramCommand::Doctor(options) => options.server.settings,
            ProgramCommand::Taint(options) => options.cluster.server.settings,
            ProgramCommand::Version(options) => options.server.settings,
            other => panic!("{other:?}"),
        };
        assert_eq!(settings.overrides, expected, "{verb}");
    }
}

#[test]
fn flags_without_an_effect_are_rejected() {
    for line in [
        // Groups without a user.
        "pending --as-group a",
        "pending --as-uid 42",
        "pending --as=",
        // Files belong to no cluster.
        "pending -f a.yaml --as jane",
        "explain pod/a -f a.yaml --server http://127.0.0.1:1",
        "lint -f a.yaml --user u",
        "version --client --cluster c",
        // Controllers act as themselves.
        "run --as jane",
        "run --server http://127.0.0.1:1",
        "webhook --as jane",
    ] {
        assert!(typed(line).is_err(), "{line}");
    }
    assert!(typed("lint -f a.yaml --against-cluster --user u").is_ok());
}
