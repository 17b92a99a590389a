//! Defines the flags of `taintward sandbox`.

use super::board_buttons::SPEEDS;
use super::node_fault_args::NodeFaultArgs;
use super::tour::silence;
use crate::args::parsed_as::parsed_as;
use clap::{Args, Subcommand};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;
use taintward_controller::settings::{
    ControllerSettings, ElectionSettings, EnabledControllers, Marking, ServingSettings, WriteMode,
};
use taintward_core::node_lifecycle;
use taintward_sandbox::controllers::Component;
use taintward_sandbox::node_file::NODES_MAX;
use taintward_sandbox::world;

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct SandboxArgs {
    #[command(subcommand)]
    verb: Option<SandboxVerb>,
    /// The number of nodes (default 6; 0 also omits the workloads), or a file of Nodes, in YAML or JSON, as `kubectl get nodes -o yaml` prints
    /// them. A Node in a file needs only apiVersion, kind and metadata.name
    #[arg(long, value_name = "N|FILE", allow_negative_numbers = true, value_parser = nodes)]
    nodes: Option<SandboxNodes>,
    /// The number of zones (default 3), at most the number of nodes; nodes of a file are in the zones of their labels
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    zones: Option<usize>,
    /// The address on which the API server listens: a port of 127.0.0.1, or an address with a port; port 0 means any
    /// free port
    #[arg(long, default_value = "127.0.0.1:0", value_name = "[ADDRESS:]PORT", value_parser = address)]
    pub(crate) listen: SocketAddr,
    /// Write the kubeconfig to this file. The default is a temporary file that is deleted when the sandbox ends
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig_out: Option<PathBuf>,
    /// How many times faster the cluster's time runs than real time
    #[arg(long, default_value_t = 1.0, value_name = "TIMES")]
    speed: f64,
    /// The same seed gives the same names and the same sequence of events
    #[arg(long, default_value_t = 1, value_parser = seed)]
    seed: u64,
    /// Start from the objects of this file: the output of `kubectl get nodes,pods,deploy,rs,ds,pdb -A -o yaml`, or a
    /// file of --save
    #[arg(long, value_name = "FILE")]
    pub(crate) load: Option<PathBuf>,
    /// Write all objects to this file when the sandbox ends, and on each SIGUSR1
    #[arg(long, value_name = "FILE")]
    pub(crate) save: Option<PathBuf>,
    /// Start without workloads
    #[arg(long)]
    empty: bool,
    /// Omit parts, so that real components can replace them: taintward, kubelets, nodes, scheduler, deployments,
    /// replicasets, daemonsets, jobs, budgets, garbage, podgc, namespaces
    #[arg(long, value_delimiter = ',', value_name = "PART,...")]
    without: Vec<String>,
    /// Show the effects of taints in half a minute, then exit; needs no kubectl
    #[arg(long)]
    pub(crate) tour: bool,
    /// The port on 127.0.0.1 for the board, a page for a browser; 0 means any free port
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    pub(crate) board_port: u16,
    /// Open the board in the browser
    #[arg(long, conflicts_with = "tour")]
    pub(crate) open: bool,
    /// Print a line for each change, as in a pipe, instead of the live list of evictions
    #[arg(long)]
    pub(crate) plain: bool,
}

/// What `taintward sandbox` and its subcommands do.
#[derive(Debug)]
pub(crate) enum SandboxCommand {
    /// Start a sandbox.
    Start(Box<SandboxOptions>),
    /// Inject a fault into nodes of a running sandbox.
    NodeFault(NodeFaultArgs),
}

/// How to start a sandbox.
#[derive(Debug)]
pub(crate) struct SandboxOptions {
    pub(crate) args: SandboxArgs,
    pub(crate) world: world::WorldSettings,
    /// Without sample workloads.
    pub(crate) empty: bool,
    /// The file of nodes.
    pub(crate) nodes: Option<PathBuf>,
    /// The controller's settings; `None` if it runs elsewhere.
    pub(crate) controller: Option<ControllerSettings>,
}

/// The source of nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
enum SandboxNodes {
    Count(usize),
    File(PathBuf),
}

/// A number of nodes, or else a file; a file named by a number is `./6`.
fn nodes(text: &str) -> Result<SandboxNodes, String> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return match text {
            "" => Err("expected a number or a file".to_owned()),
            // A path has one of these; another word that names nothing is a mistyped number.
            word if !word.contains(['/', '.']) && !Path::new(word).exists() => {
                Err("this is neither a number nor a file".to_owned())
            }
            file => Ok(SandboxNodes::File(file.into())),
        };
    }
    match text.parse() {
        Ok(count) if count <= NODES_MAX => Ok(SandboxNodes::Count(count)),
        _ => Err(format!("expected a number from 0 to at most {NODES_MAX}, or a file")),
    }
}

/// `21100`, `:21100`, `localhost:21100`, `192.0.2.7:21100`, `[::1]:21100`.
fn address(text: &str) -> Result<SocketAddr, String> {
    let whole = match text.strip_prefix("localhost:").or_else(|| text.strip_prefix(':')) {
        Some(port) => format!("127.0.0.1:{port}"),
        None if text.bytes().all(|byte| byte.is_ascii_digit()) => format!("127.0.0.1:{text}"),
        None => text.to_owned(),
    };
    let wanted = "expected a port, or an address with one, as in 21100, 127.0.0.1:21100 or [::1]:21100";
    whole.parse().map_err(|_| wanted.to_owned())
}

fn seed(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("expected a whole number from 0 to {}, as in 7", u64::MAX))
}

/// How often kubelets renew their leases, as real ones do.
const KUBELETS_RENEW: Duration = Duration::from_secs(10);

/// The default numbers of nodes and zones.
const NODES: usize = 6;
const ZONES: usize = 3;

/// The tour lists every pod of a node by its name; with more nodes it takes longer than documented.
const TOUR_NODES_MAX: usize = 100;

/// The name of Taintward among the components.
const OURS: &str = "taintward";

/// Why the flags are invalid.
#[derive(Debug, PartialEq, thiserror::Error)]
pub(crate) enum SandboxArgsError {
    #[error("--speed is {0}; expected a number between 0.01 and 10000")]
    Speed(f64),
    #[error(
        "--zones cannot be combined with --nodes FILE, because the label topology.kubernetes.io/zone of each node names \
         its zone; omit --zones"
    )]
    Zones,
    #[error(
        "--load brings nodes of its own; omit --nodes and --zones, or add the nodes to the file of --load"
    )]
    Loaded,
    #[error("--zones is {zones} for {nodes} nodes; expected a number from 1 to the number of nodes")]
    TooManyZones { zones: usize, nodes: usize },
    #[error("--without names the unknown part {unknown}; expected one of {known}")]
    Part { unknown: String, known: String },
    #[error(
        "--tour needs the sample workloads, 3 to {TOUR_NODES_MAX} nodes and all parts; omit --empty, --load, \
         --nodes FILE and --without"
    )]
    Tour,
}

#[derive(Debug, Subcommand)]
enum SandboxVerb {
    /// Injects faults into nodes of a running sandbox, or ends them
    Node(NodeFaultArgs),
}

parsed_as!(SandboxCommand, SandboxArgs);

impl TryFrom<SandboxArgs> for SandboxCommand {
    type Error = SandboxArgsError;

    fn try_from(args: SandboxArgs) -> Result<Self, SandboxArgsError> {
        match args.verb {
            Some(SandboxVerb::Node(fault)) => Ok(Self::NodeFault(fault)),
            None => start(args).map(|options| Self::Start(Box::new(options))),
        }
    }
}

/// The settings of node lifecycle; on the tour, 50 s would be too long.
fn node_health(tour: bool) -> node_lifecycle::NodeLifecycleConfig {
    let grace = i64::try_from(silence::GRACE.as_micros()).unwrap_or(i64::MAX);
    let quick = node_lifecycle::NodeLifecycleFlags {
        monitor_period_micros: 1_000_000,
        monitor_grace_micros: grace,
        startup_grace_micros: grace,
        ..node_lifecycle::NodeLifecycleFlags::default()
    };
    if tour {
        node_lifecycle::NodeLifecycleConfig::new(&quick).unwrap_or_default()
    } else {
        node_lifecycle::NodeLifecycleConfig::default()
    }
}

/// Validates the flags together.
fn start(args: SandboxArgs) -> Result<SandboxOptions, SandboxArgsError> {
    if !SPEEDS.contains(&args.speed) {
        return Err(SandboxArgsError::Speed(args.speed));
    }
    if args.load.is_some() && !args.tour && (args.nodes.is_some() || args.zones.is_some()) {
        return Err(SandboxArgsError::Loaded);
    }
    let (count, file) = match args.nodes.clone().unwrap_or(SandboxNodes::Count(NODES)) {
        SandboxNodes::Count(count) => (count, None),
        SandboxNodes::File(_) if args.zones.is_some() => return Err(SandboxArgsError::Zones),
        SandboxNodes::File(file) => (0, Some(file)),
    };
    let zones = match args.zones {
        Some(zones) if zones == 0 || zones > count.max(1) => {
            return Err(SandboxArgsError::TooManyZones { zones, nodes: count });
        }
        Some(zones) => zones,
        None => ZONES.min(count.max(1)),
    };
    let known: Vec<&str> = Component::ALL.iter().map(|role| role.name()).chain([OURS]).collect();
    if let Some(unknown) = args.without.iter().find(|part| !known.contains(&part.as_str())) {
        return Err(SandboxArgsError::Part { unknown: unknown.clone(), known: known.join(", ") });
    }
    let can_tour = (3..=TOUR_NODES_MAX).contains(&count) && !args.empty && args.load.is_none();
    if args.tour && !(can_tour && args.without.is_empty()) {
        return Err(SandboxArgsError::Tour);
    }
    let left_out = |name: &str| args.without.iter().any(|part| part == name);
    let controller = (!left_out(OURS)).then(|| ControllerSettings {
        cluster: taintward_controller::settings::ClusterAccess::default(),
        controllers: EnabledControllers {
            taint_eviction: true,
            brake: None,
            dedicated_pools: true,
            toleration_hold: None,
            toleration_backfill: None,
            toleration_guard: None,
            node_lifecycle: (!left_out(Component::Nodes.name())).then(|| node_health(args.tour)),
        },
        mode: WriteMode::Enforce,
        marking: Marking::Always,
        stamp_taints: false,
        eviction_policies: true,
        numeric_operators: false,
        exempt_namespaces: Vec::new(),
        // The tour needs no election. Otherwise another Taintward may run alongside this one, and the Lease shows
        // `pending` which one evicts.
        election: (!args.tour).then(ElectionSettings::default),
        serving: ServingSettings { bind_address: args.listen.ip(), metrics_port: None, secure: None },
        seed: None,
        recorder: None,
    });
    // Taintward's node lifecycle replaces the sandbox's component, if it runs.
    let is_ours = |role: &Component| *role == Component::Nodes && controller.is_some();
    let roles = Component::ALL.into_iter().filter(|role| !left_out(role.name()) && !is_ours(role)).collect();
    let world = world::WorldSettings {
        seed: args.seed,
        speed: args.speed,
        nodes: if args.load.is_some() { 0 } else { count },
        zones,
        roles,
        renew: if args.tour { silence::RENEW } else { KUBELETS_RENEW }.try_into().unwrap_or_default(),
        // The sandbox behaves as a cluster with Taintward's webhook, even if no Taintward runs in it.
        webhook: true,
        ..world::WorldSettings::default()
    };
    let empty = args.empty || args.load.is_some() || (count == 0 && file.is_none());
    Ok(SandboxOptions { args, world, empty, nodes: file, controller })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_forms_of_addresses_are_accepted() {
        for (text, expected) in [
            ("21100", "127.0.0.1:21100"),
            (":21100", "127.0.0.1:21100"),
            ("localhost:0", "127.0.0.1:0"),
            ("192.0.2.7:80", "192.0.2.7:80"),
            ("[::1]:80", "[::1]:80"),
        ] {
            assert_eq!(address(text).map(|address| address.to_string()).as_deref(), Ok(expected), "{text}");
        }
        for text in ["", ":", "localhost", "70000", "1.2.3.4", "here:80"] {
            assert!(address(text).is_err_and(|why| why.contains("as in 21100")), "{text}");
        }
    }
}
