//! Runs `cargo xtask cluster`: a control plane in a detached process that runs until `down`.

use anyhow::{Context as _, Result, bail};
use clap::{Subcommand, ValueEnum};
use serde::{Deserialize, Serialize};
use std::env;
use std::fs::{self, File};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use taintward_envtest::kwok::LABEL;
use taintward_envtest::{
    Account, Binaries, Cluster, ClusterConfig, Release, TestApi, binaries, cache_folder, releases, wait,
};

#[derive(clap::Args)]
pub(crate) struct ClusterArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Build the binaries that are not built yet
    Build {
        /// The version of Kubernetes, such as 1.34 [default: 1.36]
        #[arg(long, env = releases::CHOICE, hide_env = true, value_parser = Release::named)]
        version: Option<&'static Release>,
        /// Also build KWOK, about 2 more minutes: for `up --kwok`, and for the tests that need it
        #[arg(long)]
        kwok: bool,
        /// Also build Helm, about 4 more minutes: for the tests that render the chart
        #[arg(long)]
        helm: bool,
        /// Also build promtool, about 5 more minutes: for the tests of the alerts
        #[arg(long)]
        promtool: bool,
        /// Also build actionlint, about one more minute: for the test of the workflows
        #[arg(long)]
        actionlint: bool,
        /// Also build Prometheus, about 4 more minutes: for `cargo xtask observability test`
        #[arg(long)]
        prometheus: bool,
    },
    /// Start a control plane in the background
    Up {
        /// The version of Kubernetes, such as 1.34 [default: 1.36]
        #[arg(long, env = releases::CHOICE, hide_env = true, value_parser = Release::named)]
        version: Option<&'static Release>,
        /// API servers on the one etcd
        #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=2))]
        servers: u8,
        /// Simulate the kubelet of every node with the label kwok.x-k8s.io/node=fake with KWOK: the node becomes Ready, its
        /// pods run, and deleted pods end
        #[arg(long)]
        kwok: bool,
    },
    /// Stop it and remove everything that it wrote
    Down,
    /// Print whether it runs
    Status,
    /// Print the path of a kubeconfig
    Kubeconfig {
        /// The account
        #[arg(long, value_enum, default_value_t = KubeconfigAccount::Admin)]
        account: KubeconfigAccount,
        /// The number of the API server
        #[arg(long, default_value_t = 0)]
        server: usize,
    },
    /// Hold a cluster until SIGTERM (what `up` starts in the background)
    #[command(hide = true)]
    Keep {
        servers: usize,
        #[arg(long)]
        kwok: bool,
    },
}

#[derive(Clone, Copy, ValueEnum)]
enum KubeconfigAccount {
    Admin,
    Taintward,
}

pub(crate) async fn run(arguments: ClusterArgs) -> Result<()> {
    match arguments.action {
        Action::Build { version, kwok, helm, promtool, prometheus, actionlint } => {
            let programs = [
                (helm, &binaries::HELM),
                (promtool, &binaries::PROMTOOL),
                (prometheus, &binaries::PROMETHEUS),
                (actionlint, &binaries::ACTIONLINT),
            ];
            for (_, program) in programs.iter().filter(|(is_wanted, _)| *is_wanted) {
                program.find_or_build()?;
            }
            build(version, kwok).map(drop)
        }
        Action::Up { version, servers, kwok } => up(version, usize::from(servers), kwok).await,
        Action::Down => down().await,
        Action::Status => status().await,
        Action::Kubeconfig { account, server } => kubeconfig(account, server),
        Action::Keep { servers, kwok } => keep(servers, kwok).await,
    }
}

fn build(version: Option<&Release>, kwok: bool) -> Result<Binaries> {
    let tools = version.map_or_else(Binaries::find_or_build, Binaries::build)?;
    if kwok {
        binaries::KWOK.find_or_build()?;
    }
    Ok(tools)
}

/// The state that the keeper writes for the other commands: its id, and the kubeconfigs of both accounts for each API server.
#[derive(Serialize, Deserialize)]
struct KeptCluster {
    pid: u32,
    admin: Vec<PathBuf>,
    taintward: Vec<PathBuf>,
}

fn state_file() -> Result<PathBuf> {
    Ok(cache_folder()?.join("cluster.json"))
}

/// The state of a running keeper; `None` if it has ended.
fn state() -> Result<Option<KeptCluster>> {
    let Ok(text) = fs::read(state_file()?) else { return Ok(None) };
    Ok(serde_json::from_slice(&text).ok().filter(|state: &KeptCluster| is_keeper(state.pid)))
}

/// Whether the process is a keeper: another process may have its id now.
fn is_keeper(pid: u32) -> bool {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let words: Vec<&[u8]> = line.split(|&byte| byte == 0).collect();
    words.windows(2).any(|pair| pair == [b"cluster".as_slice(), b"keep"])
}

async fn up(version: Option<&Release>, servers: usize, kwok: bool) -> Result<()> {
    if let Some(state) = state()? {
        println!("# a cluster already runs; `cargo xtask cluster down` ends it");
        print_kubeconfig(&state);
        return Ok(());
    }
    let tools = build(version, kwok)?;
    let log = cache_folder()?.join("keeper.log");
    let out = File::create(&log)?;
    let mut keeper = Command::new(env::current_exe()?)
        .args(["cluster", "keep", &servers.to_string()])
        .args(kwok.then_some("--kwok"))
        .envs(version.map(|release| (releases::CHOICE, release.name())))
        .stdin(Stdio::null())
        .stdout(out.try_clone()?)
        .stderr(out)
        .process_group(0)
        .spawn()?;
    let state = wait::until("the cluster to start", Duration::from_secs(120), async || {
        if let Some(status) = keeper.try_wait()? {
            bail!("the keeper ended ({status}): {}", fs::read_to_string(&log).unwrap_or_default().trim());
        }
        state()
    })
    .await?;
    println!(
        "# kubectl is {}",
        tools.path("kubectl").map_or("missing".into(), |path| path.display().to_string())
    );
    if kwok {
        let (key, value) = LABEL;
        println!("# to make a node Ready and run its pods: kubectl label node NAME {key}={value}");
    }
    print_kubeconfig(&state);
    Ok(())
}

fn print_kubeconfig(state: &KeptCluster) {
    for (index, path) in state.admin.iter().enumerate() {
        let comment = if index == 0 { "" } else { "# second API server: " };
        println!("{comment}export KUBECONFIG={}", path.display());
    }
}

async fn down() -> Result<()> {
    let Some(state) = state()? else {
        println!("no cluster runs");
        return Ok(());
    };
    crate::sources::run(Command::new("kill").args(["-TERM", &state.pid.to_string()]))?;
    let gone = async || Ok((!Path::new(&format!("/proc/{}", state.pid)).exists()).then_some(()));
    wait::until("the cluster to end", Duration::from_secs(30), gone).await?;
    println!("the cluster has ended");
    Ok(())
}

async fn status() -> Result<()> {
    let Some(state) = state()? else {
        println!("no cluster runs");
        return Ok(());
    };
    for (index, path) in state.admin.iter().enumerate() {
        let api = TestApi::from_kubeconfig(path).await?;
        match tokio::time::timeout(Duration::from_secs(5), api.text("/readyz")).await {
            Ok(Ok(_)) => println!("API server {index}: ready"),
            Ok(Err(error)) => println!("API server {index}: {error}"),
            Err(_) => println!("API server {index}: no answer in 5 s"),
        }
    }
    print_kubeconfig(&state);
    Ok(())
}

fn kubeconfig(account: KubeconfigAccount, server: usize) -> Result<()> {
    let state = state()?.context("no cluster runs; `cargo xtask cluster up` starts one")?;
    let paths = match account {
        KubeconfigAccount::Admin => state.admin,
        KubeconfigAccount::Taintward => state.taintward,
    };
    println!("{}", paths.get(server).with_context(|| format!("there is no API server {server}"))?.display());
    Ok(())
}

async fn keep(servers: usize, kwok: bool) -> Result<()> {
    let mut end = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?;
    let cluster =
        Cluster::start(&Binaries::find()?, ClusterConfig { servers, ..ClusterConfig::default() }).await?;
    let kubelets = match kwok {
        true => Some(cluster.kwok(&binaries::KWOK.find()?).await?),
        false => None,
    };
    let paths = |account| (0..servers).map(|server| cluster.kubeconfig(account, server)).collect();
    let state = KeptCluster {
        pid: std::process::id(),
        admin: paths(Account::Admin),
        taintward: paths(Account::Taintward),
    };
    let (file, half) = (state_file()?, cache_folder()?.join("cluster.json.new"));
    fs::write(&half, serde_json::to_string(&state)?)?;
    fs::rename(half, &file)?;
    end.recv().await;
    drop(kubelets);
    drop(cluster);
    fs::remove_file(file)?;
    Ok(())
}
