//! Runs a whole control plane: one etcd, one or two API servers, accounts, kubeconfigs and the audit log.
//!
//! - Dropping a [`Cluster`] removes it.

use crate::access;
use crate::api::TestApi;
use crate::audit::{AuditEntry, AuditLog, AuditTail};
use crate::binaries::{self, Binaries};
use crate::certificates::{self, SignedIdentity, TestAuthority};
use crate::cluster_config::{Account, ClusterConfig, STARTUP_TIMEOUT};
use crate::etcd::EtcdStore;
use crate::kubeconfig;
use crate::kwok;
use crate::process::ChildProcess;
use crate::process_folder;
use crate::servers;
use crate::wait;
use crate::watchdog::Watchdog;
use anyhow::{Result, bail};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// How often a start is retried when another process took a port between the search and the start.
const STARTS: usize = 3;

/// The first minor version with the gate TaintTolerationComparisonOperators.
const COMPARISON_OPERATORS: u32 = 35;

/// A running control plane. It ends and its folder is removed when it is dropped or its owner is killed.
#[derive(Debug)]
pub struct Cluster {
    tools: Binaries,
    minor: u32,
    options: ClusterConfig,
    // Order matters: the processes end before the watchdog, which then removes the folder.
    servers: Vec<ApiServerProcess>,
    store: EtcdStore,
    authority: TestAuthority,
    audit: Mutex<AuditLog>,
    folder: PathBuf,
    watchdog: Arc<Watchdog>,
}

#[derive(Debug)]
struct ApiServerProcess {
    port: u16,
    program: ChildProcess,
}

impl Cluster {
    /// The kubeconfig of an account for one of the API servers.
    pub fn kubeconfig(&self, account: Account, server: usize) -> PathBuf {
        kubeconfig::path(self.folder(), account, server)
    }

    /// A new kubeconfig for the first API server, in which the admin impersonates this user with these groups. The
    /// server adds `system:authenticated`, and the groups of service accounts to a service account without groups.
    pub fn kubeconfig_as(&self, user: &str, groups: &[&str]) -> Result<PathBuf> {
        kubeconfig::write_impersonating(self.folder(), user, groups)
    }

    /// A kubeconfig with this client certificate and port. The next one replaces it, and its certificate.
    pub fn kubeconfig_with(&self, identity: &SignedIdentity, port: u16) -> Result<PathBuf> {
        kubeconfig::write(self.folder(), "identity", identity, port)
    }

    /// Starts a control plane and waits until it is ready and the accounts are in place.
    pub async fn start(tools: &Binaries, options: ClusterConfig) -> Result<Self> {
        let mut attempt = 1;
        loop {
            match Self::try_start(tools, options.clone()).await {
                Err(error) if attempt < STARTS && format!("{error:#}").contains("address already in use") => {
                    attempt += 1
                }
                result => return result,
            }
        }
    }

    async fn try_start(tools: &Binaries, options: ClusterConfig) -> Result<Self> {
        let minor = tools.minor()?;
        let mut options = options;
        options.comparison_operators &= minor >= COMPARISON_OPERATORS;
        let folder = process_folder::private_folder("taintward-cluster")?;
        let watchdog = Arc::new(Watchdog::over(&folder)?);
        let authority = write_secrets(&folder)?;
        for (index, admission) in options.admission.iter().enumerate() {
            fs::write(folder.join(servers::admission_file(index)), &admission.configuration)?;
        }
        let store = EtcdStore::start(&tools.path("etcd")?, &folder, options.disk, &watchdog).await?;
        let mut cluster = Self {
            tools: tools.clone(),
            minor,
            audit: Mutex::new(AuditLog::new(audit_tail(&folder, options.servers))),
            options,
            servers: Vec::new(),
            store,
            authority,
            folder,
            watchdog,
        };
        for index in 0..cluster.options.servers {
            let port = servers::free_port()?;
            for account in [Account::Admin, Account::Taintward] {
                let identity = cluster.authority.client(account.user(), account.group())?;
                kubeconfig::write(&cluster.folder, &kubeconfig::name(account, index), &identity, port)?;
            }
            let program = cluster.launch_server(index, port)?;
            cluster.servers.push(ApiServerProcess { port, program });
        }
        for index in 0..cluster.options.servers {
            cluster.ready(index).await?;
        }
        access::grant(&cluster.api(Account::Admin).await?).await?;
        Ok(cluster)
    }

    fn launch_server(&self, index: usize, port: u16) -> Result<ChildProcess> {
        let path = self.tools.path("kube-apiserver")?;
        let command = servers::api_server(&path, &self.folder, self.store.port(), port, index, &self.options);
        ChildProcess::start(
            "kube-apiserver",
            command,
            &self.folder.join(format!("apiserver-{index}.log")),
            &self.watchdog,
        )
    }

    /// Waits until an API server is ready.
    pub async fn ready(&mut self, index: usize) -> Result<()> {
        let api = TestApi::from_kubeconfig(&self.kubeconfig(Account::Admin, index)).await?;
        let (etcd, server) = (self.store.program(), &mut self.servers[index].program);
        wait::until("the API server to be ready", STARTUP_TIMEOUT, async || {
            etcd.expect_running()?;
            server.expect_running()?;
            let ready = tokio::time::timeout(Duration::from_secs(5), api.text("/readyz")).await;
            Ok(matches!(ready, Ok(Ok(_))).then_some(()))
        })
        .await
    }

    /// A client of an account for the first API server.
    pub async fn api(&self, account: Account) -> Result<TestApi> {
        TestApi::from_kubeconfig(&self.kubeconfig(account, 0)).await
    }

    /// A client certificate of an account and its key, PEM, valid for this long.
    pub fn identity(&self, account: Account, good_for: Duration) -> Result<SignedIdentity> {
        let end = SystemTime::now().duration_since(UNIX_EPOCH)? + good_for;
        self.authority.client_until(account.user(), account.group(), Some(end))
    }

    /// The minor version of Kubernetes 1.
    pub fn minor(&self) -> u32 {
        self.minor
    }

    /// Whether tolerations may compare numbers: the test wants it, and the version supports it.
    pub fn comparison_operators(&self) -> bool {
        self.options.comparison_operators
    }

    /// Whether the version is too old for a test or a part of it. If so, reports it as skipped, and why.
    pub fn is_before(&self, minor: u32, test: &str, why: &str) -> bool {
        let before = self.minor < minor;
        if before {
            binaries::skipped(test, &format!("needs Kubernetes 1.{minor}: {why}"));
        }
        before
    }

    /// The private folder, for files that must be removed with the cluster.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The port an API server listens on.
    pub fn port(&self, server: usize) -> u16 {
        self.servers[server].port
    }

    /// The process of an API server, to pause, resume or kill.
    pub fn server(&mut self, server: usize) -> &mut ChildProcess {
        &mut self.servers[server].program
    }

    /// The process of etcd.
    pub fn etcd(&mut self) -> &mut ChildProcess {
        self.store.program()
    }

    /// Restarts etcd with its data after it was killed. API servers wait for it and continue.
    pub async fn restart_etcd(&mut self) -> Result<()> {
        self.store.again().await
    }

    /// Copies all data of etcd, for [`Cluster::restore`]. etcd is restarted for that; API servers wait for it.
    pub async fn back_up(&mut self) -> Result<()> {
        self.store.back_up().await
    }

    /// Stops etcd and all API servers and restarts them with the last copy: later writes are undone, and their resource
    /// versions are given out a second time.
    pub async fn restore(&mut self) -> Result<()> {
        for server in &mut self.servers {
            server.program.kill()?;
        }
        self.store.restore().await?;
        for index in 0..self.servers.len() {
            self.restart(index).await?;
        }
        Ok(())
    }

    /// Restarts an API server on its old port after it was killed, and waits until it is ready.
    pub async fn restart(&mut self, server: usize) -> Result<()> {
        if self.servers[server].program.ended().is_none() {
            self.servers[server].program.kill()?;
        }
        self.servers[server].program = self.launch_server(server, self.servers[server].port)?;
        self.ready(server).await
    }

    /// Compacts etcd up to now. A restarted API server, whose watch cache is empty, responds with 410 to watches from
    /// before.
    pub fn compact(&self) -> Result<()> {
        self.store.compact()
    }

    /// Starts any program under the cluster's care: it ends with the cluster, and its output is kept.
    pub fn run(&self, name: &str, command: Command) -> Result<ChildProcess> {
        process_folder::run(&self.folder, name, command, &self.watchdog)
    }

    /// Starts kube-controller-manager with only the given controllers (comma-separated) and further flags, and waits
    /// until it listens.
    pub async fn controller_manager(&self, controllers: &str, flags: &[String]) -> Result<ChildProcess> {
        let port = servers::free_port()?;
        let path = self.tools.path("kube-controller-manager")?;
        let mut command =
            servers::controller_manager(&path, &self.kubeconfig(Account::Admin, 0), controllers, port);
        command.args(flags);
        self.run_until_listening("kube-controller-manager", command, port).await
    }

    /// Starts kube-controller-manager's taint eviction and the controller that fills the index of pods that it needs,
    /// and waits until both act. Before 1.33 only node-lifecycle-controller fills it; it is kept from tainting
    /// nodes.
    pub async fn taint_eviction(&self) -> Result<ChildProcess> {
        const IDLE: [&str; 3] = [
            "--node-monitor-period=24h",
            "--node-monitor-grace-period=24h",
            "--node-startup-grace-period=24h",
        ];
        let (beside, flags) = match self.minor {
            ..33 => ("node-lifecycle-controller", &IDLE[..]),
            33.. => ("daemonset-controller", &[][..]),
        };
        let controllers = format!("taint-eviction-controller,{beside}");
        let flags: Vec<String> = flags.iter().map(|&flag| flag.to_owned()).collect();
        let mut program = self.controller_manager(&controllers, &flags).await?;
        wait::until("kube-controller-manager's caches", STARTUP_TIMEOUT, async || {
            program.expect_running()?;
            Ok((program.output().matches("Caches are synced").count() >= 2).then_some(()))
        })
        .await?;
        Ok(program)
    }

    /// Starts KWOK ([`binaries::KWOK`](crate::binaries::KWOK)). From then on, nodes that it adopts ([`kwok::adopt`]) are Ready, their pods
    /// run, and pods deleted there are gone within moments, whatever their grace period.
    pub async fn kwok(&self, program: &Path) -> Result<ChildProcess> {
        let port = servers::free_port()?;
        let command = kwok::command(program, &self.folder, &self.kubeconfig(Account::Admin, 0), port)?;
        self.run_until_listening("kwok", command, port).await
    }

    async fn run_until_listening(&self, name: &str, command: Command, port: u16) -> Result<ChildProcess> {
        let mut program = self.run(name, command)?;
        wait::until(&format!("{name} to listen"), STARTUP_TIMEOUT, async || {
            program.expect_running()?;
            Ok(std::net::TcpStream::connect(("127.0.0.1", port)).ok())
        })
        .await?;
        Ok(program)
    }

    /// Runs kubectl as admin against the first API server. If it fails, returns its error message.
    pub fn kubectl<'a>(&self, args: impl IntoIterator<Item = &'a str>) -> Result<String> {
        let args: Vec<&str> = args.into_iter().collect();
        let output = self.kubectl_output(args.iter().copied())?;
        if !output.status.success() {
            bail!("kubectl {}: {}", args.join(" "), String::from_utf8_lossy(&output.stderr).trim());
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Runs kubectl and returns its whole output, however it ends.
    pub fn kubectl_output<'a>(&self, args: impl IntoIterator<Item = &'a str>) -> Result<Output> {
        let mut command = Command::new(self.tools.path("kubectl")?);
        command.env("KUBECONFIG", self.kubeconfig(Account::Admin, 0)).env("HOME", &self.folder);
        Ok(command.args(args).output()?)
    }

    /// All audit entries of the API servers so far, in order of arrival.
    pub fn audit(&self) -> Result<Vec<Arc<AuditEntry>>> {
        self.audit.lock().unwrap_or_else(PoisonError::into_inner).read()
    }

    /// Follows the API servers' audit logs from their beginning.
    pub fn audit_tail(&self) -> AuditTail {
        audit_tail(&self.folder, self.options.servers)
    }
}

fn audit_tail(folder: &Path, count: usize) -> AuditTail {
    let logs: Vec<PathBuf> = (0..count).map(|index| folder.join(servers::audit_log(index))).collect();
    AuditTail::of(logs.iter().map(PathBuf::as_path))
}

fn write_secrets(folder: &Path) -> Result<TestAuthority> {
    let authority = TestAuthority::new()?;
    let server = authority.api_server()?;
    let (token_key, token_public_key) = certificates::token_keys()?;
    for (name, content) in [
        ("ca.crt", authority.certificate.as_str()),
        ("server.crt", &server.certificate),
        ("server.key", &server.key),
        ("token.key", &token_key),
        ("token.pub", &token_public_key),
        ("audit-policy.yaml", servers::AUDIT_POLICY),
    ] {
        fs::write(folder.join(name), content)?;
    }
    Ok(authority)
}
