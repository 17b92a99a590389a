//! # Sandbox: a cluster for newcomers, in this process
//! Room:     the embedded cluster with Taintward in it; what the terminal shows of it.
//! Comes in: [`SandboxPlan`].
//! Goes out: a live board or plain lines, until interrupted; or the tour.
//! Not here: the cluster itself (`taintward_sandbox`), flags (`args/sandbox.rs`).

mod board;
mod feed;
mod scene;
mod tour;

use std::error::Error;
use std::io::{self, IsTerminal as _, Write as _};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;
use taintward_client::clock::Clock;
use taintward_client::connect::Connected;
use taintward_controller::run::run_on;
use taintward_controller::settings::Settings;
use taintward_controller::shutdown::Shutdown;
use taintward_core::time::Wall;
use taintward_sandbox::api::Server;
use taintward_sandbox::sample;
use taintward_sandbox::serve::Listening;
use taintward_sandbox::snapshot;
use taintward_sandbox::world::{self, World};

/// What `taintward sandbox` is to do.
#[derive(Debug)]
pub(crate) struct SandboxPlan {
    pub(crate) world: world::Settings,
    pub(crate) listen: SocketAddr,
    pub(crate) tls: bool,
    pub(crate) kubeconfig_out: Option<PathBuf>,
    /// Without workloads to play with.
    pub(crate) empty: bool,
    pub(crate) load: Option<PathBuf>,
    pub(crate) save: Option<PathBuf>,
    pub(crate) tour: bool,
    /// Plain lines though this is a terminal.
    pub(crate) plain: bool,
    /// The controller's settings; `None` if it is to run elsewhere.
    pub(crate) controller: Option<Settings>,
}

/// What could not be done, with the way out.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SandboxError {
    #[error(
        "cannot listen on {address}: {why}; choose another with --listen 127.0.0.1:PORT, or 127.0.0.1:0 for any"
    )]
    Listen { address: SocketAddr, why: io::Error },
    #[error("cannot write the kubeconfig {path}: {why}; choose another place with --kubeconfig-out")]
    Kubeconfig { path: String, why: io::Error },
    #[error("cannot load {path}: {why}")]
    Load { path: String, why: String },
    #[error("cannot save to {path}: {why}")]
    Save { path: String, why: io::Error },
    #[error("the tour did not go as told: {0}")]
    Tour(String),
}

/// Runs it to its end.
pub(crate) async fn run(plan: SandboxPlan) -> Result<(), Box<dyn Error>> {
    let world = World::new(&plan.world);
    if !plan.empty {
        sample::furnish(&world);
    }
    if let Some(path) = &plan.load {
        load(&world, path)?;
    }
    let address = plan.listen;
    let listening = Listening::open(address, plan.tls);
    let listening = listening.await.map_err(|why| SandboxError::Listen { address, why })?;
    let (path, chosen) = match &plan.kubeconfig_out {
        Some(path) => (path.clone(), true),
        None => (std::env::temp_dir().join(format!("taintward-sandbox-{}.yaml", std::process::id())), false),
    };
    write_private(&path, &listening.kubeconfig())
        .map_err(|why| SandboxError::Kubeconfig { path: path.display().to_string(), why })?;
    let url = listening.url();
    let server = world.server().clone();
    let tasks = [
        tokio::spawn(async move { match listening.serve(server).await {} }),
        tokio::spawn({
            let life = world.life();
            async move { match life.run().await {} }
        }),
    ];
    let (stop, shutdown) = Shutdown::pair();
    let controller = plan.controller.clone().map(|settings| {
        tokio::spawn(controller(world.server().clone(), plan.world.speed, settings, shutdown))
    });
    if let Some(path) = plan.save.clone() {
        tokio::spawn(save_on_signal(world.server().clone(), path));
    }
    let shown = show(&plan, &world, &url, &path).await;
    // Ending takes no time: nothing in here outlives the process.
    stop.send();
    if let Some(controller) = controller {
        let _ = tokio::time::timeout(Duration::from_millis(200), controller).await;
    }
    tasks.iter().for_each(tokio::task::JoinHandle::abort);
    if let Some(path) = &plan.save {
        save(world.server(), path)?;
    }
    if !chosen {
        let _ = std::fs::remove_file(&path);
    }
    Ok(shown?)
}

fn load(world: &World, path: &Path) -> Result<(), SandboxError> {
    let failed = |why: String| SandboxError::Load { path: path.display().to_string(), why };
    let bytes = std::fs::read(path).map_err(|why| failed(why.to_string()))?;
    let loaded = snapshot::load(world.server(), &bytes).map_err(|why| failed(why.to_string()))?;
    let mut out = io::stderr();
    let _ = writeln!(out, "{} objects loaded from {}", loaded.objects, path.display());
    if loaded.left_out_count > 0 {
        let _ = writeln!(out, "warning: {} objects were left out:", loaded.left_out_count);
        loaded.left_out.iter().for_each(|why| _ = writeln!(out, "  {why}"));
    }
    Ok(())
}

/// Whole or not at all: what was saved before stays until the new file is complete.
fn save(server: &Server, path: &Path) -> Result<(), SandboxError> {
    let failed = |why| SandboxError::Save { path: path.display().to_string(), why };
    let beside = path.with_extension("partial");
    std::fs::write(&beside, snapshot::save(server)).map_err(failed)?;
    std::fs::rename(&beside, path).map_err(failed)
}

async fn save_on_signal(server: Server, path: PathBuf) {
    let kind = tokio::signal::unix::SignalKind::user_defined1();
    let Ok(mut signal) = tokio::signal::unix::signal(kind) else { return };
    while signal.recv().await.is_some() {
        if let Err(error) = save(&server, &path) {
            let _ = writeln!(io::stderr(), "error: {error}");
        }
    }
}

async fn show(plan: &SandboxPlan, world: &World, url: &str, kubeconfig: &Path) -> Result<(), SandboxError> {
    let terminal = io::stdout().is_terminal() && !plan.plain;
    if plan.tour {
        return tour::run(world).await.map_err(SandboxError::Tour);
    }
    let speed = plan.world.speed;
    let introduction = opening(plan, url, kubeconfig);
    let watching = async {
        match terminal {
            true => board::run(world, &introduction, speed).await,
            false => feed::run(world, &introduction).await,
        }
    };
    tokio::select! {
        () = watching => {}
        _ = tokio::signal::ctrl_c() => {}
        () = terminated() => {}
    }
    if terminal {
        board::leave();
    }
    Ok(())
}

async fn terminated() {
    match tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) {
        Ok(mut signal) => _ = signal.recv().await,
        Err(_) => std::future::pending().await,
    }
}

/// What runs, how to get in, and what to try.
fn opening(plan: &SandboxPlan, url: &str, kubeconfig: &Path) -> Vec<String> {
    let settings = &plan.world;
    let zones = settings.zones.clamp(1, settings.nodes.max(1));
    let mut lines = vec![
        format!("Taintward sandbox: {} nodes in {zones} zones, at {url}", settings.nodes),
        format!("  export KUBECONFIG={}", kubeconfig.display()),
        String::new(),
        "Try, in another terminal:".to_owned(),
        "  kubectl taint nodes n1 maintenance=now:NoExecute   # who goes, who counts down?".to_owned(),
        "  kubectl taint nodes n1 maintenance-                # in time: they stay".to_owned(),
        "  kubectl drain n2 --ignore-daemonsets               # the budget of web is kept".to_owned(),
    ];
    if !plan.listen.ip().is_loopback() {
        lines.insert(
            1,
            format!("  WARNING: {} is not loopback: everybody who reaches it may do everything", plan.listen),
        );
    }
    lines
}

/// A file for nobody else to read.
fn write_private(path: &Path, text: &str) -> io::Result<()> {
    use std::os::unix::fs::OpenOptionsExt as _;
    let mut file =
        std::fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    file.write_all(text.as_bytes())
}

/// Taintward itself, on the cluster in this process: the same code as on a real one.
async fn controller(server: Server, speed: f64, settings: Settings, shutdown: Shutdown) {
    let wall = server.clock().now().as_microsecond();
    let client = kube_client(&server);
    let cluster = Connected {
        streams: kube_client(&server),
        lease: kube_client(&server),
        client,
        where_from: "the sandbox in this process".to_owned(),
        default_namespace: "default".to_owned(),
    };
    let clock = Clock::of_runtime_at(Wall::from_micros(wall), speed);
    if let Err(error) = run_on(cluster, clock, settings, shutdown).await {
        tracing::error!(err = &error as &dyn Error, "taintward cannot go on in the sandbox");
    }
}

fn kube_client(server: &Server) -> kube::Client {
    kube::Client::new(server.clone(), "default")
}
