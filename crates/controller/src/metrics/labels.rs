//! Defines every label of the controllers and its possible values.

use taintward_core::api_error::ApiFailure;
use taintward_kube::clock::IgnoredDate;
use taintward_server::closed_label;
use taintward_server::metrics::{ClosedLabel, EncodeLabel as _, EncodeLabelSet, LabelSetEncoder};

closed_label! {
    /// What is listed and watched.
    Resource, "resource", {
        /// Pods that are bound to a node.
        Pods => "pods",
        /// Nodes.
        Nodes => "nodes",
        /// Leases of nodes; only where node health runs.
        Leases => "leases",
        /// Dedicated pools; only where dedicated-pool-controller runs.
        Pools => "dedicatedpools",
        /// Namespaces; only while there is a dedicated pool, or where toleration-backfill-controller or
        /// toleration-guard-controller runs.
        Namespaces => "namespaces",
        /// Policies; only where toleration-backfill-controller runs.
        Policies => "tolerationpolicies",
        /// Eviction policies.
        EvictionPolicies => "evictionpolicies",
        /// Disruption budgets, for eviction policies.
        DisruptionBudgets => "poddisruptionbudgets",
        /// Deployments, for eviction policies.
        Deployments => "deployments",
        /// ReplicaSets, for eviction policies.
        ReplicaSets => "replicasets",
        /// StatefulSets, for eviction policies.
        StatefulSets => "statefulsets",
    }
}

closed_label! {
    /// Where a stream of facts stands.
    Phase, "phase", {
        /// A request is on its way.
        Connecting => "connecting",
        /// The list is coming in.
        Listing => "listing",
        /// The list is complete; changes come as they happen.
        Watching => "watching",
        /// Something went wrong; the next attempt has a time.
        Waiting => "waiting",
    }
}

closed_label! {
    /// Why a stream was resumed.
    Restart, "reason", {
        /// The server ended it in good order.
        Closed => "closed",
        /// The connection broke, or the response was invalid.
        Failed => "failed",
        /// 410: the server no longer has the version to resume from; everything is listed again.
        Expired => "expired",
        /// The last list had become old: everything is listed again, to find events that were lost (L4). No failure.
        Relist => "relist",
        /// 429: the server asks for patience.
        Throttled => "throttled",
        /// Not a byte for too long, not even a bookmark.
        Stalled => "stalled",
        /// 401 or 403: permission is missing.
        Forbidden => "forbidden",
        /// The server does not stream lists; pages are used instead.
        Unsupported => "unsupported",
    }
}

closed_label! {
    /// Input that is legal for the API server and unknown to this version; it never evicts (D11, S11).
    Unknown, "kind", {
        /// A taint with an effect other than the three.
        TaintEffect => "taint_effect",
        /// A toleration with an unknown operator.
        TolerationOperator => "toleration_operator",
        /// A toleration with an effect other than the three.
        TolerationEffect => "toleration_effect",
        /// An invalid point in time.
        Time => "time",
    }
}

closed_label! {
    /// A controller with a limit of its own on requests.
    Controller, "controller", {
        /// The controller that evicts.
        TaintEviction => "taint-eviction-controller",
        /// The controller that maintains the health of nodes.
        NodeLifecycle => "node-lifecycle-controller",
        /// Those that change toleration seconds: toleration-hold-controller, toleration-backfill-controller and
        /// toleration-guard-controller.
        TolerationSeconds => "toleration-seconds",
    }
}

closed_label! {
    /// A kind of request.
    Effect, "effect", {
        /// A live read of a node before a delete (D5).
        Confirm => "confirm",
        /// Adding the `DisruptionTarget` condition to a pod (TE-31).
        Mark => "mark",
        /// Removing that condition (S9).
        ClearMark => "unmark",
        /// Deleting a pod (TE-30).
        Delete => "delete",
        /// Evicting a pod by the eviction API, which respects disruption budgets.
        Evict => "evict",
        /// Writing `timeAdded` to a taint (`--stamp-taints`).
        Stamp => "stamp",
        /// A live read of a node and its lease before it is called silent or tainted (S7).
        ConfirmHealth => "confirm_health",
        /// Adding taints to a node, or removing them (NL-20).
        Taint => "taint",
        /// Writing that a node is silent into its conditions (NL-12).
        Declare => "declare",
        /// Writing a node's deprecated labels as copies of the current ones (NL-8).
        Label => "label",
        /// Marking a pod not ready because its node is not (NL-17).
        Unready => "unready",
        /// Adding the taints and labels of a dedicated pool to a node, or removing them.
        Dedicate => "dedicate",
        /// Adding Taintward's finalizer or the label of the guard to a dedicated pool, or removing it.
        HoldPool => "hold_pool",
        /// Writing the status of a dedicated pool.
        UpdatePoolStatus => "tell_pool",
        /// Evicting a pod that does not belong to a dedicated pool from its node.
        EvictUnauthorizedPod => "evict_trespasser",
        /// Updating what the admission policy judges pods by, from pools and nodes.
        GuardPools => "guard_pools",
        /// Clearing the seconds of a pod's tolerations, restoring them, or setting others.
        WriteSeconds => "write_seconds",
        /// Writing the status of a TolerationPolicy or an EvictionPolicy.
        UpdatePolicyStatus => "tell_policy",
        /// Recording an event (TE-34).
        Event => "event",
    }
}

closed_label! {
    /// The outcome of a request.
    Outcome, "outcome", {
        /// It was carried out.
        Done => "done",
        /// 404.
        NotFound => "not_found",
        /// 409, or a precondition that did not hold.
        Conflict => "conflict",
        /// 401 or 403.
        Forbidden => "forbidden",
        /// 429.
        Throttled => "throttled",
        /// 429 by the eviction API: a disruption budget does not allow it.
        Budget => "budget",
        /// Any other 4xx.
        Rejected => "rejected",
        /// 5xx, timeout, broken connection: it may or may not have been carried out.
        Unavailable => "unavailable",
    }
}

impl From<ApiFailure> for Outcome {
    fn from(failure: ApiFailure) -> Self {
        match failure {
            ApiFailure::NotFound => Self::NotFound,
            ApiFailure::Conflict => Self::Conflict,
            ApiFailure::Forbidden => Self::Forbidden,
            ApiFailure::Throttled(_) => Self::Throttled,
            ApiFailure::Budget => Self::Budget,
            ApiFailure::Rejected => Self::Rejected,
            ApiFailure::Unavailable => Self::Unavailable,
        }
    }
}

impl<T> From<Result<T, ApiFailure>> for Outcome {
    fn from(result: Result<T, ApiFailure>) -> Self {
        result.map_or_else(Self::from, |_| Self::Done)
    }
}

closed_label! {
    /// How a dedicated pool stands.
    PoolValidityLabel, "standing", {
        /// It does everything its spec says.
        Applied => "applied",
        /// It keeps its nodes and takes no more.
        Frozen => "frozen",
        /// It does nothing until it is corrected.
        Rejected => "refused",
        /// It is being deleted.
        Leaving => "leaving",
        /// It cannot be read (D11): its nodes stay as they are.
        Unreadable => "unreadable",
    }
}

closed_label! {
    /// The work queues, under upstream's names (TE-5).
    Queue, "name", {
        /// Nodes whose taints changed.
        Node => "noexec_taint_node",
        /// Pods that changed or came due.
        Pod => "noexec_taint_pod",
    }
}

closed_label! {
    /// How much a log record matters.
    LogLevel, "level", {
        /// Normal operation.
        Info => "info",
        /// Something needs attention.
        Warning => "warning",
        /// Something cannot continue.
        Error => "error",
    }
}

closed_label! {
    /// The sign that another controller evicts alongside this one (P39).
    Sign, "sign", {
        /// A condition that it added to a pod.
        Condition => "condition",
        /// A pod that it deleted just before this controller would have; one alone may be chance.
        Deletion => "deletion",
    }
}

closed_label! {
    /// The status of an answer, under client-go's name.
    Code, "code", {
        /// OK.
        S200 => "200",
        /// Created.
        S201 => "201",
        /// Accepted.
        S202 => "202",
        /// Not modified.
        S304 => "304",
        /// Bad request.
        S400 => "400",
        /// The credentials are not accepted.
        S401 => "401",
        /// Not permitted.
        S403 => "403",
        /// Not found.
        S404 => "404",
        /// Method not allowed.
        S405 => "405",
        /// Conflict.
        S409 => "409",
        /// The server has forgotten.
        S410 => "410",
        /// Too large.
        S413 => "413",
        /// Unsupported form.
        S415 => "415",
        /// Rejected as invalid.
        S422 => "422",
        /// Too many requests.
        S429 => "429",
        /// The server failed.
        S500 => "500",
        /// A proxy found no server.
        S502 => "502",
        /// Unavailable.
        S503 => "503",
        /// The server gave up.
        S504 => "504",
        /// No answer came.
        None => "<error>",
    }
}

impl Code {
    /// That of an answer. One that is not in the list is taken for the first of its hundred, as RFC 9110 has it.
    pub fn of(status: Option<u16>) -> Self {
        match status.unwrap_or(0) {
            200 => Self::S200,
            201 => Self::S201,
            202 => Self::S202,
            304 => Self::S304,
            400 => Self::S400,
            401 => Self::S401,
            403 => Self::S403,
            404 => Self::S404,
            405 => Self::S405,
            409 => Self::S409,
            410 => Self::S410,
            413 => Self::S413,
            415 => Self::S415,
            422 => Self::S422,
            429 => Self::S429,
            500 => Self::S500,
            502 => Self::S502,
            503 => Self::S503,
            504 => Self::S504,
            0 => Self::None,
            other => match other / 100 {
                1 | 2 => Self::S200,
                3 => Self::S304,
                4 => Self::S400,
                _ => Self::S500,
            },
        }
    }
}

closed_label! {
    /// The method of a request, under client-go's name.
    Method, "method", {
        /// GET.
        Get => "GET",
        /// POST.
        Post => "POST",
        /// PUT.
        Put => "PUT",
        /// PATCH.
        Patch => "PATCH",
        /// DELETE.
        Delete => "DELETE",
    }
}

impl Method {
    /// That of a request; nothing else is ever asked.
    pub fn of(method: &str) -> Self {
        match method {
            "POST" => Self::Post,
            "PUT" => Self::Put,
            "PATCH" => Self::Patch,
            "DELETE" => Self::Delete,
            _ => Self::Get,
        }
    }
}

/// The method, as client-go calls it for durations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Verb(pub Method);

impl ClosedLabel for Verb {
    fn all() -> Vec<Self> {
        Method::all().into_iter().map(Self).collect()
    }
}

impl EncodeLabelSet for Verb {
    fn encode(&self, encoder: &mut LabelSetEncoder<'_>) -> std::fmt::Result {
        ("verb", self.0.as_str()).encode(encoder.encode_label())
    }
}

closed_label! {
    /// Why an answer said nothing about the server's time.
    DateIgnored, "reason", {
        /// It has no `Date`.
        Missing => "missing",
        /// Its `Date` is invalid.
        Unreadable => "unreadable",
        /// It has an `Age`: it comes from a cache.
        Cached => "cached",
        /// Its `Date` is decades away.
        Implausible => "implausible",
        /// It took more than ten seconds.
        Slow => "slow",
        /// It contradicts the others.
        Contradicting => "contradicting",
    }
}

impl From<IgnoredDate> for DateIgnored {
    fn from(why: IgnoredDate) -> Self {
        match why {
            IgnoredDate::Missing => Self::Missing,
            IgnoredDate::Unreadable => Self::Unreadable,
            IgnoredDate::Cached => Self::Cached,
            IgnoredDate::Implausible => Self::Implausible,
            IgnoredDate::Slow => Self::Slow,
            IgnoredDate::Contradicting => Self::Contradicting,
        }
    }
}
