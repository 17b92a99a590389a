//! Defines the flags of `taintward run`, in the order in which `--help` shows them, and checks them against each other
//! (M10, TE-3).

use super::FlagNotice;
use super::cluster_args::ClusterArgs;
use super::election_args::ElectionArgs;
use super::node_health_args::NodeHealthArgs;
use super::record_args::RecordArgs;
use super::run_args_error::RunArgsError;
use super::serving_args::ServingArgs;
use super::toleration_seconds_args::{BackfillArgs, GuardArgs, HoldArgs};
use crate::args::choice::choice;
use crate::args::controllers::{self, ControllerEntry};
use crate::args::feature_gates::{self, FeatureGate, GateSetting, value};
use crate::args::logging::LoggingArgs;
use crate::args::node_limit::{ParsedLimit, limit};
use crate::args::parsed_as::parsed_as;
use crate::args::{bool_flag, duration, object_names};
use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Command, FromArgMatches};
use std::time::Duration;
use taintward_controller::logging::LogSettings;
use taintward_controller::settings::{
    ControllerSettings, EnabledControllers, Marking, ORIGINAL_OFF, WriteMode,
};

/// All flags.
#[derive(Debug, Args)]
struct RunArgs {
    // The first field, because the parser of each field takes its flags away.
    #[command(flatten)]
    explicit: ExplicitFlags,
    #[command(flatten)]
    cluster: ClusterArgs,
    #[command(flatten)]
    behaviour: BehaviourArgs,
    #[command(flatten)]
    node_health: NodeHealthArgs,
    #[command(flatten)]
    holds: HoldArgs,
    #[command(flatten)]
    backfill: BackfillArgs,
    #[command(flatten)]
    guard: GuardArgs,
    #[command(flatten)]
    election: ElectionArgs,
    #[command(flatten)]
    serving: ServingArgs,
    #[command(flatten)]
    record: RecordArgs,
    #[command(flatten)]
    logging: LoggingArgs,
    #[command(flatten)]
    old: DeprecatedArgs,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Behavior")]
struct BehaviourArgs {
    /// enforce evicts; observe only watches, predicts, meters and logs, and writes nothing. Without this flag, a process
    /// that you start on a terminal outside of a cluster asks before it enforces; without a terminal, it does not ask
    #[arg(long, value_name = "MODE", default_value = "enforce")]
    #[arg(value_parser = choice([("enforce", WriteMode::Enforce), ("observe", WriteMode::Observe)]))]
    mode: WriteMode,
    /// Which controllers run: '*', 'name', '-name'. '*' means taint-eviction-controller, which evicts pods; all others
    /// must be named. node-lifecycle-controller taints nodes because of their conditions and their silence; start
    /// kube-controller-manager without its own controller of this name. dedicated-pool-controller maintains taints and
    /// labels on the nodes of each DedicatedPool. The other three are for clusters whose kube-controller-manager keeps
    /// its own taint eviction; there, do not run the first three: toleration-hold-controller holds countdowns while too
    /// many nodes are silent, toleration-backfill-controller gives running pods the tolerationSeconds that new pods
    /// get, and toleration-guard-controller gives pods of guarded namespaces a ceiling and evicts them by their own
    /// seconds
    #[arg(long, value_name = "LIST", default_value = "*", value_delimiter = ',', value_parser = controllers::parse)]
    controllers: Vec<ControllerEntry>,
    /// Namespaces that are exempt from every DedicatedPool, in addition to kube-system and the namespace of the lease:
    /// their pods may run on any node. The webhook and the admission policies need the same list; `taintward install`
    /// keeps them equal
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = object_names::namespace)]
    exempt_namespaces: Vec<String>,
    /// Which pods get the DisruptionTarget condition before they are deleted: always (every pod), jobs (pods of a Job;
    /// the others are deleted with one request instead of two), never
    #[arg(long, value_name = "WHICH", default_value = "always")]
    #[arg(value_parser = choice([("always", Marking::Always), ("jobs", Marking::Jobs), ("never", Marking::Never)]))]
    disruption_condition: Marking,
    /// Maximum number of nodes that pods leave at the same time because of taints with the same key; above it, Taintward
    /// evicts no further pod because of that key, except from nodes whose annotation taintward.io/allow-no-execute names
    /// it. A node counts while pods are due there, and for five minutes after. The taints of dead nodes are not limited. A
    /// number, a percentage of all nodes (at least one), or both with a comma: the lower limit applies
    #[arg(long, value_name = "LIMIT", default_value = "off", value_parser = limit)]
    brake_limit: ParsedLimit,
    /// Writes timeAdded to NoExecute taints that appear without one, so that a restart finds the exact start. Without
    /// this flag Taintward never writes to nodes
    #[arg(long, value_name = "BOOL", default_value = "false", value_parser = bool_flag::parse)]
    #[arg(num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    stamp_taints: bool,
    /// Lets EvictionPolicy objects decide how due pods are evicted: by the eviction API, at what rate, in which order.
    /// It needs more permissions
    #[arg(long, value_name = "BOOL", default_value = "false", value_parser = bool_flag::parse)]
    #[arg(num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    eviction_policies: bool,
    /// Feature gates, as Name=true,Name=false. TaintTolerationComparisonOperators (false by default) lets the
    /// operators Lt and Gt compare numbers; those of older releases are understood, with a warning
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = feature_gates::parse)]
    feature_gates: Vec<GateSetting>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Switches of older releases (deprecated)")]
struct DeprecatedArgs {
    /// false switches evictions off; use --mode=observe instead
    #[arg(long, value_name = "BOOL", value_parser = bool_flag::parse)]
    #[arg(num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    enable_taint_manager: Option<bool>,
    /// Has no effect; tolerationSeconds of a pod's tolerations determine how long it stays
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    pod_eviction_timeout: Option<Duration>,
}

/// How to run the controller.
#[derive(Debug)]
pub(crate) struct RunOptions {
    pub(crate) settings: ControllerSettings,
    pub(super) record: RecordArgs,
    pub(crate) logging: LogSettings,
    pub(crate) notices: Vec<FlagNotice>,
    /// Whether a user on a terminal must confirm: the mode is the default, which evicts.
    pub(crate) needs_confirmation: bool,
}

/// Which options were given by flag or environment variable.
#[derive(Debug)]
struct ExplicitFlags {
    mode: bool,
    disruption_condition: bool,
    brake_limit: bool,
    /// The first flag that only node lifecycle uses.
    node_health: Option<String>,
    /// The first flag that only holds use.
    holds: Option<String>,
    /// The first flag that only backfill uses.
    backfill: Option<String>,
    /// The first flag that only the guard uses.
    guard: Option<String>,
}

parsed_as!(RunOptions, RunArgs);

impl TryFrom<RunArgs> for RunOptions {
    type Error = RunArgsError;

    /// Validates the flags together.
    fn try_from(args: RunArgs) -> Result<Self, RunArgsError> {
        let mut notices = Vec::new();
        let controllers = enabled_controllers(&args, &mut notices)?;
        let mode = mode(&args, &mut notices)?;
        let marking = marking(&args, &mut notices);
        old_gates(&args, &mut notices);
        old_flags(&args.old, &mut notices);
        let stamp_taints = args.behaviour.stamp_taints && mode == WriteMode::Enforce;
        if args.behaviour.stamp_taints && !stamp_taints {
            notices.push(FlagNotice {
                flag: "--stamp-taints".into(),
                text: "has no effect in observe mode, which writes nothing".into(),
            });
        }
        let eviction_policies = args.behaviour.eviction_policies && controllers.taint_eviction;
        if args.behaviour.eviction_policies && !eviction_policies {
            notices.push(FlagNotice {
                flag: "--eviction-policies".into(),
                text: "has no effect without taint-eviction-controller".into(),
            });
        }
        let election = args.election.resolve()?.filter(|_| mode == WriteMode::Enforce);
        let cluster = args.cluster.resolve()?;
        let serving = args.serving.resolve(&mut notices)?;
        let gates = &args.behaviour.feature_gates;
        let settings = ControllerSettings {
            cluster,
            controllers,
            mode,
            marking,
            stamp_taints,
            eviction_policies,
            numeric_operators: value(gates, FeatureGate::ComparisonOperators).unwrap_or(false),
            exempt_namespaces: args.behaviour.exempt_namespaces,
            election,
            serving,
            seed: None,
            recorder: None,
        };
        let needs_confirmation = mode == WriteMode::Enforce && !args.explicit.mode;
        Ok(Self {
            settings,
            record: args.record,
            logging: args.logging.resolve(),
            notices,
            needs_confirmation,
        })
    }
}

impl Args for ExplicitFlags {
    fn augment_args(command: Command) -> Command {
        command
    }

    fn augment_args_for_update(command: Command) -> Command {
        command
    }
}

impl FromArgMatches for ExplicitFlags {
    fn from_arg_matches(run: &ArgMatches) -> Result<Self, clap::Error> {
        Ok(Self {
            mode: is_given(run, "mode"),
            disruption_condition: is_given(run, "disruption_condition"),
            brake_limit: is_given(run, "brake_limit"),
            node_health: first_given::<NodeHealthArgs>(run),
            holds: first_given::<HoldArgs>(run),
            backfill: first_given::<BackfillArgs>(run),
            guard: first_given::<GuardArgs>(run),
        })
    }

    fn update_from_arg_matches(&mut self, run: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(run)?;
        Ok(())
    }
}

fn is_given(run: &ArgMatches, id: &str) -> bool {
    matches!(run.value_source(id), Some(ValueSource::CommandLine | ValueSource::EnvVariable))
}

/// The first flag of a group that was given.
fn first_given<A: Args>(run: &ArgMatches) -> Option<String> {
    let group = A::augment_args(Command::new("group"));
    let given = group.get_arguments().find(|arg| is_given(run, arg.get_id().as_str()))?;
    given.get_long().map(|long| format!("--{long}"))
}

/// Which controllers run, and the settings of node lifecycle, which are validated even if it does not run.
fn enabled_controllers(
    args: &RunArgs,
    notices: &mut Vec<FlagNotice>,
) -> Result<EnabledControllers, RunArgsError> {
    let is_on = |name| controllers::is_on(&args.behaviour.controllers, name);
    let config = args.node_health.config()?;
    let (taint_eviction, node_lifecycle) =
        (is_on(controllers::TAINT_EVICTION), is_on(controllers::NODE_LIFECYCLE));
    let dedicated_pools = is_on(controllers::DEDICATED_POOLS);
    let (holds, toleration_hold) = (args.holds.config()?, is_on(controllers::TOLERATION_HOLD));
    let toleration_backfill = is_on(controllers::TOLERATION_BACKFILL);
    let toleration_guard = is_on(controllers::TOLERATION_GUARD);
    if taint_eviction && toleration_guard {
        return Err(RunArgsError::TwoEvictions);
    }
    let all = [
        taint_eviction,
        node_lifecycle,
        dedicated_pools,
        toleration_hold,
        toleration_backfill,
        toleration_guard,
    ];
    if !all.contains(&true) {
        return Err(RunArgsError::NothingToRun);
    }
    let brake = args.explicit.brake_limit.then(|| "--brake-limit".to_owned());
    for (flag, is_on, controller) in [
        (&brake, taint_eviction, controllers::TAINT_EVICTION),
        (&args.explicit.node_health, node_lifecycle, controllers::NODE_LIFECYCLE),
        (&args.explicit.holds, toleration_hold, controllers::TOLERATION_HOLD),
        (&args.explicit.backfill, toleration_backfill, controllers::TOLERATION_BACKFILL),
        (&args.explicit.guard, toleration_guard, controllers::TOLERATION_GUARD),
    ] {
        if let Some(flag) = flag.as_ref().filter(|_| !is_on) {
            let text = format!("has no effect: {controller} does not run; name it in --controllers");
            notices.push(FlagNotice { flag: flag.clone().into(), text });
        }
    }
    Ok(EnabledControllers {
        taint_eviction,
        brake: args.behaviour.brake_limit.limit().filter(|_| taint_eviction),
        node_lifecycle: node_lifecycle.then_some(config),
        dedicated_pools,
        toleration_hold: toleration_hold.then_some(holds),
        toleration_backfill: toleration_backfill.then(|| args.backfill.settings()),
        toleration_guard: toleration_guard.then(|| args.guard.settings()),
    })
}

/// The mode. Two older flags say "do not evict" (M10): they apply unless a present flag says the opposite.
fn mode(args: &RunArgs, notices: &mut Vec<FlagNotice>) -> Result<WriteMode, RunArgsError> {
    let gate = value(&args.behaviour.feature_gates, FeatureGate::TaintBasedEvictions);
    let old = [
        ("--enable-taint-manager", args.old.enable_taint_manager),
        ("--feature-gates=TaintBasedEvictions", gate),
    ];
    let mut mode = args.behaviour.mode;
    for (old, _) in old.into_iter().filter(|(_, value)| *value == Some(false)) {
        if args.explicit.mode && args.behaviour.mode == WriteMode::Enforce {
            return Err(RunArgsError::Contradiction { old });
        }
        mode = WriteMode::Observe;
        let text = "deprecated; false switches evictions off, so that Taintward runs as with --mode=observe; use --mode=observe \
             instead";
        notices.push(FlagNotice { flag: old.into(), text: text.into() });
    }
    Ok(mode)
}

/// Which pods are marked. The gate of older releases disables the condition unless a present flag enables it.
fn marking(args: &RunArgs, notices: &mut Vec<FlagNotice>) -> Marking {
    let chosen = args.behaviour.disruption_condition;
    let Some(on) = value(&args.behaviour.feature_gates, FeatureGate::PodDisruptionConditions) else {
        return chosen;
    };
    let (marking, text) = match (on, args.explicit.disruption_condition) {
        (_, true) => (chosen, "deprecated and without effect together with --disruption-condition; omit it"),
        (true, false) => (chosen, "deprecated; always on since Kubernetes 1.31; omit it"),
        (false, false) => (Marking::Never, "deprecated; use --disruption-condition=never instead"),
    };
    notices.push(FlagNotice { flag: "--feature-gates=PodDisruptionConditions".into(), text: text.into() });
    marking
}

/// Adds notices about the present meaning of older releases' gates. Those with an effect are handled elsewhere.
fn old_gates(args: &RunArgs, notices: &mut Vec<FlagNotice>) {
    let gates = &args.behaviour.feature_gates;
    if value(gates, FeatureGate::TaintBasedEvictions) == Some(true) {
        let text = "deprecated; NoExecute taints always evict since Kubernetes 1.18; omit it";
        notices.push(FlagNotice { flag: "--feature-gates=TaintBasedEvictions".into(), text: text.into() });
    }
    if value(gates, FeatureGate::TaintNodesByCondition).is_some() {
        let text = "deprecated and without effect: the node lifecycle controller adds the taints for node conditions; \
                    omit it";
        notices.push(FlagNotice { flag: "--feature-gates=TaintNodesByCondition".into(), text: text.into() });
    }
    if value(gates, FeatureGate::SeparateTaintEviction) == Some(false) {
        let text = format!(
            "deprecated and without effect: taint eviction is always a separate controller in Taintward; {ORIGINAL_OFF}"
        );
        notices.push(FlagNotice { flag: "--feature-gates=SeparateTaintEvictionController".into(), text });
    }
}

fn old_flags(old: &DeprecatedArgs, notices: &mut Vec<FlagNotice>) {
    if old.enable_taint_manager == Some(true) {
        let text = "deprecated; taints evict unless --mode=observe is set; omit it";
        notices.push(FlagNotice { flag: "--enable-taint-manager".into(), text: text.into() });
    }
    if old.pod_eviction_timeout.is_some() {
        let text = "deprecated and without effect: tolerationSeconds of a pod's tolerations determine how long it stays \
                    (kube-apiserver adds 300 s for not-ready and unreachable by default); omit it";
        notices.push(FlagNotice { flag: "--pod-eviction-timeout".into(), text: text.into() });
    }
}
