//! Tests the layout of the board's page in a real browser: no text is cut, the most urgent is seen first.
//!
//! - See `board_page.rs` for what the page does.

use crate::board::page_server::PageServer;
use crate::board::scripts::CUT;
use crate::board::states;
use serde_json::json;
use taintward_envtest::browser::Browser;

const SIZES: [(u32, u32); 3] = [(1280, 800), (1600, 900), (390, 844)];

fn opened(browser: &mut Browser, server: &PageServer) {
    browser.open("about:blank").unwrap();
    browser.open(&server.address()).unwrap();
    browser.until("the state is drawn", "document.querySelector('#totals b').textContent !== '0'").unwrap();
    browser.until("its rows", "document.querySelector('#leaving .row')").unwrap();
}

#[test]
fn no_text_is_cut_with_a_node_open() {
    let Some(mut browser) = Browser::for_test("board_layout::no_text_is_cut_with_a_node_open") else {
        return;
    };
    for state in [states::sandbox(), states::wordy()] {
        let server = PageServer::start(&state);
        for (width, height) in SIZES {
            browser.resize(width, height).unwrap();
            opened(&mut browser, &server);
            assert_eq!(browser.evaluate(CUT).unwrap(), json!([]), "{width}x{height}");
            browser.click("document.querySelector('.tile button')").unwrap();
            browser.until("it is explained", "panel.innerText.includes('An answer')").unwrap();
            assert_eq!(browser.evaluate(CUT).unwrap(), json!([]), "{width}x{height} with a node open");
            // What counts down is readable next to the panel, where there is room for both.
            let beside = "document.querySelector('#leaving').getBoundingClientRect().left >= \
                          panel.getBoundingClientRect().right";
            assert_eq!(browser.evaluate(beside).unwrap(), width > 900, "{width}x{height}");
        }
    }
    browser.resize(1280, 800).unwrap();
    let narrow = "document.querySelector('#leaving .row bdi:last-child').style.cssText = \
                  'white-space:nowrap;overflow:hidden;width:3rem'";
    browser.evaluate(narrow).unwrap();
    assert_ne!(browser.evaluate(CUT).unwrap(), json!([]), "what is cut is found");
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
fn a_phone_shows_the_next_evictions_first() {
    let Some(mut browser) = Browser::for_test("board_layout::a_phone_shows_the_next_evictions_first") else {
        return;
    };
    let server = PageServer::start(&states::wordy());
    let top = |id: &str| format!("document.querySelector('#{id}').getBoundingClientRect().top");
    for ((width, height), is_first) in SIZES.into_iter().zip([false, false, true]) {
        browser.resize(width, height).unwrap();
        opened(&mut browser, &server);
        let first = browser.evaluate(&format!("{} < {}", top("leaving"), top("nodes"))).unwrap();
        assert_eq!(first, is_first, "{width}x{height}");
        let seen = "document.querySelector('#leaving .row').getBoundingClientRect().bottom < innerHeight";
        assert_eq!(browser.evaluate(seen).unwrap(), true, "{width}x{height}");
    }
}

#[test]
fn a_silent_node_is_one_line_and_no_key_is_broken() {
    let Some(mut browser) = Browser::for_test("board_layout::a_silent_node_is_one_line_and_no_key_is_broken")
    else {
        return;
    };
    let server = PageServer::start(&states::wordy());
    browser.resize(1280, 800).unwrap();
    opened(&mut browser, &server);
    let why = browser.evaluate("document.querySelector('.tile.bad p').textContent").unwrap();
    let since = why.as_str().unwrap().strip_prefix("silent since ").unwrap();
    assert!(since.len() == 8 && since.split(':').count() == 3, "{since}");
    // A key may be broken after its slash only.
    let lines = "(() => { const text = document.querySelector('.tile .chip bdi'); const range = document.createRange(); \
                 return [...text.childNodes].filter(node => node.nodeType === 3).map(node => { \
                 range.selectNodeContents(node); return range.getClientRects().length }) })()";
    assert_eq!(browser.evaluate(lines).unwrap(), json!([1, 1]));
}

#[test]
fn an_idle_board_explains_itself_and_slash_shows_the_keys() {
    let Some(mut browser) =
        Browser::for_test("board_layout::an_idle_board_explains_itself_and_slash_shows_the_keys")
    else {
        return;
    };
    let nodes = [states::board_node("n1", "z1", &[])];
    let server = PageServer::start(&states::state(&nodes, &[states::board_pod("web-1", "n1", None)]));
    browser.resize(1280, 800).unwrap();
    browser.open(&server.address()).unwrap();
    browser.until("the hint", "document.querySelector('#hint').textContent === 'Open a node.'").unwrap();
    let meanings = "[...document.querySelectorAll('#legend li')].map(one => one.title)";
    assert_eq!(browser.evaluate(meanings).unwrap(), json!(["", "A", "B", "D", "C", ""]));
    let keys = "document.querySelector('#keys').checkVisibility()";
    assert_eq!(browser.evaluate(keys).unwrap(), false);
    let slash = "document.body.dispatchEvent(new KeyboardEvent('keydown', {key: '/', bubbles: true, cancelable: true}))";
    assert_eq!(browser.evaluate(slash).unwrap(), false, "the key itself types nothing");
    browser.until("the keys", keys).unwrap();
    assert_eq!(
        browser.evaluate("document.activeElement.id + document.activeElement.value").unwrap(),
        "query"
    );
    browser.evaluate("document.activeElement.blur()").unwrap();
    assert_eq!(browser.evaluate(keys).unwrap(), false);
}
