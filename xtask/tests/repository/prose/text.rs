//! Masks everything in a file that is not text for people, so that phrases are found in their lines.

#![allow(clippy::unwrap_used, reason = "the patterns are valid")]

use regex::{Captures, Regex};

/// Replaces each masked character; no phrase matches across it.
const MASK: char = '\u{1}';

/// A function's name with as many underscores is a sentence, as tests have.
const SENTENCE_UNDERSCORES: usize = 3;

/// Comments, strings, characters, and names of functions in Rust; Go is close enough.
const TOKEN: &str = r##"(?xs)
    (?P<comment> //[^\n]* | /\*.*?\*/ )
  | (?P<raw>     b?r"[^"]*" | b?r\#".*?"\# | b?r\#\#".*?"\#\# )
  | (?P<string>  b?"(?:\\.|[^"\\])*" )
  | (?P<char>    b?'(?:\\[^\n]+?|[^'\\\n])' )
  | (?P<function> \bfn\s+\w+ )"##;

/// The form of a file, which decides what is text in it.
#[derive(Clone, Copy)]
pub(crate) enum Format {
    /// All but code.
    Markdown,
    /// Comments, strings of several words, names of functions that are sentences.
    Rust,
    /// Strings of several words.
    Json,
    /// Everything.
    Plain,
}

impl Format {
    /// The form of a file by its name; `None` for files without text for people.
    pub(crate) fn of(path: &str) -> Option<Self> {
        let name = path.rsplit('/').next()?;
        if name == "devcontainer.json" {
            // It has comments.
            return Some(Self::Plain);
        }
        match name.rsplit_once('.').map_or(name, |(_, extension)| extension) {
            "md" => Some(Self::Markdown),
            "rs" | "go" => Some(Self::Rust),
            "json" => Some(Self::Json),
            "yaml" | "yml" | "tpl" | "txt" | "html" | "js" | "css" | "toml" | "trycmd" => Some(Self::Plain),
            "run" | "Containerfile" | "CODEOWNERS" | "stdout" | "stderr" => Some(Self::Plain),
            "editorconfig" | "dockerignore" | "gitignore" => Some(Self::Plain),
            _ => None,
        }
    }
}

/// Masks code.
pub(crate) struct Masker {
    token: Regex,
    string: Regex,
    escape: Regex,
    comment_start: Regex,
    inline_code: Regex,
    link_or_tag: Regex,
}

impl Masker {
    pub(crate) fn new() -> Self {
        let regex = |pattern| Regex::new(pattern).unwrap();
        Self {
            token: regex(TOKEN),
            string: regex(r#""(?:\\.|[^"\\])*""#),
            escape: regex(r"(?s)\\."),
            comment_start: regex(r"^/[/*]+!?"),
            // And placeholders of format strings.
            inline_code: regex(r"`[^`\n]*(?:\n[^`\n]+)?`|\{[\w.:?#]*\}"),
            link_or_tag: regex(r"\]\([^)\s]*\)|<[^>\n]*>"),
        }
    }

    /// The text of a file with as many lines as the file has.
    pub(crate) fn text(&self, format: Format, file: &str) -> String {
        match format {
            Format::Markdown => self.markdown(file),
            Format::Rust => self.rust(file),
            Format::Json => replaced(&self.string, file, |found| self.words(&found[0])),
            Format::Plain => file.to_owned(),
        }
    }

    fn markdown(&self, file: &str) -> String {
        let (mut in_fence, mut in_block, mut after_blank) = (false, false, true);
        let lines = file.split('\n').map(|line| {
            let is_fence = line.trim_start().starts_with("```");
            in_block =
                line.starts_with("    ") && (in_block || after_blank) || in_block && line.trim().is_empty();
            after_blank = line.trim().is_empty();
            let is_code = in_fence || is_fence || in_block;
            in_fence ^= is_fence;
            if is_code { masked(line) } else { line.to_owned() }
        });
        let prose = lines.collect::<Vec<_>>().join("\n");
        let prose = self.link_or_tag.replace_all(&prose, |found: &Captures<'_>| masked(&found[0]));
        self.without_code(&prose)
    }

    fn rust(&self, file: &str) -> String {
        replaced(&self.token, file, |token| {
            let text = &token[0];
            if token.name("comment").is_some() {
                self.without_code(
                    &self.comment_start.replace(text, |start: &Captures<'_>| " ".repeat(start[0].len())),
                )
            } else if token.name("string").is_some() {
                self.words(text)
            } else if token.name("raw").is_some() {
                if text.contains(char::is_whitespace) { self.without_code(text) } else { masked(text) }
            } else if token.name("function").is_some() && text.matches('_').count() >= SENTENCE_UNDERSCORES {
                text.replacen("fn", &MASK.to_string(), 1).replace('_', " ")
            } else {
                masked(text)
            }
        })
    }

    /// A string, if it has several words.
    fn words(&self, string: &str) -> String {
        let escape = |found: &Captures<'_>| if found[0].ends_with('\n') { "\n" } else { " " };
        let text = self.escape.replace_all(string, escape);
        if text.trim_matches('"').contains(char::is_whitespace) {
            self.without_code(&text.replace('"', &MASK.to_string()))
        } else {
            masked(&text)
        }
    }

    fn without_code(&self, text: &str) -> String {
        self.inline_code.replace_all(text, |code: &Captures<'_>| masked(&code[0])).into_owned()
    }
}

/// `file` with all masked but the matches of `pattern`, which `text` replaces.
fn replaced(pattern: &Regex, file: &str, text: impl Fn(&Captures<'_>) -> String) -> String {
    let (mut result, mut at) = (String::new(), 0);
    for found in pattern.captures_iter(file) {
        let place = found.get(0).unwrap();
        result += &masked(&file[at..place.start()]);
        result += &text(&found);
        at = place.end();
    }
    result + &masked(&file[at..])
}

/// Masks all but white space.
pub(crate) fn masked(code: &str) -> String {
    code.chars().map(|c| if c.is_whitespace() { c } else { MASK }).collect()
}
