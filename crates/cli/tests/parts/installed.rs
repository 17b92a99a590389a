//! Runs what `taintward install` creates: processes with the flags and permissions of its Deployments.

use crate::cli::timeout::eventually;
use crate::parts::place::Place;
use serde_json::{Value, json};
use std::fs::{self, File};
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

const NAMESPACE: &str = "taintward-system";

/// Ended when dropped.
pub(crate) struct InstalledParts(Vec<InstalledProcess>);

struct InstalledProcess {
    child: Child,
    log: PathBuf,
}

impl Drop for InstalledProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl InstalledParts {
    /// Starts both, and waits until the API server calls the webhook.
    pub(crate) fn at_work(place: &Place, kubectl: &Path) -> Self {
        let hands = Hands { place, kubectl };
        let port = free_port();
        // First, because replacing the address removes the CA bundle that the webhook has written next to it.
        hands.redirect(port);
        // The controllers serve their record at a port of their own.
        let ours = [("taintward", free_port()), ("taintward-webhook", port)];
        let ours = ours.map(|(name, port)| hands.start(name, port));
        eventually("the API server to ask the webhook", || hands.is_requested().then_some(()));
        Self(ours.into())
    }

    /// Checks that both are still running.
    pub(crate) fn expect_running(&mut self) {
        for InstalledProcess { child, log } in &mut self.0 {
            let ended = child.try_wait().unwrap();
            assert!(ended.is_none(), "{ended:?}: {}", fs::read_to_string(log).unwrap());
        }
    }
}

/// A port that is free at the moment.
fn free_port() -> u16 {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port()
}

struct Hands<'p> {
    place: &'p Place,
    kubectl: &'p Path,
}

impl Hands<'_> {
    fn requested(&self, words: &[&str]) -> Output {
        let mut command = Command::new(self.kubectl);
        command.args(words).env("KUBECONFIG", &self.place.kubeconfig).env("HOME", &self.place.folder);
        command.stdin(Stdio::null()).output().unwrap()
    }

    fn reported(&self, words: &[&str]) -> String {
        let done = self.requested(words);
        assert!(done.status.success(), "kubectl {words:?}: {}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).unwrap()
    }

    fn json(&self, words: &[&str]) -> Value {
        serde_json::from_str(&self.reported(&[words, &["-o", "json"]].concat())).unwrap()
    }

    /// The kubeconfig of a Deployment's account.
    fn kubeconfig_of(&self, account: &str) -> PathBuf {
        let mut config = self.json(&["config", "view", "--raw", "--minify", "--flatten"]);
        let token = self.reported(&["create", "token", account, "-n", NAMESPACE]);
        config["users"][0]["user"] = json!({"token": token.trim()});
        let file = self.place.folder.join(format!("{account}.kubeconfig"));
        fs::write(&file, config.to_string()).unwrap();
        file
    }

    /// Starts what the pods of a Deployment would run, with other addresses. `port`: the one for HTTPS.
    fn start(&self, deployment: &str, port: u16) -> InstalledProcess {
        let template =
            self.json(&["get", "deployment", deployment, "-n", NAMESPACE])["spec"]["template"].take();
        let container = &template["spec"]["containers"][0];
        let flags = container["args"].as_array().unwrap().iter().map(|flag| flag.as_str().unwrap());
        let here = |flag: &str| match flag.split_once('=').map_or(flag, |(name, _)| name) {
            "--bind-address" => "--bind-address=127.0.0.1".to_owned(),
            "--metrics-port" => "--metrics-port=0".to_owned(),
            "--secure-port" => format!("--secure-port={port}"),
            _ => flag.to_owned(),
        };
        let account = template["spec"]["serviceAccountName"].as_str().unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_taintward"));
        command.env_clear().args(flags.map(here)).arg("--kubeconfig").arg(self.kubeconfig_of(account));
        if deployment.ends_with("webhook") {
            command.arg("--certificate-names=127.0.0.1");
        }
        let log = self.place.folder.join(format!("{deployment}.log"));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(File::create(&log).unwrap());
        InstalledProcess { child: command.spawn().unwrap(), log }
    }

    /// Replaces the Service, which leads to no pods here, by an address.
    fn redirect(&self, port: u16) {
        for kind in ["mutatingwebhookconfiguration", "validatingwebhookconfiguration"] {
            let webhooks = self.json(&["get", kind, "taintward"])["webhooks"].take();
            let mut edits = Vec::new();
            for (at, webhook) in webhooks.as_array().unwrap().iter().enumerate() {
                let path = webhook["clientConfig"]["service"]["path"].as_str().unwrap();
                let place = format!("/webhooks/{at}/clientConfig");
                let url = format!("https://127.0.0.1:{port}{path}");
                edits.push(json!({"op": "replace", "path": place, "value": {"url": url}}));
            }
            self.reported(&["patch", kind, "taintward", "--type=json", "-p", &json!(edits).to_string()]);
        }
    }

    fn is_requested(&self) -> bool {
        let seconds = "jsonpath={.spec.tolerations[0].tolerationSeconds}";
        let requested = ["run", "probe", "--image=x", "--annotations=taintward.io/not-ready-seconds=7"];
        self.requested(&[&requested[..], &["--dry-run=server", "-o", seconds]].concat()).stdout == b"7"
    }
}
