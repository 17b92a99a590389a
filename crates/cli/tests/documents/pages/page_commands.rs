//! Finds the commands of a page: in fenced blocks, in indented blocks, and in code spans.

/// How a page shows a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PageForm {
    /// In a `console` block after `$ `, or as a line of an `sh` block.
    Fenced,
    /// As a line of an indented block. Output and other text have a fence with another word, such as `text`.
    Indented,
    /// In the text, between backticks.
    Span,
}

/// A command, and the line of the page where it begins, from 1.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct PageCommand {
    pub(crate) line: usize,
    pub(crate) form: PageForm,
    pub(crate) text: String,
}

/// The programs whose code spans are commands.
const SPANS: [&str; 4] = ["taintward ", "kubectl ", "cargo test ", "cargo run "];

/// All commands of a page, in order.
pub(crate) fn page_commands(document: &str) -> Vec<PageCommand> {
    let mut collector = CommandCollector::default();
    let (mut fence, mut is_block, mut after_blank) = (None::<&str>, false, true);
    for (line, text) in document.lines().enumerate() {
        let bare = text.trim();
        if let Some(language) = bare.strip_prefix("```") {
            collector.end_paragraph();
            fence = if fence.is_some() { None } else { Some(language) };
            (is_block, after_blank) = (false, false);
            continue;
        }
        is_block = text.starts_with("    ") && (is_block || after_blank) || is_block && bare.is_empty();
        after_blank = bare.is_empty();
        match fence {
            Some("console") => bare
                .strip_prefix("$ ")
                .into_iter()
                .for_each(|rest| collector.add(line, PageForm::Fenced, rest)),
            Some(language) if language.starts_with("sh") => collector.add(line, PageForm::Fenced, bare),
            Some(_) => {}
            None if bare.is_empty() => collector.end_paragraph(),
            None if is_block => collector.add(line, PageForm::Indented, bare),
            None => collector.paragraph.push((line, text)),
        }
    }
    collector.end_paragraph();
    collector.commands
}

#[derive(Default)]
struct CommandCollector<'d> {
    commands: Vec<PageCommand>,
    paragraph: Vec<(usize, &'d str)>,
    /// Whether the last command continues on the next line.
    is_open: bool,
}

impl CommandCollector<'_> {
    fn add(&mut self, line: usize, form: PageForm, text: &str) {
        let code = text.split(" # ").next().unwrap().trim_end();
        let (code, is_open) = code.strip_suffix('\\').map_or((code, false), |start| (start, true));
        match self.commands.last_mut().filter(|_| self.is_open) {
            Some(last) => last.text += code,
            None if code.is_empty() || code.starts_with('#') => return,
            None => self.commands.push(PageCommand { line: line + 1, form, text: code.to_owned() }),
        }
        self.is_open = is_open;
    }

    /// Reads the code spans of a paragraph, which may go over the end of a line.
    fn end_paragraph(&mut self) {
        let paragraph = std::mem::take(&mut self.paragraph);
        let Some((first, _)) = paragraph.first() else { return };
        let text = paragraph.iter().map(|(_, text)| *text).collect::<Vec<_>>().join("\n");
        let mut line = *first;
        for (number, part) in text.split('`').enumerate() {
            let span = part.split_whitespace().collect::<Vec<_>>().join(" ");
            // With these, it is the form of several commands, not a command.
            let is_form = ["...", "…", "|"].iter().any(|mark| span.contains(mark));
            if number % 2 == 1 && !is_form && SPANS.iter().any(|program| span.starts_with(program)) {
                self.commands.push(PageCommand { line: line + 1, form: PageForm::Span, text: span });
            }
            line += part.matches('\n').count();
        }
    }
}

#[test]
fn commands_of_all_forms_are_found() {
    let page = "Type `kubectl\nget pods` and `b`, `taintward x|y`.\n\n    taintward plan # now\n    a \\\n      b\n\n1. c\n    d\n\n\
                ```console\n$ e # f\ng\n```\n```sh instead\n# h\ni \\\n  j\n```\n```text\n    k\n```\n";
    let collector: Vec<String> = page_commands(page)
        .iter()
        .map(|PageCommand { line, form, text }| format!("{line} {form:?} {text}"))
        .collect();
    let expected = [
        "1 Span kubectl get pods",
        "4 Indented taintward plan",
        "5 Indented a b",
        "12 Fenced e",
        "17 Fenced i j",
    ];
    assert_eq!(collector, expected);
}
