//! Draws what happens in several lanes along one axis of time.
//!
//! `time: 0 s | 30 s` names the ticks, `lane: text` begins a lane, `wait 0 1: text` is a span of it between two ticks, and
//! `at 1: text` an event in all lanes.

use super::svg::{Anchor, Kind, LINE, Svg, lines, width};
use anyhow::{Context as _, Result, bail};

const MARGIN: f64 = 24.0;
const TICK: f64 = 100.0;
const BAR: f64 = 44.0;

pub(crate) fn draw(definition: &[(&str, &str)]) -> Result<String> {
    let (mut title, mut ticks, mut events, mut bars) = ("", Vec::new(), Vec::new(), Vec::new());
    let mut svg = Svg::new();
    let mut y = MARGIN + LINE;
    for &(left, right) in definition {
        let words: Vec<&str> = left.split_whitespace().collect();
        match words[..] {
            ["title"] => title = right,
            ["time"] => ticks = lines(right),
            ["at", tick] => events.push((place(tick)?, right)),
            ["lane"] => {
                svg.text(&[right], Anchor::Start, (MARGIN, y + LINE));
                y += BAR + 2.0 * LINE + 8.0;
                bars.push(y - BAR - 8.0);
            }
            [kind, from, to] => {
                let (start, end) = (place(from)?, place(to)?);
                let text = lines(right);
                if width(&text) > end - start {
                    bail!("{right:?} is longer than its span");
                }
                let top = *bars.last().context("a span before the first lane")?;
                svg.rect(Kind::named(kind)?, (start, top), (end - start, BAR));
                svg.text(&text, Anchor::Middle, ((start + end) / 2.0, top + BAR / 2.0));
            }
            _ => bail!("{left:?} is not understood"),
        }
    }
    for (x, event) in events {
        svg.text(&[event], Anchor::Middle, (x, MARGIN));
        for bar in &bars {
            svg.dashes(x, (bar - 6.0, bar + BAR + 6.0));
        }
    }
    for (index, tick) in ticks.iter().enumerate() {
        svg.text(&[tick], Anchor::Middle, (MARGIN + index as f64 * TICK, y + LINE * 0.7));
    }
    let last = ticks.len().checked_sub(1).context("no time")?;
    Ok(svg.finish(title, (2.0 * MARGIN + last as f64 * TICK, y + 2.0 * LINE)))
}

fn place(tick: &str) -> Result<f64> {
    let tick: f64 = tick.parse().with_context(|| format!("{tick:?} is not the number of a tick"))?;
    Ok(MARGIN + tick * TICK)
}
