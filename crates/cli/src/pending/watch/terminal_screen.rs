//! Draws the list on the alternate screen of a terminal and reads keys.
//!
//! - Invariant: the terminal is restored however the program ends.

use crate::output::width;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use std::io::{self, IsTerminal as _, Read as _, Write as _};
use tokio::sync::mpsc;

/// The assumed size of a terminal that does not report its size.
const SIZE: (usize, usize) = (80, 24);

/// The control sequences that open the alternate screen without a cursor, and close it.
const ENTER: &str = "\x1b[?1049h\x1b[?25l";
const LEAVE: &str = "\x1b[?25h\x1b[?1049l";

/// A terminal that shows the alternate screen until this value is dropped.
pub(super) struct Screen {
    before: Option<Termios>,
}

impl Screen {
    pub(super) fn enter() -> io::Result<Self> {
        let before = without_echo();
        let screen = Self { before };
        write(ENTER)?;
        Ok(screen)
    }

    /// The present numbers of columns and rows.
    pub(super) fn size() -> (usize, usize) {
        let found = terminal_size::terminal_size_of(io::stdout());
        found.map_or(SIZE, |(width, height)| (usize::from(width.0).max(20), usize::from(height.0).max(4)))
    }

    /// Draws over the present content.
    pub(super) fn draw(&self, text: &str) -> io::Result<()> {
        let (columns, rows) = Self::size();
        let lines: Vec<&str> = text.lines().collect();
        let mut picture = "\x1b[H".to_owned();
        let room = rows - 1;
        let shown = if lines.len() > room { room - 1 } else { lines.len() };
        for line in &lines[..shown] {
            picture += &cut(line, columns);
            picture += "\x1b[K\r\n";
        }
        if lines.len() > shown {
            picture += &format!("... and {} more\x1b[K\r\n", lines.len() - shown);
        }
        write(&(picture + "\x1b[J"))
    }
}

/// Limits a line to `columns`, because a line that wraps would move the first ones off the screen. Colors have no width.
fn cut(line: &str, most: usize) -> String {
    let (mut text, mut used, mut letters) = (String::new(), 0, line.chars());
    while let Some(letter) = letters.next() {
        text.push(letter);
        if letter == '\x1b' {
            text.extend(letters.by_ref().take_while(|letter| *letter != 'm'));
            text.push('m');
            continue;
        }
        used += width(letter.encode_utf8(&mut [0; 4]));
        if used > most {
            text.pop();
            return text + "\x1b[0m";
        }
    }
    text
}

impl Drop for Screen {
    fn drop(&mut self) {
        // An error means that the terminal is closed.
        let _ = write(LEAVE);
        if let Some(before) = &self.before {
            let _ = tcsetattr(io::stdin(), OptionalActions::Now, before);
        }
    }
}

fn write(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// Delivers keys one by one without echo; Ctrl-C keeps its effect. Returns the previous settings.
fn without_echo() -> Option<Termios> {
    if !io::stdin().is_terminal() {
        return None;
    }
    let before = tcgetattr(io::stdin()).ok()?;
    let mut without = before.clone();
    without.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
    tcsetattr(io::stdin(), OptionalActions::Now, &without).ok()?;
    Some(before)
}

/// Receives once when the user presses q; never without a terminal.
pub(super) fn quit() -> mpsc::Receiver<()> {
    let (sender, receiver) = mpsc::channel(1);
    if io::stdin().is_terminal() {
        // The thread waits for a key, and ends with the process.
        std::thread::spawn(move || {
            let is_quit = |byte: &u8| matches!(byte, b'q' | b'Q' | 3 | 4);
            let mut keys = io::stdin().lock().bytes().map_while(Result::ok);
            if keys.any(|byte| is_quit(&byte)) {
                let _ = sender.blocking_send(());
            } else {
                std::mem::forget(sender);
            }
        });
    } else {
        std::mem::forget(sender);
    }
    receiver
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_line_is_wider_than_the_terminal() {
        assert_eq!(cut("pod   now", 9), "pod   now");
        assert_eq!(cut("pod   now", 5), "pod  \x1b[0m");
        assert_eq!(cut("\x1b[31mnow\x1b[0m later", 5), "\x1b[31mnow\x1b[0m l\x1b[0m");
        assert_eq!(cut("節点節点", 5), "節点\x1b[0m");
    }
}
