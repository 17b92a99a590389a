//! Opens a page with the desktop's own program, never with a shell.

use std::process::Stdio;
use std::time::Duration;
use tokio::process::Command;

/// The program that opens an address in the user's browser.
const OPENER: &str = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };

/// How long to wait for a failure: a program that still runs has opened the page, or is about to.
const FAILS_WITHIN: Duration = Duration::from_secs(3);

/// Opens the page, or says in a sentence why that failed.
pub(crate) async fn open(address: &str) -> Result<(), String> {
    let advice = "open the address of the board in a browser yourself";
    let mut opener = Command::new(OPENER);
    opener.arg(address).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = opener.spawn().map_err(|why| format!("cannot start {OPENER}: {why}; {advice}"))?;
    match tokio::time::timeout(FAILS_WITHIN, child.wait()).await {
        Ok(Ok(status)) if !status.success() => {
            Err(format!("{OPENER} cannot open a browser ({status}); {advice}"))
        }
        Ok(Err(why)) => Err(format!("cannot wait for {OPENER}: {why}; {advice}")),
        _ => Ok(()),
    }
}
