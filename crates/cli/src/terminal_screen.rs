//! Draws a list on a terminal, on its alternate screen or below an introduction, and reads keys.
//!
//! - Invariant: the terminal is restored however the program ends.

use crate::output::{harmless, width};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use std::io::{self, IsTerminal as _, Read as _, Write as _};
use tokio::sync::mpsc;

/// The assumed size of a terminal that does not report its size.
const SIZE: (usize, usize) = (80, 24);

/// The control sequences that open the alternate screen without a cursor, and close it.
const ENTER: &str = "\x1b[?1049h\x1b[?25l";
const LEAVE: &str = "\x1b[?25h\x1b[?1049l";

/// The control sequences that hide and show the cursor.
const HIDE: &str = "\x1b[?25l";
const SHOW: &str = "\x1b[?25h";

/// The least number of rows for a list below an introduction.
const LIST_MIN: usize = 6;

/// A terminal that shows a list until this value is dropped.
pub(crate) struct TerminalScreen {
    before: Option<Termios>,
    place: ScreenPlace,
    /// The last list, for this size of the terminal.
    drawn: (String, (usize, usize)),
}

/// The rows that a list may use.
enum ScreenPlace {
    Alternate,
    /// Those below an introduction, which stays on the screen and is never drawn again.
    Below {
        introduction: Vec<String>,
        /// The number of rows that the list uses now.
        used: usize,
    },
}

impl TerminalScreen {
    pub(crate) fn enter() -> io::Result<Self> {
        Self::open(ScreenPlace::Alternate, ENTER)
    }

    /// Prints the introduction once and whole: the terminal wraps a line that is too long, so that it can be copied.
    pub(crate) fn below(introduction: &[String]) -> io::Result<Self> {
        let text: String = introduction.iter().map(|line| harmless(line) + "\r\n").collect();
        let place = ScreenPlace::Below { introduction: introduction.to_vec(), used: 0 };
        Self::open(place, &format!("{text}\r\n{HIDE}"))
    }

    fn open(place: ScreenPlace, text: &str) -> io::Result<Self> {
        let screen = Self { before: without_echo(), place, drawn: Default::default() };
        write(text)?;
        Ok(screen)
    }

    /// The present numbers of columns and rows.
    pub(crate) fn size() -> (usize, usize) {
        let found = terminal_size::terminal_size_of(io::stdout());
        found.map_or(SIZE, |(width, height)| (usize::from(width.0).max(20), usize::from(height.0).max(4)))
    }

    /// Draws over the present list.
    pub(crate) fn draw(&mut self, text: &str) -> io::Result<()> {
        let size = Self::size();
        if self.drawn.1 == size && self.drawn.0 == text {
            return Ok(());
        }
        let (columns, rows) = size;
        let (start, room) = match &self.place {
            ScreenPlace::Alternate => ("\x1b[H".to_owned(), rows - 1),
            ScreenPlace::Below { introduction, used } => {
                let above: usize =
                    introduction.iter().map(|line| width(line).max(1).div_ceil(columns)).sum::<usize>() + 1;
                let up = if *used > 0 { format!("\x1b[{used}A") } else { String::new() };
                (up + "\r", rows.saturating_sub(above + 1).max(LIST_MIN.min(rows - 1)))
            }
        };
        let lines = fitting(text, columns, room);
        let picture: String = lines.iter().map(|line| format!("{line}\x1b[K\r\n")).collect();
        if let ScreenPlace::Below { used, .. } = &mut self.place {
            *used = lines.len();
        }
        self.drawn = (text.to_owned(), size);
        write(&(start + &picture + "\x1b[J"))
    }
}

/// The lines that fit.
fn fitting(text: &str, columns: usize, room: usize) -> Vec<String> {
    let lines: Vec<&str> = text.lines().collect();
    let shown = if lines.len() > room { room - 1 } else { lines.len() };
    let mut fitting: Vec<String> = lines[..shown].iter().map(|line| cut(line, columns)).collect();
    if lines.len() > shown {
        fitting.push(format!("... and {} more", lines.len() - shown));
    }
    fitting
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

impl Drop for TerminalScreen {
    fn drop(&mut self) {
        // An error means that the terminal is closed.
        let _ = write(match self.place {
            ScreenPlace::Alternate => LEAVE,
            ScreenPlace::Below { .. } => SHOW,
        });
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
pub(crate) fn quit() -> mpsc::Receiver<()> {
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
