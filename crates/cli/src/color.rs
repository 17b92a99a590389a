//! Decides whether output is colored (`--color`, `NO_COLOR`, terminals), and defines the colors.

use std::io::IsTerminal as _;

/// When there is color.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ColorChoice {
    /// On a terminal, unless NO_COLOR is set
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

impl ColorChoice {
    /// Whether standard output gets colors.
    pub(crate) fn paints(self) -> bool {
        let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
        match self {
            Self::Always => true,
            Self::Never => false,
            Self::Auto => !set("NO_COLOR") && !dumb && std::io::stdout().is_terminal(),
        }
    }
}

/// A color.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Color {
    Red,
    Green,
    Yellow,
    Blue,
}

impl Color {
    pub(crate) fn of(self, text: &str, paints: bool) -> String {
        let code = match self {
            Self::Red => 31,
            Self::Green => 32,
            Self::Yellow => 33,
            Self::Blue => 34,
        };
        if paints { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }
}
