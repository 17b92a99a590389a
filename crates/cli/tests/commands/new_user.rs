//! Types the quick start (docs/start/) into a terminal of 80 columns and 24 rows, and compares each screen.
//!
//! - The recorded screens are in `new_user/`; digits of times, ports and the like are 0 in them. `SCREENS=overwrite`
//!   records them again.

use crate::cli::running::TestFolder;
use crate::cli::timeout::eventually;
use std::path::Path;
use taintward_envtest::binaries;
use taintward_envtest::tmux::Tmux;

const TEST: &str = "new_user::the_quick_start_fits_a_small_terminal";

/// Of the quick start.
const WEB: &str = "\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  nodeName: n1
  containers: [{name: web, image: web}]
  tolerations:
  - {key: maintenance, operator: Exists, effect: NoExecute, tolerationSeconds: 60}
";

/// What a person copies is whole, however long it is.
const COPIED: [&str; 3] = ["http://", "export KUBECONFIG=", "$ "];

/// With 0 for each digit of a number of several digits (times, seconds, ports), and without what follows in an address
/// or a path.
fn masked(line: &str) -> String {
    let cut =
        ["/?token=", "KUBECONFIG=/"].into_iter().find_map(|start| Some(line.find(start)? + start.len()));
    let (line, rest) = line.split_at(cut.unwrap_or(line.len()));
    let characters: Vec<char> = line.chars().collect();
    let digit = |at: usize| characters.get(at).is_some_and(char::is_ascii_digit);
    let mask = |(at, character): (usize, &char)| {
        let several = digit(at) && (digit(at + 1) || at.checked_sub(1).is_some_and(digit));
        if several { '0' } else { *character }
    };
    let masked: String = characters.iter().enumerate().map(mask).collect();
    masked + if rest.is_empty() { "" } else { "..." }
}

/// Two terminals, as the quick start says.
struct TerminalUser {
    tmux: Tmux,
    folder: TestFolder,
}

impl TerminalUser {
    /// Waits for this on the screen.
    fn until(&self, what: &str) -> String {
        eventually(what, || Some(self.tmux.screen().unwrap()).filter(|screen| screen.contains(what)))
    }

    /// Types a command on an empty screen, and returns the screen once the shell waits for the next one.
    fn does(&self, command: &str) -> String {
        self.tmux.enters("clear").unwrap();
        eventually("an empty screen", || (self.tmux.screen().unwrap() == "$\n").then_some(()));
        self.tmux.enters(command).unwrap();
        eventually(command, || {
            let screen = self.tmux.screen().unwrap();
            (screen.lines().count() > 1 && screen.ends_with("\n$\n")).then_some(screen)
        })
    }

    /// Repeats a command until all times in its answer are as long as those of the recorded screen: of two digits.
    fn does_later(&self, command: &str) -> String {
        eventually(command, || Some(self.does(command)).filter(|screen| !has_short_age(screen)))
    }
}

/// Whether something happened less than ten seconds ago.
fn has_short_age(screen: &str) -> bool {
    let words: Vec<&str> = screen.split_whitespace().collect();
    let short = |pair: &[&str]| pair[0].len() < 3 && pair[0].ends_with('s') && pair[1].starts_with("ago");
    screen.contains(", now") || words.windows(2).any(short)
}

/// Compares a screen with the recorded one, and asserts that it has no line that the terminal wraps.
fn recorded(name: &str, screen: &str) {
    // This line names an address and a file, whose name has more digits with a larger process ID.
    let screen = match (screen.find("context \""), screen.find(" UTC:")) {
        (Some(start), Some(end)) => format!("{}context ...{}", &screen[..start], &screen[end..]),
        _ => screen.to_owned(),
    };
    let long = |line: &&str| line.chars().count() > 80 && !COPIED.iter().any(|copied| line.contains(copied));
    let wrapped: Vec<&str> = screen.lines().filter(long).collect();
    assert!(wrapped.is_empty(), "{name}: the terminal wraps {wrapped:#?}");
    let screen: String = screen.lines().map(|line| masked(line) + "\n").collect();
    let file =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/commands/new_user").join(format!("{name}.txt"));
    if std::env::var_os("SCREENS").is_some_and(|value| value == "overwrite") {
        std::fs::write(&file, &screen).unwrap();
    }
    assert_eq!(screen, std::fs::read_to_string(&file).unwrap(), "{name}");
}

#[test]
fn the_quick_start_fits_a_small_terminal() {
    let Some(binaries) = binaries::for_test(TEST) else { return };
    let folder = TestFolder::named("new-user");
    folder.write("web.yaml", WEB);
    let programs = [env!("CARGO_BIN_EXE_taintward").into(), binaries.path("kubectl").unwrap()];
    let mut path =
        programs.iter().map(|program| program.parent().unwrap().to_str().unwrap()).collect::<Vec<_>>();
    path.extend(["/usr/bin", "/bin"]);
    let home = folder.path().to_str().unwrap();
    let Some(tmux) = Tmux::for_test(TEST, (80, 24), home, &path.join(":")) else { return };
    let user = TerminalUser { tmux, folder };

    user.until("$");
    user.tmux.enters("taintward sandbox").unwrap();
    let screen = user.until("No pods are counting down.");
    recorded("1-sandbox", &screen);
    let export = screen.lines().find_map(|line| Some(line[line.find("export KUBECONFIG=")?..].trim_end()));

    user.tmux.open(user.folder.path().to_str().unwrap()).unwrap();
    user.until("$");
    user.tmux.enters(export.unwrap()).unwrap();
    user.does("kubectl apply -f web.yaml");
    user.does("kubectl wait pod web --for=condition=Ready --timeout=60s");
    assert!(user.does("kubectl get pod web").contains("Running"));
    recorded("2-plan", &user.does("taintward plan --taint n1 maintenance:NoExecute -n default"));
    recorded("3-taint", &user.does("taintward taint node n1 maintenance:NoExecute --no-preview"));
    recorded("4-pending", &user.does("taintward pending -n default"));
    recorded("5-explain", &user.does_later("taintward explain pod/web -n default"));
    user.does("taintward taint node n1 maintenance-");
    recorded("6-stays", &user.does_later("taintward explain pod/web -n default"));

    user.tmux.show(0).unwrap();
    user.tmux.types("q").unwrap();
    eventually("the sandbox ends", || user.tmux.screen().unwrap().ends_with("\n$\n").then_some(()));
}
