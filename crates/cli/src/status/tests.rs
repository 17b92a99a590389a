//! Tests what the status says about parts that are known, absent and unread.

use super::cluster_status::{ClusterStatus, EvictionBacklog, StatusPart};
use crate::active_controllers::{ActiveControllers, LeaseHolder};
use crate::described::{check, schema};
use crate::hold_status::HoldStatus;
use crate::output::{PrintOptions, Printable as _, Terminal};
use serde_json::{Value, json};
use taintward_core::eviction::BrakedKey;
use taintward_core::time::{Now, Wall};

fn status() -> ClusterStatus {
    let wall = Wall::from_secs(1_800_000_000);
    let since = Some(Wall::from_secs(1_800_000_000 - 600));
    ClusterStatus {
        from: "a cluster".to_owned(),
        now: Now::of_wall(wall),
        controllers: ActiveControllers {
            ours: LeaseHolder::Held { holder: "taintward-0".to_owned(), since },
            place: "taintward-system",
            upstreams: LeaseHolder::Absent,
        },
        deployment: StatusPart::Absent(
            "namespace taintward-system has no Deployment of Taintward".to_owned(),
        ),
        backlog: StatusPart::Known(EvictionBacklog::default()),
        holds: StatusPart::Known(HoldStatus::default()),
        brake: StatusPart::Known(Vec::new()),
        policies: StatusPart::Absent("the kind EvictionPolicy is not installed".to_owned()),
    }
}

fn text(status: &ClusterStatus) -> String {
    status.human(&PrintOptions::on(Terminal { width: 200, paints: false, is_terminal: false }))
}

#[test]
fn what_a_cluster_lacks_is_no_error() {
    let status = status();
    check(&schema("status.schema.json"), &status.object());
    assert_eq!((status.read_errors(), &status.object()["policies"]), (Vec::new(), &Value::Null));
    let text = text(&status);
    assert!(text.contains("taintward-0 leads since ") && text.contains(", for 10m\n"), "{text}");
    for line in [
        "Mode:       unknown: namespace taintward-system has no Deployment of Taintward\n",
        "Backlog:    0 pods are due; 0 pods counting down\n",
        "Holds:      <none>\n",
        "Brake:      <none>\n",
        "Policies:   unknown: the kind EvictionPolicy is not installed\n",
        "Budgets:    <none>\n",
    ] {
        assert!(text.contains(line), "{line}{text}");
    }
    assert!(!text.contains("Oldest:"), "no pod is due: {text}");
}

#[test]
fn what_cannot_be_read_is_an_error_once() {
    let unread = || "list nodes: 403".to_owned();
    let status = ClusterStatus {
        backlog: StatusPart::Unread(unread()),
        brake: StatusPart::Unread(unread()),
        holds: StatusPart::Unread(unread()),
        ..status()
    };
    check(&schema("status.schema.json"), &status.object());
    assert_eq!(status.read_errors(), [unread()]);
    assert_eq!(status.object()["complete"], json!(false));
    let text = text(&status);
    assert_eq!(text.matches("unknown: list nodes: 403\n").count(), 4, "{text}");
}

#[test]
fn a_braked_key_has_its_count_its_limit_and_the_command_that_ends_it() {
    let keys = vec![BrakedKey { key: "maintenance".into(), nodes: 12, limit: 10 }];
    let status = ClusterStatus { brake: StatusPart::Known(keys), ..status() };
    check(&schema("status.schema.json"), &status.object());
    let command = "taintward release --taint maintenance";
    assert_eq!(
        status.object()["brake"],
        json!([{"key": "maintenance", "nodes": 12, "limit": 10, "command": command}])
    );
    let text = text(&status);
    assert!(text.contains("Brake:\n  KEY ") && text.contains(command), "{text}");
}
