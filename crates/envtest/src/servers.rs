//! Builds the command lines of etcd, kube-apiserver and kube-controller-manager, and the audit policy.

use crate::cluster_config::{Audit, ClusterConfig};
use anyhow::Result;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Reads are recorded without bodies, writes with the bodies of request and response. The API server's requests to
/// itself are not recorded, nor are heartbeats, of which there are hundreds a second.
pub(crate) const AUDIT_POLICY: &str = r#"apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
omitManagedFields: true
rules:
- level: None
  users: ["system:apiserver"]
- level: None
  nonResourceURLs: ["/readyz*", "/livez*", "/healthz*"]
- level: None
  verbs: [patch]
  namespaces: [kube-node-lease]
- level: Metadata
  verbs: [get, list, watch]
- level: RequestResponse
"#;

/// Disabled on every server: there is no controller to create the service accounts of pods, nor one to remove the
/// `not-ready` taint.
const OFF: &str = "ServiceAccount,TaintNodesByCondition";

/// A loopback port that is free at the moment.
pub fn free_port() -> Result<u16> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}

/// The folder of etcd's data.
pub(crate) fn etcd_data(folder: &Path) -> PathBuf {
    folder.join("etcd")
}

/// One etcd member.
pub(crate) fn etcd(program: &Path, folder: &Path, client_port: u16, peer_port: u16) -> Command {
    let (client, peer) = (format!("http://127.0.0.1:{client_port}"), format!("http://127.0.0.1:{peer_port}"));
    let mut command = Command::new(program);
    command
        .arg("--data-dir")
        .arg(etcd_data(folder))
        .arg(format!("--listen-client-urls={client}"))
        .arg(format!("--advertise-client-urls={client}"))
        .arg(format!("--listen-peer-urls={peer}"))
        .arg(format!("--initial-advertise-peer-urls={peer}"))
        .arg(format!("--initial-cluster=default={peer}"))
        .args(["--log-level=warn", "--quota-backend-bytes=8589934592"])
        .args(["--heartbeat-interval=50", "--election-timeout=250"]);
    command
}

/// One API server.
pub(crate) fn api_server(
    program: &Path,
    folder: &Path,
    etcd_port: u16,
    port: u16,
    index: usize,
    options: &ClusterConfig,
) -> Command {
    let file = |flag: &str, name: &str| format!("--{flag}={}", folder.join(name).display());
    let mut command = Command::new(program);
    command
        .env("GOGC", options.gogc.to_string())
        .arg(format!("--etcd-servers=http://127.0.0.1:{etcd_port}"))
        .arg(format!("--secure-port={port}"))
        .args([
            "--bind-address=127.0.0.1",
            "--advertise-address=127.0.0.1",
            "--endpoint-reconciler-type=none",
        ])
        .arg(format!(
            "--authorization-mode={}",
            if options.always_allow { "AlwaysAllow,RBAC" } else { "RBAC" }
        ))
        .arg("--service-cluster-ip-range=10.0.0.0/24")
        .arg("--service-account-issuer=https://kubernetes.default.svc")
        .arg(file("service-account-key-file", "token.pub"))
        .arg(file("service-account-signing-key-file", "token.key"))
        .arg(file("client-ca-file", "ca.crt"))
        .arg(file("tls-cert-file", "server.crt"))
        .arg(file("tls-private-key-file", "server.key"))
        .arg(file("cert-dir", "apiserver"))
        // The two built-in waits at the end would only slow down stopping.
        .args(["--shutdown-delay-duration=0s", "--profiling=false"]);
    if options.audit == Audit::Full {
        command
            .arg(file("audit-policy-file", "audit-policy.yaml"))
            .arg(file("audit-log-path", &audit_log(index)));
    }
    admit(&mut command, folder, index, options);
    if !options.feature_gates.is_empty() {
        command.arg(format!("--feature-gates={}", options.feature_gates));
    }
    if options.comparison_operators {
        command.arg("--feature-gates=TaintTolerationComparisonOperators=true");
    }
    command
}

fn admit(command: &mut Command, folder: &Path, index: usize, options: &ClusterConfig) {
    let admission = options.admission.get(index).cloned().unwrap_or_default();
    let off = [&[OFF], &admission.off[..]].concat().join(",");
    command.arg(format!("--disable-admission-plugins={off}"));
    if !admission.on.is_empty() {
        command.arg(format!("--enable-admission-plugins={}", admission.on.join(",")));
    }
    if !admission.configuration.is_empty() {
        let file = folder.join(admission_file(index));
        command.arg(format!("--admission-control-config-file={}", file.display()));
    }
}

/// The file of the admission plugins' configuration.
pub(crate) fn admission_file(index: usize) -> String {
    format!("admission-{index}.yaml")
}

pub(crate) fn audit_log(index: usize) -> String {
    format!("audit-{index}.log")
}

/// kube-controller-manager, with only the given controllers, no leader election, and no limit on its requests.
pub(crate) fn controller_manager(program: &Path, kubeconfig: &Path, controllers: &str, port: u16) -> Command {
    let mut command = Command::new(program);
    command
        .arg(format!("--kubeconfig={}", kubeconfig.display()))
        .arg(format!("--controllers={controllers}"))
        .arg(format!("--secure-port={port}"))
        .args(["--bind-address=127.0.0.1", "--leader-elect=false", "--use-service-account-credentials=false"])
        .args(["--kube-api-qps=100000", "--kube-api-burst=100000"]);
    command
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster_config::AdmissionConfig;

    #[test]
    fn each_server_admits_in_its_own_way() {
        let own = AdmissionConfig { on: vec!["A", "B"], off: vec!["C"], configuration: "{}".into() };
        let options = ClusterConfig { servers: 2, admission: vec![own], ..ClusterConfig::default() };
        let flags = |index| {
            let command = api_server(Path::new("server"), Path::new("/there"), 1, 2, index, &options);
            let all = command.get_args().map(|flag| flag.to_string_lossy().into_owned());
            all.filter(|flag| flag.contains("admission")).collect::<Vec<_>>()
        };
        assert_eq!(
            flags(0),
            [
                "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition,C",
                "--enable-admission-plugins=A,B",
                "--admission-control-config-file=/there/admission-0.yaml",
            ]
        );
        assert_eq!(flags(1), ["--disable-admission-plugins=ServiceAccount,TaintNodesByCondition"]);
    }
}
