//! Generates random requests and their surroundings, with few keys and values so that they often match.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use taintward_core::admission::LabelSelector;
use taintward_core::admission::pod_toleration_restriction::{
    NamespaceTolerationLists, TolerationListAnnotation,
};
use taintward_core::admission::policy::{
    RequestedSeconds, SecondsBounds, TolerationDuration, TolerationPolicy,
};
use taintward_core::admission::pool::{
    DedicatedPool, PoolEnforcement, PoolLabel, PoolMembers, PoolPlacement, PoolTaint, PoolUsers,
};
use taintward_core::admission::request::{
    AdmittedPod, NamespaceFact, Operation, PodIdentity, PodRequest, PreviousPod,
};
use taintward_core::scheduling::{Labels, NodeOperator, NodeRequirement, NodeTerm};
use taintward_core::taint::{TaintEffect, keys};
use taintward_core::testkit::{toleration, toleration_of};
use taintward_core::time::Wall;
use taintward_core::toleration::Toleration;

pub(crate) const GPU: &str = "gpu.com/x";

fn some_seconds() -> impl Strategy<Value = Option<i64>> {
    select(vec![None, Some(0), Some(60), Some(300), Some(400)])
}

fn any_toleration() -> impl Strategy<Value = Toleration> {
    let key =
        select(vec!["", "own", "dedicated", GPU, keys::NOT_READY, keys::UNREACHABLE, keys::MEMORY_PRESSURE]);
    let operator = select(vec!["", "Equal", "Exists", "Exists", "Lt", "?"]);
    let effect = select(vec!["", "NoExecute", "NoExecute", "NoSchedule", "?"]);
    let odd = (key, operator, select(vec!["", "", "a", "b"]), effect, some_seconds()).prop_map(
        |(key, operator, value, effect, seconds)| Toleration {
            seconds,
            ..toleration_of(key, operator, value, effect)
        },
    );
    let upstreams = select(vec![
        toleration(keys::NOT_READY, Some(300)),
        toleration(keys::UNREACHABLE, Some(300)),
        toleration_of(GPU, "Exists", "", "NoSchedule"),
    ]);
    prop_oneof![3 => odd, 1 => upstreams]
}

/// A namespace's default toleration; unrelated to lost nodes.
fn other_default() -> impl Strategy<Value = Toleration> {
    let key = select(vec!["own", "dedicated", GPU]);
    let operator = select(vec!["Equal", "Exists"]);
    (key, operator, select(vec!["", "a"]), select(vec!["", "NoSchedule", "NoExecute"]))
        .prop_map(|(key, operator, value, effect)| toleration_of(key, operator, value, effect))
}

fn any_requested() -> impl Strategy<Value = RequestedSeconds> {
    let text = || select(vec![None, None, Some("60"), Some("300"), Some("forever"), Some("5m")]);
    let boxed = |text: Option<&str>| text.map(Into::into);
    (text(), text()).prop_map(move |(not_ready, unreachable)| RequestedSeconds {
        not_ready: boxed(not_ready),
        unreachable: boxed(unreachable),
    })
}

fn any_policy() -> impl Strategy<Value = TolerationPolicy> {
    let stay = || {
        select(vec![
            None,
            Some(TolerationDuration::For(60)),
            Some(TolerationDuration::For(300)),
            Some(TolerationDuration::Forever),
        ])
    };
    let bound = || select(vec![None, None, Some(100), Some(400)]);
    let meant = select(vec![LabelSelector::default(), LabelSelector::of_labels([("team", "a")])]);
    (stay(), stay(), bound(), bound(), meant, 0..2_i32).prop_map(
        |(not_ready, unreachable, least, most, namespaces, priority)| TolerationPolicy {
            name: "p".into(),
            priority,
            namespaces,
            not_ready,
            unreachable,
            bounds: SecondsBounds { least, most },
        },
    )
}

fn any_requirement() -> impl Strategy<Value = NodeRequirement> {
    let operator = select(vec!["In", "NotIn", "Exists", "DoesNotExist", "Gt", "?"]);
    let values = vec(select(vec!["a", "b", "5"]), 0..3);
    (select(vec!["dedicated", "zone", "metadata.name"]), operator, values).prop_map(
        |(key, operator, values)| NodeRequirement {
            key: key.into(),
            operator: NodeOperator::new(operator),
            values: values.into_iter().map(Into::into).collect(),
        },
    )
}

pub(crate) fn any_terms() -> impl Strategy<Value = Option<Vec<NodeTerm>>> {
    let term = (vec(any_requirement(), 0..3), vec(any_requirement(), 0..2))
        .prop_map(|(expressions, fields)| NodeTerm { expressions, fields });
    prop::option::of(vec(term, 0..3))
}

/// `dedicated=<value>` and, sometimes, a label of its own, for namespaces with `team=<value>`.
pub(crate) fn any_pool() -> impl Strategy<Value = DedicatedPool> {
    let effects = vec(select(vec!["NoSchedule", "NoExecute", "PreferNoSchedule"]), 0..3);
    let label = select(vec![None, None, Some(("zone", "a")), Some(("zone", "b"))]);
    let placement = select(vec![PoolPlacement::Exclusive, PoolPlacement::Exclusive, PoolPlacement::Allowed]);
    let enforcement = select(vec![PoolEnforcement::Deny, PoolEnforcement::Warn]);
    (select(vec!["a", "b"]), select(vec!["a", "b"]), effects, label, placement, enforcement, 0..3_i64)
        .prop_map(|(value, team, effects, label, placement, enforcement, age)| DedicatedPool {
            name: value.into(),
            created: Some(Wall::from_secs(age)),
            taint: PoolTaint {
                key: "dedicated".into(),
                value: value.into(),
                effects: effects.into_iter().map(TaintEffect::new).collect(),
            },
            label: label.map(|(key, value): (&str, &str)| PoolLabel { key: key.into(), value: value.into() }),
            members: PoolMembers {
                names: Vec::new(),
                selector: Some(LabelSelector::of_labels([("pool", value)])),
            },
            users: PoolUsers {
                namespaces: Some(LabelSelector::of_labels([("team", team)])),
                ..PoolUsers::default()
            },
            placement,
            enforcement,
            ..DedicatedPool::default()
        })
}

fn any_pod() -> impl Strategy<Value = AdmittedPod> {
    let node = select(vec![None, None, None, Some("n")]);
    let resources = select(vec![vec![], vec!["cpu"], vec![GPU, "cpu", "net.com/y"]]);
    (vec(any_toleration(), 0..6), any_terms(), node, any::<(bool, bool)>(), resources, any_requested())
        .prop_map(|(tolerations, required, node, (gated, best_effort), resources, requested)| AdmittedPod {
            identity: PodIdentity { namespace: "shop".into(), ..PodIdentity::default() },
            tolerations,
            required,
            node: node.map(Into::into),
            gated,
            resources: resources.into_iter().map(Into::into).collect(),
            best_effort,
            requested,
            ..AdmittedPod::default()
        })
}

/// A request and its surroundings.
#[derive(Clone, Debug)]
pub(crate) struct AdmissionCase {
    pub(crate) request: PodRequest,
    pub(crate) namespace: NamespaceFact,
    pub(crate) policies: Vec<TolerationPolicy>,
    pub(crate) pools: Vec<DedicatedPool>,
}

/// With `touching`, a namespace's defaults may be for the same taints as default tolerations.
pub(crate) fn any_case(touching: bool) -> impl Strategy<Value = AdmissionCase> {
    let default = if touching { any_toleration().boxed() } else { other_default().boxed() };
    let defaults = prop_oneof![
        Just(TolerationListAnnotation::Absent),
        vec(default, 0..3).prop_map(TolerationListAnnotation::Present)
    ];
    let whitelist = prop_oneof![
        3 => Just(TolerationListAnnotation::Absent),
        1 => vec(any_toleration(), 0..4).prop_map(TolerationListAnnotation::Present),
        1 => Just(TolerationListAnnotation::Unreadable("odd".into())),
    ];
    let team = select(vec![Labels::new(), [("team".into(), "a".into())].into()]);
    let around = (team, any_requested(), defaults, whitelist);
    (any_pod(), any::<bool>(), 0..6_usize, around, vec(any_policy(), 0..2), vec(any_pool(), 0..3)).prop_map(
        |(pod, update, had, (labels, requested, defaults, whitelist), policies, pools)| {
            let had = pod.tolerations[..had.min(pod.tolerations.len())].to_vec();
            let old = update.then_some(PreviousPod {
                tolerations: had,
                gated: pod.gated,
                ..PreviousPod::default()
            });
            let operation = if update { Operation::Update } else { Operation::Create };
            let lists = NamespaceTolerationLists { defaults, whitelist };
            AdmissionCase {
                request: PodRequest { operation, requester: None, pod, old },
                namespace: NamespaceFact { labels, requested, lists },
                policies,
                pools,
            }
        },
    )
}
