//! Runs the commands of docs/managed-clusters.md alongside kube-controller-manager; `EXAMPLES=overwrite` writes the
//! page.

use crate::cli::document::{files, here, play};
use crate::harness::{ManagedHarness, NOT_READY, UNREACHABLE};
use serde_json::json;
use std::process::Command;
use taintward_envtest::api::PatchType;
use taintward_envtest::fixtures::{create_node, pod};
use taintward_envtest::{Account, binaries};

#[tokio::test(flavor = "current_thread")]
async fn the_page_leads_through_backfill_and_holds() {
    let Some(tools) = binaries::for_test("the_page_leads_through_backfill_and_holds") else { return };
    // Until the page has installed it, Taintward only observes.
    let mut harness = ManagedHarness::set(&tools, "toleration-hold-controller", &[]).await;
    for node in ["n1", "n2"] {
        create_node(&harness.admin, node, &[]).await.unwrap();
        let zone = json!({"metadata": {"labels": {"topology.kubernetes.io/zone": "eu-1a"}}}).to_string();
        harness.admin.patch(&format!("/api/v1/nodes/{node}"), PatchType::Merge, &zone).await.unwrap();
        for name in ["web", "db"] {
            let fixture = pod(&format!("{name}-{node}"), node);
            let fixture = fixture.bearing(NOT_READY, Some(300)).bearing(UNREACHABLE, Some(300));
            fixture.create(&harness.admin).await.unwrap();
        }
    }
    let own = pod("own", "n1").bearing(NOT_READY, Some(5)).bearing(UNREACHABLE, Some(5));
    own.create(&harness.admin).await.unwrap();
    let page = here("../../docs/managed-clusters.md");
    let folder = harness.cluster.folder().to_owned();
    let document = std::fs::read_to_string(&page).unwrap();
    for (name, text) in files(&document) {
        std::fs::write(folder.join(name), text).unwrap();
    }
    // The page's installations are applied, but their output is not shown.
    let mut before = document.split("```sh\n").skip(1).map(|rest| {
        let (install, rest) = rest.split_once('\n').unwrap();
        let next = rest.split_once("\n$ ").unwrap().1.lines().next().unwrap();
        (next.to_owned(), install.to_owned())
    });
    let mut install = before.next();
    let kubectl = tools.path("kubectl").unwrap();
    let config = harness.cluster.kubeconfig(Account::Admin, 0);
    let run = |words: &[String]| {
        let mut command = match &*words[0] {
            "kubectl" => Command::new(&kubectl),
            "taintward" => Command::new(env!("CARGO_BIN_EXE_taintward")),
            other => panic!("{other} is not a command of this page"),
        };
        command.args(&words[1..]).current_dir(&folder).env("KUBECONFIG", &config).env("TZ", "UTC");
        command.output().unwrap()
    };
    play(&page, |typed| {
        if let Some((_, words)) = install.take_if(|(next, _)| next == typed.command) {
            let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
            assert!(run(&words).status.success(), "{words:?}");
            // No kubelet runs what was installed.
            let at = words.iter().position(|word| word == "--controllers").unwrap();
            harness.restart_ours(&words[at + 1]);
            install = before.next();
        }
        let done = run(&typed.words());
        let message = [done.stderr, done.stdout].concat();
        // Progress is printed as often as it changes.
        let lines = String::from_utf8_lossy(&message).into_owned();
        lines.lines().filter(|line| !line.ends_with("...")).map(str::to_owned).collect()
    });
    assert_eq!(install, None, "an installation of the page was skipped");
}
