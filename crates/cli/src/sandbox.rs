//! Runs `taintward sandbox`: a cluster in this process with Taintward in it, with a live list of evictions, plain lines or the tour.
//!
//! - See `taintward_sandbox` for the cluster, `sandbox/sandbox_args.rs` for the flags.

mod board_buttons;
mod browser;
mod event_log;
mod files;
mod introduction;
mod live_evictions;
mod node_fault_args;
mod node_faults;
mod sandbox_args;
mod tour;

pub(crate) use sandbox_args::SandboxCommand;

use crate::board::{BoardListener, BoardSource, CommandRunner};
use crate::pending::DeadlineWatch;
use crate::runtime::Runtime;
use crate::stderr;
use board_buttons::BoardButtons;
use fakekube::api::{self, ApiServer};
use fakekube::resource::known;
use fakekube::serve::ApiListener;
use introduction::SandboxAddresses;
use sandbox_args::SandboxOptions;
use std::error::Error;
use std::io::{self, IsTerminal as _};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;
use taintward_controller::logging;
use taintward_controller::run::run_on;
use taintward_controller::settings::{ControllerSettings, ElectionSettings};
use taintward_controller::shutdown::Shutdown;
use taintward_core::time::Wall;
use taintward_core::toleration_matching::NumericOperators;
use taintward_kube::api::RequestBudget;
use taintward_kube::clock::{Clock, ClockRate};
use taintward_kube::config::Connected;
use taintward_kube::watch::WatchScope;
use taintward_sandbox::demo_workloads;
use taintward_sandbox::webhook_plugin::taintward_account;
use taintward_sandbox::world::World;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;
use tokio::time::Instant;

/// The context of its kubeconfig.
const KUBECONFIG_CONTEXT: &str = "taintward-sandbox";

/// The interval between two checks for pods that are overdue.
const TICK: Duration = Duration::from_millis(250);

/// The prefix of the kubeconfig's name in the folder for temporary files; the process number follows.
const KUBECONFIG_PREFIX: &str = "taintward-sandbox-";

/// What failed, and what to do about it.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SandboxError {
    #[error(
        "cannot listen on {address}: {why}; choose another port with --listen 127.0.0.1:PORT, or 127.0.0.1:0 for any \
         free one"
    )]
    Listen { address: SocketAddr, why: io::Error },
    #[error(
        "cannot serve the board on 127.0.0.1:{port}: {why}; choose another port with --board-port, or omit this flag \
         for any free one"
    )]
    Board { port: u16, why: io::Error },
    #[error("the tour failed: {0}; run it again, and report a bug if it fails again")]
    Tour(String),
    #[error("cannot write to standard output: {0}")]
    Closed(io::Error),
}

/// Runs a sandbox, or injects faults into one. Only errors are logged; the board shows the rest.
pub(crate) fn run(command: SandboxCommand) -> ExitCode {
    logging::end_on_panic(|| {});
    let done = || -> Result<(), Box<dyn Error>> {
        Runtime::new()?.block_on(async {
            match command {
                SandboxCommand::Start(options) => start(*options).await,
                SandboxCommand::NodeFault(options) => Ok(node_faults::run(&options.fault).await?),
            }
        })
    };
    stderr::exit_code(done())
}

/// Runs the sandbox to its end.
async fn start(options: SandboxOptions) -> Result<(), Box<dyn Error>> {
    let world = World::new(&options.world);
    world.server().bootstrap_roles();
    if !options.empty {
        demo_workloads::furnish(&world);
    }
    if let Some(path) = &options.nodes {
        files::nodes(&world, path)?;
    }
    if let Some(path) = &options.args.load {
        files::load(&world, path)?;
    }
    if let Some(path) = &options.args.save {
        files::check_save(path)?;
    }
    more_handles();
    // From here on, a signal stops the sandbox gracefully: it saves objects even if the signal arrives before the first
    // line of output.
    let ending = EndSignals::listen();
    let address = options.args.listen;
    // Over plain HTTP, kubectl would not send the token.
    let listening = ApiListener::open(address, true);
    let listening = listening.await.map_err(|why| SandboxError::Listen { address, why })?;
    let port = options.args.board_port;
    let board = match options.args.tour {
        true => None,
        false => Some(BoardListener::open(port).await.map_err(|why| SandboxError::Board { port, why })?),
    };
    let (path, chosen) = match &options.args.kubeconfig_out {
        // Another terminal may be in another folder.
        Some(path) => (std::path::absolute(path)?, true),
        None => {
            let name = format!("{KUBECONFIG_PREFIX}{}.yaml", std::process::id());
            (std::env::temp_dir().join(name), false)
        }
    };
    let url = listening.url();
    let server = world.server().clone();
    files::write_kubeconfig(&path, chosen, &listening.kubeconfig(KUBECONFIG_CONTEXT, server.token()))?;
    let rate = watch::Sender::new(rate(world.server(), options.world.speed));
    let paced = Clock::of_runtime_at_rate(rate.subscribe());
    let board_url = board.as_ref().map(BoardListener::url);
    let source = board_source(world.server().clone(), paced.clone(), &url, &path, rate);
    let mut tasks = vec![
        tokio::spawn(async move { match listening.serve(server).await {} }),
        tokio::spawn({
            let life = world.life();
            async move { match life.run().await {} }
        }),
    ];
    tasks.extend(board.map(|board| tokio::spawn(async move { match board.serve(source).await {} })));
    let (stop, shutdown) = Shutdown::pair();
    let controller = options
        .controller
        .clone()
        .map(|settings| tokio::spawn(controller(world.server().clone(), paced.clone(), settings, shutdown)));
    if let Some(path) = options.args.save.clone() {
        let requests = signal(SignalKind::user_defined1())?;
        tokio::spawn(save_on_signal(requests, world.server().clone(), path));
    }
    let shown = {
        let at = SandboxAddresses { server: &url, kubeconfig: &path, board: board_url.as_deref() };
        show(&options, &world, paced, at, ending).await
    };
    // A short timeout is enough, because nothing in the sandbox outlives the process.
    stop.send();
    if let Some(controller) = controller {
        let _ = tokio::time::timeout(Duration::from_millis(200), controller).await;
    }
    tasks.iter().for_each(tokio::task::JoinHandle::abort);
    if !chosen {
        let _ = std::fs::remove_file(&path);
    }
    if let Some(path) = &options.args.save {
        files::save(world.server(), path)?;
    }
    Ok(shown?)
}

/// Raises the limit of open files to the system's maximum, as Go programs do: each connection needs one.
fn more_handles() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // On failure the limit stays as it is.
    let _ = setrlimit(Resource::Nofile, limit);
}

async fn save_on_signal(mut requests: Signal, server: ApiServer, path: PathBuf) {
    while requests.recv().await.is_some() {
        if let Err(error) = files::save(&server, &path) {
            stderr::error(error);
        }
    }
}

/// Ctrl-C, or a termination signal.
struct EndSignals([Option<Signal>; 2]);

impl EndSignals {
    /// Starts to listen for signals.
    fn listen() -> Self {
        Self([SignalKind::interrupt(), SignalKind::terminate()].map(|kind| signal(kind).ok()))
    }

    async fn come(&mut self) {
        let [interrupted, terminated] = &mut self.0;
        tokio::select! {
            Some(()) = received(interrupted) => {}
            Some(()) = received(terminated) => {}
            else => std::future::pending().await,
        }
    }
}

async fn received(signal: &mut Option<Signal>) -> Option<()> {
    signal.as_mut()?.recv().await
}

async fn show(
    options: &SandboxOptions,
    world: &World,
    clock: Clock,
    at: SandboxAddresses<'_>,
    mut ending: EndSignals,
) -> Result<(), SandboxError> {
    let terminal = io::stdout().is_terminal() && !options.args.plain;
    if options.args.tour {
        return tokio::select! {
            toured = tour::run(world) => toured.map_err(SandboxError::Tour),
            () = ending.come() => Err(SandboxError::Tour("a signal ended it".to_owned())),
        };
    }
    let introduction = introduction::lines(options, world.server(), at);
    let opening = async {
        match at.board.filter(|_| options.args.open) {
            Some(board) => browser::open(board).await.err(),
            None => None,
        }
    };
    let deadlines = deadline_watch(world.server(), clock);
    let watching = async {
        match terminal {
            true => live_evictions::run(deadlines, &introduction, opening).await,
            false => {
                let print_errors = async { opening.await.iter().for_each(stderr::error) };
                tokio::join!(event_log::run(world, deadlines, &introduction), print_errors).0
            }
        }
    };
    let watched = tokio::select! {
        watched = watching => watched,
        () = ending.come() => Ok(()),
    };
    watched.map_err(SandboxError::Closed)
}

/// Sets the speed of the cluster's time from now on.
fn rate(server: &ApiServer, speed: f64) -> ClockRate {
    let wall = Wall::from_micros(server.clock().now().as_microsecond());
    ClockRate { since: Instant::now(), wall, speed }
}

/// The data of the board, and the actions of its buttons.
fn board_source(
    server: ApiServer,
    clock: Clock,
    url: &str,
    kubeconfig: &Path,
    rate: watch::Sender<ClockRate>,
) -> BoardSource {
    let commands = Arc::new(CommandRunner::new(vec![format!("--kubeconfig={}", kubeconfig.display())]));
    let speed = server.clock().clone();
    BoardSource {
        streams: kube_client(&server),
        cluster: format!("the sandbox at {url}"),
        namespace: String::new(),
        clock,
        speed: Box::new(move || speed.speed()),
        commands: Arc::clone(&commands),
        record: None,
        sandbox: Some(Arc::new(BoardButtons { server, commands, rate })),
    }
}

/// Runs Taintward's controller on the cluster in this process, with the same code as on a real one.
async fn controller(server: ApiServer, clock: Clock, settings: ControllerSettings, shutdown: Shutdown) {
    let server = server.as_user(taintward_account());
    let client = kube_client(&server);
    let cluster = Connected {
        streams: kube_client(&server),
        heartbeats: kube_client(&server),
        lease: kube_client(&server),
        client,
        host: "in-process".to_owned(),
        where_from: "the sandbox in this process".to_owned(),
        default_namespace: "default".to_owned(),
    };
    if let Some(election) = &settings.election {
        vacate(&server, election);
    }
    if let Err(error) = run_on(cluster, clock, settings, shutdown).await {
        tracing::error!(err = &error as &dyn Error, "taintward cannot continue in the sandbox");
    }
}

/// Deletes the lease of a loaded cluster: its holder does not run here, so waiting until it expires would be useless.
fn vacate(server: &ApiServer, election: &ElectionSettings) {
    let leases = known("coordination.k8s.io", "leases");
    let key = api::key(&election.namespace, &election.name);
    let removed = server.store().write(|store| {
        let lease = store.get(leases, &key);
        Ok(lease.map(|lease| store.remove(leases, &key, lease.value())))
    });
    debug_assert!(removed.is_ok(), "no plugin rejects it");
}

/// Follows the pods with a deadline, as `taintward pending -w` does.
fn deadline_watch(server: &ApiServer, clock: Clock) -> DeadlineWatch {
    let access = (&kube_client(server), RequestBudget::default());
    DeadlineWatch::new(access, WatchScope::default(), NumericOperators::Off, TICK, clock)
}

pub(crate) fn kube_client(server: &ApiServer) -> kube::Client {
    kube::Client::new(server.clone(), "default")
}
