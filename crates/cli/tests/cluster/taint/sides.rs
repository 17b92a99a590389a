//! Runs the same arguments with kubectl and with taintward, on nodes of their own.

use super::cases::TaintCase;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;
use taintward_envtest::api::PatchType;
use taintward_envtest::fixtures::create_node;
use taintward_envtest::{Account, Binaries, Cluster, TestApi};
use tokio::runtime::Runtime;

/// The program under test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TaintClient {
    Kubectl,
    Taintward,
}

impl TaintClient {
    /// The names of its nodes, which are as long as the other side's.
    fn name(self, number: usize) -> String {
        match self {
            Self::Kubectl => format!("left-{number}"),
            Self::Taintward => format!("ours-{number}"),
        }
    }

    fn label(self) -> &'static str {
        match self {
            Self::Kubectl => "left",
            Self::Taintward => "ours",
        }
    }
}

/// The result of a command.
#[derive(Debug, PartialEq)]
pub(crate) struct CommandOutcome {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) message: String,
    /// Taints of the two nodes afterwards.
    pub(crate) nodes: [Value; 2],
}

/// A cluster with two nodes for each side.
pub(crate) struct TaintComparison<'c> {
    runtime: &'c Runtime,
    api: TestApi,
    kubeconfig: PathBuf,
    kubectl: PathBuf,
    home: PathBuf,
    /// Whether kubectl is older than 1.35.
    old: bool,
}

impl<'c> TaintComparison<'c> {
    pub(crate) fn set(runtime: &'c Runtime, cluster: &Cluster, tools: &Binaries) -> Self {
        let api = runtime.block_on(cluster.api(Account::Admin)).unwrap();
        for side in [TaintClient::Kubectl, TaintClient::Taintward] {
            for number in [1, 2] {
                let name = side.name(number);
                runtime.block_on(create_node(&api, &name, &[])).unwrap();
                let place = if number == 1 { "first" } else { "second" };
                let labels = json!({ "metadata": { "labels": { "side": side.label(), "place": place } } });
                patch(runtime, &api, &name, &labels);
            }
        }
        let kubeconfig = cluster.kubeconfig(Account::Admin, 0);
        Self {
            runtime,
            api,
            kubeconfig,
            kubectl: tools.path("kubectl").unwrap(),
            home: cluster.folder().to_owned(),
            old: cluster.minor() < 35,
        }
    }

    pub(crate) fn command(&self, side: TaintClient, arguments: &[&str]) -> Command {
        let program = match side {
            TaintClient::Kubectl => self.kubectl.clone(),
            TaintClient::Taintward => PathBuf::from(env!("CARGO_BIN_EXE_taintward")),
        };
        let mut command = Command::new(program);
        let path = std::env::var_os("PATH").unwrap_or_default();
        command.env_clear().env("PATH", path).env("HOME", &self.home).env("KUBECONFIG", &self.kubeconfig);
        command.args(arguments).stdin(Stdio::null());
        command
    }

    /// The present node.
    pub(crate) fn get_node(&self, side: TaintClient, number: usize) -> Value {
        self.runtime.block_on(self.api.get(&format!("/api/v1/nodes/{}", side.name(number)))).unwrap()
    }

    /// The taints that a case's nodes have before.
    pub(crate) fn before(&self, case: &TaintCase) -> [Value; 2] {
        case.before.clone().map(|taints| if taints.is_empty() { Value::Null } else { Value::Array(taints) })
    }

    /// Runs the case on both sides, kubectl first.
    pub(crate) fn both(&self, case: &TaintCase) -> [CommandOutcome; 2] {
        for side in [TaintClient::Kubectl, TaintClient::Taintward] {
            for (taints, number) in case.before.iter().zip([1, 2]) {
                let taints = json!({ "spec": { "taints": taints } });
                patch(self.runtime, &self.api, &side.name(number), &taints);
            }
        }
        [TaintClient::Kubectl, TaintClient::Taintward].map(|side| self.one(side, case))
    }

    fn one(&self, side: TaintClient, case: &TaintCase) -> CommandOutcome {
        let mut arguments = vec!["taint".to_owned()];
        arguments.extend(case.arguments.iter().map(|argument| {
            let argument = argument.replace("{1}", &side.name(1)).replace("{2}", &side.name(2));
            argument.replace("{side}", side.label())
        }));
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let done = self.command(side, &arguments).output().unwrap();
        // Commands about all nodes print both sides', in the same state.
        let alike = |bytes: &[u8]| {
            let text = String::from_utf8_lossy(bytes).into_owned();
            if case.arguments.iter().any(|argument| argument.starts_with("--all")) {
                return text;
            }
            text.replace(&format!("{}-", side.label()), "node-").replace(side.label(), "side")
        };
        CommandOutcome {
            code: done.status.code().unwrap(),
            out: known_differences_of_output(side, case, &undated(&alike(&done.stdout))),
            message: match known_differences(side, &alike(&done.stderr)) {
                message if self.old && side == TaintClient::Kubectl => in_new_words(message),
                message => message,
            },
            nodes: [1, 2].map(|number| self.get_node(side, number)["spec"]["taints"].clone()),
        }
    }

    /// Follows each version of a node, from now on.
    pub(crate) fn watch(&self, name: &str) -> ToolVersions<'_, 'c> {
        let mut command = Command::new(&self.kubectl);
        command.env_clear().env("HOME", &self.home).env("KUBECONFIG", &self.kubeconfig);
        command.args(["get", "node", name, "--watch", "-o", "jsonpath={@}{\"\\n\"}"]);
        let mut child = command.stdout(Stdio::piped()).stdin(Stdio::null()).spawn().unwrap();
        let lines = std::io::BufReader::new(child.stdout.take().unwrap());
        let (send, versions) = mpsc::channel();
        std::thread::spawn(move || {
            for line in std::io::BufRead::lines(lines).map_while(Result::ok) {
                if send.send(serde_json::from_str::<Value>(&line).unwrap()).is_err() {
                    return;
                }
            }
        });
        let first = versions.recv_timeout(STARTUP_TIMEOUT).unwrap();
        ToolVersions { comparison: self, name: name.to_owned(), child, versions, seen: vec![first] }
    }
}

/// On a busy machine, everything arrives within this if it arrives at all.
const STARTUP_TIMEOUT: Duration = Duration::from_secs(60);

/// A watch of one node.
pub(crate) struct ToolVersions<'s, 'c> {
    comparison: &'s TaintComparison<'c>,
    name: String,
    child: std::process::Child,
    versions: mpsc::Receiver<Value>,
    seen: Vec<Value>,
}

impl ToolVersions<'_, '_> {
    /// All versions up to the one with this label.
    pub(crate) fn until_label(mut self, label: &str) -> Vec<Value> {
        let body = json!({ "metadata": { "labels": { label: "yes" } } });
        patch(self.comparison.runtime, &self.comparison.api, &self.name, &body);
        loop {
            let version = self.versions.recv_timeout(STARTUP_TIMEOUT).unwrap();
            let last = version["metadata"]["labels"][label] == "yes";
            self.seen.push(version);
            if last {
                return std::mem::take(&mut self.seen);
            }
        }
    }
}

impl Drop for ToolVersions<'_, '_> {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn patch(runtime: &Runtime, api: &TestApi, name: &str, body: &Value) {
    let path = format!("/api/v1/nodes/{name}");
    runtime.block_on(api.patch(&path, PatchType::Merge, &body.to_string())).unwrap();
}

/// Removes fields in which two nodes always differ, whatever changed them.
fn undated(text: &str) -> String {
    let own = ["uid", "resourceVersion", "creationTimestamp"];
    let lines = text.lines().map(|line| {
        let field = line.trim_start().trim_start_matches('"');
        match own
            .iter()
            .find(|own| field.starts_with(&format!("{own}\"")) || field.starts_with(&format!("{own}:")))
        {
            Some(own) => format!("{own}\n"),
            None => format!("{line}\n"),
        }
    });
    lines.collect()
}

/// Removes the differences of standard output that docs/differences.md lists under KT, and no others.
fn known_differences_of_output(side: TaintClient, case: &TaintCase, text: &str) -> String {
    if side == TaintClient::Kubectl {
        return text.to_owned();
    }
    let typed = |flag: &str| case.arguments.iter().any(|argument| argument.starts_with(flag));
    let lines = text.lines().filter_map(|line| {
        // kubectl omits the dry-run suffix and the separator between documents.
        let dry = [" (dry run)", " (server dry run)"].iter().find_map(|suffix| line.strip_suffix(suffix));
        match dry {
            Some(line) if typed("--dry-run") => Some(format!("{line}\n")),
            _ if line == "---" && typed("-o") => None,
            _ => Some(format!("{line}\n")),
        }
    });
    lines.collect()
}

/// Translates messages of kubectl before 1.35.
fn in_new_words(message: String) -> String {
    let message = message.replace("a qualified name must consist", "a valid label key must consist");
    message.replace("must be no more than 63 characters", "must be no more than 63 bytes")
}

/// Removes the differences of standard error that docs/differences.md lists under KT, and no others.
fn known_differences(side: TaintClient, text: &str) -> String {
    let quoted = "    kubectl: ";
    let quotes = text.lines().any(|line| line.starts_with(quoted));
    let lines = text.lines().filter_map(|line| match side {
        // Before kubectl's message: a short one, and the mark below the wrong character.
        TaintClient::Taintward if quotes => match line.strip_prefix(quoted) {
            Some(quote) => Some(format!("error: {quote}")),
            None if line.starts_with("    ") || line.starts_with("error: ") => None,
            None => Some(line.to_owned()),
        },
        TaintClient::Taintward => Some(line.to_owned()),
        // The program's name in the hint; log lines with a time and a source location.
        TaintClient::Kubectl => match line.split_once("] ") {
            Some((head, warning)) if head.starts_with('W') => Some(format!("warning: {warning}")),
            _ => Some(without_patterns(&line.replace("See 'kubectl taint -h'", "See 'taintward taint -h'"))),
        },
    });
    lines.map(|line| line + "\n").collect()
}

/// Removes the regular expressions from kubectl's message.
fn without_patterns(line: &str) -> String {
    let mut parts = line.split(", regex used for validation is '");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + part.find("')").map_or(part, |end| &part[end + 1..]))
}
