//! Runs the real kube-scheduler and kube-controller-manager with the flags of docs/sandbox.md.

use super::place::Place;
use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use taintward_envtest::Binaries;

/// The controllers for what the sandbox has: nodes, pods, their owners, budgets and namespaces.
const CONTROLLERS: &str = "deployment-controller,replicaset-controller,daemonset-controller,disruption-controller,\
                           garbage-collector-controller,namespace-controller,serviceaccount-controller,\
                           pod-garbage-collector-controller,taint-eviction-controller,node-lifecycle-controller";

/// The running programs; dropping this kills those that still run.
pub(crate) struct PartPrograms(Vec<RunningProgram>);

struct RunningProgram {
    name: &'static str,
    child: Child,
    log: PathBuf,
}

impl PartPrograms {
    pub(crate) fn start(place: &Place, tools: &Binaries) -> Self {
        let start = |name: &'static str, flags: &[String]| {
            let log = place.folder.join(format!("{name}.log"));
            let child = Command::new(tools.path(name).unwrap())
                .arg(format!("--kubeconfig={}", place.kubeconfig.display()))
                .arg("--secure-port=0")
                .args(flags)
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(File::create(&log).unwrap())
                .spawn()
                .unwrap();
            RunningProgram { name, child, log }
        };
        let controllers = format!("--controllers={CONTROLLERS}");
        Self(vec![start("kube-scheduler", &[]), start("kube-controller-manager", &[controllers])])
    }

    /// Checks that both are still running.
    pub(crate) fn expect_running(&mut self) {
        for RunningProgram { name, child, log } in &mut self.0 {
            let ended = child.try_wait().unwrap();
            assert!(ended.is_none(), "{name} ended: {ended:?}\n{}", fs::read_to_string(log).unwrap());
        }
    }

    /// Kills them, because a graceful end would leave lines in the logs that the server did not cause.
    pub(crate) fn end(&mut self) {
        for RunningProgram { child, .. } in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    pub(crate) fn logs(&self) -> Vec<(&'static str, String)> {
        let bytes = |one: &RunningProgram| fs::read(&one.log).unwrap();
        self.0.iter().map(|one| (one.name, String::from_utf8_lossy(&bytes(one)).into_owned())).collect()
    }
}

impl Drop for PartPrograms {
    fn drop(&mut self) {
        self.end();
    }
}
