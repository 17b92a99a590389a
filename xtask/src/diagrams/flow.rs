//! Draws boxes in rows and columns with arrows between them.
//!
//! `row: a b .` places boxes, `ask a: text` describes one (`|` begins a new line), `a -> b: text` is an arrow.

use super::svg::{Anchor, Kind, LINE, Svg, lines, width};
use anyhow::{Context as _, Result, bail};
use std::collections::BTreeMap;

const MARGIN: f64 = 24.0;
const PADDING: f64 = 10.0;
const GAP: f64 = 30.0;
/// The distance between a box and an arrow around it.
const DETOUR: f64 = 20.0;

struct Flow<'d> {
    title: &'d str,
    /// Row and column of each box.
    places: BTreeMap<&'d str, (usize, usize)>,
    boxes: BTreeMap<&'d str, (Kind, Vec<&'d str>)>,
    arrows: Vec<(&'d str, &'d str, Vec<&'d str>)>,
}

/// The path of an arrow from one box to the other.
enum Route {
    Straight,
    /// Sideways first, then up or down.
    Over,
    /// Up or down first, then sideways.
    Down,
    /// Around the boxes between them, on the left.
    Around,
}

pub(crate) fn draw(definition: &[(&str, &str)]) -> Result<String> {
    let flow = read(definition)?;
    let grid = Grid::of(&flow)?;
    let mut svg = Svg::new();
    for (from, to, label) in &flow.arrows {
        let arrow = flow.arrow(&grid, from, to, label)?;
        svg.arrow(&arrow.points);
        svg.text(label, arrow.anchor, arrow.label);
    }
    for (name, (kind, text)) in &flow.boxes {
        let (row, column) = flow.place(name)?;
        svg.rect(*kind, (grid.lefts[column], grid.tops[row]), (grid.widths[column], grid.heights[row]));
        svg.text(text, Anchor::Middle, grid.middle((row, column)));
    }
    Ok(svg.finish(flow.title, grid.size))
}

fn read<'d>(definition: &[(&'d str, &'d str)]) -> Result<Flow<'d>> {
    let mut flow = Flow { title: "", places: BTreeMap::new(), boxes: BTreeMap::new(), arrows: Vec::new() };
    let mut rows = 0;
    for &(left, right) in definition {
        let words: Vec<&str> = left.split_whitespace().collect();
        match words[..] {
            ["title"] => flow.title = right,
            ["row"] => {
                let named = right.split_whitespace().enumerate().filter(|(_, name)| *name != ".");
                flow.places.extend(named.map(|(column, name)| (name, (rows, column))));
                rows += 1;
            }
            [from, "->", to] => flow.arrows.push((from, to, lines(right))),
            [kind, name] => _ = flow.boxes.insert(name, (Kind::named(kind)?, lines(right))),
            _ => bail!("{left:?} is not understood"),
        }
    }
    Ok(flow)
}

struct Arrow {
    points: Vec<(f64, f64)>,
    anchor: Anchor,
    label: (f64, f64),
}

impl Flow<'_> {
    fn place(&self, name: &str) -> Result<(usize, usize)> {
        self.places.get(name).copied().with_context(|| format!("{name} is in no row"))
    }

    fn is_free(&self, place: (usize, usize)) -> bool {
        !self.places.values().any(|taken| *taken == place)
    }

    fn route(&self, from: (usize, usize), to: (usize, usize)) -> Result<Route> {
        let (beside, above) = (from.0 == to.0, from.1 == to.1);
        Ok(if beside && from.1.abs_diff(to.1) == 1 {
            Route::Straight
        } else if above {
            let between = (from.0.min(to.0) + 1..from.0.max(to.0)).all(|row| self.is_free((row, from.1)));
            if between { Route::Straight } else { Route::Around }
        } else if !beside && self.is_free((from.0, to.1)) {
            Route::Over
        } else if !beside && self.is_free((to.0, from.1)) {
            Route::Down
        } else {
            bail!("no way for an arrow from {from:?} to {to:?}")
        })
    }

    fn arrow(&self, grid: &Grid, from: &str, to: &str, text: &[&str]) -> Result<Arrow> {
        let (a, b) = (self.place(from)?, self.place(to)?);
        let returns = self.arrows.iter().any(|(back, there, _)| *back == to && *there == from);
        let ((ax, ay), (bx, by)) = (grid.middle(a), grid.middle(b));
        let (right, down) = (if bx > ax { 1.0 } else { -1.0 }, if by > ay { 1.0 } else { -1.0 });
        let side =
            |place: (usize, usize), right: f64| grid.middle(place).0 + right * grid.widths[place.1] / 2.0;
        let edge =
            |place: (usize, usize), down: f64| grid.middle(place).1 + down * grid.heights[place.0] / 2.0;
        let after = |x: f64| (Anchor::Start, x + 7.0);
        let above = |y: f64, label: &[&str]| y - LINE * label.len() as f64 / 2.0 - 3.0;
        Ok(match self.route(a, b)? {
            Route::Straight if a.0 == b.0 => {
                let y = ay - if returns { 9.0 * right } else { 0.0 };
                let (start, end) = (side(a, right), side(b, -right));
                let label = ((start + end) / 2.0, above(y, text));
                Arrow { points: vec![(start, y), (end, y)], anchor: Anchor::Middle, label }
            }
            Route::Straight => {
                // Of two arrows the one that goes down is on the right, and each label on its own side.
                let x = ax + if returns { 22.0 * down } else { 0.0 };
                let (start, end) = (edge(a, down), edge(b, -down));
                let (anchor, at) = if returns && down < 0.0 { (Anchor::End, x - 7.0) } else { after(x) };
                Arrow { points: vec![(x, start), (x, end)], anchor, label: (at, (start + end) / 2.0) }
            }
            Route::Over => {
                let start = side(a, right);
                let label = ((start + bx) / 2.0, above(ay, text));
                Arrow {
                    points: vec![(start, ay), (bx, ay), (bx, edge(b, -down))],
                    anchor: Anchor::Middle,
                    label,
                }
            }
            Route::Down => {
                let start = edge(a, down);
                let (anchor, at) = after(ax);
                let points = vec![(ax, start), (ax, by), (side(b, -right), by)];
                Arrow { points, anchor, label: (at, (start + by) / 2.0) }
            }
            Route::Around => {
                let x = side(a, -1.0).min(side(b, -1.0)) - DETOUR;
                let points = vec![(side(a, -1.0), ay), (x, ay), (x, by), (side(b, -1.0), by)];
                Arrow { points, anchor: Anchor::End, label: (x - 7.0, (ay + by) / 2.0) }
            }
        })
    }
}

/// Where rows and columns are.
struct Grid {
    lefts: Vec<f64>,
    widths: Vec<f64>,
    tops: Vec<f64>,
    heights: Vec<f64>,
    size: (f64, f64),
}

impl Grid {
    fn of(flow: &Flow<'_>) -> Result<Self> {
        let columns = flow.places.values().map(|place| place.1 + 1).max().context("no row")?;
        let rows = flow.places.values().map(|place| place.0 + 1).max().context("no row")?;
        let (mut widths, mut heights) = (vec![0.0_f64; columns], vec![0.0_f64; rows]);
        // The room behind each column and below each row, for the labels of arrows; the first is before the first column.
        let (mut beside, mut below) = (vec![GAP; columns + 1], vec![GAP; rows]);
        (beside[0], beside[columns], below[rows - 1]) = (0.0, 0.0, 0.0);
        for (name, (_, text)) in &flow.boxes {
            let (row, column) = flow.place(name)?;
            widths[column] = widths[column].max(width(text) + 2.0 * PADDING);
            heights[row] = heights[row].max(text.len() as f64 * LINE + 2.0 * PADDING);
        }
        for (from, to, label) in &flow.arrows {
            let (a, b) = (flow.place(from)?, flow.place(to)?);
            let room = width(label) + 24.0;
            match flow.route(a, b)? {
                Route::Straight if a.0 == b.0 => beside[a.1.max(b.1)] = beside[a.1.max(b.1)].max(room),
                Route::Over => beside[a.1.max(b.1)] = beside[a.1.max(b.1)].max(room / 2.0),
                Route::Around => beside[a.1] = beside[a.1].max(room + DETOUR),
                Route::Straight | Route::Down => {
                    let row = if a.0 < b.0 { a.0 } else { b.0 };
                    below[row] = below[row].max(label.len() as f64 * LINE + 16.0);
                }
            }
        }
        let along = |sizes: &[f64], gaps: &[f64], start: f64| {
            let mut at = start;
            let starts: Vec<f64> = sizes
                .iter()
                .zip(gaps)
                .map(|(size, gap)| {
                    let here = at;
                    at += size + gap;
                    here
                })
                .collect();
            (starts, at + MARGIN)
        };
        let (lefts, across) = along(&widths, &beside[1..], MARGIN + beside[0]);
        let (tops, high) = along(&heights, &below, MARGIN);
        Ok(Self { lefts, widths, tops, heights, size: (across, high) })
    }

    fn middle(&self, (row, column): (usize, usize)) -> (f64, f64) {
        (self.lefts[column] + self.widths[column] / 2.0, self.tops[row] + self.heights[row] / 2.0)
    }
}
