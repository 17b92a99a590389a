//! Tests that mutating twice changes nothing, keeps all tolerations of the author, and does not depend on when
//! upstream's plugins run (AD-1).

use crate::admission::cases::{AdmissionCase, any_case};
use crate::cases::cases;
use proptest::prelude::*;
use taintward_core::admission::extended_resource_toleration::extended_tolerations;
use taintward_core::admission::pod_toleration_restriction::{
    MergeMode, PodTolerationRestriction, is_superset,
};
use taintward_core::admission::policy::DefaultTolerationSeconds;
use taintward_core::admission::pool::{DedicatedPool, PoolEnforcement};
use taintward_core::admission::request::{ClusterView, NodePoolMembership, PodRequest, PreviousPod};
use taintward_core::admission::review::{
    AdmissionRule, LintAdvice, Mutation, ReviewSettings, mutate, review, validate,
};
use taintward_core::admission::{DefaultSeconds, default_tolerations};
use taintward_core::taint::keys;
use taintward_core::toleration::{Toleration, TolerationOperator};

fn settings(merging: MergeMode) -> ReviewSettings {
    ReviewSettings {
        defaults: Some(DefaultTolerationSeconds::default()),
        restriction: Some(PodTolerationRestriction { merging, ..PodTolerationRestriction::default() }),
        extended: true,
        advice: Some(LintAdvice::default()),
        ..ReviewSettings::default()
    }
}

impl AdmissionCase {
    fn around(&self) -> ClusterView<'_> {
        ClusterView {
            namespace: Some(&self.namespace),
            policies: Some(&self.policies),
            pools: Some(&self.pools),
            node_pool: NodePoolMembership::Unknown,
        }
    }

    fn made(&self, request: &PodRequest, settings: &ReviewSettings) -> Mutation {
        mutate(request, &self.around(), settings)
    }

    fn with(&self, tolerations: Vec<Toleration>) -> PodRequest {
        let mut request = self.request.clone();
        request.pod.tolerations = tolerations;
        request
    }

    /// Returns the request after a mutation.
    fn after(&self, made: &Mutation) -> PodRequest {
        let mut request = self.with(made.tolerations.clone());
        request.pod.required.clone_from(&made.required);
        request
    }

    /// Returns the result of upstream's plugins, in their order.
    fn upstream(&self, request: &PodRequest, plugins: Plugins) -> Vec<Toleration> {
        let mut all = request.pod.tolerations.clone();
        if plugins.defaults {
            all.extend(default_tolerations(&all, DefaultSeconds::default()));
        }
        if let Some(merging) = plugins.restriction {
            let rule = PodTolerationRestriction { merging, ..PodTolerationRestriction::default() };
            all = rule
                .merged(&all, &self.namespace.lists, request.operation, request.pod.best_effort)
                .tolerations;
        }
        if plugins.extended {
            all.extend(extended_tolerations(&all, request.pod.resources.iter().map(AsRef::as_ref)));
        }
        all
    }
}

#[derive(Clone, Copy, Debug)]
struct Plugins {
    defaults: bool,
    restriction: Option<MergeMode>,
    extended: bool,
}

/// Whether it can be upstream's own default, which gets other seconds.
fn is_upstreams(one: &Toleration) -> bool {
    [keys::NOT_READY, keys::UNREACHABLE].contains(&&*one.key)
        && one.operator == TolerationOperator::Exists
        && one.seconds == Some(300)
}

fn covers(whole: &[Toleration], part: &[Toleration]) -> bool {
    part.iter().all(|one| whole.iter().any(|other| is_superset(other, one)))
}

proptest! {
    #![proptest_config(cases(2_000))]

    /// Reinvocation changes nothing (S13).
    #[test]
    fn mutating_twice_equals_mutating_once(case in any_case(true)) {
        let rules = settings(MergeMode::KeepsOwn);
        let once = case.made(&case.request, &rules);
        let twice = case.made(&case.after(&once), &rules);
        prop_assert_eq!(&twice.tolerations, &once.tolerations);
        prop_assert_eq!(&twice.required, &once.required);
        prop_assert!(twice.acts.is_empty(), "{:?}", twice.acts);
    }

    /// All existing tolerations stay, in their order and unchanged, except for the seconds of upstream's defaults
    /// (S13).
    #[test]
    fn nothing_of_the_authors_is_lost_or_changed(case in any_case(true)) {
        let made = case.made(&case.request, &settings(MergeMode::KeepsOwn));
        let before = &case.request.pod.tolerations;
        prop_assert!(made.tolerations.len() >= before.len());
        for (before, after) in before.iter().zip(&made.tolerations) {
            let reset = Toleration { seconds: before.seconds, ..after.clone() };
            prop_assert_eq!(before, &reset);
            prop_assert!(before == after || is_upstreams(before), "{:?} {:?}", before, after);
        }
        // On update, not even the seconds of those that existed before.
        if let Some(old) = &case.request.old {
            prop_assert!(old.tolerations.iter().all(|one| made.tolerations.contains(one)));
        }
    }

    /// With upstream's merge, removed tolerations are covered by remaining ones (AD-10).
    #[test]
    fn ad_10_removed_tolerations_are_covered(case in any_case(true)) {
        let rules = ReviewSettings { defaults: None, ..settings(MergeMode::AsUpstream) };
        let made = case.made(&case.request, &rules);
        prop_assert!(covers(&made.tolerations, &case.request.pod.tolerations), "{:?}", made.tolerations);
    }

    /// Without configured seconds, and without pools, the result is that of upstream's plugins (AD-2, AD-7 to AD-10).
    #[test]
    fn ad_1_without_configuration_the_result_is_upstreams(mut case in any_case(true)) {
        case.pools.clear();
        case.policies.clear();
        case.namespace.requested = Default::default();
        case.request.pod.requested = Default::default();
        let all = Plugins { defaults: true, restriction: Some(MergeMode::AsUpstream), extended: true };
        let ours = case.made(&case.request, &settings(MergeMode::AsUpstream)).tolerations;
        prop_assert_eq!(ours, case.upstream(&case.request, all));
    }

    /// Whichever of upstream's plugins run alongside the default one, before us or after us or both: the result is the
    /// same.
    #[test]
    fn ad_1_the_order_does_not_matter(
        case in any_case(false),
        extended: bool,
        restricting: bool,
        merging in prop_oneof![Just(MergeMode::KeepsOwn), Just(MergeMode::AsUpstream)],
        like_ours: bool,
    ) {
        let theirs = if like_ours { merging } else { MergeMode::AsUpstream };
        let restriction = restricting.then_some(theirs);
        let plugins = Plugins { defaults: true, restriction, extended };
        let rules = settings(merging);
        let plain = case.made(&case.request, &rules);
        let before = case.upstream(&case.request, plugins);
        if !before.starts_with(&case.request.pod.tolerations) {
            // What upstream's merge has removed from the author's tolerations leaves no trace.
            return Ok(());
        }
        let behind = case.made(&case.with(before), &rules);
        // Called again, a merge like upstream's drops what the tolerations for extended resources cover now; and
        // these are placed before those of the namespace if upstream added them but not those.
        if !extended || (restriction.is_some() && merging == MergeMode::KeepsOwn) {
            prop_assert_eq!(&behind.tolerations, &plain.tolerations);
        } else {
            prop_assert!(covers(&behind.tolerations, &plain.tolerations));
            prop_assert!(covers(&plain.tolerations, &behind.tolerations));
        }
        prop_assert_eq!(&behind.required, &plain.required);
        let single = Plugins { restriction: None, ..plugins };
        let after = case.upstream(&case.after(&plain), single);
        prop_assert_eq!(&after, &plain.tolerations);
        if merging == MergeMode::KeepsOwn && restriction != Some(MergeMode::AsUpstream) {
            prop_assert_eq!(&case.upstream(&case.after(&plain), plugins), &plain.tolerations);
        }
    }

    /// For any request: there is a result, the same one each time, and an unknown fact rejects no pod but one that
    /// could get onto the nodes of a pool that denies.
    #[test]
    fn unknown_facts_keep_pods_out_of_pools_and_refuse_nothing_else(case in any_case(true)) {
        let rules = settings(MergeMode::KeepsOwn);
        let known = review(case.request.clone(), &case.around(), &rules);
        prop_assert_eq!(&known, &review(case.request.clone(), &case.around(), &rules));
        let cold = review(case.request.clone(), &ClusterView::default(), &rules);
        prop_assert!(cold.ruling.denial.is_none());
        prop_assert!(cold.mutation.tolerations.starts_with(&case.request.pod.tolerations));
        let lost = ClusterView { namespace: None, ..case.around() };
        let denial = review(case.request.clone(), &lost, &rules).ruling.denial;
        let lenient = case.pools.iter().all(|pool| pool.enforcement != PoolEnforcement::Deny);
        prop_assert!(denial.as_ref().is_none_or(|denial| denial.rule == AdmissionRule::Pools && !lenient));
        let warned: Vec<DedicatedPool> =
            case.pools.iter().map(|pool| DedicatedPool { enforcement: PoolEnforcement::Warn, ..pool.clone() }).collect();
        let lost = ClusterView { pools: Some(&warned), ..lost };
        prop_assert!(review(case.request.clone(), &lost, &rules).ruling.denial.is_none());
    }

    /// If pools are the only rule that rejects, an installation has API servers call the webhook only for pods that may
    /// enter one.
    #[test]
    fn a_pod_that_can_enter_no_pool_is_not_judged(mut case in any_case(true)) {
        case.request.pod.node = None;
        case.request.pod.tolerations.retain(|one| one.key.starts_with("node.kubernetes.io/"));
        let rules = ReviewSettings { restriction: None, advice: None, ..settings(MergeMode::KeepsOwn) };
        let ruling = validate(&case.request, &case.around(), &rules);
        prop_assert!(ruling.denial.is_none() && ruling.warnings.is_empty(), "{:?}", ruling);
    }

    /// An update that adds nothing is never rejected (VAL-6): an old pod stays updatable.
    #[test]
    fn an_update_that_adds_nothing_is_never_refused(mut case in any_case(true)) {
        case.request.operation = taintward_core::admission::request::Operation::Update;
        case.request.old = Some(PreviousPod {
            tolerations: case.request.pod.tolerations.clone(),
            gated: case.request.pod.gated,
            made_for: case.request.pod.identity.made_for.clone(),
        });
        let ruling = validate(&case.request, &case.around(), &settings(MergeMode::KeepsOwn));
        prop_assert!(ruling.denial.is_none() && ruling.warnings.is_empty(), "{:?}", ruling);
    }
}
