//! Writes the elements of a diagram as SVG, on a card of its own color, so that it can be read on light and dark pages.

use anyhow::{Result, bail};
use std::fmt::Write as _;

/// The height of a line of text, and the assumed width of a letter, in pixels.
pub(crate) const LINE: f64 = 18.0;
const LETTER: f64 = 7.1;

/// What a box, or a span of time, means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Plain,
    Question,
    Wait,
    Good,
    Bad,
}

impl Kind {
    pub(crate) fn named(name: &str) -> Result<Self> {
        Ok(match name {
            "box" => Self::Plain,
            "ask" => Self::Question,
            "wait" => Self::Wait,
            "good" => Self::Good,
            "bad" => Self::Bad,
            other => bail!("unknown kind of box {other:?}; use box, ask, wait, good or bad"),
        })
    }

    /// The colors of its area and of its border.
    fn colours(self) -> (&'static str, &'static str) {
        match self {
            Self::Plain => ("#ffffff", "#57606a"),
            Self::Question => ("#ddf0ff", "#0969da"),
            Self::Wait => ("#fff3cd", "#9a6700"),
            Self::Good => ("#dcf5e3", "#1a7f37"),
            Self::Bad => ("#ffe3e0", "#cf222e"),
        }
    }
}

/// The alignment of a text, with the names of SVG.
#[derive(Clone, Copy)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

/// The lines of a text, which `|` divides.
pub(crate) fn lines(text: &str) -> Vec<&str> {
    text.split('|').map(str::trim).filter(|line| !line.is_empty()).collect()
}

pub(crate) fn width(lines: &[&str]) -> f64 {
    lines.iter().map(|line| line.chars().count()).max().unwrap_or(0) as f64 * LETTER
}

/// A picture, element by element.
pub(crate) struct Svg {
    body: String,
}

impl Svg {
    pub(crate) fn new() -> Self {
        Self { body: String::new() }
    }

    pub(crate) fn rect(&mut self, kind: Kind, (x, y): (f64, f64), (width, height): (f64, f64)) {
        let (fill, stroke) = kind.colours();
        let _ = writeln!(
            self.body,
            "<rect x=\"{x:.0}\" y=\"{y:.0}\" width=\"{width:.0}\" height=\"{height:.0}\" rx=\"6\" \
             fill=\"{fill}\" stroke=\"{stroke}\" stroke-width=\"1.5\"/>"
        );
    }

    /// Lines of text; `y` is the middle of all of them.
    pub(crate) fn text(&mut self, lines: &[&str], anchor: Anchor, (x, y): (f64, f64)) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let first = y - LINE * (lines.len() as f64 - 1.0) / 2.0 + 4.5;
        for (index, line) in lines.iter().enumerate() {
            let y = first + LINE * index as f64;
            let line = escaped(line);
            let _ =
                writeln!(self.body, "<text x=\"{x:.0}\" y=\"{y:.0}\" text-anchor=\"{anchor}\">{line}</text>");
        }
    }

    pub(crate) fn arrow(&mut self, points: &[(f64, f64)]) {
        let path: Vec<String> = points.iter().map(|(x, y)| format!("{x:.0},{y:.0}")).collect();
        let _ = writeln!(
            self.body,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"#57606a\" stroke-width=\"1.5\" marker-end=\"url(#tip)\"/>",
            path.join(" ")
        );
    }

    pub(crate) fn dashes(&mut self, x: f64, (top, bottom): (f64, f64)) {
        let _ = writeln!(
            self.body,
            "<line x1=\"{x:.0}\" y1=\"{top:.0}\" x2=\"{x:.0}\" y2=\"{bottom:.0}\" stroke=\"#8c959f\" stroke-dasharray=\"4 4\"/>"
        );
    }

    pub(crate) fn finish(self, title: &str, (width, height): (f64, f64)) -> String {
        let title = escaped(title);
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
             viewBox=\"0 0 {width:.0} {height:.0}\" role=\"img\">\n<title>{title}</title>\n\
             <defs><marker id=\"tip\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"8\" markerHeight=\"8\" \
             orient=\"auto\"><path d=\"M 0 0 L 8 4 L 0 8 z\" fill=\"#57606a\"/></marker></defs>\n\
             <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#f6f8fa\"/>\n\
             <g font-family=\"system-ui, Helvetica, Arial, sans-serif\" font-size=\"13\" fill=\"#1f2328\">\n{}</g>\n</svg>\n",
            self.body
        )
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
