//! Checks the API server: version, clock, API priority and fairness.

use super::DoctorScope;
use super::install_command::install_command;
use crate::doctor::check::{CheckId, DoctorCheck, DoctorGroup};
use crate::output::age;
use taintward_core::time::Span;

/// The minor versions of Kubernetes 1 that are supported.
pub(crate) const SUPPORTED: std::ops::RangeInclusive<u32> = 30..=37;

pub(super) fn checks(scope: &DoctorScope<'_>) -> Vec<DoctorCheck> {
    // Files contain nothing about the server.
    if scope.facts.now.is_none() {
        return Vec::new();
    }
    vec![version(scope), clock(scope), flow_schemas(scope)]
}

/// The minor version of `v1.36.3-eks-1`.
fn minor(version: &str) -> Option<u32> {
    version.strip_prefix("v1.")?.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

fn version(scope: &DoctorScope<'_>) -> DoctorCheck {
    const ID: CheckId = CheckId(DoctorGroup::ApiServer, "server-version");
    let version = &scope.facts.server_version;
    let (least, most) = (SUPPORTED.start(), SUPPORTED.end());
    match minor(version) {
        Some(minor) if minor < *least => ID
            .failed(format!("the API server is {version}; Taintward supports 1.{least} to 1.{most}"))
            .fix(format!("upgrade the cluster to 1.{least} or later")),
        Some(minor) if minor > *most => ID
            .note(format!("the API server is {version}; the tests of Taintward cover 1.{least} to 1.{most}")),
        Some(_) => ID.passed(format!("the API server is {version}; 1.{least} to 1.{most} are supported")),
        None => ID.unknown(format!("Taintward does not recognize the API server's version {version:?}")),
    }
}

fn clock(scope: &DoctorScope<'_>) -> DoctorCheck {
    const ID: CheckId = CheckId(DoctorGroup::ApiServer, "clock");
    match scope.facts.clock_offset {
        0 => ID.passed("this machine's clock agrees with the API server's"),
        micros => {
            let length = age(Span::from_micros(micros.saturating_abs()));
            let side = if micros > 0 { "behind" } else { "ahead of" };
            ID.warning(format!(
                "this machine's clock is {length} {side} the API server's; Taintward counts by the API server's clock"
            ))
            .fix("synchronize both machines with NTP (chronyc tracking, timedatectl)")
        }
    }
}

fn flow_schemas(scope: &DoctorScope<'_>) -> DoctorCheck {
    const ID: CheckId = CheckId(DoctorGroup::ApiServer, "priority-and-fairness");
    let facts = scope.facts;
    if let Some(why) = facts.unread("flowschemas") {
        return ID.unknown(format!("cannot read FlowSchemas: {why}"));
    }
    let is_ours = |name: &&String| name.starts_with("taintward");
    let ours = facts.flow_schemas.iter().filter(is_ours).count();
    match (ours, scope.pre || scope.lacks_installation()) {
        (0, true) => ID.passed(format!(
            "API priority and fairness is on ({} FlowSchemas); the installation adds its own",
            facts.flow_schemas.len()
        )),
        (0, false) => ID.warning(
            "Taintward has no FlowSchema: a loaded API server delays its requests behind those of workloads",
        )
        .fix(format!("{} adds them", install_command(scope))),
        (ours, _) => {
            ID.passed(format!("{ours} FlowSchemas are for Taintward"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_supported_is_what_is_pinned_for_tests() {
        let pinned = taintward_envtest::releases::RELEASES.iter().map(|release| release.name().to_owned());
        assert!(pinned.eq(SUPPORTED.map(|minor| format!("1.{minor}"))));
    }

    #[test]
    fn versions_have_suffixes() {
        for (version, wanted) in [
            ("v1.36.3", Some(36)),
            ("v1.30.0-eks-1", Some(30)),
            ("v1.33+", Some(33)),
            ("v2.0.0", None),
            ("1.30", None),
            ("", None),
        ] {
            assert_eq!(minor(version), wanted, "{version}");
        }
    }
}
