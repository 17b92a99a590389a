//! # Pool story: docs/dedicated-nodes.md on a real API server
//! Room:     the page's commands, typed as written, where nothing is pretended but the kubelets: the real kube-scheduler and
//!           kube-controller-manager, Taintward's controller, and its webhook under the configurations of an installation.
//! Comes in: the built program, the control plane's binaries, KWOK; the page with the files it shows.
//! Goes out: what the page shows, but for the line that counts what a sandbox has besides.
//! Not here: the same in a sandbox, and writing the page anew (`doc_pages.rs`).
#![allow(clippy::unwrap_used, reason = "tests: what can't be had fails the test")]

mod cli {
    pub(crate) mod document;
    pub(crate) mod patience;
    pub(crate) mod running;
}
#[allow(dead_code, reason = "each test binary uses some of it")]
mod parts {
    pub(crate) mod look;
    pub(crate) mod place;
    pub(crate) mod programs;
}

use cli::document::{examples, files, here, lasting};
use cli::patience::eventually;
use cli::running::text;
use parts::place::Place;
use parts::programs::Programs;
use serde_json::{Value, json};
use std::fs::File;
use std::net::{Ipv4Addr, TcpListener};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use taintward_cluster::{Tools, tools};

/// What differs from a sandbox: pods and nodes that are there besides.
const COUNTS: &str = "kubectl get dedicatedpool";

#[test]
fn dedicated_nodes_as_the_page_tells_it() {
    let test = "dedicated_nodes_as_the_page_tells_it";
    let Some(tools) = tools::for_test(test) else { return };
    if let Err(why) = tools::find_kwok() {
        assert!(std::env::var("CI").as_deref() != Ok("true"), "{test}: {why:#}");
        return tools::skipped(test, &format!("{why:#}"));
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let place = runtime.block_on(Place::real(&tools));
    let mut programs = Programs::start(&place, &tools);
    let stage = Stage::set(&place, &tools);
    let page = std::fs::read_to_string(here("../../docs/dedicated-nodes.md")).unwrap();
    for (name, text) in files(&page) {
        std::fs::write(place.folder.join(name), text).unwrap();
    }
    for typed in examples(&page) {
        let words = typed.words();
        assert_eq!(words[0], "kubectl", "{}", typed.command);
        let (done, said) = stage.kubectl(&words[1..]);
        if typed.command.starts_with(COUNTS) {
            assert!(done && said.contains("True    Applied"), "{}: {said}", typed.command);
            continue;
        }
        let shown: Vec<String> = said.lines().map(lasting).collect();
        let kept: Vec<String> = typed.shown.iter().map(|line| lasting(line)).collect();
        assert_eq!(shown, kept, "$ {}", typed.command);
    }
    programs.expect_running();
    stage.expect_running();
}

/// Taintward's two processes, and a kubectl.
struct Stage<'p> {
    place: &'p Place,
    kubectl: PathBuf,
    ours: Vec<Ours>,
}

/// A process of ours, dead when dropped.
struct Ours {
    child: Child,
    log: PathBuf,
}

impl Drop for Ours {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl<'p> Stage<'p> {
    fn set(place: &'p Place, tools: &Tools) -> Self {
        let kubectl = tools.path("kubectl").unwrap();
        let mut stage = Self { place, kubectl, ours: Vec::new() };
        let crds = here("../../deploy/crds").to_str().unwrap().to_owned();
        stage.ok(&["apply", "-f", &crds]);
        stage.ok(&["wait", "--for=condition=Established", "--timeout=60s", "crd", "--all"]);
        stage.start("controller", &["run", "--controllers=*,dedicated-pool-controller", "--metrics-port=0"]);
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port();
        let listen = format!("--secure-port={port}");
        let own = ["--self-signed", "--namespace=default", "--certificate-names=127.0.0.1"];
        let flags = ["webhook", "--bind-address=127.0.0.1", &listen];
        stage.start("webhook", &[&flags[..], &own].concat());
        stage.register(port);
        stage
    }

    fn start(&mut self, name: &str, words: &[&str]) {
        let log = self.place.folder.join(format!("{name}.log"));
        let child = Command::new(env!("CARGO_BIN_EXE_taintward"))
            .args(words)
            .env("KUBECONFIG", &self.place.kubeconfig)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(&log).unwrap())
            .spawn()
            .unwrap();
        self.ours.push(Ours { child, log });
    }

    /// The configurations that an installation has, with an address in the place of its Service; then waits until the API
    /// server asks.
    fn register(&self, port: u16) {
        let install = Command::new(env!("CARGO_BIN_EXE_taintward"))
            .args(["install", "--parts=webhook", "--image=none", "-o", "json"])
            .output()
            .unwrap();
        let all: Value = serde_json::from_slice(&install.stdout).unwrap();
        let items = all["items"].as_array().unwrap();
        let kinds = ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"];
        let configurations = items.iter().filter(|item| kinds.iter().any(|kind| item["kind"] == *kind));
        let mut told = 0;
        for configuration in configurations {
            let mut configuration = configuration.clone();
            for webhook in configuration["webhooks"].as_array_mut().unwrap() {
                let path = webhook["clientConfig"]["service"]["path"].as_str().unwrap().to_owned();
                webhook["clientConfig"] = json!({"url": format!("https://127.0.0.1:{port}{path}")});
            }
            let file = self.place.folder.join(format!("configuration-{told}.json"));
            std::fs::write(&file, configuration.to_string()).unwrap();
            self.ok(&["create", "-f", file.to_str().unwrap()]);
            told += 1;
        }
        assert_eq!(told, 2);
        let probe = [
            "run",
            "probe",
            "--image=x",
            "--dry-run=server",
            "-o",
            "jsonpath={.spec.tolerations[0].tolerationSeconds}",
        ];
        let asked = [&probe[..], &["--annotations=taintward.io/not-ready-seconds=7"]].concat();
        eventually("the API server to ask the webhook", || (self.kubectl(&asked).1 == "7").then_some(()));
    }

    /// Whether it succeeded, and everything it printed.
    fn kubectl(&self, words: &[impl AsRef<std::ffi::OsStr>]) -> (bool, String) {
        let done = Command::new(&self.kubectl)
            .args(words)
            .env("KUBECONFIG", &self.place.kubeconfig)
            .env("HOME", &self.place.folder)
            .current_dir(&self.place.folder)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        (done.status.success(), text(&[done.stderr, done.stdout].concat()))
    }

    fn ok(&self, words: &[&str]) {
        let (done, said) = self.kubectl(words);
        assert!(done, "kubectl {words:?}: {said}");
    }

    fn expect_running(mut self) {
        for Ours { child, log } in &mut self.ours {
            let ended = child.try_wait().unwrap();
            assert!(ended.is_none(), "{ended:?}: {}", std::fs::read_to_string(log).unwrap());
        }
    }
}
