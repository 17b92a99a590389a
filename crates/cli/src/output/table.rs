//! Prints tables as kubectl does: titles, wide columns, colors.
//!
//! - Invariant: cells are shortened only on a terminal, only in columns that allow it, with `…`.

use super::terminal::{harmless, width};
use super::{PrintOptions, Terminal};
use crate::color::{Color, colored};

/// The space between two columns.
const GAP: usize = 3;

/// The minimum length of shortened names, at which they are still readable.
const SHORTEST: usize = 12;

/// A column.
#[derive(Clone, Debug)]
pub(crate) struct TableColumn {
    title: String,
    only_wide: bool,
    shortens: bool,
    yields: bool,
    right: bool,
    least: usize,
}

impl TableColumn {
    pub(crate) fn new(title: &str) -> Self {
        let title = title.to_owned();
        Self { title, only_wide: false, shortens: false, yields: false, right: false, least: 0 }
    }

    /// Shows the column with `-o wide` only.
    #[must_use]
    pub(crate) fn only_wide(self) -> Self {
        Self { only_wide: true, ..self }
    }

    /// Shortens names in the middle if the table does not fit a terminal.
    #[must_use]
    pub(crate) fn shortens(self) -> Self {
        Self { shortens: true, ..self }
    }

    /// Omits the column if the table still does not fit; the last such column first.
    #[must_use]
    pub(crate) fn yields(self) -> Self {
        Self { yields: true, ..self }
    }

    /// Sets a minimum width, so that rows printed later stay aligned.
    #[must_use]
    pub(crate) fn at_least(self, least: usize) -> Self {
        Self { least, ..self }
    }

    /// Aligns numbers to the right.
    #[must_use]
    pub(crate) fn right(self) -> Self {
        Self { right: true, ..self }
    }
}

/// The content of a cell.
#[derive(Clone, Debug)]
pub(crate) struct TableCell {
    text: String,
    color: Option<Color>,
}

impl TableCell {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), color: None }
    }

    #[must_use]
    pub(crate) fn colored(self, color: Color) -> Self {
        Self { color: Some(color), ..self }
    }
}

impl<T: Into<String>> From<T> for TableCell {
    fn from(text: T) -> Self {
        Self::new(text)
    }
}

/// Rows under titles.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    columns: Vec<TableColumn>,
    rows: Vec<Vec<TableCell>>,
}

impl Table {
    pub(crate) fn new(columns: Vec<TableColumn>) -> Self {
        Self { columns, rows: Vec::new() }
    }

    /// # Panics
    ///
    /// If the number of cells differs from that of the columns.
    pub(crate) fn push(&mut self, row: Vec<TableCell>) {
        assert_eq!(row.len(), self.columns.len(), "a cell for each column");
        self.rows.push(row);
    }

    pub(crate) fn print(&self, view: &PrintOptions) -> String {
        let mut shown: Vec<usize> =
            (0..self.columns.len()).filter(|at| view.wide || !self.columns[*at].only_wide).collect();
        self.make_room(&mut shown, view);
        let head = shown.iter().map(|at| (self.columns[*at].title.clone(), None)).collect();
        let body = self
            .rows
            .iter()
            .map(|row| shown.iter().map(|at| (harmless(&row[*at].text), row[*at].color)).collect());
        let mut lines: Vec<Vec<(String, Option<Color>)>> = Vec::with_capacity(self.rows.len() + 1);
        lines.extend(view.headers.then_some(head));
        lines.extend(body);
        let columns: Vec<&TableColumn> = shown.iter().map(|at| &self.columns[*at]).collect();
        let widths = widths(&columns, &lines, view);
        lines.into_iter().map(|line| written(line, &columns, &widths, view.paper)).collect()
    }

    /// Omits columns if a terminal is too narrow for all of them, even shortened.
    fn make_room(&self, shown: &mut Vec<usize>, view: &PrintOptions) {
        if !view.paper.is_terminal || view.wide {
            return;
        }
        let narrowest = |at: &usize| {
            let column = &self.columns[*at];
            let cells = self.rows.iter().map(|row| width(&row[*at].text));
            let widest = cells.chain([width(&column.title)]).max().unwrap_or(0);
            if column.shortens { widest.min(SHORTEST) } else { widest }
        };
        loop {
            let gaps = GAP * shown.len().saturating_sub(1);
            let yielding = shown.iter().rposition(|at| self.columns[*at].yields);
            match yielding {
                Some(at) if shown.iter().map(narrowest).sum::<usize>() + gaps > view.paper.width => {
                    shown.remove(at);
                }
                _ => return,
            }
        }
    }
}

/// The width of the widest cell; on a narrower terminal, less for the columns that may be shortened.
fn widths(
    columns: &[&TableColumn],
    lines: &[Vec<(String, Option<Color>)>],
    view: &PrintOptions,
) -> Vec<usize> {
    let widest = |at: usize| lines.iter().map(|line| width(&line[at].0)).max().unwrap_or(0);
    let mut widths: Vec<usize> = (0..columns.len()).map(widest).collect();
    if !view.paper.is_terminal || view.wide {
        return widths.into_iter().zip(columns).map(|(width, column)| width.max(column.least)).collect();
    }
    let gaps = GAP * columns.len().saturating_sub(1);
    while widths.iter().sum::<usize>() + gaps > view.paper.width {
        let can = |at: &usize| columns[*at].shortens && widths[*at] > SHORTEST;
        let Some(at) = (0..columns.len()).filter(can).max_by_key(|at| widths[*at]) else { break };
        widths[at] -= 1;
    }
    widths
}

fn written(
    line: Vec<(String, Option<Color>)>,
    columns: &[&TableColumn],
    widths: &[usize],
    paper: Terminal,
) -> String {
    let (mut text, last) = (String::new(), columns.len().saturating_sub(1));
    for (at, (cell, color)) in line.into_iter().enumerate() {
        let cell = shortened(cell, widths[at]);
        let blank = " ".repeat(widths[at].saturating_sub(width(&cell)));
        let cell = color.map_or_else(|| cell.clone(), |color| colored(&cell, color, paper.paints));
        let gap = " ".repeat(if at < last { GAP } else { 0 });
        match (columns[at].right, at == last) {
            (true, _) => text.extend([blank, cell, gap]),
            (false, false) => text.extend([cell, blank, gap]),
            (false, true) => text.push_str(&cell),
        }
    }
    text + "\n"
}

/// Keeps the beginning and the end, which distinguish names better than the middle.
fn shortened(text: String, most: usize) -> String {
    if width(&text) <= most {
        return text;
    }
    let room = most.saturating_sub(1);
    let fitting = |letters: &mut dyn Iterator<Item = char>, room: usize| {
        let mut used = 0;
        letters
            .take_while(|letter| {
                used += width(letter.encode_utf8(&mut [0; 4]));
                used <= room
            })
            .collect::<Vec<char>>()
    };
    let end = fitting(&mut text.chars().rev(), room / 2);
    let start = fitting(&mut text.chars(), room - room / 2);
    start.into_iter().chain(['…']).chain(end.into_iter().rev()).collect()
}

#[cfg(test)]
mod tests;
