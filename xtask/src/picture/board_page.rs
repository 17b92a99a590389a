//! Takes pictures of the sandbox's board in a real browser, as PNG files in docs/.

use crate::server_process::{SandboxProcess, board_address};
use crate::sources;
use anyhow::Result;
use serde_json::json;
use taintward_envtest::browser::Browser;

/// The name of a picture, the colors, and the window's width and height.
const SHOTS: [(&str, &str, u32, u32); 3] =
    [("light", "light", 1280, 800), ("dark", "dark", 1280, 800), ("phone", "dark", 390, 844)];

const BYTES_MAX: u64 = 300_000;

pub(super) async fn run() -> Result<()> {
    let mut sandbox = SandboxProcess::start(&sources::build_taintward(false)?, &[]).await?;
    let address = board_address(&mut sandbox.process).await?;
    let mut browser = Browser::start()?;
    browser.resize(1280, 800)?;
    browser.open(&address)?;
    browser.until("its pods", "document.querySelector('#totals').textContent.includes('18 pods')")?;

    act(&mut browser, "n2", "maintenance=now:NoExecute", "Cordon")?;
    act(&mut browser, "n5", "dedicated=db:NoSchedule", "Taint")?;
    for node in ["n1", "n6"] {
        act(&mut browser, node, "maintenance=now:NoExecute", "Taint")?;
    }
    browser.until("a countdown", "document.querySelectorAll('#leaving .row').length > 0")?;
    browser.press("Escape")?;
    for (name, scheme, width, height) in SHOTS {
        browser.prefer(scheme)?;
        browser.resize(width, height)?;
        match name {
            "light" => {
                browser.click("document.querySelector('#leaving .row')")?;
                browser
                    .until("why it leaves", "panel.querySelector('.told').innerText.includes('tolerates')")?;
            }
            _ => browser.press("Escape")?,
        }
        browser.until("no message", "document.querySelector('#said').textContent === ''")?;
        super::save(&mut browser, &format!("board-{name}"), BYTES_MAX)?;
    }
    Ok(())
}

/// Opens a node, and clicks one of its buttons.
fn act(browser: &mut Browser, node: &str, taint: &str, button: &str) -> Result<()> {
    let named = |selector: &str, text: &str| {
        format!(
            "[...document.querySelectorAll('{selector}')].find(one => one.textContent === {})",
            json!(text)
        )
    };
    // Not by a click, because tiles move while pods come and go.
    browser.evaluate(&format!("{}.click()", named(".tile bdi", node)))?;
    browser.until("its panel", &named("#panel-title", &format!("Node {node}")))?;
    browser.evaluate(&format!("panel.querySelector('input').value = {}", json!(taint)))?;
    browser.click(&named("#panel button", button))?;
    let responded = format!("document.querySelector('#said').textContent.includes({})", json!(node));
    browser.until("an answer", &responded)?;
    Ok(())
}
