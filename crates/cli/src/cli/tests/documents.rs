//! Tests that every command line of `taintward` in the documents has subcommands and flags that exist.

use super::*;
use std::fs;
use std::path::Path;

/// Pages below a folder, and their texts, except the pages that the program generates.
fn pages(folder: &Path, found: &mut Vec<(PathBuf, String)>) {
    for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if path.is_dir() && !path.ends_with("docs/cli") {
            pages(&path, found);
        } else if path.extension().is_some_and(|end| end == "md") {
            let text = fs::read_to_string(&path).unwrap();
            found.push((path, text));
        }
    }
}

/// The code of a page: lines of blocks (of consoles, only the typed ones), and text between backticks. Continued lines are
/// joined.
fn code(text: &str) -> Vec<String> {
    let (mut found, mut paragraph) = (Vec::new(), String::new());
    let (mut fenced, mut is_console) = (false, false);
    let text = text.replace("\\\n", " ");
    for line in text.lines().chain([""]) {
        let is_fence = line.trim_start().starts_with("```");
        fenced ^= is_fence;
        is_console = if is_fence { fenced && line.contains("console") } else { is_console };
        if !is_fence && (fenced || line.starts_with("    ")) && (!is_console || line.starts_with("$ ")) {
            found.push(line.to_owned());
        }
        if is_fence || fenced || line.trim().is_empty() {
            found.extend(paragraph.split('`').skip(1).step_by(2).map(str::to_owned));
            paragraph.clear();
        } else {
            paragraph += &format!("{} ", line.trim());
        }
    }
    found
}

/// The commands of a line, split as by a shell, without comments and redirections.
fn commands(line: &str) -> Vec<Vec<String>> {
    let mut all = vec![vec![String::new()]];
    let (mut quote, mut is_read) = (None, true);
    for letter in line.trim().trim_start_matches("$ ").trim_start_matches("- run: ").chars() {
        let command = all.last_mut().expect("there is one");
        let word = command.last_mut().expect("there is one");
        match letter {
            '"' | '\'' if quote.is_none() => quote = Some(letter),
            letter if quote == Some(letter) => quote = None,
            letter if quote.is_some() && is_read => word.push(letter),
            _ if quote.is_some() => {}
            '#' if word.is_empty() => break,
            '>' | '<' => is_read = false,
            '|' | ';' | '&' => {
                is_read = true;
                all.push(vec![String::new()]);
            }
            ' ' if is_read && !word.is_empty() => command.push(String::new()),
            letter if is_read && letter != ' ' => word.push(letter),
            _ => {}
        }
    }
    for command in &mut all {
        command.retain(|word| !word.is_empty());
    }
    all
}

/// The error of a command line, apart from its values: a page may omit them, or show an invalid one.
fn fault(words: &[String]) -> Option<String> {
    let stands_for_more = |word: &String| ["...", "…"].iter().any(|dots| word.contains(dots));
    let words = words.iter().take_while(|word| !stands_for_more(word)).cloned();
    let error = parse_from(words.collect::<Vec<_>>()).err()?;
    let is_wrong = matches!(error.kind(), ErrorKind::UnknownArgument | ErrorKind::InvalidSubcommand);
    is_wrong.then(|| error.to_string())
}

#[test]
fn every_command_line_in_the_documents_is_valid() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut found = Vec::new();
    pages(&root.join("docs"), &mut found);
    for name in ["README.md", "CONTRIBUTING.md", "SECURITY.md", "deploy/chart/README.md"] {
        found.push((root.join(name), fs::read_to_string(root.join(name)).unwrap()));
    }
    let (mut read, mut wrong) = (0, String::new());
    for (page, text) in &found {
        for words in code(text).iter().flat_map(|line| commands(line)) {
            if words.first().is_none_or(|word| word != NAME) {
                continue;
            }
            read += 1;
            if let Some(fault) = fault(&words) {
                wrong += &format!("{}: {}\n{fault}\n", page.display(), words.join(" "));
            }
        }
    }
    assert!(read > 150, "only {read} command lines were found");
    assert_eq!(wrong, "");
}

#[test]
fn an_unknown_flag_is_found() {
    let lines = |text: &str| code(text).iter().flat_map(|line| commands(line)).collect::<Vec<_>>();
    let all = lines(
        "Type `taintward plan --no-such-flag`.\n\n    helm template . | taintward lint -f - > 'a b' # it\n",
    );
    assert_eq!(all[0], ["taintward", "plan", "--no-such-flag"]);
    assert_eq!(all[2], ["taintward", "lint", "-f", "-"]);
    assert!(fault(&all[0]).is_some() && fault(&all[2]).is_none());
    assert_eq!(commands("$ taintward hold n1 --reason 'switch | replaced'")[0][4], "switch | replaced");
}
