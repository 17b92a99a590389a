//! # Diff: what changed between two texts
//! Room:     a unified difference with three lines around it, found the way Go's difflib (and Python's) finds it.
//! Comes in: lines.
//! Goes out: text.
//! Not here: how values become lines (`go.rs`).

use std::collections::HashMap;
use std::fmt::Write as _;
use std::ops::Range;

const CONTEXT: usize = 3;

/// From this length on, lines that are more frequent than one in a hundred do not begin a match.
const LONG: usize = 200;

/// Lines that are the same on both sides.
#[derive(Clone, Copy)]
struct Match {
    a: usize,
    b: usize,
    len: usize,
}

/// A stretch that is the same on both sides, or not.
#[derive(Clone)]
struct Stretch {
    same: bool,
    a: Range<usize>,
    b: Range<usize>,
}

/// The difference; empty if there is none.
pub(in super::super) fn unified(a: &[String], b: &[String]) -> String {
    let mut text = String::new();
    for group in groups(stretches(a, b)) {
        let (Some(first), Some(last)) = (group.first(), group.last()) else { continue };
        let (from, to) = (range(&(first.a.start..last.a.end)), range(&(first.b.start..last.b.end)));
        let _ = writeln!(text, "@@ -{from} +{to} @@");
        for stretch in &group {
            if stretch.same {
                lines(&mut text, ' ', &a[stretch.a.clone()]);
            } else {
                lines(&mut text, '-', &a[stretch.a.clone()]);
                lines(&mut text, '+', &b[stretch.b.clone()]);
            }
        }
    }
    text
}

fn lines(text: &mut String, sign: char, lines: &[String]) {
    for line in lines {
        let _ = writeln!(text, "{sign}{line}");
    }
}

fn range(range: &Range<usize>) -> String {
    match range.len() {
        0 => format!("{},0", range.start),
        1 => (range.start + 1).to_string(),
        len => format!("{},{len}", range.start + 1),
    }
}

/// What changed, with what is around it; changes that are near each other together.
fn groups(mut all: Vec<Stretch>) -> Vec<Vec<Stretch>> {
    if let Some(first) = all.first_mut().filter(|first| first.same) {
        *first = tail(first);
    }
    if let Some(last) = all.last_mut().filter(|last| last.same) {
        *last = head(last);
    }
    let mut groups = Vec::new();
    let mut group: Vec<Stretch> = Vec::new();
    for stretch in all {
        if stretch.same && stretch.a.len() > 2 * CONTEXT {
            group.push(head(&stretch));
            groups.push(std::mem::take(&mut group));
            group.push(tail(&stretch));
        } else {
            group.push(stretch);
        }
    }
    groups.push(group);
    groups.retain(|group| group.iter().any(|stretch| !stretch.same));
    groups
}

fn head(stretch: &Stretch) -> Stretch {
    let len = stretch.a.len().min(CONTEXT);
    Stretch {
        same: true,
        a: stretch.a.start..stretch.a.start + len,
        b: stretch.b.start..stretch.b.start + len,
    }
}

fn tail(stretch: &Stretch) -> Stretch {
    let len = stretch.a.len().min(CONTEXT);
    Stretch { same: true, a: stretch.a.end - len..stretch.a.end, b: stretch.b.end - len..stretch.b.end }
}

fn stretches(a: &[String], b: &[String]) -> Vec<Stretch> {
    let mut all = Vec::new();
    let (mut at_a, mut at_b) = (0, 0);
    for found in matches(a, b) {
        if at_a < found.a || at_b < found.b {
            all.push(Stretch { same: false, a: at_a..found.a, b: at_b..found.b });
        }
        (at_a, at_b) = (found.a + found.len, found.b + found.len);
        if found.len > 0 {
            all.push(Stretch { same: true, a: found.a..at_a, b: found.b..at_b });
        }
    }
    all
}

/// All matches in order, neighbours as one; one of length 0 at the end.
fn matches(a: &[String], b: &[String]) -> Vec<Match> {
    let mut places: HashMap<&str, Vec<usize>> = HashMap::new();
    for (index, line) in b.iter().enumerate() {
        places.entry(line).or_default().push(index);
    }
    if b.len() >= LONG {
        places.retain(|_, places| places.len() <= b.len() / 100 + 1);
    }
    let mut found = Vec::new();
    let mut open = vec![(0..a.len(), 0..b.len())];
    while let Some((in_a, in_b)) = open.pop() {
        let best = longest(a, b, &places, &in_a, &in_b);
        if best.len > 0 {
            found.push(best);
            open.push((in_a.start..best.a, in_b.start..best.b));
            open.push((best.a + best.len..in_a.end, best.b + best.len..in_b.end));
        }
    }
    found.sort_by_key(|found| found.a);
    found.push(Match { a: a.len(), b: b.len(), len: 0 });
    let mut joined: Vec<Match> = Vec::new();
    for next in found {
        match joined.last_mut() {
            Some(last) if next.len > 0 && last.a + last.len == next.a && last.b + last.len == next.b => {
                last.len += next.len;
            }
            _ => joined.push(next),
        }
    }
    joined
}

fn longest(
    a: &[String],
    b: &[String],
    places: &HashMap<&str, Vec<usize>>,
    in_a: &Range<usize>,
    in_b: &Range<usize>,
) -> Match {
    let mut best = Match { a: in_a.start, b: in_b.start, len: 0 };
    let mut lengths: HashMap<usize, usize> = HashMap::new();
    for i in in_a.clone() {
        let mut next = HashMap::new();
        for &j in places.get(a[i].as_str()).into_iter().flatten().filter(|j| in_b.contains(j)) {
            let len = j.checked_sub(1).and_then(|before| lengths.get(&before)).unwrap_or(&0) + 1;
            next.insert(j, len);
            if len > best.len {
                best = Match { a: i + 1 - len, b: j + 1 - len, len };
            }
        }
        lengths = next;
    }
    while best.a > in_a.start && best.b > in_b.start && a[best.a - 1] == b[best.b - 1] {
        best = Match { a: best.a - 1, b: best.b - 1, len: best.len + 1 };
    }
    while best.a + best.len < in_a.end
        && best.b + best.len < in_b.end
        && a[best.a + best.len] == b[best.b + best.len]
    {
        best.len += 1;
    }
    best
}

#[cfg(test)]
mod tests {
    use super::unified;

    fn lines(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn a_changed_line_shows_three_lines_around_it() {
        let (a, b) = (lines("1 2 3 4 5 6 7 8 9"), lines("1 2 3 4 x 6 7 8 9"));
        assert_eq!(unified(&a, &b), "@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+x\n 6\n 7\n 8\n");
        assert_eq!(unified(&a, &a), "");
    }

    #[test]
    fn far_changes_stand_apart() {
        let (a, b) = (lines("1 2 3 4 5 6 7 8 9 10"), lines("x 2 3 4 5 6 7 8 9 10 11"));
        assert_eq!(
            unified(&a, &b),
            "@@ -1,4 +1,4 @@\n-1\n+x\n 2\n 3\n 4\n@@ -8,3 +8,4 @@\n 8\n 9\n 10\n+11\n"
        );
    }
}
