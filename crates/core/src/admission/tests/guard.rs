//! Tests what pools add to pods, and which pods they reject.

use super::{bearing, identity, judged, labels, pool, requested, requester, tolerations};
use crate::admission::pool::*;
use crate::admission::request::*;
use crate::fact::PodOwnerKind;
use crate::scheduling::{Labels, NodeOperator, NodeRequirement, NodeTerm};
use crate::taint::TaintEffect;
use crate::toleration_matching::NumericOperators;
use alloc::vec;
use alloc::vec::Vec;

const OFF: NumericOperators = NumericOperators::Off;

fn who<'a>(
    identity: &'a PodIdentity,
    namespace: Option<&'a Labels>,
    requester: Option<&'a Requester>,
) -> PodOwner<'a> {
    PodOwner { identity, namespace, requester, made_for: "", operation: Some(Operation::Create) }
}

#[test]
fn membership_by_namespace_service_account_and_user() {
    let ann = requester("ann", &["devs"]);
    let maker = requester(
        "system:serviceaccount:kube-system:replicaset-controller",
        &["devs", "system:authenticated"],
    );
    let users = |users: PoolUsers| DedicatedPool { users, ..pool("a", 1) };
    let by_namespace = pool("a", 1);
    let account = ServiceAccount { namespace: "shop".into(), name: "web".into() };
    let default = ServiceAccount { namespace: "shop".into(), name: "default".into() };
    let by_account = users(PoolUsers { service_accounts: vec![account, default], ..PoolUsers::default() });
    let by_user = users(PoolUsers { users: vec!["ann".into()], ..PoolUsers::default() });
    let by_group = users(PoolUsers { groups: vec!["devs".into()], ..PoolUsers::default() });
    let (team_a, team_b) = (labels("team=a"), labels("team=b"));
    use Membership::{No, Unknown, Yes};
    let (web, bare, other) = (identity("shop", "web"), identity("shop", ""), identity("other", "web"));
    assert_eq!(membership(&by_namespace, who(&web, Some(&team_a), None)), Yes);
    assert_eq!(membership(&by_namespace, who(&web, Some(&team_b), None)), No);
    assert_eq!(membership(&by_namespace, who(&web, None, None)), Unknown);
    assert_eq!(membership(&by_account, who(&web, None, None)), Yes);
    assert_eq!(membership(&by_account, who(&bare, None, None)), Yes);
    assert_eq!(membership(&by_account, who(&other, None, None)), No);
    assert_eq!(membership(&by_account, who(&identity("shop", "db"), None, None)), No);
    for by_maker in [&by_user, &by_group] {
        assert_eq!(membership(by_maker, who(&web, None, Some(&ann))), Yes);
        assert_eq!(membership(by_maker, who(&web, None, Some(&maker))), No);
        assert_eq!(membership(by_maker, who(&web, None, Some(&requester("bob", &[])))), No);
        assert_eq!(membership(by_maker, who(&web, None, None)), Unknown);
        // The requester of an update counts for what the update adds.
        let change =
            |requester| PodOwner { operation: Some(Operation::Update), ..who(&web, None, Some(requester)) };
        assert_eq!(membership(by_maker, change(&ann)), Yes);
        assert_eq!(membership(by_maker, change(&requester("bob", &[]))), No);
    }
    assert_eq!(membership(&users(PoolUsers::default()), who(&web, None, None)), No);
}

#[test]
fn exemptions_and_which_claims_are_accepted() {
    let rules = PoolExemptions::default();
    let daemon = PodIdentity { owner: PodOwnerKind::DaemonSet, ..identity("shop", "") };
    let mirror = PodIdentity { mirror: true, ..identity("shop", "") };
    let critical = PodIdentity { priority_class: "system-cluster-critical".into(), ..identity("shop", "") };
    let system = identity("kube-system", "");
    let ann = requester("ann", &[]);
    let makes = requester("system:serviceaccount:kube-system:daemon-set-controller", &[]);
    let kubelet = requester("system:node:n", &["system:nodes"]);
    for (identity, requested_by, expected) in [
        (&daemon, Some(&makes), None),
        (&mirror, Some(&kubelet), Some(PoolExemption::Mirror)),
        (&mirror, None, Some(PoolExemption::Mirror)),
        (&mirror, Some(&ann), None),
        (&critical, Some(&ann), None),
        (&system, Some(&ann), Some(PoolExemption::Namespace)),
        (&identity("shop", ""), Some(&makes), None),
    ] {
        for operation in [Operation::Create, Operation::Update] {
            let who = PodOwner { operation: Some(operation), ..who(identity, None, requested_by) };
            assert_eq!(rules.of(who), expected, "{identity:?} {requested_by:?}");
        }
    }
    assert_eq!(rules.as_claimed(&daemon), Some(PoolExemption::DaemonSet));
    assert_eq!(rules.as_claimed(&critical), None);
    let more = PoolExemptions::beside(["shop", "shop", "kube-system"]);
    assert_eq!(more.namespaces.len(), 2);
    assert_eq!(more.as_claimed(&critical), Some(PoolExemption::Namespace));
    assert_eq!(more.as_claimed(&system), Some(PoolExemption::Namespace));
}

fn given(pools: &[DedicatedPool], pod: &AdmittedPod, operation: Operation) -> PoolMutation {
    let (identity, namespace) = (identity("shop", ""), labels("team=a"));
    let who = PodOwner { operation: Some(operation), ..who(&identity, Some(&namespace), None) };
    mutation(pools, pod, &pod.tolerations, who, OFF)
}

fn led_to(values: &[&str]) -> NodeTerm {
    let values = values.iter().map(|&value| value.into()).collect();
    let one = NodeRequirement { key: "dedicated".into(), operator: NodeOperator::In, values };
    NodeTerm { expressions: vec![one], fields: Vec::new() }
}

#[test]
fn its_own_pods_get_toleration_and_affinity() {
    let exclusive = [pool("a", 1)];
    let allowed = [DedicatedPool { placement: PoolPlacement::Allowed, ..pool("a", 1) }];
    let bare = AdmittedPod::default();
    let tolerated = tolerations("dedicated Equal a");
    let made = given(&exclusive, &bare, Operation::Create);
    assert_eq!((made.tolerations, made.required), (tolerated.clone(), Some(vec![led_to(&["a"])])));
    let made = given(&allowed, &bare, Operation::Create);
    assert_eq!((made.tolerations, made.required), (tolerated.clone(), None));
    // Nothing is added twice, and nothing that the author has already written.
    for own in ["dedicated Equal a", "dedicated - a NoSchedule", "dedicated Exists", "- Exists"] {
        let pod = AdmittedPod {
            tolerations: tolerations(own),
            required: Some(vec![led_to(&["a"])]),
            ..AdmittedPod::default()
        };
        assert_eq!(given(&exclusive, &pod, Operation::Create), PoolMutation::default(), "{own}");
    }
    // A toleration for the first effect does not tolerate a second one.
    let mut harder = pool("a", 1);
    harder.taint.effects = vec![TaintEffect::NoSchedule, TaintEffect::NoExecute];
    let pod = AdmittedPod { tolerations: tolerations("dedicated - a NoSchedule"), ..AdmittedPod::default() };
    assert_eq!(given(&[harder], &pod, Operation::Create).tolerations, tolerated);
}

#[test]
fn additions_depend_on_operation_gates_and_node() {
    let pools = [pool("a", 1)];
    let with = |node: Option<&str>, gated| AdmittedPod {
        node: node.map(Into::into),
        gated,
        ..AdmittedPod::default()
    };
    for (operation, node, gated, toleration, affinity) in [
        (Operation::Create, None, false, true, true),
        (Operation::Create, None, true, true, true),
        (Operation::Create, Some("n"), false, true, false),
        (Operation::Update, None, true, true, true),
        (Operation::Update, None, false, true, false),
        (Operation::Update, Some("n"), false, false, false),
    ] {
        let made = given(&pools, &with(node, gated), operation);
        assert_eq!(
            (!made.tolerations.is_empty(), made.required.is_some()),
            (toleration, affinity),
            "{operation:?} {node:?}"
        );
    }
}

#[test]
fn a_pod_of_several_pools_stays_within_all_of_them() {
    let of_a = |name: &str| DedicatedPool { users: pool("a", 1).users, ..pool(name, 1) };
    let made = given(&[of_a("a"), of_a("b"), pool("c", 1)], &AdmittedPod::default(), Operation::Create);
    assert_eq!(made.tolerations, tolerations("dedicated Equal a | dedicated Equal b"));
    assert_eq!(made.required, Some(vec![led_to(&["a", "b"])]));
    let other = DedicatedPool { label: Some(PoolLabel { key: "z".into(), value: "1".into() }), ..of_a("b") };
    let pools = [of_a("a"), other];
    let pod = AdmittedPod { required: Some(vec![led_to(&["x"])]), gated: true, ..AdmittedPod::default() };
    assert_eq!(given(&pools, &pod, Operation::Create).required.map(|terms| terms.len()), Some(2));
    // On update no terms may be added to the existing ones.
    assert_eq!(given(&pools, &pod, Operation::Update).required, None);
    assert!(given(&pools, &AdmittedPod { required: None, ..pod }, Operation::Update).required.is_some());
    let plain_identity = identity("shop", "");
    let unknown = who(&plain_identity, None, None);
    let made = mutation(&pools, &AdmittedPod::default(), &[], unknown, OFF);
    assert_eq!((made.tolerations.len(), made.required, made.unknown), (0, None, 2));
}

#[test]
fn each_term_is_narrowed_separately() {
    let need = alternatives([&pool("a", 1)]);
    let requiring = |key: &str| NodeTerm {
        expressions: vec![NodeRequirement {
            key: key.into(),
            operator: NodeOperator::Exists,
            values: Vec::new(),
        }],
        fields: Vec::new(),
    };
    let by_name = NodeTerm { expressions: Vec::new(), fields: led_to(&["n"]).expressions };
    let terms = [requiring("x"), NodeTerm::default(), led_to(&["a"]), led_to(&["a", "b"]), by_name];
    let after = narrowed(Some(&terms), &need).unwrap();
    let sizes: Vec<(usize, usize)> =
        after.iter().map(|term| (term.expressions.len(), term.fields.len())).collect();
    assert_eq!(sizes, [(2, 0), (0, 0), (1, 0), (2, 0), (1, 1)]);
    assert_eq!(narrowed(Some(&after), &need).as_deref(), Some(&after[..]));
    assert_eq!(narrowed(Some(&[]), &need), Some(Vec::new()));
    assert_eq!(narrowed(None, &[]), None);
}

fn before(text: &str) -> PreviousPod {
    PreviousPod { tolerations: tolerations(text), ..PreviousPod::default() }
}

fn caught(pool: &DedicatedPool, now: &str) -> Vec<PoolViolation> {
    judged(pool, &requested(bearing(now), None), NodePoolMembership::Unknown)
}

#[test]
fn a_refusal_names_the_toleration_that_lets_other_pods_in() {
    let mut hard = pool("a", 1);
    hard.taint.effects = vec![TaintEffect::NoSchedule, TaintEffect::NoExecute];
    for (pool, own, places) in [
        (&pool("a", 1), "", None),
        (&pool("a", 1), "x Exists | dedicated Equal a NoSchedule", Some(vec![1])),
        (&pool("a", 1), "dedicated Equal b | dedicated Exists", Some(vec![1])),
        (&pool("a", 1), "- Exists", Some(vec![0])),
        (&pool("a", 1), "- Exists - NoExecute", None),
        (&pool("a", 1), "dedicated Like a", Some(vec![0])),
        (&pool("a", 1), "dedicated Gt 5 | dedicated Equal b", Some(vec![0])),
        (&pool("a", 1), "dedicated Exists - Sometimes", Some(vec![0])),
        (&pool("a", 1), "other Like a", None),
        (&hard, "dedicated Equal a NoSchedule", None),
        (&hard, "dedicated Equal a NoSchedule | - Exists - NoExecute 5", Some(vec![0, 1])),
        (&hard, "dedicated Equal a", Some(vec![0])),
    ] {
        let found = caught(pool, own).first().map(|one| one.entry.clone());
        assert_eq!(found, places.map(PoolEntry::Tolerations), "{own}");
    }
    let soft = DedicatedPool {
        taint: PoolTaint { effects: vec![TaintEffect::PreferNoSchedule], ..hard.taint },
        ..pool("a", 1)
    };
    assert_eq!(caught(&soft, "- Exists"), []);
    let off = DedicatedPool { enforcement: PoolEnforcement::Off, ..pool("a", 1) };
    assert_eq!(caught(&off, "- Exists"), []);
}

#[test]
fn a_refusal_says_which_pool_which_pods_may_and_what_to_do() {
    let mut one = pool("a", 1);
    let message = |pool: &DedicatedPool| caught(pool, "x Exists | - Exists").remove(0).message;
    assert_eq!(
        message(&one),
        "the nodes of pool a are for pods in namespaces with team=a; toleration 1 (every taint) lets this pod onto them: \
         remove it, or add the pod to spec.users of the pool"
    );
    let account = |name: &str| ServiceAccount { namespace: "s".into(), name: name.into() };
    one.users.service_accounts = ["1", "2", "3", "4"].map(account).into();
    one.users.groups = vec!["system:masters".into()];
    let who_may = "pods in namespaces with team=a, or of service account s/1, s/2, s/3 and 1 more, or created by a \
                   member of group system:masters";
    assert!(message(&one).contains(who_may), "{}", message(&one));
    one.users = PoolUsers::default();
    assert!(message(&one).contains("are for no pods"));
}

#[test]
fn a_pod_of_unknown_membership_is_refused_without_a_warning() {
    let request = requested(bearing("- Exists"), None);
    let deny = pool("a", 1);
    let warn = DedicatedPool { enforcement: PoolEnforcement::Warn, ..deny.clone() };
    let of = |pool: &DedicatedPool| {
        violation(core::slice::from_ref(pool), &request, NodePoolMembership::Unknown, None)
    };
    let (found, unknown) = of(&deny);
    assert_eq!((found.len(), unknown), (1, 0));
    assert_eq!(of(&warn), (Vec::new(), 1));
    let harmless = requested(bearing("x Exists"), None);
    let none = violation(&[deny], &harmless, NodePoolMembership::Unknown, None);
    assert_eq!(none, (Vec::new(), 0));
}

#[test]
fn additions_of_an_update_are_judged_and_old_tolerations_are_not() {
    let one = pool("a", 1);
    for (now, old, rejected) in
        [("- Exists", "- Exists", false), ("x Exists | - Exists", "x Exists", true), ("", "", false)]
    {
        let bound = AdmittedPod { node: Some("n1".into()), ..bearing(now) };
        for pod in [bearing(now), bound] {
            let found = judged(&one, &requested(pod, Some(before(old))), NodePoolMembership::Pool("a"));
            assert_eq!(!found.is_empty(), rejected, "{now}");
        }
    }
    // One more toleration: the whole pod is judged while it has no node, and while the scheduler considers it.
    let more = bearing("- Exists | x Exists");
    let bound = AdmittedPod { node: Some("n1".into()), ..more.clone() };
    let leaving = AdmittedPod { leaving: true, ..more.clone() };
    for (pod, rejected) in [(more, true), (bound, false), (leaving, false)] {
        let found = judged(&one, &requested(pod, Some(before("- Exists"))), NodePoolMembership::Unknown);
        assert_eq!(!found.is_empty(), rejected);
    }
}

#[test]
fn a_pod_whose_gates_are_removed_is_judged_whole() {
    let one = pool("a", 1);
    for (was_gated, gated, rejected) in [(true, false, true), (true, true, false), (false, false, false)] {
        let old = PreviousPod { gated: was_gated, ..before("- Exists") };
        let request = requested(AdmittedPod { gated, ..bearing("- Exists") }, Some(old));
        assert_eq!(
            !judged(&one, &request, NodePoolMembership::Unknown).is_empty(),
            rejected,
            "{was_gated} {gated}"
        );
        let own =
            violation(&[pool("a", 1)], &request, NodePoolMembership::Unknown, Some(&labels("team=a"))).0;
        assert_eq!(own, []);
    }
}

#[test]
fn a_hostile_pod_and_many_pools_are_judged_in_time() {
    let pools: Vec<DedicatedPool> = (0..100).map(|at| pool(&alloc::format!("p{at}"), at)).collect();
    let one = |at: usize| tolerations(&alloc::format!("k{at} Equal v NoExecute")).remove(0);
    let pod = AdmittedPod { tolerations: (0..50_000).map(one).collect(), ..AdmittedPod::default() };
    let namespace = labels("team=p7");
    let request = requested(pod, None);
    assert_eq!(violation(&pools, &request, NodePoolMembership::Unknown, Some(&namespace)), (Vec::new(), 0));
    let (own, bob) = (identity("shop", ""), requester("bob", &[]));
    let owner = who(&own, Some(&namespace), Some(&bob));
    assert_eq!(
        mutation(&pools, &request.pod, &request.pod.tolerations, owner, OFF).tolerations,
        tolerations("dedicated Equal p7")
    );
}
