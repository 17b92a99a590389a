//! Tests the commands of deploy/k9s/plugins.yaml in a sandbox, as k9s runs them.

use crate::cli::running::{RunningSandbox, text};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::process::Command;

/// The file as k9s reads it: a missing or unknown field is an error.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PluginFile {
    plugins: BTreeMap<String, Plugin>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Plugin {
    short_cut: String,
    description: String,
    scopes: Vec<String>,
    command: String,
    background: bool,
    args: Vec<String>,
}

#[test]
fn each_plugin_runs_with_what_k9s_puts_in() {
    let file = std::fs::read_to_string("../../deploy/k9s/plugins.yaml").unwrap();
    let PluginFile { plugins } = serde_saphyr::from_str(&file).unwrap();
    let mut running = RunningSandbox::start(&["--plain"]);
    let kubeconfig = running.kubeconfig();
    let pod = running.until(" is scheduled to n1");
    let pod = pod.split("pod shop/").nth(1).unwrap().split(' ').next().unwrap();
    let mut keys: Vec<(&str, &str)> = Vec::new();
    for (name, plugin) in &plugins {
        let Plugin { short_cut, description, scopes, command, background, args } = plugin;
        // Only the one that lasts shows its text without a pager.
        let is_paged = !args.contains(&"--watch".to_owned());
        let pager = ["-c", "taintward \"$@\" 2>&1 | less -K", "less"];
        let args = match is_paged {
            true => {
                args.strip_prefix(&pager.map(str::to_owned)).unwrap_or_else(|| panic!("{name}: {args:?}"))
            }
            false => args,
        };
        assert_eq!(command, if is_paged { "sh" } else { "taintward" }, "{name}");
        assert!(!background && !description.is_empty() && description.len() <= 32, "{name}");
        for scope in scopes {
            let (subject, shows) = if scope == "pods" { (pod, pod) } else { ("n1", "n1") };
            let typed = |arg: &String| {
                // The plugin that never ends is run for one list only.
                let arg = if arg == "--watch" { "--no-headers" } else { arg };
                arg.replace("$NAMESPACE", "shop")
                    .replace("$NAME", subject)
                    .replace("$CONTEXT", "taintward-sandbox")
            };
            let mut run = Command::new(env!("CARGO_BIN_EXE_taintward"));
            let done = run.args(args.iter().map(typed)).env("KUBECONFIG", &kubeconfig).output().unwrap();
            let (out, err) = (text(&done.stdout), text(&done.stderr));
            // 2: the plan found pods that leave.
            assert!(matches!(done.status.code(), Some(0 | 2)), "{name}: {err}");
            assert!(out.contains(shows) || args[0] == "pending", "{name}: {out}");
            keys.push((scope, short_cut));
        }
    }
    let all = keys.len();
    keys.sort_unstable();
    keys.dedup();
    assert_eq!(keys.len(), all, "two plugins of a scope have the same key");
}
