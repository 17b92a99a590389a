//! Defines every lint rule: id, name, severity and a one-sentence description.
//!
//! - Invariant: an id never changes its meaning and is never reused.

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// It works; worth knowing.
    Info,
    /// An API server accepts it, but it does not do what it appears to do.
    Warning,
    /// An API server rejects it.
    Error,
}

impl Severity {
    /// Returns its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

macro_rules! rules {
    ($($rule:ident $id:literal $name:literal $severity:ident $summary:literal;)*) => {
        /// A rule.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Rule {
            $(#[doc = $summary] $rule,)*
        }

        impl Rule {
            /// All of them, in the order of their ids.
            pub const ALL: &[Self] = &[$(Self::$rule,)*];

            /// `TL101`
            pub const fn id(self) -> &'static str {
                match self { $(Self::$rule => $id,)* }
            }

            /// `exists-with-value`
            pub const fn name(self) -> &'static str {
                match self { $(Self::$rule => $name,)* }
            }

            /// Returns its severity.
            pub const fn severity(self) -> Severity {
                match self { $(Self::$rule => Severity::$severity,)* }
            }

            /// Describes it in a sentence.
            pub const fn summary(self) -> &'static str {
                match self { $(Self::$rule => $summary,)* }
            }
        }
    };
}

rules! {
    // TL1: an API server rejects it, or drops it silently.
    ExistsWithValue "TL101" "exists-with-value" Error
        "Exists matches any value, so the toleration must not have a value.";
    EmptyKey "TL102" "empty-key" Error
        "A toleration without a key is for every taint and needs the operator Exists.";
    SecondsWithoutNoExecute "TL103" "seconds-without-no-execute" Error
        "tolerationSeconds counts with the effect NoExecute only, so the toleration must have that effect.";
    UnknownOperator "TL104" "unknown-operator" Error
        "The operator does not exist; operators are case-sensitive.";
    UnknownEffect "TL105" "unknown-effect" Error
        "The effect does not exist, or a taint has none; effects are case-sensitive.";
    NumericGateOff "TL106" "numeric-operator-without-gate" Error
        "Lt and Gt need the feature gate TaintTolerationComparisonOperators; without it they are refused and never match.";
    NumericValue "TL107" "numeric-value" Error
        "Lt and Gt compare 64-bit whole numbers in their plain form only: no +, no leading zeros, no fraction.";
    UnreadableSeconds "TL108" "unreadable-seconds" Error
        "tolerationSeconds must be a 64-bit whole number.";
    Malformed "TL109" "malformed-key-or-value" Error
        "A key must be a label's name and a value a label's value.";
    DuplicateTaint "TL110" "duplicate-taint" Error
        "A node has at most one taint of a key and an effect.";
    UnknownField "TL111" "unknown-field" Error
        "A toleration has no such field; unless validation is strict, the API server drops it silently.";
    NotText "TL112" "unquoted-value" Error
        "A value that YAML reads as a number or a truth value needs quotes: an API server takes text only.";
    RepeatedField "TL113" "repeated-field" Error
        "A map has a field twice: the earlier one is lost, and no API server reports it.";
    MisplacedField "TL114" "misplaced-field" Error
        "Tolerations or taints are in a field that Kubernetes ignores.";
    WrongType "TL115" "wrong-type" Error
        "Tolerations and taints are lists of maps: an API server rejects anything else.";
    // TL2: an API server accepts it, but it does not do what it appears to do.
    ToleratesEverything "TL201" "tolerates-everything" Warning
        "A toleration without a key and without seconds keeps the pod on every node indefinitely, dead ones \
         included.";
    DuplicateToleration "TL202" "duplicate-toleration" Info
        "The same toleration exists twice.";
    ShadowedToleration "TL203" "shadowed-toleration" Info
        "Earlier tolerations match everything that this one could match, so it is never used.";
    FirstMatchTrap "TL204" "first-match-trap" Warning
        "For each taint the first toleration that matches counts, not the longest and not the shortest.";
    MisspeltKey "TL205" "misspelt-key" Warning
        "The key is almost that of a taint of Kubernetes.";
    OldKey "TL206" "old-key" Warning
        "The key is one that Kubernetes no longer uses.";
    ValueForValueless "TL207" "value-for-valueless-taint" Warning
        "The taints of Kubernetes have no value, so a toleration with a value never matches them.";
    NoTimeAtAll "TL208" "zero-seconds" Warning
        "Zero or fewer seconds evict the pod immediately, as if it had no toleration.";
    TooManySeconds "TL209" "too-many-seconds" Warning
        "More than 9223372036 seconds overflow in kube-controller-manager.";
    ControlPlaneUntolerated "TL210" "control-plane-untolerated" Warning
        "Pods of the control plane do not tolerate the taint of its nodes, or can be evicted from them.";
    StaysOnDeadNode "TL211" "stays-on-dead-node" Info
        "not-ready or unreachable is tolerated indefinitely, so the pod is never replaced when its node \
         dies.";
    DeadAnnotation "TL212" "dead-annotation" Warning
        "Kubernetes read tolerations, taints or priorities from this annotation in the past; it no longer does.";
    ImpossibleEffect "TL213" "impossible-effect" Warning
        "Kubernetes never gives its taint this effect, so the toleration never matches.";
    OctalSeconds "TL214" "octal-seconds" Warning
        "A number that begins with 0 is octal in YAML: 0300 is 192 seconds.";
    // TL3: requires nodes.
    UnneededToleration "TL301" "unneeded-toleration" Info
        "No node has a taint that this toleration is for.";
    NoTolerantDaemon "TL302" "no-tolerant-daemonset" Warning
        "No DaemonSet tolerates this NoExecute taint: the node loses its agents.";
    NothingLeadsThere "TL303" "no-node-affinity" Warning
        "The pods tolerate a dedicated pool, but no selector or affinity binds them to it: they may land on \
         any other node.";
    NotLetIn "TL304" "untolerated-nodes" Warning
        "All nodes that the pods may run on have taints that they do not tolerate: they stay Pending.";
    // TL4: eviction policies, and the annotations that delay evictions.
    InvalidEvictionPolicy "TL401" "invalid-eviction-policy" Error
        "An invalid policy delays every eviction that it may select, until it is corrected.";
    ShadowedEvictionPolicy "TL402" "shadowed-eviction-policy" Warning
        "Another policy comes first for everything that this one selects, so it never applies.";
    EqualPriority "TL403" "equal-priority" Info
        "Two policies may select the same eviction, and only the order of their names decides between them.";
    SelectsNothing "TL404" "selects-nothing" Warning
        "The requirements of a selector exclude each other, so the policy selects nothing.";
    DelaysDeadNodes "TL405" "delays-dead-nodes" Warning
        "The policy delays evictions from dead nodes, where pods no longer run: it delays their replacements.";
    NeverEvicted "TL406" "never-evicted" Warning
        "The policy respects budgets without a deadline, and a budget never allows a disruption: its pods stay.";
    UnreadableAnnotation "TL407" "unreadable-annotation" Warning
        "Taintward cannot read the value of its annotation.";
}
