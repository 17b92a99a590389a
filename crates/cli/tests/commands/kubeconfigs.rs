//! Tests kubeconfigs: servers whose certificate is not verified, addresses in every form, and texts of any kind.

use crate::cli::running::{RunningSandbox, TestFolder, text};
use crate::cli::timeout::Lines;
use std::process::{Command, Stdio};
use std::time::Duration;
use testkit::wait::within_blocking;

/// A sandbox, and its kubeconfig.
fn sandbox(folder: &TestFolder) -> (RunningSandbox, String) {
    let kubeconfig = folder.file("kubeconfig");
    let mut sandbox =
        RunningSandbox::start(&["--plain", "--nodes", "1", "--empty", "--kubeconfig-out", &kubeconfig]);
    sandbox.until("KUBECONFIG");
    (sandbox, kubeconfig)
}

fn program(typed: &[&str], kubeconfig: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_taintward"));
    command.args(typed).args(["--kubeconfig", kubeconfig]).env_remove("KUBERNETES_SERVICE_HOST");
    command
}

/// As with kubectl, commands do not repeat it each time.
#[test]
fn doctor_and_the_controllers_name_an_unverified_cluster() {
    let folder = TestFolder::named("unverified");
    let (_sandbox, kubeconfig) = sandbox(&folder);
    let written = std::fs::read_to_string(&kubeconfig).unwrap();
    let trust = written.lines().find(|line| line.contains("certificate-authority-data")).unwrap();
    let careless = folder.write("careless", &written.replace(trust, "    insecure-skip-tls-verify: true"));
    let warning =
        format!("insecure-skip-tls-verify of cluster \"taintward-sandbox\" in kubeconfig {careless}");
    let message =
        |typed: &[&str], kubeconfig: &str| text(&program(typed, kubeconfig).output().unwrap().stderr);
    for typed in [
        &["lint"][..],
        &["pending"],
        &["explain", "node", "n1"],
        &["version"],
        &["sandbox", "node", "silence", "n1"],
    ] {
        let message = message(typed, &careless);
        assert!(!message.contains("insecure"), "{typed:?}: {message}");
    }
    assert_eq!(message(&["doctor"], &careless).matches(&warning).count(), 1);
    assert!(!message(&["doctor"], &kubeconfig).contains("insecure"), "there is nothing to warn of");
    let mut run = RunningSandbox::of(program(&["run", "--mode=observe", "--metrics-port=0"], &careless));
    let mut message = Lines::of(run.child.stderr.take().unwrap());
    let warned = std::iter::from_fn(|| message.next()).find(|line| line.contains("insecure-skip-tls-verify"));
    assert!(warned.is_some_and(|line| line.starts_with('W') && line.contains("taintward-sandbox")));
}

/// Commands that connect.
const COMMANDS: [&[&str]; 14] = [
    &["pending"],
    &["plan"],
    &["explain", "node", "n1"],
    &["taint", "nodes", "n1", "a=b:NoSchedule", "--yes"],
    &["taint", "nodes", "--list"],
    &["lint", "-A"],
    &["doctor"],
    &["hold", "n1", "--for", "1m"],
    &["guard", "status"],
    &["backfill"],
    &["board", "--port=0"],
    &["version"],
    &["install", "--apply", "--image=registry.example.com/taintward:1"],
    &["run", "--mode=observe", "--metrics-port=0"],
];

#[test]
fn an_address_without_a_scheme_works_as_with_kubectl() {
    let folder = TestFolder::named("addresses");
    let (_sandbox, kubeconfig) = sandbox(&folder);
    let written = std::fs::read_to_string(&kubeconfig).unwrap();
    assert!(written.contains("server: https://"), "{written}");
    let bare = folder.write("bare", &written.replace("server: https://", "server: "));
    for typed in [&["pending"][..], &["explain", "node", "n1"], &["version"]] {
        let done = program(typed, &bare).output().unwrap();
        assert!(done.status.success(), "{typed:?}: {}", text(&done.stderr));
    }
}

#[test]
fn an_address_that_is_none_is_one_sentence_in_every_command() {
    let folder = TestFolder::named("no-address");
    for server in
        ["127.0.0.1:port", "ftp://127.0.0.1:1", "https://", "127.0.0.1:1/path", "::1", "https://me:secret@:1"]
    {
        let written = format!(
            "clusters: [{{name: prod, cluster: {{server: '{server}'}}}}]\ncontexts: [{{name: a, context: {{cluster: prod}}}}]\n\
             current-context: a\n"
        );
        let kubeconfig = folder.write("config", &written);
        for typed in COMMANDS {
            let done = program(typed, &kubeconfig).output().unwrap();
            // A log quotes the sentence.
            let message = text(&done.stderr).replace('\\', "");
            assert_eq!(done.status.code(), Some(1), "{typed:?} {server}: {message}");
            let lines: Vec<&str> = message.lines().filter(|line| line.contains("HOST:PORT")).collect();
            let [line] = lines[..] else { panic!("{typed:?} {server}: {message}") };
            assert!(
                line.contains(&kubeconfig) && line.contains("\"prod\"") && line.contains("https://HOST:PORT"),
                "{line}"
            );
            assert!(
                !message.contains("panicked")
                    && !message.contains("because of a bug")
                    && !message.contains("secret"),
                "{message}"
            );
        }
    }
}

/// Numbers that look random, always the same.
struct KubeconfigNumbers(u64);

impl KubeconfigNumbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % limit
    }
}

/// A kubeconfig of a server that does not exist, with some fields changed, lost or repeated.
fn odd_kubeconfig(numbers: &mut KubeconfigNumbers) -> String {
    const GOOD: &str = "apiVersion: v1\nkind: Config\nclusters:\n- name: c\n  cluster:\n    server: https://127.0.0.1:1\n    \
        certificate-authority-data: bm90IGEgY2VydGlmaWNhdGU=\n    insecure-skip-tls-verify: false\n    proxy-url: http://127.0.0.1:2\n    \
        tls-server-name: a.example\n    certificate-authority: ca.pem\nusers:\n- name: u\n  user:\n    token: t\n    \
        tokenFile: token\n    client-certificate-data: AA==\n    client-key: key.pem\n    username: u\n    password: p\n    \
        exec: {apiVersion: client.authentication.k8s.io/v1, command: 'false', interactiveMode: Never}\n    as: jane\n\
        contexts:\n- name: x\n  context:\n    cluster: c\n    user: u\n    namespace: shop\ncurrent-context: x\n";
    const VALUES: [&str; 26] = [
        "",
        "~",
        "[]",
        "{}",
        "true",
        "7",
        "-1",
        "'x y'",
        "\"\\0\"",
        "\"\\u202e\"",
        "127.0.0.1:1",
        "'[::1]:1'",
        "https://127.0.0.1:1/p",
        "http://u:secret@127.0.0.1:1",
        "socks5://127.0.0.1:2",
        "ftp://a",
        "'127.0.0.1'",
        "https://127.0.0.1:99999",
        "AA==",
        "'!'",
        "bm90aGluZw==",
        "/dev/null",
        "/",
        "*a",
        "&a b",
        "client.authentication.k8s.io/v9",
    ];
    let mut lines: Vec<String> = GOOD.lines().map(str::to_owned).collect();
    for _ in 0..=numbers.below(3) {
        let at = numbers.below(lines.len());
        let line = lines[at].clone();
        match (numbers.below(8), line.split_once(": ")) {
            (0, _) => drop(lines.remove(at)),
            (1, _) => lines.insert(at, line),
            (2, _) => lines.truncate(at),
            (_, Some((name, _))) => lines[at] = format!("{name}: {}", VALUES[numbers.below(VALUES.len())]),
            (_, None) => lines[at] += VALUES[numbers.below(VALUES.len())],
        }
        if lines.is_empty() {
            break;
        }
    }
    lines.join("\n") + "\n"
}

#[test]
fn no_kubeconfig_makes_a_command_panic() {
    let folder = TestFolder::named("odd");
    let mut numbers = KubeconfigNumbers(35);
    for case in 0..150 {
        let written = odd_kubeconfig(&mut numbers);
        let kubeconfig = folder.write("config", &written);
        let typed = COMMANDS[case % COMMANDS.len()];
        let mut command = program(typed, &kubeconfig);
        let errors = std::fs::File::create(folder.file("errors")).unwrap();
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(errors).spawn().unwrap();
        // Controllers and the board try again until the server answers.
        let status = within_blocking(Duration::from_secs(2), || child.try_wait().unwrap());
        let _ = child.kill();
        child.wait().unwrap();
        let message = std::fs::read_to_string(folder.file("errors")).unwrap();
        if let Some(status) = status {
            assert!(matches!(status.code(), Some(0..=2)), "{typed:?}: {status}: {message}\n{written}");
        }
        for word in ["panicked", "because of a bug", "RUST_BACKTRACE", "secret"] {
            assert!(!message.contains(word), "{typed:?}: {message}\n{written}");
        }
    }
}
