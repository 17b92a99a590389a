//! Runs the `console` blocks of a page and compares their output; `EXAMPLES=overwrite` writes the page.

#![allow(dead_code, reason = "each test binary uses some of it")]

use std::path::{Path, PathBuf};

/// A command, and the output below it.
pub(crate) struct TypedCommand<'d> {
    pub(crate) command: &'d str,
    pub(crate) shown: Vec<&'d str>,
}

impl TypedCommand<'_> {
    /// The program and its arguments, as a shell splits them.
    pub(crate) fn words(&self) -> Vec<String> {
        let mut words = vec![String::new()];
        let mut quote = None;
        for letter in self.command.chars() {
            match letter {
                '"' | '\'' if quote.is_none() => quote = Some(letter),
                letter if quote == Some(letter) => quote = None,
                ' ' if quote.is_none() => words.push(String::new()),
                other => words.last_mut().unwrap().push(other),
            }
        }
        words
    }

    /// Whether it only reads objects, so that it can be typed again.
    pub(crate) fn is_read(&self) -> bool {
        self.command.starts_with("kubectl get ") && !self.is_log()
    }

    /// Whether the page shows this output, apart from what differs from run to run.
    pub(crate) fn shows(&self, output: &[String]) -> bool {
        let compared = |lines: &mut dyn Iterator<Item = &str>| {
            let mut lines: Vec<String> = lines.map(lasting).collect();
            if self.is_log() {
                // Concurrent output has no order.
                lines.sort();
            }
            lines
        };
        compared(&mut output.iter().map(String::as_str)) == compared(&mut self.shown.iter().copied())
    }

    /// Whether it runs until it is interrupted.
    pub(crate) fn is_log(&self) -> bool {
        self.shown.last() == Some(&"^C")
    }

    /// The input at a prompt.
    pub(crate) fn response(&self) -> Option<&str> {
        self.shown.iter().find_map(|line| Some(line.split_once("[y/N] ")?.1))
    }
}

pub(crate) fn examples(document: &str) -> Vec<TypedCommand<'_>> {
    let mut all = Vec::new();
    for block in document.split("```console\n").skip(1) {
        for line in block.split("```").next().unwrap().lines() {
            match line.strip_prefix("$ ") {
                Some(command) => all.push(TypedCommand { command, shown: Vec::new() }),
                None => all.last_mut().map(|typed: &mut TypedCommand<'_>| typed.shown.push(line)).unwrap(),
            }
        }
    }
    all
}

/// A line with placeholders for what differs from run to run: times, durations, ports, identities.
pub(crate) fn lasting(line: &str) -> String {
    // What is not a second old yet.
    let line = line.replace(", now", ", 0s ago");
    let words = line.split_whitespace().filter(|word| !is_of(word, "0123456789-") || word.len() != 10);
    words.map(|word| if passes(word) { "#" } else { word }).collect::<Vec<_>>().join(" ")
}

fn passes(word: &str) -> bool {
    let value = word.split_once('=').map_or(word, |(_, value)| value).trim_matches(['"', ',', ':', ';', '.']);
    let digits = value.bytes().any(|byte| byte.is_ascii_digit());
    let moment = is_of(value, "0123456789:.TZ-") && value.contains(':');
    let length = is_of(value, "0123456789hms") && value.ends_with(['h', 'm', 's']);
    let log = value.starts_with('I') && value.len() == 5;
    digits && (moment || length || log || value.contains("127.0.0.1:") || word.starts_with("uid="))
}

fn is_of(word: &str, letters: &str) -> bool {
    word.chars().all(|letter| letters.contains(letter))
}

/// The files in a page: YAML blocks that begin with a comment with the file's name.
pub(crate) fn files(document: &str) -> Vec<(&str, &str)> {
    let blocks = document.split("```yaml\n").skip(1).filter_map(|rest| rest.split("```").next());
    blocks.filter_map(|text| Some((text.strip_prefix("# ")?.split_once('\n')?.0, text))).collect()
}

/// Types all commands of a page, in order; `type_in` returns the output of a command.
pub(crate) fn play(path: &Path, mut type_in: impl FnMut(&TypedCommand<'_>) -> Vec<String>) {
    let document = std::fs::read_to_string(path).unwrap();
    let mut anew = document.clone();
    let mut differs = Vec::new();
    for typed in examples(&document) {
        let shown = type_in(&typed);
        if !typed.shows(&shown) {
            differs.push(format!("$ {}\n{}", typed.command, shown.join("\n")));
        }
        let block = |lines: &str| format!("$ {}\n{lines}", typed.command);
        let of = |lines: Vec<&str>| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
        let now = of(shown.iter().map(|line| line.trim_end()).collect());
        anew = anew.replace(&block(&of(typed.shown.clone())), &block(&now));
    }
    if std::env::var("EXAMPLES").as_deref() == Ok("overwrite") {
        std::fs::write(path, anew).unwrap();
    } else {
        let all = differs.join("\n");
        let anew = "the same test with EXAMPLES=overwrite writes it again";
        assert!(differs.is_empty(), "{} shows something else than:\n{all}\n{anew}", path.display());
    }
}

pub(crate) fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}
