//! Runs all commands of a page in order; `sh` blocks must succeed, `console` blocks also show their output.

/// A user at a terminal.
pub(crate) trait Typist {
    /// What a line prints; whether it succeeds is for the page to show.
    fn line(&mut self, typed: &str) -> String;

    /// Runs a script, which succeeds; with a remark behind `sh`, it is about another cluster than the rest of the page.
    fn script(&mut self, text: &str, remark: &str);

    /// Writes a file that the page shows.
    fn file(&mut self, name: &str, text: &str);
}

/// Types all of it; the page with what was printed.
pub(crate) fn played(document: &str, typist: &mut dyn Typist) -> String {
    let mut anew = String::new();
    let mut lines = document.lines();
    while let Some(line) = lines.next() {
        anew += &format!("{line}\n");
        let Some(what) = line.strip_prefix("```") else { continue };
        let block: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
        let text: String = block.iter().map(|line| format!("{line}\n")).collect();
        match what.split_once(' ').unwrap_or((what, "")) {
            ("console", _) => {
                for typed in block.iter().filter_map(|line| line.strip_prefix("$ ")) {
                    anew += &format!("$ {typed}\n{}", typist.line(typed));
                }
            }
            (other, remark) => {
                match other {
                    "sh" => typist.script(&text, remark),
                    "yaml" => {
                        let name = block[0].strip_prefix("# ").expect("its first line names the file");
                        typist.file(name, &text);
                    }
                    _ => {}
                }
                anew += &text;
            }
        }
        anew += "```\n";
    }
    anew
}
