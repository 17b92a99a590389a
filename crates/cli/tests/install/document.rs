//! # Document: docs/install.md, played
//! Room:     what is typed in its `console` blocks, and what is shown below; the files of its `yaml` blocks.
//! Comes in: the document; the programs to run, by name.
//! Goes out: the document as it should be.
//! Not here: the cluster it is played on.

use std::path::Path;
use std::process::Command;

/// Plays all of it in the folder; the document with what was printed.
pub(crate) fn played(document: &str, folder: &Path, program: &dyn Fn(&str) -> Command) -> String {
    let mut anew = String::new();
    let mut lines = document.lines().peekable();
    while let Some(line) = lines.next() {
        anew += &format!("{line}\n");
        if line == "```yaml" {
            let text: Vec<&str> = std::iter::from_fn(|| lines.next_if(|line| *line != "```")).collect();
            let name = text[0].strip_prefix("# ").expect("its first line names the file");
            let text = text.join("\n") + "\n";
            std::fs::write(folder.join(name), &text).unwrap();
            anew += &text;
        } else if line == "```console" {
            let block: Vec<&str> = std::iter::from_fn(|| lines.next_if(|line| *line != "```")).collect();
            for typed in block.iter().filter_map(|line| line.strip_prefix("$ ")) {
                anew += &format!("$ {typed}\n{}", shown(typed, folder, program));
            }
        }
    }
    anew
}

/// What a terminal shows.
fn shown(typed: &str, folder: &Path, program: &dyn Fn(&str) -> Command) -> String {
    let mut words = typed.split(' ');
    let mut command = program(words.next().unwrap_or_default());
    let output = command.args(words).current_dir(folder).output().unwrap();
    [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap()).concat()
}
