//! Tests real boards in a real browser: the first minute of a newcomer by clicks alone, boards that end, tabs that are hidden.
//!
//! - See `board_page.rs` for the page by itself.

use crate::cli::running::{RunningSandbox, TestFolder, request};
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;
use taintward_envtest::browser::Browser;

/// A button, by its text.
fn button(text: &str) -> String {
    format!("[...document.querySelectorAll('button')].find(one => one.textContent === {})", json!(text))
}

fn texts(browser: &mut Browser, selector: &str) -> Vec<String> {
    let all = browser.evaluate(&format!(
        "[...document.querySelectorAll({})].map(one => one.textContent)",
        json!(selector)
    ));
    serde_json::from_value(all.unwrap()).unwrap()
}

/// What it prints first leads to the board.
fn board_of(sandbox: &mut RunningSandbox) -> String {
    let line = sandbox.until("/?token=");
    line.rsplit(' ').next().unwrap().to_owned()
}

#[test]
fn a_newcomer_sees_what_a_taint_does() {
    let Some(mut browser) = Browser::for_test("board_sandbox::a_newcomer_sees_what_a_taint_does") else {
        return;
    };
    let mut sandbox = RunningSandbox::start(&["--plain"]);
    browser.open(&board_of(&mut sandbox)).unwrap();
    browser.until("its nodes", "document.querySelectorAll('.tile').length === 6").unwrap();
    browser.until("its pods", "document.querySelector('#totals').textContent.includes('18 pods')").unwrap();
    assert_eq!(browser.evaluate("location.search").unwrap(), "", "the token is not left in the address");
    assert_eq!(texts(&mut browser, "#leaving .row"), [""; 0], "no pod leaves yet");

    // A node with a pod that tolerates the taint for 90 s.
    browser.click("document.querySelector('#query')").unwrap();
    browser.write("shop/search-").unwrap();
    browser.until("three nodes have one", "document.querySelectorAll('.tile').length === 3").unwrap();
    let node = texts(&mut browser, ".tile bdi:first-child").remove(0);
    browser.click("document.querySelector('.tile button')").unwrap();
    let reported = "panel.querySelector('.told:last-of-type').innerText";
    browser.until("it is explained", &format!("{reported}.includes('Node {node}')")).unwrap();
    browser.click(&button("Plan")).unwrap();
    let requested = format!("panel.innerText.includes('If node {node} gets maintenance=now:NoExecute:')");
    browser.until("what would happen", &requested).unwrap();
    assert_eq!(texts(&mut browser, "#leaving .row"), [""; 0], "asking changes nothing");

    browser.click(&button("Taint")).unwrap();
    browser
        .until(
            "it is tainted",
            "panel.querySelector('.chip').textContent.startsWith('maintenance=now:NoExecute')",
        )
        .unwrap();
    let first = "document.querySelector('#leaving .row').textContent";
    browser.until("its pod counts down", &format!("/^in \\d+s ?shop\\/search-/.test({first})")).unwrap();
    browser
        .until("its ring", "document.querySelector('.tile .s1').getAttribute('stroke-dasharray')")
        .unwrap();
    let pod = texts(&mut browser, "#leaving .row bdi:nth-child(2)").remove(0);

    // Why does it leave, and when?
    browser.click("document.querySelector('#leaving .row')").unwrap();
    browser
        .until("why", "panel.querySelector('.told').innerText.includes('it tolerates maintenance')")
        .unwrap();
    assert_eq!(texts(&mut browser, "#panel-title"), [format!("Pod {pod}")]);
    browser.click(&button("10×")).unwrap();
    browser
        .until("time is faster", "document.querySelector('#speed').textContent === 'at 10× speed'")
        .unwrap();
    // Its successor may come to the same node, and counts down as well.
    let listed = format!(
        "[...document.querySelectorAll('#leaving .row')].some(one => one.textContent.includes({}))",
        json!(pod)
    );
    browser.until("it leaves", &format!("!{listed}")).unwrap();
    let gone = format!(
        "[...document.querySelectorAll('#decisions .row')].some(one => one.children[1].textContent.startsWith('Evicted') && one.textContent.includes({}))",
        json!(pod.rsplit('/').next())
    );
    browser.until("it says so", &gone).unwrap();

    browser.evaluate("history.back()").unwrap();
    browser
        .until(
            "the node again",
            &format!("document.querySelector('#panel-title').textContent === 'Node {node}'"),
        )
        .unwrap();
    browser.click(&button("Untaint")).unwrap();
    browser.until("it is free again", "!document.querySelector('#panel .chip')").unwrap();
    assert_eq!(browser.complaints(), [""; 0]);
    assert_eq!(browser.evaluate("document.querySelector('#link').textContent").unwrap(), Value::from("live"));
}

/// A Namespace and a Deployment of two pods.
const FILE: &str = include_str!("board/workload.yaml");

#[test]
fn buttons_stop_heartbeats_cordon_load_and_scale() {
    let Some(mut browser) = Browser::for_test("board_sandbox::buttons_stop_heartbeats_cordon_load_and_scale")
    else {
        return;
    };
    let mut sandbox = RunningSandbox::start(&["--plain"]);
    browser.open(&board_of(&mut sandbox)).unwrap();
    browser.until("its pods", "document.querySelector('#totals').textContent.includes('18 pods')").unwrap();
    browser.click(&button("60×")).unwrap();
    browser
        .until("time is faster", "document.querySelector('#speed').textContent === 'at 60× speed'")
        .unwrap();
    let tile = "[...document.querySelectorAll('.tile')].find(one => one.textContent.startsWith('n1'))";
    browser.click(&format!("{tile}.querySelector('button')")).unwrap();
    let state = |text: &str| format!("{tile}.querySelector('.health').textContent === {}", json!(text));
    let tainted = format!("{tile}.querySelector('.chips').textContent.includes('unreachable:NoExecute')");
    browser.until("the node is ready", &state("Ready")).unwrap();

    // Its grace period of 50 s takes less than a second.
    browser.click(&button("Stop heartbeats")).unwrap();
    browser.until("the node is silent", &state("Unknown, silenced")).unwrap();
    browser.until("the node is tainted", &tainted).unwrap();
    let counted = "document.querySelector('#totals').textContent.includes('1 not ready')";
    browser.until("the totals count it", counted).unwrap();
    browser.click(&button("Resume heartbeats")).unwrap();
    browser.until("the node is ready again", &state("Ready")).unwrap();
    browser.until("the taints are gone", &format!("!{tile}.querySelector('.chip')")).unwrap();

    browser.click(&button("Cordon")).unwrap();
    browser.until("the node is cordoned", &state("Ready, cordoned")).unwrap();
    browser.click(&button("Uncordon")).unwrap();
    browser.until("the node is schedulable", &state("Ready")).unwrap();
    browser.until("the button is the first one again", &button("Cordon")).unwrap();

    let folder = TestFolder::named("board-file");
    let file = folder.write("app.yaml", FILE);
    browser.choose(&button("Load a file"), file.as_ref()).unwrap();
    let app =
        "[...document.querySelectorAll('#workloads .row')].find(one => one.textContent.includes('team/app'))";
    let healthy = |count: usize| format!("{app}.textContent.includes('{count}/{count} healthy')");
    browser.until("the workload is healthy", &healthy(2)).unwrap();
    browser.click(app).unwrap();
    let desired = "document.querySelector('#panel input[type=number]')";
    browser.until("the panel has its number", &format!("{desired}.value === '2'")).unwrap();
    browser.click(desired).unwrap();
    browser.evaluate(&format!("{desired}.select()")).unwrap();
    browser.write("3").unwrap();
    browser.click(&button("Scale")).unwrap();
    browser.until("the workload has three pods", &healthy(3)).unwrap();
    let result = "document.querySelector('#said').textContent === 'deployment/app scaled to 3 pods'";
    browser.until("the page says so", result).unwrap();
    assert_eq!(browser.complaints(), [""; 0]);
}

/// A server of another user on another port: what it gets from a browser, and a page that asks the board's.
fn stranger() -> (String, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/", listener.local_addr().unwrap());
    let (send, reported) = channel();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut head = String::new();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            while reader.read_line(&mut head).is_ok_and(|length| length > 2) {}
            let page = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nSet-Cookie: own=seen; Path=/\r\n\
                        Connection: close\r\n\r\n<title>stranger</title>";
            let _ = stream.write_all(page.as_bytes());
            if send.send(head).is_err() {
                break;
            }
        }
    });
    (address, reported)
}

#[test]
fn a_server_on_another_port_gets_nothing_of_the_board() {
    let Some(mut browser) =
        Browser::for_test("board_sandbox::a_server_on_another_port_gets_nothing_of_the_board")
    else {
        return;
    };
    let mut sandbox = RunningSandbox::start(&["--plain"]);
    let board = board_of(&mut sandbox);
    let (stranger, received) = stranger();
    let token = board.split_once("token=").unwrap().1;
    browser.open(&board).unwrap();
    browser.until("its nodes", "document.querySelectorAll('.tile').length === 6").unwrap();
    let place = browser.evaluate("location.pathname").unwrap().as_str().unwrap().to_owned();
    let kept = browser.command("Network.getAllCookies", json!({})).unwrap();
    let kept = kept["cookies"].as_array().unwrap().clone();
    assert_eq!(kept.len(), 1, "{kept:?}");
    let (session, path) = (kept[0]["value"].as_str().unwrap(), kept[0]["path"].as_str().unwrap());
    assert_eq!((path, &kept[0]["httpOnly"]), (place.as_str(), &json!(true)));
    assert!(session.len() >= 43 && session != token && !place.contains(session), "{kept:?}");
    assert!(!place.contains(token));
    assert_eq!(
        browser.evaluate("localStorage.length + sessionStorage.length + document.cookie.length").unwrap(),
        0
    );

    // A visit, a visit again with the stranger's own cookie, and whatever its page asks for.
    for (path, own) in [("", false), ("again/", true)] {
        browser.open(&format!("{stranger}{path}")).unwrap();
        browser.until("the stranger", "document.title === 'stranger'").unwrap();
        // A browser also asks for an icon, and opens connections that it does not need.
        let head = loop {
            let head = received.recv_timeout(Duration::from_secs(30)).unwrap();
            if head.starts_with(&format!("GET /{path} ")) {
                break head;
            }
        };
        assert_eq!(head.contains("own=seen"), own, "cookies of a host go to all its ports: {head}");
        for secret in [token, session, place.trim_matches('/')] {
            assert!(!head.contains(secret), "{head}");
        }
    }
    let requested = format!(
        "fetch('http://{}/', {{credentials: 'include'}}).then(answer => answer.text(), () => 'refused')",
        board.split('/').nth(2).unwrap()
    );
    assert_eq!(browser.evaluate(&requested).unwrap(), "refused");

    // The board still works: in the same tab, after a reload, and in another tab by the printed address.
    browser.open(&format!("{}{}", board.split_once("/?").unwrap().0, place)).unwrap();
    browser.until("its nodes", "document.querySelectorAll('.tile').length === 6").unwrap();
    browser.evaluate("location.reload()").unwrap();
    browser.until("its nodes after a reload", "document.querySelectorAll('.tile').length === 6").unwrap();
    browser.open_tab().unwrap();
    browser.open(&board).unwrap();
    browser.until("its nodes in a second tab", "document.querySelectorAll('.tile').length === 6").unwrap();
    assert_eq!(browser.evaluate("location.pathname").unwrap(), Value::from(place));
}

const LINK: &str = "document.querySelector('#link').textContent";

/// `taintward board` at a port, and the address that it prints.
fn board_at(port: u16, kubeconfig: &str) -> (RunningSandbox, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_taintward"));
    command.args(["board", "--kubeconfig", kubeconfig, "--port", &port.to_string()]).stderr(Stdio::inherit());
    let mut board = RunningSandbox::of(command);
    let line = board.until("The board of ");
    (board, line.rsplit(' ').next().unwrap().to_owned())
}

fn set_taint(kubeconfig: &str, node: &str, key: &str) {
    let taints = json!({"spec": {"taints": [{"key": key, "value": "v", "effect": "NoExecute"}]}});
    request(kubeconfig, "PATCH", &format!("/api/v1/nodes/{node}"), &taints.to_string());
}

/// What tells that a taint is shown.
fn shows(taint: &str) -> String {
    format!("[...document.querySelectorAll('.chip')].some(chip => chip.textContent.startsWith('{taint}'))")
}

#[test]
fn a_page_says_that_its_board_ended_and_continues_with_the_next_one() {
    let test = "board_sandbox::a_page_says_that_its_board_ended_and_continues_with_the_next_one";
    let Some(mut browser) = Browser::for_test(test) else { return };
    let mut sandbox = RunningSandbox::start(&["--plain"]);
    let kubeconfig = sandbox.kubeconfig();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let (mut board, address) = board_at(port, &kubeconfig);
    let page = browser.open_tab().unwrap();
    browser.open(&address).unwrap();
    browser.until("its nodes", "document.querySelectorAll('.tile').length === 6").unwrap();
    set_taint(&kubeconfig, "n1", "before");
    browser.until("the first taint", &shows("before=v:NoExecute")).unwrap();
    assert_eq!(browser.evaluate(LINK).unwrap(), "live");

    board.signal(rustix::process::Signal::INT);
    assert_eq!(board.ends_within(Duration::from_secs(30)), 0);
    browser.until("it says so", &format!("{LINK}.startsWith('reconnecting since ')")).unwrap();
    set_taint(&kubeconfig, "n2", "meanwhile");
    assert_eq!(browser.evaluate(&shows("before=v:NoExecute")).unwrap(), true, "what was known stays");
    assert_eq!(browser.evaluate(&shows("meanwhile=v:NoExecute")).unwrap(), false, "no board told it");

    let (_board, again) = board_at(port, &kubeconfig);
    assert_ne!(address, again, "another token");
    let reported = "the board was restarted; open the address that it printed";
    browser.until("what to do", &format!("{LINK} === {}", json!(reported))).unwrap();
    assert_eq!(browser.evaluate(&shows("meanwhile=v:NoExecute")).unwrap(), false, "it is not let in");

    browser.open_tab().unwrap();
    browser.open(&again).unwrap();
    browser.until("all taints", &format!("{} && {}", shows("before=v"), shows("meanwhile=v"))).unwrap();
    browser.show_tab(&page).unwrap();
    browser.until("the first page continues", &format!("{LINK} === 'live'")).unwrap();
    browser.until("what it missed", &shows("meanwhile=v:NoExecute")).unwrap();
}

#[test]
fn hidden_pages_keep_no_connection_and_catch_up() {
    let Some(mut browser) = Browser::for_test("board_sandbox::hidden_pages_keep_no_connection_and_catch_up")
    else {
        return;
    };
    let mut sandbox = RunningSandbox::start(&["--plain", "--nodes", "3"]);
    let (address, kubeconfig) = (board_of(&mut sandbox), sandbox.kubeconfig());
    let mut tabs = Vec::new();
    // A browser opens six connections to a host; each page in sight needs one.
    for _ in 0..8 {
        tabs.push(browser.open_tab().unwrap());
        browser.open(&address).unwrap();
        browser.until("its nodes", "document.querySelectorAll('.tile').length === 3").unwrap();
        assert_eq!(browser.evaluate(LINK).unwrap(), "live");
    }
    set_taint(&kubeconfig, "n1", "meanwhile");
    browser.until("the page in sight shows it", &shows("meanwhile=v:NoExecute")).unwrap();
    browser.show_tab(&tabs[0]).unwrap();
    browser.until("it catches up", &shows("meanwhile=v:NoExecute")).unwrap();
    assert_eq!(browser.complaints(), [""; 0]);
}
