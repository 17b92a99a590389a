//! Tests that doctor says whether eviction policies apply.

use super::{KUBEADM, checked, cluster};
use crate::doctor::check::{CheckVerdict, DoctorCheck};
use crate::doctor::facts::ClusterFacts;
use crate::manifest;

/// The check, with these flags of the controller and these conditions of one policy each.
fn check(flags: &[&str], policies: &[&str], change: impl FnOnce(&mut ClusterFacts)) -> DoctorCheck {
    let mut facts = cluster(&format!("{KUBEADM},-taint-eviction-controller"));
    facts.deployments[0].arguments.extend(flags.iter().map(|flag| (*flag).to_owned()));
    for (at, conditions) in policies.iter().enumerate() {
        let policy = format!(
            "{{kind: EvictionPolicy, metadata: {{name: p{at}}}, status: {{conditions: [{conditions}]}}}}"
        );
        assert_eq!(manifest::each(&policy, |object| facts.add(object)), []);
    }
    change(&mut facts);
    checked(&facts, false).remove("eviction-policies").unwrap()
}

const ON: &str = "--eviction-policies";
const READY: &str = "{type: Ready, status: 'True'}";
const INVALID: &str = "{type: Ready, status: 'False'}, {type: Blocked, status: 'True'}";
const BLOCKED: &str = "{type: Ready, status: 'True'}, {type: Blocked, status: 'True'}";

#[test]
fn policies_that_nobody_applies_are_found() {
    let of = |flags: &[&str], policies: &[&str]| check(flags, policies, |_| {});
    assert_eq!(of(&[], &[]).finding, "no eviction policies exist, and the brake is off (--brake-limit)");
    for flags in [&[][..], &["--eviction-policies=false"]] {
        let ignored = of(flags, &[READY, READY]);
        assert_eq!(ignored.verdict, CheckVerdict::Warning);
        assert_eq!(
            ignored.finding,
            "2 eviction policies are ignored: p0, p1; Deployment taintward-system/taintward has no --eviction-policies"
        );
        assert!(ignored.fix[0].contains(" --eviction-policies --apply"), "{ignored:?}");
    }
    let annotated = check(&[], &[], |facts| {
        facts.nodes[0].keys.insert("taintward.io/respect-budgets".to_owned());
    });
    assert_eq!(annotated.verdict, CheckVerdict::Warning);
    assert!(annotated.finding.contains("taintward.io/respect-budgets of nodes is ignored: cp1"));
    let applied = of(&[ON, "--brake-limit=10,30%"], &[READY]);
    assert_eq!(applied.verdict, CheckVerdict::Passed);
    assert_eq!(applied.finding, "1 eviction policy is applied, and the brake is on (--brake-limit=10,30%)");
}

#[test]
fn policies_that_do_not_work_are_found() {
    for (flags, policies, verdict, words) in [
        (&[ON][..], &[READY, INVALID][..], CheckVerdict::Failed, "1 eviction policy is invalid"),
        (&[ON], &[READY, BLOCKED], CheckVerdict::Warning, "1 eviction policy is blocked"),
        (&[ON], &[READY, ""], CheckVerdict::Warning, "1 eviction policy is without a status"),
        (&[ON, "--mode=observe"], &[READY, ""], CheckVerdict::Passed, "2 eviction policies are applied"),
        (&[ON], &[], CheckVerdict::Passed, "of which none exists"),
    ] {
        let check = check(flags, policies, |_| {});
        assert_eq!(check.verdict, verdict, "{check:?}");
        assert!(check.finding.contains(words), "{check:?}");
        let names = verdict == CheckVerdict::Passed || check.finding.ends_with(": p1");
        assert!(names && (verdict == CheckVerdict::Passed || !check.fix.is_empty()), "{check:?}");
    }
    let undefined = |flags: &[&str]| check(flags, &[], |facts| facts.policies.is_undefined = true);
    assert_eq!(undefined(&[ON]).verdict, CheckVerdict::Failed);
    assert!(undefined(&[ON]).finding.contains("the definition of EvictionPolicy is not installed"));
    assert_eq!(undefined(&[]).verdict, CheckVerdict::Passed);
}
