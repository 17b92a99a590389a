//! Shows the next evictions below the introduction on a terminal, with the list of `taintward pending -w`.

use crate::color::ColorChoice;
use crate::output::{PrintOptions, Terminal};
use crate::pending::{DeadlineWatch, live_list};
use crate::terminal_screen::{TerminalScreen, quit};
use futures::FutureExt as _;
use std::io;
use std::pin::pin;

/// Draws until the user presses q. The failure to open the board, if any, is a note.
///
/// # Errors
/// If the terminal cannot be written.
pub(crate) async fn run(
    mut deadlines: DeadlineWatch,
    introduction: &[String],
    opening: impl Future<Output = Option<String>>,
) -> io::Result<()> {
    let mut screen = TerminalScreen::below(introduction)?;
    let mut quit = quit();
    let view = PrintOptions::on(Terminal::of_standard_output(ColorChoice::Auto.paints()));
    let (mut opening, mut failure) = (pin!(opening.fuse()), None);
    loop {
        let rows = deadlines.rows();
        screen.draw(&live_list(failure.clone(), rows.as_deref(), "", deadlines.now(), &view))?;
        tokio::select! {
            Some(()) = quit.recv() => return Ok(()),
            why = &mut opening => failure = why,
            _ = deadlines.next() => {}
        }
    }
}
