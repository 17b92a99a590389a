//! Compares what `taintward replay` prints with its schemas.

use super::policy_report::PolicyReport;
use super::{ReplayReport, policy_file};
use crate::described::{check, schema};
use crate::output::Printable as _;
use std::path::{Path, PathBuf};

/// The record of the examples of `taintward history`.
fn record() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cmd/explain.in/record")
}

#[test]
fn the_schema_describes_a_replay() {
    for is_checked in [false, true] {
        let report = ReplayReport::of(&record(), is_checked).unwrap();
        assert!(!report.controllers.is_empty() && report.difference.is_none());
        check(&schema("replay.schema.json"), &report.object());
    }
}

#[test]
fn the_schema_describes_a_replay_with_a_policy() {
    let folder = std::env::temp_dir().join(format!("taintward-policy-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("slow.yaml");
    let policy = "{apiVersion: taintward.io/v1alpha1, kind: EvictionPolicy, metadata: {name: slow}, spec: {maxPodsPerMinute: 1}}";
    std::fs::write(&file, policy).unwrap();
    let policies = policy_file::read(&file);
    std::fs::remove_dir_all(&folder).unwrap();
    let report = PolicyReport::of(&record(), &policies.unwrap()).unwrap();
    let object = report.object();
    check(&schema("policy-replay.schema.json"), &object);
    let pods = object["pods"].as_array().unwrap();
    assert!(pods.iter().any(|pod| pod["recorded"]["evictedAt"].is_string()), "{object}");
    // The controller of the example applied no policies.
    assert_eq!(report.notes.len(), 1, "{:?}", report.notes);
}
